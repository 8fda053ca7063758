"""One writer at a time: a lock that says whose it is, and that the dead do not keep."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from krein.store.owner import Owner

__all__ = ["LOCK", "StoreInUseError", "locked"]

LOCK = "lock.json"


class StoreInUseError(OSError):
    """Another run works in the same store."""


@contextmanager
def locked(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock of a folder, which is made if need be (and not left empty then).

    The system frees the lock of a process that has died. Where it cannot (another
    machine of which this one sees nothing), the error names the process and the file
    to remove.

    Parameters
    ----------
    folder : path-like
        What nobody else may write to.

    Raises
    ------
    StoreInUseError
        If another run holds the lock.
    """
    path = Path(folder) / LOCK
    is_new = not path.parent.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = _acquire(path)
    try:
        yield
    finally:
        if _is_at(handle, path):  # a folder that was removed may be another's by now
            with suppress(OSError):
                path.unlink()
        handle.close()
        if is_new:
            with suppress(OSError):
                path.parent.rmdir()


def _acquire(path: Path) -> IO[bytes]:
    while True:
        handle = open(path, "a+b")
        try:
            held = _system_lock(handle)
            if not _is_at(handle, path):
                handle.close()  # removed by its owner in the meantime
                continue
            handle.seek(0)
            _refuse_living(path, _read_owner(handle.read()), held)
            handle.truncate(0)
            handle.write(json.dumps(Owner.this_process().facts()).encode())
            handle.flush()
        except BaseException:
            handle.close()
            raise
        return handle


def _refuse_living(path: Path, owner: Owner | None, held: bool | None) -> None:
    """Raise unless the lock is free: the system says so, or its owner is dead."""
    if held and (owner is None or owner.boot == Owner.this_process().boot):
        return  # the locks of one system are to be believed
    alive = None if owner is None else owner.is_alive()
    if held is not False and (alive is False or owner is None):
        return
    who = "another process" if owner is None else f"process {owner.pid} on {owner.host}"
    hint = "" if held is False or alive else f"; if it is no more, remove {path}"
    raise StoreInUseError(
        f"{who} is working in {path.parent}: wait for it or choose another place{hint}"
    )


def _system_lock(handle: IO[bytes]) -> bool | None:
    """Whether the system gave the lock; None where it has no such locks."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_at(handle: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except OSError:
        return False


def _read_owner(content: bytes) -> Owner | None:
    try:
        return Owner.from_facts(json.loads(content))
    except ValueError:
        return None
