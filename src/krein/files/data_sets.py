"""Real data by name: bundled, scikit-learn's, or a folder of files.

A folder has files of two formats, neither of which can run code: ``.npz`` without
pickles (arrays ``X`` and ``y``, or the arrays of a set of graphs) and ``.csv.gz`` (a
column ``y``; strings in a column ``sequence`` or ``letters``, otherwise numbers).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from krein.files.binary import read_arrays
from krein.files.cells import as_labels, text_rows
from krein.files.item_files import read_columns
from krein.files.sources import FormatError, How
from krein.words import did_you_mean

_SHAPES = """Similarity exp(-d / 2) of the first 300 handwritten digits of scikit-learn
(UCI Machine Learning Repository, Optical Recognition of Handwritten Digits, CC BY 4.0),
where d is the Hausdorff distance of their ink in pixels: the longest way one has to go
from the ink of one digit to the ink of the other. A metric, whose exponential is
indefinite: 61 of 300 eigenvalues are negative.
"""
_STROKES = """Similarity exp(-d) of 180 handwritten digits 3, 5 and 8 of scikit-learn:
d compares each pixel with the closest value among the nine pixels around its place in
the other picture; d * d is the sum of squares, averaged over both directions. A stroke
that is shifted by one pixel costs nothing. 23 of 180 eigenvalues are negative.
"""
_OWN = Path(__file__).parent / "data"
_SUFFIXES = (".csv.gz", ".npz")
_SKLEARN = ("breast_cancer", "digits", "iris", "wine")


def data_folder() -> Path:
    """Folder of the data sets that are not bundled.

    Returns
    -------
    pathlib.Path
        The environment variable ``KREIN_DATA``, or ``~/krein_data``.
    """
    return Path(os.environ.get("KREIN_DATA") or Path.home() / "krein_data")


def _loaders() -> dict[str, tuple[str, Callable[[], Bunch]]]:
    """Where each set comes from, and what loads it."""
    loaders: dict[str, Any] = {name: partial(_from_sklearn, name) for name in _SKLEARN}
    loaders |= {"digit_shapes": digit_shapes, "digit_strokes": digit_strokes}
    return {
        **_files("folder", data_folder()),
        **{name: ("scikit-learn", load) for name, load in loaders.items()},
        **_files("bundled", _OWN),
    }


def _files(source: str, folder: Path) -> dict[str, tuple[str, Callable[[], Bunch]]]:
    paths = [(path, end) for end in _SUFFIXES for path in folder.glob(f"*{end}")]
    named = {path.name.removesuffix(end): path for path, end in paths}
    return {name: (source, partial(_from_file, p, name)) for name, p in named.items()}


def list_datasets() -> list[str]:
    """Names that `load_dataset` finds now.

    Returns
    -------
    list of str
        Bundled sets, those of scikit-learn, and the files in the folder named by the
        environment variable ``KREIN_DATA`` (``~/krein_data`` when it is not set).

    Examples
    --------
    >>> from krein import list_datasets
    >>> "sonar" in list_datasets()
    True
    """
    return sorted(_loaders())


def source_of(name: str) -> str:
    """Where `load_dataset` takes a set from.

    Parameters
    ----------
    name : str
        One of `list_datasets`.

    Returns
    -------
    {"bundled", "scikit-learn", "folder"}
    """
    return _loader(name)[0]


def _loader(name: str) -> tuple[str, Callable[[], Bunch]]:
    found = _loaders()
    if name in found:
        return found[name]
    raise ValueError(
        f"no data set named {name!r}{did_you_mean(name, list(found))} Looked in "
        f"the package, scikit-learn and the folder {data_folder()} (set KREIN_DATA to "
        "choose another); krein.list_datasets() names what is here"
    )


def load_dataset(name: str) -> Bunch:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        ``"sonar"`` and ``"promoters"`` are bundled; ``"iris"``, ``"wine"``,
        ``"breast_cancer"`` and ``"digits"`` come from scikit-learn, and
        ``"digit_shapes"`` and ``"digit_strokes"``, indefinite similarities of its
        digits; other names are files ``NAME.npz`` or ``NAME.csv.gz`` in the folder
        named by the environment variable ``KREIN_DATA`` (``~/krein_data`` by default).

    Returns
    -------
    sklearn.utils.Bunch
        ``data``, ``target``, ``kind`` ("vectors", "similarity", "dissimilarity",
        "strings", "series", "graphs" or "spd"), ``groups`` (what belongs together
        and must not be split, or None), ``DESCR``, ``name``; further arrays of the
        file, such as ``is_test``, under their own names. Graphs are triples
        ``(nodes, edges, labels)``.

    Raises
    ------
    ValueError
        If there is no such set, or its file is damaged.

    Examples
    --------
    >>> from krein import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> sonar.data.shape, sonar.kind
    ((208, 60), 'vectors')
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {type(name).__name__}")
    return _loader(name)[1]()


def _from_sklearn(name: str) -> Bunch:
    import sklearn.datasets

    loaded = getattr(sklearn.datasets, f"load_{name}")()
    loaded.update(kind="vectors", groups=None, name=name)
    return loaded


def _from_file(path: Path, name: str) -> Bunch:
    bunch = (read_npz if path.suffix == ".npz" else read_csv)(path, name)
    bunch.DESCR = f"{name}: {bunch.kind} from the folder {path.parent}"
    if path.parent == _OWN:
        bunch.DESCR = (_OWN / "README.md").read_text(encoding="utf-8")
    return bunch


_KINDS = {
    "sim": "similarity", "dis": "dissimilarity", "str": "strings", "ts": "series",
    "graph": "graphs", "spd": "spd", "digit": "similarity", "promoters": "strings",
}  # fmt: skip


def kind_of(name: str) -> str:
    """Kind of data that a name announces; feature vectors have no prefix."""
    return _KINDS.get(name.partition("_")[0], "vectors")


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


# Which array says what belongs together. Not every `run` does (climate_crashes counts
# its simulations by it), so this is a table and not a rule; own files use `groups`.
_GROUPS = {
    "dis_mirna": "source_id", "parkinsons": "recording", "str_mirna": "id",
    "spd_eeg_alcoholism": "subject", "spd_emg_gestures": "run",
}  # fmt: skip


def _bunch(name: str, data: Any, target: Any, extra: dict[str, Any]) -> Bunch:
    key = _GROUPS.get(name)
    groups = extra[key] if key else extra.pop("groups", None)
    if key == "recording":  # phon_R01_S01_3: the person is all but the last part
        groups = np.array([text.rpartition("_")[0] for text in groups])
    facts = {"kind": kind_of(name), "groups": groups, "name": name}
    return Bunch(data=data, target=target, **facts, **extra)


def read_npz(path: Any, name: str) -> Bunch:
    """Read ``.npz``: `data` from X (or the graphs), `target` from y, the rest kept.

    Parameters
    ----------
    path : path-like
        The file.
    name : str
        Name of the set; its prefix says the kind of data.
    """
    arrays = read_arrays(Path(path))
    needed = ["graph_of_node", "edges"] if kind_of(name) == "graphs" else ["X"]
    missing = [key for key in [*needed, "y"] if key not in arrays]
    if missing:
        has = f"lacks the array {missing[0]!r}; it has {', '.join(arrays)}"
        raise FormatError(path, has)
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
    header, *rows = text_rows(Path(path), ",")
    if not rows or "y" not in header.fields:
        problem = "must start with a line of column names, with 'y' among them"
        raise FormatError(path, problem)
    key = next((k for k in ("sequence", "letters") if k in header.fields), None)
    if key is None:
        read = read_columns(Path(path), How(",", label_column="y"))
        features = {"feature_names": np.array(read.columns)}
        return _bunch(name, read.data, read.target, features)
    fields = zip(*(row.fields for row in rows), strict=True)
    columns = dict(zip(header.fields, fields, strict=True))
    target, strings = as_labels(columns.pop("y")), list(columns.pop(key))
    extra = {title: np.array(texts) for title, texts in columns.items()}
    return _bunch(name, strings, target, extra)


def digit_shapes(n: int = 300) -> Bunch:
    """Compute the similarity of the first n digits.

    Parameters
    ----------
    n : int
        Number of digits.

    Returns
    -------
    sklearn.utils.Bunch
        As of `krein.load_dataset`.
    """
    from scipy.ndimage import distance_transform_edt
    from sklearn.datasets import load_digits

    digits = load_digits()
    ink = digits.images[:n] > 6
    way = np.array([distance_transform_edt(~other) for other in ink])
    longest = np.array([way[:, one].max(axis=1) for one in ink])
    K = np.exp(-np.maximum(longest, longest.T) / 2)
    return _bunch("digit_shapes", K, digits.target[:n], {"DESCR": _SHAPES})


def digit_strokes(first: int = 180, last: int = 360) -> Bunch:
    """Compute the similarity of digits 3, 5 and 8 whose strokes may move by a pixel.

    Parameters
    ----------
    first, last : int
        Which of the 539 such digits.

    Returns
    -------
    sklearn.utils.Bunch
        As of `krein.load_dataset`.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    chosen = np.flatnonzero(np.isin(digits.target, (3, 5, 8)))[first:last]
    images = digits.images[chosen] / 16
    wider = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    places = [(i, j) for i in range(3) for j in range(3)]
    near = np.stack([wider[:, i : i + 8, j : j + 8] for i, j in places], axis=-1)
    one_way = [((near - one[..., None]) ** 2).min(-1).sum((1, 2)) for one in images]
    squares = np.array(one_way)
    K = np.exp(-np.sqrt((squares + squares.T) / 2))
    return _bunch("digit_strokes", K, digits.target[chosen], {"DESCR": _STROKES})
