"""Raw similarities between items by position: a matrix, or a kernel on objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from krein.arrays import Array, real_numbers
from krein.items import take
from krein.matrices.matrix import Matrix

__all__ = ["Similarities", "evaluate"]


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
        return _num_samples(self.items)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n), as of the matrix it stands for."""
        return self.n, self.n

    def subset(self, indices: np.ndarray) -> Similarities:
        """Return the similarities of the items at `indices`."""
        if self.kernel is None:
            part = self.items[np.ix_(indices, indices)]
            part.flags.writeable = False  # so that sharing need not look at it again
            return Similarities(part)
        return Similarities(take(self.items, indices), self.kernel)

    @property
    def vectors(self) -> Array | None:
        """The items when they are rows of numbers, else None."""
        rows = self.kernel is not None and isinstance(self.items, np.ndarray)
        return self.items if rows and self.items.ndim == 2 else None

    def block(self, rows: Any, columns: Any) -> Array:
        """Similarities of the items `rows` to the items `columns` (new array)."""
        if self.kernel is None:
            cut = (
                self.items[rows][:, columns]
                if isinstance(rows, slice)
                else self.items[np.ix_(rows, columns)]
            )
            return np.asarray(cut, dtype=np.float64)
        left, right = take(self.items, rows), take(self.items, columns)
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
    expected = (_num_samples(left), _num_samples(right))
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
