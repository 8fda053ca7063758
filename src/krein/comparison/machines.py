"""Decision values of all candidates of a method on one fold, at once.

Inner folds only rank candidates: support vector machines go along their C on one
kernel by LIBSVM alone, and neighbours are sorted once for every k.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression

from krein.arrays import Array
from krein.comparison.yardsticks import standard_columns
from krein.estimators._training import Classes
from krein.methods import as_method, weighted_flip
from krein.solvers.svm_path import svm_path
from krein.spectrum import Spectrum
from krein.transform import Transform

__all__ = [
    "Family",
    "features_family",
    "krein_family",
    "neighbor_family",
    "svm_family",
]

_LOOSE = 1e-4  # gradient of a logistic regression that is only ranked

Candidate = dict[str, Any]
# Candidates, training matrix, classes, new rows -> values per candidate.
Family = Callable[[Sequence[Candidate], Array, Classes, Array], list[Array]]


def svm_family(name: str) -> Family:
    """Return the machines of one spectrum method for all C."""

    def values(
        grid: Sequence[Candidate], K: Array, target: Classes, new: Array
    ) -> list[Array]:
        return _machines(as_method(name), [c["C"] for c in grid], K, target, new)

    return values


def krein_family(
    grid: Sequence[Candidate], K: Array, target: Classes, new: Array
) -> list[Array]:
    """Krein machines: one flipped kernel per ratio of the penalties."""
    found: dict[int, Array] = {}
    for ratio in dict.fromkeys(c["lam_neg"] for c in grid):
        places = [i for i, c in enumerate(grid) if c["lam_neg"] == ratio]
        Cs = [grid[i]["C"] for i in places]
        values = _machines(weighted_flip(1.0, ratio), Cs, K, target, new)
        found.update(zip(places, values, strict=True))
    return [found[i] for i in range(len(grid))]


def _machines(
    record: Any, Cs: Sequence[float], K: Array, target: Classes, new: Array
) -> list[Array]:
    # Within a fold all methods ask for this spectrum; `shared_work` has it.
    spectrum = Spectrum.exact(K) if record.needs != "nothing" else None
    transform = Transform.fit(K, record, spectrum=spectrum)
    kernel = transform.kernel(K)
    scale = float(np.abs(np.diagonal(kernel)).mean()) or 1.0
    order = np.argsort(Cs)
    rows = []
    for signs in target.signs():
        v, b = svm_path(kernel / scale, signs, scale * np.asarray(Cs)[order])
        rows.append(new @ (transform.coef(v.T) / scale) + b)
    stacked = np.stack(rows, axis=-1)  # (n_new, n_C, n_rows)
    place = np.argsort(order)
    return [stacked[:, place[c]] for c in range(len(Cs))]


def features_family(
    grid: Sequence[Candidate], K: Array, target: Classes, new: Array
) -> list[Array]:
    """Logistic regressions on standardised rows, each C from the one before."""
    mean, scale = standard_columns(K, None)
    Z, Z_new = (K - mean) / scale, (new - mean) / scale
    rows = []
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        for signs in target.signs():
            model = LogisticRegression(
                tol=_LOOSE, solver="newton-cholesky", warm_start=True
            )
            columns = []
            for candidate in grid:
                model.set_params(C=candidate["C"]).fit(Z, signs)
                columns.append(Z_new @ model.coef_[0] + model.intercept_[0])
            rows.append(np.column_stack(columns))
    stacked = np.stack(rows, axis=-1)
    return [stacked[:, c] for c in range(len(grid))]


def neighbor_family(
    grid: Sequence[Candidate], K: Array, target: Classes, new: Array
) -> list[Array]:
    """Votes of the most similar items, for all numbers of neighbours."""
    most = min(max(c["n_neighbors"] for c in grid), K.shape[0])
    nearest = np.argsort(-new, axis=1, kind="stable")[:, :most]
    votes = np.array(list(target.signs()))[:, nearest]  # (n_rows, n_new, most)
    return [votes[:, :, : c["n_neighbors"]].mean(axis=2).T for c in grid]
