"""Words for people: suggestions, times, numbers, text that is safe to print."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

# Control characters, marks that reverse or break a line, bytes that were no text.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


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


def printable(text: str, keep: str = "") -> str:
    r"""Return a text that is safe on a terminal: control characters as ``\x1b``.

    Names of files, items and classes come from elsewhere, and may hold sequences that
    move the cursor, change the title of the window or type into the shell. `keep` are
    the characters that stay, such as line ends of a text of our own.
    """

    def escape(found: re.Match) -> str:
        code = ord(found[0])
        if found[0] in keep:
            return found[0]
        return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"

    return _UNPRINTABLE.sub(escape, text)
