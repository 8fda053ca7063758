"""Which method to use: a rule that was measured by its regret, and its words.

Scores on a handful of splits differ by chance, so that taking the highest one is
a gamble. A default that does well on most data is therefore kept unless another method
beats it by more than one standard error: `average`, the mean of many spectrum SVMs, or
clip where that was not run. ``benchmarks/regret.py`` has the figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from krein.comparison.columns import SCORES
from krein.comparison.methods import METHODS
from krein.comparison.statistics import corrected_error, corrected_test

__all__ = ["DEFAULTS", "Recommendation", "recommend"]

DEFAULTS = ("average", "clip")
LEVEL = 0.05
_FEW = 5  # splits; fewer cannot decide
# Methods that do nothing about negative eigenvalues, and those that see no matrix.
_UNTREATED = {"svc", "neighbors", "features", "gaussian", "thin_plate"}


@dataclass(frozen=True)
class Recommendation:
    """Which method to use, and why.

    Attributes
    ----------
    method : str
        The default, or what beats it by more than one corrected standard error.
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
    equals = tuple(m for m in comparison.ranking if comparison.p_values[m] > LEVEL)
    chosen = _choose(comparison, equals)
    text = _words(comparison, equals, chosen) + _about_raw(comparison)
    return Recommendation(chosen, len(equals) == 1, equals, text)


def _choose(comparison: Any, equals: tuple[str, ...]) -> str:
    best = comparison.best
    default = next((m for m in DEFAULTS if m in comparison.completed), None)
    if default is not None:
        return default if is_near(comparison, default) else best
    near = [m for m in equals if is_near(comparison, m)]
    return min(near, key=lambda m: METHODS[m].simplicity)


def is_near(comparison: Any, method: str, than: str | None = None) -> bool:
    """Whether a mean is within one standard error of the best one (or of `than`)."""
    difference = comparison.scores(than or comparison.best) - comparison.scores(method)
    error = corrected_error(difference, comparison.test_share)
    return float(difference.mean()) <= error + 1e-12


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
    if len(comparison.splits) < _FEW:
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
    if chosen in DEFAULTS:
        return f"Use {title}, which holds up on most data; nothing here beats it."
    return f"Use {title}, the simplest of those near it."


def _about_raw(comparison: Any) -> str:
    """Say whether the treatment of the negative part matters here."""
    treated = [m for m in comparison.ranking if m not in _UNTREATED]
    if "svc" not in comparison.ranking or not treated:
        return ""
    if not comparison.indefinite:
        return " The similarity is positive semidefinite: there is nothing to treat."
    best = treated[0]
    difference = comparison.scores(best) - comparison.scores("svc")
    gain = float(difference.mean())
    if is_near(comparison, "svc") or gain <= 0:
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
