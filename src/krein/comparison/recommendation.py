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
from krein.comparison.scores import FEWEST_SPLITS, corrected_error, corrected_test

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
    share = comparison.test_share
    chosen = choose(
        scores,
        share,
        indefinite=_is_indefinite(comparison),
        hits=comparison.of_hits,
        registry=comparison.registry,
    )
    lower = [m for m in equals if beats(scores[chosen], scores[m], share)]
    decided = len(equals) < len(scores) or not lower
    warning = _nothing_learnt(comparison, chosen)
    near = [m for m in equals if m != chosen and m not in lower]
    text = _words(comparison, equals, chosen, near, decided)
    text += _about_raw(comparison, chosen, "svc" in near and decided)
    return Recommendation(
        chosen,
        len(equals) == 1,
        equals,
        f"{warning} {text}".strip(),
        not warning,
        decided,
    )


def choose(
    scores: Mapping[str, Array],
    share: float,
    *,
    indefinite: bool,
    hits: bool = False,
    registry: Mapping[str, Any] = METHODS,
) -> str:
    """Return the default, or the best of the methods that beat it.

    Parameters
    ----------
    scores : mapping of str to ndarray of shape (n_splits,)
        By method, on the same splits; larger is better.
    share : float
        n_test / n_train.
    indefinite : bool
        Whether the similarity has negative eigenvalues. Without any clip is the plain
        SVM at the cost of an eigendecomposition.
    hits : bool
        Whether this is a table of hits, which has a default of its own.
    registry : mapping
        The methods by name.
    """
    default = _default(scores, indefinite=indefinite, hits=hits)
    if default is None:
        best = max(scores, key=lambda m: float(scores[m].mean()))
        near = [m for m in scores if not beats(scores[best], scores[m], share)]
        return min(near, key=lambda m: registry[m].simplicity)
    better = [m for m in scores if beats(scores[m], scores[default], share, _BEATEN)]
    order = {m: (-float(scores[m].mean()), registry[m].simplicity) for m in better}
    return min(better, key=lambda m: order[m], default=default)


def _default(
    methods: Collection[str], *, indefinite: bool, hits: bool = False
) -> str | None:
    """What is kept unless something beats it, of the methods that were run."""
    robust = ["average", "clip" if indefinite else "svc"]
    if hits:
        robust = ["profiles", *robust]
    return next((m for m in robust if m in methods), None)


def _is_indefinite(comparison: Any) -> bool:
    """Whether clip may differ from the plain SVM; not asked where that was not run."""
    return "svc" not in comparison.ranking or comparison.indefinite


def beats(scores: Array, others: Array, share: float, errors: float = 1.0) -> bool:
    """Whether a mean is higher by more than some standard errors of the difference."""
    difference = scores - others
    least = errors * corrected_error(difference, share)
    return float(difference.mean()) > least + 1e-12


def surely_beats(scores: Array, others: Array, share: float) -> bool:
    """Whether a mean is higher by the corrected test over splits."""
    gain, p_value = corrected_test(scores, others, share)
    return gain > 0.0 and p_value <= LEVEL


def free_scores(scoring: str, codes: np.ndarray) -> list[tuple[str, float]]:
    """Scores that cost nothing: chance, and always naming the largest class."""
    if scoring in ("r2", "neg_mean_absolute_error"):
        error = float(np.abs(codes - codes.mean()).mean())
        return [("always the mean", 0.0 if scoring == "r2" else error)]
    shares = np.bincount(codes) / codes.size
    chance = 1.0 / shares.size
    if scoring == "accuracy":
        known = [("chance", chance), ("largest class", float(shares.max()))]
        # Two lines on the same spot say less than one.
        return known[1:] if shares.max() - chance < 0.02 else known
    if scoring == "balanced_accuracy":
        return [("chance", chance)]
    if scoring == "roc_auc":
        return [("chance", 0.5)]
    shares = shares[shares > 0]
    return [("shares of the classes", float(-(shares * np.log(shares)).sum()))]


# ------------------------------------------------------------------------------- words


def _nothing_learnt(comparison: Any, chosen: str) -> str:
    """Say that the chosen method is no better than an answer that costs nothing."""
    sign = 1.0 if comparison.deciding.larger_is_better else -1.0
    mean = float(comparison.scores(chosen).mean())
    name, free = max(comparison.levels, key=lambda level: sign * level[1])
    if mean > sign * free + 1e-12:
        return ""
    return (
        f"Nothing was learnt: mean {comparison.deciding.title} {abs(mean):.3f} by "
        f"{comparison.title(chosen)}, and {name} {free:.3f}. Are the labels in the "
        "order of the items, and does a large number mean similar?"
    )


def _words(
    comparison: Any,
    equals: tuple[str, ...],
    chosen: str,
    near: list[str],
    decided: bool,
) -> str:
    """What to use, and which methods do as well; "no clear winner" if none is told."""
    splits = f"{len(comparison.splits)} splits"
    best, title = comparison.best, comparison.title(chosen)
    if len(comparison.ranking) == 1:
        return f"Only {title} was run: {_mean(comparison, chosen)} over {splits}."
    if equals == (chosen,):
        return (
            f"Use {title}: its {_mean(comparison, chosen)} over {splits} is clearly "
            "better than that of every other method."
        )
    few = len(comparison.splits) < FEWEST_SPLITS and not comparison.by_items
    if few or not decided:
        start = f"{splits} are too few to decide" if few else "No clear winner"
        return (
            f"{start}: {comparison.title(best)} is highest "
            f"({_mean(comparison, best)} over {splits}) but not clearly better than "
            f"{_listed(comparison, [m for m in equals if m != best], 'any other')}. "
            f"Use {title}{_reason(comparison, chosen)}."
        )
    text = f"Use {title}{_reason(comparison, chosen)}: "
    text += f"{_mean(comparison, chosen)} over {splits}."
    if near:
        do = "does" if len(near) == 1 else "do"
        text += f" {_listed(comparison, near)} {do} as well."
    if best != chosen:
        top = f"{abs(float(comparison.scores(best).mean())):.3f}"
        p_value = f"p = {comparison.p_value(best, chosen):.2g}"
        text += f" The highest is {comparison.title(best)} ({top}, {p_value})."
    return text


def _mean(comparison: Any, method: str) -> str:
    mean = abs(float(comparison.scores(method).mean()))
    return f"mean {comparison.deciding.title} {mean:.3f}"


def _listed(
    comparison: Any, methods: list[str], all_of_them: str = "All other methods"
) -> str:
    """Three titles, and how many more; all others are not listed."""
    if len(methods) == len(comparison.ranking) - 1 > 1:
        return all_of_them
    titles = [comparison.title(m) for m in methods]
    titles[3:] = [f"{len(titles) - 3} more"] if len(titles) > 3 else []
    return " and ".join([", ".join(titles[:-1]), titles[-1]] if titles[1:] else titles)


def _reason(comparison: Any, chosen: str) -> str:
    """Why a method is recommended that is not the highest."""
    default = _default(
        comparison.ranking,
        indefinite=_is_indefinite(comparison),
        hits=comparison.of_hits,
    )
    if chosen == comparison.best:
        return ""
    if chosen == default == "svc":
        return ", the simplest, which nothing here beats"
    if chosen == default:
        return ", which does well on most data and is not beaten here"
    if default is not None:
        return ", which clearly beats the usual default"
    return ", the simplest of those near the highest"


def _about_raw(comparison: Any, chosen: str, said: bool) -> str:
    """Say whether the fix matters; `said`: that the raw matrix does as well."""
    treated = [m for m in comparison.ranking if m not in _UNTREATED]
    if "svc" not in comparison.ranking or not treated:
        return ""
    raw = comparison.title("svc")
    if not comparison.indefinite:
        return _nothing_to_treat(comparison, chosen, raw)
    best = treated[0]
    gain = float((comparison.scores(best) - comparison.scores("svc")).mean())
    highest = comparison.scores(comparison.best)
    if gain <= 0 or not beats(highest, comparison.scores("svc"), comparison.test_share):
        start = "" if said else f" {raw} is as good."
        return (
            f"{start} How negative eigenvalues are treated makes no difference that "
            "these data can show."
        )
    behind = f" {raw} is behind {comparison.title(best)} by {gain:.3f}"
    p_value = comparison.p_value(best, "svc")
    if p_value > LEVEL:
        return f"{behind}; the data are too few to be sure that the fix matters."
    return f"{behind} (p = {p_value:.2g}): the spectrum fix matters."


def _nothing_to_treat(comparison: Any, chosen: str, raw: str) -> str:
    """Say of a definite similarity how the raw matrix does beside what is chosen."""
    text = " The similarity is positive semidefinite: there is nothing to fix"
    if chosen == "svc":
        return f"{text}."
    gain = float((comparison.scores(chosen) - comparison.scores("svc")).mean())
    if gain > 0.0 and comparison.p_value(chosen, "svc") <= LEVEL:
        return f"{text}; the gain over {raw} has other reasons."
    return f"{text}, and {raw} is right as well."
