"""``krein predict``: a saved model on new items."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from scipy.spatial.distance import cdist
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.metrics import accuracy_score, r2_score

from krein import DistanceTransformer, load_model
from krein.cli import Options, console
from krein.cli.console import (
    as_rows,
    label_title,
    last_step,
    places,
    print_note,
    write_csv,
)
from krein.cli.learning import as_numbers
from krein.comparison.yardsticks import most_similar
from krein.files.cells import (
    NAME_TITLES,
    as_separator,
    find_separator,
    is_number_or_missing,
    read_rows,
)
from krein.files.hit_table import read_hits
from krein.files.matching import align_columns
from krein.files.readers import read_matrix
from krein.files.sources import FormatError, Named, file_head, readable
from krein.items import called, take
from krein.kernels import as_kernel
from krein.words import warn_user

# Options of predict: the method that a model needs, and the title of its columns.
_SHOWN_COLUMNS = 8
_MORE = {"proba": ("predict_proba", "p"), "scores": ("decision_function", "score")}


def predict(args: Options) -> dict[str, Any]:
    """Load, put the columns into the order of training, predict."""
    out = None if args.out == "-" else console.check_output(args.out, args.force)
    model, arguments, read = _read(args)
    names = called(read.data, read.names)
    payload: dict[str, Any] = {}
    if _places(model):
        columns = places(model.transform(arguments["X"]), names)
        payload["items"] = as_rows(columns)
    else:
        answers = _answers(model, arguments)
        score = _score(answers, read, model, args)
        more = _more_columns(model, arguments, args)
        payload["items"] = as_rows({"item": names, **answers, **more})
        payload.update(score)
    if out is not None:
        write_csv(out, payload["items"], args.force)
        payload["out"] = str(out)
    return payload


def show_predict(payload: dict[str, Any], args: Options) -> None:
    """Print the labels as csv, or where they are."""
    if "out" in payload:
        print(f"{payload['out']}: {len(payload['items'])} items")
    else:
        write_csv(None, payload["items"], args.force)


def _score(
    answers: dict[str, list], read: Named, model: Any, args: Options
) -> dict[str, Any]:
    """How good the answers are, where the true ones are given.

    Items of the training data are scored apart: of these a model knows the answer.
    They are known by their names, or where there are none by being equal.
    """
    if args.labels is None and args.label_column is None:
        return {}
    ((kind, answered),) = answers.items()
    predicted = np.asarray(answered)
    true = read.target
    names = read.names
    if names is not None:
        training = getattr(model, "item_names_", None) or []
    else:
        names = called(read.data, None)
        equal = _equal_to_training(read.data, model)
        training = list(itertools.compress(names, equal))
    if true is None or args.labels not in (None, label_title(args)):
        labels = console.labels_of(read, args)
        true = labels.data
        if labels.labelled is not None:
            predicted = predicted[labels.labelled]
            names = take(names, labels.labelled)
    if kind == "value":
        score = "r2"
        measure = r2_score
        true = as_numbers(true)
        if true is None:
            raise ValueError("the model predicts numbers, and the labels are none")
    else:
        score = "accuracy"
        measure = accuracy_score
        true = np.array([str(label) for label in true])
    trained = set(training)
    seen = [name for name in names if name in trained]
    if not seen:
        value = float(measure(true, predicted))
        print_note(args, f"{score} {value:.3f} on {len(predicted)} items")
        return {score: value}
    known = np.isin(np.asarray(names), seen)
    of_training = float(measure(true[known], predicted[known]))
    found: dict[str, Any] = {"training_items": seen, f"training_{score}": of_training}
    if not known.all():
        value = float(measure(true[~known], predicted[~known]))
        found[score] = value
        new = int((~known).sum())
        print_note(args, f"{score} {value:.3f} on {new} items that are new")
    some = ", ".join(map(repr, seen[:3]))
    if len(seen) > 3:
        some += ", ..."
    print_note(
        args,
        f"{score} {of_training:.3f} on {len(seen)} items of the training data "
        f"({some}): no measure of new ones",
    )
    return found


def _equal_to_training(items: Any, model: Any) -> list[bool]:
    """Which items are equal to one that the model was fitted on, as far as it knows."""
    kept = getattr(last_step(model), "X_fit_", None)
    if kept is None or console.takes_matrix(model):
        return [False] * len(items)
    known = {_as_key(item) for item in kept}
    return [_as_key(item) in known for item in items]


def _as_key(item: Any) -> Any:
    """An item as something that can be looked up."""
    return np.asarray(item).tobytes() if isinstance(item, np.ndarray) else repr(item)


# ------------------------------------------------------------- the model, the new items


def _read(args: Options) -> tuple[Any, dict[str, Any], Named]:
    """The model, what its methods take by name, and the new items."""
    model = load_model(args.model)
    _check_model(model, args)
    if getattr(getattr(model, "similarity_", None), "names_", None) is not None:
        arguments = _new_hits(model, args)
        return model, arguments, arguments["X"]
    if console.takes_matrix(model):
        console.refuse_columns(args)
        read = read_matrix(
            args.file,
            format=args.format,
            key=args.key,
            separator=console.separator_of(args),
            mirror=False,
        )
        read = _in_training_order(read, getattr(model, "item_names_", None), args)
        _compare_ranges(read.data, model)
    else:
        read = _new_items(model, args)
    print_note(args, *read.notes)
    return model, {"X": read.data}, read


def _places(model: Any) -> bool:
    """Whether it is a model of ``krein embed``: coordinates instead of labels."""
    return type(model).__name__ in ("PCoA", "PseudoEuclideanEmbedding")


def _check_model(model: Any, args: Options) -> None:
    """Say in a sentence why the model cannot do what was asked for."""
    last = last_step(model)
    what = f"{args.model} holds a {type(last).__name__}"
    if not hasattr(last, "predict") and not _places(model):
        raise ValueError(
            f"{what}, which transforms and does not predict; save a classifier or "
            "regressor, e.g. with krein fit"
        )
    for option, (method, _) in _MORE.items():
        if getattr(args, option) and not hasattr(last, method):
            again = "; fit again with krein fit --proba" if is_classifier(last) else ""
            raise ValueError(f"{what}, for which there is no --{option}{again}")


def _new_items(model: Any, args: Options) -> Named:
    """Read items for a model with a kernel; a column of labels has to be named."""
    kernel = as_kernel(last_step(model).kernel, None)
    title = label_title(args)
    hint = "" if title else ". If a column holds labels: --label-column NAME"
    expected = getattr(model, "item_columns_", None)
    named = getattr(model, "item_title_", None) or []
    titles = _titles(args) if expected or named else []
    for where in named:
        if args.id is None and where in titles:
            args.id = where  # names stand where they stood in training
    others = _other_columns(titles, expected, title, args)
    args.drop = ",".join([*console.titles_in(args.drop), *others]) or None
    try:
        read = console.read_compared(args.file, kernel, args, title)
    except FormatError as error:
        known = expected or []
        missing = [title for title in known if titles and title not in titles]
        if missing and not any(map(is_number_or_missing, titles)):
            raise FormatError(args.file, _lacks(missing[0], known, "")) from None
        raise error.in_file(args.file, hint) from None
    if not expected or not read.columns or (expected == read.columns and not others):
        return read
    for title in expected:
        if title not in read.columns:
            raise FormatError(args.file, _lacks(title, expected, hint))
    order = [read.columns.index(title) for title in expected]
    if isinstance(read.data, np.ndarray):
        data: Any = np.take(read.data, order, axis=1)
    else:
        data = [tuple(row[k] for k in order) for row in read.data]
    left = ", ".join([*others, *(set(read.columns) - set(expected))])
    note = f"columns were taken by their titles; left out: {left or 'none'}"
    return replace(read, data=data, columns=expected, notes=[*read.notes, note])


def _lacks(title: str, expected: list[str], hint: str) -> str:
    known = ", ".join(expected[:_SHOWN_COLUMNS])
    if len(expected) > _SHOWN_COLUMNS:
        known += f" and {len(expected) - _SHOWN_COLUMNS} more"
    return f"has no column {title!r}; the model was fitted on {known}{hint}"


def _titles(args: Options) -> list[str]:
    """Titles of a table of new items; none of what can be read only once, or arrays."""
    if args.file == "-":
        return []
    with readable(args.file) as file:
        if b"\0" in file_head(file):
            return []
        mark = console.separator_of(args) or find_separator(file, numbers=False)
        first = next(read_rows(file, as_separator(mark) or mark), None)
        return [] if first is None else first.texts()  # the reader says it is empty


def _other_columns(
    titles: list[str], expected: list[str] | None, label: str | None, args: Options
) -> list[str]:
    """Titles of a table that the model was not fitted on, names and labels apart."""
    if not titles or not expected or not set(expected) <= set(titles):
        return []  # the reader says what is missing
    if titles[0].lower() in NAME_TITLES:
        titles = titles[1:]
    own = {*expected, *console.titles_in(args.drop), label, args.id, args.items}
    return [title for title in titles if title and title not in own]


def _in_training_order(read: Named, expected: list[str] | None, args: Options) -> Named:
    """Return the columns of the training items, found by name, in their order."""
    if expected is None or args.ignore_names:
        return read  # nothing to find them by; the model checks their number
    if read.columns is None and read.names is None:
        raise ValueError(
            f"{args.file} has no names of training items; give a file with names, or "
            "--ignore-names if they are in that order"
        )
    # For a square matrix the columns have the names of the rows.
    return align_columns(read, expected)


def _compare_ranges(data: Any, model: Any) -> None:
    """Warn of numbers far from those of training: distances are not similarities."""
    low, high = getattr(model, "item_range_", (-np.inf, np.inf))
    room = 0.5 * (high - low)
    if data.size and (data.max() > high + room or data.min() < low - room):
        warn_user(
            f"numbers from {data.min():.3g} to {data.max():.3g}, but in training from "
            f"{low:.3g} to {high:.3g}: is this the same measure?"
        )


def _new_hits(model: Any, args: Options) -> dict[str, Any]:
    """Read hits of new items for a model of hits; say how many have none."""
    names = None
    if args.names is not None:  # of a FASTA file, or one a line
        lines = Path(args.names).read_text().splitlines()
        titles = [line[1:] for line in lines if line.startswith(">")]
        words = [line.split()[0] for line in titles or lines if line.strip()]
        names = list(dict.fromkeys(words))
    model.no_hit_label = "no hit"
    arguments = model.similarity_.new_items(read_hits(args.file), names)
    found = model.has_hits(**arguments)
    print_note(
        args,
        f"{int((~found).sum())} of {found.size} items have no hit among the "
        f"{model.similarity_.n_features_in_} training items: {model.no_hit_label!r}",
    )
    return arguments


# ------------------------------------------------------------------------- the answers


def _answers(model: Any, arguments: dict[str, Any]) -> dict[str, list[Any]]:
    """A label, a number, "normal" or "novel" for each item, by the column's title."""
    predicted = model.predict(**arguments)
    if is_outlier_detector(last_step(model)):
        return {"label": ["normal" if sign > 0 else "novel" for sign in predicted]}
    if is_regressor(last_step(model)):
        return {"value": [float(f"{value:.6g}") for value in predicted]}
    return {"label": [str(label) for label in predicted]}


def _more_columns(
    model: Any, arguments: dict[str, Any], args: Options
) -> dict[str, list[Any]]:
    """What was asked for beside the answers."""
    columns: dict[str, list[Any]] = {}
    for option, (method, title) in _MORE.items():
        if not getattr(args, option):
            continue
        values = np.asarray(getattr(model, method)(**arguments))
        titles = [title]
        if values.ndim > 1:
            titles = [f"{title}({label})" for label in model.classes_]
        for name, column in zip(titles, np.atleast_2d(values.T), strict=True):
            columns[name] = [float(f"{value:.4g}") for value in column]
    if args.nearest > 0:
        columns["nearest"] = _nearest(model, arguments, args.nearest)
    return columns


def _nearest(model: Any, arguments: dict[str, Any], n: int) -> list[str]:
    """Names and labels of the nearest training items, for each item."""
    K = _training_similarities(model, **arguments)
    n_training = K.shape[1]
    items = getattr(last_step(model), "X_fit_", None)
    if items is None or hasattr(model, "steps"):
        items = range(n_training)
    names = called(items, getattr(model, "item_names_", None))
    labels = getattr(model, "item_labels_", None) or [""] * n_training
    of_hits = scipy.sparse.issparse(K)  # what is not there is no hit
    cells = []
    for i, near in enumerate(most_similar(K, n)):
        shown = [j for j in near if not of_hits or K[i, j] > 0]
        cells.append("; ".join(f"{names[j]} ({labels[j]})" for j in shown))
    return cells


def _training_similarities(model: Any, X: Any, **hits: Any) -> Any:
    """What is large for near training items: similarities, or minus distances."""
    if hasattr(model, "similarity_"):
        return model.similarity_.transform(X, **hits)
    if hasattr(model, "steps"):
        if isinstance(model[0], DistanceTransformer):
            return -X
        return _training_similarities(model[-1], model[:-1].transform(X))
    if hasattr(model, "converted"):  # those that its best model works on
        return model.converted(X)
    if console.takes_matrix(model):
        return X
    if getattr(model, "X_fit_", None) is None:
        raise ValueError(
            f"--nearest is not for {type(model).__name__}, which keeps no items"
        )
    if hasattr(model, "poly_coef_"):  # splines: some grow with the distance
        return -cdist(X, model.X_fit_)
    return model.kernel_(X, model.X_fit_)
