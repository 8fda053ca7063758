"""Labels, and columns of new items, matched to items by name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from krein.files.binary import read_npy
from krein.files.cells import (
    SKIP,
    Named,
    Row,
    as_labels,
    as_separator,
    is_number,
    missing_labels,
    name_from_text,
    unique_names,
)
from krein.files.tables import (
    NAME_TITLES,
    column_at,
    find_separator,
    is_numbering,
    text_rows,
)
from krein.files.text import FormatError, Place, file_head, readable, text_lines

_TITLES = ("label", "labels", "class", "classes", "target", "y", "category", "group")


def read_labels(
    path: str | os.PathLike,
    *,
    names: Sequence[str] | None = None,
    n_items: int | None = None,
    column: str | None = None,
    separator: str | None = None,
    ignore_names: bool = False,
    skip_unlabelled: bool = False,
) -> Named:
    """Read labels: one per line, a name and a label per line, or a column of a table.

    A label is missing where its cell is empty or holds ``NA``, ``N/A``, ``NaN``,
    ``<NA>``, ``#N/A``, ``null`` or ``?`` without quotes. A class that is really called
    so is written in quotes (``"NA"``).

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
    skip_unlabelled : bool
        Accept items whose label is missing; ``labelled`` says which have one, and
        ``data`` and ``names`` are about these.

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
    >>> _ = path.write_text(chr(10).join(["name,label", "bob,1", "ann,0", "carl,NA"]))
    >>> read_labels(path, names=["ann", "bob"]).data
    array([0, 1])
    >>> labels = read_labels(path, names=["carl", "ann"], skip_unlabelled=True)
    >>> labels.data, labels.labelled
    (array([0]), array([1]))
    >>> folder.cleanup()
    """
    names = None if names is None else list(names)
    n_items = n_items if names is None else len(names)
    with readable(path) as file:
        if file_head(file).startswith(b"\x93NUMPY"):
            own = _from_array(file)
        else:
            mark = as_separator(separator) or _find_separator(file, names)
            own = _from_text(file, mark, column, names, n_items)
        match = _by_order if own.names is None or ignore_names else _by_name
        read = match(own, names, n_items, file)
        return _chosen(own, read, file, skip_unlabelled)


@dataclass(frozen=True)
class _Found:
    """Labels of a file before they are matched: which are missing, where they stand."""

    labels: np.ndarray
    missing: np.ndarray
    note: str
    names: list[str] | None = None
    places: Sequence[Place] = ()
    column: int | None = None


def _from_array(path: Path) -> _Found:
    labels = np.asarray(read_npy(path).data)
    if labels.ndim != 1 or labels.dtype.kind not in "biufU" or not labels.size:
        found = f"shape {labels.shape} of {labels.dtype}"
        raise FormatError(path, f"expected labels, got {found}")
    note, places = f"read {labels.size} labels", [Place(path)] * labels.size
    return _Found(labels, missing_labels(labels), note, places=places)


def _from_text(
    path: Path,
    mark: str,
    column: str | None,
    names: list[str] | None,
    n_items: int | None,
) -> _Found:
    rows = text_rows(path, mark)
    width = len(rows[0].fields)
    header = None
    if column is not None or _has_header(rows, names, n_items):
        header = rows.pop(0)
    if column is None and width > 2:
        titles = ", ".join(header.texts() if header else rows[0].texts())
        expected = "expected a label, or a name and a label, per line"
        choose = "choose the column with column= (--label-column TITLE)"
        has = f"has {width} columns ({titles})"
        raise FormatError(path, f"{has}; {expected}: {choose}")
    if not rows:
        raise FormatError(path, "there are no labels in the file")
    place = column_at(header, column) if column is not None and header else width - 1
    places = [row.place for row in rows]
    labels = np.array([name_from_text(row.text(place)) for row in rows], dtype=object)
    missing = np.array([row.lacks_label(place) for row in rows])
    beside = _place_of_names(header, rows, place, names, column)
    own = None
    if beside is not None:
        own = unique_names([name_from_text(row.text(beside)) for row in rows], places)
    classes = len(set(labels[~missing]))
    note = f"read {len(labels) - missing.sum()} labels of {classes} classes"
    if column is not None:
        note += f" from column {column!r}"
    elif header is not None:
        titles = ", ".join(map(repr, header.texts()))
        note += f" (line {header.place.line} is a header: {titles})"
    return _Found(labels, missing, note, own, places, place + 1)


def _find_separator(path: Path, names: list[str] | None) -> str:
    """Return the separator; blanks may stand inside labels, unless names end there."""
    mark = find_separator(path, "\t;,", numbers=False, otherwise="")
    if not mark and names is not None:
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
    if len(first) > 1 and first[0].lower() in NAME_TITLES:
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
    known = set(names or ())
    found = {k: sum(row.text(k) in known for row in rows) for k in others}
    best = max(others, key=found.__getitem__, default=None)
    if best is not None and found[best]:
        return best
    titles = header.texts() if header else []
    return next((k for k in others if titles[k].lower() in NAME_TITLES), None)


def _by_order(
    own: _Found, names: list[str] | None, n_items: int | None, path: Path
) -> Named:
    """Return the place of each item's label, and the names of the items."""
    n = len(own.labels)
    if n_items is not None and n != n_items:
        raise FormatError(path, f"has {n} labels for {n_items} items")
    note, alerts = own.note, {}
    if own.names is not None:
        note += ", their names ignored: in the order of the items"
        key = "order-unchecked" if names is None else "names-ignored"
        alerts = {key: _ignored(own.names, names)}
    elif names is not None:
        note += ", without names: in the order of the items"
    return Named(np.arange(n), names, notes=[note], alerts=alerts)


def _ignored(own: list[str], names: list[str] | None) -> str:
    """What was given up by ignoring names."""
    start = "The names beside the labels were ignored"
    if names is None:
        doubt = "the items have none: nothing shows that the order is the same"
        return f"{start}, and {doubt}. Names travel in .npz and .csv files."
    if own == names:
        return f"{start}; they are those of the items, in the same order."
    differ = sum(a != b for a, b in zip(own, names, strict=True))
    return f"{start}; {differ} of {len(names)} items have another name."


def _by_name(
    own: _Found, names: list[str] | None, n_items: int | None, path: Path
) -> Named:
    """Return the place of each item's label, -1 for none, and the items' names."""
    beside = own.names or []
    if names is None and n_items is None:
        return Named(np.arange(len(beside)), beside, notes=[own.note])
    if names is None and is_numbering(beside):
        return _by_order(replace(own, names=None), None, n_items, path)
    if names is None:
        raise FormatError(
            path,
            f"the labels have names ({beside[0]!r}, ...) but the items have none, so "
            "their order cannot be checked; give items with names (K.npz, K.csv), or "
            "say that the order is the same: --ignore-names, ignore_names=True",
        )
    position = {name: k for k, name in enumerate(beside)}
    places = np.array([position.get(name, -1) for name in names])
    left = len(beside) - int((places >= 0).sum())
    note = f"{own.note}, matched by name"
    more = "1 label of another item" if left == 1 else f"{left} labels of other items"
    note += f"; {more} left out" if left else ""
    return Named(places, names, notes=[note])


def _chosen(own: _Found, items: Named, path: Path, skip: bool) -> Named:
    """Return the labels of items, or say which of them has none."""
    places = items.data
    absent = (places < 0) | own.missing[places]
    if absent.all() or (absent.any() and not skip):
        raise _no_label(own, items, absent, path)
    kept = np.flatnonzero(~absent)
    labels = own.labels[places[kept]]
    data = as_labels(labels.tolist()) if labels.dtype == object else labels
    if kept.size == places.size:
        return replace(items, data=data)
    names = None if items.names is None else [items.names[k] for k in kept]
    left = f"{places.size - kept.size} of {places.size} items without a label left out"
    notes = [f"{items.notes[0]}; {left}"]
    return replace(items, data=data, names=names, notes=notes, labelled=kept)


def _no_label(own: _Found, items: Named, absent: np.ndarray, path: Path) -> FormatError:
    first = int(np.argmax(absent))
    count = f"{int(absent.sum())} of {absent.size} items"
    place, names = items.data[first], items.names
    whose = "" if names is None else f" for {names[first]!r}"
    if place >= 0:
        problem = f"the label is missing{whose} ({count} have none)"
        return own.places[place].error(f"{problem}; {SKIP}", own.column)
    listed = ", ".join(map(repr, (own.names or [])[:3]))
    problem = f"has no label for {(names or [])[first]!r} ({count})"
    return FormatError(path, f"{problem}; its own names are {listed}, ...; {SKIP}")


def keep_labelled(read: Named, labels: Named, *, pairwise: bool) -> Named:
    """Leave out the items that have no label, and give the others theirs.

    Parameters
    ----------
    read : Named
        Items, or a matrix of items against each other (`pairwise`).
    labels : Named
        As `read_labels` returns them for these items with ``skip_unlabelled=True``.
    pairwise : bool
        Whether the columns of ``data`` are the same items as the rows.

    Returns
    -------
    Named
        With ``target``.
    """
    kept = labels.labelled
    if kept is None:
        return replace(read, target=labels.data)
    data: Any = read.data
    if isinstance(data, list):
        data = [data[k] for k in kept]
    else:
        data = data[kept][:, kept] if pairwise else data[kept]
    names = None if read.names is None else [read.names[k] for k in kept]
    return replace(read, data=data, names=names, target=labels.data, labelled=kept)


def align_columns(read: Named, expected: Sequence[str]) -> Named:
    """Put the columns of new items x training items into the order of a model.

    Parameters
    ----------
    read : Named
        As `read_matrix` returns it, with names of the columns.
    expected : list of str
        Names of the training items, in the order of training.

    Returns
    -------
    Named
        With ``columns`` as expected; columns of other items are left out. ``notes``
        says what was done.
    """
    given = read.columns or read.names
    expected = list(expected)
    if given is None or given == expected:
        return read
    position = {name: k for k, name in enumerate(given)}
    missing = [name for name in expected if name not in position]
    if missing:
        unknown = [name for name in given if name not in set(expected)]
        raise ValueError(
            f"the {len(given)} columns are not the {len(expected)} training items of "
            f"the model: missing {_some(missing)}; unknown {_some(unknown)}. Compute "
            "the similarities of the new items to the training items"
        )
    data = read.data[:, [position[name] for name in expected]]
    left = len(given) - len(expected)
    note = "columns put into the order of the training items, by name"
    note += f"; {left} of other items left out" if left else ""
    return replace(read, data=data, columns=expected, notes=[*read.notes, note])


def _some(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:3]) or "none"
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
