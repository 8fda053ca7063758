"""``krein datasets``: what data there is, and what is known about one set."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from krein import load_dataset
from krein.files.data_sets import (
    data_folder,
    kind_of,
    list_datasets,
    source_of,
)


def run(args: argparse.Namespace) -> dict[str, Any]:
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
        "classes": {
            str(label): int(count) for label, count in zip(classes, counts, strict=True)
        },
        "groups": None if groups is None else int(np.unique(groups).size),
        "description": loaded.DESCR,
    }


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print a table of sets, or one set's facts."""
    if "datasets" not in payload:
        for key, value in payload.items():
            print(f"{key + ':':13}{value}")
        return
    for row in payload["datasets"]:
        print(f"{row['name']:26} {row['kind']:14} {row['source']}")
    print(f"\nMore from the folder {payload['folder']} (KREIN_DATA) or openml:NAME.")
