"""Averages are judged machine by machine, and what predicts has to be their mean."""

import warnings
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import pdist, squareform

from krein import (
    SimilarityClassifier,
    SimilarityRegressor,
    SpectrumSVCCV,
    SpectrumSVRCV,
    check_certificate,
)

from .edits import judged, unnoticed
from .registry import Case

FEW = {"Cs": [0.3, 3.0, 30.0], "fixes": ["clip", "flip", "power(w=1, p=1.5)"], "cv": 2}
MANY = {"fixes": ["shift"], "Cs": 10.0 ** np.arange(-3, 4)}
AVERAGES = [
    Case("svc", lambda rng: SpectrumSVCCV(**FEW), "gap"),
    Case("pairs", lambda rng: SpectrumSVCCV(multi_class="ovo", **FEW), "gap"),
    Case("svr", lambda rng: SpectrumSVRCV(**FEW), "gap", "targets"),
    Case("raw", lambda rng: SpectrumSVCCV(**FEW | MANY), "gap"),
    Case("items", lambda rng: SpectrumSVCCV(kernel="tl1", **FEW), "gap", "vectors"),
]
by_name = pytest.mark.parametrize("case", AVERAGES, ids=lambda case: case.name)


def fitted(case, seed, **options):
    """A model, and its problem with at least two items of each class."""
    rng = np.random.default_rng(seed)
    problem = case.problem(rng, **options)
    if case.data != "targets":
        n_classes = len(np.unique(problem.y))
        problem = replace(problem, y=np.arange(len(problem.y)) % n_classes)
    return case.fit(rng, problem), problem


def check(model, problem):
    return check_certificate(model, problem.X, problem.y, problem.weight)


@pytest.mark.parametrize("seed", range(6))
@by_name
def test_averages_hold(case, seed):
    options = {"n": 12 + seed, "weighted": seed % 2 == 1, "n_classes": 2 + seed % 3}
    model, problem = fitted(case, seed, **options)
    assert len(model.members_) > 1
    report = check(model, problem)
    assert report.holds, str(report)
    assert report.kind == "gap"
    rows = sum(len(member["results"]) for member in model.members_)
    assert len(report.claimed) == len(report.recomputed) == rows
    assert f"{rows} rows: claimed at most" in report.text


@by_name
def test_edits_of_what_predicts_are_noticed(case):
    model, problem = fitted(case, 1, n=12, weighted=True, n_classes=3)
    assert judged(model, problem) is True
    assert unnoticed(model, problem, np.random.default_rng(0)) == []


def other_C(model):
    model.members_[1]["C"] *= 1.01


def other_fix(model):
    model.members_[1]["method"] = "square"


def other_point(model):
    results = model.members_[1]["results"]
    results[0] = replace(results[0], x=results[0].x * 0.99)


def other_objective(model):
    results = model.members_[1]["results"]
    results[0] = replace(results[0], value=1.01 * results[0].value)


def larger_gap(model):
    model.duality_gap_ = 2.0 * model.duality_gap_ + 1.0


def one_machine_less(model):
    del model.members_[-1]


CHANGES = [
    other_C,
    other_fix,
    other_point,
    other_objective,
    larger_gap,
    one_machine_less,
]


@pytest.mark.parametrize("change", CHANGES)
@by_name
def test_other_machines_are_noticed(case, change):
    model, problem = fitted(case, 2, n=14, n_classes=2)
    edited = deepcopy(model)
    change(edited)
    assert check(edited, problem).holds is False
    assert check(model, problem).holds is True


def test_an_expansion_of_an_average_is_checked():
    model, problem = fitted(AVERAGES[0], 0, n=30)
    sparse = model.sparsify(problem.X, tolerance=0.1)
    assert check(sparse, problem).holds is True
    sparse.sparse_error_ = 0.5 * sparse.sparse_error_
    assert check(sparse, problem).holds is False


# -------------------------------------------------------------------------------- pools

rng = np.random.default_rng(5)
POINTS = rng.standard_normal((24, 2))
CODES = np.array(["a", "b", "c"])[np.arange(24) % 3]
WEIGHT = np.where(np.arange(24) < 6, 1.0, rng.integers(0, 3, 24))
DISTANCES = squareform(pdist(POINTS))
SIMILARITY = 1.0 - DISTANCES
STACK = np.stack([SIMILARITY, np.exp(-DISTANCES)], axis=2)
BALANCED = {"class_weight": "balanced"}
POOLS = {
    "similarity": (SimilarityClassifier(**FEW), SIMILARITY, CODES),
    "distances": (SimilarityClassifier(kind="distance", **FEW), DISTANCES, CODES),
    "stack": (SimilarityClassifier(**FEW), STACK, CODES),
    "sparse": (SimilarityClassifier(**FEW), scipy.sparse.csr_array(SIMILARITY), CODES),
    "items": (SimilarityClassifier(["tl1", "rbf"], **FEW), POINTS, CODES),
    "weights": (SimilarityClassifier(**FEW, **BALANCED), SIMILARITY, CODES),
    "numbers": (SimilarityRegressor(**FEW), SIMILARITY, POINTS[:, 0]),
}


def fitted_pool(name, weight):
    model, X, y = POOLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return deepcopy(model).fit(X, y, sample_weight=weight), X, y


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", POOLS)
def test_pools_hold(name, weight):
    model, X, y = fitted_pool(name, weight)
    report = check_certificate(model, X, y, weight)
    assert report.holds, str(report)
    rows = sum(len(member["results"]) for member in model.members_)
    assert len(report.claimed) == rows


def test_condensed_distances_are_checked():
    model = SimilarityClassifier(kind="distance", **FEW).fit(pdist(POINTS), CODES)
    assert check_certificate(model, pdist(POINTS), CODES).holds


def test_the_mean_of_asymmetric_similarities_is_checked():
    K = SIMILARITY + 0.1 * np.triu(DISTANCES)
    model = SimilarityClassifier(symmetrize=True, **FEW).fit(K, CODES)
    assert check_certificate(model, K, CODES).holds


def edited_width(model):
    place = next(i for i, one in enumerate(model.conversions_) if one is not None)
    model.conversions_[place] = replace(model.conversions_[place], gamma=1.7)


def edited_coefficients(model):
    model.models_[0].dual_coef_ = 1.0001 * model.models_[0].dual_coef_


def edited_intercept(model):
    model.models_[-1].intercept_ = model.models_[-1].intercept_ + 1e-4


def edited_weights(model):
    model.weights_ = model.weights_[::-1] + 0.01


def edited_members(model):
    model.members_ = model.members_[:-1]


EDITED = [edited_width, edited_coefficients, edited_intercept, edited_weights,
          edited_members]  # fmt: skip


@pytest.mark.parametrize("edit", EDITED)
def test_edited_pools_are_noticed(edit):
    model, X, y = fitted_pool("distances", None)
    edit(model)
    report = check_certificate(model, X, y)
    assert report.holds is False
    assert "does not hold" in report.text


def test_other_labels_are_noticed():
    model, X, y = fitted_pool("similarity", None)
    assert check_certificate(model, X, y[::-1]).holds is False
