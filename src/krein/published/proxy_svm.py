"""The proxy-kernel SVM and its kernel weights on a matrix and labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from krein.arrays import Array
from krein.machines._loop import Iterate
from krein.machines.box import BalancedBox
from krein.machines.mkl import MKLWeights, check_psd, kernel_weights
from krein.machines.proxy import ProxySVM
from krein.published import cutting_planes, gradient_methods, semi_infinite
from krein.published.checks import check, check_matrix, check_start, matrix_and_labels
from krein.result import Result
from krein.spectrum.decomposition import Spectrum
from krein.threads import rows_of, threads_by_size, threads_for

Callback = Callable[[Iterate], bool | None]
_DUAL = "the dual variables a"


def box_of(y: Array, C: float) -> BalancedBox:
    """Return Q1 = {0 <= a <= C, y'a = 0}."""
    return BalancedBox(np.full(y.size, float(C)), y)


def _proxy_svm(K: Any, y: Any, C: float, rho: float) -> ProxySVM:
    K, y = matrix_and_labels(K, y)
    return ProxySVM(Spectrum.exact(K), box_of(y, C), rho)


@threads_by_size
def spgm(
    K: Any,
    y: Any,
    *,
    C: float = 1.0,
    rho: float = 1.0,
    smoothing: float = 0.0,
    gamma: float | None = None,
    line_search: bool = False,
    stop: Literal["gap", "change"] = "gap",
    x0: Any = None,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    callback: Callback | None = None,
) -> Result:
    """Simplified projected gradient method (SPGM) for the proxy-kernel SVM.

    Ying, Campbell, Girolami (2009), Table 1, for problem (2):
    ``max over a in Q1 of min over PSD M of e'a - a'YMYa / 2 + rho ||M - K||_F^2``.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Similarity, symmetric, of any signature.
    y : array-like of shape (n,)
        Labels -1 and +1.
    C : float
        Upper bound of dual variables; weight of losses.
    rho : float
        Price of the distance between the proxy M and K.
    smoothing : float
        Above 0 the projected gradient method of Luss and d'Aspremont (2007) on their
        smoothed objective f_eps, eps = smoothing times the largest magnitude of an
        eigenvalue of K. Their formula is not in the papers at hand; the one used, the
        usual quadratic smoothing of max(0, l), stands in
        `krein.published.smoothing.SmoothedProxySVM`.
    gamma : float, optional
        gamma of Table 1, at least ``L = lambda_max(K) + n C^2 / rho`` (Theorem 2); a
        step has the length 1 / gamma. L unless given.
    line_search : bool
        Find gamma by doubling until inequality (11) holds, and halve it after each
        step; f still rises as in (12). Not in the paper.
    stop : {"gap", "change"}
        "gap": a certified gap of `tol`, relative to f - f(0). "change", the rule of the
        paper: f changed by less than `tol` of itself.
    x0 : array-like of shape (n,), optional
        Start, projected onto Q1; 0 unless given.
    tol : float
        See `stop`; with `smoothing` of f_eps.
    max_iter : int
        Largest number of steps.
    callback : callable, optional
        ``callback(iterate)`` is called with the start and after every step; iterates
        have ``x``, ``value``, ``certificate``. A true answer stops the run.

    Returns
    -------
    Result
        ``x`` is a, in [0, C]; ``value`` is f(a), constant included, also with
        `smoothing` (``info`` then has "smoothed_value" and "smoothed_gap"; status
        "converged" needs the gap of f).
        ``history["evaluations"]`` counts gradients, that is eigendecompositions in the
        published form.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> result = krein.published.spgm(K, [1, 1, -1], C=10.0)
    >>> result.status, bool(result.certificate.relative <= 1e-6)
    ('converged', True)
    """
    check(C=C, rho=rho, smoothing=smoothing, gamma=gamma, line_search=line_search)
    check(stop=stop, tol=tol, max_iter=max_iter, callback=callback)
    problem = _proxy_svm(K, y, C, rho)
    return gradient_methods.spgm(
        problem,
        check_start(x0, problem.box.n, _DUAL),
        smoothing=smoothing,
        gamma=gamma,
        line_search=line_search,
        stop=stop,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )


@threads_by_size
def smm(
    K: Any,
    y: Any,
    *,
    C: float = 1.0,
    rho: float = 1.0,
    monotone: bool = False,
    line_search: bool = False,
    stop: Literal["gap", "change"] = "gap",
    x0: Any = None,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    callback: Callback | None = None,
) -> Result:
    """Nesterov's smooth optimization method (SMM) for the proxy-kernel SVM.

    Ying, Campbell, Girolami (2009), Table 2; the problem is that of `spgm`.

    Parameters
    ----------
    K, y, C, rho
        As in `spgm`.
    monotone : bool
        Keep the best of gamma_k and its predecessor (Nesterov, 2005), the first
        improvement that the paper names; one more evaluation per step.
    line_search : bool
        Find L by doubling and halving instead of Theorem 2, the improvement that the
        paper leaves as future work.
    stop, x0, tol, max_iter, callback
        As in `spgm`.

    Returns
    -------
    Result
        As `spgm`: the best alpha_k by its certificate. The published bound O(1 / k^2)
        is of gamma_k, whose objective costs one more evaluation a step; with `monotone`
        or `line_search` these are the points.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> fast = krein.published.smm(K, [1, 1, -1], C=10.0)
    >>> slow = krein.published.spgm(K, [1, 1, -1], C=10.0)
    >>> fast.status, bool(abs(fast.value - slow.value) < 1e-5)
    ('converged', True)
    """
    check(C=C, rho=rho, monotone=monotone, line_search=line_search)
    check(stop=stop, tol=tol, max_iter=max_iter, callback=callback)
    problem = _proxy_svm(K, y, C, rho)
    return gradient_methods.smm(
        problem,
        check_start(x0, problem.box.n, _DUAL),
        monotone=monotone,
        line_search=line_search,
        stop=stop,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )


@threads_by_size
def accpm(
    K: Any,
    y: Any,
    *,
    C: float = 1.0,
    rho: float = 1.0,
    smoothing: float = 0.0,
    domain: Literal["cut", "paper"] = "paper",
    stop: Literal["gap", "change"] = "gap",
    x0: Any = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    callback: Callback | None = None,
) -> Result:
    """Analytic centre cutting planes (ACCPM) for the proxy-kernel SVM.

    Luss, d'Aspremont (2007), as described by Ying et al. (2009), section 4.3; the
    problem is that of `spgm`. Each step cuts the polytope of possible solutions at its
    analytic centre.

    Parameters
    ----------
    K, y, C, rho, smoothing
        As in `spgm`; `smoothing` makes the cuts those of the smoothed objective.
    domain : {"paper", "cut"}
        "paper": the first polytope is Q1 as printed; "cut": Q1 cut by a bound on all
        solutions, which makes the first upper bounds smaller.
    stop, x0, tol, max_iter, callback
        As in `spgm`; `x0` is moved inside Q1, whose centre is the start unless given.
        With ``stop="change"`` the objective at the centres is watched, which goes up
        and down.

    Returns
    -------
    Result
        As `spgm`. ``history["size"]``: cuts in use; ``history["evaluations"]``:
        gradients so far. The run also ends, without being converged, when the polytope
        has become too thin for double precision, often before a `tol` of 1e-6.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> krein.published.accpm(K, [1, 1, -1], C=10.0, tol=1e-3).status
    'converged'
    """
    check(C=C, rho=rho, smoothing=smoothing, domain=domain)
    check(stop=stop, tol=tol, max_iter=max_iter, callback=callback)
    problem = _proxy_svm(K, y, C, rho)
    return cutting_planes.accpm(
        problem,
        check_start(x0, problem.box.n, _DUAL),
        smoothing=smoothing,
        domain=domain,
        stop=stop,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )


@threads_by_size
def siqclp(
    K: Any,
    y: Any,
    *,
    C: float = 1.0,
    rho: float = 1.0,
    prune: bool = True,
    master: Literal["mkl", "exact"] | semi_infinite.Master = "mkl",
    domain: Literal["cut", "paper"] = "paper",
    stop: Literal["gap", "change"] = "gap",
    x0: Any = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    callback: Callback | None = None,
) -> Result:
    """Semi-infinite program (SIQCLP) for the proxy-kernel SVM.

    Chen, Ye (2008), Algorithm 1 for eq. (6); the problem is that of `spgm`. Quadratic
    constraints ``t <= S(a, K)`` are added one kernel at a time.

    Parameters
    ----------
    K, y, C, rho
        As in `spgm`.
    prune : bool
        Drop inactive constraints (section 4.2): those whose slack clearly exceeds the
        accuracy to which the master problem was solved.
    master : {"mkl", "exact"} or callable
        How to solve the master problem. "mkl": as regularised multiple kernel learning
        (Theorem 5.1), only to a fifth of the gap u - l. "exact": by an interior-point
        method. A function of `krein.machines.mkl.MKLWeights` that returns a point and
        weights: another solver. The bounds are valid in every case.
    domain : {"paper", "cut"}
        As in `accpm`.
    stop, x0, tol, max_iter, callback
        As in `spgm`. The start is, as published, the SVM on the clipped kernel unless
        `x0` is given. `tol` is on the gap u - l relative to l - f(0) (a large one is
        the early stopping of section 6.2), or with ``stop="change"`` on the change of
        u, which makes sense for the exact master.

    Returns
    -------
    Result
        As `spgm`. ``history``: ``value`` is the lower bound, ``bound`` the upper one,
        ``size`` the number of kernels in the localisation set.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> krein.published.siqclp(K, [1, 1, -1], C=10.0).status
    'converged'
    """
    check(C=C, rho=rho, prune=prune, master=master, domain=domain)
    check(stop=stop, tol=tol, max_iter=max_iter, callback=callback)
    problem = _proxy_svm(K, y, C, rho)
    return semi_infinite.siqclp(
        problem,
        check_start(x0, problem.box.n, _DUAL),
        prune=prune,
        master=master,
        domain=domain,
        stop=stop,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )


def mkl(
    kernels: Sequence[Any],
    y: Any,
    *,
    C: float = 1.0,
    rho: float = 1.0,
    target: Any = None,
    normalize: Literal["trace"] | None = None,
    x0: Any = None,
    tol: float = 1e-6,
    max_iter: int = 500,
    callback: Callback | None = None,
) -> Result:
    """Regularised multiple kernel learning, eqs. (25) and (27) of Chen and Ye (2008).

    ``min over theta >= 0 of max over a in Q1 of e'a - a'Y(sum_i theta_i K_i)Ya / 2 +
    rho sum_i theta_i ||K_i - K0||_F^2``. Both equations lack theta >= 0 in print, which
    Theorem 5.1 needs.

    Parameters
    ----------
    kernels : sequence of array-like of shape (n, n)
        Positive semidefinite kernels K_i.
    y, C
        As in `spgm`.
    rho : float
        Price of the distance between K_i and K0.
    target : array-like of shape (n, n), optional
        K0; the last term is absent without it.
    normalize : {None, "trace"}
        None: ``sum theta_i = 1``, eq. (27). "trace": ``sum theta_i tr K_i = 1``,
        eq. (25).
    x0 : array-like of shape (n_kernels,), optional
        First weights theta, not negative; their common factor does not matter. Equal
        shares unless given.
    tol : float
        Gap between both bounds, relative to the objective without the last term.
    max_iter, callback
        As in `spgm`.

    Returns
    -------
    Result
        ``x`` is theta; ``info["alpha"]`` solves the dual.

    Examples
    --------
    >>> import numpy as np
    >>> import krein
    >>> good = np.outer([1, 2, -1, -2], [1, 2, -1, -2])
    >>> y = [1, 1, -1, -1]
    >>> krein.published.mkl([good, np.eye(4)], y).x.round(4) + 0.0
    array([1., 0.])
    >>> krein.published.mkl([good, np.eye(4)], y, normalize="trace").x.round(4) + 0.0
    array([0.1, 0. ])
    """
    check(C=C, rho=rho, normalize=normalize)
    check(tol=tol, max_iter=max_iter, callback=callback)
    if len(kernels) == 0:
        raise ValueError("kernels is empty; give at least one kernel")
    with threads_for(rows_of(y)):
        parts, y = _positive_kernels(kernels, y)
        costs = np.zeros(len(parts))
        if target is not None:
            costs = rho * _distances(parts, check_matrix(target, "target"))
        unit = np.ones(len(parts))
        if normalize == "trace":
            unit = _traces(parts)
            parts = [K / trace for K, trace in zip(parts, unit, strict=True)]

        def theirs(iterate: Iterate) -> bool | None:
            assert callback is not None
            return callback(replace(iterate, x=iterate.x / unit))

        result = kernel_weights(
            MKLWeights(parts, costs / unit, box_of(y, C)),
            _first_weights(x0, unit),
            tol=tol,
            max_iter=max_iter,
            callback=None if callback is None else theirs,
        )
    return replace(result, x=result.x / unit)


def _distances(kernels: list[Array], K0: Array) -> Array:
    """Squared Frobenius distances of the kernels to K0."""
    if K0.shape != kernels[0].shape:
        raise ValueError(f"target must have shape {kernels[0].shape}, got {K0.shape}")
    return np.array([np.sum((K - K0) ** 2) for K in kernels])


def _positive_kernels(kernels: Sequence[Any], y: Any) -> tuple[list[Array], Array]:
    pairs = [matrix_and_labels(K, y, f"kernels[{i}]") for i, K in enumerate(kernels)]
    for i, (K, _) in enumerate(pairs):
        check_psd(K, f"kernels[{i}]")
    return [K for K, _ in pairs], pairs[0][1]


def _traces(kernels: list[Array]) -> Array:
    traces = np.array([float(np.trace(K)) for K in kernels])
    if traces.min() <= 0.0:
        raise ValueError(
            f"kernels[{int(traces.argmin())}] has trace {traces.min():.3g}; with "
            "normalize='trace' no kernel may be zero: leave it out"
        )
    return traces


def _first_weights(x0: Any, unit: Array) -> Array | None:
    """Return the shares of the kernels that `x0` stands for."""
    theta = check_start(x0, unit.size, "the weights of the kernels")
    if theta is None:
        return None
    if theta.min() < 0.0 or not theta.any():
        raise ValueError(
            f"x0 must hold weights of 0 or more, not all of them 0, got {theta}"
        )
    shares = theta * unit
    return shares / shares.sum()
