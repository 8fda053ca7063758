"""Labels from as few similarities as they seem to need: stages with known errors.

The first prototypes of a pursuit give decision values up to an error. How large it is
is seen on training items that the expansion was not fitted on (folds of rows; the model
itself is not fitted again). An item is left at the first stage where what decides its
label is larger than a multiple of that error; one that never is has its whole row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from krein.arrays import Array
from krein.estimators._early import pairs_of_rows
from krein.estimators._training import voted_labels
from krein.solvers.prototypes import Expansion, nested_expansions

__all__ = ["ByStages", "Stages", "calibrated"]

# Each stage has 1.3 times the prototypes of the one before, from 2 % of the items to
# half of them: with steps of 1.5 or 2 a tenth to a fifth more labels change.
_SIZES = 0.02 * 1.3 ** np.arange(13)
_FOLDS = 10
# A share of few items is itself uncertain: it is kept by two standard errors.
_STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class Stages:
    """Expansions on more and more prototypes, and when they are enough.

    Attributes
    ----------
    expansions : list of Expansion
        Each holds the prototypes of the one before.
    thresholds : ndarray of shape (n_stages,)
        What decides a label must be larger than this.
    share : float
        Expected share of the similarities.
    changed : float
        Expected share of the labels that are not those of the model.
    """

    expansions: list[Expansion]
    thresholds: Array
    share: float
    changed: float


@dataclass
class ByStages:
    """A class is settled when a stage is clear about it; a rule of `early_classes`.

    Attributes
    ----------
    coef : ndarray of shape (n_stages, n_rows, m)
        Coefficients, zero for items that are no prototypes of the stage.
    base : ndarray of shape (n_stages, n_new, n_rows)
        What is added to the products.
    thresholds : ndarray of shape (n_stages,)
        As in `Stages`.
    labels : callable
        Class numbers of decision values.
    one_vs_one : bool
        Rows are for pairs of classes and vote.
    """

    coef: Array
    base: Array
    thresholds: Array
    labels: Callable[[Array], np.ndarray]
    one_vs_one: bool
    similarities: Array = field(init=False)
    stage: int = -1

    def __post_init__(self) -> None:
        self.similarities = np.zeros((self.base.shape[1], self.coef.shape[2]))

    def fill(self, items: np.ndarray, columns: np.ndarray, values: Array) -> None:
        """Take note of similarities."""
        self.similarities[np.ix_(items, columns)] = values

    def classes(self, items: np.ndarray) -> np.ndarray:
        """Class numbers where the stage is clear, -1 elsewhere."""
        if not 0 <= self.stage < len(self.thresholds):
            return np.full(items.size, -1)
        values = self.similarities[items] @ self.coef[self.stage].T
        values += self.base[self.stage, items]
        clear = np.sum(deciding(values, self.one_vs_one) * values, axis=1)
        return np.where(clear > self.thresholds[self.stage], self.labels(values), -1)

    def columns(self, items: np.ndarray, unknown: np.ndarray) -> np.ndarray:
        """Prototypes of the next stage; all others after the last one."""
        self.stage += 1
        if self.stage == len(self.thresholds):
            return unknown
        used = np.any(self.coef[self.stage] != 0.0, axis=0)
        return unknown[used[unknown]]


def deciding(values: Array, one_vs_one: bool) -> Array:
    """Signs whose sum with the values of an item is what its label depends on.

    The value itself for two classes, the difference of the two largest for more; the
    least value in favour of the winner where pairs vote, negative where it lost a pair.

    Parameters
    ----------
    values : ndarray of shape (n_items, n_rows)
        Decision values.
    one_vs_one : bool
        Rows are for pairs of classes and vote.

    Returns
    -------
    ndarray of shape (n_items, n_rows)
        Entries 1, 0 and -1.
    """
    if values.shape[1] == 1:
        return np.sign(values)
    signs, items = np.zeros_like(values), np.arange(values.shape[0])
    if not one_vs_one:
        order = np.argsort(values, axis=1)
        signs[items, order[:, -1]], signs[items, order[:, -2]] = 1.0, -1.0
        return signs
    pairs = pairs_of_rows(values.shape[1])
    winner = voted_labels(values, np.arange(pairs.max() + 1))[:, None]
    favour = (pairs[:, 1] == winner) * 1.0 - (pairs[:, 0] == winner)
    weakest = np.argmin(np.where(favour == 0.0, np.inf, favour * values), axis=1)
    signs[items, weakest] = favour[items, weakest]
    return signs


def calibrated(
    columns: Array,
    outputs: Array,
    further: Array,
    *,
    one_vs_one: bool,
    share: float | None = None,
    change: float | None = None,
) -> Stages:
    """Find stages and thresholds for a share of similarities, or of changed labels.

    Parameters
    ----------
    columns : ndarray of shape (n_items, m)
        Similarities of training items, as if they were new.
    outputs : ndarray of shape (n_items, n_rows)
        What the model makes of them.
    further : ndarray of shape (n_items, n_rows)
        What does not depend on similarities, to be added.
    one_vs_one : bool
        Rows are for pairs of classes and vote.
    share, change : float
        Largest mean share of similarities, or of labels that change; one of them.

    Returns
    -------
    Stages
    """
    sizes = sorted({max(1, round(size * columns.shape[1])) for size in _SIZES})
    off = _held_out_values(columns, outputs, sizes) - outputs
    values = outputs + further + off
    signs = np.array([deciding(stage, one_vs_one) for stage in values])
    clear, errors = np.sum(signs * values, axis=2), np.sum(signs * off, axis=2)
    unit = _sizes_of(errors, np.abs(values).max())
    found = nested_expansions(columns, outputs, sizes)
    shares = np.array([*(stage.chosen.size for stage in found), columns.shape[1]])
    costs = _Costs(
        clear / unit[:, None], errors / unit[:, None], shares / columns.shape[1]
    )
    factor = costs.factor(share, change)
    used, lost = costs.by_item(factor)
    return Stages(found, factor * unit, float(used.mean()), float(lost.mean()))


def _held_out_values(columns: Array, outputs: Array, sizes: list[int]) -> Array:
    """Values of all stages (n_stages, n_items, n_rows), fitted on other items."""
    fold = np.random.default_rng(0).permutation(outputs.shape[0]) % _FOLDS
    values = np.empty((len(sizes), *outputs.shape))
    for part in np.unique(fold):
        out = fold == part
        fitted = nested_expansions(columns[~out], outputs[~out], sizes)
        values[:, out] = [stage.values(columns[out]) for stage in fitted]
    return values


def _sizes_of(errors: Array, height: float) -> Array:
    """Root mean square by stage; what is rounding for these values is no error."""
    height = max(height, np.finfo(float).tiny)
    size = np.sqrt(np.mean((errors / height) ** 2, axis=1))
    return height * np.maximum(size, np.finfo(float).eps)


@dataclass(frozen=True)
class _Costs:
    """What a multiple of the errors costs: similarities, and labels."""

    clear: Array  # (n_stages, n_items): what decides, in units of the stage's error
    errors: Array  # (n_stages, n_items): by how much it is too large
    shares: Array  # (n_stages + 1,): of the similarities; the last is all of them

    @cached_property
    def chances(self) -> Array:
        """Of another label (n_stages + 1, n_items): any item can have any's error.

        Labels that did change are whole numbers; of few items they say too little.
        """
        n = self.clear.shape[1]
        below = [
            np.searchsorted(np.sort(errors), clear, side="right")
            for errors, clear in zip(self.errors, self.clear, strict=True)
        ]
        return np.vstack([1.0 - np.array(below) / n, np.zeros(n)])

    def by_item(self, factor: float) -> tuple[Array, Array]:
        """Shares of the similarities, and chances of another label."""
        enough = np.vstack([self.clear > factor, np.ones(self.clear.shape[1], bool)])
        stage = np.argmax(enough, axis=0)
        return self.shares[stage], self.chances[stage, np.arange(stage.size)]

    def factor(self, share: float | None, change: float | None) -> float:
        """Return the largest that keeps `share`, or the smallest for `change`."""
        above = np.append(self.clear[self.clear > 0.0], 0.0)
        tried = np.unique([*np.quantile(above, np.linspace(0, 1, 500)), np.inf])
        used, lost = np.array([_upper_means(self.by_item(f)) for f in tried]).T
        if share is None:
            return float(np.min(tried[lost <= change]))
        if used[0] > share:
            raise ValueError(
                f"share={share:g} is too small: the first stage takes {used[0]:.2g}"
            )
        return float(np.max(tried[used <= share]))


def _upper_means(parts: tuple[Array, Array]) -> list[float]:
    return [p.mean() + _STANDARD_ERRORS * p.std() / np.sqrt(p.size) for p in parts]
