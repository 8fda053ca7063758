"""Work on one matrix is done once, while several models are fitted on it.

Inside ``with shared_work():`` an eigendecomposition (and a matrix built from it) that
was computed before is used again, whichever estimator asks. Matrices that cannot change
are known by themselves, others by a fingerprint of their contents, which costs O(n^2)
against the O(n^3) saved.
Outside of the block nothing is kept. See docs/decisions/0014.
"""

from __future__ import annotations

import copyreg
import dis
import hashlib
import io
import sys
import sysconfig
import types
from collections.abc import Callable, Hashable, Iterator, Set
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from threading import Lock, RLock
from time import perf_counter
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any, TypeVar

import numpy as np

from krein.arrays import Array

_INSTALLED = tuple(sysconfig.get_paths()[k] for k in ("stdlib", "purelib", "platlib"))
# Open files and locks of a module say nothing about what its functions compute.
_LOCKS = (type(Lock()), type(RLock()))
_RESOURCES = (io.IOBase, *_LOCKS)
# Nor do these parts of a class.
_OF_EVERY_CLASS = set(
    "__dict__ __weakref__ __doc__ __module__ __qualname__ __annotations__ "
    "__annotate_func__ __annotations_cache__ __firstlineno__ __static_attributes__ "
    "__abstractmethods__ _abc_impl __dataclass_fields__ __dataclass_params__".split()
)
_OF_CODE = (
    "co_code co_names co_consts co_varnames co_freevars co_cellvars co_flags "
    "co_argcount co_posonlyargcount co_kwonlyargcount co_exceptiontable".split()
)
_SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)
# Subclasses may hold more than that, and count by what pickle would store.
_NUMBERS = (bool, int, float, complex, type(None))
_ARRAYS = (np.ndarray, np.memmap)


def checksum(data: Any) -> str:
    """Digest of bytes, or of the numbers of an array."""
    if isinstance(data, np.ndarray):
        data = np.ascontiguousarray(data).data
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def fingerprint(*parts: Any) -> str:
    """128-bit digest of contents: equal for equal values, whoever made them.

    Arrays count by type, shape and numbers, other objects by what pickle would store.
    Functions count by name, code, defaults, all that they enclose and the global
    variables that they read (open files and locks apart); modules, functions and
    classes of installed packages by name and version. State that changes while a
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
        If a part cannot be recognised again (an open file, a lock); the message names
        it.

    Examples
    --------
    >>> from krein.store.sharing import fingerprint
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
        self._inside: list[str] = []  # functions that lead to a value, for messages

    def _bytes(self, data: bytes | memoryview) -> None:
        data = memoryview(data)
        self.hash.update(b"%d:" % data.nbytes)
        self.hash.update(data)

    def add(self, value: Any) -> None:
        """Read a value of any kind."""
        kind = type(value)
        if kind in _NUMBERS:
            self._bytes(f"{kind.__name__} {value!r}".encode())
        elif kind is str:
            self._bytes(b"text " + value.encode("utf-8", "surrogatepass"))
        elif kind in (bytes, bytearray):
            self._bytes(b"bytes " + value)
        elif kind in _ARRAYS or isinstance(value, np.generic):
            self._array(np.asarray(value))
        elif isinstance(value, ModuleType | type | FunctionType):
            self._definition(value)
        elif id(value) in self._open:  # it leads back to itself
            self.add(["again", self._open.index(id(value))])
        else:
            self._open.append(id(value))
            self._container(value)
            self._open.pop()

    def _array(self, array: np.ndarray) -> None:
        if array.dtype.hasobject:
            self.add(["objects", array.shape, array.ravel().tolist()])
            return
        self._bytes(f"array {array.dtype!r} {array.shape}".encode())
        if array.size:
            self._bytes(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    def _container(self, value: Any) -> None:
        kind = type(value)
        if kind in (list, tuple):
            self._bytes(b"list %d" % len(value))
            for item in value:
                self.add(item)
        elif kind in (dict, MappingProxyType):
            self.add(["mapping", *((k, value[k]) for k in sorted(value, key=repr))])
        elif isinstance(value, Set):
            items = sorted(fingerprint(item) for item in value)
            self.add(["set", isinstance(value, set | frozenset) or kind, *items])
        elif kind is CodeType:
            self.add([getattr(value, part) for part in _OF_CODE])
        elif isinstance(value, property | cached_property | staticmethod | classmethod):
            names = ("fget", "fset", "fdel", "func", "__func__")
            self.add([kind, *(getattr(value, name, None) for name in names)])
        elif hasattr(value, "to_numpy") and hasattr(value, "shape"):
            axes = [list(getattr(value, axis, [])) for axis in ("columns", "index")]
            self.add(["frame", kind, axes, np.asarray(value)])
        elif hasattr(value, "tocsr"):  # SciPy's sparse matrices
            sparse = value.tocsr()
            self.add([kind, sparse.shape, sparse.data, sparse.indices, sparse.indptr])
        else:
            self._object(value)

    def _definition(self, value: Any) -> None:
        """Read a module, class or function, by version where it is installed."""
        name = value.__name__ if isinstance(value, ModuleType) else value.__module__
        module = sys.modules.get(str(name))
        self.add([type(value).__name__, str(name), getattr(value, "__qualname__", "")])
        if id(value) in self._read:
            return
        self._read[id(value)] = value
        if _is_installed(value, module):
            package = sys.modules[str(name).partition(".")[0]]
            self.add(str(getattr(package, "__version__", "")))
        elif isinstance(value, ModuleType):
            self.add(Path(str(value.__file__)).read_bytes())
        elif isinstance(value, type):
            self.add([type(value), value.__bases__, _own_attributes(value)])
        else:
            self._function(value)

    def _function(self, function: FunctionType) -> None:
        self.add([function.__code__, vars(function)])
        for name, content in _values_from_outside(function):
            self._inside.append(f"{name!r} of the function {function.__qualname__}")
            self.add(content)
            self._inside.pop()

    def _object(self, value: Any) -> None:
        """Read what pickle would store of an object."""
        kind = type(value)
        reduce = copyreg.dispatch_table.get(kind)
        try:
            state = reduce(value) if reduce else value.__reduce_ex__(4)
        except Exception as error:
            where = f"{self._inside[-1]}, " if self._inside else ""
            raise TypeError(
                f"{where}{value!r}, is a {kind.__module__}.{kind.__qualname__}, which "
                "cannot be recognised again: finished work in a store could be mixed "
                "with that of another kernel. Pass a krein.Kernel, or a function at "
                "the top of a module that does without it"
            ) from error
        if isinstance(state, str):  # a name
            names = ("__module__", "__wrapped__")
            state = [state, *(getattr(value, name, None) for name in names)]
        parts = [list(part) if isinstance(part, Iterator) else part for part in state]
        self.add(["object", kind, *parts])


def _own_attributes(cls: type) -> dict[str, Any]:
    """Return what a class defines itself, without what every class has."""
    return {
        name: value
        for name, value in vars(cls).items()
        if name not in _OF_EVERY_CLASS and not isinstance(value, _LOCKS + _SLOTS)
    }


def _is_installed(value: Any, module: ModuleType | None) -> bool:
    """Whether a definition belongs to Python, to krein or to an installed package."""
    if module is None or not _is_found_in(module, value):
        return False
    file = getattr(module, "__file__", None)
    if module.__name__.partition(".")[0] == "krein" or file is None:
        return module.__name__ != "__main__"
    return file.startswith(_INSTALLED)


def _is_found_in(module: ModuleType, value: Any) -> bool:
    """Not local functions, and not those that bear the name of what they wrap."""
    name = getattr(value, "__qualname__", "")
    if not isinstance(value, FunctionType):
        return "<" not in name
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value


def _values_from_outside(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Defaults, enclosed variables, and global ones that the code reads."""
    yield "defaults", [function.__defaults__, function.__kwdefaults__]
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # not bound yet
            yield name, cell.cell_contents
    for name in sorted(_global_names(function.__code__) & function.__globals__.keys()):
        if not isinstance(function.__globals__[name], _RESOURCES):
            yield name, function.__globals__[name]


def _global_names(code: CodeType) -> set[str]:
    steps = dis.get_instructions(code)
    names = {step.argval for step in steps if step.opname == "LOAD_GLOBAL"}
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return names.union(*map(_global_names, inner))


T = TypeVar("T")


class SharedWork:
    """What was computed inside of one block, and the seconds that reuse saved.

    Attributes
    ----------
    saved : float
        Seconds that reused results took when they were computed; a fit that found
        its eigendecomposition made took its own time plus these.
    around : SharedWork or None
        That of the block around this one.
    """

    def __init__(self, around: SharedWork | None = None) -> None:
        self.around = around
        self.saved = 0.0
        self._done: dict[Hashable, tuple[Any, float]] = {}
        # Arrays that cannot change, by number: kept, so no other one gets it.
        self._fixed: dict[int, np.ndarray] = {}

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return ``compute()``, or what it returned before for this key."""
        if key in self._done:
            result, seconds = self._done[key]
            self.saved += seconds
            return result
        start = perf_counter()
        result = compute()
        if isinstance(result, np.ndarray):
            result.flags.writeable = False  # it has several readers now
        self._done[key] = (result, perf_counter() - start)
        return result

    def name(self, array: np.ndarray) -> str:
        """Return what tells an array that cannot change from others."""
        self._fixed[id(array)] = array
        return f"array {id(array)}"


_ACTIVE: ContextVar[SharedWork | None] = ContextVar("active", default=None)


@contextmanager
def shared_work() -> Iterator[SharedWork]:
    """Keep what `once` computes until the block ends (this thread only)."""
    work = SharedWork(_ACTIVE.get())
    token = _ACTIVE.set(work)
    try:
        yield work
    finally:
        _ACTIVE.reset(token)


def alone_clock() -> float:
    """Seconds; a difference is what the work takes where nothing is shared."""
    work = _ACTIVE.get()
    return perf_counter() + (0.0 if work is None else work.saved)


def is_sharing() -> bool:
    """True inside of `shared_work`."""
    return _ACTIVE.get() is not None


def once(key: Callable[[], Hashable], compute: Callable[[], T]) -> T:
    """Compute, or inside of `shared_work` reuse what was computed for the same key.

    Parameters
    ----------
    key : callable
        Makes the key; not called outside of `shared_work`.
    compute : callable
        Does the work; its result is shared and must not be changed.
    """
    work = _ACTIVE.get()
    return compute() if work is None else work.get(key(), compute)


def for_all_folds(key: Callable[[], Hashable], compute: Callable[[], T]) -> T:
    """Compute, or reuse what another block within the same block computed.

    Kept until the block around ends: for small results only. The key must be one of
    contents; see `once`.
    """
    work = _ACTIVE.get()
    if work is None or work.around is None:
        return compute()
    return work.around.get(key(), compute)


def digest(array: Array | None) -> str:
    """What tells an array from others, for the key of `once`.

    One that owns its numbers and is read-only is known by itself inside of
    `shared_work`, any other by its contents: it may have been changed since.
    """
    work = _ACTIVE.get()
    if work is None or array is None or can_change(array):
        return fingerprint(array)
    return work.name(array)


def can_change(array: Array) -> bool:
    """False for an array that owns its numbers and is read-only."""
    return array.base is not None or array.flags.writeable
