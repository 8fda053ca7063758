"""``krein predict``: labels of new items by a saved model."""

from __future__ import annotations

import argparse
import csv
import sys
from typing import Any

from krein.cli.options import add_output, check_output

SUMMARY = "predict labels of new items with a saved model"
EXAMPLE = "krein predict model.krein new_rows.csv -o labels.csv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("model", help="file of krein fit or krein compare --model")
    parser.add_argument(
        "file",
        help="similarities of new items (rows) to the training items (columns), or "
        "new items for a model with a kernel",
    )
    parser.add_argument("-o", "--out", metavar="FILE", help="write a csv file")
    add_output(parser)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Load, check the names of the columns, predict."""
    out = check_output(args.out, args.force)
    from krein import load_model
    from krein.formats import read_items, read_matrix

    model = load_model(args.model)
    last = model[-1] if hasattr(model, "steps") else model
    if last.kernel == "precomputed":
        read = read_matrix(args.file)
        # For a square matrix the columns have the names of the rows.
        columns = read.columns or read.names
        check_columns(columns, getattr(model, "item_names_", None), read.data.shape[1])
    else:
        read = read_items(args.file)
    labels = [str(label) for label in model.predict(read.data)]
    names = read.names or [str(i) for i in range(len(labels))]
    payload = {
        "items": [
            {"item": name, "label": label}
            for name, label in zip(names, labels, strict=True)
        ]
    }
    if out is not None:
        _write(out, payload["items"], args.force)
        return {**payload, "out": str(out)}
    return payload


def check_columns(
    given: list[str] | None, expected: list[str] | None, n_columns: int
) -> None:
    """Raise unless the columns are the training items, by name and in order."""
    if expected is None or given is None:
        return  # nothing to compare by; the model checks the number of columns
    if list(given) == list(expected):
        return
    if sorted(given) == sorted(expected):
        raise ValueError(
            "the columns are the training items in another order; reorder them as in "
            "training"
        )
    missing = [name for name in expected if name not in set(given)]
    extra = [name for name in given if name not in set(expected)]
    raise ValueError(
        f"the {n_columns} columns are not the {len(expected)} training items of the "
        f"model: missing {_some(missing)}; unknown {_some(extra)}. Compute the "
        "similarities to the training items, in their order"
    )


def _some(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:3]) or "none"
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _write(out: Any, items: list[dict[str, str]], force: bool) -> None:
    from krein.store.files import atomic_write

    with atomic_write(out, overwrite=force, text=True) as file:
        writer = csv.DictWriter(file, ["item", "label"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(items)


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print the labels as csv, or where they are."""
    if "out" in payload:
        print(f"{payload['out']}: {len(payload['items'])} labels")
        return
    writer = csv.DictWriter(sys.stdout, ["item", "label"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(payload["items"])
