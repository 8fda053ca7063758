"""SPD kernels against pyriemann, invariances, bad input; covariance descriptors."""

import numpy as np
import pytest

from krein import (
    Kernel,
    affine_invariant_kernel,
    covariance_descriptors,
    geodesic_rbf_kernel,
)
from krein.kernels import KERNELS


@pytest.fixture
def matrices(rng):
    A = rng.standard_normal((12, 4, 6))
    return A @ A.transpose(0, 2, 1)


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("euclidean_spd", "euclid"),
        ("log_euclidean", "logeuclid"),
        ("affine_invariant", "riemann"),
        ("stein", "logdet"),
        ("bures", "wasserstein"),
    ],
)
def test_equals_pyriemann(matrices, name, metric):
    pytest.importorskip("pyriemann", reason="pyriemann is the referee here")
    from pyriemann.geometry.distance import pairwise_distance

    expected = pairwise_distance(matrices[:5], matrices[5:], metric=metric)
    D = KERNELS[name].distance(matrices[:5], matrices[5:])
    np.testing.assert_allclose(D, expected, rtol=1e-7)


@pytest.mark.parametrize("name", ["affine_invariant", "stein"])
def test_invariant_under_congruence(matrices, rng, name):
    W = rng.standard_normal((4, 4))
    moved = W @ matrices @ W.T
    np.testing.assert_allclose(
        Kernel(name)(0.5 * (moved + moved.transpose(0, 2, 1))),
        Kernel(name)(matrices),
        rtol=1e-7,
        atol=1e-7,
    )


def test_stein_gaussian_is_definite_at_half_integers(rng):
    A = rng.standard_normal((40, 3, 3))
    X = A @ A.transpose(0, 2, 1) + 0.01 * np.eye(3)
    for gamma in (0.5, 1.0, 1.7):
        K = Kernel("stein", similarity="gaussian", gamma=gamma)(X)
        assert np.linalg.eigvalsh(K)[0] > -1e-10


def test_real_matrices_make_the_affine_invariant_gaussian_indefinite(shared_data):
    X = shared_data("spd_emg_gestures")["X"][::6]
    K = affine_invariant_kernel(X, similarity="gaussian", gamma=0.01)
    assert np.linalg.eigvalsh(K)[0] < -1e-3


def test_geodesic_rbf_takes_a_function(matrices):
    D = KERNELS["affine_invariant"].distance(matrices)

    def distance(A, B):
        return KERNELS["affine_invariant"].distance(A[None], B[None])[0, 0]

    K = geodesic_rbf_kernel(matrices, distance=distance, gamma=0.3)
    np.testing.assert_allclose(K, np.exp(-0.3 * D**2), rtol=1e-10)
    with pytest.raises(TypeError, match="distance must be a callable"):
        geodesic_rbf_kernel(matrices)
    with pytest.raises(ValueError, match=r"distance returned .*-1.* items 0 and 0"):
        geodesic_rbf_kernel(matrices, distance=lambda A, B: -1.0)


def test_bad_matrices_are_named(matrices):
    kernel = Kernel("log_euclidean")
    broken = matrices.copy()
    broken[3, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"X\[3\] contains NaN"):
        kernel(broken)
    broken = matrices.copy()
    broken[2, 0, 1] += 1
    with pytest.raises(ValueError, match=r"X\[2\] is not symmetric"):
        kernel(broken)
    broken = matrices.copy()
    broken[4] = np.ones((4, 4))
    with pytest.raises(ValueError, match=r"X\[4\] is not positive definite"):
        kernel(broken)
    with pytest.raises(ValueError, match="one shape"):
        kernel(matrices, matrices[:, :3, :3])
    with pytest.raises(ValueError, match="one shape"):
        kernel([np.eye(2), np.eye(3)])
    with pytest.raises(ValueError, match="one shape"):
        kernel(np.ones((3, 4)))
    with pytest.raises(ValueError, match="real numbers"):
        kernel(matrices.astype(complex))
    wide = np.stack([np.diag([1.0, 1e-13]), np.diag([1e-13, 1.0])])
    with pytest.raises(ValueError, match=r"X\[0\] and Y\[1\] are too badly"):
        affine_invariant_kernel(wide)


def test_bad_settings_are_named(matrices):
    with pytest.raises(ValueError, match="gamma must be a positive number"):
        affine_invariant_kernel(matrices, gamma=-1)
    with pytest.raises(ValueError, match="similarity must be one of exponential"):
        affine_invariant_kernel(matrices, similarity="linear")
    with pytest.raises(ValueError, match="got 3"):
        affine_invariant_kernel(matrices, similarity=3)
    with pytest.raises(ValueError, match=r"Kernel\(\.\.\.\)\.fit"):
        affine_invariant_kernel(matrices, similarity="max")


def descriptor_by_hand(image):
    """The nine features of a pixel in the words of the paper, one pixel at a time."""
    height, width = image.shape
    Gy, Gx = np.gradient(image)
    Gyy, Gxx = np.gradient(Gy, axis=0), np.gradient(Gx, axis=1)
    rows = []
    for y in range(height):
        for x in range(width):
            a, b = abs(Gx[y, x]), abs(Gy[y, x])
            angle = np.arctan(a / b) if b > 0 else (np.pi / 2 if a > 0 else 0.0)
            length = np.sqrt(a**2 + b**2)
            second = abs(Gxx[y, x]), abs(Gyy[y, x])
            rows.append([x, y, image[y, x], a, b, length, *second, angle])
    return np.cov(np.array(rows), rowvar=False)


def test_covariance_descriptors_by_hand(rng):
    images = [rng.random((6, 5)), rng.random((7, 8))]
    for image, found in zip(
        images, covariance_descriptors(images, shrinkage=0), strict=True
    ):
        np.testing.assert_allclose(found, descriptor_by_hand(image), rtol=1e-10)


def test_constant_image_has_a_definite_descriptor(rng):
    descriptors = covariance_descriptors([np.full((8, 8), 3.0), rng.random((8, 8))])
    assert np.linalg.eigvalsh(descriptors).min() > 0
    assert affine_invariant_kernel(descriptors).shape == (2, 2)
    with pytest.raises(ValueError, match=r"images\[0\] has shape"):
        covariance_descriptors(rng.random((2, 8, 8, 3)))
    with pytest.raises(ValueError, match=r"images\[1\] contains NaN"):
        covariance_descriptors([np.ones((3, 3)), np.full((3, 3), np.nan)])
    with pytest.raises(ValueError, match="shrinkage"):
        covariance_descriptors([np.ones((3, 3))], shrinkage=2)
