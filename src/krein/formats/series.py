"""Time series with labels: UCR .tsv and .ts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from krein.formats.cells import as_labels, parse_number
from krein.formats.named import FormatError, Named
from krein.formats.tables import read_rows
from krein.formats.text import text_lines

__all__ = ["read_ts", "read_ucr"]

_WEIGHT = 5  # a digit and a separator become 8 bytes


def read_ucr(path: Path, separator: str = "\t") -> Named:
    """Read a label and the values of a series per line.

    NaN behind the last value, which pads series of unequal length, is cut off.
    """
    series, labels = [], []
    for row in read_rows(path, separator, _WEIGHT):
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


def read_ts(path: Path) -> Named:
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
