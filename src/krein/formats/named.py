"""What a reader returns and what it raises."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from krein.matrices.memory import require_memory

__all__ = ["FormatError", "Named", "TooLargeError", "require_room", "unique_names"]


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
        place = (self.path, self.problem, self.line, self.column)
        return _format_error, (type(self), *place)


def _format_error(
    kind: type[FormatError], path: Any, problem: str, line: Any, column: Any
) -> FormatError:
    return kind(path, problem, line=line, column=column)


class TooLargeError(FormatError, MemoryError):
    """What a file holds does not fit into the memory that may be used."""


def require_room(n_bytes: float, path: str | os.PathLike, instead: str) -> None:
    """Refuse, before anything is allocated, what will not fit into memory."""
    try:
        require_memory(n_bytes, "what it holds", instead)
    except MemoryError as error:
        raise TooLargeError(path, str(error)) from None


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
    notes : list of str
        What was recognised, filled in or left out, a sentence each.
    alerts : dict of str
        What may be wrong, a sentence each: "missing-filled",
        "names-ignored", "order-unchecked".

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
    notes: list[str] = field(default_factory=list)
    alerts: dict[str, str] = field(default_factory=dict)


def unique_names(
    names: Sequence[str],
    path: str | os.PathLike,
    lines: Sequence[int | None] | None = None,
) -> list[str]:
    """Return the names, or say which one stands there twice."""
    seen: dict[str, int | None] = {}
    for name, line in zip(names, lines or [None] * len(names), strict=True):
        if name in seen:
            before = f" (first in line {seen[name]})" if seen[name] else ""
            raise FormatError(
                path, f"the name {name!r} is duplicated{before}", line=line
            )
        seen[name] = line
    return list(names)
