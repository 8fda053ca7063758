"""How many threads of BLAS are used: one for what is small.

Every fit, search, comparison, prediction and decomposition enters `threads_for` with
the size of its matrices. Below `ONE_THREAD_BELOW` BLAS runs on one thread until the
outermost block ends, above it on as many as the user allows. Jobs that run side by side
(``n_jobs``) are called by `in_job`, so that jobs times threads is at most the number of
cores.

Only fewer threads are ever asked for, never more: environment variables such as
``OPENBLAS_NUM_THREADS`` and a ``threadpoolctl.threadpool_limits`` around a call hold.

How the size was chosen: by ``python benchmarks/threads.py sizes``, which alternates one
and two threads in one process and keeps the repetitions that nothing else disturbed.
At 2000 items the eigendecomposition and all fits but one take 0.61 to 0.72 of their
time with two threads. At 1000 the eigendecomposition alone takes 0.71 and a search
1.5, because threads of OpenBLAS wait for each other by spinning: many short products
take twice the processor time of one thread for hardly less time on the clock, and
several times its time where something else keeps a core busy. The SVM with a c.p.d.
kernel and the squared hinge is made of nothing else: two threads take 3.3 times as long
at 2000 items and 2.1 times at 3000 and 6000, so that it runs on one at any size.

Most libraries have one number of threads for the whole process. So blocks in several
threads of Python share one record: the smallest limit holds, and the last block to end
restores what was there before the first one. A block inside of another one that asks
for nothing less costs two microseconds, the outermost one about ten.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from math import sqrt
from typing import Any, ParamSpec, TypeVar

from joblib import cpu_count, effective_n_jobs
from threadpoolctl import LibController, ThreadpoolController

# Rows of a square matrix that is decomposed, or of one of as many entries.
ONE_THREAD_BELOW = 2000  # items

P = ParamSpec("P")
T = TypeVar("T")


class _Libraries:
    """The BLAS libraries that are loaded.

    Attributes
    ----------
    of_process : list of LibController
        Those that have one number of threads for the whole process.
    of_thread : list of LibController
        Those that have one for each thread of Python.
    """

    def __init__(self) -> None:
        self.of_process: list[LibController] = []
        self.of_thread: list[LibController] = []
        self._modules = 0

    def look(self) -> None:
        """Look for libraries, which takes up to 15 ms, if something was imported.

        A library comes with a Python module.
        """
        if len(sys.modules) == self._modules:
            return
        self._modules = len(sys.modules)
        found = ThreadpoolController().select(user_api="blas").lib_controllers
        self.of_process = [one for one in found if not _is_openmp(one)]
        self.of_thread = [one for one in found if _is_openmp(one)]


def _is_openmp(library: LibController) -> bool:
    """OpenMP keeps the number of threads for each thread that calls it."""
    return getattr(library, "threading_layer", None) == "openmp"


def _set(library: LibController, n_threads: int) -> None:
    """Set the number of threads, whichever thread of Python has set it before.

    Since version 3.8 threadpoolctl lets only the first thread that sets a number
    change it. Here another one may have to restore it.
    """
    release = getattr(library, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)
    library.set_num_threads(n_threads)
    if release is not None:
        release()


class _Limits:
    """Limits in force, and what they have changed.

    Parameters
    ----------
    libraries : callable
        Returns the libraries that are to be limited.
    """

    def __init__(self, libraries: Callable[[], list[LibController]]) -> None:
        self.libraries = libraries
        self.lock = threading.RLock()  # a signal handler may fit a model
        self.limits: list[int] = []  # one per block that has not ended
        # By library: how many threads it had, and how many it was given.
        self.changed: dict[str, tuple[int, int]] = {}

    def begin(self, limit: int) -> None:
        """Begin a block that uses at most so many threads."""
        with self.lock:
            lowest = min(self.limits, default=sys.maxsize)
            self.limits.append(limit)
            if limit < lowest:
                self._apply()

    def end(self, limit: int) -> None:
        """End a block that was begun with this limit."""
        with self.lock:
            self.limits.remove(limit)
            if limit < min(self.limits, default=sys.maxsize):
                self._apply()

    def _apply(self) -> None:
        """Give each library the lowest limit, or what it had if there is no limit."""
        lowest = min(self.limits, default=sys.maxsize)
        _LIBRARIES.look()
        for library in self.libraries():
            now = library.num_threads
            if now is None:  # a library that cannot be told
                continue
            before, given = self.changed.pop(library.filepath, (now, now))
            if now != given:  # somebody else has set it since: that holds
                before = now
            wanted = min(before, lowest)
            if wanted != now:
                _set(library, wanted)
            if wanted != before:
                self.changed[library.filepath] = (before, wanted)


class _LimitsOfThread(threading.local):
    """Limits that each thread of Python has for itself."""

    def __init__(self) -> None:
        self.own = _Limits(lambda: _LIBRARIES.of_thread)


_LIBRARIES = _Libraries()
_LIMITS = _Limits(lambda: _LIBRARIES.of_process)
_LIMITS_OF_THREAD = _LimitsOfThread()


def _new_lock() -> None:
    """In a forked process no other thread is left that could release the lock."""
    _LIMITS.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


class at_most:  # noqa: N801  a function in use; a generator would cost as much again
    """Use at most so many threads of BLAS inside of the block.

    Parameters
    ----------
    limit : int
        Number of threads.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __enter__(self) -> None:
        _LIMITS.begin(self.limit)
        _LIMITS_OF_THREAD.own.begin(self.limit)

    def __exit__(self, *raised: object) -> None:
        _LIMITS_OF_THREAD.own.end(self.limit)
        _LIMITS.end(self.limit)


def threads_for(
    rows: int, columns: int | None = None
) -> AbstractContextManager[object]:
    """Use the threads of BLAS that pay for matrices of this shape inside of the block.

    Parameters
    ----------
    rows : int
        Number of items; of new items in a prediction.
    columns : int, optional
        As many as there are rows by default.
    """
    size = rows if columns is None else sqrt(rows * columns)
    return at_most(1) if size < ONE_THREAD_BELOW else nullcontext()


def threads_by_size(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function of items or of a matrix: its rows say what threads pay.

    Parameters
    ----------
    function : callable
        ``function(X, ...)``.
    """

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> T:
        first = next(iter((*args, *kwargs.values())), None)
        with threads_for(rows_of(first)):
            return function(*args, **kwargs)

    return limited


def rows_of(X: Any) -> int:
    """Return the number of items; 0 for what has none, or does not know it."""
    shape = getattr(X, "shape", None)
    try:
        return int(shape[0]) if shape is not None else len(X)
    except (TypeError, ValueError, IndexError):  # a number, a dask array, ...
        return 0


# ------------------------------------------------------------------ jobs side by side


def threads_of_job(n_jobs: int | None, rows: int) -> int | None:
    """Return the limit of each job when `n_jobs` of them run side by side.

    Parameters
    ----------
    n_jobs : int or None
        As joblib takes it.
    rows : int
        Number of items a job works on.

    Returns
    -------
    int or None
        None where nothing need be limited: one job after the other on a large matrix.
    """
    if rows < ONE_THREAD_BELOW:
        return 1
    jobs = effective_n_jobs(n_jobs)
    return None if jobs == 1 else max(1, cpu_count() // jobs)


def in_job(
    limit: int | None, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call a function with at most so many threads; what a worker is sent.

    Parameters
    ----------
    limit : int or None
        From `threads_of_job`.
    function : callable
        What the job does.
    *args, **kwargs
        What it takes.
    """
    with nullcontext() if limit is None else at_most(limit):
        return function(*args, **kwargs)
