"""Labels: a column, or names and a column; matched to items by name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from krein.formats.arrays import read_npy
from krein.formats.cells import Row, as_labels, is_number, name_from_text
from krein.formats.columns import column_at, read_text_rows, texts_at
from krein.formats.named import FormatError, Named, unique_names
from krein.formats.tables import (
    NAME_TITLES,
    as_separator,
    find_separator,
    is_numbering,
)
from krein.formats.text import file_head, readable, text_lines

__all__ = ["read_labels"]

_TITLES = ("label", "labels", "class", "classes", "target", "y", "category", "group")


def read_labels(
    path: str | os.PathLike,
    *,
    names: Sequence[str] | None = None,
    n_items: int | None = None,
    column: str | None = None,
    separator: str | None = None,
    ignore_names: bool = False,
) -> Named:
    """Read labels: one per line, a name and a label per line, or a column of a table.

    Parameters
    ----------
    path : path-like
        Text with or without a header, or a .npy file; ``-`` is standard input.
    names : list of str, optional
        Names of items, as `read_matrix` and `read_items` return them; labels are put
        into this order.
    n_items : int, optional
        Number of items that have no names. Labels with names are then refused.
    column : str, optional
        Title of the column of labels, for a table with a header.
    separator : str, optional
        ``","``, ``";"``, ``"tab"`` or ``"space"`` instead of what is found.
    ignore_names : bool
        Take the labels in their order, whatever names stand beside them.

    Returns
    -------
    Named
        ``data`` is the array of labels (integers where every one is exactly a plain
        number, else text), ``names`` theirs, ``notes`` what was recognised.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from krein import read_labels
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "labels.csv"
    >>> _ = path.write_text(chr(10).join(["name,label", "bob,1", "ann,0"]))
    >>> read_labels(path, names=["ann", "bob"]).data
    array([0, 1])
    >>> folder.cleanup()
    """
    names = None if names is None else list(names)
    n_items = n_items if names is None else len(names)
    mark = as_separator(separator)
    with readable(path) as file:
        if file_head(file).startswith(b"\x93NUMPY"):
            own = _from_array(file)
        else:
            own = _from_text(file, mark, column, names, n_items)
        if own.names is None or ignore_names:
            return _by_order(own, names, n_items, file)
        return _by_name(own, names, n_items, file)


def _from_array(path: Path) -> Named:
    labels = np.asarray(read_npy(path).data)
    if labels.ndim != 1 or labels.dtype.kind not in "biufU" or not labels.size:
        raise FormatError(
            path, f"expected labels, got shape {labels.shape} of {labels.dtype}"
        )
    return Named(labels, notes=[f"read {labels.size} labels"])


def _from_text(
    path: Path,
    mark: str | None,
    column: str | None,
    names: list[str] | None,
    n_items: int | None,
) -> Named:
    mark = mark or _find_separator(path, names)
    rows = read_text_rows(path, mark)
    width = len(rows[0].fields)
    header = None
    if column is not None or _has_header(rows, names, n_items):
        header = rows.pop(0)
    if column is None and width > 2:
        titles = ", ".join(header.texts() if header else rows[0].texts())
        raise FormatError(
            path,
            f"has {width} columns ({titles}); expected a label, or a name and a label, "
            "per line: choose the column with column= (--label-column TITLE)",
        )
    if not rows:
        raise FormatError(path, "there are no labels in the file")
    place = width - 1 if column is None else column_at(header, column, path)
    labels = [name_from_text(t) for t in texts_at(rows, place, path, "label")]
    beside = _place_of_names(header, rows, place, names, column)
    own = None
    if beside is not None:
        own = [name_from_text(row.text(beside)) for row in rows]
        own = unique_names(own, path, [row.line for row in rows])
    classes = len(set(labels))
    note = f"read {len(labels)} labels of {classes} classes"
    if column is not None:
        note += f" from column {column!r}"
    elif header is not None:
        titles = ", ".join(map(repr, header.texts()))
        note += f" (line {header.line} is a header: {titles})"
    return Named(as_labels(labels), own, notes=[note])


def _find_separator(path: Path, names: list[str] | None) -> str:
    """Return the separator; blanks may stand inside labels, unless names end there."""
    mark = find_separator(path, "\t;,", numbers=False)
    if mark is None and names is not None:
        known = set(names)
        firsts = [text.split(maxsplit=1) for _, text in islice(text_lines(path), 100)]
        pairs = [words for words in firsts if len(words) == 2]
        if pairs and sum(words[0] in known for words in pairs) > len(firsts) // 2:
            mark = " "
    return mark or "\t"


def _has_header(rows: list[Row], names: list[str] | None, n_items: int | None) -> bool:
    """Whether the first row is titles: by the items where they are known."""
    first, *others = [row.texts() for row in rows]
    if len(first) == 2 and names is not None and others:
        known = set(names)
        if first[0] in known or others[0][0] in known:
            return first[0] not in known
    if len(first) > 1 and not first[0]:
        return True
    if n_items is not None and len(rows) in (n_items, n_items + 1):
        return len(rows) == n_items + 1
    again = any(row[-1] == first[-1] for row in others)
    titled = first[-1].lower() in _TITLES and not again
    numbers = bool(others) and all(is_number(row[-1]) for row in others)
    word = first[-1][:1].isalpha() and not is_number(first[-1])
    return titled or (numbers and word)


def _place_of_names(
    header: Row | None,
    rows: list[Row],
    place: int,
    names: list[str] | None,
    column: str | None,
) -> int | None:
    """Return the column of names: where the items' names stand, or by its title."""
    width = len(rows[0].fields)
    if column is None:
        return 0 if width == 2 else None
    others = [k for k in range(width) if k != place]
    if names is not None:
        known = set(names)
        hits = {k: sum(row.text(k) in known for row in rows) for k in others}
        best = max(others, key=hits.__getitem__, default=None)
        if best is not None and hits[best]:
            return best
    titles = header.texts() if header else []
    return next((k for k in others if titles[k].lower() in NAME_TITLES), None)


def _by_order(
    own: Named, names: list[str] | None, n_items: int | None, path: Path
) -> Named:
    if n_items is not None and len(own.data) != n_items:
        raise FormatError(path, f"has {len(own.data)} labels for {n_items} items")
    note, alerts = own.notes[0], {}
    if own.names is not None:
        note += ", their names ignored: in the order of the items"
        key = "order-unchecked" if names is None else "names-ignored"
        alerts = {key: _ignored(own.names, names)}
    elif names is not None:
        note += ", without names: in the order of the items"
    return Named(own.data, names, notes=[note], alerts=alerts)


def _ignored(own: list[str], names: list[str] | None) -> str:
    """What was given up by ignoring names."""
    start = "The names beside the labels were ignored"
    if names is None:
        return (
            f"{start}, and the items have none: nothing shows that the order is the "
            "same. Names travel in .npz and .csv files."
        )
    if own == names:
        return f"{start}; they are those of the items, in the same order."
    differ = sum(a != b for a, b in zip(own, names, strict=True))
    return f"{start}; {differ} of {len(names)} items have another name."


def _by_name(
    own: Named, names: list[str] | None, n_items: int | None, path: Path
) -> Named:
    if names is None and n_items is None:
        return own
    beside = own.names or []
    if names is None and is_numbering(beside):
        return _by_order(Named(own.data, notes=own.notes), None, n_items, path)
    if names is None:
        raise FormatError(
            path,
            f"the labels have names ({beside[0]!r}, ...) but the items have none, so "
            "their order cannot be checked; give items with names (K.npz, K.csv), or "
            "say that the order is the same: --ignore-names, ignore_names=True",
        )
    position = {name: k for k, name in enumerate(beside)}
    missing = [name for name in names if name not in position]
    if missing:
        raise FormatError(
            path,
            f"has no label for {missing[0]!r} ({len(missing)} of {len(names)} items); "
            f"its own names are {', '.join(map(repr, beside[:3]))}, ...",
        )
    left = len(beside) - len(names)
    note = f"{own.notes[0]}, matched by name"
    more = "1 label of another item" if left == 1 else f"{left} labels of other items"
    note += f"; {more} left out" if left else ""
    return Named(own.data[[position[name] for name in names]], names, notes=[note])
