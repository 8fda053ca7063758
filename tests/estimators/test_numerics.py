"""Fits that were wrong without a word: budgets, scales, bounds, weights."""

import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVR

from krein import (
    CPDSVC,
    DCSVC,
    KreinRidge,
    KreinSVC,
    ProxySVC,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
    rbf_kernel,
)


@pytest.fixture
def badly_scaled():
    """A linear kernel whose entries are large beside 1 / C."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    t = X[:, 0] + 0.5 * rng.standard_normal(60)
    return 100 * X @ X.T, t


def test_regression_is_as_good_as_scikit_learns(badly_scaled):
    K, t = badly_scaled
    model = SpectrumSVR(C=10).fit(K, t)
    with pytest.warns(ConvergenceWarning, match="max_iter=1000000"):
        other = SVR(kernel="precomputed", C=10, max_iter=10**6).fit(K, t)
    assert model.score(K, t) >= other.score(K, t) - 1e-3
    assert model.result_.certificate.kind == "gap"
    assert model.result_.certificate.relative <= 1e-6


def test_classification_reaches_the_optimum(badly_scaled):
    K, t = badly_scaled
    model = SpectrumSVC("clip", C=100).fit(K, t > 0)
    assert model.objective_[0] == pytest.approx(1566.078, abs=0.01)
    assert model.duality_gap_[0] <= 1e-6 * model.objective_[0]


def test_raw_linear_kernel_of_real_measurements():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:300], y[:300]
    model = SpectrumSVC().fit(X @ X.T, y)
    assert model.score(X @ X.T, y) >= 0.96
    assert model.result_.status == "converged"


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e-8, 1e-100, 1e100])
def test_outliers_do_not_depend_on_the_unit_of_the_kernel(scale, rng):
    X = rng.standard_normal((60, 2))
    K = rbf_kernel(X, gamma=0.5)
    expected = SpectrumOneClassSVM(nu=0.3).fit(K).predict(K)
    assert 0 < np.sum(expected == -1) <= 18
    found = SpectrumOneClassSVM(nu=0.3).fit(scale * K).predict(scale * K)
    np.testing.assert_array_equal(found, expected)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_one_class_with_nu_one(seed):
    """Every coefficient is at its bound; the best item is on the boundary."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    K = rbf_kernel(rng.standard_normal((n, 2)), gamma=1.0)
    weight = rng.uniform(0, 1, n)
    model = SpectrumOneClassSVM(nu=1.0).fit(K, sample_weight=weight)
    np.testing.assert_allclose(model.dual_coef_[0], weight, rtol=1e-8, atol=1e-12)
    scores = model.decision_function(K)
    assert abs(scores.max()) <= 1e-6 * abs(model.offset_)
    assert model.result_.status == "converged"


@pytest.mark.parametrize(
    "model",
    [
        SpectrumSVC(max_iter=1, C=10),
        KreinSVC(max_iter=1, C=10),
        SpectrumSVR(max_iter=1, C=10),
        SpectrumOneClassSVM(max_iter=1, nu=0.3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_spent_budget_warns(model, badly_scaled):
    K, t = badly_scaled
    y = t if isinstance(model, SpectrumSVR) else t > 0
    with pytest.warns(ConvergenceWarning, match="did not reach tol"):
        model.fit(K, y)
    assert model.result_.status == "max_iter"
    assert model.result_.certificate.relative > model.tol


def test_integer_weights_are_repetition_when_all_variables_are_at_bounds():
    K = np.array([[0.0, -1, 4], [-1, -4, 1], [4, 1, -2]])
    y, w = np.array([1, 0, 0]), np.array([3, 1, 2])
    copies = np.repeat(np.arange(3), w)
    weighted = SpectrumSVC("flip", C=0.01).fit(K, y, sample_weight=w)
    repeated = SpectrumSVC("flip", C=0.01).fit(K[np.ix_(copies, copies)], y[copies])
    assert weighted.alpha_[0] == pytest.approx(0.01 * w)
    assert weighted.intercept_[0] == pytest.approx(repeated.intercept_[0], abs=1e-12)


@pytest.mark.filterwarnings("ignore:X looks like a matrix of distances")
@given(st.integers(0, 10**6), st.sampled_from(["clip", "flip", "square"]))
@example(38831, "clip")
@settings(max_examples=60, deadline=None)
def test_integer_weights_are_repetition_of_intercepts(seed, method):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    K = rng.integers(-4, 5, (n, n)).astype(float)
    K = K + K.T
    y = np.where(np.arange(n) % 2, 1, 0)
    w = rng.integers(1, 4, n)
    copies = np.repeat(np.arange(n), w)
    C = 10.0 ** rng.uniform(-3, -1)
    weighted = SpectrumSVC(method, C=C).fit(K, y, sample_weight=w)
    repeated = SpectrumSVC(method, C=C).fit(K[np.ix_(copies, copies)], y[copies])
    assert weighted.intercept_[0] == pytest.approx(repeated.intercept_[0], abs=1e-7)
    np.testing.assert_allclose(
        weighted.decision_function(K),
        repeated.decision_function(K[:, copies]),
        atol=1e-7,
    )


@pytest.mark.parametrize("scale", [1e-100, 1e-30, 3e38, 1e60, 1e100])
@pytest.mark.parametrize("method", ["clip", "flip", "shift"])
def test_any_unit_of_the_kernel_with_its_c(scale, method, rng):
    X = rng.standard_normal((30, 3))
    K = X @ np.diag([1.0, 0.5, -0.3]) @ X.T
    y = X[:, 0] + 0.3 * rng.standard_normal(30) > 0
    plain = SpectrumSVC(method, C=1.0).fit(K, y)
    model = SpectrumSVC(method, C=1.0 / scale).fit(scale * K, y)
    assert model.result_.status == "converged"
    np.testing.assert_allclose(
        model.decision_function(scale * K), plain.decision_function(K), atol=1e-6
    )


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_ridge_has_converged_when_its_system_is_solved(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 20))
    F = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-6, 6, n)
    K = F @ np.diag(rng.choice([1.0, -1.0], n)) @ F.T
    K = (K + K.T) / 2
    y = rng.standard_normal(n)
    model = KreinRidge(alpha=10.0 ** rng.uniform(-5, 5), method="flip")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(K, y)
    d, V = np.linalg.eigh(K)
    v, b = model.result_.x, model.intercept_[0]
    missed = V @ ((np.abs(d) + model.alpha) * (V.T @ v)) - (y - b)
    rounding = 1e-13 * n * np.abs(d).max() * np.linalg.norm(v)
    assert np.linalg.norm(missed) <= np.sqrt(model.duality_gap_[0]) + rounding + 1e-14
    reached = model.duality_gap_[0] <= model.tol * model.objective_[0]
    assert (model.result_.status == "converged") == reached
    assert bool(caught) == (model.result_.status != "converged")


def test_cpd_has_converged_when_its_gap_says_so():
    """A penalty below the rounding of the kernel: settled, but not to tol."""
    rng = np.random.default_rng(267)
    unreached = 0
    for _ in range(20):
        X = rng.standard_normal((30, 2))
        y = np.where(rng.random(30) < 0.5, 1, -1)
        model = CPDSVC(alpha=1e-8, loss="squared", polynomial="zero", kernel="rbf")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        reached = model.result_.certificate.relative <= model.tol
        assert (model.result_.status == "converged") == reached
        unreached += not reached
    assert unreached >= 1


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e19, 1e94])
def test_dc_primal_on_any_scale(scale, rng):
    A = rng.standard_normal((15, 15))
    y = np.where(np.arange(15) % 2, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = DCSVC(C=100.0, solver="dc-primal").fit(scale * (A + A.T), y)
    assert np.isfinite(model.result_.value)
    assert model.result_.status in ("converged", "stalled", "max_iter", "diverged")


@pytest.mark.parametrize("scale", [1e-100, 1e-37, 2e29, 1e38, 1e100])
@pytest.mark.parametrize("rho", [1e-5, 1.0, 1e5])
def test_proxy_on_any_scale(scale, rho, rng):
    A = rng.standard_normal((12, 12))
    y = np.where(np.arange(12) % 2, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged, or solved to rounding
        model = ProxySVC(rho=rho, max_iter=200).fit(scale * (A + A.T), y)
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.duality_gap_).all()
    relative = model.result_.certificate.relative
    assert (model.result_.status == "converged") == (relative <= model.tol)


def test_cpd_certifies_the_coefficients_that_predict(rng):
    """A penalty far below the kernel: objective_ is that of dual_coef_, or an error."""
    X = rng.standard_normal((20, 3))
    D = ((X[:, None] - X) ** 2).sum(2)
    y = np.where(rng.random(20) < 0.5, 1, -1)
    told = 0
    for scale in 10.0 ** np.arange(0, 100, 5):
        model = CPDSVC(kernel="precomputed", alpha=1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.fit(-scale * D, y)
            except ValueError as error:
                assert "times smaller than the kernel" in str(error)  # noqa: PT017
                told += 1
                continue
        a = model.dual_coef_[0]
        f = model.decision_function(-scale * D)
        value = a @ (-scale * D) @ a + np.sum(np.maximum(0.0, 1.0 - y * f) ** 2)
        slack = 1e-9 + 1e-14 * (np.abs(a) @ (scale * D) @ np.abs(a))
        assert model.objective_[0] == pytest.approx(value, abs=slack)
    assert told < 20


@pytest.mark.parametrize("K", [-np.eye(9), 1e-90 * np.eye(9)], ids=["zero", "tiny"])
def test_one_class_coefficients_have_their_sum(K):
    model = SpectrumOneClassSVM(nu=0.04).fit(K)
    assert model.result_.x.sum() == pytest.approx(0.04 * 9)


@pytest.mark.parametrize(
    ("model", "weight", "message"),
    [
        (SpectrumSVC(kernel=lambda X, Y: X @ Y.T * 1j), None, "complex numbers"),
        (SpectrumSVC(solver_options={"cache_size": 9}), None, "has no options"),
        (DCSVC(solver_options={"block": -3}), None, "integer of 2 or more"),
        (SpectrumSVC(), np.ma.masked_array(np.ones(6), [1, 0, 0, 0, 0, 0]), "masked"),
    ],
    ids=["complex kernel", "cache_size", "block", "masked weights"],
)
def test_numbers_that_would_be_changed_silently_are_refused(model, weight, message):
    K = np.eye(6) + 0.1
    with pytest.raises((TypeError, ValueError), match=message):
        model.fit(K, [0, 1, 0, 1, 0, 1], sample_weight=weight)


def test_proxy_with_heavy_weights_at_a_huge_scale(rng):
    """Rho times the cube of the scale leaves float64: the unit has to give in."""
    A = rng.standard_normal((10, 10))
    weight = 10.0 ** rng.uniform(-6, 6, 10)
    y = np.where(np.arange(10) % 2, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ProxySVC(rho=1e4, max_iter=50).fit(1e97 * (A + A.T), y, weight)
    root = np.sqrt(weight)
    d = np.linalg.eigvalsh(1e97 * (A + A.T) * np.outer(root, root))
    assert model.objective_[0] == pytest.approx(1e4 * np.sum(np.minimum(d, 0) ** 2))
