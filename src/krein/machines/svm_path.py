"""Support vector machines on one kernel for many C, loosely: for searches.

LIBSVM alone, to the tolerance it is used with everywhere, without the polish and the
certificate of `krein.machines.libsvm`: what a search needs is an order of candidates.
"""

from __future__ import annotations

import numpy as np
from sklearn.svm import _libsvm

from krein.arrays import Array

_CACHE_MB = 200


def svm_path(
    K: Array,
    target: Array,
    Cs: Array,
    weight: Array | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int | None = None,
    epsilon: float | None = None,
) -> tuple[Array, Array]:
    """Solve the SVM dual for ascending C.

    Once no variable is on its bound C w_i the solution is that of every larger C.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel with entries of order one.
    target : ndarray of shape (n,)
        Labels -1 and +1; for regression numbers of order one.
    Cs : ndarray of shape (n_C,)
        Ascending.
    weight : ndarray of shape (n,), optional
        Sample weights.
    tol : float
        LIBSVM's tolerance.
    max_iter : int, optional
        Steps of LIBSVM at most: what takes more is a C far beyond the useful ones.
    epsilon : float, optional
        Half the width of the tube: regression.

    Returns
    -------
    coef : ndarray of shape (n_C, n)
        Signed coefficients on K.
    intercept : ndarray of shape (n_C,)
    """
    n = target.size
    w = np.ones(n) if weight is None else weight
    K = np.ascontiguousarray(K)
    coef, intercept = np.zeros((len(Cs), n)), np.zeros(len(Cs))
    if np.all(target == target[0]):  # a fold without items of a class
        return coef, np.full(len(Cs), float(target[0]))
    # scikit-learn's SVC takes several times as long to check its input as LIBSVM
    # takes to solve a small problem.
    _libsvm.set_verbosity_wrap(0)
    kind = {"svm_type": 0} if epsilon is None else {"svm_type": 3, "epsilon": epsilon}
    # LIBSVM's first class is the smaller label, whose coefficients are positive.
    sign = -1.0 if epsilon is None else 1.0
    for c, C in enumerate(Cs):
        support, _, _, v, b, *_ = _libsvm.fit(
            K, target, kernel="precomputed", C=float(C), tol=tol, sample_weight=w,
            cache_size=_CACHE_MB, max_iter=max_iter or max(10_000, 100 * n), **kind,
        )  # fmt: skip
        coef[c, support], intercept[c] = sign * v[0], sign * b[0]
        if np.all(np.abs(coef[c]) < C * w * (1.0 - 1e-9)):
            coef[c:], intercept[c:] = coef[c], intercept[c]
            break
    return coef, intercept
