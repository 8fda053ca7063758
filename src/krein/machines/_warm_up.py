"""Cheap steps for the proxy-kernel SVM: one ray, then accelerated gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.machines.nodes import COARSE
from krein.machines.proxy import ProxySVM
from krein.machines.quadrature import RankOnePositivePart

_CHECK = 10
_SINGLE_LIMIT = 3e-6  # gap, relative, below which single precision says nothing


def balanced_ray(problem: ProxySVM) -> Array:
    """Best point of the ray on which both classes carry the same total weight.

    Along it f is a concave function of one number, whose derivative costs O(1) a node
    of the quadrature. It ends where no solution is any more (`ProxySVM.radius`).
    """
    domain = problem.domain
    positive = domain.y > 0
    direction = domain.upper.copy()
    if positive.all() or not positive.any():
        return np.zeros(domain.n)  # one class alone: the only feasible point
    totals = direction[positive].sum(), direction[~positive].sum()
    direction[positive] *= min(totals) / totals[0]
    direction[~positive] *= min(totals) / totals[1]
    length = float(np.linalg.norm(problem.scale * direction))
    direction *= min(1.0, problem.radius / length)
    z, _ = problem.coordinates(direction)
    gain, inner = problem.gain(direction), problem.part.along(z)

    def slope(s: float) -> float:
        return gain - 4.0 * problem.rho * inner(s)

    return domain.rebalance(_root(slope, 0.01 * gain) * direction)


def _root(slope: Any, tolerance: float) -> float:
    """Where a falling function of s in (0, 1], positive near 0, vanishes; else 1."""
    high, at_high = 1.0, slope(1.0)
    if at_high >= 0.0:
        return 1.0
    low, at_low = high, at_high
    while at_low < 0.0:
        high, at_high = low, at_low
        low *= 0.1
        at_low = slope(low)
    for _ in range(20):  # regula falsi with the Illinois rule
        s = low + (high - low) * at_low / (at_low - at_high)
        at = slope(s)
        if abs(at) <= tolerance:
            return s
        if at > 0.0:
            low, at_low, at_high = s, at, 0.5 * at_high
        else:
            high, at_high, at_low = s, at, 0.5 * at_low
    return low


class _Gradient:
    """y times the gradient of f at v = y * a, in single or double precision."""

    def __init__(self, problem: ProxySVM, dtype: Any) -> None:
        self.problem = problem
        self.single = dtype is np.float32 and problem.full
        self.linear = problem.linear * problem.domain.y
        root = problem.spectrum.sqrt_weight
        unit = 1.0 if root is None else 1.0 / root
        self.into, self.back = unit / problem.spread, unit * problem.spread
        self.part = problem.part
        if self.single:
            self.U = problem.single
            self.part = RankOnePositivePart(problem.part.d, COARSE)

    def __call__(self, v: Array) -> Array:
        if self.single:
            z = (self.into * v).astype(np.float32) @ self.U
            return self.linear - self.back * (self.U @ self.part.gradient(z))
        z, direction = self.problem.coordinates(self.problem.domain.y * v)
        p = self.problem.from_coordinates(self.part.gradient(z), direction)
        return self.linear - self.back * p


def accelerated_steps(
    problem: ProxySVM, a: Array, *, rise: float, tol: float, max_steps: int, dtype: Any
) -> Array:
    """FISTA with gradient restarts; ends when its active set is at rest.

    Parameters
    ----------
    problem : ProxySVM
        What to maximise.
    a : ndarray of shape (n,)
        Start, a point of the domain.
    rise : float
        f(a) - f(0), the unit of the gap.
    tol : float
        Relative gap that is enough.
    max_steps : int
        Largest number of steps.
    dtype : type
        ``numpy.float32`` halves the memory that a step reads.

    Returns
    -------
    ndarray of shape (n,)
        A point of the domain, as a rule much better; f is not compared.

    Notes
    -----
    The step is 1 / L with the largest curvature at the start, raised whenever two
    gradients show a larger one. Every tenth step looks at gap and active set: steps
    go on while the set changes or the gap falls fast, as it does on well-conditioned
    problems (small rho).
    """
    domain, gradient = problem.domain, _Gradient(problem, dtype)
    tol = max(tol, _SINGLE_LIMIT) if gradient.single else tol
    low, high = domain.signed_bounds
    x = point = domain.y * a
    L = 1.2 * largest_curvature(problem, problem.coordinates(a)[0])
    before, g_before = x, np.zeros_like(a)
    t, tau, gap, bound = 1.0, 0.0, np.inf, domain.upper > 0
    # Few variables: second-order steps are cheap, the set may still be rough.
    at_rest = domain.n * (0.003 if domain.n > 500 else 0.05)
    for k in range(1, max_steps + 1):
        g = gradient(point)
        moved = point - before
        size = float(moved @ moved)
        if k > 1 and size > 0.0:
            L = max(L, 1.05 * float((g_before - g) @ moved) / size)
        before, g_before = point, g
        wanted = point + g / L
        tau = domain.shift(wanted, tau)
        wanted -= tau
        new = np.minimum(np.maximum(wanted, low), high)
        step = new - x
        if float((point - new) @ step) > 0.0:
            t = 1.0
        t_next = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
        point = new + ((t - 1.0) / t_next) * step
        x, t = new, t_next
        if k % _CHECK == 0:
            gap, gap_before = domain.gap(domain.y * before, domain.y * g) / rise, gap
            bound, bound_before = (x <= low) | (x >= high), bound
            if gap <= tol:
                break
            changed = np.count_nonzero(bound != bound_before)
            if changed <= at_rest and not _pays(gap, gap_before, tol, bound):
                break
    return domain.rebalance(domain.y * x)


def _pays(gap: float, before: float, tol: float, bound: np.ndarray) -> bool:
    """Tell if more steps to the tolerance cost less than one second-order step.

    That one costs about as much as 100 first-order steps (fewer when n is small) when
    no variable is at a bound, and falls with the square of the number that is not.
    """
    if not gap < 0.9 * before:
        return False
    # Quotients could leave float64.
    left = _CHECK * (np.log(gap) - np.log(tol)) / (np.log(before) - np.log(gap))
    return bool(left < min(100.0, 0.1 * bound.size) * (1.0 - np.mean(bound)) ** 2)


def largest_curvature(problem: ProxySVM, z: Array) -> float:
    """Largest eigenvalue of the Hessian of -f, by the power method in O(n) steps."""
    jacobian = problem.part.jacobian(z)
    x = np.abs(jacobian.diagonal) + np.abs(z)
    value = 0.0
    for _ in range(8):
        x = jacobian @ (x / np.linalg.norm(x))
        value = float(np.linalg.norm(x))
    root = problem.spectrum.sqrt_weight
    return value if root is None else value / float(root.min()) ** 2
