"""From a fitted estimator to JSON and arrays."""

from __future__ import annotations

import io
import math
import zipfile
from dataclasses import fields
from functools import partial
from typing import IO, Any

import numpy as np

from krein.items import plain_items
from krein.kernels.registry import Kernel
from krein.models.registry import (
    ARRAY_KINDS,
    PARTS,
    RECORDS,
    TAG,
    TREE,
    known_class,
    member_name,
    params_of,
    placed_kernel,
    state_of,
)
from krein.result import History
from krein.store.state import faults_of


class Writer:
    """Turns values into JSON; arrays are collected, objects keep their kind."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._places: dict[int, int] = {}  # id of an array -> its number

    def encode(self, value: Any, where: str) -> Any:
        """Return JSON for a value; `where` is its name in error messages."""
        if value is None or isinstance(value, bool | int | str):
            return str(value) if type(value) is np.str_ else value
        if isinstance(value, float):
            finite = math.isfinite(value)
            return float(value) if finite else {TAG: "float", "value": str(value)}
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value, where)
        if isinstance(value, list | tuple):
            items = [self.encode(v, f"{where}[{i}]") for i, v in enumerate(value)]
            return items if isinstance(value, list) else {TAG: "tuple", "items": items}
        if isinstance(value, dict):
            items = [
                [self.encode(k, where), self.encode(v, f"{where}[{k!r}]")]
                for k, v in value.items()
            ]
            return {TAG: "dict", "items": items}
        return self._object(value, where)

    def _all(self, named: dict[str, Any], where: str) -> dict[str, Any]:
        return {k: self.encode(v, f"{where}.{k}") for k, v in named.items()}

    def _array(self, value: Any, where: str) -> Any:
        array = np.asarray(value)
        if array.dtype.kind in ARRAY_KINDS:
            # An array that several attributes share (a spectrum) is stored once.
            index = self._places.setdefault(id(array), len(self.arrays))
            if index == len(self.arrays):
                self.arrays.append(array)
            kind = "array" if isinstance(value, np.ndarray) else "scalar"
            return {TAG: kind, "member": index}
        if array.dtype.kind in "OT" and array.ndim == 1:
            items = [self.encode(v, f"{where}[{i}]") for i, v in enumerate(array)]
            return {TAG: "objects", "items": items}
        raise TypeError(
            f"{where} is an array of dtype {array.dtype}, which a model file cannot "
            "hold; numbers, booleans and text can be saved"
        )

    def _object(self, value: Any, where: str) -> Any:
        name = type(value).__name__
        if isinstance(value, Kernel):
            params = self._all(value.params, where)
            return {TAG: "kernel", "name": value.name, "params": params}
        if isinstance(value, History):
            return {TAG: "history", "columns": self._all(dict(value), where)}
        if RECORDS.get(name) is type(value):
            named = {f.name: getattr(value, f.name) for f in fields(value)}
            named.pop("info", None)  # of a Result: what a solver notes for tests
            return {TAG: "record", "class": name, "fields": self._all(named, where)}
        if name == "PlacedKernel" and placed_kernel() is type(value):
            named = {part: getattr(value, part) for part in PARTS}
            return {TAG: "rebuilt", "class": name, "fields": self._all(named, where)}
        if known_class(name) is type(value):
            return self._estimator(value, where)
        if isinstance(value, slice):
            parts = [value.start, value.stop, value.step]
            return {TAG: "slice", "parts": self.encode(parts, where)}
        if isinstance(value, partial) and not value.args:
            return {
                TAG: "partial",
                "function": self.encode(value.func, where),
                "params": self._all(value.keywords, where),
            }
        if callable(value) and hasattr(value, "__qualname__"):
            return {TAG: "function", "name": f"{value.__module__}:{value.__qualname__}"}
        raise TypeError(
            f"{where} is a {type(value).__module__}.{name}, which a model file cannot "
            "hold; save_model takes fitted estimators of krein whose parameters are "
            "numbers, text, kernels or functions. For other steps, searches and "
            "calibration: skops.io.dump, and skops.io.load with "
            "trusted=krein.trusted_types()"
        )

    def _estimator(self, value: Any, where: str) -> Any:
        entries = state_of(type(value))
        state = {
            entry.name: plain_items(getattr(value, entry.place))
            for entry in entries.values()
            if hasattr(value, entry.place)
        }
        faults = faults_of(value, state, entries) if state else []
        if faults:
            raise TypeError(f"{where} cannot be saved: {'; '.join(sorted(faults))}")
        return {
            TAG: "estimator",
            "class": type(value).__name__,
            "params": self._all(params_of(value), where),
            "state": self._all(state, where),
        }

    def write_zip(self, file: IO[bytes], tree: bytes) -> None:
        """Write the archive: the tree, then one member per array, not compressed."""
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(zipfile.ZipInfo(TREE), tree)
            for i, array in enumerate(self.arrays):
                buffer = io.BytesIO()
                np.lib.format.write_array(buffer, array, allow_pickle=False)
                archive.writestr(zipfile.ZipInfo(member_name(i)), buffer.getvalue())
