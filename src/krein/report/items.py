"""Items of a report: those that were taken for others, and those to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.words import digits

_SHOWN = 20


def mistakes(comparison: Any, K: Array, names: Sequence[str]) -> list[dict[str, Any]]:
    """Items that the recommended method got wrong, the surest mistakes first.

    Each with its name, true and predicted label, on how many of its tests it was
    wrong, how probable the wrong label was said to be, and its nearest items.
    """
    labels = _true_labels(comparison)
    wrong: dict[int, list[tuple[str, float]]] = {}
    tests: Counter[int] = Counter()
    for record, test in _tests(comparison):
        tests.update(test)
        sure = record.get("probability") or [0.0] * len(test)
        for i, label, p in zip(test, comparison.said(record), sure, strict=True):
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
    if comparison.task == "regression":
        found.sort(key=lambda m: -abs(float(m["label"]) - float(m["predicted"])))
    else:
        found.sort(key=lambda m: (-m["wrong"] / m["tests"], -m["probability"]))
    return found[:_SHOWN]


def unsure_items(comparison: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """Items whose prediction set does not hold exactly one class, to look at."""
    labels, found = _true_labels(comparison), {}
    classes = [str(label) for label in comparison.problem.classes]
    for record, test in _tests(comparison):
        for i, chosen in zip(test, record.get("sets") or [], strict=False):
            if len(chosen) != 1:
                found[i] = [classes[k] for k in chosen]
    rows = [
        {"item": names[i], "label": labels[i], "set": chosen}
        for i, chosen in sorted(found.items(), key=lambda pair: len(pair[1]))
    ]
    return rows[:_SHOWN]


def _tests(comparison: Any) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Records of the recommended method, with the items that were tested."""
    for record in comparison.of(comparison.recommendation.method):
        yield record, comparison.splits[record["split"]][1].tolist()


def _true_labels(comparison: Any) -> list[str]:
    return [
        digits(float(label)) if comparison.task == "regression" else str(label)
        for label in comparison.problem.labels
    ]


def _nearest(
    K: Array, i: int, labels: list[str], names: Sequence[str]
) -> list[dict[str, str]]:
    order = [j for j in np.argsort(-K[i], kind="stable")[:4] if j != i][:3]
    if 2 * np.count_nonzero(K[i]) < K.shape[0]:  # hits: who is absent is not near
        order = [j for j in order if K[i, j] != 0.0]
    return [{"item": names[j], "label": labels[j]} for j in order]
