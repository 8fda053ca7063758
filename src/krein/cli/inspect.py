"""``krein inspect``: what a similarity is like and what to do about it."""

from __future__ import annotations

from typing import Any

from krein import diagnose
from krein.cli import Options, console, learning
from krein.cli.console import Inputs, few_enough, own_findings, print_table
from krein.kernels import kernel_matrix


def inspect(args: Options) -> dict[str, Any]:
    """Diagnose the matrix."""
    (kernel,) = learning.make_kernels(args).values()
    read = learning.read_problem(args, kernel)
    diagnosis = _diagnose_read(args, read, kernel)
    return {
        "file": args.file,
        **diagnosis.to_dict(),
        "findings": own_findings(diagnosis.findings, args, read.alerts),
        "facts": diagnosis.facts(),
    }


def _diagnose_read(args: Options, read: Inputs, kernel: Any) -> Any:
    if kernel is not None:
        kernel = kernel.fit(read.data)
        X = read.data if kernel.facts.input == "vectors" else None
        K = kernel_matrix(kernel, read.data, progress=not args.quiet)
        K = 0.5 * (K + K.T) if args.symmetrize else K
        return diagnose(K, read.target, X, task=_task(read))
    K, y = few_enough(read.data, read.target, args)
    if args.transform or args.param:  # another form than the usual one
        S = learning.conversion_of(args, K).fit_transform(K)
        return diagnose(S, y, task=_task(read))
    # What has the wrong direction is diagnosed as it is: the first finding says so.
    return diagnose(K, y, kind=args.kind or "similarity", task=_task(read))


def _task(read: Inputs) -> Any:
    return None if read.target is None else read.task


def show_inspect(payload: dict[str, Any], args: Options) -> None:
    """Print the alerts, the advice, and the facts."""
    console.print_alerts(payload["findings"])
    findings = [finding["text"] for finding in payload["findings"]]
    for advice in payload["advice"]:
        if not any(text in advice for text in findings):  # once is enough
            print(f"- {advice}")
    print_table(["fact", "value"], list(payload["facts"].items()))
