"""Read a data file of the KREIN_DATA folder, or a bundled one, into a Bunch.

Two formats, neither of which can run code: ``.npz`` without pickles (arrays ``X`` and
``y``, or the arrays of a set of graphs) and ``.csv.gz`` (a column ``y``; strings in a
column ``sequence`` or ``letters``, otherwise numbers).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from krein.formats import FormatError
from krein.formats import arrays as formats
from krein.formats.cells import as_labels, parse_number
from krein.formats.columns import read_text_rows

__all__ = ["KIND_BY_PREFIX", "Graph", "kind_of", "read_csv", "read_npz"]

KIND_BY_PREFIX = {
    "sim": "similarity",
    "dis": "dissimilarity",
    "str": "strings",
    "ts": "series",
    "graph": "graphs",
    "spd": "spd",
}


def kind_of(name: str) -> str:
    """Kind of data that a name announces; feature vectors have no prefix."""
    everyday = {"promoters": "strings", "digit_shapes": "similarity"}
    if name in everyday:
        return everyday[name]
    prefix, _, rest = name.partition("_")
    return KIND_BY_PREFIX.get(prefix, "vectors") if rest else "vectors"


class Graph(NamedTuple):
    """One labelled undirected graph.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes,)
        0, 1, ..., n_nodes - 1.
    edges : ndarray of shape (n_edges, 2)
        Pairs of nodes, each undirected edge once.
    labels : ndarray of shape (n_nodes,)
        Label of each node.
    """

    nodes: np.ndarray
    edges: np.ndarray
    labels: np.ndarray


def _speaker(arrays: Mapping[str, Any]) -> np.ndarray:
    """Person of a voice recording such as ``phon_R01_S01_3``: all but the last part."""
    return np.array([name.rpartition("_")[0] for name in arrays["recording"]])


# Which array says what belongs together. Not every `run` does (climate_crashes counts
# its simulations by it), so this is a table and not a rule; own files use `groups`.
_GROUPS: dict[str, Callable[[Mapping[str, Any]], np.ndarray]] = {
    "dis_mirna": lambda arrays: arrays["source_id"],
    "parkinsons": _speaker,
    "spd_eeg_alcoholism": lambda arrays: arrays["subject"],
    "spd_emg_gestures": lambda arrays: arrays["run"],
    "str_mirna": lambda arrays: arrays["id"],
}


def _bunch(name: str, data: Any, target: np.ndarray, extra: dict[str, Any]) -> Bunch:
    find = _GROUPS.get(name)
    groups = find(extra) if find else extra.pop("groups", None)
    return Bunch(
        data=data, target=target, kind=kind_of(name), groups=groups, name=name, **extra
    )


def read_npz(path: Any, name: str) -> Bunch:
    """Read ``.npz``: `data` from X (or the graphs), `target` from y, the rest kept.

    Parameters
    ----------
    path : path-like
        The file.
    name : str
        Name of the set; its prefix says the kind of data.
    """
    arrays = formats.read_npz(Path(path))
    needed = ["graph_of_node", "edges"] if kind_of(name) == "graphs" else ["X"]
    missing = [key for key in [*needed, "y"] if key not in arrays]
    if missing:
        raise FormatError(
            path, f"lacks the array {missing[0]!r}; it has {', '.join(arrays)}"
        )
    target = arrays.pop("y")
    data = _graphs(arrays) if kind_of(name) == "graphs" else arrays.pop("X")
    return _bunch(name, data, target, arrays)


def _graphs(arrays: Mapping[str, np.ndarray]) -> list[Graph]:
    """Cut one long list of nodes and edges into graphs."""
    owner, edges = arrays["graph_of_node"], arrays["edges"]
    labels = arrays.get("node_label", np.zeros(owner.size, dtype=int))
    edges = edges[edges[:, 0] < edges[:, 1]]  # both directions are listed
    graphs = []
    for graph in np.unique(owner):
        nodes = np.flatnonzero(owner == graph)
        inside = edges[owner[edges[:, 0]] == graph]
        local = np.searchsorted(nodes, inside)
        graphs.append(Graph(np.arange(nodes.size), local, labels[nodes]))
    return graphs


def read_csv(path: Any, name: str) -> Bunch:
    """Read ``.csv.gz``: strings when a column holds them, numbers otherwise.

    Parameters
    ----------
    path : path-like
        The file.
    name : str
        Name of the set.
    """
    header, *rows = read_text_rows(Path(path), ",")
    if not rows or "y" not in header.fields:
        raise FormatError(
            path, "must start with a line of column names, with 'y' among them"
        )
    fields = zip(*(row.fields for row in rows), strict=True)
    columns = dict(zip(header.fields, fields, strict=True))
    target = as_labels(columns.pop("y"))
    for key in ("sequence", "letters"):
        if key in columns:
            data: Any = list(columns.pop(key))
            extra = {k: np.array(v) for k, v in columns.items()}
            return _bunch(name, data, target, extra)
    lines = [row.line for row in rows]
    numbers = [
        [parse_number(x, path, line, k) for x, line in zip(texts, lines, strict=True)]
        for k, texts in enumerate(columns.values(), start=1)
    ]
    extra = {"feature_names": np.array(list(columns))}
    return _bunch(name, np.column_stack(numbers), target, extra)
