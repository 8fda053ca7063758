"""Items of any kind: counting, comparing, and filling a matrix of pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

__all__ = ["check_items", "fill_pairs", "normalize_scores", "same_items"]


def check_items(X: Any, name: str = "X") -> int:
    """Return the number of items; a single string or nothing at all is refused."""
    if isinstance(X, str | bytes):
        raise TypeError(
            f"{name} must be a list of items, got one {type(X).__name__}; pass [{name}]"
        )
    n = int(_num_samples(X))
    if n < 1:
        raise ValueError(f"{name} has no items; at least one is required")
    return n


def same_items(X: Any, Y: Any) -> bool:
    """Whether Y is missing, is X, or holds equal items in the same order.

    A kernel then evaluates half of the pairs, and ``K(X) == K(X, X)`` holds to the
    last bit although rounding may differ between d(x, y) and d(y, x).
    """
    if Y is None or Y is X:
        return True
    if isinstance(X, np.ndarray) and isinstance(Y, np.ndarray):
        return X.shape == Y.shape and bool(np.array_equal(X, Y))
    if type(X) is not type(Y) or not isinstance(X, list | tuple) or len(X) != len(Y):
        return False
    return all(_same_item(x, y) for x, y in zip(X, Y, strict=True))


def _same_item(x: Any, y: Any) -> bool:
    if x is y:
        return True
    if type(x) is not type(y):
        return False
    if isinstance(x, np.ndarray):
        return x.shape == y.shape and bool(np.array_equal(x, y))
    if isinstance(x, list | tuple):
        return len(x) == len(y) and all(
            _same_item(a, b) for a, b in zip(x, y, strict=True)
        )
    return isinstance(x, str | bytes | int | float) and x == y


def fill_pairs(
    n_rows: int,
    n_columns: int,
    row: Callable[[int, int], np.ndarray | Sequence[float]],
    *,
    symmetric: bool,
) -> np.ndarray:
    """Fill a matrix of pairs row by row.

    Parameters
    ----------
    n_rows, n_columns : int
        Shape of the matrix.
    row : callable
        ``row(i, start)`` returns the entries of row i from column `start` on.
    symmetric : bool
        Ask for the upper half only and mirror it.

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
    """
    out = np.empty((n_rows, n_columns))
    for i in range(n_rows):
        start = i if symmetric else 0
        out[i, start:] = row(i, start)
        if symmetric:
            out[i + 1 :, i] = out[i, i + 1 :]
    return out


def normalize_scores(
    scores: np.ndarray, self_rows: np.ndarray, self_columns: np.ndarray
) -> np.ndarray:
    """Return s(a, b) / sqrt(s(a, a) s(b, b)); self scores must be positive."""
    for values in (self_rows, self_columns):
        if np.any(values <= 0):
            worst = int(np.argmin(values))
            raise ValueError(
                f"normalize=True needs positive self scores, item {worst} has "
                f"s(a, a) = {values[worst]:g}: leave such items out or use "
                "normalize=False"
            )
    # A product of roots, not the root of a product: it cannot overflow.
    return scores / np.sqrt(self_rows)[:, None] / np.sqrt(self_columns)[None, :]
