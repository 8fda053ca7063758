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
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from krein.arrays import Array
from krein.declarations import available_when
from krein.estimators._search import out_of_fold
from krein.estimators._training import Classes, Training, inner_folds
from krein.sklearn_internals import platt_sigmoid


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


def _has_sets(model: Any) -> bool:
    if getattr(model, "probability", False) or getattr(model, "_makes_sets", False):
        return True
    name = type(model).__name__
    instead = (
        f"{name}(probability=True)"
        if hasattr(model, "probability")
        else ("SpectrumSVCCV, or SpectrumSVC(probability=True)")
    )
    raise AttributeError(
        f"this {name} keeps no out-of-fold probabilities, which predict_set needs: fit "
        f"{instead} instead"
    )


class PredictionSets:
    """A mixin of classifiers that keep `conformity_`."""

    @available_when(_has_sets)
    def predict_set(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Sets of classes that hold the true class with frequency `coverage`.

        For each class by itself, the true class is left out for about 1 - `coverage` of
        new items like the training items, whatever the probabilities are worth. A set
        with several classes says that the item lies between them, an empty one that it
        is unlike all of them: items to look at.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit
        coverage : float
            Between 0 and 1.

        Returns
        -------
        ndarray of bool of shape (n_new, n_classes)
            Columns as in `classes_`.

        References
        ----------
        Vovk, Gammerman, Shafer (2005), Algorithmic Learning in a Random World.
        """
        check_is_fitted(self)
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}")
        table = getattr(self, "conformity_", None)
        if table is None:
            raise ValueError(
                f"this {type(self).__name__} has no out-of-fold probabilities, which "
                "prediction sets rest on: fit it again with this version of krein and "
                "probability=True (CPDSVC: with another loss than 'logistic')"
            )
        model: Any = self
        least = thresholds(table, model.classes_.size, coverage)
        return model.predict_proba(X) >= least
