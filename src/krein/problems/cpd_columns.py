"""A positive semidefinite matrix by columns: whole, by features, or on demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from krein.arrays import Array

__all__ = ["Columns", "DenseColumns", "FeatureColumns", "LazyColumns"]

# Columns for which there is room from the start.
_ROOM = 3000


class Columns(Protocol):
    """A positive semidefinite matrix of which blocks and products are asked."""

    def block(self, rows: np.ndarray, columns: np.ndarray) -> Array:
        """K[rows, columns], a new array."""

    def product(self, s: np.ndarray, c: Array) -> Array:
        """K[:, s] @ c."""

    def restrict(self, rows: np.ndarray) -> Columns:
        """The matrix of some of the samples."""


@dataclass(frozen=True)
class DenseColumns:
    """The whole matrix in memory."""

    K: Array

    def block(self, rows: np.ndarray, columns: np.ndarray) -> Array:
        """K[rows, columns], a new array."""
        return _gather(self.K, rows, columns)

    def product(self, s: np.ndarray, c: Array) -> Array:
        """K[:, s] @ c; rows are gathered because K is symmetric."""
        if 4 * s.size < self.K.shape[0]:
            return c @ self.K[s]
        full = np.zeros(self.K.shape[0])
        full[s] = c
        return self.K @ full

    def restrict(self, rows: np.ndarray) -> Columns:
        """The matrix of some of the samples."""
        return _Restricted(self, rows)


@dataclass(frozen=True)
class FeatureColumns:
    """``K = F F'`` by its features."""

    F: Array

    def block(self, rows: np.ndarray, columns: np.ndarray) -> Array:
        """K[rows, columns], a new array."""
        return self.F[rows] @ self.F[columns].T

    def product(self, s: np.ndarray, c: Array) -> Array:
        """K[:, s] @ c."""
        return self.F @ (c @ self.F[s])

    def restrict(self, rows: np.ndarray) -> Columns:
        """The matrix of some of the samples."""
        return FeatureColumns(self.F[rows])


class LazyColumns:
    """Columns computed when first asked for, and kept.

    Parameters
    ----------
    n : int
        Number of samples.
    evaluate : callable
        ``evaluate(columns)``: these columns of K as rows, of shape (len(columns), n).
    """

    def __init__(self, n: int, evaluate: Callable[[np.ndarray], Array]) -> None:
        self.n = n
        self.evaluate = evaluate
        self.place = np.full(n, -1)
        self.used = 0
        # Memory that is not written to is not taken, so room costs nothing.
        self.store = np.empty((min(n, max(_ROOM, n // 4)), n))

    def require(self, columns: np.ndarray) -> np.ndarray:
        """Compute what is missing; return where the columns are kept."""
        missing = columns[self.place[columns] < 0]
        if missing.size:
            end = self.used + missing.size
            if end > self.store.shape[0]:
                grown = np.empty(
                    (min(self.n, max(end, 2 * self.store.shape[0])), self.n)
                )
                grown[: self.used] = self.store[: self.used]
                self.store = grown
            self.store[self.used : end] = self.evaluate(missing)
            self.place[missing] = np.arange(self.used, end)
            self.used = end
        return self.place[columns]

    def block(self, rows: np.ndarray, columns: np.ndarray) -> Array:
        """K[rows, columns], a new array."""
        place = self.require(columns)
        return _gather(self.store, place, rows).T

    def product(self, s: np.ndarray, c: Array) -> Array:
        """K[:, s] @ c."""
        place = self.require(s)
        if 4 * s.size < self.used:
            return c @ self.store[place]
        full = np.zeros(self.used)
        full[place] = c
        return full @ self.store[: self.used]

    def restrict(self, rows: np.ndarray) -> Columns:
        """The matrix of some of the samples."""
        return _Restricted(self, rows)


def _gather(K: Array, rows: np.ndarray, columns: np.ndarray) -> Array:
    """K[rows, columns]; large blocks row by row, faster than numpy's open mesh."""
    if rows.size < 200:
        return K[np.ix_(rows, columns)]
    out = np.empty((rows.size, columns.size))
    for i, row in enumerate(rows):
        K[row].take(columns, out=out[i], mode="clip")
    return out


@dataclass(frozen=True)
class _Restricted:
    """Rows and columns of another matrix, not copied."""

    parent: Columns
    rows: np.ndarray

    def block(self, rows: np.ndarray, columns: np.ndarray) -> Array:
        return self.parent.block(self.rows[rows], self.rows[columns])

    def product(self, s: np.ndarray, c: Array) -> Array:
        return self.parent.block(self.rows, self.rows[s]) @ c

    def restrict(self, rows: np.ndarray) -> Columns:
        return _Restricted(self.parent, self.rows[rows])
