"""Binary arrays: .npy and .npz, and the choice among several arrays.

A header of 128 bytes can declare any size: it is compared with the file and with the
free memory before anything is allocated. Nothing is unpickled.

In a .npy file names follow the matrix as a second array (and those of the columns as a
third): `numpy.load` reads the matrix alone, whoever saves it anew drops the names.
"""

from __future__ import annotations

import math
import os
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from krein.formats.named import FormatError, Named, require_room

__all__ = ["matrix_of_arrays", "read_npy", "read_npz", "write_npy"]

_MATRIX_KEYS = ("K", "X", "S", "D", "data")
_UNREADABLE = (
    ValueError,
    EOFError,
    tokenize.TokenError,
    SyntaxError,
    TypeError,
    RecursionError,
    MemoryError,
    OverflowError,
)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without numpy's remark on files that Python 2 wrote."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _check_header(handle: IO[bytes], size: int, path: Path, member: str = "") -> int:
    """Compare what a .npy header promises with what is there; return where it ends."""
    where = f"{member}: " if member else ""
    try:
        version = np.lib.format.read_magic(handle)
        with _quiet():
            if version == (1, 0):
                shape, _, dtype = np.lib.format.read_array_header_1_0(handle)
            else:
                shape, _, dtype = np.lib.format.read_array_header_2_0(handle)
    except _UNREADABLE:
        raise FormatError(path, f"{where}the .npy header cannot be read") from None
    if dtype.hasobject:
        raise FormatError(
            path, f"{where}holds Python objects, which are not read for safety"
        )
    if dtype.itemsize == 0 or any(n < 0 for n in shape) or len(shape) > 32:
        raise FormatError(path, f"{where}the header declares {shape} of {dtype}")
    declared = math.prod(shape) * dtype.itemsize
    if declared > size - handle.tell():
        raise FormatError(
            path,
            f"{where}the header declares shape {shape} of {dtype}, {declared} bytes, "
            f"but {size - handle.tell()} follow; is the file complete?",
        )
    require_room(declared, path, "Open it with numpy.load(..., mmap_mode='r').")
    return handle.tell() + declared


def _load(handle: IO[bytes], path: Path, member: str = "") -> np.ndarray:
    try:
        with _quiet():
            array = np.lib.format.read_array(handle, allow_pickle=False)
        _check_characters(array)
        return array
    except (*_UNREADABLE, zipfile.BadZipFile, zlib.error, OSError) as error:
        where = f"{member}: " if member else ""
        raise FormatError(path, f"{where}cannot be read: {error}") from None


def _check_characters(array: np.ndarray) -> None:
    """Refuse text with codes that are no characters, which Python cannot handle."""
    if array.dtype.kind == "U" and array.size:
        native = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("="))
        codes = native.view(np.uint32)
        if codes.max() > 0x10FFFF or ((codes >= 0xD800) & (codes < 0xE000)).any():
            raise ValueError("its text holds what is no character")


def read_npy(path: Path) -> Named:
    """Read a .npy file, with the names behind the array where krein wrote them."""
    size = os.path.getsize(path)
    arrays: list[np.ndarray] = []
    with open(path, "rb") as handle:
        while len(arrays) < 3 and (handle.tell() < size or not arrays):
            start = handle.tell()
            _check_header(handle, size, path)
            handle.seek(start)
            arrays.append(_load(handle, path))
        if handle.tell() < size or any(x.dtype.kind != "U" for x in arrays[1:]):
            raise FormatError(path, "more follows behind the array; is it one file?")
    names, columns, *_ = [_strings(array, path) for array in arrays[1:]] + [None, None]
    return Named(arrays[0], names, columns)


def _strings(names: Any, path: Path) -> list[str] | None:
    if names is None:
        return None
    if isinstance(names, list) and not all(isinstance(name, str) for name in names):
        raise FormatError(path, "the names are not text")
    return [str(name) for name in np.ravel(names)]


def write_npy(
    handle: IO[bytes],
    K: np.ndarray,
    names: Sequence[str] | None,
    columns: Sequence[str] | None,
) -> None:
    """Write a matrix, and the names behind it."""
    np.save(handle, K, allow_pickle=False)
    for texts in (names, columns) if names is not None else ():
        if texts is not None:
            np.save(handle, np.array(texts, dtype=np.str_), allow_pickle=False)


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays of a .npz file after their headers were checked."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            require_room(sum(m.file_size for m in members), path, "Split the file.")
            if any(member.filename.startswith("xl/") for member in members):
                raise FormatError(path, "is an Excel workbook; save it as .csv")
            arrays = {}
            for member in members:
                with archive.open(member) as handle:
                    _check_header(handle, member.file_size, path, member.filename)
                with archive.open(member) as handle:
                    array = _load(handle, path, member.filename)
                arrays[member.filename.removesuffix(".npy")] = array
            return arrays
    except FormatError:
        raise
    except (*_UNREADABLE, zipfile.BadZipFile, zlib.error, OSError) as error:
        raise FormatError(path, f"the .npz file cannot be read: {error}") from None
    except (NotImplementedError, RuntimeError, KeyError) as error:
        raise FormatError(path, f"the .npz file cannot be unpacked: {error}") from None


def matrix_of_arrays(arrays: dict[str, Any], path: Path, key: str | None) -> Named:
    """Choose the matrix among several arrays, with names and labels beside it."""
    numeric = [
        name
        for name, array in arrays.items()
        if isinstance(array, np.ndarray)
        and array.ndim == 2
        and array.dtype.kind in "biufc"
    ]
    likely = [name for name in _MATRIX_KEYS if name in numeric] or numeric
    if key is None:
        if not likely or (len(likely) > 1 and likely[0] not in _MATRIX_KEYS):
            raise FormatError(
                path,
                f"expected one matrix, found {', '.join(sorted(arrays)) or 'nothing'}; "
                "choose one with key=",
            )
        key = likely[0]
    if key not in arrays:
        raise FormatError(
            path, f"has no array {key!r}; it has {', '.join(sorted(arrays))}"
        )
    target = arrays.get("y")
    names, columns = (_strings(arrays.get(part), path) for part in ("names", "columns"))
    others = sorted(set(arrays) - {key, "names", "columns", "y"})
    note = f"array {key!r}" + (f" of {', '.join([key, *others])}" if others else "")
    return Named(
        np.asarray(arrays[key]),
        names,
        columns,
        target=None if target is None else np.ravel(target),
        notes=[note],
    )
