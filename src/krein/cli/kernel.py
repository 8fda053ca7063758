"""``krein kernel``; ``demo``, ``datasets`` and ``completion``, which read no files."""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import textwrap
from collections import defaultdict
from typing import Any

import numpy as np

from krein import list_methods, load_dataset
from krein.cli import build_parser
from krein.cli.console import check_output, print_note, read_compared
from krein.cli.learning import kernel_defaults, make_kernel
from krein.files.data_sets import data_folder, kind_of, list_datasets, source_of
from krein.files.sources import check_names
from krein.files.writers import check_format, write_matrix, write_table
from krein.kernels import KERNELS, kernel_matrix, list_kernels
from krein.words import few_digits, import_optional


def kernel(args: argparse.Namespace) -> dict[str, Any]:
    """Evaluate the kernel and write the matrix, with the names where there are any."""
    if args.name == "list":
        return {"kernels": [_facts(name) for name in list_kernels()]}

    made = make_kernel(args.name, args.param)
    if args.input is None or args.out is None:
        usage = f"krein kernel {args.name} INPUT -o K.npz"
        raise ValueError(f"give the input and the file to write: {usage}")
    out = None if args.out == "-" else check_output(args.out, args.force)
    if out is not None:
        check_format(out, names=False)
    read = read_compared(args.input, made, args)
    train = read_compared(args.against, made, args) if args.against else read
    for named in (read, train) if args.against else (read,):
        print_note(args, *named.notes)
        check_names(named.names, len(named.data), "names")
    if out is not None:  # refused before anything is computed
        check_format(out, names=bool(read.names or train.names))

    made = made.fit(train.data)
    against, columns = (train.data, train.names) if args.against else (None, None)
    how = {"n_jobs": args.jobs, "progress": not args.quiet}
    K = kernel_matrix(made, read.data, against, **how)
    if out is None:
        write_table(sys.stdout, K, read.names, columns, ",")
    else:
        write_matrix(out, K, names=read.names, columns=columns, overwrite=args.force)
    return {
        "kernel": repr(made),
        "items": len(read.data),
        "against": len(train.data) if args.against else None,
        "out": args.out,
    }


def _facts(name: str) -> dict[str, Any]:
    facts, defaults = KERNELS[name], kernel_defaults(name)
    return {
        "name": name,
        "items": facts.input,
        "is": facts.definiteness,
        "about": _first_line(facts),
        "parameters": {key: shown(default) for key, default in defaults.items()},
    }


def shown(default: Any) -> str:
    """Return a default as it would be typed."""
    return str(default).lower() if isinstance(default, bool | None) else str(default)


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
    defaults, about = kernel_defaults(name), descriptions(facts.function)
    print("parameters:" if defaults else "no parameters")
    for key, default in defaults.items():
        print(f"  --param {key}=VALUE   (default: {shown(default)})")
        text = about[key].replace("``", "").replace("`", "")
        print(textwrap.indent(textwrap.fill(text, 72), "      "))


def descriptions(function: Any) -> dict[str, str]:
    """What the docstring says about each parameter, for help."""
    doc = (inspect.getdoc(function) or "").partition("Parameters\n----------\n")[2]
    found: dict[str, str] = defaultdict(str)
    for entry in re.split(r"\n(?=\S)", re.split(r"\n\n\w[\w ]*\n---", doc)[0]):
        head, _, about = entry.partition("\n")
        for name in head.partition(" : ")[0].split(", "):
            found[name.strip()] = " ".join(about.split())
    return found


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
    form = "{name} ({items}, {is}): {about}\n    {words}"
    if not sys.stdout.isatty():
        print("\t".join(["kernel", "items", "matrix", "parameters", "what"]))
        form = "{name}\t{items}\t{is}\t{words}\t{about}"
    for k in kernels:
        words = " ".join(f"{name}={word}" for name, word in k["parameters"].items())
        print(form.format(**k, words=words))


# ------------------------------------------------------------------- without files


def demo(args: argparse.Namespace) -> dict[str, Any]:
    """Compute the demo and write the report."""
    from krein.report.demo import write_demo

    return write_demo(args.output, show=not args.quiet)


def show_demo(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print the findings, the advice, and where the report is."""
    for case in payload["cases"]:
        print(f"{case['title']}: {case['finding']}")
    for case in payload["cases"]:
        print(f"\n{case['title']}: {case['spectrum']['advice'][0]}")
        print(case["comparison"]["recommendation"])
    print(f"\nreport: {payload['report']}")


def datasets(args: argparse.Namespace) -> dict[str, Any]:
    """Return names with kind and source, or the facts about one set."""
    if args.name:
        return _facts_of_data(args.name)
    return {
        "folder": str(data_folder()),
        "datasets": [
            {"name": name, "kind": kind_of(name), "source": source_of(name)}
            for name in list_datasets()
        ],
    }


def _facts_of_data(name: str) -> dict[str, Any]:
    loaded = load_dataset(name)
    classes, counts = np.unique(loaded.target, return_counts=True)
    groups = loaded.groups
    return {
        "name": loaded.name,
        "kind": loaded.kind,
        "items": len(loaded.data),
        "shape": list(getattr(loaded.data, "shape", [len(loaded.data)])),
        "classes": dict(zip(map(str, classes), counts.tolist(), strict=True)),
        "groups": None if groups is None else int(np.unique(groups).size),
        "description": loaded.DESCR,
    }


def show_datasets(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print a table of sets, or one set's facts."""
    if "datasets" not in payload:
        print("\n".join(f"{key + ':':13}{value}" for key, value in payload.items()))
        return
    for row in payload["datasets"]:
        print(f"{row['name']:26} {row['kind']:14} {row['source']}")
    print(f"\nMore from the folder {payload['folder']} (KREIN_DATA).")


def completion(args: argparse.Namespace) -> dict[str, Any]:
    """Write a script for the shell, with the values that the parser does not list."""
    shtab = import_optional("shtab", extra="cli", needed_for="krein completion")
    parser = build_parser()
    commands: Any = next(a for a in parser._actions if a.dest == "command")
    kernels, methods = list(list_kernels()), list(list_methods())
    values = {"kernel": kernels, "name": ["list", *kernels]}
    values |= {"method": methods, "methods": methods}
    for command in commands.choices.values():
        for action in command._actions:
            action.choices = action.choices or values.get(action.dest)
    return {"shell": args.shell, "script": shtab.complete(parser, shell=args.shell)}


def show_completion(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print the script."""
    print(payload["script"], end="")
