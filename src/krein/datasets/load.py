"""`load_dataset`: one name, four places to look, one shape of answer."""

from __future__ import annotations

import csv
import difflib
import os
import re
import warnings
from importlib import resources
from pathlib import Path
from typing import Any

from sklearn.utils import Bunch

from krein.datasets.files import kind_of, read_csv, read_npz

__all__ = ["data_folder", "list_datasets", "load_dataset", "source_of"]

_BUNDLED = ("promoters", "sonar")
_SAME_AS = {"str_promoters": "promoters"}  # as the file is called in a folder
_SKLEARN = ("breast_cancer", "digit_shapes", "digits", "iris", "wine")
_SUFFIXES = (".npz", ".csv.gz")
_OPENML = "openml:"


def data_folder() -> Path:
    """Folder of the data sets that are not bundled.

    Returns
    -------
    pathlib.Path
        The environment variable ``KREIN_DATA``, or ``~/krein_data``.
    """
    return Path(os.environ.get("KREIN_DATA") or Path.home() / "krein_data")


def _folder_names() -> list[str]:
    folder = data_folder()
    if not folder.is_dir():
        return []
    names = {
        path.name.removesuffix(suffix)
        for suffix in _SUFFIXES
        for path in folder.glob(f"*{suffix}")
    }
    return sorted(names - set(_SAME_AS))


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
    return sorted({*_BUNDLED, *_SKLEARN, *_folder_names()})


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
    name = _SAME_AS.get(name, name)
    if name in _BUNDLED:
        return "bundled"
    if name in _SKLEARN:
        return "scikit-learn"
    if name in _folder_names():
        return "folder"
    raise ValueError(_unknown(name))


def load_dataset(name: str) -> Bunch:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        ``"sonar"`` and ``"promoters"`` are bundled; ``"iris"``, ``"wine"``,
        ``"breast_cancer"`` and ``"digits"`` come from scikit-learn, and
        ``"digit_shapes"``, an indefinite similarity of its digits; other names are
        files ``NAME.npz`` or ``NAME.csv.gz`` in the folder named by the environment
        variable ``KREIN_DATA`` (``~/krein_data`` when it is not set).
        ``"openml:NAME"`` or ``"openml:NUMBER"`` downloads from OpenML.

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
    ConnectionError
        If OpenML was asked for and does not answer.

    Examples
    --------
    >>> from krein import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> sonar.data.shape, sonar.kind
    ((208, 60), 'vectors')
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {type(name).__name__}")
    if name.startswith(_OPENML):
        return _from_openml(name)
    name = _SAME_AS.get(name, name)
    source = source_of(name)
    if source == "bundled":
        return _from_package(name)
    if source == "scikit-learn":
        return _from_sklearn(name)
    return _from_folder(name)


def _unknown(name: str) -> str:
    known = list_datasets()
    near = difflib.get_close_matches(name, known, n=3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return (
        f"no data set named {name!r}.{hint} Looked in the package, scikit-learn and "
        f"the folder {data_folder()} (set KREIN_DATA to choose another); "
        f"krein.list_datasets() names what is here, 'openml:{name}' asks OpenML"
    )


def _from_package(name: str) -> Bunch:
    folder = resources.files("krein.datasets") / "data"
    with resources.as_file(folder / f"{name}.csv.gz") as path:
        bunch = read_csv(path, name)
    bunch.DESCR = (folder / "README.md").read_text(encoding="utf-8")
    return bunch


def _from_sklearn(name: str) -> Bunch:
    import sklearn.datasets

    if name == "digit_shapes":
        from krein.datasets.shapes import digit_shapes

        return digit_shapes()
    loaded = getattr(sklearn.datasets, f"load_{name}")()
    loaded.update(kind="vectors", groups=None, name=name)
    return loaded


def _from_folder(name: str) -> Bunch:
    for suffix, read in zip(_SUFFIXES, (read_npz, read_csv), strict=True):
        path = data_folder() / f"{name}{suffix}"
        if path.exists():
            bunch = read(path, name)
            bunch.DESCR = _description(name)
            return bunch
    raise ValueError(_unknown(name))


def _description(name: str) -> str:
    """Text of the folder's MANIFEST.csv about one set, if there is one."""
    manifest = data_folder() / "MANIFEST.csv"
    if manifest.exists():
        with manifest.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                if row.get("name") == name:
                    return "\n".join(f"{key}: {text}" for key, text in row.items())
    return f"{name}: {kind_of(name)} from the folder {data_folder()}"


def _from_openml(address: str) -> Bunch:
    from sklearn.datasets import fetch_openml

    name = address.removeprefix(_OPENML)
    if not re.fullmatch(r"[\w.()-]+", name):
        raise ValueError(f"expected 'openml:NAME' or 'openml:NUMBER', got {address!r}")
    which: dict[str, Any] = (
        {"data_id": int(name)} if name.isdigit() else {"name": name, "version": 1}
    )
    try:
        with warnings.catch_warnings():
            # The retry announces itself; the error below says all there is to say.
            warnings.filterwarnings("ignore", message="A network error occurred")
            loaded = fetch_openml(
                **which, as_frame=False, parser="liac-arff", n_retries=1, delay=0.1
            )
    except OSError as error:  # URLError, timeouts and refused connections
        raise ConnectionError(
            f"OpenML did not answer for {name!r} ({error}). Without a network, put "
            f"{name}.npz with arrays X and y into {data_folder()}"
        ) from error
    loaded.update(kind="vectors", groups=None, name=name)
    return loaded
