"""How a table of hits is packed, separated and titled; its text in whole lines."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from krein.formats.cells import is_number
from krein.formats.hit_lines import Layout, data_lines, split_line
from krein.formats.named import FormatError
from krein.optional import import_optional

__all__ = ["find_layout", "open_table", "whole_lines"]

_BLOCK = 1 << 21  # bytes that fit into the caches of a processor
_LONGEST_LINE = 1 << 26
_GZIP, _ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_MARK = b"\xef\xbb\xbf"

# BLAST -outfmt 6, MMseqs2 and Foldseek by default.
_TWELVE = (
    "query", "target", "identity", "length", "mismatches", "gaps", "qstart", "qend",
    "tstart", "tend", "evalue", "bitscore",
)  # fmt: skip
_TITLES = {
    "query": ("query", "qseqid", "qaccver", "query acc.ver", "query id", "source"),
    "target": (
        "target", "sseqid", "saccver", "subject", "subject acc.ver", "subject id",
    ),
    "bitscore": ("bitscore", "bits", "bit score", "score"),
    "evalue": ("evalue", "e-value", "eval"),
    "identity": ("identity", "pident", "fident", "% identity", "pid"),
}  # fmt: skip


def open_table(path: Path) -> IO[bytes]:
    """Open a file; how it is packed is seen from its first bytes."""
    with open(path, "rb") as handle:
        magic = handle.read(4)
    if magic.startswith(_GZIP):
        return gzip.open(path, "rb")  # type: ignore[return-value]
    if magic == _ZSTANDARD:
        return _Unpacked(path)  # type: ignore[return-value]
    return open(path, "rb")


class _Unpacked:
    """A file packed by Zstandard: frames, one after the other, each of them whole.

    The readers of the package `zstandard` end a cut file without a word.
    """

    def __init__(self, path: Path) -> None:
        self._file, self._frame = open(path, "rb"), _new_frame()
        self._started = False

    def __enter__(self) -> _Unpacked:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """Some text, not just `size` bytes of it; nothing at the end."""
        while packed := self._file.read(max(1, size >> 3)):
            text = b"".join(self._texts(packed))
            if text:
                return text
        if self._started:
            raise EOFError("the last frame is cut off")
        return b""

    def _texts(self, packed: bytes) -> Iterator[bytes]:
        while packed:
            try:
                yield self._frame.decompress(packed)
            except Exception as error:  # ZstdError, of one package or the other
                raise OSError(str(error)) from None
            self._started, packed = not self._frame.eof, b""
            if self._frame.eof:
                packed, self._frame = self._frame.unused_data, _new_frame()


def _new_frame() -> Any:
    """Return what unpacks one frame, of Python 3.14 or of the package."""
    try:
        return import_module("compression.zstd").ZstdDecompressor()
    except ImportError:
        package = import_optional(
            "zstandard", extra="hits", needed_for="reading a file packed by Zstandard"
        )
        return package.ZstdDecompressor().decompressobj()


def whole_lines(
    handle: IO[bytes], path: Path, skip: int = 0
) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, text) in blocks that end with a line."""
    line, rest = 1, b""
    try:
        while True:
            read = handle.read(_BLOCK)
            if not read:
                break
            text = rest + read
            cut = text.rfind(b"\n") + 1
            text, rest = text[:cut], text[cut:]
            if len(rest) > _LONGEST_LINE:
                raise FormatError(path, "a line is too long for a table", line=line)
            if line == 1 and text:
                text, line = _after(text, skip)
            if text:
                yield line, text
                line += text.count(b"\n")
    except (EOFError, OSError, zlib.error) as error:
        raise FormatError(
            path, f"the file cannot be unpacked ({error}); is it complete?"
        ) from None
    if rest:
        text, line = _after(rest + b"\n", skip) if line == 1 else (rest + b"\n", line)
        if text:
            yield line, text


def _after(text: bytes, skip: int) -> tuple[bytes, int]:
    """Text behind the first `skip` lines, and the number of its first line."""
    text = text.removeprefix(_MARK)
    for _ in range(skip):
        text = text[text.index(b"\n") + 1 :]
    return text, skip + 1


def find_layout(
    handle: IO[bytes],
    path: Path,
    score: str | int,
    columns: Sequence[str] | None,
    further: tuple[str, ...],
) -> tuple[Layout, int]:
    """Look at the head of a table; say how it is laid out and how long its head is."""
    line, text = next(whole_lines(handle, path), (1, b""))
    lines = data_lines(text, path, line)
    if not lines:
        raise FormatError(path, "there are no hits in the file")
    number, first = lines[0]
    separator = next((mark for mark in "\t,;" if mark in first), " ")
    fields = split_line(first, separator)
    titles = list(columns) if columns is not None else _commented(text)
    skip = 0
    if columns is None and not any(is_number(field) for field in fields):
        titles, skip = fields, number
    if titles is not None and len(titles) != len(fields):
        raise FormatError(
            path,
            f"has {len(fields)} fields for {len(titles)} titles of columns",
            line=number,
        )
    if titles is None:
        titles = _untitled(len(fields), score, path, number)
    place = _Columns([title.strip().lower() for title in titles], path)
    numbers = (place.score(score), *(place.named(title) for title in further))
    query, target = place.named("query"), place.named("target")
    return Layout(separator, len(fields), query, target, numbers), skip


def _commented(text: bytes) -> list[str] | None:
    """Titles in a comment, as BLAST -outfmt 7 writes them."""
    start = text.find(b"# Fields:")
    if start < 0:
        return None
    end = text.find(b"\n", start)
    listed = text[start + len(b"# Fields:") : end].decode(errors="replace")
    return [title.strip() for title in listed.split(",")]


def _untitled(width: int, score: str | int, path: Path, line: int) -> list[str]:
    if width == len(_TWELVE):
        return list(_TWELVE)
    if width >= 3 and (width == 3 or not isinstance(score, str)):
        rest = [f"column {k}" for k in range(4, width + 1)]
        return ["query", "target", "bitscore", *rest]
    raise FormatError(
        path,
        f"has {width} fields and no title line; expected 3 (query, target, score) or "
        "the 12 of BLAST. Name them: columns=['query', 'target', ...]",
        line=line,
    )


class _Columns:
    """Finds columns by title."""

    def __init__(self, titles: list[str], path: Path) -> None:
        self.titles, self.path = titles, path

    def find(self, title: str) -> int | None:
        """Position of a title, or of another word for it."""
        for word in (title, *_TITLES.get(title, ())):
            if word in self.titles:
                return self.titles.index(word)
        return None

    def named(self, title: str) -> int:
        """Position of a title, or a FormatError."""
        found = self.find(title)
        if found is None:
            raise FormatError(
                self.path,
                f"has no column {title!r}; its columns are {', '.join(self.titles)}",
            )
        return found

    def score(self, score: str | int) -> int:
        """Position of the score: a number counted from 1, or a title."""
        if isinstance(score, str):
            title = score.strip().lower()
            known = next((k for k, words in _TITLES.items() if title in words), title)
            if known == "evalue":
                raise ValueError(
                    "score='evalue' is no similarity: small values are good ones. "
                    "Take score='bitscore', and cut with max_evalue="
                )
            if known == "bitscore" and len(self.titles) == 3:
                return 2 if self.find(known) is None else self.named(known)
            exact = title in self.titles
            return self.titles.index(title) if exact else self.named(known)
        if isinstance(score, bool) or not 1 <= score <= len(self.titles):
            raise ValueError(
                f"score={score!r} must be a title or the number of a column from 1 to "
                f"{len(self.titles)}"
            )
        return int(score) - 1
