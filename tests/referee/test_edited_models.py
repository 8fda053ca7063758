"""Edited models: whatever moves an output on the training items is noticed.

Every fitted attribute that `predict` uses is moved by small and large amounts,
permuted, cut or given another shape. Two things are not determined by what a model
claims. The intercept of a machine in a box: without free variables the optimality
conditions leave an interval for it, and the rules of `ProxySVC` for new points leave
one that is wide. And c.p.d. models claim a gap, which grows with the square of an edit.
"""

from copy import deepcopy

import numpy as np
import pytest

from krein import MKLSVC, SpectrumSVC, SpectrumSVR, check_certificate, tl1_kernel

from .registry import CASES, C, Case
from .test_referee import diverged, fitted


def flip_on_items(rng):
    return SpectrumSVC("flip", kernel="tl1", C=C(rng))


def regression_on_items(rng):
    return SpectrumSVR(kernel=tl1_kernel, C=C(rng))


def mkl_on_items(rng):
    return MKLSVC(C(rng), kernels=["rbf", "laplacian"])


ITEMS = [
    Case("svc-items", flip_on_items, "gap", "vectors"),
    Case("svr-items", regression_on_items, "gap", "spline"),
    Case("mkl-items", mkl_on_items, "gap", "vectors"),
]
ALL = [*CASES, *ITEMS]
MOVES = [1e-5, 1e-2, 1.0, 1e6, -1e9]


def outputs(model, X):
    """Decision values or predictions on the training items."""
    if getattr(model, "new_points", None) == "luss":
        return model.decision_function(X, K_new_new=X)
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict(X)


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


def is_determined(model, problem):
    """Whether the intercept is unique: a variable between its bounds, an exact map."""
    if hasattr(model, "new_points") or hasattr(model, "nu"):
        return False
    if hasattr(model, "alpha_"):
        a = model.alpha_
        upper = model.C * (1.0 if problem.weight is None else problem.weight)
        free = (a > 1e-6 * a.max()) & (a < 0.999 * upper)
        return bool(free.any(axis=1).all())
    return not hasattr(model, "epsilon")


def judged(model, problem):
    """What the referee says of an edited model: refused is noticed as well."""
    try:
        return check_certificate(model, problem.X, problem.y, problem.weight).holds
    except (ValueError, IndexError):
        return False


def missed(case, seed, weighted):
    """Edits that move an output and are not noticed."""
    model, problem = fitted(case, seed, n=12, weighted=weighted, n_classes=2 + seed % 2)
    model = getattr(model, "best_estimator_", model)
    assert judged(model, problem) is True
    if diverged(model):
        return []
    before = outputs(model, problem.X)
    scale, rng, found = np.abs(before).max(), np.random.default_rng(seed), []
    if case.data == "outliers" and scale <= 1e-12 * np.abs(problem.X).max():
        return []  # the origin is inside: all outputs are rounding
    splines = hasattr(model, "poly_coef_")
    if splines and model.objective_.min() < 1e-6:
        return []  # the classes are separated: more than one model is the best
    least = 1e-3 if splines else 1e-6
    for name, edit in EDITS.items():
        for amount in MOVES:
            if name.endswith("_") and not hasattr(model, name):
                continue
            small = abs(amount) < 1e6 or name == "flipped intercepts"
            if small and "intercept" in name and not is_determined(model, problem):
                continue
            edited = deepcopy(model)
            edit(edited, rng, amount)
            try:
                after = outputs(edited, problem.X)
            except (ValueError, IndexError):  # it does not predict at all
                continue
            same = after.shape == before.shape
            if same and np.abs(after - before).max() <= least * scale:
                continue
            if judged(edited, problem) is not False:
                found.append((name, amount))
    return found


by_name = pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)


@by_name
def test_edits_are_noticed(case):
    assert missed(case, 1, weighted=True) == []


@pytest.mark.slow
@by_name
def test_edits_are_noticed_often(case):
    for seed in range(2, 12):
        assert missed(case, seed, weighted=bool(seed % 2)) == [], f"seed {seed}"
