"""Which method to use: a rule that was measured by its regret, and its words.

Scores on a handful of splits differ by chance, so that taking the highest one is
a gamble. A default that does well on most data is therefore kept unless another method
beats it by more than one and a half standard errors: `average`, the mean of many
spectrum SVMs; where that was not run clip, or the plain SVM on a positive semidefinite
similarity; `profiles` on a table of hits. ``benchmarks/regret.py`` has the figures.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.comparison.methods import METHODS
from krein.comparison.scores import FEWEST_SPLITS, corrected_error

LEVEL = 0.05
_BEATEN = 1.5  # standard errors of a difference; see docs/decisions/0017
# Methods that do nothing about negative eigenvalues, and those that see no matrix.
_UNTREATED = {"svc", "neighbors", "features", "profiles", "gaussian", "thin_plate"}


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
    text = _words(comparison, chosen, default, equals, near if decided else None)
    text += _about_raw(comparison, chosen, said="svc" in near and decided)
    text = f"{warning} {text}".strip()
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
    registry: Mapping[str, Any] = METHODS,
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
    sign = 1.0 if comparison.deciding.larger_is_better else -1.0
    name, free = max(comparison.levels, key=lambda level: sign * level[1])
    if comparison.mean(chosen) > sign * free + 1e-12:
        return ""
    return (
        f"Nothing was learnt: {comparison.shown_mean(chosen)} by "
        f"{comparison.title(chosen)}, and {name} {free:.3f}. Are the labels in the "
        "order of the items, and does large mean alike?"
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
    few = len(comparison.splits) < FEWEST_SPLITS and not comparison.by_items
    if few or near is None:
        start = f"{splits} are too few to decide" if few else "No clear winner"
        others = _listed(comparison, [m for m in equals if m != best], "any other")
        highest = (
            f"{title(best)} is highest ({comparison.shown_mean(best)} over {splits})"
        )
        return f"{start}: {highest} but cannot be told from {others}. {use}."
    text = f"{use}: {mean}."
    if near:
        do = "does" if len(near) == 1 else "do"
        text += f" {_listed(comparison, near, 'All other methods')} {do} as well."
    if best != chosen:
        p_value = f"p = {comparison.p_value(best, chosen):.2g}"
        top = f"{abs(comparison.mean(best)):.3f}, {p_value}"
        text += f" The highest is {title(best)} ({top})."
    return text


def _listed(comparison: Any, methods: list[str], all_of_them: str) -> str:
    """Three titles, and how many more; all others are not listed."""
    if len(methods) == len(comparison.ranking) - 1 > 1:
        return all_of_them
    titles = [comparison.title(m) for m in methods]
    titles[3:] = [f"{len(titles) - 3} more"] if len(titles) > 3 else []
    return " and ".join([", ".join(titles[:-1]), titles[-1]] if titles[1:] else titles)


def _reason(chosen: str, default: str | None, best: str) -> str:
    """Why a method is recommended that is not the highest."""
    if chosen == best:
        return ""
    if default is None:
        return ", the simplest of those near the highest"
    if chosen != default:
        return ", which beats the usual default more surely"
    if chosen == "svc":
        return ", the simplest, which nothing here beats"
    return ", which holds up on most data and is not beaten here"


def _about_raw(comparison: Any, chosen: str, said: bool) -> str:
    """Say whether the fix matters; `said`: that the raw matrix does as well."""
    treated = [m for m in comparison.ranking if m not in _UNTREATED]
    if "svc" not in comparison.ranking or not treated:
        return ""
    raw = comparison.title("svc")
    best = treated[0] if comparison.indefinite else chosen
    gain = comparison.mean(best) - comparison.mean("svc")
    p_value = comparison.p_value(best, "svc") if gain > 0.0 else 1.0
    if not comparison.indefinite:
        text = " The similarity is positive semidefinite: there is nothing to fix"
        if chosen == "svc":
            return f"{text}."
        if p_value <= LEVEL:
            return f"{text}; what is gained over {raw} comes from elsewhere."
        return f"{text}, and {raw} is right as well."
    highest, plain = comparison.scores(comparison.best), comparison.scores("svc")
    if gain <= 0.0 or not beats(highest, plain, comparison.test_share):
        start = "" if said else f" {raw} is as good."
        return (
            f"{start} What is done about negative eigenvalues makes no difference that "
            "these data can show."
        )
    behind = f" {raw} is behind {comparison.title(best)} by {gain:.3f}"
    if p_value > LEVEL:
        return f"{behind}; the data are too few to be sure that the fix matters."
    return f"{behind} (p = {p_value:.2g}): the spectrum fix matters."
