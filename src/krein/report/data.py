"""What a report says about one similarity, and the lines that a reader may copy.

Nothing here knows HTML.
"""

from __future__ import annotations

import importlib.metadata
import platform
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.pipeline import make_pipeline

import krein
from krein.arrays import Array
from krein.comparison.contenders import step_of
from krein.diagnostics import diagnose
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
        self.comparison, self.kernel = self.found, ""
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
    answer, raw = comparison.recommendation, None
    if "svc" in comparison.ranking:
        raw = "svc", comparison.shown_value("svc")
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
    numbers, problem = comparison.task == "regression", comparison.problem
    shown = digits if numbers else str
    labels = [shown(label) for label in problem.labels.tolist()]
    told: dict[int, list[tuple[str, float]]] = {}
    for record in comparison.of(comparison.recommendation.contender):
        said = np.asarray(record["predicted"])
        said = (said if numbers else problem.classes[said]).tolist()
        test = comparison.splits[record["split"]][1].tolist()
        sure = record.get("probability") or [0.0] * len(test)
        for i, label, p in zip(test, map(shown, said), sure, strict=True):
            told.setdefault(i, []).append((label, p))
    rows = []
    for i, answers in told.items():
        wrong = Counter(label for label, _ in answers if label != labels[i])
        if wrong:
            predicted, share = wrong.most_common(1)[0][0], wrong.total() / len(answers)
            error = abs(float(labels[i]) - float(predicted)) if numbers else 0.0
            p = float(np.mean([p for label, p in answers if label != labels[i]]))
            counted = [f"{p:.0%}", f"{wrong.total()} of {len(answers)}"]
            near = ", ".join(f"{names[j]} ({labels[j]})" for j in nearest(K[i], i))
            cells = [labels[i], predicted, *([] if numbers else counted), near]
            rows.append(((error, share, round(p, 4)), [names[i], *cells]))
    rows.sort(key=lambda row: row[0], reverse=True)
    return [cells for _, cells in rows[:_SHOWN]]


def nearest(row: Array, i: int) -> list[int]:
    """Positions of the three items that are most similar to item i."""
    order = [j for j in np.argsort(-row, kind="stable")[:4].tolist() if j != i][:3]
    hits = 2 * np.count_nonzero(row) < row.size  # who is absent is not near
    return [j for j in order if row[j] != 0.0 or not hits]


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
    column = f" --items {shlex.quote(source['items'])}" if source.get("items") else ""
    options = f"{source['options']} --method {name}"
    by_search = not comparison.registry[name].estimator  # krein fit has no --set for it
    for key, value in () if by_search else settings.items():
        shown = value if isinstance(value, str) else repr(value).replace("'", '"')
        options += f" --set {shlex.quote(f'{key}={shown}')}"
    fit = f"krein fit {shlex.quote(str(source['file']))} {options} -o model.krein"
    shell = f"{fit}\nkrein predict model.krein {new}{column}"
    return {"python": _loaded(comparison, source, new), "shell": shell}


def most_chosen(comparison: Any, name: str) -> dict[str, Any]:
    """The hyperparameters that most splits chose; of equals the first."""
    seen = [record["params"] for record in comparison.of(name)]
    return max(seen, key=seen.count)


def _new_file(source: Mapping[str, Any]) -> str:
    ending = str(source["file"]).removesuffix(".gz").rsplit(".", 1)[-1]
    ending = ending if ending.isalnum() and ending != "npy" else "csv"
    return f"{_NEW[source['kind']]}.{ending}"


def _python(comparison: Any, name: str, settings: dict[str, Any]) -> str:
    """Python for a reader who has K (or items) and y."""
    method, problem = comparison.registry[name], comparison.problem
    model = method.build(settings)
    on_items = problem.kernel is not None and "kernel" in model.get_params()
    if on_items:
        model.set_params(kernel=problem.kernel)
    elif problem.kernel is None and problem.conversion is not None:
        model = make_pipeline(problem.conversion, model)
    text, imports = _typed(model)
    data, new = ("items", "new_items") if on_items else ("K", "K_new")
    what = "" if on_items else "  # new items x training items, in their order"
    names = sorted((m, ", ".join(sorted(n))) for m, n in imports.items())
    head = [f"from {module} import {some}" for module, some in reversed(names)]
    fit = [f"model = {text}", f"model.fit({data}, y)"]
    if method.sampled(problem.target) is not None:
        head.append("import numpy as np")
        draw = f"np.random.default_rng(0).permutation(len(y)) < {method.sample}"
        key = f"{step_of(model)}sample_weight"
        fit = [
            f"some = {draw}  # others have no weight",
            fit[0],
            f"model.fit({data}, y, {key}=some)",
        ]
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
    kinds = [type(p) for step in steps for p in (step, *step.get_params().values())]
    if len(steps) > 1:
        text, kinds = f"make_pipeline({text})", [*kinds, make_pipeline]
    imports: dict[str, set[str]] = {}
    for kind in kinds:
        name = kind.__name__
        if f"{name}(" in text:
            public = "krein" if hasattr(krein, name) else kind.__module__
            imports.setdefault(public.split("._")[0], set()).add(name)
    return text, imports
