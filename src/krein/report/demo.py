"""The demo: two bundled data sets, one where the fix matters and one where not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

import krein
from krein.comparison import compare
from krein.datasets import load_dataset
from krein.kernels import KERNELS, Kernel, sigmoid_kernel
from krein.report.data import case
from krein.report.render import render
from krein.store.files import atomic_write

__all__ = ["demo_report", "write_demo"]

# The quick ones: the demo has to end within a minute on two processors.
_METHODS = (
    "svc",
    "clip",
    "flip",
    "shift",
    "square",
    "krein",
    "neighbors",
    "features",
)


def write_demo(folder: str | Path) -> dict[str, Any]:
    """Compute the demo and write ``index.html`` into a folder.

    Parameters
    ----------
    folder : path-like
        Made if it does not exist.

    Returns
    -------
    dict
        The report's data, and ``report``, the path of the file.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    report = demo_report()
    path = folder / "index.html"
    with atomic_write(path, overwrite=True, text=True) as page:
        page.write(render(report))
    return {**report, "report": str(path)}


def demo_report() -> dict[str, Any]:
    """Return the demo's data: a sigmoid kernel on sonar, and promoter sequences."""
    return {
        "title": "krein demo",
        "intro": (
            "Two similarities on real data. A support vector machine expects a "
            "positive semidefinite one; the first is far from it, the second nearly "
            "is. The report says for each whether that matters."
        ),
        "footer": (
            f"krein {krein.__version__}. Data: UCI Machine Learning Repository, "
            "Connectionist Bench (Sonar) and Molecular Biology (Promoter Gene "
            "Sequences), CC BY 4.0."
        ),
        "cases": [_sonar(), _promoters()],
    }


def _sonar() -> dict[str, Any]:
    sonar = load_dataset("sonar")
    X = (sonar.data - sonar.data.mean(axis=0)) / sonar.data.std(axis=0)
    return _case(
        "Sonar, sigmoid kernel",
        "Sonar returns from rocks (R) and metal cylinders (M), 60 standardised "
        "features, similarity tanh(x'y / 60).",
        sigmoid_kernel(X),
        sonar.target,
    )


def _promoters() -> dict[str, Any]:
    promoters = load_dataset("promoters")
    about, K = _sequence_similarity(promoters.data)
    return _case(
        "Promoter sequences",
        f"DNA sequences of 57 letters, with (+) and without a promoter (-); {about}.",
        K,
        promoters.target,
    )


def _case(title: str, about: str, K: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    comparison = compare(K, y, methods=_METHODS, n_jobs=_jobs())
    found = case(comparison, title=title, about=about, command="krein demo")
    # What the spectrum says comes first, what the scores say after it.
    advice = found["spectrum"]["advice"][0]
    return {**found, "verdict": f"{advice} {found['comparison']['recommendation']}"}


def _jobs() -> int:
    """Two processes where there are two processors."""
    return min(2, os.cpu_count() or 1)


def _sequence_similarity(sequences: list[str]) -> tuple[str, np.ndarray]:
    """Local alignment if its package is here, otherwise the share of equal letters."""
    if "smith_waterman" in KERNELS:
        kernel = Kernel(
            "smith_waterman",
            matrix=(2, -1),
            gap_open=2,
            gap_extend=1,
            normalize=True,
        )
        about = "normalised Smith-Waterman scores (match 2, mismatch -1, gap 2 + k)"
        try:
            return about, kernel(sequences)
        except ImportError:
            pass  # the extra krein[bio] is not installed
    letters = np.array([list(sequence) for sequence in sequences])
    equal = (letters[:, None, :] == letters[None, :, :]).mean(axis=2)
    return "similarity is the share of positions with equal letters", equal
