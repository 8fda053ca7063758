"""Classification on a kernel, with probabilities on request; and regression."""

from __future__ import annotations

from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from krein.arrays import Array
from krein.declarations import (
    COEFFICIENTS,
    RESULTS,
    Fitted,
    available_when,
    declares_parameters,
    replaces_state,
)
from krein.estimators._base import KernelModel
from krein.estimators._prediction_sets import PredictionSets
from krein.selection.calibration import sigmoid_calibration, sigmoid_probabilities
from krein.sklearn_internals import num_samples
from krein.training import (
    Classes,
    FittedRows,
    Training,
    Values,
    as_labels,
    ravel_rows,
    votes_of_pairs,
)
from krein.validation import check_labels, check_order, check_targets, check_weights


def check_classes(y: Any, n: int, estimator: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes and the codes of n labels."""
    y = check_targets(y, estimator)
    check_classification_targets(y)
    if y.shape[0] != n:
        raise ValueError(f"y has {y.shape[0]} labels for {n} samples; they must agree")
    return check_labels(y)


def check_classes_weigh(
    classes: np.ndarray, codes: np.ndarray, weight: np.ndarray | None
) -> None:
    """Refuse weights that leave a class without samples.

    Weights of zero equal removal of the samples; without a class the model would have
    other rows, and `classes_` another length, than the labels say.
    """
    if weight is None:
        return
    left = np.bincount(codes[weight > 0.0], minlength=classes.size)
    if not left.all():
        empty = classes[left == 0].tolist()[0]
        raise ValueError(
            "every class must have a sample of positive weight, but sample_weight "
            f"(times class_weight) is zero for all of class {empty!r}; leave these "
            "samples out of X and y"
        )


def class_weights(
    class_weight: Any, classes: np.ndarray, codes: np.ndarray
) -> np.ndarray | None:
    """Weight of each sample by its class; None where all classes weigh the same."""
    if class_weight is None:
        return None
    given = class_weight if isinstance(class_weight, dict) else {}
    for label, weight in given.items():
        if not (isinstance(weight, Real) and 0.0 <= float(weight) < np.inf):
            raise ValueError(
                f"class_weight[{label!r}] is {weight!r}; expected a finite number of 0 "
                "or more"
            )
    return compute_class_weight(class_weight, classes=classes, y=classes[codes])[codes]


@declares_parameters
class KernelClassifier(ClassifierMixin, PredictionSets, KernelModel):
    """Classifier with rows of coefficients; a subclass implements `fit_rows`."""

    _: KW_ONLY
    class_weight: Any = None

    _fitted_state = Fitted.state(
        *COEFFICIENTS,
        *RESULTS,
        Fitted("classes_", "labels", "c"),
        Fitted(
            "calibration_",
            "sigmoids",
            needed=lambda m: getattr(m, "probability", False),
        ),
        Fitted("conformity_", "numbers", needed=False),
    )

    @replaces_state
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
        training, target = self._start(X, y, sample_weight)
        self._store(self.fit_rows(training, target), training)
        self._calibrate(self._without_start(), training, target)
        return self

    def _calibrate(self, model: Any, training: Training, target: Classes) -> None:
        """Fit sigmoids to out-of-fold scores of `model`, if that was asked for."""
        if getattr(self, "probability", False):
            self.calibration_, self.conformity_ = sigmoid_calibration(
                model, training, target, self.random_state
            )

    def _without_start(self) -> Self:
        """Return the settings without a starting point, which is of all samples."""
        options = dict(getattr(self, "solver_options", None) or {})
        if isinstance(options.pop("init", ""), str):
            return self
        return clone(self).set_params(solver_options=options)

    def _start(
        self, X: Any, y: Any, sample_weight: Any, **further: Any
    ) -> tuple[Any, Classes]:
        """Validate everything; set `classes_`."""
        check_order(X, y)
        items = self._check_items(X, reset=True)
        codes = self._check_targets(y, num_samples(items))
        weight = check_weights(codes.size, sample_weight, self._class_weights(codes))
        check_classes_weigh(self.classes_, codes, weight)
        dtype = getattr(X, "dtype", None)
        training = self._prepared(items, dtype, weight, **further)
        kept = codes if training.kept is None else codes[training.kept]
        return training, Classes(kept, self.classes_.size)

    def _check_targets(self, y: Any, n: int) -> np.ndarray:
        self.classes_, codes = check_classes(y, n, self)
        return codes

    def _class_weights(self, codes: np.ndarray) -> Array | None:
        return class_weights(self.class_weight, self.classes_, codes)

    def held_values(
        self, fitted: FittedRows, training: Training, test: np.ndarray, train: Any
    ) -> Array:
        """Values per class of the samples `test`; see `KernelModel.held_values`."""
        rows = len(fitted.rows)
        pairs = getattr(self, "multi_class", "") == "ovo"
        n_classes = round((1 + (1 + 8 * rows) ** 0.5) / 2) if pairs else rows
        return self.class_values(training.scores(fitted, test, train), n_classes)

    # ----------------------------------------------------------------------- predict

    def decision_function(self, X: Any) -> Array:
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

    def predict(self, X: Any) -> np.ndarray:
        """Class labels of new items.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit

        Returns
        -------
        ndarray of shape (n_new,)
        """
        return self._labels(self._decision_rows(X))

    def _labels(self, values: Array, classes: np.ndarray | None = None) -> np.ndarray:
        classes = self.classes_ if classes is None else classes
        return as_labels(self.class_values(values, classes.size), classes)

    def class_values(self, values: Array, n_classes: int) -> Array:
        """One column per class (one for two) from the decision values of all rows."""
        if getattr(self, "multi_class", None) == "ovo" and n_classes > 2:
            return votes_of_pairs(values, n_classes)
        return values

    def _has_probabilities(self) -> bool:
        if getattr(self, "probability", False):
            return True
        raise AttributeError(
            f"predict_proba needs probabilities: fit {type(self).__name__}("
            "probability=True) instead"
        )

    @available_when(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Class probabilities: a sigmoid of the scores, fitted out of fold.

        With three or more classes one sigmoid a class, divided by their sum, with
        a temperature that is fitted out of fold as well.

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


class KernelRegressor(RegressorMixin, KernelModel):
    """Regression with one row; a subclass implements `fit_rows`."""

    _fitted_state = Fitted.state(*COEFFICIENTS, *RESULTS)

    @replaces_state
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, n) or (n, n_features), or list of objects
            Raw similarities for ``kernel="precomputed"``, items otherwise.
        y : array-like of shape (n,)
            Targets.
        sample_weight : array-like of shape (n,), optional
            Integer weights equal repetition; a sample of weight 0 is left out.

        Returns
        -------
        self
        """
        training, target = self._start(X, y, sample_weight)
        self._store(self.fit_rows(training, target), training)
        return self

    def _start(
        self, X: Any, y: Any, sample_weight: Any, **further: Any
    ) -> tuple[Any, Values]:
        """Validate everything."""
        check_order(X, y)
        items = self._check_items(X, reset=True)
        y = self._check_regression_targets(y, num_samples(items))
        weight = check_weights(num_samples(items), sample_weight)
        dtype = getattr(X, "dtype", None)
        training = self._prepared(items, dtype, weight, **further)
        return training, Values(y if training.kept is None else y[training.kept])

    def _check_regression_targets(self, y: Any, n: int) -> Array:
        y = self._check_y(y, numeric=True)
        if y.shape[0] != n:
            raise ValueError(
                f"y has {y.shape[0]} targets for {n} samples; they must agree"
            )
        return y.astype(np.float64)

    def predict(self, X: Any) -> Array:
        """Predicted targets of new items.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit

        Returns
        -------
        ndarray of shape (n_new,)
        """
        return self._decision_rows(X)[:, 0]
