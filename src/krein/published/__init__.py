"""The papers' own algorithms, to be called on a matrix and labels.

Here belong algorithms that a paper prints, faithful to it: source, equation numbers,
objective, signs and scaling are in the docstrings, deviations too. krein's own solvers
are in `krein.machines`, and are faster; the estimators reach both by ``solver=``.
Nothing here is needed to fit a model with the defaults.

Defaults are those of the papers where they state any. Each function returns a
`krein.Result`: ``x``, ``value``, ``certificate``, ``status``, ``history``. Labels are
-1 and +1; the estimators handle names, several classes, weights and new items.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.machines.box import BalancedBox
from krein.machines.mkl import MKLWeights, kernel_weights
from krein.machines.proxy import ProxySVM
from krein.published import cutting_planes, gradient_methods, semi_infinite
from krein.published import difference_of_convex as dc
from krein.published.algorithm_1 import walder_algorithm_1
from krein.published.logistic import cccp_gd, ccicp_gd, ccicp_sgd, krein_gd
from krein.published.solver import check_positive, matrix_and_labels
from krein.result import Result
from krein.spectrum.decomposition import Spectrum
from krein.validation import check_similarity

__all__ = [
    "accpm",
    "cccp_gd",
    "ccicp_gd",
    "ccicp_sgd",
    "dc_primal",
    "krein_gd",
    "mkl",
    "siqclp",
    "smm",
    "spgm",
    "tdca",
    "walder_algorithm_1",
]


def _box(y: Array, C: float) -> BalancedBox:
    return BalancedBox(np.full(y.size, check_positive("C", C)), y)


def _proxy_svm(K: Any, y: Any, C: float, rho: float) -> ProxySVM:
    K, y = matrix_and_labels(K, y)
    return ProxySVM(Spectrum.exact(K), _box(y, C), check_positive("rho", rho))


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
        Upper bound of dual variables; weight of losses.
    rho : float
        Price of the distance between the proxy M and K.
    **options
        ``tol=1e-6``, ``max_iter=10_000``, ``stop`` ("gap": a certified gap of `tol`
        relative to f - f(0); "change", the rule of the paper: f changed by less than
        `tol` of itself), ``callback`` (called with every iterate; a true answer stops
        the run), ``x0`` (start; 0 unless given) and ``line_search`` of
        `krein.published.gradient_methods.spgm`.

    Returns
    -------
    Result
        ``x`` is a, in [0, C]; ``value`` is f(a), constant included;
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
    return gradient_methods.spgm(_proxy_svm(K, y, C, rho), **options)


def smm(K: Any, y: Any, *, C: float = 1.0, rho: float = 1.0, **options: Any) -> Result:
    """Nesterov's smooth optimization method (SMM) for the proxy-kernel SVM.

    Ying, Campbell, Girolami (2009), Table 2; the problem is that of `spgm`.

    Parameters
    ----------
    K, y, C, rho
        As in `spgm`.
    **options
        ``tol``, ``max_iter``, ``stop``, ``callback``, ``x0`` as in `spgm`, and those of
        `krein.published.gradient_methods.smm`: ``monotone``, ``line_search``.

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
    return gradient_methods.smm(_proxy_svm(K, y, C, rho), **options)


_PAPER = {"domain": "paper", "max_iter": 1000}


def accpm(
    K: Any, y: Any, *, C: float = 1.0, rho: float = 1.0, **options: Any
) -> Result:
    """Analytic centre cutting planes (ACCPM) for the proxy-kernel SVM.

    Luss, d'Aspremont (2007), as described by Ying et al. (2009), section 4.3; the
    problem is that of `spgm`. Each step cuts the polytope of possible solutions at its
    analytic centre.

    Parameters
    ----------
    K, y, C, rho
        As in `spgm`.
    **options
        ``tol``, ``max_iter=1000``, ``stop``, ``callback``, ``x0`` as in `spgm`, and
        ``domain="paper"`` of `krein.published.cutting_planes.accpm`.

    Returns
    -------
    Result
        ``history["size"]``: cuts in use; ``history["evaluations"]``: gradients so far.
        The run also ends (status ``"stalled"``, fewer steps) when the polytope has
        become too thin for double precision, often before a `tol` of 1e-6. With
        ``stop="change"`` the objective at the centres is watched, which goes up and
        down.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> krein.published.accpm(K, [1, 1, -1], C=10.0, tol=1e-3).status
    'converged'
    """
    return cutting_planes.accpm(_proxy_svm(K, y, C, rho), **{**_PAPER, **options})


def siqclp(
    K: Any, y: Any, *, C: float = 1.0, rho: float = 1.0, **options: Any
) -> Result:
    """Semi-infinite program (SIQCLP) for the proxy-kernel SVM.

    Chen, Ye (2008), Algorithm 1 for eq. (6); the problem is that of `spgm`. Quadratic
    constraints ``t <= S(a, K)`` are added one kernel at a time.

    Parameters
    ----------
    K, y, C, rho
        As in `spgm`.
    **options
        ``tol``, ``max_iter=1000``, ``stop``, ``callback``, ``x0`` as in `spgm`, and
        those of `krein.published.semi_infinite.siqclp`: ``prune``, ``master``,
        ``domain="paper"``.

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
    return semi_infinite.siqclp(_proxy_svm(K, y, C, rho), **{**_PAPER, **options})


def tdca(K: Any, y: Any, *, C: float = 1.0, **options: Any) -> Result:
    """Truncated DCA by blocks (TDCASVM) for the SVM dual on a raw indefinite kernel.

    Akoa (2008): ``max e'a - a'YKYa / 2`` over 0 <= a <= C, y'a = 0.

    Parameters
    ----------
    K, y, C
        As in `spgm`.
    **options
        Those of `krein.published.difference_of_convex.tdca`: ``start``, ``block``,
        ``mu``, ``tol``, ``max_iter``.

    Returns
    -------
    Result
        ``x`` is a, in the box; a KKT point, not an optimum, where K is indefinite.
        ``value`` is the maximised dual, the certificate the maximal violating pair.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> krein.published.tdca(K, [1, 1, -1]).status
    'converged'
    """
    K, y = matrix_and_labels(K, y)
    return dc.tdca(dc.IndefiniteDual(K, _box(y, C)), **options)


def dc_primal(K: Any, y: Any, *, C: float = 1.0, **options: Any) -> Result:
    """IKSVM-DC: DCA on the SVM primal with a raw indefinite kernel, and extrapolation.

    Xu, Xue, Chen, Wang (2017): minimise
    ``F = gamma/2 b'Kb + 1/2 sum_i max(0, 1 - y_i (Kb + b0)_i)^2`` with gamma = 1 / C,
    which may be unbounded below.

    Parameters
    ----------
    K, y, C
        As in `spgm`.
    **options
        ``tol`` and ``max_iter`` of `krein.published.difference_of_convex.dc_primal`.

    Returns
    -------
    Result
        ``x`` holds b and, last, b0; the certificate is the norm of the gradient,
        relative to that at the origin. Status "diverged": a direction was found along
        which F is unbounded below (as soon as F < 0, or before).

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> krein.published.dc_primal(K, [1, 1, -1]).status
    'diverged'
    >>> K = [[1.0, 0.9, -0.2], [0.9, 1.0, -0.4], [-0.2, -0.4, 1.0]]
    >>> krein.published.dc_primal(K, [1, 1, -1]).status
    'converged'
    """
    K, y = matrix_and_labels(K, y)
    return dc.dc_primal(dc.PrimalDC(K, y, 1.0 / check_positive("C", C)), **options)


def mkl(
    kernels: Sequence[Any],
    y: Any,
    *,
    C: float = 1.0,
    rho: float = 1.0,
    target: Any = None,
    tol: float = 1e-6,
    max_iter: int = 500,
) -> Result:
    """Regularised multiple kernel learning, eq. (27) of Chen and Ye (2008).

    ``min over theta >= 0 of max over a in Q1 of e'a - a'Y(sum_i theta_i K_i)Ya / 2 +
    rho sum_i theta_i ||K_i - K0||_F^2``, sum theta_i = 1. Eq. (25) has
    ``sum theta_i tr K_i = 1``: without a target it is this for ``K_i / tr K_i``.

    Parameters
    ----------
    kernels : sequence of array-like of shape (n, n)
        Positive semidefinite kernels K_i.
    y, C, rho, tol, max_iter
        As in `spgm`; `tol` is the relative gap between the bounds.
    target : array-like of shape (n, n), optional
        K0; the last term is absent without it.

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
    """
    if len(kernels) == 0:
        raise ValueError("kernels is empty; give at least one kernel")
    pairs = [matrix_and_labels(K, y, f"kernels[{i}]") for i, K in enumerate(kernels)]
    parts, y = [K for K, _ in pairs], pairs[0][1]
    costs = np.zeros(len(parts))
    if target is not None:
        K0 = check_similarity(target, name="target")
        costs = rho * np.array([np.sum((K - K0) ** 2) for K in parts])
    problem = MKLWeights(parts, costs, _box(y, C))
    return kernel_weights(problem, tol=tol, max_iter=max_iter)
