"""Edits of fitted models: of what predicts, of what is claimed, of parameters."""

from copy import deepcopy
from dataclasses import replace

import numpy as np

from krein import check_certificate


def outputs(model, X, P=None):
    """Decision values or predictions on the training items."""
    if getattr(model, "new_points", None) == "luss":
        among = X if model.kernel == "precomputed" else None
        return model.decision_function(X, K_new_new=among)
    further = {} if P is None else {"P": P}
    if hasattr(model, "decision_function"):
        return model.decision_function(X, **further)
    return model.predict(X, **further)


def judged(model, problem):
    """What the referee says of an edited model: refused is noticed as well."""
    P = getattr(problem, "P", None)
    try:
        return check_certificate(model, problem.X, problem.y, problem.weight, P=P).holds
    except (ValueError, IndexError):
        return False


# ----------------------------------------------------------------------- what predicts


def moved(name):
    """Move the largest entry, a random one, or all entries of an attribute."""

    def edit(model, rng, amount):
        values = np.array(getattr(model, name), dtype=float)
        if values.size == 0:
            return
        size = float(np.abs(values).max()) or 1.0
        which = rng.integers(3)
        if which == 0:
            values.flat[np.argmax(np.abs(values))] += amount * size
        elif which == 1:
            values.flat[rng.integers(values.size)] += amount * size
        else:
            values = values * (1.0 + amount)
        setattr(model, name, values)

    return edit


def offset(model, rng, amount):
    if hasattr(model, "offset_"):
        model.offset_ = model.offset_ + amount * (abs(model.offset_) or 1.0)
        model.intercept_ = np.array([-model.offset_])


def permuted(name):
    def edit(model, rng, amount):
        values = getattr(model, name, None)
        if values is not None:
            axis = -1 if name in ("dual_coef_", "weights_") else 0
            setattr(model, name, np.flip(values, axis))

    return edit


def cut_support(model, rng, amount):
    if model.support_.size:
        chosen = rng.integers(model.support_.size)
        model.support_ = np.delete(model.support_, chosen)


def doubled_support(model, rng, amount):
    model.support_ = np.append(model.support_, model.support_[:1])


def surplus_row(model, rng, amount):
    model.dual_coef_ = np.vstack([model.dual_coef_, amount * model.dual_coef_[:1]])
    model.intercept_ = np.append(model.intercept_, amount)


def surplus_column(model, rng, amount):
    model.dual_coef_ = np.hstack([model.dual_coef_, amount + model.dual_coef_[:, :1]])


def moved_item(model, rng, amount):
    if getattr(model, "X_fit_", None) is not None:
        model.X_fit_ = np.array(model.X_fit_)
        model.X_fit_[rng.integers(len(model.X_fit_))] += amount


def on_weightless_items(model, rng, amount):
    model.dual_coef_ = model.dual_coef_ + amount * (model.dual_coef_ == 0.0)
    model.support_ = np.arange(model.dual_coef_.shape[1])


# Names of attributes: models that have not got them are left as they are.
EDITS = {
    "dual_coef_": moved("dual_coef_"),
    "intercept_": moved("intercept_"),
    "alpha_": moved("alpha_"),
    "poly_coef_": moved("poly_coef_"),
    "weights_": moved("weights_"),
    "offset_": offset,
    "flipped coefficients": permuted("dual_coef_"),
    "flipped intercepts": permuted("intercept_"),
    "flipped support": permuted("support_"),
    "flipped items": permuted("X_fit_"),
    "flipped weights": permuted("weights_"),
    "support cut": cut_support,
    "support doubled": doubled_support,
    "surplus row": surplus_row,
    "surplus column": surplus_column,
    "item moved": moved_item,
    "weightless items": on_weightless_items,
}


def applied(name, model, rng, amount):
    """Return a copy with this edit, or None where the model has no such attribute."""
    if name.endswith("_") and not hasattr(model, name):
        return None
    edited = deepcopy(model)
    EDITS[name](edited, rng, amount)
    return edited


def movement(before, model, problem):
    """Largest change of an output, as a share of the largest of its row.

    Infinite if there are other outputs, 0 if the model does not predict at all.
    """
    try:
        after = outputs(model, problem.X, getattr(problem, "P", None))
    except (ValueError, IndexError):
        return 0.0
    if after.shape != before.shape or not np.isfinite(after).all():
        return np.inf
    sizes = np.abs(before).max(axis=0)
    changes = np.abs(after - before).max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(changes > 0.0, changes / sizes, 0.0)
    return float(np.max(shares))


MOVES = [1e-5, 1e-2, 1.0, 1e6, -1e9]
LEAST = 1e-6  # change of an output, as a share of the largest of its row


def unnoticed(model, problem, rng):
    """Edits of what predicts that move an output and that the referee passes."""
    before = outputs(model, problem.X)
    found = []
    for name in EDITS:
        for amount in MOVES:
            edited = applied(name, model, rng, amount)
            if edited is None or movement(before, edited, problem) <= LEAST:
                continue
            if judged(edited, problem) is not False:
                found.append((name, amount))
    return found


# --------------------------------------------------------------------- what is claimed


def with_results(model, change):
    """Return a copy whose results are changed, everywhere that they are said."""
    model = deepcopy(model)
    several = isinstance(model.result_, list)
    results = [change(r) for r in (model.result_ if several else [model.result_])]
    model.result_ = results if several else results[0]
    model.objective_ = np.array([result.value for result in results])
    for name in ("duality_gap_", "residual_", "kkt_gap_"):
        if hasattr(model, name):
            values = [result.certificate.value for result in results]
            setattr(model, name, np.array(values))
    return model


def claiming(model, values):
    """Return a copy that claims these gaps or residuals."""
    values = iter(values)

    def change(result):
        certificate = replace(result.certificate, value=float(next(values)))
        return replace(result, certificate=certificate)

    return with_results(model, change)


def called(model, status):
    """Return a copy whose results have this status."""
    return with_results(model, lambda result: replace(result, status=status))
