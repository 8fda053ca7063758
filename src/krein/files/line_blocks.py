"""Lines of tables with millions of rows, parsed a block at a time by NumPy.

A block of whole lines is read twice at most. `fast_lines` and `fast_numbers` treat it
as one array of bytes: they find all separators at once, and take the fields they need
as machine words. They give up (None) at anything out of the ordinary, and a careful
reader (`careful_lines`) then goes through the lines one by one, and either reads them
or says what is wrong in which line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from krein.arrays import Array
from krein.files.cells import cut, parse_count, parse_number
from krein.files.sources import Line, Place, decoded, without_comments

_NEWLINE, _BLANK, _COMMENT = b"\n #"
_LEFT_OUT = re.compile(rb"^(?:#.*)?\r?\n", re.MULTILINE)  # comments, empty lines
_LONGEST = 256  # bytes of a field that the fast path takes
_MASKS = np.array([(1 << (8 * k)) - 1 for k in range(9)], dtype=np.uint64)
_EXPECTED = {1: "one number", 2: "row and column", 3: "row, column and value"}
_MOST_DIGITS = 19  # of an integer of 64 bits
_POWERS = np.cumprod([1.0] + [10.0] * _MOST_DIGITS, dtype=np.longdouble)


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
    score : int
        Field of the score.
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
    score: int
    signed: bool = False
    head: int = 0
    why: str = ""
    distances: bool = False


class HitLines(NamedTuple):
    """Lines of a block: names of queries and targets, and scores."""

    query: list[bytes]
    target: list[bytes]
    scores: Array


# ------------------------------------------------------------------------ all at once


def fast_lines(text: bytes, layout: Layout) -> HitLines | None:
    """Parse a block of hits without looking at one line, or give up."""
    if b'"' in text:
        return None
    wanted = (layout.query, layout.target, layout.score)
    fields = _fields(text, layout.separator, layout.width, wanted)
    if fields is None:
        rest = _LEFT_OUT.sub(b"", text)
        fields = _fields(rest, layout.separator, layout.width, wanted)
    if fields is None:
        return None
    padded, starts, stops = fields
    before = padded[starts[:, :2]] <= _BLANK
    behind = padded[stops[:, :2] - 1] <= _BLANK
    if before.any() or behind.any():  # blanks around a name
        return None
    query, target, score = _columns(padded, starts, stops)
    values = _all_numbers([score])
    if values is None or (not layout.signed and (values < 0).any()):
        return None
    return HitLines(_names(query), _as_bytes(target).tolist(), values[:, 0])


def fast_numbers(text: bytes, counts: int, width: int) -> Array | None:
    """Parse lines of `width` numbers with a blank between, or give up.

    The first `counts` of them are written in digits only, at most eight.
    """
    fields = _fields(text, " ", width, range(width))
    if fields is None:
        return None
    return _all_numbers(_columns(*fields), counts)


def _fields(
    text: bytes, separator: str, width: int, wanted: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Bytes with room behind them, and where the wanted fields begin and end.

    The places have the shape (n_lines, n_wanted).
    """
    if b"\0" in text or not text.isascii():
        return None
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    buffer = np.frombuffer(text, dtype=np.uint8)
    newline = buffer == _NEWLINE
    found = np.flatnonzero(newline | (buffer == ord(separator)))
    if not found.size or found.size % width:
        return None
    marks = found.reshape(-1, width)
    lines = np.count_nonzero(newline)
    if lines != marks.shape[0] or not newline[marks[:, -1]].all():
        return None
    first = np.concatenate([[0], marks[:-1, -1] + 1])
    if (buffer[first] == _COMMENT).any():
        return None
    starts = np.column_stack([marks[:, k - 1] + 1 if k else first for k in wanted])
    stops = marks[:, wanted]
    longest = int((stops - starts).max(initial=0))
    if longest > _LONGEST or (stops <= starts).any():
        return None
    padded = np.frombuffer(text + bytes(longest + 16), dtype=np.uint8)
    return padded, starts, stops


def _columns(padded: np.ndarray, starts: Any, stops: Any) -> list[np.ndarray]:
    columns = []
    for start, stop in zip(starts.T, stops.T, strict=True):
        columns.append(_words(padded, start, stop))
    return columns


def _all_numbers(columns: list[np.ndarray], counts: int = 0) -> Array | None:
    """Finite numbers, one column each; None if one is none.

    The first `counts` columns hold digits only.
    """
    values = np.empty((len(columns[0]), len(columns)))
    try:
        for k, words in enumerate(columns):
            values[:, k] = _numbers(words, digits_only=k < counts)
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def _words(padded: np.ndarray, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """Fields as rows of 64-bit words, filled up with zero bytes."""
    length = stop - start
    size = (int(length.max(initial=1)) + 7) // 8
    windows = np.ndarray((padded.size - 7,), "<u8", buffer=padded, strides=(1,))
    words = np.empty((start.size, size), dtype="<u8")
    for k in range(size):
        left = np.minimum(np.maximum(length - 8 * k, 0), 8)
        # Where nothing is left the window is masked out; it only has to exist.
        words[:, k] = windows[np.minimum(start + 8 * k, windows.size - 1)]
        words[:, k] &= _MASKS[left]
    return words


def _as_bytes(words: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(words).view(f"S{8 * words.shape[1]}")[:, 0]


def _names(words: np.ndarray) -> list[bytes]:
    """Fields as bytes; equal neighbours are one object, which is hashed once."""
    new = np.append(True, (words[1:] != words[:-1]).any(axis=1))
    different = np.array(_as_bytes(words[new]).tolist(), dtype=object)
    return different[np.cumsum(new) - 1].tolist()


def _numbers(words: np.ndarray, digits_only: bool) -> Array:
    """Numbers from fields; ValueError if one is none.

    Digits and powers of ten are exact. The quotient of short numbers is the nearest
    double. That of long ones lies between two that differ by rounding: where these are
    not the same double, and for signs and exponents, Python parses the field.
    """
    digits, decimals, odd = _digits(words, points=not digits_only)
    if words.shape[1] == 1:
        values = digits / _POWERS[decimals].astype(np.float64)
    else:
        quotient = digits.astype(np.longdouble) / _POWERS[decimals]
        error = quotient * np.finfo(np.longdouble).eps
        values = (quotient - error).astype(np.float64)
        odd |= values != (quotient + error).astype(np.float64)
    left = np.flatnonzero(odd)
    # 1_0 is a number for Python alone
    if left.size and (digits_only or (words[left].view(np.uint8) == ord("_")).any()):
        raise ValueError("not a number")
    values[left] = _as_bytes(words[left]).astype(np.float64)
    return values


def _digits(words: np.ndarray, points: bool) -> tuple[Any, Any, Any]:
    """Digits of fields as one integer, how many are decimals, and other fields."""
    n = len(words)
    digits = np.zeros(n, dtype=np.uint64)
    odd = np.zeros(n, dtype=bool)
    count = np.zeros(n, dtype=np.uint8)
    decimals = np.zeros(n, dtype=np.uint8)
    behind = np.zeros(n, dtype=np.uint8)  # points so far
    for byte in np.ascontiguousarray(words.view(np.uint8).reshape(n, -1).T):
        if not byte.any():  # behind the longest field
            break
        digit = byte - np.uint8(48)
        is_digit = digit < 10
        is_point = (byte == 46) & points
        odd |= (byte != 0) & ~is_digit & ~is_point
        np.copyto(digits, digits * np.uint64(10) + digit, where=is_digit)
        count += is_digit
        decimals += is_digit & behind
        behind += is_point
    odd |= (count == 0) | (count > _MOST_DIGITS) | (behind > 1)
    return digits, np.minimum(decimals, _MOST_DIGITS), odd


# ----------------------------------------------------------------------- line by line


def data_lines(
    text: bytes, first: Place, comment: str = "#", most: int | None = None
) -> list[Line]:
    """Places and texts of lines that are neither empty nor comments, or the first."""
    if b"\0" in text:
        raise first.error("holds zero bytes; expected a table as text")
    return list(islice(without_comments(decoded(text, first), comment), most))


def careful_numbers(text: bytes, counts: int, width: int, first: Place) -> Array:
    """Parse lines of numbers one by one, the first of which are counts from 1 on."""
    rows = []
    for place, content in data_lines(text, first, "%"):
        words = content.split()
        if len(words) != width:
            raise place.error(f"expected {_EXPECTED[width]}, got {len(words)} fields")
        for column, word in enumerate(words[:counts], start=1):
            if parse_count(word) is None:
                raise place.error(
                    f"expected a number of a row or column, got {word!r}", column
                )
        rows.append([parse_number(word, place, k) for k, word in enumerate(words, 1)])
    return np.array(rows, dtype=np.float64).reshape(-1, width)


def careful_lines(text: bytes, layout: Layout, first: Place) -> HitLines:
    """Parse a block line by line; a FormatError names the line that is wrong."""
    queries: list[bytes] = []
    targets: list[bytes] = []
    scores: list[float] = []
    for row in cut(iter(data_lines(text, first)), layout.separator):
        place = row.place
        fields = row.texts()
        if len(fields) != layout.width:
            raise place.error(
                f"has {len(fields)} fields, the lines above have {layout.width}"
            )
        for k in (layout.query, layout.target):
            if not fields[k]:
                raise place.error("the name is missing", k + 1)
        score = parse_number(fields[layout.score], place, layout.score + 1)
        if score < 0 and not layout.signed:
            raise place.error(
                f"the score {score:g} is negative; scores of hits are 0 or more. "
                "Similarities with signs are read by read_matrix",
                layout.score + 1,
            )
        queries.append(fields[layout.query].encode())
        targets.append(fields[layout.target].encode())
        scores.append(score)
    return HitLines(queries, targets, np.array(scores, dtype=float))
