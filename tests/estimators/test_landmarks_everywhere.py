"""Landmarks on regression, logistic and one-class models: exact at m = n, certified."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import krein
import krein.similarity.low_rank as low_rank_module
from krein import (
    DCSVC,
    KreinLogisticRegression,
    KreinNystroem,
    KreinRidge,
    SpectrumOneClassSVM,
    SpectrumSVR,
    load_model,
    save_model,
    scale,
    tl1_kernel,
)
from krein.machines import tall_svm
from krein.machines.logistic import IndefiniteLogistic
from krein.machines.tall_ridge import TallRidge
from krein.memory import LANDMARK_MODELS
from krein.similarity.tiles import DenseTiles

LOGISTIC = [
    KreinLogisticRegression(alpha=1e-3, indefinite=indefinite, multi_class=multi_class)
    for indefinite in ("raise-alpha", "flip")
    for multi_class in ("multinomial", "ovr")
]
RIDGE = [
    KreinRidge(alpha=alpha, method=method, fit_intercept=fit_intercept)
    for alpha in (0.1, "auto")
    for method in ("stabilised", "none", "clip", "flip", "square")
    for fit_intercept in (True, False)
]


MACHINES = [
    SpectrumSVR("clip", C=1.0, epsilon=0.1),
    SpectrumSVR("flip", C=100.0, epsilon=0.01),
    SpectrumSVR("flip", epsilon=5.0),  # no target leaves the tube
    SpectrumOneClassSVM("clip", nu=0.1),
    SpectrumOneClassSVM("flip", nu=0.5),
    SpectrumOneClassSVM("flip", nu=1.0),  # all variables are on their bounds
]


@pytest.fixture
def problem(rng):
    X = rng.random((240, 4))
    values = np.sin(5 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(240)
    return X, values


def with_landmarks(model, m, **params):
    nystroem = KreinNystroem(m, random_state=0)
    return clone(model).set_params(approximation=nystroem, **params)


def approximation(model, X):
    """What landmarks make of the similarity, computed by hand from a fitted model."""
    K = tl1_kernel(X)
    nystroem = KreinNystroem(40, random_state=0).fit(K)
    F = nystroem.transform(K)
    np.testing.assert_array_equal(nystroem.landmarks_, model.support_)
    return (F * nystroem.signature_) @ F.T


@pytest.mark.filterwarnings("ignore:the kernel's smallest")
@pytest.mark.parametrize("model", LOGISTIC, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_at_all_items_equals_the_exact_method(
    model, n_classes, weighted, problem, rng
):
    X, values = problem
    y = np.digitize(values, np.quantile(values, np.arange(1, n_classes) / n_classes))
    weight = rng.integers(1, 4, 240).astype(float) if weighted else None
    K = tl1_kernel(X)
    exact = clone(model).fit(K, y, sample_weight=weight)
    landmark = with_landmarks(model, 240).fit(K, y, sample_weight=weight)
    np.testing.assert_allclose(
        landmark.predict_proba(K), exact.predict_proba(K), atol=1e-9
    )
    assert landmark.alpha_used_ == pytest.approx(exact.alpha_used_, rel=1e-9)
    assert landmark.flipped_ == exact.flipped_
    assert np.all(landmark.residual_ <= landmark.tol)


@pytest.mark.filterwarnings("ignore:the kernel's smallest")
def test_logistic_is_certified_on_the_approximated_similarity(problem):
    X, values = problem
    y = values > 1.0
    landmark = with_landmarks(KreinLogisticRegression(1e-3), 40).fit(tl1_kernel(X), y)
    K = approximation(landmark, X)
    p = landmark.predict_proba(tl1_kernel(X))[:, 1]
    A = ((y - p) / (240 * landmark.alpha_used_))[:, None]
    exact = IndefiniteLogistic(0.5 * (K + K.T), y[:, None] * 1.0, landmark.alpha_used_)
    residual = exact.certificate(A, landmark.intercept_).value
    assert residual <= landmark.residual_[0] + 1e-9
    assert landmark.dual_coef_.shape == (1, 240)
    assert np.count_nonzero(landmark.dual_coef_) <= 40


def test_papers_solvers_refuse_landmarks(problem):
    X, values = problem
    model = with_landmarks(KreinLogisticRegression(solver="ccicp-gd"), 40)
    with pytest.raises(ValueError, match="goes not with approximation"):
        model.fit(tl1_kernel(X), values > 1.0)


# The targets are a function of the items: alpha="auto" sees no noise, and says so.
@pytest.mark.filterwarnings("ignore:KreinRidge.alpha='auto'. chose the least")
@pytest.mark.parametrize("model", RIDGE, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_at_all_items_equals_the_exact_method(model, weighted, problem, rng):
    X, y = problem
    weight = rng.integers(1, 4, 200).astype(float) if weighted else None
    exact = clone(model).set_params(kernel="tl1")
    exact.fit(X[:200], y[:200], sample_weight=weight)
    # Where the likelihood settles alpha it is known to its own flatness only.
    alpha = exact.alpha_used_
    landmark = with_landmarks(model, 200, kernel="tl1")
    landmark.fit(X[:200], y[:200], sample_weight=weight)
    auto = model.alpha == "auto"
    # A minimum is known to the root of rounding.
    assert landmark.alpha_used_ == pytest.approx(alpha, rel=1e-5 if auto else 1e-12)
    atol = 1e-3 if auto else 1e-7
    for mean in zip(
        landmark.predict(X[200:], return_std=True),
        exact.predict(X[200:], return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(*mean, atol=atol)
    assert landmark.objective_ == pytest.approx(exact.objective_, rel=atol)
    assert landmark.result_.certificate.kind == exact.result_.certificate.kind
    assert landmark.result_.status == "converged"


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_gap_is_a_bound_on_the_approximated_similarity(fit_intercept, problem):
    """The minimum by one dense system, and points beside it."""
    X, y = problem
    model = KreinRidge(0.01, method="flip", fit_intercept=fit_intercept)
    landmark = with_landmarks(model, 40).fit(tl1_kernel(X), y)
    values, V = np.linalg.eigh(approximation(landmark, X))
    K = (V * np.abs(values)) @ V.T
    system = K + 0.01 * np.eye(240)
    one, solved = np.linalg.solve(system, np.column_stack([np.ones(240), y])).T
    b = solved.sum() / one.sum() if fit_intercept else 0.0
    a = solved - b * one
    best = np.sum((y - K @ a - b) ** 2) + 0.01 * a @ K @ a
    assert landmark.intercept_[0] == pytest.approx(b, abs=1e-8)
    # The similarity is rounded when it is formed here: alpha |a|^2 as much in f.
    slack = 1e-11 * best
    assert abs(landmark.objective_[0] - best) <= landmark.duality_gap_[0] + slack
    assert landmark.duality_gap_[0] <= 1e-9 * best


def test_ridge_gap_of_other_points_is_a_bound(rng):
    F = np.linalg.qr(rng.standard_normal((80, 6)))[0]
    y, sizes = rng.standard_normal(80), np.geomspace(1e-3, 10, 6)
    one, z = F.sum(axis=0), F.T @ y
    problem = TallRidge(DenseTiles(F), sizes, y, np.ones(80), 0.1, z, one)
    best, b = problem.solve(fit_intercept=True, tol=1e-9)
    for size in (1e-8, 1e-4, 1.0):
        x = best.x + size * rng.standard_normal(6)
        other = problem._evaluated(x, b, balanced=True)
        assert other.value - best.value <= other.certificate.value
        assert other.certificate.value <= 200 * (other.value - best.value) + 1e-9


@pytest.mark.parametrize("model", MACHINES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("few", [False, True])
def test_machines_at_all_items_equal_the_exact_method(
    model, weighted, few, problem, rng, monkeypatch
):
    """On a kernel that is formed, and by the interior-point method on features."""
    X, y = problem
    weight = rng.integers(1, 4, 200).astype(float) if weighted else None
    K = tl1_kernel(X)
    exact = clone(model).fit(K[:200, :200], y[:200], sample_weight=weight)
    if few:
        monkeypatch.setattr(low_rank_module, "DENSE_ITEMS", 0)
    landmark = with_landmarks(model, 200)
    landmark.fit(K[:200, :200], y[:200], sample_weight=weight)
    size = np.abs(exact._decision_rows(K[:, :200])).max()
    np.testing.assert_allclose(
        landmark._decision_rows(K[:, :200]),
        exact._decision_rows(K[:, :200]),
        atol=2e-5 * size,
    )
    assert landmark.objective_ == pytest.approx(exact.objective_, rel=1e-8, abs=1e-9)
    assert landmark.result_.certificate.relative <= 1e-6
    assert landmark.result_.status == "converged"
    if isinstance(model, SpectrumOneClassSVM):
        outside = landmark.predict(K[:200, :200]) < 0
        weight = np.ones(200) if weight is None else weight
        assert weight[outside].sum() <= model.nu * weight.sum()


@pytest.mark.parametrize("model", MACHINES[:2] + MACHINES[3:5], ids=str)
def test_machines_on_many_items_are_certified(model, rng, monkeypatch):
    """Against the values of LIBSVM on the approximated similarity, formed."""
    X = rng.random((900, 4))
    y = np.sin(5 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(900)
    model = with_landmarks(model, 30, kernel="tl1")
    formed = clone(model).fit(X, y)
    monkeypatch.setattr(low_rank_module, "DENSE_ITEMS", 0)
    for many in (50_000, 500):
        monkeypatch.setattr(tall_svm, "_MANY", many)
        tall = clone(model).fit(X, y)
        assert tall.result_.certificate.relative <= 1e-6
        more = formed.objective_[0] - tall.objective_[0]
        slack = 1e-9 * abs(formed.objective_[0])
        assert -formed.duality_gap_[0] - slack <= more
        assert more <= tall.duality_gap_[0] + slack


@pytest.mark.filterwarnings("ignore:the kernel's smallest")
@pytest.mark.parametrize(
    "model",
    [
        KreinRidge(0.1),
        KreinLogisticRegression(1e-3),
        SpectrumSVR(),
        SpectrumOneClassSVM(nu=0.2),
    ],
    ids=str,
)
def test_out_of_core_files_and_pickles(model, problem, tmp_path):
    X, values = problem
    y = values > 1.0 if isinstance(model, KreinLogisticRegression) else values
    model = with_landmarks(model, 40, kernel="tl1")
    inside = clone(model).fit(X, y)
    outside = scale.fit(model, X, y, store=tmp_path / "tiles")
    path = save_model(outside, tmp_path / "model.krein")
    for one in (outside, load_model(path), pickle.loads(pickle.dumps(outside))):
        np.testing.assert_allclose(
            one._decision_rows(X), inside._decision_rows(X), atol=1e-7
        )
        np.testing.assert_array_equal(scale.predict(one, X), one.predict(X))
    if isinstance(model, KreinRidge):
        std = load_model(path).predict(X, return_std=True)[1]
        np.testing.assert_allclose(std, inside.predict(X, return_std=True)[1])


def test_one_class_models_need_no_labels_out_of_core(problem):
    X, _ = problem
    model = with_landmarks(SpectrumOneClassSVM(nu=0.2), 40, kernel="tl1")
    outside = scale.fit(clone(model), X)
    np.testing.assert_allclose(outside.offset_, model.fit(X).offset_)
    with pytest.raises(ValueError, match="requires y to be passed"):
        scale.fit(with_landmarks(KreinRidge(), 40, kernel="tl1"), X)


def test_models_that_take_no_landmarks_name_those_that_do(problem, monkeypatch):
    X, y = problem
    monkeypatch.setenv("KREIN_MEMORY_LIMIT", "1MB")
    with pytest.raises(MemoryError, match="DCSVC takes no landmarks; SpectrumSVC, "):
        DCSVC(kernel="tl1").fit(X, y > 1.0)
    for name in LANDMARK_MODELS.replace(" and", ",").split(", "):
        model = getattr(krein, name)(kernel="tl1")
        assert "approximation" in model.get_params(deep=False)
        with pytest.raises(MemoryError, match="Use landmarks: approximation="):
            model.fit(X, y > 1.0)
