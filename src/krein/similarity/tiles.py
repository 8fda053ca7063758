"""A tall matrix that is only ever seen in tiles of rows.

Everything that training at low rank needs from an n x m matrix A is a pass over its
rows: ``A @ w``, ``A' v``, ``A' diag(d) A`` and the triangular factor of A. The tiles
may lie in memory (`DenseTiles`) or in a store on disk (`krein.scale`). Sums over tiles
follow one fixed tree, so that results do not depend on who computed which tile.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np

from krein.arrays import Array

_T = TypeVar("_T")
_TILE_BYTES = 2_000_000  # a tile and its scaled copy stay in the cache of a processor
_SUMMED_ROWS = 2048  # rows whose products are summed in one go, to round less
_EPS = float(np.finfo(np.float64).eps)


def row_slices(n: int, tile_rows: int) -> list[slice]:
    """Cut ``range(n)`` into slices of `tile_rows` (the last one may be shorter)."""
    return [slice(i, min(i + tile_rows, n)) for i in range(0, n, tile_rows)]


def tree_reduce(items: Iterable[_T], combine: Callable[[_T, _T], _T]) -> _T:
    """Combine items along the fixed binary tree over their index.

    Neighbours are paired level by level, an odd one is carried up; done here with
    one pending result per level, so that a long stream needs little memory.
    """
    pending: list[tuple[int, _T]] = []  # (number of leaves, partial result)
    for item in items:
        size = 1
        partial = item
        while pending and pending[-1][0] == size:
            size = 2 * size
            partial = combine(pending.pop()[1], partial)
        pending.append((size, partial))
    if not pending:
        raise ValueError("there is nothing to reduce: no tiles")
    _, total = pending.pop()
    while pending:
        total = combine(pending.pop()[1], total)
    return total


def triangular(A: Array) -> Array:
    """Upper triangular T with T'T = A'A and a diagonal that is not negative."""
    T: Array = np.linalg.qr(A, mode="r")  # type: ignore[assignment]
    return T * np.where(np.diagonal(T) < 0, -1.0, 1.0)[:, None]


class TiledMatrix(ABC):
    """An n x m matrix given by a pass over tiles of rows.

    Attributes
    ----------
    shape : tuple of int
        (n, m).
    """

    shape: tuple[int, int]

    @abstractmethod
    def tiles(self) -> Iterator[tuple[slice, Array]]:
        """Yield (rows, tile) in order of the rows; tiles must not be changed."""

    @abstractmethod
    def rows(self, indices: np.ndarray) -> Array:
        """Return the rows at `indices`, as a new array."""

    @abstractmethod
    def part(self, indices: np.ndarray) -> TiledMatrix:
        """Return the rows at `indices`, kept where A is kept."""

    @abstractmethod
    def mapped(self, projection: Array) -> TiledMatrix:
        """Return ``A @ projection``, kept where A is kept."""

    @property
    def array(self) -> Array | None:
        """The matrix where it lies in memory, else None."""
        return None

    def __matmul__(self, w: Array) -> Array:
        """Return ``A @ w`` for a vector or a block of columns."""
        out = np.empty((self.shape[0], *w.shape[1:]))
        for rows, tile in self.tiles():
            np.matmul(tile, w, out=out[rows])
        return out

    def transpose_dot(self, v: Array) -> Array:
        """Return ``A' v`` for a vector or a block of columns."""
        parts = (_summed(tile, v[rows]) for rows, tile in self.tiles())
        return tree_reduce(parts, np.add)

    def errors(self, v: Array, w: Array) -> tuple[Array, Array]:
        """Bounds on the rounding of `transpose_dot` of v, and of the product with w.

        Sums are rounded like the sizes of their terms, times the root of the number
        of terms that are added in one go (Higham, Mary, 2019) and the depth of the
        tree of such sums.

        Returns
        -------
        ndarray of shape (m,)
            Of ``A' v``.
        ndarray of shape (n,)
            Of ``A w``.
        """
        n, m = self.shape
        depth = 2.0 + np.log2(1.0 + n / _SUMMED_ROWS)
        of_sums = _EPS * (2.0 + np.sqrt(min(n, _SUMMED_ROWS)) + depth)
        of_products = _EPS * (2.0 + np.sqrt(m))
        outputs = np.empty((n, *w.shape[1:]))
        size = np.abs(v)
        weights = np.abs(w)

        def sums() -> Iterator[Array]:
            for rows, tile in self.tiles():
                positive = np.abs(tile)
                outputs[rows] = positive @ weights
                yield positive.T @ size[rows]

        return of_sums * tree_reduce(sums(), np.add), of_products * outputs

    def magnitude(self, w: Array) -> Array:
        """Return ``|A| |w|``."""
        weights = np.abs(w)
        return np.concatenate([np.abs(tile) @ weights for _, tile in self.tiles()])

    def gram(self, weight: Array, target: Array) -> Array:
        """Return ``[A 1 target]' diag(weight) [A 1 target]``, weights not negative.

        The column of ones belongs to an intercept, the last one to a right-hand side:
        one pass serves a whole system of normal equations.
        """
        root = np.sqrt(weight)
        scaled = root * target
        parts = (
            _bordered(tile, root[rows], scaled[rows]) for rows, tile in self.tiles()
        )
        return tree_reduce(parts, np.add)

    def triangle(self, scale: Array | None = None) -> Array:
        """Triangular factor of ``diag(scale) A`` by a tree of QR factorisations.

        It carries what A'A carries without squaring the condition number
        (Demmel, Grigori, Hoemmen, Langou, 2012, SIAM J. Sci. Comput. 34).
        """
        parts = (
            triangular(tile if scale is None else tile * scale[rows, None])
            for rows, tile in self.tiles()
        )
        return tree_reduce(parts, combine_triangles)


def _summed(tile: Array, v: Array) -> Array:
    """``tile' v``, few rows at a time: sums of sums round less."""
    pieces = row_slices(tile.shape[0], _SUMMED_ROWS)
    return tree_reduce((tile[rows].T @ v[rows] for rows in pieces), np.add)


def combine_triangles(first: Array, second: Array) -> Array:
    """Triangular factor of two blocks of rows from the factors of each."""
    return triangular(np.vstack([first, second]))


def _bordered(tile: Array, root: Array, target: Array) -> Array:
    m = tile.shape[1]
    scaled = np.empty((tile.shape[0], m + 2))
    np.multiply(tile, root[:, None], out=scaled[:, :m])
    scaled[:, m] = root
    scaled[:, m + 1] = target
    return scaled.T @ scaled


class DenseTiles(TiledMatrix):
    """A matrix in memory, passed over in tiles.

    Parameters
    ----------
    A : ndarray of shape (n, m)
        The matrix; not copied.
    """

    def __init__(self, A: Array) -> None:
        self.A = A
        self.shape = (A.shape[0], A.shape[1])

    @property
    def array(self) -> Array:
        """The matrix."""
        return self.A

    def tiles(self) -> Iterator[tuple[slice, Array]]:
        """Yield (rows, tile) in order of the rows."""
        tile_rows = max(256, _TILE_BYTES // (8 * max(1, self.shape[1])))
        for rows in row_slices(self.shape[0], tile_rows):
            yield rows, self.A[rows]

    def rows(self, indices: np.ndarray) -> Array:
        """Return the rows at `indices`."""
        return self.A[indices]

    def part(self, indices: np.ndarray) -> DenseTiles:
        """Return the rows at `indices` in memory."""
        return DenseTiles(self.A[indices])

    def mapped(self, projection: Array) -> DenseTiles:
        """Return ``A @ projection`` in memory."""
        return DenseTiles(self.A @ projection)
