"""Labels from as few similarities as they need: bounds of the others are enough.

With bounds ``low <= K <= high`` of the similarities that were not computed, a decision
value ``K @ coef`` is at least ``low @ max(coef, 0) + high @ min(coef, 0)``. An item is
left as soon as no values in between give it another label; a label that depends on
rounding is not certain, so that the item's row is computed whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from krein.arrays import Array
from krein.estimators._training import pairs_of

__all__ = ["Early", "early_classes"]

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


@dataclass(frozen=True)
class _Bounded:
    """Decision values known up to bounds of similarities, for some of the items."""

    coef: Array  # (n_rows, m)
    base: Array  # (n_new, n_rows): what is added to K @ coef.T
    low: Array  # (n_new, m)
    high: Array

    def subset(self, items: np.ndarray) -> _Bounded:
        return _Bounded(self.coef, self.base[items], self.low[items], self.high[items])

    def least(self, coef: Array) -> Array:
        """Least value of ``K @ coef.T``; NaN where it has no bound."""
        return self.low @ np.maximum(coef, 0).T + self.high @ np.minimum(coef, 0).T

    def room(self) -> Array:
        """By item, more than rounding can change in any value or difference."""
        size = np.maximum(np.abs(self.low), np.abs(self.high)) @ np.abs(self.coef).T
        largest = (size + 2.0 * np.abs(self.base)).max(axis=1)
        terms = self.coef.shape[1] + 8
        return (_TIE + 8.0 * terms * np.finfo(float).eps) * largest


def early_classes(
    coef: Array,
    base: Array,
    bounds: tuple[Array, Array],
    evaluate: Callable[[np.ndarray, np.ndarray], Array],
    *,
    one_vs_one: bool,
) -> Early:
    """Evaluate similarities until the classes are certain.

    Parameters
    ----------
    coef : ndarray of shape (n_rows, m)
        Coefficients.
    base : ndarray of shape (n_new, n_rows)
        What is added to the products.
    bounds : tuple of two ndarrays of shape (n_new, m)
        Lower and upper bounds of the similarities.
    evaluate : callable
        ``evaluate(items, columns)`` returns the similarities of these.
    one_vs_one : bool
        Rows are for pairs of classes and vote.

    Returns
    -------
    Early
    """
    known = _Bounded(coef, base, *(np.array(end, dtype=float) for end in bounds))
    decide = _one_vs_one if one_vs_one else _sign if len(coef) == 1 else _one_vs_rest
    n, m = known.low.shape
    counts, classes = np.zeros(n, dtype=int), np.full(n, -1)
    left, columns = np.arange(n), np.arange(m)
    while True:
        some = known.subset(left)
        with np.errstate(all="ignore"):  # what has no bound decides nothing
            classes[left] = decide(some)
            order = columns[np.argsort(-_spread(some, columns), kind="stable")]
        left = left[classes[left] < 0]
        if not (left.size and columns.size):
            break
        step = max(_LEAST_COLUMNS, columns.size // _SHARE)
        now, columns = order[:step], order[step:]
        block = np.ix_(left, now)
        known.low[block] = known.high[block] = evaluate(left, now)
        counts[left] += now.size
    known.low[classes >= 0] = 0.0
    return Early(classes, known.low, counts)


def _spread(some: _Bounded, columns: np.ndarray) -> Array:
    """How much the columns can still move the values that are compared."""
    coef = some.coef[:, columns]
    weight = np.abs(coef[0]) if len(coef) == 1 else np.ptp(coef, axis=0)
    return weight * np.mean(some.high[:, columns] - some.low[:, columns], axis=0)


def _ends(some: _Bounded) -> tuple[np.ndarray, np.ndarray]:
    """Which values (n_new, n_rows) are certainly negative, and certainly positive."""
    room = some.room()[:, None]
    return (
        some.base - some.least(-some.coef) < -room,
        some.base + some.least(some.coef) > room,
    )


def _sign(some: _Bounded) -> np.ndarray:
    negative, positive = (end[:, 0] for end in _ends(some))
    return np.where(positive, 1, np.where(negative, 0, -1))


def _one_vs_rest(some: _Bounded) -> np.ndarray:
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


def _one_vs_one(some: _Bounded) -> np.ndarray:
    """The class with more certain votes than any other can get."""
    negative, positive = _ends(some)
    pairs = np.array(pairs_of(round((1 + (1 + 8 * len(some.coef)) ** 0.5) / 2)))
    n_classes = pairs.max() + 1
    first, second = (np.eye(n_classes)[side] for side in pairs.T)
    least = negative @ first + positive @ second
    most = ~positive @ first + ~negative @ second
    best = np.argmax(least, axis=1)
    items = np.arange(best.size)
    most[items, best] = -1.0
    return np.where(least[items, best] > most.max(axis=1), best, -1)
