"""Stationary points where curvatures of both signs differ by many orders."""

import numpy as np
import pytest

from krein.machines.box import BalancedBox
from krein.machines.indefinite_ascent import ascended
from krein.machines.svm_dual import SVMDual


def problem(rng, n, kind, reach):
    """Eigenvalues of both signs over ten orders, bounds over six and more."""
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    values = rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-10, 0, n)
    K = (Q * values) @ Q.T
    K = 0.5 * (K + K.T)
    upper = reach * 10.0 ** rng.uniform(-3, 3, n)
    if kind == "classification":
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        return SVMDual.classification(K, BalancedBox(upper, y), psd=False)
    t = rng.standard_normal(n)
    return SVMDual.regression(K, t, upper, epsilon=0.1, psd=False)


@pytest.mark.parametrize("reach", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_ends_at_a_point_that_satisfies_the_conditions(kind, reach):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        machine = problem(rng, 30, kind, reach)
        domain = machine.domain
        for a in (np.zeros(domain.n), rng.uniform(0.0, 1.0, domain.n) * domain.upper):
            start = machine.at(domain.project(a))
            end = ascended(machine, start, 1e-9)
            assert end.value >= start.value
            size = max(1.0, float(np.abs(end.outputs).max()))
            assert end.certificate.value <= 1e-9 * size
            assert domain.violation(end.a, end.gradient) <= 1e-9 * size
            assert np.all((end.a >= 0.0) & (end.a <= domain.upper))
            assert abs(float(domain.y @ end.a)) <= 1e-12 * float(end.a.sum())


def test_a_point_at_rest_is_left_as_it_is():
    machine = problem(np.random.default_rng(0), 20, "classification", 10.0)
    start = machine.at(machine.domain.project(np.zeros(20)))
    end = ascended(machine, start, 1e-9)
    assert ascended(machine, end, 1e-9).value == pytest.approx(end.value, rel=1e-12)
