"""Published algorithms on the raw kernel as functions of a matrix and labels.

Indefinite logistic regression (Liu et al.), SVMs by differences of convex functions
(Akoa; Xu et al.) and the c.p.d. SVM (Walder and Chapelle). As in
`krein.published.proxy_functions` each function returns a `krein.Result`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from krein.machines import newton_logistic
from krein.machines.box import BalancedBox
from krein.machines.logistic import IndefiniteLogistic
from krein.published import indefinite_dual, indefinite_primal
from krein.published.algorithm_1 import CPDMatrices, algorithm_1, separable
from krein.published.concave_convex import CCCP_DEFAULTS, cccp_logistic
from krein.published.proxy_functions import check_positive, matrix_and_labels
from krein.result import Result
from krein.similarity.spectrum import Spectrum


def _logistic(
    K: Any, y: Any, alpha: float, fit_intercept: bool
) -> tuple[IndefiniteLogistic, Spectrum]:
    K, y = matrix_and_labels(K, y)
    check_positive(alpha=alpha)
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


def tdca(K: Any, y: Any, *, C: float = 1.0, **options: Any) -> Result:
    """Truncated DCA by blocks (TDCASVM) for the SVM dual on a raw indefinite kernel.

    Akoa (2008): ``max e'a - a'YKYa / 2`` over 0 <= a <= C, y'a = 0.

    Parameters
    ----------
    K, y, C
        As in `spgm`.
    **options
        ``tol`` (1e-4 unless given) on the maximal violating pair of the KKT conditions,
        ``max_iter`` (10 000 blocks), ``block``, ``mu``, ``start``, ``callback``; see
        `krein.published.indefinite_dual`.

    Returns
    -------
    Result
        ``x`` is a; a KKT point, not an optimum, where K is indefinite.

    Examples
    --------
    >>> import krein
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> krein.published.tdca(K, [1, 1, -1]).status
    'converged'
    """
    K, y = matrix_and_labels(K, y)
    check_positive(C=C)
    box = BalancedBox(np.full(y.size, float(C)), y)
    problem = indefinite_dual.IndefiniteDual(K, box)
    return indefinite_dual.tdca(problem, **options)


def dc_primal(K: Any, y: Any, *, C: float = 1.0, **options: Any) -> Result:
    """IKSVM-DC: DCA on the SVM primal with a raw indefinite kernel.

    Xu, Xue, Chen, Wang (2017): minimise
    ``gamma/2 b'Kb + 1/2 sum_i max(0, 1 - y_i (Kb + b0)_i)^2`` with gamma = 1 / C. It
    may be unbounded below.

    Parameters
    ----------
    K, y, C
        As in `spgm`.
    **options
        ``tol`` (1e-4 unless given) on the norm of the gradient, relative to that at the
        origin, ``max_iter`` (300 steps, as in the paper), ``published_stop``,
        ``callback``; see `krein.published.indefinite_primal`.

    Returns
    -------
    Result
        ``x`` holds b and, last, b0. Status "diverged": the problem is unbounded.

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
    check_positive(C=C)
    problem = indefinite_primal.PrimalDC(K, y, 1.0 / C)
    return indefinite_primal.dc_primal(problem, **options)


def walder_algorithm_1(
    Phi: Any,
    y: Any,
    P: Any = None,
    *,
    lam: float = 1.0,
    beta_zero: bool | Literal["separable"] = False,
    max_iter: int = 200,
) -> Result:
    """Algorithm 1 of Walder and Chapelle (2007), as printed, for the c.p.d. SVM.

    Eq. (14): ``lam a'Phi a + sum_i max(0, 1 - y_i f_i)^2``, f = Phi a + P b, P'a = 0.

    Parameters
    ----------
    Phi : array-like of shape (n, n)
        Kernel, conditionally positive definite with respect to P.
    y : array-like of shape (n,)
        Labels -1 and +1.
    P : array-like of shape (n, r), optional
        Polynomials at the items; constants unless given.
    lam : float
        Regularisation.
    beta_zero : bool or "separable"
        Leave the polynomials out of f (section 6.2). ``"separable"``, the paper's rule:
        where the polynomials alone separate the classes.
    max_iter : int
        Newton steps.

    Returns
    -------
    Result
        ``x`` is a; ``info["beta"]`` is b. Status "converged" says that line 32 held,
        which also happens above the optimum: `certificate` bounds the distance. Status
        "diverged": the system of line 17 was singular.

    Examples
    --------
    >>> import numpy as np
    >>> import krein
    >>> x = np.array([-2.0, -1.0, -0.3, 0.4, 1.1, 2.3])
    >>> Phi = np.abs(x[:, None] - x) ** 3
    >>> P = np.column_stack([np.ones(6), x])
    >>> result = krein.published.walder_algorithm_1(Phi, [1, -1, 1, 1, -1, 1], P)
    >>> result.status, bool(result.certificate.relative < 1e-9)
    ('converged', True)
    """
    Phi, y = matrix_and_labels(Phi, y, "Phi")
    check_positive(lam=lam)
    n = y.size
    P = np.ones((n, 1)) if P is None else np.asarray(P, dtype=float)
    if P.ndim != 2 or P.shape[0] != n:
        raise ValueError(f"P must have shape ({n}, n_polynomials), got {P.shape}")
    zero = separable(P, y) if beta_zero == "separable" else bool(beta_zero)
    Q, R = np.linalg.qr(P)
    result = algorithm_1(
        CPDMatrices(Phi, Q, y, lam, np.ones(n), zero), max_iter=max_iter
    )
    beta = np.linalg.pinv(R) @ result.info["beta"]
    return replace(result, info={"beta": beta, "beta_zero": zero})
