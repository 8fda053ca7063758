"""Words for people: suggestions, times, numbers."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

__all__ = ["did_you_mean", "digits", "few_digits"]


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'flip'?", or nothing when nothing is near."""
    spelt = {name.lower(): name for name in known}
    near = difflib.get_close_matches(given.lower(), list(spelt), n=1, cutoff=0.6)
    return f"; did you mean {spelt[near[0]]!r}?" if near else ""


def digits(value: object) -> str:
    """Show a number with three significant digits, anything else as it is."""
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value)


def few_digits(text: str) -> str:
    """Return a text with its long decimal numbers cut to three significant digits."""
    return re.sub(r"\d+\.\d{4,}(e-?\d+)?", lambda found: digits(float(found[0])), text)
