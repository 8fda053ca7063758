"""TDCASVM: the SVM dual on a raw indefinite kernel (Akoa, 2008).

    minimise  a'Qa / 2 - e'a,   Q = YKY,   0 <= a_i <= C w_i,   y'a = 0.

Sums, no means; a >= 0, labels in Q. Not convex, but on a compact set: there are minima
and KKT points, and a KKT point is what the algorithm finds. Reported values are of the
maximised form ``e'a - a'Qa / 2``. Liu et al. compare with TDCASVM (Table III); the
details are reconstructed from the paper's idea, a truncated DCA step on a block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.machines._loop import Iterate, run
from krein.machines.box import BalancedBox
from krein.result import Certificate, Result

_INNER = 60  # steps of the accelerated gradient method on a block


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
        signed = self.domain.y * a
        support = np.flatnonzero(signed)
        return 1.0 - self.domain.y * (self.K[:, support] @ signed[support])

    def value(self, a: Array, gradient: Array) -> float:
        """Return e'a - a'Qa/2, the maximised form that LIBSVM reports."""
        return 0.5 * float(a.sum() + a @ gradient)

    def certificate(self, a: Array, gradient: Array) -> Certificate:
        """Maximal violating pair (Keerthi et al., 2001): 0 exactly at KKT points."""
        violation = self.domain.violation(a, gradient)
        return Certificate("stationarity", violation, violation)


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
        See `krein.machines._loop.run`.

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
