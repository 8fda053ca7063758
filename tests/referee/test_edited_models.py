"""Edited models: whatever moves an output on the training items is noticed.

Every fitted attribute that `predict` uses is moved by small and large amounts,
permuted, cut or given another shape. Two things are not determined by what a model
claims. The intercept of a machine in a box: without free variables the optimality
conditions leave an interval for it, and the rules of `ProxySVC` for new points leave
one that is wide. And c.p.d. models claim a gap, which grows with the square of an edit.
"""

import numpy as np
import pytest

from krein import MKLSVC, SpectrumSVC, SpectrumSVR, tl1_kernel

from .edits import judged, outputs, unnoticed
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


def missed(case, seed, weighted):
    """Edits that move an output and are not noticed."""
    model, problem = fitted(case, seed, n=12, weighted=weighted, n_classes=2 + seed % 2)
    model = getattr(model, "best_estimator_", model)
    assert judged(model, problem) is True
    if diverged(model):
        return []
    before = outputs(model, problem.X)
    if (
        case.data == "outliers"
        and np.abs(before).max() <= 1e-12 * np.abs(problem.X).max()
    ):
        return []  # the origin is inside: all outputs are rounding
    if hasattr(model, "poly_coef_") and model.objective_.min() < 1e-6:
        return []  # the classes are separated: more than one model is the best
    return unnoticed(model, problem, np.random.default_rng(seed))


by_name = pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)


@by_name
def test_edits_are_noticed(case):
    assert missed(case, 1, weighted=True) == []


@pytest.mark.slow
@by_name
def test_edits_are_noticed_often(case):
    for seed in range(2, 12):
        assert missed(case, seed, weighted=bool(seed % 2)) == [], f"seed {seed}"
