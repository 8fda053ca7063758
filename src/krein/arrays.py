"""Arrays of numbers: type, sparse rows, rounding of sums, condensed distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

Array = NDArray[np.float64]


def compressed_rows(matrix: Any) -> scipy.sparse.csr_array:
    """Compressed rows in float64, with 32-bit positions where they suffice.

    Scikit-learn refuses longer ones, and slicing by arrays makes them.
    """
    matrix = scipy.sparse.csr_array(matrix, dtype=np.float64)
    if matrix.indices.dtype == np.int32 or max(matrix.nnz, *matrix.shape) >= 2**31:
        return matrix
    positions = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return scipy.sparse.csr_array((matrix.data, *positions), shape=matrix.shape)


def real_numbers(values: Any) -> Array:
    """Return what a kernel gave as float64; complex numbers would lose a part."""
    if scipy.sparse.issparse(values):
        raise TypeError(
            "kernel returned a sparse matrix; return an array (values.toarray()), or "
            "fit with kernel='precomputed' on the sparse matrix itself"
        )
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise TypeError(
            "kernel returned a masked array with masked entries; fill them first "
            "(values.filled(...)): a mask would be dropped silently"
        )
    values = np.asarray(values)
    if np.iscomplexobj(values):
        raise TypeError("kernel returned complex numbers; similarities must be real")
    return values.astype(np.float64, copy=False)


def power_of_two(x: float) -> float:
    """Power of two near x > 0; 1 for what has none.

    Examples
    --------
    >>> power_of_two(1000.0), power_of_two(0.0)
    (1024.0, 1.0)
    """
    return float(2.0 ** np.round(np.log2(x))) if 0.0 < x < np.inf else 1.0


_EPS = float(np.finfo(np.float64).eps)
_BLOCK = 256
_MOSTLY = 0.4  # share of coefficients that are not zero


def rounding_of_sums(terms: int) -> float:
    """Share of the sizes of their terms that sums can be off by rounding."""
    return _EPS * (2.0 + float(np.sqrt(terms)))


def product_and_error(K: Any, V: Array) -> tuple[Array, Array]:
    """K V, and a bound on its rounding errors: certificates count them.

    Sums are rounded like the sizes of their terms (Higham and Mary, 2019).

    Parameters
    ----------
    K : ndarray, sparse matrix or `krein.similarity.matrix.Matrix`, (n, m)
        Formed nowhere; evaluated by blocks of rows where it is computed on demand.
    V : ndarray of shape (m,) or (m, k)
        Coefficients.
    """
    if hasattr(K, "product_and_error"):  # it knows better
        return K.product_and_error(V)
    n = K.shape[0]
    if scipy.sparse.issparse(K):
        return K @ V, rounding_of_sums(n) * (abs(K) @ np.abs(V))
    support = np.flatnonzero(V if V.ndim == 1 else V.any(axis=1))
    # Columns of an array are copied, which takes longer than products with zeros.
    whole = support.size >= (_MOSTLY if isinstance(K, np.ndarray) else 1.0) * len(V)
    V = V if whole else V[support]
    outputs, size = np.zeros((2, n, *V.shape[1:]))
    for i in range(0, n if support.size else 0, _BLOCK):  # no second matrix
        rows = slice(i, i + _BLOCK)
        if isinstance(K, np.ndarray):
            block = K[rows] if whole else K[rows, support]
        else:
            block = K.block(np.arange(n)[rows], support)
        outputs[rows] = block @ V
        size[rows] = np.abs(block) @ np.abs(V)
    return outputs, rounding_of_sums(support.size) * size


def extended_product(K: Any, v: Array) -> tuple[Array, Array]:
    """K v as `product_and_error`, in the longest floating-point numbers there are.

    Tens of times slower; where these are no longer than float64 the error is the same.
    """
    if hasattr(K, "extended_product"):  # it knows better
        return K.extended_product(v)
    wide = np.longdouble
    share = wide_rounding_of_sums(len(v))
    outputs, error = np.zeros((2, K.shape[0], *v.shape[1:]))
    for i in range(0, K.shape[0], _BLOCK):
        rows = slice(i, i + _BLOCK)
        if isinstance(K, np.ndarray):
            block = K[rows]
        else:
            block = K.block(np.arange(K.shape[0])[rows], np.arange(len(v)))
        outputs[rows] = block.astype(wide) @ v.astype(wide)
        error[rows] = share * (np.abs(block) @ np.abs(v))
    return outputs, error + 0.5 * _EPS * np.abs(outputs)


def wide_rounding_of_sums(terms: int) -> float:
    """As `rounding_of_sums`, of sums in the longest floating-point numbers."""
    return float(np.finfo(np.longdouble).eps) * (2.0 + float(np.sqrt(terms)))


def extended_square(K: Array, weight: Array | None, v: Array) -> tuple[Array, Array]:
    """K W K v as `extended_product`, W diagonal and K symmetric but for rounding."""
    wide = np.longdouble
    w = np.ones(len(v)) if weight is None else weight
    share = wide_rounding_of_sums(len(v))
    inner = np.zeros(len(v), dtype=wide)
    outputs, error, off = np.zeros((3, len(v)))
    blocks = [slice(i, i + _BLOCK) for i in range(0, len(v), _BLOCK)]

    def part(rows: slice) -> Any:
        return (K[rows].astype(wide) + K[:, rows].T.astype(wide)) / 2

    for rows in blocks:
        inner[rows] = part(rows) @ v.astype(wide)
        off[rows] = share * (np.abs(K[rows]) @ np.abs(v))
    inner *= w
    off = w * off + share * np.abs(inner).astype(np.float64)
    for rows in blocks:
        outputs[rows] = part(rows) @ inner
        error[rows] = np.abs(K[rows]) @ off
    return outputs, error + 0.5 * _EPS * np.abs(outputs)


def items_of_condensed(size: int) -> int | None:
    """Number of items that have so many pairs, None if there is no such number."""
    n = round((1.0 + math.sqrt(1.0 + 8.0 * size)) / 2.0)
    return n if size > 0 and n * (n - 1) // 2 == size else None


def square_of_condensed(flat: Array) -> Array:
    """Square matrix of distances that are listed pair by pair, as ``pdist`` does."""
    n = items_of_condensed(flat.size)
    if n is None:
        raise ValueError(f"{flat.size} numbers are not one for each pair of items")
    D = np.zeros((n, n))
    D[np.triu_indices(n, 1)] = flat
    return D + D.T


def is_condensed(X: Any) -> bool:
    """Whether an array has the shape of a list of distances, one for each pair."""
    in_line = isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "iuf"
    return in_line and items_of_condensed(X.size) is not None


def is_distance_matrix(X: Any) -> bool:
    """Whether it is a ``DistanceMatrix`` of scikit-bio, or behaves as one."""
    return hasattr(X, "ids") and hasattr(X, "to_data_frame")


def as_square(D: Any, name: str = "X") -> Any:
    """Distances between all items as a square matrix or frame.

    The one place that knows the other forms: condensed vectors of
    `scipy.spatial.distance.pdist`, and scikit-bio's ``DistanceMatrix``, whose names are
    kept as those of a frame. Anything else is returned as it is.

    Parameters
    ----------
    D : array-like, frame or DistanceMatrix
        What the user gave.
    name : str
        What the caller calls it, for messages.
    """
    if is_distance_matrix(D):
        return D.to_data_frame()
    flat = D if isinstance(D, np.ndarray) else None
    if isinstance(D, list | tuple) and D and all(map(np.isscalar, D)):
        flat = np.asarray(D)
    if flat is None or flat.ndim != 1:
        return D
    n = items_of_condensed(flat.size)
    if n is None:
        raise ValueError(
            f"{name} has one dimension and {flat.size} entries, which are no condensed "
            "distances: n items have n (n - 1) / 2. Pass a square matrix of distances, "
            "or what scipy.spatial.distance.pdist returns"
        )
    return square_of_condensed(flat)
