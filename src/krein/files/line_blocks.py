"""Lines of tables with millions of rows, parsed a block at a time by NumPy.

A block of whole lines is read twice at most. `fast_lines` and `fast_numbers` hand it to
`numpy.loadtxt` and give up (None) at anything out of the ordinary; a careful reader
(`careful_lines`, `careful_numbers`) then goes through the lines one by one, and either
reads them or says what is wrong in which line.
"""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from krein.arrays import Array
from krein.files.cells import parse_count, parse_number
from krein.files.sources import Line, Place, decoded, without_comments

_EXPECTED = {1: "one number", 2: "row and column", 3: "row, column and value"}


@dataclass(frozen=True)
class Layout:
    """Which field holds what, counted from 0.

    Attributes
    ----------
    separator : str
        One character; a blank stands for any run of blanks.
    width : int
        Number of fields.
    query, target : int
        Fields of the names.
    numbers : tuple of int
        Fields of numbers that are wanted; the score is the first.
    signed : bool
        Whether a score may be negative.
    head : int
        Number of lines before the first hit.
    why : str
        Which column is the score, for people.
    distances : bool
        Whether the title of the score says that it is a distance.
    """

    separator: str
    width: int
    query: int
    target: int
    numbers: tuple[int, ...]
    signed: bool = False
    head: int = 0
    why: str = ""
    distances: bool = False


class HitLines(NamedTuple):
    """Lines of a block: names of queries and targets, and the numbers wanted."""

    query: list[str]
    target: list[str]
    numbers: Array


# ------------------------------------------------------------------------ all at once


def fast_lines(text: bytes, layout: Layout) -> HitLines | None:
    """Parse a block of hits without looking at one line, or give up."""
    kinds = ["S1"] * layout.width
    for k in layout.numbers:
        kinds[k] = "f8"
    for k in (layout.query, layout.target):
        if k in layout.numbers:
            return None
        kinds[k] = "O"
    rows = _rows(text, kinds, layout.separator, "#")
    if rows is None:
        return None
    names = (rows[f"f{k}"].tolist() for k in (layout.query, layout.target))
    query, target = (list(map(str.strip, column)) for column in names)
    values = np.column_stack([rows[f"f{k}"] for k in layout.numbers])
    right = np.isfinite(values).all() and all(query) and all(target)
    if not right or (not layout.signed and (values[:, 0] < 0).any()):
        return None
    return HitLines(query, target, values)


def fast_numbers(text: bytes, counts: int, width: int) -> Array | None:
    """Parse lines of `width` numbers, the first `counts` from 1 on, or give up."""
    rows = _rows(text, ["i8"] * counts + ["f8"] * (width - counts), " ", "%")
    if rows is None:
        return None
    values = np.column_stack([rows[f"f{k}"] for k in range(width)]).astype(float)
    right = np.isfinite(values).all() and (values[:, :counts] >= 0).all()
    return values if right else None


def _rows(text: bytes, kinds: list[str], separator: str, comment: str) -> Any:
    """Lines as records of these kinds; None where a line is out of the ordinary."""
    plain = text.replace(b"\r\n", b"\n") if b"\r" in text else text
    if not plain.isascii() or any(byte in plain for byte in (b'"', b"\0", b"\r")):
        return None
    lines: Any = io.StringIO(plain.decode())
    if comment.encode() in plain or plain.isspace():
        lines = [line for line in lines if line.strip() and line[0] != comment]
    mark = None if separator == " " else separator
    dtype = np.dtype([(f"f{k}", kind) for k, kind in enumerate(kinds)])
    try:
        return np.loadtxt(lines, dtype, None, mark, ndmin=1) if lines else None
    except (ValueError, OverflowError):
        return None


# ----------------------------------------------------------------------- line by line


def data_lines(
    text: bytes, first: Place, comment: str = "#", most: int | None = None
) -> list[Line]:
    """Places and texts of lines that are neither empty nor comments, or the first."""
    if b"\0" in text:
        raise first.error("holds zero bytes; expected a table as text")
    return list(islice(without_comments(decoded(text, first), comment), most))


def split_line(content: str, separator: str) -> list[str]:
    """Fields of a line, without blanks around them."""
    if separator == " ":
        return content.split()
    fields = content.split(separator)
    if '"' in content:
        # A quote that is not closed, or a field beyond the limit: as it stands.
        with suppress(csv.Error):
            fields = next(csv.reader([content], delimiter=separator))
    return [field.strip() for field in fields]


def careful_numbers(text: bytes, counts: int, width: int, first: Place) -> Array:
    """Parse lines of numbers one by one, the first of which are counts from 1 on."""
    rows = []
    for place, content in data_lines(text, first, "%"):
        words = content.split()
        if len(words) != width:
            raise place.error(f"expected {_EXPECTED[width]}, got {len(words)} fields")
        for column, word in enumerate(words[:counts], start=1):
            if parse_count(word.removeprefix("+")) is None:
                problem = f"expected a number of a row or column, got {word!r}"
                raise place.error(problem, column)
        rows.append([parse_number(word, place, k) for k, word in enumerate(words, 1)])
    return np.array(rows, dtype=np.float64).reshape(-1, width)


def careful_lines(text: bytes, layout: Layout, first: Place) -> HitLines:
    """Parse a block line by line; a FormatError names the line that is wrong."""
    query, target, numbers = [], [], []
    for place, content in data_lines(text, first):
        fields = split_line(content, layout.separator)
        if len(fields) != layout.width:
            has = f"has {len(fields)} fields, the lines above have {layout.width}"
            raise place.error(has)
        for k in (layout.query, layout.target):
            if not fields[k]:
                raise place.error("the name is missing", k + 1)
        values = [parse_number(fields[k], place, k + 1) for k in layout.numbers]
        if values[0] < 0 and not layout.signed:
            problem = f"the score {values[0]:g} is negative; scores of hits are 0"
            hint = "Similarities with signs are read by read_matrix"
            raise place.error(f"{problem} or more. {hint}", layout.numbers[0] + 1)
        query.append(fields[layout.query])
        target.append(fields[layout.target])
        numbers.append(values)
    shape = (len(query), len(layout.numbers))
    return HitLines(query, target, np.array(numbers, dtype=float).reshape(shape))
