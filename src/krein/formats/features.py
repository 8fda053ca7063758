"""Feature vectors with labels: .arff and libsvm."""

from __future__ import annotations

import csv
from array import array
from pathlib import Path

import numpy as np

from krein.formats.cells import as_labels, parse_count, parse_number
from krein.formats.named import FormatError, Named, require_room
from krein.formats.text import text_lines

__all__ = ["read_arff", "read_libsvm"]

_NUMERIC = ("numeric", "real", "integer")


def read_arff(path: Path) -> Named:
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


def read_libsvm(path: Path) -> Named:
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
