"""Forms of a similarity matrix: dense, computed on demand, several."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from krein.arrays import Array, product_and_error, real_numbers
from krein.items import take
from krein.sklearn_internals import num_samples
from krein.spectrum.decomposition import Spectrum, lowest_eigenvalue
from krein.spectrum.fixed_kernel import (
    FixedKernel,
    by_spectrum,
    rounding_of_eigenvalues,
)
from krein.spectrum.fixes import as_fix
from krein.store.shared_work import can_change, digest, once
from krein.validation import refuse_mask


class Matrix(ABC):
    """Interface of a similarity matrix: dense, sparse, low-rank or computed on demand.

    A form overrides what it does better than by its dense matrix. Positions are arrays
    of integers; nothing that is returned may be changed.
    """

    is_sparse = False  # products are cheaper than entries

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(n, n)."""

    @property
    def n(self) -> int:
        """Number of items."""
        return self.shape[0]

    @property
    def vectors(self) -> Array | None:
        """The items when they are known and rows of numbers, else None."""
        return None

    @abstractmethod
    def __matmul__(self, v: Array) -> Array:
        """Product with a vector or a block of columns."""

    @abstractmethod
    def block(self, rows: Any, columns: Any) -> Array:
        """Similarities of the items `rows` to the items `columns`."""

    @abstractmethod
    def subset(self, rows: np.ndarray) -> Matrix:
        """Return the same kind of matrix for some of the items."""

    @abstractmethod
    def dense(self) -> Array:
        """Return the matrix itself."""

    def spectrum(self, weight: Array | None = None) -> Spectrum:
        """Eigenpairs of ``W^1/2 K W^1/2``."""
        return Spectrum.exact(self.dense(), weight)

    def lowest_eigenvalue(
        self, weight: Array | None = None, atol: float = 0.0
    ) -> float:
        """Smallest eigenvalue of ``W^1/2 K W^1/2`` to `atol`; 0 if none is negative."""
        return lowest_eigenvalue(self.dense(), weight, atol=atol)

    def diagonal(self) -> Array:
        """Similarities of the items to themselves."""
        return np.diagonal(self.dense()).copy()

    def operand(self) -> Any:
        """Return what products and factorisations are made of."""
        return self.dense()

    def fixed_kernel(
        self,
        method: Any,
        t: float = 1.0,
        weight: Array | None = None,
        spectrum: Spectrum | None = None,
    ) -> FixedKernel:
        """Return what a fix makes of it.

        Parameters
        ----------
        method : str, Fix or callable
            As in `krein.spectrum.fixes.as_fix`.
        t : float
            Parameter of the method.
        weight : ndarray of shape (n,), optional
            Sample weights.
        spectrum : Spectrum, optional
            Of ``W^1/2 K W^1/2``, where it is known.
        """
        record = as_fix(method)
        if spectrum is not None:
            return by_spectrum(self, record, spectrum, t)
        if record.needs == "nothing":
            return FixedKernel(self, weight=weight, psd=bool(record.psd))
        if record.needs == "smallest":
            shift = -self.lowest_eigenvalue(weight)
            return FixedKernel(
                self,
                shift=shift,
                weight=weight,
                psd=bool(record.psd),
                spread=self._rounding_of_shift(shift, weight),
            )
        return by_spectrum(self, record, self.spectrum(weight), t)

    def flipped(
        self, weight: Array | None = None, spectrum: Spectrum | None = None
    ) -> tuple[Matrix, FixedKernel | None]:
        """Return the flipped similarity as one to work on, and the map from it.

        The map turns coefficients on the flipped similarity into those on this one;
        None where they are the same, as a model keeps those on the landmarks.
        """
        flip = self.fixed_kernel("flip", weight=weight, spectrum=spectrum)
        return Similarities(flip.kernel()), flip

    def _rounding_of_shift(self, shift: float, weight: Array | None) -> float:
        """By the Frobenius norm of ``W^1/2 K W^1/2``, which is not formed."""
        if shift == 0.0:
            return 0.0
        K = self.dense()
        w = np.ones(self.n) if weight is None else weight
        squares = np.einsum("ij,ij,j->i", K, K, w)
        return rounding_of_eigenvalues(float(np.sqrt(w @ squares)), self.n)

    # ------------------------------------------------------------------- prediction

    def outputs(self, coef: Array) -> tuple[Array, Array]:
        """Outputs of all items for coefficients as a model keeps them, and rounding."""
        return product_and_error(self.dense(), coef)

    def seen(self, rows: np.ndarray, by: np.ndarray) -> Array:
        """Similarities of the items `rows` that a model of the items `by` asks for."""
        return self.block(rows, by)

    def to_raw(self, coef: Array) -> Array:
        """Turn coefficients on all items into those that prediction uses."""
        return coef


@dataclass(frozen=True)
class Similarities(Matrix):
    """Similarities of items to each other: a matrix, or computed when asked for.

    Attributes
    ----------
    items : array-like, or ndarray of shape (n, n) when `kernel` is None
        The objects, or the matrix of their similarities.
    kernel : callable or None
        ``kernel(X, Y) -> matrix``.
    """

    items: Any
    kernel: Callable[[Any, Any], Any] | None = None

    @property
    def n(self) -> int:
        """Number of items."""
        return num_samples(self.items)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n), as of the matrix it stands for."""
        return self.n, self.n

    def subset(self, indices: np.ndarray) -> Similarities:
        """Return the similarities of the items at `indices`."""
        if self.kernel is not None:
            return Similarities(take(self.items, indices), self.kernel)
        return Similarities(self.seen(indices, indices))

    def seen(self, rows: np.ndarray, by: np.ndarray) -> Array:
        """Similarities of `rows` to `by`: one array for all who ask for the same."""
        if self.kernel is not None or can_change(self.items):
            return self._cut(rows, by)
        return once(
            lambda: ("part", digest(self.items), rows.tobytes(), by.tobytes()),
            lambda: self._cut(rows, by),
        )

    def _cut(self, rows: np.ndarray, by: np.ndarray) -> Array:
        part = self.block(rows, by)
        part.flags.writeable = False  # so that sharing need not look at its numbers
        return part

    @property
    def vectors(self) -> Array | None:
        """The items when they are rows of numbers, else None."""
        if self.kernel is None or not isinstance(self.items, np.ndarray):
            return None
        return self.items if self.items.ndim == 2 else None

    def block(self, rows: Any, columns: Any) -> Array:
        """Similarities of the items `rows` to the items `columns` (new array)."""
        if self.kernel is None and isinstance(rows, slice):
            return np.asarray(self.items[rows][:, columns], dtype=np.float64)
        if self.kernel is None:
            return np.asarray(self.items[np.ix_(rows, columns)], dtype=np.float64)
        left = take(self.items, rows)
        right = left if columns is rows else take(self.items, columns)
        return evaluate(self.kernel, left, right)

    def dense(self) -> Array:
        """Return the matrix, evaluated at once where there is a kernel."""
        if self.kernel is None:
            return self.items
        return evaluate(self.kernel, self.items, self.items)

    def __matmul__(self, v: Array) -> Array:
        """Product with a vector or a block of columns."""
        return self.dense() @ v


def evaluate(kernel: Callable[[Any, Any], Any], left: Any, right: Any) -> Array:
    """Kernel matrix of two collections, checked for shape and finite entries."""
    K = real_numbers(kernel(left, right))
    expected = (num_samples(left), num_samples(right))
    if K.shape != expected:
        raise ValueError(
            f"kernel must return a matrix of shape {expected} for {expected[0]} and "
            f"{expected[1]} items, got {K.shape}"
        )
    if not np.isfinite(K).all():
        raise ValueError(
            "kernel returned NaN or infinity; similarities must be finite numbers"
        )
    return K


@dataclass(frozen=True)
class Views(Matrix):
    """Matrices of one shape; where one is asked for, it is their sum.

    Attributes
    ----------
    parts : tuple of ndarray of shape (n, m)
        The matrices.
    target : ndarray of shape (n, n) or None
        One more, which a combination of the others is to be near to.
    """

    parts: tuple[Array, ...]
    target: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Of each matrix."""
        n, m = self.parts[0].shape
        return n, m

    def __matmul__(self, v: Array) -> Array:
        """Product with a vector or a block of columns."""
        return sum(K @ v for K in self.parts)  # type: ignore[return-value]

    def block(self, rows: Any, columns: Any) -> Array:
        """Similarities of the items `rows` to the items `columns`."""
        return sum(K[np.ix_(rows, columns)] for K in self.parts)  # type: ignore[return-value]

    def dense(self) -> Array:
        """Return the sum."""
        return np.sum(self.parts, axis=0)

    def subset(self, rows: np.ndarray) -> Views:
        """Return the similarities of some of the items."""
        target = None if self.target is None else self.target[np.ix_(rows, rows)]
        return replace(self.cut(rows, rows), target=target)

    def cut(self, rows: np.ndarray, columns: np.ndarray) -> Views:
        """Return each matrix for some rows and columns."""
        return Views(tuple(K[np.ix_(rows, columns)] for K in self.parts))

    def values(self, coef: Array, weights: Array) -> Array:
        """Values (n, n_rows) of rows of coefficients on their own weighted sums.

        Parameters
        ----------
        coef : ndarray of shape (n_rows, m)
            Coefficients of each row.
        weights : ndarray of shape (n_rows, n_parts)
            Weights of the matrices in each row.
        """
        return np.sum(
            [w * (K @ coef.T) for w, K in zip(weights.T, self.parts, strict=True)],
            axis=0,
        )


def as_views(X: Any) -> Views:
    """Views of a stack of shape (n, m, n_kernels) or of a list of matrices."""
    for K in X if isinstance(X, list | tuple) else [X]:
        refuse_mask(K, "X")
    if isinstance(X, list | tuple):
        parts: Sequence[Array] = [np.asarray(K, dtype=np.float64) for K in X]
    else:
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 3:
            raise ValueError(
                f"X must have shape (n, n, n_kernels) or be a list of matrices, got "
                f"shape {X.shape}. For feature vectors give kernels=[...]"
            )
        parts = [np.ascontiguousarray(X[:, :, i]) for i in range(X.shape[2])]
    if not parts or len({K.shape for K in parts}) != 1 or parts[0].ndim != 2:
        shapes = sorted({K.shape for K in parts})
        raise ValueError(f"X must hold matrices of one shape, got {shapes}")
    return Views(tuple(parts))
