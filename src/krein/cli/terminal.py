"""What is typed and what is shown: NAME=VALUE, notes, alerts, tables, files.

The value of a parameter is what Python makes of the text, and text otherwise.
Estimators check theirs as they always do. A parameter of a kernel is of the type of its
default; words for settings that depend on data are those of the registry, and the few
exceptions stand in `_TYPES`. Docstrings say what a parameter is for, which is only
shown.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.base import clone

from krein.files.writers import write_rows
from krein.kernels import KERNELS, as_kernel, list_kernels
from krein.kernels.distances import FITTED, POINTWISE
from krein.store.files import atomic_write, check_writable
from krein.words import did_you_mean, few_digits, printable

_CONSTANTS = {"true": True, "yes": True, "false": False, "no": False, "none": None}
_CONSTANTS |= {"on": True, "off": False}
# Parameters of kernels whose default does not tell their types.
_TYPES: dict[str, tuple[Any, ...]] = {
    "degree": (float,),
    "exponent": (float,),
    "matrix": (tuple, str),
    "node_label": (None, str),
    "ranges": (tuple,),
    "window": (float, None),
    "distance": (),
}
_WORDS: dict[Any, str] = {bool: "true or false", str: "a word", None: "none"}
_WORDS |= {int: "a whole number", float: "a number"}


def as_value(text: str) -> Any:
    """Return the constant, number or sequence that a text stands for, or the text."""
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def parse_pairs(
    pairs: Iterable[str], known: Collection[str], *, option: str, owner: str
) -> dict[str, Any]:
    """Turn ``["gamma=0.5"]`` into ``{"gamma": 0.5}``.

    Parameters
    ----------
    pairs : iterable of str
        What was typed.
    known : collection of str
        Names of the parameters that there are.
    option, owner : str
        For messages: the option's name, and whose parameters they are.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier():
            raise ValueError(f"{option} must look like name=value, got {pair!r}")
        if name not in known:
            there = (", ".join(known) or "none") + did_you_mean(name, known)
            has = f"{owner} has no parameter {name!r}"
            raise ValueError(f"{option}: {has}; it has {there}")
        values[name] = as_value(text)
    return values


def last_step(model: Any) -> Any:
    """Return the model itself, or the last step of a pipeline."""
    return model[-1] if hasattr(model, "steps") else model


def check_settings(model: Any, option: str) -> Any:
    """Return an estimator whose parameters are allowed; name the option if not."""
    try:
        last_step(model)._validate_params()
    except (ValueError, TypeError) as error:
        raise ValueError(f"{option}: {error}") from None
    return model


def make_kernel(name: str, pairs: Iterable[str] = ()) -> Any:
    """Return the kernel with its parameters, or say what there is."""
    if name not in list_kernels():
        near = did_you_mean(name, list_kernels())
        shown = "('krein kernel list' shows all)"
        raise ValueError(f"there is no kernel {name!r}{near} {shown}")
    known = kernel_parameters(name)
    values = parse_pairs(pairs, known, option="--param", owner=f"kernel {name!r}")
    return as_kernel(name, {key: known[key].check(v) for key, v in values.items()})


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel: the types and words it takes, its default."""

    name: str
    types: tuple[Any, ...]
    choices: tuple[str, ...]
    default: Any
    about: str = ""

    @property
    def expected(self) -> str:
        """What can be given, in words."""
        choices = [f'"{word}"' for word in self.choices]
        if len(choices) > 1:
            choices = [f"one of {', '.join(choices)}"]
        shown = [_WORDS.get(t, "a Python value such as (1, 2)") for t in self.types]
        return " or ".join(dict.fromkeys([*shown, *choices])) or "set in Python"

    @property
    def shown_default(self) -> str:
        """The default as it would be typed."""
        plain = isinstance(self.default, bool | None)
        return str(self.default).lower() if plain else str(self.default)

    def check(self, value: Any) -> Any:
        """Return a value that the parameter takes, or say what it takes."""
        word = isinstance(value, str) and value in self.choices
        if word or any(_is_of(value, type_) for type_ in self.types):
            return value
        if self.types == (bool,) and value in (0, 1):
            return bool(value)
        near = did_you_mean(str(value), self.choices)
        must = f"{self.name} must be {self.expected}"
        raise ValueError(f"--param: {must}, got {value!r}{near}")


def _is_of(value: Any, type_: Any) -> bool:
    if type_ in (None, bool, str):
        return value is None if type_ is None else isinstance(value, type_)
    kinds = {int: int, float: int | float}.get(type_, tuple | list | dict)
    return isinstance(value, kinds) and not isinstance(value, bool)


def kernel_parameters(name: str) -> dict[str, Parameter]:
    """Parameters of a registered kernel, as a kernel given by name has them."""
    facts, defaults = KERNELS[name], as_kernel(name, None).get_params()
    about = _descriptions(facts.function)
    parameters = {}
    for key, parameter in inspect.signature(facts.function).parameters.items():
        if key in ("X", "Y"):
            continue
        words = tuple(facts.resolve.get(key, ()))
        types = _TYPES.get(key, _types_of(parameter.default, words))
        if key == "similarity":
            types, words = (), (*POINTWISE, *FITTED)
        said = about.get(key, "")
        parameters[key] = Parameter(key, types, words, defaults[key], said)
    return parameters


def _types_of(default: Any, words: tuple[str, ...]) -> tuple[Any, ...]:
    """Types of a parameter by its default; with words for a number it is a number."""
    if words:
        return (float, None) if default is None else (float,)
    for kind in (bool, int, float, str):
        if isinstance(default, kind):
            return (kind,)
    return (None, float, tuple, str)


def _descriptions(function: Any) -> dict[str, str]:
    """What the docstring says about each parameter, for help."""
    doc = (inspect.getdoc(function) or "").partition("Parameters\n----------\n")[2]
    found = {}
    for entry in re.split(r"\n(?=\S)", re.split(r"\n\n\w[\w ]*\n---", doc)[0]):
        head, _, about = entry.partition("\n")
        for name in head.partition(" : ")[0].split(", "):
            found[name.strip()] = " ".join(about.split())
    return found


# ------------------------------------------------------------------- printed, written


def print_note(args: argparse.Namespace, *texts: str) -> None:
    """Print remarks on standard error, unless --quiet."""
    if not args.quiet:
        for text in texts:
            print(f"krein {args.command}: note: {printable(text)}", file=sys.stderr)


def print_alerts(findings: Sequence[dict[str, Any]]) -> None:
    """Print findings, the worst first, each with its repair."""
    for finding in findings:
        print(f"{finding['severity'].upper()}: {finding['text']}")
        if finding.get("command"):
            print(f"    repair: {finding['command']}")
        elif finding.get("python"):
            print(f"    in Python: {finding['python']}")
    if findings:
        print()


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: columns one below the other, tab-separated in a pipe."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in [head, *rows]:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join(padded).rstrip() if sys.stdout.isatty() else "\t".join(row))


def print_facts(payload: dict[str, Any]) -> None:
    """Print the numbers of a result, one a line."""
    numbers = {k: v for k, v in payload.items() if isinstance(v, int | float)}
    rows = [[name.replace("_", " "), f"{v:.4g}"] for name, v in numbers.items()]
    print_table(["fact", "value"], rows)


def describe_model(model: Any) -> str:
    """Return class and changed parameters, numbers with few digits."""
    if hasattr(model, "steps"):
        return " after ".join(describe_model(step) for _, step in model.steps[::-1])
    plain = clone(model)
    if "cv" in plain.get_params(deep=False):
        plain.set_params(cv=None)  # the folds, item by item
    return few_digits(" ".join(repr(plain).split()))


def check_output(path: str | None, force: bool) -> Path | None:
    """Refuse a file that cannot be written, before anything is computed.

    Parameters
    ----------
    path : str or None
        As typed; None if the option was not given.
    force : bool
        Whether an existing file may be replaced.
    """
    if path is None:
        return None
    if path == "-":
        raise ValueError("this cannot go to standard output; name a file")
    try:
        return check_writable(path, overwrite=force)
    except FileExistsError:
        choose = "choose another name, or replace it with --force"
        raise FileExistsError(f"{path} exists; {choose}") from None


def as_rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Columns of the same length as one dict per item."""
    values = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in values]


def write_csv(path: Path | None, rows: list[dict], force: bool, **how: Any) -> None:
    """Write rows as csv, to standard output without a path; `how` of `write_rows`."""
    table = [list(rows[0]), *(list(row.values()) for row in rows)]
    if path is None:
        return write_rows(sys.stdout, table, **how)
    with atomic_write(path, overwrite=force, text=True) as file:
        write_rows(file, table, **how)
