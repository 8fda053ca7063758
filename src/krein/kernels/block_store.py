"""Where the blocks of a kernel matrix go: an array, or a file that survives a kill."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import joblib
import numpy as np

from krein.store.files import check_writable

__all__ = ["ArrayStore", "FileStore", "Tile", "Tiling", "fingerprint"]

Tile = tuple[slice, slice]


@dataclass(frozen=True)
class Tiling:
    """Cut a matrix of pairs into blocks; for a symmetric one, the upper half.

    Parameters
    ----------
    n_rows, n_columns : int
        Shape of the matrix.
    size : int
        Rows and columns of a block.
    symmetric : bool
        Leave out the blocks below the diagonal.
    """

    n_rows: int
    n_columns: int
    size: int
    symmetric: bool

    def __iter__(self) -> Iterator[Tile]:
        for i in range(0, self.n_rows, self.size):
            for j in range(i if self.symmetric else 0, self.n_columns, self.size):
                yield (
                    slice(i, min(i + self.size, self.n_rows)),
                    slice(j, min(j + self.size, self.n_columns)),
                )

    def pairs_of(self, tile: Tile) -> int:
        """Number of pairs that are evaluated in a block."""
        height, width = (s.stop - s.start for s in tile)
        if self.symmetric and tile[0] == tile[1]:
            return height * (height + 1) // 2
        return height * width

    @property
    def n_pairs(self) -> int:
        """Number of pairs that are evaluated in all."""
        if self.symmetric:
            return self.n_rows * (self.n_rows + 1) // 2
        return self.n_rows * self.n_columns

    def place(self, K: np.ndarray, tile: Tile, block: np.ndarray) -> None:
        """Put a block, and its mirror image, into the matrix."""
        rows, columns = tile
        K[rows, columns] = block
        if self.symmetric and rows != columns:
            K[columns, rows] = block.T


class ArrayStore:
    """Blocks go into an array in memory."""

    def __init__(self, tiling: Tiling) -> None:
        self.tiling = tiling
        self._K = np.empty((tiling.n_rows, tiling.n_columns))

    def __enter__(self) -> ArrayStore:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def missing(self) -> list[Tile]:
        """Blocks still to be evaluated: all."""
        return list(self.tiling)

    def write(self, tile: Tile, block: np.ndarray) -> None:
        """Take a block."""
        self.tiling.place(self._K, tile, block)

    def complete(self) -> np.ndarray:
        """Return the matrix."""
        return self._K


class FileStore:
    """Blocks go into ``<path>.partial``; ``<path>.partial.done`` lists those on disk.

    A block is forced to disk before its line is added to the list, and the list is a
    file that only grows, so a run killed at any moment loses the blocks in work and
    nothing else. The whole file is renamed to `path` at the end.

    Parameters
    ----------
    path : path-like
        The .npy file to make; must not exist.
    tiling : Tiling
        Blocks of a new run; a run that is continued keeps its own block size.
    key : str
        Says what is being computed; a partial file with another key is refused.
    """

    def __init__(self, path: str | os.PathLike, tiling: Tiling, key: str) -> None:
        self.path = check_writable(path)
        if self.path.suffix != ".npy":
            raise ValueError(f"out must be a .npy file, got {self.path.name!r}")
        self.tiling = tiling
        self.key = key
        self.partial = self.path.with_name(self.path.name + ".partial")
        self.list = self.path.with_name(self.path.name + ".partial.done")
        self._done: set[int] = set()

    def __enter__(self) -> FileStore:
        self._journal = open(self.list, "ab+")
        try:
            self._lock()
            if not self._continue():
                self._start()
        except BaseException:
            self._journal.close()
            raise
        self._number = {tile: k for k, tile in enumerate(self._tiles())}
        return self

    def __exit__(self, *error: object) -> None:
        self._journal.close()
        if self.path.exists() or not self._done:
            self.partial.unlink(missing_ok=True)
            self.list.unlink(missing_ok=True)

    def _tiles(self) -> list[tuple[int, int, int, int]]:
        return [_corners(tile) for tile in self.tiling]

    def _lock(self) -> None:
        """Refuse a second process; the system frees the lock of a dead one."""
        try:
            import fcntl
        except ImportError:  # no such locks on this system
            return
        try:
            fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RuntimeError(
                f"another process is writing {self.partial}; wait for it or choose "
                "another file"
            ) from None

    def _header(self, size: int) -> dict[str, Any]:
        shape = [self.tiling.n_rows, self.tiling.n_columns]
        return {"key": self.key, "shape": shape, "size": size}

    def _continue(self) -> bool:
        """Read what an earlier run has left; False where there is nothing."""
        self._journal.seek(0)
        lines = self._journal.read().split(b"\n")[:-1]  # a torn last line is dropped
        if not lines or not self.partial.exists():
            return False
        header = json.loads(lines[0])
        if header != self._header(header["size"]):
            raise ValueError(
                f"{self.partial} was begun with another kernel, other items or "
                "another version of krein; remove it and "
                f"{self.list.name} to start anew"
            )
        self.tiling = Tiling(
            self.tiling.n_rows,
            self.tiling.n_columns,
            header["size"],
            self.tiling.symmetric,
        )
        self._done = {int(line) for line in lines[1:]}
        return True

    def _start(self) -> None:
        shape = (self.tiling.n_rows, self.tiling.n_columns)
        needed = 8 * shape[0] * shape[1]
        free = shutil.disk_usage(self.partial.parent).free
        if needed > free:
            self.list.unlink()
            raise OSError(
                f"{self.path} needs {needed / 1e9:.3g} GB, {free / 1e9:.3g} GB are "
                "free on its disk"
            )
        np.lib.format.open_memmap(
            self.partial, mode="w+", dtype=np.float64, shape=shape
        ).flush()
        self._journal.truncate(0)
        self._append(json.dumps(self._header(self.tiling.size)))

    def _append(self, line: str) -> None:
        self._journal.write(line.encode() + b"\n")
        self._journal.flush()
        os.fsync(self._journal.fileno())

    def missing(self) -> list[Tile]:
        """Blocks that are not on disk yet."""
        return [tile for k, tile in enumerate(self.tiling) if k not in self._done]

    def write(self, tile: Tile, block: np.ndarray) -> None:
        """Force a block to disk, then note it; memory is released at once."""
        K = np.lib.format.open_memmap(self.partial, mode="r+")
        self.tiling.place(K, tile, block)
        K.flush()
        del K
        number = self._number[_corners(tile)]
        self._append(str(number))
        self._done.add(number)

    def complete(self) -> np.ndarray:
        """Rename the file and return it as a memory map."""
        check_writable(self.path)
        os.replace(self.partial, self.path)
        return np.load(self.path, mmap_mode="r")


def _corners(tile: Tile) -> tuple[int, int, int, int]:
    """A tile as a key (slices are hashable from Python 3.12 on)."""
    rows, columns = tile
    return rows.start, rows.stop, columns.start, columns.stop


def fingerprint(kernel: Any, X: Any, Y: Any) -> str:
    """Key of a computation: kernel, parameters, items and version.

    Callables enter by their qualified name: krein cannot see that their code changed.
    """
    import krein

    parts = [krein.__version__, np.__version__, _describe(kernel), X]
    return joblib.hash(parts if Y is X else [*parts, Y])


def _describe(value: Any) -> Any:
    if hasattr(value, "get_params"):
        settings = sorted(value.get_params().items())
        return [(name, _describe(setting)) for name, setting in settings]
    if isinstance(value, partial):
        bound = sorted(value.keywords.items())
        return [_describe(value.func), [(k, _describe(v)) for k, v in bound]]
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return value
