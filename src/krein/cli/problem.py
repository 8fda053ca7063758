"""From the arguments of a command to the data it works on."""

from __future__ import annotations

import argparse
from typing import Any

from krein.cli.parameters import declared, kernel_parameters, parse_pairs
from krein.cli.words import did_you_mean

__all__ = [
    "check_methods",
    "load_items",
    "load_problem",
    "load_target",
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
    from krein.kernels import Kernel

    check_kernel(name)
    known = kernel_parameters(name)
    params = parse_pairs(pairs, known, option="--param", owner=f"kernel {name!r}")
    return Kernel(name, **params)


def load_items(args: argparse.Namespace) -> Any:
    """Read the file: a square matrix, or items that a kernel is going to compare."""
    from krein.cli.inputs import read_input

    if args.kernel != "precomputed":
        make_kernel(args.kernel, args.param)  # a wrong name fails before a long read
        if args.kind or args.transform:
            raise ValueError(
                "--kind and --transform are for a matrix; a kernel has "
                "--param similarity=NAME"
            )
    return read_input(args.file, args.kernel)


def settle_kind(args: argparse.Namespace, K: Any) -> Any:
    """Return the DistanceTransformer that the arguments ask for, or None."""
    from krein import DistanceTransformer
    from krein.validation import looks_like_distances

    kind = args.kind or ("distance" if args.transform else None)
    if kind == "similarity" and args.transform:
        raise ValueError("--transform is for --kind distance")
    if kind is None and looks_like_distances(K):
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


def load_target(
    args: argparse.Namespace,
    read: Any,
    *,
    path: str | None = None,
    required: bool = True,
) -> Any:
    """Return one label per item; names decide where there are any."""
    import numpy as np

    from krein.formats import read_labels

    path = path or args.labels
    if path is None:
        if read.target is None and required:
            raise ValueError("the input has no labels; give them with --labels FILE")
        return read.target
    named = None if args.ignore_names else read.names
    found = read_labels(path, names=named)
    if found.names is not None and read.names is None and not args.ignore_names:
        raise ValueError(
            f"{path} names its items ({found.names[0]!r}, ...), but {args.file} has no "
            "names to find them by. Use a file with names (krein kernel ... -o K.npz "
            "keeps them), or --ignore-names if both are in the same order"
        )
    labels = np.asarray(found.data)
    if labels.size != len(read.data):
        raise ValueError(f"{path} has {labels.size} labels for {len(read.data)} items")
    return labels


def load_problem(args: argparse.Namespace) -> tuple[Any, Any]:
    """Read input, labels and groups; return the problem and what was read."""
    from krein.comparison.run import make_problem

    read = load_items(args)
    groups = getattr(args, "groups", None)
    items = args.kernel != "precomputed"
    problem = make_problem(
        read.data,
        load_target(args, read),
        make_kernel(args.kernel, args.param) if items else "precomputed",
        None,
        None if groups is None else load_target(args, read, path=groups),
        args.symmetrize,
        None if items else settle_kind(args, read.data),
    )
    return problem, read
