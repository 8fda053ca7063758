"""Kernels on rows of a matrix; scikit-learn's where it has them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from joblib import cpu_count
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.metrics import pairwise
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from krein.kernels.distances import same_items, some_items
from krein.kernels.registry import register_kernel
from krein.similarity.conversions import median_distance
from krein.store.blocks import Block, Tiling

_TILE = 256  # it stays in the cache until it is truncated and mirrored


def _same_or(X: Any, Y: Any) -> Any:
    """X where Y holds the same rows, Y otherwise.

    BLAS multiplies a matrix with itself by another routine than with a copy, and
    scikit-learn sets the diagonal of distances for the same object only.
    """
    if Y is None or Y is X or scipy.sparse.issparse(X) or scipy.sparse.issparse(Y):
        return Y
    return X if same_items(np.asarray(X), np.asarray(Y)) else Y


def _gamma_scale(X: Any, params: dict) -> float:
    """1 / (n_features var(X)), as in scikit-learn's SVC."""
    variance = float(np.var(np.asarray(X, dtype=float)))
    return 1.0 / (np.shape(X)[1] * variance) if variance > 0 else 1.0


def _by_median(metric: str, factor: float, power: int, X: Any, params: dict) -> float:
    """``factor * median ** power``, of the distances between training items."""
    X = np.asarray(some_items(X), dtype=float)
    return factor * median_distance(squareform(pdist(X, metric))) ** power


def _inner_scale(X: Any, params: dict) -> float:
    """1 / mean squared norm of different rows, so that gamma x'x is about 1."""
    rows = np.unique(np.asarray(X, dtype=float), axis=0)
    mean = float(np.mean(np.sum(np.square(rows), axis=1)))
    return 1.0 / mean if mean > 0 else 1.0


_vector_kernel = partial(register_kernel, input="vectors")
_inner_kernel = partial(
    _vector_kernel,
    resolve={"gamma": {"scale": _inner_scale}},
    by_name={"gamma": "scale"},
)


def _radial_kernel(name: str, metric: str, factor: float, power: int) -> Callable:
    median = partial(_by_median, metric, factor, power)
    words: dict[str, Callable[..., float]] = {"scale": _gamma_scale, "median": median}
    return _vector_kernel(name, definiteness="pd", resolve={"gamma": words})


@_vector_kernel(
    "tl1",
    definiteness="indefinite",
    # Twice the median distance is about 0.7 n_features for uniform features.
    resolve={"tau": {"median": partial(_by_median, "cityblock", 2.0, 1)}},
    by_name={"tau": "median"},
    witness="monks1 scaled to [0, 1], tau = 0.7 n_features",
)
def tl1_kernel(X, Y=None, *, tau=None):
    """Truncated L1 distance kernel ``max(tau - ||x - y||_1, 0)``.

    Blocks of rows are evaluated on all cores, whatever the number of jobs.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Items; Y defaults to X. For the default `tau` scale features to [0, 1] with
        scikit-learn's ``MinMaxScaler``, which leaves constant columns at 0.
    tau : float or "median", optional
        Radius; 0.7 times the number of features as in Liu et al., Section VI, when
        not given. "median", settled by `Kernel.fit`, is twice the median L1 distance
        between training items, and the default of a kernel given by name.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Huang, Suykens, Wang, Hornegger, Maier (2018), "Classification with truncated L1
    distance kernel", TNNLS 29.

    Examples
    --------
    >>> from krein import tl1_kernel
    >>> tl1_kernel([[0.0, 0.0], [1.0, 0.5]], tau=2.0)
    array([[2. , 0.5],
           [0.5, 2. ]])
    """
    X, Y = pairwise.check_pairwise_arrays(X, Y, dtype=np.float64)
    if tau is None:
        tau = 0.7 * X.shape[1]
    if not tau > 0:
        raise ValueError(f"tau must be positive, got {tau!r}")
    tiling = Tiling(X.shape[0], Y.shape[0], _TILE, same_items(X, Y))
    K = np.empty(tiling.shape)

    def fill(tile: Block) -> None:
        block = cdist(X[tile[0]], Y[tile[1]], metric="cityblock")
        np.subtract(tau, block, out=block)
        tiling.place(K, tile, np.maximum(block, 0.0, out=block))

    # cdist releases the interpreter lock; tiles are independent.
    with ThreadPoolExecutor(max_workers=cpu_count()) as pool:
        list(pool.map(fill, tiling))
    return K


@_radial_kernel("rbf", "euclidean", 0.5, -2)
def rbf_kernel(X, Y=None, *, gamma=None):
    """Gaussian (RBF) kernel ``exp(-gamma ||x - y||^2)``.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Items; Y defaults to X.
    gamma : float, "scale" or "median", optional
        1 / n_features when not given; the words are settled by `Kernel.fit`.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    scikit-learn, ``sklearn.metrics.pairwise.rbf_kernel``.

    Examples
    --------
    >>> from krein import rbf_kernel
    >>> rbf_kernel([[0.0], [1.0]], gamma=1.0).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """
    return pairwise.rbf_kernel(X, _same_or(X, Y), gamma=gamma)


@_radial_kernel("laplacian", "cityblock", 1.0, -1)
def laplacian_kernel(X, Y=None, *, gamma=None):
    """Laplacian kernel ``exp(-gamma ||x - y||_1)``.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Items; Y defaults to X.
    gamma : float, "scale" or "median", optional
        1 / n_features when not given; the words are settled by `Kernel.fit`.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    scikit-learn, ``sklearn.metrics.pairwise.laplacian_kernel``.

    Examples
    --------
    >>> from krein import laplacian_kernel
    >>> laplacian_kernel([[0.0], [2.0]], gamma=1.0).round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """
    return pairwise.laplacian_kernel(X, _same_or(X, Y), gamma=gamma)


@_inner_kernel(
    "sigmoid",
    definiteness="indefinite",
    witness="standardised sonar, default parameters",
)
def sigmoid_kernel(X, Y=None, *, gamma=None, coef0=0.0):
    """Sigmoid kernel ``tanh(gamma x'y + coef0)``, indefinite in general.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Items; Y defaults to X.
    gamma : float or "scale", optional
        1 / n_features when not given. "scale", settled by `Kernel.fit`, is one over
        the mean squared norm of training items, and the default of a kernel given
        by name.
    coef0 : float
        Offset.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    scikit-learn, ``sklearn.metrics.pairwise.sigmoid_kernel``.

    Examples
    --------
    >>> from krein import sigmoid_kernel
    >>> sigmoid_kernel([[1.0], [-1.0]]).round(4)
    array([[ 0.7616, -0.7616],
           [-0.7616,  0.7616]])
    """
    return pairwise.sigmoid_kernel(X, _same_or(X, Y), gamma=gamma, coef0=coef0)


@_inner_kernel("polynomial", note="positive definite for integer degree and coef0 >= 0")
def polynomial_kernel(X, Y=None, *, degree=3, gamma=None, coef0=1.0):
    """Polynomial kernel ``(gamma x'y + coef0) ** degree``.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Items; Y defaults to X.
    degree : float
        Exponent.
    gamma : float or "scale", optional
        1 / n_features when not given. "scale", settled by `Kernel.fit`, is one over
        the mean squared norm of training items, and the default of a kernel given
        by name.
    coef0 : float
        Offset.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    scikit-learn, ``sklearn.metrics.pairwise.polynomial_kernel``.

    Examples
    --------
    >>> from krein import polynomial_kernel
    >>> polynomial_kernel([[1.0], [2.0]], degree=2)
    array([[ 4.,  9.],
           [ 9., 25.]])
    """
    return pairwise.polynomial_kernel(
        X, _same_or(X, Y), degree=degree, gamma=gamma, coef0=coef0
    )


@_vector_kernel(
    "tanimoto",
    definiteness="pd",
    note="a sum of products of the positive definite x'y and 1 / (|x|^2 + |y|^2)",
)
def tanimoto_kernel(X, Y=None):
    """Tanimoto (Jaccard) similarity ``x'y / (|x|^2 + |y|^2 - x'y)``.

    For binary vectors it is the Jaccard index: entries that both have over entries
    that one of them has. For counts it is the form with inner products, not the one
    with minima and maxima (Ruzicka). Two zero vectors have similarity 1, a zero vector
    and another one 0.

    Parameters
    ----------
    X, Y : array-like or sparse matrix of shape (n_X, n_features), (n_Y, n_features)
        Fingerprints: binary vectors or counts; Y defaults to X.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Ralaivola, Swamidass, Saigo, Baldi (2005), "Graph kernels for chemical
    informatics", Neural Networks 18, Section 3.

    Examples
    --------
    >>> from krein import tanimoto_kernel
    >>> tanimoto_kernel([[1, 1, 0, 1], [0, 1, 1, 1]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    how: dict[str, Any] = {"dtype": np.float64, "accept_sparse": "csr"}
    X, Y = pairwise.check_pairwise_arrays(X, _same_or(X, Y), **how)
    K = np.asarray(safe_sparse_dot(X, Y.T, dense_output=True))
    squares_X, squares_Y = (row_norms(part, squared=True) for part in (X, Y))
    union = squares_X[:, None] + squares_Y[None, :] - K
    empty = union == 0
    K[empty] = 1.0
    union[empty] = 1.0
    return K / union
