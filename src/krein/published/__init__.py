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
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from krein.arrays import Array
from krein.machines import newton_logistic
from krein.machines.box import BalancedBox
from krein.machines.logistic import IndefiniteLogistic
from krein.machines.mkl import MKLWeights, kernel_weights
from krein.machines.proxy import ProxySVM
from krein.published import cutting_planes, gradient_methods, semi_infinite
from krein.published import difference_of_convex as dc
from krein.published.algorithm_1 import walder_algorithm_1
from krein.published.concave_convex import CCCP_DEFAULTS, cccp_logistic
from krein.published.solver import check_positive, matrix_and_labels, on_matrix
from krein.result import Result
from krein.similarity.spectrum import Spectrum
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


# ---------------------------------------------------------- Support vector machines


def _box(y: Array, C: float) -> BalancedBox:
    return BalancedBox(np.full(y.size, check_positive("C", C)), y)


def _proxy_svm(K: Array, y: Array, *, C: float = 1.0, rho: float = 1.0) -> ProxySVM:
    """Make the problem of the proxy-kernel SVM.

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
    """
    return ProxySVM(Spectrum.exact(K), _box(y, C), check_positive("rho", rho))


def _raw_dual(K: Array, y: Array, *, C: float = 1.0) -> dc.IndefiniteDual:
    return dc.IndefiniteDual(K, _box(y, C))


def _raw_primal(K: Array, y: Array, *, C: float = 1.0) -> dc.PrimalDC:
    return dc.PrimalDC(K, y, 1.0 / check_positive("C", C))


# Their parameters are among those of the proxy-kernel SVM.
for _problem in (_raw_dual, _raw_primal):
    _problem.__doc__ = _proxy_svm.__doc__

_PAPER = {"domain": "paper", "max_iter": 1000}

spgm = on_matrix(gradient_methods.spgm, _proxy_svm)
smm = on_matrix(gradient_methods.smm, _proxy_svm)
accpm = on_matrix(cutting_planes.accpm, _proxy_svm, bound="cuts", **_PAPER)
siqclp = on_matrix(semi_infinite.siqclp, _proxy_svm, **_PAPER)
tdca = on_matrix(dc.tdca, _raw_dual)
dc_primal = on_matrix(dc.dc_primal, _raw_primal)


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
    pairs = [matrix_and_labels(K, y, f"kernels[{i}]") for i, K in enumerate(kernels)]
    parts, y = [K for K, _ in pairs], pairs[0][1]
    costs = np.zeros(len(parts))
    if target is not None:
        K0 = check_similarity(target, name="target")
        costs = rho * np.array([np.sum((K - K0) ** 2) for K in parts])
    problem = MKLWeights(parts, costs, _box(y, C))
    scale = np.ones(len(parts))
    if constraint == "trace":
        problem, scale = problem.with_unit_traces()
    result = kernel_weights(problem, tol=tol, max_iter=max_iter)
    return replace(result, x=result.x / scale)


# -------------------------------------------------------------- Logistic regression


def _logistic(
    K: Any, y: Any, alpha: float, fit_intercept: bool
) -> tuple[IndefiniteLogistic, Spectrum]:
    K, y = matrix_and_labels(K, y)
    check_positive("alpha", alpha)
    targets = (y[:, None] > 0).astype(float)
    problem = IndefiniteLogistic(K, targets, alpha, None, fit_intercept)
    return problem, Spectrum.exact(K)


def _concave_convex(
    name: str, K: Any, y: Any, alpha: float, max_iter: int, options: dict[str, Any]
) -> Result:
    start, random_state = options.pop("x0", None), options.pop("random_state", 0)
    intercept = options.pop("fit_intercept", False)
    problem, spectrum = _logistic(K, y, alpha, intercept)
    result = cccp_logistic(
        problem,
        spectrum,
        replace(CCCP_DEFAULTS[name], **options),
        None if start is None else np.asarray(start, dtype=float).reshape(-1, 1),
        random_state=np.random.RandomState(random_state),
        tol=0.0,
        max_iter=max_iter,
    )
    return replace(result, x=result.x[:, 0])


def cccp_gd(
    K: Any, y: Any, *, alpha: float = 0.01, max_iter: int = 20, **options: Any
) -> Result:
    """Concave-convex procedure by gradient descent, indefinite logistic regression.

    Liu et al., Algorithm 1 with epsilon = 0.0001, for eq. (5):
    ``1/n sum_i log(1 + exp(-y_i (Ka)_i)) + alpha/2 a'Ka``, which is unbounded below if
    K has a negative eigenvalue; stationary points are sought.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Similarity, symmetric, of any signature.
    y : array-like of shape (n,)
        Labels -1 and +1.
    alpha : float
        Penalty, the paper's lambda.
    max_iter : int
        Outer steps, the paper's k_max.
    **options
        ``epsilon, eta, decay, reset_eta, step, tau, max_inner, equations`` of
        `krein.published.concave_convex.CCCPSettings`; ``x0``, ``fit_intercept``.

    Returns
    -------
    Result
        ``x`` holds the coefficients a after the last step. Status "diverged" is
        usual: exact CCCP diverges along negative eigenvectors.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> krein.published.cccp_gd(K, [1, 1, -1], alpha=0.1).n_iter
    20
    """
    return _concave_convex("cccp-gd", K, y, alpha, max_iter, options)


def ccicp_gd(
    K: Any, y: Any, *, alpha: float = 0.01, max_iter: int = 20, **options: Any
) -> Result:
    """Concave-inexact-convex procedure with gradient descent (CCICP-GD).

    Liu et al., Algorithm 1 with epsilon = 1; the problem is that of `cccp_gd`. With
    ``equations="printed"`` steps follow (10) as printed, with ``reset_eta=False`` the
    step length only shrinks, as Algorithm 1 prints it.

    Parameters
    ----------
    K, y, alpha, max_iter
        As in `cccp_gd`.
    **options
        As in `cccp_gd`.

    Returns
    -------
    Result
        As in `cccp_gd`.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> result = krein.published.ccicp_gd(K, [1, 1, -1], alpha=0.1)
    >>> result.x.round(3)
    array([ 0.165,  0.071, -0.066])
    """
    return _concave_convex("ccicp-gd", K, y, alpha, max_iter, options)


def ccicp_sgd(
    K: Any, y: Any, *, alpha: float = 0.01, max_iter: int = 20, **options: Any
) -> Result:
    """Concave-inexact-convex procedure with stochastic gradients (CCICP-SGD).

    Liu et al., Algorithm 1 with eq. (12) and epsilon = 0.0001 (``epsilon=1`` is the
    paper's SGD-I); the problem is that of `cccp_gd`.

    Parameters
    ----------
    K, y, alpha, max_iter
        As in `cccp_gd`.
    **options
        As in `cccp_gd`, and ``batch`` (samples per step, 1 in the paper),
        ``random_state`` (seed).

    Returns
    -------
    Result
        As in `cccp_gd`.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> krein.published.ccicp_sgd(K, [1, 1, -1], alpha=0.1, batch=2).n_iter
    20
    """
    return _concave_convex("ccicp-sgd", K, y, alpha, max_iter, options)


def krein_gd(
    K: Any,
    y: Any,
    *,
    alpha: float = 0.01,
    tol: float = 1e-9,
    max_iter: int = 100_000,
    fit_intercept: bool = False,
) -> Result:
    """Gradient descent in the Krein space, for indefinite logistic regression.

    ``a <- a - eta (alpha a - y * sigmoid(-y * Ka) / n)``: the gradient of (5) of Liu et
    al. without its leading K, whose zeros are the stationary points. Not in the paper;
    it stands here because it is the first-order method that converges.

    Parameters
    ----------
    K, y, alpha
        As in `cccp_gd`.
    tol : float
        On the stationarity residual.
    max_iter : int
        Largest number of steps.
    fit_intercept : bool
        Add an intercept that is not penalised; the paper's model has none.

    Returns
    -------
    Result
        ``x`` holds the coefficients a.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> result = krein.published.krein_gd(K, [1, 1, -1], alpha=0.1)
    >>> result.status, bool(result.certificate.value <= 1e-9)
    ('converged', True)
    """
    problem, spectrum = _logistic(K, y, alpha, fit_intercept)
    largest = float(spectrum.eigenvalues.max())
    result = newton_logistic.krein_gd(
        problem, largest=largest, tol=tol, max_iter=max_iter
    )
    return replace(result, x=result.x[:, 0])
