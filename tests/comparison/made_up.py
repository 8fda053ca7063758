"""Comparisons with chosen scores, so that every verdict can be asked for."""

import numpy as np

from krein.comparison.comparison import Comparison
from krein.comparison.contenders import TASKS
from krein.comparison.problem import Problem
from krein.selection.folds import outer_splits
from krein.training import Classes

SCORINGS = TASKS["classification"].scorings


class OverSplits(Comparison):
    """Of scores without items, so that the test over splits decides."""

    def item_scores(self, method):
        return None


def made_up(scores, smallest=-1.0, failed=()):
    """A comparison with chosen accuracies per method and split, equal splits."""
    n = 100
    codes = np.tile([0, 1], n // 2)
    count = len(next(iter(scores.values())))
    splits = outer_splits(Classes(codes, 2), None if count == 10 else count)
    records = [
        {**_record(method, s, float(values[s])), "predicted": [0] * len(splits[s][1])}
        for method, values in scores.items()
        for s in range(count)
    ]
    records += [{"method": m, "split": 0, "error": "no"} for m in failed]
    K = np.diag(np.linspace(smallest, 1.0, n))
    problem = Problem(K, Classes(codes, 2), np.array(["a", "b"]))
    methods = (*scores, *failed)
    return OverSplits(tuple(records), methods, "accuracy", problem, tuple(splits))


def of_items(right, smallest=-1.0, codes=None, cv=5, groups=None):
    """A comparison in which each method recognises the items that are True."""
    right = {method: np.asarray(hits, dtype=bool) for method, hits in right.items()}
    n = len(next(iter(right.values())))
    codes = np.arange(n) % 2 if codes is None else np.asarray(codes)
    target = Classes(codes, int(codes.max()) + 1)
    splits = outer_splits(target, cv, groups)
    records = []
    for s, (_, test) in enumerate(splits):
        for method, hits in right.items():
            wrong = (codes[test] + 1) % (codes.max() + 1)
            record = _record(method, s, float(hits[test].mean()))
            record["predicted"] = np.where(hits[test], codes[test], wrong).tolist()
            records.append(record)
    K = np.diag(np.linspace(smallest, 1.0, n))
    classes = np.array(list("abcdefgh"[: codes.max() + 1]))
    problem = Problem(K, target, classes, groups=groups)
    return Comparison(tuple(records), tuple(right), "accuracy", problem, tuple(splits))


def _record(method, split, accuracy):
    return {
        "method": method,
        "split": split,
        "params": {},
        "scores": {**dict.fromkeys(SCORINGS, 0.5), "accuracy": accuracy},
        "fit_seconds": 0.1,
        "predict_seconds": 0.01,
        "search_seconds": 1.0,
        "converged": True,
    }
