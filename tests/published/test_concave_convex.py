"""The procedures of Liu et al.: formulas, equivalences, and that they diverge."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from krein import KreinLogisticRegression, tl1_kernel
from krein.machines.logistic import IndefiniteLogistic
from krein.machines.newton_logistic import newton_logistic
from krein.published.concave_convex import (
    CCCP_DEFAULTS,
    CCCPSettings,
    _Procedure,
    cccp_logistic,
)
from krein.spectrum.decomposition import Spectrum

EXACT = CCCPSettings(epsilon=0.0, decay=1.0, step="lipschitz", max_inner=20_000)


def make(seed=0, n=20, alpha=0.3, k=1, weighted=False, fit_intercept=False):
    rng = np.random.default_rng(seed)
    K = rng.standard_normal((n, n))
    K = K + K.T
    codes = np.r_[np.arange(max(k, 2)), rng.integers(0, max(k, 2), n - max(k, 2))]
    targets = (codes[:, None] == 1) * 1.0 if k == 1 else np.eye(k)[codes]
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    problem = IndefiniteLogistic(K, targets, alpha, weight, fit_intercept)
    return problem, Spectrum.exact(K, weight)


def procedure(problem, spectrum, settings=EXACT):
    return _Procedure(problem, spectrum, settings, np.random.RandomState(0))


def test_the_decomposition_is_positive_and_gives_back_the_kernel():
    problem, spectrum = make()
    p = procedure(problem, spectrum)
    np.testing.assert_allclose(p.plus - p.minus, p.mu, atol=1e-12)
    assert p.plus.min() > 0
    assert p.minus.min() > 0
    assert p.plus.min() == pytest.approx(1.1 * -spectrum.eigenvalues[0])


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_corrected_gradient_is_that_of_the_majoriser(
    k, weighted, fit_intercept, rng
):
    """Eq. (10) as corrected, by differences of eq. (9)."""
    problem, spectrum = make(k=k, weighted=weighted, fit_intercept=fit_intercept)
    p = procedure(problem, spectrum)
    Z, Z_k, D = rng.standard_normal((3, 20, k))
    linear = problem.alpha * p.minus * Z_k
    h = 1e-6
    difference = (p._majoriser(Z + h * D, linear) - p._majoriser(Z - h * D, linear)) / (
        2 * h
    )
    assert np.sum((p._gradient(Z) - linear) * D) == pytest.approx(difference, rel=1e-6)


def test_the_majoriser_touches_the_objective_and_lies_above(rng):
    problem, spectrum = make()
    p = procedure(problem, spectrum)
    Z_k = rng.standard_normal((20, 1))
    linear = problem.alpha * p.minus * Z_k
    constant = 0.5 * problem.alpha * np.sum(p.minus * Z_k**2)

    def objective(Z):
        return problem.value(p.V @ Z)

    assert p._majoriser(Z_k, linear) + constant == pytest.approx(objective(Z_k))
    for _ in range(20):
        Z = Z_k + rng.standard_normal((20, 1))
        assert p._majoriser(Z, linear) + constant >= objective(Z) - 1e-9


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_one_random_sample_gives_the_gradient_on_average(
    fit_intercept, rng, monkeypatch
):
    """Eq. (12) with the missing term: its mean over all samples is eq. (10)."""
    problem, spectrum = make(weighted=True, fit_intercept=fit_intercept)
    one = procedure(problem, spectrum, replace(EXACT, stochastic=True))
    Z = rng.standard_normal((20, 1))
    mean = np.zeros_like(Z)
    for j in range(20):
        monkeypatch.setattr(one, "_draw", lambda j=j: np.array([j]))
        mean += problem.weight[j] / problem.total * one._gradient(Z)
    np.testing.assert_allclose(mean, procedure(problem, spectrum)._gradient(Z))


def test_one_inner_step_is_gradient_descent_on_the_objective():
    problem, spectrum = make()
    settings = CCCPSettings(epsilon=0.0, eta=0.01, decay=1.0, max_inner=1)
    seen = []
    cccp_logistic(
        problem,
        spectrum,
        settings,
        max_iter=5,
        callback=lambda it: seen.append(it.x) and None,
    )
    a = np.zeros((20, 1))
    for x in seen:
        np.testing.assert_allclose(x, a, atol=1e-12)
        scores = problem.scores(problem.K @ a)
        a = a - 0.01 * (problem.alpha * problem.K @ a - problem.K @ scores / 20)
    assert np.abs(a).max() > 1e-3


def test_exact_cccp_grows_by_the_factor_of_the_decomposition():
    """Along a negative eigenvector mu: (tau + |mu|) / tau per outer step.

    Liu et al. claim convergence of the sequence (Theorem 1); once the loss is
    saturated the sub-problem (9) is solved by alpha K+ a = alpha K- a_k.
    """
    K = np.diag([10.0, -1.0])
    problem = IndefiniteLogistic(K, np.ones((2, 1)), 5.0, None, False)
    norms = []
    cccp_logistic(
        problem,
        Spectrum.exact(K),
        replace(EXACT, tau=1.1),
        np.array([[0.0], [-30.0]]),
        max_iter=6,
        callback=lambda it: norms.append(abs(it.x[1, 0])) and None,
    )
    factor = (1.1 + 1.0) / 1.1
    growth = np.array(norms[1:]) / np.array(norms[:-1])
    np.testing.assert_allclose(growth, factor, rtol=1e-3)


def test_counter_example_to_theorem_1():
    """K = diag(10, -1), n = 2, lambda = 5, tau = 1.1 satisfies (15) and diverges."""
    K = np.diag([10.0, -1.0])
    plus, minus, norm = 10 + 1.1, 1 + 1.1, 10  # (15) asks for a positive number
    assert 5.0 * (plus - minus) - norm**2 / (4 * 2) == pytest.approx(32.5)
    problem = IndefiniteLogistic(K, np.array([[1.0], [0.0]]), 5.0, None, False)
    result = cccp_logistic(
        problem, Spectrum.exact(K), replace(EXACT, tau=1.1), max_iter=60, tol=1e-12
    )
    assert result.status == "diverged"
    assert np.isfinite(result.x).all()
    assert result.history["norm"][-1] > 100
    # The stationary point exists and Newton finds it: |mu_min| = 1 < 4 n lambda = 40.
    newton = newton_logistic(problem)
    assert newton.status == "converged"
    assert newton.certificate.value < 1e-12


def test_cccp_on_a_positive_kernel_finds_the_solution(with_spectrum):
    K = with_spectrum(np.linspace(0.5, 3.0, 15))
    targets = np.r_[np.ones((8, 1)), np.zeros((7, 1))]
    problem = IndefiniteLogistic(K, targets, 0.5, None, False)
    result = cccp_logistic(
        problem, Spectrum.exact(K), replace(EXACT, tau=0.01), max_iter=200, tol=1e-8
    )
    assert result.status == "converged"
    np.testing.assert_allclose(result.x, newton_logistic(problem).x, atol=1e-7)


@pytest.mark.parametrize("name", list(CCCP_DEFAULTS))
def test_the_residual_of_the_paper_is_not_small(name, shared_data):
    """No run of the published settings comes near a stationary point (monks1)."""
    data = shared_data("monks1")
    X = data["X"][~data["is_test"]]
    K = tl1_kernel((X - X.min(0)) / (X.max(0) - X.min(0)))
    targets = (data["y"][~data["is_test"], None] == data["y"].max()) * 1.0
    problem = IndefiniteLogistic(K, targets, 0.01, None, False)
    spectrum = Spectrum.exact(K)
    assert spectrum.eigenvalues[0] < -1
    result = cccp_logistic(problem, spectrum, CCCP_DEFAULTS[name])
    assert result.status in ("max_iter", "diverged")
    assert result.certificate.value > 1e-3
    assert np.isfinite(result.x).all()
    assert newton_logistic(problem).certificate.value < 1e-9


def test_eta_as_printed_only_shrinks(rng):
    problem, spectrum = make()
    p = procedure(problem, spectrum, CCCPSettings(epsilon=0.0, max_inner=3))
    Z = rng.standard_normal((20, 1))
    _, eta = p._outer_step(Z, 0.02)
    assert eta == pytest.approx(0.02 * 0.8**3)
    steps = {}
    for reset in (True, False):
        settings = CCCPSettings(epsilon=0.0, max_inner=3, reset_eta=reset)
        steps[reset] = cccp_logistic(problem, spectrum, settings, max_iter=4).history[
            "norm"
        ]
    assert steps[True][1] == pytest.approx(steps[False][1])
    assert steps[True][-1] > 1.5 * steps[False][-1]


def test_an_estimator_that_diverges_says_why_and_stays_finite(with_spectrum):
    K = with_spectrum(np.r_[-3.0, np.linspace(0.0, 5.0, 29)])
    y = np.arange(30) % 2
    model = KreinLogisticRegression(
        0.1,
        solver="cccp-gd",
        fit_intercept=False,
        max_iter=200,
        solver_options={"step": "lipschitz", "epsilon": 0.0, "init": "ones"},
    )
    with pytest.warns(ConvergenceWarning, match="its objective is unbounded"):
        model.fit(K, y)
    assert model.result_.status == "diverged"
    assert np.isfinite(model.dual_coef_).all()


def test_too_long_steps_are_named_on_a_positive_kernel(with_spectrum):
    K = with_spectrum(np.linspace(1.0, 1e4, 30))
    model = KreinLogisticRegression(
        0.1, solver="ccicp-gd", fit_intercept=False, solver_options={"decay": 1.0}
    )
    with pytest.warns(ConvergenceWarning, match="eta is too long"):
        model.fit(K, np.arange(30) % 2)
    assert np.isfinite(model.dual_coef_).all()


@pytest.mark.parametrize("solver", ["cccp-gd", "ccicp-gd"])
def test_weights_are_repetition(solver, rng):
    problem, _ = make(n=15, alpha=1.0)
    weight = rng.integers(1, 4, 15).astype(float)
    copies = np.repeat(np.arange(15), weight.astype(int))
    settings = replace(CCCP_DEFAULTS[solver], eta=0.05, tau=3.0, epsilon=1e-5)
    weighted = replace(problem, weight=weight)
    K = problem.K[np.ix_(copies, copies)]
    repeated = IndefiniteLogistic(K, problem.targets[copies], 1.0, None, False)
    one = cccp_logistic(
        weighted, Spectrum.exact(problem.K, weight), settings, weight[:, None]
    )
    two = cccp_logistic(
        repeated, Spectrum.exact(K), settings, np.ones((copies.size, 1))
    )
    assert one.n_iter == two.n_iter
    np.testing.assert_allclose(
        one.x[copies] / weight[copies, None], two.x, atol=1e-7 * np.abs(two.x).max()
    )


@pytest.mark.parametrize("epsilon", [1e-4, 1e-8])
def test_inner_loops_are_short_because_eta_falls(epsilon):
    """With the printed decay no epsilon makes them long, unlike the paper's times."""
    problem, spectrum = make()
    settings = CCCPSettings(epsilon=epsilon, eta=1e-3)
    inner = np.diff(cccp_logistic(problem, spectrum, settings).history["inner"])
    assert inner.size == 20
    assert inner.min() >= 1
    assert inner.max() <= 80
    unhurried = CCCPSettings(epsilon=epsilon, eta=1e-3, decay=1.0)
    loops = np.diff(cccp_logistic(problem, spectrum, unhurried).history["inner"])
    assert loops.max() > 2 * inner.max()
