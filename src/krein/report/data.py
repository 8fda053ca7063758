"""Results as plain dicts: what a report says, ready for JSON and for a test.

Nothing here knows HTML, and nothing in `render` computes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

from krein.estimators.spectral import SpectrumSVC
from krein.spectrum import Spectrum

__all__ = ["NEARLY_PSD", "case", "cross_validated_errors", "spectrum_facts", "verdict"]

# Below this share of negative spectrum no fix moved an error on the sets tried.
NEARLY_PSD = 0.01


def spectrum_facts(K: np.ndarray) -> dict[str, Any]:
    """Signature, extreme eigenvalues, negative mass and all eigenvalues.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Raw similarity.

    Returns
    -------
    dict
        Negative mass is the sum of |negative| over the sum of |all| eigenvalues.
    """
    spectrum = Spectrum.exact(K)
    values = spectrum.eigenvalues
    positive, negative, zero = spectrum.signature
    below = values[values < -spectrum.tolerance]
    return {
        "signature": [positive, negative, zero],
        "smallest": float(values[0]),
        "largest": float(values[-1]),
        "negative_mass": float(np.abs(below).sum() / np.abs(values).sum()),
        "eigenvalues": [float(value) for value in values],
    }


def cross_validated_errors(
    K: np.ndarray, y: np.ndarray, *, methods: tuple[str, ...], C: float
) -> list[dict[str, Any]]:
    """Error of `SpectrumSVC` per method, in percent, on the same 5 x 5 folds.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Raw similarity; each method is fitted on the training part of a fold and maps
        the rows of the test part.
    y : ndarray of shape (n,)
        Labels.
    methods : tuple of str
        Names of `SpectrumSVC` methods.
    C : float
        The same for all.

    Returns
    -------
    list of dict
        ``method``, ``error`` (mean), ``spread`` (standard deviation over folds) and
        ``folds``.
    """
    splits = RepeatedStratifiedKFold(n_splits=5, n_repeats=5, random_state=0)
    rows = []
    for method in methods:
        folds = 100.0 * (
            1.0 - cross_val_score(SpectrumSVC(method, C=C), K, y, cv=splits)
        )
        rows.append(
            {
                "method": method,
                "error": float(folds.mean()),
                "spread": float(folds.std(ddof=1)),
                "folds": [float(error) for error in folds],
            }
        )
    return rows


def verdict(facts: dict[str, Any], scores: list[dict[str, Any]]) -> str:
    """Say in one sentence what the numbers mean for the user.

    Parameters
    ----------
    facts : dict
        Of `spectrum_facts`.
    scores : list of dict
        Of `cross_validated_errors`; the method "none" is the yardstick.
    """
    mass = facts["negative_mass"]
    raw = next(row for row in scores if row["method"] == "none")
    if mass < NEARLY_PSD:
        return (
            f"negative mass {mass:.4f}: positive semidefinite for all practical "
            f"purposes, a plain SVC is right (error {raw['error']:.1f} %)."
        )
    best = min(scores, key=lambda row: row["error"])
    better = sum(a < b for a, b in zip(best["folds"], raw["folds"], strict=True))
    if best is raw or 2 * better <= len(raw["folds"]):
        return f"negative mass {mass:.2f}, but no fix lowers the error reliably."
    return (
        f"negative mass {mass:.2f}: the fix matters. Error {raw['error']:.1f} % raw, "
        f"{best['error']:.1f} % with method {best['method']!r} (lower in {better} of "
        f"{len(raw['folds'])} folds)."
    )


def case(title: str, about: str, K: np.ndarray, y: np.ndarray, *, C: float) -> dict:
    """Everything the report says about one similarity matrix.

    Parameters
    ----------
    title, about : str
        Heading, and where the matrix comes from.
    K : ndarray of shape (n, n)
        Raw similarity.
    y : ndarray of shape (n,)
        Labels.
    C : float
        Penalty of the support vector machines.
    """
    facts = spectrum_facts(K)
    scores = cross_validated_errors(
        K, y, methods=("none", "shift", "clip", "flip", "square"), C=C
    )
    labels, counts = np.unique(y, return_counts=True)
    return {
        "title": title,
        "about": about,
        "n": int(K.shape[0]),
        "classes": {str(a): int(b) for a, b in zip(labels, counts, strict=True)},
        "C": C,
        "spectrum": facts,
        "scores": scores,
        "verdict": verdict(facts, scores),
    }
