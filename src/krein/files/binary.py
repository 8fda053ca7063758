"""Binary arrays: .npy and .npz, and the choice among several arrays.

A header of 128 bytes can declare any size: it is compared with the file and with the
free memory before anything is allocated. Nothing is unpickled. In a .npy file names
follow the matrix as a second array (and those of the columns as a third): `numpy.load`
reads the matrix alone, whoever saves it anew drops the names.
"""

from __future__ import annotations

import math
import tokenize
import warnings
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from krein.files.sources import FormatError, How, Named, require_room

_MATRIX_KEYS = ("K", "X", "S", "D", "data")
_DAMAGED = (
    ValueError, EOFError, tokenize.TokenError, SyntaxError, TypeError, RecursionError,
    MemoryError, OverflowError, zipfile.BadZipFile, zlib.error, OSError,
)  # fmt: skip


def load_array(handle: IO[bytes], size: int) -> np.ndarray:
    """Read a .npy array once its header promises no more than the `size` bytes there.

    Raises
    ------
    ValueError, and what else NumPy raises on damaged input (`_DAMAGED`)
    """
    start = handle.tell()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # written by Python 2
        shape, dtype = _header(handle)
        declared, left = math.prod(shape) * dtype.itemsize, size - handle.tell()
        if declared > left:
            promised = f"the header declares shape {shape} of {dtype}, {declared} bytes"
            raise ValueError(f"{promised}, but {left} follow; is the file complete?")
        handle.seek(start)
        array = np.lib.format.read_array(handle, allow_pickle=False)
    if dtype.kind == "U" and array.size:
        native = np.ascontiguousarray(array).astype(dtype.newbyteorder("="))
        codes = native.view(np.uint32)
        if codes.max() > 0x10FFFF or ((codes >= 0xD800) & (codes < 0xE000)).any():
            raise ValueError("its text holds what is no character")
    return array


def _header(handle: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape and the type of an array that holds numbers or text."""
    of = np.lib.format
    old = of.read_magic(handle) == (1, 0)
    try:
        read = of.read_array_header_1_0 if old else of.read_array_header_2_0
        shape, _, dtype = read(handle)
    except _DAMAGED as error:
        raise ValueError(f"its .npy header cannot be read ({error})") from None
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are not read for safety")
    if dtype.itemsize == 0 or any(n < 0 for n in shape) or len(shape) > 32:
        raise ValueError(f"the header declares {shape} of {dtype}")
    return shape, dtype


def read_npy(path: Path, how: How | None = None) -> Named:
    """Read a .npy file, with the names behind the array where krein wrote them."""
    size = path.stat().st_size
    require_room(size, path, "Open it with numpy.load(mmap_mode='r').")
    arrays: list[np.ndarray] = []
    with open(path, "rb") as handle:
        try:
            while len(arrays) < 3 and (handle.tell() < size or not arrays):
                arrays.append(load_array(handle, size))
        except _DAMAGED as error:
            raise FormatError(path, f"cannot be read: {error}") from None
        if handle.tell() < size or any(x.dtype.kind != "U" for x in arrays[1:]):
            raise FormatError(path, "more follows behind the array; is it one file?")
    names, columns, *_ = [*(_strings(x) for x in arrays[1:]), None, None]
    return Named(arrays[0], names, columns)


def _strings(names: Any) -> list[str] | None:
    return None if names is None else [str(name) for name in np.ravel(names)]


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays of a .npz file after their headers were checked."""
    arrays, name = {}, "the .npz file"
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            require_room(sum(m.file_size for m in members), path, "Split the file.")
            if any(member.filename.startswith("xl/") for member in members):
                raise FormatError(path, "is an Excel workbook; save it as .csv")
            for member in members:
                name = member.filename
                with archive.open(member) as handle:
                    array = load_array(handle, member.file_size)
                arrays[name.removesuffix(".npy")] = array
        return arrays
    except FormatError:
        raise
    except (*_DAMAGED, NotImplementedError, RuntimeError, KeyError) as error:
        raise FormatError(path, f"{name} cannot be read: {error}") from None


def read_item_arrays(path: Path, how: How) -> Named:
    """Read items, with names and labels, from a .npz file."""
    arrays = read_arrays(path)
    key = how.key or ("X" if "X" in arrays else next(iter(arrays), "X"))
    return replace(_array_called(key, arrays, path), columns=None)


def read_npz(path: Path, how: How) -> Named:
    """Read a matrix, with names and labels beside it, from a .npz file."""
    arrays, key = read_arrays(path), how.key
    if key is None:
        two = {name: array for name, array in arrays.items() if array.ndim == 2}
        numeric = [name for name, array in two.items() if array.dtype.kind in "biufc"]
        likely = [name for name in _MATRIX_KEYS if name in numeric] or numeric
        if not likely or (len(likely) > 1 and likely[0] not in _MATRIX_KEYS):
            found = ", ".join(sorted(arrays)) or "nothing"
            choose = f"found {found}; choose one with key="
            raise FormatError(path, f"expected one matrix, {choose}")
        key = likely[0]
    read = _array_called(key, arrays, path)
    others = sorted(set(arrays) - {key, "names", "columns", "y"})
    note = f"array {key!r}" + (f" of {', '.join([key, *others])}" if others else "")
    target = None if read.target is None else np.ravel(read.target)
    return replace(read, target=target, notes=[note])


def _array_called(key: str, arrays: dict[str, Any], path: Path) -> Named:
    """Return an array by its name, with the names and labels that stand beside it."""
    if key not in arrays:
        has = f"has no array {key!r}; it has {', '.join(sorted(arrays))}"
        raise FormatError(path, has)
    names, columns = (_strings(arrays.get(part)) for part in ("names", "columns"))
    return Named(arrays[key], names, columns, arrays.get("y"))
