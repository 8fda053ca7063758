"""The command line: parse, call a public function, print.

Every command has a module of its name: a function ``name(args) -> payload`` and one
that shows it, ``show_name(payload, args)``. The payload is a dict that ``--json``
prints as it is and ``show_name`` prints for people. Summary, examples and options of
all commands stand in options.toml. The module of a command is imported when it is run.

What commands share: console.py (what they read, print and write), learning.py (kernels,
methods, what is learnt) and saving.py (models).

Only the standard library is imported here: ``krein --help`` must not pay for numpy.
Results go to standard output; notes, warnings and progress to standard error.
Exit codes: 0, 1 (failed), 2 (bad usage or input).
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import re
import shlex
import sys
import tomllib
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from krein.retired import GONE_COMMANDS, GONE_OPTIONS
from krein.words import did_you_mean, printable

_TYPES = {"int": int, "float": float}
_REPEATED = ("reading", "labels", "learning", "kernel", "directions")
# What is wrong with a path that the user gave; other OSErrors are failures.
_BAD_PATHS = FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError


@cache
def declared_options() -> dict[str, Any]:
    """The content of options.toml: ``group`` and ``command``."""
    # Not by importlib.resources, which loads zipfile and more for every --help.
    return tomllib.loads(Path(__file__).with_name("options.toml").read_text("utf-8"))


COMMANDS = tuple(declared_options()["command"])


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
    r"""Make streams that can be used, whatever they were at the start.

    One that was closed is replaced: nothing is read or shown. A terminal that lacks a
    letter, of a name or the ² of R², gets it as ``\xb2``.
    """
    for stream, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, stream) is None:
            setattr(sys, stream, open(os.devnull, mode))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _run(args: Options) -> None:
    if args.json and args.out == "-" and args.command != "predict":
        raise ValueError("--json and -o - would both write to standard output")
    module = importlib.import_module(f"krein.cli.{args.command}")
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


# ------------------------------------------------------------------- options.toml


class Parser(argparse.ArgumentParser):
    """A parser whose errors say what may have been meant."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Print the usage of this command and the message; exit with 2."""
        wrong = re.search(r"(arguments: |choice: ')(-*\w[\w-]*)", message)
        if wrong:
            options = [word for a in self._actions for word in a.option_strings]
            choices = re.findall(r"[\w-]+", message.partition("(choose from")[2])
            gone = GONE_COMMANDS if choices else GONE_OPTIONS
            message += did_you_mean(wrong[2], choices or options, gone)
        self.print_usage(sys.stderr)
        self.exit(2, printable(f"{self.prog}: error: {message}") + "\n")


class Options(argparse.Namespace):
    """What was typed. Options that only other commands have are None.

    So parts that commands share can ask for any option; one that no command declares
    (a misspelt one) is an AttributeError.
    """

    def __init__(self, **typed: Any) -> None:
        super().__init__(**{**dict.fromkeys(option_names()), **typed})


@cache
def option_names() -> frozenset[str]:
    """Names of all options of all commands."""
    groups = declared_options()["group"]
    commands = declared_options()["command"]
    declare = [*groups.values(), *commands.values()]
    return frozenset(name for some in declare for name in some.get("options", {}))


def build_parser() -> Parser:
    """Return the parser of ``krein``, with one subparser per command."""
    from krein import __version__

    parser = Parser(
        prog="krein",
        description="Learning from similarities that are not positive semidefinite.",
        epilog="krein COMMAND --help has examples. A file may be - for standard input "
        "or output.",
    )
    version = f"krein {__version__}"
    parser.add_argument("-V", "--version", action="version", version=version)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in declared_options()["command"].items():
        _add_command(commands, name, command)
    return parser


def _add_command(commands: Any, name: str, command: dict[str, Any]) -> None:
    summary = command["summary"]
    examples = "\n  ".join(command["examples"])
    about = {"description": summary, "epilog": f"examples:\n  {examples}"}
    parser = commands.add_parser(name, help=summary, **about)
    _add_options(parser, command.get("options", {}))
    for title in [*command.get("groups", []), "every"]:
        group = declared_options()["group"][title]
        titled = "title" in group
        to = parser.add_argument_group(group["title"]) if titled else parser
        _add_options(to, group["options"])
    parser.set_defaults(parser=parser)


def _add_options(parser: Any, options: dict[str, dict[str, Any]]) -> None:
    for name, fields in options.items():
        how = dict(fields)
        flags = how.pop("flags", ["--" + name.replace("_", "-")])
        if "type" in how:
            how["type"] = _TYPES[how["type"]]
        parser.add_argument(*(flags or [name]), **how)


def parse(argv: Sequence[str]) -> Options:
    """Parse what was typed; ``krein kernel NAME --help`` is ``krein kernel NAME``."""
    if len(argv) == 3 and argv[0] == "kernel" and argv[2] in ("-h", "--help"):
        argv = argv[:2]
    args, extra = build_parser().parse_known_args(argv)
    if extra:  # with the usage of the command
        args.parser.error(f"unrecognized arguments: {' '.join(extra)}")
    return Options(**vars(args))


def repeated(args: Options, *more: str, skip: Sequence[str] = ()) -> str:
    """Return the shared options (and `more`) as they have to be typed again."""
    words: list[str] = []
    groups = declared_options()["group"]
    shared = [name for group in _REPEATED for name in groups[group]["options"]]
    for name in (*shared, *more):
        value = getattr(args, name, None)
        option = "--" + name.replace("_", "-")
        if name in skip or value in (None, False, [], "precomputed"):
            continue
        for one in value if isinstance(value, list) else [value]:
            words += [option] if one is True else [option, str(one)]
    return shlex.join(words)


def options_of_compare(args: Options) -> list[str]:
    """Options of compare that change its result and were given."""
    names = ("methods", "groups", "folds", "scoring", "seed", "split_by_similarity")
    usual = args.parser.get_default
    return [name for name in names if getattr(args, name) != usual(name)]
