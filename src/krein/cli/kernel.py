"""``krein kernel``: compute a similarity matrix from items."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from krein.cli.options import add_output, check_output, print_table, read_params

SUMMARY = "compute a similarity matrix from items"
EXAMPLE = "krein kernel smith_waterman proteins.fasta -o K.npy"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", help="a kernel; 'krein kernel list' shows all")
    parser.add_argument(
        "input", nargs="?", help="vectors, series, strings or sequences"
    )
    parser.add_argument("-o", "--out", metavar="K.npy", help="where to write")
    parser.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help="parameter"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="blocks at the same time"
    )
    add_output(parser)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Evaluate the kernel and write the matrix, with the names where there are any."""
    if args.name == "list":
        return _list()
    if args.input is None or args.out is None:
        raise ValueError("give the input and the file to write: INPUT -o K.npy")
    out = Path(args.out)
    check_output(args.out, args.force)
    from krein.formats import read_items, write_matrix
    from krein.kernels import Kernel, kernel_matrix

    kernel = Kernel(args.name, **read_params(args.param))
    read = read_items(args.input)
    items, kernel = read.data, kernel.fit(read.data)
    K = kernel_matrix(kernel, items, n_jobs=args.jobs, progress=True)
    names = None if out.suffix == ".npy" else read.names
    write_matrix(out, K, names=names, overwrite=args.force)
    return {"kernel": repr(kernel), "items": len(items), "out": str(out)}


def _list() -> dict[str, Any]:
    from krein.kernels import KERNELS

    return {
        "kernels": [
            {"name": facts.name, "input": facts.input, "is": facts.definiteness}
            for _, facts in sorted(KERNELS.items())
        ]
    }


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print what was written, or the kernels."""
    if "kernels" in payload:
        rows = [[k["name"], k["input"], k["is"]] for k in payload["kernels"]]
        print_table(["kernel", "items", "definiteness"], rows)
    else:
        print(f"{payload['out']}: {payload['items']} items, {payload['kernel']}")
