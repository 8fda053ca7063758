"""NAME=VALUE on the command line, read by the type that the docstring declares.

Kernels and estimators say in their numpydoc docstrings what each parameter is
(``gamma : float or "median"``, ``normalize : bool``): that is the one place, and it
serves the parser, ``krein kernel NAME --help`` and the table in the documentation.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from krein.words import did_you_mean

__all__ = [
    "Parameter",
    "declared",
    "kernel_parameters",
    "parse_pairs",
    "shown_default",
]

_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


@dataclass(frozen=True)
class Parameter:
    """One parameter: its name, what the docstring says about it, its default."""

    name: str
    kind: str
    about: str
    default: Any

    @property
    def choices(self) -> tuple[str, ...]:
        """Words in quotes that the declaration lists."""
        return tuple(re.findall(r'"([^"]+)"', self.kind))

    def parse(self, text: str) -> Any:
        """Return the value that the text means for this parameter."""
        for read in self._readers():
            found, value = read(text)
            if found:
                return value
        raise ValueError(
            f"{self.name} must be {self.expected}, got {text!r}"
            + did_you_mean(text, self.choices)
        )

    @property
    def expected(self) -> str:
        """What can be given, in words."""
        kind = re.sub(r"\{(.*)\}", r"one of \1", self.kind)
        kind = kind.replace("bool", "true or false").replace(", optional", " or none")
        kind = re.sub(r"\bfloat\b", "a number", kind.replace("int or float", "float"))
        return re.sub(r"\bint\b", "a whole number", kind)

    def _readers(self) -> Iterable[Callable[[str], tuple[bool, Any]]]:
        words = set(re.findall(r"\w+", re.sub(r'"[^"]*"', "", self.kind)))
        if self.choices:
            yield lambda text: (text in self.choices, text)
        if words & {"optional", "None"}:
            yield lambda text: (text.lower() == "none", None)
        if "bool" in words:
            yield lambda text: (text.lower() in (*_YES, *_NO), text.lower() in _YES)
        if "int" in words:
            yield lambda text: _literal(text, (int,))
        if "float" in words:
            yield lambda text: _literal(text, (int, float))
        if words & {"tuple", "dict", "list", "array"}:
            yield lambda text: _literal(text, (tuple, dict, list))
        if "str" in words:
            yield lambda text: (not _literal(text, (int, float))[0], text)


def _literal(text: str, kinds: tuple[type, ...]) -> tuple[bool, Any]:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False, None
    return isinstance(value, kinds) and not isinstance(value, bool), value


def declared(target: Any) -> dict[str, Parameter]:
    """Parameters that a function or class documents, by name.

    Parameters
    ----------
    target : function or class
        With a numpydoc docstring; what it leaves out is declared by its default.
    """
    signature = inspect.signature(target).parameters
    found = {}
    for names, kind, about in _sections(inspect.getdoc(target) or ""):
        for name in names.split(", "):
            if name in signature and name not in ("X", "Y"):
                found[name] = Parameter(name, kind, about, signature[name].default)
    for name, parameter in signature.items():
        if name not in found and name not in ("X", "Y"):
            kind = _kind_of(parameter.default)
            found[name] = Parameter(name, kind, "", parameter.default)
    return found


def _sections(doc: str) -> Iterable[tuple[str, str, str]]:
    """Yield names, declaration and description from ``Parameters``."""
    _, _, rest = doc.partition("Parameters\n----------\n")
    block = re.split(r"\n\n\w[\w ]*\n---", rest)[0]
    for entry in re.split(r"\n(?=\S)", block):
        head, _, about = entry.partition("\n")
        names, colon, kind = head.partition(" : ")
        if colon:
            yield names.strip(), kind.strip(), " ".join(about.split())


def _kind_of(default: Any) -> str:
    """Declare what is not documented by the type of its default."""
    for kind, name in ((bool, "bool"), (int, "int"), (float, "float"), (str, "str")):
        if isinstance(default, kind):
            return name
    return "float, str, dict, optional"


def kernel_parameters(name: str) -> dict[str, Parameter]:
    """Parameters of a registered kernel, as a kernel given by name has them."""
    from krein.kernels.distances import FITTED, POINTWISE
    from krein.kernels.registry import KERNELS, as_kernel

    defaults = as_kernel(name, None).get_params()
    found = {}
    for key, parameter in declared(KERNELS[name].function).items():
        kind = parameter.kind
        if key == "similarity":
            kind = "{" + ", ".join(f'"{form}"' for form in [*POINTWISE, *FITTED]) + "}"
        found[key] = Parameter(key, kind, parameter.about, defaults[key])
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
