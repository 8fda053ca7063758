"""How a published algorithm becomes a solver, and a solver a plain function.

An algorithm is a generator of iterates. `published_solver` runs it by the rules of
`krein.machines._loop.run`; `on_matrix` makes its problem from a matrix and labels.
Signatures and docstrings are put together from those of the parts.

For the proxy-kernel SVM (Luss and d'Aspremont, 2007; eqs. 1 to 3 of Ying, Campbell and
Girolami, 2009), maximise over Q1 = {0 <= a <= C, y'a = 0} the concave function

    f(a) = min over K >= 0 of  e'a - a'YKYa / 2 + rho ||K - K0||_F^2,

this module adds what only the published algorithms need to
`krein.machines.proxy.ProxySVM`: Q1 without krein's bound on the solutions, and the
decorator of their solvers.
"""

from __future__ import annotations

import copy
import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, Literal

import numpy as np

from krein.arrays import Array
from krein.machines._loop import Iterate, in_units, run
from krein.machines.proxy import ProxySVM, relative_gap
from krein.result import Result
from krein.validation import check_similarity

Domain = Literal["cut", "paper"]


def proxy_solver(steps: Callable[..., Iterator[Iterate]]) -> Callable[..., Result]:
    """Make a solver of a generator ``steps(problem, x0, **options)``; a decorator.

    It solves the problem in units.
    """
    return in_units(published_solver(stop="gap", on_interrupt="raise")(steps))


def on_domain(problem: ProxySVM, domain: Domain) -> ProxySVM:
    """Return the problem on Q1 as printed, or on Q1 cut by the bound on solutions.

    Both sets have the same solutions. The cut one (`ProxySVM.domain`) gives smaller
    upper bounds at the beginning: 189 instead of 19 448 in one case with C = 5 and
    rho = 0.1.
    """
    if domain not in ("cut", "paper"):
        raise ValueError(f"domain must be 'cut' or 'paper', got {domain!r}")
    if domain == "cut":
        return problem
    whole = copy.copy(problem)
    whole.domain = problem.box
    return whole


def certified(
    problem: ProxySVM, a: Array, rise: float, upper: float, **how: Any
) -> Iterate:
    """Return the iterate at `a` with an upper bound of max f, both minus f(0)."""
    certificate = relative_gap(max(0.0, upper - rise), rise)
    value, bound = problem.constant + rise, problem.constant + upper
    return Iterate(a, value, certificate, bound, **how)


class Oracle:
    """Evaluates f and its gradient, and counts the evaluations."""

    def __init__(self, problem: ProxySVM) -> None:
        self.problem, self.calls = problem, 0

    def __call__(self, a: Array) -> tuple[float, Array]:
        """Return the objective minus f(0), and the gradient."""
        self.calls += 1
        return self.problem.rise_grad(a)

    def iterate(self, a: Array, rise: float, gradient: Array) -> Iterate:
        """Return the iterate at `a`, certified by its own gradient."""
        certificate = self.problem.certificate(a, rise, gradient)
        value = self.problem.constant + rise
        bound = value + certificate.value
        facts = {"evaluations": self.calls}
        return Iterate(a, value, certificate, bound, facts=facts)


Solver = Callable[..., Result]
TOL = 1e-6  # of solvers that have no other


def published_solver(
    keep: Literal["best", "last"] = "best", **rules: Any
) -> Callable[[Callable[..., Iterator[Iterate]]], Solver]:
    """Make a solver of a generator ``steps(problem, ...)`` of iterates; a decorator.

    Parameters
    ----------
    keep : {"best", "last"}
        As in `krein.machines._loop.run`.
    **rules
        Options of `run` that the solver takes beside those of the generator, with
        their defaults; ``tol=1e-6``, ``max_iter=10_000`` and ``callback=None`` unless
        given.
    """
    rules = {"tol": TOL, "max_iter": 10_000, "callback": None, **rules}

    def decorate(steps: Callable[..., Iterator[Iterate]]) -> Solver:
        @functools.wraps(steps)
        def solve(*problem: Any, **options: Any) -> Result:
            chosen = {name: options.pop(name, rule) for name, rule in rules.items()}
            return run(steps(*problem, **options), keep=keep, **chosen)

        known = inspect.signature(run).parameters
        added = [known[name].replace(default=rule) for name, rule in rules.items()]
        parameters = [*inspect.signature(steps).parameters.values(), *added]
        about, mark, rest = str(inspect.getdoc(steps)).partition("\n\nReturns\n")
        doc = "\n".join([about, _described(run, rules)]) + mark + rest
        return _presented(solve, parameters, doc)

    return decorate


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


def on_matrix(solve: Solver, make_problem: Callable, **defaults: Any) -> Solver:
    """Make a function of a matrix and labels of a solver of a problem.

    Parameters
    ----------
    solve : callable
        ``solve(problem, **options)``.
    make_problem : callable
        ``make_problem(K, y, **own)``, called with numbers that were checked.
    **defaults
        Options whose default is another one than the solver's.

    Returns
    -------
    callable
        ``function(K, y, **own, **options)``, a function of `krein.published`.
    """
    own = inspect.signature(make_problem).parameters

    @functools.wraps(solve)
    def function(K: Any, y: Any, **options: Any) -> Result:
        options = {**defaults, **options}
        given = {name: options.pop(name) for name in own if name in options}
        K, y = matrix_and_labels(K, y)
        return solve(make_problem(K, y, **given), **options)

    options = list(inspect.signature(solve).parameters.values())[1:]
    parameters = [
        *own.values(),
        *(
            p.replace(kind=p.KEYWORD_ONLY, default=defaults.get(p.name, p.default))
            for p in options
        ),
    ]
    function.__module__ = "krein.published"
    text = _described(make_problem, own) + "\n"
    doc = re.sub(
        r"problem : .*?\n(?=\S)",
        lambda _: text,
        str(inspect.getdoc(solve)),
        count=1,
        flags=re.DOTALL,
    )
    return _presented(function, parameters, doc)


def _presented(function: Callable, parameters: list[Any], doc: str) -> Solver:
    """Give a function a signature and a docstring."""
    signature = inspect.Signature(parameters, return_annotation=Result)
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__doc__ = doc
    return function


def _described(function: Callable, names: Collection[str]) -> str:
    """Return what a docstring says about these parameters."""
    text = str(inspect.getdoc(function)).partition("Parameters\n----------\n")[2]
    entries = re.split(r"\n(?=\S)", text.partition("\n\n")[0])
    return "\n".join(entry for entry in entries if entry.partition(" :")[0] in names)
