"""One-vs-rest classification on a kernel, with probabilities on request."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import (
    ClassifierMixin,
    _fit_context,
)
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _num_samples,
    check_is_fitted,
)

from krein.arrays import Array
from krein.estimators._base import KernelModel
from krein.estimators._probability import (
    FoldScores,
    kernel_fold_scores,
    sigmoid_calibration,
    sigmoid_probabilities,
)
from krein.estimators._training import (
    Row,
    Training,
    as_labels,
    one_vs_rest,
    ravel_rows,
)
from krein.matrices.low_rank import LowRank
from krein.validation import (
    check_classes_weigh,
    check_labels,
)

__all__ = ["KernelClassifier"]


class KernelClassifier(ClassifierMixin, KernelModel):
    """One-vs-rest classifier; a subclass says how to share work and fit one row.

    A subclass implements ``_share(training) -> shared`` (once per fit: the
    eigendecomposition) and ``_fit_row(shared, training, signs) -> Row`` (once per
    row; ``signs`` is -1 / +1).
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **KernelModel._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "probability": ["boolean"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, n) or (n, n_features), or list of objects
            Raw similarities for ``kernel="precomputed"``, items otherwise.
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), optional
            Integer weights equal repetition; a sample of weight 0 is left out.

        Returns
        -------
        self
        """
        items = self._check_items(X, reset=True)
        codes = self._check_targets(y, _num_samples(items))
        weight = self._check_weight(items, sample_weight, self._class_weights(codes))
        check_classes_weigh(self.classes_, codes, weight)
        training = self._train_on(items, getattr(X, "dtype", None), weight)
        kept = codes if training.kept is None else codes[training.kept]
        rows = self._fit_rows(self._share(training), training, kept)
        self._store_rows(rows, training)
        if getattr(self, "probability", False):
            self._calibrate(training, kept)
        return self

    def _share(self, training: Training) -> Any:
        raise NotImplementedError("a subclass says what its rows share")

    def _fit_rows(
        self, shared: Any, training: Training, codes: np.ndarray
    ) -> list[Row]:
        """All rows of the model, one against the rest; joint models override it."""
        return [
            self._fit_row(shared, training, signs)
            for signs in one_vs_rest(codes, self.classes_.size)
        ]

    def _fit_row(self, shared: Any, training: Training, signs: Array) -> Row:
        raise NotImplementedError("a subclass fits one row")

    def _check_targets(self, y: Any, n: int) -> np.ndarray:
        y = self._check_y(y)
        check_classification_targets(y)
        if y.shape[0] != n:
            raise ValueError(
                f"y has {y.shape[0]} labels for {n} samples; they must agree"
            )
        self.classes_, codes = check_labels(y)
        return codes

    def _class_weights(self, codes: np.ndarray) -> Array | None:
        if self.class_weight is None:
            return None
        per_class = compute_class_weight(
            self.class_weight, classes=self.classes_, y=self.classes_[codes]
        )
        return per_class[codes]

    # ----------------------------------------------------------------------- predict

    def decision_function(self, X):
        """Signed scores: ``K(X, X_train) @ dual_coef_.T + intercept_``.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit
            Raw similarities of new items to the training items, or new items.

        Returns
        -------
        ndarray of shape (n_new,) for two classes, (n_new, n_classes) otherwise
        """
        return ravel_rows(self._decision_rows(X))

    def predict(self, X):
        """Class labels of new items.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit

        Returns
        -------
        ndarray of shape (n_new,)
        """
        return self._labels(self._decision_rows(X))

    def _labels(self, values: Array) -> np.ndarray:
        return as_labels(values, self.classes_)

    def _has_probabilities(self) -> bool:
        if getattr(self, "probability", False):
            return True
        raise AttributeError("predict_proba needs probability=True")

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """Class probabilities: a sigmoid of the scores, fitted out of fold.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit

        Returns
        -------
        ndarray of shape (n_new, n_classes)
        """
        return self._probabilities(self._decision_rows(X))

    def _probabilities(self, values: Array) -> Array:
        check_is_fitted(self, "calibration_")
        return sigmoid_probabilities(values, *self.calibration_)

    def _calibrate(self, training: Training, codes: np.ndarray) -> None:
        if isinstance(training.K, LowRank):
            fold_scores: FoldScores = partial(self._fold_scores, training, codes)
        else:
            fold_scores = kernel_fold_scores(self, training.K, codes, training.weight)
        self.calibration_ = sigmoid_calibration(
            fold_scores, codes, training.weight, self.classes_.size, self.random_state
        )

    def _fold_scores(
        self,
        training: Training,
        codes: np.ndarray,
        train: np.ndarray,
        test: np.ndarray,
    ) -> Array:
        """Scores of the `test` samples by a model of the `train` samples.

        At low rank the landmarks are shared by the folds; they know no labels.
        """
        weight = None if training.weight is None else training.weight[train]
        part = replace(training, K=training.K.restricted(train), weight=weight)
        shared = self._share(part)
        rows = [
            self._fit_row(shared, part, signs)
            for signs in one_vs_rest(codes[train], self.classes_.size)
        ]
        coef = np.column_stack([row.coef for row in rows])
        scores = training.K.columns.rows(test) @ coef
        return scores + np.array([row.intercept for row in rows])
