"""``krein repair``: the nearest positive semidefinite matrix."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import krein
from krein.cli import Options, console
from krein.cli.console import check_output, print_note
from krein.files.writers import check_format, write_matrix, write_table
from krein.validation import looks_like_distances


def repair(args: Options) -> dict[str, Any]:
    """Write the nearest positive semidefinite matrix, names kept."""
    out = None if args.out == "-" else check_output(args.out, args.force)
    K, read = console.read_symmetric(args)
    if out is not None:
        check_format(out, names=read.names is not None)
    if looks_like_distances(K):
        raise ValueError(
            f"{args.file} holds distances, which are not repaired; see krein embed "
            "--kind distance"
        )
    if args.diagonal == "free" and np.all(K.diagonal() == 1.0):
        print_note(args, "the diagonal is 1 and may change; --diagonal unit keeps it")
    repaired = krein.nearest_psd(
        K, diagonal=args.diagonal, min_eigenvalue=args.min_eigenvalue
    )
    if out is None:
        write_table(sys.stdout, repaired.matrix, read.names, None, ",")
    else:
        write_matrix(out, repaired.matrix, names=read.names, overwrite=args.force)
    facts = ("text", "status", "distance", "duality_gap")
    return {
        "file": args.file,
        "out": args.out,
        "items": len(K),
        "smallest_eigenvalue_before": float(np.linalg.eigvalsh(K)[0]),
        "smallest_eigenvalue": float(np.linalg.eigvalsh(repaired.matrix)[0]),
        **{name: getattr(repaired, name) for name in facts},
        "largest_change": float(np.abs(repaired.matrix - K).max()),
    }


def show_repair(payload: dict[str, Any], args: Options) -> None:
    """Print what changed; on standard error where the matrix went to the output."""
    if payload["out"] == "-":
        print_note(args, payload["text"])
        return
    print(f"{payload['out']}: {payload['text']}")
    numbers = {k: v for k, v in payload.items() if isinstance(v, int | float)}
    rows = [[name.replace("_", " "), f"{v:.4g}"] for name, v in numbers.items()]
    console.print_table(["fact", "value"], rows)
