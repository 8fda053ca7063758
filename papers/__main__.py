"""``python -m papers``: run a table of a paper, or list all with their state."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from papers import (
    LEDGER,
    OTHER_SEED,
    find_table,
    judge_paper,
    measure,
    reproduce,
    states,
    tables,
)
from papers.page import write_page

SUMMARY = "run the experiments of the papers and judge what they claim"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of ``python -m papers``."""
    parser = argparse.ArgumentParser(prog="python -m papers", description=SUMMARY)
    parser.add_argument(
        "table",
        nargs="?",
        help="what to run, or 'all'; without it all are listed with their state",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a tiny version; claims stay untouched"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder of the results (default: papers/ledger, or papers/seed1)",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes (default: 1)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="S",
        help="start no further run after S seconds; the same command goes on later",
    )
    parser.add_argument(
        "--other-seed",
        action="store_true",
        help="other splits of all sets, kept in papers/seed1: do verdicts change?",
    )
    parser.add_argument(
        "--fresh", action="store_true", help="forget what was run before"
    )
    parser.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help="judge all claims again from the results and write the page of them (.md)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, or 2 for bad usage."""
    args = build_parser().parse_args(argv)
    try:
        payload = run(args)
    except ValueError as error:
        print(f"papers: error: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps(payload, indent=2))
    else:
        show(payload)
    return 0


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run one table, or collect the state of all."""
    if args.other_seed:
        os.environ["KREIN_PAPERS_SEED"] = "1"
    out = args.out or (OTHER_SEED if args.other_seed else LEDGER)
    if args.page is not None:
        return _write_page(args.page, out)
    if args.table is None:
        return _list(out)
    if args.jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {args.jobs}")
    if args.table == "all":
        return _run_all(args, out)
    find_table(args.table)  # a wrong name is an error before anything is written
    return _run(args, out)


def _list(out: Path) -> dict[str, Any]:
    return {
        "folder": str(out),
        "tables": [
            {
                "table": state.table,
                "state": state.word,
                "finished": state.finished,
                "wanted": state.wanted,
                "runs": state.runs,
                "failed": state.failed,
                "processor_seconds": round(state.seconds, 1),
                "verdicts": state.verdicts,
                "title": state.title,
            }
            for state in states(out)
        ],
    }


def _run_all(args: argparse.Namespace, out: Path) -> dict[str, Any]:
    """Run every table, then collect the state of all."""
    end = None if args.seconds is None else time.monotonic() + args.seconds
    for name in tables():
        left = None if end is None else max(0.0, end - time.monotonic())
        if left == 0.0:
            break
        if sys.stderr.isatty():
            sys.stderr.write(f"{name}\n")
        _reproduce(name, args, out, left)
    return _list(out)


def _reproduce(
    name: str, args: argparse.Namespace, out: Path, seconds: float | None
) -> list[Any]:
    return reproduce(
        name,
        out,
        quick=args.quick,
        fresh=args.fresh,
        n_jobs=args.jobs,
        seconds=seconds,
        progress=_progress if sys.stderr.isatty() else None,
    )


def _run(args: argparse.Namespace, out: Path) -> dict[str, Any]:
    runs = _reproduce(args.table, args, out, args.seconds)
    table = find_table(args.table)
    wanted = set(table.tasks(args.quick))
    measured = measure(table, runs, quick=args.quick)
    payload: dict[str, Any] = {
        "table": args.table,
        "quick": args.quick,
        "folder": str(out),
        "finished": len({run.task for run in runs if not run.failed} & wanted),
        "failed": [
            {**asdict(run.task), "why": run.values["failed"]}
            for run in runs
            if run.failed
        ],
        "diverged": sum(run.diverged for run in runs),
        "wanted": len(wanted),
        "seconds": round(sum(run.seconds for run in runs), 1),
        "measured": [
            {"dataset": key[0], "method": key[1], "quantity": key[2], "value": m.value}
            for key, m in sorted(measured.items())
        ],
    }
    if not args.quick:
        judged = judge_paper(table.paper, out)
        claims = [asdict(claim) for claim in judged if claim.table == args.table]
        payload["claims"] = claims
    return payload


def _write_page(path: Path, out: Path) -> dict[str, Any]:
    return {"page": str(path), "claims": write_page(path, out)}


def _progress(finished: int, wanted: int, run: Any) -> None:
    """One line on the terminal, written over."""
    what = ""
    if run is not None:
        task = run.task
        what = f"{task.dataset}, {task.method}, split {task.split}: {run.seconds:.1f} s"
    end = "\n" if finished == wanted else ""
    sys.stderr.write(f"\r\x1b[K{finished}/{wanted} {what}{end}")
    sys.stderr.flush()


def show(payload: dict[str, Any]) -> None:
    """Print states, or what was measured beside what the paper prints."""
    if "page" in payload:
        print(f"{payload['claims']} claims: {payload['page']}")
    elif "tables" in payload:
        for row in payload["tables"]:
            runs = row["runs"] + (f", {row['failed']} failed" if row["failed"] else "")
            verdicts = ", ".join(f"{n} {v}" for v, n in sorted(row["verdicts"].items()))
            took = f"{row['processor_seconds'] / 60:.1f} min"
            print(
                f"{row['table']:16} {row['state']:9} {runs:32} {took:>9}  "
                f"{row['title']}"
            )
            if verdicts:
                print(f"{'':26} claims: {verdicts}")
        total = sum(row["processor_seconds"] for row in payload["tables"]) / 3600
        print(
            f"\n{total:.1f} hours of one core behind the finished runs; results in "
            f"{payload['folder']}. make papers TABLE=... runs the rest."
        )
    else:
        _show_run(payload)


def _show_run(payload: dict[str, Any]) -> None:
    if payload["quick"]:
        for row in payload["measured"]:
            shown = row["value"] if isinstance(row["value"], str) else _digits(row)
            print(
                f"{row['dataset']:18} {row['method']:24} {row['quantity']:32} {shown}"
            )
    for row in payload.get("claims", []):
        print(
            f"{row['dataset']:18} {row['method']:20} {row['quantity']:24} "
            f"paper {row['paper']:>9} ours {row['ours']:>9}  {row['verdict']}"
        )
    for row in payload["failed"]:
        print(f"failed: {row['dataset']}, {row['method']}: {row['why']}")
    print(
        f"{payload['table']}: {payload['finished']} of {payload['wanted']} runs, "
        f"{payload['diverged']} diverged, "
        f"{payload['seconds']} processor seconds in all; results in "
        f"{payload['folder']}"
    )


def _digits(row: dict[str, Any]) -> str:
    return f"{row['value']:.4g}"


if __name__ == "__main__":
    sys.exit(main())
