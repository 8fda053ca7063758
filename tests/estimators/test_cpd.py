"""CPDSVC, its path and cross-validation, CPDRegressor."""

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator
from scipy.stats import ortho_group
from sklearn.datasets import make_moons
from sklearn.svm import SVC, LinearSVC

from krein import CPDRegressor, CPDSVC, Kernel, thin_plate_kernel
from krein.kernels import rbf_kernel


@pytest.fixture(scope="module")
def moons():
    return make_moons(150, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def three_classes():
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    y = rng.integers(0, 3, 120)
    return centres[y] + 0.7 * rng.standard_normal((120, 2)), np.array(list("abc"))[y]


NEW = np.random.default_rng(5).uniform(-2, 2, (40, 2))


@pytest.mark.parametrize("polynomial", ["free", "zero"])
@pytest.mark.parametrize("exponent", [1, 3])
def test_three_invariances(moons, exponent, polynomial):
    X, y = moons
    options = dict(exponent=exponent, polynomial=polynomial, scale=False)
    alpha = 0.05
    wanted = CPDSVC(alpha, **options).fit(X, y).decision_function(NEW)
    rotation = ortho_group.rvs(2, random_state=0)
    shift = np.array([30.0, -7.0])
    size = 4.3
    rotated = CPDSVC(alpha, **options).fit(X @ rotation, y)
    moved = CPDSVC(alpha, **options).fit(X + shift, y)
    grown = CPDSVC(alpha * size**exponent, **options).fit(size * X, y)
    scale = np.abs(wanted).max()
    for model, points in [
        (rotated, NEW @ rotation),
        (moved, NEW + shift),
        (grown, size * NEW),
    ]:
        found = model.decision_function(points)
        assert np.abs(found - wanted).max() <= 1e-10 * scale


@pytest.mark.parametrize("exponent", [1, 2, 3])
def test_dilation_leaves_free_and_scaled_models_alone(moons, exponent):
    X, y = moons
    wanted = CPDSVC(0.05, exponent=exponent).fit(X, y).decision_function(NEW)
    grown = CPDSVC(0.05, exponent=exponent).fit(7 * X, y).decision_function(7 * NEW)
    assert np.abs(grown - wanted).max() <= 1e-10 * np.abs(wanted).max()


def test_log_kernel_without_polynomials_is_not_dilation_scaled(moons):
    X, y = moons
    options = dict(exponent=2, polynomial="zero", scale=False)
    one = CPDSVC(0.05, **options).fit(X, y)
    grown = CPDSVC(0.05 * 16, **options).fit(4 * X, y)
    assert abs(grown.objective_[0] / one.objective_[0] - 1) > 1e-6


def test_order_one_equals_libsvm_on_shifted_kernel(moons):
    """The squared hinge is an SVM on K + alpha I with C unbounded (P = constants)."""
    X, y = moons
    alpha = 0.3
    ours = CPDSVC(alpha, exponent=1, scale=False).fit(X, y)
    K = thin_plate_kernel(X, exponent=1)
    svc = SVC(kernel="precomputed", C=1e8, tol=1e-10)
    svc.fit(K + alpha * np.eye(len(y)), y)
    coef = np.zeros(len(y))
    coef[svc.support_] = svc.dual_coef_[0]
    # LIBSVM keeps the kernel in single precision.
    np.testing.assert_allclose(ours.dual_coef_[0], coef, atol=1e-5)


def test_rbf_is_order_zero(moons):
    """Without polynomials: the squared-hinge SVM on features, from LIBLINEAR."""
    X, y = moons
    alpha = 0.5
    ours = CPDSVC(alpha, kernel="rbf", scale=False).fit(X, y)
    K = rbf_kernel(X)
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-10
    F = vectors[:, keep] * np.sqrt(values[keep])
    linear = LinearSVC(
        C=1 / (2 * alpha), loss="squared_hinge", fit_intercept=False, tol=1e-10,
        max_iter=1_000_000, dual=False,
    ).fit(F, y)
    np.testing.assert_allclose(
        ours.decision_function(X), linear.decision_function(F), atol=1e-4
    )
    assert ours.poly_coef_.shape == (1, 0)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
@pytest.mark.parametrize("polynomial", ["free", "zero"])
def test_weights_equal_repetition(three_classes, polynomial, loss):
    X, y = three_classes
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    model = CPDSVC(0.1, polynomial=polynomial, loss=loss)
    weighted = model.fit(X, y, sample_weight=weight).decision_function(NEW)
    repeated = model.fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    np.testing.assert_allclose(
        repeated.decision_function(NEW), weighted, rtol=0, atol=2e-7
    )


def test_precomputed_with_polynomials_equals_vectors(three_classes):
    X, y = three_classes
    P, P_new = np.c_[np.ones(len(X)), X], np.c_[np.ones(len(NEW)), NEW]
    for polynomial in ("free", "zero"):
        wanted = CPDSVC(0.2, polynomial=polynomial, scale=False).fit(X, y)
        given = CPDSVC(0.2, kernel="precomputed", polynomial=polynomial)
        given.fit(thin_plate_kernel(X), y, P=P)
        rows = thin_plate_kernel(NEW, X)
        np.testing.assert_allclose(
            given.decision_function(rows, P_new),
            wanted.decision_function(NEW),
            atol=1e-8,
        )
        assert np.array_equal(given.predict(rows, P=P_new), wanted.predict(NEW))


@pytest.mark.parametrize(
    ("exponent", "name"),
    [(1, "linear"), (2, "thin_plate_spline"), (3, "cubic"), (5, "quintic")],
)
def test_regressor_is_scipy_smoothing_spline(rng, exponent, name):
    X, y = rng.standard_normal((60, 2)), rng.standard_normal(60)
    ours = CPDRegressor(0.3, exponent=exponent, scale=False).fit(X, y)
    scipys = RBFInterpolator(X, y, kernel=name, smoothing=0.3)
    np.testing.assert_allclose(ours.predict(NEW), scipys(NEW), rtol=1e-8, atol=1e-8)


def test_decision_is_kernel_plus_polynomial(three_classes):
    X, y = three_classes
    model = CPDSVC(0.1).fit(X, y)
    by_hand = (
        model.kernel_(NEW, X) @ model.dual_coef_.T
        + model.kernel_.polynomials(NEW) @ model.poly_coef_.T
    )
    np.testing.assert_allclose(model.decision_function(NEW), by_hand, atol=1e-12)
    assert np.abs(model.dual_coef_ @ model.kernel_.polynomials(X)).max() < 1e-9


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (dict(alpha=0.0), "alpha"),
        (dict(alpha=-1.0), "alpha"),
        (dict(degree=0), "degree=0 is too small"),
        (dict(kernel=Kernel("thin_plate", exponent=5), degree=1), "degree=1 is too"),
        (dict(loss="hinge"), "loss"),
    ],
)
def test_bad_parameters_are_named(moons, params, message):
    with pytest.raises(ValueError, match=message):
        CPDSVC(**params).fit(*moons)


def test_too_many_polynomials_name_the_remedy(rng):
    X = rng.standard_normal((10, 20))
    for polynomial in ("free", "zero"):
        with pytest.raises(ValueError, match="exponent=1"):
            CPDSVC(polynomial=polynomial).fit(X, np.arange(10) % 2)
    CPDSVC(exponent=1).fit(X, np.arange(10) % 2)


def test_wrong_sign_is_an_error(moons):
    X, y = moons
    with pytest.raises(ValueError, match="not conditionally positive definite"):
        CPDSVC(1e-3, kernel="precomputed").fit(-thin_plate_kernel(X, exponent=1), y)


def test_one_sample_and_nan():
    with pytest.raises(ValueError, match="2 samples"):
        CPDSVC().fit([[1.0, 2.0]], [0])
    with pytest.raises(ValueError, match="NaN"):
        CPDSVC().fit([[1.0], [np.nan], [2.0]], [0, 1, 0])
