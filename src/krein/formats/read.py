"""One reader for each thing: a matrix, items, labels; the format by file name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from krein.formats import arrays, features, pairs, sequences, series, tables
from krein.formats.named import FormatError, Named, as_labels, is_number, unique_names

__all__ = ["read_items", "read_labels", "read_matrix"]

MATRIX_FORMATS = {
    ".npy": "npy",
    ".npz": "npz",
    ".csv": "csv",
    ".tsv": "tsv",
    ".phy": "phylip",
    ".phylip": "phylip",
    ".dist": "phylip",
    ".mat": "mat",
    ".mtx": "mtx",
    ".m8": "pairs",
    ".blast": "pairs",
    ".b6": "pairs",
    ".pairs": "pairs",
}
ITEM_FORMATS = {
    ".fasta": "fasta",
    ".fa": "fasta",
    ".faa": "fasta",
    ".fna": "fasta",
    ".ts": "ts",
    ".tsv": "ucr",
    ".arff": "arff",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".svm": "libsvm",
    ".txt": "lines",
    ".csv": "csv",
    ".npy": "npy",
    ".npz": "npz",
}
_TITLES = ("name", "id", "item", "label", "labels", "class", "target", "y")


def _find(path: Any, format: str | None, known: dict[str, str]) -> tuple[Path, str]:
    """The path, and its format by suffix (before .gz) or as given."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file")
    if format is not None:
        if format not in known.values():
            raise ValueError(
                f"format must be one of {', '.join(sorted(set(known.values())))}, got "
                f"{format!r}"
            )
        return path, format
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    if not suffixes or suffixes[-1] not in known:
        raise ValueError(
            f"{path}: the format is not known by its name; known are "
            f"{', '.join(sorted(known))}. Pass format="
        )
    return path, known[suffixes[-1]]


def read_matrix(
    path: str | os.PathLike,
    *,
    format: str | None = None,
    key: str | None = None,
    missing: float | Literal["error"] = 0.0,
) -> Named:
    """Read a matrix of similarities or distances.

    Parameters
    ----------
    path : path-like
        .npy, .npz, .csv, .tsv (with or without names), .phy / .dist (PHYLIP), .mat,
        .mtx (Matrix Market), .m8 / .blast / .pairs (query, subject, score); text may
        be packed by gzip.
    format : str, optional
        "npy", "npz", "csv", "tsv", "phylip", "mat", "mtx" or "pairs" instead of what
        the name says.
    key : str, optional
        Name of the array in a .npz or .mat file with several.
    missing : float or "error"
        For pair lists: the score of pairs that are not listed, or a refusal.

    Returns
    -------
    Named
        ``data`` is the matrix in float64, ``names`` those of the rows, ``columns``
        those of the columns where they differ, ``target`` labels (.npz with y).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from krein import read_matrix
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "K.csv"
    >>> _ = path.write_text(chr(10).join([",ann,bob", "ann,1,0.5", "bob,0.5,1"]))
    >>> read_matrix(path).names
    ['ann', 'bob']
    >>> folder.cleanup()
    """
    path, found = _find(path, format, MATRIX_FORMATS)
    readers: dict[str, Callable[[], Named]] = {
        "npy": lambda: Named(arrays.read_npy(path)),
        "npz": lambda: arrays.matrix_of_arrays(arrays.read_npz(path), path, key),
        "csv": lambda: tables.read_table(path, ","),
        "tsv": lambda: tables.read_table(path, "\t"),
        "phylip": lambda: tables.read_phylip(path),
        "mat": lambda: arrays.read_mat(path, key),
        "mtx": lambda: arrays.read_mtx(path),
        "pairs": lambda: pairs.read_pairs(path, missing=missing),
    }
    return _as_matrix(readers[found](), path)


def _as_matrix(read: Named, path: Path) -> Named:
    """Check what came out of a binary file as the text readers check theirs."""
    data = np.asarray(read.data)
    if data.ndim != 2 or data.dtype.kind not in "biuf" or data.size == 0:
        raise FormatError(
            path,
            f"expected a matrix of numbers, got an array of shape {data.shape} and "
            f"dtype {data.dtype}",
        )
    bad = ~np.isfinite(data)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise FormatError(path, f"row {i} and column {j} hold {data[i, j]}")
    if read.names is not None:
        if len(read.names) != data.shape[0]:
            raise FormatError(
                path, f"has {len(read.names)} names for {data.shape[0]} rows"
            )
        if len(set(read.names)) < len(read.names):
            twice = next(n for n in read.names if read.names.count(n) > 1)
            raise FormatError(path, f"the name {twice!r} is duplicated")
    data = np.asarray(data, dtype=np.float64)
    return Named(data, read.names, read.columns, read.target)


def read_items(
    path: str | os.PathLike, *, format: str | None = None, key: str | None = None
) -> Named:
    """Read items to compute similarities of.

    Parameters
    ----------
    path : path-like
        .fasta / .fa (sequences), .ts and .tsv (series, UCR), .arff and .libsvm
        (vectors), .csv (vectors, with or without names), .txt (a string per line),
        .npy and .npz (arrays); text may be packed by gzip.
    format : str, optional
        "fasta", "ts", "ucr", "arff", "libsvm", "csv", "lines", "npy" or "npz" instead
        of what the name says.
    key : str, optional
        Name of the array in a .npz file with several.

    Returns
    -------
    Named
        ``data`` holds the items, ``names`` theirs, ``columns`` those of features,
        ``target`` the labels in the file.

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
    path, found = _find(path, format, ITEM_FORMATS)
    readers: dict[str, Callable[[], Named]] = {
        "fasta": lambda: sequences.read_fasta(path),
        "lines": lambda: sequences.read_lines(path),
        "ts": lambda: series.read_ts(path),
        "ucr": lambda: series.read_ucr(path),
        "arff": lambda: features.read_arff(path),
        "libsvm": lambda: features.read_libsvm(path),
        "csv": lambda: tables.read_table(path, ","),
        "npy": lambda: Named(arrays.read_npy(path)),
        "npz": lambda: _items_of_arrays(arrays.read_npz(path), path, key),
    }
    return readers[found]()


def _items_of_arrays(
    found: dict[str, np.ndarray], path: Path, key: str | None
) -> Named:
    if key is None:
        key = "X" if "X" in found else next(iter(found), "X")
    if key not in found:
        raise FormatError(path, f"has no array {key!r}; it has {', '.join(found)}")
    names = found.get("names")
    return Named(
        found[key],
        None if names is None else [str(name) for name in names],
        target=found.get("y"),
    )


def read_labels(
    path: str | os.PathLike, *, names: Sequence[str] | None = None
) -> Named:
    """Read labels from a .csv or .tsv file: a label, or a name and a label per line.

    Parameters
    ----------
    path : path-like
        A title line is recognised by words such as name, label, class, y.
    names : list of str, optional
        Names of items, as `read_matrix` and `read_items` return them; labels are put
        into this order.

    Returns
    -------
    Named
        ``data`` is the array of labels (integers where all are), ``names`` theirs.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from krein import read_labels
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "labels.csv"
    >>> _ = path.write_text(chr(10).join(["name,label", "bob,1", "ann,0"]))
    >>> read_labels(path, names=["ann", "bob"]).data
    array([0, 1])
    >>> folder.cleanup()
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file")
    tabs = ".tsv" in [suffix.lower() for suffix in path.suffixes]
    rows = [
        (line, [field.strip() for field in fields])
        for line, fields in tables.read_rows(path, "\t" if tabs else ",")
    ]
    if rows and rows[0][1][-1].lower() in _TITLES and not is_number(rows[0][1][-1]):
        rows.pop(0)
    if not rows:
        raise FormatError(path, "there are no labels in the file")
    width = len(rows[0][1])
    for line, fields in rows:
        if len(fields) != width or width > 2:
            raise FormatError(
                path,
                f"has {len(fields)} fields; expected a label, or a name and a label",
                line=line,
            )
        if not fields[-1]:
            raise FormatError(path, "the label is missing", line=line, column=width)
    labels = as_labels([fields[-1] for _, fields in rows])
    own = None
    if width == 2:
        own = [fields[0] for _, fields in rows]
        own = unique_names(own, path, [line for line, _ in rows])
    if names is None:
        return Named(labels, own)
    return _in_order(labels, own, list(names), path)


def _in_order(
    labels: np.ndarray, own: list[str] | None, names: list[str], path: Path
) -> Named:
    if own is None:
        if len(labels) != len(names):
            raise FormatError(
                path, f"has {len(labels)} labels for {len(names)} items without names"
            )
        return Named(labels, names)
    position = {name: k for k, name in enumerate(own)}
    missing = [name for name in names if name not in position]
    if missing:
        raise FormatError(
            path, f"has no label for {missing[0]!r} ({len(missing)} items in all)"
        )
    return Named(labels[[position[name] for name in names]], names)
