"""NAME=VALUE on the command line, read by the type that is declared for it.

Estimators declare their parameters as scikit-learn's do (`_parameter_constraints`).
The parameter of a kernel is of the type of its default; words for settings that depend
on data are those of the registry, and the few exceptions stand in `_KERNEL_TYPES`.
Docstrings say what a parameter is for, which is only shown.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from krein.words import did_you_mean

_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_SEQUENCE = (tuple, list, dict)
# Parameters of kernels whose default does not tell their types.
_KERNEL_TYPES: dict[str, tuple[Any, ...]] = {
    "degree": (float,),
    "exponent": (float,),
    "matrix": (tuple, str),
    "node_label": (None, str),
    "ranges": (tuple,),
    "window": (float, None),
    "distance": (),
}
_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a word",
    None: "none",
}


@dataclass(frozen=True)
class Parameter:
    """One parameter: its name, the types and words it takes, its default."""

    name: str
    types: tuple[Any, ...]
    choices: tuple[str, ...]
    default: Any
    about: str = ""

    @property
    def kind(self) -> str:
        """The types in code words."""
        names = ["None" if t is None else t.__name__ for t in self.types]
        return ", ".join([*names, *self.choices]) or "callable"

    @property
    def expected(self) -> str:
        """What can be given, in words."""
        choices = [f'"{word}"' for word in self.choices]
        if len(choices) > 1:
            choices = [f"one of {', '.join(choices)}"]
        shown = [_WORDS.get(t, "a Python value such as (1, 2)") for t in self.types]
        return " or ".join(dict.fromkeys([*shown, *choices])) or "set in Python"

    def parse(self, text: str) -> Any:
        """Return the value that the text means for this parameter."""
        if text in self.choices:
            return text
        for type_ in self.types:
            found, value = _as_type(text, type_)
            if found:
                return value
        raise ValueError(
            f"{self.name} must be {self.expected}, got {text!r}"
            + did_you_mean(text, self.choices)
        )


def _as_type(text: str, type_: Any) -> tuple[bool, Any]:
    """Whether the text is a value of this type, and the value."""
    low = text.lower()
    if type_ is None:
        return low == "none", None
    if type_ is bool:
        return low in (*_YES, *_NO), low in _YES
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return type_ is str, text
    if type_ is str:
        return not isinstance(value, int | float), text
    kinds = {int: (int,), float: (int, float)}.get(type_, _SEQUENCE)
    return isinstance(value, kinds) and not isinstance(value, bool), value


def declared(target: Any) -> dict[str, Parameter]:
    """Parameters of an estimator or a function, by name, as they are declared.

    Parameters
    ----------
    target : function or class
        An estimator with `_parameter_constraints`, or a kernel function.
    """
    constraints = getattr(target, "_parameter_constraints", {})
    about = _descriptions(target)
    found = {}
    for name, parameter in inspect.signature(target).parameters.items():
        if name in ("X", "Y"):
            continue
        types = _of_default(parameter.default)
        choices: tuple[str, ...] = ()
        if isinstance(constraints.get(name), list):
            types, choices = _of_constraints(constraints[name])
        elif not constraints:
            types = _KERNEL_TYPES.get(name, types)
        found[name] = Parameter(
            name, types, choices, parameter.default, about.get(name, "")
        )
    return found


def _of_default(default: Any) -> tuple[Any, ...]:
    """Types of a parameter that is declared by its default."""
    for kind in (bool, int, float, str):
        if isinstance(default, kind):
            return (kind,)
    return (None, float, dict, str)


def _of_constraints(constraints: list[Any]) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Types and words that the constraints of scikit-learn allow."""
    types: list[Any] = []
    choices: list[str] = []
    for one in constraints:
        if hasattr(one, "options"):
            choices += sorted(map(str, one.options))
        elif one in ("random_state", "cv_object"):
            types += [int, None]
        else:
            types += _of_constraint(one)
    return tuple(dict.fromkeys(types)), tuple(choices)


def _of_constraint(one: Any) -> list[Any]:
    if hasattr(one, "closed"):  # an interval
        return [int if issubclass(one.type, Integral) else float]
    if one in ("boolean", "verbose"):
        return [bool if one == "boolean" else int]
    if one == "array-like" or one in _SEQUENCE:
        return [dict if one is dict else tuple]
    if one is Integral:
        return [int]
    return [one] if one in (None, str) else []


def _descriptions(target: Any) -> dict[str, str]:
    """What the docstring says about each parameter, for help."""
    doc = (inspect.getdoc(target) or "").partition("Parameters\n----------\n")[2]
    found = {}
    for entry in re.split(r"\n(?=\S)", re.split(r"\n\n\w[\w ]*\n---", doc)[0]):
        head, _, about = entry.partition("\n")
        for name in head.partition(" : ")[0].split(", "):
            found[name.strip()] = " ".join(about.split())
    return found


def kernel_parameters(name: str) -> dict[str, Parameter]:
    """Parameters of a registered kernel, as a kernel given by name has them."""
    from krein.kernels.distances import FITTED, POINTWISE
    from krein.kernels.registry import KERNELS, as_kernel

    facts, defaults = KERNELS[name], as_kernel(name, None).get_params()
    found = {}
    for key, p in declared(facts.function).items():
        types, words = p.types, tuple(facts.resolve.get(key, ()))
        if words and key not in _KERNEL_TYPES:
            types = (float, None) if p.default is None else (float,)
        if key == "similarity":
            types, words = (), (*POINTWISE, *FITTED)
        found[key] = Parameter(key, types, words, defaults[key], p.about)
    return found


def shown_default(value: Any) -> str:
    """Return a default as it would be typed."""
    return str(value).lower() if isinstance(value, bool | None) else str(value)


def parse_pairs(
    pairs: Iterable[str], known: dict[str, Parameter], *, option: str, owner: str
) -> dict[str, Any]:
    """Turn ``["gamma=0.5"]`` into ``{"gamma": 0.5}``.

    Parameters
    ----------
    pairs : iterable of str
        What was typed.
    known : dict of Parameter
        What there is.
    option, owner : str
        For messages: the option's name, and whose parameters they are.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier():
            raise ValueError(f"{option} must look like name=value, got {pair!r}")
        if name not in known:
            raise ValueError(
                f"{option}: {owner} has no parameter {name!r}; it has "
                f"{', '.join(known) or 'none'}" + did_you_mean(name, known)
            )
        try:
            values[name] = known[name].parse(text)
        except ValueError as error:
            raise ValueError(f"{option}: {error}") from None
    return values
