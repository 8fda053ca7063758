"""Which items were not recognised, how sure the mistake was, and what is near them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from krein.arrays import Array

__all__ = ["mistakes"]

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
    codes, classes = comparison.problem.codes, comparison.problem.classes
    wrong: dict[int, list[tuple[int, float]]] = {}
    tests: Counter[int] = Counter()
    for record in comparison.of(comparison.recommendation.method):
        test = comparison.splits[record["split"]][1]
        tests.update(test.tolist())
        sure = record.get("probability") or [0.0] * len(test)
        for i, code, p in zip(test, record["predicted"], sure, strict=True):
            if code != codes[i]:
                wrong.setdefault(int(i), []).append((int(code), float(p)))
    found: list[dict[str, Any]] = [
        {
            "item": str(i) if names is None else str(names[i]),
            "label": str(classes[codes[i]]),
            "predicted": str(classes[Counter(c for c, _ in seen).most_common(1)[0][0]]),
            "wrong": len(seen),
            "tests": tests[i],
            "probability": round(float(np.mean([p for _, p in seen])), 4),
            "nearest": _nearest(K, i, classes[codes], names),
        }
        for i, seen in wrong.items()
    ]
    found.sort(key=lambda m: (-m["wrong"] / m["tests"], -m["probability"]))
    return found[:_SHOWN]


def _nearest(
    K: Array, i: int, labels: np.ndarray, names: Sequence[str] | None
) -> list[dict[str, str]]:
    order = [j for j in np.argsort(-K[i], kind="stable")[:4] if j != i][:3]
    if 2 * np.count_nonzero(K[i]) < K.shape[0]:  # hits: who is absent is not near
        order = [j for j in order if K[i, j] != 0.0]
    return [
        {"item": str(j) if names is None else str(names[j]), "label": str(labels[j])}
        for j in order
    ]
