"""What commands print: tables, alerts, models in few words."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from krein.words import digits, printable


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
    """Print a table: by rich on a terminal, tab-separated in a pipe."""
    if not sys.stdout.isatty():
        for row in [head, *rows]:
            print("\t".join(row))
        return
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for row in [head, *rows]:
            print("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)))
        return
    # Without lines, so that a comparison fits into 80 columns with names uncut.
    table = Table(*head, box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.columns[0].no_wrap = True
    for row in rows:
        table.add_row(*row)
    Console().print(table, markup=False)


def describe_model(model: Any) -> str:
    """Return class and changed parameters, numbers with few digits."""
    if hasattr(model, "steps"):
        return " after ".join(describe_model(step) for _, step in model.steps[::-1])
    import inspect

    defaults = inspect.signature(type(model)).parameters
    changed = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if name != "cv" and not _same(value, defaults[name].default)
    }
    inside = ", ".join(f"{name}={_shown(value)}" for name, value in changed.items())
    return f"{type(model).__name__}({inside})"


def _same(value: Any, default: Any) -> bool:
    return value is default or (
        isinstance(value, str | int | float) and value == default
    )


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_shown(v)}" for k, v in value.items()) + "}"
    if hasattr(value, "params") and hasattr(value, "facts"):  # a Kernel
        inside = ", ".join(f"{k}={_shown(v)}" for k, v in value.params.items())
        return f"{value.name}({inside})"
    return digits(value)
