"""Kernels on rows of a matrix; scikit-learn's where it has them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise

from krein.kernels.registry import register

__all__ = [
    "laplacian_kernel",
    "polynomial_kernel",
    "rbf_kernel",
    "sigmoid_kernel",
    "tl1_kernel",
]


def _gamma_scale(X: Any, params: dict) -> float:
    variance = float(np.var(np.asarray(X, dtype=float)))
    return 1.0 / (np.shape(X)[1] * variance) if variance > 0 else 1.0


def _gamma_median(X: Any, params: dict) -> float:
    """1 / (2 med^2), med the median Euclidean distance between training items."""
    from scipy.spatial.distance import pdist

    median = float(np.median(pdist(np.asarray(X, dtype=float))))
    return 0.5 / median**2 if median > 0 else 1.0


_GAMMA_RULES = {"gamma": {"scale": _gamma_scale, "median": _gamma_median}}


@register(
    "tl1",
    input="vectors",
    definiteness="indefinite",
    reference="Huang, Suykens, Wang, Hornegger, Maier (2018), TNNLS 29",
    witness="monks1 scaled to [0, 1], tau = 0.7 n_features",
)
def tl1_kernel(X, Y=None, *, tau=None):
    """Truncated L1 distance kernel ``max(tau - ||x - y||_1, 0)``.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Items; Y defaults to X. Scale features to [0, 1] for the default `tau`.
    tau : float, optional
        Radius; 0.7 times the number of features as in Liu et al., Section VI.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Huang et al. (2018), "Classification with truncated L1 distance kernel".
    """
    X, Y = pairwise.check_pairwise_arrays(X, Y, dtype=np.float64)
    if tau is None:
        tau = 0.7 * X.shape[1]
    if not tau > 0:
        raise ValueError(f"tau must be positive, got {tau!r}")
    K = np.empty((X.shape[0], Y.shape[0]))

    def fill(rows: slice) -> None:
        block = cdist(X[rows], Y, metric="cityblock")
        np.subtract(tau, block, out=block)
        np.maximum(block, 0.0, out=K[rows])

    rows = [slice(i, i + 256) for i in range(0, X.shape[0], 256)]
    if len(rows) == 1:
        fill(rows[0])
    else:
        # cdist releases the GIL; rows are independent.
        with ThreadPoolExecutor() as pool:
            list(pool.map(fill, rows))
    return K


@register(
    "rbf",
    input="vectors",
    definiteness="pd",
    resolve=_GAMMA_RULES,
    reference="scikit-learn, sklearn.metrics.pairwise.rbf_kernel",
)
def rbf_kernel(X, Y=None, *, gamma=None):
    """Gaussian kernel ``exp(-gamma ||x - y||^2)``.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Items; Y defaults to X.
    gamma : float, "scale" or "median", optional
        1 / n_features when not given; the words are settled by `Kernel.fit`.

    Returns
    -------
    ndarray of shape (n_X, n_Y)
    """
    return pairwise.rbf_kernel(X, Y, gamma=gamma)


@register(
    "laplacian",
    input="vectors",
    definiteness="pd",
    resolve=_GAMMA_RULES,
    reference="scikit-learn, sklearn.metrics.pairwise.laplacian_kernel",
)
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
    """
    return pairwise.laplacian_kernel(X, Y, gamma=gamma)


@register(
    "sigmoid",
    input="vectors",
    definiteness="indefinite",
    reference="scikit-learn, sklearn.metrics.pairwise.sigmoid_kernel",
    witness="standardised sonar, default parameters",
)
def sigmoid_kernel(X, Y=None, *, gamma=None, coef0=0.0):
    """Sigmoid kernel ``tanh(gamma x'y + coef0)``, indefinite in general.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Items; Y defaults to X.
    gamma : float, optional
        1 / n_features when not given.
    coef0 : float
        Offset.

    Returns
    -------
    ndarray of shape (n_X, n_Y)
    """
    return pairwise.sigmoid_kernel(X, Y, gamma=gamma, coef0=coef0)


@register(
    "polynomial",
    input="vectors",
    definiteness="depends",
    note="positive definite for integer degree and coef0 >= 0",
    reference="scikit-learn, sklearn.metrics.pairwise.polynomial_kernel",
)
def polynomial_kernel(X, Y=None, *, degree=3, gamma=None, coef0=1.0):
    """Polynomial kernel ``(gamma x'y + coef0) ** degree``.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Items; Y defaults to X.
    degree : float
        Exponent.
    gamma : float, optional
        1 / n_features when not given.
    coef0 : float
        Offset.

    Returns
    -------
    ndarray of shape (n_X, n_Y)
    """
    return pairwise.polynomial_kernel(X, Y, degree=degree, gamma=gamma, coef0=coef0)
