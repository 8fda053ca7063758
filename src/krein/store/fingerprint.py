"""What a piece of work was computed from, as a short text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Set
from dataclasses import fields, is_dataclass
from functools import partial
from types import CodeType
from typing import Any

import joblib
import numpy as np

__all__ = ["checksum", "fingerprint"]


def checksum(data: Any) -> str:
    """Digest of bytes, or of the numbers of an array."""
    if isinstance(data, np.ndarray):
        data = np.ascontiguousarray(data).data
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def fingerprint(*parts: Any) -> str:
    """128-bit digest of contents: equal for equal values, whoever made them.

    Arrays count by type, shape and numbers; objects with `get_params` by class and
    parameters, records by their fields; functions by name, code, defaults and the
    plain values they enclose (what they read from global variables is not seen);
    other objects by their pickle.

    Parameters
    ----------
    *parts : object
        What the work depends on.

    Returns
    -------
    str

    Examples
    --------
    >>> from krein.store.fingerprint import fingerprint
    >>> fingerprint("tl1", [1.0, 2.0]) == fingerprint("tl1", (1.0, 2.0))
    True
    >>> fingerprint("tl1", [1.0, 2.0]) == fingerprint("tl1", [1.0, 3.0])
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    for piece in _pieces(parts):
        data = piece if isinstance(piece, memoryview) else memoryview(piece)
        digest.update(b"%d:" % data.nbytes)
        digest.update(data)
    return digest.hexdigest()


def _pieces(value: Any) -> Iterator[bytes | memoryview]:
    """Contents as bytes, each kind of value with a mark of its own."""
    if value is None or isinstance(value, bool | int | float | complex):
        yield f"{type(value).__name__} {value!r}".encode()
    elif isinstance(value, str):
        yield b"text"
        yield value.encode("utf-8", "surrogatepass")
    elif isinstance(value, bytes | bytearray):
        yield b"bytes"
        yield bytes(value)
    elif isinstance(value, np.ndarray | np.generic):
        yield from _array(np.asarray(value))
    elif isinstance(value, list | tuple):
        yield b"list %d" % len(value)
        for item in value:
            yield from _pieces(item)
    elif isinstance(value, Mapping):
        yield b"mapping %d" % len(value)
        for key in sorted(value, key=repr):
            yield from _pieces((key, value[key]))
    elif isinstance(value, Set):
        yield from _pieces(["set", *sorted(value, key=repr)])
    else:
        yield from _object(value)


def _array(array: np.ndarray) -> Iterator[bytes | memoryview]:
    if array.dtype.hasobject:
        yield f"objects {array.shape}".encode()
        for item in array.ravel():
            yield from _pieces(item)
        return
    yield f"array {array.dtype.str} {array.shape}".encode()
    if array.size:
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _object(value: Any) -> Iterator[bytes | memoryview]:
    if isinstance(value, partial):
        yield from _pieces(["partial", value.func, value.args, value.keywords])
    elif hasattr(value, "__code__"):
        yield from _function(value)
    elif hasattr(value, "__qualname__"):
        yield f"name {value.__module__}.{value.__qualname__}".encode()
    elif hasattr(value, "to_numpy") and hasattr(value, "shape"):
        yield from _pieces([list(getattr(value, "columns", [])), np.asarray(value)])
    else:
        yield f"object {type(value).__module__}.{type(value).__qualname__}".encode()
        yield from _pieces(_contents(value))


def _contents(value: Any) -> Any:
    if hasattr(value, "get_params"):
        return value.get_params()
    if hasattr(value, "tocsr"):  # SciPy's sparse matrices
        sparse = value.tocsr()
        return [sparse.shape, sparse.data, sparse.indices, sparse.indptr]
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    try:
        return joblib.hash(value)
    except Exception as error:
        raise ValueError(
            f"{value!r} cannot be pickled, so work on it cannot be recognised in a "
            "store: give objects of classes that stand at the top of a module"
        ) from error


def _function(function: Any) -> Iterator[bytes | memoryview]:
    yield f"function {function.__module__}.{function.__qualname__}".encode()
    yield from _code(function.__code__)
    for fact in ("__defaults__", "__kwdefaults__", "__self__"):
        yield from _pieces(getattr(function, fact, None))
    for cell in getattr(function, "__closure__", None) or ():
        try:
            content = cell.cell_contents
        except ValueError:  # not bound yet
            continue
        # Counters, caches and open files that a function carries along say nothing
        # about what it computes.
        if isinstance(content, bool | int | float | str | tuple | np.ndarray):
            yield from _pieces(content)


def _code(code: CodeType) -> Iterator[bytes | memoryview]:
    yield code.co_code
    yield repr(code.co_names).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield from _pieces(constant)
