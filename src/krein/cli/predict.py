"""``krein predict`` and ``krein score``: a saved model on new items."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import is_outlier_detector, is_regressor
from sklearn.metrics import mean_absolute_error, r2_score

from krein import DistanceTransformer, PCoA, load_model
from krein.cli.inputs import Inputs, label_title, read_compared, with_labels
from krein.cli.matrices import places
from krein.cli.output import as_table, check_output, print_note, print_table, write_csv
from krein.cli.problem import normal_or_novel
from krein.comparison.yardsticks import most_similar
from krein.files import align_columns, read_hits, read_matrix, write_rows
from krein.items import called
from krein.kernels import as_kernel
from krein.notices import warn_user


def predict(args: argparse.Namespace) -> dict[str, Any]:
    """Load, put the columns into the order of training, predict."""
    out = None if args.out == "-" else check_output(args.out, args.force)
    model, given, read = _read(args)
    rows = _answers(model, given, called(read.data, read.names))
    for add in (_add_probabilities, _add_sets, _add_scores, _add_nearest):
        add(rows, model, given, args)
    payload: dict[str, Any] = {"items": rows}
    if out is not None:
        write_csv(out, rows, force=args.force)
        payload["out"] = str(out)
    return payload


def show_predict(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print the labels as csv, or where they are."""
    if "out" in payload:
        print(f"{payload['out']}: {len(payload['items'])} items")
    else:
        write_rows(sys.stdout, as_table(payload["items"]))


def score(args: argparse.Namespace) -> dict[str, Any]:
    """Predict, and count what is right."""
    model, given, read = _read(args)
    read = with_labels(read, args, in_table=not _precomputed(model))
    if read.target is None:
        raise ValueError("there are no labels; give them with --labels FILE")
    rows = _answers(model, given, called(read.data, read.names))
    if "value" in rows[0]:
        return _scores_of_numbers(read.target, [row["value"] for row in rows])
    true = [str(label) for label in read.target]
    if is_outlier_detector(_last(model)):
        true = _as_novelty(true, args)
    return _scores_of_classes(true, [row["label"] for row in rows])


def _as_novelty(labels: list[str], args: argparse.Namespace) -> list[str]:
    """Labels in the words of a model of novelty."""
    if args.normal is None and not {*labels} <= {"normal", "novel"}:
        raise ValueError(
            f"{args.model} tells normal items from novel ones; say which label is "
            f"normal: --normal LABEL, one of {', '.join(sorted({*labels})[:10])}"
        )
    return labels if args.normal is None else [*normal_or_novel(labels, args.normal)]


def _scores_of_numbers(true: Any, said: list[float]) -> dict[str, Any]:
    numbers = np.asarray(true).astype(float)
    return {
        "items": len(said),
        "r2": float(r2_score(numbers, said)),
        "mean_absolute_error": float(mean_absolute_error(numbers, said)),
    }


def _scores_of_classes(true: list[str], said: list[str]) -> dict[str, Any]:
    labels = sorted({*true, *said})
    counts = np.zeros((len(labels), len(labels)), dtype=int)
    places = {label: k for k, label in enumerate(labels)}
    for pair in zip(true, said, strict=True):
        counts[tuple(places[label] for label in pair)] += 1
    right, sizes = counts.diagonal(), counts.sum(axis=1)
    return {
        "items": len(said),
        "accuracy": float(right.sum() / sizes.sum()),
        "balanced_accuracy": float((right[sizes > 0] / sizes[sizes > 0]).mean()),
        "largest_class": float(sizes.max() / sizes.sum()),
        "labels": labels,
        "confusion": counts.tolist(),
    }


def show_score(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print the scores, and which classes were taken for which."""
    for key, value in payload.items():
        if isinstance(value, int | float):
            print(f"{key.replace('_', ' ')}: {value:.4g}")
    if "confusion" in payload:
        rows = zip(payload["labels"], payload["confusion"], strict=True)
        head = ["true \\ predicted", *payload["labels"]]
        print_table(head, [[label, *map(str, counts)] for label, counts in rows])


# ------------------------------------------------------------- the model, the new items


def _read(args: argparse.Namespace) -> tuple[Any, dict[str, Any], Inputs]:
    """The model, what its methods take by name, and the new items."""
    model = load_model(args.model)
    _check_model(model, args)
    if hasattr(model, "similarity_"):
        given = _new_hits(model, args)
        return model, given, Inputs(given["X"].data, given["X"].names)
    if _precomputed(model):
        _check_kind(model, args)
        read = read_matrix(args.file, mirror=False)
        read = _in_training_order(read, getattr(model, "item_names_", None), args)
        _compare_ranges(read.data, model)
    else:
        if args.kind is not None:
            raise ValueError(f"--kind is for a matrix; {args.model} takes items")
        kernel = as_kernel(_last(model).kernel, None)
        read = read_compared(args.file, kernel, args, label_title(args))
    print_note(args, *read.notes)
    return model, {"X": read.data}, Inputs(read.data, read.names, read.target)


def _last(model: Any) -> Any:
    return model[-1] if hasattr(model, "steps") else model


def _places(model: Any) -> bool:
    """Whether it is a model of ``krein embed``: coordinates instead of labels."""
    return type(model).__name__ in ("PCoA", "PseudoEuclideanEmbedding")


def _precomputed(model: Any) -> bool:
    if _places(model) or hasattr(model, "similarity_"):
        return True
    return getattr(_last(model), "kernel", None) == "precomputed"


def _check_model(model: Any, args: argparse.Namespace) -> None:
    """Say in a sentence why there is nothing to predict with."""
    last = _last(model)
    if _places(model):
        asked = args.proba or args.coverage or args.scores or args.nearest
        if asked or args.command == "score":
            raise ValueError(
                f"{args.model} places items on a map; krein score, --proba, "
                "--coverage, --scores and --nearest are for models that predict labels"
            )
        return
    if not hasattr(last, "predict"):
        raise ValueError(
            f"{args.model} holds a {type(last).__name__}, which transforms and does "
            "not predict; save a classifier or regressor, e.g. with krein fit"
        )
    if (args.proba or args.coverage) and (
        is_regressor(last) or is_outlier_detector(last)
    ):
        raise ValueError(
            f"{args.model} holds a {type(last).__name__}, which has no classes; "
            "--proba and --coverage are for classifiers"
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


def _check_kind(model: Any, args: argparse.Namespace) -> None:
    """Refuse distances for a model of similarities, and the reverse."""
    first = model[0] if hasattr(model, "steps") else model
    distances = isinstance(first, DistanceTransformer | PCoA)
    learnt = "distance" if distances else "similarity"
    if args.kind not in (None, learnt):
        raise ValueError(
            f"{args.model} was fitted on a {learnt} matrix and cannot take a "
            f"{args.kind} matrix; fit again with krein fit --kind {args.kind}"
        )


def _in_training_order(read: Any, expected: list[str] | None, args: Any) -> Any:
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


def _new_hits(model: Any, args: argparse.Namespace) -> dict[str, Any]:
    """Read hits of new items for a model of hits; say how many have none."""
    if args.no_hit in [str(c) for c in model.classes_]:
        raise ValueError(f"--no-hit {args.no_hit!r} is a class; choose another word")
    model.no_hit_label = args.no_hit
    names = None
    if args.names is not None:  # of a FASTA file, or one a line
        lines = Path(args.names).read_text().splitlines()
        heads = [line[1:] for line in lines if line.startswith(">")]
        words = [line.split()[0] for line in heads or lines if line.strip()]
        names = list(dict.fromkeys(words))
    given = model.similarity_.new_items(read_hits(args.file), names)
    found = model.has_hits(**given)
    print_note(
        args,
        f"{int((~found).sum())} of {found.size} items have no hit among the "
        f"{model.similarity_.n_features_in_} training items: {args.no_hit!r}",
    )
    return given


# ------------------------------------------------------------------------- the answers


def _answers(model: Any, given: dict[str, Any], names: list[str]) -> list[dict]:
    """One row per item: its label, its number, whether it is novel, or its place."""
    if _places(model):
        return places(model.transform(given["X"]), names)
    key, values = "label", [str(label) for label in model.predict(**given)]
    if is_outlier_detector(_last(model)):
        values = ["normal" if float(sign) > 0 else "novel" for sign in values]
    elif is_regressor(_last(model)):
        key, values = "value", [float(f"{float(value):.6g}") for value in values]
    return [
        {"item": name, key: value} for name, value in zip(names, values, strict=True)
    ]


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

    K = _training_similarities(model, **given)
    kept = getattr(_last(model), "X_fit_", None)
    items = range(K.shape[1]) if kept is None or hasattr(model, "steps") else kept
    names = called(items, getattr(model, "item_names_", None))
    labels = getattr(model, "item_labels_", None) or [""] * K.shape[1]
    for i, near in enumerate(most_similar(K, args.nearest)):
        if scipy.sparse.issparse(K):
            near = [j for j in near if K[i, j] > 0]  # the others are no hits
        rows[i]["nearest"] = "; ".join(f"{names[j]} ({labels[j]})" for j in near)


def _training_similarities(model: Any, X: Any, **hits: Any) -> Any:
    """What is large for near training items: similarities, or minus distances."""
    if hasattr(model, "similarity_"):
        return model.similarity_.transform(X, **hits)
    if hasattr(model, "steps"):
        if isinstance(model[0], DistanceTransformer):
            return -X
        return _training_similarities(model[-1], model[:-1].transform(X))
    if model.kernel == "precomputed":
        return X
    if getattr(model, "X_fit_", None) is None:
        raise ValueError(
            f"--nearest is not for {type(model).__name__}, which keeps no items"
        )
    return model.kernel_(X, model.X_fit_)
