"""``krein completion``: a script that lets the shell complete krein's words."""

from __future__ import annotations

import argparse
from typing import Any

SUMMARY = "print a completion script for bash, zsh or fish"
EXAMPLES = (
    'eval "$(krein completion bash)"        in ~/.bashrc',
    'eval "$(krein completion zsh)"         in ~/.zshrc',
    "krein completion fish > ~/.config/fish/completions/krein.fish",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("shell", choices=["bash", "zsh", "fish"])


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Write the script from the parser, with the values that it does not list."""
    from krein.cli import build_parser
    from krein.optional import import_optional

    shtab = import_optional("shtab", extra="cli", needed_for="krein completion")
    parser = build_parser()
    commands: Any = next(a for a in parser._actions if a.dest == "command")
    values = _values()
    for command in commands.choices.values():
        for action in command._actions:
            action.choices = action.choices or values.get(action.dest)
    return {"shell": args.shell, "script": shtab.complete(parser, shell=args.shell)}


def _values() -> dict[str, list[str]]:
    """Words that options take which the parser does not list, by name."""
    from krein import list_kernels, list_methods

    kernels, methods = list(list_kernels()), list(list_methods())
    return {
        "kernel": kernels,
        "name": ["list", *kernels],
        "method": methods,
        "methods": methods,
    }


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print the script."""
    print(payload["script"], end="")
