"""Errors name the argument, what was given and what to do; none comes from below."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone

import krein
from krein import (
    CPDSVC,
    DCSVC,
    MKLSVC,
    CPDRegressor,
    HitClassifier,
    HitSimilarity,
    KreinLogisticRegression,
    KreinNystroem,
    KreinRidge,
    KreinSVC,
    ProxySVC,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVCCV,
    SpectrumSVR,
    SpectrumTransformer,
    compare,
    diagnose,
    kernel_matrix,
    rbf_kernel,
    split_kernel,
)

HITS = scipy.sparse.csr_array(
    [[9.0, 5.0, 0.0, 0.0], [5.0, 9.0, 0, 0], [0, 0, 9.0, 4.0], [0, 0, 4.0, 9.0]]
)


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((20, 2))
    return X, np.repeat([0, 1], 10)


# --------------------------------------------------------------------------- parameters

NUMBERS = [
    (SpectrumSVC(kernel="rbf"), "C"),
    (SpectrumSVC(kernel="rbf"), "tol"),
    (KreinSVC(kernel="rbf"), "lam_pos"),
    (ProxySVC(kernel="rbf"), "rho"),
    (DCSVC(kernel="rbf"), "C"),
    (SpectrumSVR(kernel="rbf"), "epsilon"),
    (SpectrumOneClassSVM(kernel="rbf"), "nu"),
    (KreinLogisticRegression(kernel="rbf"), "alpha"),
    (KreinRidge(kernel="rbf"), "alpha"),
    (CPDSVC(), "alpha"),
    (CPDRegressor(), "alpha"),
    (MKLSVC(kernels=["rbf"]), "C"),
    (KreinNystroem(kernel="rbf"), "oversampling"),
    (HitClassifier(), "C"),
]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.longdouble(0.5), "longdouble.*expected an int or a float"),
        (Fraction(1, 2), "Fraction.*expected an int or a float"),
        (1e308, "1e.308.* in size|must be a float in the range"),
        (10**200, "an integer of 665 bits|in the range"),
    ],
    ids=["longdouble", "fraction", "huge float", "huge integer"],
)
@pytest.mark.parametrize(
    ("estimator", "name"), NUMBERS, ids=lambda case: str(case).split("(")[0]
)
def test_odd_numbers_as_parameters(estimator, name, value, message, problem):
    model = clone(estimator).set_params(**{name: value})
    with pytest.raises(ValueError, match=f"{name}.*({message})"):
        model.fit(*problem)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KreinSVC(kernel="rbf", lam_pos=5e-324), "lam_pos is 5e-324"),
        (SpectrumSVCCV([1.0, 1e308], kernel="rbf"), r"Cs is 1e\+308"),
        (SpectrumSVCCV([Fraction(1, 2)], kernel="rbf"), "Cs is Fraction"),
        (
            SpectrumSVC(kernel="rbf", kernel_params={"gamma": Fraction(1, 2)}),
            r"kernel_params\['gamma'\] is Fraction",
        ),
    ],
    ids=["small", "grid", "grid of fractions", "kernel"],
)
def test_odd_numbers_inside_parameters(model, message, problem):
    with pytest.raises(ValueError, match=message):
        model.fit(*problem)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8, int])
def test_numbers_of_other_widths_are_taken(kind, problem):
    X, y = problem
    plain = SpectrumSVC(C=2.0, kernel="rbf").fit(X, y)
    model = SpectrumSVC(C=kind(2), kernel="rbf").fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, plain.dual_coef_)


# ------------------------------------------------------------------------------ targets

TEXT = ["a", "b"] * 9 + ["a"]
MISSING_LABELS = {
    "None": [None, *[0, 1] * 9, 1],
    "pandas.NA": [pd.NA, *[0, 1] * 9, 1],
    "NaN": [float("nan"), *[0, 1] * 9, 1],
    "None in text": [None, *TEXT],
    "NaN in text": [float("nan"), *TEXT],
    "Int64": pd.Series([pd.NA, *[0, 1] * 9, 1], dtype="Int64"),
    "string": pd.Series([None, *TEXT], dtype="string"),
    "category": pd.Series(pd.Categorical([None, *TEXT])),
    "polars": pl.Series([None, *TEXT]),
}
USES = {
    "SpectrumSVC": SpectrumSVC().fit,
    "SpectrumSVCCV": SpectrumSVCCV().fit,
    "KreinLogisticRegression": KreinLogisticRegression().fit,
    "HitClassifier": HitClassifier().fit,
    "compare": compare,
    "diagnose": diagnose,
    "split_kernel": split_kernel,
}


@pytest.mark.parametrize("case", MISSING_LABELS)
@pytest.mark.parametrize("use", USES)
def test_missing_labels_are_named(use, case, problem):
    K = rbf_kernel(problem[0])
    with pytest.raises(ValueError, match=r"missing value: y\[0\] is .* Leave out"):
        USES[use](K, MISSING_LABELS[case])


@pytest.mark.parametrize("missing", [None, pd.NA, float("nan")], ids=str)
@pytest.mark.parametrize(
    "model", [SpectrumSVR(), KreinRidge(), CPDRegressor(kernel="rbf")], ids=str
)
def test_missing_targets_are_named(model, missing, problem):
    X, y = problem
    X = X if isinstance(model, CPDRegressor) else rbf_kernel(X)
    with pytest.raises(ValueError, match=r"missing value: y\[3\]"):
        model.fit(X, [0.5, 1.0, 2.0, missing, *y[4:]])


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), None, "a"], ids=str)
@pytest.mark.parametrize(
    "model", [SpectrumSVC(), KreinSVC(), KreinLogisticRegression(), CPDSVC()], ids=str
)
def test_bad_class_weights_are_named(model, weight, problem):
    X, y = problem
    X = X if isinstance(model, CPDSVC) else rbf_kernel(X)
    model = clone(model).set_params(class_weight={0: weight, 1: 1})
    with pytest.raises(ValueError, match=r"class_weight\[0\] is .* finite number of 0"):
        model.fit(X, y)


# ------------------------------------------------------------------------- small, large


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-301, 1e-308, 1e160, 1e307])
@pytest.mark.parametrize(
    "model",
    [
        SpectrumSVC("diffusion"),
        SpectrumSVC(symmetrize=True),
        ProxySVC(),
        SpectrumSVCCV(),
        KreinNystroem(5),
        SpectrumTransformer(),
    ],
    ids=str,
)
def test_sizes_beyond_float64_are_refused_without_warnings(model, scale, problem):
    X, y = problem
    with pytest.raises(ValueError, match=r"X has entries up to .* common factor"):
        model.fit(np.tanh(X @ X.T) * scale, y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-301, 1e160])
def test_sparse_sizes_beyond_float64_are_refused(scale, problem):
    X, y = problem
    K = scipy.sparse.csr_array(np.tanh(X @ X.T) * scale)
    with pytest.raises(ValueError, match=r"X has entries up to .* common factor"):
        SpectrumSVC().fit(K, y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-288, 1e-200])
def test_small_entries_give_models_without_warnings(scale, problem):
    X, y = problem
    K = np.tanh(X @ X.T)
    for model in (SpectrumSVC(), KreinSVC(), SpectrumSVCCV(), KreinNystroem(5)):
        model.fit(K * scale, y)


# --------------------------------------------------------------------------------- hits


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([np.inf, 1.0], r"self_scores\[0\] is inf; expected a finite score"),
        ([1.0, -2.0], r"self_scores\[1\] is -2"),
        ([1.0], r"self_scores must have shape \(2,\).*got \(1,\)"),
    ],
    ids=["infinite", "negative", "too few"],
)
def test_bad_self_scores_are_named(scores, message):
    model = HitSimilarity().fit(HITS)
    with pytest.raises(ValueError, match=message):
        model.transform(HITS[:2], self_scores=scores)


def test_self_scores_that_are_not_known_are_imputed():
    model = HitSimilarity().fit(HITS)
    known = model.transform(HITS[:2], self_scores=[np.nan, 0.0]).toarray()
    np.testing.assert_array_equal(known, model.transform(HITS[:2]).toarray())


@pytest.mark.parametrize(
    ("labels", "no_hit", "message"),
    [
        (["a", "a", "b", "b"], -1, "no_hit_label=-1 must be of the type of the labels"),
        ([1, 1, 2, 2], "no hit", "no_hit_label='no hit' must be of the type"),
        ([1, 1, 2, 2], 0.5, "of the type"),
        ([True, True, False, False], -1, "of the type"),
        ([0, 0, 1, 1], 0, "no_hit_label=0 must .* it is a class of y"),
    ],
    ids=["number, text", "text, integers", "half", "booleans", "class"],
)
def test_label_for_no_hit_is_of_the_type_of_the_others(labels, no_hit, message):
    model = HitClassifier(no_hit_label=no_hit)
    with pytest.raises(ValueError, match=message):
        model.fit(HITS, labels)
    assert not hasattr(model, "estimator_")
    inner = HitClassifier().fit(HITS, labels)
    with pytest.raises(ValueError, match=message):
        model.adopt(inner.similarity_, inner.estimator_, labels)
    assert not hasattr(model, "estimator_")


@pytest.mark.parametrize(
    ("labels", "no_hit"),
    [([1, 1, 2, 2], -1), ([0.5, 0.5, 1, 1], -1), (["a", "a", "b", "b"], "no hit")],
    ids=["integers", "floats", "text"],
)
def test_predictions_keep_the_type_of_the_labels(labels, no_hit):
    nothing = scipy.sparse.csr_array((1, 4))
    new = scipy.sparse.vstack([HITS[:1], nothing]).tocsr()
    if isinstance(labels[0], float):
        labels = np.array([1.0, 1.0, 2.0, 2.0])
    found = HitClassifier(no_hit_label=no_hit).fit(HITS, labels).predict(new)
    assert found.dtype.kind == np.asarray(labels).dtype.kind
    assert found.tolist() == [labels[0], no_hit]


# --------------------------------------------------------------------------- the others


def test_existing_file_of_a_kernel_matrix(tmp_path, problem):
    path = tmp_path / "K.npy"
    kernel_matrix(rbf_kernel, problem[0], out=path)
    with pytest.raises(FileExistsError, match="remove it or choose another") as caught:
        kernel_matrix(rbf_kernel, problem[0], out=path)
    assert "pass overwrite" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "method", "message"),
    [
        (SpectrumSVC(), "predict_proba", r"fit SpectrumSVC\(probability=True\)"),
        (SpectrumSVC(), "predict_set", r"fit SpectrumSVC\(probability=True\)"),
        (CPDSVC(), "predict_proba", "probability=True or loss='logistic'"),
        (HitClassifier(), "predict_proba", r"HitClassifier\(SpectrumSVCCV\(\)\)"),
    ],
    ids=["probabilities", "sets", "cpd", "hits"],
)
def test_probabilities_that_are_not_there_say_how_to_get_them(model, method, message):
    assert not hasattr(model, method)
    with pytest.raises(AttributeError, match=message):
        getattr(model, method)


def test_no_name_is_listed_twice():
    names = dir(krein)
    assert len(names) == len(set(names))
    assert len(krein.__all__) == len(set(krein.__all__))


def test_exact_master_ends_with_its_bounds_at_small_gaps(rng):
    X = rng.standard_normal((20, 3))
    K, y = np.tanh(X @ X.T), X[:, 0] > 0
    model = ProxySVC(
        solver="siqclp", tol=1e-8, max_iter=300, solver_options={"master": "exact"}
    ).fit(K, y)
    exact = ProxySVC(tol=1e-10).fit(K, y)
    distance = abs(float(model.objective_[0] - exact.objective_[0]))
    assert distance <= float(model.duality_gap_[0]) < 1e-5
