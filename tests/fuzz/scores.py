"""Searches with scores that are not defined on some folds."""

import warnings

import numpy as np

import krein
from krein import SpectrumSVCCV

from . import TrialError
from .problems import similarity

SEARCHES = {
    "SpectrumSVCCV": {"Cs": [0.1, 10.0], "fixes": ["clip", "flip"], "combine": "best"},
    "ProxySVCCV": {"Cs": [0.1, 10.0], "rhos": [1.0]},
    "KreinLogisticRegressionCV": {"alphas": [0.1, 10.0]},
    "CPDSVCCV": {"alphas": [0.1, 10.0], "exponent": 1},
}


def sometimes(estimator, X, y):
    """A score that is not a number on test parts of one class."""
    if len(set(y)) == 1:
        return np.nan
    return float(np.mean(estimator.predict(X) == y))


def splits(rng, y, n_undefined, n_defined):
    """Folds whose test part has one class, and ordinary ones, in any order."""
    folds = []
    for k in range(n_undefined + n_defined):
        if k < n_undefined:
            test = rng.permutation(np.flatnonzero(y == rng.choice(np.unique(y))))[:2]
        else:
            test = np.array([rng.choice(np.flatnonzero(y == c)) for c in np.unique(y)])
        folds.append((np.setdiff1d(np.arange(y.size), test), test, k < n_undefined))
    return [folds[i] for i in rng.permutation(len(folds))]


def scores(seed):
    """Folds without a score are left out and this is said; none left is an error."""
    rng = np.random.default_rng([seed, 9])
    name = str(rng.choice(list(SEARCHES)))
    n = int(rng.integers(12, 20))
    y = rng.permutation(np.append(np.repeat([0, 1], 5), rng.integers(0, 2, n - 10)))
    X = rng.standard_normal((n, 2)) if name == "CPDSVCCV" else similarity(rng, n)
    n_undefined, n_defined = int(rng.integers(0, 4)), int(rng.integers(0, 4))
    if n_undefined + n_defined < 2:
        return
    folds = splits(rng, y, n_undefined, n_defined)
    scoring = ["roc_auc", sometimes][rng.integers(2)]
    what = f"{name}, {scoring}, {n_undefined} of {len(folds)} folds undefined"
    options = {**SEARCHES[name], "scoring": scoring}
    if name == "SpectrumSVCCV":
        options["combine"] = str(rng.choice(["best", "average"]))
    cls = getattr(krein, name)
    found = _searched(what, cls(**options, cv=[fold[:2] for fold in folds]), X, y)
    if n_defined == 0:
        if found is not None:
            raise TrialError(f"{what}: accepted")
        return
    if found is None:
        raise TrialError(f"{what}: refused")
    model, said = found
    if said != (n_undefined > 0):
        raise TrialError(f"{what}: {'said' if said else 'not said'}")
    kept = [fold[:2] for fold in folds if not fold[2]]
    if len(kept) > 1:
        other = _searched(what, cls(**options, cv=kept), X, y)
        _compare(what, model, other[0])


def _searched(what, model, X, y):
    """The model and whether it said that folds were left out; None if refused."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
        except ValueError as error:
            if "not defined on any fold" in str(error):
                return None
            raise TrialError(f"{what}: {error}") from error
        except Exception as error:
            raise TrialError(f"{what}: {type(error).__name__}: {error}") from error
    texts = [str(w.message) for w in caught]
    odd = [w for w in caught if issubclass(w.category, RuntimeWarning)]
    if odd:
        raise TrialError(f"{what}: {odd[0].message}")
    return model, any("not defined on" in text for text in texts)


def _compare(what, model, other):
    if isinstance(model, SpectrumSVCCV) and model.combine == "average":
        return  # it averages the models of all folds
    if not np.isclose(model.best_score_, other.best_score_, rtol=1e-9, atol=0):
        text = f"best score {model.best_score_}, without them {other.best_score_}"
        raise TrialError(f"{what}: {text}")
    if repr(model.best_params_) != repr(other.best_params_):
        text = f"best {model.best_params_}, without them {other.best_params_}"
        raise TrialError(f"{what}: {text}")
