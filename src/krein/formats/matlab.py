"""MATLAB files of version 5 to 7.2 (Octave writes them too): numbers, text, cells.

Read here and not by SciPy, whose reader can end the process on a damaged file. The
layout is that of "MAT-File Format" (MathWorks), level 5: elements of a tag (type,
number of bytes) and data, padded to 8 bytes; a matrix is an element of elements:
flags, dimensions, name, then what its class says.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from krein.formats.named import FormatError, TooLargeError, require_room
from krein.matrices.memory import available_memory

__all__ = ["read_matlab"]

_MATRIX, _PACKED = 14, 15
# Type number of an element -> numpy code; 16 to 18 are text in UTF-8, 16 and 32.
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
    16: "u1",
    17: "u2",
    18: "u4",
}
_CELL, _CHAR, _SPARSE = 1, 4, 5
_NUMBERS = range(6, 16)  # double, single, then integers of 8 to 64 bits
_FLOATS = (6, 7)
_COMPLEX = 0x08
_DEEPEST = 3  # cells in cells


class _Element(NamedTuple):
    kind: int
    data: memoryview


class _Reader:
    """Elements of one file."""

    def __init__(self, path: Path, order: str) -> None:
        self.path, self.order = path, order
        self.limit = available_memory() or 2**62

    def fail(self, problem: str) -> FormatError:
        return FormatError(self.path, f"the .mat file cannot be read: {problem}")

    def elements(self, data: memoryview) -> Iterator[_Element]:
        position = 0
        while position < len(data):
            if len(data) - position < 8:
                raise self.fail("it ends inside a tag; is it complete?")
            kind, size = struct.unpack_from(f"{self.order}II", data, position)
            start, step = position + 8, size
            if kind >> 16:  # a small element: type, size and data in 8 bytes
                kind, size = kind & 0xFFFF, kind >> 16
                start, step = position + 4, 4
                if size > 4:
                    raise self.fail("a small element is too long")
            elif kind != _PACKED:
                step = -(-size // 8) * 8
            if size > len(data) - start:
                raise self.fail("it ends inside an element; is it complete?")
            yield _Element(kind, data[start : start + size])
            position = start + step

    def unpack(self, data: memoryview) -> memoryview:
        worker = zlib.decompressobj()
        try:
            plain = worker.decompress(data, self.limit)
        except zlib.error as error:
            raise self.fail(str(error)) from None
        self.limit -= len(plain)
        if worker.unconsumed_tail or self.limit <= 0:
            raise TooLargeError(
                self.path, "unpacked it does not fit into the memory that may be used"
            )
        if not worker.eof:
            raise self.fail("a packed element is incomplete")
        return memoryview(plain)

    def array(self, element: _Element) -> np.ndarray:
        if element.kind not in _TYPES:
            raise self.fail(f"data of type {element.kind}")
        dtype = np.dtype(self.order + _TYPES[element.kind])
        if len(element.data) % dtype.itemsize:
            raise self.fail("an element is cut")
        return np.frombuffer(element.data, dtype)

    def matrix(self, data: memoryview, depth: int = 0) -> tuple[str, Any]:
        """Return name and value; None for kinds that hold no numbers or text."""
        parts = list(self.elements(data))
        kinds = [part.kind for part in parts[:2]]
        if len(parts) < 3 or kinds != [6, 5] or len(parts[0].data) < 8:
            raise self.fail("a matrix without its dimensions")
        flags = int(self.array(parts[0])[0])
        kind, bits = flags & 0xFF, flags >> 8 & 0xFF
        shape = tuple(int(size) for size in self.array(parts[1]))
        name = bytes(parts[2].data).decode("latin-1")
        if len(shape) < 2 or min(shape) < 0:
            raise self.fail(f"a matrix of shape {shape}")
        if bits & _COMPLEX:
            return name, np.broadcast_to(0j, shape)  # to be refused if it is wanted
        if kind == _CELL:
            return name, self.cells(parts[3:], shape, depth)
        if kind == _SPARSE:
            return name, self.sparse(parts[3:], shape)
        if kind in _NUMBERS or kind == _CHAR:
            if len(parts) != 4:
                raise self.fail(f"{name!r} has {len(parts) - 3} parts")
            return name, self.full(parts[3], kind, shape)
        return name, None

    def full(self, element: _Element, kind: int, shape: tuple[int, ...]) -> Any:
        if kind == _CHAR and element.kind == 16:
            try:
                codes = np.array([ord(c) for c in bytes(element.data).decode()])
            except UnicodeDecodeError:
                raise self.fail("text that is not UTF-8") from None
        else:
            codes = self.array(element)
        if codes.size != math.prod(shape):
            raise self.fail(f"{codes.size} values for shape {shape}")
        if kind == _CHAR:
            return _text(codes.reshape(shape, order="F"))
        floats = codes.dtype.kind == "f" or kind in _FLOATS
        native = np.dtype(np.float64) if floats else codes.dtype.newbyteorder("=")
        require_room(codes.size * native.itemsize, self.path, "Save it in parts.")
        return codes.astype(native).reshape(shape, order="F")

    def cells(self, parts: list[_Element], shape: tuple[int, ...], depth: int) -> Any:
        if len(parts) != math.prod(shape) or depth >= _DEEPEST:
            raise self.fail(f"{len(parts)} cells for shape {shape}")
        if any(part.kind != _MATRIX for part in parts):
            raise self.fail("a cell that is no matrix")
        return [self.matrix(part.data, depth + 1)[1] for part in parts]

    def sparse(self, parts: list[_Element], shape: tuple[int, ...]) -> np.ndarray:
        if len(parts) != 3 or len(shape) != 2:
            raise self.fail("a sparse matrix without its three parts")
        rows, starts, values = (self.array(part) for part in parts)
        if rows.dtype.kind == "f" or starts.dtype.kind == "f":
            raise self.fail("a sparse matrix whose places are no integers")
        starts = starts.astype(np.int64)
        filled = int(starts[-1]) if starts.size == shape[1] + 1 else -1
        if not 0 <= filled <= min(rows.size, values.size) or starts[0] != 0:
            raise self.fail("a sparse matrix whose columns do not fit")
        rows = rows[:filled].astype(np.int64)
        outside = rows.size and not (0 <= rows.min() and rows.max() < shape[0])
        if outside or (np.diff(starts) < 0).any():
            raise self.fail("a sparse matrix with entries outside it")
        require_room(8 * shape[0] * shape[1], self.path, "Take fewer items.")
        packed = (values[:filled].astype(np.float64), rows, starts)
        return scipy.sparse.csc_array(packed, shape=shape).toarray()


def _text(codes: np.ndarray) -> list[str] | str:
    """One string per row of a character matrix; a string for one row."""
    rows = codes.reshape(codes.shape[0], -1) if codes.size else codes.reshape(0, 0)
    if codes.size and int(codes.max()) > 0x10FFFF:
        return ""
    lines = ["".join(map(chr, row.tolist())) for row in rows]
    return lines[0] if len(lines) == 1 else [line.rstrip() for line in lines]


def read_matlab(path: Path) -> dict[str, Any]:
    """Return the variables of a file: arrays of numbers, text, lists of cells."""
    require_room(path.stat().st_size, path, "Save it in parts.")
    content = memoryview(path.read_bytes())
    head = bytes(content[:128])
    order = {b"IM": "<", b"MI": ">"}.get(head[126:128], "")
    if head[:4] == b"\x89HDF" or (order and head[125 if order == "<" else 124] == 2):
        raise FormatError(path, "is a MATLAB 7.3 (HDF5) file; save it with -v7")
    if not order:
        raise FormatError(
            path, "the .mat file cannot be read: expected MATLAB 5; save it with -v7"
        )
    reader = _Reader(path, order)
    variables = {}
    for element in reader.elements(content[128:]):
        kind, data = element
        if kind == _PACKED:
            kind, data = next(reader.elements(reader.unpack(data)), (0, data))
        if kind != _MATRIX:
            raise reader.fail(f"an element of type {kind} where a matrix is expected")
        name, value = reader.matrix(data)
        if value is not None and name:
            variables[name] = value
    return variables
