"""Support vector machines of several rows of labels on one kernel, by one inverse.

The row with labels y maximises ``sum(a) - v'Kv / 2`` over 0 <= a <= upper, y'a = 0,
with v = y * a. Where few items are on a bound, all rows are small corrections of one
system (Hintermueller, Ito and Kunisch, 2002, for the active sets):

    K v + b 1 - E s = y,    1'v = 0,    v_B given,

B the items on a bound, v_B = 0 or y_i upper_i, and s, on B alone, the outputs less the
labels there. With G = K^-1 and g = G 1 the first line is v = G (y - b 1 + E s), and the
rows B of it are a system of the size of B:

    G_BB s = v_B - (G y)_B + b g_B.

An item stays on its bound while its reduced gradient ``1 - y_i (f_i + b) = -y_i s_i``
holds it there. A row costs O(n |B| + |B|^3) a step, an inverse n^3 operations once:
with forty classes a small part of what forty factors cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from krein.arrays import Array

MOST_BOUNDED = 0.2  # share of items on a bound; with more, LIBSVM is as fast
_STEPS = 12  # changes of the sets, which settle after a few or not at all
_REFINEMENTS = 2
_SINGULAR = 1e-12  # a pivot below this share of the largest belongs to a singular K


@dataclass(frozen=True)
class Sets:
    """Which items of a row are on a bound.

    Attributes
    ----------
    at : ndarray of int
        Their positions, B.
    v : ndarray
        Their coefficients v_B.
    """

    at: np.ndarray
    v: Array


class SharedInverse:
    """The inverse of a kernel, for all rows.

    Parameters
    ----------
    inverse : ndarray of shape (n, n)
        G.
    """

    def __init__(self, inverse: Array) -> None:
        self.inverse = inverse
        self.ones = inverse.sum(axis=1)
        self.total = float(self.ones.sum())

    @classmethod
    def of(cls, K: Array) -> SharedInverse | None:
        """Invert a kernel; None where it is singular."""
        factor, failed = dpotrf(K.T, lower=1, clean=0)
        pivots = factor.diagonal()
        if failed or pivots.min() ** 2 <= _SINGULAR * pivots.max() ** 2:
            return None
        inverse, failed = dpotri(factor, lower=1, overwrite_c=1)
        if failed:
            return None
        upper = np.triu_indices(len(K), 1)
        inverse[upper] = inverse.T[upper]
        return cls(inverse)

    def solve(
        self, free: Array, sets: Sets, total: float
    ) -> tuple[Array, Array, float]:
        """Solve for v, s and b.

        Parameters
        ----------
        free : ndarray of shape (n,)
            G times the right-hand side: v if no item were on a bound and b were 0.
        sets : Sets
            Items on a bound.
        total : float
            What the coefficients sum to.
        """
        B = sets.at
        g = self.ones[sets.at]
        factor, _ = dpotrf(self.inverse[np.ix_(B, B)].T, lower=1, overwrite_a=1)
        right = np.column_stack([sets.v - free[B], g])
        p, q = dpotrs(factor, right, lower=1)[0].T if B.size else right.T
        missing = float(free.sum()) + float(g @ p) - total
        b = missing / (self.total - float(g @ q))
        s = p + b * q
        v = free - b * self.ones + s @ self.inverse[B]
        v[B] = sets.v
        return v, s, b

    def settle(self, y: Array, upper: Array, free: Array) -> Sets | None:
        """Find the items on a bound; None if the sets do not settle, or are large."""
        low = high = np.zeros(y.size, dtype=bool)
        for _ in range(_STEPS):
            B = np.flatnonzero(low | high)
            if B.size > MOST_BOUNDED * y.size:
                return None
            sets = Sets(B, np.where(high[B], y[B] * upper[B], 0.0))
            v, s, _ = self.solve(free, sets, 0.0)
            a = y * v
            pull = np.zeros_like(v)
            pull[B] = -y[B] * s
            now_low = np.where(low, pull <= 0.0, ~high & (a < 0.0))
            now_high = np.where(high, pull >= 0.0, ~low & (a > upper))
            if np.array_equal(now_low, low) and np.array_equal(now_high, high):
                return sets
            low = now_low
            high = now_high
        return None


def rows_with_few_bounds(K: Array, Y: Array, upper: Array) -> list[Array | None]:
    """Solve all rows with few items on a bound, to rounding.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semidefinite kernel.
    Y : ndarray of shape (n, n_rows)
        Labels -1 and +1 of each row.
    upper : ndarray of shape (n,)
        Upper bounds.

    Returns
    -------
    list of (ndarray of shape (n,) or None)
        The variables a of each row; None where they were not found. Whether they are
        the solution is for the caller to certify.
    """
    shared = SharedInverse.of(K)
    if shared is None:
        return [None] * Y.shape[1]
    free = shared.inverse @ Y
    columns = enumerate(zip(Y.T, free.T, strict=True))
    found = {k: shared.settle(y, upper, one) for k, (y, one) in columns}
    settled = {k: sets for k, sets in found.items() if sets is not None}
    rows = list(settled)
    V = np.zeros((Y.shape[0], len(rows)))
    b = np.zeros(len(rows))
    for _ in range(1 + _REFINEMENTS):  # the first solution, refined
        # What is left on B is the s there, whatever it is.
        rest = shared.inverse @ (Y[:, rows] - K @ V - b)
        for j, k in enumerate(rows):
            at = settled[k].at
            missing = Sets(at, settled[k].v - V[at, j])
            step, _, more = shared.solve(rest[:, j], missing, -float(V[:, j].sum()))
            V[:, j] += step
            V[at, j] = settled[k].v
            b[j] += more
    solved: list[Array | None] = [None] * Y.shape[1]
    for j, k in enumerate(rows):
        solved[k] = np.clip(Y[:, k] * V[:, j], 0.0, upper)
    return solved
