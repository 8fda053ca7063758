"""Kernels on symmetric positive definite matrices, by their distances."""

from __future__ import annotations

from krein.kernels.distances import distance_facts, similarity_of
from krein.kernels.registry import register_kernel
from krein.kernels.spd_distances import (
    affine_invariant_distance,
    bures_distance,
    euclidean_spd_distance,
    log_euclidean_distance,
    stein_distance,
)

_TABLE_I = "Liu, Huang, Gong, Yang, Suykens (2018), Table I"


@register_kernel(
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
    return similarity_of(euclidean_spd_distance, X, Y, gamma, similarity)


@register_kernel(
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
    return similarity_of(log_euclidean_distance, X, Y, gamma, similarity)


@register_kernel(
    "affine_invariant",
    input="spd",
    parallel="processes",
    definiteness="indefinite",
    reference=_TABLE_I,
    witness="matrices A A' + 0.05 I, A 2 x 2 normal; similarity='gaussian', gamma=0.05",
    **distance_facts(affine_invariant_distance),
)
def affine_invariant_kernel(X, Y=None, *, gamma=1.0, similarity="exponential"):
    """Kernel of the Riemannian (affine-invariant) distance of SPD matrices.

    ``d = ||log(A^-1/2 B A^-1/2)||_F``.

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
    return similarity_of(affine_invariant_distance, X, Y, gamma, similarity)


@register_kernel(
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
    return similarity_of(stein_distance, X, Y, gamma, similarity)


@register_kernel(
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
    return similarity_of(bures_distance, X, Y, gamma, similarity)
