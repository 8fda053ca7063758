"""The command line: parse, call a public function, print.

One module per command in this package, with ``run(args) -> payload`` and
``show(payload, args)``: the payload is a dict that ``--json`` prints as it is and
``show`` prints for people. Options, summary and examples of a command stand in
options.toml; a module may have ``SUMMARY``, ``EXAMPLES`` and ``add_arguments(parser)``
instead, and then imports nothing but the standard library at the top: ``krein --help``
must not pay for numpy. Other modules are imported when their command is run.

Results go to standard output; notes, warnings and progress to standard error.
Exit codes: 0, 1 (failed), 2 (bad usage or input).
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from krein.cli.options import add_groups, add_options, declared_options
from krein.words import did_you_mean, printable

COMMANDS = (
    "demo",
    "inspect",
    "repair",
    "embed",
    "compare",
    "kernel",
    "fit",
    "predict",
    "score",
    "datasets",
    "completion",
)


# What is wrong with a path that the user gave; other OSErrors are failures.
_BAD_PATHS = (
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
)


class Parser(argparse.ArgumentParser):
    """A parser whose errors say what may have been meant."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    @property
    def options(self) -> list[str]:
        """All option strings, for suggestions and completion."""
        return [word for action in self._actions for word in action.option_strings]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a wrong choice, with the nearest right one."""
        if action.choices is None or value in action.choices:
            return
        known = list(map(str, action.choices))
        what = "command" if action.dest == "command" else "choice"
        raise argparse.ArgumentError(
            None if what == "command" else action,
            f"{value!r} is not a {what}{did_you_mean(str(value), known)} "
            f"(there are {', '.join(known)})",
        )

    def error(self, message: str) -> NoReturn:
        """Print the usage of this command and the message; exit with 2."""
        unknown = re.search(r"unrecognized arguments: (-\S+)", message)
        if unknown:
            message += did_you_mean(unknown[1].partition("=")[0], self.options)
        self.print_usage(sys.stderr)
        self.exit(2, printable(f"{self.prog}: error: {message}") + "\n")


class Help(argparse.Action):
    """``--help``, or the page of a kernel where one was named before it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(nargs=0, **options)

    def __call__(self, parser, namespace, values, option=None) -> None:
        """Print and exit."""
        name = getattr(namespace, "name", None)
        if parser.prog.endswith(" kernel") and name not in (None, "list"):
            from krein.cli.kernel import show_kernel

            try:
                show_kernel(name)
            except ValueError as error:
                parser.error(str(error))
        else:
            parser.print_help()
        parser.exit()


def parse(parser: Parser, argv: Any) -> argparse.Namespace:
    """Parse; what a command does not know is refused with that command's usage."""
    args, extra = parser.parse_known_args(argv)
    if extra:
        args.parser.error(f"unrecognized arguments: {' '.join(extra)}")
    return args


def build_parser() -> Parser:
    """Return the parser of ``krein``, with one subparser per command."""
    from krein import __version__

    parser = Parser(
        prog="krein",
        description="Learning from similarities that are not positive semidefinite.",
        epilog="krein COMMAND --help has examples. A file may be - for standard input "
        "or output.",
    )
    parser.add_argument(
        "-V", "--version", action="version", version=f"krein {__version__}"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        _add_command(commands, name)
    return parser


def _add_command(commands: Any, name: str) -> None:
    """Add the parser of one command, as options.toml or its module declares it."""
    declared = declared_options()["command"].get(name)
    module: Any = None if declared else importlib.import_module(f"krein.cli.{name}")
    summary = declared["summary"] if declared else module.SUMMARY
    examples = "\n  ".join(declared["examples"] if declared else module.EXAMPLES)
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=f"examples:\n  {examples}",
        add_help=False,
    )
    parser.add_argument("-h", "--help", action=Help, help="show this and exit")
    if module is not None:
        module.add_arguments(parser)
    else:
        groups = declared.get("groups", [])
        add_groups(parser, *(g for g in groups if g in ("input", "new_items")))
        add_options(parser, declared.get("options", {}))
        add_groups(parser, *(g for g in groups if g not in ("input", "new_items")))
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="no notes, no progress"
    )
    parser.set_defaults(parser=parser)


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
        args = parse(build_parser(), argv)
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


def _run(args) -> None:
    module = importlib.import_module(f"krein.cli.{args.command}")
    payload = module.run(args)
    if args.json:
        print(json.dumps(payload, indent=2))
    else:
        module.show(_safe(payload), args)
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
    text = " ".join(str(error).split()) or type(error).__name__
    print(printable(f"{name}: error: {text}"), file=sys.stderr)
    return code
