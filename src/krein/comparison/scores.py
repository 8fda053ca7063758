"""The four scores, in a few lines of numpy each.

scikit-learn's functions give the same numbers (tested), but on the small test parts of
inner folds their checks of the input take several times as long as fitting an SVM.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from krein.arrays import Array

__all__ = ["score"]


def score(
    name: str, codes: np.ndarray, predicted: np.ndarray, scores: Array, proba: Array
) -> float:
    """Return a score by its name; larger is better.

    Parameters
    ----------
    name : str
        A key of `krein.comparison.columns.SCORES`.
    codes, predicted : ndarray of int of shape (n,)
        True and predicted classes.
    scores : ndarray of shape (n, n_rows)
        Decision values, one row per class against the rest.
    proba : ndarray of shape (n, n_classes)
        Probabilities.
    """
    if name == "accuracy":
        return float(np.mean(codes == predicted))
    if name == "balanced_accuracy":
        return float(
            np.mean([np.mean(predicted[codes == k] == k) for k in np.unique(codes)])
        )
    if name == "neg_log_loss":
        eps = np.finfo(float).eps
        chosen = proba[np.arange(codes.size), codes]
        return float(np.mean(np.log(np.clip(chosen, eps, 1 - eps))))
    return _area(codes, scores)


def _area(codes: np.ndarray, scores: Array) -> float:
    """Area under the curve; for several classes the mean of one against the rest."""
    classes = [1] if scores.shape[1] == 1 else range(scores.shape[1])
    areas = []
    for row, k in enumerate(classes):
        positive = codes == k
        p, q = int(positive.sum()), int((~positive).sum())
        if p and q:
            ranks = float(rankdata(scores[:, row])[positive].sum())
            areas.append((ranks - p * (p + 1) / 2) / (p * q))
    return float(np.mean(areas)) if areas else float("nan")
