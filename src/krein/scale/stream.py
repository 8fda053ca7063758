"""Tall matrices whose tiles lie in a store, and the work that fills it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import krein
from krein.arrays import Array
from krein.items import take
from krein.matrices.matrix import Similarities, evaluate
from krein.matrices.tiles import TiledMatrix, row_slices
from krein.store.blocks import BlockStore, DamagedBlockError, Tiling
from krein.store.fingerprint import fingerprint
from krein.store.numbers import Backend

__all__ = ["StoredTiles", "rows_that_fit", "stored_columns", "work_key"]

# Doubles held at a time: per row of a tile the tile itself, its mapped or scaled copy
# and what a kernel needs; per item the vectors of the interior-point method; per pair
# of landmarks a handful of square matrices.
_PER_TILE_ENTRY = 5
_PER_ITEM = 30
_PER_LANDMARK_PAIR = 12
# Enough tiles for many workers and for a cheap restart. Their size must not depend on
# the workers there are: a run may be taken up by others.
_TILES = 64
_KEY_ROWS = 8192  # items looked at at a time when the key is made


def rows_that_fit(n: int, m: int, memory: int) -> int:
    """Rows of a tile such that training stays within `memory` bytes.

    Parameters
    ----------
    n, m : int
        Items and landmarks.
    memory : int
        Bytes that training may use beside what the caller holds.

    Returns
    -------
    int
    """
    fixed = 8 * (_PER_ITEM * n + _PER_LANDMARK_PAIR * m * m)
    rows = (memory - fixed) // (8 * _PER_TILE_ENTRY * m)
    fewest = min(n, max(m, 256))
    if rows < fewest:
        least = fixed + 8 * _PER_TILE_ENTRY * m * fewest
        raise ValueError(
            f"memory={memory / 1e6:.0f} MB is too little for {n} items and {m} "
            f"landmarks: at least {least / 1e6:.0f} MB are needed"
        )
    return int(min(rows, max(32, -(-n // _TILES))))


def work_key(source: Similarities, landmarks: np.ndarray) -> str:
    """What a landmark block is computed from: kernel, landmarks, items, version."""
    at_landmarks = landmarks if source.kernel is None else take(source.items, landmarks)
    items = [
        fingerprint(take(source.items, rows))
        for rows in row_slices(source.n, _KEY_ROWS)
    ]
    return fingerprint(krein.__version__, source.kernel, at_landmarks, items)


def tall(n: int, m: int, rows: int) -> Tiling:
    """An n x m matrix in tiles of rows."""
    return Tiling(n, m, rows, symmetric=False, width=m)


class StoredTiles(TiledMatrix):
    """A tall matrix in a store; tiles that are missing or damaged are computed.

    Parameters
    ----------
    store : BlockStore
        Where the tiles lie.
    compute : callable
        ``compute(tile) -> ndarray``, the numbers of a tile.
    """

    def __init__(self, store: BlockStore, compute: Callable[[int], Array]) -> None:
        self.store = store
        self.compute = compute
        self.shape = store.tiling.shape
        self.slices = [rows for rows, _ in store.blocks]

    def missing(self) -> list[int]:
        """Tiles that have yet to be computed."""
        return [i for i in range(len(self.slices)) if not self.store.has(i)]

    def fill(self) -> None:
        """Compute all tiles that are missing, one after the other."""
        for tile in self.missing():
            self.store.write(tile, self.compute(tile))

    def tile(self, tile: int) -> Array:
        """Numbers of one tile; computed if they are not there or damaged."""
        try:
            return self.store.read(tile)
        except DamagedBlockError:
            numbers = self.compute(tile)
        self.store.write(tile, numbers)
        return numbers

    def tiles(self) -> Iterator[tuple[slice, Array]]:
        """Yield (rows, tile) in order of the rows."""
        for tile, rows in enumerate(self.slices):
            yield rows, self.tile(tile)

    def rows(self, indices: np.ndarray) -> Array:
        """Return the rows at `indices`, reading each tile at most once."""
        indices = np.asarray(indices)
        out = np.empty((indices.size, self.shape[1]))
        home = indices // self.store.tiling.size
        for tile in np.unique(home):
            here = np.flatnonzero(home == tile)
            start = self.slices[tile].start
            out[here] = self.tile(int(tile))[indices[here] - start]
        return out

    def mapped(self, projection: Array) -> StoredTiles:
        """Return ``A @ projection`` in a store beside this one, for this process."""
        shape, key = (self.shape[0], projection.shape[1]), fingerprint(projection)
        return self._beside(
            "features", shape, key, lambda i, _: self.tile(i) @ projection
        )

    def part(self, indices: np.ndarray) -> StoredTiles:
        """Return the rows at `indices` in a store beside this one; one at a time."""
        shape, key = (indices.size, self.shape[1]), fingerprint(indices)
        return self._beside("part", shape, key, lambda _, r: self.rows(indices[r]))

    def _beside(
        self,
        name: str,
        shape: tuple[int, int],
        key: str,
        compute: Callable[[int, slice], Array],
    ) -> StoredTiles:
        store = BlockStore(
            self.store.path.with_name(f"{self.store.path.name}-{name}"),
            tall(*shape, self.store.tiling.size),
            fingerprint(self.store.key, key),
            replace=True,  # another model on the same block has other ones
        )
        found = StoredTiles(store, lambda i: compute(i, store.blocks[i][0]))
        found.fill()
        return found


def stored_columns(
    folder: str | os.PathLike[str], memory: int, backend: Backend = "npy"
) -> Callable[[Similarities, np.ndarray], StoredTiles]:
    """How landmark blocks are made in a store, tile by tile in this process.

    Parameters
    ----------
    folder : path-like
        Folder of the store.
    memory : int
        Bytes that training may use.
    backend : {"npy", "zarr"}
        See `krein.store.blocks.BlockStore`.

    Returns
    -------
    callable
        ``columns_of(source, landmarks) -> StoredTiles`` for `KreinNystroem`.
    """

    def columns_of(source: Similarities, landmarks: np.ndarray) -> StoredTiles:
        columns = open_columns(folder, source, landmarks, memory, backend)
        columns.fill()
        return columns

    return columns_of


def open_columns(
    folder: str | os.PathLike[str],
    source: Similarities,
    landmarks: np.ndarray,
    memory: int,
    backend: Backend,
) -> StoredTiles:
    """Landmark block in a store, nothing computed yet."""
    n, m = source.n, landmarks.size
    rows = rows_that_fit(n, m, memory)
    key = work_key(source, landmarks)
    store = BlockStore(Path(folder) / "block", tall(n, m, rows), key, backend=backend)
    right: Any = None if source.kernel is None else take(source.items, landmarks)

    def compute(tile: int) -> Array:
        rows = store.blocks[tile][0]
        if source.kernel is None:
            return source.block(rows, landmarks)
        return evaluate(source.kernel, take(source.items, rows), right)

    return StoredTiles(store, compute)
