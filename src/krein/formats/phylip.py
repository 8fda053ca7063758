"""PHYLIP distance matrices."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from krein.formats.cells import is_number, name_from_text, parse_count, parse_number
from krein.formats.named import FormatError, Named, require_room, unique_names
from krein.formats.text import text_lines

__all__ = ["read_phylip"]


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
    require_room(8 * n * n, path, "Take fewer items.")
    lower = len(lines[1][1].split()) == 1 and n > 1
    D = np.zeros((n, n))
    names, starts = [], []
    position = 1
    for i in range(n):
        wanted = i if lower else n
        name, start, values, position = _read_item(lines, position, wanted, path)
        names.append(name)
        starts.append(start)
        D[i, :wanted] = values
    if position < len(lines):
        raise FormatError(
            path, f"more follows behind the {n} items", line=lines[position][0]
        )
    if lower:
        D += D.T
    shape = "the lower triangle" if lower else "a square matrix"
    return Named(
        D,
        unique_names(names, path, starts),
        notes=[f"read {n} x {n} numbers, PHYLIP, {shape}, names from first column"],
    )


def _read_item(
    lines: list[tuple[int, str]], position: int, wanted: int, path: Path
) -> tuple[str, int, list[float], int]:
    """Read a name and its distances, over as many lines as it takes."""
    if position >= len(lines):
        raise FormatError(path, "the file ends before the last item; is it complete?")
    start, line = lines[position]
    name, fields = _name_and_fields(line)
    values = [(start, column, field) for column, field in enumerate(fields, start=2)]
    position += 1
    number = start
    while len(values) < wanted and position < len(lines):
        number, line = lines[position]
        values += [(number, c, field) for c, field in enumerate(line.split(), start=1)]
        position += 1
    if len(values) != wanted:
        raise FormatError(
            path,
            f"item {name!r} has {len(values)} distances, expected {wanted}",
            line=number,
        )
    numbers = [parse_number(field, path, at, column) for at, column, field in values]
    return name_from_text(name), start, numbers, position


def _name_and_fields(line: str) -> tuple[str, list[str]]:
    """A name up to the first blank, or of ten characters with blanks inside."""
    fields = line.split()
    if all(is_number(field) for field in fields[1:]):
        return fields[0], fields[1:]
    return line[:10].strip(), line[10:].split()
