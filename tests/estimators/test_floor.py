"""The floor that all estimators stand on: pure fits, folds, warnings, divergence."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

from krein import (
    CPDSVC,
    DCSVC,
    CPDRegressor,
    DivergedError,
    KreinLogisticRegression,
    KreinNystroem,
    KreinRidge,
    KreinSVC,
    ProxySVC,
    ProxySVCCV,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
)
from krein.comparison.yardsticks import (
    SimilarityFeaturesClassifier,
    SimilarityNeighborsClassifier,
)
from krein.selection.folds import inner_folds
from krein.training import Values

HERE = Path(__file__)
N = 40


@pytest.fixture
def data(rng):
    X = rng.standard_normal((N, 2))
    return np.tanh(X @ X.T), np.where(X[:, 0] > 0, "a", "b")


PURE = [
    SpectrumSVC("flip"),
    KreinSVC(),
    ProxySVC(),
    DCSVC(),
    KreinLogisticRegression(alpha=1.0),
    SimilarityFeaturesClassifier(),
    SimilarityNeighborsClassifier(3),
    CPDSVC(kernel="precomputed", loss="logistic"),
    SpectrumSVR(),
    KreinRidge(),
    SpectrumOneClassSVM(nu=0.3),
    CPDRegressor(kernel="precomputed"),
]


@pytest.mark.parametrize("model", PURE, ids=str)
def test_fitting_rows_writes_nothing_and_depends_on_nothing(model, data):
    """Only `fit` writes: the same rows on the same samples, before and after."""
    K, y = data
    if is_regressor(model):
        y = np.arange(float(N))
    if isinstance(model, CPDSVC | CPDRegressor):
        distances = np.linalg.norm(K[:, None] - K[None], axis=2)
        K = -distances
    model = clone(model)
    if hasattr(model, "_start"):
        training, target = model._start(K, y, None)
    else:
        training = model._prepared(model._check_items(K, reset=True), None, None)
        target = Values(np.arange(float(N)))
    before = dict(vars(model))
    first = model.fit_rows(training, target)
    assert vars(model) == before
    model.fit_rows(training.subset(np.arange(0, N, 2)), target.subset(slice(0, N, 2)))
    assert vars(model) == before
    again = model.fit_rows(training, target)
    np.testing.assert_array_equal(first.coef, again.coef)
    np.testing.assert_array_equal(first.intercept, again.intercept)


# ------------------------------------------------------- landmarks and probabilities


def test_probabilities_at_low_rank_leave_the_model_alone(rng):
    X = rng.standard_normal((60, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, "a", "b")
    landmarks = KreinNystroem(20, random_state=0)
    plain = ProxySVC(kernel="tl1", approximation=landmarks).fit(X, y)
    with_proba = ProxySVC(kernel="tl1", approximation=landmarks, probability=True)
    with_proba.fit(X, y)
    np.testing.assert_array_equal(
        with_proba.spectrum_.eigenvectors, plain.spectrum_.eigenvectors
    )
    np.testing.assert_array_equal(with_proba.proxy_kernel(), plain.proxy_kernel())
    assert with_proba.proxy_kernel().shape == (60, 60)
    started = clone(with_proba).set_params(solver_options={"init": plain.alpha_})
    started.fit(X, y)  # a start of all samples is not one of the folds
    np.testing.assert_allclose(started.alpha_, plain.alpha_, atol=1e-4)
    assert with_proba.predict_proba(X).shape == (60, 2)


def test_landmarks_reach_the_searches(rng):
    X = rng.standard_normal((60, 2))
    y = np.where(X[:, 0] > 0, "a", "b")
    landmarks = KreinNystroem(20, random_state=0)
    model = ProxySVCCV(kernel="tl1", cv=3, approximation=landmarks).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.support_.size == 20
    assert model.best_estimator_.predict(X).tolist() == model.predict(X).tolist()


def test_unknown_options_are_refused_with_landmarks_too(rng):
    X = rng.standard_normal((30, 2))
    for model in (SpectrumSVC("flip"), KreinSVC()):
        model.set_params(
            kernel="tl1",
            approximation=KreinNystroem(5, random_state=0),
            solver_options={"cash_size": 1},
        )
        with pytest.raises(ValueError, match="has 'cash_size', but"):
            model.fit(X, X[:, 0] > 0)


def test_luss_and_probabilities_exclude_each_other(data):
    with pytest.raises(ValueError, match="'luss' goes with neither"):
        ProxySVC(new_points="luss", probability=True).fit(*data)


def test_seeds_of_every_kind_move_the_folds():
    codes = np.repeat([0, 1], 30)

    def first_test(seed):
        return inner_folds(codes, seed, "a test")[0][1].tolist()

    assert first_test(5) == first_test(np.int64(5))
    assert first_test(5) != first_test(6)
    assert first_test(np.random.RandomState(5)) == first_test(5)
    assert first_test(None) == first_test(None)


# ------------------------------------------------------------------------ divergence


@pytest.fixture
def diverging():
    """Liu et al., Theorem 1, counter-example: K = diag(10, -1), alpha = 5."""
    K, y = np.diag([10.0, -1.0, 10.0, -1.0]), [0, 1, 1, 0]
    return (
        K,
        y,
        KreinLogisticRegression(
            alpha=0.01,
            solver="cccp-gd",
            indefinite="allow",
            solver_options={"eta": 1e6, "init": "ones"},
            max_iter=200,
        ),
    )


@pytest.mark.filterwarnings("ignore:the kernel's smallest eigenvalue")
def test_a_diverged_fit_is_not_a_model(diverging):
    K, y, model = diverging
    with pytest.warns(ConvergenceWarning, match="It is not a model"):
        model.fit(K, y)
    assert model.result_.status == "diverged"
    assert model.result_.history.n_rows > 0
    for ask in (model.predict, model.decision_function, model.predict_proba):
        with pytest.raises(DivergedError, match=r"diverged after .* not a model"):
            ask(K)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_searches_do_not_choose_a_diverged_fit(diverging):
    K, y, model = diverging
    K, y = np.kron(np.eye(5), K), y * 5
    scores = cross_val_score(model, K, y, cv=2, error_score=np.nan)
    assert np.isnan(scores).all()
    grid = [
        {"solver": ["cccp-gd"], "solver_options": [model.solver_options]},
        {"solver": ["newton"], "solver_options": [None]},
    ]
    found = GridSearchCV(model, grid, cv=2, error_score=np.nan).fit(K, y)
    assert np.isnan(found.cv_results_["mean_test_score"][0])
    assert found.best_params_["solver"] == "newton"


# -------------------------------------------------------------------------- warnings


def test_warnings_point_at_the_line_that_caused_them(data):
    K, y = data
    D = 1.0 - np.eye(N)
    cases = [
        lambda: SpectrumSVC("flip").fit(D, y),
        lambda: ProxySVC(max_iter=1, tol=1e-12).fit(K, y),
        lambda: KreinLogisticRegression(alpha=1e-6).fit(K, y),
        lambda: cross_val_score(ProxySVC(max_iter=1, tol=1e-12), K, y, cv=2),
        lambda: GridSearchCV(SpectrumSVC(), {"C": [1.0]}, cv=2).fit(D, y),
    ]
    for case in cases:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            case()
        assert caught
        assert {Path(w.filename) for w in caught} == {HERE}
        assert {w.lineno for w in caught} == {case.__code__.co_firstlineno}


def test_verbose_says_how_each_row_ended(data, capsys):
    K, y = data
    SpectrumSVC("flip", verbose=1).fit(K, y)
    said = capsys.readouterr().err
    assert said.startswith("SpectrumSVC, machine 1 of 1: converged after")
    assert "objective" in said
    assert "duality gap" in said
