"""Clients of dask.distributed: start one, hand out work, and wait for it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from krein.optional import import_optional

__all__ = ["as_client", "gathered", "local", "map_in_order", "workers"]

_IN_FLIGHT = 4  # tasks a worker has waiting, at most
_FIRST_LOOK, _LAST_LOOK = 0.001, 0.05  # seconds between looks for tasks that ended
_ASK_EVERY = 1.0  # seconds; asking the scheduler for its workers costs milliseconds
NO_WORKER_SECONDS = 120.0  # longer than dask takes to replace a worker
# Of a cluster that nobody watches: what dask measures of itself, many times a second.
_UNWATCHED = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.cycle": "10s",
    "distributed.admin.system-monitor.interval": "5s",
}


@contextlib.contextmanager
def local(n_workers: int | None = None) -> Iterator[Any]:
    """Yield a client of an own cluster of processes, one a core unless told."""
    distributed = _distributed()
    dask = import_optional("dask", extra="dask", needed_for="a cluster")
    with dask.config.set(_UNWATCHED):  # it is read at the start, for workers too
        cluster = distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
        )
    with cluster, distributed.Client(cluster) as client:
        yield client


def _distributed() -> Any:
    return import_optional(
        "distributed", extra="dask", needed_for="training on several workers"
    )


@contextlib.contextmanager
def as_client(client: Any) -> Iterator[Any]:
    """Yield a running client; for ``"local"`` one of an own cluster, closed later."""
    distributed = _distributed()
    if isinstance(client, str):
        if client != "local":
            raise ValueError(
                f"client must be a dask.distributed.Client or 'local', got {client!r}"
            )
        with local() as own:
            yield own
        return
    if not isinstance(client, distributed.Client):
        raise TypeError(
            "client must be a dask.distributed.Client or 'local', got "
            f"{type(client).__name__}"
        )
    if client.status != "running":
        raise ValueError(
            f"client is {client.status}, not running: connect a new "
            "dask.distributed.Client; complete tiles in the store are used again"
        )
    yield client


def gathered(client: Any, futures: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield (future, result) as they come; failures name the work they belong to.

    `futures` has the name of each one's work, and may grow meanwhile.
    """
    distributed = _distributed()
    try:
        for future in _completed(client, futures):
            try:
                yield future, future.result()
            except distributed.KilledWorker as error:
                raise RuntimeError(
                    f"{futures[future]} ended {error.allowed_failures + 1} workers in "
                    "a row: it probably needs more memory than a worker has, or the "
                    "kernel crashes on these items. Complete tiles stay in the store"
                ) from error
            except ImportError as error:
                raise ImportError(
                    f"a worker that computed {futures[future]} lacks a package: "
                    f"{error}. Install it on all workers"
                ) from error
            except distributed.client.FutureCancelledError as error:
                raise RuntimeError(
                    f"{futures[future]} was cancelled: the client was closed or lost "
                    "its scheduler. Complete tiles stay in the store; run the same "
                    "call again"
                ) from error
    finally:
        with contextlib.suppress(Exception):
            client.cancel(list(futures))


def _completed(client: Any, futures: dict[Any, Any]) -> Iterator[Any]:
    """Futures as they end; an error when no worker is left that could end them.

    A worker that cannot be started again, e.g. for want of memory, is given up by
    dask without a word, and its futures would be waited for without end.
    """
    coming, known = _distributed().as_completed(list(futures)), len(futures)
    last_seen = last_asked = time.monotonic()
    pause = _FIRST_LOOK  # short tasks are met soon, long ones are not asked for often
    while len(futures) > known or not coming.is_empty():
        if len(futures) > known:
            coming.update(list(futures)[known:])
            known = len(futures)
        if coming.has_ready():
            yield next(coming)
            last_seen = last_asked = time.monotonic()
            pause = _FIRST_LOOK
            continue
        time.sleep(pause)
        pause = min(2.0 * pause, _LAST_LOOK)
        if time.monotonic() - last_asked < min(_ASK_EVERY, 0.5 * NO_WORKER_SECONDS):
            continue
        last_asked = time.monotonic()
        if client.status != "running" or client.scheduler_info(n_workers=1)["workers"]:
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > NO_WORKER_SECONDS:
            open_work = [name for future, name in futures.items() if not future.done()]
            raise RuntimeError(
                f"the cluster has had no workers for {NO_WORKER_SECONDS:g} seconds; "
                f"{open_work[0]} and {len(open_work) - 1} more were not done. "
                "Complete tiles stay in the store; start workers and run the same "
                "call again"
            )


def workers(client: Any) -> list[str]:
    """Addresses of the workers; there must be some."""
    found = list(client.scheduler_info(n_workers=-1)["workers"])
    if not found:
        raise ValueError("client has no workers; start some before training")
    return found


def map_in_order(
    client: Any, function: Callable[..., Any], arguments: Iterator[tuple[Any, ...]]
) -> Iterator[Any]:
    """Yield ``function(*arguments)`` in order, few tasks ahead of the reader."""
    ahead = _IN_FLIGHT * len(workers(client))
    waiting: list[Any] = []
    for number, given in enumerate(arguments):
        waiting.append((number, client.submit(function, *given, pure=False)))
        if len(waiting) >= ahead:
            yield _first(client, waiting)
    while waiting:
        yield _first(client, waiting)


def _first(client: Any, waiting: list[Any]) -> Any:
    number, future = waiting.pop(0)
    return next(gathered(client, {future: f"part {number} of the items"}))[1]
