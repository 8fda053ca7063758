"""Simple models on similarities that every method has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import gen_batches

from krein.arrays import Array
from krein.declarations import CONSTRAINTS, COUNT, RESULTS, State
from krein.estimators._tasks import KernelClassifier
from krein.machines.logistic import IndefiniteLogistic
from krein.machines.newton_logistic import newton_logistic
from krein.selection.calibration import sigmoid_probabilities
from krein.selection.search import RANKED
from krein.training import Classes, FittedRows, Row, Training

__all__ = ["SimilarityFeaturesClassifier", "SimilarityNeighborsClassifier"]

_TILE = 4_000_000  # numbers of a sparse similarity that are made dense at once


class _Yardstick(KernelClassifier):
    """What both share: no solver, so no tolerance to set."""

    _fitted_state: ClassVar[State] = tuple(replace(p, needed=False) for p in RESULTS)

    def _probabilities(self, values: Array) -> Array:
        return sigmoid_probabilities(values, np.ones(1), np.zeros(1))

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities; of nearest neighbours the shares of their votes.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit

        Returns
        -------
        ndarray of shape (n_new, n_classes)
        """
        return self._probabilities(self._decision_rows(X))


class SimilarityFeaturesClassifier(_Yardstick):
    """Logistic regression on the rows of the similarity, standardised as features.

    Row i of the matrix is taken as a description of item i by its similarities to
    the training items; no definiteness is needed. One-vs-rest for several classes.

    Parameters
    ----------
    C : float
        Inverse strength of the penalty, as in scikit-learn's `LogisticRegression`.
    kernel, kernel_params, symmetrize, class_weight
        As in `SpectrumSVC`.

    Attributes
    ----------
    classes_, dual_coef_, intercept_, support_
        As in `SpectrumSVC`.

    References
    ----------
    Graepel, Herbrich, Bollmann-Sdorra, Obermayer (1999); Chen et al. (2009), section 3.

    Examples
    --------
    >>> from krein import SimilarityFeaturesClassifier
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, -0.7], [-0.8, -0.7, 1.0]]
    >>> SimilarityFeaturesClassifier().fit(K, ["a", "a", "b"]).predict(K)
    array(['a', 'a', 'b'], dtype='<U1')
    """

    def __init__(
        self,
        C=1.0,
        *,
        kernel="precomputed",
        kernel_params=None,
        symmetrize=False,
        class_weight=None,
    ):
        self.C = C
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.symmetrize = symmetrize
        self.class_weight = class_weight

    def fit_rows(self, training: Training, target: Classes) -> FittedRows:
        """Fit one logistic regression per row; see `KernelModel.fit_rows`."""
        return self._path(training, target, [self.C], tol=1e-8)[0]

    def grid(self, training: Training, target: Classes) -> list[dict]:
        """Values of C for standardised rows; see `KernelModel.grid`."""
        return [{"C": C} for C in (0.001, 0.01, 0.1, 1.0, 10.0)]

    def fit_path(
        self, training: Training, target: Classes, grid: Sequence[dict]
    ) -> list[FittedRows]:
        """Fit along C, each from the one before; see `KernelModel.fit_path`."""
        return self._path(training, target, [c["C"] for c in grid], tol=RANKED)

    def _path(
        self, training: Training, target: Classes, Cs: Sequence[float], tol: float
    ) -> list[FittedRows]:
        K = training.K.dense()
        mean, scale = standard_columns(K, training.weight)
        Z = (K - mean) / scale
        products = Z @ Z.T  # n x n once; the features' own system is one per step
        rows: list[list[Row]] = [[] for _ in Cs]
        for signs in target.signs():
            targets = 0.5 * (signs[:, None] + 1.0)
            start = None
            for found, C in zip(rows, Cs, strict=True):
                alpha = 1.0 / (C * training.total_weight)
                problem = IndefiniteLogistic(products, targets, alpha, training.weight)
                result = newton_logistic(problem, start, tol=tol)
                start = result.x
                coef = (start[:, 0] @ Z) / scale
                b = float(result.info["intercept"][0]) - float(mean @ coef)
                found.append(Row(coef, b))
        return [FittedRows(found) for found in rows]


def standard_columns(K: Array, weight: Array | None) -> tuple[Array, Array]:
    """Mean and scale of each column."""
    mean = np.average(K, axis=0, weights=weight)
    scale = np.sqrt(np.average((K - mean) ** 2, axis=0, weights=weight))
    constant = scale <= 1e-12 * np.abs(K).max()
    scale = np.where(constant, 1.0, scale)
    # A repeated item is a repeated feature; under the penalty w equal columns count as
    # one column times the root of w.
    return mean, scale if weight is None else scale / np.sqrt(weight)


class SimilarityNeighborsClassifier(_Yardstick):
    """k nearest neighbours, nearest meaning most similar.

    Parameters
    ----------
    n_neighbors : int
        How many neighbours vote; at most the number of training items.
    kernel, kernel_params, symmetrize
        As in `SpectrumSVC`.

    Attributes
    ----------
    classes_ : ndarray
        Class labels.

    References
    ----------
    Cover, Hart (1967), IEEE Transactions on Information Theory 13.

    Examples
    --------
    >>> from krein import SimilarityNeighborsClassifier
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, -0.7], [-0.8, -0.7, 1.0]]
    >>> model = SimilarityNeighborsClassifier(1).fit(K, ["a", "a", "b"])
    >>> model.predict([[0.1, 0.2, 0.8]])
    array(['b'], dtype='<U1')
    """

    _parameter_constraints = CONSTRAINTS | {"n_neighbors": [COUNT]}
    class_weight = None  # one neighbour has one vote, whatever the weight of its class

    def __init__(
        self,
        n_neighbors=1,
        *,
        kernel="precomputed",
        kernel_params=None,
        symmetrize=False,
    ):
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.symmetrize = symmetrize

    def fit_rows(self, training: Training, target: Classes) -> FittedRows:
        """Keep the votes; see `KernelModel.fit_rows`."""
        # The "coefficients" are signed votes: every training item can be asked.
        weight = 1.0 if training.weight is None else training.weight
        return FittedRows([Row(signs * weight, 0.0) for signs in target.signs()])

    def grid(self, training: Training, target: Any) -> list[dict]:
        """Numbers of neighbours; see `KernelModel.grid`."""
        return [{"n_neighbors": k} for k in (1, 3, 5, 9, 15) if k <= training.size]

    def held_values(
        self, fitted: FittedRows, training: Training, test: np.ndarray, train: Any
    ) -> Array:
        """Votes of the samples `train` for the samples `test`."""
        return self.row_values(fitted.coef, training.K.seen(test, train))

    def row_values(self, coef: Array, K: Array) -> Array:
        """Votes per class of the most similar items, as shares (n_new, n_rows)."""
        chosen = coef[:, most_similar(K, self.n_neighbors)]  # (n_rows, n_new, k)
        weight = np.abs(chosen[0]).sum(axis=1)
        return (chosen.sum(axis=2) / weight).T

    def _no_expansion(self) -> str:
        return "its neighbours vote"

    def _probabilities(self, values: Array) -> Array:
        share = 0.5 * (1.0 + values)
        return np.hstack([1.0 - share, share]) if share.shape[1] == 1 else share


def most_similar(K: Any, k: int) -> np.ndarray:
    """Positions of the k (or all) largest entries of each row; the first of equals."""
    k = min(k, K.shape[1])
    if not scipy.sparse.issparse(K):
        return _largest(K, k)
    tiles = gen_batches(K.shape[0], max(1, _TILE // K.shape[1]))
    return np.vstack([_largest(K[rows].toarray(), k) for rows in tiles])


def _largest(tile: Array, k: int) -> np.ndarray:
    """Positions of the k largest entries of each row, one after the other."""
    left = tile.copy()
    rows = np.arange(len(tile))
    found = np.empty((len(tile), k), dtype=int)
    for place in found.T:  # for so few it takes a tenth of the time of sorting
        place[:] = np.argmax(left, axis=1)
        left[rows, place] = -np.inf
    return found


class MeanOfNearest(RegressorMixin, BaseEstimator):
    """Mean target of the most similar training items.

    Parameters
    ----------
    n_neighbors : int
        How many are asked.
    """

    grid = SimilarityNeighborsClassifier.grid

    def __init__(self, n_neighbors=5):
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: Any) -> MeanOfNearest:
        """Keep the targets."""
        self.y_ = np.asarray(y, dtype=float)
        return self

    def predict(self, X: Any) -> Array:
        """Mean target of the nearest."""
        return self.y_[most_similar(X, self.n_neighbors)].mean(axis=1)
