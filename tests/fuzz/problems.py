"""Random problems and models, ordinary and extreme."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from krein import (
    CPDSVC,
    DCSVC,
    MKLSVC,
    CPDRegressor,
    KreinLogisticRegression,
    KreinRidge,
    KreinSVC,
    ProxySVC,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
)


@dataclass(frozen=True)
class Trial:
    """A model to be fitted, and what on."""

    model: Any
    X: Any
    y: Any
    weight: Any

    def fit(self):
        """The fitted model and the warnings it gave."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted = self.model.fit(self.X, self.y, sample_weight=self.weight)
        return fitted, [w.category.__name__ for w in caught]


def similarity(rng, n):
    """A symmetric matrix: of any spectrum, singular, integer, diagonal, zero."""
    A = rng.standard_normal((n, n))
    which = rng.integers(8)
    if which == 0:
        K = np.round(A + A.T)
    elif which == 1:
        F = rng.standard_normal((n, min(n, 3)))
        K = (F * rng.choice([-1.0, 1.0], F.shape[1])) @ F.T
    elif which == 2:
        K = np.diag(rng.choice([-1.0, 0.0, 1.0, 2.0], n))
    elif which == 3:
        K = rng.choice([0.0, -1.0]) * (A @ A.T)
    elif which == 4:
        Q, _ = np.linalg.qr(A)
        K = (Q * rng.choice([-1.0, 1.0], n)) @ Q.T
    elif which == 5:
        K = A @ A.T
    elif which == 6:
        Q, _ = np.linalg.qr(A)
        K = (Q * 10.0 ** rng.uniform(-12, 0, n) * rng.choice([-1.0, 1.0], n)) @ Q.T
    else:
        K = A + A.T
    return 0.5 * (K + K.T)


def scale(rng, extreme=True):
    """1, a few orders, or a hundred of them."""
    which = rng.integers(3 if extreme else 2)
    return float(10.0 ** rng.uniform(*[(0, 0), (-3, 3), (-100, 100)][which]))


def weights(rng, n):
    """None, integers with zeros, or ratios of up to 1e12; four samples keep one."""
    which = rng.integers(4)
    if which < 2:
        return None
    if which == 2:
        w = rng.integers(0, 4, n).astype(float)
    else:
        w = 10.0 ** rng.uniform(-6, 6, n) * rng.choice([0.0, 1.0], n, p=[0.1, 0.9])
    w[:4] = np.maximum(w[:4], 1e-6 if which == 3 else 1.0)
    return w


def labels(rng, n):
    k = int(rng.integers(2, 4 if n > 3 else 3))
    return np.append(np.arange(k), rng.integers(0, k, n - k))


def log_uniform(rng, low, high):
    return float(10.0 ** rng.uniform(low, high))


def machines(rng, C, rho):
    method = str(rng.choice(["clip", "flip", "shift", "square", "diffusion", "none"]))
    rule = str(rng.choice(["clip", "raw", "project", "luss"]))
    return [
        SpectrumSVC(method, C=C, t=log_uniform(rng, -1, 1)),
        KreinSVC(C, lam_pos=log_uniform(rng, -2, 2), lam_neg=log_uniform(rng, -2, 2)),
        ProxySVC(C, rho=rho, new_points=rule),
        DCSVC(C, solver=str(rng.choice(["tdca", "dc-primal"]))),
    ]


def draw(seed):
    """One trial; fits are small, so that many can be had."""
    rng = np.random.default_rng([seed, 1])
    n = int(rng.integers(3, 13))
    C, rho = log_uniform(rng, -3, 4), log_uniform(rng, -5, 5)
    K, w, y = similarity(rng, n) * scale(rng), weights(rng, n), labels(rng, n)
    family = rng.choice(
        ["machine", "logistic", "regression", "one-class", "cpd", "mkl"],
        p=[0.55, 0.13, 0.12, 0.07, 0.11, 0.02],
    )
    if family == "machine":
        models = machines(rng, C, rho)
        return Trial(models[rng.integers(len(models))], K, y, w)
    if family == "logistic":
        return Trial(_logistic(rng), K, y, w)
    if family == "regression":
        targets = rng.standard_normal(n) * scale(rng, extreme=False)
        return Trial(_regression(rng, C), K, targets, w)
    if family == "one-class":
        nu = float(rng.choice([1.0, rng.uniform(0.01, 1.0)]))
        return Trial(SpectrumOneClassSVM(nu=nu), K, None, w)
    if family == "mkl":
        stack = [np.cov(rng.standard_normal((n, 2 * n))) for _ in range(2)]
        return Trial(MKLSVC(C), stack, y, w)
    return _cpd(rng, n, y, w)


def _logistic(rng):
    return KreinLogisticRegression(
        alpha=log_uniform(rng, -4, 3),
        fit_intercept=bool(rng.integers(2)),
        multi_class=str(rng.choice(["multinomial", "ovr"])),
        indefinite=str(rng.choice(["raise-alpha", "flip"])),
    )


def _regression(rng, C):
    method = str(rng.choice(["clip", "flip", "shift", "square", "diffusion", "none"]))
    if rng.integers(2):
        return SpectrumSVR(method, C=C, epsilon=float(rng.choice([0.0, 0.1, 1.0])))
    method = str(rng.choice(["stabilised", "flip", "clip", "square"]))
    return KreinRidge(C, method=method, fit_intercept=bool(rng.integers(2)))


def _cpd(rng, n, y, w):
    X = rng.standard_normal((n, 2)) * log_uniform(rng, -3, 3)
    options = {
        "alpha": log_uniform(rng, -4, 3),
        "exponent": 1,
        "polynomial": str(rng.choice(["free", "zero"])),
    }
    if rng.integers(4) == 0:
        return Trial(CPDRegressor(**options), X, rng.standard_normal(n), w)
    loss = str(rng.choice(["squared_hinge", "logistic", "squared"]))
    return Trial(CPDSVC(loss=loss, **options), X, y, w)
