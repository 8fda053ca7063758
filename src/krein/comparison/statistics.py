"""Honest tests of differences between scores on overlapping training sets."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import t as student

from krein.arrays import Array

__all__ = ["corrected_error", "corrected_test", "holm", "score_interval"]


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
