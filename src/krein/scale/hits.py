"""Tables of hits in several files: read and answered file by file, on workers.

Search programs are run on parts of the queries, and leave one table per part. A worker
reads a part, or answers for the new items in it; the results are those of one file.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from krein.files import Named
from krein.files import hit_table as tables
from krein.scale.client import as_client, map_in_order

Paths = Sequence[str | os.PathLike[str]]


def read_hits(
    paths: Paths, *, several: tables.Several = "max", client: Any = None, **options: Any
) -> Named:
    """Read several tables of hits as if they were one.

    Parameters
    ----------
    paths : list of path-like
        The files, in order; all workers must see them.
    several : {"max", "sum"}
        What several hits of one pair amount to, also in different files.
    client : dask.distributed.Client or "local", optional
        Read on its workers; ``"local"`` starts one for the time of the call. By
        default the current client, if there is one.
    **options
        Of `krein.read_hits`.

    Returns
    -------
    Named
        As `krein.read_hits` returns it for the files one after the other.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from krein.scale import read_hits
    >>> folder = tempfile.TemporaryDirectory()
    >>> parts = [pathlib.Path(folder.name) / f"{k}.tsv" for k in "ab"]
    >>> for path, line in zip(parts, ["a b 3", "b a 2"]):
    ...     _ = path.write_text(line)
    >>> read_hits(parts).data.toarray().tolist()
    [[0.0, 3.0], [2.0, 0.0]]
    >>> folder.cleanup()
    """
    options = {**options, "several": several}
    rows, columns = tables.Table(), tables.Table()
    triplets: list[tuple[np.ndarray, ...]] = []
    for part in _each(_read, paths, options, client):
        found = part.data.tocoo()
        row = _codes(rows, part.names)
        column = row if part.columns is None else _codes(columns, part.columns)
        triplets.append((row[found.row], column[found.col], found.data))
    joined = [np.concatenate(pieces) for pieces in zip(*triplets, strict=True)]
    against = None if not columns.position else columns
    shape = (len(rows.position), len((against or rows).position))
    matrix = tables.compressed(joined, shape, several)
    return Named(matrix, _names(rows), None if against is None else _names(against))


def predict_hits(model: Any, paths: Paths, *, client: Any = None) -> Named:
    """Label the new items of several tables of hits, table by table.

    Parameters
    ----------
    model : HitClassifier
        Fitted on hits with names.
    paths : list of path-like
        Tables of hits of new items among the training items; all hits of an item stand
        in one of them. All workers must see the files.
    client : dask.distributed.Client or "local", optional
        Read and answer on its workers.

    Returns
    -------
    Named
        ``data`` the labels, ``names`` the new items: queries that are no training
        items, in the order of the files.
    """
    parts = list(_each(_answer, paths, model, client))
    names = [name for part in parts for name in part.names]
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(
            f"the item {twice!r} has hits in two files; all hits of an item must stand "
            "in one file, or the files be read as one by krein.scale.read_hits"
        )
    return Named(np.concatenate([part.data for part in parts]), names)


def _checked(paths: Paths) -> Paths:
    if isinstance(paths, str | os.PathLike) or not len(paths):
        raise TypeError(f"paths must be a list of one file or more, got {paths!r}")
    return paths


def _each(
    function: Callable[..., Any], paths: Paths, common: Any, client: Any
) -> Iterator[Any]:
    """Yield ``function(common, path)`` in order; `common` is sent to a worker once."""
    tasks = [(str(path), path) for path in _checked(paths)]
    with as_client(client) as running:
        yield from map_in_order(running, function, common, tasks)


def _read(options: dict[str, Any], path: Any) -> Named:
    return tables.read_hits(path, **options)


def _answer(model: Any, path: Any) -> Named:
    """Labels of the new items of one table; on a worker."""
    rule = model.similarity_
    parts = rule.new_items(tables.read_hits(path))
    own = set(rule.names_)
    if any(name in own for name in parts["X"].names):  # then all of them
        return Named(model.classes_[:0], [])
    return Named(model.predict(**parts), parts["X"].names)


def _codes(table: tables.Table, names: Any) -> np.ndarray:
    return table.codes([name.encode() for name in names])


def _names(table: tables.Table) -> list[str]:
    return [name.decode() for name in table.position]
