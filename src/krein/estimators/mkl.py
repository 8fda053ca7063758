"""SVM on a weighted sum of kernels, the weights learned with it."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_is_fitted,
    validate_data,
)

from krein.arrays import Array
from krein.domain import BalancedBox
from krein.estimators._training import Classes, as_labels, ravel_rows
from krein.kernels.registry import Kernel, as_kernel
from krein.notices import warn_user
from krein.problems.mkl import MKLWeights
from krein.result import Result
from krein.solvers.mkl import kernel_weights, svm_at
from krein.spectrum import Spectrum
from krein.store.state import COEFFICIENTS, RESULTS, Fitted, State
from krein.validation import (
    check_classes_weigh,
    check_labels,
    check_similarity,
    refuse_mask,
)

__all__ = ["MKLSVC"]


class MKLSVC(ClassifierMixin, BaseEstimator):
    """Multiple kernel learning: an SVM on ``sum_i w_i K_i``, w on the simplex.

    Minimises ``SVM(sum_i w_i K_i) + rho sum_i w_i ||K_i - K0||_F^2`` over the weights
    (eq. 27 of Chen and Ye, 2008), by cutting planes with LIBSVM as oracle. Without a
    target K0 the second term is absent. Kernels of larger trace are favoured: bring
    them to the same scale first.

    Parameters
    ----------
    C : float
        Upper bound of the dual variables.
    rho : float
        Price of the distance of a kernel from the target.
    target : array-like of shape (n, n) or int, optional
        K0: a similarity, not necessarily PSD, or the index of a kernel.
    kernels : list of str, Kernel or callable, optional
        Kernels of feature vectors; X is then (n, n_features). Without it X holds the
        kernel matrices: shape (n, n, n_kernels), or a list of n x n matrices.
    class_weight : dict or "balanced", optional
        Weights by class; they multiply the sample weights.
    tol : float
        Relative gap between the bounds to reach.
    max_iter : int
        Largest number of cutting planes.

    Attributes
    ----------
    weights_ : ndarray of shape (n_rows, n_kernels)
        Kernel weights, of sum 1, per one-vs-rest row.
    alpha_ : ndarray of shape (n_rows, n_train)
        Variables in the box.
    dual_coef_, intercept_ : ndarray
        Coefficients on the weighted sum of the kernels, and intercepts.
    objective_, duality_gap_, n_iter_ : ndarray of shape (n_rows,)
        Objective, gap between its bounds, cutting planes used.
    result_ : Result or list of Result
        Full account of the fit.
    classes_ : ndarray
        Class labels.

    References
    ----------
    Chen, Ye (2008), ICML, Theorem 5.1; Lanckriet et al. (2004), JMLR 5.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import MKLSVC
    >>> X = np.random.default_rng(0).standard_normal((40, 2))
    >>> y = X[:, 0] > 0
    >>> signal, noise = np.outer(X[:, 0], X[:, 0]), np.outer(X[:, 1], X[:, 1])
    >>> model = MKLSVC().fit([signal, noise], y)
    >>> bool(model.weights_[0, 0] > 0.9)
    True
    """

    _fitted_state: State = (
        *(part for part in COEFFICIENTS if part.name != "support_"),
        *RESULTS,
        Fitted("n_features_in_", "integer", needed=False),
        Fitted("feature_names_in_", "labels", needed=False),
        Fitted("classes_", "labels", "c"),
        Fitted("weights_", "numbers", "rk"),
        Fitted("kernels_", "kernels", needed=False),
        Fitted("n_kernels_in_", "integer", needed=False),
    )

    _parameter_constraints: dict = {  # noqa: RUF012
        "C": [Interval(Real, 0, None, closed="neither")],
        "rho": [Interval(Real, 0, None, closed="left")],
        "target": ["array-like", Integral, None],
        "kernels": [list, tuple, None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        C=1.0,
        *,
        rho=1.0,
        target=None,
        kernels=None,
        class_weight=None,
        tol=1e-5,
        max_iter=500,
    ):
        self.C = C
        self.rho = rho
        self.target = target
        self.kernels = kernels
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, n, n_kernels), list of (n, n), or (n, n_features)
            Kernel matrices, or feature vectors when `kernels` is given.
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), optional
            Integer weights equal repetition.

        Returns
        -------
        self
        """
        matrices = self._training_matrices(X)
        n = matrices[0].shape[0]
        refuse_mask(y, "y")
        y = _check_y(y, estimator=self)
        check_classification_targets(y)
        if y.shape[0] != n:
            raise ValueError(f"y has {y.shape[0]} labels for {n} samples")
        self.classes_, codes = check_labels(y)
        weight = self._weights(sample_weight, codes, n)
        kept = np.flatnonzero(weight > 0.0)
        check_classes_weigh(self.classes_, codes, weight)
        if kept.size < n:
            matrices = [K[np.ix_(kept, kept)] for K in matrices]
        for i, K in enumerate(matrices):
            _check_psd(K, i)
        costs = self._costs(matrices, weight[kept], kept, n)
        rows = [
            self._fit_row(matrices, costs, weight[kept], signs)
            for signs in Classes(codes[kept], self.classes_.size).signs()
        ]
        self._store(rows, kept, n)
        return self

    # ------------------------------------------------------------------------- input

    def _training_matrices(self, X: Any) -> list[Array]:
        if self.kernels is not None:
            X = validate_data(self, X, dtype=np.float64)
            fitted = [as_kernel(kernel, None) for kernel in self.kernels]
            if not fitted:
                raise ValueError("kernels is an empty list; give at least one kernel")
            self.kernels_ = [
                kernel.fit(X) if isinstance(kernel, Kernel) else kernel
                for kernel in fitted
            ]
            self.X_fit_ = X
            matrices = [np.asarray(kernel(X, X)) for kernel in self.kernels_]
        else:
            self.X_fit_ = None
            matrices = _slices(X)
            self.n_kernels_in_ = len(matrices)
        return [check_similarity(K, name=f"kernel {i}") for i, K in enumerate(matrices)]

    def _new_matrices(self, X: Any) -> list[Array]:
        if self.kernels is not None:
            X = validate_data(self, X, dtype=np.float64, reset=False)
            return [np.asarray(kernel(X, self.X_fit_)) for kernel in self.kernels_]
        matrices = _slices(X)
        n = self.dual_coef_.shape[1]
        if len(matrices) != self.n_kernels_in_ or matrices[0].shape[1] != n:
            raise ValueError(
                f"X must have shape (n_new, {n}, {self.n_kernels_in_}), got "
                f"{len(matrices)} matrices of shape {matrices[0].shape}"
            )
        return matrices

    def _weights(self, sample_weight: Any, codes: np.ndarray, n: int) -> Array:
        weight = _check_sample_weight(
            sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True
        )
        if self.class_weight is None:
            return weight
        per_class = compute_class_weight(
            self.class_weight, classes=self.classes_, y=self.classes_[codes]
        )
        return weight * per_class[codes]

    def _costs(
        self, matrices: Sequence[Array], weight: Array, kept: np.ndarray, n: int
    ) -> Array:
        """Costs rho ||K_i - K0||^2 in the weighted Frobenius norm."""
        if self.target is None:
            return np.zeros(len(matrices))
        if isinstance(self.target, Integral):
            if not 0 <= int(self.target) < len(matrices):
                raise ValueError(
                    f"target must be the index of one of {len(matrices)} kernels, got "
                    f"{self.target}"
                )
            K0 = matrices[int(self.target)]
        else:
            K0 = check_similarity(self.target, name="target")
            if K0.shape[0] != n:
                raise ValueError(f"target must have shape ({n}, {n}), got {K0.shape}")
            K0 = K0[np.ix_(kept, kept)]
        return self.rho * np.array([weight @ (K - K0) ** 2 @ weight for K in matrices])

    # ------------------------------------------------------------------------- model

    def _fit_row(
        self, matrices: Sequence[Array], costs: Array, weight: Array, signs: Array
    ) -> tuple[Array, Array, float, Result]:
        box = BalancedBox(self.C * weight, signs)
        problem = MKLWeights(matrices, costs, box)
        result = kernel_weights(problem, tol=self.tol, max_iter=self.max_iter)
        _, alpha = svm_at(problem, result.x)
        outputs = problem.combined(result.x) @ (signs * alpha)
        return alpha, signs * alpha, box.intercept(alpha, outputs), result

    def _store(self, rows: Sequence[Any], kept: np.ndarray, n: int) -> None:
        alphas, coefs, intercepts, results = zip(*rows, strict=True)
        self.alpha_, self.dual_coef_ = np.zeros((2, len(rows), n))
        self.alpha_[:, kept], self.dual_coef_[:, kept] = alphas, coefs
        self.intercept_ = np.array(intercepts)
        self.weights_ = np.array([result.x for result in results])
        self.objective_ = np.array([result.value for result in results])
        self.duality_gap_ = np.array([result.certificate.value for result in results])
        self.n_iter_ = np.array([result.n_iter + 1 for result in results])
        self.result_ = results[0] if len(results) == 1 else list(results)
        worst = max(result.certificate.relative for result in results)
        if worst > self.tol:
            warn_user(
                f"MKLSVC did not reach tol={self.tol:g}: relative gap {worst:.2g}. "
                f"Raise max_iter (now {self.max_iter}) or tol",
                ConvergenceWarning,
            )

    def _decision_rows(self, X: Any) -> Array:
        check_is_fitted(self, "dual_coef_")
        values = np.zeros((0, 0))
        for i, K in enumerate(self._new_matrices(X)):
            part = self.weights_[:, i] * (K @ self.dual_coef_.T)
            values = part if i == 0 else values + part
        return values + self.intercept_

    def decision_function(self, X: Any) -> Array:
        """Signed scores: ``sum_i w_i K_i(X, X_train) @ dual_coef_.T + intercept_``.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train, n_kernels), list, or vectors

        Returns
        -------
        ndarray of shape (n_new,) for two classes, (n_new, n_classes) otherwise
        """
        return ravel_rows(self._decision_rows(X))

    def predict(self, X: Any) -> np.ndarray:
        """Class labels of new items.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train, n_kernels), list, or vectors

        Returns
        -------
        ndarray of shape (n_new,)
        """
        return as_labels(self._decision_rows(X), self.classes_)


def _slices(X: Any) -> list[Array]:
    """Matrices from a stack of shape (m, n, n_kernels) or from a list of them."""
    if isinstance(X, list | tuple):
        matrices = [np.asarray(K, dtype=np.float64) for K in X]
    else:
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 3:
            raise ValueError(
                f"X must have shape (n, n, n_kernels) or be a list of matrices, got "
                f"shape {X.shape}. For feature vectors give kernels=[...]"
            )
        matrices = [np.ascontiguousarray(X[:, :, i]) for i in range(X.shape[2])]
    if not matrices or len({K.shape for K in matrices}) != 1 or matrices[0].ndim != 2:
        shapes = sorted({K.shape for K in matrices})
        raise ValueError(f"X must hold matrices of one shape, got {shapes}")
    return matrices


def _check_psd(K: Array, i: int) -> None:
    values = Spectrum.exact(K).eigenvalues
    if values[0] < -1e-8 * max(float(values[-1]), 1e-300):
        raise ValueError(
            f"kernel {i} is not positive semidefinite: its smallest eigenvalue is "
            f"{values[0]:.3g}, its largest {values[-1]:.3g}. Clip or flip it first "
            "(krein.SpectrumTransformer), or use krein.ProxySVC"
        )
