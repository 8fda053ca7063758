"""The gradient methods of Ying, Campbell and Girolami (2009), as published.

Both take steps 1 / L with ``L = lambda_max(K0) + n C^2 / rho`` (Theorem 2) and stop,
as published, when the objective changes by less than 1e-6 of itself from one step to
the next. That rule stops early: it says nothing about the distance to the optimum,
and depends on the constant f(0). ``stop="gap"`` asks for the certified gap instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from krein.arrays import Array
from krein.problems.proxy import ProxySVM
from krein.result import Result
from krein.solvers._contract import in_units, needs
from krein.solvers._loop import Iterate, Stop, run

__all__ = ["smm", "spgm"]

Callback = Callable[[Iterate], bool | None]


@needs("domain", "rise_grad", "certificate", "lipschitz")
@in_units
def spgm(
    problem: ProxySVM,
    x0: Array | None = None,
    *,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    stop: Stop = "gap",
    callback: Callback | None = None,
    on_interrupt: Literal["raise", "return"] = "raise",
) -> Result:
    """Simplified projected gradient method (SPGM), Table 1 of Ying et al. (2009).

    Parameters
    ----------
    problem : ProxySVM
        The problem.
    x0 : ndarray of shape (n,), optional
        Start; 0 unless given.
    tol : float
        Relative certified gap, or relative change of the objective.
    max_iter : int
        Largest number of steps, one gradient each.
    stop : {"gap", "change"}
        What `tol` is compared with; ``"change"`` is the published rule.
    callback, on_interrupt
        See `krein.solvers._loop.run`.

    Returns
    -------
    Result
        ``history["evaluations"]``: gradients so far, that is eigendecompositions in
        the published form.
    """
    return _run(_spgm(problem, x0), tol, max_iter, stop, callback, on_interrupt)


@needs("domain", "rise_grad", "certificate", "lipschitz")
@in_units
def smm(
    problem: ProxySVM,
    x0: Array | None = None,
    *,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    stop: Stop = "gap",
    monotone: bool = False,
    line_search: bool = False,
    callback: Callback | None = None,
    on_interrupt: Literal["raise", "return"] = "raise",
) -> Result:
    """Nesterov's smooth optimization method (SMM), Table 2 of Ying et al. (2009).

    Parameters
    ----------
    problem : ProxySVM
        The problem.
    x0 : ndarray of shape (n,), optional
        Start alpha_0; 0 unless given.
    tol : float
        Relative certified gap, or relative change of the objective.
    max_iter : int
        Largest number of steps.
    stop : {"gap", "change"}
        What `tol` is compared with; ``"change"`` is the published rule.
    monotone : bool
        Keep the best of gamma_k and its predecessor (Nesterov, 2005), the first
        improvement that the paper names; one more evaluation per step.
    line_search : bool
        Find L by doubling and halving instead of Theorem 2, the improvement that the
        paper leaves as future work.
    callback, on_interrupt
        See `krein.solvers._loop.run`.

    Returns
    -------
    Result
        As `spgm`: the best alpha_k by its certificate. The published bound O(1 / k^2)
        is of gamma_k, whose objective costs one more evaluation a step; with `monotone`
        or `line_search` these are the points.
    """
    if line_search:
        steps = _smm_line_search(problem, x0, monotone)
    else:
        steps = _smm(problem, x0, monotone)
    return _run(steps, tol, max_iter, stop, callback, on_interrupt)


def _run(
    iterates: Iterator[Iterate],
    tol: float,
    max_iter: int,
    stop: Stop,
    callback: Callback | None,
    on_interrupt: Literal["raise", "return"],
) -> Result:
    return run(
        iterates,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
        on_interrupt=on_interrupt,
        stop=stop,
    )


class _Counter:
    """Evaluates f and its gradient, counting the calls."""

    def __init__(self, problem: ProxySVM) -> None:
        self.problem = problem
        self.calls = 0

    def __call__(self, a: Array) -> tuple[float, Array]:
        self.calls += 1
        return self.problem.rise_grad(a)

    def iterate(self, a: Array, rise: float, gradient: Array) -> Iterate:
        certificate = self.problem.certificate(a, rise, gradient)
        value = self.problem.constant + rise
        return Iterate(
            a,
            value,
            certificate,
            bound=value + certificate.value,
            facts={"evaluations": self.calls},
        )


def _start(problem: ProxySVM, x0: Array | None) -> Array:
    return np.zeros(problem.box.n) if x0 is None else problem.box.project(x0)


def _spgm(problem: ProxySVM, x0: Array | None) -> Iterator[Iterate]:
    f, box, L = _Counter(problem), problem.box, problem.lipschitz
    a = _start(problem, x0)
    while True:
        rise, g = f(a)
        yield f.iterate(a, rise, g)
        a = box.project(a + g / L)


def _smm(problem: ProxySVM, x0: Array | None, monotone: bool) -> Iterator[Iterate]:
    f, box, L = _Counter(problem), problem.box, problem.lipschitz
    start = a = _start(problem, x0)
    total = np.zeros_like(a)
    best = -np.inf
    gamma = a
    k = 0
    while True:
        rise, g = f(a)
        if not monotone:
            yield f.iterate(a, rise, g)
            gamma = box.project(a + g / L)
        else:
            candidate = box.project(a + g / L)
            at_candidate, g_candidate = f(candidate)
            if at_candidate > best:
                gamma, best, g_gamma = candidate, at_candidate, g_candidate
            yield f.iterate(gamma, best, g_gamma)
        total = total + 0.5 * (k + 1) * g
        beta = box.project(start + total / L)
        a = (2.0 * beta + (k + 1) * gamma) / (k + 3)
        k += 1


def _smm_line_search(
    problem: ProxySVM, x0: Array | None, monotone: bool
) -> Iterator[Iterate]:
    """Dual averaging with weights a_k, ``L a_k^2 = A_k + a_k``; L by backtracking."""
    f, box = _Counter(problem), problem.box
    start = gamma = _start(problem, x0)
    rise, g = f(gamma)
    yield f.iterate(gamma, rise, g)
    total = np.zeros_like(start)
    A, beta = 0.0, start
    L = problem.lipschitz / 16.0
    while True:
        while True:
            a = (1.0 + np.sqrt(1.0 + 4.0 * A * L)) / (2.0 * L)
            point = (A * gamma + a * beta) / (A + a)
            at_point, g = f(point)
            new = box.project(point + g / L)
            at_new, g_new = f(new)
            step = new - point
            floor = at_point + float(g @ step) - 0.5 * L * float(step @ step)
            if at_new >= floor - 1e-12 * abs(at_point) or L >= problem.lipschitz:
                break
            L *= 2.0
        A += a
        total += a * g
        beta = box.project(start + total)
        if not monotone or at_new >= rise:
            gamma, rise, g_gamma = new, at_new, g_new
        yield f.iterate(gamma, rise, g_gamma)
        L *= 0.5
