"""The gap over the box is a bound for every point; the intercept knows repetition."""

import numpy as np
import pytest
from scipy.optimize import linprog

from krein.machines.box import BalancedBox


@pytest.mark.parametrize("seed", range(20))
def test_the_gap_bounds_the_linear_program(seed):
    """Also for points that rounding (here: much more) put out of balance."""
    rng = np.random.default_rng(seed)
    n = 7
    y = np.append([1.0, -1.0], rng.choice([-1.0, 1.0], n - 2))
    upper = rng.uniform(0.5, 2.0, n)
    box = BalancedBox(upper, y)
    gradient = rng.standard_normal(n) + rng.choice([0.0, 5.0]) * y
    best = linprog(
        -gradient, A_eq=y[None], b_eq=[0.0], bounds=np.c_[np.zeros(n), upper]
    )
    for a in (box.project(rng.uniform(size=n)), rng.uniform(size=n) * upper):
        assert box.gap(a, gradient) >= -best.fun - gradient @ a - 1e-9
    balanced = box.project(rng.uniform(size=n))
    tight = -best.fun - gradient @ balanced
    assert box.gap(balanced, gradient) == pytest.approx(tight, abs=1e-9)


def test_the_intercept_counts_weights_as_repetition():
    # Outputs of free variables scatter where new rows have a rule of their own.
    y = np.array([1.0, 1.0, -1.0])
    outputs, a = np.array([0.2, 0.9, -0.4]), np.array([0.5, 0.4, 0.9])
    weight = np.array([3, 1, 2])
    again = np.repeat(np.arange(3), weight)
    weighted = BalancedBox(weight * 1.0, y).intercept(weight * a, outputs)
    repeated = BalancedBox(np.ones(6), y[again]).intercept(a[again], outputs[again])
    assert weighted == pytest.approx(repeated, abs=1e-12)
    assert abs(weighted - np.mean(y - outputs)) > 1e-3
