"""The command line: parse, call a public function, print.

A command is a function ``name(args) -> payload`` and one that shows it,
``show_name(payload, args)``, in one of the modules of this package: the payload is a
dict that ``--json`` prints as it is and ``show_name`` prints for people. Summary,
examples and options of all commands stand in options.toml. The module of a command is
imported when the command is run.

Results go to standard output; notes, warnings and progress to standard error.
Exit codes: 0, 1 (failed), 2 (bad usage or input).
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from krein.cli.parser import build_parser, declared_options, parse
from krein.words import printable

COMMANDS = tuple(declared_options()["command"])
# Modules of commands that do not have one of their own.
_MODULES = {
    "completion": "without_files",
    "datasets": "without_files",
    "demo": "without_files",
    "embed": "matrices",
    "inspect": "compare",
    "repair": "matrices",
    "score": "predict",
}
# What is wrong with a path that the user gave; other OSErrors are failures.
_BAD_PATHS = (
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; ``sys.argv[1:]`` when not given.

    Returns
    -------
    int
        0, 1 (failed) or 2 (bad usage or input).
    """
    _open_streams()
    argv = sys.argv[1:] if argv is None else argv
    if not argv:
        build_parser().print_help(sys.stderr)
        return 2
    try:
        args = parse(argv)
    except SystemExit as stop:  # argparse has printed its message
        return stop.code if isinstance(stop.code, int) else 2
    name = f"krein {args.command}"
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _one_line(name, args.quiet)
            _run(args)
        return 0
    except BrokenPipeError:  # `krein datasets | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _failed(name, "interrupted", 1)
    except (ValueError, TypeError, *_BAD_PATHS) as error:
        return _failed(name, error, 2)
    except (OSError, ImportError, MemoryError, ArithmeticError) as error:
        return _failed(name, error, 1)


def _open_streams() -> None:
    """Replace streams that were closed before the start: nothing is read or shown."""
    for stream, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, stream) is None:
            setattr(sys, stream, open(os.devnull, mode))


def _run(args: argparse.Namespace) -> None:
    name = _MODULES.get(args.command, args.command)
    module = importlib.import_module(f"krein.cli.{name}")
    payload = getattr(module, args.command)(args)
    if args.json:
        print(json.dumps(payload, indent=2))
    else:
        getattr(module, f"show_{args.command}")(_safe(payload), args)
    sys.stdout.flush()


def _safe(payload: Any) -> Any:
    """What is shown holds names of files, items and classes: no control characters."""
    if isinstance(payload, dict):
        return {_safe(key): _safe(value) for key, value in payload.items()}
    if isinstance(payload, list | tuple):
        return [_safe(value) for value in payload]
    return printable(payload, keep="\n\t") if isinstance(payload, str) else payload


def _one_line(name: str, quiet: bool):
    """Show a warning without the place in krein's source that gave it."""
    seen = set()

    def show(message, category, *place) -> None:
        text = " ".join(str(message).split())
        if not quiet and text not in seen:
            print(printable(f"{name}: warning: {text}"), file=sys.stderr)
        seen.add(text)

    return show


def _failed(name: str, error: object, code: int) -> int:
    """Print one line on stderr."""
    if isinstance(error, OSError) and error.filename is not None:
        error = f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split()) or type(error).__name__
    print(printable(f"{name}: error: {text}"), file=sys.stderr)
    return code
