"""Classification on a kernel, with probabilities on request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context, clone
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_is_fitted

from krein.arrays import Array
from krein.estimators._base import KernelModel
from krein.estimators._early import Early, early_classes
from krein.estimators._probability import sigmoid_calibration, sigmoid_probabilities
from krein.estimators._training import (
    Classes,
    Training,
    as_labels,
    ravel_rows,
    voted_labels,
)
from krein.items import take
from krein.kernels.blocks import kernel_matrix
from krein.kernels.items import same_items
from krein.kernels.registry import Kernel
from krein.store.state import COEFFICIENTS, RESULTS, Fitted, State
from krein.validation import check_classes_weigh, check_labels, warn_if_reordered

__all__ = ["KernelClassifier"]


class KernelClassifier(ClassifierMixin, KernelModel):
    """Classifier with rows of coefficients; a subclass implements `fit_rows`."""

    _fitted_state: State = (
        *COEFFICIENTS,
        *RESULTS,
        Fitted("classes_", "labels", "c"),
        Fitted(
            "calibration_",
            "sigmoids",
            needed=lambda m: getattr(m, "probability", False),
        ),
    )

    _parameter_constraints: dict = {  # noqa: RUF012
        **KernelModel._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "probability": ["boolean"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
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
        return self._fit(X, y, sample_weight)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        columns_of: Callable[..., Any] | None = None,
    ) -> Self:
        """Fit; `columns_of` as in `_prepared`, for `krein.scale`."""
        training, target = self._start(X, y, sample_weight, columns_of)
        self._store(self.fit_rows(training, target), training)
        if getattr(self, "probability", False):
            self.calibration_ = sigmoid_calibration(
                self._without_start().fit_rows, training, target, self.random_state
            )
        return self

    def _without_start(self) -> Self:
        """Return the settings without a starting point, which is of all samples."""
        options = dict(getattr(self, "solver_options", None) or {})
        if isinstance(options.pop("init", ""), str):
            return self
        return clone(self).set_params(solver_options=options)

    def _start(
        self, X: Any, y: Any, sample_weight: Any, columns_of: Any = None
    ) -> tuple[Training, Classes]:
        """Validate everything; set `classes_`."""
        warn_if_reordered(X, y)
        items = self._check_items(X, reset=True)
        codes = self._check_targets(y, _num_samples(items))
        weight = self._check_weight(items, sample_weight, self._class_weights(codes))
        check_classes_weigh(self.classes_, codes, weight)
        dtype = getattr(X, "dtype", None)
        training = self._prepared(items, dtype, weight, columns_of)
        kept = codes if training.kept is None else codes[training.kept]
        return training, Classes(kept, self.classes_.size)

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

    def predict_early(
        self, X: Any, *, return_counts: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Class labels of `predict`, from as few similarities as they need.

        Similarities to training items are computed a few at a time, those first that
        can change most. An item is left when the bounds that the kernel declares for
        the others (`krein.Kernel.bounds`) cannot change its label. Worth it where one
        similarity costs more than some microseconds. Where no bounds are known, with
        ``kernel="precomputed"`` and for the training items themselves (where half of
        the pairs are enough) this is `predict`.

        Parameters
        ----------
        X : items as in fit
        return_counts : bool
            Return also how many similarities were computed.

        Returns
        -------
        labels : ndarray of shape (n_new,)
        counts : ndarray of shape (n_new,)
            Similarities computed for each item, of `support_.size`; only with
            `return_counts`.

        Examples
        --------
        >>> from krein import SpectrumSVC
        >>> words = ["anna", "anne", "ann", "bernhard", "bernard", "bernd"]
        >>> model = SpectrumSVC(kernel="edit").fit(words, [0, 0, 0, 1, 1, 1])
        >>> model.predict_early(["hanna", "gerhard", "ah"], return_counts=True)
        (array([0, 1, 0]), array([4, 4, 4]))
        """
        found = self._early(X)
        if found is None:
            labels = self.predict(X)
            counts = np.full(labels.shape[0], self.support_.size)
            return (labels, counts) if return_counts else labels
        labels = self.classes_[found.classes]
        open_rows = found.classes < 0
        if np.any(open_rows):
            # The products of `predict`, so that ties fall as they do there.
            values = self.row_values(self._support_coef, found.similarities)
            values = self._with_constants(values, X)
            labels[open_rows] = self._labels(values)[open_rows]
        return (labels, found.counts) if return_counts else labels

    def _early(self, X: Any) -> Early | None:
        """Similarities by need; None where `predict` is all there is."""
        check_is_fitted(self, "dual_coef_")
        self._refuse_diverged()
        kernel = getattr(self, "kernel_", None)
        if self._no_expansion() is not None or not isinstance(kernel, Kernel):
            return None
        new, items = self._check_items(X, reset=False), self._support_items()
        if self.support_.size == 0 or same_items(new, items):
            return None
        bounds = kernel.bounds(new, items)
        if bounds is None:
            return None
        constants = np.zeros((_num_samples(new), self.dual_coef_.shape[0]))
        return early_classes(
            self._support_coef,
            self._with_constants(constants, X),
            bounds,
            lambda rows, columns: kernel_matrix(
                kernel, take(new, rows), take(items, columns)
            ),
            one_vs_one=self._pairs_vote(self.classes_.size),
        )

    def _labels(self, values: Array, classes: np.ndarray | None = None) -> np.ndarray:
        classes = self.classes_ if classes is None else classes
        labels = voted_labels if self._pairs_vote(classes.size) else as_labels
        return labels(values, classes)

    def _pairs_vote(self, n_classes: int) -> bool:
        return getattr(self, "multi_class", None) == "ovo" and n_classes > 2

    def _has_probabilities(self) -> bool:
        if getattr(self, "probability", False):
            return True
        raise AttributeError("predict_proba needs probability=True")

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
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
