"""Scores: their columns, their values, and honest tests of their differences.

scikit-learn's functions give the same scores (tested), but on the small test parts of
inner folds their checks of the input take several times as long as fitting an SVM.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from scipy.stats import t as student
from sklearn.metrics import r2_score

from krein.arrays import Array

# ----------------------------------------------------------------------------- columns


@dataclass(frozen=True)
class Column:
    """One column of `Comparison.table`.

    Attributes
    ----------
    key : str
        Its name in rows, JSON and data frames.
    title : str
        Its name for people.
    format : str
        How a value is shown.
    scoring : str
        Name as a `scoring`, where larger is always better; "" if it is no score.
    shown : bool
        Part of tables for people, not only of JSON and data frames.
    """

    key: str
    title: str
    format: str = ".3f"
    scoring: str = ""
    shown: bool = True

    def show(self, row: Mapping[str, Any]) -> str:
        """The value of this column as people read it."""
        return format(row[self.key], self.format)

    @property
    def larger_is_better(self) -> bool:
        """Of a score; errors and losses are negative as a `scoring`."""
        return not self.scoring.startswith("neg_")

    @property
    def bounds(self) -> tuple[float, float]:
        """What a score lies between."""
        if self.scoring == "r2":
            return (-math.inf, 1.0)
        return (0.0, 1.0) if self.larger_is_better else (0.0, math.inf)


_BESIDE = (
    Column("p_value_items", "p (items)", ".2g"),
    Column("p_value", "p", ".2g"),
    Column("fit_seconds", "fit s", ".2g"),
    Column("predict_seconds", "predict s", ".2g"),
    Column("search_seconds", "search s", ".2g", shown=False),
    Column("converged", "converged", ".0%", shown=False),
)
_AREA = Column("roc_auc", "AUC", scoring="roc_auc")
COLUMNS = (
    Column("accuracy", "accuracy", scoring="accuracy"),
    Column("balanced_accuracy", "balanced accuracy", scoring="balanced_accuracy"),
    Column("log_loss", "log-loss", scoring="neg_log_loss"),
    _AREA,
    *_BESIDE,
)
_ERROR = "mean_absolute_error"
REGRESSION = (
    Column("r2", "R^2", scoring="r2"),
    Column(_ERROR, "mean absolute error", ".4g", f"neg_{_ERROR}"),
    *_BESIDE,
)
NOVELTY = (_AREA, *_BESIDE)
FEWEST_SPLITS = 5  # with fewer no p-value over splits can be small
SCORES = {column.scoring: column for column in COLUMNS if column.scoring}
_ABOUT_P = {
    "p_value": "p: how often splits alone would make a difference to the best as large "
    "as this (corrected resampled t-test).",
    "p_value_items": "p (items), which decides: how often the choice of items alone "
    "would make such a difference, paired.",
}


def shown_columns(
    n_splits: int, columns: tuple[Column, ...] = COLUMNS, *, by_items: bool = False
) -> list[Column]:
    """Columns of a table for people; p-values only where they can be small."""
    hidden = {"p_value"} if n_splits < FEWEST_SPLITS else set()
    if not by_items:
        hidden.add("p_value_items")
    return [c for c in columns if c.shown and c.key not in hidden]


def about_p(n_splits: int, *, by_items: bool) -> str:
    """What the p-values of a table mean, or why there are none."""
    shown = {column.key for column in shown_columns(n_splits, by_items=by_items)}
    parts = [text for key, text in _ABOUT_P.items() if key in shown]
    if not parts:
        return "With so few splits no difference can be proven: p-values are left out."
    adjusted = "Adjusted by Holm for the number of methods; above 0.05 the two cannot "
    return " ".join([*parts, f"{adjusted}be told apart."])


# ------------------------------------------------------------------------------ values


def score(name: str, y: Array, predicted: Array, values: Array, proba: Any) -> float:
    """Return a score by its name; larger is better.

    Parameters
    ----------
    name : str
        `scoring` of a column.
    y, predicted : ndarray of shape (n,)
        True and predicted classes, or numbers.
    values : ndarray of shape (n, n_rows)
        Decision values, one row per class against the rest.
    proba : ndarray of shape (n, n_classes)
        Probabilities; only asked for by the log-loss.
    """
    if name == "accuracy":
        return float(np.mean(y == predicted))
    if name == "balanced_accuracy":
        return float(np.mean([np.mean(predicted[y == k] == k) for k in np.unique(y)]))
    if name == "neg_log_loss":
        eps = np.finfo(float).eps
        chosen = proba[np.arange(y.size), y]
        return float(np.mean(np.log(np.clip(chosen, eps, 1 - eps))))
    if name == "roc_auc":
        return _area(y, values)
    if name == "neg_mean_absolute_error":
        return -float(np.abs(y - predicted).mean())
    return float(r2_score(y, predicted))


def _area(codes: np.ndarray, values: Array) -> float:
    """Area under the curve; for several classes the mean of one against the rest."""
    classes = [1] if values.shape[1] == 1 else range(values.shape[1])
    areas = []
    for row, k in enumerate(classes):
        positive = codes == k
        p, q = int(positive.sum()), int((~positive).sum())
        if p and q:
            ranks = float(rankdata(values[:, row])[positive].sum())
            areas.append((ranks - p * (p + 1) / 2) / (p * q))
    return float(np.mean(areas)) if areas else float("nan")


# ------------------------------------------------------------------------------- tests

_OVERLAP = 1.25  # see `item_test`


def corrected_error(values: Array, test_share: float) -> float:
    """Standard error ``sqrt((1/J + test_share) s^2)`` of a mean over J splits.

    Their training sets overlap; `test_share` is n_test / n_train.
    """
    if values.size < 2:
        return 0.0
    return math.sqrt((1.0 / values.size + test_share) * float(values.var(ddof=1)))


def corrected_test(a: Array, b: Array, test_share: float) -> tuple[float, float]:
    """Corrected resampled t-test of the mean difference of paired scores.

    The variance of the mean over J splits is taken as (1/J + n_test/n_train) s^2
    (Nadeau and Bengio, 2003, eq. 21): the second term stands for the correlation that
    overlapping training sets bring, without which differences look far too certain.

    Parameters
    ----------
    a, b : ndarray of shape (J,)
        Scores of two methods on the same splits.
    test_share : float
        n_test / n_train.

    Returns
    -------
    tuple of float
        Mean of a - b and the two-sided p value.
    """
    difference = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    mean = float(difference.mean())
    if difference.size < 2:
        return mean, 1.0
    error = corrected_error(difference, test_share)
    if error == 0.0:
        return mean, 1.0 if mean == 0.0 else 0.0
    return mean, float(2.0 * student.sf(abs(mean) / error, difference.size - 1))


def item_test(
    difference: Array,
    weight: Array | None = None,
    groups: np.ndarray | None = None,
    *,
    test_share: float,
    folds: float,
    skill: float = 0.0,
) -> tuple[float, float]:
    """Test of the mean difference per item, items being the unit.

    Plain McNemar over pooled folds takes one training set for all: it tells equally
    good methods apart on up to a quarter of the data sets. The variance of the mean is
    therefore enlarged by ``1 + 1.25 * folds * test_share * (1 - skill / 3)``: the term
    of Nadeau and Bengio (2003) for overlapping training sets, a quarter on top for
    learners that change with every training set, and up to a third less where both
    methods are far better than an answer that costs nothing, because luck with
    a training set then decides less. Its estimate has as many degrees of freedom as
    there are items, where the test over splits has hardly any.
    ``benchmarks/ties.py`` prints the error rate of both tests.

    Parameters
    ----------
    difference : ndarray of shape (n,)
        Of each item, averaged over its tests.
    weight : ndarray of shape (n,), optional
        What an item counts; the same for all when not given. The sum is 1.
    groups : ndarray of shape (n,), optional
        Items of a group are one unit.
    test_share : float
        n_test / n_train.
    folds : float
        Test parts that cover all items once.
    skill : float
        Between 0 and 1: which part of the mistakes of an answer that costs nothing
        the two methods avoid, on average.

    Returns
    -------
    tuple of float
        Mean difference and the two-sided p value.
    """
    n = difference.size
    weight = np.full(n, 1.0 / n) if weight is None else weight
    mean = float(weight @ difference)
    parts = weight * (difference - mean)
    if groups is not None:
        units = np.unique(groups, return_inverse=True)[1].ravel()
        parts = np.bincount(units, parts).astype(float)
    if parts.size < 2:
        return mean, 1.0
    spread = float(parts @ parts) * parts.size / (parts.size - 1)
    luck = _OVERLAP * folds * test_share * (1.0 - min(max(skill, 0.0), 1.0) / 3.0)
    error = math.sqrt((1.0 + luck) * spread)
    if error <= 1e-12 * abs(mean):
        return mean, 1.0 if mean == 0.0 else 0.0
    return mean, float(2.0 * student.sf(abs(mean) / error, parts.size - 1))


def score_interval(
    values: Array,
    test_share: float,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> tuple[float, float]:
    """95 % interval of a mean score, with the same correction, inside bounds."""
    values = np.asarray(values, dtype=float)
    mean = float(values.mean())
    if values.size < 2:
        return mean, mean
    quantile = float(student.ppf(0.975, values.size - 1))
    half = corrected_error(values, test_share) * quantile
    return max(bounds[0], mean - half), min(bounds[1], mean + half)


def holm(p_values: list[float]) -> list[float]:
    """Holm's step-down adjustment for several comparisons."""
    order = np.argsort(p_values)
    adjusted = [1.0] * len(p_values)
    worst = 0.0
    for rank, index in enumerate(order):
        worst = max(worst, (len(p_values) - rank) * p_values[index])
        adjusted[index] = min(1.0, worst)
    return adjusted
