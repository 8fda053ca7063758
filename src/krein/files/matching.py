"""Labels, and columns of new items, matched to items by name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from krein.files import cells, sources
from krein.files.binary import read_npy
from krein.files.cells import Row
from krein.files.sources import FormatError, Named, Names, Place
from krein.files.tables import is_numbering
from krein.numbers_or_classes import is_continuous

_TITLES = ("label", "labels", "class", "classes", "target", "y", "category", "group")
_SAMPLE = 100  # lines by which a blank is told to be a separator


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
    if names is not None:
        names = list(names)
        n_items = len(names)
    with sources.readable(path) as file:
        if sources.file_head(file).startswith(b"\x93NUMPY"):
            found = _labels_of_array(file)
        else:
            mark = cells.as_separator(separator) or _find_separator(file, names)
            found = _find_labels(cells.text_rows(file, mark), column, names, n_items)
            found = replace(found, comma=mark != ",")
        items = _matched(found, names, n_items, ignore_names)
        return choose_labels(found, items, skip_unlabelled)


@dataclass(frozen=True)
class Labels:
    """Labels of a table before they are matched: a column, counted from 0, and more.

    Those of an array are `values`, and keep their type. With `comma` labels that are
    numbers may have decimal commas.
    """

    rows: Sequence[Row]
    column: int
    note: str = ""
    names: list[str] | None = None
    values: np.ndarray | None = None
    comma: bool = False

    def at(self, place: int) -> str | None:
        """Return the label in a row, None where there is none."""
        if place < 0 or self.rows[place].lacks_label(self.column):
            return None
        return self.rows[place].name(self.column)


def _labels_of_array(path: Path) -> Labels:
    """Return the labels of a .npy file, which has no header."""
    values = np.asarray(read_npy(path).data)
    if values.ndim != 1 or not values.size or values.dtype.kind not in "biufU":
        raise FormatError(
            path, f"expected labels, got shape {values.shape} of {values.dtype}"
        )
    rows = [Row(Place(path), [str(value)]) for value in values.tolist()]
    return Labels(rows, 0, f"read {values.size} labels", values=values)


def _find_labels(
    rows: list[Row], column: str | None, names: Names, n_items: int | None
) -> Labels:
    """Find the header, and the columns of labels and of names beside them."""
    first = rows[0]
    width = len(first.fields)
    titled = column is not None or _has_header(rows, names, n_items)
    if titled:
        rows = rows[1:]
    if column is None and width > 2:
        raise FormatError(
            first.place.path,
            f"has {width} columns ({', '.join(first.texts())}); choose that of the "
            "labels with column= (--label-column TITLE)",
        )
    if not rows:
        raise FormatError(first.place.path, "there are no labels in the file")
    if column is not None:
        place = cells.column_at(first, column)
        beside = _place_of_names(first.texts(), rows, place, set(names or ()))
        where = f" from column {column!r}"
    else:
        place = width - 1
        beside = 0 if width == 2 else None
        where = ""
        if titled:
            titles = ", ".join(map(repr, first.texts()))
            where = f" (line {first.place.line} is a header: {titles})"
    own = None
    if beside is not None:
        own = [row.name(beside) for row in rows]
        sources.unique_names(own, [row.place for row in rows])
    present = [row.name(place) for row in rows if not row.lacks_label(place)]
    note = f"read {_counted(present)}{where}"
    return Labels(rows, place, note, own)


def _counted(labels: list[str]) -> str:
    """Say how many labels there are, and of what: classes, or numbers."""
    n = len(labels)
    different = len(set(labels))
    if all(map(cells.is_number, labels)) and is_continuous(list(map(float, labels))):
        return f"{n} labels, {different} different numbers"
    return f"{n} labels of {different} classes"


def _find_separator(path: Path, names: Names) -> str:
    """Return the separator; blanks may stand inside labels, unless names end there."""
    mark = cells.find_separator(path, "\t;,", numbers=False, otherwise="")
    if mark:
        return mark
    known = set(names or ())
    n_lines = 0
    n_named = 0
    for _, text in islice(sources.text_lines(path), _SAMPLE):
        words = text.split(maxsplit=1)
        n_lines += 1
        n_named += len(words) == 2 and words[0] in known
    return " " if n_named > n_lines // 2 else "\t"


def _has_header(rows: list[Row], names: Names, n_items: int | None) -> bool:
    """Whether the first row is titles: by the items where they are known."""
    first, *others = [row.texts() for row in rows]
    if len(first) == 2 and names is not None and others:
        if first[0] in names or others[0][0] in names:
            return first[0] not in names
    if len(first) > 1 and first[0].lower() in cells.NAME_TITLES:
        return True
    title = first[-1]
    labels = [row[-1] for row in others]
    if n_items is not None and len(rows) == n_items:
        return False
    if n_items is not None and len(rows) == n_items + 1:
        return title not in labels
    if title.lower() in _TITLES and title not in labels:
        return True
    if not labels or not all(map(cells.is_number, labels)):
        return False
    return title[:1].isalpha() and not cells.is_number(title)


def _place_of_names(
    titles: list[str], rows: list[Row], place: int, known: set[str]
) -> int | None:
    """Return the column of names: where the items' names stand, or by its title."""

    def rank(k: int) -> tuple[int, bool]:
        named = sum(row.text(k) in known for row in rows)
        return named, titles[k].lower() in cells.NAME_TITLES

    others = [k for k in range(len(titles)) if k != place and any(rank(k))]
    return max(others, key=rank, default=None)


def _matched(
    found: Labels, names: Names, n_items: int | None, ignore_names: bool
) -> Named:
    """Return the place of each item's label, -1 for none, and the items' names."""
    n = len(found.rows)
    note = found.note
    path = found.rows[0].place.path
    own = None if ignore_names else found.names
    if own is not None and names is not None:
        position = {name: k for k, name in enumerate(own)}
        places = [position.get(name, -1) for name in names]
        note += ", matched by name"
        left = n - sum(place >= 0 for place in places)
        if left:
            note += f"; left out: {left} of other items"
        return Named(places, names, notes=[note], by_name=True)
    if own is not None and n_items is None:
        return Named(range(n), own, notes=[note])
    if own is not None and not is_numbering(own):
        raise FormatError(
            path,
            f"the labels have names ({own[0]!r}, ...) but the items have none. "
            "Is the order the same? --ignore-names (ignore_names=True)",
        )
    if n_items is not None and n != n_items:
        raise FormatError(path, f"has {n} labels for {n_items} items")
    alerts = {}
    if ignore_names and found.names is not None:
        note += ", their names ignored: in the order of the items"
        alerts = _ignored(found.names, names)
    elif names is not None:
        note += ", without names: in the order of the items"
    return Named(range(n), names, notes=[note], alerts=alerts)


def _ignored(own: list[str], names: Names) -> dict[str, str]:
    """What was given up by ignoring names."""
    if names is None:
        unchecked = (
            "The names beside the labels were ignored, and the items have none: "
            "nothing shows that the order is the same."
        )
        return {"order-unchecked": unchecked}
    differ = sum(a != b for a, b in zip(own, names, strict=True))
    found = "they are those of the items, in the same order"
    if differ:
        found = f"{differ} of {len(names)} items have another name"
    return {"names-ignored": f"The names beside the labels were ignored; {found}."}


def choose_labels(found: Labels, items: Named, skip_unlabelled: bool) -> Named:
    """Return the labels of items, or say which of them has none.

    ``items.data`` is the place of each item's label, -1 for none.
    """
    labels = [found.at(place) for place in items.data]
    kept = [k for k, label in enumerate(labels) if label is not None]
    absent = len(labels) - len(kept)
    if not kept or (absent and not skip_unlabelled):
        raise _no_label(found, items, labels.index(None), absent)
    if found.values is not None:
        data = found.values[[items.data[k] for k in kept]]
    else:
        known = [label for label in labels if label is not None]
        data = cells.as_labels(cells.with_points(known) if found.comma else known)
    if not absent:
        return replace(items, data=data)
    note = f"{items.notes[0]}; {absent} of {len(labels)} items without a label left out"
    names = items.names
    if names is not None:
        names = [names[k] for k in kept]
    return replace(items, data=data, names=names, notes=[note], labelled=np.array(kept))


def _no_label(found: Labels, items: Named, first: int, absent: int) -> FormatError:
    """Say which is the first item without a label, and of how many."""
    n = len(items.data)
    place = items.data[first]
    whose = "" if items.names is None else f" for {items.names[first]!r}"
    if place >= 0:
        return found.rows[place].place.error(
            f"the label is missing{whose} ({absent} of {n} items have none); "
            f"{cells.SKIP}",
            found.column + 1,
        )
    return FormatError(
        found.rows[0].place.path,
        f"has no label{whose} ({absent} of {n} items); its own names are "
        f"{_some(found.names or [])}; {cells.SKIP}",
    )


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
        known = set(expected)
        unknown = [name for name in given if name not in known]
        raise ValueError(
            f"the {len(given)} columns are not the {len(expected)} training items of "
            f"the model: missing {_some(missing)}; unknown {_some(unknown)}"
        )
    data = read.data[:, [position[name] for name in expected]]
    note = "columns put into the order of the training items, by name"
    left = len(given) - len(expected)
    if left:
        note += f"; {left} of other items left out"
    return replace(read, data=data, columns=expected, notes=[*read.notes, note])


def _some(names: list[str]) -> str:
    """Name the first three, and count the others."""
    if not names:
        return "none"
    shown = ", ".join(map(repr, names[:3]))
    if len(names) <= 3:
        return shown
    return f"{shown} and {len(names) - 3} more"
