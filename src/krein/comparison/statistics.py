"""Scores, and honest tests of their differences on overlapping training sets.

scikit-learn's functions give the same scores (tested), but on the small test parts of
inner folds their checks of the input take several times as long as fitting an SVM.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import rankdata
from scipy.stats import t as student
from sklearn.metrics import r2_score

from krein.arrays import Array

_OVERLAP = 1.25


def score(name: str, y: Array, predicted: Array, values: Array, proba: Any) -> float:
    """Return a score by its name; larger is better.

    Parameters
    ----------
    name : str
        `scoring` of a column of `krein.comparison.columns`.
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
        return float(np.mean([np.mean(predicted[y == k] == k) for k in np.unique(y)]))
    if name == "neg_log_loss":
        eps = np.finfo(float).eps
        chosen = proba[np.arange(y.size), y]
        return float(np.mean(np.log(np.clip(chosen, eps, 1 - eps))))
    if name == "roc_auc":
        return _area(y, values)
    if name == "neg_mean_absolute_error":
        return -float(np.abs(y - predicted).mean())
    return float(r2_score(y, predicted))


def _area(codes: np.ndarray, values: Array) -> float:
    """Area under the curve; for several classes the mean of one against the rest."""
    classes = [1] if values.shape[1] == 1 else range(values.shape[1])
    areas = []
    for row, k in enumerate(classes):
        positive = codes == k
        p, q = int(positive.sum()), int((~positive).sum())
        if p and q:
            ranks = float(rankdata(values[:, row])[positive].sum())
            areas.append((ranks - p * (p + 1) / 2) / (p * q))
    return float(np.mean(areas)) if areas else float("nan")


def corrected_error(values: Array, test_share: float) -> float:
    """Standard error of a mean over splits whose training sets overlap.

    Parameters
    ----------
    values : ndarray of shape (J,)
        One number per split.
    test_share : float
        n_test / n_train.

    Returns
    -------
    float
        ``sqrt((1/J + test_share) s^2)``.
    """
    if values.size < 2:
        return 0.0
    return math.sqrt((1.0 / values.size + test_share) * float(values.var(ddof=1)))


def corrected_test(a: Array, b: Array, test_share: float) -> tuple[float, float]:
    """Corrected resampled t-test of the mean difference of paired scores.

    The variance of the mean over J splits is taken as (1/J + n_test/n_train) s^2
    (Nadeau and Bengio, 2003, eq. 21): the second term stands for the correlation that
    overlapping training sets bring, without which differences look far too certain.

    Parameters
    ----------
    a, b : ndarray of shape (J,)
        Scores of two methods on the same splits.
    test_share : float
        n_test / n_train.

    Returns
    -------
    tuple of float
        Mean of a - b and the two-sided p value.
    """
    difference = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    mean = float(difference.mean())
    if difference.size < 2:
        return mean, 1.0
    error = corrected_error(difference, test_share)
    if error == 0.0:
        return mean, 1.0 if mean == 0.0 else 0.0
    return mean, float(2.0 * student.sf(abs(mean) / error, difference.size - 1))


def item_test(
    difference: Array,
    weight: Array | None = None,
    groups: np.ndarray | None = None,
    *,
    test_share: float,
    folds: float,
    skill: float = 0.0,
) -> tuple[float, float]:
    """Test of the mean difference per item, items being the unit.

    Plain McNemar over pooled folds takes one training set for all: it tells equally
    good methods apart on up to a quarter of the data sets. The variance of the mean is
    therefore enlarged by ``1 + 1.25 * folds * test_share * (1 - skill / 3)``: the term
    of Nadeau and Bengio (2003) for overlapping training sets, a quarter on top for
    learners that change with every training set, and up to a third less where both
    methods are far better than an answer that costs nothing, because luck with
    a training set then decides less. Its estimate has as many degrees of freedom as
    there are items, where the test over splits has hardly any.
    ``benchmarks/ties.py`` prints the error rate of both tests.

    Parameters
    ----------
    difference : ndarray of shape (n,)
        Of each item, averaged over its tests.
    weight : ndarray of shape (n,), optional
        What an item counts; the same for all when not given. The sum is 1.
    groups : ndarray of shape (n,), optional
        Items of a group are one unit.
    test_share : float
        n_test / n_train.
    folds : float
        Test parts that cover all items once.
    skill : float
        Between 0 and 1: which part of the mistakes of an answer that costs nothing
        the two methods avoid, on average.

    Returns
    -------
    tuple of float
        Mean difference and the two-sided p value.
    """
    n = difference.size
    weight = np.full(n, 1.0 / n) if weight is None else weight
    mean = float(weight @ difference)
    parts = weight * (difference - mean)
    if groups is not None:
        units = np.unique(groups, return_inverse=True)[1].ravel()
        parts = np.bincount(units, parts).astype(float)
    if parts.size < 2:
        return mean, 1.0
    spread = float(parts @ parts) * parts.size / (parts.size - 1)
    luck = _OVERLAP * folds * test_share * (1.0 - min(max(skill, 0.0), 1.0) / 3.0)
    error = math.sqrt((1.0 + luck) * spread)
    if error <= 1e-12 * abs(mean):
        return mean, 1.0 if mean == 0.0 else 0.0
    return mean, float(2.0 * student.sf(abs(mean) / error, parts.size - 1))


def score_interval(
    values: Array,
    test_share: float,
    level: float = 0.95,
    *,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> tuple[float, float]:
    """Confidence interval of a mean score, with the same correction, inside bounds."""
    values = np.asarray(values, dtype=float)
    mean = float(values.mean())
    if values.size < 2:
        return mean, mean
    half = corrected_error(values, test_share) * float(
        student.ppf(0.5 + level / 2, values.size - 1)
    )
    return max(bounds[0], mean - half), min(bounds[1], mean + half)


def holm(p_values: list[float]) -> list[float]:
    """Holm's step-down adjustment for several comparisons."""
    order = np.argsort(p_values)
    adjusted = [1.0] * len(p_values)
    worst = 0.0
    for rank, index in enumerate(order):
        worst = max(worst, (len(p_values) - rank) * p_values[index])
        adjusted[index] = min(1.0, worst)
    return adjusted
