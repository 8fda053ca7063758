"""Data of Ying et al. and of Chen and Ye: Gaussian kernels with symmetric noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from krein.arrays import Array
from papers.experiments import (
    block,
    folds_of,
    split_of,
    tune,
    vectors,
)
from papers.runs import Task, seed_of

__all__ = ["SCALINGS", "SETS", "Noisy", "noisy_kernel", "width_of"]

# What may be done to the features before the Gaussian; the papers do not say.
SCALINGS: dict[str, Any] = {
    "standardised": StandardScaler,
    "[-1, 1]": lambda: MinMaxScaler((-1.0, 1.0)),
    "[0, 1]": MinMaxScaler,
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

    Returns
    -------
    Noisy
    """
    from krein import rbf_kernel

    X, y = _points(task, quick, scaling)
    train, test = split_of(task, y, 0.2)
    if gamma is None:
        gamma = _width(task, X[train], y[train], quick)
    E = np.random.default_rng([*seed_of(task), 4]).standard_normal((len(X), len(X)))
    clean = rbf_kernel(X, gamma=gamma)
    return Noisy(clean, noise * 0.5 * (E + E.T), y, train, test, gamma)


def width_of(task: Task, quick: bool, noise: float, largest: float) -> float:
    """Gamma at which the noisy matrix has a given largest eigenvalue.

    The largest eigenvalue falls from about n to that of the noise as gamma grows, so
    that a printed one tells the width which a paper does not state.

    Parameters
    ----------
    task, quick, noise
        As in `noisy_kernel`.
    largest : float
        The eigenvalue.

    Returns
    -------
    float
    """

    def excess(log_gamma: float) -> float:
        K = noisy_kernel(task, quick, noise, float(np.exp(log_gamma))).K
        top = eigh(K, eigvals_only=True, subset_by_index=[len(K) - 1] * 2)
        return float(top[0]) - largest

    low, high = np.log(1e-6), np.log(1e3)
    if excess(high) > 0:
        return float(np.exp(high))  # the noise alone has more
    return float(np.exp(brentq(excess, low, high, xtol=1e-2)))


def _width(task: Task, X: Array, y: np.ndarray, quick: bool) -> float:
    """Gamma by five-fold cross-validation of LIBSVM over (C, gamma)."""
    from krein import rbf_kernel

    gammas = [width / X.shape[1] for width in (_WIDTHS[4:8:2] if quick else _WIDTHS)]
    kernels = {gamma: rbf_kernel(X, gamma=gamma) for gamma in gammas}
    grid = [{"C": C, "gamma": g} for g in gammas for C in (_CS[1:3] if quick else _CS)]

    def make(C: float, gamma: float) -> Any:
        return SVC(C=C, kernel="precomputed")

    folds = folds_of(task, y, 5)
    return tune(make, grid, lambda params: kernels[params["gamma"]], y, folds)["gamma"]
