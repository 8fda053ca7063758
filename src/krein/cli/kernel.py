"""``krein kernel``: compute a similarity matrix from items."""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import Any

from krein import kernels
from krein.cli.inputs import item_format
from krein.cli.options import check_output
from krein.cli.output import print_note, print_table
from krein.cli.parameters import kernel_parameters, shown_default
from krein.cli.problem import check_kernel, make_kernel
from krein.files import check_format, check_names, read_items, write_matrix, write_table
from krein.kernels import KERNELS, list_kernels
from krein.words import few_digits


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Evaluate the kernel and write the matrix, with the names where there are any."""
    if args.name == "list":
        return _list()

    check_kernel(args.name)
    if args.input is None or args.out is None:
        raise ValueError(
            "give the input and the file to write: krein kernel "
            f"{args.name} INPUT -o K.npz"
        )
    kernel = make_kernel(args.name, args.param)
    out = _check_out(args)

    form = item_format(kernel, args.format)
    how = {"format": form, "separator": args.separator, "column": args.items}
    read = read_items(args.input, **how)
    train = read_items(args.against, **how) if args.against else read
    print_note(args, *read.notes, *(train.notes if args.against else []))
    _check_names(out, read, train)

    kernel = kernel.fit(train.data)
    against = train.data if args.against else None
    K = kernels.kernel_matrix(
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

    check_format(args.out, names=False)
    return check_output(args.out, args.force)


def _check_names(out: Any, read: Any, train: Any) -> None:
    """Refuse names that the file cannot hold, before anything is computed."""
    for named in (read, train):
        check_names(named.names, len(named.data), "names")
    if out is not None:
        check_format(out, names=bool(read.names or train.names))


def _write(args: argparse.Namespace, out: Any, K: Any, read: Any, train: Any) -> None:
    columns = train.names if args.against else None
    if out is None:
        return write_table(sys.stdout, K, read.names, columns, ",")
    write_matrix(out, K, names=read.names, columns=columns, overwrite=args.force)


def _list() -> dict[str, Any]:
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


def show_kernel(name: str) -> None:
    """Print what a kernel is and takes."""
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
