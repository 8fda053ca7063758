"""Binary arrays: .npy, .npz, .mat, and Matrix Market through scipy.

A header of 128 bytes can declare any size: it is compared with the file and with the
free memory before anything is allocated. Nothing is unpickled.
"""

from __future__ import annotations

import math
import os
import tokenize
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.io
import scipy.sparse

from krein.formats.named import FormatError, Named
from krein.matrices.memory import require_memory

__all__ = ["read_mat", "read_mtx", "read_npy", "read_npz"]

_MATRIX_KEYS = ("K", "X", "S", "D", "data")


def _check_header(handle: IO[bytes], size: int, path: Path, member: str = "") -> None:
    """Compare what a .npy header promises with what is there."""
    where = f"{member}: " if member else ""
    try:
        version = np.lib.format.read_magic(handle)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(handle)
        else:
            shape, _, dtype = np.lib.format.read_array_header_2_0(handle)
    except (ValueError, EOFError, tokenize.TokenError, SyntaxError, TypeError):
        raise FormatError(path, f"{where}the .npy header cannot be read") from None
    if dtype.hasobject:
        raise FormatError(
            path, f"{where}holds Python objects, which are not read for safety"
        )
    declared = math.prod(shape) * dtype.itemsize
    if declared > size - handle.tell():
        raise FormatError(
            path,
            f"{where}the header declares shape {shape} of {dtype}, {declared} bytes, "
            f"but {size - handle.tell()} follow; is the file complete?",
        )
    require_memory(declared, f"the array in {path}", "Open it with mmap_mode.")


def read_npy(path: Path, *, memory_map: bool = False) -> np.ndarray:
    """Read a .npy file after its header was checked."""
    with open(path, "rb") as handle:
        _check_header(handle, os.path.getsize(path), path)
    return np.load(path, allow_pickle=False, mmap_mode="r" if memory_map else None)


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays of a .npz file after their headers were checked."""
    try:
        with zipfile.ZipFile(path) as archive:
            total = sum(info.file_size for info in archive.infolist())
            require_memory(total, f"the arrays in {path}", "Split the file.")
            for info in archive.infolist():
                with archive.open(info) as member:
                    _check_header(member, info.file_size, path, info.filename)
        with np.load(path, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}
    except FormatError:
        raise
    except (zipfile.BadZipFile, ValueError, EOFError, OSError) as error:
        raise FormatError(path, f"the .npz file cannot be read: {error}") from None


def matrix_of_arrays(arrays: dict[str, Any], path: Path, key: str | None) -> Named:
    """Choose the matrix among several arrays, with names and labels beside it."""
    if key is None:
        numeric = [
            name
            for name, array in arrays.items()
            if np.ndim(array) == 2 and np.asarray(array).dtype.kind in "biuf"
        ]
        likely = [name for name in _MATRIX_KEYS if name in numeric] or numeric
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
    return Named(
        np.asarray(arrays[key]),
        _names(arrays.get("names")),
        _names(arrays.get("columns")),
        target=None if target is None else np.ravel(target),
    )


def _names(names: Any) -> list[str] | None:
    return None if names is None else [_text(name) for name in np.ravel(names)]


def _text(name: Any) -> str:
    """A name; MATLAB cells are arrays of one string."""
    return str(np.ravel(name)[0] if np.size(name) == 1 else name).strip()


def read_mat(path: Path, key: str | None = None) -> Named:
    """Read a matrix from a MATLAB file (up to version 7.2)."""
    try:
        arrays = scipy.io.loadmat(path)
    except NotImplementedError:
        raise FormatError(
            path, "is a MATLAB 7.3 (HDF5) file; save it with -v7"
        ) from None
    except Exception as error:  # scipy raises whatever a broken file leads to
        raise FormatError(path, f"the .mat file cannot be read: {error}") from None
    arrays = {k: v for k, v in arrays.items() if not k.startswith("__")}
    arrays = {
        k: v.toarray() if scipy.sparse.issparse(v) else v for k, v in arrays.items()
    }
    return matrix_of_arrays(arrays, path, key)


def read_mtx(path: Path) -> Named:
    """Read a Matrix Market file as a dense matrix."""
    try:
        n_rows, n_columns, *_ = scipy.io.mminfo(path)
        require_memory(
            8 * n_rows * n_columns, f"the matrix in {path}", "Take fewer items."
        )
        matrix = scipy.io.mmread(path)
    except (MemoryError, FileNotFoundError):
        raise
    except Exception as error:  # scipy raises whatever a broken file leads to
        raise FormatError(
            path, f"the Matrix Market file cannot be read: {error}"
        ) from None
    return Named(
        np.asarray(matrix.toarray() if scipy.sparse.issparse(matrix) else matrix)
    )
