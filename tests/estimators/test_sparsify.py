"""A sparse expansion of a model: what it needs, what it changes, what it claims."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from krein import (
    CPDSVC,
    DCSVC,
    MKLSVC,
    CPDRegressor,
    KreinLogisticRegression,
    KreinNystroem,
    KreinRidge,
    KreinSVC,
    ProxySVC,
    SimilarityNeighborsClassifier,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVCCV,
    SpectrumSVR,
    check_certificate,
    load_model,
    save_model,
    sigmoid_kernel,
)
from krein.estimators._sparse import as_new_items, sparse_expansion

MODELS = [
    DCSVC(),
    KreinLogisticRegression(),
    KreinRidge(),
    CPDRegressor(),
    CPDSVC(),
    KreinSVC(),
    ProxySVC(),
    SpectrumOneClassSVM(),
    SpectrumSVC("clip"),
    SpectrumSVC("flip", multi_class="ovo"),
    SpectrumSVCCV([1.0, 10.0], fixes=["clip", "flip"], cv=2),
    SpectrumSVR("clip"),
]


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3))
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1] ** 2, [-0.4, 0.6])
    return X, y


def new_rows(K, support):
    """Training rows as if the items were new, one entry at a time."""
    rows = K.copy()
    for i in support:
        rows[i, i] = max(K[i, j] for j in support if j != i)
    return rows


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("tolerance", [0.3, 0.01])
def test_the_stated_error_is_the_largest_change(model, tolerance, vectors):
    X, y = vectors
    dense = clone(model).set_params(kernel="rbf").fit(X, y)
    sparse = dense.sparsify(tolerance=tolerance)
    K = dense._similarities(X)
    full = np.zeros((len(X), len(X)))
    full[:, dense.support_] = K
    rows = new_rows(full, dense.support_)
    change = rows @ (sparse.dual_coef_ - dense.dual_coef_).T
    change += sparse.intercept_ - dense.intercept_
    assert sparse.sparse_error_ <= tolerance
    assert np.abs(change).max() == pytest.approx(sparse.sparse_error_, abs=1e-9)
    assert sparse.support_.size <= dense.support_.size
    assert set(sparse.support_) <= set(dense.support_)
    np.testing.assert_array_equal(sparse.dense_coef_, dense.dual_coef_)
    assert not hasattr(dense, "sparse_error_")


def test_prediction_needs_the_prototypes_only(vectors):
    X, y = vectors
    K = sigmoid_kernel(X)
    sparse = SpectrumSVC("flip").fit(K, y).sparsify(K, tolerance=0.3)
    others = np.setdiff1d(np.arange(len(y)), sparse.support_)
    assert others.size
    changed = K.copy()
    changed[:, others] = 99.0
    np.testing.assert_array_equal(sparse.predict(changed), sparse.predict(K))


def test_a_tolerance_that_needs_all_items_changes_nothing(vectors):
    X, y = vectors
    dense = SpectrumSVC("clip", kernel="rbf").fit(X, y)
    for same in (dense.sparsify(tolerance=1e-300), dense.sparsify(n_prototypes=10**6)):
        np.testing.assert_array_equal(same.dual_coef_, dense.dual_coef_)
        assert same.sparse_error_ == 0.0


def test_again_and_again_starts_from_the_fit(vectors):
    X, y = vectors
    dense = SpectrumSVC("clip", kernel="rbf").fit(X, y)
    once = dense.sparsify(tolerance=0.05)
    twice = dense.sparsify(n_prototypes=3).sparsify(tolerance=0.05)
    np.testing.assert_array_equal(twice.dual_coef_, once.dual_coef_)
    refitted = dense.sparsify(n_prototypes=3).fit(X, y)
    np.testing.assert_array_equal(refitted.dual_coef_, dense.dual_coef_)
    assert not hasattr(refitted, "dense_coef_")


def test_the_certificate_is_not_that_of_the_model_before(vectors):
    X, y = vectors
    K = sigmoid_kernel(X)
    weight = np.r_[np.zeros(5), np.ones(85)]
    sparse = KreinSVC(C=5.0).fit(K, y, weight).sparsify(K, tolerance=0.1)
    report = check_certificate(sparse, K, y, weight)
    assert report.holds
    assert report.kind == "none"
    assert report.recomputed[0] == pytest.approx(report.claimed[0], rel=1e-9)
    assert report.claimed[0] <= 0.1
    assert "certificate is that of the model before" in report.text
    sparse.sparse_error_ /= 2
    assert check_certificate(sparse, K, y, weight).holds is False
    sparse.sparse_error_ *= 2
    sparse.dense_coef_ = sparse.dense_coef_ * 1.01
    assert check_certificate(sparse, K, y, weight).holds is False


def test_model_files_keep_it(vectors, tmp_path):
    X, y = vectors
    sparse = SpectrumSVC("clip", kernel="rbf").fit(X, y).sparsify(tolerance=0.1)
    save_model(sparse, tmp_path / "model.krein")
    loaded = load_model(tmp_path / "model.krein")
    np.testing.assert_array_equal(
        loaded.decision_function(X), sparse.decision_function(X)
    )
    assert loaded.sparse_error_ == sparse.sparse_error_
    assert check_certificate(loaded, X, y).kind == "none"


def test_bad_requests_are_named(vectors):
    X, y = vectors
    K = sigmoid_kernel(X)
    model = SpectrumSVC().fit(K, y)
    for arguments, message in (
        ({}, "one of them"),
        ({"tolerance": 0.1, "n_prototypes": 3}, "one of them"),
        ({"tolerance": -1.0}, "a positive number"),
        ({"tolerance": np.nan}, "got tolerance=nan"),
        ({"n_prototypes": 0}, "got .* n_prototypes=0"),
        ({"n_prototypes": 2.5}, "a positive integer"),
        ({"tolerance": 0.1}, "pass the training similarities"),
        ({"X": K[:5], "tolerance": 0.1}, "has 5 items, the model was fitted on 90"),
    ):
        with pytest.raises(ValueError, match=message):
            model.sparsify(**arguments)


def test_an_unfitted_model_has_nothing_to_make_sparse():
    assert not hasattr(KreinSVC(), "sparsify")
    with pytest.raises(AttributeError, match="sparsify"):
        KreinSVC().sparsify(tolerance=0.1)


def test_models_without_an_expansion_say_so(vectors):
    X, y = vectors
    K = sigmoid_kernel(X)
    for model, data, message in (
        (ProxySVC(new_points="luss"), K, "not linear in the rows"),
        (MKLSVC(), np.stack([K @ K, X @ X.T], axis=2), "several kernels"),
        (SpectrumSVC(approximation=KreinNystroem(20)), K, "lower n_components"),
        (SimilarityNeighborsClassifier(3), K, "neighbours vote"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(data, y > 0).sparsify(data, tolerance=0.1)


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-200, 1e-8, 1.0, 1e100]),
    height=st.sampled_from([1e-100, 1.0, 1e100]),
)
def test_expansions_at_every_scale(seed, scale, height):
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((12, 8)) * scale
    outputs = (columns / scale) @ rng.standard_normal((8, 2)) * height
    tolerance = 0.5 * height
    chosen, coef, b = sparse_expansion(columns, outputs, tolerance, 8)
    reached = columns[:, chosen] @ coef.T + b
    assert np.abs(reached - outputs).max() <= tolerance
    few, _, _ = sparse_expansion(columns, outputs, 0.0, 3)
    assert few.size == 3


def left_by(columns, outputs, chosen):
    design = np.column_stack([np.ones(len(columns)), columns[:, chosen]])
    fitted = design @ np.linalg.lstsq(design, outputs, rcond=None)[0]
    return np.sum((outputs - fitted) ** 2)


@pytest.mark.parametrize("seed", range(5))
def test_each_prototype_is_the_one_that_leaves_least(seed):
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((30, 5)) @ rng.standard_normal((5, 12))
    columns += 0.1 * rng.standard_normal(columns.shape)
    outputs = columns @ rng.standard_normal((12, 2)) + 3.0
    chosen: list[int] = []
    for most in range(1, 9):
        found, coef, b = sparse_expansion(columns, outputs, 0.0, most)
        others = [j for j in range(12) if j not in chosen]
        chosen.append(
            min(others, key=lambda j: left_by(columns, outputs, [*chosen, j]))
        )
        np.testing.assert_array_equal(found, sorted(chosen))
        left = np.sum((columns[:, found] @ coef.T + b - outputs) ** 2)
        assert left == pytest.approx(left_by(columns, outputs, chosen))


def test_columns_that_add_only_rounding_are_not_chosen():
    rng = np.random.default_rng(0)
    three = rng.standard_normal((20, 3))
    columns = three @ rng.standard_normal((3, 9))
    outputs = columns @ rng.standard_normal((9, 1))
    chosen, coef, b = sparse_expansion(columns, outputs, 0.0, 9)
    assert chosen.size == 3
    assert np.abs(columns[:, chosen] @ coef.T + b - outputs).max() < 1e-10


def test_as_new_items_leaves_what_it_is_given():
    K = np.array([[5.0, 1.0, 2.0], [1.0, 6.0, 3.0], [2.0, 3.0, 7.0]])
    kept = K.copy()
    seen = as_new_items(K[:, [0, 2]], np.array([0, 2]))
    np.testing.assert_array_equal(seen, [[2.0, 2.0], [1.0, 3.0], [2.0, 2.0]])
    np.testing.assert_array_equal(K, kept)
    copies = np.array([0, 0, 2])
    seen = as_new_items(K[np.ix_(copies, copies)], np.arange(3))
    np.testing.assert_array_equal(seen, [[2.0] * 3, [2.0] * 3, [2.0] * 3])
    alone = np.full((2, 2), 4.0)
    np.testing.assert_array_equal(as_new_items(alone, np.arange(2)), alone)
