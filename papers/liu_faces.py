"""Liu et al., Table V: covariance descriptors and the affine-invariant kernel.

The paper's 192 x 168 images of 10 persons in 9 poses are not to be had. What is:
32 x 32 crops of 38 persons (frontal), of which the first ten persons are taken, and
covariances of muscle signals, where the affine-invariant kernel can be indefinite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from krein.arrays import Array
from papers.claims import Measured
from papers.experiments import (
    accuracy,
    block,
    folds_of,
    quiet_fit,
    split_of,
    status_of,
    tune,
    vectors,
)
from papers.liu_data import has_status
from papers.runs import Means, Run, Table, Task, Values

__all__ = ["TABLE5"]

_GRID = (10.0, 5.0, 1.0, 0.1, 0.01, 0.001, 0.0001)
_PERSONS = 10
METHODS = (
    "SVM(Log-E)",
    "KLR(Log-E)",
    "Flip",
    "Clip",
    "Shift",
    "TDCASVM",
    "KSVM",
    "CCICP-GD",
    "CCICP-SGD",
    "IKLR certified",
)


def _matrices(name: str, quick: bool) -> tuple[Array, np.ndarray]:
    """SPD matrices and labels."""
    from krein import covariance_descriptors, load_dataset

    if quick:
        X, y = vectors(name, True)
        images = X[:, :, None] * np.linspace(0.5, 1.5, 6)[None, None, :]
        return covariance_descriptors(images, shrinkage=1e-3), y
    loaded = load_dataset(name)
    if name == "yaleb_32x32":
        first = np.isin(loaded.target, np.unique(loaded.target)[:_PERSONS])
        images = np.asarray(loaded.data, dtype=float)[first].reshape(-1, 32, 32)
        return covariance_descriptors(images), loaded.target[first]
    return np.asarray(loaded.data, dtype=float), np.asarray(loaded.target)


def _kernel(S: Array, name: str) -> Array:
    """Gaussian of the distance, width the median distance (left open in the paper)."""
    from krein import affine_invariant_kernel, log_euclidean_kernel

    by_name = {"Aff-I": affine_invariant_kernel, "Log-E": log_euclidean_kernel}
    distance = -by_name[name](S, similarity="negative")
    width = np.median(distance[np.triu_indices(len(S), 1)])
    return np.exp(-((distance / width) ** 2))


def _make(task: Task) -> Any:
    import krein

    def logistic(solver: str, indefinite: str) -> Any:
        return lambda alpha: krein.KreinLogisticRegression(
            alpha,
            fit_intercept=False,
            solver=solver,
            multi_class="ovr",
            indefinite=indefinite,
            random_state=task.split,
        )

    makers: dict[str, tuple[str, Any]] = {
        "SVM(Log-E)": ("C", lambda C: krein.SpectrumSVC("none", C=C)),
        "KLR(Log-E)": ("alpha", logistic("newton", "raise-alpha")),
        "Flip": ("C", lambda C: krein.SpectrumSVC("flip", C=C)),
        "Clip": ("C", lambda C: krein.SpectrumSVC("clip", C=C)),
        "Shift": ("C", lambda C: krein.SpectrumSVC("shift", C=C)),
        "TDCASVM": ("C", lambda C: krein.DCSVC(C=C)),
        "KSVM": ("C", lambda C: krein.KreinSVC(C=C)),
        "CCICP-GD": ("alpha", logistic("ccicp-gd", "allow")),
        "CCICP-SGD": ("alpha", logistic("ccicp-sgd", "allow")),
        "IKLR certified": ("alpha", logistic("newton", "raise-alpha")),
    }
    return makers[task.method]


def _tasks(quick: bool) -> list[Task]:
    names = ("yaleb_32x32",) if quick else ("yaleb_32x32", "spd_emg_gestures")
    return [
        Task(name, method, split)
        for split in range(1 if quick else 10)
        for name in names
        for method in METHODS
    ]


def _compute(task: Task, quick: bool, earlier: Any) -> Values:
    S, y = _matrices(task.dataset, quick)
    train, test = split_of(task, y, 0.5)
    K = _kernel(S, "Log-E" if "Log-E" in task.method else "Aff-I")
    K_train = block(K, train, train)
    name, make = _make(task)
    values = _GRID[2:4] if quick else _GRID
    folds = folds_of(task, y[train], 5)
    best = tune(make, [{name: v} for v in values], K_train, y[train], folds)
    model = quiet_fit(make(**best), K_train, y[train])
    right = 100 * accuracy(model, block(K, test, train), y[test])
    eigenvalues = np.linalg.eigvalsh(K_train)
    return {
        "accuracy": right,
        "status": status_of(model),
        **best,
        "mu_min": eigenvalues[0],
        "mu_max": eigenvalues[-1],
    }


def _derive(measured: Means, runs: list[Run]) -> Means:
    """Table I: which Gaussians were positive definite on every half of every set."""
    extra: Means = {}
    for kernel, method in (("Log-E", "SVM(Log-E)"), ("Aff-I", "Flip")):
        least = [run.values["mu_min"] for run in runs if run.task.method == method]
        if least:
            word = "yes" if min(least) > 0 else "no"
            key = ("all", kernel, "Gaussian is positive definite")
            extra[key] = Measured(word, None, len(least))
    return extra


TABLE5 = Table(
    "liu-table5",
    "liu",
    "affine-invariant kernel of covariance descriptors: faces, muscle signals",
    _tasks,
    _compute,
    _derive,
    current=has_status,
)
