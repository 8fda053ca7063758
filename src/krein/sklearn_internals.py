"""What krein uses of scikit-learn beyond its public interface, in one place.

A new scikit-learn may move or change any of these. Then this file breaks, and
``tests/test_sklearn_internals.py`` says which item it is: there is one test for each.
What is expensive to import is imported when it is called.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.svm import _libsvm as libsvm
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_feature_names as check_feature_names
from sklearn.utils.validation import _check_n_features as check_n_features
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _check_y as check_y
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_feature_names",
    "check_n_features",
    "check_sample_weight",
    "check_y",
    "fit_context",
    "is_search",
    "libsvm",
    "num_samples",
    "platt_sigmoid",
    "safe_indexing",
    "says_not_a_number",
    "says_one_class",
    "says_other_width",
]


def platt_sigmoid(
    scores: Any, positive: Any, weight: Any = None
) -> tuple[float, float]:
    """Return a and b of ``1 / (1 + exp(a f + b))`` by Platt's method."""
    from sklearn.calibration import _sigmoid_calibration

    slope, offset = _sigmoid_calibration(scores, positive, weight)
    return float(slope), float(offset)


def is_search(estimator: Any) -> bool:
    """Say whether an estimator is a grid search or one of its relatives."""
    from sklearn.model_selection._search import BaseSearchCV

    return isinstance(estimator, BaseSearchCV)


# --------------------------------------------- errors that are known by their words


def says_other_width(error: ValueError) -> bool:
    """Say whether `validate_data` complains about the number of columns."""
    return "features, but" in str(error)


def says_not_a_number(error: ValueError) -> bool:
    """Say whether `validate_data` complains about text among numbers."""
    return "could not convert string" in str(error)


def says_one_class(error: ValueError) -> bool:
    """Say whether a score is not defined because one class is missing."""
    return "one class" in str(error).lower()
