"""From JSON and arrays to a fitted estimator; what is not known is refused."""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator

import krein
from krein.kernels.registry import Kernel
from krein.models.format_1 import from_format_1, old_transform, without_retired
from krein.models.registry import (
    ARRAY_KINDS,
    FORMAT,
    RECORDS,
    TAG,
    TREE,
    UNSTABLE,
    checksum,
    dropped_params,
    first_unfitted,
    known_class,
    member_name,
    placed_kernel,
    state_of,
)
from krein.result import History
from krein.similarity.memory import require_memory
from krein.store.state import faults_of

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


class Reader:
    """Reads one archive; holds what the caller allows to be brought in.

    Parameters
    ----------
    archive : ZipFile
        Open for reading.
    kernel : callable or None
        The function that the caller brings in.
    """

    def __init__(self, archive: zipfile.ZipFile, kernel: Callable | None) -> None:
        self.archive = archive
        self.kernel = kernel
        self.sizes = self._check_members()
        self._arrays: dict[str, np.ndarray] = {}
        self._cells = sum(self.sizes.values()) // 8  # numbers a history may still have

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
        if TREE not in sizes:
            raise ModelFileError(f"not a krein model: there is no {TREE} inside")
        return sizes

    def model(self) -> Any:
        """Return the estimator that the archive holds."""
        require_memory(
            2 * sum(self.sizes.values()) + _JSON_GROWTH * self.sizes[TREE],
            "loading the model",
            "Free some memory, or raise KREIN_MEMORY_LIMIT.",
        )
        tree = json.loads(self.archive.read(TREE))
        if not isinstance(tree, dict) or not isinstance(tree.get("format"), int):
            raise ModelFileError(f"{TREE} does not say its format")
        self.version = str(tree.get("krein", "unknown"))
        self.sklearn = str(tree.get("scikit-learn", "unknown"))
        self.format = tree["format"]
        if not 1 <= self.format <= FORMAT:
            raise ModelFileError(
                f"the model was saved by krein {self.version} in file format "
                f"{self.format}; this is krein {krein.__version__}, which reads "
                f"formats 1 to {FORMAT}. Load it with krein {self.version}, or fit and "
                "save it again"
            )
        model = self.decode(tree.get("model"))
        if not isinstance(model, BaseEstimator):
            raise ModelFileError("the file holds no estimator")
        unfitted = first_unfitted(model)
        if unfitted:
            raise ModelFileError(f"not a whole model: the {unfitted} is not fitted")
        if self.format >= 3:
            self._check_sum(tree)
        return model

    def _check_sum(self, tree: dict[str, Any]) -> None:
        """Refuse a file that was changed after it was saved."""
        names = sorted(self.sizes.keys() - {TREE})
        count = len(names)
        if names != sorted(member_name(i) for i in range(count)):
            raise ModelFileError("its arrays are not those that krein writes")
        arrays = [self._read_array({"member": i}) for i in range(count)]
        if tree.get("checksum") != checksum(tree, arrays):
            raise ModelFileError(
                "its contents do not agree with its checksum: the file was changed "
                "after the model was saved. Save the model again"
            )

    def decode(self, node: Any) -> Any:
        """Return the value that a part of the tree stands for."""
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        read = getattr(self, f"_read_{node.get(TAG)}", None)
        if read is None:
            raise ModelFileError(f"unknown kind of value {node.get(TAG)!r}")
        return read(node)

    def _all(self, named: dict[str, Any]) -> dict[str, Any]:
        return {name: self.decode(value) for name, value in named.items()}

    # -------------------------------------------------------------------- plain values

    def _read_float(self, node: dict) -> float:
        return float(node["value"])

    def _read_tuple(self, node: dict) -> tuple:
        return tuple(self.decode(node["items"]))

    def _read_slice(self, node: dict) -> slice:
        return slice(*self.decode(node["parts"]))

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
        """Return an array; one that is named often is read once and shared."""
        name = member_name(int(node["member"]))
        if name not in self._arrays:
            self._arrays[name] = self._load_array(name)
        return self._arrays[name]

    def _load_array(self, name: str) -> np.ndarray:
        if name not in self.sizes:
            raise ModelFileError(f"member {name!r} is missing")
        with self.archive.open(name) as file:
            shape, fortran, dtype = _npy_header(file)
            if dtype.kind not in ARRAY_KINDS:
                raise ModelFileError(f"member {name!r} has dtype {dtype}")
            expected = math.prod(shape) * dtype.itemsize
            data = file.read()
        if min(shape, default=0) < 0 or expected != len(data):
            raise ModelFileError(
                f"member {name!r} declares {expected} bytes and holds {len(data)}"
            )
        array = np.frombuffer(data, dtype=dtype).copy()
        return array.reshape(shape, order="F" if fortran else "C")

    # ------------------------------------------------------------------------- objects

    def _read_kernel(self, node: dict) -> Kernel:
        try:
            return Kernel(node["name"], **self._all(node["params"]))
        except (ValueError, TypeError) as error:
            raise ModelFileError(
                f"saved by krein {self.version}: {error}. Load it with that version"
            ) from error

    def _read_history(self, node: dict) -> History:
        columns = self._all(node["columns"])
        self._cells -= sum(map(np.size, columns.values()))
        if self._cells < 0:
            raise ModelFileError("histories name their numbers more often than once")
        history = History()
        for row in zip(*columns.values(), strict=True):
            facts = {k: float(v) for k, v in zip(columns, row, strict=True)}
            history.record(**{k: v for k, v in facts.items() if not math.isnan(v)})
        return history

    def _read_record(self, node: dict) -> Any:
        if node["class"] not in RECORDS and node["class"] != "Transform":
            raise ModelFileError(f"unknown record {node['class']!r}")
        record = RECORDS.get(node["class"], old_transform)
        return record(**self._all(node["fields"]))

    def _read_rebuilt(self, node: dict) -> Any:
        if node["class"] != "PlacedKernel":
            raise ModelFileError(f"unknown record {node['class']!r}")
        return placed_kernel()(**self._all(node["fields"]))

    def _read_estimator(self, node: dict) -> Any:
        cls = known_class(str(node["class"]))
        if cls is None:
            raise ModelFileError(
                f"unknown class {node['class']!r} (saved by krein {self.version}; "
                f"this is {krein.__version__})"
            )
        if cls.__name__ in UNSTABLE and self.sklearn != sklearn.__version__:
            raise ModelFileError(
                f"a {cls.__name__} saved with scikit-learn {self.sklearn} cannot be "
                f"loaded with {sklearn.__version__}: install the former, or fit and "
                "save the model again"
            )
        estimator = self._unfitted(cls, node["params"])
        if node["state"]:
            self._set_state(estimator, self._all(node["state"]))
        return estimator

    def _set_state(self, estimator: Any, state: dict[str, Any]) -> None:
        cls = type(estimator)
        entries = state_of(cls)
        if self.format == 1:
            state = from_format_1(cls, state)
        if self.format < 3:
            state = without_retired(state, entries)
        faults = faults_of(estimator, state, entries, self.format)
        if faults:
            raise ModelFileError(
                f"not a whole {cls.__name__}: {'; '.join(sorted(faults))}"
            )
        for name, value in state.items():
            setattr(estimator, entries[name].place, value)

    def _unfitted(self, cls: Any, params: dict[str, Any]) -> Any:
        dropped = dropped_params(cls.__name__)
        given = {k: v for k, v in params.items() if k not in dropped}
        if given.get("signature", 0) is None:  # an option of krein up to 0.2
            del given["signature"]
        extra = sorted(set(given) - set(cls._get_param_names()))
        if extra:
            raise ModelFileError(
                f"{cls.__name__} has no parameter {', '.join(map(repr, extra))} in "
                f"krein {krein.__version__}; load it with krein {self.version}"
            )
        # Parameters that an older version did not have take their defaults.
        return cls(**self._all(given))

    # ----------------------------------------------------------------------- functions

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
