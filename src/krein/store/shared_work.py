"""Results that several fits share, kept as long as a block lasts.

Inside ``with shared_work():`` an eigendecomposition (and a matrix built from it) that
was computed before is used again, whichever estimator asks. Matrices that cannot change
are known by themselves, others by a fingerprint of their contents, which costs O(n^2)
against the O(n^3) saved. Outside of the block nothing is kept. See docs/decisions/0014.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from krein.arrays import Array
from krein.store.fingerprint import fingerprint

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
    folds : bool
        Whether several searches on the same folds follow one another inside.
    """

    def __init__(self, around: SharedWork | None = None, folds: bool = False) -> None:
        self.around = around
        self.folds = folds
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
def shared_work(folds: bool = False) -> Iterator[SharedWork]:
    """Keep what `once` computes until the block ends (this thread only).

    With `folds` also what `for_all_folds` computes in the blocks of single folds.
    """
    work = SharedWork(_ACTIVE.get(), folds)
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
    """Compute, or reuse what another search computed on the same fold.

    Kept until the block around the searches ends: for small results only. The key must
    be one of contents; see `once`.
    """
    work = _ACTIVE.get()
    if work is None or work.around is None or not work.around.folds:
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
