"""One eigendecomposition of a (weighted) similarity, shared by all who need it.

``W^1/2 K0 W^1/2 = V diag(l) V'`` with the raw training similarity K0 and the diagonal
matrix W of sample weights (the identity when there are none).

Inside ``with shared_work():`` an eigendecomposition (and a matrix built from it) that
was computed before is used again, whichever estimator asks. Matrices that cannot change
are known by themselves, others by a fingerprint of their contents, which costs O(n^2)
against the O(n^3) saved. Outside of the block nothing is kept. See docs/decisions/0014.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from scipy.linalg import blas

from krein.arrays import Array
from krein.memory import MATRICES, require_memory
from krein.store.fingerprint import fingerprint
from krein.store.shared_work import digest, for_all_folds, is_sharing, once
from krein.threads import threads_for

_EPS = float(np.finfo(np.float64).eps)
_DENSE_EIGENVALUES = 1000
_KEPT_BYTES = 32e6  # of a fold, 2000 items: those of five take 160 MB
_COLUMNS = 256  # of eigenvectors that are multiplied at once, rows that are mirrored
T = TypeVar("T")


def zero_tolerance(eigenvalues: Array, n: int | None = None) -> float:
    """Return the size up to which an eigenvalue is zero to rounding: n eps max|l|.

    This is the one tolerance of krein. `n` is the number of items, where only some
    of the eigenvalues are known.
    """
    count = eigenvalues.size if n is None else n
    return count * _EPS * float(np.abs(eigenvalues).max(initial=0.0))


def is_psd(eigenvalues: Array, n: int | None = None) -> bool:
    """Whether a matrix with these eigenvalues is positive semidefinite to rounding."""
    smallest = float(eigenvalues.min(initial=0.0))
    return smallest >= -zero_tolerance(eigenvalues, n)


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues and eigenvectors of a (weighted) similarity matrix.

    Attributes
    ----------
    eigenvalues : ndarray of shape (r,)
        Ascending.
    eigenvectors : ndarray of shape (n, r)
        Orthonormal columns; r < n for a matrix of low rank.
    sqrt_weight : ndarray of shape (n,) or None
        Square roots of the sample weights; None means all weights are 1.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import Spectrum
    >>> spectrum = Spectrum.exact(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> spectrum.signature
    (1, 1, 0)
    >>> spectrum.map(np.abs).matrix().round(12) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """

    eigenvalues: Array
    eigenvectors: Array
    sqrt_weight: Array | None = None

    @classmethod
    def exact(cls, K: Array, weight: Array | None = None) -> Spectrum:
        """All eigenpairs by LAPACK's divide and conquer; K is not changed.

        Computed once per matrix inside of `shared_work`. Searches
        on the same folds share their spectra too, unless these are large.
        """

        def contents() -> tuple[Any, ...]:
            return cls, fingerprint(K), fingerprint(weight)

        compute = partial(cls._decompose, K, weight)
        if is_sharing() and K.nbytes <= _KEPT_BYTES:
            compute = partial(for_all_folds, contents, compute)
        return once(lambda: (cls, digest(K), digest(weight)), compute)

    @classmethod
    def _decompose(cls, K: Array, weight: Array | None) -> Spectrum:
        work = "the eigendecomposition"
        about = f"{work} of {K.shape[0]} items"
        require_memory(
            MATRICES[work] * K.nbytes, about, "Use landmarks (KreinNystroem)."
        )
        scale = safe_scale(K)
        A = K / scale if scale != 1.0 else K.copy()
        root = None if weight is None else np.sqrt(weight)
        if root is not None:
            A *= root
            A *= root[:, None]
        # A.T is A in the order of LAPACK, which would copy A otherwise.
        with threads_for(A.shape[0]):
            values, vectors = scipy.linalg.eigh(
                A.T, driver="evd", overwrite_a=True, check_finite=False
            )
        return cls(values * scale, vectors, root)

    @property
    def n(self) -> int:
        """Number of items."""
        return self.eigenvectors.shape[0]

    @property
    def tolerance(self) -> float:
        """Eigenvalues of at most this magnitude are zero to rounding."""
        if self.eigenvalues.size == 0:
            return 0.0
        return zero_tolerance(self.eigenvalues, self.n)

    @property
    def is_psd(self) -> bool:
        """Whether no eigenvalue is negative beyond rounding."""
        return is_psd(self.eigenvalues, self.n)

    @cached_property
    def signature(self) -> tuple[int, int, int]:
        """Number of positive, negative and zero eigenvalues."""
        positive = int(np.sum(self.eigenvalues > self.tolerance))
        negative = int(np.sum(self.eigenvalues < -self.tolerance))
        return positive, negative, self.n - positive - negative

    def map(self, f: Callable[[Array], Array]) -> Spectrum:
        """Return the spectrum with eigenvalues ``f(eigenvalues)``."""
        return replace(self, eigenvalues=f(self.eigenvalues))

    def __matmul__(self, v: Array) -> Array:
        """Product of the (unweighted) matrix with a vector or a block of them."""
        scaled = rescale(v, self.sqrt_weight, invert=True)
        inner = self.eigenvectors.T @ scaled
        inner = rescale(inner, self.eigenvalues)
        return rescale(self.eigenvectors @ inner, self.sqrt_weight, invert=True)

    def matrix(self) -> Array:
        """Return the (unweighted) matrix itself, exactly symmetric."""
        return once(self.key, self.formed)

    def key(self) -> str:
        """Return what tells the matrix from others, for `once`."""
        return fingerprint(self.eigenvectors, self.eigenvalues, self.sqrt_weight)

    def formed(self) -> Array:
        """Return the matrix, formed anew."""
        M = np.zeros((self.n, self.n))
        add_outer(M, self.eigenvectors, self.eigenvalues, self.sqrt_weight)
        return M


def rescale(v: Array, factor: Array | None, invert: bool = False) -> Array:
    """Multiply the rows of v by `factor`, or divide them; None leaves v as it is."""
    if factor is None:
        return v
    column = factor if v.ndim == 1 else factor[:, None]
    return v / column if invert else v * column


def most_common_factor(values: Array, target: Array) -> tuple[float, Array]:
    """The c for which most of ``target - c values`` are zero, and that difference."""
    best = 0.0
    least = target
    for i in (-1, 0) if values.size else ():
        if values[i] != 0.0:
            factor = float(target[i] / values[i])
            rest = target - factor * values
            rest[np.abs(rest) <= 8.0 * _EPS * np.abs(factor * values)] = 0.0
            if np.count_nonzero(rest) < np.count_nonzero(least):
                best = factor
                least = rest
    return best, least


def add_outer(M: Array, U: Array, d: Array, root: Array | None = None) -> None:
    """Add ``W^-1/2 U diag(d) U' W^-1/2`` to M, of which the upper half is read.

    M is contiguous, and exactly symmetric afterwards; a few columns of U at a time are
    in memory twice. `root` has the square roots of the weights.
    """
    for sign in (1.0, -1.0):
        kept = np.flatnonzero(sign * d > 0.0)
        for i in range(0, kept.size, _COLUMNS):
            some = kept[i : i + _COLUMNS]
            B = U.T[some].T
            B *= np.sqrt(np.abs(d[some]))
            if root is not None:
                B /= root[:, None]
            # M.T is M in the order of BLAS, which would copy M otherwise.
            blas.dsyrk(sign, B, beta=1.0, c=M.T, lower=1, overwrite_c=1)
            del B  # before the next one is made
    for i in range(0, M.shape[0], _COLUMNS):  # what is below the diagonal is mirrored
        rows = slice(i, i + _COLUMNS)
        after = slice(i + _COLUMNS, None)
        square = M[rows, rows]
        np.copyto(square, square.T, where=np.tri(len(square), k=-1, dtype=bool))
        M[after, rows] = M[rows, after].T


def safe_scale(K: Array) -> float:
    """Return a power of two near max|K| when squares of K would leave float64."""
    largest = max(float(K.max()), -float(K.min())) if K.size else 0.0
    if largest == 0.0 or 1e-100 < largest < 1e100:
        return 1.0
    return float(2.0 ** np.floor(np.log2(largest)))


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
        A.T,  # A in the order of LAPACK, which would copy A otherwise
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
    v = np.random.default_rng(0).standard_normal(K.shape[0])
    size = 0.0
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
