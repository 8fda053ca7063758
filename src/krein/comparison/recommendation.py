"""Which method to use: a rule that was measured by its regret, its words, its tests.

Scores on a handful of splits differ by chance, so that taking the highest one is
a gamble. A default that does well on most data is therefore kept unless another method
beats it by more than one and a half standard errors: `average`, the mean of many
spectrum SVMs; where that was not run clip, or the plain SVM on a positive semidefinite
similarity; `profiles` on a table of hits. ``benchmarks/regret.py`` has the figures.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from krein.arrays import Array
from krein.comparison.contenders import CONTENDERS

LEVEL = 0.05
_BEATEN = 1.5  # standard errors of a difference; see docs/decisions/0017
# Methods that do nothing about negative eigenvalues, and those that see no matrix.
_UNTREATED = {"svc", "neighbors", "features", "profiles"}


@dataclass(frozen=True)
class Recommendation:
    """Which method to use, and why.

    Attributes
    ----------
    method : str
        The default, or what beats it by more than 1.5 corrected standard errors.
    clear : bool
        False when no method is clearly better than all others.
    equals : tuple of str
        Methods that cannot be told from the best one, best first.
    text : str
        The recommendation in words.
    useful : bool
        False when the method is no better than an answer that costs nothing, such as
        the largest class.
    decided : bool
        False when these data cannot tell any two methods apart, although their scores
        differ by more than a standard error: "no clear winner".
    """

    method: str
    clear: bool
    equals: tuple[str, ...]
    text: str
    useful: bool = True
    decided: bool = True


def recommend(comparison: Any) -> Recommendation:
    """Choose a method and say why.

    Parameters
    ----------
    comparison : Comparison
        Scores of methods on the same splits.
    """
    p_values = comparison.p_values  # there are none without a completed method
    equals = tuple(m for m in comparison.ranking if p_values[m] > LEVEL)
    scores = {m: comparison.scores(m) for m in comparison.ranking}
    # Whether clip may differ from the plain SVM; not asked where that was not run.
    indefinite = "svc" not in scores or comparison.indefinite
    default = default_method(scores, indefinite=indefinite, hits=comparison.of_hits)
    share = comparison.test_share
    chosen = choose(scores, share, default, comparison.registry)
    lower = [m for m in equals if beats(scores[chosen], scores[m], share)]
    decided = len(equals) < len(scores) or not lower
    near = [m for m in equals if m not in (chosen, *lower) and comparison.skill(m) > 0]
    warning = _nothing_learnt(comparison, chosen)
    told = near if decided else None
    text = warning or _words(comparison, chosen, default, equals, told)
    if not indefinite:
        text += " The similarity is positive semidefinite: there is nothing to fix."
    elif not warning:
        text += _about_raw(comparison, scores)
    return Recommendation(chosen, len(equals) == 1, equals, text, not warning, decided)


def default_method(
    methods: Collection[str], *, indefinite: bool, hits: bool = False
) -> str | None:
    """What is kept unless something beats it, of the methods that were run.

    Without negative eigenvalues clip is the plain SVM at the cost of an
    eigendecomposition; a table of hits has a default of its own.
    """
    robust = ["average", "clip" if indefinite else "svc"]
    return next((m for m in ["profiles"] * hits + robust if m in methods), None)


def choose(
    scores: Mapping[str, Array],
    share: float,
    default: str | None,
    registry: Mapping[str, Any] = CONTENDERS,
) -> str:
    """Return the default, or the best of the methods that beat it.

    Parameters
    ----------
    scores : mapping of str to ndarray of shape (n_splits,)
        By method, on the same splits; larger is better.
    share : float
        n_test / n_train.
    default : str or None
        Of `default_method`.
    registry : mapping
        The methods by name.
    """
    if default is None:
        best = max(scores, key=lambda m: float(scores[m].mean()))
        near = [m for m in scores if not beats(scores[best], scores[m], share)]
        return min(near, key=lambda m: registry[m].simplicity)
    better = [m for m in scores if beats(scores[m], scores[default], share, _BEATEN)]
    order = {m: (-float(scores[m].mean()), registry[m].simplicity) for m in better}
    return min(better, key=lambda m: order[m], default=default)


def beats(scores: Array, others: Array, share: float, errors: float = 1.0) -> bool:
    """Whether a mean is higher by more than some standard errors of the difference."""
    difference = scores - others
    least = errors * corrected_error(difference, share)
    return float(difference.mean()) > least + 1e-12


def free_scores(scoring: str, codes: np.ndarray) -> list[tuple[str, float]]:
    """Scores that cost nothing: chance, and always naming the largest class."""
    if scoring in ("r2", "neg_mean_absolute_error"):
        error = float(np.abs(codes - codes.mean()).mean())
        return [("always the mean", 0.0 if scoring == "r2" else error)]
    shares = np.bincount(codes) / codes.size
    chance, largest = 1.0 / shares.size, float(shares.max())
    if scoring == "neg_log_loss":
        shares = shares[shares > 0]
        return [("shares of the classes", float(-(shares * np.log(shares)).sum()))]
    if scoring == "accuracy":
        # Two lines on the same spot say less than one.
        known = [("chance", chance)] if largest - chance >= 0.02 else []
        return [*known, ("largest class", largest)]
    return [("chance", 0.5 if scoring == "roc_auc" else chance)]


# ------------------------------------------------------------------------------- words


def _nothing_learnt(comparison: Any, chosen: str) -> str:
    """Say that the chosen method is no better than an answer that costs nothing."""
    sign = comparison.deciding.sign
    name, free = max(comparison.levels, key=lambda level: sign * level[1])
    if comparison.mean(chosen) > sign * free + 1e-12:
        return ""
    return (
        f"Nothing was learnt: {comparison.shown_mean(chosen)} by "
        f"{comparison.title(chosen)}, and {name} {free:.3f}. Are the labels in the "
        "order of the items, and does a large number mean similar? Until "
        "that is settled, no method can be recommended."
    )


def _words(
    comparison: Any,
    chosen: str,
    default: str | None,
    equals: tuple[str, ...],
    near: list[str] | None,
) -> str:
    """What to use, and which methods do as well (None: no two can be told apart)."""
    splits = f"{len(comparison.splits)} splits"
    best, title = comparison.best, comparison.title
    mean = f"{comparison.shown_mean(chosen)} over {splits}"
    if len(comparison.ranking) == 1:
        return f"Only {title(chosen)} was run: {mean}."
    if equals == (chosen,):
        better = "is clearly better than that of every other method"
        return f"Use {title(chosen)}: its {mean} {better}."
    use = f"Use {title(chosen)}{_reason(chosen, default, best)}"
    few = not comparison.can_differ
    if few or near is None:
        start = f"{splits} are too few to decide" if few else "No clear winner"
        top = f"{title(best)} is highest ({comparison.shown_mean(best)} over {splits})"
        return f"{start}: {top} but not clearly better than any other. {use}."
    text = f"{use}: {mean}.{_as_well([title(m) for m in near], comparison)}"
    if comparison.shown(best) != comparison.shown(chosen):
        top = f"{comparison.shown(best)}, p = {comparison.p_value(best, chosen):.2g}"
        text += f" The highest is {title(best)} ({top})."
    return text


def _reason(chosen: str, default: str | None, best: str) -> str:
    """Why a method is recommended that is not the highest."""
    other = ", which clearly beats the usual default"
    if default is None:
        other = ", the simplest of those near the highest"
    usual = ", which does well on most data and is not beaten here"
    return {default: usual, best: ""}.get(chosen, other)


def _as_well(titles: list[str], comparison: Any) -> str:
    """Say which methods do as well: three, and how many more, or all others."""
    if len(titles) == len(comparison.ranking) - 1 > 1:
        return " All other methods do as well."
    if len(titles) < 2:
        return f" {titles[0]} does as well." if titles else ""
    titles[3:] = [f"{len(titles) - 3} more"] if len(titles) > 3 else []
    return f" {', '.join(titles[:-1])} and {titles[-1]} do as well."


def _about_raw(comparison: Any, scores: Mapping[str, Array]) -> str:
    """Say whether it matters how negative eigenvalues are treated."""
    treated = next((m for m in scores if m not in _UNTREATED), None)
    if "svc" not in scores or treated is None:
        return ""
    if not beats(scores[treated], scores["svc"], comparison.test_share):
        return (
            " How negative eigenvalues are treated makes no difference that these data "
            "can show."
        )
    gain = comparison.mean(treated) - comparison.mean("svc")
    p_value = comparison.p_value(treated, "svc")
    sure = f" (p = {p_value:.2g}): the spectrum fix matters."
    if p_value > LEVEL:
        sure = "; the data are too few to be sure that the fix matters."
    titles = comparison.title("svc"), comparison.title(treated)
    return " {} is behind {} by {:.3f}{}".format(*titles, gain, sure)


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
    mean, error = float(difference.mean()), corrected_error(difference, test_share)
    return mean, _p_value(mean, error, difference.size - 1)


def _p_value(mean: float, error: float, degrees: int) -> float:
    """Two-sided p value of a mean by Student's distribution."""
    if degrees < 1:
        return 1.0
    if error <= 1e-12 * abs(mean):
        return 1.0 if mean == 0.0 else 0.0
    return float(2.0 * student.sf(abs(mean) / error, degrees))


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
    spread = float(parts @ parts) * parts.size / max(parts.size - 1, 1)
    luck = _OVERLAP * folds * test_share * (1.0 - min(max(skill, 0.0), 1.0) / 3.0)
    return mean, _p_value(mean, math.sqrt((1.0 + luck) * spread), parts.size - 1)


def score_interval(
    values: Array, test_share: float, bounds: tuple[float, float]
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
    order, count = np.argsort(p_values), len(p_values)
    larger = np.maximum.accumulate((count - np.arange(count)) * np.sort(p_values))
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(larger, 1.0)
    return adjusted.tolist()
