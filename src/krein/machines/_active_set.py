"""A convex quadratic model over a box with one equality row, by active sets."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dger
from scipy.linalg.lapack import dpotrf, dpotrs

from krein.arrays import Array

_JUMPS, _CLIMBS = 12, 100
_ROWS = 256  # of H that are copied at once


class QuadraticModel:
    """Maximise ``g'h - h'Hh / 2`` over 0 <= x + h <= upper, y'h = 0.

    H is positive semidefinite up to rounding; a ridge makes it definite. The last
    Cholesky factor is kept: a step with an unchanged active set costs O(m^2).

    Parameters
    ----------
    H : ndarray of shape (m, m)
        Curvature, owned (and changed) by the model.
    y : ndarray of shape (m,)
        Labels, the equality row.
    upper : ndarray of shape (m,)
        Upper bounds; lower bounds are 0.
    """

    def __init__(self, H: Array, y: Array, upper: Array) -> None:
        self.H = np.ascontiguousarray(H)  # BLAS updates it in place
        self.y, self.upper = y, upper
        self.mean = float(np.abs(np.diagonal(H)).mean()) if y.size else 0.0
        self.ridge = 0.0
        self.n_factorizations = 0
        self._free: np.ndarray | None = None
        self._factor: Array = H[:0, :0]
        self._border: Array = y[:0]
        self._memory = np.empty(H.size)

    def set_ridge(self, ridge: float) -> None:
        """Replace the number added to the diagonal of H."""
        if ridge != self.ridge:
            self.H[np.diag_indices_from(self.H)] += ridge - self.ridge
            self.ridge = ridge
            self._free = None

    def update(self, h: Array, change: Array) -> None:
        """Make H satisfy ``H h = change`` (BFGS), change = minus the gradient's.

        The curvature is then right along the step just taken, so that it need not be
        computed anew for the next one.
        """
        Hh = self.H @ h
        inner, bend = float(h @ Hh), float(h @ change)
        if inner <= 0.0 or bend <= 1e-3 * inner:
            return
        # H.T is H in the order of BLAS: updated in place.
        dger(1.0 / bend, change, change, a=self.H.T, overwrite_a=1)
        dger(-1.0 / inner, Hh, Hh, a=self.H.T, overwrite_a=1)
        self._free = None

    def maximise(self, x: Array, g: Array) -> Array:
        """Step h that maximises the model from x, or at least improves it.

        Parameters
        ----------
        x : ndarray of shape (m,)
            Current point, in the box.
        g : ndarray of shape (m,)
            Gradient of the objective there, less the multiplier of the equality row
            times y: the first active set is read off its signs.

        Notes
        -----
        The primal-dual method of Hintermueller, Ito and Kunisch (2002) changes all sets
        at once and ends after a few of them as a rule. Where it does not (curvatures
        that differ by many orders), a feasible active-set method climbs one bound at a
        time.
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
        slope = g - self.H @ new if new.any() else g
        if self._free is None or not np.array_equal(free, self._free):
            self._factorize(free)
        solution = dpotrs(self._factor, slope[free], lower=1)[0]
        excess = float(y[free] @ solution) + float(y @ new)
        along = float(y[free] @ self._border)
        mu = excess / along if along > 0.0 else 0.0
        new[free] = solution - mu * self._border
        return new, g - self.H @ new - mu * y

    def _factorize(self, free: np.ndarray) -> None:
        index = np.flatnonzero(free)
        while True:
            part = self._part(index)
            factor, info = dpotrf(part.T, lower=1, clean=0, overwrite_a=1)
            self.n_factorizations += 1
            if info == 0:
                break
            self.set_ridge(max(10.0 * self.ridge, 1e-12 * self.mean, 1e-300))
        self._free, self._factor = free, factor
        self._border = dpotrs(factor, self.y[free], lower=1)[0]

    def _part(self, index: np.ndarray) -> Array:
        """Rows and columns of H, in the memory of those asked for before.

        Fresh pages of a large array cost as much as filling it.
        """
        k = index.size
        part = self._memory[: k * k].reshape(k, k)
        for i in range(0, k, _ROWS):
            rows = self.H[index[i : i + _ROWS]]
            rows.take(index, axis=1, out=part[i : i + _ROWS], mode="clip")
        return part
