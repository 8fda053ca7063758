"""Write a matrix with its names, hits, or rows, wholly or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from krein.files.cells import is_number_or_missing, name_to_text
from krein.files.hit_table import hits_of_matrix
from krein.files.sources import FormatError, Named, Names, check_names
from krein.store.files import atomic_write

_FORMATS = ("npy", "npz", "csv", "tsv", "mtx", "mat", "phylip")
_OTHER_SUFFIXES = {"phy": "phylip", "dist": "phylip"}


def check_format(path: Any, *, format: str | None = None, names: bool = True) -> str:
    """Return the format that `write_matrix` will use, or say why it cannot.

    Called before a long computation. `names` says whether names are to be kept.
    """
    path = Path(path)
    suffix = path.suffix.lower().removeprefix(".")
    found = format or _OTHER_SUFFIXES.get(suffix, suffix)
    if found not in _FORMATS:
        raise FormatError(
            path,
            f"the format to write must be one of {', '.join(_FORMATS)}, got {found!r}",
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
        .npy, .npz, .csv, .tsv, .mtx, .mat (MATLAB) or .phy (PHYLIP); numbers as text
        keep all their digits.
    K : array-like of shape (n, m)
        Finite real numbers.
    names : list of str, optional
        Names of the rows (and columns, for a square matrix); not for .mtx. In text,
        control characters are written as ``\x1b`` and a name that a spreadsheet would
        take for a formula begins with ``'``; `read_matrix` undoes both.
    columns : list of str, optional
        Names of the columns where they are not those of the rows.
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
    if format == "phylip":
        _check_phylip(path, K, rows, titles)
    text = format in ("csv", "tsv", "mtx", "phylip")
    with atomic_write(path, overwrite=overwrite, text=text) as handle:
        if format in ("csv", "tsv"):
            write_table(handle, K, rows, titles, "," if format == "csv" else "\t")
        elif format == "mtx":
            _write_matrix_market(handle, K)
        elif format == "phylip":
            _write_phylip(handle, K, rows)
        elif format == "mat":
            _write_matlab(handle, K, {"names": rows, "columns": titles})
        else:
            _write_binary(handle, K, {"names": rows, "columns": titles}, format)


def _check_numbers(K: Any) -> np.ndarray:
    K = np.asarray(K)
    if np.iscomplexobj(K):
        raise TypeError("K must hold real numbers, got complex ones; write K.real?")
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.size == 0 or not np.isfinite(K).all():
        raise ValueError(f"K must be a matrix of finite numbers, got shape {K.shape}")
    return K


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
        cells = [_cell(value, delimiter, quote_numbers) for value in row]
        handle.write(delimiter.join(cells) + "\n")


def _cell(value: Any, delimiter: str, quote_numbers: bool) -> str:
    if not isinstance(value, str):
        return repr(value)
    text = name_to_text(value)
    # In a matrix all separators, so that a reader that guesses finds the right one.
    marks = f'{delimiter}",;' + " " * quote_numbers
    odd = any(c in text for c in marks) or text.startswith("#")
    number = quote_numbers and bool(text) and is_number_or_missing(text)
    if odd or number or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def write_table(
    handle: IO[str], K: np.ndarray, rows: Names, titles: Names, delimiter: str
) -> None:
    """Write numbers with all their digits, titles and names around them."""
    if titles is None and K.shape[0] == K.shape[1]:
        titles = rows
    table: list[list[Any]] = K.tolist()
    if rows:
        table = [[name, *values] for name, values in zip(rows, table, strict=True)]
    if titles:
        corner = []
        if rows:
            # A title above the names says that the columns are other items.
            corner = [""] if titles == rows else ["name"]
        table.insert(0, [*corner, *titles])
    write_rows(handle, table, delimiter, quote_numbers=True)


def _write_matrix_market(handle: IO[str], K: np.ndarray) -> None:
    handle.write(f"%%MatrixMarket matrix array real general\n{len(K)} {len(K.T)}\n")
    handle.writelines(f"{value!r}\n" for value in K.T.ravel().tolist())


def _check_phylip(path: Path, K: np.ndarray, rows: Names, titles: Names) -> None:
    """Refuse what the format has no place for, before anything is written."""
    if K.shape[0] != K.shape[1] or titles not in (None, rows):
        raise FormatError(
            path,
            f"a PHYLIP file holds a square matrix and one list of names, got shape "
            f"{K.shape}; use .npz, .csv or .tsv",
        )
    for name in rows or ():
        if any(letter.isspace() for letter in name):
            raise FormatError(
                path, f"names in a PHYLIP file must not hold blanks, got {name!r}"
            )


def _write_phylip(handle: IO[str], K: np.ndarray, names: Names) -> None:
    names = names or [f"item{i}" for i in range(1, len(K) + 1)]
    handle.write(f"{len(K)}\n")
    for name, values in zip(names, K.tolist(), strict=True):
        start = name_to_text(name).ljust(10)  # ten letters, where a name is shorter
        handle.write(" ".join([start, *map(repr, values)]) + "\n")


def _write_matlab(handle: IO[bytes], K: np.ndarray, texts: dict[str, Names]) -> None:
    from scipy.io import savemat

    # A cell array of text is an array of objects.
    cells = {
        key: np.array(names, dtype=object) for key, names in texts.items() if names
    }
    savemat(handle, {"K": K, **cells})


def _write_binary(
    handle: IO[bytes], K: np.ndarray, texts: dict[str, Names], format: str
) -> None:
    arrays = {key: np.array(names) for key, names in texts.items() if names}
    if format == "npz":
        np.savez(handle, K=K, **arrays)  # type: ignore[arg-type]
    else:  # names behind the matrix; titles alone have no place
        for array in (K, *(arrays.values() if "names" in arrays else ())):
            np.save(handle, array, allow_pickle=False)


def write_hits(
    path: str | os.PathLike, hits: Named, *, overwrite: bool = False
) -> None:
    """Write hits with their names.

    Parameters
    ----------
    path : path-like
        .npz (which `scipy.sparse.load_npz` reads too), .csv, or anything else for
        tabs.
    hits : Named
        As `read_hits` returns them.
    overwrite : bool
        Replace an existing file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import scipy.sparse
    >>> from krein import Named, read_hits, write_hits
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "hits.npz"
    >>> hits = Named(scipy.sparse.eye_array(2, format="csr"), ["ann", "bob"])
    >>> write_hits(path, hits)
    >>> read_hits(path).names
    ['ann', 'bob']
    >>> folder.cleanup()
    """
    path = Path(path)
    checked = hits_of_matrix(hits.data, hits.names, hits.columns)
    matrix = checked.data
    rows = checked.names or []
    if path.suffix.lower() == ".npz":
        arrays = {key: getattr(matrix, key) for key in ("data", "indices", "indptr")}
        arrays |= {"format": b"csr", "shape": matrix.shape, "_is_array": True}
        texts = {"names": rows, "columns": checked.columns}
        arrays |= {key: names for key, names in texts.items() if names is not None}
        with atomic_write(path, overwrite=overwrite) as handle:
            np.savez(handle, **arrays)
        return
    mark = "," if path.suffix.lower() == ".csv" else "\t"
    columns = rows if checked.columns is None else checked.columns
    for name in {*rows, *columns}:
        if name != name.strip() or name[0] == "#" or {mark, *'"\n\r'} & {*name}:
            raise ValueError(f"the name {name!r} cannot stand in a table; use .npz")
    found = matrix.tocoo()
    triplets = (part.tolist() for part in (found.row, found.col, found.data))
    with atomic_write(path, overwrite=overwrite, text=True) as handle:
        handle.write(mark.join(["query", "target", "score"]) + "\n")
        for i, j, score in zip(*triplets, strict=True):
            handle.write(f"{rows[i]}{mark}{columns[j]}{mark}{score!r}\n")
