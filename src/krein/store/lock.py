"""One writer at a time: a lock of the system, which frees it when a process dies."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

# Both stay in the folder: a lock file that is removed could be another run's by then.
LOCK, HOLDER = "lock", "lock.holder"


class StoreInUseError(OSError):
    """Another run works in the same store."""


@contextmanager
def locked(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock of a folder, which is made if it does not exist.

    Parameters
    ----------
    folder : path-like
        What nobody else may write to.

    Raises
    ------
    StoreInUseError
        If another run holds the lock.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(folder / LOCK).acquire(blocking=False)
    except Timeout:
        raise StoreInUseError(
            f"{_holder(folder)} is working in {folder}: wait for it or choose another "
            "place"
        ) from None
    with lock:
        text = f"process {os.getpid()} on {socket.gethostname()}"
        (folder / HOLDER).write_text(text, encoding="utf-8")
        yield


def _holder(folder: Path) -> str:
    try:
        return (folder / HOLDER).read_text(encoding="utf-8") or "another process"
    except (OSError, UnicodeError):
        return "another process"
