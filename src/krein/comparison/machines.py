"""Decision values of all candidates of a method on one fold, at once.

Inner folds only rank candidates: support vector machines go along their C on one
kernel by LIBSVM alone, and neighbours are sorted once for every k.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse
import sklearn
from sklearn.linear_model import LogisticRegression

from krein.arrays import Array
from krein.comparison.yardsticks import most_similar, standard_columns
from krein.estimators._svm_rows import is_only_multiplied
from krein.estimators._training import Classes
from krein.matrices.sparse import as_matrix
from krein.matrices.treated import TreatedKernel
from krein.methods import as_method, weighted_flip
from krein.solvers.sparse_svm import sparse_svm_path
from krein.solvers.svm_path import svm_path

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
    record: Any, Cs: Sequence[float], K: Any, target: Classes, new: Any
) -> list[Array]:
    trained, order, signs = _trained(record, K), np.argsort(Cs), list(target.signs())
    ascending = np.asarray(Cs)[order]
    if is_only_multiplied(trained):
        V, b = sparse_svm_path(
            trained, trained.norm(), ascending, np.column_stack(signs)
        )
        found = [new @ trained.to_raw(v) + c for v, c in zip(V, b, strict=True)]
    else:
        found = _along_C(trained, ascending, signs, new)
    place = np.argsort(order)
    return [found[place[c]] for c in range(len(Cs))]


def _trained(record: Any, K: Any) -> TreatedKernel:
    matrix = as_matrix(K)
    dense = not scipy.sparse.issparse(K) and record.needs != "nothing"
    # Within a fold all methods ask for this spectrum; `shared_work` has it.
    return matrix.treated(record, spectrum=matrix.spectrum() if dense else None)


def _along_C(
    trained: TreatedKernel, Cs: Array, signs: list[Array], new: Any
) -> list[Array]:
    kernel = trained.kernel()
    scale = float(np.abs(np.diagonal(kernel)).mean()) or 1.0
    rows = []
    for y in signs:
        v, b = svm_path(kernel / scale, y, scale * Cs)
        rows.append(new @ (trained.to_raw(v.T) / scale) + b)
    stacked = np.stack(rows, axis=-1)  # (n_new, n_C, n_rows)
    return [stacked[:, c] for c in range(len(Cs))]


def features_family(
    grid: Sequence[Candidate], K: Any, target: Classes, new: Any
) -> list[Array]:
    """Logistic regressions on standardised rows, each C from the one before."""
    K = as_matrix(K).dense()
    mean, scale = standard_columns(K, None)
    Z = (K - mean) / scale
    Z_new = (
        new.toarray() if scipy.sparse.issparse(new) else new
    ) / scale - mean / scale
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
    nearest = most_similar(new, most)
    votes = np.array(list(target.signs()))[:, nearest]  # (n_rows, n_new, most)
    return [votes[:, :, : c["n_neighbors"]].mean(axis=2).T for c in grid]
