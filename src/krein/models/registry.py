"""What may stand in a model file: classes of krein, and a few of scikit-learn."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import krein
from krein.machines.new_points import Proxy
from krein.result import Certificate, Result
from krein.similarity.spectrum import Spectrum
from krein.similarity.treated import TreatedKernel
from krein.store.state import Fitted, declared_state

FORMAT = 3
TREE = "model.json"
TAG = "~"  # says what kind of value a JSON object stands for
ARRAY_KINDS = "biufU"
RECORDS: dict[str, Any] = {
    record.__name__: record
    for record in (Certificate, Proxy, Result, Spectrum, TreatedKernel)
}
PARTS = ("kernel", "center", "scale", "degree")  # of a PlacedKernel

_NAMES = (
    Fitted("n_features_in_", "integer", needed=False),
    Fitted("feature_names_in_", "labels", needed=False),
)
_LINEAR = (
    Fitted("classes_", "labels", "c"),
    Fitted("coef_", "numbers", "rp"),
    Fitted("intercept_", "anything"),
    Fitted("n_iter_", "anything"),
)
# What the command line notes on a model: names and labels of its training items, and
# the least and largest number between them.
_ABOUT_ITEMS = (
    Fitted("item_names_", "names", needed=False),
    Fitted("item_labels_", "names", needed=False),
    Fitted("item_range_", "numbers", needed=False),
)
_RANGE = ("min", "max", "range")
_VARIANCES = ("explained_variance", "explained_variance_ratio", "singular_values")
# Of scikit-learn: where the class is, parameters that are not kept, the fitted state.
_FOREIGN: dict[str, tuple[str, set[str], tuple[Fitted, ...]]] = {
    # A folder that a file chooses is no place to write to.
    "Pipeline": ("sklearn.pipeline", {"memory"}, ()),
    "StandardScaler": (
        "sklearn.preprocessing",
        set(),
        (
            *_NAMES,
            Fitted("mean_", "numbers", needed=False),
            Fitted("var_", "numbers", needed=False),
            Fitted("scale_", "numbers", needed=False),
            Fitted("n_samples_seen_", "anything"),
        ),
    ),
    "Normalizer": ("sklearn.preprocessing", set(), _NAMES),
    "MinMaxScaler": (
        "sklearn.preprocessing",
        set(),
        (
            *_NAMES,
            *(Fitted(name, "numbers", "p") for name in ("min_", "scale_")),
            *(Fitted(f"data_{name}_", "numbers", "p") for name in _RANGE),
            Fitted("n_samples_seen_", "integer"),
        ),
    ),
    "PCA": (
        "sklearn.decomposition",
        set(),
        (
            *_NAMES,
            Fitted("mean_", "numbers", "p"),
            Fitted("components_", "numbers", "kp"),
            *(Fitted(f"{name}_", "numbers", "k") for name in _VARIANCES),
            Fitted("noise_variance_", "number"),
            Fitted("n_components_", "integer"),
            Fitted("n_samples_", "integer"),
        ),
    ),
    "LinearSVC": ("sklearn.svm", set(), (*_NAMES, *_LINEAR)),
    "LogisticRegression": ("sklearn.linear_model", set(), (*_NAMES, *_LINEAR)),
    "FunctionTransformer": ("sklearn.preprocessing", set(), _NAMES),
    "ColumnTransformer": (
        "sklearn.compose",
        set(),
        (
            *_NAMES,
            Fitted("transformers_", "anything"),
            Fitted("output_indices_", "table"),
            Fitted("sparse_output_", "flag"),
            Fitted("columns", "anything", attribute="_columns"),
            Fitted("remainder", "anything", attribute="_remainder"),
            Fitted("inputs", "table", attribute="_transformer_to_input_indices"),
            Fitted("n_features", "integer", needed=False, attribute="_n_features"),
            Fitted("passthrough", "table", needed=False,
                   attribute="_name_to_fitted_passthrough"),
        ),
    ),
}  # fmt: skip
# Classes whose fitted state scikit-learn does not promise to keep between versions.
UNSTABLE = {"ColumnTransformer"}


def first_unfitted(model: Any) -> str:
    """Name of the class of the first part of a model that lacks its state, or ""."""
    if type(model).__name__ == "Pipeline":
        parts = [step for _, step in model.steps if isinstance(step, BaseEstimator)]
        return next(filter(None, map(first_unfitted, parts)), "")
    entries = state_of(type(model)).values()
    if any(entry.needed is True for entry in entries):
        if not any(hasattr(model, entry.place) for entry in entries):
            return type(model).__name__
    return ""


def checksum(tree: dict[str, Any], arrays: Iterable[np.ndarray]) -> str:
    """Fingerprint of all that a model file says, but for the fingerprint itself."""
    said = {name: value for name, value in tree.items() if name != "checksum"}
    found = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
    for array in arrays:
        found.update(f"{array.dtype.str} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def member_name(index: int) -> str:
    """Where an array lies in the archive."""
    return f"arrays/{index}.npy"


def known_class(name: str) -> Any:
    """Return the estimator class of this name, if krein or this file lists it."""
    if name in _FOREIGN:
        return getattr(importlib.import_module(_FOREIGN[name][0]), name)
    module = krein._WHERE.get(name, "")
    if not module.startswith(("krein.estimators.", "krein.comparison.")):
        return None
    try:
        found = getattr(krein, name)
    except ImportError:
        return None
    is_estimator = isinstance(found, type) and issubclass(found, BaseEstimator)
    return found if is_estimator else None


def state_of(cls: type) -> dict[str, Fitted]:
    """What a fitted estimator of this class consists of."""
    known = _FOREIGN.get(cls.__name__)
    entries = known[2] if known else tuple(declared_state(cls).values())
    return {entry.name: entry for entry in (*entries, *_ABOUT_ITEMS)}


def params_of(estimator: BaseEstimator) -> dict[str, Any]:
    """Parameters that are kept in a file."""
    dropped = dropped_params(type(estimator).__name__)
    params = estimator.get_params(deep=False)
    return {name: value for name, value in params.items() if name not in dropped}


def dropped_params(name: str) -> set[str]:
    """Parameters that are not kept."""
    return _FOREIGN[name][1] if name in _FOREIGN else set()


def trusted_types() -> list[str]:
    """Return the names of krein's classes, for ``skops.io.load(..., trusted=)``.

    Model files (`krein.save_model`) hold krein's estimators and a few steps of
    scikit-learn. For searches, calibration and other steps there is skops, whose files
    name the types that the reader has to trust. Unlike a model file, such a file is
    not checked against what a fitted estimator consists of: load your own.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from krein import trusted_types
    >>> "krein.estimators.krein_svm.KreinSVC" in trusted_types()
    True
    """
    from krein.kernels.registry import Kernel
    from krein.result import History

    found = [known_class(name) for name in krein._WHERE]
    classes = [*filter(None, found), *RECORDS.values(), Kernel, History]
    classes.append(placed_kernel())
    return sorted({f"{c.__module__}.{c.__qualname__}" for c in classes})


def placed_kernel() -> Any:
    """The class of a c.p.d. kernel with its polynomial (loaded when it is met)."""
    return importlib.import_module("krein.estimators._cpd_model").PlacedKernel
