"""Conditionally positive definite radial kernels and their polynomials.

A kernel is c.p.d. of order m when ``a'Phi a >= 0`` for every a with ``P'a = 0``; P
holds the polynomials of degree m - 1 at the items (Wendland, 2004, Definition 8.1).
Signs here are always those that make the form positive.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import ceil, comb
from typing import Any

import numpy as np
import scipy.linalg
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.extmath import row_norms

from krein.arrays import Array
from krein.kernels.registry import register_kernel
from krein.threads import at_most

# Up to this many features the plain loop over differences is as fast as a product.
_FEW_FEATURES = 4
# Squared distances below this share of |x|^2 + |y|^2 lose digits in the product form.
_CLOSE = 1e-4
_PANEL = 1 << 17  # entries of a panel of rows that stays in the cache: 1 MB
_MOST_MONOMIALS = 20_000
_cpd_kernel = partial(register_kernel, input="vectors", definiteness="cpd")


def squared_distances(X: Array, Y: Array | None) -> Array:
    """Squared Euclidean distances, accurate also for items that nearly coincide.

    With many features ``|x|^2 + |y|^2 - 2x'y`` is fast but cancels; pairs where it did
    are computed again from differences, so that equal items have distance exactly 0.

    Parameters
    ----------
    X, Y : ndarray of shape (n_X, d), (n_Y, d)
        Items; Y defaults to X.

    Returns
    -------
    ndarray of shape (n_X, n_Y)
    """
    return radial_kernel(X, Y, lambda D: None)


def radial_kernel(X: Any, Y: Any, phi: Callable[[Array], object]) -> Array:
    """Return a function of squared distances, by panels of rows that fit the cache.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, d), (n_Y, d)
        Items; None for Y is X.
    phi : callable
        Changes squared distances into values of the kernel, in place.

    Returns
    -------
    ndarray of shape (n_X, n_Y)
    """
    X, Y = pairwise.check_pairwise_arrays(X, Y, dtype=np.float64)
    out = np.empty((X.shape[0], Y.shape[0]))
    fill = _by_differences(Y) if X.shape[1] <= _FEW_FEATURES else _by_products(Y)
    step = max(1, _PANEL // Y.shape[0])
    with at_most(1):  # products of panels are too short for threads
        for i in range(0, X.shape[0], step):
            panel = out[i : i + step]
            fill(X[i : i + step], panel)
            phi(panel)
    return out


_Fill = Callable[[Array, Array], object]


def _by_differences(Y: Array) -> _Fill:
    """Distances to Y, pair by pair."""
    return lambda X, out: cdist(X, Y, metric="sqeuclidean", out=out)


def _by_products(Y: Array) -> _Fill:
    """Distances to Y by one product, ``[-2x, |x|^2, 1] [y, 1, |y|^2]'``."""
    centre = Y.mean(axis=0)
    B = Y - centre
    y2 = row_norms(B, squared=True)
    right = np.column_stack([B, np.ones(y2.size), y2]).T
    largest = y2.max()

    def fill(X: Array, out: Array) -> None:
        A = X - centre
        x2 = row_norms(A, squared=True)
        np.matmul(np.column_stack([-2.0 * A, x2, np.ones(x2.size)]), right, out=out)
        # Few pairs are close: a bound on |y|^2 finds them and some more.
        near = np.flatnonzero(out < _CLOSE * (x2 + largest)[:, None])
        rows, columns = np.divmod(near, y2.size)
        close = out[rows, columns] < _CLOSE * (x2[rows] + y2[columns])
        rows = rows[close]
        columns = columns[close]
        out[rows, columns] = row_norms(X[rows] - Y[columns], squared=True)

    return fill


def thin_plate_order(exponent: float) -> int:
    """Order of conditional positive definiteness of the polyharmonic kernel."""
    return int(exponent // 2) + 1  # ceil(e / 2) unless e is even


@_cpd_kernel("thin_plate", order=thin_plate_order)
def thin_plate_kernel(X, Y=None, *, exponent=3):
    """Polyharmonic (thin-plate) kernel, c.p.d. in every dimension.

    ``(-1)^ceil(e/2) r^e`` of order ``ceil(e/2)`` for an exponent e that is not an even
    integer, ``(-1)^(e/2+1) r^e log r`` of order ``e/2 + 1`` for an even one. So ``-r``
    has order 1, ``r^2 log r`` and ``r^3`` have order 2. The diagonal is exactly 0.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Items; Y defaults to X.
    exponent : float
        e > 0; 2 is the classical thin plate of the plane.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Wendland (2004), Scattered Data Approximation, Theorems 8.16 and 8.17; Duchon
    (1977); Walder, Chapelle (2007), Definition 5.1.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import thin_plate_kernel
    >>> thin_plate_kernel(np.array([[0.0], [2.0]]), exponent=3)
    array([[0., 8.],
           [8., 0.]])
    """
    if not exponent > 0:
        raise ValueError(f"exponent must be positive, got {exponent!r}")
    return radial_kernel(X, Y, partial(_polyharmonic, exponent=exponent))


def _polyharmonic(D: Array, exponent: float) -> None:
    """Turn squared distances into the values of the kernel, in place."""
    if exponent % 2 == 0:
        logarithm = np.log(np.where(D == 0.0, 1.0, D))  # 0 log 0 is 0
        if exponent != 2:
            D **= exponent // 2
        D *= logarithm
        D *= 0.5
    elif exponent == 3:  # powers take ten times as long as a root
        D *= np.sqrt(D)
    else:
        D **= 0.5 * exponent
    if thin_plate_order(exponent) % 2:
        np.negative(D, out=D)
        D += 0.0  # no negative zeros on the diagonal


@_cpd_kernel("multiquadric", order=lambda c, power: ceil(power))
def multiquadric_kernel(X, Y=None, *, c=1.0, power=0.5):
    """Multiquadric ``(-1)^ceil(p) (c^2 + r^2)^p``, c.p.d. of order ``ceil(p)``.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Items; Y defaults to X.
    c : float
        Length below which the kernel is flat.
    power : float
        p > 0, not an integer (then the kernel would be a polynomial).

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Wendland (2004), Scattered Data Approximation, Theorem 8.15.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import multiquadric_kernel
    >>> multiquadric_kernel(np.array([[0.0], [4.0]]), c=3.0)
    array([[-3., -5.],
           [-5., -3.]])
    """
    if not (c > 0 and power > 0) or power == int(power):
        raise ValueError(
            "c must be positive, and power positive and not an integer, got "
            f"c={c!r}, power={power!r}"
        )
    return radial_kernel(X, Y, partial(_multiquadric, c=c, power=power))


def _multiquadric(D: Array, c: float, power: float) -> None:
    D += c * c
    D **= power
    D *= (-1.0) ** ceil(power)


# --------------------------------------------------------------------------------------
# Polynomials


def monomials(X: Array, degree: int) -> Array:
    """All monomials of at most the given degree, constant first.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Items, best centred and scaled.
    degree : int
        -1 gives no column.

    Returns
    -------
    ndarray of shape (n, comb(d + degree, degree))
    """
    n, d = X.shape
    if degree < 0:
        return np.empty((n, 0))
    count = comb(d + degree, degree)
    if count > _MOST_MONOMIALS:
        raise ValueError(
            f"polynomials of degree {degree} in {d} features have {count} terms, more "
            f"than {_MOST_MONOMIALS}: choose a smaller degree or exponent"
        )
    if degree <= 1:  # scikit-learn's checks take as long as a small fit
        return np.column_stack([np.ones(n), *([X] if degree else [])])
    return PolynomialFeatures(degree).fit_transform(X)


def orthonormal_range(P: Array, weight: Array | None = None) -> tuple[Array, Array]:
    """Orthonormal basis of the columns of P, rank-revealing.

    Parameters
    ----------
    P : ndarray of shape (n, p)
        Polynomials at the items; constant, equal, collinear columns are allowed.
    weight : ndarray of shape (n,), optional
        Sample weights, for the norms of the columns.

    Returns
    -------
    Q : ndarray of shape (n, r)
        Orthonormal, r the numerical rank of P with columns of unit norm.
    G : ndarray of shape (p, r)
        ``Q = P G``; ``G b`` are the coefficients of least norm (of the scaled columns)
        of the polynomial ``Q b``.
    """
    n, p = P.shape
    if p == 0:
        return np.empty((n, 0)), np.empty((0, 0))
    norms = np.sqrt(np.ones(n) @ P**2 if weight is None else weight @ P**2)
    norms[norms == 0.0] = 1.0
    U, S, Vt = scipy.linalg.svd(P / norms, full_matrices=False, check_finite=False)
    rank = int(np.sum(S > 10 * max(n, p) * np.finfo(float).eps * S[0]))
    return U[:, :rank].copy(), (Vt[:rank].T / S[:rank]) / norms[:, None]
