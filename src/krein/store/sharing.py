"""Work on one matrix is done once, while several models are fitted on it.

Inside ``with shared_work():`` an eigendecomposition (and a matrix built from it) that
was computed before is used again, whichever estimator asks. Matrices are recognised
by a fingerprint of their contents, which costs O(n^2) against the O(n^3) saved.
Outside of the block nothing is kept. See docs/decisions/0060.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

__all__ = ["SharedWork", "alone_clock", "is_sharing", "once", "shared_work"]

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
