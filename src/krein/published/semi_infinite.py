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

from collections.abc import Iterator
from typing import Literal

import numpy as np
import scipy.sparse

from krein.arrays import Array
from krein.machines._loop import Iterate
from krein.machines.libsvm import svm_dual
from krein.machines.mkl import MKLWeights, kernel_weights
from krein.machines.proxy import ProxySVM
from krein.published.solver import Domain, certified, on_domain, proxy_solver
from krein.words import import_optional

_MASTER_TOL = 1e-7  # of the master problem, relative to f - f(0)
_MASTER_SHARE = 0.2  # of the gap u - l, where that is more
# A constraint counts as inactive (section 4.2) if its slack exceeds three times the
# accuracy of the master problem, which shrinks with the gap u - l.
_PRUNE_SHARE = 3.0
_PRUNE_TOL = 1e-7  # relative to f - f(0)
_CONIC_TOL = 1e-10
# Near the solution, so many kernels in a row that lower nothing end the run: rounding.
_PATIENCE, _NEAR = 20, 1e-5


@proxy_solver
def siqclp(
    problem: ProxySVM,
    x0: Array | None = None,
    *,
    prune: bool = True,
    master: Literal["mkl", "clarabel"] = "mkl",
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
    master : {"mkl", "clarabel"}
        The master problem as regularised multiple kernel learning (Theorem 5.1), only
        to a fifth of the gap u - l, or exactly, as a conic program by an
        interior-point method. Both bounds are valid either way; an inexact master
        makes u fall more slowly. u comes from the multipliers of the constraints, so
        that it is valid also where the interior-point method ends before its
        tolerance. The run ends (status ``"max_iter"``, fewer steps) when u does not
        fall any more, at relative gaps near 1e-8.
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

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> krein.published.siqclp(K, [1, 1, -1], C=10.0).status
    'converged'
    """
    if master not in ("mkl", "clarabel"):
        raise ValueError(f"master must be 'mkl' or 'clarabel', got {master!r}")
    return _kernels_added(on_domain(problem, domain), x0, prune, master)


def _kernels_added(
    problem: ProxySVM, x0: Array | None, prune: bool, master: str
) -> Iterator[Iterate]:
    alpha = _clipped_svm(problem) if x0 is None else problem.domain.project(x0)
    best, lower, upper, least = alpha, -np.inf, np.inf, np.inf
    localisation, idle = _Localisation(problem, master, alpha), 0
    while idle < _PATIENCE or upper - lower > _NEAR * max(lower, 0.0):
        rise, gradient = problem.rise_grad(alpha)
        if rise > lower:
            best, lower = alpha, rise
        if upper == np.inf:
            upper = rise + problem.domain.gap(alpha, gradient)
        facts = {"size": len(localisation.kernels)}
        watched = problem.constant + upper
        yield certified(problem, best, lower, upper, watched=watched, facts=facts)
        localisation.add(alpha, rise)
        alpha, top = localisation.solve(lower, upper - max(lower, 0.0))
        idle = 0 if top < least else idle + 1
        # Where its value does not fall, an inexact master could go round in circles.
        if prune and idle == 0:
            localisation.prune(alpha, top, lower)
        least, upper = min(least, top), min(upper, top)


class _Localisation:
    """The kernels found so far, and the restricted master problem over them."""

    def __init__(self, problem: ProxySVM, master: str, alpha: Array) -> None:
        self.problem, self.master = problem, master
        self.kernels: list[Array] = []
        self.costs: list[float] = []
        self.cuts = [alpha]

    def add(self, alpha: Array, rise: float) -> None:
        """Add the most violated constraint, K*(alpha).

        Its cost rho ||K - K0||^2 - f(0) comes from S(a, K*(a)) = f(a): nothing cancels.
        """
        kernel, v = self.problem.proxy_kernel(alpha), self.problem.domain.y * alpha
        self.kernels.append(kernel)
        self.costs.append(rise - float(alpha.sum()) + 0.5 * float(v @ (kernel @ v)))

    @property
    def restricted(self) -> MKLWeights:
        """The weights' problem, whose dual is the restricted master problem."""
        return MKLWeights(self.kernels, np.array(self.costs), self.problem.domain)

    def solve(self, lower: float, gap: float) -> tuple[Array, float]:
        """Return a solution of the restricted master problem and an upper bound."""
        if self.master == "clarabel":
            alpha, weights = restricted_master(self.restricted)
            alpha = self.problem.domain.project(alpha)
            return alpha, _upper(self.restricted, alpha, weights)
        accuracy = max(_MASTER_TOL * lower, _MASTER_SHARE * gap, 1e-300)
        result = kernel_weights(
            self.restricted, tol=accuracy, cuts=np.array(self.cuts), scale=1.0
        )
        self.cuts = result.info["cuts"]
        return self.problem.domain.project(result.info["alpha"]), result.value

    def prune(self, alpha: Array, top: float, lower: float) -> None:
        """Drop the constraints whose slack at the solution is clear."""
        cuts = self.restricted.cut(alpha)
        accuracy = top - cuts.min()  # of the master problem's solution
        threshold = max(_PRUNE_SHARE * accuracy, _PRUNE_TOL * lower)
        kept = np.flatnonzero(cuts - cuts.min() <= threshold)
        self.kernels = [self.kernels[i] for i in kept]
        self.costs = [self.costs[i] for i in kept]


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
    return svm_dual(clipped, problem.domain, tol=1e-6)[0].x


# --------------------------------------------------------------------------------------
# The exact master problem


def restricted_master(problem: MKLWeights) -> tuple[Array, Array]:
    """Maximise t over a in Q1 with ``t <= e'a - a'YK_iYa / 2 + c_i``, by Clarabel.

    With K_i = B_i B_i' each constraint is ``||B_i'Ya||^2 <= 2 s_i``, the cone
    ``||(sqrt(2) B_i'Ya, s_i - 1)|| <= s_i + 1`` with s_i = e'a + c_i - t.

    Parameters
    ----------
    problem : MKLWeights
        Kernels K_i, costs c_i and the set Q1.

    Returns
    -------
    alpha : ndarray of shape (n,)
        a.
    weights : ndarray of shape (n_kernels,)
        Multipliers of the constraints, on the simplex.
        Where the interior-point method did not reach its tolerance, both are what it
        had: any point and any weights give valid bounds.
    """
    clarabel = import_optional(
        "clarabel", extra="conic", needed_for="master='clarabel'"
    )
    domain, n = problem.domain, problem.domain.n
    no_t = np.zeros((n, 1))
    blocks = [
        np.append(domain.y, 0.0)[None],
        np.hstack([-np.eye(n), no_t]),
        np.hstack([np.eye(n), no_t]),
    ]
    right = [np.zeros(1), np.zeros(n), domain.upper]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
    for K, c in zip(problem.kernels, problem.costs, strict=True):
        block = _cone(K, domain.y)
        blocks.append(block)
        right.append(np.concatenate([[c + 1.0], np.zeros(len(block) - 2), [c - 1.0]]))
        cones.append(clarabel.SecondOrderConeT(len(block)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _CONIC_TOL
    solution = clarabel.DefaultSolver(
        scipy.sparse.csc_matrix((n + 1, n + 1)),
        np.append(np.zeros(n), -1.0),
        scipy.sparse.csc_matrix(np.vstack(blocks)),
        np.concatenate(right),
        cones,
        settings,
    ).solve()
    x, z = np.nan_to_num(solution.x), np.nan_to_num(solution.z)
    first = np.cumsum([2 * n + 1, *(len(block) for block in blocks[3:])])
    weights = np.maximum(z[first[:-1]] + z[first[1:] - 1], 1e-300)
    return x[:n], weights / weights.sum()


def _cone(K: Array, y: Array) -> Array:
    """Rows of one kernel's cone in the variables (a, t)."""
    values, U = np.linalg.eigh(K)
    kept = values > 1e-12 * max(float(values[-1]), 1e-300)
    B = (U[:, kept] * np.sqrt(2.0 * values[kept])).T * y
    s = np.append(np.ones(y.size), -1.0)[None]
    return -np.vstack([s, np.hstack([B, np.zeros((B.shape[0], 1))]), s])
