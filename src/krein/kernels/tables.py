"""Kernels on rows of tables that mix numbers, categories, booleans and gaps.

A table is a frame of pandas or polars, an array, or a list of rows. Inside krein it is
a list of tuples: numbers as float, booleans, categories as text, None where an entry is
missing. Such rows can be cut, compared and stored in model files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from krein.kernels.distances import check_each, same_items
from krein.kernels.registry import register_kernel
from krein.validation import is_missing
from krein.words import warn_user

Row = tuple[float | bool | str | None, ...]
Ranges = tuple[float | None, ...]
_FEWEST = 10  # rows in which different texts are no chance


def table_rows(X: Any, name: str = "X") -> list[Row]:
    """Rows of a table as tuples of plain values, or name the row at fault."""
    if not hasattr(X, "columns"):
        rows = check_each(_row, X, name)
    else:
        own = X.iloc if hasattr(X, "iloc") else X  # titles may occur twice
        cells = [_column_values(own[:, k]) for k in range(X.shape[1])]
        rows = check_each(_row, list(zip(*cells, strict=True)), name)
        warn_of_identifiers(dict(zip(X.columns, zip(*rows, strict=True), strict=True)))
    for i, row in enumerate(rows):
        if not row or len(row) != len(rows[0]):
            raise ValueError(
                f"{name}[{i}] has {len(row)} entries, {name}[0] has {len(rows[0])}; "
                "all rows need the same columns"
            )
    return rows


def _column_values(column: Any) -> list[Any]:
    """Values of a column of a frame; numbers that stand for categories as text."""
    values = column.to_list()
    return list(map(_as_text, values)) if str(column.dtype) == "category" else values


def _row(row: Any) -> Row:
    if isinstance(row, str | bytes | Mapping) or not hasattr(row, "__len__"):
        raise TypeError(
            f"must be a row of a table, got {type(row).__name__}; pass a frame, a "
            "two-dimensional array or a list of rows"
        )
    return tuple(map(_cell, row))


def _cell(value: Any) -> float | bool | str | None:
    if is_missing(value):
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if not isinstance(value, Real) or math.isinf(value):
        raise TypeError(
            f"has {value!r}, not a finite number, text or a boolean. Turn dates into "
            "numbers first"
        )
    return float(value)


def _column_ranges(rows: list[Row]) -> Ranges:
    """Largest minus smallest number of each column; None for categories."""
    return tuple(_range_of(column) for column in zip(*rows, strict=True))


def _range_of(column: Sequence) -> float | None:
    values = [value for value in column if value is not None]
    numbers = all(type(value) is float for value in values)
    return max(values) - min(values) if values and numbers else None


def warn_of_identifiers(columns: Mapping[Any, Sequence]) -> None:
    """Warn of text that is different in every row: it says nothing about likeness."""
    for title, column in columns.items():
        values = [value for value in column if value is not None]
        text = all(isinstance(value, str) for value in values)
        if text and len(values) == len(set(values)) >= _FEWEST:
            warn_user(
                f"the column {title!r} has another text in each of {len(values)} rows; "
                "as a category it makes all rows equally unlike. If it holds names or "
                "identifiers, leave it out"
            )


def _settled_ranges(ranges: Any, X: list[Row], Y: list[Row]) -> Ranges:
    """One range per column: a number, or None for categories."""
    if isinstance(ranges, str) and ranges == "observed":
        ranges = _column_ranges(Y)
        if X != Y and any(width is not None for width in ranges):
            raise ValueError(
                "ranges of numbers are needed to compare two tables: call "
                'krein.Kernel("gower").fit(training_table) (estimators do), or give '
                "ranges=[...] with one entry per column, None for categories"
            )
    try:
        widths = [None if width is None else float(width) for width in ranges]
    except (TypeError, ValueError):
        widths = []
    if len(widths) != len(X[0]) or not all(0 <= (w or 0) < np.inf for w in widths):
        raise ValueError(
            f'ranges must be "observed" or {len(X[0])} entries, one per column: a '
            f"number from 0 on, or None for categories; got {ranges!r}"
        )
    return tuple(widths)


def _column_similarity(x: Sequence, y: Sequence, width: float | None) -> np.ndarray:
    """Similarities of the entries of one column; NaN where one is missing."""
    both = [*x, *y]
    if width is None:
        codes: dict[str | None, float] = {None: np.nan}
        both = [codes.setdefault(_as_text(value), len(codes)) for value in both]
    numbers = np.array(both, dtype=float)
    apart = np.abs(numbers[: len(x), None] - numbers[None, len(x) :])
    if not width:  # equal or not: categories, and numbers that are all the same
        return np.where(np.isnan(apart), np.nan, apart == 0)
    return np.maximum(0.0, 1.0 - apart / width)


def _as_text(value: Any) -> str | None:
    """A category as text: 1 and "1" are the same, whoever read the file."""
    if is_missing(value):
        return None
    return str(value).removesuffix(".0") if type(value) is float else str(value)


def _check_columns(X: Any, Y: Any, rows: list[Row], columns: list[Row]) -> None:
    """Refuse tables whose columns are not the same."""
    first = list(getattr(X, "columns", []))
    second = list(getattr(Y, "columns", []))
    if len(rows[0]) != len(columns[0]) or (first and second and first != second):
        raise ValueError(
            "X and Y must have the same columns, in the same order; X has "
            f"{first or len(rows[0])}, Y has {second or len(columns[0])}"
        )


@register_kernel(
    "gower",
    input="tables",
    definiteness="depends",
    convert=table_rows,
    resolve={"ranges": {"observed": lambda X, params: _column_ranges(table_rows(X))}},
    note="positive definite where no entry is missing, indefinite in general otherwise",
)
def gower_kernel(X, Y=None, *, ranges="observed"):
    """Gower similarity of rows of a mixed table (1 - Gower distance).

    The mean over columns of ``max(0, 1 - |x - y| / range)`` for numbers and of 1 or 0
    for equal or different categories, text and booleans. A pair of rows is compared on
    the columns where neither has a missing entry; a pair without such a column has
    similarity 0.

    Parameters
    ----------
    X, Y : frames of pandas or polars, arrays, or lists of rows
        Columns of numbers, text, categories or booleans; None and NaN are missing. Y
        defaults to X.
    ranges : "observed" or tuple
        For each column the range of its numbers, None for categories. "observed",
        settled by `Kernel.fit` on training rows, is the largest minus the smallest
        number of each column; called directly, the function takes the ranges of X,
        and refuses to compare X with another table.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Gower (1971), "A general coefficient of similarity and some of its properties",
    Biometrics 27.

    Examples
    --------
    >>> from krein import Kernel, gower_kernel
    >>> table = [(20, "red", True), (40, "red", None), (30, "blue", True)]
    >>> gower_kernel(table).round(2)
    array([[1.  , 0.5 , 0.5 ],
           [0.5 , 1.  , 0.25],
           [0.5 , 0.25, 1.  ]])
    >>> Kernel("gower").fit(table)([(25, "red", False)], table).round(2)
    array([[0.58, 0.62, 0.25]])
    """
    rows = table_rows(X, "X")
    columns = rows if same_items(X, Y) else table_rows(Y, "Y")
    _check_columns(X, Y, rows, columns)
    total, known = np.zeros((2, len(rows), len(columns)))
    for k, width in enumerate(_settled_ranges(ranges, rows, columns)):
        x = [row[k] for row in rows]
        y = [row[k] for row in columns]
        odd = [cell for cell in (*x, *y) if not isinstance(cell, float | None)]
        if odd and width is not None:
            raise ValueError(f"column {k} holds numbers, got {odd[0]!r}")
        similar = _column_similarity(x, y, width)
        both = ~np.isnan(similar)
        total[both] += similar[both]
        known += both
    return np.divide(total, known, out=np.zeros_like(total), where=known > 0)
