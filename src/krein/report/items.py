"""Items of a report: those that were taken for others, and those to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.words import digits

_SHOWN = 20


def mistakes(
    comparison: Any, K: Array, names: Sequence[str] | None
) -> list[dict[str, Any]]:
    """Items that the recommended method got wrong, the surest mistakes first.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    K : ndarray of shape (n, n)
        The similarity.
    names : sequence of str or None
        Names of the items; their numbers when there are none.

    Returns
    -------
    list of dict
        Name, true and predicted label, on how many of its tests it was wrong, how
        probable the wrong label was said to be, and its nearest items with labels.
    """
    labels = _true_labels(comparison)
    wrong: dict[int, list[tuple[str, float]]] = {}
    tests: Counter[int] = Counter()
    for record in comparison.of(comparison.recommendation.method):
        test = comparison.splits[record["split"]][1]
        tests.update(test.tolist())
        sure = record.get("probability") or [0.0] * len(test)
        said = comparison.said(record)
        for i, label, p in zip(test, said, sure, strict=True):
            if label != labels[i]:
                wrong.setdefault(int(i), []).append((label, float(p)))
    found: list[dict[str, Any]] = [
        {
            "item": str(i) if names is None else str(names[i]),
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


def unsure_items(comparison: Any, names: Sequence[str] | None) -> list[dict[str, Any]]:
    """Items whose prediction set does not hold exactly one class, to look at.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    names : sequence of str or None
        Names of the items; their numbers when there are none.

    Returns
    -------
    list of dict
        Name, label, and the classes between which the recommended method leaves it.
    """
    if comparison.task == "regression":
        return []
    labels, found = _true_labels(comparison), {}
    classes = [str(label) for label in comparison.problem.classes]
    for record in comparison.of(comparison.recommendation.method):
        test = comparison.splits[record["split"]][1]
        for i, chosen in zip(test, record.get("sets") or [], strict=False):
            if len(chosen) != 1:
                found[int(i)] = [classes[k] for k in chosen]
    rows = [
        {
            "item": str(i) if names is None else str(names[i]),
            "label": labels[i],
            "set": chosen,
        }
        for i, chosen in sorted(found.items(), key=lambda pair: len(pair[1]))
    ]
    return rows[:_SHOWN]


def _true_labels(comparison: Any) -> list[str]:
    problem = comparison.problem
    if comparison.task == "regression":
        return [digits(float(value)) for value in problem.codes]
    return [str(label) for label in problem.classes[problem.codes]]


def _nearest(
    K: Array, i: int, labels: list[str], names: Sequence[str] | None
) -> list[dict[str, str]]:
    order = [j for j in np.argsort(-K[i], kind="stable")[:4] if j != i][:3]
    if 2 * np.count_nonzero(K[i]) < K.shape[0]:  # hits: who is absent is not near
        order = [j for j in order if K[i, j] != 0.0]
    return [
        {"item": str(j) if names is None else str(names[j]), "label": labels[j]}
        for j in order
    ]
