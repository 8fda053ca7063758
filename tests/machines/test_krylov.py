"""A_+ z by Lanczos' method: the stated errors hold and are near the true ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krein.machines.krylov import Lanczos

EPS = np.finfo(float).eps
SPECTRA = {
    "any": lambda rng, n: rng.standard_normal(n),
    "decaying": lambda rng, n: rng.choice([-1, 1], n) * 0.5 ** np.arange(n),
    "zeros": lambda rng, n: rng.standard_normal(n) * (rng.random(n) < 0.4),
    "ties": lambda rng, n: rng.choice([-1.0, 0.0, 2.0], n),
    "tiny": lambda rng, n: rng.standard_normal(n) * 10.0 ** rng.uniform(-14, 0, n),
    "outlier": lambda rng, n: np.append(-1e4, rng.uniform(-1, 1, n - 1)),
}


def problem(seed, spectrum, n, size):
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    d = SPECTRA[spectrum](rng, n)
    return (Q * d) @ Q.T, d, Q, size * rng.standard_normal(n), rng


def exact(K, z):
    """p(z) and V(z) by dense eigendecompositions, and the rounding of these."""
    d, U = np.linalg.eigh(0.5 * (K + K.T) + np.outer(z, z))
    before = np.linalg.eigvalsh(0.5 * (K + K.T))
    value = np.sum(np.maximum(d, 0) ** 2) - np.sum(np.maximum(before, 0) ** 2)
    noise = 8 * d.size * EPS * np.abs(d).max()
    vector = U @ (np.maximum(d, 0.0) * (U.T @ z))
    return value, vector, 8 * noise * np.abs(d).sum(), noise * np.linalg.norm(z)


def shares(K, z, known, steps):
    """True errors over the stated ones."""
    L, U = known
    residual = np.linalg.norm(K @ U - U * L)
    lanczos = Lanczos(K.__matmul__, L, U, residual, z)
    lanczos.extend(steps)
    found = lanczos.positive_part()
    value, vector, value_noise, vector_noise = exact(K, z)
    off = np.linalg.norm(found.vector - vector)
    assert off <= found.vector_error + vector_noise
    assert abs(found.value - value) <= found.value_error + value_noise
    return off / found.vector_error, abs(found.value - value) / found.value_error


@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(SPECTRA)),
    st.integers(2, 40),
    st.integers(0, 40),
    st.integers(1, 40),
    st.floats(-4, 2),
)
@settings(max_examples=150, deadline=None)
def test_stated_errors_hold(seed, spectrum, n, r, steps, size):
    K, d, Q, z, rng = problem(seed, spectrum, n, 10.0**size)
    chosen = rng.permutation(n)[: min(r, n)]
    shares(K, z, (d[chosen], Q[:, chosen]), steps)


@given(st.integers(0, 10**6), st.integers(3, 30), st.floats(-8, -1))
@settings(max_examples=60, deadline=None)
def test_eigenpairs_that_are_not_exact_are_counted(seed, n, off):
    K, _, Q, z, rng = problem(seed, "any", n, 1.0)
    U, _ = np.linalg.qr(Q[:, : n // 2] + 10.0**off * rng.standard_normal((n, n // 2)))
    shares(K, z, (np.einsum("ij,ij->j", U, K @ U), U), n)


def test_stated_errors_are_of_the_order_of_the_true_ones():
    """A bound that was ten times too large would certify little."""
    vector, value = [], []
    for seed in range(30):
        K, d, Q, z, _ = problem(seed, "any", 60, 0.3)
        share = shares(K, z, (d[:0], Q[:, :0]), 2 + seed % 8)
        vector.append(share[0])
        value.append(share[1])
    assert max(vector) > 0.1
    assert max(value) > 0.03


def test_an_invariant_space_is_exact():
    K, d, Q, z, _ = problem(3, "any", 30, 1.0)
    z = Q[:, 5:9] @ np.ones(4)
    lanczos = Lanczos(K.__matmul__, d[:2], Q[:, :2], 0.0, z)
    lanczos.extend(3)
    assert lanczos.positive_part().vector_error > 1e-3
    lanczos.extend(1)  # nothing but rounding is left
    found = lanczos.positive_part()
    np.testing.assert_allclose(found.vector, exact(K, z)[1], atol=1e-12)
    assert found.vector_error < 1e-10


@pytest.mark.parametrize("inside", [True, False])
def test_nothing_outside_of_the_known_eigenvectors_needs_no_product(inside):
    K, d, Q, _, _ = problem(4, "any", 12, 1.0)
    z = Q[:, :3] @ np.array([1.0, 2.0, 3.0]) if inside else np.zeros(12)
    lanczos = Lanczos(lambda v: pytest.fail("a product"), d[:3], Q[:, :3], 0.0, z)
    lanczos.extend(5)
    found = lanczos.positive_part()
    np.testing.assert_allclose(found.vector, exact(K, z)[1], atol=1e-12)
    assert found.vector_error < 1e-11
