"""CPDSVC, its path and cross-validation, CPDRegressor."""

import inspect
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import RBFInterpolator
from scipy.stats import ortho_group
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC, LinearSVC

from krein import (
    CPDSVC,
    CPDSVCCV,
    CPDRegressor,
    Kernel,
    check_certificate,
    thin_plate_kernel,
)
from krein.estimators import _cpd_model
from krein.kernels import rbf_kernel
from krein.selection.scores import split_scores
from tests.fuzz.regimes import trial
from tests.reference.digits import cpd_gap


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
        C=1 / (2 * alpha),
        loss="squared_hinge",
        fit_intercept=False,
        tol=1e-10,
        max_iter=1_000_000,
        dual=False,
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
        (dict(alpha=-1.0), "alpha"),
        (dict(alpha=0.0, loss="logistic"), "no minimum where .* Use alpha > 0"),
        (dict(alpha=0.0, solver="published"), "needs alpha > 0"),
        (dict(polynomial="linear"), "polynomial"),
        (dict(degree=0), "degree=0 is too small"),
        (dict(kernel=Kernel("thin_plate", exponent=5), degree=1), "degree=1 is too"),
        (dict(loss="hinge"), "loss"),
    ],
)
def test_bad_parameters_are_named(moons, params, message):
    with pytest.raises(ValueError, match=message):
        CPDSVC(**params).fit(*moons)


@pytest.mark.parametrize("shape", [(10, 20), (10, 9), (62, 70)])
def test_no_more_samples_than_polynomials(rng, shape):
    """A polynomial interpolates, with coefficients of least norm on scaled columns."""
    X = rng.standard_normal(shape)
    y, signs = np.arange(shape[0]) % 2, 2.0 * (np.arange(shape[0]) % 2) - 1
    model = CPDSVC().fit(X, y)
    assert not model.dual_coef_.any()
    P = model.kernel_.polynomials(X)
    scale = np.linalg.norm(P, axis=0)
    wanted = np.linalg.pinv(P / scale) @ signs
    np.testing.assert_allclose(model.poly_coef_[0] * scale, wanted, atol=1e-8)
    assert model.objective_[0] <= model.duality_gap_[0] < 1e-15
    assert check_certificate(model, X, y).holds
    assert np.array_equal(model.predict(X), y)
    values = CPDRegressor().fit(X, X[:, 0] ** 2).predict(X)
    np.testing.assert_allclose(values, X[:, 0] ** 2, atol=1e-9)


def test_no_room_for_the_kernel_names_the_remedy(rng):
    X, y = rng.standard_normal((10, 20)), np.arange(10) % 2
    with pytest.warns(UserWarning, match="leaves only f = 0 on 10 samples.*exponent=1"):
        model = CPDSVC(polynomial="zero").fit(X, y)
    assert not model.decision_function(X).any()
    assert model.objective_[0] == 10.0
    assert check_certificate(model, X, y).holds
    X = rng.standard_normal((40, 20))
    with pytest.raises(ValueError, match=r"on the 8 basis points.*raise n_basis"):
        CPDSVC(n_basis=8).fit(X, np.arange(40) % 2)


@pytest.mark.parametrize("exponent", [2, 3, 4, 5])
def test_repeated_items_count_once_against_the_polynomials(rng, exponent):
    """With as many distinct items as monomials only f = 0 is left, and one more is one
    function: the model of the distinct items with the numbers of copies as weights.
    """
    degree = exponent // 2 if exponent % 2 == 0 else (exponent - 1) // 2
    copies, signs = [3, 1, 4, 2, 1], [1, 0, 1, 0, 1]
    items, y = rng.standard_normal((5, 1)), np.array(signs)
    for distinct in (degree + 1, degree + 2):
        weight = copies[:distinct]
        X, labels = items[:distinct], y[:distinct]
        repeated = np.repeat(X, weight, axis=0), np.repeat(labels, weight)
        model = CPDSVC(polynomial="zero", exponent=exponent)
        values = CPDRegressor(polynomial="zero", exponent=exponent, tol=1e-6)
        if distinct == degree + 1:
            with pytest.warns(UserWarning, match="leaves only f = 0.*distinct items"):
                model.fit(*repeated)
            assert not model.decision_function(X).any()
            assert model.objective_[0] == sum(weight)
            with pytest.raises(ValueError, match="equal items count once"):
                clone(model).set_params(n_basis=sum(weight) - 1).fit(*repeated)
        else:
            model.fit(*repeated)
            wanted = clone(model).fit(X, labels, sample_weight=weight)
            scores = model.decision_function(NEW[:, :1])
            np.testing.assert_allclose(
                scores, wanted.decision_function(NEW[:, :1]), atol=1e-8
            )
            assert np.abs(scores).max() > 1e-3
            values.fit(*repeated)
            wanted = clone(values).fit(X, labels, sample_weight=weight)
            same = values.predict(NEW[:, :1]), wanted.predict(NEW[:, :1])
            np.testing.assert_allclose(*same, atol=1e-8)
            assert check_certificate(model, *repeated).holds


@pytest.mark.parametrize("size", [1e4, 1e7, 1e10])
@pytest.mark.parametrize("exponent", [1, 3, 5])
def test_an_outlier_does_not_leave_only_zero(rng, size, exponent):
    """Beside it the centred kernel of the others is rounding: nothing is claimed."""
    X = rng.standard_normal((30, 2))
    X[0] *= size
    y = X[:, 1] + 0.1 * rng.standard_normal(30)
    model = CPDRegressor(polynomial="zero", exponent=exponent, alpha=1e-2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert not any("only f = 0" in str(w.message) for w in caught)
    relative = model.result_.certificate.relative
    assert bool(caught) == (relative > model.tol)
    if exponent == 5 and size == 1e10:
        assert relative > 0.1


def test_two_points_that_are_repeated_are_no_indefinite_kernel():
    X, y = [[-1.0], [1.0], [-1.0], [1.0], [1.0]], [0, 1, 0, 1, 1]
    with pytest.warns(UserWarning, match="leaves only f = 0 on 5 samples"):
        model = CPDSVC(polynomial="zero").fit(X, y)
    assert not model.decision_function(X).any()


@pytest.mark.parametrize("seed", [2639, 3011, 5114, 5288, 7436, 7670])
def test_a_step_without_gain_that_corrects_the_set_is_not_the_last(seed):
    """Outliers far outside leave the margin by rounding, and stop the line search."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(0.7, (40, 2))
    y = X[:, 0] + rng.standard_normal(40) > 0
    model = CPDSVC(alpha=[1e-3, 0.1][seed // 3 % 3], scale=False).fit(X, y)
    assert model.result_.converged
    assert -1e-15 <= cpd_gap(model, X, y) <= model.result_.certificate.relative


@pytest.mark.parametrize("seed", [99, 392])
def test_a_gap_within_tol_is_that_of_the_coefficients_too(seed):
    """A run may end by the bound of an earlier step: that of the last is worse."""
    drawn = trial(seed, "CPDSVC")
    model, warned = drawn.fit()
    assert not warned
    assert all(result.converged for result in model.result_)
    assert check_certificate(model, drawn.X, drawn.y, drawn.weight).holds


@pytest.mark.parametrize("seed", [2, 8])
def test_sums_that_cancel_are_computed_with_more_digits(seed):
    """The coefficients were optimal, but their outputs rounded by more than tol."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 1))
    y = 10 + np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(40)
    model = CPDRegressor(1e-3, polynomial="zero").fit(X, y)
    assert model.result_.converged
    report = check_certificate(model, X, y)
    assert report.holds, report


@pytest.mark.filterwarnings("ignore:polynomial='zero' leaves only")
@pytest.mark.parametrize("model", [CPDSVC(), CPDSVCCV([1.0, 0.1])], ids=["one", "cv"])
def test_auto_with_fewer_samples_in_a_fold_than_polynomials(rng, model):
    X = rng.standard_normal((62, 60))
    y = np.where(X[:, 0] > 0, 1, 0)
    model = clone(model).set_params(polynomial="auto", random_state=0).fit(X, y)
    assert model.polynomial_ == "free"
    assert np.array_equal(model.predict(X), y)


def test_wrong_sign_is_an_error(moons):
    X, y = moons
    with pytest.raises(ValueError, match="not conditionally positive definite"):
        CPDSVC(1e-3, kernel="precomputed").fit(-thin_plate_kernel(X, exponent=1), y)


def test_one_sample_and_nan():
    with pytest.raises(ValueError, match="2 samples"):
        CPDSVC().fit([[1.0, 2.0]], [0])
    with pytest.raises(ValueError, match="NaN"):
        CPDSVC().fit([[1.0], [np.nan], [2.0]], [0, 1, 0])


def test_a_path_takes_what_the_estimator_takes():
    """With the same defaults, and hands each of them on."""
    own = dict(inspect.signature(CPDSVC).parameters)
    of_path = dict(inspect.signature(CPDSVC.path).parameters)
    for name in ("X", "y", "alphas", "sample_weight", "P"):
        del of_path[name]
    del own["alpha"]
    assert {name: p.default for name, p in own.items()} == {
        name: p.default for name, p in of_path.items()
    }
    X = np.random.default_rng(0).standard_normal((30, 2))
    y = (X[:, 0] > 0).astype(int)
    others = {
        "kernel": "multiquadric",
        "kernel_params": {"c": 0.5},
        "symmetrize": True,
        "exponent": 1,
        "degree": 1,
        "polynomial": "zero",
        "n_basis": 25,
        "scale": False,
        "loss": "logistic",
        "class_weight": "balanced",
        "probability": True,
        "solver": "newton",  # the other one has one loss only
        "tol": 1e-4,
        "max_iter": 50,
        "random_state": 1,
        "verbose": 0,
    }
    assert others.keys() == own.keys()
    (model,) = CPDSVC.path(X, y, [1.0], **others)
    assert model.get_params() == {"alpha": 1.0, **others}


@pytest.mark.parametrize("polynomial", ["free", "zero"])
def test_path_equals_fits_apart(three_classes, polynomial):
    X, y = three_classes
    alphas = [0.01, 10.0, 0.3]
    models = CPDSVC.path(X, y, alphas, polynomial=polynomial)
    assert [model.alpha for model in models] == alphas
    for model in models:
        alone = CPDSVC(model.alpha, polynomial=polynomial).fit(X, y)
        np.testing.assert_allclose(
            model.decision_function(NEW), alone.decision_function(NEW), atol=1e-7
        )
        assert np.all(model.duality_gap_ <= 1e-8 * model.objective_)


def test_path_refuses_bad_alphas(moons):
    for alphas in ([], [1.0, -1.0], [np.nan]):
        with pytest.raises(ValueError, match="alphas must be one or more positive"):
            CPDSVC.path(*moons, alphas)


@pytest.mark.parametrize("polynomial", ["free", "zero"])
@pytest.mark.parametrize("kernel", ["thin_plate", "precomputed"])
def test_cv_scores_are_those_of_single_fits(moons, kernel, polynomial):
    X, y = moons
    # scale=False: a fold's own scale would give alpha another meaning.
    options = dict(exponent=1, scale=False, polynomial=polynomial, kernel=kernel)
    data = thin_plate_kernel(X, exponent=1) if kernel == "precomputed" else X
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    alphas = [1.0, 0.1, 0.01]
    model = CPDSVCCV(alphas, cv=folds, **options).fit(data, y)
    for alpha, scores in zip(alphas, split_scores(model), strict=True):
        wanted = cross_val_score(CPDSVC(alpha, **options), data, y, cv=folds)
        np.testing.assert_allclose(scores, wanted, atol=1e-12)
    assert model.best_score_ == pytest.approx(split_scores(model).mean(axis=1).max())
    alone = CPDSVC(**{**options, **model.best_params_}).fit(data, y)
    np.testing.assert_allclose(
        model.decision_function(data), alone.decision_function(data), atol=1e-8
    )


def test_cv_takes_a_scorer_of_decision_values(moons):
    model = CPDSVCCV([1.0, 0.1], scoring="roc_auc", cv=3).fit(*moons)
    scores = split_scores(model)
    assert np.all((scores > 0.8) & (scores <= 1.0))


def test_auto_takes_zero_where_polynomials_do_harm():
    """A rare signal in many noise columns: free polynomials fit the noise."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 40))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, 1, 0)
    X[:, :2] *= 4
    model = CPDSVC(1.0, polynomial="auto", random_state=0).fit(X, y)
    assert model.polynomial_ == "zero"
    assert not model.poly_coef_.any()
    assert CPDSVCCV([1.0], polynomial="auto").fit(X, y).polynomial_ == "zero"


def test_auto_takes_free_where_there_is_a_trend():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((100, 2))
    y = np.where(X[:, 0] + 1.5 + 0.3 * rng.standard_normal(100) > 0, 1, 0)
    assert (
        CPDSVC(1e3, polynomial="auto", random_state=0).fit(X, y).polynomial_ == "free"
    )


@pytest.mark.parametrize("polynomial", ["free", "zero"])
def test_subset_of_basis_points(three_classes, polynomial):
    X, y = three_classes
    options = dict(polynomial=polynomial, random_state=0)
    few = CPDSVC(0.1, n_basis=30, **options).fit(X, y)
    assert few.support_.size <= 30
    whole = CPDSVC(0.1, **options).fit(X, y)
    # A subspace cannot do better, and thirty points come near.
    assert np.all(few.objective_ >= whole.objective_ * (1 - 1e-9))
    assert np.all(few.objective_ <= whole.objective_ * 1.5)
    assert np.abs(few.dual_coef_ @ few.kernel_.polynomials(X)).max() < 1e-8


def test_all_points_as_basis_is_the_whole_problem(moons):
    X, y = moons
    for polynomial in ("free", "zero"):
        whole = CPDSVC(0.1, polynomial=polynomial).fit(X, y)
        every = CPDSVC(0.1, polynomial=polynomial, n_basis=len(X)).fit(X, y)
        assert every.objective_ == pytest.approx(whole.objective_, rel=1e-9)
        for seed in range(5):
            most = CPDSVC(
                0.1, polynomial=polynomial, n_basis=len(X) - 1, random_state=seed
            ).fit(X, y)
            # One point less can only cost, and what it costs depends on the point:
            # nothing without a coefficient, else up to 0.2 % here.
            assert most.objective_[0] >= whole.objective_[0] * (1 - 1e-9)
            (left,) = np.setdiff1d(np.arange(len(X)), most.support_)
            free = whole.dual_coef_[0, left] == 0.0
            cost = 1e-8 if free else 1e-2
            assert most.objective_ == pytest.approx(whole.objective_, rel=cost)


def test_large_problem_by_columns_equals_whole_matrix():
    """From 1500 samples on, columns are computed when needed."""
    X, y = make_moons(1600, noise=0.3, random_state=0)
    lazy = CPDSVC(0.01).fit(X, y)
    K = thin_plate_kernel(lazy.kernel_.place(X))
    P = lazy.kernel_.polynomials(X)
    dense = CPDSVC(0.01, kernel="precomputed").fit(K, y, P=P)
    assert lazy.objective_ == pytest.approx(dense.objective_, rel=1e-9)
    np.testing.assert_allclose(
        lazy.decision_function(X), dense.decision_function(K, P), atol=1e-6
    )


def test_logistic_probabilities_are_the_models_own(moons):
    X, y = moons
    model = CPDSVC(0.1, loss="logistic").fit(X, y)
    wanted = 1 / (1 + np.exp(-model.decision_function(NEW)))
    np.testing.assert_allclose(model.predict_proba(NEW)[:, 1], wanted, atol=1e-12)
    # Stationarity: 2 alpha c_i = y_i sigma(-y_i f_i).
    signs = 2.0 * y - 1
    residual = 0.2 * model.dual_coef_[0] - signs / (
        1 + np.exp(signs * model.decision_function(X))
    )
    assert np.abs(residual).max() < 1e-5


def test_probabilities_by_sigmoid(three_classes):
    X, y = three_classes
    model = CPDSVC(0.1, probability=True, random_state=0).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.mean(model.classes_[p.argmax(axis=1)] == y) > 0.8
    with pytest.raises(AttributeError, match="predict_proba"):
        CPDSVC().predict_proba  # noqa: B018


class _Linear:
    """A callable of declared order 1: the negative distance."""

    order = 1

    def __call__(self, X, Y):
        return thin_plate_kernel(X, Y, exponent=1)


def test_callable_with_declared_order(moons):
    X, y = moons
    wanted = CPDSVC(0.1, exponent=1).fit(X, y)
    given = CPDSVC(0.1, kernel=_Linear()).fit(X, y)
    assert given.poly_coef_.shape == (1, 1)
    np.testing.assert_allclose(
        given.decision_function(NEW), wanted.decision_function(NEW), atol=1e-9
    )


def test_items_that_are_not_vectors():
    words = ["ab", "abb", "ba", "bab", "aab", "bba"]
    y = [word[0] for word in words]

    def kernel(A, B):
        return np.array(
            [[-abs(a.index("b") - b.index("b")) for b in B] for a in A], float
        )

    kernel.order = 1
    model = CPDSVC(0.01, kernel=kernel).fit(words, y)
    assert list(model.predict(words)) == y


def test_wrong_polynomials_are_refused(moons):
    X, y = moons
    K = thin_plate_kernel(X, exponent=1)
    with pytest.raises(ValueError, match=r"P must have shape \(150"):
        CPDSVC(kernel="precomputed").fit(K, y, P=np.ones((3, 1)))
    with pytest.raises(ValueError, match="precomputed"):
        CPDSVC().fit(X, y, P=np.ones((150, 1)))
    model = CPDSVC(kernel="precomputed").fit(K, y, P=np.c_[np.ones(150), X])
    with pytest.raises(ValueError, match="P is missing"):
        model.predict(K)


def test_regressor_weights_and_zero_polynomial(rng):
    X, y = rng.standard_normal((40, 2)), rng.standard_normal(40)
    weight = rng.integers(0, 3, 40)
    for polynomial in ("free", "zero"):
        model = CPDRegressor(0.2, polynomial=polynomial)
        weighted = model.fit(X, y, sample_weight=weight).predict(NEW)
        repeated = model.fit(np.repeat(X, weight, 0), np.repeat(y, weight))
        np.testing.assert_allclose(repeated.predict(NEW), weighted, atol=1e-7)


@pytest.mark.filterwarnings("ignore:CPDSVC (did not reach|is solved to)")
def test_tiny_alpha_warns_and_still_answers(moons):
    X, y = moons
    with pytest.warns(ConvergenceWarning, match="below the rounding error"):
        model = CPDSVC(1e-18, exponent=5).fit(X, y)
    assert np.isfinite(model.decision_function(NEW)).all()


def test_frames_keep_their_names(moons):
    X, y = moons
    frame = pd.DataFrame(X, columns=["left", "right"])
    model = CPDSVC(0.1).fit(frame, y)
    assert list(model.feature_names_in_) == ["left", "right"]
    assert np.array_equal(model.predict(frame), CPDSVC(0.1).fit(X, y).predict(X))


@pytest.mark.slow
def test_usps_with_zero_polynomials(shared_data):
    """The paper has 85 errors with beta = 0 (Section 7); at most 88 are accepted."""
    usps = shared_data("usps")
    X, y, test = usps["X"], usps["y"], usps["is_test"]
    model = CPDSVC(0.01, polynomial="zero").fit(X[~test], y[~test])
    assert np.sum(model.predict(X[test]) != y[test]) <= 88
    assert np.all(model.duality_gap_ <= 1e-6 * model.objective_)


@pytest.mark.parametrize("weighted", [False, True])
def test_accuracy_is_that_of_scikit_learn(moons, weighted):
    X, y = moons
    weight = np.random.default_rng(0).integers(1, 4, len(y)) if weighted else None
    own, theirs = (
        CPDSVCCV([1.0, 0.1], scoring=scoring, cv=3).fit(X, y, sample_weight=weight)
        for scoring in (None, "accuracy")
    )
    np.testing.assert_allclose(split_scores(own), split_scores(theirs), rtol=1e-14)
    assert 0.5 < own.best_score_ < 1.0


@pytest.mark.parametrize("alpha", [1.0, 1e-4, 1e-8])
@pytest.mark.parametrize(
    "options",
    [{"exponent": 1}, {}, {"polynomial": "zero"}, {"n_basis": 8, "random_state": 0}],
    ids=str,
)
def test_gap_counts_the_rounding_of_the_kernel(alpha, options):
    # In exact arithmetic: the optimum is a linear system, the objective a sum.
    from fractions import Fraction

    rng = np.random.default_rng(4)
    n, weight = 14, 10.0 ** rng.uniform(-3, 3, 14)
    X = np.sort(rng.uniform(size=(n, 1)), axis=0)
    y = rng.standard_normal(n)
    options = {**options}
    exponent = options.pop("exponent", 3)
    K = thin_plate_kernel(X, exponent=exponent)
    P = np.column_stack([np.ones(n), X])[:, : (exponent + 1) // 2]
    model = CPDRegressor(alpha, kernel="precomputed", tol=1e-3, **options)
    model.fit(K, y, weight, P=P)
    exact = np.vectorize(Fraction, otypes=[object])
    basis = np.arange(n)
    if "n_basis" in options:
        basis = np.sort(np.random.RandomState(0).permutation(n)[:8])
    K, P, y, w = exact(K), exact(P), exact(y), exact(weight)
    lam, free = Fraction(alpha), P[:, : 0 if "polynomial" in options else None]

    def objective(a, b):
        rest = y - K @ a - P @ b
        return lam * (a @ K @ a) + rest @ (w * rest)

    F = np.column_stack([K[:, basis], free])  # what the function is made of
    system = F.T @ (w[:, None] * F)
    m, r = basis.size, P.shape[1]
    system[:m, :m] += lam * K[np.ix_(basis, basis)]
    border = exact(np.zeros((F.shape[1], r)))
    border[:m] = P[basis]
    system = np.block([[system, border], [border.T, exact(np.zeros((r, r)))]])
    best = solve_exactly(system, np.append(F.T @ (w * y), exact(np.zeros(r))))
    a, b = exact(np.zeros(n)), exact(np.zeros(r))
    a[basis], b[: free.shape[1]] = best[:m], best[m : m + free.shape[1]]
    found = objective(exact(model.dual_coef_[0]), exact(model.poly_coef_[0]))
    gap = Fraction(model.duality_gap_[0])
    assert abs(found - objective(a, b)) <= gap
    assert abs(found - Fraction(model.objective_[0])) <= gap


def solve_exactly(A, b):
    """Gauss and Jordan on fractions."""
    A = np.column_stack([A, b])
    for i in range(len(A)):
        pivot = i + next(k for k, row in enumerate(A[i:]) if row[i])
        A[[i, pivot]] = A[[pivot, i]]
        A[i] = A[i] / A[i, i]
        for k in range(len(A)):
            if k != i:
                A[k] = A[k] - A[k, i] * A[i]
    return A[:, -1]


def test_weights_of_many_sizes_leave_no_polynomial_in_the_coefficients():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 2))
    y = X[:, 0] + rng.standard_normal(40) > 0
    weight = 10.0 ** rng.uniform(-4, 4, 40)
    model = CPDSVC(10.0, loss="logistic").fit(X, y, weight)
    P, a = model.kernel_.polynomials(X), model.dual_coef_[0]
    assert np.all(np.abs(P.T @ a) <= 1e-14 * (np.abs(P.T) @ np.abs(a)))
    assert check_certificate(model, X, y, weight).holds


@pytest.mark.parametrize("polynomial", ["zero", "free"])
@pytest.mark.parametrize("seed", range(5))
def test_gap_counts_what_rounding_leaves_of_the_constraints(seed, polynomial):
    """Columns of P that nearly coincide: P'a = 0 to rounding is Q'a far from zero."""
    rng = np.random.default_rng(seed)
    X = 100.0 + 1e-5 * rng.standard_normal((8, 2))
    D, y = -np.abs(X[:, None] - X).sum(axis=2), np.array([0, 1, 0, 1, 1, 0, 0, 1])
    P = np.hstack([np.ones((8, 1)), X / np.abs(X).max()])
    model = CPDSVC(alpha=3.6e-8, kernel="precomputed", polynomial=polynomial)
    with pytest.warns(UserWarning, match="solved to rounding"):
        model.fit(D, y, P=P)
    found = check_certificate(model, D, y, P=P)
    assert found.holds, found.text


@pytest.mark.parametrize(
    ("model", "most"),
    [(CPDSVC(), 1.0), (CPDSVC(loss="logistic"), 1.8), (CPDRegressor(), 2.1)],
    ids=["hinge", "logistic", "regression"],
)
def test_memory_of_a_fit(model, most):
    """In n x n arrays; the hinge computes the columns of violators alone."""
    X, y = make_moons(1500, noise=0.25, random_state=0)
    tracemalloc.start()
    try:
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most * 8 * len(y) ** 2


def test_a_path_starts_ahead_of_the_last_solution(moons, monkeypatch):
    X, y = moons
    alphas = np.logspace(3, -3, 12)
    path = CPDSVC.path(X, y, alphas)
    monkeypatch.setattr(
        _cpd_model, "_ahead", lambda problem, solved: solved[-1][1] if solved else None
    )
    behind = CPDSVC.path(X, y, alphas)
    steps = [sum(int(m.n_iter_[0]) for m in models) for models in (path, behind)]
    assert steps[0] < 0.95 * steps[1]
    for one, other in zip(path, behind, strict=True):
        np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-7)
