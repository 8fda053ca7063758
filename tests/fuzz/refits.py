"""Refits: nothing of the earlier fit survives, and a failed one changes nothing."""

import warnings
from inspect import signature
from numbers import Real

import numpy as np
import scipy.sparse
from sklearn.base import clone

import krein
from krein import KreinNystroem

from . import TrialError
from .problems import similarity

METHODS = ["clip", "flip", "shift", "square", "diffusion", "none"]
LANDMARKS = [None, KreinNystroem(5, random_state=0)]
WEIGHTS = [None, "balanced"]
FLAG = [False, True]
REGRESSORS = ("SpectrumSVR", "SpectrumSVRCV", "KreinRidge", "CPDRegressor")
# Parameters to draw from, for every class.
OPTIONS = {
    "SpectrumSVC": {
        "method": METHODS, "C": [0.1, 10.0], "multi_class": ["ovr", "ovo"],
        "probability": FLAG, "class_weight": WEIGHTS, "approximation": LANDMARKS,
    },
    "KreinSVC": {
        "C": [0.1, 10.0], "lam_neg": [0.5, 2.0], "probability": FLAG,
        "approximation": LANDMARKS,
    },
    "ProxySVC": {
        "rho": [0.1, 10.0], "new_points": ["clip", "raw", "project", "luss"],
        "approximation": LANDMARKS,
    },
    "ProxySVCCV": {"rhos": [[1.0], [0.1, 10.0]], "Cs": [[1.0]], "cv": [2]},
    "DCSVC": {"solver": ["tdca", "dc-primal"], "C": [0.1, 10.0], "probability": FLAG},
    "KreinLogisticRegression": {
        "alpha": [0.01, 1.0], "fit_intercept": FLAG,
        "indefinite": ["raise-alpha", "flip", "allow"],
        "multi_class": ["multinomial", "ovr"],
    },
    "KreinLogisticRegressionCV": {"alphas": [[1.0], [0.1, 1.0]], "cv": [2]},
    "KreinRidge": {
        "method": ["stabilised", *METHODS], "alpha": [0.1, 10.0, "auto"],
        "fit_intercept": FLAG,
    },
    "SpectrumSVR": {"method": METHODS, "C": [0.1, 10.0], "epsilon": [0.0, 0.1]},
    "SpectrumOneClassSVM": {"method": METHODS, "nu": [0.3, 1.0]},
    "SpectrumSVCCV": {"combine": ["best", "average"], "Cs": [[1.0]], "cv": [2]},
    "SpectrumSVRCV": {"combine": ["best", "average"], "Cs": [[1.0]], "cv": [2]},
    "CPDSVC": {
        "loss": ["squared_hinge", "logistic", "squared"], "probability": FLAG,
        "polynomial": ["free", "zero"], "n_basis": [None, 5], "exponent": [1, 3],
        "random_state": [0], "scale": FLAG,
    },
    "CPDRegressor": {"n_basis": [None, 5], "scale": FLAG, "random_state": [0]},
    "MKLSVC": {"rho": [0.1, 10.0], "target": [None, 0], "probability": FLAG},
    "SpectrumTransformer": {"method": METHODS},
    "PseudoEuclideanEmbedding": {"n_components": [None, 2]},
    "PCoA": {"correction": ["none", "lingoes", "cailliez"], "n_components": [2, 3]},
    "HitSimilarity": {"normalize": FLAG},
    "KreinNystroem": {
        "n_components": [3, 6], "core": ["oversampled", "textbook"],
        "landmarks": ["random", "leverage"], "random_state": [0],
    },
}  # fmt: skip


def settings(rng, name):
    """Some parameters of a class; the others stay at their defaults."""
    table = OPTIONS[name]
    drawn = {
        option: values[rng.integers(len(values))]
        for option, values in table.items()
        if rng.integers(3) or len(values) == 1
    }
    return {"n_components": 3, **drawn} if name == "KreinNystroem" else drawn


def data(rng, name):
    """Items and targets in the form that a class takes."""
    n = int(rng.integers(8, 16))
    K = similarity(rng, n)
    k = int(rng.integers(2, 4))
    names = np.array([["a", "b", "c"], ["d", "e", "f"]])[rng.integers(2)]
    y = names[np.append(np.tile(np.arange(k), 2), rng.integers(0, k, n - 2 * k))]
    if name in REGRESSORS:
        y = rng.standard_normal(n)
    if name == "SpectrumOneClassSVM":
        y = None
    if name.startswith("CPD"):
        return rng.standard_normal((n, 2)), y
    if name == "MKLSVC":
        return [np.cov(rng.standard_normal((n, 2 * n))) for _ in range(2)], y
    if name == "PCoA":
        return np.abs(K) * (1.0 - np.eye(n)), None
    if name == "HitSimilarity":
        return np.abs(K) + np.eye(n), None
    if name in ("SpectrumSVC", "KreinSVC") and rng.integers(4) == 0:
        K = scipy.sparse.csr_array(K)
    return K, y


def fit(model, X, y, weight=None):
    """The error of a fit, or None."""
    options = {} if weight is None else {"sample_weight": weight}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y, **options)
        except ValueError as error:
            return error
    return None


def broken(rng, X, y):
    """Data that no class accepts."""
    if isinstance(X, list):
        X = X[0]
    X = np.array(X.toarray() if scipy.sparse.issparse(X) else X)
    which = rng.integers(3)
    if which == 0:
        X[0, -1] = np.nan
    elif which == 1:
        X = X[:0]
    else:
        X = X.astype(complex) + 1j
    return X, None if y is None else np.array(y)[::-1]


def refits(seed):
    """A second fit equals a fresh one; a failed fit changes nothing."""
    rng = np.random.default_rng([seed, 4])
    name = str(rng.choice(list(OPTIONS)))
    cls = getattr(krein, name)
    first, second = settings(rng, name), settings(rng, name)
    X, y = data(rng, name)
    model = cls(**first)
    if fit(model, X, y) is not None:
        model = cls(**first)
    what = f"{name}({first} -> {second})"
    if rng.integers(3) == 0:
        _fails(what, model, *broken(rng, X, y))
        return
    model.set_params(**{**cls(**second).get_params(deep=False)})
    X, y = data(rng, name)
    weight = None
    if rng.integers(3) == 0 and "sample_weight" in signature(cls.fit).parameters:
        weight = rng.integers(1, 4, _count(X)).astype(float)
    fresh, before = cls(**second), dict(vars(model))
    errors = fit(model, X, y, weight), fit(fresh, X, y, weight)
    if str(errors[0]) != str(errors[1]):
        raise TrialError(f"{what}: refit says {errors[0]}, fresh fit {errors[1]}")
    if errors[0] is not None:
        _unchanged(what, model, before)
        return
    difference = differs(vars(model), vars(fresh))
    if difference:
        raise TrialError(f"{what}: {difference} is not that of a fresh fit")


def _fails(what, model, X, y):
    before = dict(vars(model))
    if fit(model, X, y) is None:
        raise TrialError(f"{what}: broken data were accepted")
    _unchanged(what, model, before)
    unfitted = clone(model)
    fit(unfitted, X, y)
    left = [name for name in vars(unfitted) if name.endswith("_")]
    if left:
        raise TrialError(f"{what}: a failed first fit leaves {left}")


def _unchanged(what, model, before):
    after = vars(model)
    changed = [k for k in before.keys() | after if after.get(k) is not before.get(k)]
    if changed:
        raise TrialError(f"{what}: a failed fit changes {sorted(changed)}")


def differs(one, two, path="state"):
    """Where two values differ (times apart), or an empty text."""
    if isinstance(one, Real) and isinstance(two, Real):
        return "" if one == two or (one != one and two != two) else path
    if type(one) is not type(two):
        return path
    if isinstance(one, dict):
        if one.keys() != two.keys():
            return f"{path}: {sorted(map(str, one.keys() ^ two.keys()))}"
        pairs = [(k, one[k], two[k]) for k in one if not _is_time(k)]
    elif isinstance(one, list | tuple):
        if len(one) != len(two):
            return path
        pairs = [(i, a, b) for i, (a, b) in enumerate(zip(one, two, strict=True))]
    elif isinstance(one, np.ndarray) and one.dtype.kind in "fc":
        return "" if np.array_equal(one, two, equal_nan=True) else path
    elif isinstance(one, np.ndarray):
        return "" if np.array_equal(one, two) else path
    elif scipy.sparse.issparse(one):
        return differs(one.toarray(), two.toarray(), path)
    elif hasattr(one, "__dict__") and not isinstance(one, type) and not callable(one):
        return differs(vars(one), vars(two), path)
    else:
        return "" if _plain(one, two) else path
    found = (differs(a, b, f"{path}.{key}") for key, a, b in pairs)
    return next(filter(None, found), "")


def _is_time(key):
    return isinstance(key, str) and ("time" in key or "seconds" in key)


def _plain(one, two):
    """Functions made by a fit are new objects of the same code."""
    return one == two if not callable(one) else type(one) is type(two)


def _count(X):
    return len(X[0]) if isinstance(X, list) else X.shape[0]
