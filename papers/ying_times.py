"""Times of Ying et al., Table 3, as ratios to SMM; lower bounds where cut short."""

from __future__ import annotations

from collections.abc import Iterable

from papers.claims import MORE_THAN, Claim, Measured, printed
from papers.runs import Means

__all__ = [
    "BASE",
    "LEAST",
    "RATIO",
    "largest_ratio",
    "order_of_times",
    "steps_timed",
    "time_ratios",
]

RATIO = "seconds / seconds of SMM"
LEAST = "seconds at least"  # of a run that was cut short
BASE = "seconds of SMM"  # timed in the same process just before


def largest_ratio(name: str) -> float:
    """Ratio of times of SIQCLP and SMM beyond which the printed one differs."""
    key = (name, "SIQCLP", RATIO)
    claim = next(claim for claim in printed("ying") if claim.key == key)
    return float(claim.paper) * float(claim.tolerance.removeprefix("x"))


def time_ratios(name: str, methods: Iterable[str], measured: Means) -> Means:
    """Seconds of the methods on a data set, and ratios to SMM.

    Parameters
    ----------
    name : str
        The data set.
    methods : iterable of str
        Names of methods whose runs are called "time of ...".
    measured : dict
        (dataset, method, quantity) -> `Measured`.

    Returns
    -------
    dict
        The same kind.
    """
    extra: Means = {}
    elsewhere = measured.get((name, "time of SMM", "seconds"))
    for method in methods:
        run = (name, f"time of {method}")
        base = measured.get((*run, BASE), elsewhere)
        for quantity, words in (("seconds", ""), (LEAST, MORE_THAN)):
            found = measured.get((*run, quantity))
            if found is None:
                continue
            extra[(name, method, quantity)] = found
            if base is not None and method != "SMM":
                ratio = found.value / base.value
                shown = f"{words}{ratio:.4g}" if words else ratio
                extra[(name, method, RATIO)] = Measured(shown, None, 1)
    return extra


def order_of_times(
    times: Means, names: tuple[str, ...], pairs: Iterable[tuple[str, str]]
) -> Means:
    """Say whether an order of times holds on every set, where that is decided.

    Parameters
    ----------
    times : dict
        What `time_ratios` gives for all sets.
    names : tuple of str
        The data sets.
    pairs : iterable of (str, str)
        Which method should be slower than which.

    Returns
    -------
    dict
        (dataset, method, quantity) -> `Measured`, with "yes" or "no".
    """
    extra: Means = {}
    for slow, fast in pairs:
        longer = [_longer(times, name, slow, fast) for name in names]
        if None not in longer:
            word = "yes" if all(longer) else "no"
            key = ("all", slow, f"slower than {fast}")
            extra[key] = Measured(word, None, len(longer))
    return extra


def _longer(times: Means, name: str, slow: str, fast: str) -> bool | None:
    """Tell whether one method took longer than another; None while that is open."""
    seconds = times.get((name, slow, "seconds"))
    least = times.get((name, slow, LEAST))
    other = times.get((name, fast, "seconds"))
    if other is None:
        return None
    if least is not None and least.value > other.value:
        return True
    return None if seconds is None else seconds.value > other.value


def steps_timed(claim: Claim, measured: Means) -> str:
    """How many steps were timed, and the gap they reached."""
    said = []
    for method in (claim.method, "SMM"):
        run = (claim.dataset, f"time of {method}")
        steps = measured.get((*run, "iterations"))
        gap = measured.get((*run, "relative gap"))
        if steps is None:
            return ""
        words = f"{method} {steps.value:.0f} steps"
        if (*run, LEAST) in measured:
            words += ", cut short"
        elif gap is not None:
            words += f" to a certified gap of {gap.value:.1g}"
        said.append(words)
    return ", ".join(said)
