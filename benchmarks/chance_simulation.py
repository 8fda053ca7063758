"""Methods that are equal by construction, with fresh items that tell the truth."""

from __future__ import annotations

import numpy as np

from krein.comparison.comparison import Comparison
from krein.comparison.contenders import CONTENDERS
from krein.comparison.problem import Problem
from krein.selection.folds import outer_splits
from krein.selection.scores import log_losses, score
from krein.training import Classes

FRESH = 3000  # items with which the truth is measured
NAMES = [name for name in CONTENDERS if name != "balanced"]  # as many as are needed
SCORES = ("accuracy", "balanced_accuracy", "neg_log_loss", "roc_auc")


def ridge_values(X, y, new, penalty=1.0):
    """Decision values of a ridge regression on signs."""
    mean, sign = X.mean(axis=0), 2.0 * y - 1.0
    A = X - mean
    gram = A.T @ A + penalty * np.eye(X.shape[1])
    slopes = np.linalg.solve(gram, A.T @ (sign - sign.mean()))
    return (new - mean) @ slopes + sign.mean()


def neighbour_values(X, y, new):
    """Three nearest items: changes with every training set."""
    squared = (new**2).sum(1)[:, None] - 2.0 * new @ X.T + (X**2).sum(1)
    near = np.argpartition(squared, 3, axis=1)[:, :3]
    return (2.0 * y[near] - 1.0).mean(axis=1)


LEARNERS = {"ridge": ridge_values, "neighbours": neighbour_values}


def labels_of(rng, n, rare):
    """Two classes; the share of the rare one is `rare`."""
    y = np.zeros(n, dtype=int)
    y[: max(2, round(rare * n))] = 1
    return rng.permutation(y)


class Simulation:
    """Methods that see different blocks of features; blocks of equal signal are equal.

    A comparison is built of what they predict, as `compare` builds it, so that the
    verdict and all its numbers are those that a user reads.
    """

    def __init__(self, rng, n, signals, *, learner="ridge", rare=0.5, groups=1):
        self.learner, self.signals = LEARNERS[learner], signals
        y = labels_of(rng, n // groups, rare)
        self.y = np.repeat(y, groups)
        self.fresh = labels_of(rng, FRESH, rare)
        self.groups = np.repeat(np.arange(n // groups), groups) if groups > 1 else None
        self.blocks = [
            (self._block(rng, y, s, groups), self._block(rng, self.fresh, s, 1))
            for s in signals
        ]
        target = Classes(self.y, 2)
        self.splits = outer_splits(target, None, self.groups, 0)
        self.problem = Problem(
            np.diag(np.linspace(-1.0, 1.0, n)),
            target,
            np.array(["a", "b"]),
            groups=self.groups,
        )

    def _block(self, rng, y, signal, groups):
        """Six features; items of a group are nearly copies."""
        X = rng.standard_normal((y.size, 6))
        X[:, 0] += signal * (2 * y - 1)
        X = np.repeat(X, groups, axis=0)
        return X + (0.3 * rng.standard_normal(X.shape) if groups > 1 else 0.0)

    def comparison(self, scoring="accuracy"):
        """Return what `compare` would."""
        records = [
            self._record(name, X, s, train, test)
            for s, (train, test) in enumerate(self.splits)
            for name, (X, _) in zip(NAMES, self.blocks, strict=False)
        ]
        names = tuple(NAMES[: len(self.blocks)])
        return Comparison(
            tuple(records), names, scoring, self.problem, tuple(self.splits)
        )

    def _record(self, name, X, split, train, test):
        values = self.learner(X[train], self.y[train], X[test])
        scores, predicted, losses = judged(values, self.y[test])
        return {
            "method": name,
            "split": split,
            "params": {},
            "scores": scores,
            "predicted": predicted.tolist(),
            "loss": losses.tolist(),
            "fit_seconds": 0.0,
            "predict_seconds": 0.0,
            "search_seconds": 0.0,
            "converged": True,
        }

    def truth(self, m, scoring="accuracy"):
        """Mean score of method m on fresh items, by the models of all splits."""
        parts = [train for train, _ in self.splits]
        return float(np.mean([self._fresh_score(m, p, scoring) for p in parts]))

    def truth_of_all(self, m, scoring="accuracy"):
        """Score of method m on fresh items, by the model of all items."""
        return self._fresh_score(m, np.arange(self.y.size), scoring)

    def _fresh_score(self, m, train, scoring):
        X, new = self.blocks[m]
        values = self.learner(X[train], self.y[train], new)
        if scoring == "accuracy":  # most of the time would go into the others
            return float(np.mean((values > 0) == self.fresh))
        return judged(values, self.fresh)[0][scoring]


def judged(values, y):
    """Scores, predictions and losses of decision values."""
    predicted = (values > 0).astype(int)
    positive = 1.0 / (1.0 + np.exp(-2.0 * values))
    proba = np.column_stack([1.0 - positive, positive])
    said = predicted, values[:, None], proba
    scores = {name: score(name, y, *said) for name in SCORES}
    return scores, predicted, log_losses(y, proba)
