"""From items or a matrix, and labels, to the data of a comparison and its splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.utils.validation import column_or_1d

from krein import validation
from krein.arrays import Array
from krein.estimators.distances import DistanceTransformer
from krein.items import take
from krein.kernels.blocks import kernel_matrix
from krein.kernels.registry import Kernel, as_kernel, items_for
from krein.selection.folds import FOLDS, Fold, inner_folds, shuffled_folds
from krein.similarity.matrix import Matrix
from krein.similarity.sparse import as_matrix, check_sparse_similarity
from krein.sklearn_internals import num_samples
from krein.store.shared_work import once
from krein.training import Classes, Values


@dataclass(frozen=True)
class Problem:
    """The data of a comparison.

    Attributes
    ----------
    K : ndarray of shape (n, n) or None
        Similarities of all items; None when the kernel has settings that depend on
        the training part, and must be evaluated per split.
    target : Classes or Values
        What is to be learnt: the class of each item, or a number.
    classes : ndarray
        Labels of the classes; empty in a regression.
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
    labels_matched : bool
        Whether labels were found by the names of the items: their order is right.
    """

    K: Array | None
    target: Classes | Values
    classes: np.ndarray
    items: Any = None
    kernel: Any = None
    vectors: Array | None = None
    groups: np.ndarray | None = None
    conversion: Any = None
    labels_matched: bool = False

    @property
    def task(self) -> str:
        """Name of the task: "classification" or "regression"."""
        return "classification" if isinstance(self.target, Classes) else "regression"

    @property
    def codes(self) -> np.ndarray:
        """Class number of each item; in a regression the numbers to be predicted."""
        return self.target.y

    def on(self, train: np.ndarray) -> Array:
        """Similarities of all items (rows) to the training items (columns)."""
        if self.conversion is not None:
            D = self.K[:, train]  # type: ignore[index]
            return clone(self.conversion).fit(D[train]).transform(D)
        if self.K is not None:
            return self.K[:, train]
        items = take(self.items, train)
        return np.asarray(self.kernel.fit(items)(self.items, items), dtype=float)

    def distances(self, train: np.ndarray) -> Array | None:
        """Distances of all items (rows) to the training items, where K holds these."""
        if self.conversion is None or self.K is None:
            return None
        return self.K[:, train]

    def known_items(self, train: np.ndarray) -> KnownItems | None:
        """A kernel on the positions of items, where a kernel on items was given.

        A model that is fitted with it sees what it would see with the items: unlike a
        row of similarities, a kernel tells how similar a new item is to itself.
        """
        if self.kernel is None or self.conversion is not None:
            return None
        if self.K is not None:
            return KnownItems(self.K[:, train], train, np.diagonal(self.K))
        settled = self.kernel.fit(take(self.items, train))
        alone = (take(self.items, [i]) for i in self.everything)
        own = np.array([kernel_matrix(settled, x, x)[0, 0] for x in alone])
        return KnownItems(self.on(train), train, own)

    def matrix(self) -> Matrix:
        """Similarities of all items."""
        return as_matrix(self.on(self.everything))

    @property
    def everything(self) -> np.ndarray:
        """Positions of all items."""
        return np.arange(self.target.size)

    @property
    def labels(self) -> np.ndarray:
        """Label, or number, of each item."""
        y = self.target.y
        return self.classes[y] if isinstance(self.target, Classes) else y

    def inner_folds(self, train: np.ndarray, seed: int = 0) -> list[Fold]:
        """Folds inside of a training part."""
        groups = None if self.groups is None else self.groups[train]
        target = self.target.subset(train)
        if isinstance(target, Classes):
            return inner_folds(target.codes, seed, "compare", groups)
        return shuffled_folds(target, min(FOLDS, train.size), seed, groups)


@dataclass(frozen=True)
class KnownItems:
    """A kernel on the positions of items (n_items, 1), whose values are known already.

    Attributes
    ----------
    columns : ndarray of shape (n, n_train)
        Similarities of all items to the training items.
    train : ndarray of int
        Positions of the training items.
    own : ndarray of shape (n,)
        Similarities of all items to themselves.
    """

    columns: Array
    train: np.ndarray
    own: Array

    def __call__(self, X: Array, Y: Array) -> Array:
        """Similarities of items to training items, or of one item to itself."""
        rows = X[:, 0].astype(int)
        others = Y[:, 0].astype(int)
        if rows.size == 1 and np.array_equal(rows, others):
            return self.own[rows][:, None]
        order = np.argsort(self.train)
        places = order[np.searchsorted(self.train[order], others)]
        return self.columns[np.ix_(rows, places)]


def make_problem(
    X: Any,
    y: Any,
    *,
    kernel: Any = "precomputed",
    kernel_params: Mapping[str, Any] | None = None,
    groups: Any = None,
    symmetrize: bool = False,
    conversion: Any = None,
    task: str = "classification",
) -> Problem:
    """Check the data and evaluate the kernel, once if its settings allow it."""
    precomputed = isinstance(kernel, str) and kernel == "precomputed"
    X = X if precomputed else items_for(kernel, X)
    if not (precomputed and scipy.sparse.issparse(X)):
        validation.refuse_odd_arrays(X)
    n = num_samples(X)
    classes, target = _targets(X, y, n, task)
    if groups is not None:
        groups = column_or_1d(groups)
        if groups.size != n:
            raise ValueError(f"groups has {groups.size} entries for {n} items")
    about: dict[str, Any] = {
        "target": target,
        "classes": classes,
        "labels_matched": validation.have_same_names(X, y),
        "groups": groups,
    }
    if precomputed:
        return _on_matrix(X, symmetrize, conversion, about)
    if conversion is not None:
        raise ValueError(
            "conversion is for a matrix of distances (kernel='precomputed'), but a "
            "kernel on items was given; kernels of a distance have similarity="
        )
    return _on_items(X, as_kernel(kernel, kernel_params), symmetrize, about)


def _targets(X: Any, y: Any, n: int, task: str) -> tuple[np.ndarray, Classes | Values]:
    """Labels of the classes, none of a regression, and what is to be learnt."""
    validation.refuse_mask(y, "y")
    validation.check_order(X, y)
    validation.refuse_missing_targets(y)
    validation.refuse_several_targets(y, "compare")
    labels = column_or_1d(np.asarray(y), warn=False)
    if labels.size != n:
        raise ValueError(f"y has {labels.size} labels for {n} items; they must agree")
    if task != "regression":
        classes, codes = validation.check_labels(labels)
        return classes, Classes(codes, classes.size)
    numbers = labels.astype(float)
    if not np.isfinite(numbers).all():
        raise ValueError(f"y must hold {n} finite numbers for a regression")
    return np.array([]), Values(numbers)


def _on_matrix(X: Any, symmetrize: bool, conversion: Any, about: dict) -> Problem:
    if scipy.sparse.issparse(X):
        return Problem(check_sparse_similarity(X, symmetrize=symmetrize), **about)
    K = validation.check_similarity(X, name="X", symmetrize=symmetrize)
    kind = "similarity" if conversion is None else "distance"
    target = about["target"]
    codes = target.codes if isinstance(target, Classes) else None
    validation.warn_if_distances(K, "X", kind, codes)
    return Problem(K, conversion=conversion, **about)


def _on_items(X: Any, kernel: Any, symmetrize: bool, about: dict[str, Any]) -> Problem:
    settles = isinstance(kernel, Kernel)
    if settles:
        kernel = kernel.fit(X, only=kernel.facts.once)
    if settles and kernel.facts.input == "vectors":
        X = about["vectors"] = np.asarray(X, dtype=float)
    about |= {"items": X, "kernel": kernel}
    if settles and kernel.facts.distance is not None:
        D, conversion = _distances(kernel, X)
        D = validation.check_similarity(D, name="distance(X, X)", symmetrize=symmetrize)
        return Problem(D, conversion=conversion, **about)
    if settles and kernel.fit(X) != kernel:
        return Problem(None, **about)
    K = kernel_matrix(kernel, X)
    K = validation.check_similarity(K, name="kernel(X, X)", symmetrize=symmetrize)
    return Problem(K, **about)


def _distances(kernel: Kernel, X: Any) -> tuple[Array, DistanceTransformer]:
    """Distances of all items, once for all training parts, and what converts them."""
    distance: Any = kernel.facts.distance
    form = ("similarity", "gamma")
    own = {k: v for k, v in kernel.params.items() if k not in form}
    D = once(
        lambda: ("distance", id(X), kernel.name, repr(own)),
        lambda: np.asarray(distance(X, **own), dtype=float),
    )
    settings = {**kernel.facts.parameters, **kernel.params}
    return D, DistanceTransformer(**{k: settings[k] for k in form if k in settings})
