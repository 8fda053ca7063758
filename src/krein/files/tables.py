"""Tables as text: the separator, the header and the names are found by content."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from krein.arrays import available_memory
from krein.files.cells import (
    MISSING,
    Named,
    Row,
    cut,
    is_number,
    is_number_or_missing,
    parse_number,
    unique_names,
    with_decimal_point,
)
from krein.files.text import FormatError, Place, TooLargeError, file_head, text_lines
from krein.words import did_you_mean

_SAMPLE = 100  # lines by which the separator is found
# Of pandas and others, and of QIIME 2: sampleid, sample-id, sample id, ...
NAME_TITLES = {"", "name", "names", "id", "item", "items", "index", "unnamed: 0"} | {
    f"{what}{mark}{end}"
    for what in ("sample", "feature", "otu")
    for mark in ("", " ", "-", "_")
    for end in ("id", "name")
}
_DIRECTIVE = "#q2:"  # of QIIME 2: kinds of columns, below the header
_SHOWN = {"\t": "tab", " ": "blanks"}


def find_separator(
    path: Path, candidates: str = "\t;, ", *, numbers: bool = True, otherwise: str = ","
) -> str:
    """Return the separator that cuts the first lines most evenly.

    Of equally even cuts the one with most numbers among its fields is taken; titles
    and names, which may hold blanks, are no evidence. The suffix .tsv says it.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if ".tsv" in suffixes[-2:] and b"\t" in file_head(path):
        return "\t"
    lines = islice(text_lines(path), _SAMPLE)
    sample = [(n, text) for n, text in lines if text.strip() and text[0] != "#"]
    scores = {mark: _evenness(sample, mark, numbers) for mark in candidates}
    best = max(scores, key=scores.__getitem__)
    return best if scores[best] > 0 else otherwise


def _evenness(sample: list[tuple[Place, str]], mark: str, numbers: bool) -> float:
    """Share of lines with the commonest number of fields, plus the share of numbers."""
    try:
        rows = list(cut(iter(sample), mark))
    except FormatError:
        return 0.0
    below = rows[1:] or rows  # a header may be shorter or longer than what follows
    widths = Counter(len(row.fields) for row in below)
    width, count = widths.most_common(1)[0] if widths else (0, 0)
    if is_triangle(below) or is_triangle(below, titled=True):
        width, count = len(below[-1].fields), len(below)
    if width < 2 or 2 * count < len(rows) - 1:
        return 0.0
    score = count / max(1, len(rows) - 1)
    if numbers:
        cells = [cell for row in below for cell in row.fields[int(width > 2) :]]
        right = is_number if mark == "," else is_number_or_missing
        score += sum(map(right, cells)) / max(1, len(cells))
    return score


def is_triangle(rows: Sequence[Row], titled: bool = False) -> bool:
    """Whether each row has a number more than the one above, from the corner on."""
    widths = [len(row.fields) for row in rows]
    if len(rows) < 2 or widths != list(range(widths[0], widths[0] + len(rows))):
        return False
    first, start = rows[0], widths[0]
    named = titled or 0 in first.quoted or not is_number(first.fields[0])
    cells = [cell for row in rows for cell in row.fields[int(named) :]]
    fewest = 3 if named and start == 1 else 2
    return start <= 1 + named and len(rows) >= fewest and all(map(is_number, cells))


def read_rows(path: Path, separator: str, weight: int = 1) -> Iterator[Row]:
    """Yield the lines that are neither empty nor comments.

    Lines that begin with # are comments before the first row (the last of them is the
    header if it has as many fields), and later if they are not cut as the rows are.
    Directives of QIIME 2 (#q2:types) are no rows.
    """
    width, above = 0, None
    for row in cut(text_lines(path, weight), separator):
        if not any(field.strip() for field in row.fields):
            continue
        comment = row.fields[0].startswith("#") and 0 not in row.quoted
        if comment and row.fields[0].startswith(_DIRECTIVE):
            continue
        if comment and width == 0:
            above = row
            continue
        if comment and len(row.fields) != width:
            continue
        if width == 0:
            width = len(row.fields)
            if above is not None and len(above.fields) == width > 1:
                corner = above.fields[0][1:]
                if width > 2 or corner.strip().lower() in NAME_TITLES:
                    yield above._replace(fields=[corner, *above.fields[1:]])
        yield row


def text_rows(path: Path, separator: str) -> list[Row]:
    """Return all rows, each with as many fields as the first."""
    rows = list(_even(read_rows(path, separator), 60, 1))
    if not rows:
        raise FormatError(path, "the file is empty; there are no rows")
    return rows


def _even(rows: Iterable[Row], per_field: int, per_letter: int) -> Iterator[Row]:
    """Yield rows; say which one is shorter or longer, or where the memory ends.

    The caller keeps so many bytes of each field and of each letter in it.
    """
    width, used, limit = 0, 0, available_memory() or np.inf
    for row in rows:
        width = width or len(row.fields)
        if len(row.fields) != width:
            has = f"has {len(row.fields)} fields, the first row has {width}"
            hint = "are fields with the separator inside quoted?"
            raise row.place.error(f"{has}; {hint}")
        letters = sum(map(len, row.fields)) if per_letter else 0
        used += per_field * width + per_letter * letters + 200
        if used > limit:
            problem = "the table does not fit into the memory that may be used"
            raise TooLargeError(row.place.path, problem)
        yield row


def column_at(header: Row, title: str) -> int:
    """Return the place of a column, or say which columns there are."""
    titles = header.texts()
    if titles.count(title) != 1:
        found = "twice" if title in titles else "not"
        raise header.place.error(
            f"the column {title!r} is {found} there; the titles are "
            f"{', '.join(map(repr, titles))}{did_you_mean(title, titles)}"
        )
    return titles.index(title)


def _is_header(first: Row, second: Row | None = None) -> bool:
    """Whether the first row is titles: text, quoted, or shorter by the corner."""
    texts = first.texts()
    if len(texts) == 1:
        lone = second is not None and bool(first.quoted) and not second.quoted
        return lone or not is_number_or_missing(texts[0])
    if any(not is_number_or_missing(text) for text in texts[1:]):
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
    """Rows as numbers, their first column as text, and where they are."""

    values: np.ndarray
    first: list[str]
    places: list[Place]
    first_is_name: bool


def _parse(rows: Iterable[Row], comma: bool, first_is_name: bool | None) -> _Parsed:
    buffer = array("d")
    first: list[str] = []
    places: list[Place] = []
    for row in _even(rows, 16, 0):
        if first_is_name is None:
            lone = 0 in row.quoted and len(row.fields) - 1 not in row.quoted
            first_is_name = lone or not is_number_or_missing(row.fields[0])
        buffer.extend(_floats(row, first_is_name, comma))
        first.append(row.name(0))
        places.append(row.place)
    values = np.frombuffer(buffer).reshape(len(places), -1)
    for i, j in np.argwhere(np.isinf(values))[:1]:
        raise places[i].error(f"expected a finite number, got {values[i, j]}", j + 1)
    return _Parsed(values, first, places, bool(first_is_name))


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
    if field.strip().lower() in MISSING:
        return np.nan
    if comma and "." in field:
        mixed = "decimal commas and points in one file"
        problem = f"expected a number, got {field.strip()!r}; {mixed}"
        raise row.place.error(problem, column)
    return parse_number(field, row.place, column, comma)


def has_decimal_commas(rows: Sequence[Row]) -> bool:
    """Whether a field reads as a number with a comma."""
    return any(with_decimal_point(text) != text for row in rows for text in row.texts())


def read_table(
    path: Path, separator: str | None = None, *, matrix: bool = True
) -> Named:
    """Read numbers with the names beside and above them, where there are any.

    Empty fields and NA become NaN. ``notes`` says what was recognised. In a `matrix`
    of items against items, names above it serve its rows too.
    """
    mark = separator or find_separator(path)
    rows = read_rows(path, mark)
    start = list(islice(rows, _SAMPLE))
    if not start:
        raise FormatError(path, "the file is empty; expected a matrix of numbers")
    comma = mark != "," and has_decimal_commas(start)
    header = None
    if not (matrix and is_triangle(start)) and _is_header(start[0], *start[1:2]):
        header = start.pop(0)
    if not start:
        raise FormatError(path, "there are names but no numbers", line=1)
    if matrix and is_triangle(start, titled=header is not None):
        start, rows = _padded([*start, *rows]), iter(())
    named = True if header and _has_corner(header, start[0]) else None
    parsed = _parse(chain(start, rows), comma, named)
    read = _assemble(parsed, header, path, matrix)
    shape = " x ".join(map(str, read.data.shape))
    shown = _SHOWN.get(mark, repr(mark))
    note = f"read {shape} numbers, {read.notes[0]}, separator {shown}"
    return replace(read, notes=[note + (", decimal commas" if comma else "")])


def _padded(rows: list[Row]) -> list[Row]:
    """Fill the rows of a triangle up to the last one's length."""
    start, width = len(rows[0].fields), len(rows[0].fields) + len(rows) - 1
    if [len(row.fields) for row in rows] != list(range(start, width + 1)):
        return rows  # and an error names the row that is too long or too short
    return [
        row._replace(fields=row.fields + [""] * (width - len(row.fields)))
        for row in rows
    ]


def _has_corner(header: Row, row: Row) -> bool:
    """Whether the header leaves a place above a column of names."""
    shorter = len(row.fields) - len(header.fields)
    return shorter == 1 or (shorter == 0 and len(row.fields) > 1 and not header.text(0))


def _assemble(parsed: _Parsed, header: Row | None, path: Path, matrix: bool) -> Named:
    """Decide what the first column and the first row are."""
    values, names, numbered = parsed.values, None, False
    titles = (
        [] if header is None else [header.name(k) for k in range(len(header.fields))]
    )
    n, width = values.shape
    corner = ""
    if matrix:
        _refuse_mixed(parsed, header, titles)
    if parsed.first_is_name or (matrix and _is_id(parsed, titles)):
        names, values = unique_names(parsed.first, parsed.places), values[:, 1:]
        if len(titles) == width:
            corner, *titles = titles
    elif matrix and header is None and n == width + 1:  # DataFrame.to_csv(index=False)
        numbered = is_numbering(values[0])
        values = values[1:] if numbered else values
    elif matrix and header is None and width == n + 1:
        numbered = is_numbering(values[:, 0])
        values = values[:, 1:] if numbered else values
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
    values: np.ndarray, names: list[str] | None, titles: list[str], *, numbering: bool
) -> Named:
    """Settle names beside and above a square matrix: one of them may be a numbering."""
    if names and names[:-1] == titles[1:] and names[-1] not in titles:
        return Named(values, names, titles, notes=["names from first row and column"])
    if names is None or (numbering and names != titles and is_numbering(names)):
        return Named(values, titles, notes=["names from first row"])
    if numbering and names != titles and is_numbering(titles):
        return Named(values, names, notes=["names from first column"])
    where = "names from first row and column"
    if names == titles:
        return Named(values, names, notes=[where])
    if set(names) != set(titles):
        return Named(values, names, titles, notes=[where])
    position = {title: k for k, title in enumerate(titles)}
    values = values[:, [position[name] for name in names]]
    where += " (columns put into the order of the rows)"
    return Named(values, names, notes=[where])


def _refuse_mixed(parsed: _Parsed, header: Row | None, titles: list[str]) -> None:
    """Refuse text among numbers where a square matrix would have numbers."""
    n, width = parsed.values.shape
    cells: list[tuple[str, Place, int]] = []
    if header is None and n == width and parsed.first_is_name:
        cells = [(*cell, 1) for cell in zip(parsed.first, parsed.places, strict=True)]
    elif header and n + 1 == width and not (header.quoted or parsed.first_is_name):
        cells = [(text, header.place, k) for k, text in enumerate(titles, start=1)]
    odd = [cell for cell in cells if not is_number_or_missing(cell[0])]
    if 0 < len(odd) < len(cells):
        text, place, column = odd[0]
        raise place.error(f"expected a number, got {text!r}", column)


def _is_id(parsed: _Parsed, titles: list[str]) -> bool:
    """Whether a first column of numbers names the rows of a square matrix."""
    n, width = parsed.values.shape
    if not len(titles) == width == n + 1:
        return False
    return titles[0].lower() in NAME_TITLES or set(titles[1:]) == set(parsed.first)


def is_numbering(values: Sequence[str] | np.ndarray) -> bool:
    """Whether values count from 0 or from 1, as pandas and R (V1, V2, ...) do."""
    texts = [f"{value:g}" for value in values] if hasattr(values, "dtype") else values
    bare = [text.removeprefix("V") for text in texts]
    return any(bare == [str(k + s) for k in range(len(bare))] for s in (0, 1))
