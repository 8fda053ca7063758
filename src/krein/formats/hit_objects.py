"""Hits that are no text: sparse arrays, graphs, and .npz files of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from krein.formats.arrays import read_npz
from krein.formats.named import FormatError, Named
from krein.store.files import atomic_write

__all__ = [
    "checked_scores",
    "hits_of_graph",
    "hits_of_matrix",
    "load_hits",
    "write_hits",
]


def hits_of_matrix(
    matrix: Any, names: Sequence[str] | None, columns: Sequence[str] | None
) -> Named:
    """Check a SciPy sparse array and name it."""
    data = checked_scores(matrix)
    if columns is None and data.shape[0] != data.shape[1]:
        columns = [str(k) for k in range(data.shape[1])]
    rows = [str(k) for k in range(data.shape[0])] if names is None else names
    return Named(
        data,
        _named(rows, data.shape[0], "names"),
        None if columns is None else _named(columns, data.shape[1], "against"),
    )


def checked_scores(matrix: Any, *, copy: bool = True) -> scipy.sparse.csr_array:
    """Compressed rows without zeros; scores are finite and not negative.

    Without `copy` the arrays of `matrix` are shared where they can stay as they are.
    """
    data = scipy.sparse.csr_array(matrix, dtype=np.float64, copy=copy)
    if not np.isfinite(data.data).all():
        raise ValueError("the sparse array holds NaN or infinity; hits are finite")
    if (data.data < 0).any():
        raise ValueError(
            f"the sparse array holds the negative score {data.data.min():g}; scores of "
            "hits are 0 or more"
        )
    if copy or not data.has_canonical_format or not data.data.all():
        data = data if copy else data.copy()
        data.sum_duplicates()
        data.eliminate_zeros()
    return data


def _named(names: Sequence[str], n: int, what: str) -> list[str]:
    names = [str(name) for name in names]
    if len(names) != n or len(set(names)) < n:
        raise ValueError(
            f"{what} must be {n} different names for a sparse array with as many rows "
            f"or columns, got {len(names)}, {len(set(names))} of them different"
        )
    return names


def hits_of_graph(graph: Any, names: Sequence[str] | None, weight: str) -> Named:
    """Adjacency of a NetworkX graph; an undirected edge is a hit in both directions."""
    nodes = list(graph.nodes)
    labels = [str(node) for node in nodes]
    if len(set(labels)) < len(labels):
        raise ValueError("two nodes of the graph have the same name as text")
    place = {node: k for k, node in enumerate(nodes)}
    if names is not None:
        wanted = {str(name): k for k, name in enumerate(names)}
        unknown = [label for label in labels if label not in wanted]
        if unknown:
            raise ValueError(f"the node {unknown[0]!r} of the graph is not in names=")
        place = {node: wanted[str(node)] for node in nodes}
        labels = list(wanted)
    edges = [(place[u], place[v], w) for u, v, w in graph.edges(data=weight, default=1)]
    rows, columns, scores = zip(*edges, strict=True) if edges else ((), (), ())
    n = len(labels)
    data = scipy.sparse.coo_array(
        (np.array(scores, dtype=float), (rows, columns)), shape=(n, n)
    )
    if not graph.is_directed():
        data = data + scipy.sparse.triu(data, 1).T + scipy.sparse.tril(data, -1).T
    return hits_of_matrix(data, labels, None)


def load_hits(
    path: Path, names: Sequence[str] | None, against: Sequence[str] | None
) -> Named:
    """Read .npz of `scipy.sparse.save_npz` or `write_hits`; nothing is unpickled."""
    arrays = read_npz(path)
    kind = arrays.get("format")
    kind = kind.item().decode() if kind is not None and kind.dtype.kind == "S" else kind
    needed = ("indptr", "indices", "data", "shape")
    if str(kind) != "csr" or any(key not in arrays for key in needed):
        raise FormatError(
            path,
            "expected a sparse matrix in csr form, as scipy.sparse.save_npz(path, "
            f"A.tocsr()) writes it, found {', '.join(sorted(arrays)) or 'nothing'}",
        )
    parts = (arrays["data"], arrays["indices"], arrays["indptr"])
    try:
        matrix = scipy.sparse.csr_array(parts, shape=tuple(arrays["shape"]))
        matrix.check_format(full_check=True)
        rows: Any = arrays.get("names") if names is None else names
        columns: Any = arrays.get("columns") if against is None else against
        return hits_of_matrix(matrix, rows, columns)
    except (ValueError, TypeError, IndexError) as error:
        raise FormatError(path, f"the sparse matrix is damaged: {error}") from None


def write_hits(
    path: str | os.PathLike, hits: Named, *, overwrite: bool = False
) -> None:
    """Write hits with their names: three columns of text, or .npz.

    Parameters
    ----------
    path : path-like
        .npz (which `scipy.sparse.load_npz` reads too), .csv, or anything else for
        tabs.
    hits : Named
        As `read_hits` returns them.
    overwrite : bool
        Replace an existing file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import scipy.sparse
    >>> from krein import Named, read_hits, write_hits
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "hits.npz"
    >>> hits = Named(scipy.sparse.eye_array(2, format="csr"), ["ann", "bob"])
    >>> write_hits(path, hits)
    >>> read_hits(path).names
    ['ann', 'bob']
    >>> folder.cleanup()
    """
    path = Path(path)
    checked = hits_of_matrix(hits.data, hits.names, hits.columns)
    matrix = checked.data
    if path.suffix.lower() == ".npz":
        arrays = {
            "format": np.array(b"csr"), "shape": np.array(matrix.shape),
            "data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr,
            "_is_array": np.array(True), "names": np.array(checked.names),
        }  # fmt: skip
        if checked.columns is not None:
            arrays["columns"] = np.array(checked.columns)
        with atomic_write(path, overwrite=overwrite) as handle:
            np.savez(handle, **arrays)  # type: ignore[arg-type]
        return
    separator = "," if path.suffix.lower() == ".csv" else "\t"
    rows = checked.names or []
    columns = rows if checked.columns is None else checked.columns
    for name in {*rows, *columns}:
        if not name.strip() or any(c in name for c in (separator, '"', "\n", "\r")):
            raise ValueError(f"the name {name!r} cannot stand in a table; use .npz")
    with atomic_write(path, overwrite=overwrite, text=True) as handle:
        handle.write(separator.join(["query", "target", "score"]) + "\n")
        for i, name in enumerate(rows):
            part = slice(matrix.indptr[i], matrix.indptr[i + 1])
            found = zip(matrix.indices[part], matrix.data[part].tolist(), strict=True)
            handle.writelines(
                f"{name}{separator}{columns[j]}{separator}{value!r}\n"
                for j, value in found
            )
