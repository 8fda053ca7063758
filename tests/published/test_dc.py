"""DC algorithms: descent, certificates by hand, unboundedness by a direction."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from krein.machines.box import BalancedBox
from krein.published.difference_of_convex import (
    IndefiniteDual,
    PrimalDC,
    _block_maximum,
    _Majoriser,
    dc_primal,
    tdca,
)
from tests.machines import svm_dual
from tests.reference.boxes import contains
from tests.test_domain import linear_maximum


def indefinite(seed, n=40, negative=8, scale=1.0):
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    values = np.r_[-rng.uniform(0.5, 2, negative), rng.uniform(0, 5, n - negative)]
    K = scale * (Q * values) @ Q.T
    y = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    return 0.5 * (K + K.T), y


def violation_by_hand(K, y, upper, a):
    """Maximal violating pair with loops, in the notation of Keerthi et al. (2001)."""
    F = K @ (y * a) - y
    up = [F[i] for i in range(y.size) if (a[i] < upper[i] if y[i] > 0 else a[i] > 0)]
    low = [F[i] for i in range(y.size) if (a[i] > 0 if y[i] > 0 else a[i] < upper[i])]
    return max(low) - min(up)


@pytest.mark.parametrize("block", [2, 8, 64])
@pytest.mark.parametrize("seed", range(3))
def test_tdca_ends_at_a_kkt_point(block, seed):
    K, y = indefinite(seed)
    upper = np.random.default_rng(seed).uniform(0.5, 2.0, y.size)
    domain = BalancedBox(upper, y)
    result = tdca(IndefiniteDual(K, domain), block=block, tol=1e-6, max_iter=20_000)
    assert result.status == "converged"
    assert contains(domain, result.x)
    assert violation_by_hand(K, y, upper, result.x) <= 1e-6
    assert result.x.max() > 0.1


def test_a_block_of_all_items_is_the_machine_on_the_shifted_kernel():
    # From zeros one DCA step maximises e'd - d'(Q + rI)d / 2 in the box.
    K, y = indefinite(2, n=20, negative=6)
    domain, points = BalancedBox(np.ones(20), y), []
    tdca(
        IndefiniteDual(K, domain), block=20, mu=1e-3, max_iter=2,
        callback=lambda iterate: points.append(iterate.x),
    )  # fmt: skip
    values = np.linalg.eigvalsh(K)
    shift = -values[0] + 1e-3 * np.abs(values).max()
    theirs, _ = svm_dual(K + shift * np.eye(20), domain, tol=1e-10)
    np.testing.assert_allclose(points[1], theirs.x, atol=1e-6)


def test_the_dual_never_falls():
    K, y = indefinite(4, n=80, negative=25)
    result = tdca(
        IndefiniteDual(K, BalancedBox(np.ones(80), y)), block=6, tol=1e-6, max_iter=5000
    )
    value = result.history["value"]  # maximised
    assert result.n_iter > 5
    assert np.all(np.diff(value) >= -1e-10)


@pytest.mark.parametrize("negative", [20, 38, 40])
@pytest.mark.parametrize("block", [2, 6])
def test_every_step_rises_by_what_its_convex_model_promises(negative, block):
    """By mu lmax ||d||^2 / 2 at least, however negative the kernel is."""
    K, y = indefinite(3, negative=negative)
    steps, mu = [], 0.1
    result = tdca(
        IndefiniteDual(K, BalancedBox(np.ones(40), y)),
        np.full(40, 0.5),
        block=block,
        mu=mu,
        max_iter=2000,
        callback=lambda iterate: steps.append((iterate.x, iterate.value)),
    )
    assert result.status == "converged"
    for (a, before), (b, after) in pairwise(steps):
        moved = np.flatnonzero(a != b)
        largest = np.abs(np.linalg.eigvalsh(K[np.ix_(moved, moved)])).max(initial=0.0)
        promised = 0.5 * mu * largest * float((b - a) @ (b - a))
        assert after - before >= promised - 1e-12


def test_on_a_positive_kernel_the_solution_is_that_of_the_svm():
    K, y = indefinite(0, negative=0)
    domain = BalancedBox(np.full(40, 2.0), y)
    ours = tdca(IndefiniteDual(K, domain), tol=1e-8, max_iter=5000)
    theirs, _ = svm_dual(K, domain, tol=1e-9)
    assert ours.value == pytest.approx(theirs.value, rel=1e-9)
    np.testing.assert_allclose(K @ (y * ours.x), K @ (y * theirs.x), atol=1e-5)


@given(seed=st.integers(0, 10_000), balance=st.floats(-1.5, 1.5))
@settings(deadline=None, max_examples=25)
def test_the_block_problem_is_solved(seed, balance):
    """Against SLSQP: a box with an equality whose right-hand side is not zero."""
    rng = np.random.default_rng(seed)
    n = 8
    B = rng.standard_normal((n, n))
    Q = B @ B.T + 0.1 * np.eye(n)
    gradient = 3 * rng.standard_normal(n)
    y = np.r_[np.ones(4), -np.ones(4)]
    domain = BalancedBox(np.ones(n), y, balance)
    a = domain.project(rng.uniform(size=n))
    assert float(y @ a) == pytest.approx(balance, abs=1e-12)
    x = _block_maximum(Q.copy(), gradient, a, domain)

    def value(z):
        return 0.5 * (z - a) @ Q @ (z - a) - gradient @ (z - a)

    other = minimize(
        value,
        a,
        jac=lambda z: Q @ (z - a) - gradient,
        bounds=[(0, 1)] * n,
        constraints={"type": "eq", "fun": lambda z: y @ z - balance},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert contains(domain, x)
    assert value(x) <= other.fun + 1e-4 * (1 + abs(other.fun))
    assert value(x) <= 1e-12


@given(seed=st.integers(0, 10_000), balance=st.floats(-2.0, 2.0))
@settings(deadline=None, max_examples=50)
def test_the_gap_respects_the_balance(seed, balance):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(10) % 2 == 0, 1.0, -1.0)
    domain = BalancedBox(rng.uniform(0.5, 2.0, 10), y, balance)
    g, a = rng.standard_normal(10), domain.project(rng.random(10))
    expected = -linear_maximum(domain, g).fun - g @ a
    assert domain.gap(a, g) == pytest.approx(expected, abs=1e-9)


# ------------------------------------------------------------------------- the primal


def primal(seed, *, negative=8, gamma=0.5, weighted=True):
    K, y = indefinite(seed, negative=negative)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, y.size) if weighted else None
    return PrimalDC(K, y, gamma, weight)


def test_the_gradient_is_that_of_the_primal(rng):
    problem = primal(0)
    point, direction = rng.standard_normal((2, 41))
    h = 1e-6
    difference = (
        problem.value(point + h * direction) - problem.value(point - h * direction)
    ) / (2 * h)
    assert problem.gradient(point) @ direction == pytest.approx(difference, rel=1e-6)


def test_the_value_is_the_published_one(rng):
    problem = primal(1)
    point = rng.standard_normal(41)
    b = problem.root * point[:-1]
    f = problem.K @ b + point[-1]
    hinge = np.maximum(0, 1 - problem.y * f)
    expected = 0.25 * b @ problem.K @ b + 0.5 * np.sum(problem.weight * hinge**2)
    assert problem.value(point) == pytest.approx(expected)


def test_the_majoriser_is_minimised(rng):
    problem = primal(2)
    majoriser = _Majoriser(problem, float(np.linalg.eigvalsh(problem.M)[-1]) + 1e-4)
    start = rng.standard_normal(41)
    theta = problem.gamma * (majoriser.rho * start[:-1] - problem.M @ start[:-1])
    found = majoriser.minimise(start)
    best = majoriser._value(found, theta)
    for _ in range(50):
        other = found + 0.1 * rng.standard_normal(41)
        assert majoriser._value(other, theta) >= best
    reference = minimize(lambda p: majoriser._value(p, theta), start, method="BFGS")
    assert best <= reference.fun + 1e-6 * abs(reference.fun)


def test_dca_descends_and_finds_the_minimum_of_a_positive_kernel():
    problem = primal(3, negative=0, gamma=2.0)
    result = dc_primal(problem, tol=1e-4, max_iter=2000)
    assert result.status == "converged"
    values = result.history["value"]
    assert all(b <= a + 1e-9 for a, b in pairwise(values))
    reference = minimize(
        problem.value,
        np.zeros(41),
        jac=problem.gradient,
        method="BFGS",
        options={"gtol": 1e-9},
    )
    assert result.value == pytest.approx(reference.fun, rel=1e-4)


def test_an_unbounded_primal_is_detected_with_a_direction():
    """Xu et al. stop when F < 0; then a ray exists along which F has no end."""
    last = []
    problem = primal(4, negative=20, gamma=5.0)
    result = dc_primal(
        problem, max_iter=300, callback=lambda it: last.append(it) and None
    )
    assert result.status == "diverged"
    assert np.isfinite(result.x).all()
    ray = last[-1].x
    assert problem.recession(ray) < 0
    values = [problem.value(t * ray) for t in (1e2, 1e3, 1e4)]
    assert values[2] < values[1] < values[0]
    assert values[2] < 0


@given(seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=30)
def test_a_negative_objective_means_a_negative_recession(seed):
    rng = np.random.default_rng(seed)
    problem = primal(seed % 7, negative=20, gamma=5.0)
    point = 10 ** rng.uniform(-1, 3) * rng.standard_normal(41)
    if problem.value(point) < 0:
        assert problem.recession(point) < 0
