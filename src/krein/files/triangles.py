"""Lower triangles as text: an item per line, one field longer than the line above."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from krein.files import cells, sources, tables
from krein.files.cells import Row
from krein.files.sources import FormatError, How, Named

_FEWEST = 3  # lines; shorter files are tables with a field too many


def read_triangle(path: Path, how: How) -> Named | None:
    """Read a lower triangle without its upper half; None where the file is none.

    With or without names, and with or without the diagonal, which is 0 for distances.
    """
    for mark in [how.separator] if how.separator else "\t;, ":
        rows = _growing_rows(path, mark)
        has_names = _has_names(rows)
        if rows and len(rows[0].fields) <= 1 + has_names:
            has_diagonal = _has_diagonal(rows, has_names, path, how)
            comma = mark != "," and tables.has_decimal_commas(rows)
            return _square(rows, has_names, has_diagonal, comma)
    return None


def _growing_rows(path: Path, mark: str) -> list[Row]:
    """All rows, if each has one field more than the row above and the first has few."""
    rows: list[Row] = []
    try:
        for row in cells.read_rows(path, mark):
            if len(row.fields) != (len(rows[-1].fields) + 1 if rows else 1):
                if rows or len(row.fields) != 2:
                    return []
            rows.append(row)
    except FormatError:
        return []
    return rows if len(rows) >= _FEWEST else []


def _has_names(rows: list[Row]) -> bool:
    """Whether lines begin with names: words, or a numbering of the lines."""
    first = [row.text(0) for row in rows]
    if not all(map(cells.is_number, first)):
        return True
    # Below a first line of one number, 0, 1, 2, ... may also be distances.
    is_certain = bool(rows) and len(rows[0].fields) == 2
    return tables.is_numbering(first) and (is_certain or not _ends_alike(rows))


def _has_diagonal(rows: list[Row], has_names: bool, path: Path, how: How) -> bool:
    """Whether the last number of a line is that of an item with itself."""
    if has_names and len(rows[0].fields) == 2:
        return True
    if not has_names:
        if _ends_alike(rows):
            return True
        raise FormatError(
            path,
            "is a triangle, and nothing says whether with its diagonal. Write the "
            "name of the item before each line, or the whole matrix",
        )
    if how.missing == "distance":
        return False
    raise FormatError(
        path,
        "is a triangle without its diagonal; for distances say --kind distance "
        "(missing='distance')",
    )


def _ends_alike(rows: list[Row]) -> bool:
    """Whether the last number is the same in all lines, as on a diagonal."""
    last = {row.text(len(row.fields) - 1) for row in rows}
    return len({float(text) if cells.is_number(text) else text for text in last}) == 1


def _square(rows: list[Row], has_names: bool, has_diagonal: bool, comma: bool) -> Named:
    n = len(rows)
    sources.require_room(16 * n * n, rows[0].place.path, "Take fewer items.")
    K = np.zeros((n, n))
    for i, row in enumerate(rows):
        for j in range(i + has_diagonal):
            K[i, j] = K[j, i] = row.number(j + has_names, comma)
    names = None
    where = "no names"
    if has_names:
        places = [row.place for row in rows]
        names = sources.unique_names([row.name(0) for row in rows], places)
        where = "names from first column"
    note = f"read {n} x {n} numbers, the lower triangle, {where}"
    if not has_diagonal:
        note += ", nothing on its diagonal: 0, as of distances"
    return Named(K, names, notes=[note])
