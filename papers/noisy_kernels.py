"""Data of Ying et al. and of Chen and Ye: Gaussian kernels with symmetric noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from krein.arrays import Array
from papers.experiments import block, folds_of, split_of, tune, vectors
from papers.runs import Task, seed_of

__all__ = ["SCALINGS", "SETS", "Noisy", "noisy_kernel"]

# What may be done to the features before the Gaussian; the papers do not say.
SCALINGS: dict[str, Any] = {
    "standardised": StandardScaler,  # but grey values as they are
    "all standardised": StandardScaler,
    "[-1, 1]": lambda: MinMaxScaler((-1.0, 1.0)),
    "as they are": None,
}

# Name in the papers -> file.
SETS = {
    "Sonar": "sonar",
    "Ionosphere": "ionosphere",
    "Heart": "heart_statlog",
    "Diabetes": "pima_diabetes",
    "Breast-cancer": "breast_cancer_wisconsin",
    "USPS-35": "usps",
}
_WIDTHS = tuple(2.0**k for k in range(-6, 5))  # gamma times the number of features
_CS = (0.1, 1.0, 10.0, 100.0)
# Those of LIBSVM's guide; C = 2^-5, 2^-3 and 2^9 to 2^15 are left out, for their time.
_LIBSVM_GAMMAS = tuple(2.0**k for k in range(-15, 4, 2))
_LIBSVM_CS = tuple(2.0**k for k in range(-1, 8, 2))


class Noisy:
    """One split: the indefinite matrix over all points and its training part."""

    def __init__(
        self,
        clean: Array,
        noise: Array,
        y: np.ndarray,
        train: np.ndarray,
        test: np.ndarray,
        gamma: float,
    ) -> None:
        self.clean = clean
        self.K = clean - noise
        self.y = y
        self.train = train
        self.test = test
        self.gamma = gamma

    @property
    def training(self) -> tuple[Array, np.ndarray]:
        """Similarities among training points, labels."""
        return block(self.K, self.train, self.train), self.y[self.train]

    @property
    def new(self) -> tuple[Array, np.ndarray]:
        """Similarities of test points to training points, labels."""
        return block(self.K, self.test, self.train), self.y[self.test]

    @property
    def among_new(self) -> Array:
        """Similarities among test points, for rules that treat them together."""
        return block(self.K, self.test, self.test)

    @property
    def clean_new(self) -> tuple[Array, np.ndarray]:
        """The same without noise in the rows of test points."""
        return block(self.clean, self.test, self.train), self.y[self.test]


def _points(task: Task, quick: bool, scaling: str) -> tuple[Array, np.ndarray]:
    X, y = vectors(SETS[task.dataset], quick)
    if task.dataset == "USPS-35" and not quick:
        rng = np.random.default_rng([*seed_of(task), 3])
        digits = np.asarray(y).astype(str)
        rows = [
            rng.choice(np.flatnonzero(digits == digit), 600, replace=False)
            for digit in ("3", "5")
        ]
        kept = np.sort(np.concatenate(rows))
        X, y = X[kept], y[kept]
        if scaling == "standardised":
            scaling = "as they are"  # grey values have one scale
    scaler = SCALINGS[scaling]
    return X if scaler is None else scaler().fit_transform(X), np.asarray(y)


def noisy_kernel(
    task: Task,
    quick: bool,
    noise: float,
    gamma: float | None = None,
    *,
    scaling: str = "standardised",
    libsvm_grid: bool = False,
) -> Noisy:
    """K - noise (E + E') / 2 on all points; width of K tuned on the training part.

    Parameters
    ----------
    task : Task
        Data set and split; the method does not matter.
    quick : bool
        Use the stand-in.
    noise : float
        xi of Chen and Ye.
    gamma : float, optional
        Width that was tuned before.
    scaling : str
        One of `SCALINGS`; "standardised" leaves grey values as they are.
    libsvm_grid : bool
        Tune the width over the odd powers of two of LIBSVM's guide.

    Returns
    -------
    Noisy
    """
    from krein import rbf_kernel

    X, y = _points(task, quick, scaling)
    train, test = split_of(task, y, 0.2)
    if gamma is None:
        gamma = _width(task, X[train], y[train], quick, libsvm_grid)
    E = np.random.default_rng([*seed_of(task), 4]).standard_normal((len(X), len(X)))
    clean = rbf_kernel(X, gamma=gamma)
    return Noisy(clean, noise * 0.5 * (E + E.T), y, train, test, gamma)


def _width(
    task: Task, X: Array, y: np.ndarray, quick: bool, libsvm_grid: bool
) -> float:
    """Gamma by five-fold cross-validation of LIBSVM over (C, gamma)."""
    from krein import rbf_kernel

    gammas, Cs = [width / X.shape[1] for width in _WIDTHS], list(_CS)
    if libsvm_grid:
        gammas, Cs = list(_LIBSVM_GAMMAS), list(_LIBSVM_CS)
    if quick:
        gammas, Cs = gammas[4:8:2], Cs[1:3]
    kernels = {gamma: rbf_kernel(X, gamma=gamma) for gamma in gammas}
    grid = [{"C": C, "gamma": g} for g in gammas for C in Cs]

    def make(C: float, gamma: float) -> Any:
        return SVC(C=C, kernel="precomputed")

    folds = folds_of(task, y, 5)
    return tune(make, grid, lambda params: kernels[params["gamma"]], y, folds)["gamma"]
