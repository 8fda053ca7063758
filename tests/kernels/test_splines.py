"""Thin-plate and multiquadric kernels: formulas, order, polynomials."""

import tracemalloc

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import RBFInterpolator
from scipy.spatial.distance import cdist

from krein import Kernel, thin_plate_kernel
from krein.kernels import splines
from krein.kernels.splines import monomials, orthonormal_range, squared_distances

_KERNELS = [Kernel("thin_plate", exponent=e) for e in (0.5, 1, 1.5, 2, 3, 4, 5, 6)] + [
    Kernel("multiquadric"),
    Kernel("multiquadric", power=1.5, c=0.3),
]


@pytest.mark.parametrize("kernel", _KERNELS, ids=repr)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_positive_on_the_complement_of_polynomials(kernel, d, rng):
    X = rng.uniform(-1, 1, (40, d))
    Phi = kernel(X)
    Z = scipy.linalg.null_space(monomials(X, kernel.order - 1).T)
    values = np.linalg.eigvalsh(Z.T @ Phi @ Z)
    assert values.min() >= -1e-11 * values.max()
    assert values.max() > 0


@pytest.mark.parametrize("kernel", _KERNELS, ids=repr)
def test_declared_order_is_needed(kernel, rng):
    """One degree less and the form has negative values: the order is not too large."""
    X = rng.uniform(-5, 5, (60, 1))
    P = monomials(X, kernel.order - 2)
    Z = scipy.linalg.null_space(P.T) if P.shape[1] else np.eye(60)
    assert np.linalg.eigvalsh(Z.T @ kernel(X) @ Z).min() < -1e-6


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 2.5])
@pytest.mark.parametrize("d", [2, 30])
def test_values_by_double_loop(exponent, d, rng):
    X, Y = rng.standard_normal((6, d)), rng.standard_normal((4, d))
    Y[0] = X[2]
    K = thin_plate_kernel(X, Y, exponent=exponent)
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            r = np.sqrt(np.sum((x - y) ** 2))
            if exponent % 2 == 0:
                sign = (-1) ** (exponent / 2 + 1)
                wanted = sign * r**exponent * np.log(r) if r > 0 else 0.0
            else:
                wanted = (-1) ** np.ceil(exponent / 2) * r**exponent
            assert K[i, j] == pytest.approx(wanted, rel=1e-11, abs=0)
    assert K[2, 0] == 0.0


def test_signs_are_those_of_scipy(rng):
    """Same conventions as RBFInterpolator: the interpolants agree."""
    X, y = rng.standard_normal((20, 2)), rng.standard_normal(20)
    for exponent, name in [(1, "linear"), (2, "thin_plate_spline"), (3, "cubic")]:
        spline = RBFInterpolator(X, y, kernel=name, degree=1)
        Phi, P = thin_plate_kernel(X, exponent=exponent), monomials(X, 1)
        system = np.block([[Phi, P], [P.T, np.zeros((3, 3))]])
        both = np.linalg.solve(system, np.concatenate([y, np.zeros(3)]))
        Z = rng.standard_normal((5, 2))
        values = thin_plate_kernel(Z, X, exponent=exponent) @ both[:20]
        values += monomials(Z, 1) @ both[20:]
        np.testing.assert_allclose(values, spline(Z), rtol=1e-9)


@given(st.integers(0, 10_000), st.integers(1, 40), st.floats(0, 1e6))
@settings(max_examples=40, deadline=None)
def test_distances_keep_their_digits(seed, d, offset):
    """Far from the origin, with coinciding and nearly coinciding items."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, d)) + offset
    Y = np.vstack([X[:5], X[5:10] * (1 + 1e-9), rng.standard_normal((3, d)) + offset])
    found = squared_distances(X, Y)
    wanted = cdist(X, Y, metric="sqeuclidean")
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-30)
    assert np.all(found[np.arange(5), np.arange(5)] == 0.0)


@pytest.mark.parametrize("d", [2, 6])
def test_a_far_item(rng, d):
    """It makes all pairs look close, and none is."""
    X = rng.standard_normal((60, d))
    X[7] *= 1e4
    K = thin_plate_kernel(X, exponent=1)
    np.testing.assert_allclose(K, -cdist(X, X), rtol=1e-10)


@pytest.mark.parametrize("d", [2, 6])
def test_panels_of_rows_are_the_whole(monkeypatch, rng, d):
    X, Y = rng.standard_normal((60, d)), rng.standard_normal((13, d))
    kernels = [Kernel("thin_plate", exponent=e) for e in (1, 2, 3, 4, 2.5)]
    kernels.append(Kernel("multiquadric", power=1.5))
    whole = [(kernel(X), kernel(X, Y)) for kernel in kernels]
    monkeypatch.setattr(splines, "_PANEL", 130)
    for kernel, (square, rows) in zip(kernels, whole, strict=True):
        np.testing.assert_allclose(kernel(X), square, rtol=1e-12)
        np.testing.assert_allclose(kernel(X, Y), rows, rtol=1e-12)


@pytest.mark.parametrize("d", [2, 12])
@pytest.mark.parametrize("exponent", [1, 2, 3])
def test_one_matrix_is_in_memory_beside_panels(rng, d, exponent):
    X = rng.standard_normal((1200, d))
    tracemalloc.start()
    try:
        K = thin_plate_kernel(X, exponent=exponent)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert K.nbytes < peak < 1.4 * K.nbytes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: thin_plate_kernel(X, exponent=0), "exponent must be positive"),
        (lambda X: Kernel("multiquadric", power=2)(X), "power positive and not"),
        (lambda X: Kernel("multiquadric", c=0)(X), "c must be positive"),
        (lambda X: monomials(np.ones((2, 200)), 4), "smaller degree"),
    ],
)
def test_bad_parameters(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.ones((2, 2)))


def test_monomials_by_hand():
    X = np.array([[2.0, 3.0], [1.0, -1.0]])
    np.testing.assert_array_equal(
        monomials(X, 2), [[1, 2, 3, 4, 6, 9], [1, 1, -1, 1, -1, 1]]
    )
    assert monomials(X, -1).shape == (2, 0)


@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(1, 8))
@settings(max_examples=50, deadline=None)
def test_orthonormal_range_reveals_the_rank(seed, n, p):
    rng = np.random.default_rng(seed)
    rank = min(n, p, 1 + seed % 4)
    P = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p))
    P *= 10.0 ** rng.uniform(-4, 4, p)
    Q, G = orthonormal_range(P)
    assert Q.shape[1] == rank
    np.testing.assert_allclose(Q.T @ Q, np.eye(rank), atol=1e-12)
    np.testing.assert_allclose(P @ G, Q, atol=1e-7)
