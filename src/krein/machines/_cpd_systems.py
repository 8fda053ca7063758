"""Newton systems of a c.p.d. problem: by a Cholesky factor, or by features.

A system ``[diag(shift) + K, Q; Q', 0] [c; b] = [target; 0]`` becomes, with
``R = diag(shift)^-1/2`` and ``c = R u``, one with the matrix ``H = I + R K R``, whose
Cholesky factor `Factor` keeps as the violators change (Walder, Chapelle, 2007,
Appendix B). Where ``K = F F'`` has fewer features than there are violators,
`by_features` solves for ``w = F'c``, whatever their number.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lu_factor, lu_solve, solve_triangular
from scipy.linalg.lapack import dpotrf, dtrtrs
from sklearn.exceptions import ConvergenceWarning

from krein.arrays import Array
from krein.kernels.splines import orthonormal_range
from krein.machines.cpd_columns import Columns
from krein.machines.cpd_space import NOT_CPD

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Point:
    """Coefficients c, b with outputs f and the objective."""

    c: Array
    b: Array
    f: Array
    value: float


@dataclass(frozen=True)
class System:
    """The Newton system of some samples.

    Attributes
    ----------
    s : ndarray of int
        Samples.
    shift, target : ndarray of shape (len(s),)
        Diagonal and right-hand side.
    """

    s: np.ndarray
    shift: Array
    target: Array


def by_features(F: Array, Q: Array, system: System, b: Array) -> tuple[Array, Array]:
    """Solve for c on the samples of the system, and b nearest to the given one.

    F and Q are those of the samples. ``w = F'c`` and b minimise ``|w|^2 +
    |R (target - F w - Q b)|^2``, by one QR factorisation.
    """
    r = F.shape[1]
    columns = np.column_stack([F, Q, system.target])
    scaled = columns / np.sqrt(system.shift)[:, None]
    stacked = np.vstack([scaled, np.eye(r, columns.shape[1])])
    R = np.asarray(np.linalg.qr(stacked, mode="r"))
    b = least_change(R[r:, r:-1], R[r:, -1], b)
    w = solve_triangular(R[:r, :r], R[:r, -1] - R[:r, r:-1] @ b, check_finite=False)
    return (system.target - F @ w - Q @ b) / system.shift, b


def least_change(UQ: Array, u: Array, b: Array) -> Array:
    """Return the b of least ``|u - UQ b|`` that is nearest to the given one.

    Polynomials may coincide on the violators.
    """
    if not b.size:
        return b
    return b + np.linalg.lstsq(UQ, u - UQ @ b, rcond=1e-12)[0]


class Factor:
    """Cholesky factor of ``I + R K_ss R``, kept while the set s changes.

    The part of the factor before the first sample that left, or whose scaling R
    changed, stays; the others are bordered by their Schur complement. Those likely to
    leave stand last. (Appendix B of the paper updates and downdates; with p_a = 0 its
    block A equals H itself, so that plain bordering is all there is to do.)
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.order = np.empty(0, dtype=int)
        self.scale = np.empty(0)
        self.L = np.empty((0, 0))

    def step(self, null: Array, system: System, b: Array) -> tuple[Array, Array]:
        """Solve for c on all samples, and b nearest to the given one."""
        c, root, wanted = np.zeros((3, null.shape[0]))
        root[system.s] = 1.0 / np.sqrt(system.shift)
        wanted[system.s] = system.target
        self._update(system.s, root)
        order, scale = self.order, self.scale
        right = scale[:, None] * np.column_stack([null[order], wanted[order]])
        U = dtrtrs(self.L, right, lower=1)[0]
        b = least_change(U[:, :-1], U[:, -1], b)
        u = U[:, -1] - U[:, :-1] @ b
        c[order] = scale * dtrtrs(self.L, u, lower=1, trans=1)[0]
        return c, b

    def _update(self, s: np.ndarray, root: Array) -> None:
        """Factor the matrix of the samples s; `root` has the diagonal of R on them."""
        stays = np.append(root[self.order] == self.scale, False)
        p = int(np.argmin(stays))
        placed = np.zeros(root.size, dtype=bool)
        placed[self.order[:p]] = True
        tail = s[~placed[s]]
        if tail.size or p < self.order.size:
            self._border(p, tail, root[tail])

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


def interpolant(
    columns: Columns, null: Array, y: Array, s: np.ndarray, b: Array
) -> tuple[Array, Array]:
    """Return c on s, and b nearest to the given one, with f = y on s: equation (20).

    ``[K_ss, W; W', 0] [c; v] = [y; 0]``, W an orthonormal basis of Q_s, Q_s b = W v.
    A ridge at the level of rounding settles samples that coincide; three refinements
    take its influence away.
    """
    c, m = np.zeros(y.size), s.size
    if m == 0:
        return c, b
    Q = null[s]
    W, _ = orthonormal_range(Q)
    system = np.zeros((m + W.shape[1], m + W.shape[1]))
    system[:m, :m], system[:m, m:], system[m:, :m] = columns.block(s, s), W, W.T
    shifted = system.copy()
    shifted[range(m), range(m)] += 4 * _EPS * np.trace(system) or 1.0
    right = np.append(y[s], np.zeros(W.shape[1]))
    x = np.zeros_like(right)
    with np.errstate(all="ignore"):  # a system without solution leaves float64
        factor = lu_factor(shifted, check_finite=False)
        for _ in range(3):
            x = x + lu_solve(factor, right - system @ x, check_finite=False)
    if not np.isfinite(x).all():
        return c, b
    c[s] = x[:m]
    step, *_ = np.linalg.lstsq(Q, W @ x[m:] - Q @ b, rcond=1e-12)
    return c, b + step
