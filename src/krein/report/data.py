"""What a report says, as plain dicts ready for JSON and for a test.

Nothing here knows HTML, and nothing in `render` computes.
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.pipeline import make_pipeline

import krein
from krein.arrays import Array
from krein.diagnostics import Diagnosis, diagnose
from krein.report.charts import embedding, heat_map
from krein.similarity.sparse import as_matrix
from krein.similarity.spectrum import Spectrum
from krein.words import digits, seconds_in_words

_HEADLINE = 15  # words
_SHOWN = 20  # items in a table
_SAID = re.compile(r"^Use [^:,]*: mean [^:]* over \d+ splits\. ")  # by the headline
_NEW = {"items": "new_items", "similarity": "new_rows", "distance": "new_distances"}


def case(
    comparison: Any,
    *,
    title: str = "Comparison",
    about: str = "",
    command: str = "",
    names: Sequence[str] | None = None,
    diagnosis: Diagnosis | None = None,
    findings: Sequence[dict[str, Any]] | None = None,
    source: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Everything the report says about one similarity.

    Parameters
    ----------
    comparison : Comparison or KernelComparison
        What was found; of several kernels the best one is shown in full.
    title, about : str
        Heading, and where the similarity comes from.
    command : str
        What to type or call to repeat it.
    names : sequence of str, optional
        Names of the items, shown at their points.
    diagnosis, findings : Diagnosis, sequence of dict, optional
        Of the similarity, if they are known already.
    source : dict, optional
        Where the data come from, see `recipe`.
    """
    kernel, kernels = "", list[dict[str, Any]]()
    text = _SAID.sub("", comparison.recommendation.text)
    if hasattr(comparison, "comparisons"):  # several kernels: the best one in full
        kernel, kernels = comparison.best[0], _kernels(comparison)
        comparison = comparison.comparisons[kernel]
    problem = comparison.problem
    K = as_matrix(problem.on(problem.everything)).dense()
    labels, codes = _drawn_classes(comparison)
    known = [str(i) for i in range(codes.size)] if names is None else list(names)
    if diagnosis is None:
        diagnosis = diagnose(K, np.asarray(labels)[codes])
    if findings is None:
        findings = [finding.to_dict() for finding in diagnosis.findings]
    counts = np.bincount(codes, minlength=len(labels)).tolist()
    classes = zip(labels, counts, strict=True)
    return {
        "title": title,
        "about": about,
        "headline": _headline(comparison, kernel),
        "findings": list(findings),
        "items": int(codes.size),
        "task": comparison.task,
        "classes": [{"label": label, "count": count} for label, count in classes],
        "spectrum": {
            **diagnosis.to_dict(),
            "eigenvalues": [float(v) for v in diagnosis.eigenvalues],
            "noise_edge": diagnosis.negative_part.noise_edge,
            "facts": diagnosis.facts(),
        },
        "heat": heat_map(K, codes),
        "embedding": embedding(Spectrum.exact(K), codes, known),
        "kernels": kernels,
        "comparison": {**_comparison(comparison), "recommendation": text},
        "mistakes": mistakes(comparison, K, known),
        "copy": recipe(comparison, source),
        "run": _run(comparison, command),
    }


def _drawn_classes(comparison: Any) -> tuple[list[str], np.ndarray]:
    """Classes for the pictures; of numbers to be predicted fifths."""
    y = comparison.problem.codes
    if comparison.task != "regression":
        return [str(label) for label in comparison.problem.classes], y
    edges = np.unique(np.quantile(y, [0.2, 0.4, 0.6, 0.8]))
    codes = np.unique(np.searchsorted(edges, y), return_inverse=True)[1]
    parts = [y[codes == k] for k in range(codes.max() + 1)]
    return [f"{p.min():.3g} to {p.max():.3g}" for p in parts], codes


def _headline(comparison: Any, kernel: str) -> str:
    """The answer in at most fifteen words: what does not fit is left to the text."""
    answer, column = comparison.recommendation, comparison.deciding
    means = {row["method"]: row[column.key] for row in comparison.table()}
    name, free = comparison.levels[-1]
    mine, beside = f"{column.title} {means[answer.method]:.3f}", f"{name} {free:.3f}"
    if not answer.useful:
        return f"Nothing was learnt: {mine}, {beside}"
    if "svc" in means and answer.method != "svc":
        beside = f"{comparison.title('svc')} {means['svc']:.3f}"
    using = f"{kernel} with " if kernel else ""
    text = f"Use {using}{comparison.title(answer.method)}: {mine}"
    for more in ("" if answer.decided else " (no clear winner)", f", {beside}"):
        if len(f"{text}{more}".split()) <= _HEADLINE:
            text += more
    return text


def _kernels(several: Any) -> list[dict[str, Any]]:
    """One row per kernel: what its recommended method scores."""
    rows = []
    for kernel in several.ranking:
        found = several.comparisons[kernel]
        row = {row["method"]: row for row in found.table()}[found.recommendation.method]
        rows.append({**row, "title": kernel, "method": kernel, "by": row["title"]})
    return rows


def _comparison(comparison: Any) -> dict[str, Any]:
    answer = comparison.recommendation
    return {
        "scoring": comparison.deciding.key,
        "label": comparison.deciding.title,
        "columns": [asdict(column) for column in comparison.columns],
        "about_p": comparison.about_p,
        "table": comparison.table(),
        "failed": dict(comparison.failed),
        "methods": {
            name: {
                "title": comparison.title(name),
                "about": comparison.registry[name].about,
                "confusion": comparison.confusion(name).tolist(),
                "chosen": _chosen(comparison, name),
            }
            for name in comparison.ranking
        },
        "recommended": answer.method,
        "useful": answer.useful,
        "levels": list(map(list, comparison.levels)),
        "free": ", ".join(f"{name} {value:.3g}" for name, value in comparison.levels),
    }


def _chosen(comparison: Any, method: str) -> list[str]:
    """Hyperparameters and on how many splits each setting was chosen."""
    settings = Counter(_shown(record["params"]) for record in comparison.of(method))
    return [f"{some} (splits: {n})" for some, n in settings.most_common(3) if some]


def _shown(params: dict[str, Any]) -> str:
    return ", ".join(
        _shown(value) if isinstance(value, dict) else f"{name} = {digits(value)}"
        for name, value in params.items()
    )


def _run(comparison: Any, command: str) -> dict[str, Any]:
    sizes = np.median([(a.size, b.size) for a, b in comparison.splits], axis=0)
    shares = {row["method"]: row["converged"] for row in comparison.table()}
    times = ("search_seconds", "fit_seconds")
    seconds = sum(r.get(time, 0.0) for r in comparison.records for time in times)
    return {
        "splits": len(comparison.splits),
        "train_items": int(sizes[0]),
        "test_items": int(sizes[1]),
        "kind": "random" if comparison.problem.groups is None else "grouped",
        "seed": comparison.random_state,
        "time": seconds_in_words(seconds),
        "command": command,
        "not_converged": {m: 1.0 - share for m, share in shares.items() if share < 1.0},
        **machine(),
    }


def machine() -> dict[str, str]:
    """Versions and platform, so that a run can be repeated."""
    used = ("numpy", "scipy", "scikit-learn")
    return {
        "krein": krein.__version__,
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in used},
        "platform": f"{platform.system()} {platform.machine()}",
    }


# ------------------------------------------------------ items that need a second look


def mistakes(comparison: Any, K: Array, names: Sequence[str]) -> list[dict[str, Any]]:
    """Items that the recommended method got wrong, the surest mistakes first."""
    labels, numbers = _true_labels(comparison), comparison.task == "regression"
    wrong: dict[int, list[tuple[str, float]]] = {}
    tests: Counter[int] = Counter()
    for record, test in _tests(comparison):
        tests.update(test)
        sure = record.get("probability") or [0.0] * len(test)
        for i, said, p in zip(test, record["predicted"], sure, strict=True):
            label = digits(said) if numbers else str(comparison.problem.classes[said])
            if label != labels[i]:
                wrong.setdefault(i, []).append((label, float(p)))
    found: list[dict[str, Any]] = [
        {
            "item": names[i],
            "label": labels[i],
            "predicted": Counter(label for label, _ in seen).most_common(1)[0][0],
            "wrong": len(seen),
            "tests": tests[i],
            "probability": round(float(np.mean([p for _, p in seen])), 4),
            "nearest": _nearest(K, i, labels, names),
        }
        for i, seen in wrong.items()
    ]
    found.sort(key=lambda m: (-m["wrong"] / m["tests"], -m["probability"]))
    if numbers:
        found.sort(key=lambda m: -abs(float(m["label"]) - float(m["predicted"])))
    return found[:_SHOWN]


def _tests(comparison: Any) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Records of the recommended method, with the items that were tested."""
    for record in comparison.of(comparison.recommendation.method):
        yield record, comparison.splits[record["split"]][1].tolist()


def _true_labels(comparison: Any) -> list[str]:
    shown = digits if comparison.task == "regression" else str
    return [shown(label) for label in comparison.problem.labels.tolist()]


def _nearest(K: Array, i: int, labels: list[str], names: Sequence[str]) -> list[dict]:
    order = [j for j in np.argsort(-K[i], kind="stable")[:4] if j != i][:3]
    if 2 * np.count_nonzero(K[i]) < K.shape[0]:  # hits: who is absent is not near
        order = [j for j in order if K[i, j] != 0.0]
    return [{"item": names[j], "label": labels[j]} for j in order]


# ------------------------------------------------------------------------ what to copy


def recipe(comparison: Any, source: Mapping[str, Any] | None) -> dict[str, str]:
    """Return ``python`` and ``shell``, ready to be pasted and run.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    source : mapping or None
        Where the data come from: ``file``, ``kind`` ("items", "similarity" or
        "distance"), ``options`` as typed, and where given ``items`` (a column of the
        file) and its ``format``. None: the reader has K (or items) and y.
    """
    name = comparison.recommendation.method
    settings = most_chosen(comparison, name)
    if source is None:
        return {"python": _python(comparison, name, settings), "shell": ""}
    new, column = _new_file(source), ""
    if source.get("items"):
        column = f" --items {shlex.quote(source['items'])}"
    fit = f"krein fit {shlex.quote(str(source['file']))} {source['options']}"
    fit = f"{fit} --method {name}{_typed_settings(settings)} -o model.krein"
    shell = f"{fit}\nkrein predict model.krein {new}{column}"
    return {"python": _loaded(comparison, source, new), "shell": shell}


def most_chosen(comparison: Any, name: str) -> dict[str, Any]:
    """The hyperparameters that most splits chose; of equals the first."""
    seen = [record["params"] for record in comparison.of(name)]
    return max(seen, key=seen.count)


def _typed_settings(settings: dict[str, Any]) -> str:
    text = ""
    for key, value in settings.items():
        shown = value if isinstance(value, str) else repr(value).replace("'", '"')
        text += f" --set {shlex.quote(f'{key}={shown}')}"
    return text


def _new_file(source: Mapping[str, Any]) -> str:
    ending = str(source["file"]).rsplit(".", 1)[-1]
    ending = ending if ending.isalnum() and ending != "npy" else "csv"
    return f"{_NEW[source['kind']]}.{ending}"


def _python(comparison: Any, name: str, settings: dict[str, Any]) -> str:
    """Python for a reader who has K (or items) and y."""
    method, problem = comparison.registry[name], comparison.problem
    on_items = problem.kernel is not None and bool(method.estimator)
    model = method.build(**settings)
    if on_items:
        model.set_params(kernel=problem.kernel)
    elif problem.kernel is None and problem.conversion is not None:
        model = make_pipeline(problem.conversion, model)
    text, imports = _typed(model)
    data, new = ("items", "new_items") if on_items else ("K", "K_new")
    what = "" if on_items else "  # new items x training items, in their order"
    names = sorted((m, ", ".join(sorted(n))) for m, n in imports.items() if n)
    head = [f"from {module} import {some}" for module, some in reversed(names)]
    fit = [f"model = {text}", f"model.fit({data}, y)"]
    return "\n".join([*head, "", *fit, f"print(model.predict({new})){what}"])


def _loaded(comparison: Any, source: Mapping[str, Any], file: str) -> str:
    """Python for the model of the command."""
    reader = "read_items" if source["kind"] == "items" else "read_matrix"
    given = {"format": source.get("format"), "column": source.get("items")}
    how = "".join(f", {name}={value!r}" for name, value in given.items() if value)
    new = "new.data"
    if comparison.of_hits:
        reader, how, new = "read_hits", "", "**model.similarity_.new_items(new)"
    return f"""from krein import load_model, {reader}

model = load_model("model.krein")  # of krein fit
new = {reader}("{file}"{how})
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
