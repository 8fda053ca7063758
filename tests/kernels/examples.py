"""Small items for every registered kernel, with a slow and obvious reference.

The contract tests run over the registry: a kernel without an example here fails.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg

from tests.reference import vectors


@dataclass(frozen=True)
class Example:
    """How to test a kernel.

    `reference(x, y, **params)` is one entry of the matrix, or one distance for a
    kernel of a distance. `witness` are items and parameters with a clearly negative
    eigenvalue, for kernels that are declared indefinite.
    """

    items: Any
    reference: Callable[..., float]
    params: dict = field(default_factory=dict)
    witness: tuple[Any, dict] | None = None
    rtol: float = 1e-10
    atol: float = 1e-12


def _spd_matrices(n, p, seed=25):
    A = np.random.default_rng(seed).standard_normal((n, p, p))
    return A @ A.transpose(0, 2, 1) + 0.05 * np.eye(p)


VECTORS = np.random.default_rng(1).random((9, 3))
CORNERS = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], float)
SPD = _spd_matrices(7, 3) + np.eye(3)
SPD_WITNESS = (_spd_matrices(60, 2), {"similarity": "gaussian", "gamma": 0.05})


def _frobenius(A, B):
    return np.linalg.norm(A - B)


def _log_frobenius(A, B):
    return np.linalg.norm(scipy.linalg.logm(A) - scipy.linalg.logm(B))


def _affine_invariant(A, B):
    root = np.linalg.inv(scipy.linalg.sqrtm(A))
    return np.linalg.norm(scipy.linalg.logm(root @ B @ root))


def _stein(A, B):
    det = np.linalg.det
    return np.sqrt(max(0, np.log(det((A + B) / 2)) - np.log(det(A) * det(B)) / 2))


def _bures(A, B):
    root = scipy.linalg.sqrtm(A)
    inner = np.trace(scipy.linalg.sqrtm(root @ B @ root)).real
    return np.sqrt(max(0, np.trace(A) + np.trace(B) - 2 * inner))


def _gaussian_of(x, y, *, distance, gamma):
    return np.exp(-gamma * distance(x, y) ** 2)


def absolute_difference(x, y):
    return float(np.abs(x - y).sum())


EXAMPLES = {
    "tl1": Example(VECTORS, vectors.tl1, {"tau": 1.2}, (CORNERS, {"tau": 1.9})),
    "rbf": Example(VECTORS, vectors.rbf, {"gamma": 0.7}),
    "laplacian": Example(VECTORS, vectors.laplacian, {"gamma": 0.7}),
    "sigmoid": Example(
        VECTORS, vectors.sigmoid, {"gamma": 0.7, "coef0": -1.0}, (VECTORS - 0.5, {})
    ),
    "polynomial": Example(
        VECTORS, vectors.polynomial, {"degree": 2, "gamma": 0.7, "coef0": 1.0}
    ),
    "euclidean_spd": Example(SPD, _frobenius),
    "log_euclidean": Example(SPD, _log_frobenius, rtol=1e-8),
    # References lose half the digits at equal items: a root of a difference.
    "affine_invariant": Example(
        SPD, _affine_invariant, witness=SPD_WITNESS, rtol=1e-8, atol=1e-7
    ),
    "stein": Example(SPD, _stein, rtol=1e-7, atol=1e-6),
    "bures": Example(SPD, _bures, witness=SPD_WITNESS, rtol=1e-7, atol=1e-6),
    "geodesic_rbf": Example(
        VECTORS, _gaussian_of, {"distance": absolute_difference, "gamma": 0.5}
    ),
}
