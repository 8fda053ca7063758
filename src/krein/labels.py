"""Checks of labels, targets and weights."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _check_y, validate_data

from krein.validation import numbers_that_fit, refuse_mask, refuse_odd_arrays


def check_targets(y: Any, estimator: Any, *, numeric: bool = False) -> np.ndarray:
    """Return targets as an array of one dimension, without missing ones."""
    if y is None:
        validate_data(estimator, X="no_validation", y=None, reset=False)
    refuse_mask(y, "y")
    refuse_missing_targets(y)
    with numbers_that_fit("y"):
        return _check_y(y, y_numeric=numeric, estimator=estimator)


def check_classes(y: Any, n: int, estimator: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes and the codes of n labels."""
    y = check_targets(y, estimator)
    check_classification_targets(y)
    if y.shape[0] != n:
        raise ValueError(f"y has {y.shape[0]} labels for {n} samples; they must agree")
    return check_labels(y)


def refuse_missing_targets(y: Any) -> None:
    """Refuse None, NaN and pandas.NA, which are no targets, by their position."""
    # NumPy would turn ["a", nan] into text.
    values = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    if values.dtype.kind not in "fO":
        return
    for i, value in enumerate(values.ravel()):
        if _is_missing(value):
            raise ValueError(
                f"y contains NaN or another missing value: y[{i}] is {value}. Leave "
                "out items without a label or target"
            )


def _is_missing(value: Any) -> bool:
    return value is None or is_pandas_na(value) or is_scalar_nan(value)


def check_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes and the code of each label; two or more classes."""
    if y.size == 0:
        raise ValueError("y is empty; one label per item is expected")
    refuse_missing_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"y must contain samples of at least two classes, got one class: "
            f"{classes[0]!r}"
        )
    return classes, codes


def check_classes_weigh(
    classes: np.ndarray, codes: np.ndarray, weight: np.ndarray | None
) -> None:
    """Refuse weights that leave a class without samples.

    Weights of zero equal removal of the samples; without a class the model would have
    other rows, and `classes_` another length, than the labels say.
    """
    if weight is None:
        return
    left = np.bincount(codes[weight > 0.0], minlength=classes.size)
    if not left.all():
        empty = classes[left == 0].tolist()[0]
        raise ValueError(
            "every class must have a sample of positive weight, but sample_weight "
            f"(times class_weight) is zero for all of class {empty!r}; leave these "
            "samples out of X and y"
        )


def check_weights(
    n: int, sample_weight: Any, class_weight: np.ndarray | None = None
) -> np.ndarray | None:
    """Sample weight times class weight of n samples; None when all are 1."""
    weight = class_weight
    if sample_weight is not None:
        refuse_odd_arrays(sample_weight, "sample_weight")
        weight = _check_sample_weight(
            sample_weight,
            np.empty((n, 1)),
            dtype=np.float64,
            ensure_non_negative=True,
        )
        weight = weight if class_weight is None else weight * class_weight
    if weight is None or np.all(weight == 1.0):
        return None
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if total and not 1e-290 < total < 1e300:
        raise ValueError(
            f"sample_weight sums to {total:g}; divide the weights by a common factor "
            "(and multiply C by it)"
        )
    if not np.any(weight > 0.0):
        raise ValueError("sample_weight is zero for every sample")
    return weight


def class_weights(
    class_weight: Any, classes: np.ndarray, codes: np.ndarray
) -> np.ndarray | None:
    """Weight of each sample by its class; None where all classes weigh the same."""
    if class_weight is None:
        return None
    if isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            check_class_weight(label, weight)
    return compute_class_weight(class_weight, classes=classes, y=classes[codes])[codes]


def check_class_weight(label: Any, weight: Any) -> None:
    """Refuse a weight that is not a finite number of 0 or more."""
    if isinstance(weight, Real) and 0.0 <= float(weight) < np.inf:
        return
    raise ValueError(
        f"class_weight[{label!r}] is {weight!r}; expected a finite number of 0 or more"
    )
