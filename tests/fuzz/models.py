"""Models of every kind that carries a certificate, ordinary and in wild regimes."""

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

from .problems import similarity

FAMILIES = [
    "SpectrumSVC",
    "KreinSVC",
    "SpectrumSVR",
    "SpectrumOneClassSVM",
    "ProxySVC",
    "DCSVC",
    "DCSVC primal",
    "MKLSVC",
    "KreinRidge",
    "KreinLogisticRegression",
    "CPDSVC",
    "CPDRegressor",
]


@dataclass(frozen=True)
class Drawn:
    """A model to be fitted, what on, and the regime of the data."""

    family: str
    regime: str
    model: Any
    X: Any
    y: Any
    weight: Any
    P: Any = None

    def fit(self):
        """Return the fitted model, with warnings off."""
        further = {} if self.P is None else {"P": self.P}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.model.fit(self.X, self.y, sample_weight=self.weight, **further)


def log_uniform(rng, low, high):
    return float(10.0 ** rng.uniform(low, high))


# ------------------------------------------------------------------------ similarities


def ordinary(rng, n):
    return similarity(rng, n)


def rescaled(rng, n):
    return similarity(rng, n) * log_uniform(rng, -6, 6)


def dominant(rng, n):
    """An eigenvalue of either sign, up to 1e12 times the others."""
    u = rng.standard_normal(n)
    size = rng.choice([-1.0, 1.0]) * log_uniform(rng, 2, 12)
    K = similarity(rng, n) + size * np.outer(u, u) / (u @ u)
    return 0.5 * (K + K.T)


def large_constant(rng, n):
    X = rng.standard_normal((n, 3))
    return np.tanh(X @ X.T) + rng.choice([-1.0, 1.0]) * log_uniform(rng, 2, 12)


def integers(rng, n):
    most = 2 ** int(rng.integers(2, 50))
    A = rng.integers(-most, most + 1, (n, n)).astype(float)
    return np.triu(A) + np.triu(A, 1).T


def adjacency(rng, n):
    """A random graph, a ring, or that of nearest neighbours."""
    which = rng.integers(3)
    if which == 0:
        A = np.triu(rng.random((n, n)) < rng.uniform(0.1, 0.6), 1) * 1.0
    elif which == 1:
        A = np.triu(np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), n - 1, axis=1))
    else:
        x = rng.standard_normal((n, 2))
        D = np.sum((x[:, None] - x) ** 2, axis=2)
        near = np.argsort(D, axis=1)[:, 1:4]
        A = np.zeros((n, n))
        A[np.arange(n)[:, None], near] = 1.0
        A = np.triu(np.maximum(A, A.T))
    return A + np.triu(A, 1).T + rng.integers(2) * np.eye(n)


def outlier_row(rng, n):
    K = similarity(rng, n)
    i = rng.integers(n)
    factor = log_uniform(rng, 1, 8)
    K[i] *= factor
    K[:, i] *= factor
    return 0.5 * (K + K.T)


def duplicates(rng, n):
    K = similarity(rng, n)
    again = rng.integers(0, max(n // 2, 1), n)
    return K[np.ix_(again, again)]


SIMILARITIES = {
    "ordinary": ordinary,
    "rescaled": rescaled,
    "dominant": dominant,
    "large constant": large_constant,
    "integers": integers,
    "adjacency": adjacency,
    "outlier row": outlier_row,
    "duplicates": duplicates,
}


# ------------------------------------------------------------------------------ vectors


def gaussian(rng, n, d):
    return rng.standard_normal((n, d))


def any_size(rng, n, d):
    return rng.standard_normal((n, d)) * log_uniform(rng, -15, 12)


def heavy_tail(rng, n, d):
    return rng.standard_t(rng.uniform(0.5, 2.0), (n, d))


def repeated(rng, n, d):
    X = rng.standard_normal((n, d))
    return X[rng.integers(0, max(n // 2, 2), n)]


def outlier(rng, n, d):
    X = rng.standard_normal((n, d))
    X[rng.integers(n)] *= log_uniform(rng, 1, 12)
    return X


def binary(rng, n, d):
    return rng.integers(0, 2, (n, d)).astype(float)


def scaled_columns(rng, n, d):
    return rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-6, 6, d)


def nearly_flat(rng, n, d):
    """A column that is another one but for little."""
    X = rng.standard_normal((n, d))
    X[:, -1] = X[:, 0] + log_uniform(rng, -12, -1) * X[:, -1]
    return X


VECTORS = {
    "ordinary": gaussian,
    "any size": any_size,
    "heavy tail": heavy_tail,
    "duplicates": repeated,
    "outlier": outlier,
    "binary": binary,
    "scaled columns": scaled_columns,
    "nearly flat": nearly_flat,
}


# ------------------------------------------------------------------------- the drawing


def weights(rng, n):
    which = rng.integers(3)
    if which == 0:
        return None
    if which == 1:
        w = rng.integers(0, 4, n).astype(float)
    else:
        w = 10.0 ** rng.uniform(-3, 3, n)
    w[:6] = np.maximum(w[:6], 1e-3 if which == 2 else 1.0)
    return w


def labels(rng, n):
    k = int(rng.integers(2, 4))
    return np.append(np.arange(k), rng.integers(0, k, n - k))


def draw_model(seed, wild=True, family=None):
    """One model of a random family; half of them ordinary."""
    rng = np.random.default_rng([seed, 11])
    family = family or FAMILIES[seed % len(FAMILIES)]
    n = int(rng.integers(5, 31))
    wild = wild and bool(rng.integers(2))
    w = weights(rng, n)
    if family.startswith("CPD"):
        return _cpd(rng, family, n, w, wild)
    if family == "MKLSVC":
        return _mkl(rng, n, w, wild)
    regime = str(rng.choice(list(SIMILARITIES))) if wild else "ordinary"
    K = SIMILARITIES[regime](rng, n)
    kernel = "precomputed"
    if regime == "ordinary" and rng.integers(4) == 0:
        kernel = str(rng.choice(["rbf", "tl1", "sigmoid", "laplacian"]))
        K = rng.standard_normal((n, 3))
        regime = "items"
    y = labels(rng, n)
    if family in ("SpectrumSVR", "KreinRidge"):
        y = rng.standard_normal(n) * log_uniform(rng, -3, 3)
    if family == "SpectrumOneClassSVM":
        y = None
    model = _on_similarity(rng, family).set_params(kernel=kernel)
    return Drawn(family, regime, model, K, y, w)


def _on_similarity(rng, family):
    C = log_uniform(rng, -3, 3)
    method = str(rng.choice(["clip", "flip", "shift", "square", "diffusion", "none"]))
    t = log_uniform(rng, -1, 1)
    several = {"multi_class": str(rng.choice(["ovr", "ovo"]))}
    if family == "SpectrumSVC":
        return SpectrumSVC(method, C=C, t=t, **several)
    if family == "KreinSVC":
        penalties = {
            "lam_pos": log_uniform(rng, -2, 2),
            "lam_neg": log_uniform(rng, -2, 2),
        }
        return KreinSVC(C, **penalties, **several)
    if family == "SpectrumSVR":
        return SpectrumSVR(method, C=C, t=t, epsilon=float(rng.choice([0.0, 0.1, 1.0])))
    if family == "SpectrumOneClassSVM":
        method = "clip" if method == "none" else method
        nu = float(rng.choice([1.0, rng.uniform(0.01, 1.0)]))
        return SpectrumOneClassSVM(method, nu=nu, t=t)
    if family == "ProxySVC":
        rule = str(rng.choice(["clip", "raw", "project", "luss"]))
        return ProxySVC(C, rho=log_uniform(rng, -3, 3), new_points=rule)
    if family == "DCSVC":
        return DCSVC(C)
    if family == "DCSVC primal":
        return DCSVC(C, solver="dc-primal")
    if family == "KreinRidge":
        method = str(rng.choice(["stabilised", "flip", "clip", "square", "none"]))
        return KreinRidge(C, method=method, fit_intercept=bool(rng.integers(2)))
    return KreinLogisticRegression(
        alpha=log_uniform(rng, -3, 2),
        fit_intercept=bool(rng.integers(2)),
        multi_class=str(rng.choice(["multinomial", "ovr"])),
        indefinite=str(rng.choice(["raise-alpha", "flip"])),
    )


def _mkl(rng, n, w, wild):
    n_kernels = int(rng.integers(2, 4))
    stack = [np.cov(rng.standard_normal((n, 2 * n))) for _ in range(n_kernels)]
    regime = "ordinary"
    if wild:
        regime = "rescaled"
        stack = [K * log_uniform(rng, -4, 4) for K in stack]
    target = None if rng.integers(2) else 0
    model = MKLSVC(log_uniform(rng, -3, 2), rho=log_uniform(rng, -3, 0), target=target)
    return Drawn("MKLSVC", regime, model, stack, labels(rng, n), w)


def _cpd(rng, family, n, w, wild):
    d = int(rng.integers(1, 4))
    regime = str(rng.choice(list(VECTORS))) if wild else "ordinary"
    X = VECTORS[regime](rng, n, d)
    options = {
        "alpha": log_uniform(rng, -4, 3),
        "exponent": float(rng.choice([1, 2, 3])),
        "polynomial": str(rng.choice(["free", "zero"])),
        "scale": bool(rng.integers(2)),
        "random_state": 0,
    }
    if rng.integers(4) == 0:
        options["n_basis"] = int(rng.integers(n // 2 + 3, n + 1))
    P = None
    which = rng.integers(6)
    if which == 0:
        options |= {"kernel": "rbf"}
    elif which == 1:
        # The kernel is c.p.d. of order 1, the polynomials are of degree 0 or 1.
        options |= {"kernel": "precomputed"}
        P = np.hstack([np.ones((n, 1)), X]) if rng.integers(2) else None
        X = -np.abs(X[:, None] - X).sum(axis=2)
    if family == "CPDRegressor":
        y = rng.standard_normal(n) * log_uniform(rng, -3, 3)
        return Drawn(family, regime, CPDRegressor(**options), X, y, w, P)
    loss = str(rng.choice(["squared_hinge", "logistic", "squared"]))
    return Drawn(family, regime, CPDSVC(loss=loss, **options), X, labels(rng, n), w, P)
