"""Binary arrays: .npy, .npz and .mat, and the choice among several arrays.

A header of 128 bytes can declare any size: it is compared with the file and with the
free memory before anything is allocated. Nothing is unpickled. In a .npy file names
follow the matrix as a second array (and those of the columns as a third): `numpy.load`
reads the matrix alone, whoever saves it anew drops the names.

MATLAB files (5 to 7.2; Octave writes them too) are not read by SciPy, whose reader can
end the process on a damaged file. The layout is that of "MAT-File Format" (MathWorks),
level 5: elements of a tag (type, number of bytes) and data, padded to 8 bytes; a matrix
is an element of elements: flags, dimensions, name, then what its class says.
"""

from __future__ import annotations

import math
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse

from krein.arrays import items_of_condensed
from krein.files.sources import FormatError, How, Named, TooLargeError, require_room
from krein.memory import available_memory

_MATRIX_KEYS = ("K", "X", "S", "D", "data")
_DAMAGED = (
    ValueError, EOFError, tokenize.TokenError, SyntaxError, TypeError, RuntimeError,
    LookupError, MemoryError, OverflowError, zipfile.BadZipFile, zlib.error,
    struct.error, OSError,
)  # fmt: skip

# MATLAB: type number of an element -> numpy code.
_TYPES = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
    16: "u1",  # text in UTF-8
    17: "u2",  # text in UTF-16
    18: "u4",  # text in UTF-32
}
# Types of elements without a numpy code of their own.
_MATRIX = 14
_PACKED = 15
_UTF8 = 16
# Classes of a matrix, and a flag beside them.
_CELL = 1
_CHAR = 4
_SPARSE = 5
_NUMBERS = range(6, 16)  # double, single, then integers of 8 to 64 bits
_FLOATS = (6, 7)
_COMPLEX = 0x0800
_Element = tuple[int, memoryview]


@contextmanager
def _reading(path: Path, what: str) -> Iterator[None]:
    """Say what cannot be read, whatever is raised on damaged input."""
    try:
        yield
    except FormatError:
        raise
    except _DAMAGED as error:
        raise FormatError(path, f"{what} cannot be read: {error}") from None


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
        declared = math.prod(shape) * dtype.itemsize
        left = size - handle.tell()
        if declared > left:
            raise ValueError(
                f"the header declares shape {shape} of {dtype}, {declared} bytes, but "
                f"{left} follow; is the file complete?"
            )
        handle.seek(start)
        array = np.lib.format.read_array(handle, allow_pickle=False)
    if dtype.kind == "U" and array.size:
        native = np.ascontiguousarray(array).astype(dtype.newbyteorder("="))
        codes = native.view(np.uint32)
        surrogates = (codes >= 0xD800) & (codes < 0xE000)
        if codes.max() > 0x10FFFF or surrogates.any():
            raise ValueError("its text holds what is no character")
    return array


def _header(handle: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape and the type of an array that holds numbers or text."""
    npy = np.lib.format
    version = npy.read_magic(handle)
    try:
        if version == (1, 0):
            shape, _, dtype = npy.read_array_header_1_0(handle)
        else:
            shape, _, dtype = npy.read_array_header_2_0(handle)
    except _DAMAGED as error:
        raise ValueError(f"its .npy header cannot be read ({error})") from None
    if dtype.hasobject:
        raise ValueError(
            "it holds Python objects, which are not read for safety; save text as "
            "np.array(names, dtype=str), numbers as dtype=float"
        )
    if dtype.itemsize == 0 or any(n < 0 for n in shape) or len(shape) > 32:
        raise ValueError(f"the header declares {shape} of {dtype}")
    return shape, dtype


def read_npy(path: Path, how: How | None = None) -> Named:
    """Read a .npy file, with the names behind the array where krein wrote them."""
    size = path.stat().st_size
    require_room(size, path, "Open it with numpy.load(mmap_mode='r').")
    arrays: list[np.ndarray] = []
    with open(path, "rb") as handle, _reading(path, "the .npy file"):
        while len(arrays) < 3 and (handle.tell() < size or not arrays):
            arrays.append(load_array(handle, size))
        if handle.tell() < size or any(x.dtype.kind != "U" for x in arrays[1:]):
            raise FormatError(path, "more follows behind the array; is it one file?")
    names = _strings(arrays[1], path) if len(arrays) > 1 else None
    columns = _strings(arrays[2], path) if len(arrays) > 2 else None
    return Named(arrays[0], names, columns)


def _strings(names: Any, path: Path) -> list[str] | None:
    """Names of an array or of a list as a list of str; None stays None."""
    if names is None:
        return None
    if isinstance(names, list) and not all(isinstance(name, str) for name in names):
        raise FormatError(path, "the names are not text")
    return [str(name) for name in np.ravel(names)]


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays of a .npz file after their headers were checked."""
    arrays = {}
    with _reading(path, "the .npz file"), zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        require_room(sum(m.file_size for m in members), path, "Split the file.")
        for member in members:
            name = member.filename
            with _reading(path, name), archive.open(member) as handle:
                array = load_array(handle, member.file_size)
            arrays[name.removesuffix(".npy")] = array
    return arrays


def read_npz(path: Path, how: How) -> Named:
    """Read a matrix, with names and labels, from a .npz file."""
    return _matrix_among(read_arrays(path), path, how.key)


def read_mat(path: Path, how: How) -> Named:
    """Read a matrix, with names and labels, from a MATLAB file."""
    return _matrix_among(_variables(path), path, how.key)


def read_item_arrays(path: Path, how: How) -> Named:
    """Read items, with names and labels, from a .npz file."""
    arrays = read_arrays(path)
    key = how.key or ("X" if "X" in arrays else next(iter(arrays), "X"))
    return replace(_array_called(key, arrays, path), columns=None)


def _matrix_among(arrays: dict[str, Any], path: Path, key: str | None) -> Named:
    """Choose the matrix among several arrays, with names and labels beside it."""
    if key is None:
        key = _key_of_matrix(arrays, path)
    read = _array_called(key, arrays, path)
    others = sorted(set(arrays) - {key, "names", "columns", "y"})
    note = f"array {key!r}"
    if others:
        note += f" of {', '.join([key, *others])}"
    target = None if read.target is None else np.ravel(read.target)
    return replace(read, target=target, notes=[note])


def _key_of_matrix(arrays: dict[str, Any], path: Path) -> str:
    """The name of the matrix: a usual one, or that of the only matrix."""
    matrices = [name for name, array in arrays.items() if _is_matrix(array)]
    if not matrices:
        matrices = [name for name in arrays if _is_condensed(name, arrays[name])]
    for name in _MATRIX_KEYS:
        if name in matrices:
            return name
    found = ", ".join(sorted(arrays)) or "nothing"
    if not matrices:
        raise FormatError(path, f"expected one matrix, found {found}")
    if len(matrices) > 1:
        raise FormatError(
            path,
            f"expected one matrix, found {found}; choose one with key= (--key NAME)",
        )
    return matrices[0]


def _is_matrix(array: Any) -> bool:
    """Whether it is a table of numbers; a list of text of a .mat file is none."""
    return getattr(array, "ndim", 0) == 2 and array.dtype.kind in "biufc"


def _is_condensed(name: str, array: Any) -> bool:
    """Whether it may be the list of distances that ``pdist`` returns."""
    in_line = getattr(array, "ndim", 0) == 1 and array.dtype.kind == "f"
    return in_line and name != "y" and bool(items_of_condensed(array.size))


def _array_called(key: str, arrays: dict[str, Any], path: Path) -> Named:
    """Return an array by its name, with the names and labels that stand beside it."""
    if key not in arrays:
        raise FormatError(
            path, f"has no array {key!r}; it has {', '.join(sorted(arrays))}"
        )
    names = _strings(arrays.get("names"), path)
    columns = _strings(arrays.get("columns"), path)
    return Named(arrays[key], names, columns, arrays.get("y"))


def _variables(path: Path) -> dict[str, Any]:
    """Return the variables of a MATLAB file: arrays of numbers, text, lists of text."""
    require_room(path.stat().st_size, path, "Save it in parts.")
    content = memoryview(path.read_bytes())
    head = bytes(content[:128])
    if head[126:128] == b"IM":
        order = "<"
        version = head[125]
    elif head[126:128] == b"MI":
        order = ">"
        version = head[124]
    else:
        order = ""
        version = 0
    if head[:4] == b"\x89HDF" or version == 2:
        raise FormatError(path, "is a MATLAB 7.3 (HDF5) file; save it with -v7")
    with _reading(path, "the .mat file"):
        if not order:
            raise ValueError("expected MATLAB 5; save it with -v7")
        variables = {}
        for name, value in _unpacked(content[128:], order, path):
            if value is not None:
                variables[name] = value
        return variables


def _unpacked(content: memoryview, order: str, path: Path) -> Iterator[tuple[str, Any]]:
    """Yield names and values; what is packed is unpacked as far as memory goes."""
    left = available_memory() or 2**62
    for kind, data in _elements(content, order):
        if kind == _PACKED:
            worker = zlib.decompressobj()
            plain = worker.decompress(data, left)
            left -= len(plain)
            if worker.unconsumed_tail or left <= 0:
                raise TooLargeError(path, "it does not fit into the memory, unpacked")
            if not worker.eof:  # and its checksum was not compared
                raise ValueError("a packed element is incomplete")
            nothing = (0, data)
            kind, data = next(_elements(memoryview(plain), order), nothing)
        if kind != _MATRIX:
            raise ValueError(f"an element of type {kind} where a matrix is expected")
        yield _variable(data, order, path)


def _elements(data: memoryview, order: str) -> Iterator[_Element]:
    """Yield type and data of each element."""
    position = 0
    while position < len(data):
        kind, size = struct.unpack_from(f"{order}II", data, position)
        if kind >> 16:  # a small element: type, size and data in 8 bytes
            size = kind >> 16
            kind &= 0xFFFF
            start = position + 4
            room = 4
        else:
            start = position + 8
            room = size if kind == _PACKED else -(-size // 8) * 8  # padded to 8 bytes
        if size > min(room, len(data) - start):
            raise ValueError("it ends inside an element; is it complete?")
        yield kind, data[start : start + size]
        position = start + room


def _numbers(element: _Element, order: str) -> np.ndarray:
    kind, data = element
    return np.frombuffer(data, np.dtype(order + _TYPES[kind]))


def _variable(data: memoryview, order: str, path: Path) -> tuple[str, Any]:
    """Return name and value of a matrix; None for kinds without numbers or text."""
    head, sizes, (_, title), *parts = _elements(data, order)
    flags = int(_numbers(head, order)[0])
    shape = tuple(map(int, _numbers(sizes, order)))
    kind = flags & 0xFF
    value: Any = None
    if min(shape) < 0:
        raise ValueError(f"a matrix of shape {shape}")
    if kind == _CELL:
        value = [_variable(part, order, path)[1] for _, part in parts]
    elif flags & _COMPLEX:
        value = np.broadcast_to(0j, shape)  # to be refused if it is wanted
    elif kind == _SPARSE:
        value = _sparse([_numbers(part, order) for part in parts], shape, path)
    elif kind == _CHAR:
        value = _text(parts[0], order, shape)
    elif kind in _NUMBERS:
        numbers = _numbers(parts[0], order)
        require_room(8 * numbers.size, path, "Save it in parts.")
        own = np.float64 if kind in _FLOATS else numbers.dtype.newbyteorder("=")
        value = numbers.astype(own).reshape(shape, order="F")
    return bytes(title).decode("latin-1"), value


def _text(element: _Element, order: str, shape: tuple[int, ...]) -> list[str] | str:
    """One string per row of a character matrix; a string for one row."""
    if element[0] == _UTF8:
        letters = list(bytes(element[1]).decode())
    else:
        letters = [chr(code) for code in _numbers(element, order)]
    table = np.array(letters, dtype=np.str_).reshape(shape, order="F")
    if not letters:
        return ""
    lines = ["".join(row) for row in table.reshape(shape[0], -1)]
    if len(lines) == 1:
        return lines[0]
    return [line.rstrip() for line in lines]


def _sparse(parts: list[np.ndarray], shape: tuple[int, ...], path: Path) -> np.ndarray:
    """Return a matrix by columns: rows of the entries, where columns start, values."""
    rows, starts, values = parts
    rows = rows.astype(np.int64, casting="safe")
    starts = starts.astype(np.int64, casting="safe")
    filled = slice(max(0, int(starts[-1])))
    n, m = shape
    packed = (values[filled].astype(np.float64), rows[filled], starts)
    matrix = scipy.sparse.csc_array(packed, shape=(n, m))
    matrix.check_format(full_check=True)
    require_room(8 * n * m, path, "Take fewer items.")
    return matrix.toarray()
