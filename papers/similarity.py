"""The protocol of Chen et al. (2009): what the map for new points is worth.

20 random splits 80/20, C (or its counterpart) by 10-fold cross-validation on the
training part, error in percent. Every spectrum fix is run twice: with new rows mapped
as the training rows were, and with new rows left raw.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from krein.arrays import Array
from papers.experiments import (
    RawRows,
    accuracy,
    block,
    folds_of,
    quiet_fit,
    split_of,
    tune,
    vectors,
)
from papers.runs import Table, Task, Values

__all__ = ["TABLES"]

DATASETS = ("sim_aural_sonar", "sim_protein", "sim_voting")
_CS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
_FIXES = ("clip", "flip", "square", "diffusion")


class NearestItem(ClassifierMixin, BaseEstimator):
    """One nearest neighbour by similarity: a yardstick without training."""

    def fit(self, K: Array, y: np.ndarray) -> NearestItem:
        """Keep the labels."""
        self.labels_ = y
        return self

    def predict(self, K_new: Array) -> np.ndarray:
        """Label of the most similar training item."""
        return self.labels_[np.argmax(K_new, axis=1)]


def _estimator(method: str) -> tuple[Any, str]:
    """Estimator and the parameter that is tuned ("" for none)."""
    import krein

    name, _, rows = method.partition(", ")
    if name == "proxy":
        return krein.ProxySVC(new_points=rows.removesuffix(" rows")), "C"
    if rows == "raw rows":
        return RawRows(name), "C"
    if name == "1-NN":
        return NearestItem(), ""
    if name == "KLR":
        return krein.KreinLogisticRegression(), "alpha"
    if name == "KSVM":
        return krein.KreinSVC(), "C"
    if name == "TDCASVM":
        return krein.DCSVC(), "C"
    return krein.SpectrumSVC("none" if name == "raw SVC" else name), "C"


METHODS = (
    "raw SVC",
    "shift",
    *(f"{fix}, {rows} rows" for fix in _FIXES for rows in ("mapped", "raw")),
    "KSVM",
    "proxy, clip rows",
    "proxy, raw rows",
    "proxy, project rows",
    "TDCASVM",
    "KLR",
    "1-NN",
)


def _data(name: str, quick: bool) -> tuple[Array, np.ndarray]:
    if not quick:
        return vectors(name, quick)
    from krein import sigmoid_kernel

    X, y = vectors(name, quick)
    return sigmoid_kernel(X, gamma=1.0, coef0=-1.0), y


def _tasks(quick: bool) -> list[Task]:
    datasets = DATASETS[:1] if quick else DATASETS
    return [
        Task(dataset, method, split)
        for dataset in datasets
        for method in METHODS
        for split in range(2 if quick else 20)
    ]


def _compute(task: Task, quick: bool, earlier: Any) -> Values:
    K, y = _data(task.dataset, quick)
    train, test = split_of(task, y, 0.2)
    estimator, name = _estimator(task.method)
    values: tuple[float, ...] = _CS[2:4] if quick else _CS
    if name == "alpha":
        values = tuple(1.0 / (len(train) * C) for C in values)
    grid = [{name: value} for value in values] if name else [{}]
    folds = folds_of(task, y[train], 3 if quick else 10)
    K_train = block(K, train, train)

    def make(**params: Any) -> Any:
        return clone(estimator).set_params(**params)

    best = tune(make, grid, K_train, y[train], folds)
    model = quiet_fit(make(**best), K_train, y[train])
    error = 100 * (1 - accuracy(model, block(K, test, train), y[test]))
    return {"error": error, **best}


TABLES = [
    Table(
        "similarity",
        "similarity",
        "Chen et al. (2009): 20 splits, every method, mapped against raw rows",
        _tasks,
        _compute,
    )
]
