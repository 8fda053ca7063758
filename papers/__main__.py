"""``python -m papers``: run a table of a paper, or list all with their state."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from papers import (
    HERE,
    find_table,
    judged,
    measure,
    reproduce,
    seed_folder,
    states,
    tables,
)
from papers.page import write_page
from papers.runs import Run

SUMMARY = "run the experiments of the papers and judge what they claim"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of ``python -m papers``."""
    parser = argparse.ArgumentParser(prog="python -m papers", description=SUMMARY)
    add = parser.add_argument
    add(
        "table",
        nargs="?",
        help="what to run, or 'all'; without it all are listed with their state",
    )
    add("--quick", action="store_true", help="a tiny version; claims stay untouched")
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder of the results (default: papers/ledger, or papers/seedN)",
    )
    add("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")
    add(
        "--seconds",
        type=float,
        metavar="S",
        help="start no further run after S seconds; the same command goes on later",
    )
    add(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="other splits of all sets, kept in papers/seedN: do verdicts change?",
    )
    add(
        "--only",
        default="",
        metavar="PATTERN",
        help="run those tasks alone whose 'data set, method' has this pattern",
    )
    add("--fresh", action="store_true", help="forget what was run before")
    add(
        "--page",
        type=Path,
        nargs="?",
        const=HERE.parent / "docs" / "papers.md",
        metavar="FILE",
        help="write the page of all claims (default: docs/papers.md), with its picture "
        "and its rows beside it",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, or 2 for bad usage."""
    args = build_parser().parse_args(argv)
    try:
        run(args)
    except ValueError as error:
        print(f"papers: error: {error}", file=sys.stderr)
        return 2
    return 0


def run(args: argparse.Namespace) -> None:
    """Run one table or all of them, write the page, or list the state of all."""
    if args.seed:
        os.environ["KREIN_PAPERS_SEED"] = str(args.seed)
    args.out = args.out or seed_folder(args.seed)
    if args.jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {args.jobs}")
    if args.page is not None:
        print(f"{write_page(args.page, args.out)} claims: {args.page}")
    elif args.table in (None, "all"):
        if args.table:
            _run_all(args)
        _list(args.out)
    else:
        find_table(args.table)  # a wrong name is an error before anything is written
        _run(args)


def _list(out: Path) -> None:
    """Print how far every table is."""
    seconds = 0.0
    for state in states(out):
        print(
            f"{state.table.name:16} {state.word:9} {state.runs:32} "
            f"{state.seconds / 60:5.1f} min  {state.table.title}"
        )
        verdicts = ", ".join(f"{n} {v}" for v, n in sorted(state.verdicts.items()))
        if verdicts:
            print(f"{'':26} claims: {verdicts}")
        seconds += state.seconds
    print(
        f"\n{seconds / 3600:.1f} hours of one core behind the finished runs; results "
        f"in {out}. make papers TABLE=... runs the rest."
    )


def _run_all(args: argparse.Namespace) -> None:
    """Run every table."""
    end = None if args.seconds is None else time.monotonic() + args.seconds
    for name in tables():
        left = None if end is None else max(0.0, end - time.monotonic())
        if left == 0.0:
            break
        if sys.stderr.isatty():
            sys.stderr.write(f"{name}\n")
        _reproduce(name, args, left)


def _reproduce(name: str, args: argparse.Namespace, seconds: float | None) -> list[Run]:
    return reproduce(
        name,
        args.out,
        quick=args.quick,
        fresh=args.fresh,
        only=args.only,
        n_jobs=args.jobs,
        seconds=seconds,
        progress=_progress if sys.stderr.isatty() else None,
    )


def _run(args: argparse.Namespace) -> None:
    """Run one table; print what was measured beside what the paper prints."""
    table = find_table(args.table)
    runs = _reproduce(args.table, args, args.seconds)
    if args.quick:
        for key, found in sorted(measure(table, runs, quick=True).items()):
            value = found.value
            shown = value if isinstance(value, str) else f"{value:.4g}"
            print(f"{key[0]:18} {key[1]:24} {key[2]:32} {shown}")
    for by in [] if args.quick else judged(args.out, args.table):
        claim = next(iter(by.values()))
        print(
            f"{claim.dataset:18} {claim.method:20} {claim.quantity:24} "
            f"paper {claim.paper:>9} ours {claim.ours:>9}  {claim.verdict}"
        )
    for run in runs:
        if run.failed:
            print(f"failed: {run.task}: {run.values['failed']}")
    wanted = set(table.tasks(args.quick))
    finished = {run.task for run in runs if not run.failed} & wanted
    print(
        f"{args.table}: {len(finished)} of {len(wanted)} runs, "
        f"{sum(run.diverged for run in runs)} diverged, "
        f"{sum(run.seconds for run in runs):.1f} processor seconds in all; results in "
        f"{args.out}"
    )


def _progress(finished: int, wanted: int, run: Run | None) -> None:
    """One line on the terminal, written over."""
    what = ""
    if run is not None:
        task = run.task
        what = f"{task.dataset}, {task.method}, split {task.split}: {run.seconds:.1f} s"
    end = "\n" if finished == wanted else ""
    sys.stderr.write(f"\r\x1b[K{finished}/{wanted} {what}{end}")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
