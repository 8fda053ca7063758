"""``krein repair``: the nearest positive semidefinite matrix."""

from __future__ import annotations

import argparse
from typing import Any

from krein.cli.options import add_output, add_reading, add_symmetrize, check_output
from krein.cli.output import print_note

SUMMARY = "write the nearest positive semidefinite (or correlation) matrix"
EXAMPLES = (
    "krein repair correlations.csv --diagonal unit -o repaired.csv",
    "krein repair similarities.csv -o repaired.npz",
    "krein repair covariance.csv --diagonal keep --min-eigenvalue 1e-6 -o out.csv",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", help="a symmetric matrix; - is stdin")
    add_reading(parser)
    add_symmetrize(parser)
    parser.add_argument(
        "--diagonal",
        choices=["free", "keep", "unit"],
        default="free",
        help="let the diagonal change (default), keep it, or make it 1",
    )
    parser.add_argument(
        "--min-eigenvalue",
        type=float,
        default=0.0,
        metavar="X",
        help="smallest eigenvalue of the result (default: 0)",
    )
    parser.add_argument("-o", "--out", required=True, metavar="FILE")
    add_output(parser)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Repair and write, names kept."""
    import numpy as np

    out = check_output(args.out, args.force)
    from krein import check_certificate, nearest_psd, write_matrix
    from krein.cli.inputs import read_square
    from krein.files import check_format

    K, read = read_square(args)
    check_format(args.out, names=read.names is not None)
    if args.diagonal == "free" and np.all(K.diagonal() == 1.0):
        print_note(args, "the diagonal is 1 and may change; --diagonal unit keeps it")
    found = nearest_psd(K, diagonal=args.diagonal, min_eigenvalue=args.min_eigenvalue)
    report = check_certificate(found, K)
    if not report.holds:
        raise ArithmeticError(report.text)
    write_matrix(args.out, found.matrix, names=read.names, overwrite=args.force)
    return {
        "file": args.file,
        "out": str(out),
        "text": found.text,
        "status": found.status,
        "items": len(K),
        "smallest_eigenvalue_before": float(np.linalg.eigvalsh(K)[0]),
        "smallest_eigenvalue": float(np.linalg.eigvalsh(found.matrix)[0]),
        "distance": found.distance,
        "relative_distance": found.distance / (float(np.linalg.norm(K)) or 1.0),
        "duality_gap": found.duality_gap,
        "largest_change": float(np.abs(found.matrix - K).max()),
    }


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print what changed."""
    from krein.cli.output import print_table

    print(f"{payload['out']}: {payload['text']}")
    rows = [
        [name.replace("_", " "), f"{value:.4g}"]
        for name, value in payload.items()
        if not isinstance(value, str)
    ]
    print_table(["fact", "value"], rows)
