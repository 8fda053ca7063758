"""Box with one equality row: projection, vertices, gap, intercept."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from krein.machines.box import BalancedBox
from tests.reference.boxes import contains


def random_box(rng, n, spread=2.0):
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    y[0], y[-1] = 1.0, -1.0
    return BalancedBox(10.0 ** rng.uniform(-spread, spread, n), y)


def linear_maximum(box, g):
    bounds = np.column_stack([0 * g, box.upper])
    return scipy.optimize.linprog(
        -g, A_eq=box.y[None], b_eq=[box.balance], bounds=bounds
    )


def assert_projection(box, a, x):
    """x is feasible, and a - x makes an obtuse angle with every direction into Q."""
    assert np.all(x >= 0.0)
    assert np.all(x <= box.upper)
    assert abs(box.y @ x) <= 1e-14 * max(x.sum(), 1e-290)
    rest = a - x
    scale = np.abs(a).max() * box.upper.sum() + 1e-300
    assert box.gap(x, rest) <= 1e-12 * scale


@settings(max_examples=500, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 40),
    size=st.floats(-8, 14),
    rounded=st.booleans(),
)
def test_projection_is_the_nearest_point(seed, n, size, rounded):
    rng = np.random.default_rng(seed)
    box = random_box(rng, n)
    a = rng.standard_normal(n) * 10.0**size
    a = np.round(a) if rounded else a
    assert_projection(box, a, box.project(a))


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 30), size=st.floats(-3, 6))
def test_the_two_ways_to_the_root_agree(seed, n, size):
    rng = np.random.default_rng(seed)
    box = random_box(rng, n)
    signed = box.y * rng.standard_normal(n) * 10.0**size
    low, high = box.signed_bounds
    newton = box._newton_root(signed, low, high, 0.0)
    if newton is not None:
        found = np.clip(signed - newton, low, high)
        expected = np.clip(signed - box._sorted_root(signed, low, high), low, high)
        np.testing.assert_allclose(
            found, expected, rtol=0, atol=1e-9 * high.max() + 1e-9 * -low.min()
        )


def test_projection_against_a_general_solver(rng):
    box = random_box(rng, 8, spread=0.5)
    a = 2.0 * rng.standard_normal(8)
    found = scipy.optimize.minimize(
        lambda x: 0.5 * np.sum((x - a) ** 2),
        np.zeros(8),
        jac=lambda x: x - a,
        method="SLSQP",
        bounds=[(0.0, u) for u in box.upper],
        constraints={"type": "eq", "fun": lambda x: box.y @ x, "jac": lambda x: box.y},
        options={"ftol": 1e-15, "maxiter": 500},
    )
    np.testing.assert_allclose(box.project(a), found.x, atol=1e-6)


def test_a_feasible_point_is_its_own_projection(rng):
    box = random_box(rng, 20)
    x = box.project(rng.random(20))
    np.testing.assert_allclose(box.project(x), x, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("size", [1e30, 1e100, 1e150])
def test_huge_input_stays_feasible(size, rng):
    box = random_box(rng, 50)
    x = box.project(size * rng.standard_normal(50))
    assert np.isfinite(x).all()
    assert contains(box, x)
    assert x.sum() > 0.0


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 12))
def test_gap_against_linear_programming(seed, n):
    rng = np.random.default_rng(seed)
    box = random_box(rng, n, spread=1.0)
    g = np.round(rng.standard_normal(n), 1)
    best = linear_maximum(box, g)
    scale = box.upper.sum() * max(np.abs(g).max(), 1.0)
    a = box.project(rng.random(n))
    assert box.gap(a, g) == pytest.approx(-best.fun - g @ a, abs=1e-9 * scale)


def test_intercept_weights_the_free_variables_by_their_bounds():
    box = BalancedBox(np.array([2.0, 4.0, 2.0, 2.0]), np.array([1.0, -1.0, 1.0, -1.0]))
    a = np.array([1.0, 1.5, 2.0, 1.5])
    outputs = np.array([0.0, 0.0, 5.0, 2.0])
    expected = (1.0 * 1.0 + 2.0 * -1.0 + 1.0 * -3.0) / 4
    assert box.intercept(a, outputs) == pytest.approx(expected)


def test_a_variable_is_free_also_when_its_bound_is_huge():
    box = BalancedBox(np.array([1e20, 1e20, 1e20]), np.array([1.0, -1.0, 1.0]))
    outputs = np.array([0.5, -1.5, 9.0])
    assert box.intercept(np.array([1.0, 1.0, 0.0]), outputs) == pytest.approx(0.5)


def test_gap_counts_errors_of_the_gradient_and_of_the_balance(rng):
    box = random_box(rng, 8, spread=0.5)
    a = box.project(rng.random(8))
    g = rng.standard_normal(8)
    error = 1e-3 * rng.random(8)
    largest = box.gap(a, g, error)
    for _ in range(200):
        near = g + error * rng.uniform(-1, 1, 8)
        assert box.gap(a, near) <= largest * (1 + 1e-12)
    assert box.gap(a + 1e-9, g) > 0.0


def test_intercept_without_free_variables_is_the_middle_of_the_interval():
    box = BalancedBox(np.ones(2), np.array([1.0, -1.0]))
    b = box.intercept(np.ones(2), np.array([0.2, -0.4]))
    # At the upper bound y (f + b) <= 1: b <= 0.8 and b >= -0.6.
    assert b == pytest.approx(0.1)


def test_violation_vanishes_at_an_optimum_and_not_elsewhere(rng):
    box = random_box(rng, 10)
    g = rng.standard_normal(10)
    assert box.violation(linear_maximum(box, g).x, g) <= 1e-12
    assert box.violation(np.zeros(10), g) > 0.0


@given(st.integers(0, 2**32 - 1), st.floats(-10.0, 10.0))
@settings(max_examples=100, deadline=None)
def test_the_shift_does_not_depend_on_where_it_is_searched(seed, near):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    box = BalancedBox(rng.uniform(0.1, 2.0, n), np.where(np.arange(n) % 2, 1.0, -1.0))
    signed = rng.standard_normal(n)
    low, high = box.signed_bounds
    found = np.clip(signed - box.shift(signed, near), low, high)
    expected = box.y * box.project(box.y * signed)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_one_step_is_the_root_where_no_variable_changes_sides(rng):
    box = BalancedBox(np.full(30, 1.0), np.resize([1.0, -1.0], 30), balance=2.0)
    signed = box.y * rng.uniform(-0.5, 1.5, 30)
    root = box.shift(signed)
    assert box.shift_by_one_step(signed, root + 1e-9) == pytest.approx(root, abs=1e-14)
    # Further away some change sides: a step comes nearer, and repeated ones are there.
    tau, errors = root + 0.3, []
    for _ in range(8):
        tau = box.shift_by_one_step(signed, tau)
        errors.append(abs(tau - root))
    assert 1e-6 < errors[0] < 0.15
    assert errors[-1] < 1e-14
    # No variable is free at 5: the root is searched from there.
    assert box.shift_by_one_step(signed, 5.0) == pytest.approx(root, abs=1e-14)
