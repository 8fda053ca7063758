"""What the experiments share: data, splits, and tuning on the same folds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from krein.arrays import Array
from krein.store.shared_work import shared_work
from papers.runs import DivergedError, Task, seed_of

__all__ = [
    "RawRows",
    "accuracy",
    "block",
    "folds_of",
    "quiet_fit",
    "split_of",
    "status_of",
    "timed",
    "tune",
    "unit_range",
    "vectors",
]

Make = Callable[..., Any]  # parameters -> unfitted estimator
_TINY = 48  # items of the stand-in for quick runs


def vectors(name: str, quick: bool) -> tuple[Array, np.ndarray]:
    """Features and labels of a set; for quick runs a few rows of bundled data.

    Parameters
    ----------
    name : str
        As `load_dataset` knows it.
    quick : bool
        Take 48 rows and 6 columns of the bundled sonar data instead, whatever the
        name: a test of the machinery that needs no further files.

    Returns
    -------
    X : ndarray of shape (n, m)
    y : ndarray of shape (n,)
    """
    from krein import load_dataset

    if not quick:
        loaded = load_dataset(name)
        return np.asarray(loaded.data, dtype=float), np.asarray(loaded.target)
    sonar = load_dataset("sonar")
    rows = np.linspace(0, len(sonar.data) - 1, _TINY).astype(int)
    return np.asarray(sonar.data)[rows][:, :48:8], np.asarray(sonar.target)[rows]


def unit_range(X: Array) -> Array:
    """Every column to [0, 1]; constant columns to 0."""
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0)


def split_of(
    task: Task, y: np.ndarray, test_size: float, *, stratify: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Training and test indices of a task: the same for every method."""
    seed = int(np.random.default_rng(seed_of(task)).integers(2**31))
    train, test = train_test_split(
        np.arange(len(y)),
        test_size=test_size,
        random_state=seed,
        stratify=y if stratify else None,
    )
    return np.sort(train), np.sort(test)


def folds_of(task: Task, y: np.ndarray, n_folds: int) -> list[tuple[Array, Array]]:
    """Folds for tuning: the same for every method on the same split."""
    seed = int(np.random.default_rng([*seed_of(task), 1]).integers(2**31))
    smallest = int(np.unique(y, return_counts=True)[1].min())
    n_folds = max(2, min(n_folds, smallest))
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(len(y)), y))


def block(K: Array, rows: np.ndarray, columns: np.ndarray) -> Array:
    """Rows and columns of a square matrix."""
    return K[np.ix_(rows, columns)]


def accuracy(model: Any, K_new: Any, y: np.ndarray) -> float:
    """Share of right predictions."""
    return float(np.mean(model.predict(K_new) == y))


def quiet_fit(model: Any, X: Any, y: np.ndarray) -> Any:
    """Fit without warnings; a fit that diverged is an error, for it is no model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    if status_of(model) == "diverged":
        raise DivergedError(f"{type(model).__name__} diverged")
    return model


def status_of(model: Any) -> str:
    """How the solver of a fitted model ended; the worst word where it has several."""
    found = getattr(model, "result_", [])
    words = [
        result.status for result in (found if isinstance(found, list) else [found])
    ]
    order = ("diverged", "max_iter", "stalled", "interrupted", "converged")
    return next((word for word in order if word in words), "")


def timed(model: Any, X: Any, y: np.ndarray) -> tuple[Any, float]:
    """Fit and return the model and the processor seconds it took.

    With one BLAS thread these are the wall seconds of a machine with nothing else
    to do, and ratios of them can be trusted on a busy one.
    """
    start = time.process_time()
    quiet_fit(model, X, y)
    return model, time.process_time() - start


def tune(
    make: Make,
    grid: Sequence[dict[str, Any]],
    K: Array | Callable[[dict[str, Any]], Array],
    y: np.ndarray,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
) -> dict[str, Any]:
    """Parameters with the best mean accuracy over folds; the first of equals.

    Parameters whose fit diverges on a fold are not chosen.

    Parameters
    ----------
    make : callable
        ``make(**params)`` gives an unfitted estimator of precomputed similarities.
    grid : sequence of dict
        What to try.
    K : ndarray of shape (n, n), or callable
        Similarities, or ``K(params)`` if the grid changes the kernel.
    y : ndarray of shape (n,)
        Labels.
    folds : sequence of (train, test)
        Index arrays.

    Returns
    -------
    dict
    """
    if len(grid) == 1:
        return grid[0]
    right = np.zeros(len(grid))
    for train, test in folds:
        with shared_work():  # one eigendecomposition serves all values of C
            for i, params in enumerate(grid):
                matrix = K(params) if callable(K) else K
                inner = block(matrix, train, train)
                try:
                    model = quiet_fit(make(**params), inner, y[train])
                except DivergedError:
                    right[i] = -np.inf
                    continue
                right[i] += accuracy(model, block(matrix, test, train), y[test])
    if np.isneginf(right).all():
        raise DivergedError("every value of the grid diverged")
    return grid[int(np.argmax(right))]


class RawRows(ClassifierMixin, BaseEstimator):
    """The mistake: train on the fixed matrix, predict with raw rows."""

    def __init__(self, method: str = "clip", C: float = 1.0) -> None:
        self.method = method
        self.C = C

    def fit(self, K: Array, y: np.ndarray) -> RawRows:
        """Train one SVC per class on the fixed matrix."""
        from krein import SpectrumTransformer

        fixed = SpectrumTransformer(self.method).fit_transform(K)
        # The squared matrix has a scale at which LIBSVM may never end.
        machine = SVC(C=self.C, kernel="precomputed", max_iter=1_000_000)
        self.model_ = OneVsRestClassifier(machine).fit(fixed, y)
        return self

    def predict(self, K_new: Array) -> np.ndarray:
        """Labels from rows that nobody mapped."""
        return self.model_.predict(K_new)
