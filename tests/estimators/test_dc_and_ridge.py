"""DCSVC and KreinRidge: equivalences, weights, certificates, bad input."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from krein import (
    DCSVC,
    KreinRidge,
    Spectrum,
    SpectrumOneClassSVM,
    SpectrumSVR,
    rbf_kernel,
    sigmoid_kernel,
    tl1_kernel,
)
from krein.machines.ridge import _System, spectral_ridge


def indefinite_data(n=100):
    X, y = make_moons(n, noise=0.25, random_state=0)
    K = sigmoid_kernel((X - X.mean(0)) / X.std(0), gamma=1.0, coef0=-0.5)
    assert np.linalg.eigvalsh(K)[0] < -1
    return K, y


@pytest.mark.parametrize("init", ["libsvm", "zeros"])
def test_the_kkt_gap_holds_on_an_indefinite_kernel(init):
    K, y = indefinite_data()
    model = DCSVC(C=2.0, tol=1e-5, solver_options={"init": init}).fit(K, y)
    assert model.kkt_gap_[0] <= 1e-4
    signs = np.where(y == 1, 1.0, -1.0)
    f = K @ model.dual_coef_[0]
    grow = np.where(signs > 0, model.alpha_[0] < 2.0, model.alpha_[0] > 0)
    fall = np.where(signs > 0, model.alpha_[0] > 0, model.alpha_[0] < 2.0)
    assert (signs - f)[grow].max() - (signs - f)[fall].min() <= 1e-4
    assert not model.unbounded_[0]
    np.testing.assert_allclose(model.dual_coef_[0], signs * model.alpha_[0])


@pytest.mark.parametrize("init", ["libsvm", "zeros"])
def test_positive_in_svc_out(init):
    X, y = make_moons(90, noise=0.2, random_state=1)
    K, new = rbf_kernel(X), rbf_kernel(X[:20] + 0.1, X)
    ours = DCSVC(tol=1e-8, solver_options={"init": init}, max_iter=5000).fit(K, y)
    svc = SVC(kernel="precomputed", tol=1e-10).fit(K, y)
    np.testing.assert_allclose(
        ours.decision_function(new), svc.decision_function(new), atol=1e-6
    )


@pytest.mark.parametrize("solver", ["tdca", "dc-primal"])
def test_several_classes(solver):
    X, y = load_iris(return_X_y=True)
    X = (X - X.min(0)) / (X.max(0) - X.min(0))
    model = DCSVC(
        solver=solver, kernel="tl1", kernel_params={"tau": 2.8}, tol=1e-3
    ).fit(X, y)
    assert model.score(X, y) > 0.93
    assert model.kkt_gap_.shape == model.unbounded_.shape == (3,)


def test_weights_are_repetition_for_both_solvers(rng):
    X, y = make_moons(40, noise=0.2, random_state=2)
    weight = rng.integers(0, 3, 40)
    copies = np.repeat(np.arange(40), weight)
    new = rbf_kernel(X + 0.05, X)
    one = DCSVC(tol=1e-9).fit(rbf_kernel(X), y, weight)
    two = DCSVC(tol=1e-9).fit(rbf_kernel(X[copies]), y[copies])
    np.testing.assert_allclose(
        one.decision_function(new), two.decision_function(new[:, copies]), atol=1e-6
    )
    # The primal algorithm takes the same steps, so the kernel may be indefinite.
    K = tl1_kernel(X, tau=1.0)
    new = tl1_kernel(X + 0.05, X, tau=1.0)
    settings = {"solver": "dc-primal", "C": 0.5, "max_iter": 5, "tol": 1e-12}
    with pytest.warns(ConvergenceWarning, match="did not reach"):
        one = DCSVC(**settings).fit(K, y, weight)
    with pytest.warns(ConvergenceWarning, match="did not reach"):
        two = DCSVC(**settings).fit(K[np.ix_(copies, copies)], y[copies])
    np.testing.assert_allclose(
        one.decision_function(new), two.decision_function(new[:, copies]), atol=1e-6
    )


def test_an_unbounded_primal_is_said(with_spectrum):
    K = with_spectrum(np.r_[-np.linspace(0.5, 2.0, 20), np.linspace(0.1, 5.0, 20)])
    model = DCSVC(C=0.2, solver="dc-primal")
    with pytest.warns(ConvergenceWarning, match="unbounded below for 1 of 1 rows"):
        model.fit(K, np.arange(40) % 2)
    assert model.unbounded_[0]
    assert np.isfinite(model.dual_coef_).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0.0}, "'C' parameter"),
        ({"solver": "smo"}, "'solver' parameter"),
        ({"solver_options": {"rho": 1}}, "is not right for solver="),
        ({"solver_options": {"init": "ones"}}, "'libsvm' or 'zeros'"),
    ],
)
def test_bad_settings_of_dcsvc_are_named(params, message):
    K, y = indefinite_data(30)
    with pytest.raises(ValueError, match=message):
        DCSVC(**params).fit(K, y)


@pytest.mark.slow
def test_tdca_at_five_thousand(shared_data):
    data = shared_data("ida_banana")
    rows = np.random.default_rng(0).permutation(len(data["y"]))[:5000]
    X = data["X"][rows]
    X = (X - X.min(0)) / (X.max(0) - X.min(0))
    model = DCSVC(kernel="tl1", kernel_params={"tau": 0.3}, tol=1e-4)
    model.fit(X, data["y"][rows])
    assert model.kkt_gap_[0] <= 1e-4
    assert model.result_.status == "converged"
    assert model.score(X, data["y"][rows]) > 0.75


# ------------------------------------------------------------------------------ ridge


def targets(n=60):
    X = np.random.default_rng(3).uniform(size=(n, 2))
    return X, np.sin(4 * X[:, 0]) + X[:, 1] + 2.0


@pytest.mark.parametrize("method", ["stabilised", "none", "flip", "clip", "shift"])
def test_a_positive_kernel_gives_kernel_ridge(method):
    X, y = targets()
    K, new = rbf_kernel(X, gamma=3.0), rbf_kernel(X[:9] + 0.05, X, gamma=3.0)
    K = K + 1e-3 * np.eye(60)  # safely positive, so that nothing is cut
    ours = KreinRidge(0.1, method=method, fit_intercept=False).fit(K, y)
    theirs = KernelRidge(alpha=0.1, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), atol=1e-7)
    assert ours.duality_gap_[0] < 1e-10 * ours.objective_[0]


@pytest.mark.parametrize("method", ["stabilised", "none", "flip", "clip", "square"])
def test_weights_are_repetition_in_ridge(method, rng):
    X, y = targets(30)
    weight = rng.integers(0, 4, 30)
    copies = np.repeat(np.arange(30), weight)
    new = tl1_kernel(X + 0.03, X, tau=0.5)
    one = KreinRidge(0.3, method=method).fit(tl1_kernel(X, tau=0.5), y, weight)
    two = KreinRidge(0.3, method=method).fit(tl1_kernel(X[copies], tau=0.5), y[copies])
    np.testing.assert_allclose(one.predict(new), two.predict(new[:, copies]), atol=1e-8)


@pytest.mark.parametrize("size", [0.0, 1e-6, 1e-2, 1.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_gap_of_ridge_bounds_what_is_missing(size, fit_intercept, with_spectrum):
    """At points that do not solve it: no nearer to the minimum than they say."""
    rng = np.random.default_rng(5)
    K = with_spectrum(np.r_[np.zeros(5), rng.uniform(0, 5, 25)])
    weight, y, alpha = rng.uniform(0.1, 4.0, 30), rng.standard_normal(30) + 3.0, 0.2
    basis = np.column_stack([K, np.ones(30)]) if fit_intercept else K
    penalty = np.zeros((basis.shape[1],) * 2)
    penalty[:30, :30] = alpha * K

    def objective(p):
        rest = y - basis @ p
        return weight @ rest**2 + p @ penalty @ p

    normal = basis.T @ (weight[:, None] * basis) + penalty
    least = objective(np.linalg.lstsq(normal, basis.T @ (weight * y), rcond=1e-13)[0])
    spectrum = Spectrum.exact(K, weight)
    result, b = spectral_ridge(
        spectrum,
        spectrum.eigenvalues + alpha,
        y,
        alpha=alpha,
        convex=True,
        fit_intercept=fit_intercept,
    )
    v = result.x + size * rng.standard_normal(30)
    divisors, near = spectrum.eigenvalues + alpha, np.zeros(30, dtype=bool)
    system = _System(spectrum.eigenvectors, divisors, weight**0.5, alpha, near)
    missed = system.missed(v, y - b)
    value = system.objective(v, missed, y - b)
    gap = system.gap(v, missed, np.abs(y) + abs(b), balanced=fit_intercept).value
    point = np.append(v, b) if fit_intercept else v
    assert value == pytest.approx(objective(point), rel=1e-12)
    assert value - least <= gap + 1e-12 * least
    if size == 0.0:
        assert gap <= 1e-12 * least
        assert result.certificate.value == gap


def test_ridge_of_constant_targets_is_solved():
    model = KreinRidge(method="clip").fit(np.eye(4), np.full(4, 0.1))
    assert model.result_.status == "converged"
    np.testing.assert_allclose(model.predict(np.eye(4)), 0.1)


def test_raw_ridge_solves_its_equation_with_an_intercept(with_spectrum, rng):
    K = with_spectrum(np.r_[-3.0, -1.0, rng.uniform(0, 5, 28)])
    y = rng.standard_normal(30) + 7.0
    model = KreinRidge(0.5, method="none").fit(K, y)
    a = model.dual_coef_[0]
    np.testing.assert_allclose(K @ a + 0.5 * a + model.intercept_[0], y, atol=1e-9)
    assert a.sum() == pytest.approx(0.0, abs=1e-9)


def test_stabilised_is_raw_away_from_the_resonance_and_bounded_at_it(
    with_spectrum, rng
):
    far = with_spectrum(np.r_[-3.0, rng.uniform(0, 5, 29)])
    y = rng.standard_normal(30)
    raw, stable = (
        KreinRidge(0.5, method=m).fit(far, y) for m in ("none", "stabilised")
    )
    np.testing.assert_allclose(raw.dual_coef_, stable.dual_coef_, atol=1e-9)
    near = with_spectrum(np.r_[-0.5 + 1e-8, rng.uniform(0, 5, 29)])
    settings = {"alpha": 0.5, "fit_intercept": False}
    stable = KreinRidge(**settings).fit(near, y)
    assert np.linalg.norm(stable.dual_coef_) <= np.linalg.norm(y) / 0.5 + 1e-9
    raw = KreinRidge(**settings, method="none").fit(near, y)
    assert np.linalg.norm(raw.dual_coef_) > 1e6


def test_a_singular_raw_equation_is_an_error():
    K = np.diag([-0.5, 1.0, 2.0])
    with pytest.raises(ValueError, match=r"makes K \+ alpha I singular"):
        KreinRidge(0.5, method="none").fit(K, [1.0, 2.0, 3.0])
    assert np.isfinite(KreinRidge(0.5).fit(K, [1.0, 2.0, 3.0]).dual_coef_).all()


def test_flip_of_ridge_is_ridge_on_the_flipped_kernel(with_spectrum, rng):
    values = np.r_[-3.0, -1.0, rng.uniform(0.1, 5, 28)]
    K = with_spectrum(values)
    y = rng.standard_normal(30)
    found, U = np.linalg.eigh(K)
    flipped = (U * np.abs(found)) @ U.T
    one = KreinRidge(0.3, method="flip").fit(K, y)
    two = KreinRidge(0.3, method="none").fit(0.5 * (flipped + flipped.T), y)
    np.testing.assert_allclose(one.predict(K), two.predict(flipped), atol=1e-10)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", [1.0, 1e3])
@pytest.mark.parametrize("seed", range(5))
def test_converged_and_the_residual_have_one_unit(seed, scale):
    """Indefinite regression and one-class machines: residual_ is what tol bounds."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 3))
    K = np.tanh(X @ X.T - 0.5)
    y = scale * (X[:, 0] + 0.3 * rng.standard_normal(30))
    svr = SpectrumSVR("none", C=scale).fit(K, y)
    one_class = SpectrumOneClassSVM("none").fit(scale * K)
    for model in (svr, one_class):
        converged = model.result_.status == "converged"
        assert converged == bool(model.residual_[0] <= model.tol)


def test_a_penalty_at_the_end_of_the_search_is_told(rng):
    """Targets without noise; with noise the search ends inside and says nothing."""
    X = rng.standard_normal((30, 2))
    K = np.exp(-0.1 * np.sum((X[:, None] - X) ** 2, axis=2))
    smooth = K @ rng.standard_normal(30)
    with pytest.warns(UserWarning, match="look free of noise"):
        KreinRidge(alpha="auto", method="flip").fit(K, smooth)
    with warnings.catch_warnings(action="error"):
        noise = smooth + rng.standard_normal(30)
        KreinRidge(alpha="auto", method="flip").fit(K, noise)
