"""Gaps of points of the dual that are not its optimum."""

import mpmath as mp
import numpy as np
import pytest

from krein.machines.box import BalancedBox
from krein.machines.libsvm import solve_dual
from krein.machines.svm_dual import SVMDual
from tests.reference import digits


def machine(rng, n, kind):
    A = rng.standard_normal((n, n if rng.integers(2) else 3))
    K = A @ A.T * 10.0 ** rng.uniform(-3, 3)
    upper = 10.0 ** rng.uniform(-3, 6, n)
    if kind == "classification":
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        return SVMDual.classification(K, BalancedBox(upper, y))
    return SVMDual.regression(K, rng.standard_normal(n), upper, epsilon=0.1)


def value_in_50_digits(problem, a):
    v = digits.matrix(problem.coef(a))
    bend = (v.T * digits.matrix(problem.K) * v)[0]
    return (digits.matrix(problem.margin).T * digits.matrix(a))[0] - bend / 2


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_no_other_primal_point_claims_less_than_the_truth(kind):
    """Near the optimum, where lifts are small, and far from it."""
    told = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        problem = machine(rng, 12, kind)
        unit, size, _ = problem.unit()
        best, _ = solve_dual(problem)
        optimum = problem.variables(best.x)
        near = optimum * (1.0 + 10.0 ** rng.uniform(-14, -2) * rng.standard_normal(1))
        for start in (near, rng.uniform(0.0, 1.0, optimum.size) * optimum.max()):
            a = unit.domain.project(start / size)
            point = unit.at(a)
            found = unit.elsewhere(point)
            with mp.workdps(digits.DIGITS):
                truth = value_in_50_digits(unit, optimum / size)
                short = float(truth - value_in_50_digits(unit, point.a))
            assert found.value >= short * (1.0 - 1e-12)
            told += found.value < unit.certified(point).value
    assert told >= 20  # points whose gap is smaller elsewhere
