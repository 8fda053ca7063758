"""Files -> what the commands work on, by `krein.files`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from krein.arrays import compressed_rows
from krein.cli.hits import leave_out_rare, read_if_hits
from krein.cli.output import print_note
from krein.files import (
    FormatError,
    Named,
    as_separator,
    file_head,
    read_items,
    read_labels,
    read_matrix,
)
from krein.items import take
from krein.kernels import Kernel, as_kernel
from krein.validation import ROUNDING, asymmetry, is_continuous

_SUFFIXES = (".csv", ".tsv", ".txt", ".npy", ".gz")  # of files, not of titles
TWINS = "twins"  # --groups: items that are equal to each other
_FEWEST = 4  # items from which "every item is a class of its own" is suspicious


@dataclass(frozen=True)
class Inputs:
    """Data, names, labels and groups of one command, and what to say about them.

    `rule` is the `HitSimilarity` that made similarities of hits, where it did.
    """

    data: Any
    names: list[str] | None
    target: np.ndarray | None
    groups: np.ndarray | None
    notes: list[str]
    rule: Any = None
    alerts: dict[str, str] = field(default_factory=dict)

    def part(self, kept: np.ndarray, n: int) -> Inputs:
        """These items only; a matrix loses rows and columns."""
        data, matrix = self.data, getattr(self.data, "ndim", 1) == 2
        if scipy.sparse.issparse(data):
            data = compressed_rows(data[kept][:, kept])
        elif matrix and data.shape == (n, n):
            data = data[np.ix_(kept, kept)]
        else:
            data = take(data, kept)
        return replace(
            self,
            data=data,
            names=None if self.names is None else [self.names[k] for k in kept],
            target=None if self.target is None else take(self.target, kept),
            groups=None if self.groups is None else take(self.groups, kept),
        )


def read_inputs(args: argparse.Namespace) -> Inputs:
    """Read all input files of a command.

    Parameters
    ----------
    args : Namespace
        ``file``; where a command has them ``kernel``, ``labels`` and ``groups`` (a
        file, or the title of a column of the table), ``items`` and ``label_column``
        (titles), ``format``, ``separator``, ``key``, ``ignore_names``, ``symmetrize``.

    Returns
    -------
    Inputs
        ``notes`` are sentences to be printed.
    """
    options = vars(args)
    labels, groups = options.get("labels"), options.get("groups")
    matrix = options.get("kernel", "precomputed") == "precomputed"
    inside = options.get("label_column") if labels is None and not matrix else None
    if labels is not None and not matrix and _is_title(labels):
        labels, inside = None, labels
    read = _read_data(args, inside)
    found = Inputs(
        read.data, read.names, read.target, None, list(read.notes), alerts=read.alerts
    )
    if labels is not None:
        found = _with_labels(found, labels, args)
    if groups is not None and groups != TWINS:
        # A column of the table, or a file; of all items, before any is left out.
        if not matrix and args.file != "-" and _is_title(groups):
            groups = _read_data(args, groups).target
        else:
            groups = _read_labels(groups, found, args, None).data
        found = replace(found, groups=groups)
    if found.target is not None:
        found = _settle_task(found, labels or args.file, args)
    return found


def _with_labels(read: Inputs, path: str, args: argparse.Namespace) -> Inputs:
    """Add labels from a file; items without one are left out on request."""
    found = _read_labels(path, read, args, vars(args).get("label_column"))
    kept = getattr(found, "labelled", None)
    if kept is not None:
        read = read.part(kept, _count(read.data))
    return replace(
        read,
        target=found.data,
        notes=read.notes + found.notes,
        alerts={**read.alerts, **found.alerts},
    )


def _count(data: Any) -> int:
    return data.shape[0] if hasattr(data, "shape") else len(data)


def _settle_task(read: Inputs, path: str, args: argparse.Namespace) -> Inputs:
    """Find out whether labels are classes or numbers; leave out rare classes."""
    numbers = _as_numbers(read.target)
    task = vars(args).get("task")
    if task is None and numbers is not None and is_continuous(numbers):
        task = "regression"
        note = (
            f"{np.unique(numbers).size} different numbers as labels: taken as numbers "
            "to be predicted (--task classification takes them as classes)"
        )
        read = replace(read, notes=[*read.notes, note])
    if task == "regression":
        if numbers is None:
            raise FormatError(path, "has labels that are no numbers; expected numbers")
        read = replace(read, target=numbers)
    elif task != "novelty":
        _check_classes(np.asarray(read.target), path)
        if vars(args).get("min_members") and not scipy.sparse.issparse(read.data):
            read, notes = leave_out_rare(read, args.min_members)
            read = replace(read, notes=[*read.notes, *notes])
    args.task = task
    return read


def _as_numbers(labels: Any) -> np.ndarray | None:
    """Labels as numbers, if all of them are finite ones."""
    try:
        numbers = np.asarray(labels).astype(float)
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def item_format(kernel: Any, given: str | None = None) -> str | None:
    """Format of items for a kernel: "table" where it compares rows of tables."""
    kernel = as_kernel(kernel, None)
    tables = isinstance(kernel, Kernel) and kernel.facts.input == "tables"
    return given or ("table" if tables else None)


def _is_title(word: str) -> bool:
    """Whether --labels (or --groups) means a column of the table and not a file."""
    path = Path(word)
    return word != "-" and path.suffix not in _SUFFIXES and not path.exists()


def _read_data(args: argparse.Namespace, label_column: str | None) -> Named:
    """Read a square matrix, or items when a kernel is going to compare them."""
    options = vars(args)
    how: dict[str, Any] = {name: options.get(name) for name in ("format", "key")}
    how["separator"] = _separator_of(args.file, args)
    if options.get("kernel", "precomputed") != "precomputed":
        column = options.get("items")
        how["format"] = item_format(args.kernel, how["format"])
        if options.get("skip_unlabelled") and label_column is not None:
            how["skip_unlabelled"] = True
        return read_items(args.file, column=column, label_column=label_column, **how)
    similar = options.get("kind") != "distance"  # hits never are
    hits = read_if_hits(args.file, options.get("format")) if similar else None
    if hits is not None:
        return hits
    read = read_matrix(args.file, **how)
    if read.names is not None and read.columns is not None:
        raise FormatError(
            args.file,
            "rows and columns have different names; expected the similarities of items "
            "to themselves",
        )
    return replace(read, names=read.names or read.columns, columns=None)


def _separator_of(path: str, args: argparse.Namespace) -> str | None:
    """--separator for the files that it occurs in: labels may have another one."""
    separator = vars(args).get("separator")
    mark = as_separator(separator)
    if mark is None or path == "-" or not Path(path).is_file():
        return separator
    return separator if mark.encode() in file_head(Path(path), 1 << 16) else None


def read_square(args: argparse.Namespace) -> tuple[np.ndarray, Inputs]:
    """Read a symmetric matrix of all pairs; what was read goes with it."""
    read = read_inputs(args)
    if scipy.sparse.issparse(read.data):
        raise FormatError(args.file, "is a table of hits, not a matrix of all pairs")
    print_note(args, *read.notes, *check_symmetry(read, args))
    K = np.asarray(read.data, dtype=float)
    return 0.5 * (K + K.T), read


def check_symmetry(read: Inputs, args: argparse.Namespace) -> list[str]:
    """Return what becomes of rounding; refuse more, naming the option that decides."""
    if scipy.sparse.issparse(read.data):
        return []  # was made symmetric
    K = np.asarray(read.data)
    if args.symmetrize or K.shape[0] != K.shape[1]:
        return []
    largest, worst = float(np.abs(K).max()), asymmetry(K)
    if worst > ROUNDING * largest:
        i, j = np.unravel_index(np.argmax(np.abs(K - K.T)), K.shape)
        names = read.names or [f"item {k + 1}" for k in range(len(K))]
        raise FormatError(
            args.file,
            f"the matrix is not symmetric: from {names[i]!r} to {names[j]!r} it has "
            f"{K[i, j]:.6g}, back {K[j, i]:.6g}. If both directions measure the same "
            "thing, --symmetrize uses their mean",
        )
    if worst == 0.0:
        return []
    share = f"{worst / largest:.1e} of the largest entry"
    return [f"both directions differ by {share}: taken for rounding"]


def _read_labels(
    path: str, read: Any, args: argparse.Namespace, column: str | None
) -> Named:
    skip = {"skip_unlabelled": True} if vars(args).get("skip_unlabelled") else {}
    return read_labels(
        path,
        names=read.names,
        n_items=_count(read.data),
        column=column,
        separator=_separator_of(path, args),
        ignore_names=bool(vars(args).get("ignore_names")),
        **skip,
    )


def _check_classes(labels: np.ndarray, path: str) -> None:
    """Refuse one class per item: the separator or the column is another."""
    if labels.size >= _FEWEST and len(np.unique(labels)) == labels.size:
        raise FormatError(
            path,
            f"has {labels.size} classes for {labels.size} items, one each: "
            f"{str(labels[0])!r}, {str(labels[1])!r}, ... Are these labels? Another "
            "separator (--separator) or column (--label-column) may be meant",
        )
