"""Write a file completely or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from krein.store.owner import Owner

_LONG_AGO = 86400.0  # seconds; no file is being written that was not touched since
_LEFT = re.compile(r"\.krein-([0-9a-f]{8})-(\d+)-(\d*)-[0-9a-f]{8}\.tmp")


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
            f"{path} exists; remove it, choose another name or pass overwrite=True"
        )
    return path


@contextmanager
def atomic_write(
    path: str | os.PathLike,
    *,
    overwrite: bool = False,
    text: bool = False,
) -> Iterator[IO[Any]]:
    r"""Open a temporary file that becomes `path` when the block ends without error.

    The file is written next to its destination, forced to disk and renamed, so a
    reader sees the old file or the whole new one, also after a crash. What killed runs
    left in the folder is removed. A file that is replaced hands its permissions on; a
    symbolic link is followed: the file it points to is replaced, the link stays.

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
    sweep(path.parent)
    temporary = _temporary(path)
    options: dict[str, Any] = {"mode": "xb"}
    if text:
        options = {"mode": "x", "encoding": "utf-8", "newline": ""}
    try:
        with open(temporary, **options) as handle:
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


def replace_file(path: Path, content: bytes) -> None:
    """Write a small file whole, whoever else writes it; not forced to disk.

    For files that carry a checksum: one that a power cut has damaged is recognised.
    """
    temporary = _temporary(path)
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove temporary files that dead processes have left in a folder."""
    for entry in os.scandir(folder):
        found = _LEFT.fullmatch(entry.name)
        if found and _is_left(Path(entry.path), *found.groups()):
            Path(entry.path).unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    """A name beside `path` that tells whose it is; short, however long that one is."""
    me = Owner.this_process()
    mark = f"{me.place}-{me.pid}-{me.started}-{secrets.token_hex(4)}"
    return path.with_name(f".krein-{mark}.tmp")


def _is_left(path: Path, place: str, pid: str, started: str) -> bool:
    me = Owner.this_process()
    if place == me.place:
        return replace(me, pid=int(pid), started=started).is_alive() is False
    try:
        return time.time() - path.stat().st_mtime > _LONG_AGO
    except OSError:
        return False
