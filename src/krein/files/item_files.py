"""Items and their labels: sequences, series, vectors, columns of a table."""

from __future__ import annotations

import csv
import string
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from krein.files.cells import (
    MISSING,
    SKIP,
    How,
    Named,
    Row,
    as_labels,
    is_number,
    name_from_text,
    parse_count,
    parse_number,
    unique_names,
    with_decimal_point,
)
from krein.files.tables import (
    column_at,
    find_separator,
    has_decimal_commas,
    is_numbering,
    read_rows,
    text_rows,
)
from krein.files.text import FormatError, Place, require_room, text_lines, whole_text

_NUMERIC = ("numeric", "real", "integer")
_WEIGHT = 5  # a digit and a separator become 8 bytes
_LETTERS = string.ascii_letters.encode() + b"*-."


def read_fasta(path: Path, how: How | None = None) -> Named:
    """Read names (the first word of a title) and sequences."""
    return fast_fasta(path) or careful_fasta(path)


def fast_fasta(path: Path) -> Named | None:
    """Read records of plain letters at once; None at anything out of the ordinary."""
    text = whole_text(path, weight=4)
    if not text or text[0] != ">" or "\r" in text:
        return None
    names, sequences = [], []
    for record in text[1:].split("\n>"):
        title, _, lines = record.partition("\n")
        words, letters = title.split(maxsplit=1), lines.replace("\n", "")
        if not words or not letters:
            return None
        names.append(words[0])
        sequences.append(letters)
    unusual = "".join(sequences).encode().translate(None, _LETTERS)
    return None if unusual or len(set(names)) < len(names) else Named(sequences, names)


def careful_fasta(path: Path) -> Named:
    """Read a FASTA file line by line; a FormatError names the line that is wrong."""
    names: list[str] = []
    starts: list[Place] = []
    parts: list[list[str]] = []
    for place, text in text_lines(path, weight=2):
        if text.startswith(">"):
            words = text[1:].split(maxsplit=1)
            if not words:
                raise place.error("a sequence has no name")
            names.append(words[0])
            starts.append(place)
            parts.append([])
        elif text.strip() and not text.startswith(";"):
            if not parts:
                raise place.error("expected '>' and a name before the first sequence")
            letters = "".join(text.split())
            for column, letter in enumerate(letters, start=1):
                if not (letter.isalpha() or letter in "*-."):
                    problem = f"{letter!r} is not a letter of a sequence"
                    raise place.error(problem, column)
            parts[-1].append(letters)
    for name, place, part in zip(names, starts, parts, strict=True):
        if not part:
            raise place.error(f"the sequence {name!r} is empty; is the file complete?")
    if not parts:
        raise FormatError(path, "there are no sequences in the file")
    return Named(["".join(part) for part in parts], unique_names(names, starts))


def read_lines(path: Path, how: How | None = None) -> Named:
    """Read one string per line."""
    strings = []
    for place, text in text_lines(path):
        if not text.strip():
            raise place.error("the line is empty; expected a string")
        strings.append(text.strip())
    if not strings:
        raise FormatError(path, "the file is empty; expected one string per line")
    return Named(strings)


def read_ucr(path: Path, how: How) -> Named:
    """Read a label and the values of a series per line.

    NaN behind the last value, which pads series of unequal length, is cut off.
    """
    series, labels = [], []
    for row in read_rows(path, how.separator or "\t", _WEIGHT):
        fields = row.texts()
        while fields and fields[-1].lower() in ("nan", ""):
            fields.pop()
        if len(fields) < 2:
            raise row.place.error("expected a label and at least one value")
        labels.append(fields[0])
        series.append(_numbers(fields[1:], row.place, 2))
    if not series:
        raise FormatError(path, "there are no series in the file")
    return Named(_stack(series), target=as_labels(labels))


def _numbers(fields: Sequence[str], place: Place, first: int) -> np.ndarray:
    """Numbers of fields; the first of them is in this column."""
    places = enumerate(fields, start=first)
    return np.array([parse_number(field, place, column) for column, field in places])


def _stack(series: list[np.ndarray]) -> np.ndarray | list[np.ndarray]:
    same = len({item.shape for item in series}) == 1
    return np.stack(series) if same else series


def read_ts(path: Path, how: How | None = None) -> Named:
    """Read a .ts file: channels separated by colons, the label last."""
    series: list[np.ndarray] = []
    labels: list[str] = []
    labelled, in_data = False, False
    for place, text in text_lines(path, _WEIGHT):
        text = text.strip()
        if not text or text.startswith("#"):
            continue
        if not in_data:
            labelled, in_data = _ts_header(text, labelled, place)
            continue
        channels = text.split(":")
        if labelled:
            labels.append(channels.pop().strip())
        rows = [_numbers(channel.split(","), place, 1) for channel in channels]
        if not rows or len({row.size for row in rows}) > 1:
            raise place.error("the channels of a series must have one length")
        n_channels = len(np.atleast_2d(series[0])) if series else len(rows)
        if len(rows) != n_channels:
            has = f"has {len(rows)} channels, the first series has {n_channels}"
            raise place.error(has)
        series.append(rows[0] if len(rows) == 1 else np.stack(rows))
    if not series:
        raise FormatError(path, "there is no series behind @data; is it complete?")
    return Named(_stack(series), target=as_labels(labels) if labelled else None)


def _ts_header(text: str, labelled: bool, place: Place) -> tuple[bool, bool]:
    word, *rest = text.lower().split()
    if not word.startswith("@"):
        raise place.error("expected a line that begins with @")
    if word == "@timestamps" and rest[:1] == ["true"]:
        raise place.error("series with time stamps are not supported")
    if word == "@classlabel":
        labelled = rest[:1] == ["true"]
    return labelled, word == "@data"


def read_arff(path: Path, how: How | None = None) -> Named:
    """Read numeric attributes as columns and the last nominal one as label."""
    attributes: list[tuple[str, str]] = []
    rows: list[tuple[Place, list[str]]] = []
    in_data = False
    for place, text in text_lines(path, weight=30):
        text = text.strip()
        if not text or text.startswith("%"):
            continue
        if in_data:
            rows.append((place, _arff_fields(text, len(attributes), place)))
        elif text.lower().startswith("@attribute"):
            attributes.append(_arff_attribute(text, place))
        elif text.lower().startswith("@data"):
            in_data = True
        elif not text.startswith("@"):
            raise place.error("expected a line that begins with @")
    if not rows:
        raise FormatError(path, "there is no row behind @data; is it complete?")
    nominal = [k for k, (_, kind) in enumerate(attributes) if kind == "nominal"]
    if len(nominal) > 1:
        raise FormatError(
            path,
            f"has {len(nominal)} nominal attributes, one (the label) is expected; "
            f"encode {attributes[nominal[0]][0]!r} as numbers first",
        )
    numeric = [k for k in range(len(attributes)) if k not in nominal]
    data = [[parse_number(f[k], place, k + 1) for k in numeric] for place, f in rows]
    target = as_labels([f[nominal[0]] for _, f in rows]) if nominal else None
    columns = [attributes[k][0] for k in numeric]
    return Named(np.array(data), columns=columns, target=target)


def _arff_attribute(text: str, place: Place) -> tuple[str, str]:
    rest = text[len("@attribute") :].strip()
    if rest[:1] in ("'", '"') and rest.find(rest[0], 1) > 0:
        end = rest.find(rest[0], 1)
        name, kind = rest[1:end], rest[end + 1 :].strip()
    else:
        name, _, kind = rest.partition("{") if "{" in rest else rest.partition(" ")
        kind = "{" if "{" in rest else kind.strip()
        name = name.strip()
    if kind.startswith("{"):
        return name, "nominal"
    if kind.split(" ")[0].lower() in _NUMERIC:
        return name, "numeric"
    raise place.error(f"attribute {name!r} is of kind {kind!r}; numeric or {{...}}")


def _arff_fields(text: str, n: int, place: Place) -> list[str]:
    if text.startswith("{"):
        raise place.error("sparse .arff is not supported")
    try:
        fields = next(csv.reader([text], quotechar="'", skipinitialspace=True))
    except csv.Error as error:
        raise place.error(str(error)) from None
    if len(fields) != n:
        raise place.error(f"has {len(fields)} fields for {n} attributes")
    return [field.strip() for field in fields]


def read_libsvm(path: Path, how: How | None = None) -> Named:
    """Read ``label index:value ...`` lines into a dense matrix."""
    labels: list[str] = []
    rows, columns, values = array("q"), array("q"), array("d")
    for place, text in text_lines(path, weight=7):
        fields = text.split("#")[0].split()
        if not fields:
            continue
        for column, field in enumerate(fields[1:], start=2):
            index, colon, value = field.partition(":")
            if index == "qid":
                continue
            position = parse_count(index)
            if not colon or position is None:
                problem = f"expected index:value with an index from 1, got {field!r}"
                raise place.error(problem, column)
            rows.append(len(labels))
            columns.append(position - 1)
            values.append(parse_number(value, place, column))
        labels.append(fields[0])
    if not labels:
        raise FormatError(path, "there are no rows in the file")
    width = 1 + max(columns, default=0)
    require_room(8 * len(labels) * width, path, "Take fewer features.")
    X = np.zeros((len(labels), width))
    X[rows, columns] = values
    return Named(X, target=as_labels(labels))


def read_columns(
    path: Path,
    separator: str | None,
    column: str | None,
    label_column: str | None,
    *,
    skip_unlabelled: bool = False,
    mixed: bool = False,
) -> Named:
    """Read the items of one column (text), or of all but the labels (numbers).

    With `mixed` these may hold text, and entries may be missing: items are tuples.
    """
    mark = separator or find_separator(path, numbers=False)
    header, *rows = text_rows(path, mark)
    if not rows:
        raise FormatError(path, "there is a header but no row")
    target = labelled = None
    note = ""
    used = {0} if not header.text(0) and len(header.fields) > 1 else set()
    if label_column is not None:
        place = column_at(header, label_column)
        used.add(place)
        kept = _labelled(rows, place, skip_unlabelled)
        note = f", labels from {label_column!r}"
        if len(kept) < len(rows):
            labelled, left = np.array(kept), len(rows) - len(kept)
            note += f"; {left} of {len(rows)} items without a label left out"
        rows = [rows[k] for k in kept]
        target = as_labels([name_from_text(row.text(place)) for row in rows])
    names = None
    if 0 in used and not header.text(0):
        own = [name_from_text(row.text(0)) for row in rows]
        if not is_numbering(own):
            names = unique_names(own, [row.place for row in rows])
    titles = None
    if column is not None:
        items: Any = _texts(rows, column_at(header, column))
        what = f"{len(rows)} items from column {column!r}"
    else:
        places = [k for k in range(len(header.fields)) if k not in used]
        titles = [header.text(k) for k in places]
        comma = mark != "," and has_decimal_commas(rows)
        if mixed:
            columns = [_mixed_column(rows, k, comma) for k in places]
            items = list(zip(*columns, strict=True))
            what = f"{len(rows)} rows: {_kinds(columns)}"
        else:
            items = np.array([_vector(row, places, titles, comma) for row in rows])
            what = f"{len(rows)} vectors of {len(places)} columns"
    notes = [f"read {what}{note}"]
    return Named(items, names, titles, target, notes, labelled=labelled)


def _labelled(rows: list[Row], column: int, skip: bool) -> list[int]:
    """Return the positions of rows that have a label."""
    kept = [k for k, row in enumerate(rows) if not row.lacks_label(column)]
    if not kept or (len(kept) < len(rows) and not skip):
        first = next(row for row in rows if row.lacks_label(column))
        count = f"{len(rows) - len(kept)} of {len(rows)} items have none"
        raise first.place.error(f"the label is missing ({count}); {SKIP}", column + 1)
    return kept


def _texts(rows: list[Row], column: int) -> list[str]:
    """Return the fields of a column; none of them may be empty."""
    for row in rows:
        if not row.text(column):
            raise row.place.error("the item is missing", column + 1)
    return [row.text(column) for row in rows]


def _vector(
    row: Row, columns: list[int], titles: list[str], comma: bool
) -> list[float]:
    numbers = []
    for k, title in zip(columns, titles, strict=True):
        word = with_decimal_point(row.text(k)) if comma else row.text(k)
        if not is_number(word):
            problem = f"expected a number in column {title!r}, got {word!r}"
            choose = f"choose its column with column= (--items {title})"
            raise row.place.error(f"{problem}; to compare text {choose}", k + 1)
        numbers.append(parse_number(word, row.place, k + 1))
    return numbers


def _mixed_column(rows: list[Row], k: int, comma: bool) -> list[float | str | None]:
    """Cells as numbers if all of them are, else as text; None where one is missing."""
    texts = [row.text(k) for row in rows]
    words = [with_decimal_point(text) if comma else text for text in texts]
    known = [word.lower() not in MISSING for word in words]
    if all(is_number(word) for word, there in zip(words, known, strict=True) if there):
        parsed = zip(rows, words, known, strict=True)
        return [
            parse_number(w, r.place, k + 1) if there else None for r, w, there in parsed
        ]
    return [text if there else None for text, there in zip(texts, known, strict=True)]


def _kinds(columns: list[list]) -> str:
    categories = sum(any(isinstance(x, str) for x in column) for column in columns)
    gaps = sum(cell is None for column in columns for cell in column)
    numbers = f"{len(columns) - categories} columns of numbers"
    return f"{numbers}, {categories} of categories, {gaps} missing entries"
