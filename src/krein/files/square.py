"""Matrices of items as text: PHYLIP, Matrix Market, lists of pairs, triangles.

Matrix Market files are not read by SciPy, whose reader can end the process on a damaged
file and fills a truncated symmetric one with zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from krein.arrays import items_of_condensed, square_of_condensed
from krein.files import cells, sources
from krein.files.hit_columns import find_columns, table_blocks
from krein.files.hit_table import Table, collect
from krein.files.line_blocks import careful_numbers, fast_numbers
from krein.files.sources import FormatError, How, Named, Place

_FIELDS = ("real", "double", "integer", "pattern")
_SYMMETRIES = ("general", "symmetric")
_BYTES_A_CELL = 9  # of a matrix, and whether it is given
_BYTES_AN_ENTRY = 48  # two places, a number, and their copies


def _header(text: str, place: Place) -> tuple[bool, bool, bool]:
    """Say whether a file has coordinates, no values beside them, and one triangle."""
    words = text.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise place.error("expected '%%MatrixMarket matrix ...'")
    layout, field, symmetry = words[2:]
    if layout not in ("coordinate", "array") or symmetry not in _SYMMETRIES:
        raise place.error(f"{layout} {symmetry} is not read")
    coordinate = layout == "coordinate"
    pattern = field == "pattern"
    if field not in _FIELDS or (pattern and not coordinate):
        raise place.error(f"{field} {layout} is not a matrix of numbers")
    return coordinate, pattern, symmetry == "symmetric"


def read_matrix_market(path: Path, how: How | None = None) -> Named:
    """Read a Matrix Market file as a dense matrix; every entry must be there."""
    lines = sources.text_lines(path)
    place, first = next(lines, (Place(path, 1), ""))
    coordinate, pattern, symmetric = _header(first, place)
    place, text = next(sources.without_comments(lines, "%"), (place, ""))
    sizes = text.split()
    counts = [cells.parse_count(word) for word in sizes]
    if coordinate and sizes[2:] == ["0"]:
        counts[2] = 0
    if len(counts) != 2 + coordinate or None in counts:
        raise place.error("expected the numbers of rows, columns and entries")
    n, m, *entries = [count or 0 for count in counts]
    if n != m and symmetric:
        raise place.error(f"a symmetric matrix has {n} rows and {m} columns")
    if entries:
        wanted = entries[0]
    elif symmetric:
        wanted = n * (n + 1) // 2
    else:
        wanted = n * m
    sources.require_room(
        _BYTES_A_CELL * n * m + _BYTES_AN_ENTRY * min(wanted, n * m),
        path,
        "Take fewer items, or krein.read_hits.",
    )
    places = 2 if coordinate else 0
    width = places if pattern else places + 1
    blocks = _blocks(path, place, places, width)
    numbers = np.concatenate([np.empty((0, width)), *blocks])
    if len(numbers) != wanted:
        raise FormatError(
            path,
            f"{wanted} entries are announced, {len(numbers)} follow; is it complete?",
        )
    K = _arranged(numbers, (n, m), symmetric, path)
    shape = "symmetric" if symmetric else "general"
    note = f"read {n} x {m} numbers, Matrix Market {shape}, no names"
    return Named(K, notes=[note])


def _blocks(path: Path, head: Place, places: int, width: int) -> Iterator[np.ndarray]:
    """Read what follows the head; a FormatError names the line that is wrong.

    The first `places` of the `width` numbers of a line count from 1.
    """
    for first, text in table_blocks(path, head.line or 0):
        numbers = fast_numbers(text, places, width)
        if numbers is None:
            numbers = careful_numbers(text, places, width, first)
        yield numbers


def _arranged(
    numbers: np.ndarray, shape: tuple[int, int], symmetric: bool, path: Path
) -> np.ndarray:
    """Put values, places and values, or places alone into a matrix."""
    width = numbers.shape[1]
    if width == 1 and not symmetric:
        return numbers.reshape(shape[::-1]).T
    if width == 1:
        # The lower triangle column by column is the upper one row by row.
        i, j = np.triu_indices(shape[0])
    else:
        i, j = (numbers[:, :2].T - 1).astype(np.int64)
    outside = (i < 0) | (i >= shape[0]) | (j < 0) | (j >= shape[1])
    if outside.any():
        k = np.flatnonzero(outside)[0]
        raise FormatError(path, f"entry ({i[k] + 1}, {j[k] + 1}) is outside {shape}")
    if symmetric:
        i, j = np.minimum(i, j), np.maximum(i, j)
    K = np.full(shape, np.nan)
    K[i, j] = 1.0 if width == 2 else numbers[:, -1]
    given = ~np.isnan(K)
    if np.count_nonzero(given) != len(numbers):
        raise FormatError(path, "an entry is given twice")
    K[~given] = 0.0
    if symmetric:
        return K + np.triu(K, 1).T
    return K


def read_phylip(path: Path, how: How | None = None) -> Named:
    """Read a PHYLIP distance matrix: square or lower triangle, an item per line."""
    lines = [line for line in sources.text_lines(path) if line[1].strip()]
    place, first = lines.pop(0) if lines else (Place(path, 1), "")
    n = cells.parse_count(first)
    if n is None:
        raise place.error(f"expected the number of items, got {first.strip()!r}")
    sources.require_room(8 * n * n, path, "Take fewer items.")
    if len(lines) != n:
        raise place.error(
            f"{n} items are announced, {len(lines)} lines follow; write all distances "
            "of an item into one line"
        )
    lower = n > 1 and len(lines[0][1].split()) == 1
    D = np.zeros((n, n))
    names = []
    for i, (place, line) in enumerate(lines):
        name, fields = _phylip_fields(line)
        wanted = i if lower else n
        if len(fields) != wanted:
            raise place.error(f"item {name!r} has {len(fields)} of {wanted} distances")
        for k, word in enumerate(fields):
            D[i, k] = cells.parse_number(word, place, k + 2)  # the name is field 1
        names.append(cells.name_from_text(name))
    shape = "a square matrix"
    if lower:
        shape = "the lower triangle"
        D += D.T
    note = f"read {n} x {n} numbers, PHYLIP, {shape}, names from first column"
    names = sources.unique_names(names, [place for place, _ in lines])
    return Named(D, names, notes=[note])


def _phylip_fields(line: str) -> tuple[str, list[str]]:
    """Cut a line into the name of the item and its distances."""
    name, *fields = line.split()
    if all(map(cells.is_number, fields)):
        return name, fields
    # A name of ten characters, with blanks inside.
    return line[:10].strip(), line[10:].split()


def read_pairs(path: Path, how: How) -> Named:
    """Read two names and a number per line into a matrix, symmetric unless `how.apart`.

    Of several numbers of a pair the largest counts, of similarities also of its two
    directions; a distance that is listed in one direction holds in both. Items stand in
    the order in which they appear. Pairs that are not listed have `how.missing`.
    """
    layout = find_columns(path, pairs=True)
    distances = layout.distances or how.missing == "distance"
    queries = Table()
    targets = Table() if how.apart else queries
    rows, columns, values = collect(path, layout, queries, targets)
    n = len(queries)
    m = len(targets)
    sources.require_room(16 * n * m, path, "Read it by krein.read_hits.")
    K = np.full((n, m), -np.inf)  # -inf: not listed
    np.maximum.at(K, (rows, columns), values)
    if not how.apart:
        larger = np.maximum(K, K.T)
        K = np.where(np.isneginf(K), larger, K) if distances else larger
    order, names = _in_order(queries)
    others, titles = _in_order(targets)
    K = K[np.ix_(order, others)]
    if distances or how.missing == "error":
        _refuse_missing_pairs(K, names, titles, distances, how, path)
    absent = np.isneginf(K)
    K[absent] = 0.0 if isinstance(how.missing, str) else how.missing
    if how.apart:
        note = f"read pairs of {n} items with {m} others, {layout.why}"
        return Named(K, names, titles, notes=[note])
    count = np.count_nonzero(np.triu(~absent))
    note = f"read {count} scored pairs of {n} items, {layout.why}"
    return Named(K, names, notes=[note])


def _refuse_missing_pairs(
    K: np.ndarray,
    names: list[str],
    titles: list[str],
    distances: bool,
    how: How,
    path: Path,
) -> None:
    """Raise for pairs that are not listed; distances of items to themselves are 0."""
    absent = np.isneginf(K)
    if not how.apart:
        absent = np.triu(absent)
        if distances:
            np.fill_diagonal(absent, False)
    missing = np.argwhere(absent)
    if not missing.size:
        return
    i, j = missing[0]
    repair = "measure them" if distances else "pass missing=0 to fill them"
    raise FormatError(
        path,
        f"{len(missing)} pairs are missing, the first is ({names[i]!r}, "
        f"{titles[j]!r}); {repair}",
    )


def _in_order(table: Table) -> tuple[np.ndarray, list[str]]:
    """Positions of the items and their names; numbers, as R has them, ascend."""
    names = table.names()
    order = list(range(len(names)))
    if all(name.isdigit() for name in names):
        order.sort(key=lambda k: int(names[k]))
    return np.array(order), [names[k] for k in order]


def complete(read: Named, path: Path, mirror: bool, distances: bool) -> Named:
    """Check numbers and names; fill in what the other direction knows."""
    if distances:
        read = _without_condensing(read)
    data = np.asarray(read.data)
    if data.ndim != 2 or data.dtype.kind not in "biuf" or data.size == 0:
        hint = ""
        if data.ndim == 1 and items_of_condensed(data.size):
            hint = "; condensed distances need --kind distance (missing='distance')"
        raise FormatError(
            path,
            f"expected a matrix of numbers, got shape {data.shape}, dtype "
            f"{data.dtype}{hint}",
        )
    data = np.asarray(data, dtype=np.float64)
    n, m = data.shape
    _check_names(read.names, n, "rows", path)
    _check_names(read.columns, m, "columns", path)
    notes = read.notes
    if not any(note.startswith("read") for note in notes):
        named = "no names" if read.names is None else "with names"
        notes = [", ".join([f"read {n} x {m} numbers, {named}", *notes])]
    columns = None if read.columns == read.names else read.columns
    read = replace(read, data=data, columns=columns, notes=notes)
    if np.isfinite(data).all():
        return read
    return _fill(read, path, mirror)


def _check_names(names: list[str] | None, n: int, what: str, path: Path) -> None:
    """Refuse names that are too few, too many or given twice."""
    if names is None:
        return
    if len(names) != n:
        raise FormatError(path, f"has {len(names)} names for {n} {what}")
    sources.unique_names(names, [Place(path)] * n)


def _without_condensing(read: Named) -> Named:
    """Make a square matrix of distances that stand in one list, row or column."""
    data = np.asarray(read.data)
    is_line = data.ndim == 2 and 1 in data.shape and data.size > 1
    if data.ndim != 1 and not is_line:
        return read
    if read.names is not None or read.columns is not None:
        return read
    n = items_of_condensed(data.size)
    if n is None or data.dtype.kind not in "iuf":
        return read
    note = f"{data.size} distances in one list: condensed ones of {n} items"
    square = square_of_condensed(np.ravel(data).astype(float))
    return replace(read, data=square, notes=[*read.notes, note])


def _fill(read: Named, path: Path, mirror: bool) -> Named:
    """Take missing entries from their mirror entries, or say which one is missing."""
    K = read.data
    gaps = np.isnan(K)
    own = K.shape[0] == K.shape[1] and read.columns is None  # items against themselves
    filled = {}
    if mirror and own and gaps.any():
        known = gaps & ~gaps.T
        K = np.where(known, K.T, K)
        count = int(known.sum())
        if count:
            what = "1 missing entry" if count == 1 else f"{count} missing entries"
            filled["missing-filled"] = f"{what} taken from across the diagonal"
        if len(K) > 1 and (gaps == np.triu(np.ones_like(gaps))).all():
            np.fill_diagonal(K, 0.0)
            filled["diagonal-filled"] = (
                "nothing is given on the diagonal: 0, as of distances"
            )
    bad = np.argwhere(~np.isfinite(K))
    if bad.size:
        i, j = bad[0]
        row = sources.called(read.names, i)
        column = sources.called(read.names if own else read.columns, j)
        if np.isinf(K[i, j]):
            raise FormatError(path, f"row {row} and column {column} hold {K[i, j]}")
        raise FormatError(
            path,
            f"{len(bad)} entries are missing, the first in row {row} and column "
            f"{column}. Measure them, leave these items out, or write a value you can "
            "defend",
        )
    alerts = dict(read.alerts)
    for key, text in filled.items():
        alerts[key] = f"{text}."
    return replace(read, data=K, notes=[*read.notes, *filled.values()], alerts=alerts)
