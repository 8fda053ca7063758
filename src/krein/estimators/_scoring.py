"""Scores of decision values that are computed already, by scikit-learn's scorers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import check_scoring
from sklearn.utils.metaestimators import available_if

from krein.arrays import Array
from krein.estimators._training import Classes, as_labels, ravel_rows

# Decision values (n_test, n_rows) and test positions -> a score, larger is better.
Score = Callable[[Array, np.ndarray], float]


class HeldValues(ClassifierMixin, BaseEstimator):
    """Wraps precomputed decision values so that scikit-learn scorers accept them."""

    def __init__(
        self,
        classes_: np.ndarray,
        values: Array,
        proba: Callable[[Array], Array] | None = None,
    ) -> None:
        self.classes_ = classes_
        self.values = values
        self.proba = proba

    def fit(self, X: Any, y: Any) -> HeldValues:
        """Refuse: it holds values only."""
        raise NotImplementedError("holds values only")

    def decision_function(self, X: Any) -> Array:
        """Return the values."""
        return ravel_rows(self.values)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels."""
        return as_labels(self.values, self.classes_)

    @available_if(lambda self: self.proba is not None)
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities."""
        assert self.proba is not None
        return self.proba(self.values)


def scorer(
    scoring: Any,
    classes: np.ndarray,
    target: Classes,
    *,
    weight: Array | None = None,
    proba: Callable[[Array], Array] | None = None,
) -> Score:
    """Return ``score(values, test)`` by a scikit-learn scorer; accuracy when None.

    Parameters
    ----------
    scoring : str, callable or None
        As in `GridSearchCV`.
    classes : ndarray
        Labels.
    target : Classes
        Of all samples.
    weight : ndarray, optional
        Weights of the samples in the score.
    proba : callable, optional
        Turns values into probabilities, where the model has them.
    """
    labels = classes[target.codes]
    if scoring is None:
        # scikit-learn's own checks take longer than a small fit.
        def accuracy(values: Array, test: np.ndarray) -> float:
            hits = as_labels(values, classes) == labels[test]
            return float(
                np.average(hits, weights=None if weight is None else weight[test])
            )

        return accuracy
    judge = check_scoring(HeldValues(classes, np.empty((0, 1)), proba), scoring)

    def score(values: Array, test: np.ndarray) -> float:
        held = HeldValues(classes, values, proba)
        given = {} if weight is None else {"sample_weight": weight[test]}
        rows = np.asarray(test)[:, None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            try:
                return float(judge(held, rows, labels[test], **given))
            except ValueError as error:
                if "one class" in str(error).lower():  # not defined on this fold
                    return float("nan")
                raise

    return score
