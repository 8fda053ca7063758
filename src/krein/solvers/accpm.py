"""Analytic centre cutting planes (Luss and d'Aspremont, 2007)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from krein.arrays import Array
from krein.problems.proxy import ProxySVM
from krein.result import Result
from krein.solvers._contract import in_units, needs
from krein.solvers._loop import Iterate, Stop, run

__all__ = ["accpm"]

_NEWTON_STEPS = 50


class _TooThinError(Exception):
    """What is left of the polytope cannot be told from a point in double precision."""


@needs("domain", "rise_grad", "certificate")
@in_units
def accpm(
    problem: ProxySVM,
    x0: Array | None = None,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    max_cuts: int | None = None,
    stop: Stop = "gap",
    callback: Callable[[Iterate], bool | None] | None = None,
    on_interrupt: Literal["raise", "return"] = "raise",
) -> Result:
    """ACCPM: each step cuts the polytope of possible solutions at its analytic centre.

    The solution lies in ``{b in Q : g_k'(b - a_k) >= 0}`` for the gradient g_k at every
    point a_k tried, as f is concave; the next point is the analytic centre of this set,
    by Newton's method. The gap is that of the SVM on the kernel K*(a_k), as in the
    paper. The objective is not smoothed: Ying et al. (2009) showed it differentiable.

    Parameters
    ----------
    problem : ProxySVM
        The problem.
    x0 : ndarray of shape (n,), optional
        Start, inside the box; the centre of Q unless given.
    tol : float
        Relative certified gap, or relative change of the objective.
    max_iter : int
        Largest number of cuts.
    max_cuts : int, optional
        Largest number of cuts kept, those with least slack; 3 n unless given.
    stop : {"gap", "change"}
        What `tol` is compared with; ``"change"`` is the rule of Ying et al. (2009). The
        objective at the centres goes up and down.
    callback, on_interrupt
        See `krein.solvers._loop.run`.

    Returns
    -------
    Result
        ``history["size"]``: cuts in use; ``history["evaluations"]``: gradients so far.
        The run also ends (status ``"max_iter"``, fewer steps) when the polytope has
        become too thin for double precision.
    """
    iterates = _iterates(
        problem, x0, 3 * problem.box.n if max_cuts is None else max_cuts
    )
    return run(
        iterates,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
        on_interrupt=on_interrupt,
        stop=stop,
    )


def _iterates(problem: ProxySVM, x0: Array | None, max_cuts: int) -> Iterator[Iterate]:
    domain = problem.domain
    cuts = np.empty((0, domain.n))
    levels = np.empty(0)
    a = _inner_point(problem, x0)
    evaluations = 0
    while True:
        try:
            a = _centre(a, domain.y, domain.upper, cuts, levels)
        except _TooThinError:
            return
        rise, g = problem.rise_grad(a)
        evaluations += 1
        certificate = problem.certificate(a, rise, g)
        value = problem.constant + rise
        facts = {"size": levels.size, "evaluations": evaluations}
        yield Iterate(a, value, certificate, value + certificate.value, facts=facts)
        # Unit length: the centre depends on the scaling of the cuts only through it.
        g = g - domain.y * float(domain.y @ g) / domain.n
        size = float(np.linalg.norm(g))
        if size == 0.0:
            return
        cut = g / size
        if levels.size >= max_cuts:
            kept = np.argsort(cuts @ a - levels)[: max_cuts - 1]
            cuts, levels = cuts[kept], levels[kept]
        try:
            step = _into_the_cut(a, cut, domain.y, domain.upper, cuts, levels)
        except _TooThinError:
            return
        cuts, levels = np.vstack([cuts, cut]), np.append(levels, cut @ a)
        a = a + step


def _inner_point(problem: ProxySVM, x0: Array | None) -> Array:
    """Return a strictly feasible point: class sums equal, away from all bounds."""
    domain = problem.domain
    positive = domain.y > 0
    middle = 0.5 * domain.upper
    totals = middle[positive].sum(), middle[~positive].sum()
    middle = np.where(positive, middle / totals[0], middle / totals[1]) * min(totals)
    return middle if x0 is None else 0.9 * domain.project(x0) + 0.1 * middle


class _Barrier:
    """Newton system of ``-sum log`` of all slacks, restricted to y'x = 0."""

    def __init__(
        self, a: Array, y: Array, upper: Array, cuts: Array, levels: Array
    ) -> None:
        self.y = y
        room = upper - a
        slack = cuts @ a - levels
        if min(a.min(), room.min(), slack.min(initial=np.inf)) <= 0.0:
            raise _TooThinError
        self.gradient = -1.0 / a + 1.0 / room - cuts.T @ (1.0 / slack)
        self.diagonal = 1.0 / a**2 + 1.0 / room**2
        self.rows = cuts / slack[:, None]
        # Woodbury: the Hessian is diagonal plus one rank-one term per cut.
        scaled = self.rows / self.diagonal
        core = scaled @ self.rows.T
        core[np.diag_indices_from(core)] += 1.0
        try:
            self.core = cho_factor(core) if levels.size else None
        except (LinAlgError, ValueError) as error:  # indefinite by rounding, or inf
            raise _TooThinError from error
        self.border = self._solve(y)

    def _solve(self, b: Array) -> Array:
        x = b / self.diagonal
        if self.core is not None:
            x -= (self.rows.T @ cho_solve(self.core, self.rows @ x)) / self.diagonal
        return x

    def solve(self, b: Array) -> Array:
        """Solve for x with ``H x + mu y = b`` and ``y'x = 0``."""
        x = self._solve(b)
        return x - self.border * (float(self.y @ x) / float(self.y @ self.border))


def _centre(a: Array, y: Array, upper: Array, cuts: Array, levels: Array) -> Array:
    """Analytic centre of the polytope, from a strictly feasible point."""
    for _ in range(_NEWTON_STEPS):
        barrier = _Barrier(a, y, upper, cuts, levels)
        step = -barrier.solve(barrier.gradient)
        decrement = -float(barrier.gradient @ step)
        if decrement < 1e-6:
            break
        length = min(1.0, 0.95 * _reach(a, step, upper, cuts, levels))
        if decrement > 0.25:
            length = min(length, max(0.5 * length, 1.0 / (1.0 + np.sqrt(decrement))))
        a = a + length * step
    return a


def _reach(a: Array, step: Array, upper: Array, cuts: Array, levels: Array) -> float:
    """Largest multiple of the step that stays inside."""
    slack = np.concatenate([a, upper - a, cuts @ a - levels])
    change = np.concatenate([step, -step, cuts @ step])
    falling = change < 0.0
    return float(np.min(-slack[falling] / change[falling], initial=np.inf))


def _into_the_cut(
    a: Array, cut: Array, y: Array, upper: Array, cuts: Array, levels: Array
) -> Array:
    """Step inside Dikin's ellipsoid that makes ``cut'x`` as large as possible."""
    barrier = _Barrier(a, y, upper, cuts, levels)
    direction = barrier.solve(cut)
    square = float(cut @ direction)
    if not square > 0.0:
        raise _TooThinError
    return (0.7 / np.sqrt(square)) * direction
