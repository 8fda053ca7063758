"""The logistic problem: derivatives by differences, uniqueness, unboundedness."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from krein.machines.logistic import IndefiniteLogistic, uniqueness_ratio
from krein.spectrum.decomposition import lowest_eigenvalue


def random_problem(seed, k=1, fit_intercept=True, weighted=True, n=25, alpha=0.2):
    rng = np.random.default_rng(seed)
    K = rng.standard_normal((n, n))
    K = K + K.T
    codes = np.r_[np.arange(max(k, 2)), rng.integers(0, max(k, 2), n - max(k, 2))]
    targets = (codes[:, None] == 1) * 1.0 if k == 1 else np.eye(k)[codes]
    weight = rng.uniform(0.5, 3.0, n) if weighted else None
    return IndefiniteLogistic(K, targets, alpha, weight, fit_intercept)


@pytest.mark.parametrize("k", [1, 3, 4])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_dual_falls_along_the_defect_as_its_derivative_says(k, fit_intercept, rng):
    problem = random_problem(0, k, fit_intercept)
    H = rng.standard_normal(problem.targets.shape)
    direction = rng.standard_normal(H.shape)
    h = 1e-6
    difference = (
        problem.point(H + h * direction).dual - problem.point(H - h * direction).dual
    ) / (2 * h)
    # d(cD) = <L'R, L'dF>, with dF including the change of the intercept.
    point = problem.point(H)
    change = (
        problem.intercept(H + h * direction) - problem.intercept(H - h * direction)
    ) / (2 * h)
    curvature = problem.curvature(H + point.intercept)
    slope = np.sum(curvature.right(point.defect) * curvature.right(direction + change))
    assert difference == pytest.approx(slope, rel=1e-6)
    assert abs(slope) > 1e-3


@pytest.mark.parametrize("k", [1, 3])
def test_curvature_is_a_root_of_the_hessian_of_the_loss(k, rng):
    problem = random_problem(1, k)
    F = rng.standard_normal(problem.targets.shape)
    V = rng.standard_normal(F.shape)
    h = 1e-6
    difference = (problem.scores(F - h * V) - problem.scores(F + h * V)) / (2 * h)
    curvature = problem.curvature(F)
    hessian = curvature.left(curvature.right(V))
    np.testing.assert_allclose(hessian, problem.bound * difference, atol=1e-8)
    # left is the transpose of right
    U = rng.standard_normal(F.shape)
    assert np.sum(U * curvature.right(V)) == pytest.approx(
        np.sum(curvature.left(U) * V)
    )


@pytest.mark.parametrize("k", [1, 3])
def test_scores_are_minus_the_derivative_of_the_losses(k, rng):
    problem = random_problem(2, k)
    F = 3 * rng.standard_normal(problem.targets.shape)
    V = rng.standard_normal(F.shape)
    h = 1e-6
    difference = (problem.losses(F + h * V) - problem.losses(F - h * V)) / (2 * h)
    np.testing.assert_allclose(
        difference, -np.sum(problem.scores(F) * V, axis=1), atol=1e-8
    )


@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-3, 1.0, 50.0, 1e4]))
@settings(deadline=None, max_examples=60)
def test_the_intercept_minimises_the_loss_at_any_scale(seed, scale):
    problem = random_problem(seed, 1)
    H = scale * np.random.default_rng(seed).standard_normal(problem.targets.shape)
    b = problem.intercept(H)
    balance = float(np.sum(problem.column_weight * problem.scores(H + b)))
    # Where the curvature is high the root in b is known to rounding of H + b only.
    assert abs(balance) <= 1e-13 * problem.total * max(1.0, scale)

    def loss(z):
        return float(problem.column_weight[:, 0] @ problem.losses(H + z))

    other = minimize_scalar(loss, bracket=(b[0] - 1, b[0] + 1))
    assert loss(b[0]) <= other.fun + 1e-9 * abs(other.fun)


@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-3, 1.0, 50.0]))
@settings(deadline=None, max_examples=40)
def test_the_softmax_intercept_balances_every_class(seed, scale):
    problem = random_problem(seed, 4)
    H = scale * np.random.default_rng(seed).standard_normal(problem.targets.shape)
    b = problem.intercept(H)
    balance = np.sum(problem.column_weight * problem.scores(H + b), axis=0)
    assert np.abs(balance).max() <= 1e-10 * problem.total
    assert abs(b.sum()) < 1e-9 * max(1.0, np.abs(b).max())


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("b", [-2.0, 0.3])
def test_a_fixed_point_at_another_intercept_is_not_stationary(k, b):
    """A follows from the outputs exactly, yet the objective falls along b."""
    problem = random_problem(1, k)
    problem = replace(problem, K=np.zeros_like(problem.K))
    at = np.eye(k)[0] * b
    A = problem.bound * problem.scores(np.zeros_like(problem.targets) + at)
    h = 1e-5 * np.eye(k)[0]
    up, down = problem.value(A, b=at + h), problem.value(A, b=at - h)
    slope = abs(up - down) / 2e-5
    assert slope > 1e-2
    assert problem.certificate(A, at).value >= slope / problem.alpha * (1 - 1e-6)


def test_the_value_is_that_of_equation_5(rng):
    problem = random_problem(3, fit_intercept=False, weighted=False)
    a = rng.standard_normal((25, 1))
    y = 2 * problem.targets[:, 0] - 1
    f = problem.K @ a[:, 0]
    expected = np.mean(np.log1p(np.exp(-y * f))) + 0.1 * a[:, 0] @ f
    assert problem.value(a) == pytest.approx(expected, rel=1e-12)


def test_smallest_eigenvalue_by_lanczos_is_the_exact_one(rng):
    n = 1100
    F = rng.standard_normal((n, 40))
    K = (F * np.r_[-np.ones(7), np.ones(33)]) @ F.T
    weight = rng.uniform(0.5, 2.0, n)
    exact = lowest_eigenvalue(K, weight)
    fast = lowest_eigenvalue(K, weight, atol=1e-3 * abs(exact))
    assert exact < -500
    assert fast == pytest.approx(exact, abs=1e-3 * abs(exact))
    assert lowest_eigenvalue(F @ F.T, atol=1e-3) == pytest.approx(0.0, abs=1e-3)


def test_ratio_is_one_at_the_threshold():
    assert uniqueness_ratio(-8.0, 0.02, 100, 1) == pytest.approx(1.0)
    assert uniqueness_ratio(-4.0, 0.02, 100, 3) == pytest.approx(1.0)
    assert uniqueness_ratio(1e-3, 0.02, 100, 1) == 0.0
