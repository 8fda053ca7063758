"""SVMs on a raw indefinite kernel by differences of convex functions (DCA).

TDCASVM (Akoa, 2008, "Combining DC algorithms and decomposition techniques for the
training of nonpositive-semidefinite kernels", IEEE TNN 19), on the dual:

    minimise  a'Qa / 2 - e'a,   Q = YKY,   0 <= a_i <= C w_i,   y'a = 0.

Sums, no means; a >= 0, labels in Q. Not convex, but on a compact set, so that there are
KKT points, and one of them is found. Liu et al. compare with TDCASVM (Table III); the
details are reconstructed from the paper's idea, a truncated DCA step on a block.

IKSVM-DC (Xu, Xue, Chen, Wang, 2017, "Solving indefinite kernel support vector machine
with difference of convex functions programming", AAAI), on the primal:

    minimise  F(b, b0) = gamma / 2 b'Kb + 1/2 sum_i w_i max(0, 1 - y_i (Kb + b0)_i)^2,

gamma = 1 / C; b is signed, as coefficients on the raw kernel are. F is not convex, and
unbounded below on real data too, which `PrimalDC.recession` detects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.machines._loop import Iterate
from krein.machines.box import BalancedBox
from krein.machines.quadratic_model import QuadraticModel
from krein.published.checks import check
from krein.published.solver import infeasibility, solver
from krein.result import Certificate


@dataclass(frozen=True)
class IndefiniteDual:
    """The SVM dual on a raw kernel.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Raw similarity.
    domain : BalancedBox
        Bounds C w_i and labels.
    """

    K: Array
    domain: BalancedBox

    def gradient(self, a: Array) -> Array:
        """Return e - Qa: of the maximised form, as `BalancedBox` wants it."""
        return 1.0 - self.domain.y * (self.K @ (self.domain.y * a))

    def value(self, a: Array, gradient: Array) -> float:
        """Return e'a - a'Qa/2, the maximised form."""
        return 0.5 * float(a.sum() + a @ gradient)

    def certificate(self, a: Array, gradient: Array) -> Certificate:
        """Maximal violating pair (Keerthi et al., 2001): 0 exactly at KKT points.

        A point outside the box is none: what it misses counts, relative to C.
        """
        violation = self.domain.violation(a, gradient)
        outside = infeasibility(self.domain, a) / float(self.domain.upper.max())
        worst = max(violation, outside)
        return Certificate("stationarity", worst, worst)


@solver(tol=1e-4, max_iter=10_000)
def tdca(
    problem: IndefiniteDual,
    x0: Array | None = None,
    *,
    block: int = 64,
    mu: float = 1e-6,
) -> Iterator[Iterate]:
    """Truncated DCA by blocks (TDCASVM) for the SVM dual on a raw indefinite kernel.

    Akoa (2008): ``max e'a - a'YKYa / 2`` over 0 <= a <= C, y'a = 0. On a block B of the
    most violating pairs, ``Q_BB = (Q_BB + rI) - rI`` with ``r = max(0, -lmin(Q_BB)) +
    mu lmax``, one DCA step is done: minimise ``d'(Q_BB + rI)d / 2 + (Qa - e)_B'd`` over
    the moves d that keep a feasible. The dual falls by ``mu lmax ||d||^2 / 2`` or more.

    Parameters
    ----------
    problem : IndefiniteDual
        The dual.
    x0 : ndarray of shape (n,), optional
        Start, projected onto the box; 0 unless given.
    block : int
        Size of B. Two is SMO; larger blocks let BLAS work.
    mu : float
        Strong convexity that is added, relative to the largest eigenvalue of Q_BB.

    Returns
    -------
    Result
        ``x`` is a, in the box; a KKT point, not an optimum, where K is indefinite.
        ``value`` is the maximised dual, the certificate the maximal violating pair, of
        which ``tol=1e-4`` is the largest; ``max_iter=10_000`` counts blocks.
    """
    check(block=block, mu=mu)
    domain = problem.domain
    a = np.zeros(domain.n) if x0 is None else domain.project(x0)
    gradient = problem.gradient(a)
    while True:
        yield Iterate(a, problem.value(a, gradient), problem.certificate(a, gradient))
        B = _most_violating(domain, a, gradient, min(block, domain.n))
        y = domain.y[B]
        Q = y[:, None] * problem.K[np.ix_(B, B)] * y
        part = BalancedBox(domain.upper[B], y, float(y @ a[B]))
        values = scipy.linalg.eigvalsh(Q)
        shift = max(0.0, -float(values[0])) + mu * max(float(np.abs(values).max()), 1.0)
        Q[np.diag_indices_from(Q)] += shift
        x = _block_maximum(Q, gradient[B], a[B], part)
        move = x - a[B]
        a = a.copy()
        a[B] = x
        gradient = gradient - domain.y * (problem.K[:, B] @ (y * move))


def _most_violating(
    domain: BalancedBox, a: Array, gradient: Array, size: int
) -> np.ndarray:
    """The variables that violate the KKT conditions most, half from each side."""
    slack = 1e-12 * domain.upper
    can_grow = a < domain.upper - slack
    can_fall = a > slack
    positive = domain.y > 0
    signed = domain.y * gradient
    up = np.flatnonzero(np.where(positive, can_grow, can_fall))
    low = np.flatnonzero(np.where(positive, can_fall, can_grow))
    half = max(1, size // 2)
    best_up = up[np.argsort(-signed[up], kind="stable")[:half]]
    best_low = low[np.argsort(signed[low], kind="stable")[:half]]
    return np.union1d(best_up, best_low)


def _block_maximum(Q: Array, gradient: Array, a: Array, part: BalancedBox) -> Array:
    """Maximise gradient'd - d'Qd/2, d = x - a, over the block; never worse than a."""
    reduced = gradient - part.multiplier(gradient) * part.y
    step = QuadraticModel(Q, part.y, part.upper).maximise(a, reduced)
    return part.rebalance(np.clip(a + step, 0.0, part.upper))


@dataclass(frozen=True)
class PrimalDC:
    """F in coordinates that make weights act as repetition.

    With b = W^1/2 x, M = W^1/2 K W^1/2 and e = sqrt(w) the objective is
    ``gamma/2 x'Mx + 1/2 sum max(0, e - y (Mx + e b0))^2``. Points are vectors (x, b0).

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Raw similarity.
    y : ndarray of shape (n,)
        Labels -1 and +1.
    gamma : float
        Penalty, 1 / C.
    weight : ndarray of shape (n,), optional
        Sample weights.
    """

    K: Array
    y: Array
    gamma: float
    weight: Array | None = None

    @cached_property
    def root(self) -> Array:
        """e, the square roots of the weights."""
        return np.ones(self.y.size) if self.weight is None else np.sqrt(self.weight)

    @cached_property
    def M(self) -> Array:
        """The weighted kernel."""
        return self.root[:, None] * self.K * self.root

    def slack(self, point: Array, margin: float = 1.0) -> Array:
        """max(0, e - y (Mx + e b0)), with e times `margin`."""
        outputs = self.M @ point[:-1] + self.root * point[-1]
        return np.maximum(0.0, margin * self.root - self.y * outputs)

    def value(self, point: Array, margin: float = 1.0) -> float:
        """F at (x, b0)."""
        x = point[:-1]
        slack = self.slack(point, margin)
        return 0.5 * (self.gamma * float(x @ (self.M @ x)) + float(slack @ slack))

    def gradient(self, point: Array) -> Array:
        """Gradient in (x, b0)."""
        pull = self.y * self.slack(point)
        x = self.M @ (self.gamma * point[:-1] - pull)
        return np.append(x, -float(self.root @ pull))

    def recession(self, point: Array) -> float:
        """Coefficient of t^2 in F(t x, t b0) for large t; negative: F is unbounded.

        It is negative whenever F is: max(0, -y f) <= max(0, e - y f).
        """
        return self.value(point, margin=0.0)

    def certificate(self, point: Array) -> Certificate:
        """Norm of the gradient; relative to that at the origin."""
        norm = float(np.linalg.norm(self.gradient(point)))
        origin = float(np.linalg.norm(self.gradient(np.zeros_like(point))))
        return Certificate("stationarity", norm, norm / max(origin, 1e-300))


@solver(tol=1e-4, max_iter=300)
def dc_primal(problem: PrimalDC, x0: Array | None = None) -> Iterator[Iterate]:
    """IKSVM-DC: DCA on the SVM primal with a raw indefinite kernel, and extrapolation.

    Xu, Xue, Chen, Wang (2017): minimise
    ``F = gamma/2 b'Kb + 1/2 sum_i max(0, 1 - y_i (Kb + b0)_i)^2`` with gamma = 1 / C,
    which may be unbounded below. ``F = g - h`` with ``g = gamma rho/2 ||x||^2 + squared
    hinge`` and ``h = gamma/2 x'(rho I - M)x``, rho = lmax + 1e-4. The next point
    minimises g - grad h(x_t)'x; then an Armijo search goes on from it along new - old
    (start 3, halve, 0.4 t ||d||^2).

    Parameters
    ----------
    problem : PrimalDC
        The primal.
    x0 : ndarray of shape (n + 1,), optional
        Start (x, b0) in the coordinates of `PrimalDC`; 0 unless given.

    Returns
    -------
    Result
        ``x`` holds b and, last, b0 (of weighted problems (x, b0) of `PrimalDC`); the
        certificate is the norm of the gradient, relative to that at the origin, and at
        most ``tol=1e-4`` unless given. (As published the method stops when ||d||^2 <=
        1e-3.) Status "diverged": a direction was found along which F is unbounded below
        (as soon as F < 0, or before).
    """
    n = problem.y.shape[0]
    largest = scipy.linalg.eigvalsh(problem.M, subset_by_index=[n - 1, n - 1])[0]
    majoriser = _Majoriser(problem, rho=max(float(largest), 0.0) + 1e-4)
    point = np.zeros(n + 1) if x0 is None else x0
    while True:
        recession = problem.recession(point)
        yield Iterate(
            point,
            problem.value(point),
            problem.certificate(point),
            stop="diverged" if recession < 0.0 else None,
            facts={"recession": recession},
        )
        new = majoriser.minimise(point)
        point = _extrapolate(problem, new, new - point)


def _extrapolate(problem: PrimalDC, new: Array, step: Array) -> Array:
    value = problem.value(new)
    size = float(step @ step)
    for length in 3.0 * 0.5 ** np.arange(10):
        further = new + length * step
        if problem.value(further) <= value - 0.4 * length * size:
            return further
    return new


class _Majoriser:
    """min gamma rho/2 ||x||^2 - theta'x + 1/2 sum max(0, e - y(Mx + e b0))^2.

    On a fixed active set the optimality conditions are linear in the residuals xi of
    the active samples: ``(I + (MM)_II / (gamma rho)) xi + e_I b0 = (ye)_I - M_I theta /
    (gamma rho)``, ``e_I'xi = 0`` and ``x = (theta + M_I xi) / (gamma rho)``. The active
    set rarely changes from one DCA step to the next, so its factor is kept.
    """

    def __init__(self, problem: PrimalDC, rho: float) -> None:
        self.problem = problem
        self.rho = rho
        self.strength = problem.gamma * rho
        self.square = problem.M @ problem.M
        self._active = np.zeros(0, dtype=np.intp)
        self._factor: tuple[Array, bool] | None = None

    def minimise(self, start: Array) -> Array:
        """Active-set Newton steps, halved where they do not descend."""
        problem = self.problem
        theta = problem.gamma * (self.rho * start[:-1] - problem.M @ start[:-1])
        point = start
        value = self._value(start, theta)
        for _ in range(100):
            active = np.flatnonzero(problem.slack(point) > 0.0)
            if active.size == 0:
                return np.append(theta / self.strength, point[-1])
            goal = self._solve(active, theta)
            if np.array_equal(np.flatnonzero(problem.slack(goal) > 0.0), active):
                return goal
            for length in 0.5 ** np.arange(20):
                new = point + length * (goal - point)
                new_value = self._value(new, theta)
                if new_value < value:
                    break
            else:
                return point
            if value - new_value <= 1e-14 * abs(value):
                return new
            point = new
            value = new_value
        return point

    def _value(self, point: Array, theta: Array) -> float:
        x = point[:-1]
        slack = self.problem.slack(point)
        return float(0.5 * self.strength * x @ x - theta @ x + 0.5 * slack @ slack)

    def _solve(self, active: np.ndarray, theta: Array) -> Array:
        problem = self.problem
        if self._factor is None or not np.array_equal(active, self._active):
            matrix = self.square[np.ix_(active, active)] / self.strength
            # Where the squares are huge, rounding must not make them indefinite.
            rounding = 4e-16 * active.size * float(np.diagonal(matrix).max())
            matrix[np.diag_indices_from(matrix)] += 1.0 + rounding
            self._factor = scipy.linalg.cho_factor(matrix, lower=True)
            self._active = active
        rows = problem.M[active]
        e = problem.root[active]
        right = problem.y[active] * e - rows @ theta / self.strength
        xi, border = scipy.linalg.cho_solve(self._factor, np.column_stack([right, e])).T
        b0 = float(e @ xi) / float(e @ border)
        xi = xi - b0 * border
        return np.append((theta + rows.T @ xi) / self.strength, b0)
