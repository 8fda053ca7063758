"""``krein inspect``: how indefinite a similarity is, and what to do about it."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

import numpy as np
import scipy.sparse

from krein import diagnose
from krein.cli.hits import as_similarity
from krein.cli.options import repeated
from krein.cli.output import print_alerts, print_note, print_table
from krein.cli.problem import load_items, make_kernel, settle_kind
from krein.diagnostics.findings import Finding
from krein.kernels import kernel_matrix
from krein.validation import wrong_direction


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Diagnose the matrix."""
    read = load_items(args)
    if scipy.sparse.issparse(read.data):
        read, notes = as_similarity(read)
        print_note(args, *notes)
    diagnosis = _diagnose(args, read, read.target)
    return {
        "file": args.file,
        **diagnosis.to_dict(),
        "findings": repairs(diagnosis, args, read.alerts),
        "facts": diagnosis.facts(),
    }


def _diagnose(args: argparse.Namespace, read: Any, target: Any) -> Any:
    if args.kernel != "precomputed":
        kernel = make_kernel(args.kernel, args.param).fit(read.data)
        X = read.data if kernel.facts.input == "vectors" else None
        K = kernel_matrix(kernel, read.data, progress=not args.quiet)
        return diagnose(_mean(K, args), target, X)
    K = _mean(read.data, args)
    kind = args.kind or ("distance" if args.transform else "similarity")
    if wrong_direction(K, kind) is not None:
        return diagnose(K, target, kind=kind)  # its first finding is how to say so
    if args.transform or args.param:  # another form than the usual one
        conversion = settle_kind(args, K)
        return diagnose(conversion.fit_transform(K), target)
    return diagnose(K, target, kind=kind)


def _mean(K: Any, args: argparse.Namespace) -> Any:
    return 0.5 * (np.asarray(K) + np.asarray(K).T) if args.symmetrize else K


# What repairs an alert of the reader: (Python, command).
_REREAD = {
    "names-ignored": (
        "labels = read_labels(path, names=read.names).data",
        "krein inspect FILE --labels LABELS",
    ),
    "missing-filled": ("K = np.where(np.isnan(K), K.T, K)",),
}


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


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
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
