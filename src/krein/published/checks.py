"""What the functions of `krein.published` accept: one table, one message for each.

`RULES` has a line for every number and name that a function takes. Each function checks
all that it was given with `check`, before it computes anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.validation import check_similarity


@dataclass(frozen=True)
class Rule:
    """What a parameter may be.

    Parameters
    ----------
    expected : str
        In words, for the message.
    allows : callable
        ``allows(value)`` tells whether it is.
    error : type
        What is raised where it is not.
    """

    expected: str
    allows: Callable[[Any], bool]
    error: type[Exception] = ValueError


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _is_positive(value: Any) -> bool:
    return _is_number(value) and 0.0 < value < np.inf


def _is_not_negative(value: Any) -> bool:
    return _is_number(value) and 0.0 <= value < np.inf


def _is_count(value: Any, least: int) -> bool:
    if not isinstance(value, Integral) or isinstance(value, bool | np.bool_):
        return False
    return int(value) >= least


def _is_seed(value: Any) -> bool:
    if value is None or isinstance(value, np.random.RandomState):
        return True
    return _is_count(value, 0) and int(value) < 2**32


def _choice(*known: str, none: bool = False) -> Rule:
    allowed = (*known, None) if none else known
    names = ", ".join(repr(name) for name in allowed)

    def allows(value: Any) -> bool:
        if value is None:
            return none
        return isinstance(value, str) and value in known

    return Rule(f"one of {names}", allows)


_POSITIVE = Rule("a positive number", _is_positive)
_POSITIVE_OR_NONE = Rule(
    "a positive number, or None", lambda value: value is None or _is_positive(value)
)
_NOT_NEGATIVE = Rule("a number of 0 or more", _is_not_negative)
_BOOLEAN = Rule(
    "True or False", lambda value: isinstance(value, bool | np.bool_), TypeError
)

RULES: dict[str, Rule] = {
    # the problems
    "C": _POSITIVE,
    "rho": _POSITIVE,
    "alpha": _POSITIVE,
    "lam": _POSITIVE,
    "smoothing": _NOT_NEGATIVE,
    "normalize": _choice("trace", none=True),
    "fit_intercept": _BOOLEAN,
    "b_beta": _BOOLEAN,
    # the steps
    "gamma": _POSITIVE_OR_NONE,
    "line_search": _BOOLEAN,
    "monotone": _BOOLEAN,
    "prune": _BOOLEAN,
    "domain": _choice("cut", "paper"),
    "master": Rule(
        "'mkl', 'exact' or a function",
        lambda value: callable(value) or value in ("mkl", "exact"),
    ),
    "block": Rule("an integer of 2 or more", lambda value: _is_count(value, 2)),
    "mu": _POSITIVE,
    "epsilon": _NOT_NEGATIVE,
    "eta": _POSITIVE,
    "decay": Rule(
        "a number above 0 and at most 1",
        lambda value: _is_positive(value) and value <= 1.0,
    ),
    "reset_eta": _BOOLEAN,
    "step": _choice("printed", "lipschitz"),
    "tau": _POSITIVE_OR_NONE,
    "batch": Rule("an integer of 1 or more", lambda value: _is_count(value, 1)),
    "max_inner": Rule("an integer of 1 or more", lambda value: _is_count(value, 1)),
    "equations": _choice("corrected", "printed"),
    "factor": _choice("fresh", "updated"),
    "random_state": Rule(
        "None, an integer from 0 to 2**32 - 1, or a RandomState", _is_seed
    ),
    # the run
    "stop": _choice("gap", "change"),
    "tol": _NOT_NEGATIVE,
    "max_iter": Rule("an integer of 0 or more", lambda value: _is_count(value, 0)),
    "callback": Rule(
        "None, or a function that is called with every iterate",
        lambda value: value is None or callable(value),
        TypeError,
    ),
}


def check(**parameters: Any) -> None:
    """Refuse the first parameter that its rule does not allow.

    Parameters
    ----------
    **parameters
        Values by their names, which are those of `RULES`.
    """
    for name, value in parameters.items():
        rule = RULES[name]
        if not rule.allows(value):
            raise rule.error(f"{name} must be {rule.expected}, got {value!r}")


def check_matrix(K: Any, name: str = "K") -> Array:
    """Return a square, symmetric matrix of finite numbers."""
    try:
        return check_similarity(K, name=name, symmetrize=None)
    except (TypeError, ValueError) as error:
        if f"{name} " in str(error):
            raise
        raise ValueError(
            f"{name} must be a square matrix of numbers, got {_shown(K)}"
        ) from error


def _shown(given: Any) -> str:
    """Type and shape, or a short value."""
    shape = np.shape(given) if isinstance(given, np.ndarray | list | tuple) else ()
    if shape:
        return f"{type(given).__name__} of shape {shape}, {np.asarray(given).dtype}"
    return repr(given)[:60]


def check_labels(y: Any, n: int, name: str = "K") -> Array:
    """Return the labels -1 and +1 of the n rows of a matrix."""
    labels = np.asarray(y)
    if labels.dtype.kind == "O" and all(_is_number(label) for label in labels.flat):
        labels = labels.astype(float)
    numbers = labels.dtype.kind in "iuf" and labels.shape == (n,)
    if not (numbers and set(np.unique(labels)) == {-1, 1}):
        seen = list(dict.fromkeys(labels.ravel().tolist()))
        shown = ", ".join(repr(label) for label in seen[:5])
        raise ValueError(
            f"y must hold -1 and +1, both of them, one for each of the {n} rows of "
            f"{name}; got shape {labels.shape} with values {shown}"
            f"{', ...' if len(seen) > 5 else ''}. For other labels pass "
            "np.where(y == positive_class, 1, -1); the estimators take labels as they "
            "are"
        )
    return labels.astype(float)


def matrix_and_labels(K: Any, y: Any, name: str = "K") -> tuple[Array, Array]:
    """Check a similarity and its labels -1 and +1."""
    K = check_matrix(K, name)
    return K, check_labels(y, K.shape[0], name)


def check_start(x0: Any, size: int, what: str) -> Array | None:
    """Return the starting point as an array of its own, None where there is none.

    Parameters
    ----------
    x0 : array-like of shape (size,), or None
        As given.
    size : int
        Wanted length.
    what : str
        What its entries are, for the message.
    """
    if x0 is None:
        return None
    try:
        if np.iscomplexobj(x0):
            raise TypeError("they are complex")
        point = np.array(x0, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"x0 must hold {size} numbers, {what}; {error}") from None
    if point.shape != (size,) or not np.isfinite(point).all():
        finite = "" if np.isfinite(point).all() else " with entries that are not finite"
        raise ValueError(
            f"x0 must hold {size} finite numbers, {what}; got shape {point.shape}"
            f"{finite}"
        )
    return point
