"""What to copy: Python and commands that fit the recommended model and use it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

_NEW = {"items": "new_items", "similarity": "new_rows", "distance": "new_distances"}


def recipe(comparison: Any, source: Mapping[str, Any] | None) -> dict[str, str]:
    """Return ``python`` and ``shell``, ready to be pasted and run.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    source : mapping or None
        Where the data come from: ``file``, ``kind`` ("items", "similarity" or
        "distance"), ``options`` as typed, and where given ``labels`` (a file),
        ``label_title`` and ``items`` (columns of the file), ``label_column`` (of the
        label file) and ``ignore_names``. None: the reader has K (or items) and y.

    Returns
    -------
    dict
    """
    name = comparison.recommendation.method
    settings = most_chosen(comparison, name)
    python = _python(comparison, name, settings, source)
    return {"python": python, "shell": _shell(name, settings, source)}


def most_chosen(comparison: Any, name: str) -> dict[str, Any]:
    """The hyperparameters that most splits chose; of equals the first."""
    seen = [record["params"] for record in comparison.of(name)]
    return max(seen, key=seen.count)


# ------------------------------------------------------------------------------- shell


def _shell(
    name: str, settings: dict[str, Any], source: Mapping[str, Any] | None
) -> str:
    if source is None:
        return ""
    words = ["krein", "fit", str(source["file"])]
    chosen = [w for key, value in settings.items() for w in _set(key, value)]
    fit = f"{shlex.join(words)} {source['options']} --method {name}"
    fit = " ".join([*fit.split(" "), *chosen, "-o", "model.krein"])
    items = f" --items {shlex.quote(source['items'])}" if source.get("items") else ""
    return f"{fit}\nkrein predict model.krein {_new_file(source)}{items}"


def _set(key: str, value: Any) -> list[str]:
    shown = value if isinstance(value, str) else repr(value).replace("'", '"')
    return ["--set", shlex.quote(f"{key}={shown}")]


def _new_file(source: Mapping[str, Any]) -> str:
    ending = str(source["file"]).rsplit(".", 1)[-1]
    ending = ending if ending.isalnum() and ending != "npy" else "csv"
    return f"{_NEW[source['kind']]}.{ending}"


# ------------------------------------------------------------------------------ python


def _python(
    comparison: Any,
    name: str,
    settings: dict[str, Any],
    source: Mapping[str, Any] | None,
) -> str:
    problem = comparison.problem
    imports: set[str] = set()
    model = _model(comparison.registry[name], settings, problem, imports)
    data = "K" if problem.kernel is None else "items"
    lines = []
    if source is not None:
        lines = _reading(source, imports)
        data = "read.data"
        new = f'{_reader(source)}("{_new_file(source)}"{_column(source)}).data'
        target = "read.target" if _inside(source) else "labels.data"
    else:
        target = "y"
        new = "K_new" if problem.kernel is None else "new_items"
    if comparison.task == "regression" and source is not None:
        target += ".astype(float)"
    what = "  # new items x training items, in their order"
    what = what if problem.kernel is None else ""
    lines += [
        f"model = {model}",
        f"model.fit({data}, {target})",
        f"print(model.predict({new})){what}",
    ]
    return "\n".join([*_import_lines(imports), "", *lines])


def _model(
    method: Any, settings: dict[str, Any], problem: Any, imports: set[str]
) -> str:
    arguments = {**method.params, **settings}
    steps = []
    if method.needs == "similarity" and problem.kernel is not None:
        arguments["kernel"] = problem.kernel
    elif method.needs == "vectors" and method.estimator != "CPDSVC":
        steps.append("StandardScaler()")
    if problem.kernel is None and problem.conversion is not None:
        imports.add("DistanceTransformer")
        steps.append(repr(problem.conversion))
    shown = ", ".join(f"{k}={_value(v, imports)}" for k, v in arguments.items())
    imports.add(method.estimator)
    estimator = f"{method.estimator}({shown})"
    if not steps:
        return estimator
    imports.add("make_pipeline")
    imports |= {step.split("(")[0] for step in steps}
    return f"make_pipeline({', '.join([*steps, estimator])})"


def _value(value: Any, imports: set[str]) -> str:
    text = repr(value)
    if text.startswith("Kernel("):
        imports.add("Kernel")
    return text


def _inside(source: Mapping[str, Any]) -> bool:
    """Whether the labels stand in the same file."""
    return bool(source.get("label_title")) or not source.get("labels")


def _reader(source: Mapping[str, Any]) -> str:
    return "read_items" if source["kind"] == "items" else "read_matrix"


def _column(source: Mapping[str, Any]) -> str:
    table = f", format={source['format']!r}" if source.get("format") else ""
    return table + (f", column={source['items']!r}" if source.get("items") else "")


def _reading(source: Mapping[str, Any], imports: set[str]) -> list[str]:
    """Lines that read the user's own files."""
    reader = _reader(source)
    imports.add(reader)
    inside = source.get("label_title")  # a column of the same table
    titled = f", label_column={inside!r}" if inside else ""
    lines = [f"read = {reader}({str(source['file'])!r}{_column(source)}{titled})"]
    if _inside(source):
        return lines
    imports.add("read_labels")
    more = ""
    if source.get("label_column"):
        more += f", column={source['label_column']!r}"
    if source.get("ignore_names"):
        more += ", ignore_names=True"
    lines.append(f"labels = read_labels({source['labels']!r}, names=read.names{more})")
    return lines


_ELSEWHERE = {
    "make_pipeline": "sklearn.pipeline",
    "StandardScaler": "sklearn.preprocessing",
}


def _import_lines(imports: set[str]) -> list[str]:
    ours = sorted(imports - set(_ELSEWHERE))
    theirs = [
        f"from {_ELSEWHERE[n]} import {n}" for n in sorted(imports & set(_ELSEWHERE))
    ]
    return [*theirs, f"from krein import {', '.join(ours)}"]
