"""Tables of hits as a named sparse matrix, read in one pass."""

from __future__ import annotations

import zipfile
from array import array
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse

from krein.arrays import Array
from krein.files import line_blocks
from krein.files.binary import read_arrays
from krein.files.hit_columns import find_columns, is_pair_list, table_blocks
from krein.files.line_blocks import HitLines, Layout, careful_lines, fast_lines
from krein.files.sources import FormatError, Named, Place, check_names, readable

Several = Literal["max", "sum"]


def read_hits(
    path: Any,
    score: str | int = "bitscore",
    *,
    names: Sequence[str] | None = None,
    against: Sequence[str] | None = None,
    several: Several = "max",
    max_evalue: float | None = None,
    min_identity: float | None = None,
    columns: Sequence[str] | None = None,
) -> Named:
    """Read a table of hits: query, target and score per line, most pairs absent.

    The table is what BLAST (``-outfmt 6`` or 7), MMseqs2, DIAMOND and Foldseek write,
    or any text with two names and a score per line. It is read in one pass; memory
    grows with the hits, not with the square of the items. Directions are kept: entry
    (i, j) is the score with which query i found target j. `HitSimilarity` makes a
    symmetric similarity of it.

    Parameters
    ----------
    path : path-like or SciPy sparse array
        Text separated by tabs, commas, semicolons or blanks, plain or packed by
        gzip; a title line and comments (#) are recognised. Also .npz as
        `scipy.sparse.save_npz` and `write_hits` write it; a sparse array, such as
        ``kneighbors_graph`` or ``networkx.to_scipy_sparse_array`` return
        (similarities, not distances).
    score : str or int
        Title of the column of scores, or its number counted from 1. Without a title
        line the columns are those of BLAST's 12, or the third of three; of others the
        one behind the e-values that grows with likeness. A column that falls with
        likeness (e-values, distances) is refused.
    names : list of str, optional
        Names of the items, in the order wanted; those without hits have empty rows.
        The default is the order of appearance.
    against : list of str, optional
        Names of the columns, where these are other items than the rows: new items
        against training items. Then `names` is about the rows only.
    several : {"max", "sum"}
        What several hits of one pair (HSPs) amount to.
    max_evalue : float, optional
        Leave out hits with a larger e-value.
    min_identity : float, optional
        Leave out hits of less identity, in the unit of the file (percent, or shares
        of 1).
    columns : list of str, optional
        Titles of the columns of a file without a title line; ``"query"`` and
        ``"target"`` among them.

    Returns
    -------
    Named
        ``data`` is a `scipy.sparse.csr_array` (float64, sorted, no zeros stored),
        ``names`` those of its rows, ``columns`` those of its columns with `against`,
        ``notes`` which column was read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from krein import read_hits
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "hits.csv"
    >>> _ = path.write_text("a,a,90 a,b,40 b,b,80".replace(" ", chr(10)))
    >>> hits = read_hits(path)
    >>> hits.names, hits.data.toarray().tolist()
    (['a', 'b'], [[90.0, 40.0], [0.0, 80.0]])
    >>> folder.cleanup()
    """
    if several not in ("max", "sum"):
        raise ValueError(f"several must be 'max' or 'sum', got {several!r}")
    if scipy.sparse.issparse(path):
        return hits_of_matrix(path, names, against)
    with readable(path) as file:
        if file.suffix.lower() == ".npz" or zipfile.is_zipfile(file):
            return load_hits(file, names, against)
        given = {"evalue": (-np.inf, max_evalue), "identity": (min_identity, np.inf)}
        bounds = {title: pair for title, pair in given.items() if None not in pair}
        layout = find_columns(file, score, columns, [*bounds])
        # A score of 0 is no hit.
        kept = np.array([(np.nextafter(0, 1), np.inf), *bounds.values()], dtype=float)
        found = collect(file, layout, Collected(names, against), kept)
        wrong = (found.largest > 1.0) != ((min_identity or 0.0) > 1.0)
        if min_identity and found.largest and wrong:
            unit = "percent" if found.largest > 1.0 else "shares of 1"
            are = f"identities are up to {found.largest:g}, which is in {unit}"
            must = f"min_identity={min_identity:g} must be in the same unit"
            raise FormatError(file, f"{are}; {must}")
        return replace(found.matrix(several), notes=[layout.why])


def collect(
    path: Path, layout: Layout, found: Collected, bounds: Array | None = None
) -> Collected:
    """Read all pairs of a table, or the hits whose numbers lie between the bounds."""
    for first, text in table_blocks(path, layout.head):
        block = fast_lines(text, layout)
        if block is None:
            block = careful_lines(text, layout, first)
        kept = None
        if bounds is not None:
            low, high = bounds.T
            kept = ((block.numbers >= low) & (block.numbers <= high)).all(axis=1)
            largest = block.numbers[:, -1].max(initial=found.largest)
            found.largest = float(largest)  # of identities, where they are asked for
        odd = found.add(block, kept)
        if odd is not None:
            place, line = line_blocks.data_lines(text, first)[odd]
            fields = line_blocks.split_line(line, layout.separator)
            raise found.unknown(fields, layout, place)
    return found


class _Positions(dict[bytes, int]):
    """Position of each name; a new name gets the next one, unless they are fixed."""

    fixed = False

    def __missing__(self, name: bytes) -> int:
        return -1 if self.fixed else self.setdefault(name, len(self))


class Table:
    """Names and their positions, in order; a fixed one takes no new names."""

    def __init__(self, names: Sequence[str] | None = None, what: str = "names") -> None:
        if isinstance(names, str):
            raise TypeError(f"{what} must be a list of names, got the text {names!r}")
        listed = check_names(names, len(names or ()), what) or []
        self.position = _Positions({name.encode(): k for k, name in enumerate(listed)})
        self.fixed = self.position.fixed = names is not None

    def codes(self, names: list[bytes]) -> np.ndarray:
        """Positions of names; -1 where a fixed table does not have one."""
        found = map(self.position.__getitem__, names)
        return np.fromiter(found, dtype=np.int32, count=len(names))


class Collected:
    """Hits of all blocks so far, 16 bytes each, and the names of items."""

    def __init__(self, names: Any = None, against: Any = None) -> None:
        self.rows = Table(names)
        self.columns = self.rows if against is None else Table(against, "against")
        # Long arrays that grow in place: many small ones would scatter memory.
        self.arrays: list[array] = [array("i"), array("i"), array("d")]
        self.largest = 0.0

    def add(self, block: HitLines, kept: np.ndarray | None) -> int | None:
        """Add the hits of a block; return the first with a name not among those given.

        Items of one table are numbered in the order in which they appear.
        """
        if self.columns is self.rows:
            names = [b""] * (2 * len(block.query))
            names[::2], names[1::2] = block.query, block.target
            codes = self.rows.codes(names)
            query, target = codes[::2], codes[1::2]
        else:
            query = self.rows.codes(block.query)
            target = self.columns.codes(block.target)
        chosen = slice(None) if kept is None else kept
        parts = query, target, block.numbers[:, 0]
        for long, part in zip(self.arrays, parts, strict=True):
            long.frombytes(part[chosen].tobytes())
        unknown = np.flatnonzero((query < 0) | (target < 0))
        return int(unknown[0]) if unknown.size else None

    def unknown(self, fields: list[str], layout: Layout, place: Place) -> FormatError:
        """Say which name of a line was not expected."""
        column, table, given = layout.query, self.rows, "names"
        if not table.fixed or fields[column].encode() in table.position:
            column, table = layout.target, self.columns
            given = "names" if table is self.rows else "against"
        what = f"{fields[column]!r} is not among the {len(table.position)} names in"
        repair = f"leave {given} out to take the names of the file"
        return place.error(f"{what} {given}=; {repair}", column + 1)

    def triplets(self) -> list[np.ndarray]:
        """Rows, columns and scores."""
        return [np.frombuffer(long, dtype=long.typecode) for long in self.arrays]

    def matrix(self, several: Several) -> Named:
        """All hits as a sparse matrix."""
        shape = (len(self.rows.position), len(self.columns.position))
        data = compressed(self.triplets(), shape, several)
        names = [name.decode() for name in self.rows.position]
        columns = [name.decode() for name in self.columns.position]
        return Named(data, names, None if self.columns is self.rows else columns)


def compressed(
    triplets: list[np.ndarray], shape: tuple[int, int], several: Several
) -> scipy.sparse.csr_array:
    """Rows of a sparse matrix from rows, columns and scores, repeated ones joined.

    The list is emptied: of large tables there is no room for a second copy.
    """
    rows, columns, scores = triplets
    triplets.clear()
    if (rows[1:] < rows[:-1]).any():
        order = np.argsort(rows, kind="stable")
        rows, columns, scores = rows[order], columns[order], scores[order]
        del order
    index: Any = np.int32 if rows.size < np.iinfo(np.int32).max else np.int64
    starts = np.searchsorted(rows, np.arange(shape[0] + 1)).astype(index)
    matrix = scipy.sparse.csr_array((scores, columns, starts), shape=shape)
    matrix.sort_indices()
    if several == "sum" or matrix.has_canonical_format:
        matrix.sum_duplicates()
        return matrix
    new = np.append(True, (np.diff(rows) != 0) | (np.diff(matrix.indices) != 0))
    first = np.flatnonzero(new)
    scores, columns = np.maximum.reduceat(matrix.data, first), matrix.indices[first]
    starts = np.searchsorted(rows[first], np.arange(shape[0] + 1)).astype(index)
    return scipy.sparse.csr_array((scores, columns, starts), shape=shape)


def hits_of_matrix(
    matrix: Any, names: Sequence[str] | None, columns: Sequence[str] | None
) -> Named:
    """Check a SciPy sparse array and name it."""
    data = checked_scores(matrix)
    if columns is None and data.shape[0] != data.shape[1]:
        columns = [str(k) for k in range(data.shape[1])]
    rows = [str(k) for k in range(data.shape[0])] if names is None else names
    names = check_names(rows, data.shape[0], "names")
    return Named(data, names, check_names(columns, data.shape[1], "against"))


def checked_scores(matrix: Any, *, copy: bool = True) -> scipy.sparse.csr_array:
    """Compressed rows without zeros; scores are finite and not negative.

    Without `copy` the arrays of `matrix` are shared where they can stay as they are.
    """
    if np.iscomplexobj(matrix):
        raise ValueError("the sparse array holds complex numbers; hits are real scores")
    data = scipy.sparse.csr_array(matrix, dtype=np.float64, copy=copy)
    if not np.isfinite(data.data).all():
        raise ValueError("the sparse array holds NaN or infinity; hits are finite")
    if (data.data < 0).any():
        has = f"the sparse array holds the negative score {data.data.min():g}"
        raise ValueError(f"{has}; scores of hits are 0 or more")
    if copy or not data.has_canonical_format or not data.data.all():
        data = data if copy else data.copy()
        data.sum_duplicates()
        data.eliminate_zeros()
    return data


def load_hits(
    path: Path, names: Sequence[str] | None, against: Sequence[str] | None
) -> Named:
    """Read .npz of `scipy.sparse.save_npz` or `write_hits`; nothing is unpickled."""
    arrays = read_arrays(path)
    data, indices, indptr, shape = (
        arrays.get(key, ()) for key in ("data", "indices", "indptr", "shape")
    )
    if arrays.get("format") not in (b"csr", "csr") or not len(indptr):
        form = "a sparse matrix in csr form (scipy.sparse.save_npz(path, A.tocsr()))"
        raise FormatError(path, f"expected {form}, found {', '.join(sorted(arrays))}")
    try:
        matrix = scipy.sparse.csr_array((data, indices, indptr), shape=tuple(shape))
        matrix.check_format(full_check=True)
        rows: Any = arrays.get("names") if names is None else names
        columns: Any = arrays.get("columns") if against is None else against
        return hits_of_matrix(matrix, rows, columns)
    except (ValueError, TypeError, IndexError) as error:
        raise FormatError(path, f"the sparse matrix is damaged: {error}") from None


def kind_of_hits(path: Path) -> str:
    """Tell by content: "sparse" (.npz), "titled", "pairs" (no titles) or "none"."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as members:
            return "sparse" if "indptr.npy" in members.namelist() else "none"
    first, text = next(table_blocks(path), (Place(path), b""))
    lines = [content for _, content in line_blocks.data_lines(text, first, most=20)]
    if not lines or not (b"# Fields:" in text or is_pair_list(lines)):
        return "none"
    head = find_columns(path).head
    return "titled" if head or b"# Fields:" in text else "pairs"
