"""Model files: a zip of .npy arrays and JSON; loading never runs code from the file.

The file holds ``model.json``, a tree of plain values in which an object is a JSON
object whose entry ``"~"`` says its kind, and one member ``arrays/N.npy`` per array.
Members are stored, not compressed, and each is read once, so that what is read is never
much larger than the file. Which classes may appear, and what they consist of, is
settled in `krein.files.model_contents`, not by the file. See docs/decisions/0019.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

import krein
from krein.files import model_contents as known
from krein.files.binary import load_array
from krein.files.model_state import state_faults
from krein.files.older_models import OLDEST, upgraded
from krein.files.sources import regular_file
from krein.kernels.registry import Kernel
from krein.memory import require_memory
from krein.store.files import atomic_write

_FORMAT = 3
_TREE = "model.json"
_JSON_GROWTH = 25  # bytes of Python objects per byte of JSON, at most


class ModelFileError(ValueError):
    """A model file is damaged, not a model, or holds what krein does not load.

    Parameters
    ----------
    message : str
        What was found, and what to do.

    Examples
    --------
    >>> import tempfile
    >>> from krein import ModelFileError, load_model
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     try:
    ...         load_model(file.name)
    ...     except ModelFileError:
    ...         print("no model")
    no model
    """


class ModelTooLargeError(ModelFileError, MemoryError):
    """A model file asks for more memory than there is."""


def save_model(est: Any, path: str | Path) -> Path:
    """Save a fitted estimator without pickles.

    Parameters
    ----------
    est : estimator
        A fitted estimator of krein, a pipeline that ends with one, or a search
        (`GridSearchCV` and the like, with ``refit=True``) over one of these. Of a
        search the file holds ``best_estimator_`` alone: `load_model` returns that
        estimator, which predicts as the search does, without ``cv_results_``.
    path : str or Path
        Where to write; an existing file is replaced when the new one is complete.

    Returns
    -------
    Path
        Where the model is.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from krein import KreinSVC, load_model, save_model
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> model = KreinSVC().fit(K, ["a", "a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(model, pathlib.Path(folder) / "model.krein")
    ...     load_model(path).predict(K)
    array(['a', 'a', 'b'], dtype='<U1')
    """
    if not isinstance(est, BaseEstimator):
        raise TypeError(
            f"save_model takes one fitted estimator, got {type(est).__name__}; save "
            "several models to several files"
        )
    unfitted = known.first_unfitted(est)
    if unfitted:
        raise NotFittedError(f"this {unfitted} is not fitted; fit it before saving it")
    writer = known.Writer()
    tree: dict[str, Any] = {
        "format": _FORMAT,
        "krein": krein.__version__,
        "scikit-learn": sklearn.__version__,
        "model": writer.encode(est, "model"),
    }
    tree["checksum"] = _checksum(tree, writer.arrays)
    text = json.dumps(tree, allow_nan=False, ensure_ascii=False)
    path = Path(path)
    with atomic_write(path, overwrite=True) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(zipfile.ZipInfo(_TREE), text.encode())
            for i, array in enumerate(writer.arrays):
                info = zipfile.ZipInfo(_member(i))
                with archive.open(info, "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
    return path


def load_model(path: str | Path, kernel: Callable | None = None) -> Any:
    """Load a model saved by `save_model`; nothing in the file is executed.

    Parameters
    ----------
    path : str or Path
        The model file.
    kernel : callable, optional
        The kernel function, for a model that was fitted with a callable: the file
        names it, but only the caller can bring it in.

    Returns
    -------
    estimator
        Fitted, as it was saved; the ``best_estimator_`` of a search.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model, or holds something unknown.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from krein import KreinSVC, load_model, save_model
    >>> K = [[1.0, -2.0], [-2.0, 1.0]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.krein"
    ...     load_model(save_model(KreinSVC().fit(K, [0, 1]), path)).predict(K)
    array([0, 1])
    """
    with regular_file(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _Reader(archive, kernel).model()
        except ModelFileError as error:
            raise ModelFileError(f"{file.name}: {error}") from error.__cause__
        except MemoryError as error:
            raise ModelTooLargeError(f"{file.name}: {error}") from None
        except Exception as error:
            # zipfile, json and numpy raise a dozen kinds on damaged input.
            raise ModelFileError(
                f"{file.name} is damaged or not a krein model ({type(error).__name__}: "
                f"{error}). Save the model again"
            ) from error


def _member(index: int) -> str:
    """Where an array lies in the archive."""
    return f"arrays/{index}.npy"


def _checksum(tree: dict[str, Any], arrays: Iterable[np.ndarray]) -> str:
    """Fingerprint of all that a model file says, but for the fingerprint itself."""
    said = {name: value for name, value in tree.items() if name != "checksum"}
    found = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
    for array in arrays:
        found.update(f"{array.dtype.str} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


class _Reader:
    """Reads one archive; `kernel` is the function that the caller brings in."""

    def __init__(self, archive: zipfile.ZipFile, kernel: Callable | None) -> None:
        self.archive = archive
        self.kernel = kernel
        self.sizes = self._check_members()
        self._arrays: dict[str, np.ndarray] = {}

    def _check_members(self) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for info in self.archive.infolist():
            if info.filename in sizes:
                raise ModelFileError(f"member {info.filename!r} occurs twice")
            stored = info.compress_type == zipfile.ZIP_STORED
            if not stored or info.file_size != info.compress_size:
                raise ModelFileError(f"member {info.filename!r} is compressed")
            sizes[info.filename] = info.file_size
        if _TREE not in sizes:
            raise ModelFileError(f"not a krein model: there is no {_TREE} inside")
        return sizes

    def model(self) -> Any:
        """Return the estimator that the archive holds."""
        needed = 2 * sum(self.sizes.values()) + _JSON_GROWTH * self.sizes[_TREE]
        require_memory(
            needed,
            "loading the model",
            "Free some memory, or raise KREIN_MEMORY_LIMIT.",
        )
        tree = json.loads(self.archive.read(_TREE))
        if not isinstance(tree, dict) or not isinstance(tree.get("format"), int):
            raise ModelFileError(f"{_TREE} does not say its format")
        self.version = str(tree.get("krein", "unknown"))
        self.sklearn = str(tree.get("scikit-learn", "unknown"))
        found = tree["format"]
        if not OLDEST <= found <= _FORMAT:
            raise ModelFileError(
                f"saved by krein {self.version} in file format {found}; this krein "
                f"({krein.__version__}) reads formats {OLDEST} to {_FORMAT}; load it "
                f"with krein {self.version}, or fit again"
            )
        node = tree.get("model")
        model = self.decode(node if found == _FORMAT else upgraded(node))
        if not isinstance(model, BaseEstimator):
            raise ModelFileError("the file holds no estimator")
        unfitted = known.first_unfitted(model)
        if unfitted:
            raise ModelFileError(f"not a whole model: the {unfitted} is not fitted")
        if found == _FORMAT:  # older files have no checksum
            self._check_sum(tree)
        return model

    def _check_sum(self, tree: dict[str, Any]) -> None:
        """Refuse a file that was changed after it was saved."""
        count = len(self.sizes) - 1
        if self.sizes.keys() != {_TREE, *map(_member, range(count))}:
            raise ModelFileError("its arrays are not those that krein writes")
        arrays = [self._read_array({"member": i}) for i in range(count)]
        if tree.get("checksum") != _checksum(tree, arrays):
            raise ModelFileError(
                "does not agree with its checksum: it was changed after the model was "
                "saved. Save the model again"
            )

    def decode(self, node: Any) -> Any:
        """Return the value that a part of the tree stands for."""
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        kind = node.get(known.TAG)
        read = getattr(self, f"_read_{kind}", None)
        if read is None:
            raise ModelFileError(f"unknown kind of value {kind!r}")
        return read(node)

    def _all(self, named: dict[str, Any]) -> dict[str, Any]:
        return {name: self.decode(value) for name, value in named.items()}

    def _read_float(self, node: dict) -> float:
        return float(node["value"])

    def _read_tuple(self, node: dict) -> tuple:
        return tuple(self.decode(node["items"]))

    def _read_slice(self, node: dict) -> slice:
        return slice(*self.decode(node["parts"]))

    def _read_dtype(self, node: dict) -> np.dtype:
        dtype = np.dtype(str(node["name"]))
        if dtype.hasobject and dtype != np.dtype(object):
            raise ModelFileError(f"unknown dtype {node['name']!r}")
        return dtype

    def _read_dict(self, node: dict) -> dict:
        return dict(self.decode(node["items"]))

    def _read_objects(self, node: dict) -> np.ndarray:
        items = self.decode(node["items"])
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array

    def _read_scalar(self, node: dict) -> Any:
        return self._read_array(node)[()]

    def _read_array(self, node: dict) -> np.ndarray:
        """Return an array; one that is named often is read once and shared."""
        name = _member(int(node["member"]))
        if name not in self.sizes:
            raise ModelFileError(f"member {name!r} is missing")
        if name not in self._arrays:
            with self.archive.open(name) as file:
                array = load_array(file, self.sizes[name])
            if array.dtype.kind not in known.ARRAY_KINDS:
                raise ModelFileError(f"member {name!r} has dtype {array.dtype}")
            self._arrays[name] = array
        return self._arrays[name]

    def _read_kernel(self, node: dict) -> Kernel:
        try:
            return Kernel(node["name"], **self._all(node["params"]))
        except (ValueError, TypeError) as error:
            raise ModelFileError(
                f"saved by krein {self.version}: {error}. Load it with that version"
            ) from error

    def _read_record(self, node: dict) -> Any:
        cls = known.record_class(str(node["class"]))
        if cls is None:
            raise ModelFileError(f"unknown record {node['class']!r}")
        return cls(**self._all(node["fields"]))

    def _read_estimator(self, node: dict) -> Any:
        cls = known.known_class(str(node["class"]))
        if cls is None:
            raise ModelFileError(
                f"unknown class {node['class']!r} (saved by krein {self.version}; this "
                f"is {krein.__version__})"
            )
        if cls.__name__ in known.UNSTABLE and self.sklearn != sklearn.__version__:
            raise ModelFileError(
                f"a {cls.__name__} saved with scikit-learn {self.sklearn} cannot be "
                f"loaded with {sklearn.__version__}: install the former, or fit and "
                "save the model again"
            )
        estimator = self._unfitted(cls, known.kept_params(cls.__name__, node["params"]))
        state = self._all(node["state"])
        entries = known.state_of(cls)
        faults = state_faults(estimator, state, entries) if state else ""
        if faults:
            raise ModelFileError(f"not a whole {cls.__name__}: {faults}")
        for name, value in state.items():
            setattr(estimator, entries[name].place, value)
        return estimator

    def _unfitted(self, cls: Any, params: dict[str, Any]) -> Any:
        """Return an estimator with its parameters; absent ones take their defaults."""
        extra = sorted(set(params) - set(cls._get_param_names()))
        if extra:
            raise ModelFileError(
                f"{cls.__name__} has no parameter {', '.join(map(repr, extra))} in "
                f"krein {krein.__version__}; load it with krein {self.version}"
            )
        return cls(**self._all(params))

    def _read_partial(self, node: dict) -> Callable:
        function = self._read_function(node["function"])
        return partial(function, **self._all(node["params"]))

    def _read_function(self, node: dict) -> Callable:
        name = str(node["name"])
        if self.kernel is None:
            raise ModelFileError(
                f"the model uses the function {name}; import it and pass it: "
                "load_model(path, kernel=that_function)"
            )
        given = getattr(self.kernel, "__qualname__", type(self.kernel).__name__)
        if given.rsplit(".", 1)[-1] != re.split(r"[.:]", name)[-1]:
            raise ModelFileError(f"fitted with {name}, but kernel={given} was passed")
        return self.kernel
