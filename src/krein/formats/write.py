"""Write a matrix with its names, completely or not at all."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.io

from krein.formats.read import MATRIX_FORMATS
from krein.store.files import atomic_write

__all__ = ["check_names", "write_matrix", "write_table"]

_WITHOUT_NAMES = ("npy", "mtx")


def write_matrix(
    path: str | os.PathLike,
    K: Any,
    *,
    names: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    format: str | None = None,
    overwrite: bool = False,
) -> None:
    """Write a matrix of similarities or distances.

    Parameters
    ----------
    path : path-like
        .npy, .npz, .csv, .tsv, .phy (PHYLIP), .mat or .mtx; numbers as text keep all
        their digits.
    K : array-like of shape (n, m)
        Finite numbers.
    names : list of str, optional
        Names of the rows (and columns, for a square matrix); for .npz, .csv, .tsv,
        .mat and PHYLIP.
    columns : list of str, optional
        Names of the columns of a matrix that is not square; .npz, .csv and .tsv.
    format : str, optional
        Instead of what the name says.
    overwrite : bool
        Replace an existing file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from krein import read_matrix, write_matrix
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "K.tsv"
    >>> write_matrix(path, np.eye(2), names=["ann", "bob"])
    >>> read_matrix(path).names
    ['ann', 'bob']
    >>> folder.cleanup()
    """
    path = Path(path)
    format = format or MATRIX_FORMATS.get(path.suffix.lower(), "")
    if format not in MATRIX_FORMATS.values() or format == "pairs":
        raise ValueError(
            f"{path}: the format to write must be npy, npz, csv, tsv, phylip, mat or "
            f"mtx, got {format or path.suffix!r}"
        )
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or not np.isfinite(K).all():
        raise ValueError(f"K must be a matrix of finite numbers, got shape {K.shape}")
    rows = check_names(names, K.shape[0], "names")
    if rows and columns is None and K.shape[0] == K.shape[1]:
        columns = rows
    titles = check_names(columns, K.shape[1], "columns")
    if rows and format in _WITHOUT_NAMES:
        raise ValueError(
            f"a .{format} file has no place for names; use .npz, .csv or .tsv, or "
            "leave names out"
        )
    text = format in ("csv", "tsv", "phylip")
    with atomic_write(path, overwrite=overwrite, text=text) as handle:
        if format in ("csv", "tsv"):
            write_table(handle, K, rows, titles, "," if format == "csv" else "\t")
        elif format == "phylip":
            _write_phylip(handle, K, rows)
        else:
            _write_binary(handle, K, rows, titles, format)


def check_names(names: Sequence[str] | None, n: int, what: str) -> list[str] | None:
    """Return n different names as text, or None where there are none."""
    if names is None:
        return None
    names = [str(name) for name in names]
    if len(names) != n:
        raise ValueError(f"{what} has {len(names)} entries for {n} rows or columns")
    if len(set(names)) < n:
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{what} holds {twice!r} twice; names must be unique")
    return names


def write_table(
    handle: IO[str],
    K: np.ndarray,
    rows: list[str] | None,
    titles: list[str] | None,
    delimiter: str,
) -> None:
    """Write numbers with all their digits, titles and names around them."""
    writer = csv.writer(handle, delimiter=delimiter, lineterminator="\n")
    if titles:
        writer.writerow(["", *titles] if rows else titles)
    for i, values in enumerate(K.tolist()):
        writer.writerow([rows[i], *map(repr, values)] if rows else map(repr, values))


def _write_phylip(handle: IO[str], K: np.ndarray, names: list[str] | None) -> None:
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"PHYLIP needs a square matrix, got shape {K.shape}")
    names = names or [f"item{i}" for i in range(K.shape[0])]
    for name in names:
        if not name or any(c.isspace() for c in name):
            raise ValueError(f"PHYLIP names must not hold blanks, got {name!r}")
    handle.write(f"{K.shape[0]}\n")
    for name, values in zip(names, K.tolist(), strict=True):
        handle.write(" ".join([name.ljust(10), *map(repr, values)]) + "\n")


def _write_binary(
    handle: IO[bytes],
    K: np.ndarray,
    names: list[str] | None,
    columns: list[str] | None,
    format: str,
) -> None:
    if format == "npy":
        np.save(handle, K, allow_pickle=False)
    elif format == "npz":
        arrays = {"K": K}
        if names is not None:
            arrays["names"] = np.array(names)
        if columns is not None and columns != names:
            arrays["columns"] = np.array(columns)
        np.savez(handle, **arrays)  # type: ignore[arg-type]
    elif format == "mat":
        cells = {} if names is None else {"names": np.array(names, dtype=object)}
        scipy.io.savemat(handle, {"K": K, **cells})
    else:
        scipy.io.mmwrite(handle, K, precision=17)
