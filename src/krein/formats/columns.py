"""Columns of a table by their titles: items of any kind, and their labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from krein.formats.cells import (
    MISSING,
    Row,
    as_labels,
    is_number,
    name_from_text,
    parse_number,
    with_decimal_point,
)
from krein.formats.named import FormatError, Named, TooLargeError, unique_names
from krein.formats.tables import find_separator, is_numbering, read_rows
from krein.matrices.memory import available_memory
from krein.words import did_you_mean

__all__ = ["column_at", "read_columns", "read_text_rows", "texts_at"]


def read_text_rows(path: Path, separator: str) -> list[Row]:
    """Return all rows, each with as many fields as the first."""
    rows: list[Row] = []
    used, limit = 0, available_memory() or np.inf
    for row in read_rows(path, separator):
        rows.append(row)
        if len(row.fields) != len(rows[0].fields):
            raise FormatError(
                path,
                f"has {len(row.fields)} fields, the first row has "
                f"{len(rows[0].fields)}; are fields with the separator inside quoted?",
                line=row.line,
            )
        used += sum(60 + len(field) for field in row.fields) + 200
        if used > limit:
            raise TooLargeError(
                path, "the table does not fit into the memory that may be used"
            )
    if not rows:
        raise FormatError(path, "the file is empty; there are no rows")
    return rows


def column_at(header: Row | None, title: str, path: Path) -> int:
    """Return the place of a column, or say which columns there are."""
    titles = header.texts() if header else []
    if titles.count(title) != 1:
        found = "twice" if title in titles else "not"
        raise FormatError(
            path,
            f"the column {title!r} is {found} there; the titles are "
            f"{', '.join(map(repr, titles))}{did_you_mean(title, titles)}",
            line=header.line if header else None,
        )
    return titles.index(title)


def read_columns(
    path: Path,
    separator: str | None,
    column: str | None,
    label_column: str | None,
    *,
    mixed: bool = False,
) -> Named:
    """Read the items of one column (text), or of all but the labels (numbers).

    With `mixed` these may hold text, and entries may be missing: items are tuples.
    """
    mark = separator or find_separator(path, numbers=False) or ","
    header, *rows = read_text_rows(path, mark)
    if not rows:
        raise FormatError(path, "there is a header but no row")
    target = None
    used = {0} if not header.text(0) and len(header.fields) > 1 else set()
    if label_column is not None:
        place = column_at(header, label_column, path)
        used.add(place)
        labels = texts_at(rows, place, path, "label")
        target = as_labels([name_from_text(label) for label in labels])
    names = None
    if 0 in used and not header.text(0):
        own = [name_from_text(row.text(0)) for row in rows]
        if not is_numbering(own):
            names = unique_names(own, path, [row.line for row in rows])
    if column is not None:
        place = column_at(header, column, path)
        items: list | np.ndarray = texts_at(rows, place, path, "item")
        what = f"{len(rows)} items from column {column!r}"
        titles = None
    else:
        places = [k for k in range(len(header.fields)) if k not in used]
        titles = [header.text(k) for k in places]
        if mixed:
            items = _mixed_rows(rows, places, path)
            what = f"{len(rows)} rows: {_kinds_of_columns(items)}"
        else:
            items = _vectors(rows, places, titles, path)
            what = f"{len(rows)} vectors of {len(places)} columns"
    note = f"read {what}" + (f", labels from {label_column!r}" if label_column else "")
    return Named(items, names, titles, target, [note])


def _mixed_rows(rows: list[Row], places: list[int], path: Path) -> list[tuple]:
    """Cells as numbers where all of their column are, else as text; None if missing."""
    columns = []
    for k in places:
        texts = [with_decimal_point(row.text(k)) for row in rows]
        gaps = [text.lower() in MISSING for text in texts]
        numeric = all(map(lambda t, gap: gap or is_number(t), texts, gaps))
        columns.append(
            [
                None
                if gap
                else parse_number(text, path, row.line, k + 1)
                if numeric
                else row.text(k)
                for row, text, gap in zip(rows, texts, gaps, strict=True)
            ]
        )
    return list(zip(*columns, strict=True))


def _kinds_of_columns(items: list[tuple]) -> str:
    categories = sum(
        any(isinstance(cell, str) for cell in column)
        for column in zip(*items, strict=True)
    )
    gaps = sum(cell is None for row in items for cell in row)
    return (
        f"{len(items[0]) - categories} columns of numbers, {categories} of categories, "
        f"{gaps} missing entries"
    )


def texts_at(rows: list[Row], place: int, path: Path, what: str) -> list[str]:
    """Return the fields of a column; none of them may be empty."""
    for row in rows:
        if not row.text(place):
            raise FormatError(
                path, f"the {what} is missing", line=row.line, column=place + 1
            )
    return [row.text(place) for row in rows]


def _vectors(
    rows: list[Row], places: list[int], titles: list[str], path: Path
) -> np.ndarray:
    for k, title in zip(places, titles, strict=True):
        bad = next((row for row in rows if not is_number(row.text(k))), None)
        if bad is not None:
            raise FormatError(
                path,
                f"expected a number in column {title!r}, got {bad.text(k)!r}; to "
                f"compare text choose its column with column= (--items {title})",
                line=bad.line,
                column=k + 1,
            )
    return np.array(
        [
            [parse_number(row.text(k), path, row.line, k + 1) for k in places]
            for row in rows
        ]
    )
