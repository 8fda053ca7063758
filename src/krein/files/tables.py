"""Tables as text: the separator, the header and the names are found by content."""

from __future__ import annotations

import re
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
from krein.files.titles import is_title_of_names

_SHOWN = {"\t": "tab", " ": "blanks"}
# Titles above a column of names, beside those of `cells.NAME_TITLES`.
_CORNERS = cells.NAME_TITLES | frozenset(
    "sample samples subject patient compound molecule substance species site plot gene "
    "protein sequence spectrum wavelength wavenumber frequency m/z mz cell strain key "
    "code identifier no nr no. nr. #".split()
)
_ROUNDING_OF_STEPS = 1e-9  # relative difference of steps that are even
_FEWEST_EVEN = 4  # numbers in even steps (400, 405, ...) that are a header
_FEWEST_RISING = 8  # numbers that rise in any steps, by chance in 1 of 40 320 rows


def _is_header(first: Row, second: Row | None = None) -> bool:
    """Whether the first row is titles: text, quoted, or shorter by the corner."""
    texts = first.texts()
    if len(texts) == 1:
        if second is not None and first.quoted and not second.quoted:
            return True
        return not cells.is_number_or_missing(texts[0])
    if not all(map(cells.is_number_or_missing, texts[1:])):
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
    if texts[0] or not all(text.lstrip("-").isdigit() for text in texts[1:]):
        return False
    return len(second.fields) > 1 and bool(second.text(1))


class _Parsed(NamedTuple):
    """Rows as numbers, their first column as text, and where they are.

    `bare` counts the fields of that column that read as numbers, without quotes.
    """

    values: np.ndarray
    first: list[str]
    places: list[Place]
    first_is_name: bool
    bare: int

    def without_first(self) -> _Parsed:
        """The rows below the first, which was a header."""
        return self._replace(
            values=self.values[1:], first=self.first[1:], places=self.places[1:]
        )


def _parse(rows: Iterable[Row], comma: bool, first_is_name: bool | None) -> _Parsed:
    buffer = array("d")
    first: list[str] = []
    places: list[Place] = []
    bare = 0
    for row in cells.even(rows, 16, 0):
        is_text = not cells.is_number_or_missing(row.fields[0])
        is_quoted = 0 in row.quoted
        if first_is_name is None:
            alone = is_quoted and len(row.fields) - 1 not in row.quoted
            first_is_name = is_text or alone
        buffer.extend(_floats(row, first_is_name, comma))
        first.append(row.name(0))
        bare += not is_quoted and not is_text
        places.append(row.place)
    values = np.frombuffer(buffer).reshape(len(places), -1)
    infinite = np.argwhere(np.isinf(values))
    if infinite.size:
        i, j = infinite[0]
        raise places[i].error(f"expected a finite number, got {values[i, j]}", j + 1)
    return _Parsed(values, first, places, bool(first_is_name), bare)


def _floats(row: Row, first_is_name: bool, comma: bool) -> list[float]:
    """Numbers of a row; NaN for what is missing, and for a name."""
    numbers = [np.nan] if first_is_name else []
    fields = row.fields[len(numbers) :]
    together = "".join(fields)
    if not comma and together.isascii() and "_" not in together:
        try:
            return [*numbers, *map(float, fields)]
        except ValueError:
            pass  # field by field: which one it is, and what is missing
    for field in fields:
        column = len(numbers) + 1
        numbers.append(_float(field, row, column, comma))
    return numbers


def _float(field: str, row: Row, column: int, comma: bool) -> float:
    """Number of a field, NaN if it is missing; columns count from 1."""
    if field.strip().lower() in cells.MISSING:
        return np.nan
    if comma and "." in field:
        raise row.place.error(
            "expected a number; decimal commas and points in one file", column
        )
    return cells.parse_number(field, row.place, column, comma)


def has_decimal_commas(rows: Sequence[Row]) -> bool:
    """Whether a field reads as a number with a comma."""
    for row in rows:
        for text in row.texts():
            if cells.with_decimal_point(text) != text:
                return True
    return False


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
    above = start[0]
    header = None
    guessed = False
    if _is_header(above, *start[1:2]):
        header = start.pop(0)
    elif _is_header_of_numbers(start) or (not matrix and _is_row_of_positions(start)):
        guessed = True
        header = start.pop(0)
    if not start:
        raise FormatError(path, "there are names but no numbers", line=1)
    named = None  # the rows tell
    if header is not None and _has_corner(header, start[0], matrix):
        named = True
    parsed = _parse(chain(start, rows), comma, named)
    if header is None and matrix and not how.apart and _is_square_below(parsed, above):
        guessed = True
        header = above
        parsed = parsed.without_first()
    read = _assemble(parsed, header, path, matrix, guessed)
    n, width = read.data.shape
    shown = _SHOWN.get(mark, repr(mark))
    note = f"read {n} x {width} numbers, {read.notes[0]}, separator {shown}"
    if comma:
        note += ", decimal commas"
    notes = [note]
    if guessed:
        first = ", ".join(map(repr, above.texts()[:3]))
        notes.append(
            f"line {above.place.line} ({first}, ...) is taken for a header, not for an "
            "item"
        )
    return replace(read, notes=notes)


def _is_header_of_numbers(start: Sequence[Row]) -> bool:
    """Whether the first row is a title and numbers as names: wavelengths, m/z, bits.

    Its first field is text, its numbers are all different. With a title that is known,
    or above names that are numbers, it is enough that they are whole, or rise (or fall)
    as those of no other row do. Below an unknown word they must rise as well in even
    steps, or for long.
    """
    first, *others = start
    corner, *numbers = first.texts()
    if not others or cells.is_number_or_missing(corner) or len(numbers) < 2:
        return False
    if not all(map(cells.is_number, numbers)) or len(set(numbers)) < len(numbers):
        return False
    if corner.lower() in cells.NAME_TITLES:
        return True
    below = [row.texts()[1:] for row in others]
    names = [row.text(0) for row in others]
    only_ordered = _is_ordered(numbers) and not any(map(_is_ordered, below))
    if all(map(cells.is_number, names)) or corner.lower() in _CORNERS:
        return only_ordered or _are_whole(numbers)
    if not only_ordered or len(numbers) >= _FEWEST_RISING:
        return only_ordered
    if len(numbers) >= _FEWEST_EVEN and is_even(numbers):
        return True
    # A word without digits above names with digits, whole numbers above others.
    only_without_digit = not _has_digit(corner) and all(map(_has_digit, names))
    only_whole = _are_whole(numbers) and not any(map(_are_whole, below))
    return only_without_digit and only_whole


def _has_digit(text: str) -> bool:
    return re.search(r"\d", text) is not None


def is_even(texts: Sequence[str]) -> bool:
    """Whether numbers follow each other in equal steps, to rounding."""
    steps = np.diff([float(text) for text in texts])
    return bool(np.ptp(steps) <= _ROUNDING_OF_STEPS * np.abs(steps).max())


def _is_row_of_positions(start: Sequence[Row]) -> bool:
    """Whether the first of all rows of numbers is where they were measured.

    Wavelengths, m/z or times above the items: they rise (or fall) for long as those of
    no other row do, in even steps or beyond all numbers below.
    """
    first, *others = start
    texts = first.texts()
    if len(texts) < _FEWEST_RISING or len(others) < 2 or not _is_ordered(texts):
        return False
    if any(_is_ordered(row.texts()) for row in others):
        return False
    if is_even(texts):
        return True
    lowest = min(float(text) for text in texts)
    below = [float(x) for row in others for x in row.texts() if cells.is_number(x)]
    return bool(below) and lowest > np.nanmax(np.abs(below))


def _is_ordered(texts: Sequence[str]) -> bool:
    """Whether fields are numbers that only rise or only fall."""
    if not all(map(cells.is_number, texts)) or len(texts) < 2:
        return False
    steps = np.diff([float(text) for text in texts])
    return bool((steps > 0).all() or (steps < 0).all())


def _are_whole(texts: Sequence[str]) -> bool:
    return all(text.lstrip("+-").isdigit() for text in texts)


def _is_square_below(parsed: _Parsed, above: Row) -> bool:
    """Whether the rows below the first are a square matrix with names beside it."""
    n, width = parsed.values.shape
    if n < 3 or n != width or not parsed.first_is_name or 0 in above.quoted:
        return False
    titles = above.names()[1:]
    if len(set(titles)) < len(titles) or not _are_whole(titles):
        return False
    return parsed.bare == 0 or set(titles) == set(parsed.first[1:])


def _has_corner(header: Row, row: Row, matrix: bool) -> bool:
    """Whether the header leaves a place above a column of names."""
    shorter = len(row.fields) - len(header.fields)
    if shorter != 0 or len(row.fields) < 2:
        return shorter == 1
    title = header.text(0).lower()
    if not title:
        return True
    if matrix or title not in _CORNERS:
        return False
    return all(map(cells.is_number, header.texts()[1:]))


def _assemble(
    parsed: _Parsed, header: Row | None, path: Path, matrix: bool, guessed: bool
) -> Named:
    """Decide what the first column and the first row are."""
    values = parsed.values
    n, width = values.shape
    titles = header.names() if header else []
    names = None
    corner = ""
    numbered = False
    is_id = _is_id(parsed, titles, matrix)
    if matrix and not is_id:
        _refuse_mixed(parsed, header)
    if parsed.first_is_name or is_id:
        names = unique_names(parsed.first, parsed.places)
        values = values[:, 1:]
        if len(titles) == width:
            corner, *titles = titles
    elif matrix and header is None:
        values, numbered = _without_numbering(values)
    if values.shape[1] == 0:
        raise FormatError(path, "there are names but no numbers")
    if header is None:
        where = "names from first column" if names else "no names"
        if numbered:
            where += " (a row or column of numbering left out)"
        return Named(values, names, notes=[where])
    if len(titles) != values.shape[1]:
        raise header.place.error(
            f"has {len(titles)} names for {values.shape[1]} columns of numbers"
        )
    unique_names(titles, [header.place] * len(titles))
    if matrix and n == values.shape[1]:
        free = not corner or (guessed and corner.lower() not in cells.NAME_TITLES)
        return _square(values, names, titles, numbering=free)
    where = "names from first row and column" if names else "names from first row"
    return Named(values, names, titles, notes=[where], names_from=corner or None)


def _without_numbering(values: np.ndarray) -> tuple[np.ndarray, bool]:
    """Leave out a first row or column of numbering, and say whether there was one.

    `DataFrame.to_csv` writes such a row with index=False, a column with header=False.
    """
    n, width = values.shape
    if n == width + 1 and is_numbering(values[0]):
        return values[1:], True
    if n == width - 1 and is_numbering(values[:, 0]):
        return values[:, 1:], True
    return values, False


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
    if header is None:
        texts = parsed.first
        doubtful = parsed.first_is_name and parsed.bare > 0 and n == width
    else:
        texts = header.texts()
        doubtful = n + 1 == width and not (header.quoted or parsed.first_is_name)
    odd = [k for k, x in enumerate(texts) if not cells.is_number_or_missing(x)]
    if not doubtful or len(texts) != width or not 0 < len(odd) < width:
        return
    problem = f"expected a number, got {texts[odd[0]]!r}"
    if header is None:
        raise parsed.places[odd[0]].error(problem, column=1)
    raise header.place.error(problem, column=odd[0] + 1)


def _is_id(parsed: _Parsed, titles: list[str], matrix: bool) -> bool:
    """Whether a first column of numbers names the rows, by its title or those above."""
    n, width = parsed.values.shape
    if len(titles) != width or width < 2:
        return False
    if matrix and width != n + 1:
        return False
    if matrix:
        is_titled = titles[0].lower() in cells.NAME_TITLES
        return is_titled or set(titles[1:]) == set(parsed.first)
    is_titled = bool(titles[0]) and is_title_of_names(titles[0])
    return is_titled and cells.can_be_names(parsed.first)


def is_numbering(values: Sequence[str] | np.ndarray) -> bool:
    """Whether values count from 0 or from 1, as pandas and R (V1, V2, ...) do."""
    texts = values
    if isinstance(values, np.ndarray):
        texts = [f"{value:g}" for value in values]
    bare = [text.removeprefix("V") for text in texts]
    from_0 = [str(k) for k in range(len(bare))]
    from_1 = [str(k + 1) for k in range(len(bare))]
    return bare in (from_0, from_1)
