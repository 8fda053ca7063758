"""``krein inspect``: how indefinite a similarity is, and what to do about it."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from krein import diagnose
from krein.cli.inputs import Inputs, read_problem
from krein.cli.output import print_alerts, print_table
from krein.cli.parser import repeated
from krein.cli.problem import check_distances, conversion_of, make_kernels
from krein.diagnostics.findings import Finding
from krein.kernels import kernel_matrix
from krein.validation import wrong_direction

# What repairs an alert of the reader: (Python, command).
_REREAD = {
    "names-ignored": (
        "labels = read_labels(path, names=read.names).data",
        "krein inspect FILE --labels LABELS",
    ),
    "missing-filled": ("K = np.where(np.isnan(K), K.T, K)",),
}


def inspect(args: argparse.Namespace) -> dict[str, Any]:
    """Diagnose the matrix."""
    (kernel,) = make_kernels(args).values()
    read = read_problem(args, kernel)
    diagnosis = _diagnose(args, read, kernel)
    return {
        "file": args.file,
        **diagnosis.to_dict(),
        "findings": repairs(diagnosis, args, read.alerts),
        "facts": diagnosis.facts(),
    }


def _diagnose(args: argparse.Namespace, read: Inputs, kernel: Any) -> Any:
    if kernel is not None:
        kernel = kernel.fit(read.data)
        X = read.data if kernel.facts.input == "vectors" else None
        K = kernel_matrix(kernel, read.data, progress=not args.quiet)
        return diagnose(0.5 * (K + K.T) if args.symmetrize else K, read.target, X)
    K = read.data
    kind = args.kind or ("distance" if args.transform else "similarity")
    if kind == "distance":
        check_distances(args, K)
    # What has the wrong direction is diagnosed as it is: the first finding says so.
    right = read.rule is not None or wrong_direction(K, kind) is None
    if right and (args.transform or args.param):  # another form than the usual one
        return diagnose(conversion_of(args, K).fit_transform(K), read.target)
    return diagnose(K, read.target, kind=kind)


def repairs(
    diagnosis: Any, args: argparse.Namespace, alerts: dict[str, str]
) -> list[dict[str, Any]]:
    """Return the findings with commands that name the user's own files.

    What the reader found stands behind errors of the numbers, before their warnings.
    """
    errors = [f for f in diagnosis.findings if f.severity == "error"]
    others = [f for f in diagnosis.findings if f.severity != "error"]
    read = [
        Finding("warning", k, text, *_REREAD.get(k, ())) for k, text in alerts.items()
    ]
    return [
        {**f.to_dict(), "command": _own_command(f.command, args)}
        for f in [*errors, *read, *others]
    ]


def _own_command(command: str, args: argparse.Namespace) -> str:
    """The command of a finding with the user's files and options."""
    if not command:
        return ""
    words = {
        "FILE": shlex.quote(args.file),
        "ITEMS": shlex.quote(args.file),
        "LABELS": shlex.quote(args.labels or "labels.csv"),
    }
    if args.kernel != "precomputed":
        command = command.replace("--kernel edit", f"--kernel {args.kernel}")
    said = {word[2:].replace("-", "_") for word in command.split() if word[:2] == "--"}
    if "kind" in said:
        said.add("transform")
    rest = repeated(args, skip=tuple(said))
    own = " ".join(words.get(word, word) for word in command.split(" "))
    return f"{own} {rest}".strip()


def show_inspect(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print the alerts, the advice, and the facts."""
    print_alerts(payload["findings"])
    said = [finding["text"] for finding in payload["findings"]]
    for advice in payload["advice"]:
        if not any(text in advice for text in said):  # once is enough
            print(f"- {advice}")
    print_table(["fact", "value"], list(payload["facts"].items()))
    if payload["forms"]:
        rows = [[form, f"{mass:.2g}"] for form, mass in payload["forms"].items()]
        print_table(["similarity of this distance", "negative mass"], rows)
