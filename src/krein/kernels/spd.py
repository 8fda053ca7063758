"""Symmetric positive definite matrices: made from images, checked, and compared.

LAPACK on stacks of matrices does the work. An item is a p x p matrix; all have the same
p. With ``similarity="gaussian"`` and gamma = 1 / sigma^2 the first three kernels are
those of Table I of Liu et al. (2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist

from krein.kernels import distances

N_FEATURES = 9
_CURVED: dict[str, Any] = {
    "input": "spd",
    "parallel": "processes",
    "definiteness": "indefinite",
    "witness": "matrices A A' + 0.05 I, A 2 x 2 normal; similarity='gaussian', "
    "gamma=0.05",
}


def _covariance(image: Any) -> np.ndarray:
    """Covariance of the nine features over the pixels of an image."""
    grey = "a grey image of at least 3 x 3 pixels; turn colour into grey first"
    image = distances.check_numbers(image, grey, (2,))
    if min(image.shape) < 3:
        raise ValueError(f"has shape {image.shape}; expected {grey}")
    y, x = np.indices(image.shape, dtype=float)
    Gy, Gx = np.gradient(image)
    Gyy = np.gradient(Gy, axis=0)
    Gxx = np.gradient(Gx, axis=1)
    Gx, Gy, length = np.abs(Gx), np.abs(Gy), np.hypot(Gx, Gy)
    angle = np.arctan2(Gx, Gy)
    features = [x, y, image, Gx, Gy, length, np.abs(Gxx), np.abs(Gyy), angle]
    return np.cov([feature.ravel() for feature in features])


def covariance_descriptors(images: Any, *, shrinkage: float = 1e-6) -> np.ndarray:
    """Describe each grey image by the 9 x 9 covariance of its pixel features.

    The features of a pixel are ``x, y, I, |Gx|, |Gy|, sqrt(Gx^2 + Gy^2), |Gxx|,
    |Gyy|, arctan(|Gx| / |Gy|)``, G the derivatives of the intensity I (central
    differences; the angle of a pixel without gradient is 0).

    Parameters
    ----------
    images : array-like of shape (n, height, width), or list of 2-D arrays
        Grey values; the images may differ in size, at least 3 x 3 pixels each.
    shrinkage : float
        ``(1 - s) C + s (tr C / 9) I`` instead of C, so that an image with a constant
        feature has a positive definite descriptor. 0 leaves C alone.

    Returns
    -------
    ndarray of shape (n, 9, 9)

    References
    ----------
    Tuzel, Porikli, Meer (2006), "Region covariance"; Liu et al. (2018), "Indefinite
    kernel logistic regression with concave-inexact-convex procedure", Section VI.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import covariance_descriptors
    >>> images = np.random.default_rng(0).random((2, 8, 8))
    >>> covariance_descriptors(images).shape
    (2, 9, 9)
    """
    if not 0 <= shrinkage <= 1:
        raise ValueError(f"shrinkage must be between 0 and 1, got {shrinkage!r}")
    covariances = np.array(distances.check_each(_covariance, images, "images"))
    level = shrinkage * np.trace(covariances, axis1=1, axis2=2) / N_FEATURES
    return (1 - shrinkage) * covariances + np.multiply.outer(level, np.eye(N_FEATURES))


def _check_one(item: Any) -> np.ndarray:
    """Return a symmetric positive definite matrix, or say what is wrong with it."""
    square = "a square matrix of real numbers, all of one shape"
    A = distances.check_numbers(item, square, (2,))
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"has shape {A.shape}; expected {square}")
    if np.abs(A - A.T).max() > 1e-8 * np.abs(A).max():
        raise ValueError("is not symmetric")
    values = np.linalg.eigvalsh(A)
    if values[0] <= len(A) * np.finfo(float).eps * np.abs(values).max():
        raise ValueError(
            f"is not positive definite: its eigenvalues go from {values[0]:.3g} to "
            f"{values[-1]:.3g}. Shrink covariances towards the identity first"
        )
    return A


def _check_pair(X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Validate both stacks; twice the same array where they are the same."""
    first, second = distances.check_both(X, Y, _check_one, np.shape)
    stack = np.array(first)
    return stack, stack if second is first else np.array(second)


def _flat_distances(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Frobenius distances between matrices of two stacks."""
    return cdist(X.reshape(X.shape[0], -1), Y.reshape(Y.shape[0], -1))


def _equal(A: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Which matrices equal A: their distance is 0, not the root of rounding."""
    return (A == Y).all(axis=(1, 2))


@distances.distance_kernel("euclidean_spd", input="spd", definiteness="pd")
def euclidean_spd_kernel(X, Y=None):
    """Kernel of the Frobenius distance ``||A - B||_F`` between SPD matrices.

    Table I of Liu et al. has ``exp(-d^2 / sigma^2)``: that is
    ``similarity="gaussian", gamma=1 / sigma**2``; the default is ``exp(-gamma d)``.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, p, p), (n_Y, p, p)
        Symmetric positive definite matrices; Y defaults to X.

    References
    ----------
    Liu, Huang, Gong, Yang, Suykens (2018), "Indefinite kernel logistic regression with
    concave-inexact-convex procedure", Table I.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import euclidean_spd_kernel
    >>> X = [np.eye(2), 2 * np.eye(2)]
    >>> euclidean_spd_kernel(X, similarity="gaussian").round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """
    return _flat_distances(*_check_pair(X, Y))


def _matrix_logarithm(X: np.ndarray) -> np.ndarray:
    """Logarithms of a stack of symmetric positive definite matrices."""
    values, vectors = np.linalg.eigh(X)
    return (vectors * np.log(values)[:, None, :]) @ vectors.transpose(0, 2, 1)


@distances.distance_kernel("log_euclidean", input="spd", definiteness="pd")
def log_euclidean_kernel(X, Y=None):
    """Kernel of the log-Euclidean distance ``||log A - log B||_F``.

    Table I of Liu et al. has ``exp(-d^2 / sigma^2)``: that is
    ``similarity="gaussian", gamma=1 / sigma**2``; the default is ``exp(-gamma d)``.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, p, p), (n_Y, p, p)
        Symmetric positive definite matrices; Y defaults to X.

    References
    ----------
    Arsigny, Fillard, Pennec, Ayache (2006), "Log-Euclidean metrics for fast and simple
    calculus on diffusion tensors"; Liu et al. (2018), Table I.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import log_euclidean_kernel
    >>> log_euclidean_kernel([np.eye(1)], [np.e * np.eye(1)]).round(4)
    array([[0.3679]])
    """
    X, Y = _check_pair(X, Y)
    logs = _matrix_logarithm(X)
    return _flat_distances(logs, logs if Y is X else _matrix_logarithm(Y))


@distances.distance_kernel("affine_invariant", **_CURVED)
def affine_invariant_kernel(X, Y=None):
    """Kernel of the Riemannian (affine-invariant) distance of SPD matrices.

    ``d = ||log(A^-1/2 B A^-1/2)||_F``, by the eigenvalues of ``L^-1 B L^-T`` with
    ``A = L L'``, which are those of the formula. The distance does not change under
    ``A -> W A W'``. The space is curved, so that the Gaussian is indefinite in general
    (Feragen, Lauze, Hauberg 2015).

    Table I of Liu et al. has ``exp(-d^2 / sigma^2)``: that is
    ``similarity="gaussian", gamma=1 / sigma**2``; the default is ``exp(-gamma d)``.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, p, p), (n_Y, p, p)
        Symmetric positive definite matrices; Y defaults to X.

    References
    ----------
    Pennec, Fillard, Ayache (2006), "A Riemannian framework for tensor computing"; Liu
    et al. (2018), Table I.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import affine_invariant_kernel
    >>> X = np.array([[[2.0, 1.0], [1.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]]])
    >>> W = np.array([[1.0, 2.0], [0.0, 1.0]])
    >>> K, moved = affine_invariant_kernel(X), affine_invariant_kernel(W @ X @ W.T)
    >>> bool(np.allclose(K, moved))
    True
    """
    X, Y = _check_pair(X, Y)
    unit = np.eye(X.shape[1])
    factors = np.linalg.cholesky(X)
    inverses = [solve_triangular(L, unit, lower=True) for L in factors]

    def row(i: int, start: int) -> np.ndarray:
        whitened = inverses[i] @ Y[start:] @ inverses[i].T
        values = np.linalg.eigvalsh(whitened)
        lost = values[:, 0] <= np.finfo(float).eps * values[:, -1]
        if lost.any():
            pair = f"X[{i}] and Y[{start + int(np.argmax(lost))}]"
            raise ValueError(
                f"{pair} are too badly conditioned for the affine-invariant distance. "
                "Shrink them towards a multiple of the identity first"
            )
        found = np.sqrt(np.sum(np.log(values) ** 2, axis=1))
        found[_equal(X[i], Y[start:])] = 0.0
        return found

    return distances.fill_pairs(X, Y, row)


@distances.distance_kernel(
    "stein",
    input="spd",
    parallel="processes",
    definiteness="depends",
    note="the Gaussian exp(-gamma S) is positive definite for all p x p matrices "
    "exactly when 2 gamma is an integer below p - 1, or at least p - 1",
)
def stein_kernel(X, Y=None):
    """Kernel of the root of the S-divergence (symmetric Stein, Jensen-Bregman LogDet).

    ``d^2 = log det((A + B) / 2) - log det(A B) / 2``.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, p, p), (n_Y, p, p)
        Symmetric positive definite matrices; Y defaults to X.

    References
    ----------
    Sra (2016), "Positive definite matrices and the S-divergence", Proceedings of the
    AMS 144, Theorem 4.6.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import stein_kernel
    >>> stein_kernel([np.eye(2)], [4 * np.eye(2)], similarity="gaussian").round(4)
    array([[0.64]])
    """
    X, Y = _check_pair(X, Y)
    own_X = np.linalg.slogdet(X)[1]
    own_Y = own_X if Y is X else np.linalg.slogdet(Y)[1]

    def row(i: int, start: int) -> np.ndarray:
        middle = np.linalg.slogdet(0.5 * (X[i] + Y[start:]))[1]
        divergence = middle - 0.5 * (own_X[i] + own_Y[start:])
        return np.sqrt(np.maximum(divergence, 0.0))

    return distances.fill_pairs(X, Y, row)


@distances.distance_kernel("bures", **_CURVED)
def bures_kernel(X, Y=None):
    """Kernel of the Bures-Wasserstein distance between SPD matrices.

    ``d^2 = tr A + tr B - 2 tr (A^1/2 B A^1/2)^1/2``, the optimal transport distance
    between centred Gaussians with these covariances. With ``A = L L'`` the eigenvalues
    of ``L' B L`` replace those of the inner root.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, p, p), (n_Y, p, p)
        Symmetric positive definite matrices; Y defaults to X.

    References
    ----------
    Bhatia, Jain, Lim (2019), "On the Bures-Wasserstein distance", Expositiones
    Mathematicae 37.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import bures_kernel
    >>> bures_kernel([np.eye(1)], [4 * np.eye(1)], similarity="negative")
    array([[-1.]])
    """
    X, Y = _check_pair(X, Y)
    factors = np.linalg.cholesky(X)
    trace_X = np.trace(X, axis1=1, axis2=2)
    trace_Y = np.trace(Y, axis1=1, axis2=2)

    def row(i: int, start: int) -> np.ndarray:
        values = np.linalg.eigvalsh(factors[i].T @ Y[start:] @ factors[i])
        common = np.sqrt(np.maximum(values, 0.0)).sum(axis=1)
        squared = trace_X[i] + trace_Y[start:] - 2.0 * common
        squared[_equal(X[i], Y[start:])] = 0.0
        return np.sqrt(np.maximum(squared, 0.0))

    return distances.fill_pairs(X, Y, row)
