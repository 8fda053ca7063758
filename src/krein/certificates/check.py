"""`check_certificate`: which page judges which estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from krein.certificates import (
    cpd,
    dc,
    logistic,
    mkl,
    proxy,
    regression,
    repair,
    rows,
    spectral,
)
from krein.certificates.data import Given
from krein.certificates.report import (
    CertificateReport,
    Claim,
    Verdict,
    claims_of,
    summarise,
    unchecked,
)
from krein.certificates.sparse import check_sparse

__all__ = ["check_certificate"]

Page = Callable[[Given, list[Claim]], list[Verdict]]

# By name, not by class: the referee shares no code with what it judges.
PAGES: dict[str, Page] = {
    "CPDRegressor": cpd.check_cpd,
    "CPDSVC": cpd.check_cpd,
    "DCSVC": dc.check_dc,
    "KreinLogisticRegression": logistic.check_logistic,
    "KreinRidge": regression.check_ridge,
    "KreinSVC": spectral.check_svc,
    "MKLSVC": mkl.check_mkl,
    "ProxySVC": proxy.check_proxy,
    "SpectrumOneClassSVM": regression.check_one_class,
    "SpectrumSVC": spectral.check_svc,
    "SpectrumSVR": regression.check_svr,
}


def check_certificate(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, P: Any = None
) -> CertificateReport:
    """Recompute what a fitted model claims about itself, independently.

    Feasibility, objective, the bound or the stationarity residual, and that the
    coefficients that predict are those that were certified, from the data, the
    constructor parameters and the fitted attributes alone, by code that shares nothing
    with the solvers. What rounding can account for is no contradiction.

    Parameters
    ----------
    model : fitted estimator or Repaired
        Of krein, alone or at the end of a pipeline, just fitted or from a model file;
        or what `nearest_psd` returned.
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
        return repair.repaired_certificate(X, model)
    if hasattr(model, "steps"):  # a pipeline: what reaches its last step
        X = model[:-1].transform(X) if len(model.steps) > 1 else X
        model = model[-1]
    model = getattr(model, "best_estimator_", model)
    name = type(model).__name__
    if hasattr(model, "similarity_"):  # hits: what reaches the model on them
        X = type(model.similarity_)(**model.similarity_.get_params()).fit_transform(X)
        if not hasattr(model, "duality_gap_"):
            return check_certificate(model.estimator_, X, y, sample_weight)
        found = rows.check_rows(Given(model, X, y, None), rows.claims_of_rows(model))
        return summarise(name, found, [])
    if hasattr(model, "dual_coef_") and not hasattr(model, "result_"):
        return unchecked(name, "the model carries no result_, it claims nothing")
    page = _page_of(model)
    if not hasattr(model, "dual_coef_"):
        raise ValueError(f"{name} is not fitted: call fit first")
    if getattr(model, "approximation", None) is not None:
        return unchecked(
            name,
            "it was trained on landmarks; its certificate is that of the approximated "
            "similarity, which a fitted model does not keep (approximation_error_ "
            "estimates the difference)",
        )
    given = Given(model, X, y, sample_weight, P)
    if hasattr(model, "dense_coef_"):
        return check_sparse(
            given, lambda dense: check_certificate(dense, X, y, sample_weight, P=P)
        )
    claims, faults = claims_of(model)
    return summarise(name, page(given, claims), faults)


def _page_of(model: Any) -> Page:
    for cls in type(model).__mro__:
        if cls.__name__ in PAGES:
            return PAGES[cls.__name__]
    raise TypeError(
        f"check_certificate knows {', '.join(sorted(PAGES))}, got "
        f"{type(model).__name__}"
    )
