"""Warnings that point at the user's line, whoever calls whom in between."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

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
