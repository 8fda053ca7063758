"""argparse with suggestions, and with the usage of the command that was meant."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, NoReturn

from krein.words import did_you_mean, printable

__all__ = ["Parser", "parse"]


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
        self.exit(2, f"{self.prog}: error: {printable(message)}\n")


def parse(parser: Parser, argv: Any) -> argparse.Namespace:
    """Parse; what a command does not know is refused with that command's usage."""
    args, extra = parser.parse_known_args(argv)
    if extra:
        args.parser.error(f"unrecognized arguments: {' '.join(extra)}")
    return args
