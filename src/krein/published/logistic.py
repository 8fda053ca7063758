"""Indefinite logistic regression on a matrix and labels: procedures of Liu et al."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from krein.arrays import Array
from krein.machines import newton_logistic
from krein.machines._loop import Iterate
from krein.machines.logistic import (
    IndefiniteLogistic,
    uniqueness_ratio,
    uniqueness_threshold,
)
from krein.published.checks import check, check_matrix, check_start, matrix_and_labels
from krein.published.concave_convex import CCCPSettings, cccp_logistic, least_shift
from krein.result import Result
from krein.spectrum.decomposition import Spectrum
from krein.threads import threads_by_size

Callback = Callable[[Iterate], bool | None]
Seed = int | np.random.RandomState | None


def _logistic(
    K: Any, y: Any, alpha: float, fit_intercept: bool
) -> tuple[IndefiniteLogistic, Spectrum]:
    check(alpha=alpha, fit_intercept=fit_intercept)
    K, y = matrix_and_labels(K, y)
    targets = (y[:, None] > 0).astype(float)
    problem = IndefiniteLogistic(K, targets, float(alpha), None, bool(fit_intercept))
    return problem, Spectrum.exact(K)


def _column(x0: Any, n: int) -> Array | None:
    start = check_start(x0, n, "the coefficients a")
    return None if start is None else start[:, None]


def _of_vectors(callback: Callback | None) -> Callback | None:
    """Hand over iterates of the shape of the result: (n,), not (n, 1)."""
    if callback is None:
        return None
    return lambda iterate: callback(replace(iterate, x=iterate.x[:, 0]))


def _concave_convex(
    K: Any,
    y: Any,
    alpha: float,
    *,
    fit_intercept: bool,
    settings: CCCPSettings,
    x0: Any,
    tol: float,
    max_iter: int,
    callback: Callback | None,
    random_state: Seed = None,
) -> Result:
    check(tol=tol, max_iter=max_iter, callback=callback, random_state=random_state)
    problem, spectrum = _logistic(K, y, alpha, fit_intercept)
    random = random_state
    if not isinstance(random, np.random.RandomState):
        random = np.random.RandomState(random)
    result = cccp_logistic(
        problem,
        spectrum,
        settings,
        _column(x0, spectrum.n),
        random_state=random,
        tol=tol,
        max_iter=max_iter,
        callback=_of_vectors(callback),
    )
    return replace(result, x=result.x[:, 0])


@threads_by_size
def cccp_gd(
    K: Any,
    y: Any,
    *,
    alpha: float = 0.01,
    fit_intercept: bool = False,
    epsilon: float = 1e-4,
    eta: float = 0.02,
    decay: float = 0.8,
    reset_eta: bool = True,
    step: Literal["printed", "lipschitz"] = "printed",
    tau: float | None = None,
    max_inner: int = 1000,
    equations: Literal["corrected", "printed"] = "corrected",
    x0: Any = None,
    tol: float = 0.0,
    max_iter: int = 20,
    callback: Callback | None = None,
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
    fit_intercept : bool
        Add an intercept that is not penalised; the paper's model has none.
    epsilon : float
        The inner loop ends when the sub-problem's objective changes by at most this.
    eta : float
        Step length, 0.02 as printed. On data with large eigenvalues it exceeds
        2 / L and the run overflows.
    decay : float
        The paper's rho: eta is multiplied by it after every inner step.
    reset_eta : bool
        Start every outer step with `eta` again; False is Algorithm 1 as printed, where
        eta only shrinks.
    step : {"printed", "lipschitz"}
        Take `eta` and `decay`, or the constant step 1 / L.
    tau : float, optional
        Shift of the positive decomposition; 1.1 ``|mu_min|`` unless given, and at least
        1e-6 of the largest magnitude of an eigenvalue.
    max_inner : int
        Largest number of inner steps.
    equations : {"corrected", "printed"}
        The gradients that belong to the objective, or (10) and (12) as printed, which
        are no gradients of it; `krein.published.concave_convex` says what they do.
    x0 : array-like of shape (n,), optional
        Start, coefficients a; 0 unless given.
    tol : float
        On the stationarity residual; 0, as in the paper, which does `max_iter` steps.
    max_iter : int
        Outer steps, the paper's k_max.
    callback : callable, optional
        As in `spgm`.

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
    settings = CCCPSettings(
        epsilon=epsilon,
        stochastic=False,
        eta=eta,
        decay=decay,
        reset_eta=reset_eta,
        step=step,
        tau=tau,
        max_inner=max_inner,
        equations=equations,
    )
    return _concave_convex(
        K,
        y,
        alpha,
        fit_intercept=fit_intercept,
        settings=settings,
        x0=x0,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )


@threads_by_size
def ccicp_gd(
    K: Any,
    y: Any,
    *,
    alpha: float = 0.01,
    fit_intercept: bool = False,
    epsilon: float = 1.0,
    eta: float = 0.02,
    decay: float = 0.8,
    reset_eta: bool = True,
    step: Literal["printed", "lipschitz"] = "printed",
    tau: float | None = None,
    max_inner: int = 1000,
    equations: Literal["corrected", "printed"] = "corrected",
    x0: Any = None,
    tol: float = 0.0,
    max_iter: int = 20,
    callback: Callback | None = None,
) -> Result:
    """Concave-inexact-convex procedure with gradient descent (CCICP-GD).

    Liu et al., Algorithm 1 with epsilon = 1; the problem is that of `cccp_gd`. With
    ``equations="printed"`` steps follow (10) as printed, with ``reset_eta=False`` the
    step length only shrinks, as Algorithm 1 prints it.

    Parameters
    ----------
    K, y, alpha, fit_intercept
        As in `cccp_gd`.
    epsilon : float
        As in `cccp_gd`; 1 for CCICP-GD.
    eta, decay, reset_eta, step, tau, max_inner, equations
        As in `cccp_gd`.
    x0, tol, max_iter, callback
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
    settings = CCCPSettings(
        epsilon=epsilon,
        stochastic=False,
        eta=eta,
        decay=decay,
        reset_eta=reset_eta,
        step=step,
        tau=tau,
        max_inner=max_inner,
        equations=equations,
    )
    return _concave_convex(
        K,
        y,
        alpha,
        fit_intercept=fit_intercept,
        settings=settings,
        x0=x0,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )


@threads_by_size
def ccicp_sgd(
    K: Any,
    y: Any,
    *,
    alpha: float = 0.01,
    fit_intercept: bool = False,
    epsilon: float = 1e-4,
    batch: int = 1,
    eta: float = 0.02,
    decay: float = 0.8,
    reset_eta: bool = True,
    step: Literal["printed", "lipschitz"] = "printed",
    tau: float | None = None,
    max_inner: int = 1000,
    equations: Literal["corrected", "printed"] = "corrected",
    random_state: Seed = 0,
    x0: Any = None,
    tol: float = 0.0,
    max_iter: int = 20,
    callback: Callback | None = None,
) -> Result:
    """Concave-inexact-convex procedure with stochastic gradients (CCICP-SGD).

    Liu et al., Algorithm 1 with eq. (12) and epsilon = 0.0001 (``epsilon=1`` is the
    paper's SGD-I); the problem is that of `cccp_gd`.

    Parameters
    ----------
    K, y, alpha, fit_intercept
        As in `cccp_gd`.
    epsilon : float
        As in `cccp_gd`; 1 for SGD-I.
    batch : int
        Random samples per step, 1 in the paper, which names mini-batches; the mean of
        several takes its place in (12). They are drawn with replacement.
    eta, decay, reset_eta, step, tau, max_inner, equations
        As in `cccp_gd`.
    random_state : int, RandomState or None
        Seed of the samples.
    x0, tol, max_iter, callback
        As in `cccp_gd`.

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
    settings = CCCPSettings(
        epsilon=epsilon,
        stochastic=True,
        batch=batch,
        eta=eta,
        decay=decay,
        reset_eta=reset_eta,
        step=step,
        tau=tau,
        max_inner=max_inner,
        equations=equations,
    )
    return _concave_convex(
        K,
        y,
        alpha,
        fit_intercept=fit_intercept,
        settings=settings,
        x0=x0,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
        random_state=random_state,
    )


@threads_by_size
def krein_gd(
    K: Any,
    y: Any,
    *,
    alpha: float = 0.01,
    fit_intercept: bool = False,
    x0: Any = None,
    tol: float = 1e-9,
    max_iter: int = 100_000,
    callback: Callback | None = None,
) -> Result:
    """Gradient descent in the Krein space, for indefinite logistic regression.

    ``a <- a - eta (alpha a - y * sigmoid(-y * Ka) / n)``: the gradient of (5) of Liu et
    al. without its leading K, whose zeros are the stationary points. Not in the paper;
    it stands here because it is the first-order method that converges.

    Parameters
    ----------
    K, y, alpha, fit_intercept
        As in `cccp_gd`.
    x0 : array-like of shape (n,), optional
        Start, coefficients a; 0 unless given.
    tol : float
        On the stationarity residual.
    max_iter : int
        Largest number of steps.
    callback : callable, optional
        As in `spgm`.

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
    check(tol=tol, max_iter=max_iter, callback=callback)
    problem, spectrum = _logistic(K, y, alpha, fit_intercept)
    result = newton_logistic.krein_gd(
        problem,
        _column(x0, spectrum.n),
        largest=float(spectrum.eigenvalues.max()),
        tol=tol,
        max_iter=max_iter,
        callback=_of_vectors(callback),
    )
    return replace(result, x=result.x[:, 0])


@dataclass(frozen=True)
class ConvergenceCondition:
    """What Theorem 1 of Liu et al. asks for, and what makes the solution unique.

    Attributes
    ----------
    bound : float
        Right-hand side of (15), the largest inexactness epsilon that Theorem 1 allows.
    theorem_1 : bool
        The bound is positive: Theorem 1 claims convergence for some epsilon. It does
        not hold in general; see `convergence_condition`.
    ratio : float
        ``|mu_min|`` over 4 n alpha.
    unique : bool
        The ratio is below 1: the stationarity equation has exactly one solution.
    least_alpha : float
        Penalty above which it has.
    text : str
        Both in words.
    """

    bound: float
    theorem_1: bool
    ratio: float
    unique: bool
    least_alpha: float
    text: str

    def __str__(self) -> str:
        """Both conditions in words."""
        return self.text


def convergence_condition(
    K: Any, *, alpha: float = 0.01, tau: float | None = None
) -> ConvergenceCondition:
    """Evaluate the condition (15) of Liu et al., and the one that is true.

    Theorem 1 claims that CCICP-GD converges to a stationary point if its inexactness
    epsilon is below ``alpha (||K+|| - ||K-||) - ||K||^2 / (4 n)``, with norms
    mu_max + tau and ``|mu_min| + tau``. Its proof replaces ``||K+^-1|| ||K-||`` by
    ``||K-|| / ||K+||``: with K = diag(10, -1), n = 2, alpha = 5, tau = 1.1 the bound is
    32.5, and exact CCCP diverges. What is true: the stationarity equation has exactly
    one solution if ``|mu_min| < 4 n alpha`` (two classes).

    Parameters
    ----------
    K : array-like of shape (n, n)
        Similarity, symmetric, of any signature.
    alpha : float
        Penalty, the paper's lambda; ``alpha_used_`` of a fitted
        `krein.KreinLogisticRegression`.
    tau : float, optional
        Shift of the positive decomposition, as in `cccp_gd`.

    Returns
    -------
    ConvergenceCondition

    Examples
    --------
    >>> import krein
    >>> found = krein.published.convergence_condition(
    ...     [[10, 0], [0, -1]], alpha=5.0, tau=1.1
    ... )
    >>> round(found.bound, 1), found.unique
    (32.5, True)
    """
    check(alpha=alpha, tau=tau)
    values = Spectrum.exact(check_matrix(K)).eigenvalues
    n = values.size
    smallest = float(values.min())
    tau = least_shift(values) if tau is None else float(tau)
    plus = max(0.0, float(values.max())) + tau
    minus = max(0.0, -smallest) + tau
    norm = float(np.abs(values).max())
    bound = alpha * (plus - minus) - norm**2 / (4.0 * n)
    threshold = uniqueness_threshold(alpha, n, 1)
    ratio = uniqueness_ratio(smallest, alpha, n, 1)
    least = max(0.0, -smallest) / (4.0 * n)
    claims = (
        "allows no inexactness" if bound <= 0.0 else f"allows epsilon < {bound:.4g}"
    )
    number = "exactly one solution" if ratio < 1.0 else "perhaps several solutions"
    text = (
        f"(15) of Liu et al. {claims}; |mu_min| = {max(0.0, -smallest):.4g} is "
        f"{ratio:.3g} times 4 n alpha = {threshold:.4g}: the stationarity equation has "
        f"{number} (alpha above {least:.4g} makes it unique)"
    )
    return ConvergenceCondition(
        bound=float(bound),
        theorem_1=bool(bound > 0.0),
        ratio=ratio,
        unique=ratio < 1.0,
        least_alpha=least,
        text=text,
    )
