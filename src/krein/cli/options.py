"""Options of the commands: declared in options.toml, added to parsers here."""

from __future__ import annotations

import argparse
import shlex
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_TYPES = {"int": int, "float": float}


@cache
def declared_options() -> dict[str, Any]:
    """The content of options.toml: ``methods``, ``group`` and ``command``."""
    # Not by importlib.resources, which loads zipfile and more for every --help.
    return tomllib.loads(Path(__file__).with_name("options.toml").read_text("utf-8"))


def add_options(parser: Any, options: dict[str, dict[str, Any]]) -> None:
    """Add options, each as it is declared."""
    for name, fields in options.items():
        how = dict(fields)
        flags = how.pop("flags", ["--" + name.replace("_", "-")])
        if how.pop("flag", False):
            how["action"] = "store_true"
        if how.pop("append", False):
            how |= {"action": "append", "default": []}
        if "type" in how:
            how["type"] = _TYPES[how["type"]]
        methods = ", ".join(declared_options()["methods"])
        how["help"] = how.get("help", "").replace("{methods}", methods) or None
        parser.add_argument(*(flags or [name]), **how)


def add_groups(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add groups of options that several commands share."""
    for name in names:
        group = declared_options()["group"][name]
        titled = parser.add_argument_group(group["title"]) if "title" in group else None
        add_options(titled or parser, group["options"])


def add_input(parser: argparse.ArgumentParser) -> None:
    """Add the input file and how it is to be read."""
    add_groups(parser, "input", "reading")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add what overrules how a file is understood."""
    add_groups(parser, "reading")


def add_labels(parser: argparse.ArgumentParser) -> None:
    """Add the labels and how they find their items."""
    add_groups(parser, "labels")


def add_kernel(parser: argparse.ArgumentParser) -> None:
    """Add the choice of a kernel, or what the numbers of a matrix mean."""
    add_groups(parser, "kernel")


def add_symmetrize(parser: argparse._ActionsContainer) -> None:
    """Add what to do about an asymmetric matrix."""
    options = declared_options()["group"]["kernel"]["options"]
    add_options(parser, {"symmetrize": options["symmetrize"]})


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add --force."""
    add_groups(parser, "output")


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
        raise ValueError(
            "a model or a report cannot go to standard output; name a file"
        )
    from krein.store.files import check_writable

    try:
        return check_writable(path, overwrite=force)
    except FileExistsError:
        raise FileExistsError(
            f"{path} exists; choose another name, or replace it with --force"
        ) from None


def repeated(args: argparse.Namespace, *more: str, skip: tuple[str, ...] = ()) -> str:
    """Return the shared options (and `more`) as they have to be typed again."""
    words: list[str] = []
    shared = [
        name
        for group in ("reading", "labels", "learning", "kernel")
        for name in declared_options()["group"][group]["options"]
    ]
    for name in (*shared, *more):
        value = getattr(args, name, None)
        option = "--" + name.replace("_", "-")
        if name in skip or value in (None, False, [], "precomputed"):
            continue
        if value is True:
            words.append(option)
        else:
            for one in value if isinstance(value, list) else [value]:
                words += [option, str(one)]
    return shlex.join(words)
