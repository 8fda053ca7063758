"""What commands print and write: notes, alerts, tables, models in few words."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.base import clone

from krein.files import write_rows
from krein.store.files import atomic_write, check_writable
from krein.words import few_digits, printable


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


def print_facts(payload: dict[str, Any]) -> None:
    """Print the numbers of a result, one a line."""
    rows = [
        [name.replace("_", " "), f"{value:.4g}"]
        for name, value in payload.items()
        if isinstance(value, int | float)
    ]
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
        raise ValueError(
            "a model or a report cannot go to standard output; name a file"
        )
    try:
        return check_writable(path, overwrite=force)
    except FileExistsError:
        raise FileExistsError(
            f"{path} exists; choose another name, or replace it with --force"
        ) from None


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
