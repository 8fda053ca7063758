"""The command line: parse, call a public function, print.

One module per command in this package. Each has ``SUMMARY`` (one line for
``krein --help``), ``add_arguments(parser)``, ``run(args) -> payload`` and
``show(payload, args)``: the payload is a dict that ``--json`` prints as it is and
``show`` prints for people; ``EXAMPLE`` ends its ``--help``. At the top they import
nothing but the standard library: ``krein --help`` must not pay for numpy.

Exit codes: 0, 1 (failed), 2 (bad usage or input).
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence

__all__ = ["COMMANDS", "main"]

COMMANDS = (
    "demo",
    "inspect",
    "compare",
    "kernel",
    "fit",
    "predict",
    "datasets",
)


# What is wrong with a path that the user gave; other OSErrors are failures.
_BAD_PATHS = (
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of ``krein``, with one subparser per command."""
    from krein import __version__

    parser = argparse.ArgumentParser(
        prog="krein",
        description="Learning from similarities that are not positive semidefinite.",
    )
    parser.add_argument("--version", action="version", version=f"krein {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        module = importlib.import_module(f"krein.cli.{name}")
        command = commands.add_parser(
            name,
            help=module.SUMMARY,
            description=module.SUMMARY,
            epilog=f"example:\n  {module.EXAMPLE}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.add_argument(
            "--json", action="store_true", help="print the result as JSON"
        )
        command.set_defaults(module=module)
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
    try:
        args = build_parser().parse_args(argv)
    except SystemExit as stop:  # argparse has printed its message
        return stop.code if isinstance(stop.code, int) else 2
    try:
        payload = args.module.run(args)
        if args.json:
            print(json.dumps(payload, indent=2))
        else:
            args.module.show(payload, args)
        sys.stdout.flush()
        return 0
    except BrokenPipeError:  # `krein datasets | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _failed("interrupted", 1)
    except (ValueError, TypeError, *_BAD_PATHS) as error:
        return _failed(error, 2)
    except (OSError, ImportError, MemoryError, ArithmeticError) as error:
        return _failed(error, 1)


def _failed(error: object, code: int) -> int:
    """Print one line on stderr."""
    text = " ".join(str(error).split()) or type(error).__name__
    print(f"krein: error: {text}", file=sys.stderr)
    return code
