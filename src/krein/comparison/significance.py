"""Tests of differences between contenders, and intervals of their scores.

Two tests of paired scores: over splits (Nadeau and Bengio), for scores that are no mean
over items, and over items. Both allow for training sets that overlap.
``benchmarks/chance.py`` prints how often they err.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import t as student

from krein.arrays import Array

LEVEL = 0.05  # p-value up to which two contenders are told apart
FEWEST_SPLITS = 5  # with fewer no p-value over splits can be small
_OVERLAP = 1.25  # see `item_test`


def beats(scores: Array, others: Array, share: float, errors: float = 1.0) -> bool:
    """Whether a mean is higher by more than some standard errors of the difference."""
    difference = scores - others
    least = errors * corrected_error(difference, share)
    return float(difference.mean()) > least + 1e-12


def corrected_error(values: Array, test_share: float) -> float:
    """Standard error ``sqrt((1/J + test_share) s^2)`` of a mean over J splits.

    Their training sets overlap; `test_share` is n_test / n_train.
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
    mean, error = float(difference.mean()), corrected_error(difference, test_share)
    return mean, _p_value(mean, error, difference.size - 1)


def _p_value(mean: float, error: float, degrees: int) -> float:
    """Two-sided p value of a mean by Student's distribution."""
    if degrees < 1:
        return 1.0
    if error <= 1e-12 * abs(mean):
        return 1.0 if mean == 0.0 else 0.0
    return float(2.0 * student.sf(abs(mean) / error, degrees))


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
    spread = float(parts @ parts) * parts.size / max(parts.size - 1, 1)
    luck = _OVERLAP * folds * test_share * (1.0 - min(max(skill, 0.0), 1.0) / 3.0)
    return mean, _p_value(mean, math.sqrt((1.0 + luck) * spread), parts.size - 1)


def one_sided(mean: float, two_sided: float) -> float:
    """P-value that a mean is positive, of the two-sided one."""
    return 0.5 * two_sided if mean > 0.0 else 1.0 - 0.5 * two_sided


def rate_test(
    values: Array,
    rate: float,
    weight: Array | None = None,
    groups: np.ndarray | None = None,
    *,
    test_share: float,
    folds: float,
) -> float:
    """One-sided test that items are recognised more often than by a known rate.

    A score test: the variance is that of the rate itself, ``rate (1 - rate)`` an item,
    so that it is not zero where all items are recognised. It is enlarged for
    overlapping training sets as in `item_test`, without skill.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Share of its tests in which an item was recognised.
    rate : float
        Between 0 and 1: how often an answer that costs nothing is right.
    weight, groups, test_share, folds
        As in `item_test`.

    Returns
    -------
    float
        The p value.
    """
    weight = np.full(values.size, 1.0 / values.size) if weight is None else weight
    parts: Array = weight
    if groups is not None:  # items of a group may all be right or wrong together
        units = np.unique(groups, return_inverse=True)[1].ravel()
        parts = np.bincount(units, weight).astype(float)
    spread = float(parts @ parts) * rate * (1.0 - rate)
    error = math.sqrt((1.0 + _OVERLAP * folds * test_share) * spread)
    mean = float(weight @ values) - rate
    return one_sided(mean, _p_value(mean, error, parts.size - 1))


def score_interval(
    values: Array, test_share: float, bounds: tuple[float, float]
) -> tuple[float, float]:
    """95 % interval of a mean score, with the same correction, inside bounds."""
    values = np.asarray(values, dtype=float)
    mean = float(values.mean())
    if values.size < 2:
        return mean, mean
    quantile = float(student.ppf(0.975, values.size - 1))
    half = corrected_error(values, test_share) * quantile
    return max(bounds[0], mean - half), min(bounds[1], mean + half)


def holm(p_values: list[float]) -> list[float]:
    """Holm's step-down adjustment for several comparisons."""
    order, count = np.argsort(p_values), len(p_values)
    larger = np.maximum.accumulate((count - np.arange(count)) * np.sort(p_values))
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(larger, 1.0)
    return adjusted.tolist()
