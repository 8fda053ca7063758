"""Write a file completely or not at all, and one run at a time in a folder.

A lock is one of the system, freed when its process dies. What a killed run was writing
stays beside its place, as ``.krein-*.tmp``, until the next run holds the lock.

`RecordStore` keeps finished work as small JSON files, each with its key and a checksum.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from krein.memory import size_in_words


def check_writable(path: str | os.PathLike, *, overwrite: bool = False) -> Path:
    """Return the path, or say why nothing can be written there.

    Parameters
    ----------
    path : path-like
        Where a file is going to be written.
    overwrite : bool
        Whether an existing file may be replaced.

    Returns
    -------
    Path
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected the name of a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"the folder {path.parent} does not exist; make it before writing "
            f"{path.name}"
        )
    if path.exists() and not overwrite:
        raise FileExistsError(
            f"{path} exists; remove it, choose another name, or overwrite it "
            "(overwrite=True, --force)"
        )
    return path


@contextmanager
def atomic_write(
    path: str | os.PathLike, *, overwrite: bool = False, text: bool = False
) -> Iterator[IO[Any]]:
    r"""Open a temporary file that becomes `path` when the block ends without error.

    The file is written next to its destination, forced to disk and renamed, so a
    reader sees the old file or the whole new one, also after a crash. A file that is
    replaced hands its permissions on; a symbolic link is followed: the file it points
    to is replaced, the link stays.

    Parameters
    ----------
    path : path-like
        Destination; its folder must exist.
    overwrite : bool
        Replace an existing file instead of raising FileExistsError.
    text : bool
        Open for text (UTF-8, newlines as given) instead of bytes.

    Yields
    ------
    file object

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from krein.store.files import atomic_write
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "names.txt"
    >>> with atomic_write(path, text=True) as handle:
    ...     _ = handle.write("one\n")
    >>> path.read_text()
    'one\n'
    >>> folder.cleanup()
    """
    path = check_writable(path, overwrite=overwrite)
    if path.is_symlink():
        path = check_writable(os.path.realpath(path), overwrite=overwrite)
    temporary = _temporary(path)
    as_text: dict[str, Any] = {"encoding": "utf-8", "newline": ""} if text else {}
    try:
        with open(temporary, "x" if text else "xb", **as_text) as handle:
            if path.exists():
                os.chmod(temporary, stat.S_IMODE(path.stat().st_mode))
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        check_writable(path, overwrite=overwrite)
        os.replace(temporary, path)
    except OSError as error:
        if error.filename is None and (error.errno or type(error) is OSError):
            why = error.strerror or f"{error}; is the disk full?"
            raise OSError(error.errno or errno.EIO, why, str(path)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def written_together(
    paths: Sequence[Path], *, overwrite: bool = False
) -> Iterator[list[Path]]:
    """Give a place beside each path; all become the paths at the end, or none does.

    For several outputs of one command: where the disk is full at the second, the first
    is not left behind.

    Parameters
    ----------
    paths : sequence of Path
        Destinations; their folders must exist.
    overwrite : bool
        Replace existing files.

    Yields
    ------
    list of Path
        Where to write. What is not written there is not created.
    """
    real = [_followed(path) for path in paths]
    if len(set(real)) < len(real):
        raise ValueError(
            f"one file is named twice among {[str(path) for path in paths]}; one each"
        )
    places = [_temporary(path) for path in real]
    try:
        yield places
        for path in real:
            check_writable(path, overwrite=overwrite)
        for place, path in zip(places, real, strict=True):
            if path.exists():
                os.chmod(place, stat.S_IMODE(path.stat().st_mode))
            os.replace(place, path)
    except OSError as error:
        shown = {
            str(place): str(path) for place, path in zip(places, paths, strict=True)
        }
        if error.filename in shown:
            raise type(error)(
                error.errno, error.strerror, shown[error.filename]
            ) from error
        raise
    finally:
        for place in places:
            place.unlink(missing_ok=True)


def _followed(path: Path) -> Path:
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def replace_file(path: Path, *content: bytes | memoryview) -> None:
    """Write a file whole, whoever else writes it; not forced to disk.

    For files that carry a checksum: one that a power cut has damaged is recognised.
    """
    temporary = _temporary(path)
    try:
        with open(temporary, "xb") as file:
            file.writelines(content)
        os.replace(temporary, path)
    except OSError as error:
        why = str(error.strerror or error)
        if error.errno in _DISK_FULL:
            why = f"{why}; {_free_space(path.parent)}"
        raise OSError(error.errno, why, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


# Windows knows no quotas.
_DISK_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


def _free_space(folder: Path) -> str:
    free = shutil.disk_usage(folder).free
    return f"{size_in_words(free)} are free there. What is complete stays"


def require_disk(folder: Path, n_bytes: float, what: str) -> None:
    """Raise OSError, before anything is written, if `n_bytes` will not fit.

    Parameters
    ----------
    folder : Path
        An existing folder on the disk in question.
    n_bytes : float
        What will be written.
    what : str
        What needs it, as the subject of the message.
    """
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise OSError(
            errno.ENOSPC,
            f"{what} needs up to {size_in_words(n_bytes)} on disk, and "
            f"{size_in_words(free)} are free: give a folder on a larger disk, or use "
            "fewer landmarks",
            str(folder),
        )


_TEMPORARY = ".krein-{}.tmp"


def _temporary(path: Path) -> Path:
    """A name beside `path`; short, however long that one is."""
    return path.with_name(_TEMPORARY.format(secrets.token_hex(8)))


# ------------------------------------------------------------------------------------
# Locks

# It stays in the folder: a lock file that is removed could be another run's by then.
LOCK = "lock"


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
    # A twentieth of the time that importing an estimator takes, which needs no lock.
    from filelock import FileLock, Timeout

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(folder / LOCK).acquire(blocking=False)
    except Timeout:
        raise StoreInUseError(
            f"another run is working in {folder}: wait for it or choose another place"
        ) from None
    with lock:
        # Nobody else writes here now: these are of runs that were killed.
        for left in folder.rglob(_TEMPORARY.format("*")):
            left.unlink(missing_ok=True)
        yield


class RecordStore:
    """Records in a folder: what is finished stays, what is damaged counts as missing.

    Any number of processes may read and write at the same time: a record is written
    whole, and two runs that compute the same piece write the same record.

    Parameters
    ----------
    folder : path-like
        Made if it does not exist.

    Examples
    --------
    >>> import tempfile
    >>> from krein.store.files import RecordStore
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = RecordStore(folder)
    ...     store.write("first", "what it was computed from", {"score": 0.5})
    ...     store.read("first", "something else") is None
    ...     store.read("first", "what it was computed from")
    True
    {'score': 0.5}
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, name: str) -> Path:
        """File of a record."""
        return self.folder / f"{name}.json"

    def read(self, name: str, key: str) -> dict[str, Any] | None:
        """Return the record, or None if it is missing, not whole, edited or another's.

        Parameters
        ----------
        name : str
            Which piece of work.
        key : str
            What it is computed from (see `krein.store.fingerprint`).
        """
        return read_record(self.path(name), key)

    def write(self, name: str, key: str, record: dict[str, Any]) -> None:
        """Keep a record of plain values."""
        content = {"key": key, "checksum": _sum(key, record), "record": record}
        replace_file(self.path(name), json.dumps(content).encode())


def read_record(path: Path, key: str | None = None) -> dict[str, Any] | None:
    """Return the record in a file if it is sound (and, with a key, of that key)."""
    try:
        content = json.loads(path.read_bytes())
        found = content["key"]
        record = content["record"]
        sound = content["checksum"] == _sum(found, record)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record if sound and key in (None, found) else None


def _sum(key: str, record: dict[str, Any]) -> str:
    text = json.dumps([key, record], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
