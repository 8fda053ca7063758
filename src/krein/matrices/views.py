"""Several similarities between the same items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.matrices.matrix import Matrix

__all__ = ["Views", "as_views"]


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
