"""ACCPM: analytic centre cutting planes (Luss and d'Aspremont, 2007).

Objective, signs and scaling as in `krein.published.gradient_methods`. As f is concave,
its maximiser lies in ``{b in Q1 : g_k'(b - a_k) >= 0}`` for the gradient g_k at every
point a_k tried; the next point is the analytic centre of this polytope. Ying et al.
(2009), section 4.3, describe the method. The cuts are those of f itself, which they
showed to be differentiable, or with ``smoothing`` those of the 2007 paper's objective.

The upper bound of max f is the gap of the SVM on the kernel K*(a_k), as in the paper.
It need not become small at centres, which stay inside: it may stay above `tol` though f
is right to many digits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, norm

from krein.arrays import Array
from krein.machines._loop import Iterate
from krein.machines.box import BalancedBox
from krein.machines.proxy import ProxySVM
from krein.published.solver import Domain, Oracle, on_domain, proxy_solver

_NEWTON_STEPS = 50


class _TooThinError(Exception):
    """What is left of the polytope cannot be told from a point in double precision."""


@proxy_solver
def accpm(
    problem: ProxySVM,
    x0: Array | None = None,
    *,
    smoothing: float = 0.0,
    domain: Domain = "cut",
) -> Iterator[Iterate]:
    """Analytic centre cutting planes (ACCPM) for the proxy-kernel SVM.

    Luss, d'Aspremont (2007), as described by Ying et al. (2009), section 4.3; the
    problem is that of `spgm`. Each step cuts the polytope of possible solutions at its
    analytic centre.

    Parameters
    ----------
    problem : ProxySVM
        The problem.
    x0 : ndarray of shape (n,), optional
        Start, moved inside the box; the centre of Q1 unless given.
    smoothing : float
        Above 0 the smoothed objective of Luss and d'Aspremont (2007); see
        `krein.published.smoothing.SmoothedProxySVM`.
    domain : {"cut", "paper"}
        ``"paper"``: the first polytope is Q1 as printed; ``"cut"``: Q1 cut by a bound
        on all solutions.

    Returns
    -------
    Result
        ``history["size"]``: cuts in use; ``history["evaluations"]``: gradients so far.
        The run also ends (status ``"stalled"``, fewer steps) when the polytope has
        become too thin for double precision. With ``stop="change"`` the objective at
        the centres is watched, which goes up and down.
    """
    f = Oracle(on_domain(problem, domain), smoothing)
    polytope = _Polytope(f.problem.domain)
    most = 3 * problem.box.n
    a = polytope.domain.middle()  # class sums are equal, and no bound is near
    if x0 is not None:
        a = 0.9 * polytope.domain.project(x0) + 0.1 * a
    while True:
        try:
            a = polytope.centre(a)
            rise, g = f(a)
            yield f.iterate(a, rise, g, size=polytope.levels.size)
            if polytope.levels.size >= most:
                polytope.keep(np.argsort(polytope.slack(a))[: most - 1])
            a = a + polytope.cut_at(a, g)
        except _TooThinError:
            return


class _Polytope:
    """Q1 and the half-spaces ``cuts x >= levels``, cuts of unit length."""

    def __init__(self, domain: BalancedBox) -> None:
        self.domain = domain
        self.y = domain.y
        self.upper = domain.upper
        self.cuts = np.empty((0, domain.n))
        self.levels = np.empty(0)

    def cut_at(self, a: Array, g: Array) -> Array:
        """Cut at the centre `a`; returns a step from there to the inside."""
        along = g - self.y * float(self.y @ g) / self.domain.n
        cut = along / (norm(along) or 1.0)  # a norm that does not overflow
        # The step inside Dikin's ellipsoid that makes cut'x as large as possible.
        direction = _Barrier(self, a).solve(cut)
        square = float(cut @ direction)
        if not square > 0.0:
            raise _TooThinError
        self.cuts = np.vstack([self.cuts, cut])
        self.levels = np.append(self.levels, cut @ a)
        return (0.7 / np.sqrt(square)) * direction

    def keep(self, kept: np.ndarray) -> None:
        """Drop all other cuts."""
        self.cuts = self.cuts[kept]
        self.levels = self.levels[kept]

    def slack(self, a: Array) -> Array:
        """Distances to the cuts."""
        return self.cuts @ a - self.levels

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


class _Barrier:
    """Newton system of ``-sum log`` of all slacks, restricted to y'x = 0."""

    def __init__(self, polytope: _Polytope, a: Array) -> None:
        self.y = polytope.y
        room = polytope.upper - a
        slack = polytope.slack(a)
        cuts = polytope.cuts
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
