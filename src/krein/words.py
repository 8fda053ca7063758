"""Words for people: suggestions, numbers, safe text, warnings, missing packages."""

from __future__ import annotations

import difflib
import importlib
import re
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

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


__all__ = ["warn_user"]

# Code that stands between the user and krein, or is krein.
_INSIDE = ("krein", "sklearn", "joblib")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest caller that is neither krein nor scikit-learn.

    Parameters
    ----------
    message : str
        What happened, and what to do.
    category : type
        Kind of warning.
    """
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and _is_inside(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_inside(filename: str) -> bool:
    parts = Path(filename).parts
    if "contextlib.py" in parts or "<frozen" in filename:
        return True
    packages = {"site-packages", "src"}
    return any(
        name in _INSIDE and parts[i - 1] in packages
        for i, name in enumerate(parts)
        if i
    )


def import_optional(module: str, *, extra: str | None, needed_for: str) -> ModuleType:
    """Import `module`, or raise an ImportError that names the extra to install.

    Parameters
    ----------
    module : str
        Dotted name, e.g. ``"rapidfuzz.distance"``.
    extra : str or None
        Name of the extra in ``pip install "krein[extra]"``; None: no extra has it.
    needed_for : str
        The feature, as the subject of the message.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        install = package if extra is None else f'"krein[{extra}]"'
        raise ImportError(
            f"{needed_for} needs the package {package!r}: pip install {install}"
        ) from error
