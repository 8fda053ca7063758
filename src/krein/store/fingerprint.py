"""Fingerprints of contents: whether finished work belongs to the same inputs."""

from __future__ import annotations

import copyreg
import hashlib
import io
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_INSTALLED = tuple(sysconfig.get_paths()[k] for k in ("stdlib", "purelib", "platlib"))
_PLAIN = (bool, int, float, complex, type(None), str, bytes)
# Open files and locks of a module say nothing about what its functions compute.
_RESOURCES = (io.IOBase, type(Lock()))


def fingerprint(*parts: Any) -> str:
    """128-bit digest of contents: equal for equal values, whoever made them.

    Arrays count by type, shape and numbers, other objects by what pickle would store.
    Functions count by name, code, defaults, all that they enclose, the global variables
    that they read (open files and locks apart) and the text of their module; what
    belongs to installed packages by name and version. State that changes while a
    kernel runs (a counter, a cache) makes it another kernel, unless its class leaves it
    out in ``__getstate__``.

    Parameters
    ----------
    *parts : object
        What the work depends on.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        If a part cannot be recognised again (an open file, a lock).

    Examples
    --------
    >>> from krein.store.fingerprint import fingerprint
    >>> fingerprint("tl1", [1.0, 2.0]) == fingerprint("tl1", (1.0, 2.0))
    True
    >>> fingerprint("tl1", [1.0, 2.0]) == fingerprint("tl1", [1.0, 3.0])
    False
    """
    digest = _Digest()
    digest.add(parts)
    return digest.hash.hexdigest()


class _Digest:
    """Reads values into a digest, each kind with a mark of its own."""

    def __init__(self) -> None:
        self.hash = hashlib.blake2b(digest_size=16)
        self._open: list[int] = []  # containers that are being read
        self._read: dict[int, Any] = {}  # definitions; kept, so that no id is reused

    def _bytes(self, data: bytes | memoryview) -> None:
        self.hash.update(b"%d:" % len(data))
        self.hash.update(data)

    def add(self, value: Any) -> None:
        """Read a value of any kind."""
        kind = type(value)
        if kind in _PLAIN:
            self._bytes(f"{kind.__name__} {value!r}".encode())
        elif kind in (np.ndarray, np.memmap) and not value.dtype.hasobject:
            self._bytes(f"array {value.dtype!r} {value.shape}".encode())
            if value.size:
                numbers = np.ascontiguousarray(value).reshape(-1)
                self._bytes(numbers.view(np.uint8).data)
        elif id(value) in self._open:  # it leads back to itself
            self.add(["again", self._open.index(id(value))])
        else:
            self._open.append(id(value))
            parts = value if kind in (list, tuple) else self._parts(value)
            self._bytes(b"list %d" % len(parts))
            for part in parts:
                self.add(part)
            self._open.pop()

    def _parts(self, value: Any) -> list[Any]:
        """What a value consists of."""
        kind = type(value)
        if kind is dict:
            return ["mapping", *((k, value[k]) for k in sorted(value, key=repr))]
        if kind in (set, frozenset):
            return ["set", *sorted(map(fingerprint, value))]
        if kind is np.ndarray:
            return ["objects", value.shape, value.ravel().tolist()]
        if kind is CodeType:
            return ["code", value.co_code, value.co_names, value.co_consts]
        if isinstance(value, FunctionType | type | ModuleType):
            return self._definition(value)
        if hasattr(value, "tocsr"):  # SciPy's sparse matrices
            rows = value.tocsr()
            return [kind, rows.shape, rows.data, rows.indices, rows.indptr]
        if hasattr(value, "to_numpy") and hasattr(value, "shape"):
            axes = [list(getattr(value, axis, [])) for axis in ("columns", "index")]
            return ["frame", kind, axes, np.asarray(value)]
        return ["object", kind, *_pickled(value)]

    def _definition(self, value: Any) -> list[Any]:
        """Return what a module, class or function counts by."""
        name = value.__name__ if isinstance(value, ModuleType) else value.__module__
        about = [type(value).__name__, name, getattr(value, "__qualname__", "")]
        if id(value) in self._read:
            return about
        self._read[id(value)] = value
        module = sys.modules.get(name)
        own, source = _source(module)
        found = getattr(module, about[-1], None) is value
        about.append(source)
        if isinstance(value, ModuleType) or (found and not own):
            return about
        if isinstance(value, FunctionType):
            return about + _read_by(value)
        about += value.__bases__
        for part in vars(value).values():
            part = getattr(part, "fget", part)  # of a property
            part = getattr(part, "__func__", part)  # of a class method
            if isinstance(part, (FunctionType, *_PLAIN)):
                about.append(part)
        return about


def _source(module: ModuleType | None) -> tuple[bool, str | bytes]:
    """Whether a module is a user's, and its text; the version of installed ones."""
    package = getattr(module, "__name__", "__main__").partition(".")[0]
    file = getattr(module, "__file__", None) or ""
    built_in = not file and package != "__main__"
    if package == "krein" or built_in or _is_installed(file):
        return False, str(getattr(sys.modules[package], "__version__", ""))
    return True, Path(file).read_bytes() if Path(file).is_file() else b""


def _is_installed(file: str) -> bool:
    """Whether a module belongs to Python or to an installed package.

    Packages also lie beside those of this environment: in the user's own folder, or
    in an environment that this one builds on.
    """
    folders = Path(file).parts
    packages = "site-packages" in folders or "dist-packages" in folders
    return packages or file.startswith(_INSTALLED)


def _read_by(function: FunctionType) -> list[Any]:
    """Code of a function, defaults, enclosed variables, and global ones it reads."""
    empty = CellType()
    cells = [c.cell_contents for c in function.__closure__ or () if c != empty]
    names = _names(function.__code__) & function.__globals__.keys()
    read = []
    for name in sorted(names):
        part = function.__globals__[name]
        if not isinstance(part, _RESOURCES):
            read.append((name, part))
    defaults = [function.__defaults__, function.__kwdefaults__]
    return [function.__code__, defaults, cells, read]


def _names(code: CodeType) -> set[str]:
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return {*code.co_names}.union(*map(_names, inner))


def _pickled(value: Any) -> list[Any]:
    """What pickle would store of an object."""
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        state = reduce(value) if reduce else value.__reduce_ex__(4)
    except Exception as error:
        raise TypeError(
            f"{error}: {value!r} cannot be recognised again, so that finished work "
            "could be mixed with that of another kernel. Pass a krein.Kernel, or a "
            "function at the top of a module that does without it"
        ) from error
    if isinstance(state, str):  # a name
        names = ("__module__", "__wrapped__")
        return [state, *(getattr(value, name, None) for name in names)]
    return [list(part) if isinstance(part, Iterator) else part for part in state]
