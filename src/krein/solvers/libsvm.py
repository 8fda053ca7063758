"""SVM problems by LIBSVM, through scikit-learn, polished and certified.

Each problem has coefficients v = s * a with signs s and 0 <= a_i <= upper_i, and a
value that the function f = K v + b must take on the free ones: y for classification,
y - epsilon s for regression, 0 for one class. LIBSVM, run loosely, finds which are
free; one Newton system on them then gives the solution to rounding, so that results
depend neither on the order of the samples nor on LIBSVM's tolerance. Where the free
set was not settled yet, LIBSVM runs again with a smaller tolerance.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR, OneClassSVM

from krein.arrays import Array
from krein.domain import BalancedBox
from krein.result import Certificate, History, Result, Status
from krein.spectrum import safe_scale

__all__ = ["Machine", "libsvm_options", "one_class_dual", "svm_dual", "svr_dual"]

_CACHE_MB = 500
_NEWTON_STEPS = 5
_STAGES = (1e-3, 1e-6, 1e-9)


@dataclass(frozen=True)
class Machine:
    """Coefficients v on the training kernel, intercept, and how they were found."""

    v: Array
    intercept: float
    violation: float
    status: Status
    n_iter: int


def svm_dual(
    K: Array,
    domain: BalancedBox,
    *,
    tol: float = 1e-6,
    max_iter: int = 1_000_000,
    psd: bool = True,
    cache_size: float = _CACHE_MB,
) -> tuple[Result, float]:
    """Maximise e'a - a'YKYa/2 over 0 <= a_i <= upper_i, y'a = 0.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel the SVM is trained on (already transformed).
    domain : BalancedBox
        Bounds and labels.
    tol : float
        Largest violation of the KKT conditions, in units of the decision function.
    max_iter : int
        Largest number of LIBSVM iterations.
    psd : bool
        False when K may be indefinite: the certificate is then the maximal violating
        pair (stationarity), not a gap.
    cache_size : float
        LIBSVM's cache of kernel rows, in MB.

    Returns
    -------
    Result
        ``x`` holds alpha in the box.
    float
        The intercept.
    """
    y, upper = domain.y, domain.upper

    def violation(v: Array, f: Array) -> float:
        return domain.violation(y * v, 1.0 - y * f)

    machine = _solve(
        SVC(kernel="precomputed", cache_size=cache_size),
        K, y, upper, target=lambda v: y, violation=violation, tol=tol,
        max_iter=max_iter,
    )  # fmt: skip
    alpha = y * machine.v
    output = _outputs(K, machine.v)
    value = float(alpha.sum() - 0.5 * machine.v @ output)
    if psd:
        gap = domain.gap(alpha, 1.0 - y * output)
        certificate = Certificate("gap", gap, gap / max(abs(value), 1e-300))
    else:
        certificate = Certificate("stationarity", machine.violation, machine.violation)
    history = History()
    history.record(value=value, relative=certificate.relative)
    result = Result(alpha, value, certificate, machine.status, machine.n_iter, history)
    return result, machine.intercept


def libsvm_options(given: dict[str, Any] | None) -> dict[str, Any]:
    """Check the `solver_options` of an estimator that uses LIBSVM."""
    for name in given or {}:
        if name != "cache_size":
            raise ValueError(
                f"solver_options has no option {name!r} here; there is cache_size "
                "(LIBSVM's cache in MB)"
            )
    return dict(given or {})


def svr_dual(
    K: Array, y: Array, upper: Array, *, epsilon: float, tol: float, max_iter: int
) -> Machine:
    """Epsilon-insensitive regression: f = y - epsilon sign(v) on free coefficients."""

    def target(v: Array) -> Array:
        return y - epsilon * np.sign(v)

    def violation(v: Array, f: Array) -> float:
        # Excess over epsilon, seen from the side of the coefficient's sign.
        excess = np.where(v == 0, np.abs(y - f), np.sign(v) * (y - f)) - epsilon
        allowed_up, allowed_down = np.abs(v) < upper, v != 0
        bad = np.where(allowed_up, excess, 0.0), np.where(allowed_down, -excess, 0.0)
        return max(0.0, float(np.max(bad)))

    return _solve(
        SVR(kernel="precomputed", epsilon=epsilon,
            cache_size=_CACHE_MB),
        K, y, upper, target=target, violation=violation, tol=tol, max_iter=max_iter,
    )  # fmt: skip


def one_class_dual(
    K: Array, weight: Array | None, *, nu: float, tol: float, max_iter: int
) -> Machine:
    """One-class SVM: f = 0 on free coefficients, sum of v = nu times the weights."""
    upper = np.ones(K.shape[0]) if weight is None else weight

    def violation(v: Array, f: Array) -> float:
        below = np.where(v < upper, -f, 0.0)
        above = np.where(v > 0, f, 0.0)
        return max(0.0, float(np.max((below, above))))

    return _solve(
        OneClassSVM(kernel="precomputed", nu=nu, cache_size=_CACHE_MB),
        K, None, upper, target=np.zeros_like, violation=violation, tol=tol,
        max_iter=max_iter,
    )  # fmt: skip


def _solve(
    machine: Any,
    K: Array,
    y: Array | None,
    upper: Array,
    *,
    target: Callable[[Array], Array],
    violation: Callable[[Array, Array], float],
    tol: float,
    max_iter: int,
) -> Machine:
    """LIBSVM in stages, each polished, until the KKT conditions hold to `tol`."""
    # At extreme scales LIBSVM overflows; v K and v upper are what must stay the same.
    scale = safe_scale(K)
    one_class = isinstance(machine, OneClassSVM)
    unit = K if scale == 1.0 else K / scale
    bound = upper if one_class else upper * scale
    if not one_class:
        machine.set_params(C=float(bound.max()))
    weight = bound if one_class else bound / bound.max()
    limit, spent = max_iter, 0
    for stage in _STAGES:
        machine.set_params(tol=stage, max_iter=limit)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(unit, y, sample_weight=weight)
        v = np.zeros(K.shape[0])
        v[machine.support_] = machine.dual_coef_[0]
        # LIBSVM multiplies C by the weights again: bounds are met to rounding only.
        v = np.where(np.abs(v) >= bound * (1 - 1e-12), np.sign(v) * bound, v)
        b = float(machine.intercept_[0])
        v, b, polished = _polish(unit, v, bound, b, target(v))
        if one_class:
            b *= scale
        else:
            v = np.where(np.abs(v) == bound, np.sign(v) * upper, v / scale)
        worst = violation(v, _outputs(K, v) + b)
        steps = int(np.max(machine.n_iter_))
        spent += steps
        if polished and worst <= tol:
            break
        # Rounding can keep LIBSVM from ever reaching a small tolerance.
        limit = max(1, min(max_iter - spent, 20 * steps + 10_000))
    reached = worst <= tol or machine.fit_status_ == 0
    return Machine(v, b, worst, "converged" if reached else "max_iter", spent)


def _outputs(K: Array, v: Array) -> Array:
    support = np.flatnonzero(v)
    return K[:, support] @ v[support] if support.size < v.size else K @ v


def _polish(
    K: Array, v: Array, upper: Array, intercept: float, target: Array
) -> tuple[Array, float, bool]:
    """Solve f = target on the free coefficients, keeping the sum of all.

    The system is [K_FF 1; 1' 0]. K_FF may be singular (a clipped kernel is), so a
    small ridge and a few repetitions are used (a proximal Newton method). Returns
    LIBSVM's own point and False if a coefficient would leave its bounds.
    """
    slack = 1e-8 * upper
    free = np.flatnonzero((np.abs(v) > slack) & (np.abs(v) < upper - slack))
    if free.size < 2:
        return v, intercept, free.size == 0
    K_free = K[np.ix_(free, free)]
    try:
        ridge = 1e-10 * float(np.trace(K_free)) / free.size
        K_free[np.diag_indices_from(K_free)] += ridge
        factor = scipy.linalg.cho_factor(K_free, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return v, intercept, False
    border = scipy.linalg.cho_solve(factor, np.ones(free.size))
    support = np.flatnonzero(v)
    rows = K[np.ix_(free, support)]
    new, b = v.copy(), intercept
    for _ in range(_NEWTON_STEPS):
        residual = target[free] - rows @ new[support] - b
        step = scipy.linalg.cho_solve(factor, residual)
        db = float(step.sum() / border.sum())
        new[free] += step - db * border
        b += db
        if np.abs(residual).max() <= 1e-14 * (1.0 + np.abs(target[free]).max()):
            break
    inside = (np.sign(new) == np.sign(v)) & (np.abs(new) <= upper)
    if not (np.isfinite(b) and inside.all()):
        return v, intercept, False
    return new, b, True
