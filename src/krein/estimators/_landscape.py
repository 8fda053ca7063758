"""Scores of decision values: by scikit-learn's scorers, of many settings at once.

A setting is a row of a table of out-of-fold decision values. Accuracy on small folds
cannot tell settings apart; the log-loss of calibrated probabilities can.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import check_scoring
from sklearn.utils.metaestimators import available_if

from krein.arrays import Array
from krein.estimators._training import Classes, as_labels, ravel_rows
from krein.sklearn_internals import says_one_class

_STEPS = 50
_LEAST = 1e-6  # b of scores that point the wrong way, in units of the largest score
_TINY = 1e-300
LOG_LOSS = "neg_log_loss"


def setting_scores(
    parts: Sequence[Array],
    tests: Sequence[np.ndarray],
    target: Classes,
    weight: Array,
    classes: np.ndarray,
    scoring: Any = None,
) -> Array:
    """Score of every setting on every fold (n_settings, n_folds); larger is better.

    Parameters
    ----------
    parts : list of ndarray of shape (n_settings, n_test, n_rows)
        Out-of-fold decision values of all settings, one table a fold.
    tests : list of ndarray
        Samples of each fold.
    target : Classes
        Classes of all samples.
    weight : ndarray of shape (n,)
        Sample weights.
    classes : ndarray
        Labels of the classes.
    scoring : str, callable or None
        None and "neg_log_loss": the log-loss of probabilities whose temperature is
        fitted to all folds together; otherwise a scorer of scikit-learn, which does
        not see weights.
    """
    tested, values = np.concatenate(tests), np.concatenate(parts, axis=1)
    temperature = temperatures(values, target.codes[tested], weight[tested])
    scores = np.empty((values.shape[0], len(tests)))
    for f, (part, test) in enumerate(zip(parts, tests, strict=True)):
        if scoring is None or scoring == LOG_LOSS:
            proba = probabilities(part, temperature)
            own = proba[:, np.arange(test.size), target.codes[test]]
            losses = np.log(np.maximum(own, np.finfo(float).tiny))
            scores[:, f] = np.average(losses, axis=1, weights=weight[test])
            continue
        for s, one in enumerate(part):
            proba_of = partial(probabilities, temperature=temperature[s])
            judge = scorer(scoring, classes, target, proba=proba_of)
            scores[s, f] = judge(one, test)
    return scores


def probabilities(values: Array, temperature: Any) -> Array:
    """Class probabilities ``softmax(values / temperature)``.

    The most probable class is the predicted one: a temperature moves no threshold.

    Parameters
    ----------
    values : ndarray of shape (..., n, n_rows)
        Decision values; one row for two classes.
    temperature : float or ndarray of shape (...)
        Positive.

    Returns
    -------
    ndarray of shape (..., n, n_classes)
    """
    return softmax(_logits(values) / np.asarray(temperature)[..., None, None], axis=-1)


def with_threshold(values: Array, codes: np.ndarray, weight: Array) -> Array:
    """Values of two classes, moved so that as many are positive as there should be.

    Least squares on labels has its threshold elsewhere than a machine. Values of more
    classes stay as they are.

    Parameters
    ----------
    values : ndarray of shape (n_settings, n, n_rows)
        Decision values.
    codes : ndarray of shape (n,)
        True classes.
    weight : ndarray of shape (n,)
        Sample weights.

    Returns
    -------
    ndarray of shape (n_settings, n, n_rows)
    """
    if values.shape[2] > 1:
        return values
    order = np.argsort(values[:, :, 0], axis=1)
    ascending = np.take_along_axis(values[:, :, 0], order, axis=1)
    below = float(weight[codes == 0].sum())
    places = np.array([np.searchsorted(np.cumsum(weight[o]), below) for o in order])
    last, rows = codes.size - 1, np.arange(order.shape[0])
    threshold = 0.5 * (
        ascending[rows, np.minimum(places, last)]
        + ascending[rows, np.minimum(places + 1, last)]
    )
    return values - threshold[:, None, None]


def temperatures(values: Array, codes: np.ndarray, weight: Array) -> Array:
    """Temperature of every setting that makes the true classes most probable.

    Newton's method on b = 1 / temperature; the loss is convex in b. Targets are
    smoothed as Platt's, so that b stays finite on separable data.

    Parameters
    ----------
    values : ndarray of shape (n_settings, n, n_rows)
        Decision values of items that the settings did not see.
    codes : ndarray of shape (n,)
        True classes.
    weight : ndarray of shape (n,)
        Sample weights.

    Returns
    -------
    ndarray of shape (n_settings,)

    References
    ----------
    Platt (1999); Guo, Pleiss, Sun, Weinberger (2017), "On calibration of modern neural
    networks".
    """
    n, k = values.shape[1], max(values.shape[2], 2)
    scale = np.abs(values).max(axis=(1, 2))
    x = values / np.where(scale > 0, scale, 1.0)[:, None, None]
    total = float(weight.sum())
    target = np.full((n, k), 1.0 / (total + 2) / (k - 1))
    target[np.arange(n), codes] = (total + 1) / (total + 2)
    moments = _moments_of_two if values.shape[2] == 1 else _moments
    b = np.ones(values.shape[0])
    for _ in range(_STEPS):
        error, variance = moments(x, b, target)
        slope, curvature = error @ weight, variance @ weight + _TINY
        new = np.clip(b - slope / curvature, 0.2 * b, 5.0 * b)
        new = np.clip(new, _LEAST, 1.0 / _LEAST)
        done = np.all(np.abs(new - b) <= 1e-8 * b)
        b = new
        if done:
            break
    return np.where(scale > 0, scale, 1.0) / b


def _moments(x: Array, b: Array, target: Array) -> tuple[Array, Array]:
    """Mean of x under softmax(b x) less that under the target; its variance."""
    p = softmax(b[:, None, None] * x, axis=-1)
    mean = np.sum(p * x, axis=2)
    return mean - np.sum(target * x, axis=2), np.sum(p * x * x, axis=2) - mean**2


def _moments_of_two(x: Array, b: Array, target: Array) -> tuple[Array, Array]:
    """Return the same of two classes, whose values are 0 and x."""
    x = x[:, :, 0]
    p = expit(b[:, None] * x)
    return (p - target[:, 1]) * x, p * (1.0 - p) * x**2


def _logits(values: Array) -> Array:
    """Decision values with one column per class."""
    if values.shape[-1] > 1:
        return values
    return np.concatenate([np.zeros_like(values), values], axis=-1)


# ------------------------------------------------------------------------------------
# Decision values that are computed already, for scikit-learn's scorers.

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
                if says_one_class(error):  # not defined on this fold
                    return float("nan")
                raise

    return score
