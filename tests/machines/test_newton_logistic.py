"""Newton and the Krein-space gradient: certified by an independent residual."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, softmax

from krein.machines.logistic import IndefiniteLogistic
from krein.machines.newton_logistic import krein_gd, newton_logistic
from krein.spectrum.decomposition import norm_bound


class Operator:
    """A matrix that is only multiplied: systems are solved by conjugate gradients."""

    def __init__(self, K):
        self.matrix = K
        self.shape = K.shape

    def __matmul__(self, v):
        return self.matrix @ v


def multiplied(problem):
    return replace(problem, K=Operator(problem.K))


RATIOS = [0.1, 0.3, 0.5, 0.7, 0.9, 0.99]


def problem_with_ratio(ratio, k=1, *, n=50, fit_intercept=True, seed=0, weight=None):
    """Random kernel with both signs, alpha chosen to give the uniqueness ratio."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    values = np.r_[-rng.uniform(1, 10, n // 3), rng.uniform(0, 40, n - n // 3)]
    K = (Q * values) @ Q.T
    K = 0.5 * (K + K.T)
    codes = np.r_[np.arange(max(k, 2)), rng.integers(0, max(k, 2), n - max(k, 2))]
    targets = (codes[:, None] == 1) * 1.0 if k == 1 else np.eye(k)[codes]
    total = n if weight is None else weight.sum()
    root = np.ones(n) if weight is None else np.sqrt(weight)
    smallest = np.linalg.eigvalsh(root[:, None] * K * root)[0]
    alpha = abs(smallest) / ((4 if k == 1 else 2) * total * ratio)
    return IndefiniteLogistic(K, targets, alpha, weight, fit_intercept)


def residual_by_hand(problem, A, b):
    """The stationarity equation, written down once more."""
    n, k = problem.targets.shape
    w = np.ones(n) if problem.weight is None else problem.weight
    F = problem.K @ A + b
    P = expit(F) if k == 1 else softmax(F, axis=1)
    scaled = w.sum() * problem.alpha * A / w[:, None]
    worst = np.abs(scaled - (problem.targets - P)).max()
    return max(worst, np.abs(A.sum(axis=0)).max()) if problem.fit_intercept else worst


@pytest.mark.parametrize("form", [lambda problem: problem, multiplied])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("ratio", RATIOS)
def test_newton_solves_the_equation(ratio, k, fit_intercept, form):
    weight = np.random.default_rng(1).uniform(0.2, 3.0, 50)
    problem = problem_with_ratio(ratio, k, fit_intercept=fit_intercept, weight=weight)
    result = newton_logistic(form(problem), tol=1e-11)
    assert result.status == "converged"
    assert residual_by_hand(problem, result.x, result.info["intercept"]) <= 1e-11
    assert np.abs(result.x).max() > 0.01 * problem.bound.max()
    assert np.all(np.abs(result.x) <= problem.bound * (1 + 1e-12))


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("ratio", [0.5, 0.99])
def test_six_random_starts_agree_below_the_threshold(ratio, k, rng):
    problem = problem_with_ratio(ratio, k)
    solutions = [
        newton_logistic(problem, 5 * rng.standard_normal(problem.targets.shape)).x
        for _ in range(6)
    ]
    for other in solutions[1:]:
        np.testing.assert_allclose(other, solutions[0], atol=1e-8)


def test_the_threshold_is_tight(rng):
    """Just above it two solutions exist: K = -I with the same label everywhere.

    For one sample per label the equation is b = sigma(c b - c/2) after a shift, which
    has three roots exactly when the slope c/4 at the middle exceeds 1.
    """
    K = np.array([[-1.0]])
    targets = np.ones((1, 1))

    def solve(ratio, start):
        alpha = 1.0 / (4 * ratio)
        # An output offset centres the fixed point: use K = -1 and shift by linearity.
        problem = _Centred(K, targets, alpha, None, False)
        return newton_logistic(problem, np.array([[start]]), tol=1e-12).x[0, 0]

    above = [solve(1.3, start) for start in (0.0, 1.3 * 4)]
    assert abs(above[0] - above[1]) > 0.5
    below = [solve(0.95, start) for start in (0.0, 0.95 * 4)]
    assert abs(below[0] - below[1]) < 1e-6


class _Centred(IndefiniteLogistic):
    """One sample whose outputs are moved so that b = 1/2 is a solution."""

    def scores(self, F):
        return super().scores(F + 0.5 / self.alpha)

    def losses(self, F):
        return super().losses(F + 0.5 / self.alpha)

    def probabilities(self, F):
        return super().probabilities(F + 0.5 / self.alpha)


@pytest.mark.parametrize("ratio", [1.5, 5.0, 30.0])
@pytest.mark.parametrize("form", [lambda problem: problem, multiplied])
def test_above_the_threshold_a_stationary_point_is_found(ratio, form):
    problem = problem_with_ratio(ratio)
    result = newton_logistic(form(problem), tol=1e-10, max_iter=300)
    assert result.status == "converged"
    assert residual_by_hand(problem, result.x, result.info["intercept"]) <= 1e-10


def indefinite_kernel(seed, kind, n):
    rng = np.random.default_rng(seed)
    if kind == "symmetric noise":
        A = rng.standard_normal((n, n))
        return (A + A.T) / 2
    X = rng.standard_normal((n, 6))
    if kind == "sigmoid":  # its negative eigenvector is nearly constant
        return np.tanh(0.5 * X[:, :5] @ X[:, :5].T - 1.0)
    return (X * [1, 1, 1, -1, -1, -1]) @ X.T


@pytest.mark.parametrize("kind", ["symmetric noise", "sigmoid", "low rank"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ratio", [5.0, 20.0])
def test_far_above_the_threshold_on_held_out_problems(ratio, fit_intercept, kind):
    """At a ratio of 5 the damping 1 / 5 meets the singular matrix exactly."""
    n = 50
    for seed in range(30):
        K = indefinite_kernel(seed, kind, n)
        alpha = -float(np.linalg.eigvalsh(K)[0]) / (ratio * 4 * n)
        targets = (np.random.default_rng(seed + 99).random((n, 1)) < 0.5) * 1.0
        targets[:2, 0] = 0.0, 1.0
        problem = IndefiniteLogistic(K, targets, alpha, None, fit_intercept)
        result = newton_logistic(problem)
        assert result.status == "converged", seed
        b = result.info["intercept"]
        assert residual_by_hand(problem, result.x, b) <= 1e-9


def test_the_dual_never_rises():
    result = newton_logistic(problem_with_ratio(0.9, 3), tol=1e-11)
    dual = result.history["dual"]
    assert result.n_iter >= 3
    assert np.all(np.diff(dual) <= 1e-12 * np.abs(dual[0]))


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_krein_gradient_finds_the_same_point(k, fit_intercept):
    problem = problem_with_ratio(0.6, k, fit_intercept=fit_intercept)
    newton = newton_logistic(problem, tol=1e-12)
    gradient = krein_gd(
        problem, largest=norm_bound(problem.K), tol=1e-10, max_iter=20_000
    )
    assert gradient.status == "converged"
    np.testing.assert_allclose(gradient.x, newton.x, atol=1e-7)


def test_an_operator_is_enough_for_conjugate_gradients():
    """Only products with K are used."""
    dense = problem_with_ratio(0.8)
    a = newton_logistic(dense, tol=1e-12)
    b = newton_logistic(multiplied(dense), tol=1e-12)
    np.testing.assert_allclose(a.x, b.x, atol=1e-9)
