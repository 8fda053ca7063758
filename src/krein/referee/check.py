"""`check_certificate`: which model is judged how, and what is around a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from typing import Any

import numpy as np

from krein.referee.averages import (
    fitted_average,
    is_average,
    report_on_average,
    report_on_pool,
)
from krein.referee.claims import Evidence, faults_of
from krein.referee.cpd import judge_cpd
from krein.referee.dc_primal import judge_dc_primal
from krein.referee.digits import Array
from krein.referee.fitted import Fitted
from krein.referee.logistic import judge_logistic
from krein.referee.mkl import judge_mkl
from krein.referee.prediction import prediction_faults
from krein.referee.proxy import judge_proxy
from krein.referee.repair import judge_repaired
from krein.referee.report import CertificateReport, report_on, unchecked
from krein.referee.ridge import judge_ridge
from krein.referee.svm import judge_svm

# By name, not by class: the referee shares no code with what it judges. A search by
# cross-validation (with CV at the end of its name) is judged as what it has found.
_JUDGES: dict[str, Callable[[Fitted], Iterator[Evidence]]] = {
    "CPDRegressor": judge_cpd,
    "CPDSVC": judge_cpd,
    "DCSVC": judge_svm,
    "KreinLogisticRegression": judge_logistic,
    "KreinRidge": judge_ridge,
    "KreinSVC": judge_svm,
    "MKLSVC": judge_mkl,
    "ProxySVC": judge_proxy,
    "SpectrumOneClassSVM": judge_svm,
    "SpectrumSVC": judge_svm,
    "SpectrumSVR": judge_svm,
}


def check_certificate(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, P: Any = None
) -> CertificateReport:
    """Recompute what a fitted model claims about itself, independently.

    Feasibility, objective, the bound or the stationarity residual, the intercept, and
    that the attributes that predict are those of the certified point, from the data,
    the constructor parameters and the fitted attributes alone, by code that shares
    nothing with the solvers, and with 32 digits. A bound that is claimed too small by
    the last digits of a double is refused as well.

    An average is judged machine by machine, and what predicts has to be the mean;
    `SimilarityClassifier` and `SimilarityRegressor` model by model, each on the
    similarities that its own conversion makes.

    Parameters
    ----------
    model : fitted estimator or Repaired
        Of krein, alone, at the end of a pipeline or chosen by a search
        (``best_estimator_``), just fitted or from a model file; or what `nearest_psd`
        returned.
    X, y, sample_weight
        What the model was fitted on.
    P : array-like of shape (n, n_polynomials), optional
        The polynomials of a c.p.d. model fitted on a precomputed kernel with them.

    Returns
    -------
    CertificateReport
        ``holds``, ``kind`` ("gap", "stationarity" or "none"), ``claimed``,
        ``recomputed``, ``text``.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import ProxySVC, check_certificate
    >>> K = np.array([[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]])
    >>> model = ProxySVC(C=10.0).fit(K, ["a", "a", "b"])
    >>> check_certificate(model, K, ["a", "a", "b"]).holds
    True
    """
    if type(model).__name__ == "Repaired":
        return report_on("Repaired", judge_repaired(model, X), [], model.tol)
    model, X = _innermost(model, X)
    name = type(model).__name__
    if hasattr(model, "models_"):
        return report_on_pool(model, X, y, sample_weight, check_certificate)
    judge = _judge_of(model)
    if judge is not None and not hasattr(model, "dual_coef_"):
        raise ValueError(f"{name} is not fitted: call fit first")
    average = is_average(model)
    if judge is None or not (average or hasattr(model, "result_")):
        return unchecked(name, "it carries no certificate that the referee knows")
    if getattr(model, "approximation", None) is not None:
        return unchecked(name, "it was trained on landmarks, which it does not keep")
    if getattr(model, "solver", "") == "siqclp":
        return unchecked(name, "its bound is of many kernels, which it does not keep")
    if average:
        fitted = fitted_average(model, X, y, sample_weight)
    else:
        fitted = Fitted(model, X, y, sample_weight, P)
    faults = prediction_faults(fitted)
    if hasattr(model, "dense_coef_"):
        return _sparse_report(model, fitted, faults, X, y, sample_weight, P=P)
    if average and not faults:
        return report_on_average(fitted, model)
    if faults:  # what predicts is not what was certified
        return report_on(name, [], faults, model.tol)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is no claim
        rows = list(zip(judge(fitted), fitted.results, strict=True))
    return report_on(name, rows, faults, model.tol)


def _judge_of(model: Any) -> Callable[[Fitted], Iterator[Evidence]] | None:
    for cls in type(model).__mro__:
        base = cls.__name__.removesuffix("CV")
        if base == "DCSVC" and model.solver == "dc-primal":
            return judge_dc_primal
        if base in _JUDGES:
            return _JUDGES[base]
    return None


# --------------------------------------------------------------- what is around a model

# Made in `fit`, training rows of these may differ from what they are as new ones.
_TREATED = ("HitSimilarity", "SpectrumTransformer")


def _innermost(model: Any, X: Any) -> tuple[Any, Any]:
    """Look through searches and pipelines: the model, and what it was fitted on."""
    if hasattr(model, "best_estimator_") and not hasattr(model, "dual_coef_"):
        return _innermost(model.best_estimator_, X)
    if hasattr(model, "similarity_"):
        return _innermost(model.estimator_, _transformed(model.similarity_, X))
    if hasattr(model, "steps"):
        for _, step in model.steps[:-1]:
            X = _transformed(step, X)
        return _innermost(model.steps[-1][1], X)
    return model, X


def _transformed(step: Any, X: Any) -> Any:
    """Return what a transformer made of the training data in `fit`."""
    if step is None or isinstance(step, str):  # passthrough
        return X
    if type(step).__name__ in _TREATED:
        return deepcopy(step).fit_transform(X)
    return step.transform(X)


# ------------------------------------------------------------------- sparse expansions

_ROUNDED = 1e-6  # of a claimed change


def _sparse_report(
    model: Any, fitted: Fitted, faults: list[str], *data: Any, P: Any
) -> CertificateReport:
    """Judge the model that an expansion came from, and the change that is claimed.

    The coefficients that predict are not those of any optimum, so that the kind is
    "none"; what is claimed and recomputed is the largest change of an output on the
    training items, each taken as new.
    """
    before = _before_expansion(model)
    report = check_certificate(before, *data, P=P)
    claimed = float(model.sparse_error_)
    change, size = _largest_change(fitted, before)
    slack = fitted.spread * size
    fine = np.isfinite(claimed) and change <= claimed * (1 + _ROUNDED) + slack
    faults = faults + faults_of((fine, "sparse_error_ is smaller than that"))
    name = type(model).__name__
    text = f"{name}: outputs change by at most {change:.6g}, claimed {claimed:.6g}"
    text = "\n- ".join([text, *faults])
    text += f"\nThe certificate is that of the model before. {report}"
    return CertificateReport(
        not faults and bool(report.holds),
        "none",
        np.array([claimed]),
        np.array([change]),
        report.objective,
        text,
    )


def _before_expansion(model: Any) -> Any:
    before = copy(model)
    before.dual_coef_ = model.dense_coef_
    before.intercept_ = model.dense_intercept_
    before.support_ = np.flatnonzero(np.any(model.dense_coef_ != 0, axis=0))
    del before.dense_coef_
    return before


def _largest_change(fitted: Fitted, before: Any) -> tuple[float, float]:
    """Largest change of an output on a training item, and the size of its terms."""
    model = fitted.model
    K = fitted.raw.toarray() if hasattr(fitted.raw, "toarray") else fitted.raw
    support = before.support_
    difference = (model.dual_coef_ - before.dual_coef_)[:, support]
    moved = _as_new(K, support)[fitted.kept] @ difference.T + model.intercept_
    change = float(np.abs(moved - before.intercept_).max())
    return change, float(np.abs(K).max() * np.abs(difference).sum(axis=1).max())


def _as_new(K: Array, support: Array) -> Array:
    """Similarities to the support as a new item has them.

    That of an item to itself, and to its copies, is that to its nearest other item. A
    random mixture of the columns tells copies from others.
    """
    part = K[:, support]
    mix = np.random.default_rng(1).uniform(1.0, 2.0, support.size)
    mixed = part @ mix
    rounding = 1e-13 * float((np.abs(part) @ mix).max(initial=0.0))
    own = np.abs(mixed[:, None] - mixed[support]) <= rounding
    nearest = np.max(part, axis=1, where=~own, initial=-np.inf)[:, None]
    return np.where(own & np.isfinite(nearest), nearest, part)
