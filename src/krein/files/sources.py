"""What readers return and raise; files opened, unpacked and cut into lines."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np

from krein.files.foreign import foreign_kind
from krein.memory import available_memory, require_memory
from krein.words import printable

HEAD_SIZE = 4096  # bytes by which a format is recognised
_BLOCK = 1 << 20  # bytes that fit into the caches of a processor
_LINE_OVERHEAD = 64  # bytes of a Python string beside its characters
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
# First bytes of a packed file, and the module of Python that unpacks it. A Python may
# have been built without the last two, so they are imported on use.
_PACKERS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zX": "lzma"}
PACKED_SUFFIXES = (".gz", ".bz2", ".xz")
_NEWLINE = ord("\n")
_LAYERS = 3  # an archive of a workbook, or of UTF-16 text
_MARK = b"\xef\xbb\xbf"
_TOO_MUCH = (
    "holds more text than the {:.3g} MB of memory that may be used; split it or raise "
    "KREIN_MEMORY_LIMIT"
)


class FormatError(ValueError):
    """A file is not what it should be; the message names file, line and column.

    Parameters
    ----------
    path : path-like
        The file.
    problem : str
        What was found, what was expected, what to do.
    line, column : int, optional
        Counted from 1; a column is a field, not a character.

    Examples
    --------
    >>> from krein import FormatError
    >>> str(FormatError("K.csv", "expected a number, got 'x'", line=2, column=3))
    "K.csv, line 2, column 3: expected a number, got 'x'"
    """

    def __init__(
        self,
        path: str | os.PathLike,
        problem: str,
        *,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.path = Path(path)
        self.line = line
        self.column = column
        self.problem = printable(problem)
        place = printable(str(path))
        place += "" if line is None else f", line {line}"
        place += "" if column is None else f", column {column}"
        super().__init__(f"{place}: {self.problem}")

    def in_file(self, path: str | os.PathLike, more: str = "") -> FormatError:
        """Return the same error about another file, or with a hint at its end."""
        problem = self.problem + more
        return type(self)(path, problem, line=self.line, column=self.column)

    def __reduce__(self) -> tuple:
        """Pickle with the keyword arguments, for errors in worker processes."""
        rebuild = partial(type(self), line=self.line, column=self.column)
        return rebuild, (self.path, self.problem)


class Place(NamedTuple):
    """A line of a file, for errors about it."""

    path: Path
    line: int | None = None

    def error(self, problem: str, column: int | None = None) -> FormatError:
        """Return an error about this line, and a field counted from 1."""
        return FormatError(self.path, problem, line=self.line, column=column)


Line = tuple[Place, str]


class TooLargeError(FormatError, MemoryError):
    """What a file holds does not fit into the memory that may be used."""


def require_room(n_bytes: float, path: str | os.PathLike, instead: str) -> None:
    """Refuse, before anything is allocated, what will not fit into memory."""
    try:
        require_memory(n_bytes, "what it holds", instead)
    except MemoryError as error:
        raise TooLargeError(path, str(error)) from None


@dataclass(frozen=True)
class Named:
    """Data of a file with the names that came with it.

    Attributes
    ----------
    data : ndarray or list
        A matrix, a list of items, or an array of labels.
    names : list of str or None
        Name of each row or item.
    columns : list of str or None
        Names of the columns where they differ from `names`: new items against
        training items, or features.
    target : ndarray or None
        Labels that stand in the same file.
    notes : list of str
        What was recognised, filled in or left out, a sentence each.
    alerts : dict of str
        What may be wrong, a sentence each: "diagonal-filled", "missing-filled",
        "names-ignored", "order-unchecked".
    labelled : ndarray of int or None
        Positions of the items that have a label, where some have none.
    by_name : bool
        Whether labels were found by the names of the items, so that their order is
        right.
    names_from : str or None
        Title of the column of a table that the names come from.

    Examples
    --------
    >>> from krein import Named
    >>> Named(["ACGT", "ACGA"], names=["first", "second"]).names
    ['first', 'second']
    """

    data: Any
    names: list[str] | None = None
    columns: list[str] | None = None
    target: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    alerts: dict[str, str] = field(default_factory=dict)
    labelled: np.ndarray | None = None
    by_name: bool = False
    names_from: str | None = None


class How(NamedTuple):
    """What a caller says about a file.

    Attributes
    ----------
    separator : str or None
        One character, None to find it.
    key : str or None
        Name of the array among several.
    missing : float, "error" or "distance"
        Score of pairs that are not listed; "distance": none may be absent, and items
        are at 0 from themselves.
    column, label_column, id_column : str or None
        Titles of the columns of items, of labels and of names.
    drop : tuple of str
        Titles of columns that are left out.
    numbers : tuple of str
        Titles of columns that hold numbers, whatever else stands in them.
    skip_unlabelled : bool
        Whether rows without a label are left out.
    mixed : bool
        Whether items may hold text, and entries may be missing.
    apart : bool
        Whether the rows of a matrix are other items than the columns.
    """

    separator: str | None = None
    key: str | None = None
    missing: float | Literal["error", "distance"] = 0.0
    column: str | None = None
    label_column: str | None = None
    id_column: str | None = None
    drop: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    skip_unlabelled: bool = False
    mixed: bool = False
    apart: bool = False


Names = list[str] | None


def unique_names(names: Sequence[str], places: Sequence[Place]) -> list[str]:
    """Return the names, or say which one stands there twice."""
    seen: dict[str, Place] = {}
    for name, place in zip(names, places, strict=True):
        if name in seen:
            line = seen[name].line
            before = f" (first in line {line})" if line else ""
            raise place.error(f"the name {name!r} is duplicated{before}")
        seen[name] = place
    return list(names)


def check_names(names: Sequence[str] | None, n: int, what: str) -> Names:
    """Return n different names as text, or None where there are none."""
    if names is None:
        return None
    names = [str(name) for name in names]
    if len(names) != n:
        raise ValueError(f"{what} has {len(names)} entries for {n} rows or columns")
    if len(set(names)) < n:
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{what} holds {twice!r} twice; names must be unique")
    for name in names:
        text = name.encode(errors="ignore").decode()
        if not name.strip() or "\0" in name or name != text:
            raise ValueError(f"{what} holds {name!r}, which cannot be a name in a file")
    return names


def called(names: Names, k: int) -> str:
    """Row and column as people count them, with the name where there is one."""
    return f"{k + 1}" if names is None else f"{k + 1} ({names[k]!r})"


@contextmanager
def readable(path: str | os.PathLike) -> Iterator[Path]:
    """Give a file of numbers or items to read, as `regular_file`.

    What readers do not take as it is (an archive, a workbook) is written anew in a
    temporary folder.
    """
    with regular_file(path) as file:
        shown = "standard input" if str(path) == "-" else path
        with _plain(file, shown) as plain:
            yield plain


@contextmanager
def regular_file(path: str | os.PathLike) -> Iterator[Path]:
    """Give a regular file; ``-`` is standard input, kept in a temporary one.

    Devices and pipes are refused: they may never end, and cannot be looked at twice.
    """
    if str(path) == "-":
        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder) / "stdin"
            with open(kept, "xb") as handle:
                shutil.copyfileobj(sys.stdin.buffer, handle)
            yield kept
        return
    path = Path(path)
    shown = printable(str(path))
    if not path.exists():
        raise FileNotFoundError(f"{shown} is not a file: there is nothing of this name")
    if path.is_dir():
        raise IsADirectoryError(f"{shown} is not a file but a folder")
    if not path.is_file():
        raise FormatError(path, "is a device or a pipe; pass - for standard input")
    yield path


@contextmanager
def _plain(path: Path, shown: str | os.PathLike) -> Iterator[Path]:
    """Give the file, or a plain one made of it; errors are about the one shown."""
    with ExitStack() as stack:
        file = path
        for _ in range(_LAYERS):
            with open(file, "rb") as raw:
                kind = foreign_kind(file, raw.read(8))
            if kind is None:
                break
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            try:
                file = kind.rewrite(file, folder)
            except MemoryError as error:
                raise TooLargeError(shown, str(error)) from None
            except (ValueError, OSError, RuntimeError, zipfile.BadZipFile) as error:
                raise FormatError(shown, str(error)) from None
        try:
            yield file
        except FormatError as error:
            if file == Path(shown):
                raise
            raise error.in_file(shown) from None


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file; how it is packed is seen from its first bytes."""
    with open(path, "rb") as raw:
        magic = raw.read(4)
        raw.seek(0)
        if magic == _ZSTANDARD:
            raise FormatError(path, "is packed by Zstandard; unpack it first (zstd -d)")
        handle, damaged = _unpacking(raw, magic, path)
        try:
            while block := handle.read(_BLOCK):
                yield block
        except (EOFError, OSError, zlib.error, damaged) as error:
            raise FormatError(
                path, f"cannot be unpacked ({error}); is it complete?"
            ) from None


def _unpacking(
    raw: IO[bytes], magic: bytes, path: Path
) -> tuple[IO[bytes], type[Exception]]:
    """Return the plain content, and what its packer raises on damaged data."""
    for start, name in _PACKERS.items():
        if magic.startswith(start):
            try:
                packer = importlib.import_module(name)
            except ImportError:
                raise FormatError(
                    path,
                    f"is packed by {name}, which this Python was built without; "
                    "unpack it first",
                ) from None
            return packer.open(raw), getattr(packer, "LZMAError", OSError)
    return raw, OSError


def file_head(path: Path, size: int = HEAD_SIZE) -> bytes:
    """Return the first bytes, unpacked; what cannot be unpacked is an error later."""
    try:
        return next(_blocks(path), b"")[:size]
    except FormatError:
        with open(path, "rb") as raw:
            return raw.read(2)


def whole_lines(
    path: Path, longest: float, end: bytes = b"\n"
) -> Iterator[tuple[Place, bytes]]:
    """Yield blocks of text that end with a line, and where they begin.

    The next block starts behind the last `end` in a block.
    """
    line = 1
    pieces = [b""]
    for number, block in enumerate(_blocks(path)):
        pieces.append(block if number else block.removeprefix(_MARK))
        if end in block:
            text = b"".join(pieces)
            stop = text.rindex(end) + 1
            yield Place(path, line), text[:stop]
            # Much faster than bytes.count where lines are short.
            ends = np.frombuffer(text, np.uint8, stop) == _NEWLINE
            line += int(np.count_nonzero(ends))
            pieces = [text[stop:]]
        if sum(map(len, pieces)) > longest:
            raise TooLargeError(path, _TOO_MUCH.format(longest / 1e6), line=line)
    if text := b"".join(pieces):
        yield Place(path, line), text + b"\n"


def text_lines(path: Path, weight: int = 1) -> Iterator[Line]:
    """Yield places, counted as an editor does, and lines without their ends.

    `weight` is how many bytes the caller makes of a byte of text: more than the memory
    that may be used is refused.
    """
    limit = available_memory() or 1 << 62
    used = 0
    for first, block in whole_lines(path, limit):
        for place, text in decoded(block, first):
            used += weight * len(text) + _LINE_OVERHEAD
            if used > limit:
                raise TooLargeError(path, _TOO_MUCH.format(limit / 1e6))
            yield place, text


def without_comments(lines: Iterable[Line], mark: str) -> Iterator[Line]:
    """Yield the lines that are neither empty nor begin with one of the marks."""
    return (line for line in lines if line[1].strip() and line[1][0] not in mark)


def decoded(block: bytes, first: Place) -> Iterator[Line]:
    """Yield the lines of a block as text, up to the first that is none."""
    if first.line == 1 and block[:2] in (b"\xff\xfe", b"\xfe\xff"):  # inside gzip
        raise first.error("this is UTF-16 text; save it as UTF-8")
    for number, raw in enumerate(block.split(b"\n")[:-1], start=first.line or 1):
        place = Place(first.path, number)
        try:
            yield place, raw.decode().rstrip("\r")
        except UnicodeDecodeError:
            raise place.error("this is not UTF-8 text; save it as UTF-8") from None
