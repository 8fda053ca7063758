"""From the arguments of a command to the data it works on."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from krein import DistanceTransformer
from krein.cli.hits import as_similarity, leave_out_rare, near_duplicates
from krein.cli.inputs import TWINS, check_symmetry, read_inputs
from krein.cli.output import print_note
from krein.cli.parameters import declared, kernel_parameters, parse_pairs
from krein.comparison.methods import TASKS
from krein.comparison.problem import make_problem
from krein.kernels import KERNELS, as_kernel, list_kernels
from krein.notices import warn_user
from krein.splitting import duplicate_groups, similarity_groups
from krein.validation import is_continuous, wrong_direction
from krein.words import did_you_mean


def check_kernel(name: str) -> None:
    """Refuse a kernel that there is not, with the nearest name."""
    if name not in list_kernels():
        raise ValueError(
            f"there is no kernel {name!r}{did_you_mean(name, list_kernels())} "
            "('krein kernel list' shows all)"
        )


def check_methods(names: str | None, task: str | None = None) -> list[str] | None:
    """Split and check a list of methods; None means all that apply.

    A method may be named by its class, where only one method has it.
    """
    if names is None:
        return None
    known = methods_of(task)
    classes = [method.estimator for method in known.values()]
    alias = {
        method.estimator: name
        for name, method in known.items()
        if classes.count(method.estimator) == 1 or not method.params
    }
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    chosen = [alias.get(name, name) for name in chosen]
    for name in chosen:
        if name not in known:
            raise ValueError(
                f"there is no method {name!r}{did_you_mean(name, [*known, *alias])} "
                f"(there are {', '.join(known)})"
            )
    return chosen


def methods_of(task: str | None) -> dict[str, Any]:
    """The methods of a task by name; of "any" task while labels are not read."""
    if task == "any":
        return TASKS["regression"].methods | TASKS["classification"].methods
    return TASKS[task or "classification"].methods


def make_kernel(name: str, pairs: list[str]) -> Any:
    """Return the kernel with its parameters, read by their declared types."""
    check_kernel(name)
    known = kernel_parameters(name)
    params = parse_pairs(pairs, known, option="--param", owner=f"kernel {name!r}")
    return as_kernel(name, params)


def kernel_names(args: argparse.Namespace) -> list[str]:
    """Names of one or more kernels, separated by commas; all of them there."""
    names = [name.strip() for name in args.kernel.split(",")]
    if len(names) > 1:
        if args.param:
            raise ValueError("--param is for one kernel; --kernel names several")
        if len(set(names)) < len(names):
            raise ValueError(f"--kernel {args.kernel} names one twice")
        for name in names:
            make_kernel(name, [])
    return names


def load_items(args: argparse.Namespace) -> Any:
    """Read the files: a square matrix or items to be compared, labels and groups."""
    if args.kernel != "precomputed":
        make_kernel(args.kernel, args.param)  # a wrong name fails before a long read
        if args.kind or args.transform:
            raise ValueError(
                "--kind and --transform are for a matrix; a kernel has "
                "--param similarity=NAME"
            )
    read = read_inputs(args)
    print_note(args, *read.notes)
    if args.kernel != "precomputed":
        _check_fitting(args, read.data)
    return read


def _check_fitting(args: argparse.Namespace, items: Any) -> None:
    """Refuse rows of numbers for a kernel of strings, and text for one of numbers."""
    wanted = KERNELS[args.kernel].input
    text = not isinstance(items, np.ndarray) and isinstance(items[0], str)
    if wanted == "strings" and not text:
        raise ValueError(
            f"{args.file} has rows of numbers, but kernel {args.kernel!r} compares "
            "strings; name the column that holds them with --items COLUMN"
        )
    if wanted in ("vectors", "series") and text:
        raise ValueError(
            f"{args.file} has text, but kernel {args.kernel!r} compares {wanted}; "
            "krein kernel list shows which kernel takes what"
        )


def settle_kind(args: argparse.Namespace, K: Any, y: Any = None) -> Any:
    """Return the DistanceTransformer that the arguments ask for, or None."""
    kind = args.kind or ("distance" if args.transform else None)
    if kind == "similarity" and args.transform:
        raise ValueError("--transform is for --kind distance")
    _check_direction(args, K, kind, y)
    if kind != "distance":
        if args.param:
            raise ValueError("--param needs --kernel NAME or --kind distance")
        return None
    known = {k: v for k, v in declared(DistanceTransformer).items() if k == "gamma"}
    params = parse_pairs(args.param, known, option="--param", owner="--transform")
    return DistanceTransformer(
        args.transform or "exponential", symmetrize=args.symmetrize, **params
    )


def _check_direction(
    args: argparse.Namespace, K: Any, kind: str | None, y: Any
) -> None:
    """Refuse numbers of the wrong direction, unless the user insists.

    --kind insists on what can be doubted; that a distance is largest between an item
    and itself cannot.
    """
    plain = y is not None and not is_continuous(y) and not vars(args).get("task")
    classes = y if plain else None
    found = wrong_direction(K, kind or "similarity", classes)
    if found is None:
        return
    other = "similarity" if kind == "distance" else "distance"
    text = f"{args.file} looks like {found.seems}: {found.reason}"
    if kind is not None and found.key != "looks-like-similarities":
        if found.key.startswith("inverted"):
            warn_user(f"{text}. --kind {other}?")
        return
    insist = "" if kind else ", or insist with --kind similarity"
    add = f"Leave out --kind {kind}" if kind else f"Add --kind {other}"
    raise ValueError(f"{text}. {add}{insist}")


def load_problem(args: argparse.Namespace, read: Any = None) -> tuple[Any, Any]:
    """Read input, labels and groups (unless they are); return problem and what was."""
    if read is None:
        read = load_items(args)
    else:
        _check_fitting(args, read.data)
    if read.target is None and args.task != "novelty":
        raise ValueError("the input has no labels; give them with --labels FILE")
    items = args.kernel != "precomputed"
    if scipy.sparse.issparse(read.data):
        if args.task:
            raise ValueError(f"a table of hits has classes; --task {args.task} needs K")
        read = _prepared_hits(read, args)
    if not items:
        print_note(args, *check_symmetry(read, args))
    read = _with_twins(read, args)
    how = {
        "kernel": make_kernel(args.kernel, args.param) if items else "precomputed",
        "groups": read.groups,
        "symmetrize": args.symmetrize,
        "conversion": None if items else settle_kind(args, read.data, read.target),
    }
    target, task = read.target, args.task or "classification"
    if task == "novelty" and target is not None:
        target = _normal_first(target, args.normal)
    return make_problem(read.data, target, **how, task=task), read


def _normal_first(labels: Any, normal: str | None) -> Any:
    """Two classes, "normal" and "novel"; the first one is class 0."""
    words = np.asarray([str(label) for label in labels])
    classes, counts = np.unique(words, return_counts=True)
    normal = str(classes[np.argmax(counts)]) if normal is None else normal
    if normal not in classes:
        raise ValueError(
            f"--normal {normal!r} is no label{did_you_mean(normal, classes)}: there "
            f"are {', '.join(classes[:10])}"
        )
    return np.where(words == normal, "normal", "novel")


def _with_twins(read: Any, args: argparse.Namespace) -> Any:
    """Make groups of equal items, which --groups twins asks for."""
    if vars(args).get("groups") != TWINS or read.groups is not None:
        return read
    if isinstance(read.data, np.ndarray):
        groups = duplicate_groups(read.data)
    else:
        groups = np.unique([repr(item) for item in read.data], return_inverse=True)[1]
    print_note(args, f"{np.unique(groups).size} groups of equal items")
    return replace(read, groups=groups)


def _prepared_hits(read: Any, args: argparse.Namespace) -> Any:
    """Leave out rare classes; keep relatives together if asked to, else warn."""
    read, notes = leave_out_rare(read, vars(args).get("min_members"))
    read, how = as_similarity(read)
    notes += how
    threshold = vars(args).get("split_by_similarity")
    if threshold is not None:
        groups = similarity_groups(read.data, threshold)
        notes.append(
            f"{groups.max() + 1} groups of relatives at similarity {threshold:g}, the "
            f"largest has {np.bincount(groups).max()} items"
        )
        read = replace(read, groups=groups)
    elif read.groups is None and "split_by_similarity" in vars(args):
        notes += near_duplicates(read.data)
    print_note(args, *notes)
    return read
