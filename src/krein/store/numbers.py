"""A matrix of float64 on disk, read and written in parts: one .npy file, or zarr."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any, Literal

import numpy as np

from krein.arrays import Array
from krein.optional import import_optional

__all__ = ["Backend", "NpyNumbers", "ZarrNumbers"]

Backend = Literal["npy", "zarr"]


class NpyNumbers:
    """Numbers in one .npy file; read and written, not mapped.

    Mapped pages would count as memory of the process.

    Parameters
    ----------
    folder : Path
        Where the file lies.
    shape, chunk : tuple of int
        Of the matrix and of a part.
    """

    def __init__(
        self, folder: Path, shape: tuple[int, int], chunk: tuple[int, int]
    ) -> None:
        self.path = folder / "block.npy"
        self.shape = shape
        buffer = io.BytesIO()
        layout: Any = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(buffer, layout)
        self._header = buffer.getvalue()

    def prepare(self) -> None:
        """Make the file, or mend its header and its length."""
        self.path.touch()
        with self.path.open("r+b") as file:
            if file.read(len(self._header)) != self._header:
                file.seek(0)
                file.write(self._header)
            file.truncate(len(self._header) + 8 * self.shape[0] * self.shape[1])

    def read(self, rows: slice, columns: slice) -> Array:
        """Return one part."""
        height, width = rows.stop - rows.start, columns.stop - columns.start
        with self.path.open("rb") as file:
            lines = [
                np.fromfile(file, "<f8", count, offset=place - file.tell())
                for place, count in self._runs(rows, columns)
            ]
        numbers = lines[0] if len(lines) == 1 else np.concatenate(lines)
        return numbers.reshape(height, width)

    def write(self, rows: slice, columns: slice, numbers: Array) -> None:
        """Write one part."""
        flat = np.ascontiguousarray(numbers, dtype="<f8").reshape(-1)
        with self.path.open("r+b") as file:
            for place, count in self._runs(rows, columns):
                file.seek(place)
                file.write(flat[:count].data)
                flat = flat[count:]

    def _runs(self, rows: slice, columns: slice) -> list[tuple[int, int]]:
        """Where numbers that lie together begin, and how many they are."""
        m, width = self.shape[1], columns.stop - columns.start
        start = len(self._header)
        if width == m:
            return [(start + 8 * m * rows.start, m * (rows.stop - rows.start))]
        return [
            (start + 8 * (m * row + columns.start), width)
            for row in range(rows.start, rows.stop)
        ]

    def finish(self) -> None:
        """Force everything to disk."""
        with self.path.open("r+b") as file:
            os.fsync(file.fileno())


class ZarrNumbers:
    """Numbers in a zarr array, one chunk a part: several machines may write."""

    def __init__(
        self, folder: Path, shape: tuple[int, int], chunk: tuple[int, int]
    ) -> None:
        self.path = folder / "block.zarr"
        self.shape = shape
        self.chunk = tuple(min(c, s) for c, s in zip(chunk, shape, strict=True))
        self._zarr = import_optional("zarr", extra="dask", needed_for="a zarr store")
        self._array: Any = None

    def prepare(self) -> None:
        """Make the array, also in place of one whose description is damaged."""
        try:
            self._open()
        except Exception:  # zarr raises a dozen kinds on damaged descriptions
            self._array = self._zarr.create_array(
                str(self.path),
                shape=self.shape,
                chunks=self.chunk,
                dtype="<f8",
                compressors=None,
                overwrite=True,
            )

    def _open(self) -> Any:
        if self._array is None:
            array = self._zarr.open_array(str(self.path), mode="r+")
            found = (array.shape, array.chunks, array.dtype.str)
            if found != (self.shape, self.chunk, "<f8"):
                raise ValueError(f"{self.path} holds another array: {found}")
            self._array = array
        return self._array

    def read(self, rows: slice, columns: slice) -> Array:
        """Return one part."""
        return np.asarray(self._open()[rows, columns])

    def write(self, rows: slice, columns: slice, numbers: Array) -> None:
        """Write one part."""
        self._open()[rows, columns] = numbers

    def finish(self) -> None:
        """Nothing is left to be done."""
