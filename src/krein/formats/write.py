"""Write a matrix with its names, or rows for a spreadsheet, wholly or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.io

from krein.formats.arrays import write_npy
from krein.formats.cells import is_number_or_missing, name_to_text
from krein.formats.matrix_market import write_matrix_market
from krein.formats.named import FormatError
from krein.formats.recognise import MATRIX_FORMATS
from krein.store.files import atomic_write

__all__ = ["check_format", "check_names", "write_matrix", "write_rows", "write_table"]


def check_format(
    path: str | os.PathLike, *, format: str | None = None, names: bool = True
) -> str:
    """Return the format that `write_matrix` will use, or say why it cannot.

    Called before a long computation. `names` says whether names are to be kept.
    """
    path = Path(path)
    found = format or MATRIX_FORMATS.get(path.suffix.lower(), "")
    if found not in MATRIX_FORMATS.values() or found == "pairs":
        raise FormatError(
            path,
            "the format to write must be npy, npz, csv, tsv, phylip, mat or mtx, got "
            f"{found or path.suffix!r}",
        )
    if names and found == "mtx":
        raise FormatError(
            path,
            "a .mtx file has no place for names; use .npz, .npy, .csv or .tsv, or "
            "leave names out",
        )
    return found


def write_matrix(
    path: str | os.PathLike,
    K: Any,
    *,
    names: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    format: str | None = None,
    overwrite: bool = False,
) -> None:
    r"""Write a matrix of similarities or distances.

    Parameters
    ----------
    path : path-like
        .npy, .npz, .csv, .tsv, .phy (PHYLIP), .mat or .mtx; numbers as text keep all
        their digits.
    K : array-like of shape (n, m)
        Finite real numbers.
    names : list of str, optional
        Names of the rows (and columns, for a square matrix); not for .mtx. In text,
        control characters are written as ``\x1b`` and a name that a spreadsheet would
        take for a formula begins with ``'``; `read_matrix` undoes both.
    columns : list of str, optional
        Names of the columns where they are not those of the rows; not for PHYLIP.
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
    named = names is not None or columns is not None
    format = check_format(path, format=format, names=named)
    K = _check_numbers(K)
    rows = check_names(names, K.shape[0], "names")
    titles = check_names(columns, K.shape[1], "columns")
    if format == "phylip" and (K.shape[0] != K.shape[1] or titles not in (None, rows)):
        raise ValueError(f"PHYLIP needs a square matrix, got shape {K.shape}")
    text = format in ("csv", "tsv", "phylip", "mtx")
    with atomic_write(path, overwrite=overwrite, text=text) as handle:
        if format in ("csv", "tsv"):
            write_table(handle, K, rows, titles, "," if format == "csv" else "\t")
        elif format == "phylip":
            _write_phylip(handle, K, rows)
        elif format == "mtx":
            write_matrix_market(handle, K)
        else:
            _write_binary(handle, K, rows, titles, format)


def _check_numbers(K: Any) -> np.ndarray:
    K = np.asarray(K)
    if np.iscomplexobj(K):
        raise TypeError(
            "K must be a matrix of real numbers, got complex ones; write K.real if the "
            "imaginary parts are rounding"
        )
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.size == 0 or not np.isfinite(K).all():
        raise ValueError(f"K must be a matrix of finite numbers, got shape {K.shape}")
    return K


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
    for name in names:
        if not name.strip() or "\0" in name or name != _encodable(name):
            raise ValueError(f"{what} holds {name!r}, which cannot be a name in a file")
    return names


def _encodable(name: str) -> str:
    return name.encode("utf-8", errors="ignore").decode("utf-8")


def write_rows(
    handle: IO[str],
    rows: Iterable[Sequence[Any]],
    delimiter: str = ",",
    *,
    quote_numbers: bool = False,
) -> None:
    """Write rows of text and numbers that are safe to open in a spreadsheet.

    No text is a formula, a comment or a control sequence of a terminal. `quote_numbers`
    quotes text that reads as a number, so that names stay names.
    """
    for row in rows:
        cells = [
            _cell(x, delimiter, quote_numbers) if isinstance(x, str) else repr(x)
            for x in row
        ]
        handle.write(delimiter.join(cells) + "\n")


def _cell(name: str, delimiter: str, quote_numbers: bool) -> str:
    text = name_to_text(name)
    # All separators, so that a reader that guesses finds the one of the file.
    odd = any(c in text for c in f'{delimiter}",; ') or text.startswith("#")
    number = quote_numbers and bool(text) and is_number_or_missing(text)
    if odd or number or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def write_table(
    handle: IO[str],
    K: np.ndarray,
    rows: list[str] | None,
    titles: list[str] | None,
    delimiter: str,
) -> None:
    """Write numbers with all their digits, titles and names around them."""
    if titles is None and K.shape[0] == K.shape[1]:
        titles = rows
    table: list[list[Any]] = K.tolist()
    if rows:
        table = [[name, *values] for name, values in zip(rows, table, strict=True)]
    if titles:
        # A title above the names says that the columns are other items.
        corner = [] if not rows else [""] if titles == rows else ["name"]
        table.insert(0, [*corner, *titles])
    write_rows(handle, table, delimiter, quote_numbers=True)


def _write_phylip(handle: IO[str], K: np.ndarray, names: list[str] | None) -> None:
    names = names or [f"item{i}" for i in range(1, len(K) + 1)]
    for name in names:
        if any(c.isspace() for c in name):
            raise ValueError(f"PHYLIP names must not hold blanks, got {name!r}")
    handle.write(f"{K.shape[0]}\n")
    for name, values in zip(names, K.tolist(), strict=True):
        handle.write(
            " ".join([name_to_text(name).ljust(10), *map(repr, values)]) + "\n"
        )


def _write_binary(
    handle: IO[bytes],
    K: np.ndarray,
    names: list[str] | None,
    columns: list[str] | None,
    format: str,
) -> None:
    if format == "npy":
        write_npy(handle, K, names, columns)
        return
    kind: Any = object if format == "mat" else np.str_
    texts = {"names": names, "columns": columns}
    arrays = {k: np.array(v, dtype=kind) for k, v in texts.items() if v is not None}
    if format == "npz":
        np.savez(handle, K=K, **arrays)  # type: ignore[arg-type]
    else:
        scipy.io.savemat(handle, {"K": K, **arrays})
