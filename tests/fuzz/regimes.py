"""Ordinary problems, on which every model converges, and the regimes that break them.

An ordinary trial has similarities of order one of 10 to 200 items, C and alpha over six
orders, weights over six digits; a scaled one has them times 1e-6 to 1e6. A regime is
one of `REGIMES`: what counts, graphs, tables and careless preparation make.
"""

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
    check_certificate,
)

from . import TrialError
from .problems import Trial, log_uniform

METHODS = ("clip", "flip", "shift", "square", "diffusion")


# ------------------------------------------------------------------------ similarities


def _items(rng, n):
    """Vectors with structure: two groups and noise."""
    X = rng.standard_normal((n, int(rng.integers(2, 9))))
    X[: n // 2, 0] += rng.uniform(0, 2)
    return X[rng.permutation(n)]


def everyday(rng, n):
    """Similarities that people use, of order one."""
    X = _items(rng, n)
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    which = rng.integers(7)
    if which == 0:
        K = np.tanh(X @ X.T - rng.uniform(0, 1))
    elif which == 1:
        K = np.exp(-D / np.median(D))
    elif which == 2:  # l1, truncated: not definite
        L = np.abs(X[:, None] - X).sum(axis=2)
        K = np.maximum(1.0 - L / rng.uniform(1, 3) / np.median(L), 0.0)
    elif which == 3:
        K = -((D / D.max()) ** rng.uniform(0.5, 3))
    elif which == 4:
        K = np.corrcoef(X) if X.shape[1] > 2 else np.cos(X @ X.T)
    elif which == 5:
        K = np.exp(-D) + 0.2 * rng.standard_normal(D.shape)
    else:
        K = 1.0 / (1.0 + D) - rng.uniform(0, 0.5)
    return 0.5 * (K + K.T)


def dominant(sign):
    def make(rng, n):
        """One eigenvalue of either sign far beyond all others."""
        u = rng.standard_normal(n)
        return everyday(rng, n) + sign * log_uniform(rng, 2, 13) * np.outer(u, u)

    return make


def integers(rng, n):
    """Counts of up to 2^49."""
    K = rng.integers(0, 2 ** int(rng.integers(4, 50)), (n, n)).astype(float)
    return np.floor(0.5 * (K + K.T))


def outlier(rng, n):
    """One item whose similarities are of another size."""
    K, i, size = everyday(rng, n), int(rng.integers(n)), log_uniform(rng, 2, 9)
    K[i] *= size
    K[:, i] *= size
    return K


def constant(rng, n):
    """All similarities plus or minus a large number."""
    return everyday(rng, n) + rng.choice([-1.0, 1.0]) * log_uniform(rng, 2, 12)


def adjacency(rng, n):
    """A graph: of neighbours, of cliques, or by chance."""
    which = rng.integers(3)
    if which == 0:
        X = _items(rng, n)
        D = ((X[:, None] - X) ** 2).sum(axis=2)
        near = np.argsort(D, axis=1)[:, 1 : int(rng.integers(2, 7))]
        K = np.zeros((n, n))
        K[np.arange(n)[:, None], near] = 1.0
        return np.maximum(K, K.T)
    if which == 1:
        group = rng.integers(0, max(2, n // 3), n)
        return (group[:, None] == group).astype(float) - np.eye(n)
    K = np.triu(rng.random((n, n)) < rng.uniform(0.05, 0.5), 1).astype(float)
    return K + K.T


def binary_columns(rng, n):
    """Matches of a few yes-or-no columns: many equal items, low rank."""
    B = (rng.random((n, int(rng.integers(1, 6)))) < 0.5).astype(float)
    return B @ B.T + (1 - B) @ (1 - B).T


def heavy_tail(rng, n):
    """Inner products and distances of Cauchy variables."""
    X = rng.standard_cauchy((n, int(rng.integers(1, 5))))
    if rng.integers(2):
        return X @ X.T
    return -np.abs(X[:, None] - X).sum(axis=2)


REGIMES = {
    "dominant positive": dominant(1.0),
    "dominant negative": dominant(-1.0),
    "integers": integers,
    "outlier row": outlier,
    "large constant": constant,
    "adjacency": adjacency,
    "binary columns": binary_columns,
    "heavy tail": heavy_tail,
}


# ------------------------------------------------------------------------------ models


def _weights(rng, n):
    if rng.integers(3):
        return None
    return 10.0 ** rng.uniform(-3, 3, n)


def _labels(rng, K, n):
    """Of the items' place in the similarity, with noise; two or three classes."""
    size = max(float(np.abs(K).max()), 1e-300)
    z = (K / size) @ rng.standard_normal(n)
    z = z / max(float(z.std()), 1e-12) + rng.uniform(0, 2) * rng.standard_normal(n)
    k = 3 if rng.integers(4) == 0 else 2
    y = np.searchsorted(np.quantile(z, np.arange(1, k) / k), z)
    y[rng.permutation(n)[:k]] = np.arange(k)
    return y, z


def model(rng, name):
    """A model at its defaults, but for C and alpha over six orders and the method."""
    C, alpha = log_uniform(rng, -3, 3), log_uniform(rng, -3, 3)
    method = str(rng.choice(METHODS))
    return {
        "SpectrumSVC": lambda: SpectrumSVC(method, C=C),
        "SpectrumSVC none": lambda: SpectrumSVC("none", C=C),
        "SpectrumSVR": lambda: SpectrumSVR(method, C=C),
        "SpectrumOneClassSVM": lambda: SpectrumOneClassSVM(
            method, nu=float(rng.uniform(0.05, 0.95))
        ),
        "KreinSVC": lambda: KreinSVC(C),
        "ProxySVC": lambda: ProxySVC(C, rho=log_uniform(rng, -3, 3)),
        "DCSVC": lambda: DCSVC(C),
        "KreinRidge": lambda: KreinRidge(
            alpha, method=str(rng.choice([*METHODS, "stabilised"]))
        ),
        "KreinLogisticRegression": lambda: KreinLogisticRegression(alpha),
        "MKLSVC": lambda: MKLSVC(C),
        "CPDSVC": lambda: CPDSVC(
            alpha=alpha,
            exponent=int(rng.choice([1, 2, 3])),
            polynomial=str(rng.choice(["free", "zero"])),
            loss=str(rng.choice(["squared_hinge", "logistic", "squared"])),
        ),
        "CPDRegressor": lambda: CPDRegressor(
            alpha=alpha,
            exponent=int(rng.choice([1, 2, 3])),
            polynomial=str(rng.choice(["free", "zero"])),
        ),
    }[name]()


NAMES = (
    "SpectrumSVC", "SpectrumSVC none", "SpectrumSVR", "SpectrumOneClassSVM", "KreinSVC",
    "ProxySVC", "DCSVC", "KreinRidge", "KreinLogisticRegression", "MKLSVC", "CPDSVC",
    "CPDRegressor",
)  # fmt: skip
REGRESSIONS = ("SpectrumSVR", "KreinRidge", "CPDRegressor")


def trial(seed, name, kind="ordinary", most=200):
    """A trial of one model: ordinary, scaled, or of a regime."""
    rng = np.random.default_rng([seed, 7, len(name), sum(map(ord, name))])
    n = int(rng.integers(10, most + 1))
    make = REGIMES.get(kind, everyday)
    factor = log_uniform(rng, -6, 6) if kind == "scaled" else 1.0
    weight = _weights(rng, n)
    if name.startswith("CPD"):
        X = factor * _items(rng, n)
        if kind == "heavy tail":
            X = rng.standard_cauchy(X.shape)
        elif kind == "outlier row":
            X[0] *= log_uniform(rng, 2, 9)
        elif kind == "binary columns":
            X = (X > 0).astype(float)
        y, z = _labels(rng, X @ X.T, n)
    elif name == "MKLSVC":
        K = make(rng, n)
        size = float(np.abs(K).max()) or 1.0
        X = factor * np.stack([K @ K / size, size * np.exp(-np.abs(K / size))], axis=2)
        X = X if _is_psd(X[..., 1]) else X[..., :1]
        y, z = _labels(rng, K, n)
    else:
        X = factor * make(rng, n)
        y, z = _labels(rng, X, n)
    if name in REGRESSIONS:
        y = z
    elif name == "SpectrumOneClassSVM":
        y = None
    return Trial(model(rng, name), X, y, weight)


def _is_psd(K):
    values = np.linalg.eigvalsh(K)
    return values[0] >= -1e-12 * values[-1]


# ------------------------------------------------------------------------------- fuzz


def _drawn(seed):
    return NAMES[seed % len(NAMES)], np.random.default_rng([seed, 11])


def ordinary(seed):
    """Every model converges at its defaults, on the scale people use and beyond."""
    name, rng = _drawn(seed)
    kind = str(rng.choice(["ordinary", "scaled"]))
    fitted, _ = trial(seed, name, kind, most=60).fit()
    results = fitted.result_ if isinstance(fitted.result_, list) else [fitted.result_]
    for result in results:
        if result.status not in ("converged",):
            raise TrialError(f"{kind} {fitted!r}: {result.sentence}")


def regimes(seed):
    """Claims hold and numbers are finite, converged or not."""
    name, rng = _drawn(seed)
    kind = str(rng.choice(sorted(REGIMES)))
    problem = trial(seed, name, kind, most=40)
    fitted, _ = problem.fit()
    for attribute in ("dual_coef_", "intercept_", "objective_"):
        if not np.isfinite(getattr(fitted, attribute)).all():
            raise TrialError(f"{kind} {fitted!r}: {attribute} is not finite")
    report = check_certificate(fitted, problem.X, problem.y, problem.weight)
    if report.holds is not True:
        raise TrialError(f"{kind} {' '.join(str(report).split())}")
