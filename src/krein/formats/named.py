"""What a reader returns, what it raises, and how it goes through a text."""

from __future__ import annotations

import gzip
import math
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "FormatError",
    "Named",
    "as_labels",
    "is_number",
    "parse_count",
    "parse_number",
    "text_lines",
    "unique_names",
]


class FormatError(ValueError):
    """A file is not what it should be; the message names file, line and column.

    Parameters
    ----------
    path : path-like
        The file.
    problem : str
        What was found, what was expected, what to do.
    line, column : int, optional
        Counted from 1; a column is a field, not a character.

    Examples
    --------
    >>> from krein import FormatError
    >>> str(FormatError("K.csv", "expected a number, got 'x'", line=2, column=3))
    "K.csv, line 2, column 3: expected a number, got 'x'"
    """

    def __init__(
        self,
        path: str | os.PathLike,
        problem: str,
        *,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.path, self.line, self.column = Path(path), line, column
        self.problem = problem
        place = str(path)
        if line is not None:
            place += f", line {line}"
        if column is not None:
            place += f", column {column}"
        super().__init__(f"{place}: {problem}")

    def __reduce__(self) -> tuple:
        """Pickle with the keyword arguments, for errors in worker processes."""
        return _format_error, (self.path, self.problem, self.line, self.column)


def _format_error(path: Any, problem: str, line: Any, column: Any) -> FormatError:
    return FormatError(path, problem, line=line, column=column)


@dataclass(frozen=True)
class Named:
    """Data of a file with the names that came with it.

    Attributes
    ----------
    data : ndarray or list
        A matrix, a list of items, or an array of labels.
    names : list of str or None
        Name of each row or item.
    columns : list of str or None
        Names of the columns where they differ from `names`: new items against
        training items, or features.
    target : ndarray or None
        Labels that stand in the same file.

    Examples
    --------
    >>> from krein import Named
    >>> Named(["ACGT", "ACGA"], names=["first", "second"]).names
    ['first', 'second']
    """

    data: Any
    names: list[str] | None = None
    columns: list[str] | None = None
    target: np.ndarray | None = None


def text_lines(path: str | os.PathLike) -> Iterator[tuple[int, str]]:
    """Yield line numbers and lines without their ends; .gz is unpacked."""
    path = Path(path)
    opened = gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb")
    with opened as handle:
        number = 0
        try:
            for number, line in enumerate(handle, start=1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                yield number, text.rstrip("\r\n")
        except UnicodeDecodeError:
            raise FormatError(
                path, "this is not UTF-8 text; save it as UTF-8", line=number
            ) from None
        except (EOFError, OSError, zlib.error) as error:
            raise FormatError(
                path, f"the file cannot be unpacked ({error}); is it complete?"
            ) from None


def parse_number(
    text: str, path: str | os.PathLike, line: int, column: int | None = None
) -> float:
    """Read a finite number, or say where there is none."""
    try:
        value = float(text)
    except ValueError:
        found = repr(text.strip()) if text.strip() else "nothing"
        raise FormatError(
            path, f"expected a number, got {found}", line=line, column=column
        ) from None
    if not math.isfinite(value):
        raise FormatError(
            path,
            f"expected a finite number, got {text.strip()!r}",
            line=line,
            column=column,
        )
    return value


def parse_count(text: str) -> int | None:
    """Read an integer from 1 on, or None."""
    word = text.strip()
    # More digits than a file can have items, or digits of other scripts, are no count.
    if not (word.isascii() and word.isdigit() and len(word) < 16):
        return None
    return int(word) or None


def is_number(text: str) -> bool:
    """Whether a field reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def unique_names(
    names: Sequence[str], path: str | os.PathLike, lines: Sequence[int | None]
) -> list[str]:
    """Return the names, or say which one stands there twice."""
    seen: dict[str, int | None] = {}
    for name, line in zip(names, lines, strict=True):
        if name in seen:
            before = f" (first in line {seen[name]})" if seen[name] else ""
            raise FormatError(
                path, f"the name {name!r} is duplicated{before}", line=line
            )
        seen[name] = line
    return list(names)


def as_labels(labels: list[str]) -> np.ndarray:
    """Integers where all labels are, text otherwise."""
    try:
        numbers = np.array([float(label) for label in labels])
    except ValueError:
        return np.array(labels)
    if all(math.isfinite(x) and x == int(x) for x in numbers):
        return numbers.astype(int)
    return np.array(labels)
