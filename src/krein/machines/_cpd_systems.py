"""Newton systems of a c.p.d. problem: a Cholesky factor, or conjugate gradients.

A system ``[diag(shift) + K, Q; Q', 0] [c; b] = [target; 0]`` becomes, with
``R = diag(shift)^-1/2``, ``c = R u`` and P the projection on ``(RQ)'u = 0``,

    P H P u = P R target,    H = I + R K R,

and b is a least-squares fit of what is left. `Factor` keeps a Cholesky factor of H as
the violators change (Walder, Chapelle, 2007, Appendix B). `Gradients` is for many
violators: a residual r leaves a gap of ``lam |r|^2`` in the objective of these samples.
H is the identity plus few large eigenvalues where alpha is not small, so that the
columns of few samples J make a preconditioner: ``M = I + C A^-1 C'`` with
``C = P R K_J R_J``, ``A = R_J K_JJ R_J`` and ``M^-1 = I - C (A + C'C)^-1 C'``
(Nystroem; Woodbury).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np
from scipy.linalg import lu_factor, lu_solve
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from sklearn.exceptions import ConvergenceWarning

from krein.arrays import Array
from krein.kernels.splines import orthonormal_range
from krein.machines.cpd_columns import Columns
from krein.machines.cpd_space import NOT_CPD

# Samples that left the active set stay in the factor up to this share of it.
_GONE = 0.1
# From this many violators on; below, a factor is as fast.
_MANY = 700
# A factor of m violators takes as long as m / _WORTH products with their matrix.
_WORTH = 64
# Columns of the preconditioner.
_COLUMNS = 100
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

    def sorted(self) -> System:
        """Return the same system, samples in their order."""
        order = np.argsort(self.s)
        return System(self.s[order], self.shift[order], self.target[order])

    def equals(self, other: System) -> bool:
        """Tell whether the other system is the same; both are sorted."""
        return all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("s", "shift", "target")
        )


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


class Gradients:
    """Solves the systems of one run while that is faster than a factor."""

    def __init__(self, columns: Columns, null: Array, lam: float) -> None:
        self.columns, self.null, self.lam = columns, null, lam
        self.pays = columns.definite
        self.last: _Scaled | None = None

    def step(
        self, system: System, point: Point, rough: float, fine: float
    ) -> tuple[Array, Array, bool] | None:
        """Solve for c and b from a point, up to a gap of `rough`.

        Tell whether the gap is at most `fine`. None where a factor pays.
        """
        if not self.pays or system.s.size < _MANY:
            return None
        system = system.sorted()
        if self.last is None or not system.equals(self.last.system):
            self.last = _Scaled(self.columns, self.null, system)
        with np.errstate(all="ignore"):  # what leaves float64 is found to fall behind
            solved = _solve(self.last, point, rough / self.lam, fine / self.lam)
        if solved is None:
            self.pays = False
            return None
        c = np.zeros(self.null.shape[0])
        c[system.s] = solved[0]
        return c, solved[1], solved[2]


@dataclass(frozen=True)
class _Scaled:
    """The system in the variables u."""

    columns: Columns
    null: Array
    system: System

    @cached_property
    def root(self) -> Array:
        return 1.0 / np.sqrt(self.system.shift)

    @cached_property
    def polynomials(self) -> tuple[Array, Array]:
        """Orthonormal basis of RQ, and what makes b of coefficients on it."""
        Q = self.root[:, None] * self.null[self.system.s]
        U, S, Vt = np.linalg.svd(Q, full_matrices=False)
        rank = int(np.sum(S > 1e-12 * S.max(initial=0.0)))
        return U[:, :rank], Vt[:rank].T / S[:rank]

    def project(self, v: Array) -> Array:
        W = self.polynomials[0]
        return v - W @ (W.T @ v)

    def image(self, u: Array) -> Array:
        """H u."""
        return u + self.root * self.columns.within(self.system.s, self.root * u)

    def start(self, point: Point) -> tuple[Array, Array]:
        """Return u near the point, and H u."""
        s = self.system.s
        u = point.c[s] / self.root
        if np.count_nonzero(point.c) == np.count_nonzero(u):
            return u, u + self.root * (point.f[s] - self.null[s] @ point.b)
        u = self.project(u)
        return u, self.image(u)

    @cached_property
    def preconditioner(self) -> tuple[Array, Array] | None:
        """C and the factor of A + C'C; None where rounding leaves none."""
        m = self.system.s.size
        J = np.linspace(0, m - 1, min(_COLUMNS, m)).astype(int)
        C = self.columns.block(self.system.s, self.system.s[J])
        C *= self.root[:, None]
        C *= self.root[J]
        A = C[J]
        C = self.project(C)
        A += C.T @ C
        A[np.diag_indices(J.size)] += 8 * J.size * _EPS * np.trace(A)
        factor, failed = dpotrf(A, lower=1, clean=0)
        return None if failed else (C, factor)


def _solve(
    system: _Scaled, point: Point, rough: float, fine: float
) -> tuple[Array, Array, bool] | None:
    """Conjugate gradients; None where they fall behind what a factor would take."""
    if system.preconditioner is None:
        return None
    C, factor = system.preconditioner
    right = system.root * system.system.target
    u, Hu = system.start(point)
    p, before, first = np.zeros_like(u), 1.0, 0.0
    most = u.size / _WORTH
    for k in count():
        r = system.project(right - Hu)
        gap = float(r @ r)
        if gap <= rough:
            break
        first = first or gap
        if not gap <= 100 * first * (rough / first) ** (k / most):
            return None
        z = r - C @ dpotrs(factor, r @ C, lower=1)[0]
        now = float(r @ z)
        p = z + (now / before) * p
        before = now
        Hp = system.image(p)
        t = now / float(p @ Hp)
        u = u + t * p
        Hu = Hu + t * Hp
    W, coefficients = system.polynomials
    Q = system.null[system.system.s]
    rest = right - Hu - system.root * (Q @ point.b)
    return system.root * u, point.b + coefficients @ (W.T @ rest), gap <= fine


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
