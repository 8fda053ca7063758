"""The linear program of kernel weights."""

import numpy as np
import pytest

from krein.machines.mkl import _solve_lp


@pytest.mark.parametrize("steep", [-1e3, -1e6, -1e8, -1e12])
def test_steep_cuts_do_not_hide_flat_ones(steep):
    """The LP's tolerances were shares of the steepest cut: weights ended anywhere."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        flat = 30.0 + 0.1 * rng.standard_normal((20, 3))
        weights, _ = _solve_lp(flat)
        rows = np.array([[40.0, steep, 40.0], [steep, 20.0, 40.0]])
        table = np.vstack([rows, flat])
        found, shares = _solve_lp(table)
        if (rows @ weights).max() < 29.0:  # so that the steep ones are not active
            assert (flat @ found).max() == pytest.approx((flat @ weights).max())
            assert (shares @ table).min() == pytest.approx((flat @ found).max())


def test_flat_cuts_are_told_apart_by_their_height():
    table = np.array([[5.0, 5.0], [3.0, 3.0]])
    weights, shares = _solve_lp(table)
    assert weights.sum() == pytest.approx(1.0)
    assert shares == pytest.approx([1.0, 0.0])
