"""One reader for each thing: a matrix, items, rows for a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from krein.formats import arrays, features, sequences, series
from krein.formats.cells import Row, is_number_or_missing
from krein.formats.columns import read_columns
from krein.formats.matlab import read_matlab
from krein.formats.matrix_market import read_matrix_market
from krein.formats.named import FormatError, Named, TooLargeError, unique_names
from krein.formats.pairs import read_pairs
from krein.formats.phylip import read_phylip
from krein.formats.recognise import choose_format
from krein.formats.tables import (
    as_separator,
    find_separator,
    read_rows,
    read_table,
)
from krein.formats.text import file_head, readable

__all__ = ["align_columns", "read_items", "read_matrix"]


def read_matrix(
    path: str | os.PathLike,
    *,
    format: str | None = None,
    separator: str | None = None,
    key: str | None = None,
    missing: float | Literal["error"] = 0.0,
    mirror: bool = True,
) -> Named:
    """Read a matrix of similarities or distances.

    Parameters
    ----------
    path : path-like
        .npy, .npz, .csv, .tsv (with or without names), .phy / .dist (PHYLIP), .mat,
        .mtx (Matrix Market), .m8 / .blast / .pairs (query, subject, score); text may
        be packed by gzip. The format is recognised by content where it can be, else
        by name. ``-`` is standard input.
    format : str, optional
        "npy", "npz", "csv", "tsv", "phylip", "mat", "mtx" or "pairs" instead.
    separator : str, optional
        ``","``, ``";"``, ``"tab"`` or ``"space"`` instead of what is found.
    key : str, optional
        Name of the array in a .npz or .mat file with several.
    missing : float or "error"
        For pair lists: the score of pairs that are not listed, or a refusal.
    mirror : bool
        In a square matrix without other names above, take a missing entry from the
        other direction; False for new items against training items.

    Returns
    -------
    Named
        ``data`` is the matrix in float64, ``names`` those of the rows, ``columns``
        those of the columns where they differ, ``target`` labels (.npz with y),
        ``notes`` what was recognised and filled in.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from krein import read_matrix
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "K.csv"
    >>> _ = path.write_text(chr(10).join([";ann;bob", "ann;1;0,5", "bob;0,5;1"]))
    >>> read = read_matrix(path)
    >>> read.names
    ['ann', 'bob']
    >>> read.notes[0]
    "read 2 x 2 numbers, names from first row and column, separator ';', decimal commas"
    >>> folder.cleanup()
    """
    mark = as_separator(separator)
    with readable(path) as file:
        found = choose_format(file, format, matrix=True)

        def table() -> Named:
            said = mark or ("\t" if found == "tsv" and b"\t" in file_head(file) else None)
            return _or_hint(lambda: read_table(file, said), file, _items_to_compare)

        readers: dict[str, Callable[[], Named]] = {
            "npy": lambda: arrays.read_npy(file),
            "npz": lambda: arrays.matrix_of_arrays(arrays.read_npz(file), file, key),
            "csv": table,
            "tsv": table,
            "phylip": lambda: read_phylip(file),
            "mat": lambda: arrays.matrix_of_arrays(read_matlab(file), file, key),
            "mtx": lambda: read_matrix_market(file),
            "pairs": lambda: read_pairs(file, missing=missing),
        }
        return _as_matrix(readers[found](), file, mirror)


def _as_matrix(read: Named, path: Path, mirror: bool) -> Named:
    """Check numbers and names; fill in what the other direction knows."""
    data = np.asarray(read.data)
    if data.ndim != 2 or data.dtype.kind not in "biuf" or data.size == 0:
        raise FormatError(
            path,
            f"expected a matrix of numbers, got an array of shape {data.shape} and "
            f"dtype {data.dtype}",
        )
    data = np.asarray(data, dtype=np.float64)
    notes = read.notes
    if not any(note.startswith("read") for note in notes):
        named = "no names" if read.names is None else "with names"
        shape = f"{data.shape[0]} x {data.shape[1]}"
        notes = [", ".join([f"read {shape} numbers, {named}", *notes])]
    for names, n, what in ((read.names, 0, "rows"), (read.columns, 1, "columns")):
        if names is not None and len(names) != data.shape[n]:
            raise FormatError(
                path, f"has {len(names)} names for {data.shape[n]} {what}"
            )
        unique_names(names or [], path)
    columns = None if read.columns == read.names else read.columns
    read = replace(read, data=data, columns=columns, notes=notes)
    return read if np.isfinite(data).all() else _fill(read, path, mirror)


def _fill(read: Named, path: Path, mirror: bool) -> Named:
    """Take missing entries from their mirror entries, or say which one is missing."""
    K, notes, alerts = read.data, read.notes, read.alerts
    gaps = np.isnan(K)
    if mirror and K.shape[0] == K.shape[1] and read.columns is None and gaps.any():
        known = gaps & ~gaps.T
        K = np.where(known, K.T, K)
        if known.any():
            count = int(known.sum())
            what = "1 missing entry" if count == 1 else f"{count} missing entries"
            taken = f"{what} taken from across the diagonal"
            notes, alerts = [*notes, taken], {**alerts, "missing-filled": f"{taken}."}
    bad = np.argwhere(~np.isfinite(K))
    if len(bad):
        i, j = bad[0]
        above = read.columns
        if above is None and K.shape[0] == K.shape[1]:
            above = read.names
        row, column = _called(read.names, i), _called(above, j)
        if np.isinf(K[i, j]):
            raise FormatError(path, f"row {row} and column {column} hold {K[i, j]}")
        raise FormatError(
            path,
            f"{len(bad)} entries are missing, the first in row {row} and column "
            f"{column}, and nothing across the diagonal stands in for them. Measure "
            "them, leave these items out, or write a value you can defend",
        )
    return replace(read, data=K, notes=notes, alerts=alerts)


def _called(names: list[str] | None, k: int) -> str:
    """Row and column as people count them, with the name where there is one."""
    return f"{k + 1}" if names is None else f"{k + 1} ({names[k]!r})"


def align_columns(read: Named, expected: Sequence[str]) -> Named:
    """Put the columns of new items x training items into the order of a model.

    Parameters
    ----------
    read : Named
        As `read_matrix` returns it, with names of the columns.
    expected : list of str
        Names of the training items, in the order of training.

    Returns
    -------
    Named
        With ``columns`` as expected; columns of other items are left out. ``notes``
        says what was done.
    """
    given = read.columns or read.names
    expected = list(expected)
    if given is None or given == expected:
        return read
    position = {name: k for k, name in enumerate(given)}
    missing = [name for name in expected if name not in position]
    if missing:
        unknown = [name for name in given if name not in set(expected)]
        raise ValueError(
            f"the {len(given)} columns are not the {len(expected)} training items of "
            f"the model: missing {_some(missing)}; unknown {_some(unknown)}. Compute "
            "the similarities of the new items to the training items"
        )
    data = read.data[:, [position[name] for name in expected]]
    left = len(given) - len(expected)
    note = "columns put into the order of the training items, by name"
    note += f"; {left} of other items left out" if left else ""
    return replace(read, data=data, columns=expected, notes=[*read.notes, note])


def _some(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:3]) or "none"
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def read_items(
    path: str | os.PathLike,
    *,
    format: str | None = None,
    separator: str | None = None,
    key: str | None = None,
    column: str | None = None,
    label_column: str | None = None,
) -> Named:
    """Read items to compute similarities of.

    Parameters
    ----------
    path : path-like
        .fasta / .fa (sequences), .ts and .tsv (series, UCR), .arff and .libsvm
        (vectors), .csv (vectors, with or without names, or a table with a column of
        items), .txt (a string per line), .npy and .npz (arrays); text may be packed
        by gzip. The format is recognised by content where it can be, else by name.
        ``-`` is standard input.
    format : str, optional
        "fasta", "ts", "ucr", "arff", "libsvm", "csv", "lines", "npy" or "npz" instead;
        "table" for rows that mix numbers, text and missing entries (kernel "gower").
    separator : str, optional
        ``","``, ``";"``, ``"tab"`` or ``"space"`` instead of what is found.
    key : str, optional
        Name of the array in a .npz file with several.
    column : str, optional
        Title of the column that holds the items, as text.
    label_column : str, optional
        Title of the column that holds labels; without `column` all others are numbers.

    Returns
    -------
    Named
        ``data`` holds the items, ``names`` theirs, ``columns`` those of features,
        ``target`` the labels in the file, ``notes`` what was recognised.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from krein import read_items
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "two.fasta"
    >>> _ = path.write_text(chr(10).join([">a first", "ACGT", ">b", "AC"]))
    >>> items = read_items(path)
    >>> items.names, items.data
    (['a', 'b'], ['ACGT', 'AC'])
    >>> folder.cleanup()
    """
    mark = as_separator(separator)
    with readable(path) as file:
        mixed = format == "table"
        if mixed or column is not None or label_column is not None:
            return read_columns(file, mark, column, label_column, mixed=mixed)
        found = choose_format(file, format, matrix=False)

        def text(read: Callable[[], Named]) -> Named:
            return _or_hint(read, file, _column_of_text)

        readers: dict[str, Callable[[], Named]] = {
            "fasta": lambda: sequences.read_fasta(file),
            "lines": lambda: sequences.read_lines(file),
            "ts": lambda: series.read_ts(file),
            "ucr": lambda: text(lambda: series.read_ucr(file, mark or "\t")),
            "arff": lambda: features.read_arff(file),
            "libsvm": lambda: features.read_libsvm(file),
            "csv": lambda: text(lambda: _vectors(file, mark)),
            "npy": lambda: arrays.read_npy(file),
            "npz": lambda: _items_of_arrays(arrays.read_npz(file), file, key),
        }
        read = readers[found]()
        notes = read.notes or [f"read {len(read.data)} items ({found})"]
        return replace(read, notes=notes)


def _or_hint(
    read: Callable[[], Named], path: Path, hint: Callable[[Row, int], str]
) -> Named:
    """Read numbers; where there are none, let `hint` say what else the table may be.

    It is given the first row and the number of rows.
    """
    try:
        return read()
    except TooLargeError:
        raise
    except FormatError as error:
        try:
            rows = read_rows(path, find_separator(path) or ",")
            words = hint(next(rows), 1 + sum(1 for _ in rows))
        except (FormatError, StopIteration):
            words = ""
        if not words:
            raise
        place = {"line": error.line, "column": error.column}
        raise FormatError(path, f"{error.problem}. {words}", **place) from None


def _items_to_compare(first: Row, n_rows: int) -> str:
    width = len(first.fields)
    if width < 2 or n_rows - width in (-1, 0, 1):  # the shape of a matrix
        return ""
    return (
        "Is it a table of items? Name their column and a kernel: --items COLUMN "
        f"--kernel NAME (read_items(path, column=COLUMN)); there are {_titles(first)}"
    )


def _column_of_text(first: Row, n_rows: int) -> str:
    if all(is_number_or_missing(text) for text in first.texts()):
        return ""
    if len(first.fields) == 1:
        return "For items that are text, one per line: format='lines'"
    return f"For items that are text: column= (--items), one of {_titles(first)}"


def _titles(first: Row) -> str:
    return ", ".join([text for text in first.texts() if text][:8])


def _vectors(path: Path, separator: str | None) -> Named:
    read = read_table(path, separator, matrix=False)
    bad = np.argwhere(~np.isfinite(read.data))
    if len(bad):
        i, j = bad[0]
        row, column = _called(read.names, i), _called(read.columns, j)
        raise FormatError(path, f"row {row} has no number in column {column}")
    return read


def _items_of_arrays(
    found: dict[str, np.ndarray], path: Path, key: str | None
) -> Named:
    if key is None:
        key = "X" if "X" in found else next(iter(found), "X")
    if key not in found:
        raise FormatError(path, f"has no array {key!r}; it has {', '.join(found)}")
    names: Any = found.get("names")
    return Named(
        found[key],
        None if names is None else [str(name) for name in names],
        target=found.get("y"),
    )
