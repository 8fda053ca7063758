"""``krein inspect``: how indefinite a similarity is, and what to do about it."""

from __future__ import annotations

import argparse
from typing import Any

from krein.cli.options import add_input, add_kernel, print_table, read_params

SUMMARY = "say how indefinite a similarity is and what to do about it"
EXAMPLE = "krein inspect similarities.csv --labels labels.csv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_input(parser, labels=False)
    parser.add_argument("--labels", metavar="FILE", help="class labels of the items")
    add_kernel(parser)
    parser.add_argument(
        "--kind",
        choices=["similarity", "distance"],
        default="similarity",
        help="what the numbers mean (default: similarity)",
    )


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Diagnose the matrix."""
    import numpy as np

    from krein import diagnose
    from krein.cli.inputs import read_input, read_target
    from krein.kernels import kernel_matrix
    from krein.kernels.registry import Kernel, as_kernel

    read = read_input(args.file, args.kernel)
    data = K = read.data
    X = None
    if args.kernel != "precomputed":
        kernel = as_kernel(args.kernel, read_params(args.param) or None)
        if isinstance(kernel, Kernel):
            kernel = kernel.fit(data)
            X = data if kernel.facts.input == "vectors" else None
        K = kernel_matrix(kernel, data, progress=True)
    if args.symmetrize:
        K = 0.5 * (np.asarray(K) + np.asarray(K).T)
    known = args.labels is not None or read.target is not None
    target = read_target(args.labels, read) if known else None
    diagnosis = diagnose(K, target, X, kind=args.kind)
    return {"file": args.file, **diagnosis.to_dict(), "facts": diagnosis.facts()}


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print the facts and the advice."""
    print_table(["fact", "value"], list(payload["facts"].items()))
    for advice in payload["advice"]:
        print(f"- {advice}")
