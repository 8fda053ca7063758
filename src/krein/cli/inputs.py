"""Files -> matrices, items and labels, with names where the file has them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from krein.files import atomic_write
from krein.kernels import KERNELS

__all__ = ["read_column", "read_input", "read_rows", "read_target", "write_matrix"]


def read_input(path: str, kernel: str) -> tuple[Any, list[str] | None]:
    """Return a square matrix with the names of its items, or the items of a kernel."""
    if kernel == "precomputed":
        matrix, rows, columns = read_rows(path)
        if rows is not None and columns is not None and rows != columns:
            raise ValueError(f"{path}: rows and columns have different names")
        return matrix, columns or rows
    if kernel not in KERNELS:
        raise ValueError(f"--kernel must be one of {', '.join(sorted(KERNELS))}")
    if KERNELS[kernel].input in ("vectors", "series", "places", "any"):
        matrix, rows, _ = read_rows(path)
        return matrix, rows
    return _lines(path), None


def read_rows(path: str) -> tuple[np.ndarray, list[str] | None, list[str] | None]:
    """Return numbers with the names of rows and columns, where there are any."""
    if Path(path).suffix == ".npy":
        return _npy(path), None, None
    table = _table(path)
    columns = None if all(_is_number(cell) for cell in table[0]) else table.pop(0)
    rows = None
    if table and not all(_is_number(row[0]) for row in table):
        rows = [row[0] for row in table]
        table = [row[1:] for row in table]
        columns = columns[1:] if columns is not None else None
    try:
        return np.array(table, dtype=float), rows, columns
    except ValueError as error:
        raise ValueError(f"{path} is not a table of numbers: {error}") from None


def _npy(path: str) -> np.ndarray:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is not a .npy file of numbers: {error}") from None


def _table(path: str) -> list[list[str]]:
    delimiter = "\t" if Path(path).suffix == ".tsv" else ","
    with open(path, newline="", encoding="utf-8") as file:
        table = [row for row in csv.reader(file, delimiter=delimiter) if row]
    if not table:
        raise ValueError(f"{path} is empty")
    return table


def _lines(path: str) -> list[str]:
    return [line for line in Path(path).read_text("utf-8").splitlines() if line]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def read_column(path: str) -> list[str]:
    """Return one value per item: the last column of a table."""
    return [row[-1] for row in _table(path)]


def read_target(path: str, names: list[str] | None, n: int) -> np.ndarray:
    """Return one label per item, matched by name where both files have names."""
    table = _table(path)
    if len(table) == n + 1:
        table = table[1:]
    if names is not None and len(table[0]) > 1:
        by_name = {row[0]: row[-1] for row in table}
        missing = [name for name in names if name not in by_name]
        if missing:
            raise ValueError(f"{path} has no label for {missing[0]!r}")
        return np.array([by_name[name] for name in names])
    if len(table) != n:
        raise ValueError(f"{path} has {len(table)} labels for {n} items")
    return np.array([row[-1] for row in table])


def write_matrix(
    path: Any, K: np.ndarray, names: list[str] | None, *, overwrite: bool
) -> None:
    """Write .npy, or .csv with names."""
    if Path(path).suffix == ".npy":
        with atomic_write(path, overwrite=overwrite) as file:
            np.save(file, K, allow_pickle=False)
        return
    with atomic_write(path, overwrite=overwrite, text=True) as file:
        writer = csv.writer(file, lineterminator="\n")
        labels = names or [str(i) for i in range(len(K))]
        writer.writerow(["", *labels])
        writer.writerows(
            [label, *map(repr, row)]
            for label, row in zip(labels, K.tolist(), strict=True)
        )
