"""The protocol of Chen et al. (2009): what the map for new points is worth.

20 random splits 80/20, C (or its counterpart) by 10-fold cross-validation on the
training part, error in percent. Every spectrum fix is run twice: with new rows mapped
as the training rows were, and with new rows left raw.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from krein.arrays import Array
from papers.claims import Measured
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
from papers.runs import Means, Run, Table, Task, Values

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


def _derive(measured: Means, runs: list[Run]) -> Means:
    """Sentences: which of two errors is smaller on the same splits."""
    errors = {
        (run.task.dataset, run.task.method, run.task.split): run.values["error"]
        for run in runs
    }
    extra: Means = {}
    for dataset in DATASETS:
        for fix in _FIXES[:2]:
            changes = [
                error - errors[dataset, f"{fix}, raw rows", split]
                for (name, method, split), error in errors.items()
                if name == dataset
                and method == f"{fix}, mapped rows"
                and (dataset, f"{fix}, raw rows", split) in errors
            ]
            if len(changes) > 1:
                noise = float(np.std(changes, ddof=1)) / np.sqrt(len(changes))
                better = float(np.mean(changes)) <= 2 * noise
                key = (dataset, fix, "mapped rows are not worse than raw rows")
                extra[key] = Measured("yes" if better else "no", None, len(changes))
    extra.update(_same_model(errors))
    return extra


def _same_model(errors: dict[tuple[str, str, int], float]) -> Means:
    """Say whether the Krein SVM is the flipped SVM on every single split."""
    extra: Means = {}
    for dataset in DATASETS:
        pairs = [
            (
                errors[dataset, "KSVM", split],
                errors[dataset, "flip, mapped rows", split],
            )
            for split in range(20)
            if (dataset, "KSVM", split) in errors
            and (dataset, "flip, mapped rows", split) in errors
        ]
        if pairs:
            same = all(abs(a - b) < 1e-9 for a, b in pairs)
            key = (dataset, "KSVM", "equals flip with mapped rows on every split")
            extra[key] = Measured("yes" if same else "no", None, len(pairs))
    return extra


def _draw(runs: list[Run], path: Path) -> None:
    """Bars of mean error: mapped rows beside raw rows."""
    from krein.plotting import new_axes
    from papers.claims import means

    measured = means(runs)
    datasets = [d for d in DATASETS if any(run.task.dataset == d for run in runs)]
    axes = np.atleast_1d(
        new_axes(len(datasets), figsize=(4.2 * len(datasets), 4), sharey=True)
    )
    for ax, dataset in zip(axes, datasets, strict=True):
        found = [(m, measured.get((dataset, m, "error"))) for m in METHODS]
        shown = [(m, value) for m, value in found if value is not None]
        at = np.arange(len(shown))
        colours = ["#c1121f" if "raw" in m else "#2a6f97" for m, _ in shown]
        spread = [value.spread or 0.0 for _, value in shown]
        ax.barh(at, [v.value for _, v in shown], xerr=spread, color=colours)
        ax.set_yticks(at, [m for m, _ in shown])
        ax.invert_yaxis()
        ax.set(title=dataset, xlabel="error, %")
    figure = axes[0].figure
    figure.savefig(path, dpi=90)


TABLES = [
    Table(
        "similarity",
        "similarity",
        "Chen et al. (2009): 20 splits, every method, mapped against raw rows",
        _tasks,
        _compute,
        _derive,
        _draw,
        grid="error",
    )
]
