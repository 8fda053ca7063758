"""``krein compare``: all methods on the same splits, and which to use."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from krein import diagnose
from krein.cli.fit import save_named, with_probabilities
from krein.cli.inputs import item_format
from krein.cli.inspect import repairs
from krein.cli.options import check_output, repeated
from krein.cli.output import print_alerts, print_note, print_table
from krein.cli.problem import check_methods, kernel_names, load_problem
from krein.comparison.kernels import KernelComparison
from krein.comparison.methods import TASKS
from krein.comparison.run import compare_problem
from krein.comparison.scores import shown_columns
from krein.items import called
from krein.progress import percent_bar, seconds_in_words
from krein.report import write_report
from krein.similarity import sparse
from krein.store.sharing import shared_work

_DIAGNOSED = 3000


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Compare, and write report and model if asked for."""
    page = check_output(args.html, args.force)
    saved = check_output(args.model, args.force)

    several, read = _compare_all(args)
    with shared_work():  # one eigendecomposition for advice, diagnosis and report
        args.kernel, _ = several.best  # what is written is about this one
        comparison = several.comparisons[args.kernel]
        return {
            **_account(several, comparison, args),
            **_written(several, comparison, args, (page, saved), read),
        }


def _compare_all(args: argparse.Namespace) -> tuple[Any, Any]:
    """Comparisons of all kernels named, and what was read."""
    found, read = {}, None
    check_methods(args.methods, args.task or "any")  # fails before a long read
    for name in kernel_names(args):
        args.kernel = name
        problem, read = load_problem(args, read)
        methods = check_methods(args.methods, args.task)
        _check_folds(args.folds, problem)
        if args.html is not None and _is_large(problem):
            raise ValueError(
                f"the report draws a dense matrix, and {problem.codes.size} items are "
                "too many for one; leave out --html"
            )
        found[name] = _compare(problem, methods, args)
    return KernelComparison(found), read


def _written(
    several: Any, comparison: Any, args: argparse.Namespace, paths: Any, read: Any
) -> dict[str, Any]:
    """Write what was asked for; findings of the similarity, and the files."""
    page, saved = paths
    diagnosis = _diagnose(comparison.problem, args)

    findings = repairs(diagnosis, args, read.alerts)
    written = _write_model(comparison, args, saved, read)
    if page is not None:
        context = {"findings": findings, "diagnosis": diagnosis}
        _write_page(several, args, page, read, context)
        written["report"] = str(page)
    told = {"near-duplicates"} if read.rule is not None else set()  # by a note
    return {
        "findings": [
            f
            for f in findings
            if f["key"] not in told
            and (f["severity"] != "note" or f["key"] == "duplicates")
        ],
        **written,
    }


def _account(several: Any, comparison: Any, args: argparse.Namespace) -> dict[str, Any]:
    """What was found, as plain values."""
    one = len(several.comparisons) == 1
    failed = {
        method if one else f"{kernel}, {method}": why
        for kernel, found in several.comparisons.items()
        for method, why in found.failed.items()
    }
    return {
        "file": args.file,
        **({} if one else {"kernel": args.kernel, "kernels": several.ranking}),
        "task": comparison.task,
        "scoring": comparison.scoring,
        "splits": len(comparison.splits),
        "best": comparison.best,
        "recommended": comparison.recommendation.method,
        "clear": several.recommendation.clear,
        "useful": comparison.recommendation.useful,
        "by_items": comparison.by_items,
        "about_p": comparison.about_p,
        "recommendation": several.recommendation.text,
        "table": comparison.table() if one else several.table(),
        "failed": failed,
    }


def _check_folds(folds: int | None, problem: Any) -> None:
    """Refuse folds that leave nothing to train or to test on."""
    classes = problem.codes.dtype.kind in "iu"
    largest = int(np.bincount(problem.codes).max()) if classes else len(problem.codes)
    what = "the items of the largest class" if classes else "the number of items"
    if folds is not None and not 2 <= folds <= largest:
        raise ValueError(f"--folds must be from 2 to {largest}, {what}; got {folds}")


def _compare(problem: Any, methods: Any, args: argparse.Namespace) -> Any:
    label = f"comparing {problem.codes.size} items"
    with percent_bar(label, show=not args.quiet) as progress:
        known = TASKS[problem.task].scorings
        return compare_problem(
            problem,
            methods,
            cv=args.folds,
            scoring=args.scoring if args.scoring in known else None,
            n_jobs=args.jobs,
            cache=args.cache,
            progress=progress,
            random_state=args.seed,
        )


def _is_large(problem: Any) -> bool:
    return (
        scipy.sparse.issparse(problem.K) and problem.codes.size > sparse.LARGEST_DENSE
    )


def _diagnose(problem: Any, args: argparse.Namespace) -> Any:
    """Diagnose the similarity; of many hits that of some items."""
    items = np.arange(problem.codes.size)
    if _is_large(problem):
        items = np.sort(np.random.default_rng(0).permutation(items)[:_DIAGNOSED])
        print_note(args, f"the diagnosis is about {items.size} items, taken at random")
        K, vectors = problem.K[items][:, items], None
    else:
        K, vectors = problem.on(items), problem.vectors
    return diagnose(K, problem.labels[items], vectors)


def _write_model(
    comparison: Any, args: argparse.Namespace, saved: Any, read: Any
) -> dict[str, str]:
    if saved is None:
        return {}

    model = comparison.fit_best()
    if args.proba:
        model = with_probabilities(model, comparison.problem)
    save_named(model, saved, read, comparison.problem)
    return {"model": str(saved)}


def _write_page(
    several: Any, args: argparse.Namespace, page: Any, read: Any, context: Any
) -> None:
    one = several.comparisons[args.kernel]
    write_report(
        one if len(several.comparisons) == 1 else several,
        page,
        force=args.force,
        title=Path(args.file).name,
        command=_command(args),
        names=called(read.data, read.names),
        source=_source(args, one.problem),
        **context,
    )


def _source(args: argparse.Namespace, problem: Any) -> dict[str, Any]:
    """Where the data come from, for the lines that a reader may copy."""
    given = problem.kernel is None and problem.conversion is not None
    kind = "distance" if given else "similarity"
    labels, title = args.labels, None
    if problem.kernel is not None and labels is None:
        title = args.label_column
    if problem.kernel is not None and labels is not None and not Path(labels).exists():
        labels, title = None, labels
    return {
        "file": args.file,
        "kind": kind if problem.kernel is None else "items",
        "labels": labels,
        "label_title": title,
        "items": args.items,
        "format": item_format(problem.kernel) if problem.kernel else None,
        "label_column": args.label_column,
        "ignore_names": args.ignore_names,
        "options": repeated(args),
    }


def _command(args: argparse.Namespace) -> str:
    """Return the command that repeats this run."""
    asked = ("methods", "groups", "folds", "scoring", "seed", "split_by_similarity")
    usual = args.parser.get_default
    options = repeated(args, *(n for n in asked if getattr(args, n) != usual(n)))
    return f"krein compare {shlex.quote(args.file)} {options}"


def _first_cells(row: dict[str, Any]) -> list[str]:
    return [row["kernel"], row["title"]] if "kernel" in row else [row["title"]]


def _cell(column: Any, row: dict[str, Any]) -> str:
    if column.key.endswith("_seconds"):
        return seconds_in_words(row[column.key])
    return column.show(row)


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print alerts, the recommendation and the table."""
    print_alerts(payload["findings"])
    print(payload["recommendation"])
    columns = shown_columns(
        payload["splits"], TASKS[payload["task"]].columns, by_items=payload["by_items"]
    )
    first = ["kernel", "method"] if "kernels" in payload else ["method"]
    head = [*first, *(column.title.removesuffix(" s") for column in columns)]
    rows = [
        [*_first_cells(row), *(_cell(column, row) for column in columns)]
        for row in payload["table"]
    ]
    print_table(head, rows)
    if len(rows) > 1:
        print_note(args, payload["about_p"])
    for name, why in payload["failed"].items():
        print(f"{name} failed: {why}")
    for kind in ("report", "model"):
        if kind in payload:
            print(f"{kind}: {payload[kind]}")
    if "model" in payload and not payload["useful"]:
        print("warning: the saved model is no better than an answer that costs nothing")
