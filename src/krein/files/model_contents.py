"""What may stand in a model file: classes of krein, and a few of scikit-learn.

A file names classes; which of them are loaded, and what a fitted one consists of, is
settled here and by the declarations of the classes (`krein.declarations`).
"""

from __future__ import annotations

import importlib
import math
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import krein
from krein.declarations import Fitted, declared_state
from krein.files.model_state import state_faults
from krein.items import plain_items
from krein.kernels.distances import DoubleCentred, LocallyScaled, MaxMinus
from krein.kernels.registry import Kernel
from krein.machines.compact_rows import BoxRows, LandmarkRows
from krein.machines.new_points import Proxy
from krein.result import Certificate, History, Result
from krein.similarity.conversions import Conversion, SettledConversion, Source
from krein.sklearn_internals import is_search
from krein.spectrum.decomposition import Spectrum
from krein.spectrum.fixed_kernel import FixedKernel

TAG = "~"  # says what kind of value a JSON object stands for
ARRAY_KINDS = "biufU"
_OWN = (
    BoxRows,
    Certificate,
    Conversion,
    DoubleCentred,
    FixedKernel,
    LandmarkRows,
    LocallyScaled,
    MaxMinus,
    Proxy,
    Result,
    SettledConversion,
    Source,
    Spectrum,
)
RECORDS: dict[str, Any] = {record.__name__: record for record in _OWN}
_LEFT_OUT = ("history", "info")  # of a Result: how the solver got there
PARTS = ("kernel", "center", "scale", "degree")  # of a PlacedKernel


# Classes of scikit-learn and what `compare` measures by: where they are, and the
# attributes that a file holds, under another name where one is given.
_FOREIGN = {
    "Pipeline": ("sklearn.pipeline", ""),
    "StandardScaler": ("sklearn.preprocessing", "mean_ var_ scale_ n_samples_seen_"),
    "MinMaxScaler": (
        "sklearn.preprocessing",
        "min_ scale_ data_min_ data_max_ data_range_ n_samples_seen_",
    ),
    "PCA": (
        "sklearn.decomposition",
        "mean_ components_ explained_variance_ explained_variance_ratio_ "
        "singular_values_ noise_variance_ n_components_ n_samples_",
    ),
    "SimpleImputer": (
        "sklearn.impute",
        "statistics_ indicator_ fit_dtype=_fit_dtype fill_dtype=_fill_dtype",
    ),
    "MissingIndicator": (
        "sklearn.impute",
        "features_ n_features=_n_features precomputed=_precomputed",
    ),
    "ColumnTransformer": (
        "sklearn.compose",
        "transformers_ output_indices_ sparse_output_ columns=_columns "
        "remainder=_remainder n_features=_n_features "
        "inputs=_transformer_to_input_indices passthrough=_name_to_fitted_passthrough",
    ),
    "Normalizer": ("sklearn.preprocessing", ""),
    "FunctionTransformer": ("sklearn.preprocessing", ""),
    "MeanOfNearest": ("krein.comparison.yardsticks", "y_"),
    "DummyRegressor": ("sklearn.dummy", "constant_ n_outputs_"),
    "KernelRidge": ("sklearn.kernel_ridge", "dual_coef_ X_fit_"),
    "TransformedTargetRegressor": (
        "sklearn.compose",
        "regressor_ transformer_ dimensions=_training_dim",
    ),
    "LinearSVC": ("sklearn.svm", "classes_ coef_ intercept_ n_iter_"),
    "LogisticRegression": ("sklearn.linear_model", "classes_ coef_ intercept_ n_iter_"),
}
# Classes whose fitted state scikit-learn does not promise to keep between versions.
UNSTABLE = {"ColumnTransformer", "MissingIndicator", "SimpleImputer"}
# What the command line notes on a model: names and labels of its training items, the
# least and largest number between them, the titles of a table of items, and that of its
# column of names.
_NOTED = {
    "names": "names",
    "labels": "names",
    "range": "numbers",
    "columns": "names",
    "title": "names",
}
_ABOUT_ITEMS = [Fitted(f"item_{k}_", kind, needed=False) for k, kind in _NOTED.items()]


def known_class(name: str) -> Any:
    """Return the estimator class of this name, if krein or this file lists it."""
    if name in _FOREIGN:
        return getattr(importlib.import_module(_FOREIGN[name][0]), name)
    module = krein._WHERE.get(name, "")
    if not module.startswith(("krein.estimators.", "krein.comparison.")):
        return None
    found = getattr(krein, name)
    if isinstance(found, type) and issubclass(found, BaseEstimator):
        return found
    return None


def state_of(cls: type) -> dict[str, Fitted]:
    """What a fitted estimator of this class consists of."""
    if cls.__name__ in _FOREIGN:
        entries = _state_of_foreign(cls.__name__)
    else:
        entries = list(declared_state(cls).values())
    return {entry.name: entry for entry in (*entries, *_ABOUT_ITEMS)}


def _state_of_foreign(name: str) -> list[Fitted]:
    """The attributes that `_FOREIGN` lists, and what all of scikit-learn keep."""
    _, listed = _FOREIGN[name]
    words = listed.split()
    if name not in ("Pipeline", "TransformedTargetRegressor"):  # they ask a step
        words += ["n_features_in_", "feature_names_in_"]
    entries = []
    for word in words:
        title, _, place = word.partition("=")
        entries.append(Fitted(title, "anything", None, False, place))
    return entries


def kept_params(name: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that a model file keeps.

    The folder `memory` of a pipeline is left out: a file must not choose where to
    write.
    """
    left_out = "memory" if name == "Pipeline" else None
    return {key: value for key, value in params.items() if key != left_out}


def first_unfitted(model: Any) -> str:
    """Name of the class of the first part of a model that is not fitted, or ""."""
    name = type(model).__name__
    if is_search(model) and not hasattr(model, "best_estimator_"):
        return f"{name} (with refit=True)"
    if name == "Pipeline":
        for _, step in model.steps:
            unfitted = first_unfitted(step) if isinstance(step, BaseEstimator) else ""
            if unfitted:
                return unfitted
        return ""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return name
    return ""


def trusted_types() -> list[str]:
    """Return the names of krein's classes, for ``skops.io.load(..., trusted=)``.

    Model files (`krein.save_model`) hold krein's estimators and a few steps of
    scikit-learn. For calibration and other steps there is skops, whose files name the
    types that the reader has to trust. Unlike a model file, such a file is not checked
    against what a fitted estimator consists of: load your own.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from krein import trusted_types
    >>> "krein.estimators.krein_svm.KreinSVC" in trusted_types()
    True
    """
    classes = [*RECORDS.values(), Kernel, History, record_class("PlacedKernel")]
    for name in krein._WHERE:
        found = known_class(name)
        if found is not None:
            classes.append(found)
    return sorted({f"{cls.__module__}.{cls.__qualname__}" for cls in classes})


def record_class(name: str) -> Any:
    """Return the class of a record by its name, or None."""
    if name == "PlacedKernel":  # of a c.p.d. kernel with its polynomial
        return importlib.import_module("krein.estimators._cpd_model").PlacedKernel
    return RECORDS.get(name)


class Writer:
    """Turns values into JSON; arrays are collected, objects keep their kind."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._places: dict[int, int] = {}  # id of an array -> its number

    def encode(self, value: Any, where: str) -> Any:
        """Return JSON for a value; `where` is its name in error messages."""
        if type(value) is np.str_:
            return str(value)
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            if math.isfinite(value):
                return float(value)
            return {TAG: "float", "value": str(value)}
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value, where)
        if isinstance(value, list | tuple):
            items = [self.encode(v, f"{where}[{i}]") for i, v in enumerate(value)]
            if isinstance(value, list):
                return items
            return {TAG: "tuple", "items": items}
        if isinstance(value, dict):
            pairs = []
            for key, entry in value.items():
                at = f"{where}[{key!r}]"
                pairs.append([self.encode(key, at), self.encode(entry, at)])
            return {TAG: "dict", "items": pairs}
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
            return {TAG: "objects", "items": self.encode(array.tolist(), where)}
        raise TypeError(
            f"{where} is an array of dtype {array.dtype}; numbers, booleans and text "
            "can be saved"
        )

    def _object(self, value: Any, where: str) -> Any:
        name = type(value).__name__
        if isinstance(value, Kernel):
            params = self._all(value.params, where)
            return {TAG: "kernel", "name": value.name, "params": params}
        if record_class(name) is type(value):
            kept = [f.name for f in fields(value)] if is_dataclass(value) else PARTS
            named = {k: getattr(value, k) for k in kept if k not in _LEFT_OUT}
            return {TAG: "record", "class": name, "fields": self._all(named, where)}
        if is_search(value) and not first_unfitted(value):
            return self.encode(value.best_estimator_, f"{where}.best_estimator_")
        if known_class(name) is type(value):
            return self._estimator(value, where)
        if isinstance(value, slice):
            parts = [value.start, value.stop, value.step]
            return {TAG: "slice", "parts": self.encode(parts, where)}
        if isinstance(value, np.dtype):
            return {TAG: "dtype", "name": value.str}
        if isinstance(value, partial) and not value.args:
            function = self.encode(value.func, where)
            params = self._all(value.keywords, where)
            return {TAG: "partial", "function": function, "params": params}
        if callable(value) and hasattr(value, "__qualname__"):
            return {TAG: "function", "name": f"{value.__module__}:{value.__qualname__}"}
        raise TypeError(
            f"{where} is a {type(value).__module__}.{name}, which a model file cannot "
            "hold. For other steps and calibration: skops.io.dump, and skops.io.load "
            "with trusted=krein.trusted_types()"
        )

    def _estimator(self, value: Any, where: str) -> Any:
        entries = state_of(type(value))
        state = {}
        for entry in entries.values():
            if hasattr(value, entry.place):
                state[entry.name] = plain_items(getattr(value, entry.place))
        faults = state_faults(value, state, entries) if state else ""
        if faults:
            raise TypeError(f"{where} cannot be saved: {faults}")
        name = type(value).__name__
        params = kept_params(name, value.get_params(deep=False))
        return {
            TAG: "estimator",
            "class": name,
            "params": self._all(params, where),
            "state": self._all(state, where),
        }
