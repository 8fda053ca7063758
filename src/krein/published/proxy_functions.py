"""The proxy-kernel SVM's published algorithms as functions of a matrix and labels.

Defaults are those of the papers where they state any. Each function returns a
`krein.Result`: ``x``, ``value``, ``certificate``, ``status``, ``history``. Labels are
-1 and +1; the estimators handle names, several classes, weights and new items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from krein.arrays import Array
from krein.machines.box import BalancedBox
from krein.machines.mkl import MKLWeights, kernel_weights
from krein.machines.proxy import ProxySVM
from krein.published import cutting_planes, gradient_methods, semi_infinite
from krein.result import Result
from krein.similarity.spectrum import Spectrum
from krein.validation import check_similarity


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


def check_positive(**given: float) -> None:
    """Refuse parameters that are not positive numbers."""
    for name, value in given.items():
        if not 0.0 < value < np.inf:
            raise ValueError(f"{name} must be a positive number, got {value!r}")


def _proxy(K: Any, y: Any, C: float, rho: float) -> ProxySVM:
    K, y = matrix_and_labels(K, y)
    check_positive(C=C, rho=rho)
    return ProxySVM(Spectrum.exact(K), BalancedBox(np.full(y.size, float(C)), y), rho)


def spgm(K: Any, y: Any, *, C: float = 1.0, rho: float = 1.0, **options: Any) -> Result:
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
        Upper bound of a.
    rho : float
        Price of the distance between the proxy M and K.
    **options
        ``tol`` (1e-6 unless given): relative certified gap, or with ``stop="change"``,
        the published rule, relative change of the objective; ``max_iter`` (10 000),
        ``gamma`` (at least 1, in units of L), ``line_search``, ``constant`` ("printed"
        or "sharp" L of Theorem 2), ``smoothing`` (above 0: the objective of Luss and
        d'Aspremont, 2007), ``stop``, ``callback``, ``on_interrupt``, ``x0``. See
        `krein.published.gradient_methods`.

    Returns
    -------
    Result
        ``x`` is a, in [0, C]; ``value`` is f(a), constant included.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> result = krein.published.spgm(K, [1, 1, -1], C=10.0)
    >>> result.status, bool(result.certificate.relative <= 1e-6)
    ('converged', True)
    """
    return gradient_methods.spgm(_proxy(K, y, C, rho), **options)


def smm(K: Any, y: Any, *, C: float = 1.0, rho: float = 1.0, **options: Any) -> Result:
    """Nesterov's smooth optimization method (SMM) for the proxy-kernel SVM.

    Ying, Campbell, Girolami (2009), Table 2; the problem is that of `spgm`.

    Parameters
    ----------
    K, y, C, rho
        As in `spgm`.
    **options
        ``tol``, ``max_iter``, ``stop`` as in `spgm`, ``monotone``, ``line_search``,
        ``constant``, ``callback``, ``on_interrupt``, ``x0``. See
        `krein.published.gradient_methods`.

    Returns
    -------
    Result
        As in `spgm`.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> fast = krein.published.smm(K, [1, 1, -1], C=10.0)
    >>> slow = krein.published.spgm(K, [1, 1, -1], C=10.0)
    >>> fast.status, bool(abs(fast.value - slow.value) < 1e-5)
    ('converged', True)
    """
    return gradient_methods.smm(_proxy(K, y, C, rho), **options)


def accpm(
    K: Any, y: Any, *, C: float = 1.0, rho: float = 1.0, **options: Any
) -> Result:
    """Analytic centre cutting planes (ACCPM) for the proxy-kernel SVM.

    Luss, d'Aspremont (2007), as described by Ying et al. (2009), section 4.3; the
    problem is that of `spgm`.

    Parameters
    ----------
    K, y, C, rho
        As in `spgm`.
    **options
        ``tol``, ``max_iter`` (1000 unless given), ``stop`` as in `spgm`, ``domain``
        ("paper", Q1 as printed, or "cut" by a bound on all solutions), ``bound``
        ("cuts", or "point": the gap at the point alone), ``max_cuts``, ``smoothing``,
        ``callback``, ``on_interrupt``, ``x0``. See
        `krein.published.cutting_planes`.

    Returns
    -------
    Result
        As in `spgm`; ``history["size"]`` counts the cuts.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> krein.published.accpm(K, [1, 1, -1], C=10.0).status
    'converged'
    """
    options = {"domain": "paper", "bound": "cuts", "max_iter": 1000, **options}
    return cutting_planes.accpm(_proxy(K, y, C, rho), **options)


def siqclp(
    K: Any, y: Any, *, C: float = 1.0, rho: float = 1.0, **options: Any
) -> Result:
    """Semi-infinite program (SIQCLP) for the proxy-kernel SVM.

    Chen, Ye (2008), Algorithm 1 for eq. (6); the problem is that of `spgm`.

    Parameters
    ----------
    K, y, C, rho
        As in `spgm`.
    **options
        ``tol`` (1e-6 unless given) on the gap u - l between the bounds (11) and (13),
        relative to l - f(0); ``max_iter`` (1000), ``domain`` as in `accpm`, ``prune``
        (section 4.2), ``master`` ("mkl", Theorem 5.1, or "clarabel", which solves (7)
        exactly), ``stop``, ``callback``, ``on_interrupt``, ``x0``. See
        `krein.published.semi_infinite`.

    Returns
    -------
    Result
        As in `spgm`; ``history["value"]`` and ``history["bound"]`` are l and u,
        ``history["size"]`` counts the kernels kept.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> krein.published.siqclp(K, [1, 1, -1], C=10.0).status
    'converged'
    """
    options = {"domain": "paper", "max_iter": 1000, **options}
    return semi_infinite.siqclp(_proxy(K, y, C, rho), **options)


def mkl(
    kernels: Sequence[Any],
    y: Any,
    *,
    C: float = 1.0,
    rho: float = 1.0,
    target: Any = None,
    constraint: Literal["simplex", "trace"] = "simplex",
    tol: float = 1e-6,
    max_iter: int = 500,
) -> Result:
    """Regularised multiple kernel learning, eqs. (25) and (27) of Chen and Ye (2008).

    ``min over theta >= 0 of max over a in Q1 of e'a - a'Y(sum_i theta_i K_i)Ya / 2 +
    rho sum_i theta_i ||K_i - K0||_F^2``.

    Parameters
    ----------
    kernels : sequence of array-like of shape (n, n)
        Positive semidefinite kernels K_i.
    y, C, rho, tol, max_iter
        As in `spgm`; `tol` is the relative gap between the bounds.
    target : array-like of shape (n, n), optional
        K0; the last term is absent without it.
    constraint : {"simplex", "trace"}
        ``sum theta_i = 1``, eq. (27), or ``sum theta_i tr K_i = 1``, eq. (25).

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
    >>> result = krein.published.mkl([good, np.eye(4)], y, constraint="trace")
    >>> result.x.round(4)
    array([0.1, 0. ])
    """
    if len(kernels) == 0:
        raise ValueError("kernels is empty; give at least one kernel")
    if constraint not in ("simplex", "trace"):
        raise ValueError(f"constraint must be 'simplex' or 'trace', got {constraint!r}")
    check_positive(C=C)
    pairs = [matrix_and_labels(K, y, f"kernels[{i}]") for i, K in enumerate(kernels)]
    parts, y = [K for K, _ in pairs], pairs[0][1]
    costs = np.zeros(len(parts))
    if target is not None:
        K0 = check_similarity(target, name="target")
        costs = rho * np.array([np.sum((K - K0) ** 2) for K in parts])
    box = BalancedBox(np.full(y.size, float(C)), y)
    problem = MKLWeights(parts, costs, box)
    scale = np.ones(len(parts))
    if constraint == "trace":
        problem, scale = problem.with_unit_traces()
    result = kernel_weights(problem, tol=tol, max_iter=max_iter)
    return replace(result, x=result.x / scale)
