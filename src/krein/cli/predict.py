"""``krein predict``: labels of new items by a saved model."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import scipy.sparse
from sklearn.base import is_outlier_detector, is_regressor

from krein import DistanceTransformer, PCoA, load_model
from krein.cli.embed import places
from krein.cli.hits import new_hits
from krein.cli.inputs import item_format
from krein.cli.options import check_output
from krein.cli.output import print_note
from krein.comparison.yardsticks import most_similar
from krein.files import align_columns, read_items, read_matrix, write_rows
from krein.items import called
from krein.notices import warn_user
from krein.store.files import atomic_write


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Load, put the columns into the order of training, predict."""
    out = None if args.out == "-" else check_output(args.out, args.force)

    model = load_model(args.model)
    refuse_what_cannot_predict(model, args)
    check_kind(model, args)
    given, names = read_new(model, args)
    rows = answers(model, given, names)
    for add in (_add_probabilities, _add_sets, _add_scores, _add_nearest):
        add(rows, model, given, args)
    payload: dict[str, Any] = {"items": rows}
    if out is not None:
        _write(out, rows, args.force)
        payload["out"] = str(out)
    return payload


def answers(model: Any, given: dict[str, Any], names: list[str]) -> list[dict]:
    """One row per item: its label, its number, whether it is novel, or its place."""
    if _places(model):
        return places(model.transform(given["X"]), names)
    said = model.predict(**given)
    if is_outlier_detector(_last(model)):
        labels = ["normal" if sign > 0 else "novel" for sign in said]
        return [
            {"item": name, "label": label}
            for name, label in zip(names, labels, strict=True)
        ]
    if is_regressor(_last(model)):
        return [
            {"item": name, "value": float(f"{value:.6g}")}
            for name, value in zip(names, said, strict=True)
        ]
    return [
        {"item": name, "label": str(label)}
        for name, label in zip(names, said, strict=True)
    ]


def refuse_what_cannot_predict(model: Any, args: argparse.Namespace) -> None:
    """Say in a sentence why there is nothing to predict with."""
    last = _last(model)
    if _places(model):
        if args.proba or args.coverage or args.scores or args.nearest:
            raise ValueError(
                f"{args.model} places items on a map; --proba, --coverage, --scores "
                "and --nearest are for models that predict labels"
            )
        return
    if not hasattr(last, "predict"):
        raise ValueError(
            f"{args.model} holds a {type(last).__name__}, which transforms and does "
            "not predict; save a classifier or regressor, e.g. with krein fit"
        )
    if args.proba and not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{args.model} was fitted without probabilities; fit it again with "
            "krein fit --proba"
        )
    if args.coverage is not None and not hasattr(last, "predict_set"):
        raise ValueError(
            f"{args.model} has no sets of classes; fit it again with krein fit --proba"
        )
    if args.scores and not hasattr(model, "decision_function"):
        raise ValueError(f"{type(last).__name__} has no decision values")


def _last(model: Any) -> Any:
    return model[-1] if hasattr(model, "steps") else model


def _places(model: Any) -> bool:
    """Whether it is a model of ``krein embed``: coordinates instead of labels."""
    return type(model).__name__ in ("PCoA", "PseudoEuclideanEmbedding")


def _precomputed(model: Any) -> bool:
    return _places(model) or getattr(_last(model), "kernel", None) == "precomputed"


def check_kind(model: Any, args: argparse.Namespace) -> None:
    """Refuse distances for a model of similarities, and the reverse."""
    if args.kind is None:
        return
    if not _precomputed(model):
        raise ValueError(f"--kind is for a matrix; {args.model} takes items")
    first = model[0] if hasattr(model, "steps") else model
    distances = isinstance(first, DistanceTransformer | PCoA)
    learnt = "distance" if distances else "similarity"
    if args.kind != learnt:
        raise ValueError(
            f"{args.model} was fitted on a {learnt} matrix and cannot take a "
            f"{args.kind} matrix; fit again with krein fit --kind {args.kind}"
        )


def _compare_ranges(data: Any, model: Any) -> None:
    """Warn of numbers far from those of training: distances are not similarities."""
    if getattr(model, "item_range_", None) is None or not data.size:
        return
    low, high = map(float, model.item_range_)
    if data.max() > high + 0.5 * (high - low) or data.min() < low - 0.5 * (high - low):
        warn_user(
            f"numbers from {data.min():.3g} to {data.max():.3g}, but in training from "
            f"{low:.3g} to {high:.3g}: is this the same measure?"
        )


def read_new(model: Any, args: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """What the methods of the model take, by name, and the names of the new items."""
    if hasattr(model, "similarity_"):
        given, notes = new_hits(model, args.file, args.names, args.no_hit)
        print_note(args, *notes)
        return given, given["X"].names
    if _precomputed(model):
        read = read_matrix(args.file, mirror=False)
        read = in_training_order(read, getattr(model, "item_names_", None), args)
        _compare_ranges(read.data, model)
    else:
        form = item_format(_last(model).kernel)
        read = read_items(args.file, column=args.items, format=form)
    print_note(args, *read.notes)
    return {"X": read.data}, called(read.data, read.names)


def in_training_order(read: Any, expected: list[str] | None, args: Any) -> Any:
    """Return the columns of the training items, found by name, in their order."""
    if expected is None or args.ignore_names:
        return read  # nothing to find them by; the model checks their number
    if read.columns is None and read.names is None:
        raise ValueError(
            f"{args.file} has no names of columns, but the model knows its training "
            "items by name; give a file with names, or --ignore-names if the columns "
            "are in the order of training"
        )
    # For a square matrix the columns have the names of the rows.
    return align_columns(read, expected)


# --------------------------------------------------------------- columns on request


def _add_probabilities(rows: list, model: Any, given: dict, args: Any) -> None:
    if args.proba:
        for row, values in zip(rows, model.predict_proba(**given), strict=True):
            for label, value in zip(model.classes_, values, strict=True):
                row[f"p({label})"] = round(float(value), 4)


def _add_sets(rows: list, model: Any, given: dict, args: Any) -> None:
    if args.coverage is not None:
        X = given["X"]
        if hasattr(model, "steps"):  # a pipeline passes on no method but scikit-learn's
            X = model[:-1].transform(X)
        sets = _last(model).predict_set(X, coverage=args.coverage)
        for row, chosen in zip(rows, sets, strict=True):
            row["set"] = "; ".join(str(label) for label in model.classes_[chosen])


def _add_scores(rows: list, model: Any, given: dict, args: Any) -> None:
    if not args.scores:
        return
    for row, values in zip(rows, model.decision_function(**given), strict=True):
        if getattr(values, "ndim", 0) == 0:
            row["score"] = float(f"{values:.4g}")
        else:
            for label, value in zip(model.classes_, values, strict=True):
                row[f"score({label})"] = float(f"{value:.4g}")


def _add_nearest(rows: list, model: Any, given: dict, args: Any) -> None:
    if args.nearest < 1:
        return

    K = training_similarities(model, **given)
    kept = getattr(_last(model), "X_fit_", None)
    items = range(K.shape[1]) if kept is None or hasattr(model, "steps") else kept
    names = called(items, getattr(model, "item_names_", None))
    labels = getattr(model, "item_labels_", None) or [""] * K.shape[1]
    for i, near in enumerate(most_similar(K, args.nearest)):
        if scipy.sparse.issparse(K):
            near = [j for j in near if K[i, j] > 0]  # the others are no hits
        rows[i]["nearest"] = "; ".join(f"{names[j]} ({labels[j]})" for j in near)


def training_similarities(model: Any, X: Any, **hits: Any) -> Any:
    """What is large for near training items: similarities, or minus distances."""
    if hasattr(model, "similarity_"):
        return model.similarity_.transform(X, **hits)
    if hasattr(model, "steps"):
        if isinstance(model[0], DistanceTransformer):
            return -X
        return training_similarities(model[-1], model[:-1].transform(X))
    if model.kernel == "precomputed":
        return X
    if getattr(model, "X_fit_", None) is None:
        raise ValueError(
            f"--nearest is not for {type(model).__name__}, which keeps no items"
        )
    return model.kernel_(X, model.X_fit_)


def _write(out: Any, rows: list[dict[str, Any]], force: bool) -> None:
    with atomic_write(out, overwrite=force, text=True) as file:
        _table(file, rows)


def _table(file: Any, rows: list[dict[str, Any]]) -> None:
    write_rows(file, [list(rows[0]), *(list(row.values()) for row in rows)])


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print the labels as csv, or where they are."""
    if "out" in payload:
        print(f"{payload['out']}: {len(payload['items'])} items")
    else:
        _table(sys.stdout, payload["items"])
