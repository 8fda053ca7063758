"""Probabilities for SVMs: a sigmoid on out-of-fold scores.

scikit-learn's own calibration cannot slice the columns of a precomputed kernel; here
rows and columns are cut together, from the matrix that the fit has computed already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize
from scipy.special import expit, log_expit
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from krein.arrays import Array

__all__ = [
    "FoldScores",
    "fit_sigmoid",
    "fit_sigmoids",
    "inner_folds",
    "kernel_fold_scores",
    "out_of_fold_scores",
    "sigmoid_calibration",
    "sigmoid_probabilities",
]

_FOLDS = 5


FoldScores = Callable[[np.ndarray, np.ndarray], Array]


def sigmoid_calibration(
    fold_scores: FoldScores,
    codes: np.ndarray,
    weight: Array | None,
    n_classes: int,
    random_state: Any,
) -> tuple[Array, Array]:
    """Slopes and offsets (n_rows,) of the sigmoids of a one-vs-rest model.

    ``fold_scores(train, test)`` fits on the samples `train` and scores `test`.
    """
    scores = out_of_fold_scores(fold_scores, codes, random_state)
    return fit_sigmoids(scores, codes, weight, n_classes)


def fit_sigmoids(
    scores: Array, codes: np.ndarray, weight: Array | None, n_classes: int
) -> tuple[Array, Array]:
    """Slopes and offsets (n_rows,) from out-of-fold scores (n, n_rows)."""
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


def out_of_fold_scores(
    fold_scores: FoldScores, codes: np.ndarray, random_state: Any
) -> Array:
    """Scores (n, n_rows) of models that did not see the sample they score."""
    tests, parts = [], []
    for train, test in inner_folds(codes, random_state, "probability=True"):
        tests.append(test)
        parts.append(fold_scores(train, test))
    scores = np.empty((codes.size, parts[0].shape[1]))
    scores[np.concatenate(tests)] = np.concatenate(parts)
    return scores


def inner_folds(
    codes: np.ndarray, random_state: Any, needed_for: str
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Five stratified folds inside a fit, fewer if a class has fewer samples."""
    smallest = int(np.bincount(codes).min())
    if smallest < 2:
        raise ValueError(
            f"{needed_for} needs at least two samples of every class, got one"
        )
    seed = random_state if isinstance(random_state, int) else 0
    folds = StratifiedKFold(min(_FOLDS, smallest), shuffle=True, random_state=seed)
    return list(folds.split(codes, codes))


def kernel_fold_scores(
    estimator: Any, K: Array, codes: np.ndarray, weight: Array | None
) -> FoldScores:
    """Fits and scores on parts of a kernel matrix, rows and columns cut together."""
    model = clone(estimator).set_params(
        kernel="precomputed", kernel_params=None, probability=False, class_weight=None
    )

    def fold_scores(train: np.ndarray, test: np.ndarray) -> Array:
        fold_weight = None if weight is None else weight[train]
        model.fit(K[np.ix_(train, train)], codes[train], sample_weight=fold_weight)
        return model._decision_rows(K[np.ix_(test, train)])

    return fold_scores


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
    w = np.ones_like(scores) if weight is None else weight
    n_pos, n_neg = float(w[positive].sum()), float(w[~positive].sum())
    target = np.where(positive, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))
    scale = float(np.abs(scores).max()) or 1.0
    s = scores / scale

    def loss(theta: Array) -> tuple[float, Array]:
        z = theta[0] * s + theta[1]
        value = -(w * (target * log_expit(z) + (1 - target) * log_expit(-z))).sum()
        slope = w * (expit(z) - target)
        return float(value), np.array([slope @ s, slope.sum()])

    start = np.array([1.0, np.log((n_pos + 1) / (n_neg + 1))])
    found = scipy.optimize.minimize(loss, start, jac=True, method="BFGS")
    return float(found.x[0]) / scale, float(found.x[1])
