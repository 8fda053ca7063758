"""KreinLogisticRegression: certificates on data, equivalences, bad input."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_iris, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from krein import KreinLogisticRegression, KreinLogisticRegressionCV, tl1_kernel
from krein.selection.scores import split_scores

SETS = [
    "monks1",
    "monks2",
    "monks3",
    "sonar",
    "heart_statlog",
    "ionosphere",
    "breast_cancer_wisconsin",
    "haberman",
    "transfusion",
]


def unit_box(X):
    span = X.max(axis=0) - X.min(axis=0)
    return (X - X.min(axis=0)) / np.where(span > 0, span, 1.0)


def residual_by_hand(model, K, positive, alpha):
    f = K @ model.dual_coef_[0] + model.intercept_[0]
    n = K.shape[0]
    worst = np.abs(n * alpha * model.dual_coef_[0] - (positive - expit(f))).max()
    return max(worst, abs(model.dual_coef_[0].sum()))


@pytest.mark.parametrize("name", SETS)
def test_residual_on_the_data_of_the_paper(name, shared_data):
    data = shared_data(name)
    K = tl1_kernel(unit_box(data["X"]))
    classes = np.unique(data["y"])
    for alpha in (1e-3, 1e-2, 0.1):
        with warnings.catch_warnings():
            # monks1: alpha = 1e-3 is below the floor and is raised, with a warning
            warnings.simplefilter("ignore", UserWarning)
            model = KreinLogisticRegression(alpha).fit(K, data["y"])
        assert model.residual_[0] <= 1e-8
        used = model.alpha_used_
        assert residual_by_hand(model, K, data["y"] == classes[1], used) <= 1e-8
        assert model.unique_
        assert used >= alpha


def test_a_positive_kernel_gives_logistic_regression_on_its_root(rng):
    """scikit-learn's C is 1 / (n alpha) on features K^(1/2)."""
    X, y = make_moons(80, noise=0.3, random_state=0)
    K = np.exp(-((X[:, None] - X) ** 2).sum(-1))
    values, V = np.linalg.eigh(K)
    root = V * np.sqrt(np.maximum(values, 0.0))
    for alpha in (1e-2, 0.1):
        for intercept in (True, False):
            ours = KreinLogisticRegression(alpha, fit_intercept=intercept).fit(K, y)
            theirs = LogisticRegression(
                C=1 / (80 * alpha),
                fit_intercept=intercept,
                solver="newton-cholesky",
                tol=1e-13,
                max_iter=1000,
            ).fit(root, y)
            np.testing.assert_allclose(
                ours.decision_function(K), theirs.decision_function(root), atol=1e-8
            )


def test_the_multinomial_model_is_that_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(-1))
    values, V = np.linalg.eigh(K)
    root = V * np.sqrt(np.maximum(values, 0.0))
    ours = KreinLogisticRegression(0.01).fit(K, y)
    theirs = LogisticRegression(
        C=1 / (150 * 0.01), solver="newton-cg", tol=1e-12, max_iter=5000
    ).fit(root, y)
    np.testing.assert_allclose(
        ours.predict_proba(K), theirs.predict_proba(root), atol=1e-8
    )
    assert ours.dual_coef_.shape == (3, 150)
    assert ours.residual_.shape == (3,)


@pytest.mark.parametrize("multi_class", ["multinomial", "ovr"])
@pytest.mark.parametrize("solver", ["newton", "krein-gd"])
def test_integer_weights_are_repetition(multi_class, solver, rng):
    X, y = load_iris(return_X_y=True)
    keep = rng.permutation(150)[:45]
    X, y = unit_box(X[keep]), y[keep]
    weight = rng.integers(0, 4, 45)
    repeated = np.repeat(np.arange(45), weight)
    new = tl1_kernel(rng.uniform(size=(10, 4)), X)
    options = {"alpha": 0.3, "multi_class": multi_class, "solver": solver, "tol": 1e-8}
    one = KreinLogisticRegression(**options).fit(tl1_kernel(X), y, weight)
    two = KreinLogisticRegression(**options).fit(tl1_kernel(X[repeated]), y[repeated])
    np.testing.assert_allclose(
        one.decision_function(new), two.decision_function(new[:, repeated]), atol=1e-6
    )
    assert one.ratio_ == pytest.approx(two.ratio_, rel=1e-8, abs=1e-12)
    assert np.all(one.dual_coef_[:, weight == 0] == 0)


def indefinite_data(rng, n=60):
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    K = (Q * np.r_[-4.0, -2.0, rng.uniform(0, 10, n - 2)]) @ Q.T
    return 0.5 * (K + K.T), np.where(rng.random(n) < 0.5, "no", "yes")


def test_raise_alpha_warns_with_the_number_and_uses_it(rng):
    K, y = indefinite_data(rng)
    with pytest.warns(UserWarning, match=r"alpha was raised to 0\.0175"):
        model = KreinLogisticRegression(1e-3).fit(K, y)
    assert model.alpha_used_ == pytest.approx(1.05 * 4.0 / (4 * 60))
    assert model.ratio_[0] == pytest.approx(1 / 1.05)
    assert model.unique_
    assert model.residual_[0] <= 1e-9


def test_flip_says_so_and_solves_the_flipped_problem(rng):
    K, y = indefinite_data(rng)
    with pytest.warns(UserWarning, match="flipped kernel was used"):
        model = KreinLogisticRegression(1e-3, indefinite="flip").fit(K, y)
    values, U = np.linalg.eigh(K)
    flipped = (U * np.abs(values)) @ U.T
    direct = KreinLogisticRegression(1e-3).fit(0.5 * (flipped + flipped.T), y)
    np.testing.assert_allclose(
        model.decision_function(K), direct.decision_function(flipped), atol=1e-8
    )
    assert model.flipped_
    assert model.ratio_[0] > 1


def test_allow_warns_and_reports_the_ratio(rng):
    K, y = indefinite_data(rng)
    with pytest.warns(UserWarning, match="several solutions may exist"):
        model = KreinLogisticRegression(1e-3, indefinite="allow").fit(K, y)
    assert not model.unique_
    assert model.alpha_used_ == 1e-3
    assert model.ratio_[0] == pytest.approx(4.0 / (4 * 60 * 1e-3))
    assert np.isfinite(model.dual_coef_).all()


def test_below_the_threshold_nothing_is_said_and_nothing_changed(rng):
    K, y = indefinite_data(rng)
    models = [
        KreinLogisticRegression(0.02, indefinite=rule).fit(K, y)
        for rule in ("raise-alpha", "flip", "allow")
    ]
    for model in models:
        assert model.alpha_used_ == 0.02
        np.testing.assert_array_equal(model.dual_coef_, models[0].dual_coef_)


def test_class_weight_multiplies_sample_weight(rng):
    K, y = indefinite_data(rng)
    weight = rng.uniform(0.5, 2.0, 60)
    both = KreinLogisticRegression(0.1, class_weight={"no": 3.0, "yes": 1.0}).fit(
        K, y, weight
    )
    product = KreinLogisticRegression(0.1).fit(K, y, weight * np.where(y == "no", 3, 1))
    np.testing.assert_allclose(both.dual_coef_, product.dual_coef_, rtol=1e-9)


def test_probabilities_are_those_of_the_model(rng):
    K, y = indefinite_data(rng)
    model = KreinLogisticRegression(0.05).fit(K, y)
    p = model.predict_proba(K)
    np.testing.assert_allclose(p[:, 1], expit(model.decision_function(K)))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(K)), p, rtol=1e-12)
    # With an intercept the mean probability is the share of the class.
    assert p[:, 1].mean() == pytest.approx(np.mean(y == "yes"), abs=1e-9)


def test_one_vs_rest_probabilities_sum_to_one():
    X, y = load_iris(return_X_y=True)
    model = KreinLogisticRegression(0.01, kernel="tl1", multi_class="ovr")
    p = model.fit(unit_box(X), y).predict_proba(unit_box(X))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert model.score(unit_box(X), y) > 0.9
    scores = cross_val_score(
        KreinLogisticRegression(0.01),
        tl1_kernel(unit_box(X)),
        y,
        scoring="neg_log_loss",
    )
    assert scores.mean() > -0.4


@pytest.mark.parametrize("init", ["zeros", "ones", "minus-ones", "uniform"])
def test_initialisations_of_table_vi_lead_to_the_same_point(init, rng):
    """Liu et al., Table VI: below the threshold the start does not matter."""
    K, y = indefinite_data(rng)
    options = {"init": init}
    model = KreinLogisticRegression(0.03, solver_options=options, random_state=0)
    plain = KreinLogisticRegression(0.03).fit(K, y)
    np.testing.assert_allclose(model.fit(K, y).dual_coef_, plain.dual_coef_, atol=1e-8)


def test_a_start_may_be_given_as_an_array(rng):
    K, y = indefinite_data(rng)
    plain = KreinLogisticRegression(0.03).fit(K, y)
    warm = KreinLogisticRegression(0.03, solver_options={"init": plain.dual_coef_}).fit(
        K, y
    )
    assert warm.n_iter_[0] == 0
    with pytest.raises(ValueError, match=r"\['init'\] has shape \(1, 3\)"):
        KreinLogisticRegression(0.03, solver_options={"init": np.zeros((1, 3))}).fit(
            K, y
        )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": -1.0}, "alpha"),
        ({"solver": "sgd"}, "solver"),
        ({"indefinite": "ignore"}, "indefinite"),
        ({"solver_options": {"eta": 1.0}}, "does not know"),
        ({"alpha": 0.1, "solver_options": {"init": "random"}}, "'zeros', 'ones'"),
    ],
)
def test_bad_parameters_are_named(params, message, rng):
    K, y = indefinite_data(rng)
    with pytest.raises(ValueError, match=message):
        KreinLogisticRegression(**params).fit(K, y)


def test_bad_data_are_named(rng):
    K, y = indefinite_data(rng)
    with pytest.raises(ValueError, match="one class"):
        KreinLogisticRegression().fit(K, np.ones(60))
    with pytest.raises(ValueError, match="square matrix"):
        KreinLogisticRegression().fit(K[:, :50], y)
    with pytest.raises(ValueError, match="59 labels for 60"):
        KreinLogisticRegression().fit(K, y[:-1])
    K[0, 1] += 1.0
    with pytest.raises(ValueError, match="symmetrize=True"):
        KreinLogisticRegression().fit(K, y)


# -------------------------------------------------------------------------------- CV


def test_cross_validation_is_that_of_scikit_learn_with_log_loss():
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    X, y = load_iris(return_X_y=True)
    K = tl1_kernel(unit_box(X))
    alphas = [1e-2, 0.1]
    folds = StratifiedKFold(3)
    ours = KreinLogisticRegressionCV(alphas, cv=folds).fit(K, y)
    theirs = GridSearchCV(
        KreinLogisticRegression(),
        {"alpha": alphas[::-1]},
        cv=folds,
        scoring="neg_log_loss",
    ).fit(K, y)
    scores = np.array([theirs.cv_results_[f"split{i}_test_score"] for i in range(3)]).T
    np.testing.assert_allclose(split_scores(ours), scores, rtol=1e-6)
    assert ours.best_params_ == theirs.best_params_
    np.testing.assert_allclose(
        ours.dual_coef_, theirs.best_estimator_.dual_coef_, atol=1e-8
    )


def test_cross_validation_by_accuracy(rng):
    F = rng.standard_normal((90, 4))
    y = F[:, 0] - F[:, 1] > 0
    F = (F * [1, 1, 1, -1]) @ F.T
    model = KreinLogisticRegressionCV([0.01, 1.0], cv=3, scoring="accuracy").fit(F, y)
    scores = split_scores(model)
    assert scores.shape == (2, 3)
    assert np.all((scores >= 0) & (scores <= 1))
    assert model.score(F, y) > 0.7


def test_bad_grids_are_named(rng):
    K, y = indefinite_data(rng)
    with pytest.raises(ValueError, match="alphas must be one or more positive"):
        KreinLogisticRegressionCV([0.1, -1.0]).fit(K, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_search_tries_only_penalties_that_it_can_use(rng, n_classes):
    """Those below the floor would all be raised to it, with a warning at the end."""
    X = rng.standard_normal((60, 3))
    K, y = np.tanh(X @ X.T), np.argmax(X[:, :n_classes], axis=1)
    model = KreinLogisticRegressionCV(indefinite="raise-alpha").fit(K, y)
    tried = model.cv_results_["param_alpha"]
    assert model.alpha_used_ == model.best_params_["alpha"]
    assert np.unique(tried).size == tried.size < 6
    with pytest.warns(UserWarning, match="alpha was raised"):
        KreinLogisticRegression(0.5 * tried.min()).fit(K, y)


@pytest.mark.parametrize("alpha", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("size", [1.0, 1e3])
def test_residual_counts_the_rounding_of_the_kernel(alpha, size):
    from fractions import Fraction

    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = X[:, 0] + 0.5 * rng.standard_normal(60) > 0
    K = size * np.exp(-((X[:, None] - X) ** 2).sum(axis=-1))
    model = KreinLogisticRegression(alpha, tol=1e-3).fit(K, y)
    exact = np.vectorize(Fraction, otypes=[object])
    coef = exact(model.dual_coef_[0])
    outputs = exact(K) @ coef + Fraction(model.intercept_[0])
    F = outputs.astype(float)
    scores = np.where(y, expit(-F), -expit(F))
    residual = np.abs(60 * alpha * model.dual_coef_[0] - scores).max()
    residual = max(residual, abs(float(sum(coef))))
    assert residual <= model.residual_[0] + 1e-15


def test_the_search_is_not_held_up_by_negative_eigenvalues(rng):
    """Large ones need a penalty under which little is learnt, or the flipped kernel."""
    y = np.repeat([0, 1, 2], 20)
    K = np.where(y[:, None] == y, 0.3, -0.1) + np.eye(60)
    noise = rng.standard_normal((60, 60))
    K = K + 0.25 * (noise + noise.T)
    known, new = np.arange(0, 60, 2), np.arange(1, 60, 2)
    A, B = K[np.ix_(known, known)], K[np.ix_(new, known)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KreinLogisticRegressionCV().fit(A, y[known])
    assert model.flipped_
    with pytest.warns(UserWarning, match="alpha was raised"):
        raised = KreinLogisticRegressionCV([1e-4, 1e-3], indefinite="raise-alpha").fit(
            A, y[known]
        )
    assert not raised.flipped_
    assert model.best_score_ > raised.best_score_
    assert model.score(B, y[new]) > 0.9
    psd = KreinLogisticRegressionCV().fit(A @ A, y[known])
    assert not psd.flipped_
