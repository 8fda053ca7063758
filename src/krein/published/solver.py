"""What the published algorithms share: checks, and the rules of their runs.

An algorithm is a generator of iterates, which `krein.machines._loop.run` consumes. For
the proxy-kernel SVM (Luss and d'Aspremont, 2007; eqs. 1 to 3 of Ying, Campbell and
Girolami, 2009), maximise over Q1 = {0 <= a <= C, y'a = 0} the concave function

    f(a) = min over K >= 0 of  e'a - a'YKYa / 2 + rho ||K - K0||_F^2,

this module adds what only the published algorithms need to
`krein.machines.proxy.ProxySVM`: Q1 without krein's bound on the solutions, and the
count of evaluations.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from krein.arrays import Array
from krein.machines._loop import Iterate, run
from krein.machines.proxy import ProxySVM
from krein.result import Result
from krein.validation import check_similarity

Domain = Literal["cut", "paper"]
_RULES = ("tol", "max_iter", "callback", "stop")
_LARGEST = 1e150  # its square is a double


def solver(**defaults: Any) -> Callable[[Callable], Callable[..., Result]]:
    """Make a solver of a generator of iterates; a decorator.

    The solver takes the rules of `krein.machines._loop.run` besides (``tol``,
    ``max_iter``, ``callback``, ``stop``), which are `defaults` unless given.
    """

    def decorate(steps: Callable[..., Iterator[Iterate]]) -> Callable[..., Result]:
        @functools.wraps(steps)
        def solve(*problem: Any, **options: Any) -> Result:
            given = {name: options.pop(name) for name in _RULES if name in options}
            return run(steps(*problem, **options), **{**defaults, **given})

        return solve

    return decorate


proxy_solver = solver(tol=1e-6, max_iter=10_000)


def on_domain(problem: ProxySVM, domain: Domain) -> ProxySVM:
    """Return the problem on Q1 as printed, or on Q1 cut by the bound on solutions.

    Both sets have the same solutions. The cut one (`ProxySVM.domain`) gives smaller
    upper bounds at the beginning: 189 instead of 19 448 in one case with C = 5 and
    rho = 0.1.
    """
    check_choice("domain", domain, ("cut", "paper"))
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
    """Evaluates f and its gradient, and counts the evaluations."""

    def __init__(self, problem: ProxySVM) -> None:
        self.problem, self.calls = problem, 0

    def __call__(self, a: Array) -> tuple[float, Array]:
        """Return the objective minus f(0), and the gradient."""
        self.calls += 1
        return self.problem.rise_grad(a)

    def iterate(self, a: Array, rise: float, gradient: Array, **facts: int) -> Iterate:
        """Return the iterate at `a`, certified by its own gradient."""
        facts["evaluations"] = self.calls
        return self.problem.iterate(a, rise, gradient, **facts)


def matrix_and_labels(K: Any, y: Any, name: str = "K") -> tuple[Array, Array]:
    """Check a similarity and its labels -1 and +1."""
    K = check_similarity(K, name=name)
    y = np.asarray(y, dtype=float)
    if y.shape != (K.shape[0],) or set(np.unique(y)) != {-1.0, 1.0}:
        raise ValueError(
            f"y must hold -1 and +1, both of them, one for each of the {K.shape[0]} "
            f"rows of {name}, got shape {y.shape} with values {np.unique(y)[:5]}"
        )
    return K, y


def check_positive(name: str, value: float) -> float:
    """Return a positive number, or name the parameter that is not one."""
    if not 0.0 < value < np.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}")
    return float(value)


def check_choice(name: str, value: Any, known: tuple[str, ...]) -> None:
    """Refuse a value that is not among the known ones."""
    if value not in known:
        raise ValueError(f"{name} must be one of {known}, got {value!r}")
