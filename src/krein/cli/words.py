"""Words for people: suggestions, times, numbers."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean", "digits"]


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'flip'?", or nothing when nothing is near."""
    near = difflib.get_close_matches(given.lower(), list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def digits(value: object) -> str:
    """Show a number with three significant digits, anything else as it is."""
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value)
