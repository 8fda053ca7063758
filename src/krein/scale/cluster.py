"""Landmark blocks on the workers of dask.distributed.

Workers find the items in the store, not in messages, write each tile themselves and
answer with an m x m matrix at most. Short tiles are asked for several at a time. A
worker that dies costs the tiles it was working on; a driver that dies costs nothing but
the start. Sums run along the same tree as on one machine.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.items import take
from krein.matrices.matrix import Similarities, evaluate
from krein.matrices.tiles import combine_triangles, triangular
from krein.scale.client import gathered, workers
from krein.scale.stream import StoredTiles, open_columns, tall
from krein.store.blocks import BlockStore
from krein.store.files import replace_file
from krein.store.fingerprint import checksum
from krein.store.records import RecordStore, read_record

__all__ = ["ClusterTiles", "cluster_columns"]

_TASK_SECONDS = 1.0  # of short tiles in one task: a task costs dask 10 ms


# ---------------------------------------------------------------------- items


def write_items(folder: Path, name: str, items: Any, key: str) -> None:
    """Keep items for workers: .npy for arrays, JSON for strings, else pickle.

    The store is a working folder that only its owner writes to; nothing in it is read
    as a pickle but what was written as one here.
    """
    store = RecordStore(folder)
    facts = store.read(name, key)
    if facts is not None and _sound(folder, facts) is not None:
        return
    suffix, content = _packed(items)
    replace_file(folder / f"{name}.{suffix}", content)
    facts = {"file": f"{name}.{suffix}", "content": checksum(content)}
    store.write(name, key, facts)


def _packed(items: Any) -> tuple[str, bytes]:
    if isinstance(items, np.ndarray) and items.dtype.kind in "biufc":
        buffer = io.BytesIO()
        np.save(buffer, items, allow_pickle=False)
        return "npy", buffer.getvalue()
    if isinstance(items, list) and all(isinstance(item, str) for item in items):
        return "strings", json.dumps(items).encode()
    return "pickle", pickle.dumps(items)


def _sound(folder: Path, facts: dict[str, Any]) -> bytes | None:
    """Content of a file of items, None if it is not what was written."""
    try:
        content = (folder / facts["file"]).read_bytes()
    except OSError:
        return None
    return content if checksum(content) == facts["content"] else None


def read_items(folder: Path, name: str, key: str) -> Any:
    """Items that `write_items` has kept."""
    facts = read_record(folder / f"{name}.json", key)
    content = None if facts is None else _sound(folder, facts)
    if facts is None or content is None:
        raise RuntimeError(
            f"the items {folder / name} were damaged while a run was at work; run the "
            "same call again, they are written anew"
        )
    if facts["file"].endswith(".npy"):
        return np.load(io.BytesIO(content), allow_pickle=False)
    if facts["file"].endswith(".strings"):
        return json.loads(content)
    return pickle.loads(content)


# ---------------------------------------------------------------------- tiles


@dataclass(frozen=True)
class Work:
    """What a worker must know to compute tiles: where items lie, and the kernel."""

    folder: str
    shape: tuple[int, int]
    tile_rows: int
    kernel: Callable[[Any, Any], Any]
    key: str
    run: str  # a name of this run of the driver alone

    @property
    def items(self) -> Path:
        """Folder of the items."""
        return Path(self.folder) / "items"

    def opened(self) -> tuple[BlockStore, Any]:
        """Store of the block and landmarks, opened once a run; on a worker."""
        return _opened(self.folder, self.shape, self.tile_rows, self.key, self.run)


@lru_cache(maxsize=2)
def _opened(
    folder: str, shape: tuple[int, int], tile_rows: int, key: str, run: str
) -> tuple[BlockStore, Any]:
    """Open a store; by `run` too, since a store knows what it has read and checked."""
    tiling = tall(*shape, tile_rows)
    place = Path(folder)
    store = BlockStore(place / "block", tiling, key, backend="zarr", prepare=False)
    return store, read_items(place / "items", "landmarks", key)


def compute_tiles(work: Work, tiles: Sequence[int]) -> float:
    """Compute tiles and write each, unless that has been done; on a worker.

    Returns the seconds it took.
    """
    store, right = work.opened()
    start = time.perf_counter()
    for tile in tiles:
        if not store.has(tile):
            left = read_items(work.items, f"{tile:08d}", work.key)
            store.write(tile, evaluate(work.kernel, left, right))
    return time.perf_counter() - start


def tile_triangle(work: Work, tile: int, scale: Array | None) -> Array:
    """Triangular factor of a tile; on a worker."""
    numbers = work.opened()[0].read(tile)
    return triangular(numbers if scale is None else numbers * scale[:, None])


def task_sizes(n_tiles: int, seconds: float, threads: int) -> Iterator[int]:
    """How many tiles a task takes: as many as fill its time, fewer towards the end.

    Parameters
    ----------
    n_tiles : int
        Tiles in all.
    seconds : float
        What a tile takes.
    threads : int
        Tasks that run side by side; they shall end at about the same time.
    """
    most = _TASK_SECONDS / max(seconds, 1e-9)
    while n_tiles > 0:
        size = max(1, int(min(most, n_tiles // (2 * threads))))
        yield size
        n_tiles -= size


class ClusterTiles(StoredTiles):
    """A landmark block whose tiles and triangular factor workers compute.

    Parameters
    ----------
    columns : StoredTiles
        The block.
    client : dask.distributed.Client
        Where to compute.
    work : Work
        What workers need.
    """

    def __init__(self, columns: StoredTiles, client: Any, work: Work) -> None:
        super().__init__(columns.store, columns.compute)
        self.client = client
        self.work = work

    def fill(self) -> None:
        """Compute all tiles that are missing, on the workers.

        One a thread at first. The others are shared out when it is known what a tile
        takes.
        """
        left = self.missing()
        threads = max(1, sum(self.client.nthreads().values()))
        futures = dict(self._asked([tile]) for tile in left[:threads])
        del left[:threads]
        for _, seconds in gathered(self.client, futures):
            for size in task_sizes(len(left), seconds, threads):
                futures.update([self._asked(left[:size])])
                del left[:size]

    def _asked(self, tiles: list[int]) -> tuple[Any, _Tiles]:
        future = self.client.submit(compute_tiles, self.work, tiles, pure=False)
        return future, _Tiles(self, tiles)

    def triangle(self, scale: Array | None = None) -> Array:
        """Triangular factor, reduced on the workers along the fixed tree."""
        for tile in range(len(self.slices)):
            self.tile(tile)  # a damaged tile is computed again before workers read it
        level = [
            self.client.submit(
                tile_triangle,
                self.work,
                tile,
                None if scale is None else scale[rows],
                pure=False,
            )
            for tile, rows in enumerate(self.slices)
        ]
        while len(level) > 1:
            pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
            level = [
                self.client.submit(combine_triangles, *pair, pure=False)
                if len(pair) == 2
                else pair[0]
                for pair in pairs
            ]
        root = level[0]
        return next(gathered(self.client, {root: "the triangular factor"}))[1]


@dataclass(frozen=True)
class _Tiles:
    """Name of the work of a task."""

    columns: StoredTiles
    tiles: list[int]

    def __str__(self) -> str:
        """Name the tile that is at work: those before it have been written."""
        done = self.columns.store.has
        tile = next((i for i in self.tiles if not done(i)), self.tiles[-1])
        rows = self.columns.slices[tile]
        return f"tile {tile} (rows {rows.start} to {rows.stop - 1})"


def cluster_columns(
    folder: str | os.PathLike[str], memory: int, client: Any
) -> Callable[[Similarities, np.ndarray], StoredTiles]:
    """How landmark blocks are made by workers.

    Parameters
    ----------
    folder : path-like
        Folder of the store, which all workers must see.
    memory : int
        Bytes that the driver and each worker may use.
    client : dask.distributed.Client
        Where to compute.

    Returns
    -------
    callable
        ``columns_of(source, landmarks) -> StoredTiles`` for `KreinNystroem`.
    """

    def columns_of(source: Similarities, landmarks: np.ndarray) -> StoredTiles:
        folder_path = Path(folder).absolute()
        workers(client)
        columns = open_columns(folder_path, source, landmarks, memory, "zarr")
        if source.kernel is None:  # a matrix lies here: copying is all the work
            columns.fill()
            return columns
        rows, key = columns.store.tiling.size, columns.store.key
        run = secrets.token_hex(8)
        work = Work(str(folder_path), columns.shape, rows, source.kernel, key, run)
        right = take(source.items, landmarks)
        write_items(work.items, "landmarks", right, key)
        for tile in columns.missing():
            left = take(source.items, columns.slices[tile])
            write_items(work.items, f"{tile:08d}", left, key)
        tiles = ClusterTiles(columns, client, work)
        tiles.fill()
        return tiles

    return columns_of
