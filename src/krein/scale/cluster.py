"""Landmark blocks and predictions on the workers of dask.distributed.

Workers find the items in the store, not in messages, write each tile themselves and
answer with an m x m matrix at most. A worker that dies costs the tiles it was working
on; a driver that dies costs nothing but the start. Sums run along the same tree as on
one machine.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.items import take
from krein.matrices.similarities import Similarities, evaluate
from krein.matrices.tiles import combine_triangles, triangular
from krein.optional import import_optional
from krein.scale.stream import StoredTiles, open_columns, tall
from krein.store.blocks import BlockStore
from krein.store.files import replace_file
from krein.store.fingerprint import checksum
from krein.store.records import RecordStore

__all__ = ["ClusterTiles", "as_client", "cluster_columns", "map_in_order"]

_IN_FLIGHT = 4  # tasks a worker has waiting, at most
_FIRST_LOOK, _LAST_LOOK = 0.001, 0.05  # seconds between looks for tasks that ended
_ASK_EVERY = 1.0  # seconds; asking the scheduler for its workers costs milliseconds
NO_WORKER_SECONDS = 120.0  # longer than dask takes to replace a worker


# --------------------------------------------------------------------- client


@contextlib.contextmanager
def as_client(client: Any) -> Iterator[Any]:
    """Yield a running client; for ``"local"`` one of an own cluster, closed later."""
    distributed = import_optional(
        "distributed", extra="dask", needed_for="training on several workers"
    )
    if isinstance(client, str):
        if client != "local":
            raise ValueError(
                f"client must be a dask.distributed.Client or 'local', got {client!r}"
            )
        with (
            distributed.LocalCluster(
                threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            distributed.Client(cluster) as own,
        ):
            yield own
        return
    if not isinstance(client, distributed.Client):
        raise TypeError(
            "client must be a dask.distributed.Client or 'local', got "
            f"{type(client).__name__}"
        )
    if client.status != "running":
        raise ValueError(
            f"client is {client.status}, not running: connect a new "
            "dask.distributed.Client; complete tiles in the store are used again"
        )
    yield client


def gathered(client: Any, futures: dict[Any, str]) -> Iterator[tuple[Any, Any]]:
    """Yield (future, result) as they come; failures name the work they belong to."""
    distributed = import_optional("distributed", extra="dask", needed_for="a cluster")
    try:
        for future in _completed(client, futures):
            try:
                yield future, future.result()
            except distributed.KilledWorker as error:
                raise RuntimeError(
                    f"{futures[future]} ended {error.allowed_failures + 1} workers in "
                    "a row: it probably needs more memory than a worker has, or the "
                    "kernel crashes on these items. Complete tiles stay in the store"
                ) from error
            except ImportError as error:
                raise ImportError(
                    f"a worker that computed {futures[future]} lacks a package: "
                    f"{error}. Install it on all workers"
                ) from error
            except distributed.client.FutureCancelledError as error:
                raise RuntimeError(
                    f"{futures[future]} was cancelled: the client was closed or lost "
                    "its scheduler. Complete tiles stay in the store; run the same "
                    "call again"
                ) from error
    finally:
        with contextlib.suppress(Exception):
            client.cancel(list(futures))


def _completed(client: Any, futures: dict[Any, str]) -> Iterator[Any]:
    """Futures as they end; an error when no worker is left that could end them.

    A worker that cannot be started again, e.g. for want of memory, is given up by
    dask without a word, and its futures would be waited for without end.
    """
    distributed = import_optional("distributed", extra="dask", needed_for="a cluster")
    coming = distributed.as_completed(list(futures))
    last_seen = last_asked = time.monotonic()
    pause = _FIRST_LOOK  # short tasks are met soon, long ones are not asked for often
    while not coming.is_empty():
        if coming.has_ready():
            yield next(coming)
            last_seen = last_asked = time.monotonic()
            pause = _FIRST_LOOK
            continue
        time.sleep(pause)
        pause = min(2.0 * pause, _LAST_LOOK)
        if time.monotonic() - last_asked < min(_ASK_EVERY, 0.5 * NO_WORKER_SECONDS):
            continue
        last_asked = time.monotonic()
        if client.status != "running" or client.scheduler_info(n_workers=1)["workers"]:
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > NO_WORKER_SECONDS:
            open_work = [name for future, name in futures.items() if not future.done()]
            raise RuntimeError(
                f"the cluster has had no workers for {NO_WORKER_SECONDS:g} seconds; "
                f"{open_work[0]} and {len(open_work) - 1} more were not done. "
                "Complete tiles stay in the store; start workers and run the same "
                "call again"
            )


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
    facts = RecordStore(folder).read(name, key)
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

    def store(self) -> BlockStore:
        """Open the store of the block, on a worker."""
        return BlockStore(
            Path(self.folder) / "block",
            tall(*self.shape, self.tile_rows),
            self.key,
            backend="zarr",
            prepare=False,
        )

    @property
    def items(self) -> Path:
        """Folder of the items."""
        return Path(self.folder) / "items"


def compute_tile(work: Work, tile: int) -> int:
    """Compute a tile and write it, unless that has been done; on a worker."""
    store = work.store()
    if not store.has(tile):
        left = read_items(work.items, f"{tile:08d}", work.key)
        right = read_items(work.items, "landmarks", work.key)
        store.write(tile, evaluate(work.kernel, left, right))
    return tile


def tile_triangle(work: Work, tile: int, scale: Array | None) -> Array:
    """Triangular factor of a tile; on a worker."""
    numbers = work.store().read(tile)
    return triangular(numbers if scale is None else numbers * scale[:, None])


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
        """Compute all tiles that are missing, on the workers."""
        futures = {
            self.client.submit(compute_tile, self.work, tile, pure=False): self._name(
                tile
            )
            for tile in self.missing()
        }
        for _ in gathered(self.client, futures):
            pass

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

    def _name(self, tile: int) -> str:
        rows = self.slices[tile]
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
        work = Work(str(folder_path), columns.shape, rows, source.kernel, key)
        right = take(source.items, landmarks)
        write_items(work.items, "landmarks", right, key)
        for tile in columns.missing():
            left = take(source.items, columns.slices[tile])
            write_items(work.items, f"{tile:08d}", left, key)
        tiles = ClusterTiles(columns, client, work)
        tiles.fill()
        return tiles

    return columns_of


def workers(client: Any) -> list[str]:
    """Addresses of the workers; there must be some."""
    found = list(client.scheduler_info(n_workers=-1)["workers"])
    if not found:
        raise ValueError("client has no workers; start some before training")
    return found


def map_in_order(
    client: Any, function: Callable[..., Any], arguments: Iterator[tuple[Any, ...]]
) -> Iterator[Any]:
    """Yield ``function(*arguments)`` in order, few tasks ahead of the reader."""
    ahead = _IN_FLIGHT * len(workers(client))
    waiting: list[Any] = []
    for number, given in enumerate(arguments):
        waiting.append((number, client.submit(function, *given, pure=False)))
        if len(waiting) >= ahead:
            yield _first(client, waiting)
    while waiting:
        yield _first(client, waiting)


def _first(client: Any, waiting: list[Any]) -> Any:
    number, future = waiting.pop(0)
    return next(gathered(client, {future: f"part {number} of the items"}))[1]
