"""Arithmetic with 32 digits agrees with mpmath's with 60."""

import mpmath
import numpy as np
import pytest
import scipy.sparse

from krein.referee.digits import Eigenpairs, Wide, exponential, product, root, wide

DIGITS = 60
FINE = 1e-29


@pytest.fixture(autouse=True)
def _sixty_digits():
    with mpmath.workdps(DIGITS):
        yield


def exact(number):
    """Return a Wide number, or an array of them, with 60 digits."""
    number = wide(number)
    if number.high.ndim == 0:
        return mpmath.mpf(float(number.high)) + mpmath.mpf(float(number.low))
    return [exact(number[i]) for i in range(len(number))]


def off(found, wanted, size=None):
    """Largest difference, as a share of the size."""
    size = size or max(abs(x) for x in wanted) or 1
    return max(abs(a - b) for a, b in zip(found, wanted, strict=True)) / size


def numbers(rng, n=50):
    x = rng.standard_normal(n) * 10.0 ** rng.uniform(-20, 20, n)
    return Wide(x, x * rng.uniform(-1, 1, n) * 2.0**-54)


OPERATIONS = {
    "sum": lambda a, b: a + b,
    "difference": lambda a, b: a - b,
    "product": lambda a, b: a * b,
    "quotient": lambda a, b: a / b,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name, rng):
    operation = OPERATIONS[name]
    a = numbers(rng)
    b = numbers(rng)
    found = exact(operation(a, b))
    for x, p, q in zip(found, exact(a), exact(b), strict=True):
        assert abs(x - operation(p, q)) <= FINE * max(abs(operation(p, q)), abs(p))


@pytest.mark.parametrize("power", [10, 17, 100])
def test_small_entries_of_a_vector_are_not_lost(power, rng):
    """Beside entries that are larger by any power, relative to their own row."""
    A = np.diag(10.0 ** np.array([power, -power, 0.0]))
    A[0, 2] = A[2, 0] = 1.0
    x = np.array([10.0**-power, 10.0**power, 1.0]) * rng.uniform(1, 2, 3)
    for matrix in (A, wide(A)):
        found = exact(product(matrix, x))
        for row, value in zip(A, found, strict=True):
            wanted = [
                mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(row, x, strict=True)
            ]
            assert abs(value - sum(wanted)) <= FINE * sum(map(abs, wanted))


def test_numbers_of_numpy_may_stand_on_either_side():
    a = Wide(np.array([1.0, 2.0]), 1e-20)
    for found in (np.ones(2) + a, a + 1.0, np.float64(1.0) + a):
        np.testing.assert_array_equal(found.high, [2.0, 3.0])
        np.testing.assert_array_equal(found.low, 1e-20)


def test_sums_roots_and_powers(rng):
    x = numbers(rng)
    total = mpmath.fsum(exact(x))
    assert abs(exact(x.sum()) - total) <= FINE * mpmath.fsum(abs(p) for p in exact(x))
    y = np.abs(x.high)
    assert off(exact(root(y)), [mpmath.sqrt(mpmath.mpf(float(p))) for p in y]) <= FINE
    z = Wide(rng.uniform(-600, 600, 50), 0.0)
    for found, p in zip(exact(exponential(z)), exact(z), strict=True):
        assert abs(found / mpmath.exp(p) - 1) <= 1e-26
    assert exponential(wide([-1e5])).high <= 1e-300


@pytest.mark.parametrize("form", ["dense", "sparse", "wide"])
def test_products_that_cancel(form, rng):
    n = 30
    A = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-8, 8, (n, n))
    c = rng.standard_normal(n) * 10.0 ** rng.uniform(-8, 8, n)
    wanted = [
        mpmath.fdot((float(a), float(b)) for a, b in zip(row, c, strict=True))
        for row in A
    ]
    left = {"dense": A, "sparse": scipy.sparse.csr_array(A), "wide": wide(A)}[form]
    size = float(np.abs(A).max() * np.abs(c).max())
    assert off(exact(product(left, c)), wanted, size) <= FINE


def low_rank(rng, n):
    F = rng.standard_normal((n, 3))
    return (F * [1.0, 1.0, -1.0]) @ F.T


def large_constant(rng, n):
    X = rng.standard_normal((n, 3))
    return np.tanh(X @ X.T) - 1e10


def graph(rng, n):
    A = np.triu(rng.random((n, n)) < 0.3, 1) * 1.0
    return A + A.T


def graded(rng, n):
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    d = 10.0 ** rng.uniform(-12, 0, n) * rng.choice([-1.0, 1.0], n)
    return (Q * d) @ Q.T


def pairs_of_equal(rng, n):
    half = rng.standard_normal((n // 2, n // 2))
    return np.kron(np.eye(2), half + half.T)


MATRICES = {
    "low rank": low_rank,
    "large constant": large_constant,
    "graph": graph,
    "graded": graded,
    "pairs of equal eigenvalues": pairs_of_equal,
    "zero": lambda rng, n: np.zeros((n, n)),
    "identity": lambda rng, n: np.eye(n),
    "ones": lambda rng, n: np.ones((n, n)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_eigenpairs(name, rng):
    K = MATRICES[name](rng, 12)
    K = 0.5 * (K + K.T)
    found = Eigenpairs(wide(K))
    values, _ = mpmath.eigsy(mpmath.matrix(K.tolist()))
    size = max(abs(x) for x in values) or 1
    assert off(sorted(exact(found.values)), sorted(values), size) <= FINE
    X = found.vectors
    assert np.abs((X.T @ X - np.eye(12)).high).max() <= 1e-23
    residual = product(K, X) - X * found.values
    assert np.abs(residual.high).max() <= 1e-23 * float(size)
