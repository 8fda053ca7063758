"""Tall matrices whose tiles lie in a store, and the work that fills it.

Tiles are computed in this process or on the workers of dask.distributed. A worker gets
the items of a tile with its task, or computes them from the blocks of a dask array,
writes the tile itself and answers with nothing. One that dies costs the tiles it was
working on. Sums run along the same tree whoever computes.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

import krein
from krein.arrays import Array
from krein.items import LazyRows, take
from krein.memory import size_in_words
from krein.scale.client import gathered, map_in_order
from krein.similarity.matrix import Similarities, evaluate
from krein.similarity.tiles import TiledMatrix, row_slices
from krein.store.blocks import BlockStore, Tiling
from krein.store.files import require_disk
from krein.store.fingerprint import fingerprint
from krein.threads import in_job

# Doubles held at a time: per row of a tile the tile itself, its mapped or scaled copy
# and what a kernel needs; per item the vectors of the interior-point method; per pair
# of landmarks a handful of square matrices.
_PER_TILE_ENTRY = 5
_PER_ITEM = 30
_PER_LANDMARK_PAIR = 12
# Bytes for each item and row of the model, where no variable lies on a bound.
_PER_VARIABLE = 8.25
# Of the features a machine passes over a share most often: that near the margin.
_NEAR = 0.2
# On disk: the block, the features made of it, and the items near the margin.
_ON_DISK = 2.0 + _NEAR
# Enough tiles for many workers and for a cheap restart. Their size must not depend on
# the workers there are: a run may be taken up by others.
_TILES = 64
_KEY_ROWS = 8192  # items looked at at a time when the key is made


def rows_that_fit(n: int, m: int, memory: int, n_rows: int = 1) -> int:
    """Rows of a tile such that training stays within `memory` bytes.

    Parameters
    ----------
    n, m : int
        Items and landmarks.
    memory : int
        Bytes that training may use beside what the caller holds.
    n_rows : int
        Rows of the model: one, or the number of classes.

    Returns
    -------
    int
    """
    fixed = _fixed_bytes(n, m, n_rows)
    rows = (memory - fixed) // (8 * _PER_TILE_ENTRY * m)
    fewest = min(n, max(m, 256))
    if rows < fewest:
        least = fixed + 8 * _PER_TILE_ENTRY * m * fewest
        classes = f", {m} landmarks and {n_rows} classes" if n_rows > 1 else ""
        raise ValueError(
            f"memory={size_in_words(memory)} is too little for {n} items"
            f"{classes or f' and {m} landmarks'}: at least "
            f"{size_in_words(1.01 * least)} are needed"
        )
    return int(min(rows, max(32, -(-n // _TILES))))


def _fixed_bytes(n: int, m: int, n_rows: int) -> int:
    """What training holds whatever the size of a tile is."""
    vectors = 8 * (_PER_ITEM * n + _PER_LANDMARK_PAIR * m * m)
    return vectors + round(_PER_VARIABLE * n_rows * n)


class Spare:
    """Memory that is left for tiles, which then need not be read from disk.

    Parameters
    ----------
    n_bytes : int
        How much there is.
    reserved : int
        How much of it is for tiles that are read most often.
    """

    def __init__(self, n_bytes: int, reserved: int) -> None:
        self.left = n_bytes
        self.reserved = reserved

    def take(self, n_bytes: int, *, often: bool) -> bool:
        """Take memory for a tile, if there is enough."""
        fits = self.left - n_bytes >= (0 if often else self.reserved)
        self.left -= n_bytes if fits else 0
        return fits

    def give_back(self, tiles: dict[int, Array]) -> None:
        """Take back what tiles used."""
        self.left += sum(tile.nbytes for tile in tiles.values())


def work_key(source: Similarities, landmarks: Any) -> str:
    """What a landmark block is computed from: kernel, landmarks, items, version."""
    if isinstance(source.items, LazyRows):
        items = source.items.each(fingerprint, _KEY_ROWS)
    else:
        parts = row_slices(source.n, _KEY_ROWS)
        items = [fingerprint(take(source.items, rows)) for rows in parts]
    return fingerprint(krein.__version__, source.kernel, landmarks, items)


class StoredTiles(TiledMatrix):
    """A tall matrix in a store; tiles that are missing or damaged are computed.

    Parameters
    ----------
    store : BlockStore
        Where the tiles lie.
    compute : callable
        ``compute(tile) -> ndarray``, the numbers of a tile.
    spare : Spare
        Memory for tiles that are made of others: what fits is never written.
    kept : {"never", "where it fits", "first"}
        Which tiles stay in memory.
    """

    def __init__(
        self,
        store: BlockStore,
        compute: Callable[[int], Array],
        spare: Spare,
        kept: Literal["never", "where it fits", "first"] = "never",
    ) -> None:
        self.store = store
        self.compute = compute
        self.spare = spare
        self.kept = kept
        self.shape = store.tiling.shape
        self._tiles: dict[int, Array] = {}
        weakref.finalize(self, spare.give_back, self._tiles)

    def tile(self, tile: int) -> Array:
        """Numbers of one tile; computed if they are not there or damaged."""
        numbers = self._tiles.get(tile)
        if numbers is not None:
            return numbers
        numbers = self.store.read(tile)
        computed = numbers is None
        if numbers is None:
            numbers = self.compute(tile)
        if self._stays(numbers):
            self._tiles[tile] = numbers
        elif computed:
            self.store.write(tile, numbers)
        return numbers

    def _stays(self, numbers: Array) -> bool:
        """Whether a tile is kept in memory."""
        if self.kept == "never":
            return False
        return self.spare.take(numbers.nbytes, often=self.kept == "first")

    def tiles(self) -> Iterator[tuple[slice, Array]]:
        """Yield (rows, tile) in order of the rows."""
        for tile, (rows, _) in enumerate(self.store.blocks):
            yield rows, self.tile(tile)

    def rows(self, indices: np.ndarray) -> Array:
        """Return the rows at `indices`, reading each tile at most once."""
        home, place = np.divmod(indices, self.store.tiling.size)
        out = np.empty((home.size, self.shape[1]))
        for tile in np.unique(home):
            here = home == tile
            out[here] = self.tile(int(tile))[place[here]]
        return out

    def mapped(self, projection: Array) -> StoredTiles:
        """Return ``A @ projection``, in memory or a store beside this one."""
        store = self._beside("features", self.shape[0], projection.shape[1], projection)
        return StoredTiles(
            store, lambda i: self.tile(i) @ projection, self.spare, "where it fits"
        )

    def part(self, indices: np.ndarray) -> StoredTiles:
        """Return rows, in memory or a store beside this one; one part at a time."""
        store = self._beside("part", indices.size, self.shape[1], indices)
        return StoredTiles(
            store, lambda i: self.rows(indices[store.blocks[i][0]]), self.spare, "first"
        )

    def _beside(self, name: str, n: int, m: int, made_by: np.ndarray) -> BlockStore:
        """Store of an n x m matrix that an array makes of this one."""
        path = self.store.path.with_name(f"{self.store.path.name}-{name}")
        tiling = Tiling(n, m, self.store.tiling.size, symmetric=False, width=m)
        # Another model on the same block makes other ones.
        key = fingerprint(self.store.key, made_by)
        return BlockStore(path, tiling, key, take_over=True)


# --------------------------------------------------------------------- landmark blocks


@dataclass(frozen=True)
class Work:
    """What is needed to compute tiles, beside their items; sent to workers.

    Without a kernel items are rows of a matrix, and landmarks the columns to take.
    """

    store: BlockStore
    kernel: Callable[[Any, Any], Any] | None
    landmarks: Any

    def numbers(self, items: Any) -> Array:
        """Similarities of items to the landmarks."""
        if self.kernel is None:
            return np.asarray(items[:, self.landmarks], dtype=np.float64)
        return evaluate(self.kernel, items, self.landmarks)


def compute_tile(work: Work, given: tuple[int, Any]) -> None:
    """Compute a tile from its number and its items, and write it."""
    tile, items = given
    work.store.write(tile, work.numbers(items))


def stored_columns(
    folder: str | os.PathLike[str],
    memory: int,
    client: Any = None,
    key: str = "",
    n_rows: int = 1,
) -> Callable[[Similarities, np.ndarray], StoredTiles]:
    """How landmark blocks are made in a store, by workers where there is a client.

    Parameters
    ----------
    folder : path-like
        Folder of the store, which all workers must see.
    memory : int
        Bytes that the driver and each worker may use.
    client : dask.distributed.Client, optional
        Where to compute.
    key : str
        What the block is computed from, where nobody will take it up again; made from
        the contents of everything by default.
    n_rows : int
        Rows of the model that will be trained: one, or the number of classes.

    Returns
    -------
    callable
        ``columns_of(source, landmarks) -> StoredTiles`` for `KreinNystroem`.
    """

    def columns_of(source: Similarities, landmarks: np.ndarray) -> StoredTiles:
        n = source.n
        m = landmarks.size
        size = rows_that_fit(n, m, memory, n_rows)
        tiling = Tiling(n, m, size, symmetric=False, width=m)
        place = Path(folder).absolute() / "block"
        left = memory - _fixed_bytes(n, m, n_rows) - 8 * _PER_TILE_ENTRY * m * size
        spare = Spare(left, round(8 * _NEAR * n * m))
        _require_disk(place.parent, n, m, left)
        by_position = source.kernel is None
        right = landmarks if by_position else take(source.items, landmarks)
        store = BlockStore(place, tiling, key or work_key(source, right))
        work = Work(store, source.kernel, right)
        # Copying is all the work on a matrix that lies here.
        _fill(work, source.items, None if by_position else client)
        rows = [rows for rows, _ in store.blocks]
        return StoredTiles(
            store, lambda i: work.numbers(take(source.items, rows[i])), spare
        )

    return columns_of


def _require_disk(folder: Path, n: int, m: int, in_memory: int) -> None:
    """Refuse a folder on a disk that would be full before the work is done."""
    there = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    needed = 8 * n * m + max(0.0, 8 * (_ON_DISK - 1.0) * n * m - in_memory)
    what = f"training on {n} items and {m} landmarks"
    require_disk(folder, needed - there, what)


def _fill(work: Work, items: Any, client: Any) -> None:
    """Compute all tiles that are missing, each from its own items."""
    missing = work.store.missing()
    rows = [rows for rows, _ in work.store.blocks]
    names = [f"tile {i} (rows {rows[i].start} to {rows[i].stop - 1})" for i in missing]
    if not isinstance(items, LazyRows):
        given = ((i, take(items, rows[i])) for i in missing)
        done = map_in_order(client, compute_tile, work, zip(names, given, strict=True))
        list(done)
        return
    import dask

    # One graph, so that a block of the array that several tiles need is computed once.
    parts = items.parts(work.store.tiling.size)
    sent = dask.delayed(work)
    compute = dask.delayed(in_job, pure=False)
    tasks = [compute(1, compute_tile, sent, (i, parts[i])) for i in missing]
    if client is None:
        dask.compute(*tasks)
    else:
        list(gathered(client, dict(zip(client.compute(tasks), names, strict=True))))
