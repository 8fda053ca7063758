"""Items and their labels: sequences, series, vectors, columns of a table."""

from __future__ import annotations

import csv
import string
from array import array
from pathlib import Path

import numpy as np

from krein.files.cells import (
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
)
from krein.files.tables import (
    column_at,
    find_separator,
    is_numbering,
    read_rows,
    text_rows,
)
from krein.files.text import FormatError, require_room, text_lines, whole_text

_NUMERIC = ("numeric", "real", "integer")
_WEIGHT = 5  # a digit and a separator become 8 bytes
_WITHOUT_LETTERS = str.maketrans("", "", string.ascii_letters + "*-.")


def read_fasta(path: Path, how: How | None = None) -> Named:
    """Read names (the first word of a title) and sequences."""
    return fast_fasta(path) or careful_fasta(path)


def fast_fasta(path: Path) -> Named | None:
    """Read records of plain letters at once; None at anything out of the ordinary."""
    text = whole_text(path, weight=4)
    if not text or text[0] != ">" or "\r" in text:
        return None
    records = [record.partition("\n") for record in text[1:].split("\n>")]
    heads = [title.split(maxsplit=1) for title, _, _ in records]
    sequences = [letters.replace("\n", "") for _, _, letters in records]
    if not all(heads) or not all(sequences):
        return None
    if "".join(sequences).translate(_WITHOUT_LETTERS):
        return None
    names = [words[0] for words in heads]
    return Named(sequences, names) if len(set(names)) == len(names) else None


def careful_fasta(path: Path) -> Named:
    """Read a FASTA file line by line; a FormatError names the line that is wrong."""
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


def read_lines(path: Path, how: How | None = None) -> Named:
    """Read one string per line."""
    strings = []
    for line, text in text_lines(path):
        if not text.strip():
            raise FormatError(path, "the line is empty; expected a string", line=line)
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
        line, fields = row.line, row.texts()
        while fields and fields[-1].lower() in ("nan", ""):
            fields.pop()
        if len(fields) < 2:
            raise FormatError(
                path, "expected a label and at least one value", line=line
            )
        labels.append(fields[0])
        values = [
            parse_number(field, path, line, column)
            for column, field in enumerate(fields[1:], start=2)
        ]
        series.append(np.array(values))
    if not series:
        raise FormatError(path, "there are no series in the file")
    return Named(_stack(series), target=as_labels(labels))


def _stack(series: list[np.ndarray]) -> np.ndarray | list[np.ndarray]:
    same = len({item.shape for item in series}) == 1
    return np.stack(series) if same else series


def read_ts(path: Path, how: How | None = None) -> Named:
    """Read a .ts file: channels separated by colons, the label last."""
    series: list[np.ndarray] = []
    labels: list[str] = []
    labelled, in_data = False, False
    for line, text in text_lines(path, _WEIGHT):
        text = text.strip()
        if not text or text.startswith("#"):
            continue
        if not in_data:
            labelled, in_data = _ts_header(text, labelled, path, line)
            continue
        channels = text.split(":")
        if labelled:
            labels.append(channels.pop().strip())
        rows = [_ts_channel(channel, path, line) for channel in channels]
        if not rows or len({row.size for row in rows}) > 1:
            raise FormatError(
                path, "the channels of a series must have one length", line=line
            )
        if series and np.atleast_2d(series[0]).shape[0] != len(rows):
            raise FormatError(
                path,
                f"has {len(rows)} channels, the first series has "
                f"{np.atleast_2d(series[0]).shape[0]}",
                line=line,
            )
        series.append(rows[0] if len(rows) == 1 else np.stack(rows))
    if not series:
        raise FormatError(path, "there is no series behind @data; is it complete?")
    return Named(_stack(series), target=as_labels(labels) if labelled else None)


def _ts_header(text: str, labelled: bool, path: Path, line: int) -> tuple[bool, bool]:
    word, *rest = text.lower().split()
    if not word.startswith("@"):
        raise FormatError(path, "expected a line that begins with @", line=line)
    if word == "@timestamps" and rest[:1] == ["true"]:
        raise FormatError(path, "series with time stamps are not supported", line=line)
    if word == "@classlabel":
        labelled = rest[:1] == ["true"]
    return labelled, word == "@data"


def _ts_channel(channel: str, path: Path, line: int) -> np.ndarray:
    values = [
        parse_number(field, path, line, column)
        for column, field in enumerate(channel.split(","), start=1)
    ]
    return np.array(values)


def read_arff(path: Path, how: How | None = None) -> Named:
    """Read numeric attributes as columns and the last nominal one as label."""
    attributes: list[tuple[str, str]] = []
    rows: list[tuple[int, list[str]]] = []
    in_data = False
    for line, text in text_lines(path, weight=30):
        text = text.strip()
        if not text or text.startswith("%"):
            continue
        if in_data:
            rows.append((line, _arff_fields(text, len(attributes), path, line)))
        elif text.lower().startswith("@attribute"):
            attributes.append(_arff_attribute(text, path, line))
        elif text.lower().startswith("@data"):
            in_data = True
        elif not text.startswith("@"):
            raise FormatError(path, "expected a line that begins with @", line=line)
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
    data = np.array(
        [[parse_number(f[k], path, line, k + 1) for k in numeric] for line, f in rows]
    )
    labels = [fields[nominal[0]] for _, fields in rows] if nominal else None
    columns = [attributes[k][0] for k in numeric]
    target = None if labels is None else as_labels(labels)
    return Named(data, columns=columns, target=target)


def _arff_attribute(text: str, path: Path, line: int) -> tuple[str, str]:
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
    raise FormatError(
        path, f"attribute {name!r} is of kind {kind!r}; numeric or {{...}}", line=line
    )


def _arff_fields(text: str, n: int, path: Path, line: int) -> list[str]:
    if text.startswith("{"):
        raise FormatError(path, "sparse .arff is not supported", line=line)
    try:
        fields = next(csv.reader([text], quotechar="'", skipinitialspace=True))
    except csv.Error as error:
        raise FormatError(path, str(error), line=line) from None
    if len(fields) != n:
        raise FormatError(
            path, f"has {len(fields)} fields for {n} attributes", line=line
        )
    return [field.strip() for field in fields]


def read_libsvm(path: Path, how: How | None = None) -> Named:
    """Read ``label index:value ...`` lines into a dense matrix."""
    labels: list[str] = []
    rows, columns, values = array("q"), array("q"), array("d")
    for line, text in text_lines(path, weight=7):
        fields = text.split("#")[0].split()
        if not fields:
            continue
        for column, field in enumerate(fields[1:], start=2):
            index, colon, value = field.partition(":")
            if index == "qid":
                continue
            position = parse_count(index)
            if not colon or position is None:
                raise FormatError(
                    path,
                    f"expected index:value with an index from 1, got {field!r}",
                    line=line,
                    column=column,
                )
            rows.append(len(labels))
            columns.append(position - 1)
            values.append(parse_number(value, path, line, column))
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
    skip_unlabelled: bool = False,
) -> Named:
    """Read the items of one column (text), or of all but the labels (numbers)."""
    mark = separator or find_separator(path, numbers=False) or ","
    header, *rows = text_rows(path, mark)
    if not rows:
        raise FormatError(path, "there is a header but no row")
    target = labelled = None
    note = ""
    used = {0} if not header.text(0) and len(header.fields) > 1 else set()
    if label_column is not None:
        place = column_at(header, label_column, path)
        used.add(place)
        kept = _labelled(rows, place, path, skip_unlabelled)
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
            names = unique_names(own, path, [row.line for row in rows])
    if column is not None:
        items: list[str] | np.ndarray = _texts(
            rows, column_at(header, column, path), path
        )
        titles, what = None, f"{len(rows)} items from column {column!r}"
    else:
        places = [k for k in range(len(header.fields)) if k not in used]
        titles = [header.text(k) for k in places]
        items = _vectors(rows, places, titles, path)
        what = f"{len(rows)} vectors of {len(places)} columns"
    notes = [f"read {what}{note}"]
    return Named(items, names, titles, target, notes, labelled=labelled)


def _labelled(rows: list[Row], place: int, path: Path, skip: bool) -> list[int]:
    """Return the positions of rows that have a label."""
    kept = [k for k, row in enumerate(rows) if not row.lacks_label(place)]
    if not kept or (len(kept) < len(rows) and not skip):
        first = next(row for row in rows if row.lacks_label(place))
        count = f"{len(rows) - len(kept)} of {len(rows)} items have none"
        problem = f"the label is missing ({count}); {SKIP}"
        raise FormatError(path, problem, line=first.line, column=place + 1)
    return kept


def _texts(rows: list[Row], place: int, path: Path) -> list[str]:
    """Return the fields of a column; none of them may be empty."""
    for row in rows:
        if not row.text(place):
            raise FormatError(
                path, "the item is missing", line=row.line, column=place + 1
            )
    return [row.text(place) for row in rows]


def _vectors(
    rows: list[Row], places: list[int], titles: list[str], path: Path
) -> np.ndarray:
    for k, title in zip(places, titles, strict=True):
        bad = next((row for row in rows if not is_number(row.text(k))), None)
        if bad is not None:
            raise FormatError(
                path,
                f"expected a number in column {title!r}, got {bad.text(k)!r}; to "
                f"compare text choose its column with column= (--items {title})",
                line=bad.line,
                column=k + 1,
            )
    return np.array(
        [
            [parse_number(row.text(k), path, row.line, k + 1) for k in places]
            for row in rows
        ]
    )
