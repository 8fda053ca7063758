"""How a published algorithm becomes a solver, and a solver a plain function.

An algorithm is a generator of iterates. `published_solver` runs it by the rules of
`krein.machines._loop.run`; `on_matrix` makes its problem from a matrix and labels.
Signatures and docstrings are put together from those of the parts.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, Literal

import numpy as np

from krein.arrays import Array
from krein.machines._loop import Iterate, run
from krein.result import Result
from krein.validation import check_similarity

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
