"""The SVM dual by LIBSVM, through scikit-learn, with krein's certificate.

Problem: maximise e'a - a'YKYa/2 over 0 <= a_i <= upper_i, y'a = 0.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from krein.domain import BalancedBox
from krein.result import Array, Certificate, History, Result, Status

__all__ = ["svm_dual"]

_CACHE_MB = 500


def svm_dual(
    K: Array,
    domain: BalancedBox,
    *,
    tol: float = 1e-6,
    max_iter: int = -1,
    psd: bool = True,
) -> tuple[Result, float]:
    """Solve the dual on the given training kernel and certify the answer.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel the SVM is trained on (already transformed).
    domain : BalancedBox
        Bounds and labels.
    tol : float
        LIBSVM's tolerance on the maximal violating pair.
    max_iter : int
        LIBSVM iterations, -1 for no limit.
    psd : bool
        False when K may be indefinite: the certificate is then the maximal violating
        pair (stationarity), not a gap.

    Returns
    -------
    Result
        ``x`` holds alpha in the box.
    float
        LIBSVM's intercept.
    """
    largest = float(domain.upper.max())
    svc = SVC(
        C=largest,
        kernel="precomputed",
        tol=tol,
        max_iter=max_iter,
        cache_size=_CACHE_MB,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        svc.fit(K, domain.y, sample_weight=domain.upper / largest)
    alpha = np.zeros(domain.n)
    alpha[svc.support_] = np.abs(svc.dual_coef_[0])
    alpha = np.minimum(alpha, domain.upper)
    signed = domain.y * alpha
    output = K[:, svc.support_] @ signed[svc.support_]
    value = float(alpha.sum() - 0.5 * signed @ output)
    gradient = 1.0 - domain.y * output
    if psd:
        gap = domain.gap(alpha, gradient)
        certificate = Certificate("gap", gap, gap / max(abs(value), 1e-300))
    else:
        violation = domain.violation(alpha, gradient)
        certificate = Certificate("stationarity", violation, violation)
    status: Status = "max_iter" if svc.fit_status_ else "converged"
    history = History()
    history.record(value=value, relative=certificate.relative)
    n_iter = int(np.max(svc.n_iter_))
    result = Result(alpha, value, certificate, status, n_iter, history)
    return result, float(svc.intercept_[0])
