"""The proxy-kernel SVM as the published algorithms use it.

Problem (Luss and d'Aspremont, 2007; eqs. 1 to 3 of Ying, Campbell and Girolami, 2009):
maximise over Q1 = {0 <= a <= C, y'a = 0} the concave function

    f(a) = min over K >= 0 of  e'a - a'YKYa / 2 + rho ||K - K0||_F^2.

The problem itself is `krein.machines.proxy.ProxySVM`. Here is what only the published
algorithms need: the set Q1 without krein's bound on the solutions, the smoothed
objective of Luss and d'Aspremont, and the decorator of their solvers.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.machines._loop import Iterate, in_units
from krein.machines.proxy import ProxySVM
from krein.published.solver import TOL, published_solver
from krein.result import Certificate, Result

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


class SmoothedProxySVM:
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
                "smoothing needs all eigenpairs of the similarity; use smoothing=0, or "
                "raise solver_options['max_exact']"
            )
        d, U = problem.spectrum.eigenvalues, problem.spectrum.eigenvectors
        self.problem, self.matrix = problem, (U * d) @ U.T
        self.box, self.domain = problem.box, problem.domain
        self.constant, self.lipschitz = problem.constant, problem.lipschitz
        self.eps = share * max(float(np.abs(d).max()), 1e-300)
        self.excess = 0.25 * problem.rho * problem.box.n * self.eps**2
        self.before = float(np.sum(np.maximum(d, 0.0) ** 2))

    def rise_grad(self, a: Array) -> tuple[float, Array]:
        """f_eps(a) - f(0) and the gradient of f_eps, by one eigendecomposition."""
        v = self.problem.scale * a
        A = self.matrix + np.outer(v, v / (4.0 * self.problem.rho))
        values, U = scipy.linalg.eigh(A, driver="evd", check_finite=False)
        positive, r = np.maximum(values, 0.0), np.clip(values / self.eps, 0.0, 1.0)
        small = values < self.eps
        gap = np.where(small, self.eps * r * (1.0 - 0.5 * r), 0.5 * self.eps)  # l - h
        slope = np.where(small, self.eps * r * r * (3.0 - r), 2.0 * positive)
        total = float(np.sum(positive * positive - gap * gap))
        rise = self.problem.gain(a) - self.problem.rho * (total - self.before)
        image = U @ (slope * (U.T @ v))
        return rise, self.problem.linear - 0.5 * self.problem.scale * image

    def rounding(self, a: Array) -> tuple[Array, float]:
        """Bounds on the rounding errors of the gradient and of the objective."""
        return self.problem.rounding(a)

    def certificate(self, a: Array, rise: float, gradient: Array) -> Certificate:
        """Bound on max f - f(a), which counts the error of the smoothing."""
        error, worth = self.rounding(a)
        gap = self.domain.gap(a, gradient, error) + worth + self.excess
        return relative_gap(gap, rise - self.excess)


def relative_gap(gap: float, rise: float) -> Certificate:
    """Certificate of a gap, relative to f(a) - f(0)."""
    if gap <= 0.0:
        return Certificate("gap", 0.0, 0.0)
    return Certificate("gap", gap, gap / rise if rise > 0.0 else np.inf)


def certified(
    problem: ProxySVM | SmoothedProxySVM,
    a: Array,
    rise: float,
    upper: float,
    **how: Any,
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
        self.problem: ProxySVM | SmoothedProxySVM = problem
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
