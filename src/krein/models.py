"""Model files: a zip of .npy arrays and JSON; loading never runs code from the file.

The file holds ``model.json`` (a tree of plain values, see `_encode`) and one member
``arrays/N.npy`` per array. Members are stored, not compressed, so that nothing read
can be larger than the file. Which classes may appear is settled here and not by the
file: estimators that krein exports, and the few records they hold.
"""

from __future__ import annotations

import importlib
import io
import json
import math
import re
import zipfile
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from sklearn.base import BaseEstimator

import krein
from krein.domain import BalancedBox
from krein.kernels.registry import Kernel
from krein.problems.new_points import Proxy
from krein.result import Certificate, History, Result
from krein.spectrum import Spectrum
from krein.store.files import atomic_write
from krein.transform import Transform

__all__ = ["ModelFileError", "load_model", "save_model"]

FORMAT = 1
_TREE = "model.json"
_TAG = "~"
_RECORDS = {
    record.__name__: record
    for record in (BalancedBox, Certificate, Proxy, Result, Spectrum, Transform)
}
# What else a fitted estimator keeps, made again from the arguments of its class.
_REBUILT = {
    "PlacedKernel": (
        "krein.estimators._cpd_model",
        ("kernel", "center", "scale", "degree"),
    ),
    "ProxySVM": ("krein.problems.proxy", ("spectrum", "box", "rho", "oracle")),
}
# Classes beside the public estimators of krein; both are plain data once fitted.
_FOREIGN = {
    "Pipeline": "sklearn.pipeline",
    "StandardScaler": "sklearn.preprocessing",
}
_ARRAY_KINDS = "biufU"
_NOT_SAVED = {"_metadata_request", "info"}


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


def save_model(est: Any, path: str | Path) -> Path:
    """Save a fitted estimator without pickles.

    Parameters
    ----------
    est : estimator
        A fitted estimator of krein.
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
    arrays: list[np.ndarray] = []
    tree = {
        "format": FORMAT,
        "krein": krein.__version__,
        "model": _encode(est, arrays, "model"),
    }
    text = json.dumps(tree, allow_nan=False, ensure_ascii=False).encode()
    path = Path(path)
    with atomic_write(path, overwrite=True) as file:
        _write_zip(file, text, arrays)
    return path


def _write_zip(file: IO[bytes], tree: bytes, arrays: list[np.ndarray]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_TREE), tree)
        for i, array in enumerate(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(_member(i)), buffer.getvalue())


def _member(index: int) -> str:
    return f"arrays/{index}.npy"


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
        Fitted, as it was saved.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model, or holds something unknown.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from krein import KreinSVC, load_model, save_model
    >>> K = np.array([[1.0, -2.0], [-2.0, 1.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.krein"
    ...     _ = save_model(KreinSVC().fit(K, [0, 1]), path)
    ...     load_model(path).predict(K)
    array([0, 1])
    """
    with Path(path).open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _Reader(archive, kernel).model()
        except ModelFileError as error:
            raise ModelFileError(f"{Path(path).name}: {error}") from error.__cause__
        except (MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:
            # zipfile, json and numpy raise a dozen kinds on damaged input.
            raise ModelFileError(
                f"{Path(path).name} is damaged or not a krein model "
                f"({type(error).__name__}: {error}). Save the model again"
            ) from error


# ------------------------------------------------------------------------------ saving


def _encode(value: Any, arrays: list[np.ndarray], where: str) -> Any:
    """Turn a value into JSON; arrays go to `arrays`, tagged objects keep their kind."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {_TAG: "float", "value": str(value)}
    if isinstance(value, np.ndarray | np.generic):
        return _encode_array(value, arrays, where)
    if isinstance(value, list | tuple):
        items = [_encode(v, arrays, f"{where}[{i}]") for i, v in enumerate(value)]
        return items if isinstance(value, list) else {_TAG: "tuple", "items": items}
    if isinstance(value, dict):
        items = [
            [_encode(k, arrays, where), _encode(v, arrays, f"{where}[{k!r}]")]
            for k, v in value.items()
        ]
        return {_TAG: "dict", "items": items}
    return _encode_object(value, arrays, where)


def _encode_array(value: Any, arrays: list[np.ndarray], where: str) -> Any:
    array = np.asarray(value)
    if array.dtype.kind in _ARRAY_KINDS:
        # An array that several attributes share (a spectrum) is stored once.
        index = next((i for i, a in enumerate(arrays) if a is array), len(arrays))
        if index == len(arrays):
            arrays.append(array)
        kind = "array" if isinstance(value, np.ndarray) else "scalar"
        return {_TAG: kind, "member": index}
    if array.dtype.kind == "O" and array.ndim == 1:
        items = [_encode(v, arrays, f"{where}[{i}]") for i, v in enumerate(array)]
        return {_TAG: "objects", "items": items}
    raise TypeError(
        f"{where} is an array of dtype {array.dtype}, which a model file cannot hold; "
        "numbers, booleans and text can be saved"
    )


def _encode_object(value: Any, arrays: list[np.ndarray], where: str) -> Any:
    def encode_all(named: dict[str, Any]) -> dict[str, Any]:
        return {k: _encode(v, arrays, f"{where}.{k}") for k, v in named.items()}

    name = type(value).__name__
    if isinstance(value, Kernel):
        return {_TAG: "kernel", "name": value.name, "params": encode_all(value.params)}
    if isinstance(value, History):
        return {_TAG: "history", "columns": encode_all(dict(value))}
    if _RECORDS.get(name) is type(value):
        named = {f.name: getattr(value, f.name) for f in fields(value)}
        named = {k: v for k, v in named.items() if k not in _NOT_SAVED}
        return {_TAG: "record", "class": name, "fields": encode_all(named)}
    if _rebuilt_class(name) is type(value):
        named = {argument: getattr(value, argument) for argument in _REBUILT[name][1]}
        return {_TAG: "rebuilt", "class": name, "fields": encode_all(named)}
    if _known_class(name) is type(value):
        params = value.get_params(deep=False)
        state = {
            k: v
            for k, v in vars(value).items()
            if k not in params and k not in _NOT_SAVED
        }
        return {
            _TAG: "estimator",
            "class": name,
            "params": encode_all(params),
            "state": encode_all(state),
        }
    if isinstance(value, partial) and not value.args:
        function = _encode(value.func, arrays, where)
        return {
            _TAG: "partial",
            "function": function,
            "params": encode_all(value.keywords),
        }
    if callable(value) and hasattr(value, "__qualname__"):
        return {_TAG: "function", "name": f"{value.__module__}:{value.__qualname__}"}
    raise TypeError(
        f"{where} is a {type(value).__module__}.{name}, which a model file cannot "
        "hold; save_model takes fitted estimators of krein whose parameters are "
        "numbers, text, kernels or functions"
    )


def _rebuilt_class(name: str) -> Any:
    if name not in _REBUILT:
        return None
    return getattr(importlib.import_module(_REBUILT[name][0]), name)


def _known_class(name: str) -> Any:
    """Return the estimator class of this name, if krein or this file lists it."""
    if name in _FOREIGN:
        return getattr(importlib.import_module(_FOREIGN[name]), name)
    module = krein._WHERE.get(name, "")
    if not module.startswith(("krein.estimators.", "krein.comparison.")):
        return None
    try:
        found = getattr(krein, name)
    except ImportError:
        return None
    is_estimator = isinstance(found, type) and issubclass(found, BaseEstimator)
    return found if is_estimator else None


# ----------------------------------------------------------------------------- loading


class _Reader:
    """Reads one archive; holds what the caller allows to be brought in."""

    def __init__(self, archive: zipfile.ZipFile, kernel: Callable | None) -> None:
        self.archive = archive
        self.kernel = kernel
        self.sizes = self._check_members()

    def _check_members(self) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for info in self.archive.infolist():
            if info.filename in sizes:
                raise ModelFileError(f"member {info.filename!r} occurs twice")
            stored = info.compress_type == zipfile.ZIP_STORED
            if not stored or info.file_size != info.compress_size:
                raise ModelFileError(
                    f"member {info.filename!r} is compressed or its sizes disagree; "
                    "krein stores members as they are, this is not its file"
                )
            sizes[info.filename] = info.file_size
        if _TREE not in sizes:
            raise ModelFileError(f"not a krein model: there is no {_TREE} inside")
        return sizes

    def model(self) -> Any:
        tree = json.loads(self.archive.read(_TREE))
        if not isinstance(tree, dict) or not isinstance(tree.get("format"), int):
            raise ModelFileError(f"{_TREE} does not say its format")
        self.version = str(tree.get("krein", "unknown"))
        if tree["format"] != FORMAT:
            raise ModelFileError(
                f"the model was saved by krein {self.version} in file format "
                f"{tree['format']}; this is krein {krein.__version__}, which reads "
                f"format {FORMAT}. Load it with krein {self.version}, or fit and save "
                "it again"
            )
        model = self.decode(tree.get("model"))
        if not isinstance(model, BaseEstimator):
            raise ModelFileError("the file holds no estimator")
        return model

    def decode(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        read = getattr(self, f"_read_{node.get(_TAG)}", None)
        if read is None:
            raise ModelFileError(f"unknown kind of value {node.get(_TAG)!r}")
        return read(node)

    def decode_all(self, named: dict[str, Any]) -> dict[str, Any]:
        return {name: self.decode(value) for name, value in named.items()}

    def _read_float(self, node: dict) -> float:
        return float(node["value"])

    def _read_tuple(self, node: dict) -> tuple:
        return tuple(self.decode(node["items"]))

    def _read_dict(self, node: dict) -> dict:
        return {self.decode(k): self.decode(v) for k, v in node["items"]}

    def _read_objects(self, node: dict) -> np.ndarray:
        items = self.decode(node["items"])
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array

    def _read_scalar(self, node: dict) -> Any:
        return self._read_array(node)[()]

    def _read_array(self, node: dict) -> np.ndarray:
        name = _member(int(node["member"]))
        if name not in self.sizes:
            raise ModelFileError(f"member {name!r} is missing")
        with self.archive.open(name) as file:
            shape, fortran, dtype = _npy_header(file)
            if dtype.kind not in _ARRAY_KINDS:
                raise ModelFileError(f"member {name!r} has dtype {dtype}")
            expected = math.prod(shape) * dtype.itemsize
            data = file.read()
        if min(shape, default=0) < 0 or expected != len(data):
            raise ModelFileError(
                f"member {name!r} declares {expected} bytes and holds {len(data)}"
            )
        array = np.frombuffer(data, dtype=dtype).copy()
        return array.reshape(shape, order="F" if fortran else "C")

    def _read_kernel(self, node: dict) -> Kernel:
        try:
            return Kernel(node["name"], **self.decode_all(node["params"]))
        except (ValueError, TypeError) as error:
            raise ModelFileError(
                f"saved by krein {self.version}: {error}. Load it with that version"
            ) from error

    def _read_history(self, node: dict) -> History:
        columns = self.decode_all(node["columns"])
        history = History()
        for row in zip(*columns.values(), strict=True):
            facts = {k: float(v) for k, v in zip(columns, row, strict=True)}
            history.record(**{k: v for k, v in facts.items() if not math.isnan(v)})
        return history

    def _read_record(self, node: dict) -> Any:
        if node["class"] not in _RECORDS:
            raise ModelFileError(f"unknown record {node['class']!r}")
        return _RECORDS[node["class"]](**self.decode_all(node["fields"]))

    def _read_rebuilt(self, node: dict) -> Any:
        cls = _rebuilt_class(str(node["class"]))
        if cls is None:
            raise ModelFileError(f"unknown record {node['class']!r}")
        return cls(**self.decode_all(node["fields"]))

    def _read_estimator(self, node: dict) -> Any:
        cls = _known_class(str(node["class"]))
        if cls is None:
            raise ModelFileError(
                f"unknown class {node['class']!r} (saved by krein {self.version}; "
                f"this is {krein.__version__})"
            )
        known = cls._get_param_names()
        extra = sorted(set(node["params"]) - set(known))
        if extra:
            raise ModelFileError(
                f"{cls.__name__} has no parameter {', '.join(map(repr, extra))} in "
                f"krein {krein.__version__}; load it with krein {self.version}"
            )
        # Parameters that an older version did not have take their defaults.
        estimator = cls(**self.decode_all(node["params"]))
        for name, value in node["state"].items():
            if not re.fullmatch(r"_?[A-Za-z]\w*", name) or hasattr(cls, name):
                raise ModelFileError(f"{name!r} is not a fitted attribute")
            setattr(estimator, name, self.decode(value))
        return estimator

    def _read_partial(self, node: dict) -> Callable:
        return partial(
            self._read_function(node["function"]),
            **self.decode({_TAG: "dict", "items": list(node["params"].items())}),
        )

    def _read_function(self, node: dict) -> Callable:
        name = str(node["name"])
        if self.kernel is None:
            raise ModelFileError(
                f"the model uses the function {name}; import it and pass it: "
                "load_model(path, kernel=that_function)"
            )
        given = getattr(self.kernel, "__qualname__", type(self.kernel).__name__)
        if given.rsplit(".", 1)[-1] != re.split(r"[.:]", name)[-1]:
            raise ModelFileError(
                f"the model was fitted with the function {name}, but kernel={given} "
                "was passed"
            )
        return self.kernel


def _npy_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and dtype of a .npy member; nothing of its data is read."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file)
    raise ModelFileError(f".npy version {version} is not read here")
