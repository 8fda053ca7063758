"""The Krein SVM: flip, and the coefficients mapped back."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from krein.arrays import Array
from krein.domain import BalancedBox
from krein.estimators._classifier import KernelClassifier
from krein.estimators._low_rank import LowRankSVM
from krein.estimators._training import Row, Training
from krein.estimators.nystroem import KreinNystroem
from krein.matrices.low_rank import LowRank
from krein.methods import weighted_flip
from krein.solvers.libsvm import libsvm_options, svm_dual
from krein.transform import Transform

__all__ = ["KreinSVC"]

_POSITIVE = Interval(Real, 0, None, closed="neither")


class KreinSVC(KernelClassifier):
    """The Krein SVM (KSVM): the stationary point of the SVM in a Krein space.

    Trains on ``U |D| U'`` and maps the coefficients back by ``U sign(D) U'``, which is
    flip with mapped rows, exactly. With `lam_pos` and `lam_neg` the two parts of the
    space are regularised apart: ``U diag(|l| / lam_sign) U'``.

    Parameters
    ----------
    C : float
        Upper bound of the dual variables.
    lam_pos, lam_neg : float
        Regularisation of the positive and the negative part.
    sparse : bool
        Refit the coefficients on the support vectors of the flipped problem only, so
        that prediction needs similarities to those items alone (an approximation; the
        exact coefficients of the Krein SVM are dense).
    kernel, kernel_params, symmetrize, class_weight, probability, approximation, \
solver_options, tol, max_iter, random_state, verbose
        As in `SpectrumSVC`; `sparse` and `approximation` exclude each other.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_rows, n_train)
        Variables in the box, those of the flipped problem.
    classes_, dual_coef_, intercept_, support_, duality_gap_, result_
        As in `SpectrumSVC`.

    References
    ----------
    Loosli, Canu, Ong (2016), TPAMI 38; Oglic, Gaertner (2019), ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import KreinSVC
    >>> K = np.array([[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]])
    >>> KreinSVC(C=10.0).fit(K, ["a", "a", "b"]).predict(K)
    array(['a', 'a', 'b'], dtype='<U1')
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **KernelClassifier._parameter_constraints,
        "C": [_POSITIVE],
        "lam_pos": [_POSITIVE],
        "lam_neg": [_POSITIVE],
        "sparse": ["boolean"],
        "approximation": [KreinNystroem, None],
        "solver_options": [dict, None],
    }

    def __init__(
        self,
        C=1.0,
        *,
        lam_pos=1.0,
        lam_neg=1.0,
        sparse=False,
        kernel="precomputed",
        kernel_params=None,
        symmetrize=False,
        class_weight=None,
        probability=False,
        approximation=None,
        solver_options=None,
        tol=1e-6,
        max_iter=1_000_000,
        random_state=None,
        verbose=0,
    ):
        self.C = C
        self.lam_pos = lam_pos
        self.lam_neg = lam_neg
        self.sparse = sparse
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.symmetrize = symmetrize
        self.class_weight = class_weight
        self.probability = probability
        self.approximation = approximation
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _share(self, training: Training) -> Any:
        method = weighted_flip(self.lam_pos, self.lam_neg)
        if isinstance(training.K, LowRank):
            if self.sparse:
                raise ValueError(
                    "sparse=True and approximation= exclude each other: with landmarks "
                    "prediction needs similarities to the landmarks only already"
                )
            return LowRankSVM.share(training.K, method)
        transform = Transform.fit(training.K, method, weight=training.weight)
        return transform, transform.kernel(training.K)

    def _fit_row(self, shared: Any, training: Training, signs: Array) -> Row:
        if isinstance(shared, LowRankSVM):
            return shared.fit_row(
                training, signs, C=self.C, tol=self.tol, max_iter=self.max_iter
            )
        transform, kernel = shared
        domain = BalancedBox(training.upper(self.C), signs)
        result, intercept = svm_dual(
            kernel,
            domain,
            tol=self.tol,
            max_iter=self.max_iter,
            **libsvm_options(self.solver_options),
        )
        coef = transform.coef(signs * result.x)
        if self.sparse:
            coef = _sparsify(training.K, coef, result.x)
        return Row(coef, intercept, result, result.x)


def _sparsify(K: Array, coef: Array, alpha: Array) -> Array:
    """Coefficients on the support vectors whose training outputs are nearest."""
    support = np.flatnonzero(alpha > 0)
    fitted, *_ = np.linalg.lstsq(K[:, support], K @ coef, rcond=None)
    sparse = np.zeros_like(coef)
    sparse[support] = fitted
    return sparse
