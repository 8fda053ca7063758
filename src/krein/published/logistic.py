"""Indefinite logistic regression on a matrix and labels: procedures of Liu et al."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from krein.machines import newton_logistic
from krein.machines.logistic import IndefiniteLogistic
from krein.published.concave_convex import CCCP_DEFAULTS, cccp_logistic
from krein.published.solver import check_positive, matrix_and_labels
from krein.result import Result
from krein.spectrum.decomposition import Spectrum


def _logistic(
    K: Any, y: Any, alpha: float, fit_intercept: bool
) -> tuple[IndefiniteLogistic, Spectrum]:
    K, y = matrix_and_labels(K, y)
    check_positive("alpha", alpha)
    targets = (y[:, None] > 0).astype(float)
    problem = IndefiniteLogistic(K, targets, alpha, None, fit_intercept)
    return problem, Spectrum.exact(K)


def _concave_convex(
    name: str, K: Any, y: Any, alpha: float, options: dict[str, Any]
) -> Result:
    start, random_state = options.pop("x0", None), options.pop("random_state", 0)
    max_iter = options.pop("max_iter", 20)
    problem, spectrum = _logistic(K, y, alpha, options.pop("fit_intercept", False))
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


def cccp_gd(K: Any, y: Any, *, alpha: float = 0.01, **options: Any) -> Result:
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
    **options
        ``max_iter=20`` (outer steps, the paper's k_max); ``x0``, ``fit_intercept``;
        ``epsilon, eta, decay, reset_eta, step, tau, max_inner, equations`` of
        `krein.published.concave_convex.CCCPSettings`.

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
    return _concave_convex("cccp-gd", K, y, alpha, options)


def ccicp_gd(K: Any, y: Any, *, alpha: float = 0.01, **options: Any) -> Result:
    """Concave-inexact-convex procedure with gradient descent (CCICP-GD).

    Liu et al., Algorithm 1 with epsilon = 1; the problem is that of `cccp_gd`. With
    ``equations="printed"`` steps follow (10) as printed, with ``reset_eta=False`` the
    step length only shrinks, as Algorithm 1 prints it.

    Parameters
    ----------
    K, y, alpha
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
    return _concave_convex("ccicp-gd", K, y, alpha, options)


def ccicp_sgd(K: Any, y: Any, *, alpha: float = 0.01, **options: Any) -> Result:
    """Concave-inexact-convex procedure with stochastic gradients (CCICP-SGD).

    Liu et al., Algorithm 1 with eq. (12) and epsilon = 0.0001 (``epsilon=1`` is the
    paper's SGD-I); the problem is that of `cccp_gd`.

    Parameters
    ----------
    K, y, alpha
        As in `cccp_gd`.
    **options
        As in `cccp_gd`, and ``random_state`` (seed).

    Returns
    -------
    Result
        As in `cccp_gd`.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> krein.published.ccicp_sgd(K, [1, 1, -1], alpha=0.1).n_iter
    20
    """
    return _concave_convex("ccicp-sgd", K, y, alpha, options)


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
