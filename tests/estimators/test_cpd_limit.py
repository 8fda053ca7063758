"""c.p.d. models without regularisation, and the rule for separable classes."""

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from krein import CPDSVC, CPDSVCCV, CPDRegressor, check_certificate, thin_plate_kernel
from krein.machines.separation import separable

NEW = np.random.default_rng(5).uniform(-2, 2, (40, 2))


@pytest.fixture(scope="module")
def moons():
    return make_moons(100, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def three_classes():
    """The class "a" is linearly separable from the others, "b" and "c" are not."""
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [6.0, 1.0]])
    y = rng.integers(0, 3, 90)
    return centres[y] + 0.7 * rng.standard_normal((90, 2)), np.array(list("abc"))[y]


# --------------------------------------------------------------------------- alpha = 0


@pytest.mark.parametrize(
    ("exponent", "name"),
    [(1, "linear"), (2, "thin_plate_spline"), (3, "cubic"), (5, "quintic")],
)
def test_interpolant_solves_equation_20(rng, exponent, name):
    X, y = rng.uniform(size=(60, 2)), rng.standard_normal(60)
    model = CPDRegressor(0, exponent=exponent, scale=False)
    model.fit(X, y, sample_weight=rng.uniform(0.1, 3, 60))
    P = model.kernel_.polynomials(X)
    Phi, r = thin_plate_kernel(X, exponent=exponent), P.shape[1]
    system = np.block([[Phi, P], [P.T, np.zeros((r, r))]])
    wanted = np.linalg.solve(system, np.append(y, np.zeros(r)))
    np.testing.assert_allclose(model.dual_coef_[0], wanted[:60], rtol=1e-5)
    new = rng.uniform(size=(20, 2))
    scipys = RBFInterpolator(X, y, kernel=name)(new)
    np.testing.assert_allclose(model.predict(new), scipys, atol=1e-6)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-7)


@pytest.mark.parametrize("polynomial", ["free", "zero"])
@pytest.mark.parametrize("exponent", [1, 3])
def test_the_hard_margin_is_that_of_a_quadratic_program(moons, exponent, polynomial):
    """Least a'Phi a with y f >= 1 over f = Phi a (+ P b), P'a = 0."""
    cp = pytest.importorskip("cvxpy")
    X, y = moons
    model = CPDSVC(0, exponent=exponent, polynomial=polynomial).fit(X, y)
    Phi, P = model.kernel_(X, X), model.kernel_.polynomials(X)
    Z = np.linalg.qr(P, mode="complete")[0][:, P.shape[1] :]
    root = np.linalg.cholesky(Z.T @ Phi @ Z)
    features = Phi @ Z @ np.linalg.inv(root.T)
    g, b = cp.Variable(Z.shape[1]), cp.Variable(P.shape[1])
    f = features @ g + (P @ b if polynomial == "free" else 0.0)
    signs = 2.0 * y - 1
    problem = cp.Problem(cp.Minimize(cp.sum_squares(g)), [cp.multiply(signs, f) >= 1.0])
    problem.solve(solver=cp.CLARABEL)
    a = model.dual_coef_[0]
    assert (signs * model.decision_function(X)).min() >= 1.0 - 1e-7
    assert a @ Phi @ a == pytest.approx(problem.value, rel=1e-6)


def test_of_a_positive_definite_kernel_it_is_the_limit_of_libsvm(moons):
    """Order 0, no polynomials: the hard-margin SVM without an intercept."""
    X, y = moons
    model = CPDSVC(0, kernel="rbf", kernel_params={"gamma": 5.0}, scale=False)
    margins = (2 * y - 1) * model.fit(X, y).decision_function(X)
    a = model.dual_coef_[0]
    assert margins.min() == pytest.approx(1.0, abs=1e-8)
    assert np.all((2 * y - 1) * a >= 0)
    assert np.all(np.abs(margins - 1)[a != 0] < 1e-7)
    assert model.support_.size < len(y)
    assert SVC(C=1e6, gamma=5.0).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("loss", ["squared_hinge", "squared"])
def test_zero_is_the_limit_of_small_alpha(moons, loss):
    X, y = moons
    limit = CPDSVC(0, exponent=1, loss=loss).fit(X, y)
    wanted = limit.decision_function(NEW)
    far = [
        np.abs(
            CPDSVC(a, exponent=1, loss=loss).fit(X, y).decision_function(NEW) - wanted
        )
        for a in (1e-5, 1e-7)
    ]
    assert far[1].max() < min(1e-4, 0.02 * far[0].max())
    margins = (2 * y - 1) * limit.decision_function(X)
    assert margins.min() == pytest.approx(1.0, abs=1e-9)
    assert (margins.max() > 1.5) == (loss == "squared_hinge")


def test_hard_margin_is_invariant_under_dilation(moons):
    """Without alpha nothing has to follow the scale (Section 3 of the paper)."""
    X, y = moons
    one, grown = (CPDSVC(0, scale=False).fit(size * X, y) for size in (1.0, 4.3))
    wanted, found = one.decision_function(NEW), grown.decision_function(4.3 * NEW)
    np.testing.assert_allclose(found, wanted, atol=1e-6 * np.abs(wanted).max())
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    again = CPDSVC(0, scale=False).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    found = again.decision_function(NEW)
    np.testing.assert_allclose(found, wanted, atol=1e-6 * np.abs(wanted).max())


def test_certificate_of_alpha_zero(moons):
    X, y = moons
    for options in ({}, {"loss": "squared"}, {"exponent": 1}, {"polynomial": "zero"}):
        model = CPDSVC(0, **options).fit(X, y)
        assert model.objective_[0] <= model.duality_gap_[0] < 1e-12
        assert check_certificate(model, X, y).holds
        assert model.result_.status == "converged"
    model.poly_coef_[0, 0] += 1e-3
    assert not check_certificate(model, X, y).holds


def test_data_that_contradict_each_other_are_named(moons):
    X, y = moons
    named = r"contradict each other, items 0 and 100 .* Use alpha > 0"
    with pytest.raises(ValueError, match=named):
        CPDSVC(0).fit(np.r_[X, X[:1]], np.r_[y, 1 - y[0]])
    with pytest.raises(ValueError, match=named):
        CPDRegressor(0).fit(np.r_[X, X[:1]], np.r_[y, 1 - y[0]])
    with pytest.raises(ValueError, match="contradict each other"):
        CPDSVC(0, kernel="precomputed").fit(np.zeros((100, 100)), y)
    with pytest.raises(ValueError, match="not conditionally positive definite"):
        CPDSVC(0, kernel="precomputed").fit(-thin_plate_kernel(X, exponent=1), y)
    with pytest.raises(ValueError, match=r"polynomial='zero'.*leave functions out"):
        CPDSVC(0, loss="squared", n_basis=5, random_state=0).fit(X, y)
    # Equal items of one label contradict nothing.
    model = CPDSVC(0).fit(np.r_[X, X[:1]], np.r_[y, y[0]])
    wanted = CPDSVC(0, scale=False).fit(X, y).decision_function(NEW)
    found = CPDSVC(0, scale=False).fit(np.r_[X, X[:1]], np.r_[y, y[0]])
    np.testing.assert_allclose(found.decision_function(NEW), wanted, rtol=1e-5)
    assert model.result_.status == "converged"


def test_no_more_samples_than_polynomials(rng):
    X = rng.standard_normal((10, 20))
    y = np.arange(10) % 2
    np.testing.assert_array_equal(CPDSVC(0).fit(X, y).predict(X), y)
    values = CPDRegressor(0).fit(X, X[:, 0] ** 2).predict(X)
    np.testing.assert_allclose(values, X[:, 0] ** 2, atol=1e-8)


# ---------------------------------------------------------- polynomial = "separable"


def test_a_linear_program_decides():
    """On both sides of the threshold, however narrow the margin is."""
    x = np.r_[-1.0, -0.5, 0.0, 1e-6, 0.5, 1.0]
    P = np.column_stack([np.ones(6), x])
    assert separable(P, np.where(x > 0, 1.0, -1.0))
    assert separable(1e6 * P, np.where(x > 0, 1.0, -1.0))
    assert separable(P * [1.0, 1e6], np.where(x > 0, 1.0, -1.0))
    assert not separable(P[:, :1], np.where(x > 0, 1.0, -1.0))
    assert not separable(P[:, 1:], np.where(x > 0, 1.0, -1.0))  # 0 stays on the line
    mixed = np.array([-1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    assert not separable(P, mixed)
    assert separable(np.column_stack([P, x**2, x**3]), mixed) == separable(
        np.vander(x, 4), mixed
    )
    twice = np.r_[x, x[3]]  # the same point in both classes
    assert not separable(np.vander(twice, 7), np.r_[np.sign(x - 1e-7), -1.0])


@pytest.mark.parametrize("seed", range(6))
def test_it_agrees_with_the_largest_margin_of_a_conic_program(seed):
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 6))
    y = np.where(X[:, 0] + 0.4 * (seed % 3) * rng.standard_normal(30) > 0, 1.0, -1.0)
    P = np.column_stack([np.ones(30), X])
    b, t = cp.Variable(7), cp.Variable()
    limits = [cp.multiply(y, P @ b) >= t, cp.norm(b) <= 1]
    margin = cp.Problem(cp.Maximize(t), limits).solve(solver=cp.CLARABEL)
    assert separable(P, y) == (margin > 1e-7)
    assert (margin > 1e-7) == (seed % 3 < 2)


def test_the_rule_of_the_paper(moons):
    X, y = moons
    options = {"alpha": 0.1, "scale": False}
    ruled = CPDSVC(polynomial="separable", **options).fit(X, y)
    free = CPDSVC(polynomial="free", **options).fit(X, y)
    assert ruled.polynomial_ == "free"
    np.testing.assert_array_equal(ruled.dual_coef_, free.dual_coef_)
    apart = X[:, 0] > 0.5
    ruled = CPDSVC(polynomial="separable", **options).fit(X, apart)
    zero = CPDSVC(polynomial="zero", **options).fit(X, apart)
    assert ruled.polynomial_ == "zero"
    assert not ruled.poly_coef_.any()
    np.testing.assert_array_equal(ruled.dual_coef_, zero.dual_coef_)
    published = CPDSVC(polynomial="separable", solver="published", **options)
    assert published.fit(X, apart).polynomial_ == "zero"


def test_each_class_has_a_decision_of_its_own(three_classes):
    X, y = three_classes
    options = {"alpha": 0.1, "scale": False}
    model = CPDSVC(polynomial="separable", **options).fit(X, y)
    assert model.polynomial_ == "mixed"
    for k, name in enumerate("abc"):
        kind = "zero" if name == "a" else "free"
        assert model.poly_coef_[k].any() == (kind == "free")
        alone = CPDSVC(polynomial=kind, **options).fit(X, y == name)
        np.testing.assert_allclose(
            model.decision_function(NEW)[:, k], alone.decision_function(NEW), atol=1e-7
        )
    assert check_certificate(model, X, y).holds
    assert not check_certificate(_broken(model), X, y).holds
    with_chances = CPDSVC(polynomial="separable", probability=True, random_state=0)
    p = with_chances.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def _broken(model):
    model.poly_coef_ = model.poly_coef_ + 1e-3
    return model


def test_a_search_follows_the_rule_in_every_fold(three_classes):
    X, y = three_classes
    model = CPDSVCCV([1.0, 0.01], polynomial="separable", cv=3).fit(X, y)
    assert model.polynomial_ == "mixed"
    assert model.best_score_ > 0.7


def test_polynomials_stay_where_nothing_else_is_left(rng):
    X, y = rng.standard_normal((10, 20)), np.arange(10) % 2
    model = CPDSVC(polynomial="separable").fit(X, y)
    assert model.polynomial_ == "free"
    np.testing.assert_array_equal(model.predict(X), y)
