"""Items and their labels: sequences, series, vectors, columns of a table."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from krein.files import cells, sources, tables
from krein.files.cells import Row
from krein.files.matching import Labels, choose_labels
from krein.files.sources import FormatError, How, Line, Named, Place, text_lines
from krein.files.titles import is_title_of_names, warn_of_counts
from krein.memory import available_memory
from krein.words import warn_user

_TRUTH = {"true", "false"}
_BITS = re.compile(r"[01]{16,}")  # a fingerprint in one word
_NUMBERS_PER_WORD = 4  # from here on words among numbers are taken for mistakes
_WEIGHT = 5  # a digit and a separator become 8 bytes
_TITLE = re.compile(r">[ \t]*(\S+).*\n")
_ODD = re.compile(r"[^\w*.-]|[\d_]")
_TS_COLON = re.compile(r":(?![^(]*\))")  # not inside of a time stamp
_TS_PAIR = re.compile(r"\(([^,()]*),([^,()]*)\)")
_LETTERS = string.ascii_letters.encode() + b"*-."


def read_fasta(path: Path, how: How | None = None) -> Named:
    """Read names (the first word of a title) and sequences."""
    return fast_fasta(path) or careful_fasta(path)


def fast_fasta(path: Path) -> Named | None:
    """Read records of plain letters in blocks; None at anything out of the ordinary."""
    names: list[str] = []
    sequences: list[str] = []
    left = (available_memory() or 1 << 62) // 4
    for _, block in sources.whole_lines(path, left, b"\n>"):
        left -= len(block)
        if left < 0 or b"\r" in block or not block.isascii():
            return None
        above, *fields = _TITLE.split(block.decode("ascii"))
        titles = fields[::2]
        records = fields[1::2]
        if above or not all(record.endswith("\n") for record in records):
            return None  # a > inside a line cuts that line
        parts = [record.replace("\n", "") for record in records]
        if not all(parts) or "".join(parts).encode().translate(None, _LETTERS):
            return None
        names += titles
        sequences += parts
    if not names or len(set(names)) < len(names):
        return None
    return Named(sequences, names)


def careful_fasta(path: Path) -> Named:
    """Read a FASTA file line by line; a FormatError names the line that is wrong."""
    names: list[str] = []
    starts: list[Place] = []
    parts: list[str] = []
    for place, text in text_lines(path, weight=2):
        if text.startswith(">"):
            names += text[1:].split(maxsplit=1)[:1]
            starts.append(place)
            parts.append("")
            if len(names) < len(starts):
                raise place.error("a sequence has no name")
        elif text.strip() and not text.startswith(";"):
            if not parts:
                raise place.error("expected '>' and a name before the first sequence")
            letters = "".join(text.split())
            odd = _ODD.search(letters)
            if odd is not None:
                raise place.error(
                    f"{odd[0]!r} is not a letter of a sequence", odd.start() + 1
                )
            parts[-1] += letters
    for name, place, part in zip(names, starts, parts, strict=True):
        if not part:
            raise place.error(f"the sequence {name!r} is empty; is the file complete?")
    return Named(_some(parts, path, "sequences"), sources.unique_names(names, starts))


def _some(items: Any, path: Path, what: str) -> Any:
    """Return what was found, if anything."""
    if not items:
        raise FormatError(path, f"there are no {what} in the file; is it complete?")
    return items


def read_lines(path: Path, how: How | None = None) -> Named:
    """Read one string per line."""
    strings = []
    for place, text in text_lines(path):
        if not text.strip():
            raise place.error("the line is empty; expected a string")
        strings.append(text.strip())
    return Named(_some(strings, path, "strings"))


def read_smiles(path: Path, how: How | None = None) -> Named:
    """Read a molecule per line, and the name behind it if every line has one."""
    molecules = []
    names = []
    places = []
    for place, text in text_lines(path):
        molecule, *name = text.split(maxsplit=1) or [""]
        if not molecule:
            continue
        molecules.append(molecule)
        names.extend(name)
        places.append(place)
    _some(molecules, path, "molecules")
    if len(names) < len(molecules):
        return Named(molecules)
    names = [name.strip() for name in names]
    return Named(molecules, sources.unique_names(names, places))


def read_ucr(path: Path, how: How) -> Named:
    """Read a label and the values of a series per line.

    NaN behind the last value, which pads series of unequal length, is cut off.
    """
    series: list[np.ndarray] = []
    labels: list[str] = []
    mark = how.separator or cells.find_separator(path, otherwise="\t")
    for row in cells.read_rows(path, mark, _WEIGHT):
        fields = row.texts()
        while fields and fields[-1].lower() in ("nan", ""):
            fields.pop()
        if len(fields) < 2:
            raise row.place.error("expected a label and at least one value")
        labels.append(fields[0])
        series.append(_numbers(fields[1:], row.place, 2))
    return Named(_stack(series, path), target=cells.as_labels(labels))


def _numbers(fields: Sequence[str], place: Place, first: int) -> np.ndarray:
    """Numbers of fields; the first of them is in this column."""
    numbers = []
    for column, field in enumerate(fields, start=first):
        numbers.append(cells.parse_number(field, place, column))
    return np.array(numbers)


def _stack(series: list[np.ndarray], path: Path) -> np.ndarray | list[np.ndarray]:
    """One array where all series have one shape, else a list."""
    shapes = {item.shape for item in _some(series, path, "series")}
    if len(shapes) > 1:
        return series
    return np.stack(series)


def read_ts(path: Path, how: How | None = None) -> Named:
    """Read a .ts file: channels separated by colons, the label last.

    Of ``(time, value)`` pairs the values count, in the order of their times.
    """
    stripped = ((place, text.strip()) for place, text in text_lines(path, _WEIGHT))
    lines = sources.without_comments(stripped, "#%")
    labelled, timed = _ts_head(lines)
    numbers = _timed_numbers if timed else _plain_numbers
    series: list[np.ndarray] = []
    labels: list[str] = []
    for place, text in lines:
        channels = _TS_COLON.split(text)
        if labelled:
            labels.append(channels.pop().strip())
        rows = [numbers(channel, place) for channel in channels]
        if not rows or len({row.size for row in rows}) > 1:
            raise place.error("the channels of a series must have one length")
        item = rows[0] if len(rows) == 1 else np.stack(rows)
        series.append(item)
        if item.shape[:-1] != series[0].shape[:-1]:
            raise place.error(f"has {len(rows)} channels, the first series has others")
    target = cells.as_labels(labels) if labelled else None
    return Named(_stack(series, path), target=target)


def _ts_head(lines: Iterator[Line]) -> tuple[bool, bool]:
    """Read the lines up to @data: whether series have labels, and time stamps."""
    labelled = False
    timed = False
    for place, text in lines:
        word, *rest = text.lower().split()
        if word == "@data":
            break
        if not word.startswith("@"):
            raise place.error("expected a line that begins with @")
        if word == "@attribute":
            raise place.error("this is an .arff file; scipy.io.arff.loadarff reads it")
        is_true = rest[:1] == ["true"]
        if word == "@timestamps":
            timed = is_true
        if word in ("@classlabel", "@targetlabel"):
            labelled = is_true
    return labelled, timed


def _plain_numbers(channel: str, place: Place) -> np.ndarray:
    """Values with commas between them; NaN behind the last one is padding."""
    fields = [field.strip() for field in channel.split(",")]
    while len(fields) > 1 and fields[-1].lower() == "nan":
        fields.pop()
    gaps = [k for k, field in enumerate(fields, 1) if field.lower() in ("?", "nan")]
    if gaps:
        raise place.error(
            f"expected a number, got {fields[gaps[0] - 1]!r}: a value of the series is "
            "missing; fill it in first, for example by pandas.DataFrame.interpolate",
            gaps[0],
        )
    return _numbers(fields, place, 1)


def _timed_numbers(channel: str, place: Place) -> np.ndarray:
    """Values of ``(time,value),(time,value),...``, sorted by time."""
    pairs = _TS_PAIR.findall(channel)
    if not pairs or _TS_PAIR.sub("", channel).strip(" ,"):
        raise place.error("expected pairs (time,value) with commas between them")
    values = _numbers([value for _, value in pairs], place, 1)
    times = [time.strip() for time, _ in pairs]
    if all(map(cells.is_number, times)):
        order = np.argsort([float(time) for time in times], kind="stable")
    else:  # dates that begin with the year sort as text
        order = np.argsort(np.array(times), kind="stable")
    return values[order]


def read_columns(path: Path, how: How) -> Named:
    """Read the items of one column (text), or of all but the labels (numbers).

    With `how.mixed` these may hold text, and entries may be missing: items are tuples.
    """
    mark = how.separator or cells.find_separator(path, numbers=False)
    header, *rows = cells.text_rows(path, mark)
    _some(rows, path, "rows below the header")
    titles = dict(enumerate(header.texts()))
    for title in how.drop:
        titles.pop(cells.column_at(header, title), None)
    for place, title in list(titles.items()):
        if not title and not any(row.text(place) for row in rows):
            titles.pop(place)  # beside its table a spreadsheet writes empty columns
    labels = Named(None)
    origins = ""  # of labels and names, for people
    if how.label_column is not None:
        place = cells.column_at(header, how.label_column)
        titles.pop(place, None)
        each = Named(range(len(rows)), notes=[f"labels from {how.label_column!r}"])
        comma = _have_decimal_commas(rows, mark)
        found = Labels(rows, place, comma=comma)
        labels = choose_labels(found, each, how.skip_unlabelled)
        if labels.labelled is not None:
            rows = [rows[k] for k in labels.labelled]
        origins = f", {labels.notes[0]}"
    names = None
    named = _column_of_names(header, rows, titles, how)
    if named is not None:
        titles.pop(named, None)
        names = _names_of(rows, named, header)
        if header.text(named):
            origins += f", names from {header.text(named)!r}"
        if _is_row_number(header, rows, titles):
            titles.pop(0)
            origins += ", the numbering of rows left out"
    columns: list[str] | None = list(titles.values())
    if how.column is not None:
        columns = None
        items: Any = _texts(rows, cells.column_at(header, how.column))
        what = f"{len(rows)} items from column {how.column!r}"
    elif not titles:
        raise FormatError(path, "there is no column besides names, labels and --drop")
    else:
        items, what = _items(rows, titles, mark, how)
    return Named(
        items,
        names,
        columns,
        target=labels.data,
        notes=[f"read {what}{origins}"],
        labelled=labels.labelled,
        names_from=None if named is None else header.text(named) or None,
    )


def _column_of_names(
    header: Row, rows: list[Row], titles: dict[int, str], how: How
) -> int | None:
    """The column of names: as told, or the first if its title or its text says so."""
    if how.id_column is not None:
        return cells.column_at(header, how.id_column)
    is_alone = len(header.fields) == 1
    if is_alone or 0 not in titles or header.text(0) == how.column:
        return None
    if not titles[0]:
        return 0
    texts = [row.text(0) for row in rows]
    if not cells.can_be_names(texts):
        return None
    if is_title_of_names(titles[0]):
        return 0
    # Vectors hold no text: beside several numbers, a different word in each row can
    # only be a name. Beside a single one (titles and prices) it may be the item.
    only_vectors = how.column is None and not how.mixed and len(titles) > 2
    if only_vectors and not any(map(cells.is_number_or_missing, texts)):
        return 0
    return None


def _is_row_number(header: Row, rows: list[Row], titles: dict[int, str]) -> bool:
    """Whether the first column is what pandas and R write beside the rows."""
    if 0 not in titles or header.text(0).lower() not in ("", "unnamed: 0"):
        return False
    return tables.is_numbering([row.text(0) for row in rows])


def _names_of(rows: list[Row], place: int, header: Row) -> list[str] | None:
    """Return a column as names, unless it has no title and counts rows."""
    texts = [row.name(place) for row in rows]
    names = sources.unique_names(texts, [row.place for row in rows])
    if not header.text(place) and tables.is_numbering(names):
        return None
    return names


def _texts(rows: list[Row], column: int) -> list[str]:
    """Return the fields of a column; none of them may be empty."""
    for row in rows:
        if not row.text(column):
            raise row.place.error("the item is missing", column + 1)
    return [row.text(column) for row in rows]


def _have_decimal_commas(rows: list[Row], mark: str) -> bool:
    """Whether 1,5 is a number; where commas separate fields it is two."""
    return mark != "," and tables.has_decimal_commas(rows)


def _items(
    rows: list[Row], titles: dict[int, str], mark: str, how: How
) -> tuple[Any, str]:
    """Return the rows of several columns as vectors or tuples, and what they are."""
    comma = _have_decimal_commas(rows, mark)
    if not how.mixed:
        vectors = [_numbers_in(rows, k, title, comma) for k, title in titles.items()]
        warn_of_counts(dict(zip(titles.values(), vectors, strict=True)))
        what = f"{len(rows)} vectors of {_columns(len(titles))}"
        return np.column_stack(vectors), what
    from krein.kernels.tables import warn_of_identifiers

    unknown = [title for title in how.numbers if title not in titles.values()]
    if unknown:
        raise rows[0].place.error(
            f"there is no column {unknown[0]!r} to be read as numbers; the columns are "
            + ", ".join(map(repr, titles.values()))
        )
    columns = []
    categories = 0
    gaps = 0
    for k, title in titles.items():
        column = _mixed_column(rows, k, title, comma, title in how.numbers)
        columns.append(column)
        categories += any(isinstance(cell, str) for cell in column)
        gaps += column.count(None)
    by_title: dict[str, Any] = dict(zip(titles.values(), columns, strict=True))
    warn_of_identifiers(by_title)
    warn_of_counts({title: x for title, x in by_title.items() if _is_full(x)})
    missing = "1 missing entry" if gaps == 1 else f"{gaps} missing entries"
    what = (
        f"{len(rows)} rows: {_columns(len(columns) - categories)} of numbers, "
        f"{categories} of categories, {missing}"
    )
    return list(zip(*columns, strict=True)), what


def _columns(n: int) -> str:
    return "1 column" if n == 1 else f"{n} columns"


def _is_full(column: list[Any]) -> bool:
    """Whether all cells of a column are numbers."""
    return all(isinstance(cell, float) for cell in column)


def _numbers_in(rows: list[Row], k: int, title: str, comma: bool) -> list[float]:
    """Numbers of a column; an error says how text is compared instead."""
    bits = {len(row.text(k)) for row in rows if _BITS.fullmatch(row.text(k))}
    if len(bits) == 1 and all(_BITS.fullmatch(row.text(k)) for row in rows):
        raise rows[0].place.error(
            f"the column {title!r} holds words of {bits.pop()} bits, which would be "
            "read as one large number; write each bit into a column of its own",
            k + 1,
        )
    try:
        return [row.number(k, comma) for row in rows]
    except FormatError as error:
        hint = (
            f" (column {title!r}). drop=[{title!r}] (--drop {title}) leaves the column "
            f"out, column={title!r} (--items {title}) compares its text, kernel "
            "'gower' compares tables of numbers and words"
        )
        raise error.in_file(error.path, hint) from None


def _mixed_column(
    rows: list[Row], k: int, title: str, comma: bool, insist: bool
) -> list[float | str | None]:
    """Cells as numbers if all of them are, else as text; None where one is missing.

    Where a few words stand among numbers, a warning names them; with `insist` they
    count as missing.
    """
    words: list[str | None] = []  # the cells as text
    odd = []  # places of those that are no numbers
    for i, row in enumerate(rows):
        text = row.text(k)
        is_missing = text.lower() in cells.MISSING
        words.append(None if is_missing else text)
        plain = cells.with_decimal_point(text) if comma else text
        if not is_missing and not cells.is_number(plain):
            odd.append(i)
    if not odd or insist:
        gaps = {*odd, *(i for i, word in enumerate(words) if word is None)}
        return [
            None if i in gaps else row.number(k, comma) for i, row in enumerate(rows)
        ]
    numbers = len(rows) - words.count(None) - len(odd)
    if numbers >= _NUMBERS_PER_WORD * len(odd):
        _warn_of_words(rows, odd, k, title, numbers)
    lower = [None if word is None else word.lower() for word in words]
    if set(lower) - {None} <= _TRUTH:  # R, pandas and JSON write them differently
        return list(lower)
    return list(words)


def _warn_of_words(
    rows: list[Row], odd: list[int], k: int, title: str, numbers: int
) -> None:
    """Warn that few words make categories of a column of numbers, and name them."""
    found = [f"{rows[i].text(k)!r} in line {rows[i].place.line}" for i in odd[:3]]
    shown = ", ".join(found)
    if len(odd) > 3:
        shown += f" and {len(odd) - 3} more"
    warn_user(
        f"the column {title!r} has {numbers} numbers and also {shown}: it is read as "
        "categories, equal or not. --numbers "
        f"{title} (numbers=[{title!r}]) reads it as numbers, these cells as missing"
    )
