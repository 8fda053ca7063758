"""Which format a file has: by its content, else by its name."""

from __future__ import annotations

import re
from pathlib import Path

from krein.formats.cells import is_number, parse_count
from krein.formats.named import FormatError
from krein.formats.text import file_head

__all__ = ["ITEM_FORMATS", "MATRIX_FORMATS", "choose_format", "is_pair"]

MATRIX_FORMATS = {
    ".npy": "npy",
    ".npz": "npz",
    ".csv": "csv",
    ".tsv": "tsv",
    ".phy": "phylip",
    ".phylip": "phylip",
    ".dist": "phylip",
    ".mat": "mat",
    ".mtx": "mtx",
    ".m8": "pairs",
    ".blast": "pairs",
    ".b6": "pairs",
    ".pairs": "pairs",
}
ITEM_FORMATS = {
    ".fasta": "fasta",
    ".fa": "fasta",
    ".faa": "fasta",
    ".fna": "fasta",
    ".ts": "ts",
    ".tsv": "ucr",
    ".arff": "arff",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".svm": "libsvm",
    ".txt": "lines",
    ".csv": "csv",
    ".npy": "npy",
    ".npz": "npz",
}
_SIGNATURES = {
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"MATLAB 5.0 MAT-file": "mat",
    b"\x89HDF": "mat",
    b"%%MatrixMarket": "mtx",
    b">": "fasta",
}
_LIBSVM = re.compile(r"[+-]?[\d.]+(\s+(qid:\d+|\d+:[-+.\deE]+))+\s*(#.*)?", re.ASCII)
_KINDS = {"fasta": "strings", "ts": "series", "arff": "vectors", "libsvm": "vectors"}


def _by_content(path: Path) -> str | None:
    """Formats that cannot be taken for another one."""
    head = file_head(path)
    for signature, format in _SIGNATURES.items():
        if head.startswith(signature):
            return format
    text = head.decode("utf-8-sig", errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("#", "%"))]
    if len(head) == 4096:
        lines = lines[:-1]  # the last one is cut
    if not lines:
        return None
    if lines[0].startswith("@"):
        return "arff" if "@attribute" in text.lower() else "ts"
    if _LIBSVM.fullmatch(lines[0]):
        return "libsvm"
    if all(is_pair(line) for line in lines[:20]):
        return "pairs"
    return "phylip" if _is_phylip(lines) else None


def is_pair(line: str) -> bool:
    """Two names and a score, or the twelve columns of BLAST."""
    fields = line.split("\t") if "\t" in line else line.split()
    named = len(fields) > 2 and not is_number(fields[0]) and not is_number(fields[1])
    return (
        named
        and len(fields) in (3, 12)
        and all(is_number(field) for field in fields[2:])
    )


def _is_phylip(lines: list[str]) -> bool:
    if parse_count(lines[0]) is None or len(lines) < 2:
        return False
    name, *numbers = lines[1].split()
    return not is_number(name) and all(is_number(number) for number in numbers)


def choose_format(path: Path, format: str | None, *, matrix: bool) -> str:
    """Return the format as given, by content, or by suffix (before .gz).

    Raises
    ------
    FormatError
        If it is not known, or items were found where a matrix is expected.
    """
    known = MATRIX_FORMATS if matrix else ITEM_FORMATS
    if format is not None:
        if format not in known.values():
            raise ValueError(
                f"format must be one of {', '.join(sorted(set(known.values())))}, got "
                f"{format!r}"
            )
        return format
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    by_name = known.get(suffixes[-1] if suffixes else "")
    found = _by_content(path)
    if found is None or (found in ("pairs", "phylip") and not matrix):
        return by_name or _text_or_unknown(path, matrix)
    if found in known.values():
        return found
    if matrix:
        raise FormatError(path, _needs_kernel(found))
    raise FormatError(
        path, f"is a matrix ({found}), not items; leave the kernel out to read it"
    )


def _needs_kernel(found: str) -> str:
    from krein.kernels import KERNELS

    kind = _KINDS[found]
    fitting = [name for name, facts in KERNELS.items() if facts.input == kind]
    what = "sequences (FASTA)" if found == "fasta" else f"{kind} ({found})"
    return (
        f"holds {what}, not similarities; compare them by a kernel for {kind} "
        f"({', '.join(sorted(fitting))}): --kernel NAME on the command line, "
        "krein.read_items and kernel=NAME in Python"
    )


def _text_or_unknown(path: Path, matrix: bool) -> str:
    head = file_head(path)
    if b"\0" in head:
        names = ", ".join(sorted(set(MATRIX_FORMATS if matrix else ITEM_FORMATS)))
        raise FormatError(
            path, f"the format is not known by name or content; known are {names}"
        )
    words = re.split(r"[,;\s]+", head.decode("utf-8-sig", errors="replace"))
    if not matrix and not any(is_number(word) for word in words):
        return "lines"  # text without a number holds no vectors
    return "csv"
