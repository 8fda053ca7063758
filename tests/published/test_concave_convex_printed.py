"""Equations (10) and (12) of Liu et al. as printed: what they do, directly."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from krein import KreinLogisticRegression
from krein.machines.logistic import IndefiniteLogistic
from krein.published.concave_convex import CCCPSettings, _Procedure, cccp_logistic
from krein.spectrum.decomposition import Spectrum

ALPHA, ETA, DECAY, EPSILON = 0.05, 0.02, 0.8, 1e-3
PRINTED = CCCPSettings(epsilon=EPSILON, eta=ETA, decay=DECAY, equations="printed")


def make(rng, n=24):
    K = rng.standard_normal((n, n))
    K = K + K.T
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    return K, y, IndefiniteLogistic(K, (y[:, None] > 0) * 1.0, ALPHA, None, False)


def transcription(K, y, picks=None, outer=20):
    """Algorithm 1 as it is printed, in the paper's own symbols; picks: samples (12)."""
    n = len(y)
    mu, V = np.linalg.eigh(K)
    tau = 1.1 * -mu[0]
    plus = V @ np.diag(np.maximum(mu, 0) + tau) @ V.T
    minus = V @ np.diag(np.maximum(-mu, 0) + tau) @ V.T
    a = np.zeros(n)

    def F(a, a_k):
        loss = np.mean(np.log1p(np.exp(-y * (K @ a))))
        return ALPHA / 2 * a @ plus @ a + loss - ALPHA * a @ minus @ a_k

    for _ in range(outer):
        a_k, eta, value = a, ETA, F(a, a)
        while True:
            beta = 1 / (1 + np.exp(y * (K @ a)))
            if picks is None:
                step = ALPHA * plus @ a - y * (K @ beta) / n - ALPHA * minus @ a_k
            else:
                j = next(picks)
                step = -y[j] * K[:, j] * beta[j] + ALPHA * plus @ a
            a, eta = a - eta * step, DECAY * eta
            new = F(a, a_k)
            if abs(new - value) <= EPSILON:
                break
            value = new
    return a


def test_the_printed_gradient_descent_is_its_transcription(rng):
    K, y, problem = make(rng)
    result = cccp_logistic(problem, Spectrum.exact(K), PRINTED)
    np.testing.assert_allclose(result.x[:, 0], transcription(K, y), atol=1e-10)
    corrected = replace(PRINTED, equations="corrected")
    other = cccp_logistic(problem, Spectrum.exact(K), corrected)
    assert np.abs(other.x - result.x).max() > 1e-3


def test_the_printed_stochastic_step_is_its_transcription(rng):
    K, y, problem = make(rng)
    random = np.random.RandomState(3)
    picks = iter(lambda: random.randint(len(y)), None)
    expected = transcription(K, y, picks)
    settings = replace(PRINTED, stochastic=True)
    result = cccp_logistic(
        problem, Spectrum.exact(K), settings, random_state=np.random.RandomState(3)
    )
    np.testing.assert_allclose(result.x[:, 0], expected, atol=1e-10)


def field(K, y, a):
    """(10) as printed at a_k = a, without the common factor alpha."""
    return K @ a - y * (K @ expit(-y * (K @ a))) / (len(y) * ALPHA)


def test_the_printed_gradient_is_that_of_no_function(rng):
    """A gradient has a symmetric Jacobian; with equal labels it is one."""
    K, y, _ = make(rng, n=6)
    h = 1e-6
    for labels, symmetric in ((y, False), (np.ones(6), True)):
        J = np.column_stack(
            [field(K, labels, h * e) - field(K, labels, -h * e) for e in np.eye(6)]
        ) / (2 * h)
        assert np.allclose(J, J.T, atol=1e-6) == symmetric


def test_its_fixed_points_know_the_training_labels_and_nothing_else(rng):
    """Ka = y * theta, where theta solves an equation without labels."""
    K = np.exp(-np.abs(np.subtract.outer(np.arange(20.0), np.arange(20.0))) / 2)
    K += 0.01 * np.diag(rng.uniform(-1, 1, 20))  # K >= 0 elementwise
    theta = np.zeros(20)
    for _ in range(2000):
        theta = theta - 0.05 * (theta - K @ expit(-theta) / (20 * ALPHA))
    assert theta.min() > 0
    for seed in range(5):
        y = np.where(np.random.default_rng(seed).random(20) < 0.5, 1.0, -1.0)
        a = np.linalg.solve(K, y * theta)
        np.testing.assert_allclose(field(K, y, a), 0, atol=1e-8)
        np.testing.assert_array_equal(np.sign(K @ a), y)


def test_the_printed_stochastic_step_descends_the_convex_part_alone(rng, monkeypatch):
    """Its mean over samples is the gradient of loss + alpha/2 a'K+a."""
    K, y, problem = make(rng)
    settings = replace(PRINTED, stochastic=True)
    spectrum = Spectrum.exact(K)
    p = _Procedure(problem, spectrum, settings, np.random.RandomState(0))
    a = rng.standard_normal(len(y))
    Z = p.V.T @ a[:, None]
    steps = []
    for j in range(len(y)):
        monkeypatch.setattr(p, "_draw", lambda j=j: np.array([j]))
        steps.append(p._gradient(Z))
    plus = p.V @ (p.plus * p.V.T)

    def g(a):
        return np.mean(np.logaddexp(0, -y * (K @ a))) + ALPHA / 2 * a @ plus @ a

    D = rng.standard_normal(len(y))
    slope = (g(a + 1e-6 * D) - g(a - 1e-6 * D)) / 2e-6
    assert (p.V @ np.mean(steps, axis=0))[:, 0] @ D == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("stochastic", [False, True])
def test_a_printed_run_that_escapes_is_diverged(rng, stochastic):
    K, _, problem = make(rng)
    settings = replace(PRINTED, eta=1e3, decay=1.0, stochastic=stochastic)
    result = cccp_logistic(problem, Spectrum.exact(K), settings)
    assert result.status == "diverged"
    assert np.isfinite(result.x).all()


def test_the_estimator_takes_the_printed_equations(rng):
    K, y, _ = make(rng)
    model = KreinLogisticRegression(
        ALPHA,
        solver="ccicp-gd",
        fit_intercept=False,
        indefinite="allow",
        solver_options={"equations": "printed", "epsilon": EPSILON},
    )
    with pytest.warns(UserWarning, match="stationarity|unique"):
        model.fit(K, y)
    np.testing.assert_allclose(model.dual_coef_[0], transcription(K, y), atol=1e-10)


@pytest.mark.parametrize(
    "change",
    [
        {"fit_intercept": True},
        {"weight": np.ones(24)},
        {"targets": np.eye(3)[np.arange(24) % 3]},
    ],
    ids=["intercept", "weights", "classes"],
)
def test_printed_equations_stay_within_the_model_of_the_paper(rng, change):
    _, _, problem = make(rng)
    problem = replace(problem, **change)
    spectrum = Spectrum.exact(problem.K, problem.weight)
    with pytest.raises(ValueError, match="are for two classes without sample weights"):
        cccp_logistic(problem, spectrum, PRINTED)


def test_unknown_equations_are_named(rng):
    K, _, problem = make(rng)
    with pytest.raises(ValueError, match=r"equations must be .* got 'exact'"):
        cccp_logistic(problem, Spectrum.exact(K), replace(PRINTED, equations="exact"))
