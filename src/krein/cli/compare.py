"""``krein compare``: what to use."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from krein import diagnose
from krein.cli import Options, console, learning, options_of_compare, repeated
from krein.cli.console import (
    TWINS,
    Inputs,
    check_output,
    few_enough,
    is_large,
    own_findings,
    print_note,
    print_table,
)
from krein.cli.saving import save_fitted
from krein.comparison.comparison import Comparison
from krein.comparison.contenders import TASKS
from krein.comparison.kernel_comparison import KernelComparison
from krein.comparison.problem import Problem
from krein.comparison.recommendation import Recommendation
from krein.comparison.run import compare_problem
from krein.diagnostics.diagnosis import find_in
from krein.items import called
from krein.report import write_report
from krein.store.files import written_together
from krein.store.shared_work import shared_work
from krein.verdicts.sentences import say
from krein.words import progress_bar


def compare(args: Options) -> dict[str, Any]:
    """Compare, and write report and model if asked for."""
    page = check_output(args.html, args.force)
    saved = check_output(args.model, args.force)
    several, read = _compare_all(args)
    with shared_work():  # one eigendecomposition for advice, diagnosis and report
        args.kernel, _ = several.best  # what is written is about this one
        comparison = several.comparisons[args.kernel]
        problem = comparison.problem
        K, looked_at = few_enough(problem.on(problem.everything), args)
        y = problem.labels[looked_at]
        given: dict[str, Any] = {"X": problem.vectors, "task": problem.task}
        diagnosis = diagnose(K, y, **given) if page is not None else None
        seen = diagnosis.findings if diagnosis else find_in(K, y, **given)
        findings = own_findings(seen, args, read, looked_at)
        payload = _account(several, comparison, args)
        payload["findings"] = _worth_telling(findings, args)
        paths = [path for path in (saved, page) if path is not None]
        with written_together(paths, overwrite=args.force) as temporary:
            place = dict(zip(paths, temporary, strict=True))
            if saved is not None:
                save_fitted(comparison.fit_best(), place[saved], read, problem)
                payload["model"] = str(saved)
            if page is not None:
                write_report(
                    several if len(several.comparisons) > 1 else comparison,
                    place[page],
                    findings=findings,
                    diagnosis=diagnosis,
                    **_context(args, read, problem),
                )
                payload["report"] = str(page)
        return payload


def _compare_all(args: Options) -> tuple[KernelComparison, Inputs]:
    """Comparisons of all kernels named, and what was read."""
    learning.check_methods(args.methods, args.task or "any")  # fails before a long read
    kernels = learning.make_kernels(args)
    read = learning.read_problem(args, next(iter(kernels.values())))
    methods = learning.check_methods(args.methods, read.task)
    found = {}
    for name, kernel in kernels.items():
        console.check_comparable(args.file, kernel, read.data)
        problem = learning.problem_of(args, read, kernel)
        if args.html is not None and is_large(problem.K):
            raise ValueError(
                f"the report draws a dense matrix, and {problem.codes.size} items are "
                "too many for one; leave out --html"
            )
        found[name] = _compare(problem, methods, args)
    return KernelComparison(found), read


def _compare(problem: Problem, methods: list[str] | None, args: Options) -> Comparison:
    label = f"comparing {problem.codes.size} items"
    with progress_bar(label, show=not args.quiet) as advance:
        return compare_problem(
            problem,
            methods,
            cv=args.folds,
            scoring=args.scoring,
            n_jobs=args.jobs,
            cache=args.cache,
            progress=advance.to,
            random_state=args.seed,
        )


def _worth_telling(findings: list[dict], args: Options) -> list[dict]:
    """Findings beside the table: warnings, but of twins that are kept together."""
    together = args.groups == TWINS or args.split_by_similarity is not None
    quiet = ("duplicates", "near-duplicates") if together else ()
    return [f for f in findings if f["severity"] != "note" and f["key"] not in quiet]


def _account(
    several: KernelComparison, comparison: Comparison, args: Options
) -> dict[str, Any]:
    """What was found, as plain values."""
    failed = {}
    for kernel, found in several.comparisons.items():
        for method, why in found.failed.items():
            one_kernel = len(several.comparisons) == 1
            failed[method if one_kernel else f"{kernel}, {method}"] = why
    return {
        "file": args.file,
        "kernel": args.kernel,
        "kernels": several.ranking,
        "task": comparison.task,
        "scoring": comparison.scoring,
        "best": comparison.best,
        "by_items": comparison.by_items,
        "about_p": several.about_p,
        "about_best": several.about_best,
        "splits": len(comparison.splits),
        **_verdict(several.recommendation, comparison),
        "table": several.table(),
        "columns": [column.key for column in comparison.columns],
        "failed": failed,
    }


def _verdict(answer: Recommendation, comparison: Comparison) -> dict[str, Any]:
    """The recommendation as data, and in words with the names that options take."""

    def named(contender: str) -> str:
        return f"{contender} ({comparison.title(contender)})"

    about = answer.to_dict()
    return {
        "recommended": answer.contender,
        "verdict": about["verdict"],
        "clear": answer.clear,
        "useful": answer.useful,
        "equals": about["equals"],
        "equal_kernels": about["equal_kernels"],
        "reasons": about["reasons"],
        "recommendation": answer.in_words(named),
    }


def _context(args: Options, read: Inputs, problem: Problem) -> dict[str, Any]:
    """What the report says about the run, and the lines that a reader may copy."""
    kernel = problem.kernel
    kind = "similarity" if problem.conversion is None else "distance"
    kind = kind if kernel is None else "items"
    columns = {
        "id_column": args.id or (read.names_from if kernel else None),
        "drop": console.titles_in(args.drop),
        "numbers": console.titles_in(args.numbers),
    }
    source = {
        "file": args.file,
        "items": args.items,
        "columns": {name: value for name, value in columns.items() if value},
        "kind": kind,
        "format": "table" if kernel and kernel.facts.input == "tables" else None,
        "options": repeated(args),
    }
    return {
        "title": Path(args.file).name,
        "command": _command(args),
        "names": called(read.data, read.names),
        "source": source,
    }


def _command(args: Options) -> str:
    """Return the command that repeats this run."""
    options = repeated(args, *options_of_compare(args))
    return f"krein compare {shlex.quote(args.file)} {options}"


def show_compare(payload: dict[str, Any], args: Options) -> None:
    """Print alerts, the recommendation and the table."""
    console.print_alerts(payload["findings"])
    print(payload["recommendation"])
    columns = [c for c in TASKS[payload["task"]].columns if c.key in payload["columns"]]
    first = ["kernel", "method"] if len(payload["kernels"]) > 1 else ["method"]
    head = [*first, *(column.title for column in columns)]
    rows = [
        [*(row[key] for key in first), *(column.show(row) for column in columns)]
        for row in payload["table"]
    ]
    print_table(head, rows)
    if len(rows) > 1:
        print_note(args, f"{payload['about_p']} {payload['about_best']}".strip())
    for name, why in payload["failed"].items():
        print(say("failed", name=name, why=why))
    for kind in ("report", "model"):
        if kind in payload:
            print(f"{kind}: {payload[kind]}")
    if "model" in payload and not payload["useful"]:
        print(say(f"saved, {payload['verdict']}"))
