"""Matrices as text: .csv and .tsv with or without names, and PHYLIP."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from krein.formats.named import (
    FormatError,
    Named,
    is_number,
    parse_count,
    parse_number,
    text_lines,
    unique_names,
)
from krein.matrices.memory import require_memory

__all__ = ["read_phylip", "read_rows", "read_table"]


def read_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers and fields; empty lines and lines that begin with # not."""
    lines = (line for _, line in text_lines(path))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for fields in reader:
            if any(field.strip() for field in fields) and not fields[0].startswith("#"):
                yield reader.line_num, fields
    except csv.Error as error:
        raise FormatError(path, str(error), line=reader.line_num) from None


def read_table(path: Path, delimiter: str) -> Named:
    """Read a matrix of numbers; a first row and a first column of names are found.

    The first row is names if its first field is empty or a later one is not a number;
    the first column if its first field below is not a number.
    """
    rows = list(read_rows(path, delimiter))
    if not rows:
        raise FormatError(path, "the file is empty; expected a matrix of numbers")
    header = rows.pop(0) if _is_header(rows[0][1]) else None
    if not rows:
        raise FormatError(path, "there are names but no numbers", line=1)
    has_names = not is_number(rows[0][1][0])
    skip = int(has_names)
    width = len(rows[0][1])
    values = np.empty((len(rows), width - skip))
    for i, (line, fields) in enumerate(rows):
        if len(fields) != width:
            raise FormatError(
                path,
                f"has {len(fields)} fields, the first row of numbers has {width}",
                line=line,
            )
        values[i] = [
            parse_number(field, path, line, column)
            for column, field in enumerate(fields[skip:], start=skip + 1)
        ]
    names = [fields[0].strip() for _, fields in rows] if has_names else None
    if names is not None:
        names = unique_names(names, path, [line for line, _ in rows])
    return _with_header(values, names, header, path)


def _is_header(fields: list[str]) -> bool:
    if len(fields) == 1:
        return not is_number(fields[0])
    return not fields[0].strip() or not all(is_number(f) for f in fields[1:])


def _with_header(
    values: np.ndarray,
    names: list[str] | None,
    header: tuple[int, list[str]] | None,
    path: Path,
) -> Named:
    if header is None:
        return Named(values, names)
    line, fields = header
    columns = [field.strip() for field in fields]
    if names is not None and len(columns) == values.shape[1] + 1:
        # A title stands above the column of names.
        columns = columns[1:]
    if len(columns) != values.shape[1]:
        raise FormatError(
            path,
            f"has {len(columns)} names for {values.shape[1]} columns of numbers",
            line=line,
        )
    columns = unique_names(columns, path, [line] * len(columns))
    if names is None and values.shape[0] == values.shape[1]:
        return Named(values, columns)
    if names is not None and sorted(names) == sorted(columns):
        order = [columns.index(name) for name in names]
        return Named(values[:, order], names)
    return Named(values, names, columns)


def read_phylip(path: Path) -> Named:
    """Read a PHYLIP distance matrix: square or lower triangle, wrapped or not."""
    lines = [(number, line) for number, line in text_lines(path) if line.strip()]
    if not lines:
        raise FormatError(path, "the file is empty; expected the number of items")
    number, first = lines[0]
    n = parse_count(first)
    if n is None:
        raise FormatError(
            path, f"expected the number of items, got {first.strip()!r}", line=number
        )
    if n > len(lines) - 1:
        raise FormatError(
            path,
            f"{n} items are announced, {len(lines) - 1} lines follow; is the file "
            "complete?",
        )
    require_memory(8 * n * n, f"the matrix in {path}", "Take fewer items.")
    lower = len(lines[1][1].split()) == 1 and n > 1
    D = np.zeros((n, n))
    names, name_lines = [], []
    position = 1
    for i in range(n):
        if position >= len(lines):
            raise FormatError(path, f"ends after {i} of {n} items")
        number, line = lines[position]
        name, fields = _phylip_name(line)
        names.append(name)
        name_lines.append(number)
        values = [(number, c, f) for c, f in enumerate(fields, start=2)]
        position += 1
        wanted = i if lower else n
        while len(values) < wanted and position < len(lines):
            number, line = lines[position]
            values += [(number, c, f) for c, f in enumerate(line.split(), start=1)]
            position += 1
        if len(values) != wanted:
            raise FormatError(
                path,
                f"item {name!r} has {len(values)} distances, expected {wanted}",
                line=number,
            )
        D[i, :wanted] = [parse_number(f, path, at, c) for at, c, f in values]
    if lower:
        D += D.T
    return Named(D, unique_names(names, path, name_lines))


def _phylip_name(line: str) -> tuple[str, list[str]]:
    """A name up to the first blank, or of ten characters with blanks inside."""
    fields = line.split()
    if all(is_number(field) for field in fields[1:]):
        return fields[0], fields[1:]
    return line[:10].strip(), line[10:].split()
