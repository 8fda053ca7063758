"""Cholesky factor of the violators of a c.p.d. problem, kept as their set changes.

Source: Walder, Chapelle (2007), Appendix B.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs
from sklearn.exceptions import ConvergenceWarning

from krein.arrays import Array
from krein.machines.cpd_columns import Columns
from krein.machines.cpd_space import NOT_CPD

# Samples that left the active set stay in the factor up to this share of it.
_GONE = 0.1


class Factor:
    """Cholesky factor of ``I + R K_ss R``, kept while the set s changes.

    Samples that come are bordered by their Schur complement. Samples that go stay in
    the factor, few as they are, and are held at zero by projection: with Z a basis of
    ``L^-1 E``, E their unit vectors, ``L^-T (I - ZZ') L^-1`` is the inverse of what is
    left. When they are many, or the scaling R changed, the part of the factor before
    the first of them stays and the rest is bordered; those likely to go stand last.
    (Appendix B of the paper updates and downdates; with p_a = 0 its block A equals H
    itself, so that plain bordering is all there is to do.)
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.order = np.empty(0, dtype=int)
        self.scale = np.empty(0)
        self.L = np.empty((0, 0))
        self.Z = np.empty((0, 0))

    def update(self, s: np.ndarray, root: Array) -> np.ndarray:
        """Factor the matrix of the samples s; return its order, gone samples in it.

        `root` is the diagonal of R, positive on s and zero elsewhere.
        """
        now = root[self.order]
        gone = np.flatnonzero(now == 0.0)
        p = self.order.size
        if gone.size > _GONE * p or np.any((now != self.scale) & (now > 0.0)):
            stays = now == self.scale
            p, gone = int(np.argmin(stays)), gone[:0]
        placed = np.zeros(root.size, dtype=bool)
        placed[self.order[:p]] = True
        tail = s[~placed[s]]
        if tail.size or p < self.order.size:
            self._border(p, tail, root[tail])
        unit = np.zeros((self.order.size, gone.size), order="F")
        unit[gone, np.arange(gone.size)] = 1.0
        self.Z = (
            np.linalg.qr(dtrtrs(self.L, unit, lower=1)[0])[0] if gone.size else unit
        )
        return self.order

    def _border(self, p: int, tail: np.ndarray, root: Array) -> None:
        """Keep the first p samples of the factor and append those of the tail."""
        head, scale = self.order[:p], self.scale[:p]
        corner = self.columns.block(tail, tail)
        corner *= root[:, None]
        corner *= root
        corner[np.diag_indices(tail.size)] += 1.0
        size = float(np.trace(corner))
        if p:
            side = self.columns.block(head, tail)
            side *= scale[:, None]
            side *= root
            side, _ = dtrtrs(self.L[:p, :p], side, lower=1)
            corner -= side.T @ side
            L = np.zeros((p + tail.size, p + tail.size), order="F")
            L[:p, :p] = self.L[:p, :p]
            L[p:, :p] = side.T
            L[p:, p:] = _cholesky(corner, size)
            self.L = L
        else:
            self.L = _cholesky(corner, size)
        self.order = np.concatenate([head, tail])
        self.scale = np.concatenate([scale, root])

    def solve(self, right: Array) -> Array:
        """Solve with L, and project the samples that are gone out."""
        solved, _ = dtrtrs(self.L, right, lower=1)
        return solved - self.Z @ (self.Z.T @ solved)

    def solve_transposed(self, right: Array) -> Array:
        """Solve with the transpose of L."""
        return dtrtrs(self.L, right, lower=1, trans=1)[0]


def _cholesky(A: Array, size: float) -> Array:
    """Cholesky factor in the place of A; rounding gets a ridge and a warning.

    More than rounding is an error. Above its diagonal the factor holds what A did.

    A is the identity plus a positive semidefinite matrix, or a Schur complement of such
    a matrix, of trace `size`: it can only fail when its norm exceeds 1 / eps, or when
    the kernel is not c.p.d.
    """
    if A.shape[0] == 0:
        return A
    if not A.flags.f_contiguous:
        A = A.T  # symmetric: LAPACK takes this one as it is
    diagonal = A.diagonal().copy()
    L, failed = dpotrf(A, lower=1, clean=0, overwrite_a=1)
    if not failed:
        return L
    upper = np.triu(A, 1)
    for ridge in (4 * np.finfo(float).eps * size, 1e-10 * size, 1e-7 * size):
        A = upper + upper.T + np.diag(diagonal + ridge)
        L, failed = dpotrf(A, lower=1, clean=0)
        if failed:
            continue
        warnings.warn(
            "alpha is below the rounding error of the kernel matrix; a ridge of "
            f"{ridge:.2g} times alpha was added. Choose a larger alpha",
            ConvergenceWarning,
            stacklevel=2,
        )
        return L
    if size * np.finfo(float).eps > 1.0:
        raise ValueError(
            f"alpha is {size:.2g} times smaller than the kernel, whose rounding errors "
            "then decide; choose a larger alpha, or divide the kernel by its size"
        )
    raise ValueError(NOT_CPD)
