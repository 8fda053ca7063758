"""The semi-infinite program of Chen and Ye (2008), Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from krein.arrays import Array
from krein.problems.mkl import MKLWeights
from krein.problems.proxy import ProxySVM
from krein.result import Certificate, Result
from krein.solvers._contract import in_units, needs
from krein.solvers._loop import Iterate, Stop, run
from krein.solvers.libsvm import svm_dual
from krein.solvers.mkl import kernel_weights

__all__ = ["siqclp"]

_MASTER_TOL = 1e-7  # of the master problem, relative to f - f(0)
_MASTER_SHARE = 0.2  # of the gap between the bounds, where that is more
_PRUNE_TOL = 1e-5  # slack of a constraint that counts as inactive, at least


@needs("domain", "rise_grad", "proxy_kernel", "spectrum")
@in_units
def siqclp(
    problem: ProxySVM,
    x0: Array | None = None,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    prune: bool = True,
    master: Literal["mkl", "clarabel"] = "mkl",
    stop: Stop = "gap",
    callback: Callable[[Iterate], bool | None] | None = None,
    on_interrupt: Literal["raise", "return"] = "raise",
) -> Result:
    """SIQCLP: quadratic constraints ``t <= S(a, K)`` added one kernel at a time.

    Step 1 finds the kernel K*(a) of the most violated constraint (eq. 9) and with it
    the lower bound l = max S(a, K*) = max f (eq. 11). Step 2 solves the restricted
    master problem (eq. 7) over the kernels so far, whose value is the upper bound u
    (eq. 13). Both are monotone (Theorem 4.1).

    Parameters
    ----------
    problem : ProxySVM
        The problem; weights are not supported by the published method, they enter as
        in `ProxySVM`.
    x0 : ndarray of shape (n,), optional
        Start; the SVM on the clipped kernel unless given, as published.
    tol : float
        Relative gap u - l; a large one is the early stopping of section 6.2. With
        ``stop="change"`` relative change of u.
    max_iter : int
        Largest number of kernels added.
    prune : bool
        Drop inactive constraints (section 4.2), with a slack above the accuracy of
        the master problem: otherwise the upper bound is not monotone.
    master : {"mkl", "clarabel"}
        The master problem as regularised multiple kernel learning (Theorem 5.1), only
        to a fifth of the gap u - l, or exactly, as a conic program by an
        interior-point method. Both bounds are valid either way; an inexact master
        makes u fall more slowly.
    stop : {"gap", "change"}
        What `tol` is compared with; ``"change"`` is the rule of Ying et al. (2009),
        here on the value u of the master problem (l may stand still between two
        rises). Sensible with the exact master only.
    callback, on_interrupt
        See `krein.solvers._loop.run`.

    Returns
    -------
    Result
        ``history``: ``value`` is the lower bound, ``bound`` the upper one, ``size`` the
        number of kernels in the localisation set.
    """
    if master not in ("mkl", "clarabel"):
        raise ValueError(f"master must be 'mkl' or 'clarabel', got {master!r}")
    iterates = _iterates(problem, x0, prune, master)
    return run(
        iterates,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
        on_interrupt=on_interrupt,
        stop=stop,
    )


def _iterates(
    problem: ProxySVM, x0: Array | None, prune: bool, master: str
) -> Iterator[Iterate]:
    alpha = _clipped_svm(problem) if x0 is None else problem.domain.project(x0)
    best, lower, upper = alpha, -np.inf, np.inf
    kernels: list[Array] = []
    costs: list[float] = []
    cuts: list[Array] = [alpha]
    while True:
        rise, gradient = problem.rise_grad(alpha)
        if rise > lower:
            best, lower = alpha, rise
        if upper == np.inf:
            upper = rise + problem.domain.gap(alpha, gradient)
        yield _iterate(problem, best, lower, upper, len(kernels))
        kernels.append(problem.proxy_kernel(alpha))
        costs.append(_cost(problem, alpha, kernels[-1], rise))
        restricted = MKLWeights(kernels, np.array(costs), problem.domain)
        scale = max(lower, 1e-300)
        accuracy = max(_MASTER_TOL * scale, _MASTER_SHARE * (upper - max(lower, 0.0)))
        if master == "mkl":
            result = kernel_weights(
                restricted, tol=accuracy, cuts=np.array(cuts), scale=1.0
            )
            alpha, cuts, top = result.info["alpha"], result.info["cuts"], result.value
        else:
            alpha, top = _conic_master(restricted)
        upper = min(upper, top)
        alpha = problem.domain.project(alpha)
        if prune:
            slack = restricted.cut(alpha)
            slack = slack - slack.min()
            active = slack <= max(_PRUNE_TOL * scale, 3.0 * accuracy)
            kernels = [K for K, keep in zip(kernels, active, strict=True) if keep]
            costs = [c for c, keep in zip(costs, active, strict=True) if keep]


def _iterate(
    problem: ProxySVM, alpha: Array, lower: float, upper: float, size: int
) -> Iterate:
    gap = max(0.0, upper - lower)
    relative = gap / lower if lower > 0.0 else (np.inf if gap > 0.0 else 0.0)
    return Iterate(
        alpha,
        problem.constant + lower,
        Certificate("gap", gap, relative),
        bound=problem.constant + upper,
        watched=problem.constant + upper,
        facts={"size": size},
    )


def _clipped_svm(problem: ProxySVM) -> Array:
    """argmax_a S(a, (K0)_+): the start of Algorithm 1."""
    clipped = problem.spectrum.map(lambda d: np.maximum(d, 0.0)).matrix()
    return svm_dual(clipped, problem.domain, tol=1e-6)[0].x


def _cost(problem: ProxySVM, alpha: Array, kernel: Array, rise: float) -> float:
    """Cost rho ||K - K0||^2 - f(0), from S(a, K*(a)) = f(a): nothing cancels."""
    v = problem.domain.y * alpha
    return rise - float(alpha.sum()) + 0.5 * float(v @ (kernel @ v))


def _conic_master(restricted: MKLWeights) -> tuple[Array, float]:
    """The restricted master problem as a second-order cone program, by Clarabel."""
    from krein.solvers._conic import restricted_master

    return restricted_master(restricted)
