"""From what was read to what is learnt: kernels, methods, distances, groups."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from krein import DistanceTransformer
from krein.cli.inputs import TWINS, Inputs, check_symmetry
from krein.cli.output import print_note
from krein.cli.values import check_settings, make_kernel, parse_pairs
from krein.comparison import METHODS, list_methods
from krein.comparison.problem import Problem, make_problem
from krein.comparison.tasks import DETECTORS, REGRESSORS, task_problem
from krein.notices import warn_user
from krein.similarity.sparse import as_matrix
from krein.splitting import duplicate_groups, near_duplicate_share, similarity_groups
from krein.validation import wrong_direction
from krein.words import did_you_mean


def make_kernels(args: argparse.Namespace) -> dict[str, Any]:
    """Kernels by name, None for a matrix; a wrong name fails before a long read."""
    names = [name.strip() for name in args.kernel.split(",")]
    if names == ["precomputed"]:
        return {"precomputed": None}
    if args.kind or args.transform:
        raise ValueError(
            "--kind and --transform are for a matrix; a kernel has "
            "--param similarity=NAME"
        )
    if len(names) > 1 and args.command != "compare":
        raise ValueError(
            f"--kernel {args.kernel} names several kernels, which only krein compare "
            "takes"
        )
    if len(names) > 1 and args.param:
        raise ValueError("--param is for one kernel; --kernel names several")
    if len(set(names)) < len(names):
        raise ValueError(f"--kernel {args.kernel} names one twice")
    return {name: make_kernel(name, args.param) for name in names}


def check_methods(names: str | None, task: str) -> list[str] | None:
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
        if classes.count(method.estimator) == 1
    }
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    chosen = [alias.get(name, name) for name in chosen]
    for name in chosen:
        if name not in known:
            of = "" if task in ("any", "classification") else f" of {task}"
            raise ValueError(
                f"there is no method {name!r}{of}{did_you_mean(name, [*known, *alias])}"
                f" (there are {', '.join(known)})"
            )
    return chosen


def methods_of(task: str) -> dict[str, Any]:
    """The methods of a task by name; of "any" task while labels are not read."""
    classifiers = {name: METHODS[name] for name in list_methods()}
    if task == "any":
        return {**REGRESSORS, **classifiers}
    others: dict[str, Any] = {"regression": REGRESSORS, "novelty": DETECTORS}
    return others.get(task, classifiers)


def problem_of(args: argparse.Namespace, read: Inputs, kernel: Any) -> Problem:
    """Return the data of a comparison or a fit, checked."""
    if read.target is None and read.task != "novelty":
        raise ValueError("the input has no labels; give them with --labels FILE")
    if read.rule is not None and read.task != "classification":
        raise ValueError(
            f"{args.file} is a table of hits, from which classes can be learnt, not "
            f"a {read.task}"
        )
    how = {
        "kernel": kernel or "precomputed",
        "groups": read.groups,
        "symmetrize": args.symmetrize,
    }
    if kernel is None:
        check_symmetry(read, args)
        plain = read.task == "classification" and args.task is None
        labels = read.target if plain else None
        how["conversion"] = conversion_of(args, read.data, labels)
    if read.task == "classification":
        problem = make_problem(read.data, read.target, **how)
    else:
        target = read.target
        if read.task == "novelty" and target is not None:
            target = normal_or_novel(target, args.normal)
        problem = task_problem(read.data, target, read.task, **how)
    return _grouped(problem, args)


def conversion_of(args: argparse.Namespace, K: Any, labels: Any = None) -> Any:
    """Return the DistanceTransformer that the arguments ask for, or None.

    Labels help to tell similarities from distances.
    """
    if args.kind == "similarity" and args.transform:
        raise ValueError("--transform is for --kind distance")
    if not check_direction(args, K, labels):
        if args.param:
            raise ValueError("--param needs --kernel NAME or --kind distance")
        return None
    values = parse_pairs(args.param, ["gamma"], option="--param", owner="--transform")
    made = DistanceTransformer(args.transform or "exponential", **values)
    return check_settings(made, "--param")


def check_distances(args: argparse.Namespace, D: Any) -> None:
    """Refuse negative distances."""
    if D.min() < 0:
        raise ValueError(
            f"{args.file} has negative numbers (down to {D.min():.3g}), which no "
            "distance is. Leave out --kind distance"
        )


def check_direction(args: argparse.Namespace, K: Any, labels: Any = None) -> bool:
    """Refuse numbers of the wrong direction; return whether they are distances.

    --kind insists on what can be doubted; that a distance is negative, or largest
    between an item and itself, cannot.
    """
    kind = args.kind or ("distance" if args.transform else None)
    if kind == "distance":
        check_distances(args, K)
    found = wrong_direction(K, kind or "similarity", labels)
    if found is None:
        return kind == "distance"
    other = "similarity" if kind == "distance" else "distance"
    text = f"{args.file} looks like {found.seems}: {found.reason}"
    if kind is not None and found.key != "looks-like-similarities":
        if found.key.startswith("inverted"):
            warn_user(f"{text}. --kind {other}?")
        return kind == "distance"
    insist = "" if kind else ", or insist with --kind similarity"
    add = f"Leave out --kind {kind}" if kind else f"Add --kind {other}"
    raise ValueError(f"{text}. {add}{insist}")


def normal_or_novel(labels: Any, normal: str | None) -> np.ndarray:
    """Two classes, "normal" and "novel"; by default the most frequent is normal."""
    words = [str(label) for label in labels]
    classes = sorted(set(words))
    normal = max(classes, key=words.count) if normal is None else normal
    if normal not in classes:
        raise ValueError(
            f"--normal {normal!r} is no label{did_you_mean(normal, classes)}: there "
            f"are {', '.join(classes[:10])}"
        )
    return np.array(["normal" if word == normal else "novel" for word in words])


def _grouped(problem: Problem, args: argparse.Namespace) -> Problem:
    """Keep twins or relatives together if asked to; of hits say how many there are."""
    if args.groups != TWINS and args.split_by_similarity is None:
        hits = scipy.sparse.issparse(problem.K)
        if hits and problem.groups is None and args.command == "compare":
            _note_relatives(problem.K, args)
        return problem
    K = problem.on(np.arange(problem.codes.size))
    if args.groups == TWINS:
        groups = duplicate_groups(as_matrix(K).dense())
        print_note(args, f"{np.unique(groups).size} groups of equal items")
    else:
        threshold = args.split_by_similarity
        groups = similarity_groups(K, threshold)
        print_note(
            args,
            f"{groups.max() + 1} groups of relatives at similarity {threshold:g}, the "
            f"largest has {np.bincount(groups).max()} items",
        )
    return replace(problem, groups=groups)


def _note_relatives(K: Any, args: argparse.Namespace) -> None:
    """Say how many items have a near-duplicate, which may lie on the other side."""
    share = near_duplicate_share(K)
    if share >= 0.05:
        print_note(
            args,
            f"{share:.0%} of the items have a near-duplicate (similarity of 0.9 or "
            "more): random folds put them on both sides, and errors will look too "
            "small. --split-by-similarity 0.5 keeps relatives together",
        )
