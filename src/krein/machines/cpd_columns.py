"""A positive semidefinite matrix by columns: whole, by features, or on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from krein.arrays import Array

# Phi(rows, columns) -> block of the kernel matrix.
Blocks = Callable[[np.ndarray, np.ndarray], Array]

# The triangle is made anew where products need this share of its samples.
_SHRUNK = 0.8
# The matrix of so few samples among others is computed whole.
_FEW = 2000
# Rows that stay in the cache during a product.
_PANEL = 128
_CACHED = 16  # columns that stay in the cache until they are summed


class Columns(Protocol):
    """A positive semidefinite matrix of which blocks and products are asked.

    Attributes
    ----------
    definite : bool
        Known to be positive semidefinite, not only to be found so by a factor.
    """

    @property
    def definite(self) -> bool:
        """Known to be positive semidefinite."""

    def block(self, rows: np.ndarray, columns: np.ndarray) -> Array:
        """K[rows, columns], a new array."""

    def product(self, s: np.ndarray, c: Array) -> Array:
        """K[:, s] @ c."""

    def within(self, s: np.ndarray, c: Array) -> Array:
        """K[s, s] @ c."""

    def restrict(self, rows: np.ndarray) -> Columns:
        """The matrix of some of the samples."""


@dataclass(frozen=True)
class FeatureColumns:
    """``K = F F'`` by its features."""

    F: Array
    definite = True

    def block(self, rows: np.ndarray, columns: np.ndarray) -> Array:
        """K[rows, columns], a new array."""
        return self.F[rows] @ self.F[columns].T

    def product(self, s: np.ndarray, c: Array) -> Array:
        """K[:, s] @ c."""
        return self.F @ (c @ self.F[s])

    def within(self, s: np.ndarray, c: Array) -> Array:
        """K[s, s] @ c."""
        F = self.F[s]
        return F @ (c @ F)

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

    definite = False

    def __init__(self, n: int, evaluate: Blocks) -> None:
        self.n = n
        self.evaluate = evaluate
        self.place = np.full(n, -1)
        self.panels: list[Array] = []  # columns as rows, as they were computed
        self.kept: list[Array] = []  # the same one by one
        self.triangle = _Triangle(n)

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

    def sizes(self, s: np.ndarray, c: Array) -> Array:
        """Sizes of the terms that `product` sums up."""
        place, weight = self.require(s), np.abs(c)
        out, some = np.zeros(self.n), np.empty((_CACHED, self.n))
        for i in range(0, place.size, _CACHED):
            part = place[i : i + _CACHED]
            for k, column in enumerate(part):
                np.abs(self.kept[column], out=some[k])
            out += weight[i : i + _CACHED] @ some[: part.size]
        return out

    def within(self, s: np.ndarray, c: Array) -> Array:
        """K[s, s] @ c."""
        self.require(s)
        if s.size < _SHRUNK * self.triangle.samples.size:
            self.triangle = _Triangle(self.n)
        self.triangle.extend(s, self.block)
        return self.triangle.product(s, c)

    def restrict(self, rows: np.ndarray) -> Columns:
        """The matrix of some of the samples; of few, computed at once."""
        if rows.size <= _FEW:
            return DenseColumns(self.evaluate(rows, rows), self.definite)
        return _Restricted(self, rows)


class DenseColumns(LazyColumns):
    """The whole matrix in memory."""

    def __init__(self, K: Array, definite: bool = False) -> None:
        super().__init__(len(K), lambda rows, columns: K[np.ix_(rows, columns)])
        self.definite = definite
        self._keep(np.arange(len(K)), K)


class _Triangle:
    """The lower triangle of K for samples that become more, in panels of rows.

    A panel stays in the cache, so that a product reads half of the matrix once.
    """

    def __init__(self, n: int) -> None:
        self.place = np.full(n, -1)
        self.samples = np.empty(0, dtype=int)
        self.panels: list[Array] = []

    def extend(self, s: np.ndarray, block: Blocks) -> None:
        """Take in what is missing of the samples s."""
        missing = s[self.place[s] < 0]
        for i in range(0, missing.size, _PANEL):
            some = missing[i : i + _PANEL]
            end = self.samples.size + some.size
            self.place[some] = np.arange(self.samples.size, end)
            self.samples = np.concatenate([self.samples, some])
            self.panels.append(block(self.samples, some).T)

    def product(self, s: np.ndarray, c: Array) -> Array:
        """K[s, s] @ c."""
        full, out = np.zeros((2, self.samples.size))
        full[self.place[s]] = c
        for panel in self.panels:
            end = panel.shape[1]
            start = end - panel.shape[0]
            out[start:end] += panel @ full[:end]
            out[:start] += full[start:end] @ panel[:, :start]
        return out[self.place[s]]


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
    definite: bool

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

    def within(self, s: np.ndarray, c: Array) -> Array:
        """K[s, s] @ c."""
        Q, V = self.Q[s], self.V[s]
        return self.phi.within(s, c) - Q @ (c @ V) - V @ (c @ Q)

    def restrict(self, rows: np.ndarray) -> Columns:
        """The matrix of some of the samples."""
        return CentredColumns(
            self.phi.restrict(rows), self.Q[rows], self.V[rows], self.definite
        )


@dataclass(frozen=True)
class _Restricted:
    """Rows and columns of another matrix, not copied."""

    parent: Columns
    rows: np.ndarray

    def block(self, rows: np.ndarray, columns: np.ndarray) -> Array:
        return self.parent.block(self.rows[rows], self.rows[columns])

    @property
    def definite(self) -> bool:
        return self.parent.definite

    def product(self, s: np.ndarray, c: Array) -> Array:
        return self.parent.product(self.rows[s], c)[self.rows]

    def within(self, s: np.ndarray, c: Array) -> Array:
        return self.parent.within(self.rows[s], c)

    def restrict(self, rows: np.ndarray) -> Columns:
        return self.parent.restrict(self.rows[rows])
