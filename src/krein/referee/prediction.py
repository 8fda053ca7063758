"""What predicts is what was certified: shapes, support, stored items, copies of claims.

A model predicts ``K(x, X_fit_) @ dual_coef_.T + intercept_``. Its certificate is about
``result_``. Between them nothing may have been changed.
"""

from __future__ import annotations

import numpy as np

from krein.referee.claims import faults_of
from krein.referee.fitted import Fitted

_SAME = 1e-9  # difference of similarities, relative to the largest, that is rounding


def prediction_faults(fitted: Fitted) -> list[str]:
    """Say what of a model's attributes does not fit its results and its items."""
    faults = _shape_faults(fitted)
    if faults:  # nothing else can be looked at
        return faults
    return [
        *_support_faults(fitted),
        *_intercept_faults(fitted),
        *_item_faults(fitted),
        *_copy_faults(fitted),
    ]


def _shape_faults(fitted: Fitted) -> list[str]:
    model = fitted.model
    n_rows = len(fitted.results)
    n_items = fitted.raw.shape[0]
    matrix = (n_rows, n_items)
    alpha = getattr(model, "alpha_", np.empty(matrix))
    return faults_of(
        (np.shape(model.dual_coef_) == matrix, f"dual_coef_ is not of shape {matrix}"),
        (np.shape(alpha) == matrix, f"alpha_ is not of shape {matrix}"),
        (np.shape(model.intercept_) == (n_rows,),
         f"intercept_ is not of shape {(n_rows,)}"),
    )  # fmt: skip


def _support_faults(fitted: Fitted) -> list[str]:
    """`predict` multiplies the columns that `support_` names, and no others."""
    model = fitted.model
    has_coefficient = np.any(model.dual_coef_ != 0.0, axis=0)
    support = np.unique(model.support_)
    missing = np.any(np.delete(has_coefficient, support))
    in_order = np.array_equal(support, model.support_)
    weightless = np.delete(has_coefficient, fitted.kept)
    return faults_of(
        (not np.any(weightless), "dual_coef_ is not 0 on items of weight 0"),
        (in_order and not missing,
         "support_ does not list the items with a coefficient, in order"),
    )  # fmt: skip


def _intercept_faults(fitted: Fitted) -> list[str]:
    model = fitted.model
    free = getattr(model, "fit_intercept", True) or not np.any(model.intercept_)
    # A sparse expansion fits its intercept again; the offset is that from before.
    b = getattr(model, "dense_intercept_", model.intercept_)[0]
    offset = getattr(model, "offset_", -b)
    return faults_of(
        (free, "intercept_ is not zero with fit_intercept=False"),
        (offset == -b, "intercept_ is not -offset_"),
    )


def _item_faults(fitted: Fitted) -> list[str]:
    """Stored items are those of fit if K(X, X_fit_) is K(X, X), which is symmetric."""
    if not fitted.functions:
        return []
    largest = np.abs(fitted.raw).max()
    same = True
    if fitted.asymmetry > _SAME * largest:  # a kernel may be asymmetric by itself
        again = sum(np.asarray(k(fitted.X, fitted.X), float) for k in fitted.functions)
        same = bool(np.abs(again - fitted.raw).max() <= _SAME * largest)
    return faults_of(
        (same, "X_fit_ does not hold the items that the model was fitted on")
    )


def _copy_faults(fitted: Fitted) -> list[str]:
    """Claims that a model repeats as attributes are those of its results."""
    gaps = [result.certificate.value for result in fitted.results]
    objectives = [result.value for result in fitted.results]
    claims = {
        "duality_gap_": gaps,
        "residual_": gaps,
        "kkt_gap_": gaps,
        "objective_": objectives,
    }
    faults = []
    for name, own in claims.items():
        repeated = getattr(fitted.model, name, own)
        same = np.array_equal(repeated, own, equal_nan=True)
        faults += faults_of((same, f"{name} is not that of result_"))
    return faults
