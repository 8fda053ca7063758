"""Read a matrix, or items: which format a file has, and which reader takes it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from krein.files import binary, cells, item_files, sources, square, tables
from krein.files.hit_columns import is_pair_list
from krein.files.sources import FormatError, How, Named
from krein.files.titles import warn_of_counts
from krein.files.triangles import read_triangle

Reader = Callable[[Path, How], Named]


class Format(NamedTuple):
    """One line of the table of formats.

    Attributes
    ----------
    name : str
        As in ``format=``.
    suffixes : str
        Of files of this format, with blanks between.
    matrix, items : callable or None
        Readers: from a path and what the caller says (`How`) to a `Named`.
    known_by : tuple of bytes, or callable
        What such a file begins with, or a test of its first lines; nothing where only
        the suffix tells.
    holds : str
        Kind of items, as kernels call it.
    """

    name: str
    suffixes: str
    matrix: Reader | None = None
    items: Reader | None = None
    known_by: tuple[bytes, ...] | Callable[[list[str]], bool] = ()
    holds: str = ""


def _is_ts(lines: list[str]) -> bool:
    return lines[0].startswith("@")


def _is_phylip(lines: list[str]) -> bool:
    if cells.parse_count(lines[0]) is None or len(lines) < 2:
        return False
    name, *numbers = lines[1].split()
    return not cells.is_number(name) and all(map(cells.is_number, numbers))


def _read_vectors(path: Path, how: How) -> Named:
    read = tables.read_table(path, how, matrix=False)
    gaps = np.argwhere(~np.isfinite(read.data))
    if gaps.size:
        i, j = gaps[0]
        row = sources.called(read.names, i)
        column = sources.called(read.columns, j)
        raise FormatError(path, f"row {row} has no number in column {column}")
    if read.columns is not None:
        warn_of_counts(dict(zip(read.columns, read.data.T.tolist(), strict=True)))
    return read


_FASTA = ".fasta .fa .faa .fna"
_PAIRS = ".m8 .blast .b6 .pairs"
# In the order in which content is looked at; without a test a format is known by name.
FORMATS = (
    Format("npy", ".npy", binary.read_npy, binary.read_npy, (b"\x93NUMPY",)),
    Format("npz", ".npz", binary.read_npz, binary.read_item_arrays, (b"PK\x03\x04",)),
    Format("mat", ".mat", binary.read_mat, None, (b"MATLAB 5.0 MAT-", b"\x89HDF")),
    Format("mtx", ".mtx", square.read_matrix_market, None, (b"%%MatrixMarket",)),
    Format("fasta", _FASTA, None, item_files.read_fasta, (b">",), "strings"),
    Format("ts", ".ts", None, item_files.read_ts, _is_ts, "series"),
    Format("pairs", _PAIRS, square.read_pairs, None, is_pair_list),
    Format("phylip", ".phy .phylip .dist", square.read_phylip, None, _is_phylip),
    Format("csv", ".csv", tables.read_table, _read_vectors),
    Format("tsv", ".tsv", tables.read_table),
    Format("ucr", ".tsv", None, item_files.read_ucr),
    Format("smiles", ".smi .smiles", None, item_files.read_smiles, (), "strings"),
    Format("lines", ".txt", None, item_files.read_lines),
)

_READ_ELSEWHERE = {
    ".arff": "scipy.io.arff.loadarff",
    ".libsvm": "sklearn.datasets.load_svmlight_file",
    ".svmlight": "sklearn.datasets.load_svmlight_file",
}


def _suffixes(matrix: bool) -> dict[str, str]:
    """Suffix -> format, of those that hold a matrix, or items."""
    fitting = [f for f in FORMATS if (f.matrix if matrix else f.items)]
    return {suffix: f.name for f in fitting for suffix in f.suffixes.split()}


MATRIX_FORMATS = _suffixes(True)
ITEM_FORMATS = _suffixes(False)


def read_matrix(
    path: str | os.PathLike,
    *,
    format: str | None = None,
    separator: str | None = None,
    key: str | None = None,
    missing: float | Literal["error", "distance"] = 0.0,
    mirror: bool = True,
) -> Named:
    """Read a matrix of similarities or distances.

    Parameters
    ----------
    path : path-like
        .npy, .npz, .csv, .tsv (with or without names), .phy / .dist (PHYLIP), .mat,
        .mtx (Matrix Market), .m8 / .blast / .pairs (query, subject, score), .parquet,
        .feather and .xlsx (through pandas), .jsonl and .json; text may be packed by
        gzip, bzip2 or xz, one file by zip. The format is recognised by content where it
        can be, else by name. ``-`` is standard input.
    format : str, optional
        "npy", "npz", "csv", "tsv", "phylip", "mat", "mtx" or "pairs" instead.
    separator : str, optional
        ``","``, ``";"``, ``"tab"`` or ``"space"`` instead of what is found.
    key : str, optional
        Name of the array in a .npz or .mat file with several.
    missing : float, "error" or "distance"
        For pair lists: the score of pairs that are not listed, or a refusal.
        ``"distance"`` refuses too, but items are at distance 0 from themselves; and
        distances in one list are the condensed ones of ``pdist``.
    mirror : bool
        In a square matrix without other names above, take a missing entry from the
        other direction; False for new items against training items, which the first
        and the second names of a pair list are then.

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
    how = How(cells.as_separator(separator), key, missing, apart=not mirror)
    with sources.readable(path) as file:
        found = choose_format(file, format, matrix=True)
        read = _read(found, file, how, matrix=True)
        return square.complete(read, file, mirror, missing == "distance" and mirror)


def read_items(
    path: str | os.PathLike,
    *,
    format: str | None = None,
    separator: str | None = None,
    key: str | None = None,
    column: str | None = None,
    label_column: str | None = None,
    id_column: str | None = None,
    drop: Sequence[str] = (),
    numbers: Sequence[str] = (),
    skip_unlabelled: bool = False,
) -> Named:
    """Read items to compute similarities of.

    Parameters
    ----------
    path : path-like
        .fasta / .fa (sequences), .ts and .tsv (series, UCR), .csv (vectors, with or
        without names, or a table with a column of items), .txt (a string per line),
        .npy and .npz (arrays), .parquet, .feather and .xlsx (through pandas), .jsonl
        and .json; text may be packed by gzip, bzip2 or xz, one file by zip. The format
        is recognised by content where it can be, else by name. ``-`` is standard input.
    format : str, optional
        "fasta", "ts", "ucr", "csv", "smiles", "lines", "npy" or "npz" instead;
        "table" for rows that mix numbers, text and missing entries (kernel "gower").
    separator : str, optional
        ``","``, ``";"``, ``"tab"`` or ``"space"`` instead of what is found.
    key : str, optional
        Name of the array in a .npz file with several.
    column : str, optional
        Title of the column that holds the items, as text.
    label_column : str, optional
        Title of the column that holds labels; without `column` all others are numbers.
    id_column : str, optional
        Title of the column that holds names; found by itself where it is the first
        and called "id", "name" or alike.
    drop : list of str
        Titles of columns to leave out.
    numbers : list of str
        For rows that mix numbers and text: titles of columns that hold numbers. Other
        words in them count as missing.
    skip_unlabelled : bool
        Leave out the rows whose label is missing, instead of refusing the table.

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
    mark = cells.as_separator(separator)
    mixed = format == "table"
    how = How(
        mark,
        key,
        column=column,
        label_column=label_column,
        id_column=id_column,
        drop=_titles(drop, "drop"),
        numbers=_titles(numbers, "numbers"),
        skip_unlabelled=skip_unlabelled,
        mixed=mixed,
    )
    if how.numbers and not mixed:
        raise ValueError(
            "numbers= (--numbers) is for tables of numbers and text, format='table' "
            "(--kernel gower); elsewhere every column holds numbers"
        )
    with sources.readable(path) as file:
        columns = (column, label_column, id_column)
        if mixed or how.drop or any(title is not None for title in columns):
            return item_files.read_columns(file, how)
        found = choose_format(file, format, matrix=False)
        read = _read(found, file, how, matrix=False)
        notes = read.notes or [f"read {len(read.data)} items ({found.name})"]
        return replace(read, notes=notes)


def _titles(given: Sequence[str], name: str) -> tuple[str, ...]:
    """Titles as a tuple; one text is not a list of them."""
    if isinstance(given, str):
        raise TypeError(f"{name} must be a list of titles, got the text {given!r}")
    return tuple(given)


def _read(found: Format, path: Path, how: How, *, matrix: bool) -> Named:
    """Read; where a table holds no numbers, say what else it may be."""
    reader: Any = found.matrix if matrix else found.items
    try:
        return reader(path, how)
    except sources.TooLargeError:
        raise
    except FormatError as error:
        is_text = matrix and not how.apart and found.name in ("csv", "tsv", "phylip")
        triangle = read_triangle(path, how) if is_text else None
        if triangle is not None:
            return triangle
        hint = _hint(path, matrix) if found.name in ("csv", "tsv", "ucr") else ""
        stop = "" if error.problem.endswith("?") else "."
        raise error.in_file(path, f"{stop} {hint}" if hint else "") from None


def _hint(path: Path, matrix: bool) -> str:
    try:
        first, *others = cells.read_rows(path, cells.find_separator(path))
    except (FormatError, ValueError):
        return ""
    titles = [x for x in first.texts() if not cells.is_number_or_missing(x)][:8]
    if not titles or (matrix and abs(len(others) + 1 - len(first.fields)) < 2):
        return ""
    known = ", ".join(titles)
    if matrix:
        return (
            "A table of items needs a kernel: --kernel rbf for its numbers, --kernel "
            "edit --items COLUMN for text in one column (in Python: read_items); "
            f"--labels COLUMN names the labels. Columns: {known}"
        )
    how = f"column= (--items COLUMN --kernel NAME), one of {known}"
    return (
        "A column that holds no numbers is left out by --drop COLUMN. For items that "
        f"are text: {how}; or format='lines', one per line"
    )


def choose_format(path: Path, format: str | None, *, matrix: bool) -> Format:
    """Return the format as given, by content, or by suffix (before .gz and alike).

    Raises
    ------
    FormatError
        If it is not known, or items were found where a matrix is expected.
    """
    known = MATRIX_FORMATS if matrix else ITEM_FORMATS
    by_name = {f.name: f for f in FORMATS}
    if format is not None:
        if format not in known.values():
            names = ", ".join(sorted(set(known.values())))
            raise ValueError(f"format must be one of {names}, got {format!r}")
        return by_name[format]
    suffixes = [s.lower() for s in path.suffixes]
    suffixes = [s for s in suffixes if s not in sources.PACKED_SUFFIXES]
    for suffix in suffixes:
        if suffix in _READ_ELSEWHERE:
            raise FormatError(path, f"is read by {_READ_ELSEWHERE[suffix]}")
    name = known.get(suffixes[-1] if suffixes else "")
    found = _by_content(sources.file_head(path))
    if found is None or (found.name in ("pairs", "phylip") and not matrix):
        return by_name[name or _text_or_unknown(path, matrix)]
    if found.matrix if matrix else found.items:
        return found
    if matrix:
        raise FormatError(path, _needs_kernel(found))
    raise FormatError(
        path, f"is a matrix ({found.name}), not items; leave the kernel out to read it"
    )


def _by_content(head: bytes) -> Format | None:
    """Formats that cannot be taken for another one."""
    lines = head.decode("utf-8-sig", errors="replace").splitlines()
    if len(head) == sources.HEAD_SIZE:
        lines = lines[:-1]  # the last is cut
    lines = [line for line in lines if line.strip() and line[0] not in "#%"]
    for format in FORMATS:
        test = format.known_by
        if callable(test):
            is_it = bool(lines) and test(lines)
        else:
            is_it = head.startswith(test)
        if is_it:
            return format
    return None


def _needs_kernel(found: Format) -> str:
    """What to say of items where a matrix is wanted."""
    from krein.kernels import KERNELS

    fitting = sorted(k for k, facts in KERNELS.items() if facts.input == found.holds)
    return (
        f"holds {found.holds} ({found.name}), not similarities; compare them by a "
        f"kernel ({', '.join(fitting)}): on the command line --kernel NAME, in Python "
        "krein.read_items and kernel="
    )


def _text_or_unknown(path: Path, matrix: bool) -> str:
    head = sources.file_head(path)
    if b"\0" in head:
        names = ", ".join(sorted(MATRIX_FORMATS if matrix else ITEM_FORMATS))
        raise FormatError(
            path, f"the format is not known by name or content; known are {names}"
        )
    words = re.split(r"[,;\s]+", head.decode("utf-8-sig", errors="replace"))
    if not matrix and not any(cells.is_number(word) for word in words):
        return "lines"  # text without a number holds no vectors
    return "csv"
