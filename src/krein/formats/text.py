"""Text, line by line: only regular files, packed or not, within the memory allowed."""

from __future__ import annotations

import gzip
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from krein.formats.named import FormatError, TooLargeError
from krein.matrices.memory import available_memory

__all__ = ["file_head", "readable", "text_lines"]

_LINE_OVERHEAD = 64  # bytes of a Python string beside its characters
_GZIP = b"\x1f\x8b"


@contextmanager
def readable(path: str | os.PathLike) -> Iterator[Path]:
    """Give a regular file to read; ``-`` is standard input, kept in a temporary one.

    Devices and pipes are refused: they may never end, and cannot be looked at twice.
    """
    if str(path) == "-":
        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder) / "stdin"
            with open(kept, "xb") as handle:
                shutil.copyfileobj(sys.stdin.buffer, handle)
            try:
                yield kept
            except FormatError as error:
                place = {"line": error.line, "column": error.column}
                kind = type(error)
                raise kind("standard input", error.problem, **place) from None
        return
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} is not a file: there is nothing of this name")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is not a file but a folder")
    if not stat.S_ISREG(path.stat().st_mode):
        raise FormatError(
            path, "is not a file but a device or a pipe; pass - for standard input"
        )
    yield path


def _open(path: Path) -> IO[bytes]:
    with open(path, "rb") as handle:
        packed = handle.read(2) == _GZIP
    return gzip.open(path, "rb") if packed else open(path, "rb")  # type: ignore[return-value]


def file_head(path: Path, size: int = 4096) -> bytes:
    """Return the first bytes, unpacked; what cannot be unpacked is an error later."""
    with open(path, "rb") as raw:
        start = raw.read(2)
    try:
        with _open(path) as handle:
            return handle.read(size)
    except (EOFError, OSError, zlib.error):
        return start


def text_lines(path: str | os.PathLike, weight: int = 1) -> Iterator[tuple[int, str]]:
    """Yield line numbers, as an editor counts them, and lines without their ends.

    `weight` is how many bytes the caller makes of a byte of text: more than the memory
    that may be used is refused.
    """
    path = Path(path)
    limit = available_memory()
    used, number = 0, 0
    with _open(path) as handle:
        try:
            while line := handle.readline(-1 if limit is None else limit + 1):
                number += 1
                used += weight * len(line) + _LINE_OVERHEAD
                if limit is not None and used > limit:
                    raise TooLargeError(
                        path,
                        f"holds more text than the {limit / 1e6:.3g} MB of memory that "
                        "may be used; split it or raise KREIN_MEMORY_LIMIT",
                    )
                yield number, _decode(line, number, path).rstrip("\r\n")
        except (EOFError, OSError, zlib.error) as error:
            raise FormatError(
                path, f"the file cannot be unpacked ({error}); is it complete?"
            ) from None


def _decode(line: bytes, number: int, path: Path) -> str:
    if number == 1 and line[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise FormatError(path, "this is UTF-16 text; save it as UTF-8", line=1)
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise FormatError(
            path, "this is not UTF-8 text; save it as UTF-8", line=number
        ) from None
