"""Tall matrices whose tiles lie in a store, and the work that fills it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np

import krein
from krein.arrays import Array
from krein.items import take
from krein.matrices.similarities import Similarities, evaluate
from krein.matrices.tiles import TiledMatrix
from krein.scale.store import Backend, DamagedTileError, TileStore

__all__ = ["StoredTiles", "rows_that_fit", "stored_columns", "tile_keys"]

# Doubles held at a time: per row of a tile the tile itself, its mapped or scaled copy
# and what a kernel needs; per item the vectors of the interior-point method; per pair
# of landmarks a handful of square matrices.
_PER_TILE_ENTRY = 5
_PER_ITEM = 30
_PER_LANDMARK_PAIR = 12
# Enough tiles for many workers and for a cheap restart. Their size must not depend on
# the workers there are: a run may be taken up by others.
_TILES = 64


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


def tile_keys(
    source: Similarities, landmarks: np.ndarray, slices: list[slice]
) -> list[str]:
    """One key a tile: kernel, landmarks, rows with their items, version.

    A callable kernel counts by its name, not by its code.
    """
    try:
        kernel = joblib.hash(source.kernel)
    except Exception as error:
        raise ValueError(
            f"kernel={source.kernel!r} cannot be pickled, so its results cannot be "
            "recognised in a store; define it with a name at the top of a module"
        ) from error
    at_landmarks = landmarks if source.kernel is None else take(source.items, landmarks)
    common = f"{krein.__version__} {kernel} {joblib.hash(at_landmarks)}"
    keys = []
    for rows in slices:
        items = joblib.hash(take(source.items, rows))
        text = f"{common} {rows.start} {rows.stop} {items}"
        keys.append(hashlib.blake2b(text.encode(), digest_size=16).hexdigest())
    return keys


class StoredTiles(TiledMatrix):
    """A tall matrix in a store; tiles that are missing or damaged are computed.

    Parameters
    ----------
    store : TileStore
        Where the tiles lie.
    keys : list of str
        Key of each tile.
    compute : callable
        ``compute(tile) -> ndarray``, the numbers of a tile.
    """

    def __init__(
        self, store: TileStore, keys: list[str], compute: Callable[[int], Array]
    ) -> None:
        self.store = store
        self.keys = keys
        self.compute = compute
        self.shape = store.shape

    def missing(self) -> list[int]:
        """Tiles that have yet to be computed."""
        return [i for i, key in enumerate(self.keys) if not self.store.has(i, key)]

    def fill(self) -> None:
        """Compute all tiles that are missing, one after the other."""
        for tile in self.missing():
            self.store.write(tile, self.keys[tile], self.compute(tile))

    def tile(self, tile: int) -> Array:
        """Numbers of one tile; computed if they are not there or damaged."""
        if self.store.has(tile, self.keys[tile]):
            try:
                return self.store.read(tile)
            except DamagedTileError:
                pass  # recognised by its checksum: computed again below
        numbers = self.compute(tile)
        self.store.write(tile, self.keys[tile], numbers)
        return numbers

    def tiles(self) -> Iterator[tuple[slice, Array]]:
        """Yield (rows, tile) in order of the rows."""
        for tile, rows in enumerate(self.store.slices):
            yield rows, self.tile(tile)

    def rows(self, indices: np.ndarray) -> Array:
        """Return the rows at `indices`, reading each tile at most once."""
        indices = np.asarray(indices)
        out = np.empty((indices.size, self.shape[1]))
        home = indices // self.store.tile_rows
        for tile in np.unique(home):
            here = np.flatnonzero(home == tile)
            start = self.store.slices[tile].start
            out[here] = self.tile(int(tile))[indices[here] - start]
        return out

    def mapped(self, projection: Array) -> StoredTiles:
        """Return ``A @ projection`` in a store beside this one, for this process."""
        digest = joblib.hash(projection)
        store = TileStore(
            self.store.path.with_name(f"{self.store.path.name}-features"),
            (self.shape[0], projection.shape[1]),
            self.store.tile_rows,
        )
        keys = [f"{key}-{digest}" for key in self.keys]
        features = StoredTiles(store, keys, lambda i: self.tile(i) @ projection)
        features.fill()
        return features


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
        See `TileStore`.

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
    store = TileStore(Path(folder) / "block", (n, m), rows, backend)
    keys = tile_keys(source, landmarks, store.slices)
    right: Any = None if source.kernel is None else take(source.items, landmarks)

    def compute(tile: int) -> Array:
        rows = store.slices[tile]
        if source.kernel is None:
            return source.block(rows, landmarks)
        return evaluate(source.kernel, take(source.items, rows), right)

    return StoredTiles(store, keys, compute)
