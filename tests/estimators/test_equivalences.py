"""Equalities that must hold between methods, scalings, weights and libraries."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM

from krein import (
    KreinSVC,
    PseudoEuclideanEmbedding,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
    SpectrumTransformer,
    rbf_kernel,
    sigmoid_kernel,
    split_kernel,
)

PSD_EQUALS_SVC = [
    SpectrumSVC("clip"),
    SpectrumSVC("flip"),
    SpectrumSVC("shift"),
    SpectrumSVC("none"),
    KreinSVC(),
]


@pytest.fixture
def indefinite(rng):
    """An indefinite similarity of 60 items with noisy labels."""
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(60) > 0, "b", "a")
    return X, sigmoid_kernel(X, gamma=2.0), y


@pytest.mark.parametrize("model", PSD_EQUALS_SVC, ids=str)
def test_psd_in_svc_out(model, rng):
    X = rng.standard_normal((50, 4))
    y = X[:, 0] + 0.3 * rng.standard_normal(50) > 0
    K, new = rbf_kernel(X), rbf_kernel(rng.standard_normal((9, 4)), X)
    svc = SVC(kernel="precomputed", tol=1e-10).fit(K, y)
    np.testing.assert_allclose(
        clone(model).fit(K, y).decision_function(new),
        svc.decision_function(new),
        atol=1e-6,
    )


@pytest.mark.parametrize("model", PSD_EQUALS_SVC, ids=str)
def test_psd_in_one_vs_rest_out_for_more_classes(model):
    X, y = load_iris(return_X_y=True)
    y = load_iris().target_names[y]
    K = rbf_kernel(X)
    svc = OneVsRestClassifier(SVC(kernel="precomputed", tol=1e-10)).fit(K, y)
    ours = clone(model).fit(K, y)
    np.testing.assert_allclose(
        ours.decision_function(K), svc.decision_function(K), atol=1e-6
    )
    np.testing.assert_array_equal(ours.predict(K), svc.predict(K))
    assert ours.dual_coef_.shape == (3, 150)


def test_krein_svm_is_flip_with_mapped_rows(indefinite, rng):
    _, K, y = indefinite
    new = rng.standard_normal((8, 60))
    np.testing.assert_allclose(
        KreinSVC(C=3.0).fit(K, y).decision_function(new),
        SpectrumSVC("flip", C=3.0).fit(K, y).decision_function(new),
        atol=1e-12,
    )


def test_square_is_a_linear_model_on_similarities_as_features(indefinite, rng):
    _, K, y = indefinite
    linear = SVC(kernel="linear", tol=1e-10, C=0.01).fit(K, y)
    ours = SpectrumSVC("square", C=0.01).fit(K, y)
    new = K[:7] + 0.1 * rng.standard_normal((7, 60))
    np.testing.assert_allclose(
        ours.decision_function(new), linear.decision_function(new), atol=1e-5
    )


def test_shift_leaves_new_rows_raw(indefinite):
    _, K, y = indefinite
    model = SpectrumSVC("shift").fit(K, y)
    np.testing.assert_allclose(
        model.dual_coef_[0], np.where(y == "b", 1, -1) * model.alpha_[0]
    )


@pytest.mark.parametrize(
    ("method", "power"), [("clip", 1), ("flip", 1), ("shift", 1), ("square", 2)]
)
def test_scaling_the_kernel_scales_c(method, power, indefinite):
    _, K, y = indefinite
    t = 37.0
    plain = SpectrumSVC(method, C=0.5).fit(K, y)
    scaled = SpectrumSVC(method, C=0.5 / t**power).fit(t * K, y)
    np.testing.assert_allclose(
        scaled.decision_function(t * K), plain.decision_function(K), atol=1e-7
    )


@pytest.mark.parametrize("model", [SpectrumSVC("clip"), KreinSVC()], ids=str)
def test_permuting_samples_permutes_coefficients(model, indefinite, rng):
    _, K, y = indefinite
    order = rng.permutation(60)
    plain = clone(model).fit(K, y)
    permuted = clone(model).fit(K[np.ix_(order, order)], y[order])
    np.testing.assert_allclose(
        permuted.dual_coef_[0], plain.dual_coef_[0, order], atol=1e-8
    )


@pytest.mark.parametrize(
    "model",
    [
        SpectrumSVC("clip"),
        SpectrumSVC("flip"),
        SpectrumSVC("shift"),
        SpectrumSVC("square"),
        SpectrumSVC("diffusion"),
        KreinSVC(lam_neg=2.0),
        SpectrumSVR("flip"),
        SpectrumOneClassSVM("flip", nu=0.3),
    ],
    ids=str,
)
def test_integer_weights_equal_repetition_and_zero_is_removal(model, indefinite, rng):
    X, K, y = indefinite
    weight = rng.integers(0, 4, 60)
    items = np.repeat(np.arange(60), weight)
    target = X[:, 0] if isinstance(model, SpectrumSVR) else y
    weighted = clone(model).fit(K, target, sample_weight=weight)
    copies = clone(model).fit(K[np.ix_(items, items)], target[items])
    predict = "predict" if isinstance(model, SpectrumSVR) else "decision_function"
    np.testing.assert_allclose(
        getattr(weighted, predict)(K), getattr(copies, predict)(K[:, items]), atol=1e-6
    )
    assert not weighted.dual_coef_[:, weight == 0].any()


@pytest.mark.parametrize("kernel", ["tl1", "sigmoid", "polynomial", "edit"])
def test_weights_equal_repetition_where_the_kernel_sets_its_scale(kernel, rng):
    """Copies of an item count once in the scale, items of weight zero not at all."""
    items = rng.standard_normal((40, 5))
    y, weight = (items[:, 0] > 0).astype(int), rng.integers(0, 4, 40)
    if kernel == "edit":
        items = np.array([f"{i:b}" * (1 + i % 3) for i in range(40)])
    weighted = KreinSVC(kernel=kernel).fit(items, y, sample_weight=weight)
    again = np.repeat(np.arange(40), weight)
    copies = KreinSVC(kernel=kernel).fit(items[again], y[again])
    assert weighted.kernel_ == copies.kernel_
    np.testing.assert_allclose(
        weighted.decision_function(items), copies.decision_function(items), atol=1e-9
    )


def test_class_weight_is_a_sample_weight_by_class(indefinite):
    _, K, y = indefinite
    by_class = SpectrumSVC("flip", class_weight={"a": 3.0}).fit(K, y)
    by_sample = SpectrumSVC("flip").fit(
        K, y, sample_weight=np.where(y == "a", 3.0, 1.0)
    )
    np.testing.assert_allclose(by_class.dual_coef_, by_sample.dual_coef_, atol=1e-9)


def test_regression_and_one_class_agree_with_scikit_learn_on_psd(rng):
    X = rng.standard_normal((40, 2))
    K, t = rbf_kernel(X), np.sin(X[:, 0])
    ours = SpectrumSVR("clip", C=2.0, epsilon=0.05).fit(K, t).predict(K)
    theirs = SVR(kernel="precomputed", C=2.0, epsilon=0.05, tol=1e-9).fit(K, t)
    np.testing.assert_allclose(ours, theirs.predict(K), atol=1e-6)
    ours = SpectrumOneClassSVM("clip", nu=0.2).fit(K)
    theirs = OneClassSVM(kernel="precomputed", nu=0.2, tol=1e-9).fit(K)
    np.testing.assert_allclose(
        ours.decision_function(K), theirs.decision_function(K), atol=1e-6
    )


def test_transformer_before_svc_is_the_estimator(indefinite):
    _, K, y = indefinite
    K_train, K_test, y_train, _ = split_kernel(K, y, random_state=0)
    pipeline = make_pipeline(
        SpectrumTransformer("flip"), SVC(kernel="precomputed", tol=1e-10)
    )
    np.testing.assert_allclose(
        pipeline.fit(K_train, y_train).decision_function(K_test),
        SpectrumSVC("flip").fit(K_train, y_train).decision_function(K_test),
        atol=1e-6,
    )


def test_cross_validation_slices_rows_and_columns(indefinite):
    X, K, y = indefinite
    for model in (SpectrumSVC("clip"), KreinSVC(), SpectrumSVC("clip", C=10.0)):
        by_matrix = cross_val_score(model, K, y, cv=5)
        by_vectors = cross_val_score(
            clone(model).set_params(kernel="sigmoid", kernel_params={"gamma": 2.0}),
            X, y, cv=5,
        )  # fmt: skip
        np.testing.assert_array_equal(by_matrix, by_vectors)


def test_grid_search_on_matrix_and_pipeline(indefinite):
    _, K, y = indefinite
    grid = GridSearchCV(
        SpectrumSVC(), {"method": ["clip", "flip", "square"], "C": [0.1, 1.0]}, cv=3
    ).fit(K, y)
    assert grid.best_estimator_.dual_coef_.shape == (1, 60)
    pipeline = make_pipeline(PseudoEuclideanEmbedding(5), LinearSVC())
    searched = GridSearchCV(
        pipeline, {"pseudoeuclideanembedding__n_components": [2, 5]}, cv=3
    ).fit(K, y)
    assert searched.score(K, y) > 0.7


def test_embedding_gives_the_similarity_back(indefinite):
    _, K, _ = indefinite
    embedding = PseudoEuclideanEmbedding()
    F = embedding.fit_transform(K)
    np.testing.assert_allclose((F * embedding.signature_) @ F.T, K, atol=1e-9)
    assert set(embedding.signature_) == {-1, 1}
    few = PseudoEuclideanEmbedding(3).fit(K)
    np.testing.assert_allclose(few.transform(K), F[:, :3], atol=1e-9)


def test_sparse_krein_svm_predicts_from_its_support_only(indefinite, rng):
    _, K, y = indefinite
    dense = KreinSVC(C=5.0).fit(K, y)
    sparse = dense.sparsify(K, tolerance=0.1)
    assert sparse.support_.size < dense.support_.size
    assert np.mean(sparse.predict(K) == dense.predict(K)) >= 0.85
    changed = K.copy()
    changed[:, np.setdiff1d(np.arange(60), sparse.support_)] = 99.0
    np.testing.assert_array_equal(sparse.predict(changed), sparse.predict(K))


def test_regularising_the_negative_part_away_is_clip(indefinite):
    _, K, y = indefinite
    np.testing.assert_allclose(
        KreinSVC(lam_neg=1e9).fit(K, y).decision_function(K),
        SpectrumSVC("clip").fit(K, y).decision_function(K),
        atol=1e-5,
    )


def test_probabilities_are_calibrated_out_of_fold(indefinite):
    X, K, y = indefinite
    model = SpectrumSVC("clip", C=100.0, probability=True, random_state=0).fit(K, y)
    p = model.predict_proba(K)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    order = np.argsort(model.decision_function(K))
    assert np.all(np.diff(p[order, 1]) >= 0)
    # In-sample scores are overconfident; out-of-fold ones must not be.
    assert p.max() < 0.999
    by_vectors = SpectrumSVC(
        "clip", C=100.0, probability=True, random_state=0, kernel="sigmoid",
        kernel_params={"gamma": 2.0},
    ).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(by_vectors.predict_proba(X), p, atol=1e-8)
    assert not hasattr(SpectrumSVC(), "predict_proba")


def test_probabilities_of_three_classes():
    X, y = load_iris(return_X_y=True)
    model = KreinSVC(probability=True, random_state=0).fit(rbf_kernel(X), y)
    p = model.predict_proba(rbf_kernel(X))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.mean(p.argmax(axis=1) == y) > 0.93


def test_the_map_for_new_points_decides_on_protein(shared_data):
    """Chen et al. (2009): 39 % error with raw test rows, a few % with mapped rows."""
    data = shared_data("sim_protein")
    K_train, K_test, y_train, y_test = split_kernel(
        data["X"], data["y"], test_size=0.2, random_state=0
    )
    mapped = SpectrumSVC("flip", C=10.0).fit(K_train, y_train)
    flipped = SpectrumTransformer("flip").fit_transform(K_train)
    raw_rows = SVC(kernel="precomputed", C=10.0).fit(flipped, y_train)
    assert mapped.score(K_test, y_test) >= 0.93
    assert raw_rows.score(K_test, y_test) <= 0.85
