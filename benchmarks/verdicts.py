"""How often `compare` says "no clear winner", by the test over splits and over items.

    KREIN_DATA=... python benchmarks/verdicts.py CACHE [seconds]

Every similarity of `regret_matrices.py`, with the quick methods and five folds, until
the seconds are used up; CACHE keeps distances between calls. "Before" counts the words
of version 0.2: no method could be told from the best one. Now these words are kept for
scores that differ by more than a standard error and cannot be told apart; methods
nearer than that do as well.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from regret_matrices import cases

from krein.comparison.problem import Problem
from krein.comparison.run import compare_problem
from krein.training import Classes

METHODS = ("svc", "clip", "flip", "square", "neighbors", "features", "average")


def main(cache: str, seconds: str = "3600") -> None:
    """Print one line per similarity, and the shares."""
    start, before, after = time.monotonic(), [], []
    for case in cases(Path(cache)):
        if time.monotonic() - start > float(seconds):
            break
        items, labels = case.items()
        codes = np.unique(labels, return_inverse=True)[1]
        K = case.matrix(items, np.arange(len(codes)))
        problem = Problem(K, Classes(codes, np.unique(codes).size), np.unique(codes))
        found = compare_problem(problem, METHODS, cv=5)
        before.append(len(found.recommendation.equals) == len(found.ranking))
        after.append(not found.recommendation.decided)
        told = len(found.ranking) - len(found.recommendation.equals)
        print(
            f"{case.name:32} told from the best: {told} over items; {after[-1]!s}",
            flush=True,
        )
    print(
        f"no clear winner on {len(after)} similarities: before {np.mean(before):.2f}, "
        f"after {np.mean(after):.2f}"
    )


if __name__ == "__main__":
    main(*sys.argv[1:3])
