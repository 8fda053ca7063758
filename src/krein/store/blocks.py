"""A matrix on disk in blocks, each written whole and checked when read.

A store is a folder: ``store.json`` says what the matrix is computed from (the key of
the work), its shape and the size of a block, and each block is a file with a digest of
the key, the number of the block and its numbers. A file is written beside its place and
renamed, so that any number of workers can write. A block that is missing or damaged is
computed again; nothing but numbers is ever read from a store. See docs/decisions/0012.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

import numpy as np

from krein.arrays import Array
from krein.store import files

Block = tuple[slice, slice]
# Rows and columns. A block is what a killed run loses: 26 s at 100 microseconds a pair.
LARGEST_BLOCK = 512
_DIGEST = 16  # bytes of a digest, at the beginning of a file
_OWN = {files.LOCK, "blocks"}


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
            rows = slice(i, min(i + self.size, self.n_rows))
            for j in range(i if self.symmetric else 0, self.n_columns, width):
                yield rows, slice(j, min(j + width, self.n_columns))

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix."""
        return self.n_rows, self.n_columns

    def pairs_of(self, block: Block) -> int:
        """Number of pairs that are evaluated in a block."""
        rows, columns = block
        return (rows.stop - rows.start) * (columns.stop - columns.start)

    def mirrored(self, block: Block, numbers: Array) -> Iterator[tuple[Block, Array]]:
        """Yield a block and, where there is one, its mirror image."""
        yield block, numbers
        if self.symmetric and block[0] != block[1]:
            yield block[::-1], numbers.T

    def place(self, K: np.ndarray, block: Block, numbers: np.ndarray) -> None:
        """Put a block, and its mirror image, into the matrix."""
        for where, part in self.mirrored(block, numbers):
            K[where] = part


class BlockStore:
    """A matrix of float64 in blocks, on disk.

    Parameters
    ----------
    path : path-like
        Folder of the store; made if it does not exist. A folder with other files, or
        with the store of other work, is refused.
    tiling : Tiling
        Blocks; work that is continued keeps its own size of blocks.
    key : str
        What the matrix is computed from, see `krein.store.fingerprint`.
    take_over : bool
        Take the folder over from other work instead of refusing it.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from krein.store.blocks import BlockStore, Tiling
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tiling = Tiling(5, 2, 3, symmetric=False)
    ...     store = BlockStore(folder + "/block", tiling, "key")
    ...     store.write(1, np.ones((2, 2)))
    ...     store.missing(), store.read(1).sum()
    ([0], np.float64(4.0))
    """

    def __init__(
        self, path: str | Path, tiling: Tiling, key: str, *, take_over: bool = False
    ) -> None:
        self.path = Path(path)
        self.key = key
        self._checked: set[int] = set()  # blocks read and found sound
        found = described(self.path)
        if found and found["key"] != key and not take_over:
            raise ValueError(
                f"{self.path} belongs to other work: it was begun with another kernel, "
                "other items, other landmarks or another version of krein; remove it "
                "to start anew, or choose another place"
            )
        if found and found["key"] == key:
            tiling = replace(tiling, **found["block"])
        else:
            (self.path / "store.json").unlink(missing_ok=True)
            shutil.rmtree(self.path / "blocks", ignore_errors=True)
            layout = {"size": tiling.size, "width": tiling.width}
            record = {"key": key, "block": layout}
            files.RecordStore(self.path).write("store", key, record)
        self.tiling = tiling
        self.blocks = list(tiling)
        (self.path / "blocks").mkdir(exist_ok=True)

    def file(self, block: int) -> Path:
        """Where a block lies."""
        return self.path / "blocks" / f"{block:08d}"

    def missing(self) -> list[int]:
        """Blocks that have yet to be computed, or were damaged."""
        return [k for k in range(len(self.blocks)) if self.read(k) is None]

    def write(self, block: int, numbers: Array) -> None:
        """Write a block."""
        numbers = np.ascontiguousarray(numbers, dtype="<f8")
        digest = self._digest(block, numbers)
        files.replace_file(self.file(block), digest, numbers.data.cast("B"))
        self._checked.discard(block)

    def read(self, block: int) -> Array | None:
        """Numbers of a block; None if they are missing or not those written.

        They are checked when a process reads them first.
        """
        shape = [part.stop - part.start for part in self.blocks[block]]
        try:
            with self.file(block).open("rb") as file:
                digest = file.read(_DIGEST)
                numbers = np.fromfile(file, "<f8")
        except OSError:
            return None
        known = block in self._checked or digest == self._digest(block, numbers)
        if not known or numbers.size != shape[0] * shape[1]:
            return None
        self._checked.add(block)
        return numbers.reshape(shape)

    def assemble(self, path: Path) -> None:
        """Write the whole matrix to a .npy file, block by block."""
        shape = self.tiling.shape
        layout: Any = {"descr": "<f8", "fortran_order": False, "shape": shape}
        with files.atomic_write(path) as file:
            np.lib.format.write_array_header_1_0(file, layout)
            start = file.tell()
            for k, block in enumerate(self.blocks):
                written = self.read(k)
                if written is None:
                    raise OSError(f"{self.file(k)} was changed: run the call again")
                for where, numbers in self.tiling.mirrored(block, written):
                    self._put(file, start, where, numbers)

    def _put(self, file: IO[bytes], start: int, where: Block, numbers: Array) -> None:
        rows, columns = where
        for row, line in zip(range(rows.start, rows.stop), numbers, strict=True):
            file.seek(start + 8 * (self.tiling.n_columns * row + columns.start))
            file.write(line.tobytes())

    def _digest(self, block: int, numbers: Array) -> bytes:
        """Digest that a block has in its own place, and no copy of it in another."""
        key = self.key.encode()[:64]
        digest = blake2b(b"%d:" % block, key=key, digest_size=_DIGEST)
        digest.update(numbers.data)
        return digest.digest()


def described(path: Path) -> dict[str, Any] | None:
    """What ``store.json`` of a folder says; None where no store has been begun."""
    found = files.read_record(path / "store.json")
    names = [entry.name for entry in path.glob("*")]
    others = [n for n in names if n not in _OWN and not n.endswith(".tmp")]
    if found is None and others:
        raise ValueError(
            f"{path} is a folder with other files in it, or its store.json is damaged "
            f"({others[0]}): remove it, or give an empty or a new folder, or that of "
            "an earlier run"
        )
    return found
