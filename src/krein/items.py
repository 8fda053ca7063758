"""Collections of items of any kind: rows of them, their names, text in columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from krein.sklearn_internals import safe_indexing


def take(items: Any, rows: Any) -> Any:
    """Items at the given positions (indices or a slice), whatever holds them.

    Arrays, frames and columns of NumPy, pandas, polars and Arrow stay what they are;
    of dask's collections and `LazyRows` the rows are computed; others become lists.
    """
    if isinstance(items, np.ndarray | LazyRows):
        return items[rows]
    if hasattr(items, "to_pylist"):  # Arrow
        return items.take(np.arange(len(items))[rows])
    taken = safe_indexing(items, rows)
    if isinstance(taken, tuple):
        return list(taken)
    return taken.compute() if hasattr(taken, "compute") else taken


class LazyRows:
    """Rows of a dask array or frame, of which only those asked for are computed.

    Parameters
    ----------
    X : dask array of shape (n, n_features), or dask frame
        Numbers; sizes of parts that are not known are found out.
    compute : callable, optional
        ``compute(lazy) -> list`` of the values of lazy objects; by dask as it is set up
        when not given.

    Attributes
    ----------
    shape : tuple of int
        (n, n_features).
    """

    def __init__(
        self, X: Any, compute: Callable[[list[Any]], list[Any]] | None = None
    ) -> None:
        self.compute = _by_dask if compute is None else compute
        if hasattr(X, "to_dask_array"):
            X = X.to_dask_array(lengths=True)
        if np.isnan(X.shape[0]):
            X = X.compute_chunk_sizes()
        if X.ndim != 2:
            raise ValueError(f"X is a dask array of shape {X.shape}, not 2-dimensional")
        numbers = X.astype(np.float64)
        self.rows = numbers.map_blocks(_finite, dtype=np.float64, meta=np.empty((0, 0)))
        self.shape: tuple[int, int] = X.shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> np.ndarray:
        """Compute the rows at a slice or at positions, in any order."""
        if isinstance(rows, slice):
            return self.compute([self.rows[rows]])[0]
        places, back = np.unique(rows, return_inverse=True)
        return self.compute([self.rows[places]])[0][back]

    def __array__(self, *given: Any, **options: Any) -> np.ndarray:
        """Refuse: nothing here may bring all rows into the memory of one process."""
        raise TypeError(
            "this needs all rows of a dask array in memory, e.g. for a parameter that "
            "is settled on the items: give such parameters as numbers, or pass "
            "X.compute()"
        )

    def parts(self, size: int) -> list[Any]:
        """Return the rows as delayed arrays of `size` rows each."""
        return list(self.rows.rechunk((size, -1)).to_delayed().ravel())

    def each(self, function: Callable[[np.ndarray], Any], size: int) -> list[Any]:
        """Return what a function makes of each `size` rows, computed where they are."""
        import dask

        return self.compute(
            list(map(dask.delayed(function, pure=True), self.parts(size)))
        )


def _by_dask(lazy: list[Any]) -> list[Any]:
    import dask

    return list(dask.compute(*lazy))


def _finite(rows: np.ndarray, block_info: Any = None) -> np.ndarray:
    """Refuse NaN and infinity, named by the place in the whole array."""
    bad = np.argwhere(~np.isfinite(rows))
    if bad.size and block_info:
        starts = [start for start, _ in block_info[0]["array-location"]]
        row, column = bad[0]
        raise ValueError(
            f"X[{row + starts[0]}, {column + starts[1]}] is {rows[row, column]}: X "
            "contains NaN or infinity. Leave such rows out, or fill them in"
        )
    return rows


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
