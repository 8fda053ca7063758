"""Many SVM duals by products alone, against LIBSVM polished to rounding."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from krein.machines.box import BalancedBox
from krein.machines.sparse_svm import _projected, sparse_svm_dual, sparse_svm_path
from tests.machines import svm_dual
from tests.reference.boxes import contains


def problem(n=150, k=5, seed=0, singular=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n // 3 if singular else 2 * n)) / np.sqrt(n)
    K = X @ X.T
    y = rng.integers(0, k, n)
    return K, np.where(y[:, None] == np.arange(k), 1.0, -1.0)


@pytest.mark.parametrize("singular", [False, True])
@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
def test_same_solutions(C, singular):
    K, Y = problem(singular=singular)
    norm = scipy.linalg.eigvalsh(K)[-1]
    upper = C * np.linspace(0.5, 1.5, K.shape[0])
    # Products alone end near 1e-9 at C = 100, by an order more or less with the sums
    # of another BLAS or number of threads.
    found = sparse_svm_dual(K, norm, upper, Y, tol=1e-8, max_iter=100_000)
    for y, (result, b) in zip(Y.T, found, strict=True):
        exact, intercept = svm_dual(K, BalancedBox(upper, y))
        assert result.status == "converged"
        assert result.certificate.relative <= 1e-8
        assert_allclose(result.value, exact.value, rtol=2e-8)
        assert result.value <= exact.value * (1 + 1e-12)
        assert contains(BalancedBox(upper, y), result.x)
        f, g = K @ (y * result.x) + b, K @ (y * exact.x) + intercept
        assert_allclose(f, g, atol=1e-3)


def test_certificate_is_a_bound():
    """The gap covers the distance to the optimum at every accuracy."""
    K, Y = problem()
    norm = scipy.linalg.eigvalsh(K)[-1]
    upper = np.ones(K.shape[0])
    for tol in (1e-1, 1e-3, 1e-6):
        found = sparse_svm_dual(K, norm, upper, Y, tol=tol, max_iter=100_000)
        for y, (result, _) in zip(Y.T, found, strict=True):
            exact, _ = svm_dual(K, BalancedBox(upper, y))
            assert 0 <= exact.value - result.value + 1e-12 <= result.certificate.value


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
def test_scale_does_not_matter(scale):
    K, Y = problem(80, 3)
    norm = scipy.linalg.eigvalsh(K)[-1]
    upper = np.ones(80)
    one = sparse_svm_dual(K, norm, upper, Y, tol=1e-8, max_iter=10_000)
    other = sparse_svm_dual(
        K * scale, norm * scale, upper / scale, Y, tol=1e-8, max_iter=10_000
    )
    for (a, b), (c, d) in zip(one, other, strict=True):
        assert c.status == "converged"
        assert_allclose(a.value, c.value * scale, rtol=1e-7)
        assert_allclose(b, d, rtol=1e-3)


def test_more_columns_than_go_together(monkeypatch):
    from krein.machines import sparse_svm

    K, Y = problem(60, 7)
    norm = scipy.linalg.eigvalsh(K)[-1]
    whole = sparse_svm_dual(K, norm, np.ones(60), Y, tol=1e-10, max_iter=10_000)
    monkeypatch.setattr(sparse_svm, "_COLUMNS", 2)
    parts = sparse_svm_dual(K, norm, np.ones(60), Y, tol=1e-10, max_iter=10_000)
    for (a, _), (b, _) in zip(whole, parts, strict=True):
        assert_allclose(a.value, b.value, rtol=1e-9)


def test_too_few_steps_and_too_much_asked():
    K, Y = problem()
    norm = scipy.linalg.eigvalsh(K)[-1]
    few = sparse_svm_dual(K, norm, np.ones(150), Y, tol=1e-9, max_iter=3)
    assert {result.status for result, _ in few} == {"max_iter"}
    assert all(result.certificate.relative > 1e-9 for result, _ in few)
    much = sparse_svm_dual(K, norm, np.ones(150), Y, tol=1e-30, max_iter=10**9)
    assert {result.status for result, _ in much} == {"stalled"}
    assert all(result.certificate.relative < 1e-10 for result, _ in much)


def test_projection():
    rng = np.random.default_rng(0)
    Y = np.where(rng.random((40, 6)) < 0.3, 1.0, -1.0)
    upper = rng.uniform(0.1, 2.0, 40)
    V = 3.0 * rng.standard_normal((40, 6))
    low, high = np.minimum(Y, 0) * upper[:, None], np.maximum(Y, 0) * upper[:, None]
    for start in (np.zeros(6), rng.standard_normal(6)):
        found, tau = _projected(V, low, high, start)
        assert_allclose(found, np.clip(V - tau, low, high))
        for k in range(6):
            expected = BalancedBox(upper, Y[:, k]).project(Y[:, k] * V[:, k])
            assert_allclose(found[:, k], Y[:, k] * expected, atol=1e-12)


class Counted:
    """A kernel that counts its products with blocks."""

    def __init__(self, K):
        self.K, self.products = K, 0

    def __matmul__(self, V):
        assert V.flags.c_contiguous  # a sparse product would copy it
        self.products += 1
        return self.K @ V


def test_path_of_nearly_diagonal_kernels_takes_few_products():
    """Each C starts from the best multiple of the one before, and ends in time."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 20
    noise = 0.02 * rng.random((400, 400))
    K = Counted(np.eye(400) + np.where(y[:, None] == y, 0.1, 0.0) + noise + noise.T)
    Y = np.where(y[:, None] == np.arange(20), 1.0, -1.0)
    uppers = [np.full(400, C) for C in (0.1, 0.56, 3.2, 18.0, 100.0, 560.0)]
    norm = scipy.linalg.eigvalsh(K.K)[-1]
    coef, intercept = sparse_svm_path(K, norm, uppers, Y)
    assert K.products <= 45
    for upper, V, b in zip(uppers, coef, intercept, strict=True):
        assert np.all((Y * V >= 0) & (Y * V <= upper[:, None]))
        exact, c = svm_dual(K.K, BalancedBox(upper, Y[:, 0]))
        value = V[:, 0] @ Y[:, 0] - 0.5 * V[:, 0] @ K.K @ V[:, 0]
        assert_allclose(value, exact.value, rtol=1e-2)
        assert_allclose(b[0], c, atol=0.1)
