"""The certified second-order method for the proxy-kernel SVM (``solver="auto"``).

One eigendecomposition is given. One ray and some accelerated steps in single precision
find most of the active set; then Newton steps on the variables that may be free, each
the solution of a quadratic model over the box, end at the certified gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from krein.arrays import Array
from krein.machines._loop import Iterate, beyond, run
from krein.machines.libsvm import solve_dual
from krein.machines.low_rank_model import LowRankModel
from krein.machines.proxy import ProxySVM
from krein.machines.quadratic_model import ActiveSets, QuadraticModel
from krein.machines.quadrature import COARSE, RankOnePositivePart
from krein.machines.svm_dual import SVMDual
from krein.machines.tall_svm import linear_svm
from krein.result import Result
from krein.similarity.tiles import DenseTiles

_MARGIN = 0.1  # share of the bound variables that may become free in the model
_RIDGE = 1e-7  # of the mean curvature, at first
_ROUNDING = 1e-9  # relative changes of f that its rounding errors may hide
_SINGLE = 1e-4  # relative gap at which single precision may have been the limit
_SOLVED = 1e-2  # share of tol at which a gap without rounding is small enough
_CREEP = 1e-6  # relative rise of f in a step that counts as progress
DENSE = 4  # times the rank: with more variables the Hessian is kept as its factors
_FEW = 100  # variables up to which a second-order step costs next to nothing
_PROXIES = 10  # proxies that are held fixed, after the last second-order step
_PATIENCE = 15  # steps without progress or a better gap before the method gives up


def second_order(
    problem: ProxySVM,
    x0: Array | None = None,
    *,
    tol: float = 1e-6,
    max_iter: int = 200,
    callback: Callable[[Iterate], bool | None] | None = None,
) -> Result:
    """Maximise f to a certified relative gap.

    Parameters
    ----------
    problem : ProxySVM
        The problem, on the spectrum of K0.
    x0 : ndarray of shape (n,), optional
        Start, such as the solution for a near C or rho.
    tol : float
        Certified gap over f - f(0) to be reached.
    max_iter : int
        Largest number of second-order steps.
    callback : callable, optional
        See `krein.machines._loop.run`.

    Returns
    -------
    Result
        ``history`` has ``size`` (variables in the model) and ``hessian`` (1 where the
        curvature was computed anew).
    """
    iterates = _iterates(problem, x0, tol)
    if problem.domain.n <= _FEW:
        iterates = beyond(iterates, tol)
    result = run(iterates, tol=tol, max_iter=max_iter, callback=callback)
    return result if result.status == "interrupted" else problem.sharpened(result, tol)


@dataclass(frozen=True)
class _Point:
    problem: ProxySVM
    a: Array
    rise: float
    gradient: Array

    @classmethod
    def at(cls, problem: ProxySVM, a: Array) -> _Point:
        return cls(problem, a, *problem.rise_grad(a))

    @cached_property
    def tau(self) -> float:
        """Multiplier of the equality row."""
        return self.problem.domain.multiplier(self.gradient)

    @cached_property
    def reduced(self) -> Array:
        """Gradient less the multiplier: steps keep y'a = 0.

        Near the optimum slopes would drown in the rounding of what cancels.
        """
        return self.gradient - self.tau * self.problem.domain.y

    @cached_property
    def settled(self) -> np.ndarray:
        """Variables that sit at the bound to which the reduced gradient pushes them."""
        upper = self.problem.domain.upper
        slack = 1e-9 * upper
        low = (self.a <= slack) & (self.reduced < 0.0)
        high = (self.a >= upper - slack) & (self.reduced > 0.0)
        return low | high

    def iterate(self, **facts: float) -> Iterate:
        return self.problem.iterate(self.a, self.rise, self.gradient, **facts)


def _iterates(problem: ProxySVM, x0: Array | None, tol: float) -> Iterator[Iterate]:
    start = balanced_ray(problem) if x0 is None else problem.domain.project(x0)
    point = _Point.at(problem, start)
    yield point.iterate()
    point = _first_order(problem, point, tol, 200 if x0 is None else 60, True)
    iterate = point.iterate()
    yield iterate
    if tol < iterate.certificate.relative < _SINGLE:  # single precision was the limit
        point = _first_order(problem, point, tol, 60)
        iterate = point.iterate()
        yield iterate
    ridge = _RIDGE
    best = iterate.certificate.value
    idle = 0
    block: _Block | None = None
    accurate = False
    while idle < _PATIENCE:
        fresh = block is None
        if block is None:
            block = _Block.around(point, accurate=accurate)
        new, full = block.step(point, ridge * block.model.mean)
        if new is None:  # the model is of no use here
            new = _first_order(problem, point, tol, 100)
            full = False
        elif full:
            ridge *= 0.03
        else:
            ridge = min(max(ridge, 1e-12) * 10.0, 1e-4)
        gap = iterate.certificate.value
        iterate = new.iterate(size=block.rows.size, hessian=fresh)
        yield iterate
        certificate = iterate.certificate
        if certificate.relative - certificate.rounding <= _SOLVED * tol:
            return  # what keeps the gap above tol is rounding, which no step changes
        keep = full and iterate.certificate.value < 0.25 * gap
        accurate = fresh and not keep  # a new Hessian that did not help much
        block = block.follow(point, new) if keep else None
        risen = new.rise - point.rise > _CREEP * abs(point.rise)
        better = iterate.certificate.value < 0.9 * best
        best = iterate.certificate.value if better else best  # small steps add up
        idle = 0 if better or risen else idle + 1
        point = new
    yield from _on_fixed_proxies(problem, point)


def _on_fixed_proxies(problem: ProxySVM, point: _Point) -> Iterator[Iterate]:
    """Solve SVMs on the proxy of the last point, while that brings the gap down.

    Where rho is large beside the kernel the proxy hardly moves, but curvatures differ
    by more orders than the models above can hold; an SVM is solved to rounding.
    """
    gap = point.iterate().certificate.value
    for _ in range(_PROXIES):
        if problem.full:
            K = problem.proxy_kernel(point.a)
            machine = SVMDual.classification(K, problem.domain)
            solved, _ = solve_dual(machine, tol=1e-9)
        else:  # no n x n matrix
            features = DenseTiles(problem.proxy_features(point.a))
            solved, _ = linear_svm(features, problem.domain, tol=1e-9)
        point = _Point.at(problem, problem.domain.project(solved.x))
        iterate = point.iterate()
        yield iterate
        if not iterate.certificate.value < 0.5 * gap:
            return
        gap = iterate.certificate.value


def _first_order(
    problem: ProxySVM, point: _Point, tol: float, steps: int, single: bool = False
) -> _Point:
    """Accelerated steps, kept only if f rises."""
    rise = max(point.rise, 1e-300)
    single = single and problem.full
    new = _Point.at(problem, _accelerated(problem, point.a, rise, tol, steps, single))
    return new if new.rise > point.rise else point


@dataclass
class _Block:
    """The quadratic model on the variables that may be free near the solution."""

    rows: np.ndarray
    model: ActiveSets

    @classmethod
    def around(cls, point: _Point, *, accurate: bool) -> _Block:
        domain = point.problem.domain
        outside = np.flatnonzero(point.settled)
        extra = min(outside.size, max(10, int(_MARGIN * domain.n)))
        if extra < outside.size:
            # Nearest to a change of sign, in the unit of each variable's bound.
            order = np.argpartition(np.abs(point.reduced[outside]), extra)
            outside = outside[order[:extra]]
        rows = np.sort(np.concatenate([np.flatnonzero(~point.settled), outside]))
        box = domain.y[rows], domain.upper[rows]
        problem = point.problem
        if not problem.full and rows.size > DENSE * problem.part.d.size:
            of_rank = problem.hessian_factors(point.a, rows, accurate=accurate)
            return cls(rows, LowRankModel(*of_rank, *box))
        H = problem.hessian_block(point.a, rows, accurate=accurate)
        return cls(rows, QuadraticModel(H, *box))

    def step(self, point: _Point, ridge: float) -> tuple[_Point | None, bool]:
        """Maximise the model, then search along the step; None if it does not rise."""
        domain = point.problem.domain
        rows = self.rows
        self.model.set_ridge(ridge)
        h = self.model.maximise(point.a[rows], point.reduced[rows])
        target = point.a.copy()
        target[rows] = np.clip(target[rows] + h, 0.0, domain.upper[rows])
        return _search(point, domain.project(target) - point.a)

    def follow(self, old: _Point, new: _Point) -> _Block | None:
        """Keep the model for the next step, unless a variable outside wants to move."""
        settled = new.settled.copy()
        settled[self.rows] = True
        if not settled.all():
            return None
        change = (old.gradient - new.gradient)[self.rows]
        self.model.update((new.a - old.a)[self.rows], change)
        return self


def _search(point: _Point, direction: Array) -> tuple[_Point | None, bool]:
    """Point on the way to ``a + direction`` where f has risen; True for the full step.

    The slope of f falls along the way; where it has changed sign too far, its zero is
    bracketed (regula falsi). Slopes are those of f - tau y'a.
    """
    slope = float(point.reduced @ direction)
    if not slope > 0.0:
        return None, False
    row = point.tau * point.problem.domain.y
    low, at_low, high, at_high = 0.0, slope, 1.0, 0.0
    length = 1.0
    for trial in range(12):
        new = _Point.at(point.problem, point.a + length * direction)
        end = float((new.gradient - row) @ direction)
        # Near the optimum f is flat to rounding, its slope is not.
        risen = new.rise - point.rise > -_ROUNDING * abs(point.rise)
        if risen and (-0.5 * slope < end < 0.0 or (trial == 0 and end >= 0.0)):
            return new, trial == 0
        if end > 0.0:
            low, at_low = length, end
        else:
            high, at_high = length, end
        fraction = at_low / (at_low - at_high)
        length = low + (high - low) * min(0.9, max(0.1, fraction))
    return (new, False) if risen else (None, False)


_FLAT = 1e-8  # least curvature, in units where K and the coefficients are near 1
_CHECK = 10
_SINGLE_LIMIT = 3e-6  # gap, relative, below which single precision says nothing


def balanced_ray(problem: ProxySVM) -> Array:
    """Best point of the ray on which both classes carry the same total weight.

    Along it f is a concave function of one number, whose derivative costs O(1) a node
    of the quadrature. It ends where no solution is any more (`ProxySVM.radius`).
    """
    domain = problem.domain
    direction = 2.0 * domain.middle()
    length = float(np.linalg.norm(problem.scale * direction))
    if length == 0.0:
        return direction  # one class alone: the only feasible point
    direction *= min(1.0, problem.radius / length)
    z, _ = problem.coordinates(direction)
    gain = float(direction.sum())
    inner = problem.part.along(z)

    def slope(s: float) -> float:
        return gain - 4.0 * problem.rho * inner(s)

    low = 1.0
    while slope(low) < 0.0:
        low *= 0.1
    best = 1.0 if low == 1.0 else brentq(slope, low, 10.0 * low, rtol=1e-2)
    return domain.rebalance(best * direction)


def _gradient(
    problem: ProxySVM, part: RankOnePositivePart, size: float, single: bool
) -> Callable[[Array], Array]:
    """Gradient of f times y, as a function of v = y * a.

    In single precision numbers are those of `part`, divided by `size`, so that they
    stay in its range.
    """
    y = problem.domain.y
    root = problem.spectrum.sqrt_weight
    if not single:
        return lambda v: y * problem.rise_grad(y * v)[1]
    unit = 1.0 if root is None else 1.0 / root
    into = unit / (problem.spread * math.sqrt(size))
    back = unit * (problem.spread * size**1.5)
    U = problem.single

    def gradient(v: Array) -> Array:
        z = (into * v).astype(np.float32) @ U
        return y - back * (U @ part.gradient(z))

    return gradient


def _accelerated(
    problem: ProxySVM, a: Array, rise: float, tol: float, max_steps: int, single: bool
) -> Array:
    """FISTA with gradient restarts; ends when its active set is at rest.

    From a point `a` of the domain to a point that is as a rule much better; f is not
    compared. The unit of the gap is `rise` = f(a) - f(0), and single precision halves
    the memory that a step reads.

    The step is 1 / L with the largest curvature at the start, raised whenever two
    gradients show a larger one. Every tenth step looks at gap and active set: steps
    go on while the set changes or the gap falls fast, as it does on well-conditioned
    problems (small rho).
    """
    domain = problem.domain
    z = problem.coordinates(a)[0]
    size = max(problem.norm, float(z @ z)) or 1.0
    part = RankOnePositivePart(problem.part.d / size, COARSE)
    gradient = _gradient(problem, part, size, single)
    tol = max(tol, _SINGLE_LIMIT) if single else tol
    low, high = domain.signed_bounds
    x = point = domain.y * a
    # The coarse rule is right to more digits than L needs.
    unit = size * float(np.max(problem.scale**2))  # 1 / weight
    L = 1.2 * unit * largest_curvature(part, z / math.sqrt(size))
    before = x
    g_before = np.zeros_like(a)
    t = 1.0
    tau = 0.0
    gap = np.inf
    bound = domain.upper > 0
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
        tau = domain.shift_by_one_step(wanted, tau)
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


def largest_curvature(part: RankOnePositivePart, z: Array) -> float:
    """Largest eigenvalue of the Jacobian, by the power method in O(n) steps."""
    jacobian = part.jacobian(z)
    x = np.abs(jacobian.diagonal) + np.abs(z)
    for _ in range(8):
        x = jacobian @ (x / max(float(np.linalg.norm(x)), 1e-300))
    return max(float(np.linalg.norm(x)), _FLAT)  # 0 where no eigenvalue is positive
