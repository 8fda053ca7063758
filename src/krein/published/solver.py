"""What the published algorithms share: the problem, and the rules of their runs.

An algorithm is a generator of iterates, which `krein.machines._loop.run` consumes. For
the proxy-kernel SVM (Luss and d'Aspremont, 2007; eqs. 1 to 3 of Ying, Campbell and
Girolami, 2009), maximise over Q1 = {0 <= a <= C, y'a = 0} the concave function

    f(a) = min over K >= 0 of  e'a - a'YKYa / 2 + rho ||K - K0||_F^2,

this module adds what only the published algorithms need to
`krein.machines.proxy.ProxySVM`: Q1 without krein's bound on the solutions, the smoothed
objective, and the count of evaluations. What the functions accept: `checks`.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from krein.arrays import Array
from krein.machines._loop import Iterate, run
from krein.machines.box import BalancedBox
from krein.machines.proxy import ProxySVM, relative_gap
from krein.published.checks import check
from krein.published.smoothing import SmoothedProxySVM, of_plain_objective
from krein.result import Result

Domain = Literal["cut", "paper"]
_RULES = ("tol", "max_iter", "callback", "stop")
_TOL = 1e-6  # of solvers that have no other
_LARGEST = 1e150  # its square is a double


def solver(
    *, tol: float, max_iter: int, keep: Literal["best", "last"] = "best"
) -> Callable[[Callable], Callable[..., Result]]:
    """Make a solver of a generator of iterates; a decorator.

    The solver takes the rules of `krein.machines._loop.run` besides its own arguments:
    ``callback``, ``stop``, and ``tol`` and ``max_iter`` where they are not to be those
    that are given here.
    """
    defaults = {"tol": tol, "max_iter": max_iter, "keep": keep}

    def decorate(steps: Callable[..., Iterator[Iterate]]) -> Callable[..., Result]:
        @functools.wraps(steps)
        def solve(*problem: Any, **options: Any) -> Result:
            rules: dict[str, Any] = dict(defaults)
            for name in _RULES:
                if name in options:
                    rules[name] = options.pop(name)
            return run(steps(*problem, **options), **rules)

        return solve

    return decorate


def proxy_solver(steps: Callable[..., Iterator[Iterate]]) -> Callable[..., Result]:
    """Make a solver of a generator ``steps(problem, x0, **options)``; a decorator.

    With ``smoothing`` the run is of the smoothed objective, and its `tol` is on the gap
    of that; value and certificate of the result are those of f.
    """
    plain = solver(tol=_TOL, max_iter=10_000)(steps)

    @functools.wraps(plain)
    def solve(problem: ProxySVM, x0: Array | None = None, **options: Any) -> Result:
        result = plain(problem, x0, **options)
        if not options.get("smoothing"):
            return result
        by_gap = options.get("stop", "gap") == "gap"
        tol = options.get("tol", _TOL) if by_gap else None
        return of_plain_objective(problem, result, tol)

    return solve


def on_domain(problem: ProxySVM, domain: Domain) -> ProxySVM:
    """Return the problem on Q1 as printed, or on Q1 cut by the bound on solutions.

    Both sets have the same solutions. The cut one (`ProxySVM.domain`) gives smaller
    upper bounds at the beginning: 189 instead of 19 448 in one case with C = 5 and
    rho = 0.1.
    """
    check(domain=domain)
    problem = copy.copy(problem)
    if domain == "paper":
        _refuse_overflow(problem)
        problem.domain = problem.box
    return problem


def _refuse_overflow(problem: ProxySVM) -> None:
    """Refuse a Q1 in which f, of order n^2 C^4 / rho, leaves double precision."""
    largest = float(np.abs(problem.box.upper * problem.scale).max())
    size = problem.box.n * largest * largest / min(problem.rho, 1.0)
    if not size < _LARGEST:
        raise ValueError(
            f"C is too large for domain='paper': the objective overflows for dual "
            f"variables up to {largest:.3g}, with rho={problem.rho:.3g}. Use "
            "domain='cut', which has the same solutions, or a smaller C"
        )


class Oracle:
    """Evaluates f (or f_eps) and its gradient, and counts the evaluations."""

    def __init__(self, problem: ProxySVM, smoothing: float = 0.0) -> None:
        check(smoothing=smoothing)
        self.problem = problem
        if smoothing > 0.0:
            self.problem = SmoothedProxySVM(problem, smoothing)
        self.calls = 0

    def __call__(self, a: Array) -> tuple[float, Array]:
        """Return the objective minus f(0), and the gradient."""
        self.calls += 1
        return self.problem.rise_grad(a)

    def iterate(self, a: Array, rise: float, gradient: Array, **facts: int) -> Iterate:
        """Return the iterate at `a`, certified by its own gradient.

        What is missing to Q1 counts: by how much the objective can change on the way.
        """
        facts["evaluations"] = self.calls
        iterate = self.problem.iterate(a, rise, gradient, **facts)
        outside = infeasibility(self.problem.box, a)
        if outside == 0.0:
            return iterate
        gap = iterate.certificate.value + outside * float(np.abs(gradient).max())
        bound = iterate.value + gap
        return replace(iterate, certificate=relative_gap(gap, rise), bound=bound)


def infeasibility(box: BalancedBox, a: Array) -> float:
    """How far a point is from Q1: the sum of what all constraints miss.

    Rounding of the sum ``y'a`` is no distance.
    """
    below = np.maximum(-a, 0.0)
    above = np.maximum(a - box.upper, 0.0)
    excess = abs(float(box.y @ a) - box.balance)
    rounding = 4.0 * np.finfo(float).eps * float(np.abs(a).sum())
    return float(below.sum() + above.sum()) + (excess if excess > rounding else 0.0)
