"""Regression on a kernel."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import (
    RegressorMixin,
)
from sklearn.utils.validation import (
    _num_samples,
)

from krein.arrays import Array
from krein.estimators._base import KernelModel
from krein.estimators._training import Training, Values
from krein.labels import check_weights
from krein.store.state import COEFFICIENTS, RESULTS, State, replaces_state
from krein.validation import warn_if_reordered


class KernelRegressor(RegressorMixin, KernelModel):
    """Regression with one row; a subclass implements `fit_rows`."""

    _fitted_state: ClassVar[State] = (
        *COEFFICIENTS,
        *RESULTS,
    )

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

    def _start(self, X: Any, y: Any, sample_weight: Any) -> tuple[Training, Values]:
        """Validate everything."""
        warn_if_reordered(X, y)
        items = self._check_items(X, reset=True)
        y = self._check_regression_targets(y, _num_samples(items))
        weight = check_weights(_num_samples(items), sample_weight)
        training = self._prepared(items, getattr(X, "dtype", None), weight)
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
