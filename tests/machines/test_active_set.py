"""Quadratic models over a box with one equality row, against optimality conditions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krein.machines.low_rank_model import LowRankModel
from krein.machines.quadratic_model import KernelModel, QuadraticModel


def model_of(seed, n):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, n))
    H = F @ F.T + 0.01 * np.eye(n)
    y = np.append([1.0, -1.0], rng.choice([-1.0, 1.0], n - 2))
    upper = rng.uniform(0.1, 2.0, n)
    # A feasible start with many variables at both bounds.
    x = rng.choice([0.0, 1.0, 0.5], n, p=[0.4, 0.4, 0.2]) * upper
    excess = float(y @ x)
    for i in np.flatnonzero(y == np.sign(excess)):
        step = min(x[i], abs(excess))
        x[i] -= step
        excess -= np.sign(excess) * step
    g = 3.0 * rng.standard_normal(n)
    return QuadraticModel(H, y, upper), H, y, upper, x, g


def violation(H, y, upper, x, g, h):
    """Maximal violating pair of max g'h - h'Hh/2 over the box and y'h = 0."""
    slope = y * (g - H @ h)
    z = x + h
    slack = 1e-9 * upper
    up = np.where(y > 0, z < upper - slack, z > slack)
    low = np.where(y > 0, z > slack, z < upper - slack)
    if not up.any() or not low.any():
        return 0.0
    return float(slope[up].max() - slope[low].min())


@pytest.mark.parametrize("way", ["_climb", "maximise"])
@given(seed=st.integers(0, 10_000), n=st.integers(3, 9))
def test_the_step_is_optimal(way, seed, n):
    model, H, y, upper, x, g = model_of(seed, n)
    slack = 1e-9 * upper
    low = (x <= slack) & (g <= 0.0)
    high = (x >= upper - slack) & (g >= 0.0)
    arguments = (x, g, low, high) if way == "_climb" else (x, g)
    if way == "_climb" and (low | high).all():
        return  # nothing is free to start from; maximise is not asked then
    h = getattr(model, way)(*arguments)
    assert np.all(x + h >= -1e-9)
    assert np.all(x + h <= upper + 1e-9)
    assert abs(y @ (x + h) - y @ x) <= 1e-9
    gain = g @ h - 0.5 * h @ H @ h
    assert gain >= -1e-9
    if np.any((x + h > slack) & (x + h < upper - slack)):
        # Climbing ends, improved but not optimal, where every variable is at a bound.
        assert violation(H, y, upper, x, g, h) <= 1e-6


def test_climbing_frees_variables_from_their_upper_bounds():
    # The second variable starts at its bound and has to come down for the first.
    H = np.array(
        [[1.0, 0.9, 0.0, 0.0], [0.9, 1.0, 0.0, 0.0], [0, 0, 1.0, 0], [0, 0, 0, 1.0]]
    )
    y = np.array([1.0, 1.0, -1.0, -1.0])
    upper = np.array([3.0, 1.0, 9.0, 9.0])
    x = np.array([0.0, 1.0, 0.5, 0.5])
    g = np.array([3.0, 0.1, 0.0, 0.0])
    model = QuadraticModel(H, y, upper)
    low, high = np.zeros(4, dtype=bool), np.array([False, True, False, False])
    h = model._climb(x, g, low, high)
    assert violation(H, y, upper, x, g, h) <= 1e-9
    assert (x + h)[1] < 1.0


@pytest.mark.parametrize(
    ("gone", "added", "factors"),
    [(3, 4, 1), (5, 0, 1), (0, 5, 1), (6, 5, 2)],
    ids=["both", "gone", "added", "many"],
)
def test_a_set_that_differs_by_few_variables_needs_no_new_factor(
    gone, added, factors, monkeypatch
):
    """160 free variables: up to a sixteenth of them may change."""
    model, H, y, _, x, g = model_of(0, 200)
    counted = []
    original = QuadraticModel._factorize
    monkeypatch.setattr(
        QuadraticModel,
        "_factorize",
        lambda self, free: (counted.append(free), original(self, free)),
    )
    free = np.arange(200) < 160
    model._solve_free(-x, g, free.copy())
    free[:gone] = False
    free[160 : 160 + added] = True
    step, slope = model._solve_free(-x, g, free)
    assert len(counted) == factors
    anew = QuadraticModel(H.copy(), y, x)._solve_free(-x, g, free)
    np.testing.assert_allclose(step, anew[0], atol=1e-8)
    np.testing.assert_allclose(slope, anew[1], atol=1e-8)
    assert np.array_equal(step[~free], -x[~free])
    np.testing.assert_allclose(slope[free], 0.0, atol=1e-8)  # stationary


def test_a_border_that_is_not_definite_gets_a_factor_and_a_ridge():
    H, y = np.eye(40), np.resize([1.0, -1.0], 40)
    H[-1, -1] = -1e-3  # what rounding may leave of a singular matrix
    model = QuadraticModel(H, y, np.ones(40))
    free = np.arange(40) < 39
    model._solve_free(np.zeros(40), y, free)
    assert model.ridge == 0.0
    model._solve_free(np.zeros(40), y, np.ones(40, dtype=bool))
    assert model.ridge > 1e-3


def low_rank_of(seed, n, rank=4):
    """A model of low rank, the same matrix, and what it is maximised from."""
    _, _, y, upper, x, g = model_of(seed, n)
    rng = np.random.default_rng(seed + 1)
    B = rng.standard_normal((n, rank))
    signs = np.append(np.ones(rank - 1), -1.0)
    B[:, -1] *= 0.05  # definite all the same
    diagonal = rng.uniform(0.5, 1.0, n)
    H = np.diag(diagonal) + (B * signs) @ B.T
    return LowRankModel(diagonal, B, signs, y, upper), H, y, upper, x, g


@pytest.mark.parametrize("way", ["_climb", "maximise"])
@given(seed=st.integers(0, 10_000), n=st.integers(3, 40))
def test_a_model_of_low_rank_equals_that_of_its_matrix(way, seed, n):
    model, H, y, upper, x, g = low_rank_of(seed, n)
    assert np.linalg.eigvalsh(H).min() > 0.0
    model.set_ridge(1e-9)
    low, high = x <= 0.0, x >= upper
    arguments = (x, g, low, high) if way == "_climb" else (x, g)
    h = getattr(model, way)(*arguments)
    assert np.all(x + h >= -1e-9)
    assert np.all(x + h <= upper + 1e-9)
    assert abs(y @ h) <= 1e-9
    slack = 1e-6 * upper
    if np.any((x + h > slack) & (x + h < upper - slack)):
        assert violation(H, y, upper, x, g, h) <= 1e-6
    dense = QuadraticModel(H.copy(), y, upper)
    dense.set_ridge(1e-9)
    best = dense.maximise(x, g)
    gain = g @ h - 0.5 * h @ H @ h
    assert gain >= g @ best - 0.5 * best @ H @ best - 1e-8


def test_updates_of_a_model_of_low_rank_are_those_of_its_matrix(rng):
    model, H, y, upper, x, g = low_rank_of(3, 30)
    dense = QuadraticModel(H.copy(), y, upper)
    h = rng.standard_normal(30)
    change = H @ h + 0.1 * rng.standard_normal(30)
    for one in (model, dense):
        one.update(h, change)
        one.set_ridge(1e-3)
        assert one.mean == pytest.approx(np.diagonal(H).mean())
    np.testing.assert_allclose(model.product(h), change + 1e-3 * h, atol=1e-10)
    np.testing.assert_allclose(dense.product(h), change + 1e-3 * h, atol=1e-10)
    free = np.arange(30) % 3 > 0
    for one, other in zip(
        model._solve_free(-x, g, free), dense._solve_free(-x, g, free), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-8)


def test_a_model_of_low_rank_that_is_not_definite_gets_a_ridge():
    B, y = np.ones((6, 1)), np.resize([1.0, -1.0], 6)
    model = LowRankModel(np.full(6, 1.0), B, np.array([-1.0]), y, np.ones(6))
    model._solve_free(np.zeros(6), y, np.ones(6, dtype=bool))
    assert 5.0 < model.ridge < 100.0  # the smallest eigenvalue is 1 - 6


def test_a_model_on_a_kernel_is_that_of_its_matrix(rng):
    F = rng.standard_normal((40, 40))
    K = F @ F.T
    items = np.append(rng.permutation(40)[:30], [3, 3, 7])  # both variables of some
    y = np.append(rng.choice([-1.0, 1.0], 31), [1.0, -1.0])
    upper = np.full(33, 0.05)
    H = np.outer(y, y) * K[np.ix_(items, items)]
    model, dense = KernelModel(K, items, y, upper), QuadraticModel(H, y, upper)
    assert model.mean == pytest.approx(dense.mean)
    x = 0.5 * upper
    g = rng.standard_normal(33)
    for ridge in (1e-3, 1e-6):
        for one in (model, dense):
            one.set_ridge(ridge)
        np.testing.assert_allclose(model.product(x), dense.product(x), atol=1e-10)
        for free in (np.arange(33) % 3 > 0, np.arange(33) % 3 > 0, np.arange(33) > 1):
            free[5] = ridge < 1e-4  # one comes or goes: a border of the factor
            for a, b in zip(
                model._solve_free(-x, g, free),
                dense._solve_free(-x, g, free),
                strict=True,
            ):
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(
            model.maximise(x, g), dense.maximise(x, g), rtol=1e-6, atol=1e-9
        )
