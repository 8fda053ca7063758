"""Tests of differences between contenders, and intervals of their scores.

Two tests of paired scores: over splits (Nadeau and Bengio), for scores that are no mean
over items, and over items. Both allow for training sets that overlap.
``benchmarks/chance.py`` prints how often they err.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import chi2
from scipy.stats import t as student

from krein.arrays import Array

FEWEST_SPLITS = 5  # with fewer no p-value over splits can be small
_OVERLAP = 1.25  # see `item_test`
_OVERLAP_OF_RATES = 1.0 / 3.0  # see `rate_interval`
_FEW = 3.5  # errors, below which Wilson's interval ends too early
_RESAMPLES = 500  # of the items, for the optimism of a choice
_NORMAL = 1.959963984540054  # quantile of 95 % intervals


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
    mean = float(difference.mean())
    error = corrected_error(difference, test_share)
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
    therefore enlarged by ``1 + 1.25 * folds * test_share * (1 - skill / 2)``: the term
    of Nadeau and Bengio (2003) for overlapping training sets, a quarter on top for
    learners that change with every training set, and up to half less where both
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
    luck = training_luck(folds, test_share, skill)
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
    error = math.sqrt((1.0 + training_luck(folds, test_share)) * spread)
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
    order = np.argsort(p_values)
    count = len(p_values)
    larger = np.maximum.accumulate((count - np.arange(count)) * np.sort(p_values))
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(larger, 1.0)
    return adjusted.tolist()


def rate_interval(
    values: Array,
    strata: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    *,
    test_share: float,
    folds: float,
) -> tuple[float, float]:
    """95 % interval of the mean, over strata, of rates at which items are recognised.

    The interval of one stratum is Wilson's (1927) with the modification for few errors,
    which is not of width zero where all items are recognised; those of several are
    joined by the squares of their arms (Zou and Donner, 2008, "MOVER").

    Items count for less than they are. Those of a group may all be right or wrong
    together. And the models of the folds share items: with many items that widens the
    interval by nothing (Bayle, Bayle, Janson and Mackey, 2020, theorem 1), with few it
    does (Bates, Hastie and Tibshirani, 2024). The term of Nadeau and Bengio, ``folds *
    test_share``, is made for differences, where training sets decide more. A third of
    it is enough for a rate: in simulations of other sizes and signals than those of
    ``benchmarks/chance.py`` the interval then held the mean score of the models of the
    splits, and the score of the model of all items, in 94 % of the data sets or more.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Share of its tests in which an item was recognised.
    strata : ndarray of int of shape (n,), optional
        Classes of the balanced accuracy; all items are one stratum when not given.
    groups, test_share, folds
        As in `item_test`.

    Returns
    -------
    tuple of float
    """
    strata = np.zeros(values.size, dtype=int) if strata is None else strata
    kinds = np.unique(strata)
    mean = 0.0
    below = 0.0
    above = 0.0
    for kind in kinds:
        part = strata == kind
        size = _independent(int(part.sum()), None if groups is None else groups[part])
        size /= 1.0 + _OVERLAP_OF_RATES * folds * test_share
        rate = float(values[part].mean())
        low, high = modified_wilson(rate, size)
        mean += rate / kinds.size
        below += ((rate - low) / kinds.size) ** 2
        above += ((high - rate) / kinds.size) ** 2
    return max(0.0, mean - math.sqrt(below)), min(1.0, mean + math.sqrt(above))


def wilson(rate: float, size: float) -> tuple[float, float]:
    """95 % interval of a rate that was seen among so many items (Wilson, 1927)."""
    z = _NORMAL
    middle = rate + z * z / (2.0 * size)
    arm = z * math.sqrt(rate * (1.0 - rate) / size + z * z / (4.0 * size * size))
    wide = 1.0 + z * z / size
    return max(0.0, (middle - arm) / wide), min(1.0, (middle + arm) / wide)


def modified_wilson(rate: float, size: float) -> tuple[float, float]:
    """Wilson's interval, longer where there are few errors or few successes.

    Wilson's upper bound of a rate is too low where one to three of the items were not
    recognised: it then misses rates near 1 too often. The bound of a Poisson number of
    errors takes its place (Brown, Cai and DasGupta, 2001, Statistical Science 16,
    section 4.1.1): the mean number of errors with which so many are seen in 5 %.
    """
    low, high = wilson(rate, size)
    errors = size * (1.0 - rate)
    successes = size * rate
    if 0.0 < errors < _FEW:
        high = max(high, 1.0 - _fewest(errors) / size)
    if 0.0 < successes < _FEW:
        low = min(low, _fewest(successes) / size)
    return low, high


def _fewest(seen: float) -> float:
    """Lower 95 % bound of the mean of a Poisson number."""
    return 0.5 * float(chi2.ppf(0.05, 2.0 * seen))


def _independent(n: int, groups: np.ndarray | None) -> float:
    """How many items n are worth, if those of a group behave as one."""
    if groups is None:
        return float(n)
    sizes = np.unique(groups, return_counts=True)[1].astype(float)
    return n * n / float(sizes @ sizes)


def training_luck(folds: float, test_share: float, skill: float = 0.0) -> float:
    """By how much overlapping training sets raise a variance; see `item_test`."""
    return _OVERLAP * folds * test_share * (1.0 - 0.5 * min(max(skill, 0.0), 1.0))


def corrected_maximum(
    items: Array, weight: Array, groups: np.ndarray | None = None
) -> float:
    """Mean score of what has the highest one, without the optimism of the choice.

    Bootstrap bias corrected cross-validation (Tsamardinos, Greasidou and Borboudakis,
    2018, Machine Learning 107): the highest is chosen on a resample of the items, and
    scored on the items that are not in it; the mean over resamples.

    Parameters
    ----------
    items : ndarray of shape (n_contenders, n)
        Score of each contender on each item, by models that did not see the item.
    weight : ndarray of shape (n,)
        What an item counts.
    groups : ndarray of shape (n,), optional
        Items of a group are drawn together.
    """
    rng = np.random.default_rng(0)
    n = items.shape[1]
    unit = np.arange(n)
    if groups is not None:
        unit = np.unique(groups, return_inverse=True)[1].ravel()
    count = int(unit.max()) + 1
    found = []
    for _ in range(_RESAMPLES):
        drawn = np.bincount(rng.integers(0, count, count), minlength=count)[unit]
        inside = weight * drawn
        outside = weight * (drawn == 0)
        if inside.sum() > 0.0 and outside.sum() > 0.0:
            best = int(np.argmax(items @ inside))
            found.append(float(items[best] @ outside / outside.sum()))
    return float(np.mean(found)) if found else float((items @ weight).max())
