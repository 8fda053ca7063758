"""validate -> kernel matrix -> problem -> solver -> coefficients; one predict.

The sentence the library rests on: a fitted model is
``K(x, X_train) @ dual_coef_.T + intercept_`` on the raw, untouched kernel.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    clone,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    _num_samples,
    check_array,
    check_is_fitted,
    validate_data,
)

from krein.arrays import Array
from krein.estimators._training import (
    Row,
    Training,
    keep_positive,
    positive_part,
)
from krein.items import take
from krein.kernels.blocks import kernel_matrix
from krein.kernels.registry import Kernel, as_kernel
from krein.matrices.memory import require_memory
from krein.matrices.similarities import Similarities
from krein.result import Result
from krein.validation import (
    check_similarity,
    refuse_odd_arrays,
    warn_if_distances,
)

__all__ = ["KernelModel", "landmark_columns"]


class KernelModel(BaseEstimator):
    """Shared by classifiers and regressors: kernel, validation, decision values.

    A subclass stores ``dual_coef_`` (n_rows, n_train) and ``intercept_`` (n_rows,) by
    `_store_rows`.
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        "kernel": [str, callable, Kernel],
        "kernel_params": [dict, None],
        "symmetrize": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # ---------------------------------------------------------------- tags and input

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self):
        """Declare a square precomputed matrix to splitters, and object input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    def _takes_vectors(self, X: Any) -> bool:
        """Tell rows of numbers from lists of strings, series, graphs, matrices."""
        kernel = self.kernel
        if isinstance(kernel, str) and kernel != "precomputed":
            kernel = as_kernel(kernel, None)
        if isinstance(kernel, Kernel):
            return kernel.facts.input == "vectors"
        if self._precomputed or hasattr(X, "columns"):
            return True
        first = X[0] if isinstance(X, list | tuple) and len(X) else X
        if isinstance(X, list | tuple) and isinstance(first, str | bytes | dict):
            return False
        try:
            array = np.asarray(X)
        except ValueError:  # ragged
            return False
        return array.dtype.kind in "biufc" and array.ndim <= 2

    def _check_items(self, X: Any, *, reset: bool) -> Any:
        """Validate rows of numbers as scikit-learn does; keep objects as they are."""
        refuse_odd_arrays(X)
        if self._takes_vectors(X):
            try:
                return validate_data(self, X, reset=reset, dtype=np.float64)
            except ValueError as error:
                if self._precomputed and "features, but" in str(error):
                    raise ValueError(
                        f"{error}: with kernel='precomputed' pass similarities of new "
                        "items (rows) to the training items (columns), in the order "
                        "of fit"
                    ) from None
                raise
        if _num_samples(X) < 1:
            raise ValueError("X has no items; at least one is required")
        return X

    def _check_y(self, y: Any, *, numeric: bool = False) -> np.ndarray:
        """Validate targets alone: X was checked already, its names included."""
        if y is None:
            validate_data(self, X="no_validation", y=None, reset=False)
        return _check_y(y, y_numeric=numeric, estimator=self)

    def _training_kernel(self, X: Any, dtype: Any = None) -> Array:
        """Kernel matrix of checked training items; sets `kernel_` and `X_fit_`."""
        if self._precomputed:
            K = check_similarity(X, name="X", symmetrize=self.symmetrize, given=dtype)
            warn_if_distances(K, "X")
            self.X_fit_ = None
            return K
        n = _num_samples(X)
        require_memory(
            6 * 8 * n * n,
            f"a spectral fit on {n} items",
            "Use landmarks: approximation=krein.KreinNystroem(n_components=500), or "
            "KreinNystroem before a linear model.",
        )
        self._settle_kernel(X)
        self.X_fit_ = X
        K = kernel_matrix(self.kernel_, X, X)
        return check_similarity(K, name="kernel(X, X)", symmetrize=self.symmetrize)

    def _settle_kernel(self, X: Any) -> None:
        """Set `kernel_`, its data-dependent settings taken from the training items."""
        kernel = as_kernel(self.kernel, self.kernel_params)
        self.kernel_ = kernel.fit(X) if isinstance(kernel, Kernel) else kernel

    def _similarities(self, X: Any) -> Array:
        """Similarities of items to those training items that matter (`support_`)."""
        if self._precomputed and self._approximation is not None:
            return landmark_columns(self, X, self.support_)
        X = self._check_items(X, reset=False)
        if self._precomputed:
            return X if self.support_.size == X.shape[1] else X[:, self.support_]
        items = self.X_fit_
        if self.support_.size == 0:
            return np.empty((_num_samples(X), 0))
        if self.support_.size < _num_samples(items):
            items = take(items, self.support_)
        return kernel_matrix(self.kernel_, X, items)

    # ------------------------------------------------------------------ coefficients

    def _store_rows(self, rows: Sequence[Row], training: Training) -> None:
        """Set the fitted attributes from one Row per output."""
        self.dual_coef_ = training.expand_coef(np.vstack([row.coef for row in rows]))
        self.intercept_ = np.array([row.intercept for row in rows], dtype=float)
        if training.landmarks is None:
            self.support_ = np.flatnonzero(np.any(self.dual_coef_ != 0.0, axis=0))
        else:
            self.support_ = training.landmarks
        polynomials = [row.poly for row in rows if row.poly is not None]
        if polynomials:
            self.poly_coef_ = np.vstack(polynomials)
        alphas = [row.alpha for row in rows if row.alpha is not None]
        if len(alphas) == len(rows):
            self.alpha_ = training.expand(np.vstack(alphas))
        results = [row.result for row in rows if row.result is not None]
        if len(results) == len(rows):
            self.result_ = results[0] if len(rows) == 1 else results
            self.n_iter_ = np.array([result.n_iter for result in results])
            self.objective_ = np.array([result.value for result in results])
            certificates = np.array([result.certificate.value for result in results])
            if results[0].certificate.kind == "gap":
                self.duality_gap_ = certificates
            else:
                self.residual_ = certificates
            self._warn_unconverged(results)

    def _warn_unconverged(self, results: Sequence[Result]) -> None:
        bad = [
            result for result in results if result.status in ("max_iter", "diverged")
        ]
        if bad:
            worst = max(bad, key=lambda result: result.certificate.relative)
            warnings.warn(
                f"{type(self).__name__} did not reach tol={self.tol:g}: status "
                f"{worst.status!r} after {worst.n_iter} iterations, relative "
                f"{worst.certificate.kind} {worst.certificate.relative:.2g}. Raise "
                f"max_iter (now {self.max_iter}) or tol",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _decision_rows(self, X: Any, **further: Any) -> Array:
        """Decision values (n_new, n_rows): the one predict of the library."""
        check_is_fitted(self, "dual_coef_")
        values = self._similarities(X) @ self.dual_coef_[:, self.support_].T
        values += self.intercept_
        return self._add_polynomial(values, X, **further)

    def _add_polynomial(self, values: Array, X: Any) -> Array:
        """Add the part that is not on the kernel; models that have one override it."""
        return values

    def _check_weight(
        self, items: Any, sample_weight: Any, class_weight: Array | None = None
    ) -> Array | None:
        """Sample weight times class weight; None when all are 1."""
        weight = class_weight
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight,
                np.empty((_num_samples(items), 1)),
                dtype=np.float64,
                ensure_non_negative=True,
            )
            weight = weight if class_weight is None else weight * class_weight
        if weight is None or np.all(weight == 1.0):
            return None
        if not np.any(weight > 0.0):
            raise ValueError("sample_weight is zero for every sample")
        return weight

    # ----------------------------------------------------------------- approximation

    # How the block of similarities to landmarks is made and kept; None: in memory.
    # `krein.scale.fit` sets it for the time of a fit.
    _columns_of: Any = None

    @property
    def _approximation(self) -> Any:
        return getattr(self, "approximation", None)

    def _train_on(self, items: Any, dtype: Any, weight: Array | None) -> Training:
        """Similarities of checked items of positive weight, or an approximation."""
        if self._approximation is None:
            return keep_positive(self._training_kernel(items, dtype), weight)
        if self._precomputed:
            return self._approximated(
                Similarities(self._training_kernel(items, dtype)), weight
            )
        self._settle_kernel(items)
        return self._approximated(Similarities(items, self.kernel_), weight)

    def _approximated(self, source: Similarities, weight: Array | None) -> Training:
        """Train at low rank; only the landmarks are kept for prediction."""
        nystroem = clone(self._approximation)
        if nystroem.kernel not in ("precomputed", self.kernel):
            raise ValueError(
                f"approximation has kernel={nystroem.kernel!r}, the estimator has "
                f"kernel={self.kernel!r}: give the kernel to the estimator only"
            )
        nystroem.set_params(kernel=self.kernel, symmetrize=self.symmetrize)
        weight, kept = positive_part(weight)
        found = nystroem.approximate(
            source if kept is None else source.subset(kept),
            weight=weight,
            columns_of=self._columns_of,
        )
        positions = found.landmarks if kept is None else kept[found.landmarks]
        self.approximation_error_ = found.error
        self.X_fit_ = None if self._precomputed else take(source.items, positions)
        return Training(found.low_rank, weight, kept, source.n, positions)


def landmark_columns(estimator: Any, X: Any, landmarks: np.ndarray) -> Array:
    """Columns of the landmarks in precomputed rows, of all items or landmarks only."""
    if estimator.n_features_in_ != landmarks.size:
        given = check_array(X, dtype=np.float64, input_name="X")
        if given.shape[1] == landmarks.size:
            return given
    X = estimator._check_items(X, reset=False)
    return X if X.shape[1] == landmarks.size else X[:, landmarks]
