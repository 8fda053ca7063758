"""Write a file completely or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["atomic_write", "check_writable"]


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
    reader sees the old file or the whole new one, also after a crash.

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
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    options: dict[str, Any] = {"mode": "xb"}
    if text:
        options = {"mode": "x", "encoding": "utf-8", "newline": ""}
    try:
        with open(temporary, **options) as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        check_writable(path, overwrite=overwrite)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
