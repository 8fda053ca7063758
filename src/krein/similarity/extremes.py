"""Extreme eigenvalues of a (weighted) similarity, by products where it is large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from krein.arrays import Array
from krein.similarity.spectrum import Spectrum, is_sharing, rescale, safe_scale

_DENSE_EIGENVALUES = 1000


def lowest_eigenvalue(
    K: Array, weight: Array | None = None, *, atol: float = 0.0
) -> float:
    """Smallest eigenvalue of ``W^1/2 K W^1/2``, or 0 if none is negative.

    Exact, or to `atol` by Lanczos where the matrix is large: only products with K are
    needed then.
    """
    if K.shape[0] > _DENSE_EIGENVALUES and atol > 0.0:
        found = _lanczos_lowest(K, weight, atol)
        if found is not None:
            return found
    if is_sharing():  # other methods need all eigenvalues anyway
        return min(0.0, float(Spectrum.exact(K, weight).eigenvalues[0]))
    scale = safe_scale(K)
    A = K / scale
    if weight is not None:
        root = np.sqrt(weight)
        A *= root
        A *= root[:, None]
    smallest = scipy.linalg.eigh(
        A,
        eigvals_only=True,
        subset_by_index=[0, 0],
        overwrite_a=True,
        check_finite=False,
    )
    return min(0.0, float(smallest[0])) * scale


def _lanczos_lowest(K: Array, weight: Array | None, atol: float) -> float | None:
    n = K.shape[0]
    product = weighted_product(K, weight)
    start = np.random.default_rng(0).standard_normal(n)
    # Moving the spectrum below zero makes the relative tolerance of ARPACK absolute.
    size = norm_bound(K, weight)
    if size <= atol:
        return 0.0
    operator = scipy.sparse.linalg.LinearOperator(
        (n, n), matvec=lambda v: product(v.ravel()) - size * v.ravel(), dtype=float
    )
    try:
        values = scipy.sparse.linalg.eigsh(
            operator,
            1,
            which="LM",
            v0=start,
            tol=max(0.1 * atol / size, 1e-14),
            return_eigenvectors=False,
        )
    except scipy.sparse.linalg.ArpackError:
        return None
    return min(0.0, float(values[0]) + size)


def norm_bound(K: Any, weight: Array | None = None, steps: int = 20) -> float:
    """Spectral norm of ``W^1/2 K W^1/2`` by power steps, ten per cent up."""
    product = weighted_product(K, weight)
    v, size = np.random.default_rng(0).standard_normal(K.shape[0]), 0.0
    for _ in range(steps):
        norm = float(np.linalg.norm(v))
        if norm == 0.0:
            return 0.0
        v = product(v / norm)
        size = float(np.linalg.norm(v))
    return 1.1 * size


def weighted_product(K: Any, weight: Array | None) -> Callable[[Array], Array]:
    """Return v -> ``W^1/2 K W^1/2 v``, for a vector or a block of columns."""
    if weight is None:
        return lambda v: K @ v
    root = np.sqrt(weight)
    return lambda v: rescale(K @ rescale(v, root), root)
