"""The proxy-kernel SVM beyond what can be decomposed: a model, corrected and measured.

The model knows the leading eigenpairs and one number for the others
(`krein.machines.truncated`). Its solution is measured on the whole matrix, with a
proven gap; the difference of the true gradient there and the model's becomes a linear
term of the next model. The error shrinks each time by about
``(eps / 2) / (eps / 2 + curvature)``, eps being the largest eigenvalue left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.machines.proxy import ProxySVM
from krein.machines.second_order import second_order
from krein.machines.truncated import Measured, TruncatedProxySVM
from krein.result import History, Result, Status

_FIRST = 1e-3  # relative gap to which the first model is solved
_SHARE = 0.1  # of the last gap, to which the next one is
_LEAST = 0.9  # a round that leaves more than this share of the best gap is idle
_CLEAR = 0.7  # share of the gap that is uncertainty of the gradient, at most
_PATIENCE = 3  # idle rounds before the method gives up
_ROUNDS = 30


def corrected(
    problem: TruncatedProxySVM,
    x0: Array | None = None,
    *,
    tol: float = 1e-6,
    **options: Any,
) -> Result:
    """Maximise f to a relative gap that is certified on the whole matrix.

    Parameters
    ----------
    problem : TruncatedProxySVM
        The problem.
    x0 : ndarray of shape (n,), optional
        Start.
    tol : float
        Certified gap over f - f(0) to be reached.
    **options
        Passed to `second_order`, which solves the models.

    Returns
    -------
    Result
        ``history`` has one row per round, with ``products``, the number of products
        with K0. ``value`` is a lower bound of f, with f(0) of the eigenpairs known.
    """
    model, a, goal = problem.model(), x0, max(_FIRST, 0.1 * tol)
    history, begun, steps, idle = History(), perf_counter(), 0, 0
    best: Result | None = None
    for _ in range(_ROUNDS):
        found = second_order(model, a, tol=goal, **options)
        a = problem.domain.project(found.x)
        measured = problem.measure(a, tol=tol)
        steps += found.n_iter
        constant = model.constant
        history.record(**_facts(measured, constant), seconds=perf_counter() - begun)
        value, gap = constant + measured.rise, measured.certificate
        before = np.inf if best is None else best.certificate.value
        if best is None or gap.value < before:
            best = replace(found, x=a, value=value, certificate=gap)
        idle = 0 if gap.value < _LEAST * before else idle + 1
        if gap.relative <= tol or idle == _PATIENCE or found.status == "interrupted":
            break
        if measured.blur > _CLEAR * gap.value:  # a better point would not be seen
            break
        goal = max(_SHARE * min(gap.relative, _FIRST / _SHARE), 0.1 * tol)
        _, gradient = problem.model().rise_grad(a)
        model = problem.model(1.0 + measured.gradient - gradient)
    assert best is not None
    reached = best.certificate.relative <= tol
    status: Status = "converged" if reached else "max_iter"
    if found.status == "interrupted":
        status = found.status
    return replace(best, status=status, n_iter=steps, history=history)


def _facts(measured: Measured, constant: float) -> dict[str, float]:
    value, gap = constant + measured.rise, measured.certificate
    return {
        "value": value,
        "bound": value + gap.value,
        "gap": gap.value,
        "relative": gap.relative,
        "products": measured.products,
    }


def on_whole(K: Any, solve: Callable[..., Result]) -> Callable[..., Result]:
    """Return a solver for `ProxySVM` on a truncated spectrum, certified on all of K.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        What the spectrum is of.
    solve : callable
        `second_order` is corrected for what the spectrum leaves out; what another
        solver finds on the truncated problem is certified as it is.
    """

    def solved(problem: ProxySVM, x0: Any, *, tol: float, **options: Any) -> Result:
        whole = TruncatedProxySVM(K, problem.spectrum, problem.box, problem.rho)
        if solve is second_order:
            return corrected(whole, x0, tol=tol, **options)
        return whole.certified(solve(problem, x0, tol=tol, **options), tol)

    return solved
