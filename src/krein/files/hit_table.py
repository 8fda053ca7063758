"""Tables of hits as a named sparse matrix, read in one pass."""

from __future__ import annotations

import zipfile
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse

from krein.files.binary import read_arrays
from krein.files.hit_columns import find_columns, is_pair_list, table_blocks
from krein.files.line_blocks import Layout, careful_lines, data_lines, fast_lines
from krein.files.sources import FormatError, Named, Place, check_names, readable
from krein.retired import without

Several = Literal["max", "sum"]


@without(max_evalue="filter the table before", min_identity="filter the table before")
def read_hits(
    path: Any,
    score: str | int = "bitscore",
    *,
    names: Sequence[str] | None = None,
    against: Sequence[str] | None = None,
    several: Several = "max",
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
        line the columns are those of BLAST's 12, or the third of three; of others name
        the score by its number. A column that falls with likeness (e-values, distances)
        is refused.
    names : list of str, optional
        Names of the items, in the order wanted; those without hits have empty rows.
        The default is the order of appearance.
    against : list of str, optional
        Names of the columns, where these are other items than the rows: new items
        against training items. Then `names` is about the rows only.
    several : {"max", "sum"}
        What several hits of one pair (HSPs) amount to.
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
        layout = find_columns(file, score, columns)
        rows = Table(names)
        others = rows
        titles = None
        if against is not None:
            others = Table(against, "against")
            titles = others.names()
        triplets = collect(file, layout, rows, others)
        data = compressed(triplets, (len(rows), len(others)), several)
        return Named(data, rows.names(), titles, notes=[layout.why])


class Table(dict[bytes, int]):
    """Position of each name, in order; a fixed table takes no new names."""

    def __init__(self, names: Sequence[str] | None = None, what: str = "names") -> None:
        if isinstance(names, str):
            raise TypeError(f"{what} must be a list of names, got the text {names!r}")
        listed = check_names(names, len(names or ()), what) or []
        super().__init__({name.encode(): k for k, name in enumerate(listed)})
        self.fixed = names is not None
        self.what = what

    def __missing__(self, name: bytes) -> int:
        return -1 if self.fixed else self.setdefault(name, len(self))

    def codes(self, names: list[bytes]) -> np.ndarray:
        """Positions of names; -1 where a fixed table does not have one."""
        found = map(self.__getitem__, names)
        return np.fromiter(found, dtype=np.int32, count=len(names))

    def names(self) -> list[str]:
        """The names, in order."""
        return [name.decode() for name in self]


def collect(
    path: Path, layout: Layout, rows: Table, columns: Table
) -> list[np.ndarray]:
    """Read rows, columns and scores of all pairs of a table; a hit has a score.

    Items of one table are numbered in the order in which they appear.
    """
    # Long arrays that grow in place: many small ones would scatter memory.
    long: list[array] = [array("i"), array("i"), array("d")]
    for first, text in table_blocks(path, layout.head):
        block = fast_lines(text, layout) or careful_lines(text, layout, first)
        if columns is rows:
            names = [b""] * (2 * len(block.query))
            names[::2] = block.query
            names[1::2] = block.target
            codes = rows.codes(names).reshape(-1, 2).T
        else:
            codes = np.stack([rows.codes(block.query), columns.codes(block.target)])
        unknown = np.flatnonzero((codes < 0).any(axis=0))
        if unknown.size:
            k = unknown[0]
            place, _ = data_lines(text, first)[k]
            if codes[0, k] < 0:
                raise _not_among(block.query[k], rows, place, layout.query)
            raise _not_among(block.target[k], columns, place, layout.target)
        kept = slice(None) if layout.signed else block.scores > 0
        for part, values in zip(long, (*codes, block.scores), strict=True):
            part.frombytes(values[kept].tobytes())
    return [np.frombuffer(part, dtype=part.typecode) for part in long]


def _not_among(name: bytes, table: Table, place: Place, field: int) -> FormatError:
    return place.error(
        f"{name.decode()!r} is not among the {len(table)} names in {table.what}=; "
        f"leave {table.what} out to take the names of the file",
        field + 1,
    )


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
        rows = rows[order]
        columns = columns[order]
        scores = scores[order]
        del order
    index: Any = np.int32 if rows.size < np.iinfo(np.int32).max else np.int64
    starts = np.searchsorted(rows, np.arange(shape[0] + 1)).astype(index)
    matrix = scipy.sparse.csr_array((scores, columns, starts), shape=shape)
    matrix.sort_indices()
    if several == "max" and not matrix.has_canonical_format:
        changes = (np.diff(rows) != 0) | (np.diff(matrix.indices) != 0)
        first = np.flatnonzero(np.append(True, changes))  # of each pair
        largest = np.maximum.reduceat(matrix.data, first)
        matrix.data[:] = 0.0  # so that the sum of several is the largest
        matrix.data[first] = largest
    matrix.sum_duplicates()
    return matrix


def hits_of_matrix(
    matrix: Any, names: Sequence[str] | None, columns: Sequence[str] | None
) -> Named:
    """Check a SciPy sparse array and name it."""
    data = checked_scores(matrix)
    n, m = data.shape
    if names is None:
        names = [str(k) for k in range(n)]
    if columns is None and n != m:
        columns = [str(k) for k in range(m)]
    return Named(
        data, check_names(names, n, "names"), check_names(columns, m, "against")
    )


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
        raise ValueError(
            f"the sparse array holds the negative score {data.data.min():g}; scores of "
            "hits are 0 or more"
        )
    if copy or not data.has_canonical_format or not data.data.all():
        if not copy:
            data = data.copy()
        data.sum_duplicates()
        data.eliminate_zeros()
    return data


def load_hits(
    path: Path, names: Sequence[str] | None, against: Sequence[str] | None
) -> Named:
    """Read .npz of `scipy.sparse.save_npz` or `write_hits`; nothing is unpickled."""
    arrays = read_arrays(path)
    starts: Any = arrays.get("indptr", ())
    if arrays.get("format") not in (b"csr", "csr") or not len(starts):
        raise FormatError(
            path,
            "expected a sparse matrix in csr form (scipy.sparse.save_npz(path, "
            f"A.tocsr())), found {', '.join(sorted(arrays))}",
        )
    parts = (arrays.get("data", ()), arrays.get("indices", ()), starts)
    shape: Any = arrays.get("shape", ())
    rows: Any = arrays.get("names") if names is None else names
    columns: Any = arrays.get("columns") if against is None else against
    try:
        matrix = scipy.sparse.csr_array(parts, shape=tuple(shape))
        matrix.check_format(full_check=True)
        return hits_of_matrix(matrix, rows, columns)
    except (ValueError, TypeError, IndexError) as error:
        raise FormatError(path, f"the sparse matrix is damaged: {error}") from None


def kind_of_hits(path: Path) -> str:
    """Tell by content: "sparse" (.npz), "titled", "pairs" (no titles) or "none"."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as members:
            return "sparse" if "indptr.npy" in members.namelist() else "none"
    first, text = next(table_blocks(path), (Place(path), b""))
    lines = [content for _, content in data_lines(text, first, most=20)]
    commented = b"# Fields:" in text  # titles, as BLAST -outfmt 7 writes them
    if not lines or not (commented or is_pair_list(lines)):
        return "none"
    layout = find_columns(path)
    if commented or layout.head:
        return "titled"
    return "pairs"
