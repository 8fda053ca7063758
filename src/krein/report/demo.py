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
from krein.progress import percent_bar
from krein.report.data import case
from krein.report.render import render
from krein.store.files import atomic_write

# The quick ones: the demo has to end within 20 seconds on two processors.
_METHODS = ("average", "svc", "clip", "flip", "square", "neighbors", "features")
_FOLDS = 5


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
        The report's data, and ``report``, the path of the file.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    report = demo_report(show=show)
    path = folder / "index.html"
    with atomic_write(path, overwrite=True, text=True) as page:
        page.write(render(report))
    return {**report, "report": str(path)}


def demo_report(*, show: bool = False) -> dict[str, Any]:
    """Return the demo's data: shapes of digits, and promoter sequences."""
    cases = [_digits(show), _promoters(show)]
    return {
        "title": "krein demo",
        "headline": f"{cases[0]['title']}: {cases[0]['headline']}",
        "intro": (
            "Two similarities on real data. A support vector machine expects a "
            "positive semidefinite one. The first is far from it, and a fix turns many "
            "wrong answers into right ones; the second is one."
        ),
        "footer": (
            f"krein {krein.__version__}. Data: handwritten digits of scikit-learn "
            "(UCI Machine Learning Repository, Optical Recognition of Handwritten "
            "Digits) and Molecular Biology (Promoter Gene Sequences), CC BY 4.0."
        ),
        "cases": cases,
    }


def _digits(show: bool) -> dict[str, Any]:
    shapes = krein.load_dataset("digit_shapes")
    return _case(
        "Shapes of handwritten digits",
        "How alike the shapes are: exp(-d / 2), where d is the Hausdorff distance, "
        "the longest way from the ink of one digit to the ink of the other.",
        shapes.data,
        shapes.target,
        show,
    )


def _promoters(show: bool) -> dict[str, Any]:
    promoters = krein.load_dataset("promoters")
    letters = np.array([list(sequence) for sequence in promoters.data])
    return _case(
        "Promoter sequences",
        "DNA sequences of 57 letters, with (+) and without a promoter (-); similarity "
        "is the share of positions with equal letters.",
        (letters[:, None, :] == letters[None, :, :]).mean(axis=2),
        promoters.target,
        show,
    )


def _case(
    title: str, about: str, K: Array, y: np.ndarray, show: bool
) -> dict[str, Any]:
    with percent_bar(title, show=show) as progress:
        comparison = krein.compare(
            K, y, methods=_METHODS, cv=_FOLDS, n_jobs=_jobs(), progress=progress
        )
    return case(
        comparison,
        title=title,
        about=about,
        command="krein demo",
        names=[f"no. {i + 1}" for i in range(len(y))],
        finding=_in_numbers(comparison),
    )


def _in_numbers(comparison: Any) -> str:
    """What the fix does to the share of right answers, and what is best."""
    right = {row["method"]: 100 * row["accuracy"] for row in comparison.table()}
    raw = f"an SVM on the raw matrix is right on {right['svc']:.0f} % of new items"
    if comparison.recommendation.method == "svc":
        return f"{raw}, and no method is surely better. Here nothing has to be done."
    best = comparison.table()[0]
    text = f"{raw}, with flipped eigenvalues on {right['flip']:.0f} %"
    if best["method"] != "flip":
        text += f" (highest: {best['title']}, {100 * best['accuracy']:.0f} %)"
    matters = "Here it matters" if right["flip"] - right["svc"] > 2 else ""
    return f"{text}. {matters or 'Here the fix changes little'}."


def _jobs() -> int:
    """Two processes where there are two processors."""
    return min(2, os.cpu_count() or 1)
