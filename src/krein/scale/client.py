"""Clients of dask.distributed: find or start one, hand out work, and wait for it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from typing import Any

from krein.threads import in_job
from krein.words import import_optional

_IN_FLIGHT = 4  # tasks a worker has waiting, at most
_ASK_EVERY = 1.0  # seconds; asking the scheduler for its workers costs milliseconds
NO_WORKER_SECONDS = 120.0  # longer than dask takes to replace a worker


def _distributed() -> Any:
    return import_optional("distributed", extra="dask", needed_for="a cluster")


@contextlib.contextmanager
def as_client(client: Any) -> Iterator[Any]:
    """Yield a running client; for None the current one, or None if there is none.

    For ``"local"`` it is the client of an own cluster, which is closed afterwards.
    """
    if client is None:
        yield _current()
    elif isinstance(client, str) and client == "local":
        with _distributed().Client(threads_per_worker=1, dashboard_address=":0") as own:
            yield own
    elif not isinstance(client, _distributed().Client):
        raise TypeError(
            f"client must be a dask.distributed.Client or 'local', got {client!r}"
        )
    elif client.status != "running":
        raise ValueError(f"client is {client.status}, not running: connect a new one")
    else:
        with client.as_current():  # for whatever asks dask to compute
            yield client


def _current() -> Any:
    """The client that dask itself would use; None where nobody has made one."""
    if "distributed" in sys.modules:
        with contextlib.suppress(ValueError):
            return _distributed().get_client()
    return None


def require_workers(client: Any) -> None:
    """Refuse a cluster without workers, which would be waited for."""
    if client is not None and not _workers(client):
        raise ValueError("client has no workers; start some before training")


@contextlib.contextmanager
def explained_loss(client: Any, what_stays: str) -> Iterator[None]:
    """Say what to do where the scheduler is lost, instead of dask's own error.

    Parameters
    ----------
    client : dask.distributed.Client or None
        Whose scheduler it is.
    what_stays : str
        A sentence about the work that is done already.
    """
    if client is None:
        yield
        return
    from distributed.comm import CommClosedError

    try:
        yield
    except (CancelledError, CommClosedError) as error:
        raise RuntimeError(
            "the scheduler of the cluster was lost, or has cancelled the work "
            f"({type(error).__name__}). {what_stays}"
        ) from error


def computed_by(client: Any) -> Callable[[list[Any]], list[Any]] | None:
    """How lazy objects are computed on the workers of a client; None without one."""
    if client is None:
        return None

    def compute(lazy: list[Any]) -> list[Any]:
        futures = client.compute(lazy)  # all of them are begun
        return [next(gathered(client, {one: "computing rows of X"})) for one in futures]

    return compute


def gathered(client: Any, futures: dict[Any, str]) -> Iterator[Any]:
    """Yield results as they come; failures name the work they belong to.

    `futures` has the name of each one's work.
    """
    try:
        for future in _completed(client, futures):
            try:
                yield future.result()
            except _distributed().KilledWorker as error:
                raise RuntimeError(
                    f"{futures[future]} ended {error.allowed_failures + 1} workers in "
                    "a row: it probably needs more memory than a worker has, or the "
                    "kernel crashes on these items. Complete tiles stay in the store"
                ) from error
    finally:
        with contextlib.suppress(Exception):
            client.cancel(list(futures))


def _completed(client: Any, futures: dict[Any, str]) -> Iterator[Any]:
    """Futures as they end; an error when no worker is left that could end them.

    dask silently gives up a worker that it cannot start again, for example because
    memory is short, and would wait for its futures forever.
    """
    waiting = set(futures)
    last_seen = time.monotonic()
    while waiting:
        pause = min(_ASK_EVERY, 0.5 * NO_WORKER_SECONDS)
        try:
            done = _distributed().wait(waiting, pause, "FIRST_COMPLETED").done
        except TimeoutError:
            if client.status != "running" or _workers(client):
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > NO_WORKER_SECONDS:
                raise RuntimeError(
                    f"the cluster has had no workers for {NO_WORKER_SECONDS:g} "
                    f"seconds; {futures[waiting.pop()]} and {len(waiting)} more were "
                    "not done. Complete tiles stay in the store; start workers and "
                    "run the same call again"
                ) from None
            continue
        yield from done
        waiting -= done
        last_seen = time.monotonic()


def _workers(client: Any) -> list[str]:
    # Not scheduler_info: a callback of the client empties its answer now and then.
    return list(client.nthreads())


def map_in_order(
    client: Any,
    function: Callable[..., Any],
    common: Any,
    arguments: Iterable[tuple[str, Any]],
) -> Iterator[Any]:
    """Yield ``function(common, argument)`` in order, few tasks ahead of the reader.

    Parameters
    ----------
    client : dask.distributed.Client or None
        None: in this process.
    function : callable
        What to do.
    common : object
        What all tasks need; sent to a worker once.
    arguments : iterable of (str, object)
        What each task is called, and its argument.
    """
    if client is None:
        yield from (function(common, given) for _, given in arguments)
        return
    require_workers(client)
    ahead = _IN_FLIGHT * len(_workers(client))
    # A task, not scattered data: it is run again where a worker dies.
    sent = client.submit(_itself, common, pure=False)
    waiting: list[dict[Any, str]] = []
    for name, given in arguments:
        # Threads of a worker that each use all threads of BLAS get in each other's way.
        task = client.submit(in_job, 1, function, sent, given, pure=False)
        waiting.append({task: name})
        if len(waiting) >= ahead:
            yield next(gathered(client, waiting.pop(0)))
    for futures in waiting:
        yield next(gathered(client, futures))


def _itself(common: Any) -> Any:
    return common
