"""Work on one matrix is done once, while several models are fitted on it.

Inside ``with shared_work():`` an eigendecomposition (and a matrix built from it) that
was computed before is used again, whichever estimator asks. Matrices are recognised
by a fingerprint of their contents, which costs O(n^2) against the O(n^3) saved; of a
matrix that cannot change it is made once in a block, for a search asks a hundred times.
Outside of the block nothing is kept. See docs/decisions/0014.
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
    """

    def __init__(self) -> None:
        self.saved = 0.0
        self._done: dict[Hashable, tuple[Any, float]] = {}
        # By number, with the array itself: so no other one gets its number.
        self._digests: dict[int, tuple[np.ndarray, str]] = {}

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

    def digest(self, array: np.ndarray) -> str:
        """Return the fingerprint of an array that cannot change."""
        if id(array) not in self._digests:
            self._digests[id(array)] = array, fingerprint(array)
        return self._digests[id(array)][1]


_ACTIVE: ContextVar[SharedWork | None] = ContextVar("active", default=None)


@contextmanager
def shared_work() -> Iterator[SharedWork]:
    """Keep what `once` computes until the block ends (this thread only)."""
    work = SharedWork()
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


def digest(array: Array | None) -> str:
    """Fingerprint of an array, for the key of `once`.

    One that owns its numbers and is read-only is looked at once inside of
    `shared_work`; any other may have been changed since.
    """
    work = _ACTIVE.get()
    if work is None or array is None or array.base is not None:
        return fingerprint(array)
    return fingerprint(array) if array.flags.writeable else work.digest(array)
