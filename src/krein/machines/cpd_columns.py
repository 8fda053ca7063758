"""A positive semidefinite matrix by columns: whole, by features, or on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from krein.arrays import Array

# Phi(rows, columns) -> block of the kernel matrix.
Blocks = Callable[[np.ndarray, np.ndarray], Array]

# The matrix of so few samples among others is computed whole.
_FEW = 2000
# Rows that stay in the cache during a product.
_PANEL = 128


class Columns(Protocol):
    """A positive semidefinite matrix of which blocks and products are asked."""

    def block(self, rows: np.ndarray, columns: np.ndarray) -> Array:
        """K[rows, columns], a new array."""

    def product(self, s: np.ndarray, c: Array) -> Array:
        """K[:, s] @ c."""

    def restrict(self, rows: np.ndarray) -> Columns:
        """The matrix of some of the samples."""


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
        ``evaluate(rows, columns)``: a block of K.
    """

    def __init__(self, n: int, evaluate: Blocks) -> None:
        self.n = n
        self.evaluate = evaluate
        self.place = np.full(n, -1)
        self.panels: list[Array] = []  # columns as rows, as they were computed
        self.kept: list[Array] = []  # the same one by one

    def require(self, columns: np.ndarray) -> np.ndarray:
        """Compute what is missing; return the places of the columns."""
        missing = np.sort(columns[self.place[columns] < 0])
        if missing.size:
            self._keep(missing, self.evaluate(missing, np.arange(self.n)))
        return self.place[columns]

    def _keep(self, samples: np.ndarray, columns: Array) -> None:
        self.place[samples] = np.arange(samples.size) + len(self.kept)
        self.panels.extend(
            columns[i : i + _PANEL] for i in range(0, samples.size, _PANEL)
        )
        self.kept.extend(columns)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> Array:
        """K[rows, columns], a new array."""
        kept = [self.kept[i] for i in self.require(columns)]
        return _gather(kept, rows).T

    def product(self, s: np.ndarray, c: Array) -> Array:
        """K[:, s] @ c."""
        place = self.require(s)
        full = np.zeros(len(self.kept))
        full[place] = c
        out = np.zeros(self.n)
        start = 0
        for panel in self.panels:
            part = full[start : start + len(panel)]
            start += len(panel)
            used = np.flatnonzero(part)
            few = 2 * used.size < part.size
            out += part[used] @ panel[used] if few else part @ panel
        return out

    def restrict(self, rows: np.ndarray) -> Columns:
        """The matrix of some of the samples; of few, computed at once."""
        if rows.size <= _FEW:
            return DenseColumns(self.evaluate(rows, rows))
        return LazyColumns(rows.size, lambda r, c: self.evaluate(rows[r], rows[c]))


class DenseColumns(LazyColumns):
    """The whole matrix in memory."""

    def __init__(self, K: Array) -> None:
        super().__init__(len(K), lambda rows, columns: K[np.ix_(rows, columns)])
        self._keep(np.arange(len(K)), K)


def _gather(rows: Sequence[Array], columns: np.ndarray) -> Array:
    """Columns of some rows, one by one: faster than numpy's open mesh."""
    out = np.empty((len(rows), columns.size))
    for row, to in zip(rows, out, strict=True):
        row.take(columns, out=to, mode="clip")
    return out


@dataclass(frozen=True)
class CentredColumns:
    """``K = Phi - Q V' - V Q'`` by the columns of Phi, which stay as they are."""

    phi: Columns
    Q: Array
    V: Array

    def block(self, rows: np.ndarray, columns: np.ndarray) -> Array:
        """K[rows, columns], a new array."""
        block = self.phi.block(rows, columns)
        block -= self.Q[rows] @ self.V[columns].T
        block -= self.V[rows] @ self.Q[columns].T
        return block

    def product(self, s: np.ndarray, c: Array) -> Array:
        """K[:, s] @ c."""
        image = self.phi.product(s, c)
        image -= self.Q @ (c @ self.V[s])
        image -= self.V @ (c @ self.Q[s])
        return image

    def restrict(self, rows: np.ndarray) -> Columns:
        """The matrix of some of the samples."""
        return CentredColumns(self.phi.restrict(rows), self.Q[rows], self.V[rows])
