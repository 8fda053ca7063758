"""What a reader of the report may copy: Python and shell for the recommended model."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import partial
from typing import Any

from sklearn import config_context
from sklearn.pipeline import make_pipeline

import krein

_NEW = {"items": "new_items", "similarity": "new_rows", "distance": "new_distances"}
_CHOOSING = re.compile("--skip-unlabelled|--min-members")  # items, by their labels


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
    """
    name = comparison.recommendation.method
    settings = most_chosen(comparison, name)
    python = _python(comparison, name, settings, source)
    return {"python": python, "shell": _shell(name, settings, source)}


def most_chosen(comparison: Any, name: str) -> dict[str, Any]:
    """The hyperparameters that most splits chose; of equals the first."""
    seen = [record["params"] for record in comparison.of(name)]
    return max(seen, key=seen.count)


def _shell(name: str, settings: dict[str, Any], source: Any) -> str:
    if source is None:
        return ""
    chosen = ""
    for key, value in settings.items():
        shown = value if isinstance(value, str) else repr(value).replace("'", '"')
        chosen += f" --set {shlex.quote(f'{key}={shown}')}"
    file, options = shlex.quote(str(source["file"])), source["options"]
    fit = f"krein fit {file} {options} --method {name}{chosen} -o model.krein"
    items = f" --items {shlex.quote(source['items'])}" if source.get("items") else ""
    return f"{fit}\nkrein predict model.krein {_new_file(source)}{items}"


def _new_file(source: Mapping[str, Any]) -> str:
    ending = str(source["file"]).rsplit(".", 1)[-1]
    ending = ending if ending.isalnum() and ending != "npy" else "csv"
    return f"{_NEW[source['kind']]}.{ending}"


def _python(comparison: Any, name: str, settings: dict[str, Any], source: Any) -> str:
    if source and (comparison.of_hits or _CHOOSING.search(source["options"])):
        return _loaded(comparison, source)
    method, problem = comparison.registry[name], comparison.problem
    on_items = problem.kernel is not None and bool(method.estimator)
    model = method.build(**settings)
    if on_items and method.needs == "similarity":
        model.set_params(kernel=problem.kernel)
    elif problem.kernel is None and problem.conversion is not None:
        model = make_pipeline(problem.conversion, model)
    text, imports = _typed(model)
    data, new = ("items", "new_items") if on_items else ("K", "K_new")
    target, lines = "y", list[str]()
    if source is not None:
        data, (lines, target, new) = "read.data", _reading(source)
        imports["krein"] |= {line.split(" = ")[1].split("(")[0] for line in lines}
        target += ".astype(float)" if comparison.task == "regression" else ""
    y = "" if comparison.task == "novelty" else f", {target}"
    what = "" if on_items else "  # new items x training items, in their order"
    names = sorted((m, ", ".join(sorted(n))) for m, n in imports.items() if n)
    head = [f"from {module} import {some}" for module, some in reversed(names)]
    fit = [f"model = {text}", f"model.fit({data}{y})"]
    return "\n".join([*head, "", *lines, *fit, f"print(model.predict({new})){what}"])


def _loaded(comparison: Any, source: Mapping[str, Any]) -> str:
    """Python for the model of the command, where only it chooses the items."""
    reader, new = "read_hits", "**model.similarity_.new_items(new)"
    if not comparison.of_hits:
        reader = "read_items" if source["kind"] == "items" else "read_matrix"
        new = "new.data"
    how = _option(source, "format", "format") + _option(source, "column", "items")
    return f"""from krein import load_model, {reader}

model = load_model("model.krein")  # of krein fit, see the shell
new = {reader}("{_new_file(source)}"{how})
print(model.predict({new}))"""


def _typed(model: Any) -> tuple[str, dict[str, set[str]]]:
    """What to type for a model, and the names to import, by module."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    with config_context(print_changed_only=True):
        text = " ".join(", ".join(map(repr, steps)).split())
    imports: dict[str, set[str]] = {"krein": set()}
    for part in (p for step in steps for p in (step, *step.get_params().values())):
        name = type(part).__name__
        if f"{name}(" in text:
            public = "krein" if hasattr(krein, name) else type(part).__module__
            imports.setdefault(public.split("._")[0], set()).add(name)
    if len(steps) == 1:
        return text, imports
    imports.setdefault("sklearn.pipeline", set()).add("make_pipeline")
    return f"make_pipeline({text})", imports


def _option(source: Mapping[str, Any], name: str, key: str) -> str:
    return f", {name}={source[key]!r}" if source.get(key) else ""


def _reading(source: Mapping[str, Any]) -> tuple[list[str], str, str]:
    """Lines that read the user's own files, the target, and how new items are read."""
    option = partial(_option, source)
    reader = "read_items" if source["kind"] == "items" else "read_matrix"
    how = option("format", "format") + option("column", "items")
    titled = option("label_column", "label_title")  # a column of the same table
    lines = [f"read = {reader}({str(source['file'])!r}{how}{titled})"]
    new = f'{reader}("{_new_file(source)}"{how}).data'
    if titled or not source.get("labels"):
        return lines, "read.target", new
    more = option("column", "label_column") + option("ignore_names", "ignore_names")
    lines.append(f"labels = read_labels({source['labels']!r}, names=read.names{more})")
    return lines, "labels.data", new
