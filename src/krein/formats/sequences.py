"""Sequences: FASTA, and plain text with one string per line."""

from __future__ import annotations

from pathlib import Path

from krein.formats.named import FormatError, Named, unique_names
from krein.formats.text import text_lines

__all__ = ["read_fasta", "read_lines"]


def read_fasta(path: Path) -> Named:
    """Read names (the first word of a title) and sequences."""
    names: list[str] = []
    starts: list[int] = []
    parts: list[list[str]] = []
    for line, text in text_lines(path, weight=2):
        if text.startswith(">"):
            words = text[1:].split(maxsplit=1)
            if not words:
                raise FormatError(path, "a sequence has no name", line=line)
            _check_length(parts, names, path, starts)
            names.append(words[0])
            starts.append(line)
            parts.append([])
        elif text.strip() and not text.startswith(";"):
            if not parts:
                raise FormatError(
                    path, "expected '>' and a name before the first sequence", line=line
                )
            letters = "".join(text.split())
            bad = [
                k for k, c in enumerate(letters, 1) if not (c.isalpha() or c in "*-.")
            ]
            if bad:
                raise FormatError(
                    path,
                    f"{letters[bad[0] - 1]!r} is not a letter of a sequence",
                    line=line,
                    column=bad[0],
                )
            parts[-1].append(letters)
    if not parts:
        raise FormatError(path, "there are no sequences in the file")
    _check_length(parts, names, path, starts)
    sequences = ["".join(part) for part in parts]
    return Named(sequences, unique_names(names, path, starts))


def _check_length(
    parts: list[list[str]], names: list[str], path: Path, starts: list[int]
) -> None:
    if parts and not parts[-1]:
        raise FormatError(
            path,
            f"the sequence {names[-1]!r} is empty; is the file complete?",
            line=starts[-1],
        )


def read_lines(path: Path) -> Named:
    """Read one string per line."""
    strings = []
    for line, text in text_lines(path):
        if not text.strip():
            raise FormatError(path, "the line is empty; expected a string", line=line)
        strings.append(text.strip())
    if not strings:
        raise FormatError(path, "the file is empty; expected one string per line")
    return Named(strings)
