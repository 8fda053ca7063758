"""Probabilities for SVMs, and sets of classes that hold the true one.

Probabilities are a sigmoid on out-of-fold scores. scikit-learn's own calibration cannot
slice the columns of a precomputed kernel; here rows and columns are cut together, from
the matrix that the fit has computed already.

Sets are split-conformal by class: an item of class k has a low probability of k as
rarely as the training items of class k had when a model that did not see them judged
them. The folds are those that calibrated the probabilities, so that nothing is fitted
for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from krein.arrays import Array
from krein.selection.folds import inner_folds
from krein.selection.search import out_of_fold
from krein.sklearn_internals import platt_sigmoid
from krein.training import Classes, Training

_STEPS = 50
_LEAST = 1e-6  # b of scores that point the wrong way, in units of the largest score
_TINY = 1e-300


def sigmoid_calibration(
    model: Any, training: Training, target: Classes, random_state: Any
) -> tuple[tuple[Array, Array], Array]:
    """Slopes and offsets (n_rows,) of the sigmoids of a one-vs-rest model.

    With them comes what prediction sets need (`conformity`). At low rank the
    landmarks are shared by the folds; they know no labels.
    """
    folds = inner_folds(target.codes, random_state, "probability=True")
    scores = out_of_fold(model, training, target, folds)
    return calibrated(scores, target, training.weight)


def calibrated(
    scores: Array, target: Classes, weight: Array | None
) -> tuple[tuple[Array, Array], Array]:
    """Sigmoids and conformity of out-of-fold scores (n, n_rows)."""
    sigmoids = fit_sigmoids(scores, target.codes, weight, target.n)
    own = sigmoid_probabilities(scores, *sigmoids)
    return sigmoids, conformity(own, target.codes, weight)


def fit_sigmoids(
    scores: Array, codes: np.ndarray, weight: Array | None, n_classes: int
) -> tuple[Array, Array]:
    """Slopes and offsets (n_rows,) from out-of-fold scores (n, n_rows)."""
    tested = ~np.isnan(scores).any(axis=1)  # not those of classes with one sample
    scores, codes = scores[tested], codes[tested]
    weight = None if weight is None else weight[tested]
    positives = [1] if n_classes == 2 else range(n_classes)
    fits = [
        fit_sigmoid(scores[:, row], codes == k, weight)
        for row, k in enumerate(positives)
    ]
    slopes, offsets = np.array(fits).T
    return slopes, offsets


def sigmoid_probabilities(scores: Array, slope: Array, offset: Array) -> Array:
    """Class probabilities (n, n_classes) from one-vs-rest scores (n, n_rows)."""
    positive = expit(scores * slope + offset)
    if positive.shape[1] == 1:
        return np.hstack([1.0 - positive, positive])
    total = positive.sum(axis=1, keepdims=True)
    return np.where(
        total > 0, positive / np.where(total > 0, total, 1.0), 1.0 / positive.shape[1]
    )


def fit_sigmoid(
    scores: Array, positive: np.ndarray, weight: Array | None = None
) -> tuple[float, float]:
    """Platt's sigmoid ``1 / (1 + exp(-(a s + b)))`` with his smoothed targets.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Out-of-fold decision values.
    positive : ndarray of bool of shape (n,)
        Membership of the positive class.
    weight : ndarray of shape (n,), optional
        Sample weights.

    Returns
    -------
    tuple of float
        Slope a and offset b.

    References
    ----------
    Platt (1999); Lin, Lin and Weng (2007).
    """
    scale = float(np.abs(scores).max()) or 1.0
    slope, offset = platt_sigmoid(scores / scale, positive.astype(np.float64), weight)
    return -slope / scale, -offset


# --------------------------------------------------------------------- prediction sets


def conformity(
    probabilities: Array, codes: np.ndarray, weight: Array | None = None
) -> Array:
    """Keep what prediction sets need of out-of-fold probabilities.

    Parameters
    ----------
    probabilities : ndarray of shape (n, n_classes)
        By models that did not see the item; NaN where no fold tested it.
    codes : ndarray of shape (n,)
        Class of each item, as the number of its column.
    weight : ndarray of shape (n,), optional
        Sample weights; integer weights equal repetition.

    Returns
    -------
    ndarray of shape (n, 3)
        Class, probability of that class, and weight of each item that was tested.
    """
    own = probabilities[np.arange(codes.size), codes]
    weight = np.ones_like(own) if weight is None else weight
    table = np.column_stack([codes.astype(float), own, weight])
    return table[~np.isnan(own)]


def thresholds(table: Array, n_classes: int, coverage: float) -> Array:
    """Least probability with which each class enters a set.

    In the order of falling own probability, the threshold is at place ``coverage n`` of
    the n items of a class, between two items by interpolation. (Split-conformal has
    n + 1, for a model that is the same for old and new items. Here new items meet a
    model that knows a quarter more items than those of the folds, and n + 1 covers too
    much: benchmarks/prediction_sets.py.) A class of so few items that ``coverage (n +
    1)`` is more than n enters every set: minus infinity.

    Parameters
    ----------
    table : ndarray of shape (n, 3)
        Of `conformity`.
    n_classes : int
        Number of classes.
    coverage : float
        Between 0 and 1.

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    found = np.full(n_classes, -np.inf)
    for k in range(n_classes):
        _, own, weight = table[table[:, 0] == k].T
        order = np.argsort(-own, kind="stable")
        last = np.cumsum(weight[order])  # the places that repeated items take
        first = np.minimum(last - weight[order] + 1.0, last)
        total = float(weight.sum())
        if coverage * (total + 1.0) <= total:
            places = np.column_stack([first, last]).ravel()
            found[k] = np.interp(coverage * total, places, np.repeat(own[order], 2))
    return found


# ----------------------------------------------------------------------- temperatures


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
