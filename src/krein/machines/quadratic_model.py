"""Convex quadratic models over a box with one equality row, by active sets.

`QuadraticModel` holds its matrix, `KernelModel` reads that of a machine; the matrix of
`krein.machines.low_rank_model` has a low rank besides its diagonal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dger
from scipy.linalg.lapack import dpotrf, dpotrs

from krein.arrays import Array

_JUMPS = 12  # rounds in which all wrong variables change sides at once
_CLIMBS = 100  # rounds in which one more blocks the way
_ROWS = 256  # of H that are copied at once
_FEW = 1 / 16  # share of a factor's variables that may change before there is another


class ActiveSets(ABC):
    """Maximise ``g'h - h'Hh / 2`` over 0 <= x + h <= upper, y'h = 0.

    H is positive semidefinite up to rounding; a ridge makes it definite.

    Attributes
    ----------
    y, upper : ndarray of shape (m,)
        Signs and upper bounds.
    mean : float
        Mean of the diagonal of H.
    ridge : float
        Number that was added to the diagonal.
    """

    def __init__(self, diagonal: Array, y: Array, upper: Array) -> None:
        self.y = y
        self.upper = upper
        self.mean = float(np.abs(diagonal).mean()) if y.size else 0.0
        self.ridge = 0.0
        self._free: np.ndarray | None = None  # what `_prepare` was called with
        self._border: Array = y

    @abstractmethod
    def set_ridge(self, ridge: float) -> None:
        """Replace the number added to the diagonal of H."""

    @abstractmethod
    def product(self, h: Array) -> Array:
        """Return H h."""

    @abstractmethod
    def _prepare(self, free: np.ndarray) -> None:
        """Make solving with H on these variables cheap, raising the ridge if needed."""

    @abstractmethod
    def _solve(self, b: Array) -> Array:
        """Solve with H on the variables prepared; zero for the others."""

    @abstractmethod
    def _add_outer(self, plus: Array, minus: Array) -> None:
        """Add ``plus plus' - minus minus'`` to H."""

    def update(self, h: Array, change: Array) -> None:
        """Make H satisfy ``H h = change`` (BFGS), change = minus the gradient's.

        The curvature is then right along the step just taken, so that it need not be
        computed anew for the next one.
        """
        Hh = self.product(h)
        inner = float(h @ Hh)
        bend = float(h @ change)
        if inner <= 0.0 or bend <= 1e-3 * inner:
            return
        self._add_outer(change / np.sqrt(bend), Hh / np.sqrt(inner))
        self._free = None

    def maximise(self, x: Array, g: Array) -> Array:
        """Step h that maximises the model from x, or at least improves it.

        The gradient g of the objective at x is less the multiplier of the equality row
        times y: the first active set is read off its signs. The primal-dual method of
        Hintermueller, Ito and Kunisch (2002) changes all sets at once and ends after a
        few of them as a rule. Where it does not (curvatures that differ by many
        orders), a feasible active-set method climbs one bound at a time.
        """
        slack = 1e-9 * np.minimum(self.upper, float(x.max(initial=0.0)))
        low = (x <= slack) & (g <= 0.0)
        high = (x >= self.upper - slack) & (g >= 0.0)
        h = self._jump(x, g, low, high)
        return self._climb(x, g, low, high) if h is None else h

    def _jump(
        self, x: Array, g: Array, low: np.ndarray, high: np.ndarray
    ) -> Array | None:
        """Primal-dual active sets; None if they do not settle."""
        h = np.zeros_like(x)
        for _ in range(_JUMPS):
            free = ~(low | high)
            h[low], h[high] = -x[low], self.upper[high] - x[high]
            if not free.any():
                return None
            h, residual = self._solve_free(h, g, free)
            new_low = np.where(free, x + h < 0.0, low & (residual <= 0.0))
            new_high = np.where(free, x + h > self.upper, high & (residual >= 0.0))
            if np.array_equal(new_low, low) and np.array_equal(new_high, high):
                return h
            low, high = new_low, new_high
        return None

    def _climb(self, x: Array, g: Array, low: np.ndarray, high: np.ndarray) -> Array:
        """Feasible active sets: the model rises with every set, the box is kept."""
        h = np.zeros_like(x)
        low, high = low.copy(), high.copy()
        for _ in range(_CLIMBS):
            free = ~(low | high)
            if not free.any():
                break
            goal, residual = self._solve_free(h, g, free)
            p = goal - h
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(p < 0.0, -(x + h) / p, (self.upper - x - h) / p)
            room[(p == 0.0) | ~free] = np.inf
            first = float(room.min())
            if first < 1.0:
                h = h + max(first, 0.0) * p
                stop = room <= first * (1.0 + 1e-12)
                low |= stop & (p < 0.0)
                high |= stop & (p > 0.0)
                continue
            h = goal
            wrong = (low & (residual > 0.0)) | (high & (residual < 0.0))
            if not wrong.any():
                break
            low &= ~wrong
            high &= ~wrong
        return h

    def _solve_free(self, h: Array, g: Array, free: np.ndarray) -> tuple[Array, Array]:
        """Best step on the free variables with the others as in h; reduced gradient.

        ``H_FF h_F + mu y_F = (g - H h_fixed)_F`` and ``y'h = 0``, by bordering.
        """
        y = self.y
        new = np.where(free, 0.0, h)
        slope = g - self.product(new) if new.any() else g
        if self._free is None or not np.array_equal(free, self._free):
            self._prepare(free)
            self._free = free
            self._border = self._solve(y)
        solution = self._solve(slope)
        excess = float(y @ solution) + float(y @ new)
        along = float(y @ self._border)
        mu = excess / along if along > 0.0 else 0.0
        new += solution - mu * self._border
        return new, g - self.product(new) - mu * y


class FactoredModel(ActiveSets):
    """A model of which blocks of H are copied and factored.

    The last factor is kept: with an unchanged set a step costs O(m^2), and a set that
    differs by few variables a border of their number.
    """

    def __init__(self, diagonal: Array, y: Array, upper: Array) -> None:
        super().__init__(diagonal, y, upper)
        self._index: np.ndarray | None = None  # of what `_factor` is of
        self._factor: Array = np.empty((0, 0))
        self._change: _Change | None = None
        self._memory = np.empty(y.size**2)  # fresh pages cost as much as a copy

    @abstractmethod
    def _entries(
        self, rows: np.ndarray, columns: np.ndarray, out: Array | None = None
    ) -> Array:
        """Entries of H, but for what `_apart` adds to its diagonal."""

    @property
    def _apart(self) -> float:
        """What is on the diagonal of H beside its entries."""
        return 0.0

    def _prepare(self, free: np.ndarray) -> None:
        self._change = self._changed(free)
        if self._change is None:
            self._factorize(free)

    def _solve(self, b: Array) -> Array:
        assert self._index is not None
        x = np.zeros_like(b)
        part: Array = dpotrs(self._factor, b[self._index], lower=1)[0]
        if self._change is not None:
            part -= self._change.solve(part, b, x)
        x[self._index] = part
        if self._change is not None:
            x[self._change.gone] = 0.0
        return x

    def _changed(self, free: np.ndarray) -> _Change | None:
        """Border of the factor for another set; None where a new factor is better."""
        if self._index is None:
            return None
        was = np.zeros_like(free)
        was[self._index] = True
        gone, added = np.flatnonzero(was & ~free), np.flatnonzero(free & ~was)
        if gone.size + added.size > _FEW * self._index.size:
            return None
        columns = np.zeros((self._index.size, added.size + gone.size))
        columns[:, : added.size] = self._entries(self._index, added)
        places = np.searchsorted(self._index, gone)
        columns[places, added.size + np.arange(gone.size)] = 1.0
        solved = dpotrs(self._factor, columns, lower=1)[0]
        inner = -(columns.T @ solved)
        inner[: added.size, : added.size] += self._entries(added, added)
        inner[range(added.size), range(added.size)] += self._apart
        # Definite on the variables that came, as H is, and negative on the others.
        signs = np.linalg.eigvalsh(inner) > 0.0
        if np.count_nonzero(signs) != added.size:
            return None
        return _Change(gone, added, columns, solved, inner)

    def _factorize(self, free: np.ndarray) -> None:
        index = np.flatnonzero(free)
        k = index.size
        part = self._memory[: k * k].reshape(k, k)
        while True:
            for i in range(0, k, _ROWS):
                some = slice(i, i + _ROWS)
                self._entries(index[some], index, out=part[some])
            part[np.diag_indices(k)] += self._apart
            factor, info = dpotrf(part.T, lower=1, clean=0, overwrite_a=1)
            if info == 0:
                break
            self.set_ridge(max(10.0 * self.ridge, 1e-12 * self.mean, 1e-300))
        self._index = index
        self._factor = factor


class QuadraticModel(FactoredModel):
    """A model that owns and changes its matrix H."""

    def __init__(self, H: Array, y: Array, upper: Array) -> None:
        diagonal = np.diagonal(H)
        super().__init__(diagonal if diagonal.any() else H, y, upper)
        self.H = np.ascontiguousarray(H)  # BLAS updates it in place

    def set_ridge(self, ridge: float) -> None:
        """Replace the number added to the diagonal of H."""
        if ridge != self.ridge:
            self.H[np.diag_indices_from(self.H)] += ridge - self.ridge
            self.ridge = ridge
            self._free = self._index = None

    def _add_outer(self, plus: Array, minus: Array) -> None:
        # H.T is H in the order of BLAS: updated in place.
        dger(1.0, plus, plus, a=self.H.T, overwrite_a=1)
        dger(-1.0, minus, minus, a=self.H.T, overwrite_a=1)
        self._index = None

    def product(self, h: Array) -> Array:
        """Return H h."""
        return self.H @ h

    def _entries(
        self, rows: np.ndarray, columns: np.ndarray, out: Array | None = None
    ) -> Array:
        return self.H[rows].take(columns, axis=1, out=out, mode="clip")


class KernelModel(FactoredModel):
    """A model whose matrix is that of a machine: its kernel, with signs.

    H is ``y_i y_j K_ij`` for the items of its variables. No part of K but the factor is
    copied, which is what counts where most items of a large kernel are free.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The kernel.
    items : ndarray of int of shape (m,)
        Items of the variables; both variables of an item may be among them.
    y, upper : ndarray of shape (m,)
        Signs and upper bounds.
    """

    def __init__(self, K: Array, items: np.ndarray, y: Array, upper: Array) -> None:
        super().__init__(np.diagonal(K)[items], y, upper)
        self.K = K
        self.items = items

    def set_ridge(self, ridge: float) -> None:
        """Replace the number added to the diagonal of H."""
        if ridge != self.ridge:
            self.ridge = ridge
            self._free = self._index = None

    @property
    def _apart(self) -> float:
        return self.ridge

    def _add_outer(self, plus: Array, minus: Array) -> None:
        raise NotImplementedError("the kernel of a machine stays as it is")

    def product(self, h: Array) -> Array:
        """Return H h."""
        n = self.K.shape[0]
        v = np.bincount(self.items, weights=self.y * h, minlength=n)
        return self.y * (self.K @ v)[self.items] + self.ridge * h

    def _entries(
        self, rows: np.ndarray, columns: np.ndarray, out: Array | None = None
    ) -> Array:
        block = self.K[self.items[rows]]
        block = block.take(self.items[columns], axis=1, out=out, mode="clip")
        block *= self.y[columns]
        block *= self.y[rows, None]
        return block


class _Change(NamedTuple):
    """Border of a factor of ``H_11``, for variables that are gone from it or new.

    Attributes
    ----------
    gone, added : ndarray of int
        Positions in the model.
    columns : ndarray of shape (m, k)
        W: the columns of H at those that are new, and those of the identity at those
        that are gone, whose multipliers keep them at zero.
    solved : ndarray of shape (m, k)
        ``H_11^-1 W``.
    inner : ndarray of shape (k, k)
        The Schur complement.
    """

    gone: np.ndarray
    added: np.ndarray
    columns: Array
    solved: Array
    inner: Array

    def solve(self, part: Array, b: Array, x: Array) -> Array:
        """Put the new variables into x; return what they take off the others."""
        right = -(self.columns.T @ part)
        right[: self.added.size] += b[self.added]
        found = np.linalg.solve(self.inner, right)
        x[self.added] = found[: self.added.size]
        return self.solved @ found
