"""SIQCLP: the semi-infinite program of Chen and Ye (2008), Algorithm 1.

Eq. (6): maximise t over a in Q1 = {0 <= a <= C, y'a = 0}, subject to

    t <= S(a, K) = e'a - a'YKYa / 2 + rho ||K - K0||_F^2   for every K >= 0.

Sums, no means; a >= 0. Step 1 finds the most violated constraint, K*(a) of eq. (9), and
with it the lower bound l = max S(a, K*) = max f (eq. 11). Step 2 solves the restricted
master problem (eq. 7) over the kernels so far, whose value is the upper bound u (eq.
13). Both bounds are monotone (Theorem 4.1). Eq. (5) as printed holds at the optimum
only. The constant rho ||(K0)_-||^2 = f(0) is part of t here as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.machines._loop import Iterate
from krein.machines.libsvm import solve_dual
from krein.machines.mkl import MKLWeights, kernel_weights
from krein.machines.proxy import ProxySVM, relative_gap
from krein.machines.svm_dual import SVMDual
from krein.published.checks import check
from krein.published.solver import Domain, on_domain, proxy_solver

_MASTER_TOL = 1e-7  # of the master problem, relative to f - f(0)
_MASTER_SHARE = 0.2  # of the gap u - l, where that is more
# A constraint counts as inactive (section 4.2) if its slack exceeds three times the
# accuracy of the master problem, which shrinks with the gap u - l.
_PRUNE_SHARE = 3.0
_PRUNE_TOL = 1e-7  # relative to f - f(0)
# Interior points end at this gap and slope.
_GAP = 1e-12  # relative to t - min c
_SLOPE = 1e-9  # of the Lagrangian
_NEWTON_STEPS = 60
_TO_BOUNDARY = 0.995  # share of the way to the boundary that a step may take
# Near the solution, so many kernels in a row that lower nothing end the run: rounding.
_PATIENCE = 20
_NEAR = 1e-5  # gap, relative to f - f(0)

# Maps the restricted master problem to a point of Q1 and weights of the kernels.
Master = Callable[[MKLWeights], tuple[Array, Array]]


@proxy_solver
def siqclp(
    problem: ProxySVM,
    x0: Array | None = None,
    *,
    prune: bool = True,
    master: Literal["mkl", "exact"] | Master = "mkl",
    domain: Domain = "cut",
) -> Iterator[Iterate]:
    """Semi-infinite program (SIQCLP) for the proxy-kernel SVM.

    Chen, Ye (2008), Algorithm 1 for eq. (6); the problem is that of `spgm`. Quadratic
    constraints ``t <= S(a, K)`` are added one kernel at a time.

    Parameters
    ----------
    problem : ProxySVM
        The problem; weights are not supported by the published method, they enter as
        in `ProxySVM`.
    x0 : ndarray of shape (n,), optional
        Start; the SVM on the clipped kernel unless given, as published.
    prune : bool
        Drop inactive constraints (section 4.2): those whose slack clearly exceeds the
        accuracy to which the master problem was solved.
    master : {"mkl", "exact"} or callable
        How to solve the master problem. ``"mkl"``: as regularised multiple kernel
        learning (Theorem 5.1), only to a fifth of the gap u - l. ``"exact"``: by an
        interior-point method. A function of `krein.machines.mkl.MKLWeights` that
        returns a point and weights: another solver. The bounds are valid in every case,
        since u comes from the weights. The run ends (status ``"stalled"``, fewer
        steps) when u does not fall any more, at relative gaps near 1e-8.
    domain : {"cut", "paper"}
        ``"paper"``: Q1 as printed; ``"cut"``: Q1 cut by a bound on all solutions,
        which makes the first upper bounds smaller.

    Returns
    -------
    Result
        ``history``: ``value`` is the lower bound, ``bound`` the upper one, ``size`` the
        number of kernels in the localisation set. `tol` is on the gap u - l relative
        to l - f(0) (a large one is the early stopping of section 6.2), or with
        ``stop="change"`` on the change of u, which makes sense for the exact master.
    """
    check(prune=prune, master=master)
    solve = restricted_master if master == "exact" else master
    problem = on_domain(problem, domain)
    alpha = _clipped_svm(problem) if x0 is None else problem.domain.project(x0)
    best = alpha
    lower = -np.inf
    upper = np.inf
    least = np.inf
    localisation = _Localisation(problem, solve, alpha)
    idle = 0
    while idle < _PATIENCE or upper - lower > _NEAR * max(lower, 0.0):
        rise, gradient = problem.rise_grad(alpha)
        if rise > lower:
            best = alpha
            lower = rise
        if upper == np.inf:
            upper = rise + problem.domain.gap(alpha, gradient)
        facts = {"size": len(localisation.restricted.kernels)}
        certificate = relative_gap(max(0.0, upper - lower), lower)
        value = problem.constant + lower
        bound = problem.constant + upper
        yield Iterate(best, value, certificate, bound, watches_bound=True, facts=facts)
        localisation.add(alpha, rise)
        alpha, top = localisation.solve(lower, upper - max(lower, 0.0))
        idle = 0 if top < least else idle + 1
        # Where its value does not fall, an inexact master could go round in circles.
        if prune and idle == 0:
            localisation.prune(alpha, top, lower)
        least = min(least, top)
        upper = min(upper, top)


class _Localisation:
    """The kernels found so far, and the restricted master problem over them.

    `restricted` is the weights' problem, whose dual is the restricted master problem.
    """

    def __init__(self, problem: ProxySVM, master: str | Master, alpha: Array) -> None:
        self.problem = problem
        self.master = master
        self.cuts = [alpha]
        self.restricted = MKLWeights([], np.empty(0), problem.domain)

    def add(self, alpha: Array, rise: float) -> None:
        """Add the most violated constraint, K*(alpha).

        Its cost rho ||K - K0||^2 - f(0) comes from S(a, K*(a)) = f(a): nothing cancels.
        """
        old = self.restricted
        kernel = self.problem.proxy_kernel(alpha)
        v = self.problem.domain.y * alpha
        cost = rise - float(alpha.sum()) + 0.5 * float(v @ (kernel @ v))
        kernels = [*old.kernels, kernel]
        costs = np.append(old.costs, cost)
        self.restricted = MKLWeights(kernels, costs, old.domain)

    def solve(self, lower: float, gap: float) -> tuple[Array, float]:
        """Return a solution of the restricted master problem and an upper bound."""
        restricted = self.restricted
        if callable(self.master):
            alpha, weights = self.master(restricted)
            alpha = restricted.domain.project(alpha)
            return alpha, _upper(restricted, alpha, weights)
        accuracy = max(_MASTER_TOL * lower, _MASTER_SHARE * gap, 1e-300)
        result = kernel_weights(restricted, tol=accuracy, cuts=self.cuts, scale=1.0)
        self.cuts = result.info["cuts"]
        return restricted.domain.project(result.info["alpha"]), result.value

    def prune(self, alpha: Array, top: float, lower: float) -> None:
        """Drop the constraints whose slack at the solution is clear."""
        old = self.restricted
        cuts = self.restricted.cut(alpha)
        accuracy = top - cuts.min()  # of the master problem's solution
        threshold = max(_PRUNE_SHARE * accuracy, _PRUNE_TOL * lower)
        kept = np.flatnonzero(cuts - cuts.min() <= threshold)
        kernels = [old.kernels[int(i)] for i in kept]
        self.restricted = MKLWeights(kernels, old.costs[kept], old.domain)


def _upper(restricted: MKLWeights, alpha: Array, weights: Array) -> float:
    """Upper bound of the master problem by kernel weights, whatever solved it.

    ``max over b of sum_i w_i S(b, K_i)``, bounded by its tangent at alpha.
    """
    domain = restricted.domain
    image = restricted.combined(weights) @ (domain.y * alpha)
    gradient = 1.0 - domain.y * image
    return float(weights @ restricted.cut(alpha)) + domain.gap(alpha, gradient)


def _clipped_svm(problem: ProxySVM) -> Array:
    """argmax_a S(a, (K0)_+): the start of Algorithm 1."""
    clipped = problem.spectrum.map(lambda d: np.maximum(d, 0.0)).matrix()
    machine = SVMDual.classification(clipped, problem.domain)
    return solve_dual(machine, tol=1e-6)[0].x


# --------------------------------------------------------------------------------------
# The exact master problem


def restricted_master(problem: MKLWeights) -> tuple[Array, Array]:
    """Maximise t over a in Q1 with ``t <= g_i(a) = e'a - a'YK_iYa / 2 + c_i``.

    A primal-dual interior-point method with Mehrotra's (1992) steps. Each takes one
    Cholesky factor of ``sum_i w_i YK_iY`` plus a diagonal.

    Parameters
    ----------
    problem : MKLWeights
        Kernels K_i, costs c_i and the set Q1.

    Returns
    -------
    alpha : ndarray of shape (n,)
        a.
    weights : ndarray of shape (n_kernels,)
        Multipliers w of the constraints, on the simplex.
        Where rounding ends the method early, both are what it had: any point and any
        weights give valid bounds.
    """
    domain = problem.domain
    p = len(problem.kernels)
    a = domain.middle()
    g = problem.cut(a)
    t = float(g.min() - 0.1 * max(np.ptp(g), a.sum()))
    slack = np.concatenate([a, domain.upper - a, g - t])
    dual = np.maximum((g - t).mean() / (p * slack), 1e-3)
    dual[-p:] = 1.0 / p
    state: _Interior | None = _Interior(t, 0.0, slack, dual)
    for _ in range(_NEWTON_STEPS):
        if state is None:
            break
        slack = state.slack
        dual = state.dual
        state = _newton_step(problem, state)
    weights = np.maximum(dual[-p:], 1e-300)
    return slack[: domain.n], weights / weights.sum()


class _Interior(NamedTuple):
    """Point of the interior-point method.

    `slack` holds a, upper - a and s, `dual` their multipliers (w for s), and b belongs
    to y'a = 0. That s = g(a) - t and sum w = 1 holds at the solution.
    """

    t: float
    b: float
    slack: Array
    dual: Array


def _newton_step(problem: MKLWeights, state: _Interior) -> _Interior | None:
    """Take a predictor and a corrector step; None at the solution, or at rounding."""
    t, b, slack, dual = state
    y = problem.domain.y
    n = problem.domain.n
    p = len(problem.kernels)
    a = slack[:n]
    s = slack[-p:]
    w = dual[-p:]
    images = y * np.array([K @ (y * a) for K in problem.kernels])
    off_s = s + t - (a.sum() - 0.5 * images @ a + problem.costs)
    rows = np.vstack([1.0 - images, -y])  # gradients of g, and of -y'a
    off_a = dual[n : 2 * n] - dual[:n] - np.append(w, b) @ rows
    gap = float(slack @ dual)
    size = abs(t - float(problem.costs.min()))
    if gap <= _GAP * size and np.abs(off_a).max() <= _SLOPE:
        return None
    H = problem.combined(w) * y * y[:, None]
    H[np.diag_indices(n)] += (dual / slack)[:n] + (dual / slack)[n : 2 * n]
    small = np.zeros((p + 2, p + 2))
    try:
        factor = scipy.linalg.cho_factor(H, overwrite_a=True)
        solved = scipy.linalg.cho_solve(factor, rows.T)
        small[:-1, :-1] = rows @ solved + np.diag(np.append(s / w, 0.0))
        small[:p, -1] = small[-1, :p] = -1.0
        lu = scipy.linalg.lu_factor(small)
    except np.linalg.LinAlgError:
        return None

    def direction(goal: Array) -> tuple[Array, Array, Array]:
        """Steps of slack, dual and (w, b, t) that change slack * dual by `goal`."""
        pull = goal / slack
        base = scipy.linalg.cho_solve(factor, pull[:n] - pull[n : 2 * n] - off_a)
        right = np.append(goal[-p:] / w + off_s, y @ a) - rows @ base
        x = scipy.linalg.lu_solve(lu, np.append(right, w.sum() - 1.0))
        da = base + solved @ x[:-1]
        dslack = np.concatenate([da, -da, rows[:-1] @ da - x[-1] - off_s])
        ddual = (goal - dual * dslack) / slack
        ddual[-p:] = x[:p]  # the same, without cancellation where s is small
        return dslack, ddual, x

    dslack, ddual, _ = direction(-slack * dual)
    length = _longest(slack, dslack, dual, ddual)
    left = float((slack + length * dslack) @ (dual + length * ddual)) / gap
    centre = left**3 * gap / slack.size
    dslack, ddual, x = direction(centre - slack * dual - dslack * ddual)
    length = min(1.0, _TO_BOUNDARY * _longest(slack, dslack, dual, ddual))
    return _Interior(
        t + length * float(x[-1]),
        b + length * float(x[-2]),
        slack + length * dslack,
        dual + length * ddual,
    )


def _longest(slack: Array, dslack: Array, dual: Array, ddual: Array) -> float:
    """Length of the longest step, at most 1, that keeps both at or above zero."""
    shrinking = max(float(np.max(-dslack / slack)), float(np.max(-ddual / dual)))
    return min(1.0, 1.0 / max(shrinking, 1e-300))
