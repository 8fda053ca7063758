"""Which method to use: a rule that was measured by its regret, and its words.

Scores on a handful of splits differ by chance, so that taking the highest one is
a gamble. A default that does well on most data is therefore kept unless another method
beats it by more than one and a half standard errors: `average`, the mean of many
spectrum SVMs; where that was not run clip, or the plain SVM on a positive semidefinite
similarity. ``benchmarks/regret.py`` has the figures.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from krein.arrays import Array
from krein.comparison.columns import FEWEST_SPLITS, SCORES
from krein.comparison.methods import METHODS
from krein.comparison.statistics import corrected_error, corrected_test

__all__ = ["Recommendation", "choose", "recommend"]

LEVEL = 0.05
_BEATEN = 1.5  # standard errors of a difference; see docs/decisions/0017
# Methods that do nothing about negative eigenvalues, and those that see no matrix.
_UNTREATED = {"svc", "neighbors", "features", "gaussian", "thin_plate"}


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
    """

    method: str
    clear: bool
    equals: tuple[str, ...]
    text: str


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
        scores, comparison.test_share, indefinite=_is_indefinite(comparison)
    )
    text = _words(comparison, equals, chosen) + _about_raw(comparison, chosen)
    return Recommendation(chosen, len(equals) == 1, equals, text)


def choose(scores: Mapping[str, Array], share: float, *, indefinite: bool) -> str:
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
    """
    default = _default(scores, indefinite=indefinite)
    if default is None:
        best = max(scores, key=lambda m: float(scores[m].mean()))
        near = [m for m in scores if not beats(scores[best], scores[m], share)]
        return min(near, key=lambda m: METHODS[m].simplicity)
    better = [m for m in scores if beats(scores[m], scores[default], share, _BEATEN)]
    order = {m: (-float(scores[m].mean()), METHODS[m].simplicity) for m in better}
    return min(better, key=lambda m: order[m], default=default)


def _default(methods: Collection[str], *, indefinite: bool) -> str | None:
    """What is kept unless something beats it, of the methods that were run."""
    robust = ("average", "clip" if indefinite else "svc")
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
    """Whether a mean is higher by the corrected test."""
    gain, p_value = corrected_test(scores, others, share)
    return gain > 0.0 and p_value <= LEVEL


def _words(comparison: Any, equals: tuple[str, ...], chosen: str) -> str:
    label = SCORES[comparison.scoring].title
    best, title = METHODS[comparison.best].title, METHODS[chosen].title
    mean = f"{abs(float(comparison.scores(comparison.best).mean())):.3f}"
    splits = f"{len(comparison.splits)} splits"
    if len(comparison.ranking) == 1:
        return f"Only {best} was run: mean {label} {mean} over {splits}."
    if len(equals) == 1:
        return (
            f"Use {best}: its mean {label} of {mean} over {splits} is clearly "
            "better than that of every other method."
        )
    if len(comparison.splits) < FEWEST_SPLITS:
        start = f"{splits} are too few to decide: {best} is highest"
    else:
        start = f"No clear winner: {best} is highest"
    others = ", ".join(METHODS[m].title for m in equals[1:])
    if len(equals) == len(comparison.ranking):
        others = "any other"
    start += f" (mean {label} {mean} over {splits}) but cannot be told from {others}."
    return f"{start} {_reason(comparison, chosen, title)}"


def _reason(comparison: Any, chosen: str, title: str) -> str:
    if chosen == comparison.best:
        return f"Use {title}."
    default = _default(comparison.ranking, indefinite=_is_indefinite(comparison))
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
    difference = comparison.scores(best) - comparison.scores("svc")
    gain = float(difference.mean())
    best_of_all, raw = comparison.scores(comparison.best), comparison.scores("svc")
    if gain <= 0 or not beats(best_of_all, raw, comparison.test_share):
        return (
            " The SVM on the raw matrix is as good: what is done about negative "
            "eigenvalues makes no difference that these data can show."
        )
    p_value = corrected_test(
        comparison.scores(best), comparison.scores("svc"), comparison.test_share
    )[1]
    behind = f" The SVM on the raw matrix is behind {METHODS[best].title} by {gain:.3f}"
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
    mine, plain = comparison.scores(chosen), comparison.scores("svc")
    if surely_beats(mine, plain, comparison.test_share):
        return f"{text}, and what is gained over the plain SVM comes from elsewhere."
    return f"{text}, and a plain SVM is right as well; these splits show no difference."
