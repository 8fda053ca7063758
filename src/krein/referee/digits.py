"""Arithmetic with 32 digits: sums, products, eigenpairs, the exponential.

A model was fitted with 16 digits, and claims what is left in the last of them. To
decide whether such a claim holds, the referee needs more. A `Wide` number is the sum of
two doubles, the second below the last digit of the first. Its operators are those of
NumPy, so that formulas read as they are written:

    f = K @ c + b        K, c, b doubles or Wide; f is Wide

Sources. Sums and products of two doubles without error: Dekker (1971), "A
floating-point technique for extending the available precision". Matrix products: Ozaki,
Ogita, Oishi, Rump (2012), "Error-free transformations of matrix multiplication by using
fast routines of matrix multiplication". Eigenpairs: Ogita, Aishima (2018), "Iterative
refinement for symmetric eigenvalue decomposition", and its second part (2019) for
clusters.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph

Array = np.ndarray
EPS = float(np.finfo(float).eps)
WIDE_EPS = 1e-30  # relative error of a sum of Wide numbers, with room for many terms
_HALF = 2.0**27 + 1.0  # Dekker's constant: it cuts a double into two halves
_BITS = 110  # of a matrix product that are kept


class Wide:
    """An array of numbers with 32 digits, ``high + low``.

    Attributes
    ----------
    high : ndarray
        The number rounded to a double.
    low : ndarray
        What is left.
    """

    # NumPy leaves operators between its arrays and these to this class.
    __array_ufunc__ = None

    def __init__(self, high: Any, low: Any = 0.0):
        self.high = np.asarray(high, dtype=float)
        self.low = np.asarray(low, dtype=float)
        if self.low.shape != self.high.shape:
            self.low = np.zeros_like(self.high) + self.low

    @property
    def T(self) -> Wide:
        """Transposed."""
        return Wide(self.high.T, self.low.T)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array."""
        return self.high.shape

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.high.size

    def __len__(self) -> int:
        return len(self.high)

    def __getitem__(self, which: Any) -> Wide:
        return Wide(self.high[which], self.low[which])

    def __float__(self) -> float:
        return float(self.high)

    def __neg__(self) -> Wide:
        return Wide(-self.high, -self.low)

    def __add__(self, other: Any) -> Wide:
        other = wide(other)
        total, error = _exact_sum(self.high, other.high)
        tail, tail_error = _exact_sum(self.low, other.low)
        total, error = _exact_sum(total, error + tail)
        return Wide(*_exact_sum(total, error + tail_error))

    def __sub__(self, other: Any) -> Wide:
        return self + (-wide(other))

    def __mul__(self, other: Any) -> Wide:
        other = wide(other)
        product, error = _exact_product(self.high, other.high)
        error = error + (self.high * other.low + self.low * other.high)
        return Wide(*_exact_sum(product, error))

    def __truediv__(self, other: Any) -> Wide:
        other = wide(other)
        first = self.high / other.high
        rest = self - other * first
        second = rest.high / other.high
        rest = rest - other * second
        third = rest.high / other.high
        return Wide(first) + second + third

    def __radd__(self, other: Any) -> Wide:
        return self + other

    def __rsub__(self, other: Any) -> Wide:
        return wide(other) - self

    def __rmul__(self, other: Any) -> Wide:
        return self * other

    def __rtruediv__(self, other: Any) -> Wide:
        return wide(other) / self

    def __matmul__(self, other: Any) -> Wide:
        return product(self, other)

    def __rmatmul__(self, other: Any) -> Wide:
        return product(other, self)

    def assign(self, columns: Array, values: Wide) -> None:
        """Replace columns, or entries of a vector."""
        self.high[..., columns] = values.high
        self.low[..., columns] = values.low

    def sum(self) -> Wide:
        """Sum of all entries."""
        rest = Wide(self.high.ravel(), self.low.ravel())
        if rest.size == 0:
            return Wide(0.0)
        while rest.size > 1:
            half = rest.size // 2
            last = rest[2 * half :]
            pairs = rest[:half] + rest[half : 2 * half]
            rest = Wide(
                np.append(pairs.high, last.high), np.append(pairs.low, last.low)
            )
        return rest[0]

    def where(self, chosen: Array, other: Any) -> Wide:
        """Keep what is chosen, and take the rest from another array."""
        other = wide(other)
        return Wide(
            np.where(chosen, self.high, other.high),
            np.where(chosen, self.low, other.low),
        )

    def absolute(self) -> Wide:
        """Return the sizes of the numbers."""
        return self.where(self.high >= 0.0, -self)

    def positive(self) -> Wide:
        """Return the larger of each number and 0."""
        return self.where(self.high > 0.0, 0.0)


def wide(x: Any) -> Wide:
    """Return the numbers with 32 digits; they may have them already."""
    if isinstance(x, Wide):
        return x
    return Wide(x)


def stacked(parts: list[Wide]) -> Wide:
    """Put vectors one after the other."""
    high = np.concatenate([part.high for part in parts])
    low = np.concatenate([part.low for part in parts])
    return Wide(high, low)


def root(x: Array) -> Wide:
    """Square roots of doubles, by one step of Newton's method."""
    first = np.sqrt(x)
    safe = np.where(first > 0.0, first, 1.0)
    rest = wide(x) - wide(first) * first
    return Wide(*_exact_sum(first, rest.high / (2.0 * safe)))


def _exact_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Sum of doubles, rounded, and the error of that."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return total, error


def _halves(a: Array) -> tuple[Array, Array]:
    """Two numbers of 26 bits each, whose products have no error."""
    scaled = _HALF * a
    upper = scaled - (scaled - a)
    return upper, a - upper


def _exact_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Product of doubles, rounded, and the error of that."""
    result = a * b
    a_upper, a_lower = _halves(a)
    b_upper, b_lower = _halves(b)
    error = a_upper * b_upper - result
    error = error + a_upper * b_lower
    error = error + a_lower * b_upper
    return result, error + a_lower * b_lower


# -------------------------------------------------------------------- matrix products


def product(A: Any, B: Any) -> Wide:
    """A B with 32 digits, relative to the largest entries of a row of A, a column of B.

    Both are cut into slices of so few bits that their products, by fast routines for
    doubles, have no error at all. A may be sparse. A vector whose entries are of very
    different sizes is multiplied entry by entry: beside 1 and a similarity of 1e186
    coefficients of 1e-186 matter, and slices would not see them.
    """
    if not scipy.sparse.issparse(A) and len(B.shape) == 1 and _spans_sizes(wide(B)):
        return _entrywise(wide(A), wide(B))
    terms = A.shape[-1]
    bits = (53 - math.ceil(math.log2(max(terms, 2)))) // 2
    count = math.ceil(_BITS / bits)
    left = _slices(A, bits, count, axis=-1)
    right = _slices(B, bits, count, axis=0)
    total: Any = Wide(0.0 * (left[0] @ right[0]))
    for order in reversed(range(count)):  # the smallest ones first
        for i in range(order + 1):
            total = total + left[i] @ right[order - i]
    return total


def _spans_sizes(x: Wide) -> bool:
    """Whether slices would leave the smallest entry fewer digits than a double."""
    sizes = np.abs(x.high[x.high != 0.0])
    return sizes.size > 0 and bool(sizes.min() < 2.0 ** (53 - _BITS) * sizes.max())


def _entrywise(A: Wide, x: Wide) -> Wide:
    """A x, relative to the sum of the sizes of the terms of each entry."""
    terms = A * x
    while terms.shape[-1] > 1:
        half = terms.shape[-1] // 2
        last = terms[..., 2 * half :]
        pairs = terms[..., :half] + terms[..., half : 2 * half]
        terms = Wide(
            np.concatenate([pairs.high, last.high], axis=-1),
            np.concatenate([pairs.low, last.low], axis=-1),
        )
    return terms[..., 0]


def _slices(A: Any, bits: int, count: int, axis: int) -> list[Any]:
    """Cut numbers into summands of a few bits each, in units of the largest on an axis.

    A number plus a constant that is larger by the right power of two is rounded to the
    bits wanted; that constant less is the slice.
    """
    if scipy.sparse.issparse(A):
        return _sparse_slices(A, bits, count)
    rest = wide(A)
    largest = np.abs(rest.high).max(axis=axis, keepdims=True, initial=0.0)
    slices = []
    for i in range(count):
        piece = _rounded(rest.high, largest, bits * (i + 1))
        rest = Wide(*_exact_sum(rest.high - piece, rest.low))
        slices.append(piece)
    return slices


def _sparse_slices(A: Any, bits: int, count: int) -> list[Any]:
    rest = scipy.sparse.csr_array(A, copy=True)
    largest = np.full(1, np.abs(rest.data).max(initial=0.0))
    slices = []
    for i in range(count):
        piece = rest.copy()
        piece.data = _rounded(rest.data, largest, bits * (i + 1))
        rest.data = rest.data - piece.data
        slices.append(piece)
    return slices


def _rounded(x: Array, largest: Array, bits: int) -> Array:
    """Round to so many bits after the first one of the largest."""
    _, exponent = np.frexp(largest)
    constant = np.ldexp(1.5, exponent + 52 - bits)
    return (x + constant) - constant


# ------------------------------------------------------------------------- eigenpairs

_REFINEMENTS = 8


class Eigenpairs:
    """All eigenvalues and eigenvectors of a symmetric matrix, with 32 digits.

    Attributes
    ----------
    values : Wide of shape (n,)
    vectors : Wide of shape (n, n)
        Columns of length 1.
    error : float
        Largest entry of the last correction of the vectors. Of these errors it is the
        root: each step squares them.
    """

    def __init__(self, A: Wide, refined: bool = True):
        values, vectors = np.linalg.eigh(A.high)
        self.values = wide(values)
        self.vectors = wide(vectors)
        self.error = 1.0
        if not refined:
            return
        for _ in range(_REFINEMENTS):
            self._refine(A)
            if self.error <= 1e-14:
                break

    def _refine(self, A: Wide) -> None:
        """One step of Algorithm 1 of Ogita and Aishima (2018).

        With ``R = I - X'X`` and ``S = X'AX`` the eigenvalues are ``S_ii / (1 - R_ii)``,
        and X (I + E) are vectors with the squares of the errors of X, where ``E_ij =
        (S_ij + l_j R_ij) / (l_j - l_i)``, or ``R_ij / 2`` where that is not determined.
        """
        X = self.vectors
        n = len(X)
        R = np.eye(n) - X.T @ X
        S = X.T @ (A @ X)
        diagonal = np.arange(n)
        values = S[diagonal, diagonal] / (1.0 - R[diagonal, diagonal])
        off_diagonal = S.high.copy()
        off_diagonal[diagonal, diagonal] = 0.0
        # Eigenvalues as near to each other as this are not told apart by S.
        largest = float(np.abs(values.high).max(initial=0.0))
        near = 2.0 * (_norm(off_diagonal) + largest * _norm(R.high))
        near = max(near, WIDE_EPS * largest)
        apart = (values[None, :] - values[:, None]).high
        determined = np.abs(apart) > near
        numerator = (S + R * values).high
        E = np.where(
            determined, numerator / np.where(determined, apart, 1.0), 0.5 * R.high
        )
        self.values = values
        self.vectors = X + X @ E
        self.error = float(np.abs(E).max(initial=0.0))
        self._resolve(A, ~determined, WIDE_EPS * largest)

    def _resolve(self, A: Wide, undetermined: Array, least: float) -> None:
        """Diagonalise A within eigenvectors whose eigenvalues nearly coincide.

        Beside what they have in common, their differences have all digits of a double.
        """
        others = undetermined & ~np.eye(len(undetermined), dtype=bool)
        if not others.any():
            return
        _, labels = scipy.sparse.csgraph.connected_components(others)
        for label in np.unique(labels[others.any(axis=1)]):
            cluster = np.flatnonzero(labels == label)
            X = self.vectors[:, cluster]
            common = self.values[cluster[0]]
            S = X.T @ (A @ X) - (X.T @ X) * common
            mixed = S.high - np.diag(np.diag(S.high))
            differences, Q = np.linalg.eigh(0.5 * (S.high + S.high.T))
            spread = float(np.abs(differences).max(initial=0.0))
            if float(np.abs(mixed).max()) <= max(1e-14 * spread, least):
                continue  # it is diagonal, or all are equal
            self.vectors.assign(cluster, X @ Q)
            self.values.assign(cluster, common + differences)
            self.error = 1.0  # Q is orthogonal as far as doubles are


def _norm(A: Array) -> float:
    return float(np.sqrt(np.sum(np.square(A))))


# --------------------------------------------------------------------- the exponential

_LOG_2 = Wide(0.6931471805599453, 2.3190468138462996e-17)
_HALVINGS = 9


def exponential(x: Wide) -> Wide:
    """Return ``e^x`` for each entry, and ``e^-700`` for what is below -700.

    Its argument less a multiple of log 2 is halved nine times, and what the Taylor
    series gives there is squared as often.
    """
    x = x.where(x.high > -700.0, -700.0)
    powers = np.round(x.high / float(_LOG_2))
    small = (x - _LOG_2 * powers) / 2.0**_HALVINGS
    total = wide(np.ones(x.shape))
    for k in range(12, 0, -1):
        total = 1.0 + small * total / float(k)
    for _ in range(_HALVINGS):
        total = total * total
    scale = np.ldexp(1.0, powers.astype(int))
    return Wide(total.high * scale, total.low * scale)
