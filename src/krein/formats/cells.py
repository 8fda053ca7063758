"""Fields of a text: how a line is cut, what is a number, a label, a name."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from krein.formats.named import FormatError

__all__ = [
    "MISSING",
    "Row",
    "as_labels",
    "cut",
    "is_number",
    "is_number_or_missing",
    "name_from_text",
    "name_to_text",
    "parse_count",
    "parse_number",
    "printable",
    "with_decimal_point",
]

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-"})
_NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)",
    re.ASCII | re.IGNORECASE,
)
_DECIMAL_COMMA = re.compile(r"([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)", re.ASCII)
_PLAIN = re.compile(r"[+-]?(0|[1-9]\d*)(\.\d*)?([eE][+-]?\d\d?)?", re.ASCII)
_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f]|\\(?=x(?:[01][0-9a-f]|7f|[89][0-9a-f]|5c))"
)
_ESCAPED = re.compile(r"\\x([01][0-9a-f]|7f|[89][0-9a-f]|5c)")
_FORMULA = re.compile(r"'*[=+\-@]")
_LONGEST_QUOTE = 1000  # lines


class Row(NamedTuple):
    """One line of a table: its number, its fields, and which of them were quoted."""

    line: int
    fields: list[str]
    quoted: frozenset[int] = frozenset()

    def text(self, k: int) -> str:
        """Return a field; blanks around it count only inside quotes."""
        return self.fields[k] if k in self.quoted else self.fields[k].strip()

    def texts(self) -> list[str]:
        """Return all fields."""
        return [self.text(k) for k in range(len(self.fields))]


_QUOTED = r'[ ]*"([^"]*(?:""[^"]*)*)"'
_OPEN = re.compile(r'[ ]*"[^"]*(?:""[^"]*)*$')
_PATTERNS = {
    mark: re.compile(rf'(?:{_QUOTED}[ ]*|(?![ ]*")([^{mark}]*))([{mark}]|$)')
    for mark in "\t;,|"
} | {" ": re.compile(rf'(?:{_QUOTED}|\s*(?!")(\S+))(\s+|$)')}


def cut(
    lines: Iterator[tuple[int, str]], separator: str, path: str | os.PathLike
) -> Iterator[Row]:
    """Cut lines into fields; a quoted field may go on over several lines."""
    for line, text in lines:
        if '"' not in text:
            yield Row(line, text.split(None if separator == " " else separator))
            continue
        fields = _quoted_fields(text, separator, line, path)
        parts = [text]
        while fields is None:
            following = next(lines, None)
            if following is None or len(parts) > _LONGEST_QUOTE:
                raise FormatError(path, "a quote is opened and not closed", line=line)
            parts.append(following[1])
            if '"' in following[1]:
                fields = _quoted_fields("\n".join(parts), separator, line, path)
        yield Row(line, *fields)


def _quoted_fields(
    text: str, separator: str, line: int, path: str | os.PathLike
) -> tuple[list[str], frozenset[int]] | None:
    """Cut a text with quotes in it; None when one is still open at its end."""
    fields: list[str] = []
    quoted = set()
    position, end = 0, separator
    while end and not (separator == " " and position == len(text)):
        match = _PATTERNS[separator].match(text, position)
        if match is None:
            if _OPEN.match(text, position):
                return None
            raise FormatError(
                path, "text behind a closing quote", line=line, column=len(fields) + 1
            )
        inside, plain, end = match.groups()
        if inside is not None:
            quoted.add(len(fields))
        fields.append(plain if inside is None else inside.replace('""', '"'))
        position = match.end()
    return fields, frozenset(quoted)


def is_number(text: str) -> bool:
    """Whether a field reads as a number; ``1_0`` and other scripts' digits do not."""
    return _NUMBER.fullmatch(text.strip()) is not None


def is_number_or_missing(text: str) -> bool:
    """Whether a field can stand in a matrix: a number (with a comma), or nothing."""
    word = text.strip()
    return word.lower() in MISSING or is_number(with_decimal_point(word))


def with_decimal_point(text: str) -> str:
    """Return ``1,5`` as ``1.5``; anything else as it is."""
    match = _DECIMAL_COMMA.fullmatch(text) if "," in text else None
    return text if match is None else f"{match[1]}.{match[2]}"


def parse_number(
    text: str, path: str | os.PathLike, line: int, column: int | None = None
) -> float:
    """Read a finite number, or say where there is none."""
    word = text.strip()
    if not is_number(word):
        found = repr(word) if word else "nothing"
        raise FormatError(
            path, f"expected a number, got {found}", line=line, column=column
        )
    value = float(word)
    if not math.isfinite(value):
        raise FormatError(
            path, f"expected a finite number, got {word!r}", line=line, column=column
        )
    return value


def parse_count(text: str) -> int | None:
    """Read an integer from 1 on, or None."""
    word = text.strip()
    # More digits than a file can have items, or digits of other scripts, are no count.
    if not (word.isascii() and word.isdigit() and len(word) < 16):
        return None
    return int(word) or None


def as_labels(labels: Sequence[str]) -> np.ndarray:
    """Integers where all labels are, exactly and without merging any; text otherwise.

    ``007`` and ``1_0`` are text; so are ``1`` and ``1.0`` where both occur.
    """
    text = np.array(labels, dtype=np.str_)
    if not all(_PLAIN.fullmatch(label) for label in labels):
        return text
    values = {label: Decimal(label) for label in set(labels)}
    if not all(abs(v) < 2**63 and v == v.to_integral_value() for v in values.values()):
        return text
    numbers = {label: int(value) for label, value in values.items()}
    if len(set(numbers.values())) < len(numbers) or "-0" in numbers:
        return text
    return np.array([numbers[label] for label in labels], dtype=np.int64)


def printable(text: str) -> str:
    r"""Return the text with control characters as ``\x1b``, safe on a terminal."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def name_to_text(name: str) -> str:
    r"""Return a name as it is written: no control characters, nothing a formula.

    What a spreadsheet would compute (``=1+1``, ``@SUM``) gets a ``'`` in front;
    `name_from_text` takes it off again. Plain numbers are left alone.
    """
    text = printable(name)
    bare = text.lstrip("'")
    return f"'{text}" if _FORMULA.match(text) and not is_number(bare) else text


def name_from_text(text: str) -> str:
    """Return the name that `name_to_text` wrote."""
    bare = text.lstrip("'")
    if text[:1] == "'" and _FORMULA.match(bare) and not is_number(bare):
        text = text[1:]
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
