"""Tables of hits as a named sparse matrix, read in one pass, and written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse

from krein.arrays import Array
from krein.formats.hit_layout import find_layout, open_table, whole_lines
from krein.formats.hit_lines import (
    HitLines,
    Layout,
    careful_lines,
    data_lines,
    fast_lines,
    split_line,
)
from krein.formats.hit_objects import hits_of_graph, hits_of_matrix, load_hits
from krein.formats.named import FormatError, Named

__all__ = ["read_hits"]

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
    path : path-like, SciPy sparse array or NetworkX graph
        Text separated by tabs, commas, semicolons or blanks, plain or packed by gzip
        or Zstandard; a title line and comments (#) are recognised. Also .npz as
        `scipy.sparse.save_npz` and `write_hits` write it; a sparse array, such as
        ``kneighbors_graph`` returns (similarities, not distances); a graph, whose
        edge attribute `score` (``weight`` unless another is given) is taken.
    score : str or int
        Title of the column of scores, or its number counted from 1. Without a title
        line the columns are those of BLAST's 12, or the third of three.
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
        ``names`` those of its rows, ``columns`` those of its columns with `against`.

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
    if hasattr(path, "nodes") and hasattr(path, "edges"):
        weight = "weight" if score == "bitscore" else str(score)
        return hits_of_graph(path, names, weight)
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file")
    if path.suffix.lower() == ".npz":
        return load_hits(path, names, against)
    cuts = Cuts(max_evalue, min_identity)
    found = Collected(path, names, against)
    with open_table(path) as handle:
        layout, skip = find_layout(handle, path, score, columns, cuts.titles)
    with open_table(path) as handle:
        for line, text in whole_lines(handle, path, skip):
            block = fast_lines(text, layout)
            if block is None:
                block = careful_lines(text, layout, path, line)
            found.add(block, cuts.kept(block.numbers), layout, line, text)
    cuts.check_units(path)
    return found.matrix(several)


@dataclass
class Cuts:
    """Which hits are left out, by e-value and identity."""

    max_evalue: float | None = None
    min_identity: float | None = None
    largest_identity: float = 0.0

    @property
    def titles(self) -> tuple[str, ...]:
        """Columns that are needed besides the score, in order."""
        evalue = ("evalue",) if self.max_evalue is not None else ()
        return (*evalue, "identity") if self.min_identity is not None else evalue

    def kept(self, numbers: Array) -> np.ndarray | None:
        """Mask of the hits that stay, None for all; scores of 0 are no hits."""
        kept = numbers[:, 0] > 0
        if self.max_evalue is not None:
            kept &= numbers[:, 1] <= self.max_evalue
        if self.min_identity is not None:
            identity = numbers[:, -1]
            self.largest_identity = max(
                self.largest_identity, float(identity.max(initial=0.0))
            )
            kept &= identity >= self.min_identity
        return None if kept.all() else kept

    def check_units(self, path: Path) -> None:
        """Refuse a bound in percent where the file has shares of 1, and vice versa."""
        if self.min_identity is None or self.largest_identity == 0.0:
            return
        percent = self.largest_identity > 1.0
        if percent != (self.min_identity > 1.0) and self.min_identity != 0.0:
            unit = "percent" if percent else "shares of 1"
            raise FormatError(
                path,
                f"identities are up to {self.largest_identity:g}, which is in {unit}; "
                f"min_identity={self.min_identity:g} must be in the same unit",
            )


@dataclass
class Table:
    """Names and their positions, in order; a fixed one takes no new names."""

    position: dict[bytes, int] = field(default_factory=dict)
    fixed: bool = False

    @classmethod
    def of(cls, names: Sequence[str] | None, what: str) -> Table:
        """Fix the names given, or start an empty table."""
        if names is None:
            return cls()
        if isinstance(names, str):
            raise TypeError(f"{what} must be a list of names, got the text {names!r}")
        encoded = [str(name).encode() for name in names]
        position = {name: k for k, name in enumerate(encoded)}
        if len(position) < len(encoded):
            twice = next(n for k, n in enumerate(encoded) if position[n] != k)
            raise ValueError(f"{what} holds {twice.decode()!r} twice")
        return cls(position, True)

    def codes(self, names: list[bytes]) -> np.ndarray:
        """Positions of names; -1 where a fixed table does not have one."""
        position = self.position
        if self.fixed:
            found = [position.get(name, -1) for name in names]
        else:
            found = [position.setdefault(name, len(position)) for name in names]
        return np.array(found, dtype=np.int32)


class Growing:
    """A long array, added to block by block; many small ones would scatter memory."""

    def __init__(self, dtype: Any) -> None:
        self.buffer, self.size = np.empty(1 << 16, dtype=dtype), 0

    def add(self, part: np.ndarray) -> None:
        """Put numbers at the end."""
        end = self.size + part.size
        if end > self.buffer.size:
            self.buffer.resize(max(end, 2 * self.buffer.size), refcheck=False)
        self.buffer[self.size : end] = part
        self.size = end

    def all(self) -> np.ndarray:
        """Hand all numbers over, without the room behind them."""
        whole, self.buffer = self.buffer, np.empty(0)
        whole.resize(self.size, refcheck=False)
        return whole


class Collected:
    """Hits of all blocks so far, 16 bytes each, and the names of items."""

    def __init__(self, path: Path, names: Any, against: Any) -> None:
        self.path = path
        self.rows = Table.of(names, "names")
        self.columns = self.rows if against is None else Table.of(against, "against")
        self.queries, self.targets = Growing(np.int32), Growing(np.int32)
        self.scores = Growing(np.float64)

    def add(
        self,
        block: HitLines,
        kept: np.ndarray | None,
        layout: Layout,
        line: int,
        text: bytes,
    ) -> None:
        """Add a block; `line` and `text` say where it stands if a name is unknown."""
        if self.columns is self.rows:
            codes = self.rows.codes(block.names)
            query, target = codes[block.query], codes[block.target]
        else:
            query = self._side(self.rows, block, block.query)
            target = self._side(self.columns, block, block.target)
        if min(query.min(initial=0), target.min(initial=0)) < 0:
            self._refuse(layout, line, text)
        chosen = slice(None) if kept is None else kept
        self.queries.add(query[chosen])
        self.targets.add(target[chosen])
        self.scores.add(block.numbers[chosen, 0])

    @staticmethod
    def _side(table: Table, block: HitLines, used: np.ndarray) -> np.ndarray:
        """Codes of one side only: the names of the other are not items of it."""
        local = np.unique(used)
        codes = np.empty(len(block.names), dtype=np.int32)
        codes[local] = table.codes([block.names[k] for k in local])
        return codes[used]

    def _refuse(self, layout: Layout, line: int, text: bytes) -> None:
        shared = self.columns is self.rows
        sides = (
            ("query", layout.query, self.rows, "names"),
            ("target", layout.target, self.columns, "names" if shared else "against"),
        )
        for number, content in data_lines(text, self.path, line):
            fields = split_line(content, layout.separator)
            for side, column, table, given in sides:
                if table.fixed and fields[column].encode() not in table.position:
                    raise FormatError(
                        self.path,
                        f"{side} {fields[column]!r} is not among the "
                        f"{len(table.position)} names in {given}=; leave {given} "
                        "out to take the names of the file, and choose rows afterwards",
                        line=number,
                        column=column + 1,
                    )

    def matrix(self, several: Several) -> Named:
        """All hits as a sparse matrix."""
        shape = (len(self.rows.position), len(self.columns.position))
        parts = [self.queries.all(), self.targets.all(), self.scores.all()]
        data = compressed(parts, shape, several)
        names = [name.decode() for name in self.rows.position]
        if self.columns is self.rows:
            return Named(data, names)
        return Named(data, names, [name.decode() for name in self.columns.position])


def compressed(
    triplets: list[np.ndarray], shape: tuple[int, int], several: Several
) -> scipy.sparse.csr_array:
    """Rows of a sparse matrix from rows, columns and scores, repeated ones joined.

    The list is emptied: of large tables there is no room for a second copy.
    """
    rows, columns, scores = triplets
    triplets.clear()
    if rows.size and (rows[1:] < rows[:-1]).any():
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        columns = columns[order]
        scores = scores[order]
        del order
    index: Any = np.int32 if rows.size < np.iinfo(np.int32).max else np.int64
    starts = np.zeros(shape[0] + 1, dtype=index)
    np.cumsum(np.bincount(rows, minlength=shape[0]), out=starts[1:])
    matrix = scipy.sparse.csr_array((scores, columns, starts), shape=shape)
    matrix.sort_indices()
    new = np.ones(rows.size, dtype=bool)
    new[1:] = (rows[1:] != rows[:-1]) | (matrix.indices[1:] != matrix.indices[:-1])
    if new.all():
        return matrix
    first = np.flatnonzero(new).astype(index)
    join = np.maximum if several == "max" else np.add
    np.cumsum(np.bincount(rows[first], minlength=shape[0]), out=starts[1:])
    return scipy.sparse.csr_array(
        (join.reduceat(matrix.data, first), matrix.indices[first], starts), shape=shape
    )
