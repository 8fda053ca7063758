"""Tables as text: the separator, the header and the names are found by content."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from krein.files import cells
from krein.files.cells import Row
from krein.files.sources import FormatError, How, Named, Names, Place, unique_names

_SHOWN = {"\t": "tab", " ": "blanks"}


def _is_header(first: Row, second: Row | None = None) -> bool:
    """Whether the first row is titles: text, quoted, or shorter by the corner."""
    texts = first.texts()
    if len(texts) == 1:
        lone = second is not None and bool(first.quoted) and not second.quoted
        return lone or not cells.is_number_or_missing(texts[0])
    if any(not cells.is_number_or_missing(text) for text in texts[1:]):
        return True
    if second is None:
        return False
    if len(second.fields) == len(texts) + 1:
        return True
    filled = {k for k, text in enumerate(texts) if text and k}
    last = len(second.fields) - 1
    if filled and filled <= first.quoted and last not in second.quoted:
        return True
    # Numbers behind an empty corner: names as pandas writes them, or a row whose first
    # entry is missing. Names are whole, and a matrix has an entry below and beside.
    whole = all(text.lstrip("-").isdigit() for text in texts[1:])
    return not texts[0] and whole and len(second.fields) > 1 and bool(second.text(1))


class _Parsed(NamedTuple):
    """Rows as numbers, their first column as text, and where they are.

    `bare` counts the fields of that column that read as numbers, without quotes.
    """

    values: np.ndarray
    first: list[str]
    places: list[Place]
    first_is_name: bool
    bare: int


def _parse(rows: Iterable[Row], comma: bool, first_is_name: bool | None) -> _Parsed:
    buffer = array("d")
    first: list[str] = []
    places: list[Place] = []
    bare = 0
    for row in cells.even(rows, 16, 0):
        if first_is_name is None:
            lone = 0 in row.quoted and len(row.fields) - 1 not in row.quoted
            first_is_name = lone or not cells.is_number_or_missing(row.fields[0])
        buffer.extend(_floats(row, first_is_name, comma))
        first.append(row.name(0))
        bare += 0 not in row.quoted and cells.is_number_or_missing(row.fields[0])
        places.append(row.place)
    values = np.frombuffer(buffer).reshape(len(places), -1)
    for i, j in np.argwhere(np.isinf(values))[:1]:
        raise places[i].error(f"expected a finite number, got {values[i, j]}", j + 1)
    return _Parsed(values, first, places, bool(first_is_name), bare)


def _floats(row: Row, first_is_name: bool, comma: bool) -> list[float]:
    """Numbers of a row; NaN for what is missing, and for a name."""
    start = [np.nan] * first_is_name
    fields = row.fields[len(start) :]
    together = "".join(fields)
    if not comma and together.isascii() and "_" not in together:
        try:
            return [*start, *map(float, fields)]
        except ValueError:
            pass
    places = enumerate(fields, start=len(start) + 1)
    return [*start, *(_float(field, row, column, comma) for column, field in places)]


def _float(field: str, row: Row, column: int, comma: bool) -> float:
    if field.strip().lower() in cells.MISSING:
        return np.nan
    if comma and "." in field:
        problem = "expected a number; decimal commas and points in one file"
        raise row.place.error(problem, column)
    return cells.parse_number(field, row.place, column, comma)


def has_decimal_commas(rows: Sequence[Row]) -> bool:
    """Whether a field reads as a number with a comma."""
    texts = (text for row in rows for text in row.texts())
    return any(cells.with_decimal_point(text) != text for text in texts)


def read_table(path: Path, how: How, *, matrix: bool = True) -> Named:
    """Read numbers with the names beside and above them, where there are any.

    Empty fields and NA become NaN. ``notes`` says what was recognised. In a `matrix`
    of items against items, names above it serve its rows too.
    """
    mark = how.separator or cells.find_separator(path)
    rows = cells.read_rows(path, mark)
    start = list(islice(rows, cells.SAMPLE))
    if not start:
        raise FormatError(path, "the file is empty; expected a matrix of numbers")
    comma = mark != "," and has_decimal_commas(start)
    header = None
    if _is_header(start[0], *start[1:2]):
        header = start.pop(0)
    if not start:
        raise FormatError(path, "there are names but no numbers", line=1)
    named = True if header and _has_corner(header, start[0]) else None
    parsed = _parse(chain(start, rows), comma, named)
    read = _assemble(parsed, header, path, matrix)
    shape = " x ".join(map(str, read.data.shape))
    shown = _SHOWN.get(mark, repr(mark))
    note = f"read {shape} numbers, {read.notes[0]}, separator {shown}"
    return replace(read, notes=[note + (", decimal commas" if comma else "")])


def _has_corner(header: Row, row: Row) -> bool:
    """Whether the header leaves a place above a column of names."""
    shorter = len(row.fields) - len(header.fields)
    return shorter == 1 or (shorter == 0 and len(row.fields) > 1 and not header.text(0))


def _assemble(parsed: _Parsed, header: Row | None, path: Path, matrix: bool) -> Named:
    """Decide what the first column and the first row are."""
    values, names, numbered = parsed.values, None, False
    titles = header.names() if header else []
    (n, width), corner = values.shape, ""
    if matrix:
        _refuse_mixed(parsed, header)
    if parsed.first_is_name or (matrix and _is_id(parsed, titles)):
        names, values = unique_names(parsed.first, parsed.places), values[:, 1:]
        if len(titles) == width:
            corner, *titles = titles
    elif matrix and header is None and abs(n - width) == 1:
        lines = values if n > width else values.T  # DataFrame.to_csv(index=False)
        numbered = is_numbering(lines[0])
        lines = lines[1:] if numbered else lines
        values = lines if n > width else lines.T
    if values.shape[1] == 0:
        raise FormatError(path, "there are names but no numbers")
    if header is None:
        where = "names from first column" if names else "no names"
        where += " (a row or column of numbering left out)" if numbered else ""
        return Named(values, names, notes=[where])
    if len(titles) != values.shape[1]:
        has = f"has {len(titles)} names for {values.shape[1]} columns of numbers"
        raise header.place.error(has)
    unique_names(titles, [header.place] * len(titles))
    if matrix and n == values.shape[1]:
        return _square(values, names, titles, numbering=not corner)
    where = "names from first row" + (" and column" if names else "")
    return Named(values, names, titles, notes=[where])


def _square(
    values: np.ndarray, names: Names, titles: list[str], *, numbering: bool
) -> Named:
    """Settle names beside and above a square matrix: one of them may be a numbering."""
    where = "names from first row and column"
    if names == titles:
        return Named(values, names, notes=[where])
    if names is None or (numbering and is_numbering(names)):
        return Named(values, titles, notes=["names from first row"])
    if numbering and is_numbering(titles):
        return Named(values, names, notes=["names from first column"])
    if set(names) != set(titles):
        return Named(values, names, titles, notes=[where])
    position = {title: k for k, title in enumerate(titles)}
    values = values[:, [position[name] for name in names]]
    where += " (columns put into the order of the rows)"
    return Named(values, names, notes=[where])


def _refuse_mixed(parsed: _Parsed, header: Row | None) -> None:
    """Refuse text among numbers where a square matrix would have numbers."""
    n, width = parsed.values.shape
    texts, places = parsed.first, parsed.places
    doubtful = parsed.first_is_name and parsed.bare > 0 and n == width
    if header is not None:
        texts, places = header.texts(), [header.place] * width
        doubtful = n + 1 == width and not (header.quoted or parsed.first_is_name)
    odd = [k for k, x in enumerate(texts) if not cells.is_number_or_missing(x)]
    if doubtful and 0 < len(odd) < len(texts) == width:
        column = 1 if header is None else odd[0] + 1
        raise places[odd[0]].error(f"expected a number, got {texts[odd[0]]!r}", column)


def _is_id(parsed: _Parsed, titles: list[str]) -> bool:
    """Whether a first column of numbers names the rows of a square matrix."""
    n, width = parsed.values.shape
    named = titles[:1] and titles[0].lower() in cells.NAME_TITLES
    fits = named or set(titles[1:]) == set(parsed.first)
    return bool(fits) and len(titles) == width == n + 1


def is_numbering(values: Sequence[str] | np.ndarray) -> bool:
    """Whether values count from 0 or from 1, as pandas and R (V1, V2, ...) do."""
    texts = [f"{value:g}" for value in values] if hasattr(values, "dtype") else values
    bare = [text.removeprefix("V") for text in texts]
    return any(bare == [str(k + s) for k in range(len(bare))] for s in (0, 1))
