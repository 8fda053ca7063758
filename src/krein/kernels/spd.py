"""Kernels on symmetric positive definite matrices, by their distances.

LAPACK on stacks of matrices does the work (the record "SPD metrics on LAPACK" says
why not a further package). An item is a p x p matrix; all have the same p.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist

from krein.kernels.distances import distance_facts, similarity_of
from krein.kernels.items import check_items, fill_pairs, same_items
from krein.kernels.registry import register

__all__ = [
    "affine_invariant_kernel",
    "bures_kernel",
    "euclidean_spd_kernel",
    "log_euclidean_kernel",
    "stein_kernel",
]

_TABLE_I = "Liu, Huang, Gong, Yang, Suykens (2018), Table I"


def check_spd(X: Any, name: str = "X") -> np.ndarray:
    """Return a stack of symmetric positive definite matrices, or name the culprit.

    Parameters
    ----------
    X : array-like of shape (n, p, p)
        Matrices.
    name : str
        What the caller calls it.
    """
    n = check_items(X, name)
    shapes = {np.shape(x) for x in X}
    shape = next(iter(shapes))
    if len(shapes) > 1 or len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"{name} must be a stack of square matrices of one shape, got shapes "
            f"{sorted(shapes)[:3]}"
        )
    X = np.asarray(X)
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, got dtype {X.dtype}")
    X = np.ascontiguousarray(X, dtype=np.float64)
    bad = ~np.isfinite(X).all(axis=(1, 2))
    if bad.any():
        raise ValueError(f"{name}[{np.argmax(bad)}] contains NaN or infinity")
    largest = np.abs(X).max(axis=(1, 2))
    uneven = np.abs(X - X.transpose(0, 2, 1)).max(axis=(1, 2)) > 1e-8 * largest
    if uneven.any():
        raise ValueError(
            f"{name}[{np.argmax(uneven)}] is not symmetric; expected symmetric "
            "positive definite matrices"
        )
    values = np.linalg.eigvalsh(X)
    rounding = shape[0] * np.finfo(float).eps * np.abs(values).max(axis=1)
    bad = values[:, 0] <= rounding
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"{name}[{first}] is not positive definite: its smallest eigenvalue is "
            f"{values[first, 0]:.3g}, its largest {values[first, -1]:.3g} "
            f"({int(bad.sum())} of {n} matrices). Shrink covariances towards a "
            "multiple of the identity first"
        )
    return X


def _check_pair(X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray, bool]:
    """Validate both stacks once; tell whether they are the same."""
    same = same_items(X, Y)
    X = check_spd(X, "X")
    Y = X if same else check_spd(Y, "Y")
    if X.shape[1:] != Y.shape[1:]:
        raise ValueError(
            f"X has matrices of shape {X.shape[1:]}, Y of shape {Y.shape[1:]}; they "
            "must agree"
        )
    return X, Y, same


def _flat_distances(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Frobenius distances between matrices of two stacks."""
    return cdist(X.reshape(X.shape[0], -1), Y.reshape(Y.shape[0], -1))


def _equal(A: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Which matrices equal A: their distance is 0, not the root of rounding."""
    return (A == Y).all(axis=(1, 2))


def euclidean_spd_distance(X: Any, Y: Any = None) -> np.ndarray:
    """Frobenius distance ``||A - B||_F`` (Table I, first line)."""
    X, Y, _ = _check_pair(X, Y)
    return _flat_distances(X, Y)


def matrix_logarithm(X: np.ndarray) -> np.ndarray:
    """Logarithms of a stack of symmetric positive definite matrices."""
    values, vectors = np.linalg.eigh(X)
    return (vectors * np.log(values)[:, None, :]) @ vectors.transpose(0, 2, 1)


def log_euclidean_distance(X: Any, Y: Any = None) -> np.ndarray:
    """Distance ``||log A - log B||_F`` (Table I, second line)."""
    X, Y, same = _check_pair(X, Y)
    logs = matrix_logarithm(X)
    return _flat_distances(logs, logs if same else matrix_logarithm(Y))


def affine_invariant_distance(X: Any, Y: Any = None) -> np.ndarray:
    """Distance ``||log(A^-1/2 B A^-1/2)||_F`` (Table I, third line).

    The eigenvalues of ``L^-1 B L^-T``, with ``A = L L'``, are those of the formula.
    """
    X, Y, same = _check_pair(X, Y)
    identity = np.eye(X.shape[1])
    inverses = [
        solve_triangular(L, identity, lower=True) for L in np.linalg.cholesky(X)
    ]

    def row(i: int, start: int) -> np.ndarray:
        whitened = inverses[i] @ Y[start:] @ inverses[i].T
        values = np.linalg.eigvalsh(whitened)
        lost = values[:, 0] <= np.finfo(float).eps * values[:, -1]
        if lost.any():
            raise ValueError(
                f"X[{i}] and Y[{start + int(np.argmax(lost))}] are too badly "
                "conditioned for the affine-invariant distance in double precision. "
                "Shrink them towards a multiple of the identity first"
            )
        distances = np.sqrt(np.sum(np.log(values) ** 2, axis=1))
        distances[_equal(X[i], Y[start:])] = 0.0
        return distances

    return fill_pairs(X.shape[0], Y.shape[0], row, symmetric=same)


def stein_distance(X: Any, Y: Any = None) -> np.ndarray:
    """Root of the S-divergence ``log det((A + B) / 2) - log det(A B) / 2``."""
    X, Y, same = _check_pair(X, Y)
    own_X = np.linalg.slogdet(X)[1]
    own_Y = own_X if same else np.linalg.slogdet(Y)[1]

    def row(i: int, start: int) -> np.ndarray:
        middle = np.linalg.slogdet(0.5 * (X[i] + Y[start:]))[1]
        divergence = middle - 0.5 * (own_X[i] + own_Y[start:])
        return np.sqrt(np.maximum(divergence, 0.0))

    return fill_pairs(X.shape[0], Y.shape[0], row, symmetric=same)


def bures_distance(X: Any, Y: Any = None) -> np.ndarray:
    """Bures-Wasserstein distance ``tr A + tr B - 2 tr (A^1/2 B A^1/2)^1/2``, rooted.

    With ``A = L L'`` the eigenvalues of ``L' B L`` replace those of the inner root.
    """
    X, Y, same = _check_pair(X, Y)
    factors = np.linalg.cholesky(X)
    trace_X = np.trace(X, axis1=1, axis2=2)
    trace_Y = np.trace(Y, axis1=1, axis2=2)

    def row(i: int, start: int) -> np.ndarray:
        values = np.linalg.eigvalsh(factors[i].T @ Y[start:] @ factors[i])
        common = np.sqrt(np.maximum(values, 0.0)).sum(axis=1)
        squared = trace_X[i] + trace_Y[start:] - 2.0 * common
        squared[_equal(X[i], Y[start:])] = 0.0
        return np.sqrt(np.maximum(squared, 0.0))

    return fill_pairs(X.shape[0], Y.shape[0], row, symmetric=same)


@register(
    "euclidean_spd",
    input="spd",
    definiteness="pd",
    reference=_TABLE_I,
    **distance_facts(euclidean_spd_distance),
)
def euclidean_spd_kernel(X, Y=None, *, gamma=1.0, similarity="exponential"):
    """Kernel of the Frobenius distance between SPD matrices.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, p, p), (n_Y, p, p)
        Symmetric positive definite matrices; Y defaults to X.
    gamma : float or "median"
        Factor of the distance; the word is settled by `Kernel.fit`.
    similarity : str
        ``"exponential"`` exp(-gamma d), ``"gaussian"`` exp(-gamma d^2) (the kernels
        of Table I, with gamma = 1 / sigma^2), ``"inverse"``, ``"negative"``; by
        `Kernel.fit` also ``"max"`` and ``"centred"``.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Liu et al. (2018), "Indefinite kernel logistic regression with concave-inexact-
    convex procedure", Table I.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import euclidean_spd_kernel
    >>> X = [np.eye(2), 2 * np.eye(2)]
    >>> euclidean_spd_kernel(X, similarity="gaussian").round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """
    return similarity_of(
        euclidean_spd_distance, X, Y, gamma=gamma, similarity=similarity
    )


@register(
    "log_euclidean",
    input="spd",
    definiteness="pd",
    reference=_TABLE_I,
    **distance_facts(log_euclidean_distance),
)
def log_euclidean_kernel(X, Y=None, *, gamma=1.0, similarity="exponential"):
    """Kernel of the log-Euclidean distance ``||log A - log B||_F``.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, p, p), (n_Y, p, p)
        Symmetric positive definite matrices; Y defaults to X.
    gamma : float or "median"
        Factor of the distance; the word is settled by `Kernel.fit`.
    similarity : str
        As in `euclidean_spd_kernel`; ``"gaussian"`` is the kernel of Table I.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Arsigny, Fillard, Pennec, Ayache (2006); Liu et al. (2018), Table I.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import log_euclidean_kernel
    >>> log_euclidean_kernel([np.eye(1)], [np.e * np.eye(1)]).round(4)
    array([[0.3679]])
    """
    return similarity_of(
        log_euclidean_distance, X, Y, gamma=gamma, similarity=similarity
    )


@register(
    "affine_invariant",
    input="spd",
    parallel="processes",
    definiteness="indefinite",
    reference=_TABLE_I,
    witness="matrices A A' + 0.05 I, A 2 x 2 normal; similarity='gaussian', gamma=0.05",
    **distance_facts(affine_invariant_distance),
)
def affine_invariant_kernel(X, Y=None, *, gamma=1.0, similarity="exponential"):
    """Kernel of the affine-invariant distance ``||log(A^-1/2 B A^-1/2)||_F``.

    The distance does not change under ``A -> W A W'``. The space is curved, so that
    the Gaussian is indefinite in general (Feragen, Lauze, Hauberg 2015).

    Parameters
    ----------
    X, Y : array-like of shape (n_X, p, p), (n_Y, p, p)
        Symmetric positive definite matrices; Y defaults to X.
    gamma : float or "median"
        Factor of the distance; the word is settled by `Kernel.fit`.
    similarity : str
        As in `euclidean_spd_kernel`; ``"gaussian"`` is the kernel of Table I.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Pennec, Fillard, Ayache (2006); Liu et al. (2018), Table I.

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
    return similarity_of(
        affine_invariant_distance, X, Y, gamma=gamma, similarity=similarity
    )


@register(
    "stein",
    input="spd",
    parallel="processes",
    definiteness="depends",
    reference="Sra (2016), Proceedings of the AMS 144",
    note="the Gaussian exp(-gamma S) is positive definite for all p x p matrices "
    "exactly when 2 gamma is an integer below p - 1, or at least p - 1",
    **distance_facts(stein_distance),
)
def stein_kernel(X, Y=None, *, gamma=1.0, similarity="exponential"):
    """Kernel of the root of the S-divergence (symmetric Stein, Jensen-Bregman LogDet).

    ``d^2 = log det((A + B) / 2) - log det(A B) / 2``.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, p, p), (n_Y, p, p)
        Symmetric positive definite matrices; Y defaults to X.
    gamma : float or "median"
        Factor of the distance; the word is settled by `Kernel.fit`.
    similarity : str
        As in `euclidean_spd_kernel`; ``"gaussian"`` is exp(-gamma S).

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Sra (2016), "Positive definite matrices and the S-divergence", Theorem 4.6.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import stein_kernel
    >>> stein_kernel([np.eye(2)], [4 * np.eye(2)], similarity="gaussian").round(4)
    array([[0.64]])
    """
    return similarity_of(stein_distance, X, Y, gamma=gamma, similarity=similarity)


@register(
    "bures",
    input="spd",
    parallel="processes",
    definiteness="indefinite",
    reference="Bhatia, Jain, Lim (2019), Expositiones Mathematicae 37",
    witness="matrices A A' + 0.05 I, A 2 x 2 normal; similarity='gaussian', gamma=0.05",
    **distance_facts(bures_distance),
)
def bures_kernel(X, Y=None, *, gamma=1.0, similarity="exponential"):
    """Kernel of the Bures-Wasserstein distance between SPD matrices.

    It is the optimal transport distance between centred Gaussians with these
    covariances.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, p, p), (n_Y, p, p)
        Symmetric positive definite matrices; Y defaults to X.
    gamma : float or "median"
        Factor of the distance; the word is settled by `Kernel.fit`.
    similarity : str
        As in `euclidean_spd_kernel`.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Bhatia, Jain, Lim (2019), "On the Bures-Wasserstein distance".

    Examples
    --------
    >>> import numpy as np
    >>> from krein import bures_kernel
    >>> bures_kernel([np.eye(1)], [4 * np.eye(1)], similarity="negative")
    array([[-1.]])
    """
    return similarity_of(bures_distance, X, Y, gamma=gamma, similarity=similarity)
