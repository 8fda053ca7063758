"""Certificates at extreme scales, and what must not change a model."""

from copy import deepcopy

import numpy as np

from krein import KreinRidge, SpectrumOneClassSVM, check_certificate

from . import TrialError
from .problems import Trial, draw

# Refused with a reason, which is an answer: nothing else may be raised.
POLITE = (
    "the polynomials reach every function",
    "makes K + alpha I singular",
    "every class must have a sample of positive weight",
    "at least 2 samples are required",
)


def fitted(trial):
    """Fit; None if the problem was refused for a stated reason."""
    try:
        return trial.fit()
    except ValueError as error:
        if any(text in str(error) for text in POLITE):
            return None
        raise _failure(trial, f"refused: {error}") from error
    except Exception as error:
        raise _failure(trial, f"{type(error).__name__}: {error}") from error


def _failure(trial, text):
    return TrialError(f"{' '.join(repr(trial.model).split())}: {text}")


def certificates(seed):
    """The claims hold, numbers are finite, and what did not converge says so."""
    trial = draw(seed)
    found = fitted(trial)
    if found is None:
        return
    model, warned = found
    for attribute in ("dual_coef_", "intercept_", "objective_"):
        if not np.isfinite(getattr(model, attribute)).all():
            raise _failure(trial, f"{attribute} is not finite")
    results = model.result_ if isinstance(model.result_, list) else [model.result_]
    unfinished = [r.status for r in results if r.status != "converged"]
    rounded = [r for r in results if r.is_solved_to_rounding(model.tol)]
    wanted = "ConvergenceWarning"
    if len(rounded) == len(unfinished):  # solved, and told why no more is claimed
        wanted = "UserWarning"
    if unfinished and wanted not in warned:
        raise _failure(trial, f"{unfinished[0]} without a warning")
    odd = [w for w in warned if w not in ("ConvergenceWarning", "UserWarning")]
    if odd:
        raise _failure(trial, odd[0])
    report = check_certificate(model, trial.X, trial.y, trial.weight)
    if report.holds is not True:
        raise _failure(trial, " ".join(str(report).split()))


# --------------------------------------------------------------------------- invariants


def invariants(seed):
    """Objectives of equivalent problems agree as far as their certificates say."""
    rng = np.random.default_rng([seed, 2])
    trial = draw(seed)
    found = fitted(trial)
    if found is None:
        return
    model = deepcopy(found[0])
    changes = [_repeated_fit, _permuted, _renamed, _weighted, _scaled]
    change = changes[rng.integers(len(changes))]
    other, factor = change(trial, rng)
    if other is None:
        return
    again = fitted(other)
    if again is None:
        raise _failure(trial, f"refused after {change.__name__}")
    _compare(trial, change.__name__, model, again[0], factor)


def _compare(trial, what, model, other, factor):
    if what == "_repeated_fit":
        same = np.array_equal(model.dual_coef_, other.dual_coef_)
        if not same or not np.array_equal(model.intercept_, other.intercept_):
            raise _failure(trial, "two fits differ")
        return
    if not hasattr(model, "duality_gap_") or not hasattr(other, "duality_gap_"):
        return  # stationary points need not be the same
    one = np.sort(model.objective_ * factor)
    two = np.sort(other.objective_)
    allowed = model.duality_gap_.max() * factor + other.duality_gap_.max()
    size = 1e-9 * max(float(np.abs(one).max()), float(np.abs(two).max()))
    if hasattr(model, "rho") and not isinstance(trial.X, list):
        # The constant rho ||K_-||^2 of a kernel whose negative part is rounding.
        size += 1e-12 * factor * model.rho * float(np.sum(np.square(trial.X)))
    if isinstance(trial.model, KreinRidge):
        size += model.alpha * _rounding(trial, model.result_.x)
    if isinstance(trial.model, SpectrumOneClassSVM):  # its optimum may be zero
        size += _rounding(trial, model.result_.x)
    if np.abs(one - two).max() > allowed * (1 + 1e-6) + size:
        text = f"objective {two} after {what}, was {one}, gaps allow {allowed:.3g}"
        raise _failure(trial, text)


def _rounding(trial, v):
    """v'Ev, where two eigendecompositions of the same kernel differ by E."""
    w = np.ones(_n(trial)) if trial.weight is None else trial.weight
    root = np.sqrt(w[w > 0])
    K = trial.X[np.ix_(w > 0, w > 0)] * root * root[:, None]
    apart = 8 * v.size * np.finfo(float).eps * np.linalg.norm(K)
    return apart * float(np.sum((v / root) ** 2))


def _repeated_fit(trial, rng):
    return Trial(deepcopy(trial.model), trial.X, trial.y, trial.weight), 1.0


def _permuted(trial, rng):
    n = _n(trial)
    order = rng.permutation(n)
    y = None if trial.y is None else trial.y[order]
    w = None if trial.weight is None else trial.weight[order]
    return Trial(trial.model, _rows(trial.X, order), y, w), 1.0


def _renamed(trial, rng):
    if trial.y is None or trial.y.dtype.kind != "i":
        return None, 1.0
    names = np.array(["zebra", "Ant", "mole"])[: trial.y.max() + 1]
    return Trial(trial.model, trial.X, names[trial.y], trial.weight), 1.0


def _weighted(trial, rng):
    """Integer weights are repetition."""
    w = rng.integers(1, 3, _n(trial))
    again = np.repeat(np.arange(w.size), w)
    y = None if trial.y is None else trial.y[again]
    weighted = Trial(deepcopy(trial.model), trial.X, trial.y, w.astype(float))
    found = fitted(weighted)
    repeated = fitted(Trial(deepcopy(trial.model), _rows(trial.X, again), y, None))
    if found is None or repeated is None:
        return None, 1.0
    _compare(weighted, "_weighted", found[0], repeated[0], 1.0)
    return None, 1.0


def _scaled(trial, rng):
    """t K with C / t has the objective over t (rho / t^3 for the proxy)."""
    if not hasattr(trial.model, "C") or isinstance(trial.X, list):
        return None, 1.0
    method = getattr(trial.model, "method", "clip")
    if method not in ("clip", "flip", "shift") or hasattr(trial.model, "epsilon"):
        return None, 1.0
    t = float(2.0 ** rng.integers(-20, 21))
    model = deepcopy(trial.model).set_params(C=trial.model.C / t)
    if hasattr(model, "rho"):
        model.set_params(rho=trial.model.rho / t**3)
    return Trial(model, trial.X * t, trial.y, trial.weight), 1.0 / t


def _n(trial):
    return len(trial.X[0] if isinstance(trial.X, list) else trial.X)


def _rows(X, order):
    if isinstance(X, list):
        return [K[np.ix_(order, order)] for K in X]
    return X[np.ix_(order, order)] if X.shape[0] == X.shape[1] else X[order]
