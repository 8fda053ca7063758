"""Appendix B of Walder and Chapelle (2007): Cholesky factors that are kept.

Without polynomials (section 6.2) every Newton step solves a system with

    H = Z'(lam Phi + Phi_s'Phi_s)Z,      Z = P_perp, Phi_s the rows of the violators s.

Rank-one updates: an item that enters or leaves s changes H by ``+-vv'``, v = Z'Phi_w.
Expansions: with Z from the reduced row echelon form of P, items that join the working
set add columns to Z and leave the old ones alone, so that H only gets a border. (The
paper subtracts terms that are zero: its block A equals H once p_a = 0.)

Algorithm 1 as printed never joins the two: line 2 has no recursion without polynomials,
so that its working set does not grow. Here the first factor grows from that of the
first half of the items; iterates are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from krein.arrays import Array

# A factor of n columns costs as much as the updates of n / _WORTH items, measured.
_WORTH = 20


@dataclass(frozen=True)
class Echelon:
    """Items in the order in which they join, and Z for them.

    Attributes
    ----------
    order : ndarray of int
        The items: first r of them at which the polynomials are independent, then the
        others in counting order.
    shares : ndarray of shape (r, n - r)
        Z is ``[-shares; I]`` for the items in this order.
    """

    order: np.ndarray
    shares: Array

    @classmethod
    def of(cls, P: Array) -> Echelon:
        """Find them for polynomials (n, r) of full rank."""
        n, r = P.shape
        pivots = scipy.linalg.qr(P.T, mode="r", pivoting=True)[1][:r]
        others = np.setdiff1d(np.arange(n), pivots)
        # Z'P = 0: P of the others is a combination of P at the pivots.
        shares = np.linalg.solve(P[pivots].T, P[others].T)
        return cls(np.append(pivots, others), shares)

    @property
    def r(self) -> int:
        """Number of polynomials."""
        return self.shares.shape[0]

    def coefficients(self, g: Array) -> Array:
        """Return Z g for the first items, in counting order of all."""
        a = np.zeros(self.order.size)
        m = g.size
        a[self.order[: self.r]] = -(self.shares[:, :m] @ g)
        a[self.order[self.r : self.r + m]] = g
        return a

    def transposed(self, M: Array, m: int) -> Array:
        """Return Z'M for the first m columns of Z; rows of M are all items."""
        pivots = self.order[: self.r]
        joined = self.order[self.r : self.r + m]
        return M[joined] - self.shares[:, :m].T @ M[pivots]


class UpdatedFactor:
    """The upper triangular R with R'R = H, kept from one set s to the next.

    Parameters
    ----------
    Phi : ndarray of shape (n, n)
        Kernel.
    P : ndarray of shape (n, r)
        Polynomials, of full rank.
    lam : float
        Regularisation.
    weight : ndarray of shape (n,)
        Sample weights: ``Phi_s'W_s Phi_s`` stands in H.
    """

    def __init__(self, Phi: Array, P: Array, lam: float, weight: Array) -> None:
        self.lam = lam
        self.weight = weight
        self.echelon = Echelon.of(P)
        n = Phi.shape[0] - P.shape[1]
        self.rows = self.echelon.transposed(Phi, n).T  # Phi_w Z, a row an item
        self.energy = self.echelon.transposed(self.rows, n)  # Z'Phi Z
        self.R: Array = np.empty((0, 0))
        self.s = np.zeros(Phi.shape[0], dtype=bool)

    def solve(self, s: np.ndarray, right: Array) -> Array:
        """Return Z H^-1 Z' `right` for the violators s; `right` has all items."""
        n = self.energy.shape[0]
        if self.R.size == 0:
            self.s[s] = True
            for m in (n // 2, n):
                self.expand(m)
        else:
            self.move_to(s)
        g = self.echelon.transposed(right, n)
        half = scipy.linalg.solve_triangular(self.R, g, trans="T", check_finite=False)
        return self.echelon.coefficients(
            scipy.linalg.solve_triangular(self.R, half, check_finite=False)
        )

    def hessian(self, rows: slice, columns: slice) -> Array:
        """Return a block of H for the present s."""
        left = self.rows[self.s, rows] * self.weight[self.s, None]
        return (
            self.lam * self.energy[rows, columns] + left.T @ self.rows[self.s, columns]
        )

    def expand(self, m: int) -> None:
        """Let the factor grow to the first m columns of Z: a border (expansion)."""
        old = self.R.shape[0]
        if m == old:
            return
        before = slice(0, old)
        new = slice(old, m)
        corner = self.hessian(new, new)
        R = np.zeros((m, m))
        if old:
            R[before, before] = self.R
            border = self.hessian(before, new)
            R[before, new] = scipy.linalg.solve_triangular(
                self.R, border, trans="T", check_finite=False
            )
            corner -= R[before, new].T @ R[before, new]
        R[new, new] = scipy.linalg.cholesky(corner, check_finite=False)
        self.R = R

    def move_to(self, s: np.ndarray) -> None:
        """Follow the set of violators by rank-one updates, then rank-one downdates.

        Where many items change sides a factor of its own costs less.
        """
        wanted = np.zeros_like(self.s)
        wanted[s] = True
        entering = np.flatnonzero(wanted & ~self.s)
        leaving = np.flatnonzero(self.s & ~wanted)
        self.s = wanted
        if (entering.size + leaving.size) * _WORTH > s.size + wanted.size:
            self.restart()
            return
        for w in entering:
            self.R = rank_one(self.R, np.sqrt(self.weight[w]) * self.rows[w], 1.0)
        try:
            for w in leaving:
                self.R = rank_one(self.R, np.sqrt(self.weight[w]) * self.rows[w], -1.0)
        except np.linalg.LinAlgError:  # rounding has taken what should be left
            self.restart()

    def restart(self) -> None:
        """Factor H anew."""
        self.R = np.empty((0, 0))
        self.expand(self.energy.shape[0])


def rank_one(R: Array, v: Array, sign: float) -> Array:
    """Return the factor of ``R'R + sign vv'`` in O(n^2).

    With p = R^-T v the factor is M'R, where ``MM' = I + sign pp'`` and M is known in
    closed form: with t_j = 1 + sign (p_1^2 + ... + p_j^2), its diagonal is
    ``sqrt(t_j / t_{j-1})`` and below it stands ``sign p_i p_j / sqrt(t_j t_{j-1})``.

    Parameters
    ----------
    R : ndarray of shape (n, n)
        Upper triangular.
    v : ndarray of shape (n,)
        The vector.
    sign : float
        1 for an update, -1 for a downdate.
    """
    p = scipy.linalg.solve_triangular(R, v, trans="T", check_finite=False)
    t = np.append(1.0, 1.0 + sign * np.cumsum(p * p))
    if not t.min() > 0.0:
        raise np.linalg.LinAlgError("the downdated matrix is not positive definite")
    scaled = p[:, None] * R
    after = np.cumsum(scaled[::-1], axis=0)[::-1] - scaled  # sum over rows below
    diagonal = np.sqrt(t[1:] / t[:-1])
    beside = sign * p / np.sqrt(t[1:] * t[:-1])
    return diagonal[:, None] * R + beside[:, None] * after
