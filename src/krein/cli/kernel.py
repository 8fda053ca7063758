"""``krein kernel``: compute a similarity matrix from items."""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import Any

from krein.cli.options import add_output, add_reading, check_output
from krein.cli.output import print_note, print_table
from krein.words import few_digits

SUMMARY = "compute a similarity matrix from items, or say what a kernel is"
EXAMPLES = (
    "krein kernel list                      all kernels with their parameters",
    "krein kernel edit --help               one kernel",
    "krein kernel smith_waterman proteins.fasta -o K.npz",
    "krein kernel dtw series.tsv --param gamma=median --param window=0.1 -o K.csv",
    "krein kernel edit new.txt --against train.txt -o rows.csv",
)


class Help(argparse.Action):
    """``--help``, or the page of a kernel where one was named before it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(nargs=0, **options)

    def __call__(self, parser, namespace, values, option=None) -> None:
        """Print and exit."""
        name = getattr(namespace, "name", None)
        if name in (None, "list"):
            parser.print_help()
        else:
            try:
                _show_kernel(name)
            except ValueError as error:
                parser.error(str(error))
        parser.exit()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", help="a kernel, or 'list'; NAME --help explains it")
    parser.add_argument(
        "input", nargs="?", help="vectors, series, strings or sequences; - is stdin"
    )
    parser.add_argument(
        "--against",
        metavar="ITEMS",
        help="training items: similarities of new items (rows) to them (columns)",
    )
    parser.add_argument(
        "-o",
        "--out",
        metavar="K.npz",
        help="where to write, names kept: .npz, .npy, .csv, .tsv, .phy or .mat; - is "
        "standard output (csv)",
    )
    parser.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help="parameter"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="blocks at the same time"
    )
    add_reading(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Evaluate the kernel and write the matrix, with the names where there are any."""
    if args.name == "list":
        return _list()
    from krein.cli.problem import check_kernel, make_kernel

    check_kernel(args.name)
    if args.input is None or args.out is None:
        raise ValueError(
            "give the input and the file to write: krein kernel "
            f"{args.name} INPUT -o K.npz"
        )
    kernel = make_kernel(args.name, args.param)
    out = _check_out(args)
    from krein.cli.inputs import item_format
    from krein.files import read_items

    form = item_format(kernel, args.format)
    how = {"format": form, "separator": args.separator, "column": args.items}
    read = read_items(args.input, **how)
    train = read_items(args.against, **how) if args.against else read
    print_note(args, *read.notes, *(train.notes if args.against else []))
    _check_names(out, read, train)
    from krein.kernels import kernel_matrix

    kernel = kernel.fit(train.data)
    against = train.data if args.against else None
    K = kernel_matrix(
        kernel, read.data, against, n_jobs=args.jobs, progress=not args.quiet
    )
    _write(args, out, K, read, train)
    return {
        "kernel": repr(kernel),
        "items": len(read.data),
        "against": len(train.data) if args.against else None,
        "out": args.out,
    }


def _check_out(args: argparse.Namespace) -> Path | None:
    """Refuse what cannot be written, before anything is computed."""
    if args.out == "-":
        return None
    from krein.files import check_format

    check_format(args.out, names=False)
    return check_output(args.out, args.force)


def _check_names(out: Any, read: Any, train: Any) -> None:
    """Refuse names that the file cannot hold, before anything is computed."""
    from krein.files import check_format, check_names

    for named in (read, train):
        check_names(named.names, len(named.data), "names")
    if out is not None:
        check_format(out, names=bool(read.names or train.names))


def _write(args: argparse.Namespace, out: Any, K: Any, read: Any, train: Any) -> None:
    from krein.files import write_matrix

    columns = train.names if args.against else None
    if out is None:
        from krein.files import write_table

        return write_table(sys.stdout, K, read.names, columns, ",")
    write_matrix(out, K, names=read.names, columns=columns, overwrite=args.force)


def _list() -> dict[str, Any]:
    from krein.cli.parameters import kernel_parameters, shown_default
    from krein.kernels import KERNELS, list_kernels

    return {
        "kernels": [
            {
                "name": name,
                "items": facts.input,
                "is": facts.definiteness,
                "about": _first_line(facts),
                "parameters": {
                    p.name: shown_default(p.default)
                    for p in kernel_parameters(name).values()
                },
            }
            for name in list_kernels()
            for facts in [KERNELS[name]]
        ]
    }


def _first_line(facts: Any) -> str:
    lines = (facts.function.__doc__ or "not described").strip().splitlines()
    return lines[0].replace("``", "")


def _show_kernel(name: str) -> None:
    """Print what a kernel is and takes."""
    from krein.cli.parameters import kernel_parameters, shown_default
    from krein.cli.problem import check_kernel
    from krein.kernels import KERNELS

    check_kernel(name)
    facts = KERNELS[name]
    print(f"usage: krein kernel {name} INPUT [--param NAME=VALUE] -o K.npz\n")
    print(_first_line(facts))
    print(f"\nitems: {facts.input}; as a matrix: {facts.definiteness}")
    if facts.note:
        print(textwrap.fill(facts.note, 80))
    if facts.extra:
        print(f'needs: pip install "krein[{facts.extra}]"')
    print(f"source: {facts.reference}\n" if facts.reference else "")
    parameters = kernel_parameters(name)
    print("parameters:" if parameters else "no parameters")
    for p in parameters.values():
        usual = shown_default(p.default)
        print(f"  --param {p.name}=VALUE   {p.expected} (default: {usual})")
        about = p.about.replace("``", "").replace("`", "")
        print(textwrap.indent(textwrap.fill(about, 72), "      "))


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print what was written, or the kernels."""
    if "kernels" in payload:
        _show_list(payload["kernels"])
    elif args.out != "-":
        against = f" against {payload['against']}" if payload["against"] else ""
        print(f"{payload['out']}: {payload['items']} items{against}")
        print(few_digits(payload["kernel"]))


def _show_list(kernels: list[dict[str, Any]]) -> None:
    """Two lines a kernel on a terminal, which a table would cut; rows in a pipe."""
    if not sys.stdout.isatty():
        head = ["kernel", "items", "matrix", "parameters", "what"]
        rows = [[k["name"], k["items"], k["is"], _set(k), k["about"]] for k in kernels]
        print_table(head, rows)
        return
    for k in kernels:
        print(f"{k['name']} ({k['items']}, {k['is']}): {k['about']}")
        print(f"    {_set(k) or 'no parameters'}")


def _set(kernel: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in kernel["parameters"].items())
