"""The quadrature oracle against a full eigendecomposition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krein.machines.quadrature import COARSE, RankOnePositivePart

N = 12
SPECTRA = {
    "indefinite": np.linspace(-3.0, 5.0, N),
    "positive": np.linspace(0.1, 2.0, N),
    "negative": -np.linspace(0.1, 2.0, N),
    "zero": np.zeros(N),
    "repeated": np.repeat([-1.0, 0.0, 2.0], N // 3),
    "tiny and large": np.concatenate([np.full(N // 2, 1e-9), np.full(N // 2, -1e3)]),
    "one": np.full(N, 7.0),
}


def positive_part(d, z):
    values, U = np.linalg.eigh(np.diag(d) + np.outer(z, z))
    return (U * np.maximum(values, 0.0)) @ U.T


def scale_of(d, z):
    return max(float(np.abs(d).max()), float(z @ z))


def matrix(M):
    return np.array([M @ unit for unit in np.eye(M.diagonal.size)])


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("size", [0.0, 1e-4, 1.0, 30.0])
def test_value_gradient_and_positive_part(name, size, rng):
    d, z = SPECTRA[name], size * rng.standard_normal(N)
    part = RankOnePositivePart(d)
    expected = positive_part(d, z)
    S = scale_of(d, z) or 1.0
    value, p = part.value_gradient(z)
    rise = np.sum(expected**2) - np.sum(np.maximum(d, 0.0) ** 2)
    assert value == pytest.approx(rise, abs=1e-11 * S**2)
    np.testing.assert_allclose(p, expected @ z, rtol=0, atol=1e-13 * S**1.5)
    np.testing.assert_allclose(part.gradient(z), p, rtol=0, atol=1e-15 * S**1.5)
    np.testing.assert_allclose(
        matrix(part.positive_part(z)), expected, rtol=0, atol=1e-13 * S
    )


@pytest.mark.parametrize("name", SPECTRA)
def test_gradient_is_a_quarter_of_the_derivative_of_the_value(name, rng):
    d, z, h = SPECTRA[name], rng.standard_normal(N), rng.standard_normal(N)
    part = RankOnePositivePart(d)
    step = 1e-4
    ahead = part.value_gradient(z + step * h)[0]
    behind = part.value_gradient(z - step * h)[0]
    slope = 4.0 * float(part.gradient(z) @ h)
    assert (ahead - behind) / (2 * step) == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
def test_along_a_ray(name, size, rng):
    d, z = SPECTRA[name], size * rng.standard_normal(N)
    part = RankOnePositivePart(d)
    inner = part.along(z)
    for s in (1e-3, 0.1, 0.7, 1.0):
        expected = float(z @ part.gradient(s * z))
        S = scale_of(d, z)
        assert inner(s) == pytest.approx(expected, abs=1e-13 * S * float(z @ z))


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
def test_jacobian_by_central_differences(name, size, rng):
    d, z = SPECTRA[name], size * rng.standard_normal(N)
    part = RankOnePositivePart(d)
    h = rng.standard_normal(N)
    step = 1e-5 * size
    difference = (part.gradient(z + step * h) - part.gradient(z - step * h)) / (
        2 * step
    )
    jacobian = part.jacobian(z)
    size = scale_of(d, z) * np.linalg.norm(h)
    np.testing.assert_allclose(jacobian @ h, difference, rtol=0, atol=3e-6 * size)
    np.testing.assert_allclose(matrix(jacobian) @ h, jacobian @ h, atol=1e-9 * size)


def test_jacobian_at_zero_is_the_positive_part():
    d = SPECTRA["indefinite"]
    jacobian = RankOnePositivePart(d).jacobian(np.zeros(N))
    np.testing.assert_allclose(matrix(jacobian), np.diag(np.maximum(d, 0)), atol=1e-13)


@pytest.mark.parametrize("name", ["indefinite", "positive", "negative"])
def test_projection_on_the_positive_eigenspace(name, rng):
    d, z = SPECTRA[name], rng.standard_normal(N)
    values, U = np.linalg.eigh(np.diag(d) + np.outer(z, z))
    expected = U @ ((values > 0) * (U.T @ z))
    found = RankOnePositivePart(d).range_projection(z)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("small", [1e-11, -1e-11, 1e-9, -1e-9])
@pytest.mark.parametrize("scale", [1e-80, 1.0, 1e80])
def test_projection_leaves_out_what_is_zero_to_rounding(small, scale, rng):
    """Null vectors of A have no part in it, small eigenvalues have theirs."""
    d = scale * np.array([-1.0, 0.0, 0.0, small, 2.0])
    z = np.array([0.5, 0.3, 0.0, 1.0, 0.2])
    z = 1e-10 * np.sqrt(scale) * z  # far below D: A is D to rounding
    found = RankOnePositivePart(d).range_projection(z) / np.linalg.norm(z)
    expected = np.where(d > 0, z, 0.0) / np.linalg.norm(z)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("size", [1e-2, 1.0, 100.0])
def test_bordered_product(size, rng):
    d, z = SPECTRA["indefinite"], rng.standard_normal(N)
    borders, corners = size * rng.standard_normal((5, N)), rng.standard_normal(5)
    expected = []
    for b, k in zip(borders, corners, strict=True):
        M = np.block([[np.diag(d) + np.outer(z, z), b[:, None]], [b, np.array([k])]])
        values, U = np.linalg.eigh(M)
        expected.append(((U * np.maximum(values, 0)) @ U.T)[-1, :-1] @ z)
    found = RankOnePositivePart(d).bordered_product(z, borders, corners)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * max(size, 1))


def test_single_precision_is_single_precision(rng):
    d, z = SPECTRA["indefinite"], rng.standard_normal(N)
    p = RankOnePositivePart(d, COARSE).gradient(z.astype(np.float32))
    assert p.dtype == np.float32
    np.testing.assert_allclose(p, positive_part(d, z) @ z, rtol=0, atol=1e-4)


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 15),
    spread=st.floats(-6, 6),
    size=st.floats(-8, 8),
)
def test_any_scale(seed, n, spread, size):
    rng = np.random.default_rng(seed)
    d = np.round(rng.standard_normal(n), 1) * 10.0**spread
    z = rng.standard_normal(n) * 10.0**size
    part = RankOnePositivePart(d)
    S = scale_of(d, z)
    p = part.gradient(z)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(
        p, positive_part(d, z) @ z, rtol=0, atol=1e-12 * S * np.linalg.norm(z)
    )
