"""``krein kernel``: compute a similarity matrix from items."""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import Any

from krein.cli.inputs import read_compared
from krein.cli.output import check_output, print_note, print_table
from krein.cli.values import kernel_parameters, make_kernel
from krein.files import check_format, check_names, write_matrix, write_table
from krein.kernels import KERNELS, kernel_matrix, list_kernels
from krein.words import few_digits


def kernel(args: argparse.Namespace) -> dict[str, Any]:
    """Evaluate the kernel and write the matrix, with the names where there are any."""
    if args.name == "list":
        return {"kernels": [_facts(name) for name in list_kernels()]}

    made = make_kernel(args.name, args.param)
    if args.input is None or args.out is None:
        raise ValueError(
            "give the input and the file to write: krein kernel "
            f"{args.name} INPUT -o K.npz"
        )
    out = _check_out(args)
    read = read_compared(args.input, made, args)
    print_note(args, *read.notes)
    train, against = read, None
    if args.against:
        train = read_compared(args.against, made, args)
        print_note(args, *train.notes)
        against = train.data
    _check_names(out, read, train)

    made = made.fit(train.data)
    K = kernel_matrix(
        made, read.data, against, n_jobs=args.jobs, progress=not args.quiet
    )
    _write(args, out, K, read, train)
    return {
        "kernel": repr(made),
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


def _facts(name: str) -> dict[str, Any]:
    facts = KERNELS[name]
    parameters = kernel_parameters(name).values()
    return {
        "name": name,
        "items": facts.input,
        "is": facts.definiteness,
        "about": _first_line(facts),
        "parameters": {p.name: p.shown_default for p in parameters},
    }


def _first_line(facts: Any) -> str:
    lines = (facts.function.__doc__ or "not described").strip().splitlines()
    return lines[0].replace("``", "")


def show_page(name: str) -> None:
    """Print what a kernel is and takes."""
    make_kernel(name)
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
        print(f"  --param {p.name}=VALUE   {p.expected} (default: {p.shown_default})")
        about = p.about.replace("``", "").replace("`", "")
        print(textwrap.indent(textwrap.fill(about, 72), "      "))


def show_kernel(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print what was written, or the kernels."""
    if "kernels" in payload:
        _show_list(payload["kernels"])
    elif args.out != "-":
        against = f" against {payload['against']}" if payload["against"] else ""
        print(f"{payload['out']}: {payload['items']} items{against}")
        print(few_digits(payload["kernel"]))


def _show_list(kernels: list[dict[str, Any]]) -> None:
    """Two lines a kernel on a terminal, which a table would cut; rows in a pipe."""
    for k in kernels:
        k["set"] = " ".join(f"{name}={word}" for name, word in k["parameters"].items())
    if not sys.stdout.isatty():
        head = ["kernel", "items", "matrix", "parameters", "what"]
        keys = ("name", "items", "is", "set", "about")
        print_table(head, [[k[key] for key in keys] for k in kernels])
        return
    for k in kernels:
        print(f"{k['name']} ({k['items']}, {k['is']}): {k['about']}")
        print(f"    {k['set'] or 'no parameters'}")
