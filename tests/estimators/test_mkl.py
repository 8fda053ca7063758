"""MKLSVC: finds the kernel that matters, weights, classes, bad input."""

from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from krein import (
    MKLSVC,
    Kernel,
    SpectrumTransformer,
    check_certificate,
    load_model,
    save_model,
)
from krein.machines.mkl import check_psd

N = 50


@pytest.fixture
def views(rng):
    """Three linear kernels, the first of which knows the labels."""
    X = rng.standard_normal((N + 20, 3))
    y = np.where(X[:, 0] > 0, "up", "down")
    kernels = [np.outer(X[:, k], X[:, k]) for k in range(3)]
    train = [K[:N, :N] for K in kernels]
    new = [K[N:, :N] for K in kernels]
    return train, y[:N], new, y[N:]


def test_finds_the_kernel_that_matters(views):
    train, y, new, y_new = views
    model = MKLSVC(C=5.0).fit(train, y)
    assert model.weights_.shape == (1, 3)
    assert model.weights_[0, 0] > 0.9
    assert model.weights_.sum() == pytest.approx(1.0)
    assert model.score(new, y_new) > 0.9
    assert 0 <= model.duality_gap_[0] <= 1e-5 * model.objective_[0]


def test_one_kernel_is_an_svm(views):
    train, y, new, _ = views
    K, K_new = train[0] + train[1], new[0] + new[1]
    model = MKLSVC(C=0.5).fit([K], y)
    svc = SVC(C=0.5, kernel="precomputed", tol=1e-9).fit(K, y)
    np.testing.assert_allclose(
        model.decision_function([K_new]), svc.decision_function(K_new), atol=1e-6
    )


def test_stack_and_list_are_the_same(views):
    train, y, new, _ = views
    by_list = MKLSVC().fit(train, y)
    by_stack = MKLSVC().fit(np.stack(train, axis=2), y)
    np.testing.assert_array_equal(by_list.weights_, by_stack.weights_)
    np.testing.assert_array_equal(
        by_list.predict(new), by_stack.predict(np.stack(new, axis=2))
    )


def test_a_dear_target_decides(views):
    train, y, _, _ = views
    for target in (2, train[2]):
        model = MKLSVC(rho=1e6, target=target).fit(train, y)
        assert model.weights_[0, 2] == pytest.approx(1.0)


def test_sample_weights_equal_repetition(views, rng):
    train, y, new, _ = views
    weight = rng.integers(0, 3, N)
    index = np.repeat(np.arange(N), weight)
    model = MKLSVC(C=2.0, rho=1e-4, target=1, tol=1e-8)
    weighted = clone(model).fit(train, y, sample_weight=weight)
    repeated = clone(model).fit([K[np.ix_(index, index)] for K in train], y[index])
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, atol=1e-4)
    np.testing.assert_allclose(
        weighted.decision_function(new),
        repeated.decision_function([K[:, index] for K in new]),
        atol=1e-2,
    )


def test_three_classes(rng):
    X = rng.standard_normal((N, 3))
    model = MKLSVC(kernels=["rbf", Kernel("laplacian", gamma=0.5)])
    model.fit(X, np.argmax(X, axis=1))
    assert model.weights_.shape == (3, 2)
    assert model.decision_function(X).shape == (N, 3)
    assert model.score(X, np.argmax(X, axis=1)) > 0.8


def test_folds_cut_all_kernels_and_the_target(views):
    train, y, new, y_new = views
    stack, new = np.stack(train, axis=2), np.stack(new, axis=2)
    assert cross_val_score(MKLSVC(C=5.0), stack, y, cv=3).mean() > 0.85
    model = MKLSVC(C=5.0, rho=1e-3, target=train[0], probability=True).fit(stack, y)
    proba = model.predict_proba(new)
    assert proba.shape == (20, 2)
    assert np.mean(model.classes_[proba.argmax(axis=1)] == y_new) > 0.85
    again = clone(model).fit(stack, y).predict_proba(new)
    np.testing.assert_array_equal(again, proba)


@pytest.fixture
def indefinite(rng):
    """Two similarities, each of half of what matters, with negative eigenvalues."""
    X = rng.standard_normal((70, 2))
    y = (X.sum(axis=1) > 0).astype(int)
    return [np.tanh(2 * np.outer(x, x) - 0.5) for x in X.T], y


@pytest.mark.parametrize("fix", ["clip", "flip", "square"])
def test_a_fix_first_is_the_fit_on_fixed_kernels(fix, indefinite):
    parts, y = indefinite
    known = [K[:50, :50] for K in parts]
    new = [K[50:, :50] for K in parts]
    model = MKLSVC(C=2.0, fix=fix).fit(known, y[:50])
    transformers = [SpectrumTransformer(fix).fit(K) for K in known]
    fixed = [t.fit_transform(K) for t, K in zip(transformers, known, strict=True)]
    rows = [t.transform(K) for t, K in zip(transformers, new, strict=True)]
    alone = MKLSVC(C=2.0).fit(fixed, y[:50])
    np.testing.assert_allclose(model.weights_, alone.weights_, atol=1e-3)
    np.testing.assert_allclose(
        model.decision_function(new), alone.decision_function(rows), atol=1e-2
    )
    report = check_certificate(model, known, y[:50])
    assert report.holds, report.text
    model.dual_coef_[0, 0] += 0.5
    assert not check_certificate(model, known, y[:50]).holds


def test_fixed_kernels_with_weights_folds_and_files(indefinite, tmp_path):
    parts, y = indefinite
    stack = np.stack(parts, axis=2)
    assert cross_val_score(MKLSVC(C=2.0, fix="clip"), stack, y, cv=3).mean() > 0.7
    weight = np.ones(70)
    weight[[2, 30]] = 0.0
    left = np.flatnonzero(weight)
    model = MKLSVC(C=2.0, fix="clip", probability=True).fit(stack, y, weight)
    without = MKLSVC(C=2.0, fix="clip").fit(stack[np.ix_(left, left)], y[left])
    np.testing.assert_allclose(
        model.decision_function(stack),
        without.decision_function(stack[:, left]),
        atol=1e-6,
    )
    save_model(model, tmp_path / "model.krein")
    loaded = load_model(tmp_path / "model.krein")
    np.testing.assert_array_equal(
        loaded.predict_proba(stack), model.predict_proba(stack)
    )
    with pytest.raises(ValueError, match="fix='clip' of MKLSVC"):
        MKLSVC().fit(stack, y)


class TestErrors:
    def test_indefinite_kernel(self, views):
        train, y, _, _ = views
        with pytest.raises(ValueError, match="kernel 1 is not positive semidefinite"):
            MKLSVC().fit([train[0], -train[1]], y)

    @pytest.mark.parametrize(
        ("smallest", "refused"), [(-0.9e-8, False), (-1.1e-8, True)]
    )
    def test_a_kernel_is_indefinite_beyond_rounding(self, smallest, refused):
        K = np.diag([1.0, 0.5, smallest])
        expected = pytest.raises(ValueError) if refused else nullcontext()
        with expected:
            check_psd(K, "the kernel")

    def test_vectors_without_kernels(self, views):
        with pytest.raises(ValueError, match=r"give kernels=\[...\]"):
            MKLSVC().fit(views[0][0], views[1])

    def test_different_shapes(self, views):
        train, y, _, _ = views
        with pytest.raises(ValueError, match="matrices of one shape"):
            MKLSVC().fit([train[0], train[1][:5, :5]], y)

    def test_new_rows_of_the_wrong_shape(self, views):
        train, y, new, _ = views
        with pytest.raises(ValueError, match="X must have shape"):
            MKLSVC().fit(train, y).predict(new[:2])

    def test_target_out_of_range(self, views):
        with pytest.raises(ValueError, match="target must be the index"):
            MKLSVC(target=5).fit(views[0], views[1])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([MKLSVC(kernels=["rbf"])])
def test_scikit_learn_check(estimator, check):
    check(estimator)
