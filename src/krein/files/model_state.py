"""Whether the state of a fitted estimator is as its class declares it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from krein.declarations import Fitted


def _array(kinds: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, np.ndarray) and value.dtype.kind in kinds


def _named(*names: str) -> Callable[[Any], bool]:
    """Test of the class by its name: this module imports no class of krein."""
    return lambda value: type(value).__name__ in names


def _is_result(value: Any) -> bool:
    rows = value if isinstance(value, list) else [value]
    return bool(rows) and all(map(_named("Result"), rows))


def _are_sigmoids(value: Any) -> bool:
    """Slopes and offsets; of three and more classes also a temperature."""
    if not isinstance(value, tuple) or len(value) not in (2, 3):
        return False
    return all(map(_array("f"), value))


KINDS: dict[str, Callable[[Any], bool]] = {
    "numbers": _array("fiu"),
    "coefficients": lambda v: _array("fiu")(v) or _named("LandmarkRows")(v),
    "variables": lambda v: _array("fiu")(v) or _named("BoxRows")(v),
    "integers": _array("iu"),
    "flags": _array("b"),
    "labels": _array("biufUOST"),
    "number": lambda v: isinstance(v, Real) and not isinstance(v, bool),
    "integer": lambda v: isinstance(v, Integral) and not isinstance(v, bool),
    "flag": lambda v: isinstance(v, bool | np.bool_),
    "text": lambda v: isinstance(v, str),
    "items": lambda v: v is None or isinstance(v, list | tuple | np.ndarray),
    "kernel": lambda v: callable(v) or _named("PlacedKernel")(v),
    "kernels": lambda v: isinstance(v, list) and all(map(callable, v)),
    "result": _is_result,
    "names": lambda v: isinstance(v, list) and all(isinstance(n, str) for n in v),
    "sigmoids": _are_sigmoids,
    "table": lambda v: isinstance(v, dict),
    "spectrum": _named("Spectrum"),
    "transform": _named("FixedKernel"),
    "proxy": _named("Proxy"),
    "model": lambda v: hasattr(v, "get_params"),
    "anything": lambda v: True,
}


def state_faults(
    estimator: Any, state: Mapping[str, Any], entries: Mapping[str, Fitted]
) -> str:
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
    str
        Nothing for a sound state.
    """
    faults = [f"{name!r} is not a fitted attribute" for name in state.keys() - entries]
    sizes: dict[str, int] = {}
    for entry in entries.values():
        value = state.get(entry.name)
        if value is None and not (entry.kind == "items" and entry.name in state):
            needed = entry.needed
            if callable(needed):
                needed = needed(estimator)
            if needed:
                faults.append(f"{entry.name!r} is missing")
            continue
        if not KINDS[entry.kind](value):
            faults.append(f"{entry.name!r} is no {entry.kind}")
        elif entry.shape is not None:
            faults.extend(_misfits(entry, value, sizes))
    return "; ".join(sorted(faults or _contradictions(state)))


def _contradictions(state: Mapping[str, Any]) -> list[str]:
    """Say where parts that are sound by themselves do not belong together."""
    coef = state.get("dual_coef_")
    support = state.get("support_")
    if coef is None or support is None:
        return []
    n = coef.shape[1]
    if support.size and not 0 <= support.min() <= support.max() < n:
        return [f"'support_' names items beyond the {n} training items"]
    # Rows of a model on landmarks are kept by the positions of their columns.
    positions = getattr(coef, "positions", None)
    if positions is not None:
        if not np.array_equal(positions, support):
            return ["'support_' does not name the landmarks"]
    elif np.any(coef[:, np.setdiff1d(np.arange(n), support)]):
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
