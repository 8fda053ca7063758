"""The demo: one similarity where the fix matters, and one where it does not.

Both need nothing but numpy, scipy and scikit-learn, so that the verdicts are the same
whichever extras are installed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

import krein
from krein.arrays import Array
from krein.report.data import Case
from krein.report.page import words
from krein.report.render import render
from krein.store.files import atomic_write
from krein.verdicts.sentences import demo_finding
from krein.words import progress_bar

# The quick ones: the demo has to end within 15 seconds on two processors.
_METHODS = ("similarity", "average", "svc", "clip", "flip", "square", "neighbors",
            "features")  # fmt: skip


def write_demo(folder: str | Path, *, show: bool = True) -> dict[str, Any]:
    """Compute the demo and write ``index.html`` into a folder.

    Parameters
    ----------
    folder : path-like
        Made if it does not exist.
    show : bool
        Draw the progress.

    Returns
    -------
    dict
        What was found, and ``report``, the path of the file.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    cases = [
        _case(title, about, K, y, show)
        for (title, about), (K, y) in zip(
            words()["demo"]["about"].items(), (_strokes(), _promoters()), strict=True
        )
    ]
    headline = f"{cases[0].title}: {cases[0].headline}"
    text = render(cases, headline=headline, **words()["demo"]["page"])
    path = folder / "index.html"
    with atomic_write(path, overwrite=True, text=True) as file:
        file.write(text)
    return {"cases": [_account(case) for case in cases], "report": str(path)}


def _strokes() -> tuple[Array, np.ndarray]:
    """Digits, compared pixel by pixel: it needs a fix."""
    strokes = krein.load_dataset("digit_strokes")
    return strokes.data, strokes.target


def _promoters() -> tuple[Array, np.ndarray]:
    """DNA by the share of equal letters: positive semidefinite."""
    promoters = krein.load_dataset("promoters")
    letters = np.array([list(sequence) for sequence in promoters.data])
    equal = letters[:, None, :] == letters[None, :, :]
    return equal.mean(axis=2), promoters.target


def _account(case: Case) -> dict[str, Any]:
    """What was found, as plain values."""
    return {
        "title": case.title,
        "finding": case.finding,
        "recommended": case.comparison.recommendation.contender,
        "recommendation": case.comparison.recommendation.text,
        "table": case.comparison.table(),
        "diagnosis": case.diagnosis.to_dict(),
    }


def _case(title: str, about: str, K: Array, y: np.ndarray, show: bool) -> Case:
    with progress_bar(title, show=show) as advance:
        comparison = krein.compare(
            K,
            y,
            methods=_METHODS,
            cv=5,
            n_jobs=min(2, os.cpu_count() or 1),
            progress=advance.to,
        )
    return Case(
        comparison,
        title=title,
        about=about,
        command="krein demo",
        names=[f"no. {i + 1}" for i in range(len(y))],
        finding=demo_finding(comparison),
    )
