"""Kernels of those metrics of SciPy that have parameters: an exponent, or scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.kernels.distances import distance_kernel, same_items
from krein.kernels.metrics import NEGATIVE_TYPE, checked_rows, scipy_distances

_metric_kernel = partial(distance_kernel, input="vectors")


@_metric_kernel(
    "minkowski",
    definiteness="depends",
    note="positive definite for 1 <= p <= 2, indefinite in general beyond",
)
def minkowski_kernel(X, Y=None, *, p=2.0):
    """Kernel of the Minkowski (Lp) distance.

    The distance is ``(sum |x_k - y_k|^p)^(1/p)``: p = 1 is `cityblock`, p = 2
    `euclidean`.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Rows of numbers; Y defaults to X.
    p : float
        From 1 on.

    References
    ----------
    SciPy, ``scipy.spatial.distance.minkowski``.
    Schoenberg (1938), Metric spaces and positive definite functions, Transactions of
    the AMS 44.

    Examples
    --------
    >>> from krein import minkowski_kernel
    >>> minkowski_kernel([[0.0]], [[2.0]], p=3, similarity="negative")
    array([[-2.]])
    """
    if not (isinstance(p, int | float | np.number) and 1 <= p < np.inf):
        raise ValueError(f"p must be a number from 1 on, got {p!r} (inf: chebyshev)")
    return scipy_distances(*checked_rows(X, Y, "minkowski"), "minkowski", p=float(p))


def _observed_variances(X: Any, params: Mapping[str, Any]) -> tuple[float, ...]:
    """Variance of each feature; 1 for a constant one, which tells nothing apart."""
    variances = np.var(np.asarray(X, dtype=float), axis=0, ddof=1 if len(X) > 1 else 0)
    return tuple(np.where(variances > 0.0, variances, 1.0).tolist())


def _observed_inverse(X: Any, params: Mapping[str, Any]) -> tuple[tuple, ...]:
    """(Pseudo-)inverse of the covariance matrix of the features."""
    X = np.asarray(X, dtype=float)
    if len(X) < 2:
        raise ValueError("a covariance needs two rows or more")
    inverse = np.linalg.pinv(np.atleast_2d(np.cov(X.T)), hermitian=True)
    return tuple(map(tuple, (0.5 * (inverse + inverse.T)).tolist()))


def _settled(given: Any, X: Any, Y: Any, name: str, rule: Callable) -> Array:
    """What was given as an array, or what X alone shows."""
    if not isinstance(given, str):
        return np.asarray(given, dtype=float)
    if given != "observed" or not same_items(X, Y):
        raise ValueError(
            f'the scales of {name} are needed to compare two sets: call krein.Kernel("'
            f'{name}").fit(X_train) (estimators do), or give them; got {given!r}'
        )
    return np.asarray(rule(X, {}))


@_metric_kernel(
    "seuclidean",
    definiteness="pd",
    note=NEGATIVE_TYPE,
    resolve={"variances": {"observed": _observed_variances}},
)
def seuclidean_kernel(X, Y=None, *, variances="observed"):
    """Kernel of the standardised Euclidean distance.

    The distance is ``sqrt(sum (x_k - y_k)^2 / v_k)`` with the variance v_k of each
    feature.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Rows of numbers; Y defaults to X.
    variances : "observed" or tuple
        A variance for each feature. "observed", settled by `Kernel.fit` on training
        rows, takes theirs; called directly, the function takes those of X, and refuses
        to compare X with other rows.

    References
    ----------
    SciPy, ``scipy.spatial.distance.seuclidean``.
    Schoenberg (1938), Metric spaces and positive definite functions, Transactions of
    the AMS 44.

    Examples
    --------
    >>> from krein import seuclidean_kernel
    >>> a, b = [[0.0, 1.0]], [[2.0, 4.0]]
    >>> seuclidean_kernel(a, b, variances=(1.0, 9.0), similarity="negative").round(3)
    array([[-2.236]])
    """
    V = _settled(variances, X, Y, "seuclidean", _observed_variances)
    X, Y = checked_rows(X, Y, "seuclidean")
    if V.shape != X.shape[1:] or not (V > 0.0).all():
        raise ValueError(
            f"variances must be {X.shape[1]} positive numbers, one for each feature, "
            f"got {variances!r}"
        )
    return scipy_distances(X, Y, "seuclidean", V=V)


@_metric_kernel(
    "mahalanobis",
    definiteness="pd",
    note=NEGATIVE_TYPE,
    resolve={"inverse_covariance": {"observed": _observed_inverse}},
)
def mahalanobis_kernel(X, Y=None, *, inverse_covariance="observed"):
    """Kernel of the Mahalanobis distance.

    The distance is ``sqrt((x - y)' S^-1 (x - y))`` with the covariance matrix S of the
    features; its pseudo-inverse where it is singular.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Rows of numbers; Y defaults to X.
    inverse_covariance : "observed" or tuple of tuples
        The matrix S^-1. "observed", settled by `Kernel.fit` on training rows, takes
        theirs; called directly, the function takes that of X, and refuses to compare X
        with other rows.

    References
    ----------
    SciPy, ``scipy.spatial.distance.mahalanobis``.
    Mahalanobis (1936), On the generalized distance in statistics, Proceedings of the
    National Institute of Sciences of India 2.

    Examples
    --------
    >>> from krein import mahalanobis_kernel
    >>> a, b, S = [[0.0, 1.0]], [[2.0, 4.0]], ((1.0, 0.5), (0.5, 1.0))
    >>> mahalanobis_kernel(a, b, inverse_covariance=S, similarity="negative").round(3)
    array([[-4.359]])
    """
    VI = _settled(inverse_covariance, X, Y, "mahalanobis", _observed_inverse)
    X, Y = checked_rows(X, Y, "mahalanobis")
    p = X.shape[1]
    if VI.shape != (p, p) or not np.allclose(VI, VI.T):
        raise ValueError(
            f"inverse_covariance must be a symmetric matrix of shape ({p}, {p}), got "
            f"shape {VI.shape}"
        )
    return scipy_distances(X, Y, "mahalanobis", VI=VI)
