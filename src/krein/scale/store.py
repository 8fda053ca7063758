"""A tall matrix on disk in tiles of rows, each written once and checked when read.

Layout of a store (a folder): ``store.json`` with shape and tile size, the numbers in
``block.npy`` (one machine) or ``block.zarr`` (workers, one chunk a tile), and one
marker a tile. A marker is written after its tile, by renaming, and holds the key of the
work (what the tile was computed from) and a checksum of the numbers. So a tile without
a marker, with another key or with another checksum counts as missing: work may be
repeated after any interruption, and is never trusted when half done.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any, Literal

import numpy as np

from krein.arrays import Array
from krein.matrices.tiles import row_slices
from krein.optional import import_optional

__all__ = ["Backend", "DamagedTileError", "TileStore", "replace_file"]

Backend = Literal["npy", "zarr"]
_FORMAT = 1
_HEADER = 128  # bytes of a version 1.0 .npy header, padded by numpy to a multiple of 64


class DamagedTileError(RuntimeError):
    """The numbers of a tile are not those that were written."""


def checksum(tile: Array) -> str:
    """Digest of the numbers of a tile."""
    data = np.ascontiguousarray(tile, dtype="<f8")
    return hashlib.blake2b(data.data, digest_size=16).hexdigest()


def replace_file(path: Path, content: bytes) -> None:
    """Write a file completely or not at all, whoever else writes it."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


class TileStore:
    """An n x m matrix of float64 in tiles of rows, on disk.

    Parameters
    ----------
    path : path-like
        Folder of the store; made if it does not exist. A store of another shape or
        tile size in it is replaced; a folder that is no store is refused.
    shape : tuple of int
        (n, m).
    tile_rows : int
        Rows of a tile; the last tile may have fewer.
    backend : {"npy", "zarr"}
        One .npy file for one machine, zarr for several (needs the extra "dask").

    Attributes
    ----------
    slices : list of slice
        Rows of each tile.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from krein.scale import TileStore
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = TileStore(folder + "/block", (5, 2), 3)
    ...     store.write(1, "key", np.ones((2, 2)))
    ...     store.has(0, "key"), store.has(1, "key"), store.read(1).sum()
    (False, True, np.float64(4.0))
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        shape: tuple[int, int],
        tile_rows: int,
        backend: Backend = "npy",
    ) -> None:
        self.path = Path(path)
        self.shape = (int(shape[0]), int(shape[1]))
        self.tile_rows = int(tile_rows)
        self.backend = backend
        self.slices = row_slices(self.shape[0], self.tile_rows)
        self._array: Any = None  # the zarr array, opened when first needed
        self._checked: dict[int, str] = {}  # tile -> key, once read and found sound
        self._prepare()

    # ------------------------------------------------------------------------ layout

    @property
    def _facts(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "shape": list(self.shape),
            "tile_rows": self.tile_rows,
            "backend": self.backend,
        }

    @property
    def _block(self) -> Path:
        return self.path / f"block.{self.backend}"

    def marker(self, tile: int) -> Path:
        """File that says that a tile is complete."""
        return self.path / "markers" / f"{tile:08d}.json"

    def _prepare(self) -> None:
        description = self.path / "store.json"
        if self.path.exists() and not description.exists() and any(self.path.iterdir()):
            raise ValueError(
                f"store={str(self.path)!r} is a folder with other files in it; give an "
                "empty or a new folder, or that of an earlier run"
            )
        facts = json.dumps(self._facts).encode()
        if description.exists() and description.read_bytes() == facts:
            if self._block.exists():
                return
        self._clear()
        self._require_disk()
        (self.path / "markers").mkdir(parents=True, exist_ok=True)
        self._create_block()
        replace_file(description, facts)

    def _clear(self) -> None:
        """Remove what an earlier store of another shape left."""
        shutil.rmtree(self.path / "markers", ignore_errors=True)
        shutil.rmtree(self.path / "block.zarr", ignore_errors=True)
        (self.path / "block.npy").unlink(missing_ok=True)

    def _require_disk(self) -> None:
        needed = 8 * self.shape[0] * self.shape[1]
        folder = self.path
        while not folder.exists():
            folder = folder.parent
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise OSError(
                f"a block of {self.shape[0]} x {self.shape[1]} similarities needs "
                f"{needed / 1e9:.3g} GB, the disk of store={str(self.path)!r} has "
                f"{free / 1e9:.3g} GB free: choose another disk or fewer landmarks"
            )

    def _create_block(self) -> None:
        if self.backend == "zarr":
            self._create_zarr()
            return
        array = np.lib.format.open_memmap(
            self._block, mode="w+", dtype="<f8", shape=self.shape
        )
        if array.offset != _HEADER:
            raise RuntimeError(f"unexpected .npy header of {array.offset} bytes")

    def _create_zarr(self) -> None:
        zarr = import_optional("zarr", extra="dask", needed_for="a zarr store")
        self._array = zarr.create_array(
            str(self._block),
            shape=self.shape,
            chunks=(self.tile_rows, self.shape[1]),
            dtype="<f8",
            compressors=None,
            overwrite=True,
        )

    def _zarr(self) -> Any:
        if self._array is None:
            zarr = import_optional("zarr", extra="dask", needed_for="a zarr store")
            self._array = zarr.open_array(str(self._block), mode="r+")
        return self._array

    # ------------------------------------------------------------------------- tiles

    def has(self, tile: int, key: str) -> bool:
        """True if the tile is complete and was computed from what `key` stands for."""
        if tile in self._checked:
            return self._checked[tile] == key
        facts = self._marked(tile)
        return facts is not None and facts.get("key") == key

    def _marked(self, tile: int) -> dict[str, Any] | None:
        try:
            facts = json.loads(self.marker(tile).read_text())
        except (OSError, ValueError):
            return None
        return facts if isinstance(facts, dict) else None

    def write(self, tile: int, key: str, numbers: Array) -> None:
        """Write a tile, then its marker."""
        rows = self.slices[tile]
        expected = (rows.stop - rows.start, self.shape[1])
        if numbers.shape != expected:
            raise ValueError(
                f"tile {tile} has shape {expected}, got numbers of shape "
                f"{numbers.shape}"
            )
        numbers = np.ascontiguousarray(numbers, dtype="<f8")
        marker = {"key": key, "checksum": checksum(numbers)}
        try:
            # The old marker goes first: its checksum may not stand for new numbers.
            self.marker(tile).unlink(missing_ok=True)
            if self.backend == "zarr":
                self._zarr()[rows] = numbers
            else:
                with self._block.open("r+b") as file:
                    file.seek(_HEADER + 8 * self.shape[1] * rows.start)
                    file.write(numbers.data)
            replace_file(self.marker(tile), json.dumps(marker).encode())
        except OSError as error:
            raise OSError(
                error.errno,
                f"tile {tile} (rows {rows.start} to {rows.stop - 1}) could not be "
                f"written to store={str(self.path)!r}: {error.strerror}. Tiles that "
                "are complete stay; free some space and run the same call again",
            ) from error
        self._checked.pop(tile, None)

    def read(self, tile: int) -> Array:
        """Numbers of a complete tile; checked when a process reads it first."""
        if tile in self._checked:
            return self._numbers(tile)
        facts = self._marked(tile)
        if facts is None:
            raise DamagedTileError(f"tile {tile} of {self.path} has no marker")
        try:
            numbers = self._numbers(tile)
        except Exception as error:
            raise DamagedTileError(
                f"tile {tile} of {self.path} cannot be read: {error}"
            ) from error
        if checksum(numbers) != facts.get("checksum"):
            raise DamagedTileError(
                f"tile {tile} of {self.path} was changed after it was written"
            )
        self._checked[tile] = facts["key"]
        return numbers

    def _numbers(self, tile: int) -> Array:
        rows = self.slices[tile]
        if self.backend == "zarr":
            return np.asarray(self._zarr()[rows])
        # Read, not mapped: mapped pages would count as memory of the process.
        n_rows, m = rows.stop - rows.start, self.shape[1]
        with self._block.open("rb") as file:
            file.seek(_HEADER + 8 * m * rows.start)
            numbers = np.fromfile(file, dtype="<f8", count=n_rows * m)
        return numbers.reshape(n_rows, m)
