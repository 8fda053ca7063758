"""Machines against the rest, pair by pair, or as scores choose: errors of each.

    KREIN_DATA=... python benchmarks/many_classes.py CACHE [--splits 3] [--most 500]

Errors in percent on the similarities of `regret_matrices.py` with three or more classes
and at most 500 training items, mean over splits 60 / 40. For the SVM on the raw matrix,
on the clipped and on the flipped one "chosen" is what `compare` does: whichever kind of
machine has the higher score in the inner folds, together with C. The average has no
such choice. CACHE keeps distances between calls.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from regret import split_of
from regret_matrices import cases

from krein import SpectrumSVCCV
from krein.comparison.contenders import CONTENDERS
from krein.comparison.evaluation import evaluate_split
from krein.comparison.problem import Problem
from krein.training import Classes

ONE = ("svc", "clip", "flip")
KINDS = ("ovr", "ovo")


def contender(name, kind):
    """A contender with one kind of machine, or with the choice."""
    both = CONTENDERS[name]
    if kind == "chosen":
        return both
    return replace(both, pairs=False, params={**both.params, "multi_class": kind})


def errors(K, codes, fold):
    """Error in percent by (method, kind)."""
    train, test = fold
    classes = int(codes.max()) + 1
    problem = Problem(K, Classes(codes, classes), np.arange(classes))
    found = {}
    for name in ONE:
        for kind in (*KINDS, "chosen"):
            one = [contender(name, kind)]
            (record,) = evaluate_split(problem, one, fold, "accuracy")
            found[name, kind] = 100.0 * (1.0 - record["scores"]["accuracy"])
    for kind in KINDS:
        model = SpectrumSVCCV(multi_class=kind).fit(
            K[np.ix_(train, train)], codes[train]
        )
        score = model.score(K[np.ix_(test, train)], codes[test])
        found["average", kind] = 100.0 * (1.0 - score)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cache", type=Path)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--most", type=int, default=500, help="training items")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    means = []
    for case in cases(options.cache):
        items, codes = case.items()
        codes = np.unique(codes, return_inverse=True)[1]
        if codes.max() < 2 or 0.6 * codes.size > options.most:
            continue
        found = []
        for split in range(options.splits):
            fold = split_of(codes, split)
            K = case.matrix(items, fold[0])
            found.append(errors(0.5 * (K + K.T), codes, fold))
        means.append({key: np.mean([one[key] for one in found]) for key in found[0]})
        show(f"{case.name} ({codes.size} items, {codes.max() + 1} classes)", means[-1])
    show(f"mean of {len(means)}", {k: np.mean([m[k] for m in means]) for k in means[0]})


def show(title, found):
    """Print one line per method."""
    print(title, flush=True)
    for name in dict.fromkeys(name for name, _ in found):
        kinds = {kind: found[name, kind] for method, kind in found if method == name}
        print(f"    {name:8}", *(f"{k} {e:5.2f}" for k, e in kinds.items()), flush=True)


if __name__ == "__main__":
    main()
