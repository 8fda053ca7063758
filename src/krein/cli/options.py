"""Arguments that several commands share, and what is made of them."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = [
    "add_input",
    "add_kernel",
    "add_output",
    "check_output",
    "load_problem",
    "print_table",
    "read_params",
]


def add_input(parser: argparse.ArgumentParser, *, labels: bool) -> None:
    """Add the input file and the labels."""
    parser.add_argument("file", help="similarity matrix, or items with --kernel")
    if labels:
        parser.add_argument(
            "--labels",
            metavar="FILE",
            help="class labels of the items (needed unless the input has them)",
        )


def add_kernel(parser: argparse.ArgumentParser) -> None:
    """Add the choice of a kernel and its parameters."""
    parser.add_argument(
        "--kernel",
        default="precomputed",
        metavar="NAME",
        help="the file has items, not similarities: compare them by this kernel",
    )
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="parameter of the kernel; may be repeated",
    )
    parser.add_argument(
        "--symmetrize",
        action="store_true",
        help="use the mean of both directions of an asymmetric matrix",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add --force."""
    parser.add_argument(
        "--force", action="store_true", help="replace output files that exist"
    )


def check_output(path: str | None, force: bool) -> Path | None:
    """Return the path if it can be written; ask for --force if it exists.

    Called before the work, so that no result is lost to a name that is taken.
    """
    if path is None:
        return None
    from krein.store.files import check_writable

    try:
        return check_writable(path, overwrite=force)
    except FileExistsError:
        raise FileExistsError(
            f"{path} exists; choose another name, or replace it with --force"
        ) from None


def read_params(pairs: Sequence[str]) -> dict[str, Any]:
    """Turn ``gamma=0.5`` into ``{"gamma": 0.5}``; what is no literal stays text."""
    params: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise ValueError(f"--param must look like name=value, got {pair!r}")
        try:
            params[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            params[name] = value
    return params


def load_problem(args: argparse.Namespace) -> tuple[Any, list[str] | None]:
    """Read input, labels and groups; return the problem and the names of the items."""
    from krein.cli.inputs import read_input, read_target
    from krein.comparison.run import make_problem

    read = read_input(args.file, args.kernel)
    groups = getattr(args, "groups", None)
    problem = make_problem(
        read.data,
        read_target(args.labels, read),
        args.kernel,
        read_params(args.param) or None,
        None if groups is None else read_target(groups, read),
        args.symmetrize,
    )
    return problem, read.names


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: by rich on a terminal, tab-separated in a pipe."""
    if not sys.stdout.isatty():
        for row in [head, *rows]:
            print("\t".join(row))
        return
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for row in [head, *rows]:
            print("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)))
        return
    table = Table(*head)
    for row in rows:
        table.add_row(*row)
    Console().print(table, markup=False)
