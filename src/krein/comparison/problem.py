"""From items or a matrix, and labels, to the data of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.utils.validation import _num_samples, column_or_1d

from krein.arrays import Array
from krein.estimators.distances import DistanceTransformer
from krein.items import take
from krein.kernels.blocks import kernel_matrix
from krein.kernels.registry import Kernel, as_kernel, items_for
from krein.labels import check_labels, refuse_missing_targets
from krein.store.sharing import once
from krein.validation import (
    check_similarity,
    check_sparse_similarity,
    refuse_mask,
    refuse_odd_arrays,
    warn_if_distances,
    warn_if_reordered,
)


@dataclass(frozen=True)
class Problem:
    """The data of a comparison.

    Attributes
    ----------
    K : ndarray of shape (n, n) or None
        Similarities of all items; None when the kernel has settings that depend on
        the training part, and must be evaluated per split.
    codes : ndarray of shape (n,)
        Class of each item.
    classes : ndarray
        Labels of the classes.
    items : Any
        The items themselves, None for a precomputed matrix.
    kernel : Kernel, callable or None
        The kernel on the items.
    vectors : ndarray of shape (n, p) or None
        The items, if they are rows of numbers.
    groups : ndarray of shape (n,) or None
        Items of a group are never split.
    conversion : DistanceTransformer or None
        K holds distances, which this turns into similarities, settled on each
        training part.
    """

    K: Array | None
    codes: np.ndarray
    classes: np.ndarray
    items: Any = None
    kernel: Any = None
    vectors: Array | None = None
    groups: np.ndarray | None = None
    conversion: Any = None

    def on(self, train: np.ndarray) -> Array:
        """Similarities of all items (rows) to the training items (columns)."""
        if self.conversion is not None:
            D = self.K[:, train]  # type: ignore[index]
            return clone(self.conversion).fit(D[train]).transform(D)
        if self.K is not None:
            return self.K[:, train]
        items = take(self.items, train)
        kernel = self.kernel.fit(items) if isinstance(self.kernel, Kernel) else None
        return np.asarray((kernel or self.kernel)(self.items, items), dtype=float)


def make_problem(
    X: Any,
    y: Any,
    kernel: Any = "precomputed",
    kernel_params: dict | None = None,
    groups: Any = None,
    symmetrize: bool = False,
    conversion: Any = None,
) -> Problem:
    """Check the data and evaluate the kernel, once if its settings allow it."""
    X = items_for(kernel, X)
    sparse = scipy.sparse.issparse(X) and isinstance(kernel, str)
    if not (sparse and kernel == "precomputed"):
        refuse_odd_arrays(X)
    refuse_mask(y, "y")
    warn_if_reordered(X, y)
    refuse_missing_targets(y)
    classes, codes = check_labels(column_or_1d(np.asarray(y), warn=False))
    n = _num_samples(X)
    if codes.size != n:
        raise ValueError(f"y has {codes.size} labels for {n} items; they must agree")
    if groups is not None:
        groups = column_or_1d(np.asarray(groups), warn=False)
        if groups.size != n:
            raise ValueError(f"groups has {groups.size} entries for {n} items")
    if isinstance(kernel, str) and kernel == "precomputed":
        if scipy.sparse.issparse(X):
            given = check_sparse_similarity(X, symmetrize=symmetrize)
            return Problem(given, codes, classes, groups=groups)
        given = check_similarity(X, name="X", symmetrize=symmetrize)
        kind = "similarity" if conversion is None else "distance"
        warn_if_distances(given, "X", kind, codes)
        return Problem(given, codes, classes, groups=groups, conversion=conversion)
    if conversion is not None:
        raise ValueError(
            "conversion is for a matrix of distances (kernel='precomputed'), but a "
            "kernel on items was given; kernels of a distance have similarity="
        )
    found = as_kernel(kernel, kernel_params)
    if isinstance(found, Kernel):
        found = found.fit(X, only=found.facts.once)
    vectors = None
    if isinstance(found, Kernel) and found.facts.input == "vectors":
        X = vectors = np.asarray(X, dtype=float)
    K = None
    if isinstance(found, Kernel) and found.facts.distance is not None:
        # One evaluation of the distance serves all training parts.
        D = once(
            lambda: ("distance", id(X), found.name, repr(_own(found))),
            lambda: _distances(found, X),
        )
        D = check_similarity(D, name="distance(X, X)", symmetrize=symmetrize)
        conversion = _conversion(found)
        return Problem(D, codes, classes, X, found, vectors, groups, conversion)
    if not isinstance(found, Kernel) or found.fit(X) == found:
        K = check_similarity(
            kernel_matrix(found, X),
            name="kernel(X, X)",
            symmetrize=symmetrize,
        )
    return Problem(K, codes, classes, X, found, vectors, groups)


_CONVERSION = ("similarity", "gamma")


def _own(kernel: Kernel) -> dict[str, Any]:
    """Parameters of a kernel's distance, without those of the conversion."""
    return {k: v for k, v in kernel.params.items() if k not in _CONVERSION}


def _distances(kernel: Kernel, X: Any) -> Array:
    assert kernel.facts.distance is not None
    return np.asarray(kernel.facts.distance(X, **_own(kernel)), dtype=float)


def _conversion(kernel: Kernel) -> DistanceTransformer:
    """What turns the distance into the kernel, settled on training items."""
    settings = {**kernel.facts.parameters, **kernel.params}
    return DistanceTransformer(**{k: settings[k] for k in _CONVERSION if k in settings})
