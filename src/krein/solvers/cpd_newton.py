"""Active-set Newton method for problems with a c.p.d. kernel.

Source: Walder, Chapelle (2007), Algorithm 1, corrected in four places: equation (17)
with P and P' exchanged; a run ends only after an undamped step (line 32 also stops
after a damped one, above the optimum in about 7 % of random problems); polynomials that
are dependent on the violators get the step of least norm (line 17 is singular there);
and a half-size problem hands over its point, with lam in proportion to its size, not
only its violators. The line search is exact. One Cholesky factor of the violators is
kept as the set changes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs
from sklearn.exceptions import ConvergenceWarning

from krein.arrays import Array
from krein.problems.cpd import CPDProblem
from krein.problems.cpd_columns import Columns
from krein.problems.cpd_space import NOT_CPD
from krein.result import Result
from krein.solvers._contract import needs
from krein.solvers._loop import Iterate, run

__all__ = ["cpd_newton"]

# Below this size the first step takes all samples; above, a sample of half the size
# says where to start.
_SMALL = 600
_ROUGH = 1e-2
# A full step must bring this share of the objective, or the line is searched.
_DECREASE = 1e-4
_ROUNDING = 1e-9
# v'(I + RKR)v - v'v is rounding where v'v is so many times the difference.
_CANCELLED = 100.0
# Samples that left the active set stay in the factor up to this share of it.
_GONE = 0.1


@dataclass(frozen=True)
class _Point:
    c: Array
    b: Array
    f: Array
    value: float


@needs("columns", "null", "loss", "lam", "outputs", "dual", "certificate")
def cpd_newton(
    problem: CPDProblem,
    *,
    tol: float = 1e-10,
    max_iter: int = 100,
    start: Sequence[tuple[Array, ...]] = (),
) -> Result:
    """Minimise the objective of a `CPDProblem`.

    Parameters
    ----------
    problem : CPDProblem
        Kernel columns, polynomials, loss, lam.
    tol : float
        Relative certified gap. The method ends at the exact active set, so that a small
        `tol` costs at most one or two more steps.
    max_iter : int
        Newton steps.
    start : sequence of tuple of ndarray
        Points (c, b) with ``Q'c = 0``, or (c, b, f) where the outputs are known: the
        run starts from the last one or, if it is better, from the best point of the
        line through the last two. Solutions for larger values of lam are good ones.

    Returns
    -------
    Result
        ``x`` is c followed by b; ``info`` has ``c``, ``b`` and the outputs ``f``.
    """
    point = _point(problem, *(start[-1] if start else _from_half(problem, max_iter)))
    if len(start) > 1:
        before = _point(problem, *start[-2])
        ahead = _blend(problem, before, point, _search(problem, before, point))
        point = ahead if ahead.value < point.value else point
    return run(_steps(problem, point), tol=tol, max_iter=max_iter)


def _from_half(problem: CPDProblem, max_iter: int) -> tuple[Array, Array]:
    """Solve a random half roughly; its violators are mostly those of the whole."""
    n = problem.n
    c, b = np.zeros(n), np.zeros(problem.null.shape[1])
    if n <= _SMALL:
        return c, b
    half = np.sort(np.random.default_rng(n).permutation(n)[: n // 2])
    result = cpd_newton(problem.restrict(half), tol=_ROUGH, max_iter=max_iter)
    c[half] = result.info["c"]
    return c, result.info["b"]


def _point(problem: CPDProblem, c: Array, b: Array, f: Array | None = None) -> _Point:
    f = problem.outputs(c, b) if f is None else f
    return _Point(c, b, f, problem.value(c, b, f))


def _steps(problem: CPDProblem, point: _Point) -> Iterator[Iterate]:
    factor = _Factor(problem.columns)
    bound = 0.0  # every loss is non-negative
    settled = False
    while True:
        s, shift, target = problem.loss.system(point.f, problem.lam)
        certificate = problem.certificate(point.value, bound)
        yield Iterate(
            x=np.concatenate([point.c, point.b]),
            value=point.value,
            certificate=certificate,
            bound=bound,
            facts={"size": s.size},
            info={"c": point.c, "b": point.b, "f": point.f},
        )
        if settled:
            return  # nothing better can be had, and the certificate says so
        c, b, dual = _full_step(problem, factor, point.b, s, shift, target)
        bound = max(bound, dual)
        new = _point(problem, c, b)
        # A full step that keeps its set is the optimum, to rounding. No other step is:
        # a damped one may keep the set far from it.
        settled = _same_set(problem, new.f, s)
        if not settled and new.value > point.value * (1 - _DECREASE):
            new = _blend(problem, point, new, _search(problem, point, new))
            settled = new.value >= point.value  # rounding: no step improves
        if settled and new.value > point.value * (1 + _ROUNDING):
            continue
        point = new


def _same_set(problem: CPDProblem, f: Array, s: np.ndarray) -> bool:
    again = problem.loss.system(f, problem.lam)[0]
    return s.size < problem.n and np.array_equal(np.sort(s), np.sort(again))


def _search(problem: CPDProblem, old: _Point, new: _Point) -> float:
    """Step length along old -> new, where f is affine."""
    g_old, g_new = old.f - problem.null @ old.b, new.f - problem.null @ new.b
    dc, dg = new.c - old.c, g_new - g_old
    linear = 2 * problem.lam * float(dc @ g_old)
    square = problem.lam * max(float(dc @ dg), 0.0)
    return problem.loss.search(old.f, new.f - old.f, linear, square)


def _blend(problem: CPDProblem, old: _Point, new: _Point, t: float) -> _Point:
    c = old.c + t * (new.c - old.c)
    b = old.b + t * (new.b - old.b)
    f = old.f + t * (new.f - old.f)
    return _Point(c, b, f, problem.value(c, b, f))


def _full_step(
    problem: CPDProblem,
    factor: _Factor,
    b: Array,
    s: np.ndarray,
    shift: Array,
    target: Array,
) -> tuple[Array, Array, float]:
    """Solve ``[diag(shift) + K_ss, Q_s; Q_s', 0] [c_s; b] = [target; 0]``.

    Returns c, b and a dual value, a lower bound of the optimum.
    """
    c = np.zeros(problem.n)
    if s.size == 0:
        return c, b, 0.0
    root = np.zeros(problem.n)
    root[s] = 1.0 / np.sqrt(shift)
    wanted = np.zeros(problem.n)
    wanted[s] = target
    order = factor.update(s, root)
    scale = root[order]
    Q = problem.null[order]
    right = scale[:, None] * np.column_stack([Q, wanted[order]])
    U = factor.solve(right)
    UQ, u = U[:, :-1], U[:, -1]
    if Q.shape[1]:
        # Least norm of the change, where polynomials coincide on the violators.
        step, *_ = np.linalg.lstsq(UQ, u - UQ @ b, rcond=1e-12)
        b = b + step
        u = u - UQ @ b
    c[order] = scale * factor.solve_transposed(u)
    inside = scale > 0.0

    def energy(a: Array) -> float:
        v = np.zeros(order.size)
        v[inside] = a / scale[inside]
        whole, own = float(np.sum((factor.L.T @ v) ** 2)), float(np.sum(v * v))
        if own < _CANCELLED * (whole - own):
            return whole - own
        samples = order[inside]
        return float(a @ problem.columns.product(samples, a)[samples])

    return c, b, problem.dual(c[order[inside]], order[inside], energy)


class _Factor:
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
    """Cholesky factor; rounding gets a ridge and a warning, more is an error.

    A is the identity plus a positive semidefinite matrix, or a Schur complement of such
    a matrix, of trace `size`: it can only fail when its norm exceeds 1 / eps, or when
    the kernel is not c.p.d.
    """
    if A.shape[0] == 0:
        return A
    if not A.flags.f_contiguous:
        A = A.T  # symmetric: LAPACK takes this one as it is
    L, failed = dpotrf(A, lower=1, clean=1)
    if not failed:
        return L
    k = A.shape[0]
    for ridge in (4 * np.finfo(float).eps * size, 1e-10 * size, 1e-7 * size):
        L, failed = dpotrf(A + ridge * np.eye(k), lower=1, clean=1)
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
