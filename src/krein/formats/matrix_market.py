"""Matrix Market files: coordinate and array, general and symmetric.

Read here and not by SciPy, whose reader can end the process on a damaged file and fills
a truncated symmetric one with zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from krein.formats.cells import is_number, parse_count, parse_number
from krein.formats.named import FormatError, Named, require_room
from krein.formats.text import text_lines

__all__ = ["read_matrix_market", "write_matrix_market"]

_FIELDS = ("real", "double", "integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")


class _Header(NamedTuple):
    coordinate: bool
    pattern: bool
    symmetry: str


def _header(text: str, path: Path) -> _Header:
    words = text.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise FormatError(path, "expected '%%MatrixMarket matrix ...'", line=1)
    layout, field, symmetry = words[2:]
    if layout not in ("coordinate", "array") or symmetry not in _SYMMETRIES:
        raise FormatError(path, f"{layout} {symmetry} is not read", line=1)
    if field not in _FIELDS or (field == "pattern" and layout == "array"):
        raise FormatError(path, f"{field} {layout} is not a matrix of numbers", line=1)
    return _Header(layout == "coordinate", field == "pattern", symmetry)


def read_matrix_market(path: Path) -> Named:
    """Read a Matrix Market file as a dense matrix; every entry must be there."""
    lines = iter(text_lines(path))
    header = _header(next(lines, (1, ""))[1], path)
    body = ((n, text.split()) for n, text in lines if _has_data(text))
    line, sizes = next(body, (1, []))
    counts = [parse_count(word) for word in sizes]
    if header.coordinate and sizes[2:] == ["0"]:
        counts[2] = 0
    if len(counts) != 2 + header.coordinate or None in counts:
        raise FormatError(
            path, "expected the numbers of rows, columns and entries", line=line
        )
    n, m, *entries = [count or 0 for count in counts]
    if header.symmetry != "general" and n != m:
        raise FormatError(
            path, f"a symmetric matrix has {n} rows and {m} columns", line=line
        )
    require_room(9 * n * m, path, "Take fewer items, or krein.read_hits.")
    if header.coordinate:
        K = _coordinate(body, header, (n, m), entries[0], path)
    else:
        K = _array(body, header, (n, m), path)
    note = f"read {n} x {m} numbers, Matrix Market {header.symmetry}, no names"
    return Named(K, notes=[note])


def _has_data(text: str) -> bool:
    return bool(text.strip()) and not text.startswith("%")


def _mirror(header: _Header) -> float:
    return -1.0 if header.symmetry == "skew-symmetric" else 1.0


def _coordinate(
    body: Iterator[tuple[int, list[str]]],
    header: _Header,
    shape: tuple[int, int],
    n_entries: int,
    path: Path,
) -> np.ndarray:
    K = np.zeros(shape)
    given = np.zeros(shape, dtype=bool)
    seen = 0
    for line, words in body:
        if len(words) != 3 - header.pattern:
            raise FormatError(path, "expected row, column and value", line=line)
        i, j = (parse_count(word) or 0 for word in words[:2])
        if not (1 <= i <= shape[0] and 1 <= j <= shape[1]):
            raise FormatError(
                path, f"entry ({words[0]}, {words[1]}) is outside {shape}", line=line
            )
        value = 1.0 if header.pattern else parse_number(words[2], path, line, 3)
        if given[i - 1, j - 1]:
            raise FormatError(path, f"entry ({i}, {j}) is given twice", line=line)
        K[i - 1, j - 1], given[i - 1, j - 1] = value, True
        if header.symmetry != "general" and i != j:
            K[j - 1, i - 1], given[j - 1, i - 1] = _mirror(header) * value, True
        seen += 1
    if seen != n_entries:
        raise FormatError(
            path, f"{n_entries} entries are announced, {seen} follow; is it complete?"
        )
    return K


def _array(
    body: Iterator[tuple[int, list[str]]],
    header: _Header,
    shape: tuple[int, int],
    path: Path,
) -> np.ndarray:
    values = []
    for line, words in body:
        if len(words) != 1 or not is_number(words[0]):
            raise FormatError(path, "expected one number", line=line)
        values.append(parse_number(words[0], path, line, 1))
    n, m = shape
    wanted = {
        "general": n * m,
        "symmetric": n * (n + 1) // 2,
        "skew-symmetric": n * (n - 1) // 2,
    }[header.symmetry]
    if len(values) != wanted:
        raise FormatError(
            path,
            f"{wanted} entries are announced, {len(values)} follow; is it complete?",
        )
    if header.symmetry == "general":
        return np.array(values).reshape(m, n).T
    K = np.zeros(shape)
    # The lower triangle column by column is the upper one row by row.
    rows, columns = np.triu_indices(n, k=int(header.symmetry != "symmetric"))
    K[rows, columns] = np.multiply(values, _mirror(header))
    K[columns, rows] = values
    return K


def write_matrix_market(handle: IO[str], K: np.ndarray) -> None:
    """Write all entries, column by column, with all their digits."""
    handle.write("%%MatrixMarket matrix array real general\n")
    handle.write(f"{K.shape[0]} {K.shape[1]}\n")
    for column in K.T.tolist():
        handle.writelines(f"{value!r}\n" for value in column)
