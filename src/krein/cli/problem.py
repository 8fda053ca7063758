"""From the arguments of a command to the data it works on."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import scipy.sparse

from krein.cli.output import print_note
from krein.cli.parameters import declared, kernel_parameters, parse_pairs
from krein.words import did_you_mean

__all__ = [
    "check_methods",
    "kernel_names",
    "load_items",
    "load_problem",
    "make_kernel",
    "settle_kind",
]


def check_kernel(name: str) -> None:
    """Refuse a kernel that there is not, with the nearest name."""
    from krein.kernels import list_kernels

    if name not in list_kernels():
        raise ValueError(
            f"there is no kernel {name!r}{did_you_mean(name, list_kernels())} "
            "('krein kernel list' shows all)"
        )


def check_methods(names: str | None) -> list[str] | None:
    """Split and check a list of methods; None means all that apply."""
    if names is None:
        return None
    from krein.comparison import list_methods

    chosen = [name.strip() for name in names.split(",") if name.strip()]
    for name in chosen:
        if name not in list_methods():
            raise ValueError(
                f"there is no method {name!r}{did_you_mean(name, list_methods())} "
                f"(there are {', '.join(list_methods())})"
            )
    return chosen


def make_kernel(name: str, pairs: list[str]) -> Any:
    """Return the kernel with its parameters, read by their declared types."""
    from krein.kernels import as_kernel

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
    from krein.cli.inputs import read_inputs

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
    from krein.kernels import KERNELS

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


def settle_kind(args: argparse.Namespace, K: Any) -> Any:
    """Return the DistanceTransformer that the arguments ask for, or None."""
    from krein import DistanceTransformer
    from krein.validation import looks_like_distances

    kind = args.kind or ("distance" if args.transform else None)
    if kind == "similarity" and args.transform:
        raise ValueError("--transform is for --kind distance")
    sparse = scipy.sparse.issparse(K)
    if kind is None and not sparse and looks_like_distances(K):
        raise ValueError(
            f"{args.file} looks like distances (zero diagonal, nothing negative), but "
            "similarities are expected: large must mean alike. Add --kind distance, "
            "or insist with --kind similarity"
        )
    if kind != "distance":
        if args.param:
            raise ValueError("--param needs --kernel NAME or --kind distance")
        return None
    known = {k: v for k, v in declared(DistanceTransformer).items() if k == "gamma"}
    params = parse_pairs(args.param, known, option="--param", owner="--transform")
    return DistanceTransformer(
        args.transform or "exponential", symmetrize=args.symmetrize, **params
    )


def load_problem(args: argparse.Namespace, read: Any = None) -> tuple[Any, Any]:
    """Read input, labels and groups (unless they are); return problem and what was."""
    from krein.cli.inputs import check_symmetry
    from krein.comparison.problem import make_problem

    if read is None:
        read = load_items(args)
    else:
        _check_fitting(args, read.data)
    if read.target is None:
        raise ValueError("the input has no labels; give them with --labels FILE")
    items = args.kernel != "precomputed"
    if scipy.sparse.issparse(read.data):
        read = _prepared_hits(read, args)
    if not items:
        print_note(args, *check_symmetry(read, args))
    problem = make_problem(
        read.data,
        read.target,
        make_kernel(args.kernel, args.param) if items else "precomputed",
        None,
        read.groups,
        args.symmetrize,
        None if items else settle_kind(args, read.data),
    )
    return problem, read


def _prepared_hits(read: Any, args: argparse.Namespace) -> Any:
    """Leave out rare classes; keep relatives together if asked to, else warn."""
    from dataclasses import replace

    from krein.cli.hits import as_similarity, leave_out_rare, near_duplicates
    from krein.splitting import similarity_groups

    read, notes = leave_out_rare(read, vars(args).get("min_members", 10))
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
