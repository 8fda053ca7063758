"""``krein demo``, ``krein datasets`` and ``krein completion`` read no files."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from krein import list_kernels, list_methods, load_dataset
from krein.cli.parser import build_parser
from krein.files.data_sets import data_folder, kind_of, list_datasets, source_of
from krein.optional import import_optional
from krein.report.demo import write_demo


def demo(args: argparse.Namespace) -> dict[str, Any]:
    """Compute the demo and write the report."""
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
        return _facts(args.name)
    return {
        "folder": str(data_folder()),
        "datasets": [
            {"name": name, "kind": kind_of(name), "source": source_of(name)}
            for name in list_datasets()
        ],
    }


def _facts(name: str) -> dict[str, Any]:
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
        for key, value in payload.items():
            print(f"{key + ':':13}{value}")
        return
    for row in payload["datasets"]:
        print(f"{row['name']:26} {row['kind']:14} {row['source']}")
    print(f"\nMore from the folder {payload['folder']} (KREIN_DATA) or openml:NAME.")


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
