"""How a published algorithm becomes a solver, and a solver a plain function.

An algorithm is a generator of iterates. `published_solver` runs it by the rules of
`krein.machines._loop.run`; `on_matrix` makes its problem from a matrix and labels.
Signatures and docstrings are put together from those of the parts.

For the proxy-kernel SVM (Luss and d'Aspremont, 2007; eqs. 1 to 3 of Ying, Campbell and
Girolami, 2009), maximise over Q1 = {0 <= a <= C, y'a = 0} the concave function

    f(a) = min over K >= 0 of  e'a - a'YKYa / 2 + rho ||K - K0||_F^2,

this module adds what only the published algorithms need to
`krein.machines.proxy.ProxySVM`: Q1 without krein's bound on the solutions, the smoothed
objective of Luss and d'Aspremont, and the decorator of their solvers.
"""

from __future__ import annotations

import copy
import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.machines._loop import Iterate, in_units, run
from krein.machines.proxy import ProxySVM, relative_gap
from krein.result import Certificate, Result
from krein.validation import check_similarity

Domain = Literal["cut", "paper"]


def proxy_solver(steps: Callable[..., Iterator[Iterate]]) -> Callable[..., Result]:
    """Make a solver of a generator ``steps(problem, x0, **options)``; a decorator.

    It solves the problem in units, and reports the objective f itself where the
    iterates are those of the smoothed one.
    """
    plain = published_solver(stop="gap", on_interrupt="raise")(steps)

    @functools.wraps(plain)
    def solve(problem: ProxySVM, x0: Array | None = None, **options: Any) -> Result:
        def solved(unit: ProxySVM, start: Array | None) -> Result:
            result = plain(unit, start, **options)
            smoothed = bool(options.get("smoothing"))
            return _not_smoothed(unit, result, options) if smoothed else result

        return in_units(solved)(problem, x0)

    return solve


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


class SmoothedProxySVM(ProxySVM):
    """f_eps: the objective with smoothed eigenvalues, eps > 0.

    Luss and d'Aspremont (2007) took f for nondifferentiable, because ``max(0, l)`` of
    the eigenvalues l of A = K0 + vv' / (4 rho), v = y * a, is, and "quadratically
    smoothed" it. Ying et al. (2009), Theorem 1, showed that f is differentiable as it
    stands. The documents at hand say no more than that; filled in here is the usual
    quadratic smoothing of a maximum,

        h(l) = max over 0 <= u <= 1 of  u l - eps u^2 / 2
             = 0 for l <= 0,  l^2 / (2 eps) for l <= eps,  l - eps / 2 otherwise,

    with K_eps = h(A) in place of K* = A_+ (eq. 4). Then, summed over eigenvalues,

        f_eps(a) = e'a + rho ||K0||_F^2 - rho sum s(l),
        s(l) = l_+^2 - (l_+ - h(l))^2,     gradient e - Y s'(A) v / 2,
        s'(l) = 3 l^2 / eps - l^3 / eps^2 below eps,

    and 2 l from eps on. s is convex and does not decrease, so f_eps is concave; its
    gradient has the Lipschitz constant of Theorem 2; 0 <= f_eps - f <= rho n eps^2 / 4.

    Parameters
    ----------
    problem : ProxySVM
        The problem, with all its eigenpairs.
    share : float
        eps over the largest magnitude of an eigenvalue of K0.
    """

    def __init__(self, problem: ProxySVM, share: float) -> None:
        if not problem.full:
            raise ValueError(
                "smoothing needs all eigenpairs of the similarity, not landmarks; use "
                "smoothing=0"
            )
        vars(self).update(vars(problem))  # the same problem, but for f
        d = problem.spectrum.eigenvalues
        self.eps = share * max(float(np.abs(d).max()), 1e-300)
        self.excess = 0.25 * problem.rho * problem.box.n * self.eps**2
        self.before = float(np.sum(np.maximum(d, 0.0) ** 2))

    def rise_grad(self, a: Array) -> tuple[float, Array]:
        """f_eps(a) - f(0) and the gradient of f_eps, by one eigendecomposition."""
        v = self.scale * a
        A = self._weighted + np.outer(v, v / (4.0 * self.rho))
        values, U = scipy.linalg.eigh(A, driver="evd", check_finite=False)
        positive, r = np.maximum(values, 0.0), np.clip(values / self.eps, 0.0, 1.0)
        small = values < self.eps
        gap = np.where(small, self.eps * r * (1.0 - 0.5 * r), 0.5 * self.eps)  # l - h
        slope = np.where(small, self.eps * r * r * (3.0 - r), 2.0 * positive)
        total = float(np.sum(positive * positive - gap * gap))
        rise = float(a.sum()) - self.rho * (total - self.before)
        return rise, 1.0 - 0.5 * self.scale * (U @ (slope * (U.T @ v)))

    def certificate(self, a: Array, rise: float, gradient: Array) -> Certificate:
        """Bound on max f - f(a), which counts the error of the smoothing."""
        gap = super().certificate(a, rise, gradient).value + self.excess
        return relative_gap(gap, rise - self.excess)


def certified(
    problem: ProxySVM, a: Array, rise: float, upper: float, **how: Any
) -> Iterate:
    """Return the iterate at `a` with an upper bound of max f, both minus f(0)."""
    excess = getattr(problem, "excess", 0.0)
    certificate = relative_gap(max(0.0, upper - rise) + excess, rise - excess)
    value, bound = problem.constant + rise, problem.constant + upper
    return Iterate(a, value, certificate, bound, **how)


def _not_smoothed(problem: ProxySVM, result: Result, options: dict) -> Result:
    """Objective and gap of f itself at the point found for f_eps."""
    rise, gradient = problem.rise_grad(result.x)
    gap = problem.certificate(result.x, rise, gradient).value
    if options.get("bound") == "cuts":  # both bound max f - f(x)
        gap = min(gap, result.certificate.value)
    certificate = relative_gap(gap, rise)
    asked = options.get("stop", "gap") == "gap"
    missed = asked and certificate.relative > options.get("tol", TOL)
    return replace(
        result,
        value=problem.constant + rise,
        certificate=certificate,
        status="max_iter" if missed and result.converged else result.status,
        info={**result.info, "smoothed_value": result.value},
    )


class Oracle:
    """Evaluates f (or f_eps) and its gradient, and counts the evaluations."""

    def __init__(self, problem: ProxySVM, smoothing: float = 0.0) -> None:
        if not 0.0 <= smoothing < np.inf:
            raise ValueError(f"smoothing must be 0 or more, got {smoothing!r}")
        self.problem = problem
        if smoothing > 0.0:
            self.problem = SmoothedProxySVM(problem, smoothing)
        self.calls = 0

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
