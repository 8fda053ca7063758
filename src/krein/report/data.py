"""What a report says about one similarity, and the lines that a reader may copy.

Nothing here knows HTML.
"""

from __future__ import annotations

import importlib.metadata
import platform
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.pipeline import make_pipeline

import krein
from krein.arrays import Array
from krein.diagnostics import diagnose
from krein.files.sources import PACKED_SUFFIXES
from krein.verdicts import sentences
from krein.words import digits

_SHOWN = 20  # items in a table
_NEW = {"items": "new_items", "similarity": "new_rows", "distance": "new_distances"}


@dataclass
class Case:
    """One similarity as a report shows it.

    Attributes
    ----------
    found : Comparison or KernelComparison
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
    finding : str
        What stands below the heading instead of the headline.
    """

    found: Any
    title: str = "Comparison"
    about: str = ""
    command: str = ""
    names: Any = None
    diagnosis: Any = None
    findings: Any = None
    source: Mapping[str, Any] | None = None
    finding: str = ""

    def __post_init__(self) -> None:
        self.kernel = ""
        self.comparison = self.found
        if hasattr(self.found, "comparisons"):
            self.kernel = self.found.best[0]
            self.comparison = self.found.comparisons[self.kernel]
        problem = self.comparison.problem
        self.K = problem.matrix().dense()
        self.labels, self.codes = _drawn_classes(self.comparison)
        if self.names is None:
            self.names = [str(i) for i in problem.everything]
        if self.diagnosis is None:
            self.diagnosis = diagnose(self.K, np.asarray(self.labels)[self.codes])
        if self.findings is None:
            self.findings = [found.to_dict() for found in self.diagnosis.findings]
        self.headline = headline(self.comparison, self.kernel)


def _drawn_classes(comparison: Any) -> tuple[list[str], np.ndarray]:
    """Classes for the pictures; of numbers to be predicted fifths."""
    y = comparison.problem.codes
    if comparison.task != "regression":
        return [str(label) for label in comparison.problem.classes], y
    edges = np.unique(np.quantile(y, [0.2, 0.4, 0.6, 0.8]))
    codes = np.unique(np.searchsorted(edges, y), return_inverse=True)[1]
    parts = [y[codes == k] for k in range(codes.max() + 1)]
    return [f"{p.min():.3g} to {p.max():.3g}" for p in parts], codes


def headline(comparison: Any, kernel: str) -> str:
    """The answer in at most fifteen words: what does not fit is left to the text."""
    answer = comparison.recommendation
    raw = None
    if "svc" in comparison.ranking:
        raw = ("svc", comparison.shown_value("svc"))
    return sentences.headline(
        answer.verdict, answer.reasons, comparison.title, kernel=kernel, raw=raw
    )


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


def mistakes(comparison: Any, K: Array, names: Sequence[str]) -> list[list[str]]:
    """Rows of items that the recommended method got wrong, the surest first."""
    numbers = comparison.task == "regression"
    shown = digits if numbers else str
    labels = [shown(label) for label in comparison.problem.labels.tolist()]
    rows = []
    for i, answers in _answers(comparison, shown).items():
        wrong = [one for one in answers if one.label != labels[i]]
        if not wrong:
            continue
        predicted = Counter(one.label for one in wrong).most_common(1)[0][0]
        probability = float(np.mean([one.probability for one in wrong]))
        error = abs(float(labels[i]) - float(predicted)) if numbers else 0.0
        worst_first = (error, len(wrong) / len(answers), round(probability, 4))
        cells = [names[i], labels[i], predicted]
        if not numbers:
            cells += [f"{probability:.0%}", f"{len(wrong)} of {len(answers)}"]
        near = [f"{names[j]} ({labels[j]})" for j in nearest(K[i], i)]
        rows.append((worst_first, [*cells, ", ".join(near)]))
    rows.sort(key=lambda row: row[0], reverse=True)
    return [cells for _, cells in rows[:_SHOWN]]


class _Answer(NamedTuple):
    """What one split predicted for an item, and how surely."""

    label: str
    probability: float


def _answers(comparison: Any, shown: Callable[[Any], str]) -> dict[int, list[_Answer]]:
    """Answers of the recommended method by item."""
    classes = comparison.problem.classes
    answers: dict[int, list[_Answer]] = {}
    for record in comparison.of(comparison.recommendation.contender):
        predicted = np.asarray(record["predicted"])
        if comparison.task != "regression":
            predicted = classes[predicted]
        test = comparison.splits[record["split"]][1].tolist()
        probability = record.get("probability") or [0.0] * len(test)
        for i, label, p in zip(test, predicted.tolist(), probability, strict=True):
            answers.setdefault(i, []).append(_Answer(shown(label), p))
    return answers


def nearest(row: Array, i: int) -> list[int]:
    """Positions of the three items that are most similar to item i."""
    order = np.argsort(-row, kind="stable")[:4].tolist()
    others = [j for j in order if j != i][:3]
    # In a table of hits most pairs are absent, and who is absent is not near.
    if 2 * np.count_nonzero(row) < row.size:
        return [j for j in others if row[j] != 0.0]
    return others


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
    name = comparison.recommendation.contender
    settings = most_chosen(comparison, name)
    if source is None:
        return {"python": _python(comparison, name, settings), "shell": ""}
    new = _new_file(source)
    if not comparison.registry[name].estimator:  # krein fit has no --set for it
        settings = {}
    fit = _fit_command(source, name, settings)
    predict = f"krein predict model.krein {new}"
    if source.get("items"):
        predict += f" --items {shlex.quote(source['items'])}"
    return {"python": _loaded(comparison, source, new), "shell": f"{fit}\n{predict}"}


def _fit_command(source: Mapping[str, Any], name: str, settings: dict[str, Any]) -> str:
    file = shlex.quote(str(source["file"]))
    command = f"krein fit {file} {source['options']} --method {name}"
    for key, value in settings.items():
        shown = value if isinstance(value, str) else repr(value).replace("'", '"')
        command += f" --set {shlex.quote(f'{key}={shown}')}"
    return f"{command} -o model.krein"


def most_chosen(comparison: Any, name: str) -> dict[str, Any]:
    """The hyperparameters that most splits chose; of equals the first."""
    seen = [record["params"] for record in comparison.of(name)]
    return max(seen, key=seen.count)


def _new_file(source: Mapping[str, Any]) -> str:
    """Name of a file of new items that ends as the one that was read."""
    file = Path(str(source["file"]))
    packed = file.suffix.lower() in PACKED_SUFFIXES
    ending = (file.with_suffix("") if packed else file).name.rsplit(".", 1)[-1]
    if not ending.isalnum() or ending == "npy":
        ending = "csv"
    return f"{_NEW[source['kind']]}.{ending}"


def _python(comparison: Any, name: str, settings: dict[str, Any]) -> str:
    """Python for a reader who has K (or items) and y."""
    problem = comparison.problem
    contender = comparison.registry[name]
    model = contender.build(settings)
    data = "K"
    new = "K_new"
    comment = "  # new items x training items, in their order"
    if problem.kernel is not None and "kernel" in model.get_params():
        model.set_params(kernel=problem.kernel)
        data = "items"
        new = "new_items"
        comment = ""
    elif problem.kernel is None and problem.conversion is not None:
        model = make_pipeline(problem.conversion, model)
    text, imports = _typed(model)
    lines = [
        f"from {module} import {', '.join(sorted(names))}"
        for module, names in sorted(imports.items(), reverse=True)
    ]
    weights = ""
    sampling = []
    if contender.sampled(problem.target) is not None:
        lines.append("import numpy as np")
        draw = f"np.random.default_rng(0).permutation(len(y)) < {contender.sample}"
        sampling = [f"some = {draw}  # others have no weight"]
        weights = f", {contender.weight_parameter(model)}=some"
    lines += [
        "",
        *sampling,
        f"model = {text}",
        f"model.fit({data}, y{weights})",
        f"print(model.predict({new})){comment}",
    ]
    return "\n".join(lines)


def _loaded(comparison: Any, source: Mapping[str, Any], file: str) -> str:
    """Python for the model of the command."""
    reader = "read_items" if source["kind"] == "items" else "read_matrix"
    new = "new.data"
    how = ""
    if comparison.of_hits:
        reader = "read_hits"
        new = "**model.similarity_.new_items(new)"
    else:
        if source.get("format"):
            how += f", format={source['format']!r}"
        if source.get("items"):
            how += f", column={source['items']!r}"
        for name, value in source.get("columns", {}).items():
            how += f", {name}={value!r}"
    return f"""from krein import load_model, {reader}

model = load_model("model.krein")  # of krein fit
new = {reader}("{file}"{how})
print(model.predict({new}))"""


def _typed(model: Any) -> tuple[str, dict[str, set[str]]]:
    """What to type for a model, and the names to import, by module."""
    is_pipeline = hasattr(model, "steps")
    steps = [step for _, step in model.steps] if is_pipeline else [model]
    with config_context(print_changed_only=True):
        text = ", ".join(repr(step) for step in steps)
    text = " ".join(text.split())
    used: list[Any] = []
    for step in steps:
        used.append(type(step))
        used += [type(value) for value in step.get_params().values()]
    if is_pipeline:
        text = f"make_pipeline({text})"
        used.append(make_pipeline)
    imports: dict[str, set[str]] = {}
    for one in used:
        name = one.__name__
        if f"{name}(" in text:
            module = "krein" if hasattr(krein, name) else one.__module__
            imports.setdefault(module.split("._")[0], set()).add(name)
    return text, imports
