"""Losses of c.p.d. machines: conjugates in all digits."""

import mpmath as mp
import numpy as np
import pytest

from krein.machines.losses import Logistic


@pytest.mark.parametrize("size", [1e-14, 1e-9, 1e-3, 0.4])
def test_the_entropy_has_all_digits_of_small_dual_variables(size):
    """A gap of nothing was claimed where each of many terms had lost its digits."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], 50)
    weight = 10.0 ** rng.uniform(-3, 3, 50)
    u = size * rng.uniform(0.5, 1.0, 50)
    a = 0.5 * y * weight * u  # of lam = 1
    with mp.workdps(50):
        terms = []
        for i in range(50):
            v = 2 * mp.mpf(y[i]) * mp.mpf(a[i]) / mp.mpf(weight[i])
            terms.append(-mp.mpf(weight[i]) * (v * mp.log(v) + (1 - v) * mp.log1p(-v)))
        truth = float(mp.fsum(terms))
    found = Logistic(y, weight).conjugate(a, 1.0)
    assert found == pytest.approx(truth, rel=1e-14, abs=0.0)
