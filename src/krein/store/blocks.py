"""A matrix on disk in blocks, each written once and checked when read.

Layout of a store (a folder): ``store.json`` with the key of the work (what the matrix
is computed from), shape and block size, the numbers in ``block.npy`` (one machine) or
``block.zarr`` (workers), and one marker a block. A marker is written after its block
and holds the key and a checksum of the numbers. So a block without a marker, with
another key or with another checksum counts as missing: work may be repeated after any
interruption, and is never trusted when half done. See docs/decisions/0012.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.store.fingerprint import checksum
from krein.store.numbers import Backend, NpyNumbers, ZarrNumbers
from krein.store.records import RecordStore, read_record

__all__ = ["Block", "BlockStore", "DamagedBlockError", "Tiling"]

Block = tuple[slice, slice]
_FORMAT = 2


class DamagedBlockError(RuntimeError):
    """The numbers of a block are not those that were written."""


@dataclass(frozen=True)
class Tiling:
    """Cut a matrix into blocks; of a symmetric one, the upper half.

    Parameters
    ----------
    n_rows, n_columns : int
        Shape of the matrix.
    size : int
        Rows of a block, and its columns unless `width` is given.
    symmetric : bool
        Leave out the blocks below the diagonal.
    width : int, optional
        Columns of a block.
    """

    n_rows: int
    n_columns: int
    size: int
    symmetric: bool
    width: int | None = None

    def __iter__(self) -> Iterator[Block]:
        width = self.width or self.size
        for i in range(0, self.n_rows, self.size):
            for j in range(i if self.symmetric else 0, self.n_columns, width):
                yield (
                    slice(i, min(i + self.size, self.n_rows)),
                    slice(j, min(j + width, self.n_columns)),
                )

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix."""
        return self.n_rows, self.n_columns

    def pairs_of(self, block: Block) -> int:
        """Number of pairs that are evaluated in a block."""
        height, width = (s.stop - s.start for s in block)
        if self.symmetric and block[0] == block[1]:
            return height * (height + 1) // 2
        return height * width

    @property
    def n_pairs(self) -> int:
        """Number of pairs that are evaluated in all."""
        if self.symmetric:
            return self.n_rows * (self.n_rows + 1) // 2
        return self.n_rows * self.n_columns

    def place(self, K: np.ndarray, block: Block, numbers: np.ndarray) -> None:
        """Put a block, and its mirror image, into the matrix."""
        rows, columns = block
        K[rows, columns] = numbers
        if self.symmetric and rows != columns:
            K[columns, rows] = numbers.T


class BlockStore:
    """A matrix of float64 in blocks, on disk.

    Parameters
    ----------
    path : path-like
        Folder of the store; made if it does not exist. A folder with other files, or
        with the store of other work, is refused.
    tiling : Tiling
        Blocks; a store of the same work in other blocks is replaced.
    key : str
        What the matrix is computed from, see `krein.store.fingerprint`.
    backend : {"npy", "zarr"}
        One .npy file for one machine, zarr for several (needs the extra "dask").
    replace : bool
        Take the folder over from other work instead of refusing it.
    prepare : bool
        False for helpers of a run: the store must be there as described.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from krein.store.blocks import BlockStore, Tiling
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tiling = Tiling(5, 2, 3, symmetric=False)
    ...     store = BlockStore(folder + "/block", tiling, "key")
    ...     store.write(1, np.ones((2, 2)))
    ...     store.has(0), store.has(1), store.read(1).sum()
    (False, True, np.float64(4.0))
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        tiling: Tiling,
        key: str,
        *,
        backend: Backend = "npy",
        replace: bool = False,
        prepare: bool = True,
    ) -> None:
        self.path = Path(path)
        self.tiling = tiling
        self.key = key
        self.blocks = list(tiling)
        self._checked: set[int] = set()  # blocks read and found sound
        kind = ZarrNumbers if backend == "zarr" else NpyNumbers
        chunk = (tiling.size, tiling.width or tiling.size)
        self.numbers = kind(self.path, tiling.shape, chunk)
        layout = {
            "format": _FORMAT,
            "key": key,
            "shape": list(tiling.shape),
            "block": list(chunk),
            "symmetric": tiling.symmetric,
            "backend": backend,
        }
        if prepare:
            self._prepare(layout, replace)
        elif described(self.path) != layout:
            raise ValueError(f"{self.path} was changed while a run was at work in it")
        self._markers = RecordStore(self.path / "markers")

    def _prepare(self, layout: dict[str, Any], replace: bool) -> None:
        found = described(self.path)
        if found is not None and found["key"] != self.key and not replace:
            raise ValueError(
                f"{self.path} belongs to other work: it was begun with another kernel, "
                "other items, other landmarks or another version of krein; remove it "
                "to start anew, or choose another place"
            )
        if found != layout:
            self.clear()
            self._require_disk()
            self.numbers.path.parent.mkdir(parents=True, exist_ok=True)
        self.numbers.prepare()
        if found != layout:
            RecordStore(self.path).write("store", self.key, layout)

    def clear(self) -> None:
        """Remove everything that belongs to the store."""
        for name in ("markers", "block.zarr"):
            shutil.rmtree(self.path / name, ignore_errors=True)
        for name in ("store.json", "block.npy"):
            (self.path / name).unlink(missing_ok=True)

    def _require_disk(self) -> None:
        n, m = self.tiling.shape
        folder = self.path
        while not folder.exists():
            folder = folder.parent
        free = shutil.disk_usage(folder).free
        if 8 * n * m > free:
            raise OSError(
                f"{n} x {m} similarities need {8 * n * m / 1e9:.3g} GB, the disk of "
                f"{self.path} has {free / 1e9:.3g} GB free: choose another disk, or "
                "fewer items or landmarks"
            )

    def marker(self, block: int) -> Path:
        """File that says that a block is complete."""
        return self._markers.path(f"{block:08d}")

    def has(self, block: int) -> bool:
        """True if the block was written (`read` tells whether it is still sound)."""
        if block in self._checked:
            return True
        return self._markers.read(f"{block:08d}", self.key) is not None

    def is_sound(self, block: int) -> bool:
        """True if the block can be read as it was written."""
        try:
            self.read(block)
        except DamagedBlockError:
            return False
        return True

    def write(self, block: int, numbers: Array) -> None:
        """Write a block and its mirror image, then its marker."""
        rows, columns = self.blocks[block]
        expected = (rows.stop - rows.start, columns.stop - columns.start)
        if numbers.shape != expected:
            raise ValueError(
                f"block {block} has shape {expected}, got numbers of shape "
                f"{numbers.shape}"
            )
        numbers = np.ascontiguousarray(numbers, dtype="<f8")
        try:
            # The old marker goes first: its checksum may not stand for new numbers.
            self.marker(block).unlink(missing_ok=True)
            self.numbers.write(rows, columns, numbers)
            if self._has_mirror(block):
                self.numbers.write(columns, rows, numbers.T)
            facts = {"numbers": checksum(numbers)}
            self._markers.write(f"{block:08d}", self.key, facts)
        except OSError as error:
            raise OSError(
                error.errno,
                f"block {block} (rows {rows.start} to {rows.stop - 1}) could not be "
                f"written to {self.path}: {error.strerror}. Blocks that are complete "
                "stay; free some space and run the same call again",
            ) from error
        self._checked.discard(block)

    def read(self, block: int) -> Array:
        """Numbers of a complete block; checked when a process reads it first."""
        rows, columns = self.blocks[block]
        if block in self._checked:
            return self.numbers.read(rows, columns)
        facts = self._markers.read(f"{block:08d}", self.key)
        if facts is None:
            raise DamagedBlockError(f"block {block} of {self.path} has no marker")
        try:
            numbers = self.numbers.read(rows, columns)
            sums = {checksum(numbers), facts.get("numbers")}
            if self._has_mirror(block):
                sums.add(checksum(self.numbers.read(columns, rows).T))
        except Exception as error:
            raise DamagedBlockError(
                f"block {block} of {self.path} cannot be read: {error}"
            ) from error
        if len(sums) != 1:
            raise DamagedBlockError(
                f"block {block} of {self.path} was changed after it was written"
            )
        self._checked.add(block)
        return numbers

    def _has_mirror(self, block: int) -> bool:
        rows, columns = self.blocks[block]
        return self.tiling.symmetric and rows != columns


def described(path: Path) -> dict[str, Any] | None:
    """What ``store.json`` of a folder says; None where no store has been begun."""
    if not path.exists():
        return None
    if not (path / "store.json").exists():
        names = (entry.name for entry in path.iterdir())
        if any(name not in _OWN and not name.endswith(".tmp") for name in names):
            raise ValueError(
                f"{path} is a folder with other files in it; give an empty or a new "
                "folder, or that of an earlier run"
            )
        return None
    found = read_record(path / "store.json")
    if found is None or "key" not in found:
        raise ValueError(
            f"{path / 'store.json'} is damaged or of another version of krein: remove "
            f"the folder {path} to start anew, or choose another place"
        )
    return found


_OWN = {"lock.json", "markers", "block.npy", "block.zarr"}
