"""The demo: two bundled data sets, one where the fix matters and one where not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import krein
from krein.datasets import load_dataset
from krein.files import atomic_write
from krein.kernels import KERNELS, Kernel, sigmoid_kernel
from krein.report.data import case
from krein.report.render import render

__all__ = ["demo_report", "write_demo"]


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
    return case(
        "Sonar, sigmoid kernel",
        "208 sonar returns from rocks and metal cylinders, 60 standardised features, "
        "similarity tanh(x'y / 60).",
        sigmoid_kernel(X),
        sonar.target,
        C=10.0,
    )


def _promoters() -> dict[str, Any]:
    promoters = load_dataset("promoters")
    about, K = _sequence_similarity(promoters.data)
    return case(
        "Promoter sequences",
        f"106 DNA sequences of 57 letters, with and without a promoter; {about}.",
        K,
        promoters.target,
        C=1.0,
    )


def _sequence_similarity(sequences: list[str]) -> tuple[str, np.ndarray]:
    """Local alignment if its package is here, otherwise the share of equal letters."""
    if "smith_waterman" in KERNELS:
        kernel = Kernel("smith_waterman", normalize=True)
        try:
            return "normalised Smith-Waterman alignment scores", kernel(sequences)
        except ImportError:
            pass  # the extra krein[bio] is not installed
    letters = np.array([list(sequence) for sequence in sequences])
    equal = (letters[:, None, :] == letters[None, :, :]).mean(axis=2)
    return "similarity is the share of positions with equal letters", equal
