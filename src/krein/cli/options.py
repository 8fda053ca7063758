"""Arguments that several commands share."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

__all__ = [
    "add_input",
    "add_kernel",
    "add_labels",
    "add_output",
    "add_reading",
    "add_symmetrize",
    "check_output",
    "repeated",
]

TRANSFORMS = ("exponential", "gaussian", "inverse", "negative", "centred", "max")


def add_input(parser: argparse.ArgumentParser) -> None:
    """Add the input file and how it is to be read."""
    parser.add_argument(
        "file", help="similarities (or distances), or items with --kernel; - is stdin"
    )
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add what overrules how a file is understood."""
    group = parser.add_argument_group("reading the file")
    group.add_argument(
        "--items", metavar="COLUMN", help="the file is a table, items in this column"
    )
    group.add_argument(
        "--format", metavar="NAME", help="of the file, if it is not recognised"
    )
    group.add_argument(
        "--separator",
        metavar="CHAR",
        help="between fields, if it is not recognised: , ; | tab or space (of the "
        "files that have it)",
    )


def add_labels(parser: argparse.ArgumentParser) -> None:
    """Add the labels and how they find their items."""
    group = parser.add_argument_group("labels")
    group.add_argument(
        "--labels",
        metavar="FILE",
        help="class labels: a file, or with --items a column of the same table",
    )
    group.add_argument(
        "--label-column", metavar="NAME", help="column of the label file"
    )
    group.add_argument(
        "--ignore-names",
        action="store_true",
        help="labels are in the order of the items, whatever the names say",
    )


def add_kernel(parser: argparse.ArgumentParser) -> None:
    """Add the choice of a kernel, or what the numbers of a matrix mean."""
    group = parser.add_argument_group("the similarity")
    group.add_argument(
        "--kernel",
        default="precomputed",
        metavar="NAME",
        help="the file has items, not similarities: compare them by this kernel "
        "(krein compare takes several, A,B,...)",
    )
    group.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="parameter of the kernel (or of --transform); may be repeated",
    )
    group.add_argument(
        "--kind",
        choices=["similarity", "distance"],
        help="what the numbers of a matrix mean (default: similarity; what looks like "
        "distances must be named)",
    )
    group.add_argument(
        "--transform",
        choices=TRANSFORMS,
        help="how distances become similarities (default: exponential, exp(-d / "
        "median))",
    )
    add_symmetrize(group)


def add_symmetrize(parser: argparse._ActionsContainer) -> None:
    """Add what to do about an asymmetric matrix."""
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
    if path == "-":
        raise ValueError(
            "a model or a report cannot go to standard output; name a file"
        )
    from krein.store.files import check_writable

    try:
        return check_writable(path, overwrite=force)
    except FileExistsError:
        raise FileExistsError(
            f"{path} exists; choose another name, or replace it with --force"
        ) from None


# Options that say how input is to be understood: needed to repeat a command.
_SHARED = (
    "items",
    "format",
    "separator",
    "labels",
    "label_column",
    "ignore_names",
    "kernel",
    "param",
    "kind",
    "transform",
    "symmetrize",
)


def repeated(args: argparse.Namespace, *more: str, skip: tuple[str, ...] = ()) -> str:
    """Return the shared options (and `more`) as they have to be typed again."""
    words: list[str] = []
    for name in (*_SHARED, *more):
        value = getattr(args, name, None)
        option = "--" + name.replace("_", "-")
        if name in skip or value in (None, False, [], "precomputed"):
            continue
        if value is True:
            words.append(option)
        else:
            for one in value if isinstance(value, list) else [value]:
                words += [option, str(one)]
    return shlex.join(words)
