"""Scores of decision values, of many settings at once, and the columns of results.

A setting is a row of a table of out-of-fold decision values. Accuracy on small folds
cannot tell settings apart; the log-loss of calibrated probabilities can.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import check_scoring, r2_score
from sklearn.utils.metaestimators import available_if

from krein.arrays import Array
from krein.declarations import Fitted
from krein.selection.calibration import probabilities, temperatures
from krein.selection.search import Candidate, Score
from krein.sklearn_internals import says_one_class
from krein.training import Classes, as_labels, ravel_rows

LOG_LOSS = "neg_log_loss"
_SPLIT = "split{}_test_score"  # name of a column, as GridSearchCV has it


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
    tested = np.concatenate(tests)
    values = np.concatenate(parts, axis=1)
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
    last = codes.size - 1
    rows = np.arange(order.shape[0])
    threshold = 0.5 * (
        ascending[rows, np.minimum(places, last)]
        + ascending[rows, np.minimum(places + 1, last)]
    )
    return values - threshold[:, None, None]


# ------------------------------------------------------------------------------------
# Decision values that are computed already, for scikit-learn's scorers.


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


# ------------------------------------------------------------------------------------
# Scores by name.
#
# scikit-learn's functions give the same scores (tested), but on the small test parts of
# inner folds their checks of the input take several times as long as fitting an SVM.


def score(name: str, y: Array, predicted: Array, values: Array, proba: Any) -> float:
    """Return a score by its name; larger is better.

    Parameters
    ----------
    name : str
        `scoring` of a column.
    y, predicted : ndarray of shape (n,)
        True and predicted classes, or numbers.
    values : ndarray of shape (n, n_rows)
        Decision values, one row per class against the rest.
    proba : ndarray of shape (n, n_classes)
        Probabilities; only asked for by the log-loss.
    """
    if name == "accuracy":
        return float(np.mean(y == predicted))
    if name == "balanced_accuracy":
        recalls = [np.mean(predicted[y == k] == k) for k in np.unique(y)]
        return float(np.mean(recalls))
    if name == "neg_log_loss":
        return -float(np.mean(log_losses(y, proba)))
    if name == "roc_auc":
        return _area(y, values)
    if name == "neg_mean_absolute_error":
        return -float(np.abs(y - predicted).mean())
    return float(r2_score(y, predicted))


def log_losses(y: np.ndarray, proba: Array) -> Array:
    """Minus the logarithm of the probability of the true class, of each item."""
    eps = float(np.finfo(float).eps)
    own = proba[np.arange(y.size), y]
    return -np.log(np.clip(own, eps, 1.0 - eps))


def _area(codes: np.ndarray, values: Array) -> float:
    """Area under the curve; for several classes the mean of one against the rest."""
    classes = [1] if values.shape[1] == 1 else range(values.shape[1])
    positive = codes[:, None] == np.asarray(classes)
    p = positive.sum(axis=0)
    pairs = p * (codes.size - p)
    above = (rankdata(values, axis=0) * positive).sum(axis=0) - p * (p + 1) / 2
    areas = above[pairs > 0] / pairs[pairs > 0]
    return float(areas.mean()) if areas.size else float("nan")


# --------------------------------------------------------------------------- results


def store_results(model: Any, table: dict[str, Any], best: int) -> None:
    """Set the fitted attributes that every search has."""
    model.best_params_ = dict(table["params"][best])
    model.best_index_ = best
    model.best_score_ = float(table["mean_test_score"][best])
    model.cv_results_ = table


def cv_results(grid: Sequence[Candidate], scores: Array) -> dict[str, Any]:
    """The table of a search, in the form of `GridSearchCV`."""
    mean = np.array([_mean(row) for row in scores])
    filled = np.where(np.isnan(mean), -np.inf, mean)
    scale = float(np.abs(mean[np.isfinite(mean)]).max(initial=0.0)) or 1.0
    rounded = np.round(filled / scale, 12)
    table: dict[str, Any] = {"params": [dict(candidate) for candidate in grid]}
    for name in grid[0] if grid else ():
        values = [candidate.get(name) for candidate in grid]
        table[f"param_{name}"] = np.array(values)
    for f in range(scores.shape[1]):
        table[_SPLIT.format(f)] = scores[:, f]
    table["mean_test_score"] = mean
    table["std_test_score"] = np.array([np.std(row) for row in scores])
    better = [int(np.sum(rounded > score)) for score in rounded]
    table["rank_test_score"] = 1 + np.array(better)
    return table


def _mean(scores: Array) -> float:
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if known.size else float("nan")


SEARCHED = Fitted.state(
    Fitted("best_params_", "table"),
    Fitted("best_score_", "number", needed=False),
    Fitted("best_index_", "integer", needed=False),
    Fitted("cv_results_", "table"),
)


def split_scores(model: Any) -> Array:
    """Scores (n_candidates, n_folds) from the table of a search."""
    table = model.cv_results_
    columns: list[Array] = []
    while _SPLIT.format(len(columns)) in table:
        columns.append(table[_SPLIT.format(len(columns))])
    return np.column_stack(columns)
