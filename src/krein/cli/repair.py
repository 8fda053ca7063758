"""``krein repair``: the nearest positive semidefinite matrix."""

from __future__ import annotations

import argparse
from typing import Any

from krein.cli.options import add_output, add_reading, check_output
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
    parser.add_argument(
        "--symmetrize",
        action="store_true",
        help="use the mean of both directions of an asymmetric matrix",
    )
    parser.add_argument("-o", "--out", required=True, metavar="FILE")
    add_output(parser)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Repair and write, names kept."""
    import numpy as np
    import scipy.sparse

    out = check_output(args.out, args.force)
    from krein import check_certificate, nearest_psd, write_matrix
    from krein.cli.inputs import check_symmetry, read_inputs
    from krein.formats import check_format

    read = read_inputs(args)
    if scipy.sparse.issparse(read.data):
        raise ValueError(f"{args.file} is a table of hits, not a matrix of all pairs")
    assert out is not None
    check_format(out, names=read.names is not None)
    print_note(args, *read.notes, *check_symmetry(read, args))
    K = np.asarray(read.data, dtype=float)
    K = 0.5 * (K + K.T)
    if args.diagonal == "free" and np.all(K.diagonal() == 1.0):
        print_note(args, "the diagonal is 1 and may change; --diagonal unit keeps it")
    found = nearest_psd(K, diagonal=args.diagonal, min_eigenvalue=args.min_eigenvalue)
    report = check_certificate(found, K)
    if not report.holds:
        raise ArithmeticError(report.text)
    write_matrix(out, found.matrix, names=read.names, overwrite=args.force)
    return {
        "file": args.file,
        "out": str(out),
        "items": len(K),
        "diagonal": args.diagonal,
        "smallest_eigenvalue_before": float(np.linalg.eigvalsh(K)[0]),
        "smallest_eigenvalue": float(np.linalg.eigvalsh(found.matrix)[0]),
        "distance": found.distance,
        "relative_distance": found.distance / (float(np.linalg.norm(K)) or 1.0),
        "largest_change": float(np.abs(found.matrix - K).max()),
        "duality_gap": found.duality_gap,
        "status": found.status,
        "text": found.text,
    }


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print what changed."""
    from krein.cli.output import print_table

    print(f"{payload['out']}: {payload['text']}")
    print_table(
        ["fact", "value"],
        [
            ["items", str(payload["items"])],
            [
                "smallest eigenvalue",
                f"{payload['smallest_eigenvalue_before']:.4g} before, "
                f"{payload['smallest_eigenvalue']:.4g} now",
            ],
            [
                "distance",
                f"{payload['distance']:.4g}, {payload['relative_distance']:.2%} of the "
                "norm of the matrix",
            ],
            ["largest change of an entry", f"{payload['largest_change']:.4g}"],
        ],
    )
