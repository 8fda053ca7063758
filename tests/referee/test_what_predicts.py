"""Lies about what predicts, sound models that were refused, many items."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from krein import (
    CPDSVC,
    CPDSVCCV,
    KreinLogisticRegressionCV,
    KreinSVC,
    ProxySVC,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVCCV,
    SpectrumSVR,
    SpectrumSVRCV,
    SpectrumTransformer,
    check_certificate,
    sigmoid_kernel,
)


@pytest.fixture
def vectors(rng):
    X = rng.standard_normal((40, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(40) > 0, "b", "a")


# ------------------------------------------------------------------------------- lies


def test_an_intercept_with_all_variables_at_their_bounds(rng):
    K, y = np.eye(8), np.repeat([-1e3, 1e3], 4)
    model = SpectrumSVR(C=1e-3).fit(K, y)
    assert np.all(np.abs(model.result_.x) == 1e-3)
    assert check_certificate(model, K, y).holds
    model.intercept_ = model.intercept_ + 1e6
    assert "intercept_" in check_certificate(model, K, y).text


def test_an_intercept_of_large_targets(vectors):
    X, _ = vectors
    K, y = sigmoid_kernel(X), 1e6 + X[:, 0]
    model = SpectrumSVR(C=10.0).fit(K, y)
    assert check_certificate(model, K, y).holds
    model.intercept_ = model.intercept_ + 500.0
    assert check_certificate(model, K, y).holds is False


@pytest.mark.parametrize("off", [1e9, -1e9, 1.0, -1.0])
def test_an_offset_of_another_model(off, vectors):
    K = sigmoid_kernel(vectors[0])
    for nu in (0.3, 1.0):
        model = SpectrumOneClassSVM(nu=nu).fit(K)
        assert check_certificate(model, K).holds
        model.offset_ += off
        model.intercept_ = -np.array([model.offset_])
        assert check_certificate(model, K).holds is False


def test_support_and_items(vectors):
    X, y = vectors
    model = SpectrumSVC("flip", kernel="rbf").fit(X, y)
    for name, value in [
        ("support_", model.support_[:-3]),
        ("X_fit_", model.X_fit_[::-1]),
        ("X_fit_", -model.X_fit_),
        ("dual_coef_", np.vstack([model.dual_coef_, model.dual_coef_])),
    ]:
        true = getattr(model, name)
        setattr(model, name, value)
        assert check_certificate(model, X, y).holds is False
        setattr(model, name, true)
    assert check_certificate(model, X, y).holds
    model.X_fit_ = model.X_fit_[:-1]
    with pytest.raises(ValueError, match="40 samples that the model was fitted on"):
        check_certificate(model, X, y)


def test_coefficients_on_items_of_weight_zero(vectors):
    X, y = vectors
    K, weight = sigmoid_kernel(X), np.r_[np.zeros(5), np.ones(35)]
    model = SpectrumSVC("clip").fit(K, y, weight)
    model.dual_coef_[0, :5] = 1.0
    model.support_ = np.flatnonzero(model.dual_coef_[0])
    assert "weight 0" in check_certificate(model, K, y, weight).text


@pytest.mark.parametrize("error", [np.inf, np.nan, 0.0])
def test_the_error_of_a_sparse_model(error, vectors):
    X, y = vectors
    K = sigmoid_kernel(X)
    model = SpectrumSVC("clip").fit(K, y).sparsify(K, n_prototypes=5)
    assert check_certificate(model, K, y).holds
    model.sparse_error_ = error
    assert check_certificate(model, K, y).holds is False


# ------------------------------------------------------------------- sound models


def test_a_column_of_labels(vectors):
    X, y = vectors
    K = sigmoid_kernel(X)
    model = SpectrumSVC("flip").fit(K, y)
    assert check_certificate(model, K, y[:, None]).holds
    with pytest.raises(ValueError, match="X and y must be the 40 samples"):
        check_certificate(model, K, y[:-1])


@pytest.mark.parametrize("combine", ["best", "average"])
def test_searches_of_krein(combine, vectors):
    X, y = vectors
    K = sigmoid_kernel(X)
    for model, target in [(SpectrumSVCCV, y), (SpectrumSVRCV, X[:, 0])]:
        model = model(cv=2, combine=combine).fit(K, target)
        report = check_certificate(model, K, target)
        assert report.holds, report


def test_searches_for_alpha(vectors):
    X, y = vectors
    K = sigmoid_kernel(X)
    for model, given in [(KreinLogisticRegressionCV(cv=2), K), (CPDSVCCV(cv=2), X)]:
        report = check_certificate(model.fit(given, y), given, y)
        assert report.holds, report
        model.dual_coef_[0, 3] += 0.1 * np.abs(model.dual_coef_).max()
        assert check_certificate(model, given, y).holds is False


def test_a_sparse_one_class_machine(vectors):
    """Its intercept is fitted again, its offset is that of the model before."""
    K = sigmoid_kernel(vectors[0])
    model = SpectrumOneClassSVM(nu=0.3).fit(K).sparsify(K, n_prototypes=5)
    assert check_certificate(model, K).holds
    model.offset_ += 1.0
    assert check_certificate(model, K).holds is False


def test_searches_and_pipelines_of_scikit_learn(vectors):
    X, y = vectors
    pipe = make_pipeline(StandardScaler(), SpectrumSVC("flip", kernel="rbf"))
    search = GridSearchCV(pipe, {"spectrumsvc__C": [0.1, 10.0]}, cv=2).fit(X, y)
    assert check_certificate(search, X, y).holds
    search.best_estimator_[-1].intercept_ = np.array([7.0])
    assert check_certificate(search, X, y).holds is False
    search = GridSearchCV(KreinSVC(), {"C": [0.1, 1.0]}, cv=2).fit(sigmoid_kernel(X), y)
    assert check_certificate(search, sigmoid_kernel(X), y).holds


@pytest.mark.filterwarnings("ignore:the diffusion of new rows leaves out")
@pytest.mark.filterwarnings("ignore:diffusion of new rows")
@pytest.mark.parametrize("method", ["shift", "diffusion", "flip", "square"])
def test_a_pipeline_that_treats_training_rows_otherwise(method, vectors):
    X, y = vectors
    K = sigmoid_kernel(X)
    model = make_pipeline(SpectrumTransformer(method), SpectrumSVC("none")).fit(K, y)
    assert check_certificate(model, K, y).holds


def test_a_bound_that_the_point_does_not_show_is_not_judged(vectors):
    """The bound of siqclp is true, but not that of its point: no contradiction."""
    X, y = vectors
    some = np.r_[0:4, np.flatnonzero(y != y[0])[:3]]
    K, y = sigmoid_kernel(X[some]), y[some]
    report = check_certificate(ProxySVC(solver="siqclp").fit(K, y), K, y)
    assert report.holds is None
    assert "kernels, which it does not keep" in report.text


@pytest.mark.parametrize("seed", [168, 171, 223, 225, 264, 279])
def test_c_p_d_models_with_weights_of_many_sizes(seed):
    """The bound must not rest on what rounding leaves of P'c = 0."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((11, 2)), rng.integers(0, 2, 11)
    y[:2], weight = [0, 1], 10.0 ** rng.uniform(-4, 4, 11)
    options = {"exponent": 2, "loss": "logistic", "n_basis": 5, "random_state": 0}
    model = CPDSVC(alpha=25.0, **options).fit(X, y, sample_weight=weight)
    assert check_certificate(model, X, y, weight).holds


def test_polynomials_and_weights_that_are_not_those_of_fit(vectors):
    X, y = vectors
    D, P = -np.abs(X[:, None] - X).sum(axis=2), np.hstack([np.ones((40, 1)), X])
    model = CPDSVC(kernel="precomputed").fit(D, y, P=P)
    assert check_certificate(model, D, y, P=P).holds
    with pytest.raises(ValueError, match=r"P must be .* \(40, 4\), got \(40, 1\)"):
        check_certificate(model, D, y)
    model = CPDSVC(kernel="precomputed").fit(D, y)
    with pytest.raises(ValueError, match=r"P must be .* \(40, 1\), got \(40, 4\)"):
        check_certificate(model, D, y, P=P)
    for weight in (np.ones(3), np.full(40, np.nan)):
        with pytest.raises(ValueError, match="sample_weight"):
            check_certificate(model, D, y, weight)


@pytest.mark.parametrize("scale", [1e3, 1e5])
def test_proxies_whose_rise_cancels(scale):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 16))
        A = rng.integers(-9, 10, (n, n))
        K, y = scale * (A + A.T), np.append([0, 1], rng.integers(0, 2, n - 2))
        C, rho = 10.0 ** rng.uniform(-3, 4), 10.0 ** rng.uniform(-5, 5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tol is not reached by every problem here
            model = ProxySVC(C, rho=rho).fit(K, y)
        report = check_certificate(model, K, y)
        assert report.holds, f"seed {seed}: {report}"


# --------------------------------------------------------------------- many items


def families(n, rng, links=True):
    """Blocks of related items, with a few links between them or not, sparse."""
    blocks = []
    for _ in range(n // 20):
        A = np.triu(rng.uniform(0.2, 1.0, (20, 20)), 1) * (rng.random((20, 20)) < 0.4)
        blocks.append(A + A.T + np.eye(20))
    K = scipy.sparse.lil_array(
        scipy.sparse.block_diag(list(map(scipy.sparse.coo_array, blocks)))
    )
    for i, j in rng.integers(0, n, (n // 50 if links else 0, 2)):
        if i != j:
            K[i, j] = K[j, i] = 0.1
    return scipy.sparse.csr_array(K), np.arange(n) // 20 % 3


MACHINES = [
    SpectrumSVC("clip"),
    SpectrumSVC("flip"),
    SpectrumSVC("square"),
    SpectrumSVC("shift"),
    KreinSVC(lam_neg=2.0),
]


@pytest.mark.parametrize("model", MACHINES, ids=str)
def test_many_items_are_only_multiplied(model, rng, monkeypatch):
    K, y = families(160, rng)
    model.fit(K, y)
    decomposed = check_certificate(model, K, y)
    monkeypatch.setattr("krein.referee.kernel._DECOMPOSED", 100)
    monkeypatch.setattr("numpy.linalg.eigh", None)
    report = check_certificate(model, K, y)
    assert report.holds, report
    np.testing.assert_allclose(report.objective, decomposed.objective, rtol=1e-6)
    largest = np.argmax(np.abs(model.dual_coef_[0]))
    model.dual_coef_[0, largest] *= 1.01
    assert "dual_coef_ is not" in check_certificate(model, K, y).text


@pytest.mark.slow
def test_many_more_items(rng):
    K, y = families(40_000, rng, links=False)
    with pytest.warns(ConvergenceWarning):
        model = SpectrumSVC("clip", max_iter=40).fit(K, y)
    assert check_certificate(model, K, y).holds
    model.support_ = model.support_[1:]
    assert check_certificate(model, K, y).holds is False
