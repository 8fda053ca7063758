"""Labels from as few similarities as they need: bounds of the others are enough.

With bounds ``low <= K <= high`` of the similarities that were not computed, a decision
value ``K @ coef`` is at least ``low @ max(coef, 0) + high @ min(coef, 0)``. An item is
left as soon as no values in between give it another label; a label that depends on
rounding is not certain, so that the item's row is computed whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from krein.arrays import Array
from krein.estimators._training import pairs_of

__all__ = ["ByBounds", "Early", "Rule", "early_classes", "pairs_of_rows"]

# Between two looks a sixth of the columns left is evaluated: about ten calls of the
# kernel, and within one percent of the similarities of a look at every fourth column.
_LEAST_COLUMNS = 4
_SHARE = 6
# Rows of several classes within 1e-12 of each other are a tie (`as_labels`).
_TIE = 2e-12


@dataclass(frozen=True)
class Early:
    """What was found.

    Attributes
    ----------
    classes : ndarray of shape (n_new,)
        Class numbers, -1 where all similarities were needed.
    similarities : ndarray of shape (n_new, m)
        Whole rows where the class is -1, zero in the others.
    counts : ndarray of shape (n_new,)
        Similarities that were computed, by item.
    """

    classes: np.ndarray
    similarities: Array
    counts: np.ndarray


class Rule(Protocol):
    """What is known of the similarities of new items, and what follows from it."""

    @property
    def similarities(self) -> Array:
        """Those that are known (n_new, m)."""

    def fill(self, items: np.ndarray, columns: np.ndarray, values: Array) -> None:
        """Take note of similarities."""

    def classes(self, items: np.ndarray) -> np.ndarray:
        """Class numbers of these items, -1 where they are open."""

    def columns(self, items: np.ndarray, unknown: np.ndarray) -> np.ndarray:
        """Which of the unknown columns come next for these items."""


def early_classes(
    rule: Rule, evaluate: Callable[[np.ndarray, np.ndarray], Array]
) -> Early:
    """Evaluate similarities of the open items until a rule has their classes.

    Parameters
    ----------
    rule : Rule
        Says when a class is settled, and which columns are looked at next.
    evaluate : callable
        ``evaluate(items, columns)`` returns the similarities of these.

    Returns
    -------
    Early
    """
    n, m = rule.similarities.shape
    counts, classes = np.zeros(n, dtype=int), np.full(n, -1)
    left, unknown = np.arange(n), np.arange(m)
    while True:
        classes[left] = rule.classes(left)
        left = left[classes[left] < 0]
        if not (left.size and unknown.size):
            break
        now = rule.columns(left, unknown)
        if now.size:
            rule.fill(left, now, evaluate(left, now))
        counts[left] += now.size
        unknown = np.setdiff1d(unknown, now)
    whole = np.where(classes[:, None] < 0, rule.similarities, 0.0)
    return Early(classes, whole, counts)


@dataclass(frozen=True)
class ByBounds:
    """A class is settled when no similarities inside of bounds give another one.

    Attributes
    ----------
    coef : ndarray of shape (n_rows, m)
        Coefficients.
    base : ndarray of shape (n_new, n_rows)
        What is added to the products.
    low, high : ndarray of shape (n_new, m)
        Bounds of the similarities, which become equal as these are known.
    one_vs_one : bool
        Rows are for pairs of classes and vote.
    """

    coef: Array
    base: Array
    low: Array
    high: Array
    one_vs_one: bool

    @property
    def similarities(self) -> Array:
        return self.low

    def fill(self, items: np.ndarray, columns: np.ndarray, values: Array) -> None:
        block = np.ix_(items, columns)
        self.low[block] = self.high[block] = values

    def classes(self, items: np.ndarray) -> np.ndarray:
        decide = _sign if len(self.coef) == 1 else _one_vs_rest
        with np.errstate(all="ignore"):  # what has no bound decides nothing
            return (_one_vs_one if self.one_vs_one else decide)(self.subset(items))

    def columns(self, items: np.ndarray, unknown: np.ndarray) -> np.ndarray:
        """Those that can move the values that are compared most."""
        coef, block = self.coef[:, unknown], np.ix_(items, unknown)
        weight = np.abs(coef[0]) if len(coef) == 1 else np.ptp(coef, axis=0)
        with np.errstate(all="ignore"):
            spread = weight * np.mean(self.high[block] - self.low[block], axis=0)
        step = max(_LEAST_COLUMNS, unknown.size // _SHARE)
        return unknown[np.argsort(-spread, kind="stable")[:step]]

    def subset(self, items: np.ndarray) -> ByBounds:
        """The same for some of the items."""
        some = self.base[items], self.low[items], self.high[items]
        return ByBounds(self.coef, *some, self.one_vs_one)

    def least(self, coef: Array) -> Array:
        """Least value of ``K @ coef.T``; NaN where it has no bound."""
        return self.low @ np.maximum(coef, 0).T + self.high @ np.minimum(coef, 0).T

    def room(self) -> Array:
        """By item, more than rounding can change in any value or difference."""
        size = np.maximum(np.abs(self.low), np.abs(self.high)) @ np.abs(self.coef).T
        largest = (size + 2.0 * np.abs(self.base)).max(axis=1)
        terms = self.coef.shape[1] + 8
        return (_TIE + 8.0 * terms * np.finfo(float).eps) * largest


def _ends(some: ByBounds) -> tuple[np.ndarray, np.ndarray]:
    """Which values (n_new, n_rows) are certainly negative, and certainly positive."""
    room = some.room()[:, None]
    return (
        some.base - some.least(-some.coef) < -room,
        some.base + some.least(some.coef) > room,
    )


def _sign(some: ByBounds) -> np.ndarray:
    negative, positive = (end[:, 0] for end in _ends(some))
    return np.where(positive, 1, np.where(negative, 0, -1))


def _one_vs_rest(some: ByBounds) -> np.ndarray:
    """The row that is above all others whatever the open similarities are.

    Differences of rows are bounded, not rows: the similarities are the same in both.
    """
    middle = some.least(some.coef) - some.least(-some.coef)
    leading, room = np.argmax(2.0 * some.base + middle, axis=1), some.room()
    found = np.full(leading.size, -1)
    for k in np.unique(leading):
        items = np.flatnonzero(leading == k)
        part, others = some.subset(items), np.arange(len(some.coef)) != k
        least = part.least(some.coef[k] - some.coef[others])
        least += part.base[:, [k]] - part.base[:, others]
        found[items[np.all(least > room[items, None], axis=1)]] = k
    return found


def _one_vs_one(some: ByBounds) -> np.ndarray:
    """The class with more certain votes than any other can get."""
    negative, positive = _ends(some)
    pairs = pairs_of_rows(len(some.coef))
    n_classes = pairs.max() + 1
    first, second = (np.eye(n_classes)[side] for side in pairs.T)
    least = negative @ first + positive @ second
    most = ~positive @ first + ~negative @ second
    best = np.argmax(least, axis=1)
    items = np.arange(best.size)
    most[items, best] = -1.0
    return np.where(least[items, best] > most.max(axis=1), best, -1)


def pairs_of_rows(n_rows: int) -> np.ndarray:
    """Return the pairs of classes (n_rows, 2) of a one-vs-one model."""
    return np.array(pairs_of(round((1 + (1 + 8 * n_rows) ** 0.5) / 2)))
