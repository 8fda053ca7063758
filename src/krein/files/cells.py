"""Rows of a table as text, and their fields: numbers, labels, names."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from krein.files.sources import FormatError, Place, TooLargeError, file_head, text_lines
from krein.memory import available_memory
from krein.words import did_you_mean

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
SAMPLE = 100  # lines by which the separator is found
# Of pandas and others, and of QIIME 2: sampleid, sample-id, sample id, ...
NAME_TITLES = {"", "name", "names", "id", "item", "items", "index", "unnamed: 0"} | {
    f"{what}{mark}{end}"
    for what in ("sample", "feature", "otu")
    for mark in ("", " ", "-", "_")
    for end in ("id", "name")
}
_LONGEST_QUOTE = 1000  # lines
_BYTES_A_ROW = 200  # of a row apart from its fields
# A first line for Excel, which names the separator.
_SAYS_SEPARATOR = re.compile(rb"(?:\xef\xbb\xbf)?sep=([\t;,|])\r?\n", re.IGNORECASE)


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

    def names(self) -> list[str]:
        """Return all fields as names."""
        return [self.name(k) for k in range(len(self.fields))]

    def number(self, k: int, comma: bool = False) -> float:
        """Read a finite number, or say where there is none."""
        return parse_number(self.text(k), self.place, k + 1, comma)

    def lacks_label(self, k: int) -> bool:
        """Whether a field is no label; quoted words are labels, whatever they say."""
        text = self.text(k)
        if k in self.quoted:
            return not text
        return text in MISSING_LABELS


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
    position = 0
    end = separator  # of the last field
    while end and not (separator == " " and position == len(text)):
        match = _PATTERNS[separator].match(text, position)
        if match is None:
            if _OPEN.match(text, position):
                return None
            raise place.error("text behind a closing quote", len(fields) + 1)
        inside, plain, end = match.groups()
        if inside is None:
            fields.append(plain)
        else:
            quoted.add(len(fields))
            fields.append(inside.replace('""', '"'))
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


def find_separator(
    path: Path, candidates: str = "\t;, ", *, numbers: bool = True, otherwise: str = ","
) -> str:
    """Return the separator that cuts the first lines most evenly.

    Of equally even cuts the one with most numbers among its fields is taken; titles
    and names, which may hold blanks, are no evidence. The suffix .tsv says it. Where
    fields may be text (not `numbers`), blanks separate them only if the suffix does not
    say commas and the header has as many words as the lines below.
    """
    said = _SAYS_SEPARATOR.match(file_head(path, 16))
    if said:
        return said[1].decode("latin-1")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if ".tsv" in suffixes[-2:] and b"\t" in file_head(path):
        return "\t"
    lines = islice(text_lines(path), SAMPLE)
    sample = [(n, text) for n, text in lines if text.strip() and text[0] != "#"]
    if not numbers and (".csv" in suffixes[-2:] or not _same_words(sample)):
        candidates = candidates.replace(" ", "")
    scores = {mark: _evenness(sample, mark, numbers) for mark in candidates}
    best = max(scores, key=scores.__getitem__)
    return best if scores[best] > 0 else otherwise


def _same_words(sample: list[tuple[Place, str]]) -> bool:
    """Whether all lines have as many words as the first."""
    return len({len(text.split()) for _, text in sample}) == 1


def _evenness(sample: list[tuple[Place, str]], mark: str, numbers: bool) -> float:
    """Share of lines with the commonest number of fields, plus the share of numbers."""
    try:
        rows = list(cut(iter(sample), mark))
    except FormatError:
        return 0.0
    below = rows[1:] or rows  # a header may be shorter or longer than what follows
    widths = Counter(len(row.fields) for row in below)
    width, count = widths.most_common(1)[0] if widths else (0, 0)
    if width < 2 or 2 * count < len(rows) - 1:
        return 0.0
    score = count / max(1, len(rows) - 1)
    if numbers:
        # Decimal commas, and what is missing, are no evidence for commas.
        is_right = is_number if mark == "," else is_number_or_missing
        first = 1 if width > 2 else 0  # a field before it may be a name
        n_fields = 0
        n_right = 0
        for row in below:
            fields = row.fields[first:]
            n_fields += len(fields)
            n_right += sum(map(is_right, fields))
        score += n_right / max(1, n_fields)
    return score


def read_rows(path: Path, separator: str, weight: int = 1) -> Iterator[Row]:
    """Yield the lines that are neither empty nor comments.

    Lines that begin with # are comments (QIIME 2 has directives there), unless they
    have as many fields as the first row: a name may begin so. The last one before the
    first row is then the header.
    """
    above = None  # the last comment before the first row
    width = 0  # of the first row, once it is there
    lines = text_lines(path, weight)
    if _SAYS_SEPARATOR.match(file_head(path, 16)):
        next(lines)
    for row in cut(lines, separator):
        if not any(field.strip() for field in row.fields):
            continue
        is_directive = row.fields[0].startswith("#q2:")
        is_comment = row.fields[0].startswith("#") and 0 not in row.quoted
        if is_comment and (is_directive or len(row.fields) != width):
            if not is_directive and not width:
                above = row
            continue
        if not width:
            width = len(row.fields)
            if above is not None and len(above.fields) == width > 1:
                corner = above.fields[0][1:]
                if width > 2 or corner.strip().lower() in NAME_TITLES:
                    yield above._replace(fields=[corner, *above.fields[1:]])
        yield row


def text_rows(path: Path, separator: str) -> list[Row]:
    """Return all rows, each with as many fields as the first."""
    rows = list(even(read_rows(path, separator), 60, 1))
    if not rows:
        raise FormatError(path, "the file is empty; there are no rows")
    return rows


def even(rows: Iterable[Row], per_field: int, per_letter: int) -> Iterator[Row]:
    """Yield rows; say which one is shorter or longer, or where the memory ends.

    The caller keeps so many bytes of each field and of each letter in it.
    """
    width = 0
    used = 0
    limit = available_memory() or np.inf
    for row in rows:
        width = width or len(row.fields)
        if len(row.fields) != width:
            raise row.place.error(
                f"has {len(row.fields)} fields, the first row has {width}; is a "
                "separator inside a field?"
            )
        letters = sum(map(len, row.fields)) if per_letter else 0
        used += per_field * width + per_letter * letters + _BYTES_A_ROW
        if used > limit:
            raise TooLargeError(row.place.path, "does not fit into the memory")
        yield row


def column_at(header: Row, title: str) -> int:
    """Return the place of a column, or say which columns there are."""
    titles = header.texts()
    if titles.count(title) != 1:
        how_often = "twice" if title in titles else "not"
        known = ", ".join(map(repr, titles))
        raise header.place.error(
            f"the column {title!r} is {how_often} there; the titles are {known}"
            f"{did_you_mean(title, titles)}"
        )
    return titles.index(title)


def can_be_names(texts: Sequence[str]) -> bool:
    """Whether fields below a title such as "id" are names: all different, none empty.

    Numbers are names if they are whole.
    """
    for text in texts:
        if not text or (is_number(text) and not text.lstrip("-").isdigit()):
            return False
    return len(set(texts)) == len(texts)


def is_number(text: str) -> bool:
    """Whether a field reads as a number; ``1_0`` and other scripts' digits do not."""
    return _NUMBER.fullmatch(text.strip()) is not None


def is_number_or_missing(text: str) -> bool:
    """Whether a field can stand in a matrix: a number (with a comma), or nothing."""
    word = text.strip()
    return word.lower() in MISSING or is_number(with_decimal_point(word))


def with_points(labels: Sequence[str]) -> list[str]:
    """Labels with decimal points, if all are numbers and some have a decimal comma."""
    plain = [with_decimal_point(label) for label in labels]
    return plain if all(map(is_number, plain)) else list(labels)


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
    integers = _integers_of(set(labels))
    if not integers:
        return np.array(labels, dtype=np.str_)
    return np.array([integers[label] for label in labels], dtype=np.int64)


def _integers_of(labels: set[str]) -> dict[str, int] | None:
    """An integer for each label; None if one is no integer, or two are the same."""
    integers = {}
    for label in labels:
        if label == "-0" or not _PLAIN.fullmatch(label):
            return None
        value = Decimal(label)
        if abs(value) >= 2**63 or value != value.to_integral_value():
            return None
        integers[label] = int(value)
    if len(set(integers.values())) < len(integers):
        return None
    return integers


def name_to_text(name: str) -> str:
    r"""Return a name as it is written: no control characters, nothing a formula.

    What a spreadsheet would compute (``=1+1``, ``@SUM``) gets a ``'`` in front;
    `name_from_text` takes it off again. Plain numbers are left alone.
    """
    text = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", name)
    bare = text.lstrip("'")
    if _FORMULA.match(text) and not is_number(bare):
        return f"'{text}"
    return text


def name_from_text(text: str) -> str:
    """Return the name that `name_to_text` wrote."""
    bare = text.lstrip("'")
    if text[:1] == "'" and _FORMULA.match(bare) and not is_number(bare):
        text = text[1:]
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
