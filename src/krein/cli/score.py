"""``krein score``: how good a saved model is on items whose labels are known."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, mean_absolute_error, r2_score

from krein import load_model
from krein.cli import predict
from krein.cli.inputs import _is_title
from krein.cli.output import print_note, print_table
from krein.files import read_items, read_labels


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Predict, and count what is right."""
    args.proba = args.scores = args.nearest = False
    args.coverage = None
    model = load_model(args.model)
    predict.refuse_what_cannot_predict(model, args)
    predict.check_kind(model, args)
    given, names = predict.read_new(model, args)
    true, kept = _labels(args, names, model)
    rows = predict.answers(model, given, names)
    said = [rows[k].get("label", rows[k].get("value")) for k in kept]
    if "value" in rows[0]:
        return {"items": len(true), **_of_numbers(true, said)}
    return {"items": len(true), **_of_classes([str(label) for label in true], said)}


def _labels(args: argparse.Namespace, names: list[str], model: Any) -> tuple[Any, Any]:
    """The true labels, and the places of the items that have one."""
    if args.labels is None or _is_title(args.labels):
        read = read_items(
            args.file, column=args.items, label_column=args.labels or args.label_column
        )
        if read.target is None:
            raise ValueError("there are no labels; give them with --labels FILE")
        return read.target, range(len(read.target))
    unnamed = names == [str(k) for k in range(len(names))] or args.ignore_names
    found = read_labels(
        args.labels,
        names=None if unnamed else names,
        n_items=len(names),
        column=args.label_column,
        ignore_names=args.ignore_names,
    )
    print_note(args, *found.notes)
    return found.data, range(len(names))


def _of_numbers(true: Any, said: list[float]) -> dict[str, Any]:
    numbers = np.asarray(true).astype(float)
    return {
        "r2": float(r2_score(numbers, said)),
        "mean_absolute_error": float(mean_absolute_error(numbers, said)),
    }


def _of_classes(true: list[str], said: list[str]) -> dict[str, Any]:
    labels = sorted({*true, *said})
    counts = confusion_matrix(true, said, labels=labels)
    right, sizes = counts.diagonal(), counts.sum(axis=1)
    return {
        "accuracy": float(right.sum() / sizes.sum()),
        "balanced_accuracy": float((right[sizes > 0] / sizes[sizes > 0]).mean()),
        "largest_class": float(sizes.max() / sizes.sum()),
        "labels": labels,
        "confusion": counts.tolist(),
    }


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print the scores, and which classes were taken for which."""
    for key, value in payload.items():
        if isinstance(value, int | float):
            print(f"{key.replace('_', ' ')}: {value:.4g}")
    if "confusion" in payload:
        rows = zip(payload["labels"], payload["confusion"], strict=True)
        head = ["true \\ predicted", *payload["labels"]]
        print_table(head, [[label, *map(str, counts)] for label, counts in rows])
