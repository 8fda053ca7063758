"""Estimators at low rank: the exact method at m = n, landmarks only to predict."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import krein.similarity.low_rank as low_rank_module
from krein import (
    Kernel,
    KreinNystroem,
    KreinSVC,
    ProxySVC,
    Spectrum,
    SpectrumSVC,
    scale,
    sigmoid_kernel,
    tl1_kernel,
)
from krein.estimators.proxy import numbers_on_landmarks
from krein.machines import second_order
from krein.machines.box import BalancedBox
from krein.machines.proxy import ProxySVM
from krein.machines.tall_svm import linear_svm
from krein.similarity.tiles import DenseTiles
from tests.machines import svm_dual
from tests.reference.boxes import contains

MODELS = [
    SpectrumSVC("clip"),
    SpectrumSVC("flip", C=10.0),
    SpectrumSVC("square", C=0.01),
    KreinSVC(C=2.0, lam_pos=0.5, lam_neg=3.0),
]


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((240, 6))
    y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(240), [-0.5, 0.5])
    return X, y


@pytest.fixture
def always_interior_point(monkeypatch):
    monkeypatch.setattr(low_rank_module, "DENSE_ITEMS", 0)


def with_landmarks(model, m, **options):
    nystroem = KreinNystroem(m, random_state=0, **options)
    return clone(model).set_params(approximation=nystroem)


@parametrize_with_checks(
    [SpectrumSVC("flip", kernel="rbf", approximation=KreinNystroem(3, random_state=0))],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": (
            "landmarks are drawn at random from the samples, so repeating a sample "
            "changes which landmarks are drawn"
        )
    },
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_all_items_as_landmarks_equal_the_exact_method(model, problem):
    X, y = problem
    K = sigmoid_kernel(X, gamma=1.0)
    exact = clone(model).fit(K[:200, :200], y[:200])
    landmark = with_landmarks(model, 200).fit(K[:200, :200], y[:200])
    np.testing.assert_allclose(
        landmark.decision_function(K[200:, :200]),
        exact.decision_function(K[200:, :200]),
        atol=1e-8,
    )
    np.testing.assert_allclose(landmark.alpha_, exact.alpha_, atol=1e-8)


def test_weights_at_all_items_equal_the_exact_method(problem, rng):
    X, y = problem
    K = sigmoid_kernel(X, gamma=1.0)
    weight = rng.integers(0, 4, 240).astype(float)
    exact = SpectrumSVC("flip").fit(K, y, sample_weight=weight)
    kept = int((weight > 0).sum())
    landmark = with_landmarks(exact, kept).fit(K, y, sample_weight=weight)
    np.testing.assert_allclose(
        landmark.decision_function(K), exact.decision_function(K), atol=1e-8
    )


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_interior_point_agrees_with_libsvm(C, rng):
    """An independent solver of the same problem, to the accuracy asked for."""
    F = rng.standard_normal((150, 8)) * np.geomspace(3, 0.01, 8)
    y = np.where(F[:, 0] + rng.standard_normal(150) > 0, 1.0, -1.0)
    domain = BalancedBox(C * rng.uniform(0.5, 2.0, 150), y)
    reference, b_reference = svm_dual(F @ F.T, domain, tol=1e-10)
    result, b = linear_svm(DenseTiles(F), domain, tol=1e-12)
    w = result.info["w"]
    assert result.value == pytest.approx(reference.value, rel=1e-9)
    assert contains(domain, result.x, tol=1e-9)
    np.testing.assert_allclose(
        F @ w + b, F @ (F.T @ (y * reference.x)) + b_reference, atol=1e-6
    )


def dual_value(F, y, a):
    """Objective of the dual; rounding in float64 is more than the gaps here."""
    w = F.astype(np.longdouble).T @ (y * a)
    return float(a.astype(np.longdouble).sum() - w @ w / 2)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(-8, 8), st.integers(1, 7))
def test_tall_features_never_claim_too_much(seed, exponent, r):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((300, r)) * 10.0 ** rng.uniform(-2, 2, r)
    y = np.where(F[:, 0] + rng.standard_normal(300) * 10.0 > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    domain = BalancedBox(10.0**exponent * rng.uniform(0.1, 1.0, 300), y)
    found, *_ = linear_svm(DenseTiles(F), domain, tol=1e-6)
    assert contains(domain, found.x, tol=1e-9)
    dual = dual_value(F, y, found.x)
    assert found.value == pytest.approx(dual, rel=1e-8)
    best, _ = svm_dual(F @ F.T, domain, tol=1e-9)
    slack = 1e-12 * float(domain.upper.sum())
    assert dual_value(F, y, best.x) - dual <= found.certificate.value + slack


def test_interior_point_certificate_is_a_bound(rng):
    F = rng.standard_normal((400, 5))
    y = np.where(F[:, 0] + rng.standard_normal(400) > 0, 1.0, -1.0)
    domain = BalancedBox(np.full(400, 1.0), y)
    best, *_ = linear_svm(DenseTiles(F), domain, tol=1e-11)
    for steps in (3, 6, 9):
        rough, b = linear_svm(DenseTiles(F), domain, tol=1e-11, max_iter=steps)
        w = rough.info["w"]
        hinge = np.maximum(0.0, 1.0 - y * (F @ w + b)).sum()
        primal = 0.5 * w @ w + hinge
        assert rough.value - 1e-9 <= best.value <= primal + 1e-9
        assert best.value - rough.value <= rough.certificate.value + 1e-9


@pytest.mark.usefixtures("always_interior_point")
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_interior_point_equals_the_exact_method(model, problem):
    X, y = problem
    K = sigmoid_kernel(X, gamma=1.0)
    exact = clone(model).fit(K, y)
    landmark = with_landmarks(exact, 240).fit(K, y)
    np.testing.assert_allclose(
        landmark.decision_function(K), exact.decision_function(K), atol=1e-5
    )
    assert np.all(landmark.duality_gap_ <= 1e-6 * landmark.objective_)


def test_interior_point_needs_few_steps_on_many_items(rng):
    X = rng.random((6000, 4))
    y = np.sign(np.sin(5 * X[:, 0]) + 0.3 * rng.standard_normal(6000))
    model = SpectrumSVC("flip", kernel="tl1", C=10.0)
    model = with_landmarks(model, 40)
    model.fit(X, y)
    assert model.n_iter_[0] < 60
    assert model.duality_gap_[0] <= 1e-8 * model.objective_[0]
    assert model.score(X, y) > 0.8
    at_bound = np.isin(model.alpha_, [0.0, 10.0]).mean()
    assert at_bound > 0.9  # snapped, not merely close


PROXIES = [
    ProxySVC(C=1.0, rho=10.0, new_points=rule, tol=1e-10)
    for rule in ("clip", "raw", "project")
]


@pytest.mark.parametrize("model", PROXIES, ids=lambda model: model.new_points)
@pytest.mark.parametrize("weighted", [False, True])
def test_proxy_at_all_items_equals_the_exact_method(model, weighted, problem, rng):
    X, y = problem
    K, y = tl1_kernel(X), y > 0
    weight = rng.integers(1, 4, 200).astype(float) if weighted else None
    exact = clone(model).fit(K[:200, :200], y[:200], sample_weight=weight)
    landmark = with_landmarks(model, 200)
    landmark.fit(K[:200, :200], y[:200], sample_weight=weight)
    np.testing.assert_allclose(
        landmark.decision_function(K[200:, :200]),
        exact.decision_function(K[200:, :200]),
        atol=1e-8,
    )
    np.testing.assert_allclose(landmark.objective_, exact.objective_, rtol=1e-8)


def test_proxy_certificate_is_that_of_the_approximated_similarity(problem):
    """The exact method on the approximation, a matrix here, finds the same value."""
    X, y = problem
    K, y = tl1_kernel(X), y > 0
    model = with_landmarks(ProxySVC(C=1.0, rho=10.0, tol=1e-8), 40).fit(K, y)
    exact = ProxySVC(C=1.0, rho=10.0, tol=1e-10).fit(model.spectrum_.matrix(), y)
    assert model.spectrum_.eigenvalues.size <= 40
    assert model.approximation_error_ > 0
    short = exact.objective_ - model.objective_
    slack = 1e-8 * np.abs(exact.objective_)
    assert np.all(short <= model.duality_gap_ + exact.duality_gap_ + slack)
    assert np.all(short >= -exact.duality_gap_ - slack)
    assert np.count_nonzero(model.dual_coef_) <= 40
    few = model.decision_function(K[:, model.support_])
    np.testing.assert_allclose(few, model.decision_function(K), atol=1e-10)


def test_proxy_with_landmarks_on_items_out_of_core(problem, tmp_path):
    X, y = problem
    model = with_landmarks(ProxySVC(kernel="tl1", rho=10.0), 40)
    inside = clone(model).fit(X, y)
    outside = scale.fit(model, X, y, store=tmp_path / "tiles")
    np.testing.assert_allclose(
        outside.decision_function(X), inside.decision_function(X), atol=1e-6
    )
    assert inside.X_fit_.shape == (40, 6)
    assert inside.score(X, y) > 0.7


def test_proxy_refuses_more_items_than_a_gap_can_be_claimed_for(rng):
    X = rng.random((100_001, 2))
    y = X[:, 0] > 0.5
    model = with_landmarks(ProxySVC(kernel="tl1"), 5)
    with pytest.raises(ValueError, match=r"at most 100000 items with .* not 100001"):
        model.fit(X, y)
    weight = np.zeros(100_001)
    weight[:300] = 1.0
    model.fit(X, y, sample_weight=weight)  # these are not there


def test_proxy_looks_at_memory_before_similarities_are_computed(rng, monkeypatch):
    X = rng.random((2000, 2))
    y = X[:, 0] > 0.5
    needed = 8 * numbers_on_landmarks(2000, 30)
    asked = []

    def kernel(A, B):
        asked.append(len(A))
        return np.exp(-np.abs(A[:, None] - B).sum(axis=2))

    model = with_landmarks(ProxySVC(kernel=kernel), 30)
    monkeypatch.setenv("KREIN_MEMORY_LIMIT", str(needed - 1))
    with pytest.raises(MemoryError, match="ProxySVC on 2000 items and 30 landmarks ne"):
        model.fit(X, y)
    assert not asked
    monkeypatch.setenv("KREIN_MEMORY_LIMIT", str(needed))
    model.fit(X, y)
    assert max(asked) >= 256


@pytest.mark.parametrize(("n", "m"), [(6000, 50), (2000, 300)])
def test_proxy_with_landmarks_takes_the_memory_that_is_said(n, m):
    rng = np.random.default_rng(0)
    X = rng.random((n, 10))
    score = np.sin(6 * X[:, 0]) + X[:, 1] - X[:, 2] ** 2
    y = score + 0.2 * rng.standard_normal(n) > 0.2
    model = with_landmarks(ProxySVC(kernel="tl1", rho=100.0, max_iter=5, tol=1e-4), m)
    tracemalloc.start()
    try:
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    said = 8 * numbers_on_landmarks(n, m)
    assert 0.3 * said <= peak <= said


@pytest.mark.parametrize("rho", [1.0, 100.0])
def test_proxy_with_landmarks_needs_no_system_of_its_free_variables(rho, monkeypatch):
    """Models of low rank are those of their matrix, at a cost that grows with n."""
    rng = np.random.default_rng(0)
    X = rng.random((3000, 10))
    score = np.sin(6 * X[:, 0]) + X[:, 1] - X[:, 2] ** 2
    y = score + 0.2 * rng.standard_normal(3000) > 0.2
    model = with_landmarks(ProxySVC(kernel="tl1", rho=rho), 50).fit(X, y)
    free = (model.alpha_[0] > 0.0) & (model.alpha_[0] < 1.0)
    assert free.sum() > 500
    assert model.result_.certificate.relative <= 1e-6
    monkeypatch.setattr(second_order, "DENSE", np.inf)
    dense = with_landmarks(ProxySVC(kernel="tl1", rho=rho), 50).fit(X, y)
    assert dense.result_.value == pytest.approx(model.result_.value, rel=1e-7)
    monkeypatch.setattr(second_order, "DENSE", 4)
    monkeypatch.setattr(second_order, "QuadraticModel", None)  # none is made
    with_landmarks(ProxySVC(kernel="tl1", rho=rho), 50).fit(X, y)


def test_the_proxy_of_a_low_rank_has_features(rng):
    K = rng.standard_normal((30, 5))
    spectrum = Spectrum(np.array([-2.0, -1.0, 1.0, 3.0, 4.0]), np.linalg.qr(K)[0])
    box = BalancedBox(np.ones(30), np.resize([1.0, -1.0], 30))
    problem = ProxySVM(spectrum, box, rho=0.5)
    a = box.project(rng.random(30))
    F = problem.proxy_features(a)
    assert F.shape[1] <= 6
    np.testing.assert_allclose(F @ F.T, problem.proxy_kernel(a), atol=1e-10)


def test_proxy_refuses_the_published_rule_with_landmarks(problem):
    X, y = problem
    model = with_landmarks(ProxySVC(kernel="tl1", new_points="luss"), 40)
    with pytest.raises(ValueError, match="goes with neither"):
        model.fit(X, y)


def test_prediction_needs_landmarks_only(problem):
    X, y = problem
    K = tl1_kernel(X)
    square = with_landmarks(SpectrumSVC("flip"), 30).fit(K, y)
    kernel = Kernel("tl1")
    named = with_landmarks(SpectrumSVC("flip", kernel=kernel), 30).fit(X, y)
    assert square.support_.size == 30
    assert square.dual_coef_.shape == (3, 240)
    assert np.count_nonzero(square.dual_coef_.any(axis=0)) <= 30
    assert named.X_fit_.shape == (30, 6)
    scores = K @ square.dual_coef_.T + square.intercept_
    np.testing.assert_allclose(square.decision_function(K), scores, atol=1e-10)
    np.testing.assert_allclose(named.decision_function(X), scores, atol=1e-8)
    few = square.decision_function(K[:, square.support_])
    np.testing.assert_allclose(few, scores, atol=1e-10)
    with pytest.raises(ValueError, match="similarities of new items"):
        square.decision_function(K[:, :31])


def test_scores_approach_the_exact_ones(problem):
    X, y = problem
    K = tl1_kernel(X, tau=8.0)
    exact = SpectrumSVC("flip").fit(K, y).decision_function(K)
    errors = []
    for m in (10, 60, 200):
        model = with_landmarks(SpectrumSVC("flip"), m).fit(K, y)
        errors.append(np.abs(model.decision_function(K) - exact).mean())
    assert errors[0] > errors[1] > errors[2]


def test_probabilities(problem):
    X, y = problem
    model = with_landmarks(SpectrumSVC(kernel="tl1", probability=True), 60).fit(X, y)
    proba = model.predict_proba(X)
    assert proba.shape == (240, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (proba.argmax(axis=1) == y).mean() > 0.6
    slope, offset, temperature = model.calibration_
    one = expit(model.decision_function(X) * slope + offset)
    one /= one.sum(axis=1, keepdims=True)
    expected = one ** (1.0 / temperature)
    expected /= expected.sum(axis=1, keepdims=True)
    # Sigmoids contradict the decision values nowhere: see krein.selection.calibration.
    agrees = expected.argmax(axis=1) == model.decision_function(X).argmax(axis=1)
    np.testing.assert_allclose(expected[agrees], proba[agrees])
    assert agrees.mean() > 0.95


def test_grid_over_the_number_of_landmarks(problem):
    X, y = problem
    model = with_landmarks(KreinSVC(kernel="tl1"), 10)
    grid = GridSearchCV(model, {"approximation__n_components": [5, 80]}, cv=3)
    assert grid.fit(X, y).best_params_ == {"approximation__n_components": 80}
    scores = cross_val_score(with_landmarks(KreinSVC(), 40), tl1_kernel(X), y, cv=3)
    assert scores.mean() > 0.5


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SpectrumSVC("shift", kernel="tl1"), "no low-rank form"),
        (SpectrumSVC("diffusion", kernel="tl1"), "no low-rank form"),
        (SpectrumSVC("none", kernel="tl1"), "no low-rank form"),
    ],
)
def test_what_has_no_low_rank_form_is_refused(model, message, problem):
    X, y = problem
    with pytest.raises(ValueError, match=message):
        with_landmarks(model, 20).fit(X, y)


def test_two_kernels_are_refused(problem):
    X, y = problem
    model = with_landmarks(SpectrumSVC(kernel="tl1"), 20, kernel="rbf")
    with pytest.raises(ValueError, match="give the kernel to the estimator only"):
        model.fit(X, y)


def test_more_landmarks_than_items_are_all_items_with_a_warning(problem):
    X, y = problem
    with pytest.warns(UserWarning, match="n_components=241 is larger"):
        model = with_landmarks(SpectrumSVC(kernel="tl1"), 241).fit(X, y)
    assert model.support_.size == 240


@pytest.mark.parametrize("C", [1e2, 1e5, 1e7])
def test_the_gap_of_landmarks_counts_rounding(C, rng):
    """Large bounds beside the kernel: what rounding leaves on the margin costs C."""
    F = rng.standard_normal((400, 6)) * 10.0 ** rng.uniform(-3, 3, 6)
    y = np.where(F[:, 0] + rng.standard_normal(400) > 0, 1.0, -1.0)
    domain = BalancedBox(np.full(400, C), y)
    found, *_ = linear_svm(DenseTiles(F), domain, tol=1e-9)
    exact = F.astype(np.longdouble)
    a = found.x.astype(np.longdouble)
    w = exact.T @ (y * a)
    outputs = exact @ w
    dual = a.sum() - w @ w / 2
    candidates = (y - outputs)[:, None]
    primal = np.inf
    for stretch in (1.0, *(1.0 + np.geomspace(1e-14, 0.5, 60))):  # any w is a bound
        f = stretch * outputs
        hinge = np.maximum(0, 1 - y * (f + (y - f)[:, None])).sum(axis=1).min()
        primal = min(primal, stretch**2 * (w @ w) / 2 + C * hinge)
    drift = abs(y @ a) * np.abs(candidates).max()
    assert primal - dual <= found.certificate.value * (1 + 1e-6) + drift
