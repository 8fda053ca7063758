"""Active-set Newton method for problems with a c.p.d. kernel.

Source: Walder, Chapelle (2007), Algorithm 1, corrected in four places: equation (17)
with P and P' exchanged; a run ends only after an undamped step (line 32 also stops
after a damped one, above the optimum in about 7 % of random problems); polynomials that
are dependent on the violators get the step of least norm (line 17 is singular there);
and a half-size problem hands over its point, with lam in proportion to its size, not
only its violators. The line search is exact. One Cholesky factor of the violators is
kept and bordered as the set changes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs
from sklearn.exceptions import ConvergenceWarning

from krein.problems.cpd import CPDProblem
from krein.problems.cpd_columns import Columns
from krein.problems.cpd_space import NOT_CPD
from krein.result import Array, Result
from krein.solvers._loop import Iterate, run

__all__ = ["cpd_newton"]

# Below this size the first step takes all samples; above, a sample of half the size
# says where to start.
_SMALL = 600
_ROUGH = 1e-2
# A full step must bring this share of the objective, or the line is searched.
_DECREASE = 1e-4
# With the active set settled, rounding may keep the gap above tol but not above this.
_SETTLED = 1e-6
_ROUNDING = 1e-9


@dataclass(frozen=True)
class _Point:
    c: Array
    b: Array
    f: Array
    value: float


def cpd_newton(
    problem: CPDProblem,
    *,
    tol: float = 1e-10,
    max_iter: int = 100,
    start: tuple[Array, Array] | None = None,
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
    start : tuple of ndarray, optional
        (c, b) to start from, with ``Q'c = 0``; the solution for a larger lam is a good
        one.

    Returns
    -------
    Result
        ``x`` is c followed by b; ``info`` has ``c`` and ``b``.
    """
    if start is None:
        start = _from_half(problem, max_iter)
    point = _point(problem, *start)
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


def _point(problem: CPDProblem, c: Array, b: Array) -> _Point:
    f = problem.outputs(c, b)
    return _Point(c, b, f, problem.value(c, b, f))


def _steps(problem: CPDProblem, point: _Point) -> Iterator[Iterate]:
    factor = _Factor(problem.columns, problem.n)
    bound = 0.0  # every loss is non-negative
    settled = False
    while True:
        s, shift, target = problem.loss.system(point.f, problem.lam)
        certificate = problem.certificate(point.value, bound)
        certified = certificate.relative <= _SETTLED
        yield Iterate(
            x=np.concatenate([point.c, point.b]),
            value=point.value,
            certificate=certificate,
            bound=bound,
            stop="converged" if settled and certified else None,
            facts={"size": s.size},
            info={"c": point.c, "b": point.b},
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
    c[order] = scale * factor.solve(u[:, None], transposed=True)[:, 0]

    def energy(a: Array) -> float:
        v = a / scale
        return float(np.sum((factor.L.T @ v) ** 2) - np.sum(v * v))

    return c, b, problem.dual(c[order], order, energy)


class _Factor:
    """Cholesky factor of ``I + R K_ss R``, bordered when the set s changes.

    Samples are kept in the order they were given, those likely to leave last; the part
    of the factor before the first one that left stays valid, the rest is bordered by
    its Schur complement. (Appendix B of the paper updates and downdates; with p_a = 0
    its block A equals H itself, so that plain bordering is all there is to do.)
    """

    def __init__(self, columns: Columns, n: int) -> None:
        self.columns = columns
        self.order = np.empty(0, dtype=int)
        self.root = np.zeros(n)
        self.L = np.empty((0, 0))

    def update(self, s: np.ndarray, root: Array) -> np.ndarray:
        """Factor the matrix of the samples s; return them in its order."""
        stays = (root[self.order] == self.root[self.order]) & (root[self.order] > 0)
        p = self.order.size if stays.all() else int(np.argmin(stays))
        head = self.order[:p]
        placed = np.zeros(root.size, dtype=bool)
        placed[head] = True
        tail = s[~placed[s]]
        k = p + tail.size
        if tail.size == 0 and p == self.order.size:
            return self.order
        L = np.zeros((k, k), order="F")
        L[:p, :p] = self.L[:p, :p]
        corner = self._scaled(tail, tail, root)
        corner[np.diag_indices(tail.size)] += 1.0
        if p and tail.size:
            side, _ = dtrtrs(self.L[:p, :p], self._scaled(head, tail, root), lower=1)
            L[p:, :p] = side.T
            corner -= side.T @ side
        L[p:, p:] = _cholesky(corner.T)
        self.order, self.root, self.L = np.concatenate([head, tail]), root, L
        return self.order

    def _scaled(self, rows: np.ndarray, columns: np.ndarray, root: Array) -> Array:
        block = self.columns.block(rows, columns)
        block *= root[rows][:, None]
        block *= root[columns]
        return block

    def solve(self, right: Array, *, transposed: bool = False) -> Array:
        """Solve with L, or with its transpose."""
        solved, _ = dtrtrs(self.L, right, lower=1, trans=int(transposed))
        return solved


def _cholesky(A: Array) -> Array:
    """Cholesky factor; rounding gets a ridge and a warning, more is an error.

    A is the identity plus a positive semidefinite matrix: it can only fail when its
    norm exceeds 1 / eps, or when the kernel is not c.p.d.
    """
    if A.shape[0] == 0:
        return A
    L, failed = dpotrf(A, lower=1, clean=1)
    if not failed:
        return L
    k, size = A.shape[0], float(np.trace(A))
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
    raise ValueError(NOT_CPD)
