"""What readers return, and the fields of a text: numbers, labels, names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import numpy as np

from krein.files.text import Place

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-"})
# Of labels: "none", "-" and "Na" are classes. Quoted, a word is what it says.
MISSING_LABELS = frozenset(
    {"", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "<NA>", "#N/A", "?"}
)
SKIP = "leave such items out with --skip-unlabelled (skip_unlabelled=True)"
SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " "} | {c: c for c in "\t;,| "}
_NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)",
    re.ASCII | re.IGNORECASE,
)
_DECIMAL_COMMA = re.compile(r"([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)", re.ASCII)
_PLAIN = re.compile(r"[+-]?(0|[1-9]\d*)(\.\d*)?([eE][+-]?\d\d?)?", re.ASCII)
_CODE = r"x([01][0-9a-f]|7f|[89][0-9a-f]|5c)"
_CONTROL = re.compile(rf"[\x00-\x1f\x7f-\x9f]|\\(?={_CODE})")
_ESCAPED = re.compile(rf"\\{_CODE}")
_FORMULA = re.compile(r"'*[=+\-@]")
_LONGEST_QUOTE = 1000  # lines


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


class How(NamedTuple):
    """What a caller says about a file.

    Attributes
    ----------
    separator : str or None
        One character, None to find it.
    key : str or None
        Name of the array among several.
    missing : float or "error"
        Score of pairs that are not listed.
    """

    separator: str | None = None
    key: str | None = None
    missing: float | Literal["error"] = 0.0


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


def check_names(names: Sequence[str] | None, n: int, what: str) -> list[str] | None:
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


def called(names: list[str] | None, k: int) -> str:
    """Row and column as people count them, with the name where there is one."""
    return f"{k + 1}" if names is None else f"{k + 1} ({names[k]!r})"


class Row(NamedTuple):
    """One line of a table: where it is, its fields, and which of them were quoted."""

    place: Place
    fields: list[str]
    quoted: frozenset[int] = frozenset()

    def text(self, k: int) -> str:
        """Return a field; blanks around it count only inside quotes."""
        return self.fields[k] if k in self.quoted else self.fields[k].strip()

    def texts(self) -> list[str]:
        """Return all fields."""
        return [self.text(k) for k in range(len(self.fields))]

    def name(self, k: int) -> str:
        """Return a field as the name or label that was written there."""
        return name_from_text(self.text(k))

    def number(self, k: int, comma: bool = False) -> float:
        """Read a finite number, or say where there is none."""
        return parse_number(self.text(k), self.place, k + 1, comma)

    def lacks_label(self, k: int) -> bool:
        """Whether a field is no label; quoted words are labels, whatever they say."""
        text = self.text(k)
        return not text if k in self.quoted else text in MISSING_LABELS


_QUOTED = r'[ ]*"([^"]*(?:""[^"]*)*)"'
_OPEN = re.compile(r'[ ]*"[^"]*(?:""[^"]*)*$')
_PATTERNS = {
    mark: re.compile(rf'(?:{_QUOTED}[ ]*|(?![ ]*")([^{mark}]*))([{mark}]|$)')
    for mark in "\t;,|"
} | {" ": re.compile(rf'(?:{_QUOTED}|\s*(?!")(\S+))(\s+|$)')}


def cut(lines: Iterator[tuple[Place, str]], separator: str) -> Iterator[Row]:
    """Cut lines into fields; a quoted field may go on over several lines."""
    for place, text in lines:
        if '"' not in text:
            yield Row(place, text.split(None if separator == " " else separator))
            continue
        row = _quoted_fields(text, separator, place)
        parts = [text]
        while row is None:
            _, following = next(lines, (None, None))
            if following is None or len(parts) > _LONGEST_QUOTE:
                raise place.error("a quote is opened and not closed")
            parts.append(following)
            if '"' in following:
                row = _quoted_fields("\n".join(parts), separator, place)
        yield row


def _quoted_fields(text: str, separator: str, place: Place) -> Row | None:
    """Cut a text with quotes in it; None when one is still open at its end."""
    fields: list[str] = []
    quoted = set()
    position, end = 0, separator
    while end and not (separator == " " and position == len(text)):
        match = _PATTERNS[separator].match(text, position)
        if match is None:
            if _OPEN.match(text, position):
                return None
            raise place.error("text behind a closing quote", len(fields) + 1)
        inside, plain, end = match.groups()
        if inside is not None:
            quoted.add(len(fields))
        fields.append(plain if inside is None else inside.replace('""', '"'))
        position = match.end()
    return Row(place, fields, frozenset(quoted))


def as_separator(separator: str | None) -> str | None:
    """Return the character that a user means, or None to find it by content."""
    if separator is None:
        return None
    if separator not in SEPARATORS:
        raise ValueError(
            f"separator must be ',', ';', '|', 'tab' or 'space', got {separator!r}"
        )
    return SEPARATORS[separator]


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
    text: str, place: Place, column: int | None = None, comma: bool = False
) -> float:
    """Read a finite number, with a decimal comma if there are such; or say where."""
    word = text.strip()
    number = with_decimal_point(word) if comma else word
    if not is_number(number):
        got = repr(word) if word else "nothing"
        raise place.error(f"expected a number, got {got}", column)
    value = float(number)
    if not math.isfinite(value):
        raise place.error(f"expected a finite number, got {word!r}", column)
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


def missing_labels(labels: np.ndarray) -> np.ndarray:
    """Return which labels of an array are missing: NaN, or the words for it."""
    if labels.dtype.kind == "f":
        return np.isnan(labels)
    return np.isin(labels, list(MISSING_LABELS))


def name_to_text(name: str) -> str:
    r"""Return a name as it is written: no control characters, nothing a formula.

    What a spreadsheet would compute (``=1+1``, ``@SUM``) gets a ``'`` in front;
    `name_from_text` takes it off again. Plain numbers are left alone.
    """
    text = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", name)
    bare = text.lstrip("'")
    return f"'{text}" if _FORMULA.match(text) and not is_number(bare) else text


def name_from_text(text: str) -> str:
    """Return the name that `name_to_text` wrote."""
    bare = text.lstrip("'")
    if text[:1] == "'" and _FORMULA.match(bare) and not is_number(bare):
        text = text[1:]
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
