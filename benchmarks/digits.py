"""Errors on the digits of the page "I have a similarity matrix", beside its table.

    python benchmarks/digits.py

300 handwritten digits and their Hausdorff distances, K = exp(-d / 2), as in "Get
started": scikit-learn's `SVC` as it is and with C tuned inside the training part, and
krein's searches. Then the mean distance from one digit to the other instead of the
largest. Five times 5-fold cross-validation, errors in percent.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.ndimage import distance_transform_edt
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.svm import SVC

from krein import SimilarityClassifier, SpectrumSVC, SpectrumSVCCV, diagnose

FOLDS = RepeatedStratifiedKFold(n_splits=5, n_repeats=5, random_state=0)
INNER = StratifiedKFold(5, shuffle=True, random_state=0)
STEPS = 10**6  # of LIBSVM: on an indefinite matrix it may not stop by itself


def similarities() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return exp(-d / 2) of the largest and of the mean distance, and the digits."""
    digits = load_digits()
    ink, y = digits.images[:300] > 6, digits.target[:300]
    way = np.array([distance_transform_edt(~other) for other in ink])
    longest = np.array([way[:, one].max(axis=1) for one in ink])
    mean = np.array([way[:, one].mean(axis=1) for one in ink])
    largest = np.exp(-np.maximum(longest, longest.T) / 2)
    return largest, np.exp(-np.maximum(mean, mean.T) / 2), y


def main() -> None:
    """Print one line a model."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    largest, mean, y = similarities()
    plain = SVC(kernel="precomputed", max_iter=STEPS)
    models = {
        "SVC, C = 1": plain,
        "SVC, C tuned": GridSearchCV(plain, {"C": np.logspace(-2, 3, 6)}, cv=INNER),
        "SpectrumSVCCV": SpectrumSVCCV(random_state=0),
        "SimilarityClassifier": SimilarityClassifier(random_state=0),
    }
    for name, model in models.items():
        error = 1.0 - cross_val_score(model, largest, y, cv=FOLDS).mean()
        print(f"largest distance  {name:22} {100 * error:5.1f}", flush=True)
    print(f"mean distance     negative mass {diagnose(mean).negative_mass:.3f}")
    for fix in ("none", "clip", "flip", "square"):
        model = SpectrumSVC(fix, C=10.0, max_iter=STEPS)
        error = 1.0 - cross_val_score(model, mean, y, cv=FOLDS).mean()
        print(f"mean distance     {fix + ', C = 10':22} {100 * error:5.1f}", flush=True)


if __name__ == "__main__":
    main()
