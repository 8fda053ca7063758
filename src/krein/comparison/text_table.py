"""Tables as lines of text, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_REPR = 2500  # characters


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lines of a table: the first columns start, the others end at the same place."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def shorten(lines: Sequence[str], most: int) -> str:
    """As many whole lines as fit into so many characters, and how many are left out."""
    text = "\n".join(lines)
    if len(text) <= most:
        return text
    kept: list[str] = []
    for i, line in enumerate(lines):
        last = f"... {len(lines) - i} more lines: print(str(...)) shows them"
        if len("\n".join([*kept, line, last])) > most:
            return "\n".join([*kept, last])
        kept.append(line)
    return text
