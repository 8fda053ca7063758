"""`check_certificate`: which model is judged how, and what is around a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from typing import Any

import numpy as np

from krein.referee import machines
from krein.referee.evidence import Array
from krein.referee.fit import Fit
from krein.referee.report import CertificateReport, faults_of, report_on, unchecked

# By name, not by class: the referee shares no code with what it judges. A search by
# cross-validation (with CV at the end of its name) is judged as what it has found.
_SVMS = ("DCSVC", "KreinSVC", "SpectrumOneClassSVM", "SpectrumSVC", "SpectrumSVR")
_JUDGES: dict[str, Callable[[Fit], Iterator[Any]]] = {
    **dict.fromkeys(_SVMS, machines.judge_svm),
    **dict.fromkeys(("CPDRegressor", "CPDSVC"), machines.judge_cpd),
    "KreinLogisticRegression": machines.judge_logistic,
    "KreinRidge": machines.judge_ridge,
    "MKLSVC": machines.judge_mkl,
    "ProxySVC": machines.judge_proxy,
}


def check_certificate(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, P: Any = None
) -> CertificateReport:
    """Recompute what a fitted model claims about itself, independently.

    Feasibility, objective, the bound or the stationarity residual, and that the
    attributes that predict are those of the certified point, from the data, the
    constructor parameters and the fitted attributes alone, by code that shares nothing
    with the solvers. What rounding can account for is no contradiction. Of the
    intercept of an SVM only the interval that optimality leaves for it is checked.

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
        return report_on("Repaired", machines.judge_repaired(model, X), [], model.tol)
    model, X = _innermost(model, X)
    name = type(model).__name__
    bases = [cls.__name__.removesuffix("CV") for cls in type(model).__mro__]
    known = [_JUDGES[base] for base in bases if base in _JUDGES]
    if known and not hasattr(model, "dual_coef_"):
        raise ValueError(f"{name} is not fitted: call fit first")
    if not known or not hasattr(model, "result_"):
        return unchecked(name, "it carries no certificate that the referee knows")
    if getattr(model, "approximation", None) is not None:
        return unchecked(name, "it was trained on landmarks, which it does not keep")
    if getattr(model, "solver", "") == "siqclp":
        return unchecked(name, "its bound is of many kernels, which it does not keep")
    fit = Fit(model, X, y, sample_weight, P)
    faults = fit.prediction_faults()
    if hasattr(model, "dense_coef_"):
        return _sparse_report(fit, faults, X, y, sample_weight, P=P)
    primal = getattr(model, "solver", "") == "dc-primal"
    judge = machines.judge_dc_primal if primal else known[0]
    # Where faults are found, what predicts is not what was certified.
    rows = [] if faults else zip(judge(fit), fit.results, strict=True)
    return report_on(name, rows, faults, model.tol)


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
    again = type(step).__name__ in _TREATED
    return deepcopy(step).fit_transform(X) if again else step.transform(X)


def _sparse_report(
    fit: Fit, faults: list[str], *data: Any, P: Any
) -> CertificateReport:
    """Judge the model that an expansion came from, and the change that is claimed.

    The coefficients that predict are not those of any optimum, so that the kind is
    "none"; what is claimed and recomputed is the largest change of an output on the
    training items, each taken as new.
    """
    model, before = fit.model, copy(fit.model)
    before.dual_coef_, before.intercept_ = model.dense_coef_, model.dense_intercept_
    before.support_ = np.flatnonzero(np.any(model.dense_coef_ != 0, axis=0))
    del before.dense_coef_
    report, claimed = check_certificate(before, *data, P=P), float(model.sparse_error_)
    K = fit.raw.toarray() if hasattr(fit.raw, "toarray") else fit.raw
    C = (model.dual_coef_ - before.dual_coef_)[:, before.support_]
    moved = _as_new(K, before.support_)[fit.kept] @ C.T + model.intercept_
    change = float(np.abs(moved - before.intercept_).max())
    slack = fit.spread * float(np.abs(K).max() * np.abs(C).sum(axis=1).max())
    fine = np.isfinite(claimed) and change <= claimed * (1 + 1e-6) + slack
    told = f"outputs change by at most {change:.6g}, claimed {claimed:.6g}"
    faults = faults + faults_of((fine, "sparse_error_ is smaller than that"))
    text = "\n- ".join([f"{type(model).__name__}: {told}", *faults])
    text += f"\nThe certificate is that of the model before. {report}"
    numbers = np.array([claimed]), np.array([change]), report.objective
    return CertificateReport(not faults and report.holds, "none", *numbers, text)


def _as_new(K: Array, support: Array) -> Array:
    """Similarities to the support as a new item has them.

    That of an item to itself, and to its copies, is that to its nearest other item.
    """
    part, mix = K[:, support], np.random.default_rng(1).uniform(1.0, 2.0, support.size)
    mixed, rounding = part @ mix, 1e-13 * float((np.abs(part) @ mix).max(initial=0.0))
    own = np.abs(mixed[:, None] - mixed[support]) <= rounding
    nearest = np.max(part, axis=1, where=~own, initial=-np.inf)[:, None]
    return np.where(own & np.isfinite(nearest), nearest, part)
