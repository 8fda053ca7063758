"""What every item says of a method: the units of the tests and of the intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.comparison.problem import Problem
from krein.selection.folds import Fold

Records = Sequence[dict[str, Any]]  # of one method, by split


@dataclass(frozen=True)
class ItemScores:
    """Scores item by item, and how the items were tested.

    Attributes
    ----------
    problem : Problem
        The data.
    splits : sequence of (train, test)
        Index pairs.
    scoring : str
        The score that decides.
    """

    problem: Problem
    splits: Sequence[Fold]
    scoring: str

    def of(self, records: Records) -> Array | None:
        """Share of its tests in which each item was recognised; minus its error, loss.

        NaN for items that were never tested; None where items do not add up to the
        score.
        """
        if self.scoring == "roc_auc":
            return None
        if self.scoring == "neg_log_loss":
            known = all("loss" in record for record in records)
            return self._mean(records, _minus_loss) if known else None
        if self.scoring == "r2":
            return self._mean(records, _minus_squared_error)
        if self.scoring == "neg_mean_absolute_error":
            return self._mean(records, _minus_error)
        return self.recognised(records)

    def recognised(self, records: Records) -> Array:
        """Share of its tests in which each item was recognised."""
        return self._mean(records, lambda record, y: y == record["predicted"])

    def _mean(
        self, records: Records, value: Callable[[dict[str, Any], np.ndarray], Array]
    ) -> Array:
        """Mean of a value over the tests of each item; NaN where there was none."""
        total, tests = np.zeros((2, self.problem.codes.size))
        for record in records:
            test = self.splits[record["split"]][1]
            total[test] += value(record, self.problem.codes[test])
            tests[test] += 1
        with np.errstate(invalid="ignore"):
            return total / tests

    def design(self, tested: np.ndarray) -> dict[str, Any]:
        """What the tests of `significance` need to know of the items that were tested.

        Parameters
        ----------
        tested : ndarray of bool of shape (n,)
            Whether an item was in a test part.
        """
        groups = self.problem.groups
        weight = self._weights()[tested]
        sizes = [test.size for _, test in self.splits]
        return {
            "weight": weight / weight.sum(),
            "groups": None if groups is None else groups[tested],
            "test_share": self.test_share,
            "folds": float(tested.sum() / np.mean(sizes)),
        }

    @property
    def test_share(self) -> float:
        """n_test / n_train, which the corrected test needs."""
        return float(np.mean([test.size / train.size for train, test in self.splits]))

    def _weights(self) -> Array:
        """What an item counts in the score."""
        if self.scoring != "balanced_accuracy":
            return np.ones(self.problem.codes.size)
        return 1.0 / np.bincount(self.problem.codes)[self.problem.codes]


def _minus_loss(record: dict[str, Any], y: np.ndarray) -> Array:
    return -np.asarray(record["loss"], dtype=float)


def _minus_squared_error(record: dict[str, Any], y: np.ndarray) -> Array:
    return -((y - record["predicted"]) ** 2)


def _minus_error(record: dict[str, Any], y: np.ndarray) -> Array:
    return -np.abs(y - record["predicted"])
