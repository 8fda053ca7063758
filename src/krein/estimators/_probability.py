"""Probabilities for SVMs: a sigmoid on out-of-fold scores.

scikit-learn's own calibration cannot slice the columns of a precomputed kernel; here
rows and columns are cut together, from the matrix that the fit has computed already.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.calibration import _sigmoid_calibration

from krein.arrays import Array
from krein.estimators._search import out_of_fold
from krein.estimators._training import Classes, Training, inner_folds
from krein.estimators.conformal import conformity


def sigmoid_calibration(
    model: Any,
    training: Training,
    target: Classes,
    random_state: Any,
) -> tuple[tuple[Array, Array], Array]:
    """Slopes and offsets (n_rows,) of the sigmoids of a one-vs-rest model.

    With them comes what prediction sets need (`conformal.conformity`). At low rank the
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
        total > 0,
        positive / np.where(total > 0, total, 1.0),
        1.0 / positive.shape[1],
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
    slope, offset = _sigmoid_calibration(
        scores / scale, positive.astype(np.float64), weight
    )
    return -float(slope) / scale, -float(offset)
