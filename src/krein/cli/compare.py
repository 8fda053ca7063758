"""``krein compare``: all methods on the same splits, and which to use."""

from __future__ import annotations

import argparse
from typing import Any

from krein.cli.options import (
    add_input,
    add_kernel,
    add_output,
    check_output,
    load_problem,
    print_table,
)

SUMMARY = "try all methods on the same splits and say which to use"
EXAMPLE = (
    "krein compare similarities.csv --labels labels.csv --html report.html "
    "--model best.krein"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_input(parser, labels=True)
    add_kernel(parser)
    parser.add_argument(
        "--methods", metavar="A,B,...", help="only these (default: all that apply)"
    )
    parser.add_argument("--groups", metavar="FILE", help="items to be kept together")
    parser.add_argument(
        "--folds", type=int, metavar="N", help="N folds, once (default: 2 times 5)"
    )
    parser.add_argument(
        "--scoring",
        default="accuracy",
        choices=["accuracy", "balanced_accuracy", "neg_log_loss", "roc_auc"],
        help="what decides (default: accuracy)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the splits")
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="splits at the same time"
    )
    parser.add_argument(
        "--cache", metavar="FOLDER", help="keep finished results, to go on later"
    )
    parser.add_argument("--html", metavar="FILE", help="write the report")
    parser.add_argument("--model", metavar="FILE", help="fit and save the best method")
    add_output(parser)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Compare, and write report and model if asked for."""
    page = check_output(args.html, args.force)
    saved = check_output(args.model, args.force)
    from dataclasses import asdict

    from krein.comparison.columns import COLUMNS
    from krein.comparison.run import compare_problem
    from krein.progress import progress_bar

    problem, names = load_problem(args)
    with progress_bar("comparing", 100, unit="%") as advance:
        done = 0

        def progress(count: int, total: int, what: str) -> None:
            nonlocal done
            percent = 100 * count // total
            advance(percent - done)
            done = percent

        comparison = compare_problem(
            problem,
            args.methods.split(",") if args.methods else None,
            cv=args.folds,
            scoring=args.scoring,
            n_jobs=args.jobs,
            cache=args.cache,
            progress=progress,
            random_state=args.seed,
        )
    written = _write(comparison, args, page, saved, names)
    return {
        "file": args.file,
        "scoring": args.scoring,
        "splits": len(comparison.splits),
        "best": comparison.best,
        "recommended": comparison.recommendation.method,
        "clear": comparison.recommendation.clear,
        "recommendation": comparison.recommendation.text,
        "columns": [asdict(column) for column in COLUMNS],
        "table": comparison.table(),
        "failed": comparison.failed,
        **written,
    }


def _write(
    comparison: Any, args: argparse.Namespace, page: Any, saved: Any, names: Any
) -> dict[str, str]:
    from pathlib import Path

    written = {}
    if saved is not None:
        from krein.cli.fit import save_named

        save_named(comparison.fit_best(), saved, names)
        written["model"] = str(saved)
    if page is not None:
        comparison.to_html(
            page,
            force=args.force,
            title=Path(args.file).name,
            command=_command(args),
            names=names,
        )
        written["report"] = str(page)
    return written


def _command(args: argparse.Namespace) -> str:
    """Return the command that repeats this run."""
    import shlex

    words = ["krein", "compare", args.file]
    if args.kernel != "precomputed":
        words += ["--kernel", args.kernel]
    for pair in args.param:
        words += ["--param", pair]
    for name in ("labels", "methods", "groups", "folds"):
        if getattr(args, name) is not None:
            words += [f"--{name}", str(getattr(args, name))]
    if args.symmetrize:
        words.append("--symmetrize")
    words += ["--scoring", args.scoring, "--seed", str(args.seed)]
    return shlex.join(words)


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print the table and the recommendation."""
    from krein.comparison.columns import SHOWN

    head = ["method", *(column.title for column in SHOWN)]
    print_table(
        head,
        [
            [row["title"], *(column.show(row) for column in SHOWN)]
            for row in payload["table"]
        ],
    )
    for name, why in payload["failed"].items():
        print(f"{name} failed: {why}")
    print(payload["recommendation"])
    for kind in ("report", "model"):
        if kind in payload:
            print(f"{kind}: {payload[kind]}")
