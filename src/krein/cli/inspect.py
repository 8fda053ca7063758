"""``krein inspect``: what a similarity is like and what to do about it."""

from __future__ import annotations

from typing import Any

import numpy as np

from krein import Diagnosis, diagnose
from krein.cli import Options, console, learning
from krein.cli.console import (
    Inputs,
    check_output,
    few_enough,
    own_findings,
    print_table,
)
from krein.files.writers import write_rows
from krein.kernels import kernel_matrix
from krein.store.files import atomic_write


def inspect(args: Options) -> dict[str, Any]:
    """Diagnose the matrix."""
    (kernel,) = learning.make_kernels(args).values()
    read = learning.read_problem(args, kernel)
    out = check_output(args.items_out, args.force)
    diagnosis, looked_at = _diagnose_read(args, read, kernel)
    findings = own_findings(diagnosis.findings, args, read, looked_at)
    if out is not None:
        with atomic_write(out, overwrite=args.force, text=True) as file:
            write_rows(file, _rows_of_items(findings))
    return {
        "file": args.file,
        **diagnosis.to_dict(),
        "findings": findings,
        "facts": diagnosis.facts(),
    }


def _rows_of_items(findings: list[dict[str, Any]]) -> list[list[Any]]:
    """A header, and a row for each item that a finding is about."""
    rows: list[list[Any]] = [["finding", "group", "item"]]
    for finding in findings:
        for number, group in enumerate(finding["items"], start=1):
            rows += [[finding["key"], number, item] for item in group]
    return rows


def _diagnose_read(
    args: Options, read: Inputs, kernel: Any
) -> tuple[Diagnosis, np.ndarray]:
    """Return the diagnosis, and the positions of the items it is about."""
    task = None if read.target is None else read.task
    everything = np.arange(len(read))
    if kernel is not None:
        kernel = kernel.fit(read.data)
        X = read.data if kernel.facts.input == "vectors" else None
        K = kernel_matrix(kernel, read.data, progress=not args.quiet)
        K = 0.5 * (K + K.T) if args.symmetrize else K
        return diagnose(K, read.target, X, task=task), everything
    K, looked_at = few_enough(read.data, args)
    y = None if read.target is None else read.target[looked_at]
    if args.transform or args.param:  # another form than the usual one
        S = learning.conversion_of(args, K).fit_transform(K)
        return diagnose(S, y, task=task), looked_at
    # What has the wrong direction is diagnosed as it is: the first finding says so.
    kind = args.kind or "similarity"
    return diagnose(K, y, kind=kind, task=task), looked_at


def show_inspect(payload: dict[str, Any], args: Options) -> None:
    """Print the alerts, the advice, and the facts."""
    console.print_alerts(payload["findings"])
    findings = [finding["text"] for finding in payload["findings"]]
    for advice in payload["advice"]:
        if not any(text in advice for text in findings):  # once is enough
            print(f"- {advice}")
    print_table(["fact", "value"], list(payload["facts"].items()))
