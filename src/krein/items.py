"""Items of any kind: taken by position, and out of the columns of tables."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["called", "columns_of_rows", "plain_items", "take"]


def take(items: Any, rows: Any) -> Any:
    """Items at the given positions (indices or a slice), whatever holds them."""
    if hasattr(items, "iloc"):
        return items.iloc[rows]
    if isinstance(items, np.ndarray):
        return items[rows]
    if isinstance(rows, slice):
        return list(items[rows])
    return [items[i] for i in rows]


def plain_items(X: Any) -> Any:
    """Text in a column of any library as a list of strings; other items as they are.

    Columns are series of pandas and polars (whatever holds their text), arrays of
    Arrow, tables and arrays of one column.

    Parameters
    ----------
    X : object
        Items as they were given.

    Returns
    -------
    list of str, or `X` itself

    Examples
    --------
    >>> import numpy as np
    >>> from krein.items import plain_items
    >>> plain_items(np.array([["anna"], ["bea"]], dtype=object))
    ['anna', 'bea']
    """
    if isinstance(X, list | tuple | str | bytes) or not hasattr(X, "__len__"):
        return X
    if hasattr(X, "to_pylist"):
        items = X.to_pylist()
    elif _is_one_column(X):
        items = np.asarray(X)[:, 0].tolist()
    elif hasattr(X, "to_list") and len(getattr(X, "shape", ())) == 1:
        items = X.to_list()
    else:
        return X
    return items if any(isinstance(item, str) for item in items) else X


def _is_one_column(X: Any) -> bool:
    """A table, or an array that may hold text, with one column."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[1] != 1:
        return False
    return hasattr(X, "columns") or getattr(X, "dtype", np.dtype(float)).kind in "OUT"


def called(items: Any, names: Any = None) -> list[str]:
    """What people call items: their names, else short texts themselves, else numbers.

    Parameters
    ----------
    items : sequence
        The items.
    names : sequence of str, optional
        Their names.

    Returns
    -------
    list of str
    """
    if names is not None:
        return [str(name) for name in names]
    n = items.shape[0] if hasattr(items, "shape") else len(items)
    if isinstance(items, np.ndarray) and items.ndim == 1:
        items = items.tolist()
    if isinstance(items, list) and all(isinstance(item, str) for item in items):
        return [item if len(item) <= 40 else f"{item[:39]}…" for item in items]
    return [str(i) for i in range(n)]


def columns_of_rows(X: Any, names: Any = None) -> Any:
    """Columns of the training items in a frame that has more, found by name.

    ``train_test_split(K, y)`` cuts the rows of a frame and leaves all its columns: for
    a fit those that are named like the rows are meant, later those of `names`.

    Parameters
    ----------
    X : object
        Similarities as they were given.
    names : sequence of str, optional
        Names of the training items; those of the rows (pandas) when not given.

    Returns
    -------
    frame, or `X` itself where there is nothing to choose by
    """
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or not hasattr(X, "columns"):
        return X
    names = list(getattr(X, "index", ()) if names is None else names)
    columns = list(X.columns)
    if not 0 < len(names) < len(columns) or len(set(columns)) < len(columns):
        return X
    known = len(set(names)) == len(names) and set(names) <= set(columns)
    return X[names] if known and all(isinstance(n, str) for n in names) else X
