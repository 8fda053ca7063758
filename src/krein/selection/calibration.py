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

from typing import Any, TypeAlias

import numpy as np
from scipy.special import expit, log_expit, log_softmax, logit, softmax

from krein.arrays import Array
from krein.selection.folds import inner_folds
from krein.selection.search import out_of_fold
from krein.sklearn_internals import platt_sigmoid
from krein.training import Classes, Training, as_labels

_STEPS = 50
_LEAST = 1e-6  # b of scores that point the wrong way, in units of the largest score
_TINY = 1e-300
_TILT = 1e-9  # by which a predicted class is above those it shares with


Sigmoids: TypeAlias = tuple[Array, ...]  # slopes, offsets and, for 3 classes, T


def sigmoid_calibration(
    model: Any, training: Training, target: Classes, random_state: Any
) -> tuple[Sigmoids, Array]:
    """Sigmoids of a one-vs-rest model, as `fit_sigmoids` returns them.

    With them comes what prediction sets need (`conformity`). At low rank the
    landmarks are shared by the folds; they know no labels.
    """
    folds = inner_folds(target.codes, random_state, "probability=True")
    scores = out_of_fold(model, training, target, folds)
    return calibrated(scores, target, training.weight)


def calibrated(
    scores: Array, target: Classes, weight: Array | None
) -> tuple[Sigmoids, Array]:
    """Sigmoids and conformity of out-of-fold scores (n, n_rows)."""
    sigmoids = fit_sigmoids(scores, target.codes, weight, target.n)
    own = sigmoid_probabilities(scores, *sigmoids)
    return sigmoids, conformity(own, target.codes, weight)


def fit_sigmoids(
    scores: Array, codes: np.ndarray, weight: Array | None, n_classes: int
) -> Sigmoids:
    """Slopes and offsets (n_rows,) from out-of-fold scores (n, n_rows).

    With three or more classes a temperature of shape (1,) comes third: sigmoids that
    are divided by their sum are under-confident, because each of them was fitted
    without knowing the others. Of temperature, vector scaling, pairwise coupling and
    this one, this one had the lowest log-loss on the data on which it was chosen
    (``benchmarks/probabilities.py``).
    """
    tested = ~np.isnan(scores).any(axis=1)  # not those of classes with one sample
    scores = scores[tested]
    codes = codes[tested]
    weight = None if weight is None else weight[tested]
    positives = [1] if n_classes == 2 else range(n_classes)
    fits = [
        fit_sigmoid(scores[:, row], codes == k, weight)
        for row, k in enumerate(positives)
    ]
    slopes, offsets = np.array(fits).T
    if n_classes == 2:
        return slopes, offsets
    logs = _log_sigmoids(scores, slopes, offsets)
    counts = np.ones(codes.size) if weight is None else weight
    return slopes, offsets, temperatures(logs[None], codes, counts)


def sigmoid_probabilities(
    scores: Array, slope: Array, offset: Array, temperature: Array | float = 1.0
) -> Array:
    """Class probabilities (n, n_classes) from one-vs-rest scores (n, n_rows).

    Those of three and more classes are proportional to ``sigmoid ** (1 / T)``. The
    predicted class, of the highest score, is the most probable one.
    """
    if scores.shape[1] == 1:
        positive = expit(scores * slope + offset)
        return with_highest(np.hstack([1.0 - positive, positive]), scores)
    logs = _log_sigmoids(scores, slope, offset)
    return with_highest(softmax(logs / temperature, axis=1), scores)


def _log_sigmoids(scores: Array, slope: Array, offset: Array) -> Array:
    """Logarithms of what the sigmoids say of each class, divided by their sum."""
    return log_softmax(log_expit(scores * slope + offset), axis=1)


def with_highest(probabilities: Array, scores: Array) -> Array:
    """Return probabilities whose highest one is that of the predicted class.

    A sigmoid may move the place where two classes are equally probable away from
    where the prediction changes. Items in between would be predicted as one class and
    said to be of another. Their predicted class, and the classes said to be more
    probable, share their probabilities equally: of all probabilities that agree with
    the prediction these are the nearest (in the sum of squares).

    Parameters
    ----------
    probabilities : ndarray of shape (n, n_classes)
        Rows that sum to 1.
    scores : ndarray of shape (n, n_rows)
        Decision values that predict; one row for two classes.
    """
    n_classes = probabilities.shape[1]
    predicted = as_labels(scores, np.arange(n_classes))
    wrong = np.flatnonzero(probabilities.argmax(axis=1) != predicted)
    found = probabilities.copy()
    for i in wrong:
        found[i] = _pooled(probabilities[i], int(predicted[i]))
    return found


def _pooled(row: Array, predicted: int) -> Array:
    """Share what the predicted class and all above it have; it gets a little more."""
    order = [k for k in np.argsort(-row, kind="stable") if k != predicted]
    pool = [predicted]
    total = float(row[predicted])
    for k in order:
        if row[k] * len(pool) < total:
            break
        pool.append(k)
        total += float(row[k])
    share = total / len(pool)
    new = row.copy()
    new[pool] = share * (1.0 - _TILT)
    new[predicted] = share * (1.0 + _TILT * (len(pool) - 1))
    return new


def fit_sigmoid(
    scores: Array, positive: np.ndarray, weight: Array | None = None
) -> tuple[float, float]:
    """Platt's sigmoid ``1 / (1 + exp(-(a s + b)))`` with his smoothed targets, a >= 0.

    Where the best slope is negative (scores that predict worse than by chance) it is
    0, and the probability the same for all items: a high score never makes its class
    less probable.

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
    if slope > 0.0:
        return 0.0, _constant(positive, weight)
    return -slope / scale, -offset


def _constant(positive: np.ndarray, weight: Array | None) -> float:
    """Offset of the best sigmoid of slope 0 for Platt's smoothed targets."""
    weight = np.ones(positive.size) if weight is None else weight
    members = float(weight[positive].sum())
    others = float(weight[~positive].sum())
    target = members * (members + 1.0) / (members + 2.0) + others / (others + 2.0)
    return float(logit(target / (members + others)))


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

    In the order of falling own probability, the threshold is at place ``coverage (n +
    1)`` of the n items of a class, between two items by interpolation, as in
    split-conformal prediction. (A proof would need a model that is the same for old and
    new items; here the items were judged by the models of the folds, and what is
    covered is measured: benchmarks/chance.py.) A class of so few items that this place
    is beyond the last one enters every set: minus infinity.

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
        found[k] = threshold(table[table[:, 0] == k], coverage)
    return found


def threshold(table: Array, coverage: float) -> float:
    """Return the same for the items of a table, whatever their class."""
    _, own, weight = table.T
    order = np.argsort(-own, kind="stable")
    last = np.cumsum(weight[order])  # the places that repeated items take
    first = np.minimum(last - weight[order] + 1.0, last)
    total = float(weight.sum())
    place = coverage * (float(weight.sum()) + 1.0)
    if place > total:
        return -np.inf
    places = np.column_stack([first, last]).ravel()
    return float(np.interp(place, places, np.repeat(own[order], 2)))


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
    n = values.shape[1]
    k = max(values.shape[2], 2)
    scale = np.abs(values).max(axis=(1, 2))
    x = values / np.where(scale > 0, scale, 1.0)[:, None, None]
    total = float(weight.sum())
    target = np.full((n, k), 1.0 / (total + 2) / (k - 1))
    target[np.arange(n), codes] = (total + 1) / (total + 2)
    moments = _moments_of_two if values.shape[2] == 1 else _moments
    b = np.ones(values.shape[0])
    for _ in range(_STEPS):
        error, variance = moments(x, b, target)
        slope = error @ weight
        curvature = variance @ weight + _TINY
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
