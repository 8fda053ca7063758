"""Where the blocks of a kernel matrix go: an array, or a file that survives a kill."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from krein.store.blocks import Block, BlockStore, Tiling, described
from krein.store.files import check_writable
from krein.store.lock import locked

__all__ = ["ArrayStore", "FileStore"]


class ArrayStore:
    """Blocks go into an array in memory."""

    def __init__(self, tiling: Tiling) -> None:
        self.tiling = tiling
        self._K = np.empty(tiling.shape)

    def __enter__(self) -> ArrayStore:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def missing(self) -> list[Block]:
        """Blocks still to be evaluated: all."""
        return list(self.tiling)

    def write(self, block: Block, numbers: np.ndarray) -> None:
        """Take a block."""
        self.tiling.place(self._K, block, numbers)

    def complete(self) -> np.ndarray:
        """Return the matrix."""
        return self._K


class FileStore:
    """Blocks go into a store, ``<path>.partial``, whose numbers become `path`.

    A run killed at any moment loses the blocks in work and nothing else; blocks that
    were damaged since are recognised and evaluated again.

    Parameters
    ----------
    path : path-like
        The .npy file to make; must not exist.
    tiling : Tiling
        Blocks of a new run; a run that is continued keeps its own block size.
    key : str
        Says what is being computed; a partial matrix with another key is refused.
    """

    def __init__(self, path: str | os.PathLike, tiling: Tiling, key: str) -> None:
        self.path = check_writable(path)
        if self.path.suffix != ".npy":
            raise ValueError(f"out must be a .npy file, got {self.path.name!r}")
        self.tiling = tiling
        self.key = key
        self.partial = self.path.with_name(self.path.name + ".partial")
        self._held = ExitStack()

    def __enter__(self) -> FileStore:
        if self.partial.is_file():
            raise ValueError(
                f"{self.partial} is a file of another version of krein; remove it to "
                "start anew"
            )
        self._held.enter_context(locked(self.partial))
        try:
            self._open()
        except BaseException:
            self._held.close()
            raise
        return self

    def _open(self) -> None:
        begun = described(self.partial)
        if begun is not None and begun["key"] == self.key:
            self.tiling = replace(self.tiling, size=begun["block"][0])
        self._store = BlockStore(self.partial, self.tiling, self.key)
        blocks = range(len(self._store.blocks))
        self._done = {block for block in blocks if self._store.is_sound(block)}
        self._number = {_corners(b): k for k, b in enumerate(self._store.blocks)}

    def __exit__(self, *error: object) -> None:
        if self.path.exists() or not self._done:
            shutil.rmtree(self.partial, ignore_errors=True)
        self._held.close()

    def missing(self) -> list[Block]:
        """Blocks that are not on disk yet."""
        return [b for k, b in enumerate(self._store.blocks) if k not in self._done]

    def write(self, block: Block, numbers: np.ndarray) -> None:
        """Write a block."""
        number = self._number[_corners(block)]
        self._store.write(number, numbers)
        self._done.add(number)

    def complete(self) -> np.ndarray:
        """Put the blocks together in one file and return it as a memory map."""
        self._store.assemble(self.path)
        return np.load(self.path, mmap_mode="r")


def _corners(block: Block) -> tuple[int, int, int, int]:
    """A block as a key (slices are hashable from Python 3.12 on)."""
    rows, columns = block
    return rows.start, rows.stop, columns.start, columns.stop
