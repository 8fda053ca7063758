"""Answers that cost nothing, with which every contender is compared.

For classes: guessing, always naming the largest class, naming the shares of the
classes. For numbers: the mean of the training part, on the same splits as all others,
so that the contender `mean` and this baseline have one and the same score.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.metrics import r2_score

from krein.arrays import Array
from krein.selection.folds import Fold

_ONE_LINE = 0.02  # two baselines that are nearer than this are drawn as one
_ALWAYS_THE_MEAN = "always the mean"


def free_scores(
    scoring: str, codes: np.ndarray, splits: Sequence[Fold] = ()
) -> list[tuple[str, float]]:
    """Name and score of the answers that cost nothing; errors are positive.

    Parameters
    ----------
    scoring : str
        The score that decides.
    codes : ndarray of shape (n,)
        Class of each item, or the numbers to be predicted.
    splits : sequence of (train, test)
        Needed for numbers.
    """
    if scoring == "r2":
        scores = [r2_score(codes[test], held) for test, held in _means(codes, splits)]
        return [(_ALWAYS_THE_MEAN, float(np.mean(scores)))]
    if scoring == "neg_mean_absolute_error":
        errors = [np.abs(codes[test] - held) for test, held in _means(codes, splits)]
        return [(_ALWAYS_THE_MEAN, float(np.mean([e.mean() for e in errors])))]
    return _of_classes(scoring, np.bincount(codes) / codes.size)


def _means(codes: Array, splits: Sequence[Fold]) -> list[tuple[np.ndarray, Array]]:
    """Test items of every split, and the mean of its training items for each."""
    return [
        (test, np.full(len(test), float(np.mean(codes[train]))))
        for train, test in splits
    ]


def _of_classes(scoring: str, shares: Array) -> list[tuple[str, float]]:
    chance = 1.0 / shares.size
    largest = float(shares.max())
    if scoring == "neg_log_loss":
        shares = shares[shares > 0]
        return [("shares of the classes", float(-(shares * np.log(shares)).sum()))]
    if scoring == "roc_auc":
        return [("chance", 0.5)]
    if scoring == "balanced_accuracy":
        return [("chance", chance)]
    answers = [("largest class", largest)]
    if largest - chance >= _ONE_LINE:
        answers.insert(0, ("chance", chance))
    return answers


def free_item_scores(scoring: str, codes: Array, splits: Sequence[Fold]) -> Array:
    """Minus the error of each number that is predicted by the mean; NaN: not tested.

    For the log-loss minus the loss of each item by the shares of the classes.
    """
    if scoring == "neg_log_loss":
        return np.log(np.bincount(codes) / codes.size)[codes]
    power = 2 if scoring == "r2" else 1
    total, tests = np.zeros((2, codes.size))
    for test, held in _means(codes, splits):
        total[test] -= np.abs(codes[test] - held) ** power
        tests[test] += 1
    with np.errstate(invalid="ignore"):
        return total / tests
