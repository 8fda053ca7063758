"""The command line: parse, call a public function, print.

One module per command in this package. Each has ``SUMMARY`` (one line for
``krein --help``), ``EXAMPLES`` (lines that end its ``--help``),
``add_arguments(parser)``, ``run(args) -> payload`` and ``show(payload, args)``: the
payload is a dict that ``--json`` prints as it is and ``show`` prints for people. It
may have ``Help``, an action of its own for ``--help``. At the top they import nothing
but the standard library: ``krein --help`` must not pay for numpy.

Results go to standard output; notes, warnings and progress to standard error.
Exit codes: 0, 1 (failed), 2 (bad usage or input).
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from krein.cli.parser import Parser, parse
from krein.words import printable

__all__ = ["COMMANDS", "main"]

COMMANDS = (
    "demo",
    "inspect",
    "repair",
    "embed",
    "compare",
    "kernel",
    "fit",
    "predict",
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
        module = importlib.import_module(f"krein.cli.{name}")
        examples = "\n  ".join(module.EXAMPLES)
        command = commands.add_parser(
            name,
            help=module.SUMMARY,
            description=module.SUMMARY,
            epilog=f"examples:\n  {examples}",
            add_help=False,
        )
        command.add_argument(
            "-h",
            "--help",
            action=getattr(module, "Help", "help"),
            help="show this and exit",
        )
        module.add_arguments(command)
        command.add_argument(
            "--json", action="store_true", help="print the result as JSON"
        )
        command.add_argument(
            "-q", "--quiet", action="store_true", help="no notes, no progress"
        )
        command.set_defaults(module=module, parser=command)
    return parser


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


def _run(args) -> None:
    payload = args.module.run(args)
    if args.json:
        print(json.dumps(payload, indent=2))
    else:
        args.module.show(_safe(payload), args)
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
        text = printable(" ".join(str(message).split()))
        if not quiet and text not in seen:
            print(f"{name}: warning: {text}", file=sys.stderr)
        seen.add(text)

    return show


def _failed(name: str, error: object, code: int) -> int:
    """Print one line on stderr."""
    text = printable(" ".join(str(error).split())) or type(error).__name__
    print(f"{name}: error: {text}", file=sys.stderr)
    return code
