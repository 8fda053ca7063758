"""Difference-of-convex algorithms for SVMs on a raw indefinite kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.domain import BalancedBox
from krein.problems.dc import IndefiniteDual, PrimalDC
from krein.result import Result
from krein.solvers._contract import needs
from krein.solvers._loop import Iterate, run

__all__ = ["dc_primal", "tdca"]

_INNER = 60  # steps of the accelerated gradient method on a block


@needs("K", "domain", "gradient", "value", "certificate")
def tdca(
    problem: IndefiniteDual,
    start: Array | None = None,
    *,
    block: int = 64,
    mu: float = 1e-6,
    tol: float = 1e-4,
    max_iter: int = 10_000,
    callback: Callable[[Iterate], bool | None] | None = None,
) -> Result:
    """Truncated DCA by blocks (TDCASVM).

    A block B of the most violating pairs is taken, ``Q_BB = (Q_BB + rI) - rI`` with
    ``r = max(0, -lmin(Q_BB)) + mu lmax``, and one DCA step done: minimise ``d'(Q_BB +
    rI)d / 2 + (Qa - e)_B'd`` over the moves d that keep a feasible. The dual falls by
    at least ``mu lmax ||d||^2 / 2``.

    Parameters
    ----------
    problem : IndefiniteDual
        The dual.
    start : ndarray of shape (n,), optional
        Feasible starting point, zeros by default.
    block : int
        Size of B. Two is SMO; larger blocks let BLAS work.
    mu : float
        Strong convexity that is added, relative to the largest eigenvalue of Q_BB.
    tol : float
        On the maximal violating pair.
    max_iter : int
        Blocks.
    callback : callable, optional
        See `krein.solvers._loop.run`.

    Returns
    -------
    Result
        ``x`` is alpha in the box, ``value`` the maximised dual.

    References
    ----------
    Akoa (2008), "Combining DC algorithms and decomposition techniques for the training
    of nonpositive-semidefinite kernels", IEEE TNN 19.
    """
    a = np.zeros(problem.domain.n) if start is None else start
    return run(
        _tdca(problem, a, min(block, problem.domain.n), mu),
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )


def _tdca(
    problem: IndefiniteDual, a: Array, block: int, mu: float
) -> Iterator[Iterate]:
    domain = problem.domain
    gradient = problem.gradient(a)
    while True:
        yield Iterate(
            x=a,
            value=problem.value(a, gradient),
            certificate=problem.certificate(a, gradient),
        )
        B = _most_violating(domain, a, gradient, block)
        y = domain.y[B]
        Q = y[:, None] * problem.K[np.ix_(B, B)] * y
        part = BalancedBox(domain.upper[B], y, float(y @ a[B]))
        values = scipy.linalg.eigvalsh(Q)
        shift = max(0.0, -float(values[0])) + mu * max(float(np.abs(values).max()), 1.0)
        Q[np.diag_indices_from(Q)] += shift
        x = _block_minimum(Q, gradient[B], a[B], part, float(values[-1]) + shift)
        move = x - a[B]
        a = a.copy()
        a[B] = x
        gradient = gradient - domain.y * (problem.K[:, B] @ (y * move))


def _most_violating(
    domain: BalancedBox, a: Array, gradient: Array, size: int
) -> np.ndarray:
    """The variables that violate the KKT conditions most, half from each side."""
    slack = 1e-12 * domain.upper
    can_grow, can_fall = a < domain.upper - slack, a > slack
    positive = domain.y > 0
    signed = domain.y * gradient
    up = np.flatnonzero(np.where(positive, can_grow, can_fall))
    low = np.flatnonzero(np.where(positive, can_fall, can_grow))
    half = max(1, size // 2)
    best_up = up[np.argsort(-signed[up], kind="stable")[:half]]
    best_low = low[np.argsort(signed[low], kind="stable")[:half]]
    return np.union1d(best_up, best_low)


def _block_minimum(
    Q: Array, gradient: Array, a: Array, domain: BalancedBox, lipschitz: float
) -> Array:
    """Minimise d'Qd/2 - gradient'd, d = x - a, over the block; never worse than a.

    Accelerated projected gradient, restarted when the objective rises, finds the face;
    linear systems then find the minimum on it.
    """
    x = z = a
    t, value = 1.0, 0.0
    for _ in range(_INNER):
        new = domain.project(z - (Q @ (z - a) - gradient) / lipschitz)
        d = new - a
        new_value = float(0.5 * d @ (Q @ d) - gradient @ d)
        if new_value >= value:
            if t == 1.0:
                break
            z, t = x, 1.0
            continue
        t_new = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        z = new + (t - 1.0) / t_new * (new - x)
        x, t, value = new, t_new, new_value
    return _face_minimum(Q, gradient, a, x, domain)


def _face_minimum(
    Q: Array, gradient: Array, a: Array, x: Array, domain: BalancedBox
) -> Array:
    """Minimise over the variables off their bounds, which drop out as they meet one."""
    x = x.copy()
    slack = 1e-12 * domain.upper
    for _ in range(domain.n):
        free = np.flatnonzero((x > slack) & (x < domain.upper - slack))
        if free.size < 2:
            break
        y = domain.y[free]
        slope = (Q @ (x - a) - gradient)[free]
        system = np.block([[Q[np.ix_(free, free)], y[:, None]], [y, np.zeros(1)]])
        try:
            move = np.linalg.solve(system, -np.append(slope, 0.0))[:-1]
        except np.linalg.LinAlgError:
            break
        room = np.where(move > 0, domain.upper[free] - x[free], x[free])
        with np.errstate(divide="ignore"):
            reach = room / np.abs(move)
        length = min(1.0, float(reach.min()))
        x[free] = np.clip(x[free] + length * move, 0.0, domain.upper[free])
        if length == 1.0:
            break
        hit = free[reach <= length]
        x[hit] = np.where(x[hit] > 0.5 * domain.upper[hit], domain.upper[hit], 0.0)
    return domain.rebalance(x)


# --------------------------------------------------------------------------------------


@needs("M", "y", "root", "gamma", "slack", "value", "recession", "certificate")
def dc_primal(
    problem: PrimalDC,
    *,
    tol: float = 1e-4,
    max_iter: int = 300,
    published_stop: bool = False,
    callback: Callable[[Iterate], bool | None] | None = None,
) -> Result:
    """IKSVM-DC: DCA on the primal, with extrapolation.

    ``F = g - h`` with ``g = gamma rho/2 ||x||^2 + squared hinge`` and ``h = gamma/2
    x'(rho I - M)x``, rho = lmax + 1e-4: the next point minimises g - grad h(x_t)'x;
    then an Armijo search goes on from it along new - old (start 3, halve, 0.4 t
    ||d||^2).

    Parameters
    ----------
    problem : PrimalDC
        The primal.
    tol : float
        On the norm of the gradient, relative to that at the origin.
    max_iter : int
        Steps, 300 in the paper.
    published_stop : bool
        Also stop, as published, when ||d||^2 <= 1e-3.
    callback : callable, optional
        See `krein.solvers._loop.run`.

    Returns
    -------
    Result
        ``x`` is (x, b0) of `PrimalDC`. Status "diverged" when a direction was found
        along which F falls without end (as soon as F < 0, or before).

    References
    ----------
    Xu, Xue, Chen, Wang (2017), "Solving indefinite kernel support vector machine with
    difference of convex functions programming", AAAI.
    """
    return run(
        _dc_primal(problem, published_stop),
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )


def _dc_primal(problem: PrimalDC, published_stop: bool) -> Iterator[Iterate]:
    n = problem.y.shape[0]
    largest = scipy.linalg.eigvalsh(problem.M, subset_by_index=[n - 1, n - 1])[0]
    rho = max(float(largest), 0.0) + 1e-4
    majoriser = _Majoriser(problem, rho)
    point, moved = np.zeros(n + 1), np.inf
    while True:
        recession = problem.recession(point)
        short = published_stop and moved <= 1e-3
        yield Iterate(
            x=point,
            value=problem.value(point),
            certificate=problem.certificate(point),
            stop="diverged" if recession < 0.0 else "converged" if short else None,
            facts={"recession": recession},
        )
        new = majoriser.minimise(point)
        step = new - point
        moved = float(np.sum(step[:-1] ** 2))
        point = _extrapolate(problem, new, step)


def _extrapolate(problem: PrimalDC, new: Array, step: Array) -> Array:
    value, size = problem.value(new), float(step @ step)
    length = 3.0
    for _ in range(10):
        further = new + length * step
        if problem.value(further) <= value - 0.4 * length * size:
            return further
        length *= 0.5
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
        point, value = start, self._value(start, theta)
        for _ in range(100):
            active = np.flatnonzero(problem.slack(point) > 0.0)
            if active.size == 0:
                return np.append(theta / self.strength, point[-1])
            goal = self._solve(active, theta)
            if np.array_equal(np.flatnonzero(problem.slack(goal) > 0.0), active):
                return goal
            length = 1.0
            while length > 1e-6:
                new = point + length * (goal - point)
                new_value = self._value(new, theta)
                if new_value < value:
                    break
                length *= 0.5
            else:
                return point
            done = value - new_value <= 1e-14 * abs(value)
            point, value = new, new_value
            if done:
                break
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
