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
# Values of a pixel of scikit-learn's digits.
_FAINTEST_INK = 6
_DARKEST = 16


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
    loaders = _files("folder", data_folder())
    for name in _SKLEARN:
        loaders[name] = ("scikit-learn", partial(_from_sklearn, name))
    loaders["digit_shapes"] = ("scikit-learn", digit_shapes)
    loaders["digit_strokes"] = ("scikit-learn", digit_strokes)
    loaders.update(_files("bundled", _OWN))
    return loaders


def _files(source: str, folder: Path) -> dict[str, tuple[str, Callable[[], Bunch]]]:
    """The data sets of a folder, by the names of their files."""
    loaders: dict[str, tuple[str, Callable[[], Bunch]]] = {}
    for suffix in _SUFFIXES:
        for path in folder.glob(f"*{suffix}"):
            name = path.name.removesuffix(suffix)
            loaders[name] = (source, partial(_from_file, path, name))
    return loaders


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
    bunch = read_npz(path, name) if path.suffix == ".npz" else read_csv(path, name)
    bunch.DESCR = f"{name}: {bunch.kind} from the folder {path.parent}"
    if path.parent == _OWN:
        bunch.DESCR = (_OWN / "README.md").read_text(encoding="utf-8")
    return bunch


_KINDS = {
    "digit": "similarity",
    "dis": "dissimilarity",
    "graph": "graphs",
    "promoters": "strings",
    "sim": "similarity",
    "spd": "spd",
    "str": "strings",
    "ts": "series",
}


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
    "dis_mirna": "source_id",
    "parkinsons": "recording",
    "spd_eeg_alcoholism": "subject",
    "spd_emg_gestures": "run",
    "str_mirna": "id",
}


def _bunch(name: str, data: Any, target: Any, extra: dict[str, Any]) -> Bunch:
    """A data set, with what belongs together and further arrays of its file."""
    key = _GROUPS.get(name)
    groups = extra[key] if key else extra.pop("groups", None)
    if key == "recording":  # phon_R01_S01_3: the person is all but the last part
        groups = np.array([text.rpartition("_")[0] for text in groups])
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
    arrays = read_arrays(Path(path))
    has_graphs = kind_of(name) == "graphs"
    needed = ("graph_of_node", "edges", "y") if has_graphs else ("X", "y")
    for key in needed:
        if key not in arrays:
            raise FormatError(
                path, f"lacks the array {key!r}; it has {', '.join(arrays)}"
            )
    target = arrays.pop("y")
    data = _graphs(arrays) if has_graphs else arrays.pop("X")
    return _bunch(name, data, target, arrays)


def _graphs(arrays: Mapping[str, np.ndarray]) -> list[Graph]:
    """Cut one long list of nodes and edges into graphs."""
    owner = arrays["graph_of_node"]
    edges = arrays["edges"]
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
    titles = header.fields
    if not rows or "y" not in titles:
        raise FormatError(
            path, "must start with a line of column names, with 'y' among them"
        )
    if "sequence" not in titles and "letters" not in titles:
        read = read_columns(Path(path), How(",", label_column="y"))
        features = {"feature_names": np.array(read.columns)}
        return _bunch(name, read.data, read.target, features)
    columns = {}
    for k, title in enumerate(titles):
        columns[title] = [row.fields[k] for row in rows]
    target = as_labels(columns.pop("y"))
    strings = columns.pop("sequence" if "sequence" in titles else "letters")
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
    ink = digits.images[:n] > _FAINTEST_INK
    # From each pixel to the nearest ink of each digit; the longest way of each pair.
    ways = np.array([distance_transform_edt(~digit) for digit in ink])
    longest = np.array([ways[:, digit].max(axis=1) for digit in ink])
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
    images = digits.images[chosen] / _DARKEST
    wider = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    shifted = []
    for i in range(3):
        for j in range(3):
            shifted.append(wider[:, i : i + 8, j : j + 8])
    near = np.stack(shifted, axis=-1)  # the nine pixels around each pixel
    squares = np.empty((len(images), len(images)))
    for k, image in enumerate(images):
        closest = ((near - image[..., None]) ** 2).min(axis=-1)
        squares[k] = closest.sum(axis=(1, 2))
    K = np.exp(-np.sqrt((squares + squares.T) / 2))
    return _bunch("digit_strokes", K, digits.target[chosen], {"DESCR": _STROKES})
