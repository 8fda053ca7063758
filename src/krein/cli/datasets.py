"""``krein datasets``: the data sets that there are."""

from __future__ import annotations

from typing import Any

from krein.cli import Options
from krein.files.data_sets import data_folder, kind_of, list_datasets, source_of


def datasets(args: Options) -> dict[str, Any]:
    """Return names with kind and source."""
    return {
        "folder": str(data_folder()),
        "datasets": [
            {"name": name, "kind": kind_of(name), "source": source_of(name)}
            for name in list_datasets()
        ],
    }


def show_datasets(payload: dict[str, Any], args: Options) -> None:
    """Print a table of sets."""
    for row in payload["datasets"]:
        print(f"{row['name']:26} {row['kind']:14} {row['source']}")
    print(f"\nMore from the folder {payload['folder']} (KREIN_DATA).")
