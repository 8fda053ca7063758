"""Threads of linear algebra, limited where more of them wait for each other."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # looking for them takes 15 ms


def blas_threads(limit: int | None) -> AbstractContextManager[object]:
    """Use at most so many threads of BLAS inside of the block; None: as they are.

    Passes over tiles of a few hundred columns are many short products. On two cores
    two threads take twice the processor time of one and no less time, and much more
    of both when something else runs beside them.

    Parameters
    ----------
    limit : int or None
        Number of threads.
    """
    if limit is None:
        return nullcontext()
    return _libraries().limit(limits=limit, user_api="blas")
