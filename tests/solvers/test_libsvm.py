"""LIBSVM with the polish, against another solver and the KKT conditions."""

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from krein.domain import BalancedBox
from krein.solvers.libsvm import one_class_dual, svm_dual, svr_dual


def by_clarabel(K, domain):
    """The same dual by an interior-point method: the optimal value."""
    n = domain.n
    Q = K * np.outer(domain.y, domain.y)
    A = sp.csc_matrix(np.vstack([domain.y, -np.eye(n), np.eye(n)]))
    b = np.concatenate([[0.0], np.zeros(n), domain.upper])
    settings_ = clarabel.DefaultSettings()
    settings_.verbose = False
    settings_.tol_gap_rel = settings_.tol_gap_abs = 1e-11
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(Q)), -np.ones(n), A, b,
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)], settings_,
    )  # fmt: skip
    return -solver.solve().obj_val


def random_problem(seed, n, rank, C):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, rank))
    y = np.where(rng.uniform(size=n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return F @ F.T, BalancedBox(C * rng.uniform(0.5, 2.0, n), y)


@given(
    st.integers(0, 10**6), st.integers(4, 25), st.integers(1, 25), st.floats(0.01, 10)
)
@settings(max_examples=60, deadline=None)
def test_value_and_certificate_against_clarabel(seed, n, rank, C):
    K, domain = random_problem(seed, n, rank, C)
    result, intercept = svm_dual(K, domain)
    best = by_clarabel(K, domain)
    assert domain.contains(result.x, tol=1e-8)
    assert result.value == pytest.approx(best, rel=1e-6, abs=1e-8)
    # The certificate is a true bound, and tight.
    assert result.value + result.certificate.value >= best * (1 - 1e-7) - 1e-9
    assert result.certificate.relative <= 1e-4
    assert np.isfinite(intercept)


def test_polished_points_meet_the_kkt_conditions_to_rounding():
    K, domain = random_problem(3, 60, 60, 1.0)
    result, intercept = svm_dual(K, domain)
    margins = domain.y * (K @ (domain.y * result.x) + intercept)
    free = (result.x > 0) & (result.x < domain.upper)
    assert free.sum() >= 3
    np.testing.assert_allclose(margins[free], 1.0, atol=1e-10)
    assert np.all(margins[result.x == 0] >= 1 - 1e-9)
    assert np.all(margins[result.x == domain.upper] <= 1 + 1e-9)
    assert result.certificate.relative <= 1e-10


def test_an_indefinite_kernel_gets_a_stationarity_certificate(with_spectrum):
    K = with_spectrum([-2.0, -1.0, 0.5, 1.0, 2.0, 3.0])
    domain = BalancedBox(np.ones(6), np.array([1.0, -1, 1, -1, 1, -1]))
    result, _ = svm_dual(K, domain, psd=False)
    assert result.certificate.kind == "stationarity"
    gradient = 1.0 - domain.y * (K @ (domain.y * result.x))
    assert domain.violation(result.x, gradient) <= 1e-6


def test_regression_meets_its_kkt_conditions(rng):
    F = rng.standard_normal((40, 8))
    K, y = F @ F.T, rng.standard_normal(40)
    upper = rng.uniform(0.1, 0.3, 40)
    machine = svr_dual(K, y, upper, epsilon=0.1, tol=1e-6, max_iter=10**6)
    residual = y - K @ machine.v - machine.intercept
    size = np.abs(machine.v)
    free = (size > 0) & (size < upper)
    assert abs(machine.v.sum()) <= 1e-10
    assert free.any()
    np.testing.assert_allclose(
        residual[free], 0.1 * np.sign(machine.v[free]), atol=1e-8
    )
    assert np.all(np.abs(residual[machine.v == 0]) <= 0.1 + 1e-8)
    assert np.all(np.abs(residual[size == upper]) >= 0.1 - 1e-8)


def test_one_class_meets_its_kkt_conditions(rng):
    F = rng.standard_normal((30, 30))
    K, weight = F @ F.T / 30, rng.uniform(0.5, 2.0, 30)
    machine = one_class_dual(K, weight, nu=0.4, tol=1e-6, max_iter=10**6)
    f = K @ machine.v + machine.intercept
    free = (machine.v > 0) & (machine.v < weight)
    assert machine.v.sum() == pytest.approx(0.4 * weight.sum())
    np.testing.assert_allclose(f[free], 0.0, atol=1e-9)
    assert np.all(f[machine.v == 0] >= -1e-9)
    assert np.all(f[machine.v == weight] <= 1e-9)


def test_too_few_iterations_are_reported():
    K, domain = random_problem(5, 80, 80, 100.0)
    result, _ = svm_dual(K, domain, max_iter=3)
    assert result.status == "max_iter"
