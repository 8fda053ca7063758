"""What to copy: Python and commands that fit the recommended model and use it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from sklearn import config_context
from sklearn.pipeline import make_pipeline

import krein

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
    method, problem = comparison.registry[name], comparison.problem
    on_items = problem.kernel is not None and bool(method.estimator)
    model = _model(method, settings, problem, on_items)
    text, imports = _typed(model)
    data, new = ("items", "new_items") if on_items else ("K", "K_new")
    target, lines = "y", []
    if source is not None:
        lines, data = _reading(source), "read.data"
        imports["krein"] |= {line.split(" = ")[1].split("(")[0] for line in lines}
        new = f'{_reader(source)}("{_new_file(source)}"{_column(source)}).data'
        target = "read.target" if _inside(source) else "labels.data"
        target += ".astype(float)" if comparison.task == "regression" else ""
    y = "" if comparison.task == "novelty" else f", {target}"
    what = "" if on_items else "  # new items x training items, in their order"
    return "\n".join(
        [
            *(
                f"from {module} import {', '.join(sorted(names))}"
                for module, names in sorted(imports.items(), reverse=True)
                if names
            ),
            "",
            *lines,
            f"model = {text}",
            f"model.fit({data}{y})",
            f"print(model.predict({new})){what}",
        ]
    )


def _model(method: Any, settings: dict[str, Any], problem: Any, on_items: bool) -> Any:
    """The recommended model, not fitted, as the reader should make it."""
    model = method.build(**settings)
    if on_items and method.needs == "similarity":
        return model.set_params(kernel=problem.kernel)
    if problem.kernel is None and problem.conversion is not None:
        return make_pipeline(problem.conversion, model)
    return model


def _typed(model: Any) -> tuple[str, dict[str, set[str]]]:
    """What to type for a model, and the names to import, by module."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    with config_context(print_changed_only=True):
        text = " ".join(", ".join(map(repr, steps)).split())
    imports: dict[str, set[str]] = {"krein": set()}
    for step in steps:
        for part in (step, *step.get_params().values()):
            kind = type(part)
            if f"{kind.__name__}(" in text:
                public = "krein" if hasattr(krein, kind.__name__) else kind.__module__
                module = public.split("._")[0]
                imports.setdefault(module, set()).add(kind.__name__)
    if len(steps) == 1:
        return text, imports
    imports.setdefault("sklearn.pipeline", set()).add("make_pipeline")
    return f"make_pipeline({text})", imports


def _inside(source: Mapping[str, Any]) -> bool:
    """Whether the labels stand in the same file."""
    return bool(source.get("label_title")) or not source.get("labels")


def _reader(source: Mapping[str, Any]) -> str:
    return "read_items" if source["kind"] == "items" else "read_matrix"


def _column(source: Mapping[str, Any]) -> str:
    table = f", format={source['format']!r}" if source.get("format") else ""
    return table + (f", column={source['items']!r}" if source.get("items") else "")


def _reading(source: Mapping[str, Any]) -> list[str]:
    """Lines that read the user's own files."""
    inside = source.get("label_title")  # a column of the same table
    titled = f", label_column={inside!r}" if inside else ""
    file = repr(str(source["file"]))
    lines = [f"read = {_reader(source)}({file}{_column(source)}{titled})"]
    if _inside(source):
        return lines
    more = ""
    if source.get("label_column"):
        more += f", column={source['label_column']!r}"
    if source.get("ignore_names"):
        more += ", ignore_names=True"
    lines.append(f"labels = read_labels({source['labels']!r}, names=read.names{more})")
    return lines
