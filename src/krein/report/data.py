"""What a report says, as plain dicts ready for JSON and for a test.

Nothing here knows HTML, and nothing in `render` computes.
"""

from __future__ import annotations

import importlib.metadata
import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

import krein
from krein.arrays import Array
from krein.comparison.columns import COLUMNS, SCORES
from krein.comparison.methods import METHODS
from krein.diagnostics import Diagnosis, diagnose
from krein.matrices.sparse import as_matrix
from krein.report.mistakes import mistakes
from krein.report.recipe import recipe
from krein.spectrum import Spectrum

__all__ = ["case", "embedding", "heat_map", "machine"]

_HEAT_CELLS = 160
_POINTS = 1500


def case(
    comparison: Any,
    *,
    title: str = "Comparison",
    about: str = "",
    command: str = "",
    names: Sequence[str] | None = None,
    diagnosis: Diagnosis | None = None,
    findings: Sequence[dict[str, Any]] | None = None,
    source: dict[str, Any] | None = None,
    finding: str = "",
) -> dict[str, Any]:
    """Everything the report says about one similarity.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    title, about : str
        Heading, and where the similarity comes from.
    command : str
        What to type or call to repeat it.
    names : sequence of str, optional
        Names of the items, shown at their points.
    diagnosis : Diagnosis, optional
        Of the similarity, if it is known already.
    findings : sequence of dict, optional
        The diagnosis's own when not given; with commands that name the user's files.
    source : dict, optional
        Where the data come from, see `krein.report.recipe.recipe`.
    finding : str
        What was found in one line, shown first.

    Returns
    -------
    dict
    """
    problem = comparison.problem
    everything = np.arange(problem.codes.size)
    K = as_matrix(problem.on(everything)).dense()
    labels = [str(label) for label in problem.classes]
    counts = np.bincount(problem.codes, minlength=len(labels))
    if diagnosis is None:
        diagnosis = diagnose(K, problem.classes[problem.codes])
    if findings is None:
        findings = [finding.to_dict() for finding in diagnosis.findings]
    spectrum = Spectrum.exact(K)
    return {
        "title": title,
        "about": about,
        "findings": list(findings),
        "items": int(problem.codes.size),
        "classes": [
            {"label": label, "count": int(count)}
            for label, count in zip(labels, counts, strict=True)
        ],
        "spectrum": {
            "eigenvalues": [float(v) for v in diagnosis.eigenvalues],
            "signature": [int(v) for v in diagnosis.signature],
            "negative_mass": float(diagnosis.negative_mass),
            "noise_edge": diagnosis.negative_part.noise_edge,
            "verdict": diagnosis.verdict,
            "facts": diagnosis.facts(),
            "advice": list(diagnosis.advice),
        },
        "heat": heat_map(K, problem.codes),
        "embedding": embedding(spectrum, problem.codes, names),
        "comparison": _comparison(comparison),
        "mistakes": mistakes(comparison, K, names),
        "copy": recipe(comparison, source),
        "finding": finding,
        "run": _run(comparison, command),
    }


def _comparison(comparison: Any) -> dict[str, Any]:
    answer = comparison.recommendation
    return {
        "scoring": SCORES[comparison.scoring].key,
        "label": SCORES[comparison.scoring].title,
        "columns": [asdict(column) for column in COLUMNS],
        "table": comparison.table(),
        "failed": dict(comparison.failed),
        "methods": {
            name: {
                "title": METHODS[name].title,
                "about": METHODS[name].about,
                "confusion": comparison.confusion(name).tolist(),
                "chosen": _chosen(comparison, name),
            }
            for name in comparison.ranking
        },
        "best": comparison.best,
        "recommended": answer.method,
        "clear": answer.clear,
        "equals": list(answer.equals),
        "recommendation": answer.text,
        "levels": list(map(list, levels(comparison.scoring, comparison.problem.codes))),
        "splits": len(comparison.splits),
    }


def levels(scoring: str, codes: np.ndarray) -> list[tuple[str, float]]:
    """Scores that cost nothing: chance, and always naming the largest class."""
    shares = np.bincount(codes) / codes.size
    chance = 1.0 / shares.size
    if scoring == "accuracy":
        known = [("chance", chance), ("largest class", float(shares.max()))]
        # Two lines on the same spot say less than one.
        return known[1:] if shares.max() - chance < 0.02 else known
    if scoring == "balanced_accuracy":
        return [("chance", chance)]
    if scoring == "roc_auc":
        return [("chance", 0.5)]
    shares = shares[shares > 0]
    return [("shares of the classes", float(-(shares * np.log(shares)).sum()))]


def _chosen(comparison: Any, method: str) -> list[dict[str, Any]]:
    """Hyperparameters and on how many splits each setting was chosen."""
    settings = Counter(
        ", ".join(f"{k} = {_show(v)}" for k, v in record["params"].items())
        for record in comparison.of(method)
    )
    return [{"params": text, "splits": n} for text, n in settings.most_common(3)]


def _show(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, dict):
        return ", ".join(f"{k} {_show(v)}" for k, v in value.items())
    return str(value)


def _run(comparison: Any, command: str) -> dict[str, Any]:
    sizes = [(train.size, test.size) for train, test in comparison.splits]
    seconds = sum(
        r.get("search_seconds", 0.0) + r.get("fit_seconds", 0.0)
        for r in comparison.records
    )
    return {
        "splits": len(comparison.splits),
        "train_items": int(np.median([a for a, _ in sizes])),
        "test_items": int(np.median([b for _, b in sizes])),
        "grouped": comparison.problem.groups is not None,
        "seed": comparison.random_state,
        "seconds": float(seconds),
        "command": command,
        "not_converged": {
            row["method"]: 1.0 - row["converged"]
            for row in comparison.table()
            if row["converged"] < 1.0
        },
        **machine(),
    }


def machine() -> dict[str, str]:
    """Versions and platform, so that a run can be repeated."""
    versions = {
        name: importlib.metadata.version(name)
        for name in ("numpy", "scipy", "scikit-learn")
    }
    return {
        "krein": krein.__version__,
        "python": platform.python_version(),
        **versions,
        "platform": f"{platform.system()} {platform.machine()}",
    }


def heat_map(K: Array, codes: np.ndarray) -> dict[str, Any]:
    """Return the matrix ordered by class, as at most 160 x 160 block means.

    Colours span the 1st to the 99th percentile of what is drawn beside the diagonal,
    so that a few large entries do not wash out the rest: from white (-100 .. 100 is
    red, white, blue) where nothing is negative, else symmetrically around zero.
    """
    order = np.lexsort((-K.mean(axis=1), codes))
    edges = np.unique(
        np.linspace(0, codes.size, min(codes.size, _HEAT_CELLS) + 1).astype(int)
    )
    ordered = K[np.ix_(order, order)]
    sums = np.add.reduceat(np.add.reduceat(ordered, edges[:-1], 0), edges[:-1], 1)
    sizes = np.diff(edges)
    means = sums / np.outer(sizes, sizes)
    low, high = _colour_range(means)
    start = 0.0 if low < 0 else low
    scaled = np.round(100 * (means - start) / (high - start))
    scaled = np.clip(scaled, -100 if low < 0 or start == 0 else 0, 100)
    boundaries = np.flatnonzero(np.diff(codes[order])) + 1
    return {
        "cells": scaled.astype(int).tolist(),
        "low": low,
        "high": high,
        "boundaries": (boundaries / codes.size).tolist(),
    }


def _colour_range(means: Array) -> tuple[float, float]:
    """Values of the two ends of the colours."""
    beside = means[~np.eye(len(means), dtype=bool)] if len(means) > 1 else means
    low, high = (float(v) for v in np.percentile(beside, [1, 99]))
    if float(means.min()) < 0 and -low > 0.02 * abs(high):
        high = max(-low, high)
        return -high, high
    low = max(low, 0.0)
    return (low, high) if high > low else (low, low + (abs(low) or 1.0))


def embedding(
    spectrum: Spectrum, codes: np.ndarray, names: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return the two pseudo-Euclidean coordinates of largest magnitude.

    Coordinates are U |l|^1/2; where l is negative, distances along that axis count
    negatively. One negative axis is shown as the second when there is one worth 1 %
    of the largest eigenvalue: it is what the page is about.
    """
    values = spectrum.eigenvalues
    first, *rest = np.argsort(-np.abs(values), kind="stable")
    lowest = int(np.argmin(values))
    worth = values[lowest] < -0.01 * abs(values[first]) and lowest != first
    second = lowest if worth else (rest[0] if rest else first)
    axes = np.array([first, second])
    root = np.sqrt(np.abs(values[axes]))
    points = spectrum.eigenvectors[:, axes] * root
    shown = np.arange(codes.size)
    if codes.size > _POINTS:
        shown = np.sort(
            np.random.default_rng(0).choice(codes.size, _POINTS, replace=False)
        )
    return {
        "eigenvalues": values[axes].tolist(),
        "signature": np.sign(values[axes]).astype(int).tolist(),
        "points": np.round(points[shown], 6).tolist(),
        "classes": codes[shown].tolist(),
        "names": [str(i) if names is None else str(names[int(i)]) for i in shown],
        "hidden": int(codes.size - shown.size),
    }
