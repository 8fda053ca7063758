"""ACCPM: analytic centre cutting planes (Luss and d'Aspremont, 2007).

Objective, signs and scaling as in `krein.published.gradient_methods`. As f is concave,
its maximiser lies in ``{b in Q1 : g_k'(b - a_k) >= 0}`` for the gradient g_k at every
point a_k tried; the next point is the analytic centre of this polytope. Ying et al.
(2009), section 4.3, describe the method; the cuts are those of f itself, which they
showed to be differentiable, or with ``smoothing`` those of the 2007 paper's objective.

Two upper bounds of max f are kept. One is the gap of the SVM on the kernel K*(a_k), as
in the paper. The other is the usual bound of centre methods: the cuts, weighted by the
multipliers of the barrier at the centre, make one linear function above f. The first
does not become small at centres, which stay inside; the second does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from krein.arrays import Array
from krein.domain import BalancedBox
from krein.problems.proxy import ProxySVM
from krein.published.proxy_objective import (
    Domain,
    Oracle,
    SmoothedProxySVM,
    on_domain,
    published_solver,
    relative_gap,
)
from krein.solvers._loop import Iterate

_NEWTON_STEPS = 50


class _TooThinError(Exception):
    """What is left of the polytope cannot be told from a point in double precision."""


@published_solver
def accpm(
    problem: ProxySVM,
    x0: Array | None = None,
    *,
    max_cuts: int | None = None,
    domain: Domain = "cut",
    smoothing: float = 0.0,
) -> Iterator[Iterate]:
    """ACCPM: each step cuts the polytope of possible solutions at its analytic centre.

    Parameters
    ----------
    problem : ProxySVM
        The problem.
    x0 : ndarray of shape (n,), optional
        Start, inside the box; the centre of Q1 unless given.
    max_cuts : int, optional
        Largest number of cuts kept, those with least slack; 3 n unless given.
    domain : {"cut", "paper"}
        ``"paper"``: the first polytope is Q1 as printed; ``"cut"``: Q1 cut by a bound
        on all solutions.
    smoothing : float
        Above 0 the smoothed objective of Luss and d'Aspremont (2007); see
        `SmoothedProxySVM`.

    Returns
    -------
    Result
        ``history["size"]``: cuts in use; ``history["evaluations"]``: gradients so far.
        The run also ends (status ``"max_iter"``, fewer steps) when the polytope has
        become too thin for double precision. With ``stop="change"`` the objective at
        the centres is watched, which goes up and down.
    """
    f = Oracle(on_domain(problem, domain), smoothing)
    most = 3 * problem.box.n if max_cuts is None else max_cuts
    return _centres(f, _Polytope(f.problem.domain), x0, most)


def _centres(
    f: Oracle, polytope: _Polytope, x0: Array | None, max_cuts: int
) -> Iterator[Iterate]:
    a, bound = polytope.inner_point(x0), _Bound(f.problem)
    while True:
        try:
            a = polytope.centre(a)
            rise, g = f(a)
            bound.lower_at(a, rise, g, polytope.slack(a))
            yield bound.iterate(f, a, rise)
            size = float(np.linalg.norm(polytope.balanced(g)))
            if size == 0.0:
                return
            cut = polytope.balanced(g) / size
            if bound.size >= max_cuts:
                kept = np.argsort(polytope.slack(a))[: max_cuts - 1]
                polytope.keep(kept)
                bound.keep(kept)
            step = polytope.step_into(a, cut)
        except _TooThinError:
            return
        polytope.add(cut, float(cut @ a))
        bound.add(a, rise, g, size)
        a = a + step


class _Bound:
    """Upper bounds of max f - f(0) by linear functions above f."""

    def __init__(self, problem: ProxySVM | SmoothedProxySVM) -> None:
        self.problem, n = problem, problem.box.n
        self.upper = np.inf
        self.sizes, self.gradients = np.empty(0), np.empty((0, n))
        self.points, self.rises = np.empty((0, n)), np.empty(0)

    @property
    def size(self) -> int:
        """Number of cuts."""
        return self.sizes.size

    def add(self, a: Array, rise: float, g: Array, size: float) -> None:
        """Remember a cut; `size` is the length of the gradient along y'x = 0."""
        self.sizes, self.rises = (
            np.append(self.sizes, size),
            np.append(self.rises, rise),
        )
        self.points = np.vstack([self.points, a])
        self.gradients = np.vstack([self.gradients, g])

    def keep(self, kept: np.ndarray) -> None:
        """Drop all other cuts."""
        self.sizes, self.rises = self.sizes[kept], self.rises[kept]
        self.points, self.gradients = self.points[kept], self.gradients[kept]

    def lower_at(self, a: Array, rise: float, g: Array, slack: Array) -> None:
        """Lower the bound, if it can be, at the centre `a`."""
        self.upper = min(self.upper, rise + self._room(a, rise, g))
        if self.size == 0:
            return
        weights = 1.0 / (slack * self.sizes)
        weights /= weights.sum()
        # Every linear function lies above f, also at a: nothing cancels but rounding.
        above = self.rises + np.sum(self.gradients * (a - self.points), axis=1)
        mixed = weights @ self.gradients
        height = float(weights @ np.maximum(above, rise))
        self.upper = min(self.upper, height + self._room(a, rise, mixed))

    def _room(self, a: Array, rise: float, gradient: Array) -> float:
        """Bound of ``gradient'(b - a)`` over the domain, rounding counted."""
        error, worth = self.problem.rounding(a)
        return self.problem.domain.gap(a, gradient, error) + worth

    def iterate(self, f: Oracle, a: Array, rise: float) -> Iterate:
        """Return the centre, certified by the bound."""
        excess = getattr(self.problem, "excess", 0.0)
        gap = max(0.0, self.upper - rise) + excess
        constant = self.problem.constant
        return Iterate(
            a,
            constant + rise,
            relative_gap(gap, rise - excess),
            bound=constant + self.upper,
            facts={"size": self.size, "evaluations": f.calls},
        )


class _Polytope:
    """Q1 and the half-spaces ``cuts x >= levels``, cuts of unit length."""

    def __init__(self, domain: BalancedBox) -> None:
        self.domain, self.y, self.upper = domain, domain.y, domain.upper
        self.cuts, self.levels = np.empty((0, domain.n)), np.empty(0)

    def add(self, cut: Array, level: float) -> None:
        """Cut off the points with ``cut'x < level``."""
        self.cuts = np.vstack([self.cuts, cut])
        self.levels = np.append(self.levels, level)

    def keep(self, kept: np.ndarray) -> None:
        """Drop all other cuts."""
        self.cuts, self.levels = self.cuts[kept], self.levels[kept]

    def slack(self, a: Array) -> Array:
        """Distances to the cuts."""
        return self.cuts @ a - self.levels

    def balanced(self, g: Array) -> Array:
        """Part of the gradient along y'x = 0."""
        return g - self.y * float(self.y @ g) / self.domain.n

    def inner_point(self, x0: Array | None) -> Array:
        """Return a strictly feasible point: class sums equal, away from all bounds."""
        positive = self.y > 0
        middle = 0.5 * self.upper
        totals = middle[positive].sum(), middle[~positive].sum()
        middle = np.where(positive, middle / totals[0], middle / totals[1])
        middle = middle * min(totals)
        return middle if x0 is None else 0.9 * self.domain.project(x0) + 0.1 * middle

    def centre(self, a: Array) -> Array:
        """Analytic centre, by Newton's method from a strictly feasible point."""
        for _ in range(_NEWTON_STEPS):
            barrier = _Barrier(self, a)
            step = -barrier.solve(barrier.gradient)
            decrement = -float(barrier.gradient @ step)
            if decrement < 1e-6:
                break
            length = min(1.0, 0.95 * self._reach(a, step))
            if decrement > 0.25:
                damped = 1.0 / (1.0 + np.sqrt(decrement))
                length = min(length, max(0.5 * length, damped))
            a = a + length * step
        return a

    def _reach(self, a: Array, step: Array) -> float:
        """Largest multiple of the step that stays inside."""
        slack = np.concatenate([a, self.upper - a, self.slack(a)])
        change = np.concatenate([step, -step, self.cuts @ step])
        falling = change < 0.0
        return float(np.min(-slack[falling] / change[falling], initial=np.inf))

    def step_into(self, a: Array, cut: Array) -> Array:
        """Step inside Dikin's ellipsoid that makes ``cut'x`` as large as possible."""
        direction = _Barrier(self, a).solve(cut)
        square = float(cut @ direction)
        if not square > 0.0:
            raise _TooThinError
        return (0.7 / np.sqrt(square)) * direction


class _Barrier:
    """Newton system of ``-sum log`` of all slacks, restricted to y'x = 0."""

    def __init__(self, polytope: _Polytope, a: Array) -> None:
        self.y = polytope.y
        room, slack, cuts = polytope.upper - a, polytope.slack(a), polytope.cuts
        if min(a.min(), room.min(), slack.min(initial=np.inf)) <= 0.0:
            raise _TooThinError
        self.gradient = -1.0 / a + 1.0 / room - cuts.T @ (1.0 / slack)
        self.diagonal = 1.0 / a**2 + 1.0 / room**2
        self.rows = cuts / slack[:, None]
        # Woodbury: the Hessian is diagonal plus one rank-one term per cut.
        core = (self.rows / self.diagonal) @ self.rows.T
        core[np.diag_indices_from(core)] += 1.0
        try:
            self.core = cho_factor(core) if slack.size else None
        except (LinAlgError, ValueError) as error:  # indefinite by rounding, or inf
            raise _TooThinError from error
        self.border = self._solve(self.y)

    def _solve(self, b: Array) -> Array:
        x = b / self.diagonal
        if self.core is not None:
            x -= (self.rows.T @ cho_solve(self.core, self.rows @ x)) / self.diagonal
        return x

    def solve(self, b: Array) -> Array:
        """Solve for x with ``H x + mu y = b`` and ``y'x = 0``."""
        x = self._solve(b)
        return x - self.border * (float(self.y @ x) / float(self.y @ self.border))
