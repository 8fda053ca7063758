"""SPGM and SMM: the gradient methods of Ying, Campbell and Girolami (2009).

Objective, eqs. (3) and (6), with v = y * a and A = K0 + vv' / (4 rho):

    f(a) = e'a - rho ||A_+||_F^2 + rho ||K0||_F^2,    gradient e - Y A_+ v,

maximised over Q1 = {0 <= a <= C, y'a = 0}. Sums, no means; a >= 0, labels in v.
Both methods step by 1 / L with ``L = lambda_max(K0) + n C^2 / rho`` (Theorem 2) and
stop, as published, when f changes by less than 1e-6 of itself (``stop="change"``). That
rule stops early: it says nothing about the distance to the optimum, and depends on the
constant f(0). ``stop="gap"``, the default here, asks for a certified gap.

The proof of Theorem 2 adds ``n C^2 / (2 rho)`` of (9) and ``n C^2 / (4 rho)`` of Lemma
1: it shows the smaller ``L = lambda_max(K0) + 3 n C^2 / (4 rho)``, which is not used.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from krein.arrays import Array
from krein.machines._loop import Iterate
from krein.machines.proxy import ProxySVM
from krein.published.checks import check
from krein.published.solver import Oracle, proxy_solver

_FIRST = 16.0  # line searches start from L / 16
_SHOWN = 1e-10  # smaller parts of f are taken for rounding


@proxy_solver
def spgm(
    problem: ProxySVM,
    x0: Array | None = None,
    *,
    smoothing: float = 0.0,
    gamma: float | None = None,
    line_search: bool = False,
) -> Iterator[Iterate]:
    """Simplified projected gradient method (SPGM) for the proxy-kernel SVM.

    Ying, Campbell, Girolami (2009), Table 1, for problem (2):
    ``max over a in Q1 of min over PSD M of e'a - a'YMYa / 2 + rho ||M - K||_F^2``.

    Parameters
    ----------
    problem : ProxySVM
        The problem.
    x0 : ndarray of shape (n,), optional
        Start; 0 unless given.
    smoothing : float
        Above 0 the projected gradient method of Luss and d'Aspremont (2007) on their
        smoothed objective; see `krein.published.smoothing.SmoothedProxySVM`.
    gamma : float, optional
        gamma of Table 1, at least L; steps are 1 / gamma. L unless given.
    line_search : bool
        Find gamma by doubling until (11) holds, and halve it after each step; f still
        rises as in (12).

    Returns
    -------
    Result
        ``x`` is a, in [0, C]; ``value`` is f(a), constant included;
        ``history["evaluations"]`` counts gradients, that is eigendecompositions in the
        published form.
    """
    check(gamma=gamma, line_search=line_search)
    largest = _step_constant(problem.lipschitz, gamma, line_search)
    f = Oracle(problem, smoothing)
    a = _start(problem, x0)
    L = largest / _FIRST if line_search else largest
    rise, g = f(a)
    while True:
        yield f.iterate(a, rise, g)
        while True:
            new, at_new, g_new, enough = _step(f, a, rise, g, L)
            if enough or L >= largest:
                break
            L *= 2.0
        a = new
        rise = at_new
        g = g_new
        L *= 0.5 if line_search else 1.0


def _step_constant(L: float, gamma: float | None, line_search: bool) -> float:
    """Gamma of Table 1: L of Theorem 2 unless a larger one is given."""
    if gamma is None:
        return L
    if line_search:
        raise ValueError(
            "gamma and line_search=True exclude each other: a line search finds gamma; "
            "leave gamma=None"
        )
    if gamma < L:
        raise ValueError(
            f"gamma must be at least L = lambda_max(K) + n C^2 / rho = {L:.17g} "
            f"(Theorem 2), got {gamma!r}; for longer steps use line_search=True"
        )
    return float(gamma)


@proxy_solver
def smm(
    problem: ProxySVM,
    x0: Array | None = None,
    *,
    monotone: bool = False,
    line_search: bool = False,
) -> Iterator[Iterate]:
    """Nesterov's smooth optimization method (SMM) for the proxy-kernel SVM.

    Ying, Campbell, Girolami (2009), Table 2; the problem is that of `spgm`.

    Parameters
    ----------
    problem : ProxySVM
        The problem.
    x0 : ndarray of shape (n,), optional
        Start alpha_0; 0 unless given.
    monotone : bool
        Keep the best of gamma_k and its predecessor (Nesterov, 2005), the first
        improvement that the paper names; one more evaluation per step.
    line_search : bool
        Find L by doubling and halving instead of Theorem 2, the improvement that the
        paper leaves as future work.

    Returns
    -------
    Result
        As `spgm`: the best alpha_k by its certificate. The published bound O(1 / k^2)
        is of gamma_k, whose objective costs one more evaluation a step; with `monotone`
        or `line_search` these are the points.
    """
    check(monotone=monotone, line_search=line_search)
    steps = _smm_line_search if line_search else _smm
    return steps(Oracle(problem), _start(problem, x0), monotone, problem.lipschitz)


def _start(problem: ProxySVM, x0: Array | None) -> Array:
    return np.zeros(problem.box.n) if x0 is None else problem.box.project(x0)


def _step(
    f: Oracle, a: Array, rise: float, g: Array, L: float
) -> tuple[Array, float, Array, bool]:
    """Projected step from `a`: the point, f and gradient there, and whether (11) holds.

    Inequality (11): ``f(new) >= f(a) + g'(new - a) - L ||new - a||^2 / 2``. Values tell
    no more where steps are so short that rounding hides the last term. There gradients
    decide: f is concave, so that f(new) >= f(a) + g(new)'(new - a).
    """
    new = f.problem.box.project(a + g / L)
    at_new, g_new = f(new)
    move = new - a
    curve = 0.5 * L * float(move @ move)
    if curve > _SHOWN * (abs(rise) + abs(f.problem.constant)):
        enough = at_new >= rise + float(g @ move) - curve
    else:
        enough = float((g_new - g) @ move) >= -curve
    return new, at_new, g_new, enough


def _smm(f: Oracle, start: Array, monotone: bool, L: float) -> Iterator[Iterate]:
    box = f.problem.box
    a = start
    total = np.zeros_like(a)
    best = -np.inf
    for k in itertools.count(1):
        rise, g = f(a)
        gamma_k = box.project(a + g / L)
        if not monotone:
            yield f.iterate(a, rise, g)
            gamma = gamma_k
        else:
            at_gamma, g_gamma_k = f(gamma_k)
            if at_gamma > best:
                gamma = gamma_k
                best = at_gamma
                g_gamma = g_gamma_k
            yield f.iterate(gamma, best, g_gamma)
        total = total + 0.5 * k * g
        beta = box.project(start + total / L)
        a = (2.0 * beta + k * gamma) / (k + 2)


def _smm_line_search(
    f: Oracle, start: Array, monotone: bool, largest: float
) -> Iterator[Iterate]:
    """Dual averaging with weights a_k, ``L a_k^2 = A_k + a_k``; L by backtracking."""
    box = f.problem.box
    gamma = start
    beta = start
    rise, g_gamma = f(gamma)
    yield f.iterate(gamma, rise, g_gamma)
    total = np.zeros_like(start)
    A = 0.0
    L = largest / _FIRST
    while True:
        while True:
            a = (1.0 + np.sqrt(1.0 + 4.0 * A * L)) / (2.0 * L)
            point = (A * gamma + a * beta) / (A + a)
            at_point, g = f(point)
            new, at_new, g_new, enough = _step(f, point, at_point, g, L)
            if enough or L >= largest:
                break
            L *= 2.0
        A += a
        total += a * g
        beta = box.project(start + total)
        if not monotone or at_new >= rise:
            gamma = new
            rise = at_new
            g_gamma = g_new
        yield f.iterate(gamma, rise, g_gamma)
        L *= 0.5
