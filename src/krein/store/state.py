"""What a fitted estimator consists of, and how a fit replaces it as a whole.

A class says in ``_fitted_state`` what its `fit` sets beside the constructor's
parameters; classes that inherit from it add to that or replace entries of the same
name. Model files hold exactly this, and what is loaded is checked against it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import _fit_context

from krein.arrays import blas_threads


def replaces_state(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate `fit`: check the parameters, then replace the fitted state as a whole.

    The work is done on a fresh object without fitted attributes; the estimator gets
    all of them in one assignment at the end. A refit therefore leaves nothing of the
    fit before, and a fit that fails or is interrupted leaves the estimator as it was.
    NumPy's numbers among the parameters are Python's during the fit: the arithmetic of
    small types would round or overflow.

    Parameters
    ----------
    fit : callable
        ``fit(self, ...)``; what it returns is passed on.
    """
    checked = _fit_context(prefer_skip_nested_validation=False)(fit)

    @functools.wraps(fit)
    def replacing(self: Any, *args: Any, **kwargs: Any) -> Any:
        fresh = object.__new__(type(self))
        given = self.get_params(deep=False)
        typed = {k: v for k, v in given.items() if isinstance(v, np.number)}
        plain = {name: value.item() for name, value in typed.items()}
        fresh.__dict__ = without_state(self) | plain
        with blas_threads(getattr(fresh, "_blas_threads", None)):
            result = checked(fresh, *args, **kwargs)
        self.__dict__ = fresh.__dict__ | typed
        return self if result is fresh else result

    return replacing


def without_state(estimator: Any) -> dict[str, Any]:
    """Attributes of an estimator without those that a fit has set."""
    fitted = {entry.place for entry in declared_state(type(estimator)).values()}
    return {
        name: value
        for name, value in vars(estimator).items()
        if name not in fitted and (name.startswith("_") or not name.endswith("_"))
    }


@dataclass(frozen=True)
class Fitted:
    """One part of the fitted state.

    Attributes
    ----------
    name : str
        Its name in model files.
    kind : str
        What it is, a key of `KINDS`.
    shape : str, optional
        One letter per dimension of an array; equal letters are equal sizes.
    needed : bool or callable
        Whether it must be there and not None, or a function of the estimator (with
        its parameters set) that says so.
    attribute : str
        Where the estimator keeps it; `name` by default.
    """

    name: str
    kind: str
    shape: str | None = None
    needed: bool | Callable[[Any], bool] = True
    attribute: str = ""

    @property
    def place(self) -> str:
        """Attribute of the estimator."""
        return self.attribute or self.name


State = tuple[Fitted, ...]


def _array(kinds: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, np.ndarray) and value.dtype.kind in kinds


def _named(*names: str) -> Callable[[Any], bool]:
    """Test of the class by its name: this module imports no class of krein."""
    return lambda value: type(value).__name__ in names


def _is_number(value: Any) -> bool:
    numeric = isinstance(value, int | float | np.integer | np.floating)
    return numeric and not isinstance(value, bool)


def _is_result(value: Any) -> bool:
    rows = value if isinstance(value, list) else [value]
    return bool(rows) and all(map(_named("Result"), rows))


def _is_pair_of_arrays(value: Any) -> bool:
    floats = _array("f")
    return isinstance(value, tuple) and len(value) == 2 and all(map(floats, value))


KINDS: dict[str, Callable[[Any], bool]] = {
    "numbers": _array("fiu"),
    "integers": _array("iu"),
    "flags": _array("b"),
    "labels": _array("biufUOST"),
    "number": _is_number,
    "integer": lambda v: isinstance(v, int | np.integer) and not isinstance(v, bool),
    "flag": lambda v: isinstance(v, bool | np.bool_),
    "text": lambda v: isinstance(v, str),
    "items": lambda v: v is None or isinstance(v, list | tuple | np.ndarray),
    "kernel": lambda v: callable(v) or _named("PlacedKernel")(v),
    "kernels": lambda v: isinstance(v, list) and all(map(callable, v)),
    "result": _is_result,
    "names": lambda v: isinstance(v, list) and all(isinstance(n, str) for n in v),
    "sigmoids": _is_pair_of_arrays,
    "table": lambda v: isinstance(v, dict),
    "spectrum": _named("Spectrum"),
    "transform": _named("TreatedKernel"),
    "proxy": _named("Proxy"),
    "model": lambda v: hasattr(v, "get_params"),
    "anything": lambda v: True,
}


def declared_state(cls: type) -> dict[str, Fitted]:
    """Return the parts of the fitted state of a class, by name.

    Parameters
    ----------
    cls : type
        An estimator.

    Returns
    -------
    dict of str to Fitted
    """
    entries: dict[str, Fitted] = {}
    for base in reversed(cls.__mro__):
        for entry in vars(base).get("_fitted_state", ()):
            entries[entry.name] = entry
    return entries


def faults_of(
    estimator: Any, state: Mapping[str, Any], entries: Mapping[str, Fitted]
) -> list[str]:
    """Say what of a state is not as it is declared.

    Parameters
    ----------
    estimator : estimator
        With its parameters set.
    state : mapping
        Values by name.
    entries : mapping
        The declaration.

    Returns
    -------
    list of str
        Empty for a sound state.
    """
    faults = [f"{name!r} is not a fitted attribute" for name in state.keys() - entries]
    sizes: dict[str, int] = {}
    for entry in entries.values():
        value = state.get(entry.name)
        if value is None and not (entry.kind == "items" and entry.name in state):
            needed = entry.needed
            if needed(estimator) if callable(needed) else needed:
                faults.append(f"{entry.name!r} is missing")
            continue
        if not KINDS[entry.kind](value):
            faults.append(f"{entry.name!r} is no {entry.kind}")
        elif entry.shape is not None:
            faults.extend(_misfits(entry, value, sizes))
    return faults or _contradictions(state)


def _contradictions(state: Mapping[str, Any]) -> list[str]:
    """Say where parts that are sound by themselves do not belong together."""
    coef, support = state.get("dual_coef_"), state.get("support_")
    if coef is None or support is None:
        return []
    n = coef.shape[1]
    if support.size and not 0 <= support.min() <= support.max() < n:
        return [f"'support_' names items beyond the {n} training items"]
    outside = np.setdiff1d(np.arange(n), support)
    if np.any(coef[:, outside]):
        return ["'support_' leaves out items that have a coefficient"]
    items = state.get("X_fit_")
    if items is not None and len(items) not in (n, support.size):
        return [f"'X_fit_' has {len(items)} items for {n} coefficients"]
    return []


def _misfits(entry: Fitted, value: Any, sizes: dict[str, int]) -> list[str]:
    shape = np.shape(value)
    letters = entry.shape or ""
    fits = len(shape) == len(letters) and all(
        sizes.setdefault(letter, size) == size
        for letter, size in zip(letters, shape, strict=True)
    )
    if fits:
        return []
    expected = ", ".join(str(sizes.get(letter, letter)) for letter in letters)
    return [f"{entry.name!r} has shape {shape}, expected ({expected})"]


# What most models have: rows of coefficients on the training items, ...
COEFFICIENTS = (
    Fitted("X_fit_", "items"),
    Fitted("dual_coef_", "numbers", "rn"),
    Fitted("intercept_", "numbers", "r"),
    Fitted("support_", "integers", "s"),
    Fitted("alpha_", "numbers", "rn", needed=False),
    Fitted("poly_coef_", "numbers", "rp", needed=False),
    Fitted("approximation_error_", "number", needed=False),
    Fitted("dense_coef_", "numbers", "rn", needed=False),
    Fitted("dense_intercept_", "numbers", "r", needed=False),
    Fitted("sparse_error_", "number", needed=False),
)
# ... and how they were found.
RESULTS = (
    Fitted("result_", "result"),
    Fitted("n_iter_", "integers", "r"),
    Fitted("objective_", "numbers", "r"),
    Fitted("duality_gap_", "numbers", "r", needed=False),
    Fitted("residual_", "numbers", "r", needed=False),
)
