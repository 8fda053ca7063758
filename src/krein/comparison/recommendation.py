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
from krein.comparison.columns import FEWEST_SPLITS
from krein.comparison.methods import METHODS
from krein.comparison.statistics import corrected_error, corrected_test

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
    """

    method: str
    clear: bool
    equals: tuple[str, ...]
    text: str
    useful: bool = True


def recommend(comparison: Any) -> Recommendation:
    """Choose a method and say why.

    Parameters
    ----------
    comparison : Comparison
        Scores of methods on the same splits.
    """
    if not comparison.ranking:
        raise ValueError(comparison.nothing_completed())
    equals = tuple(m for m in comparison.ranking if comparison.p_values[m] > LEVEL)
    scores = {m: comparison.scores(m) for m in comparison.ranking}
    chosen = choose(
        scores,
        comparison.test_share,
        indefinite=_is_indefinite(comparison),
        hits=comparison.of_hits,
        registry=comparison.registry,
    )
    warning = _nothing_learnt(comparison, chosen)
    text = _words(comparison, equals, chosen) + _about_raw(comparison, chosen)
    return Recommendation(
        chosen, len(equals) == 1, equals, (warning + " " + text).strip(), not warning
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
        "order of the items, and does large mean alike?"
    )


def _words(comparison: Any, equals: tuple[str, ...], chosen: str) -> str:
    label, splits = comparison.deciding.title, f"{len(comparison.splits)} splits"
    best, title = comparison.title(comparison.best), comparison.title(chosen)
    mean = f"{abs(float(comparison.scores(comparison.best).mean())):.3f}"
    if len(comparison.ranking) == 1:
        return f"Only {best} was run: mean {label} {mean} over {splits}."
    if len(equals) == 1 and chosen == comparison.best:
        return (
            f"Use {best}: its mean {label} of {mean} over {splits} is clearly "
            "better than that of every other method."
        )
    if len(comparison.splits) < FEWEST_SPLITS and not comparison.by_items:
        start = f"{splits} are too few to decide: {best} is highest"
    elif len(equals) == len(comparison.ranking):
        start = f"No clear winner: {best} is highest"
    else:
        return _some_told(comparison, equals, chosen)
    others = _listed(comparison, equals[1:])
    if len(equals) == len(comparison.ranking):
        others = "any other"
    start += f" (mean {label} {mean} over {splits}) but cannot be told from {others}."
    return f"{start} {_reason(comparison, chosen, title)}"


def _some_told(comparison: Any, equals: tuple[str, ...], chosen: str) -> str:
    """Words where some methods are surely worse than the best."""
    label, title = comparison.deciding.title, comparison.title(chosen)
    mean = f"{abs(float(comparison.scores(chosen).mean())):.3f}"
    start = f"mean {label} {mean} over {len(comparison.splits)} splits"
    if chosen == comparison.best:
        others = _listed(comparison, equals[1:])
        return f"Use {title}: {start}, the highest; {others} cannot be told from it."
    best = comparison.best
    top = f"{abs(float(comparison.scores(best).mean())):.3f}"
    p_value = f"p = {comparison.p_value(best, chosen):.2g}"
    if chosen not in equals:  # a default is kept unless another is surely better
        return (
            f"{_reason(comparison, chosen, title)[:-1]} ({start}). "
            f"{comparison.title(best)} is higher ({top}, {p_value})."
        )
    return (
        f"{_reason(comparison, chosen, title)[:-1]} ({start}). The highest, "
        f"{comparison.title(best)} ({top}), cannot be told from it ({p_value})."
    )


def _listed(comparison: Any, methods: tuple[str, ...]) -> str:
    """Three titles, and how many more."""
    titles = [comparison.title(m) for m in methods]
    more = f" and {len(titles) - 3} more" if len(titles) > 3 else ""
    return ", ".join(titles[:3]) + more


def _reason(comparison: Any, chosen: str, title: str) -> str:
    if chosen == comparison.best:
        return f"Use {title}."
    default = _default(
        comparison.ranking,
        indefinite=_is_indefinite(comparison),
        hits=comparison.of_hits,
    )
    if chosen == default == "svc":
        return f"Use {title}: nothing here beats the plain machine."
    if chosen == default:
        return f"Use {title}, which holds up on most data; nothing here beats it."
    if default is not None:
        return f"Use {title}, which beats the usual default more surely."
    return f"Use {title}, the simplest of those near it."


def _about_raw(comparison: Any, chosen: str) -> str:
    """Say whether the treatment of the negative part matters here."""
    treated = [m for m in comparison.ranking if m not in _UNTREATED]
    if "svc" not in comparison.ranking or not treated:
        return ""
    if not comparison.indefinite:
        return _nothing_to_treat(comparison, chosen)
    best = treated[0]
    gain = float((comparison.scores(best) - comparison.scores("svc")).mean())
    best_of_all, raw = comparison.scores(comparison.best), comparison.scores("svc")
    if gain <= 0 or not beats(best_of_all, raw, comparison.test_share):
        return (
            " The SVM on the raw matrix is as good: what is done about negative "
            "eigenvalues makes no difference that these data can show."
        )
    p_value = comparison.p_value(best, "svc")
    behind = f" The SVM on the raw matrix is behind {comparison.title(best)} by "
    behind += f"{gain:.3f}"
    if p_value > LEVEL:
        return (
            f"{behind}; these splits are too few to be sure that the treatment matters."
        )
    return f"{behind} (p = {p_value:.2g}): the treatment matters."


def _nothing_to_treat(comparison: Any, chosen: str) -> str:
    """Say of a definite similarity how the plain machine does beside what is chosen."""
    text = " The similarity is positive semidefinite: there is nothing to treat"
    if chosen == "svc":
        return f"{text}."
    gain = float((comparison.scores(chosen) - comparison.scores("svc")).mean())
    if gain > 0.0 and comparison.p_value(chosen, "svc") <= LEVEL:
        return f"{text}, and what is gained over the plain SVM comes from elsewhere."
    return f"{text}, and a plain SVM is right as well; these splits show no difference."
