"""From items or a matrix, and labels, to the data of a comparison and its splits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils.validation import _num_samples, column_or_1d

from krein.arrays import Array
from krein.estimators._training import (
    Classes,
    Values,
    inner_folds,
    rare_classes,
    stratified_folds,
)
from krein.estimators.distances import DistanceTransformer
from krein.items import check_labels, refuse_missing_targets, take
from krein.kernels.blocks import kernel_matrix
from krein.kernels.registry import Kernel, as_kernel, items_for
from krein.splitting import check_splits
from krein.store.sharing import once
from krein.validation import (
    check_similarity,
    check_sparse_similarity,
    refuse_mask,
    refuse_odd_arrays,
    warn_if_distances,
    warn_if_reordered,
)
from krein.words import warn_user

Split = tuple[np.ndarray, np.ndarray]
_FOLDS = 5
_REPEATS = 2


@dataclass(frozen=True)
class Problem:
    """The data of a comparison.

    Attributes
    ----------
    K : ndarray of shape (n, n) or None
        Similarities of all items; None when the kernel has settings that depend on
        the training part, and must be evaluated per split.
    codes : ndarray of shape (n,)
        Class of each item; in a regression the numbers to be predicted; for novelty
        0 is normal.
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
    task : {"classification", "regression", "novelty"}
        What is to be learnt.
    """

    K: Array | None
    codes: np.ndarray
    classes: np.ndarray
    items: Any = None
    kernel: Any = None
    vectors: Array | None = None
    groups: np.ndarray | None = None
    conversion: Any = None
    task: str = "classification"

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

    @property
    def everything(self) -> np.ndarray:
        """Positions of all items."""
        return np.arange(self.codes.size)

    @property
    def labels(self) -> np.ndarray:
        """Label, or number, of each item."""
        return self.classes[self.codes] if self.classes.size else self.codes

    def learnt_from(self, train: np.ndarray) -> np.ndarray:
        """Items of a training part that are learnt from: for novelty the normal."""
        return train[self.codes[train] == 0] if self.task == "novelty" else train

    def target(self, train: np.ndarray) -> Any:
        """What the machines are to learn on a training part."""
        if self.task == "classification":
            return Classes(self.codes[train], self.classes.size)
        return Values(self.codes[train])

    def inner_folds(self, train: np.ndarray, seed: int = 0) -> list[Split]:
        """Folds inside of a training part; for novelty nothing is chosen."""
        groups = None if self.groups is None else self.groups[train]
        if self.task == "classification":
            return inner_folds(self.codes[train], seed, "compare", groups)
        if self.task == "novelty":
            return []
        return _folds(self.codes[train], min(_FOLDS, train.size), seed, groups)


def make_problem(
    X: Any,
    y: Any,
    kernel: Any = "precomputed",
    kernel_params: dict | None = None,
    groups: Any = None,
    symmetrize: bool = False,
    conversion: Any = None,
    task: str = "classification",
) -> Problem:
    """Check the data and evaluate the kernel, once if its settings allow it.

    For novelty y holds two labels, of which the first in order is that of the normal
    items, or is None where all items are normal.
    """
    X = items_for(kernel, X)
    precomputed = isinstance(kernel, str) and kernel == "precomputed"
    if not (precomputed and scipy.sparse.issparse(X)):
        refuse_odd_arrays(X)
    n = _num_samples(X)
    classes, codes = _targets(X, y, n, task)
    about: dict[str, Any] = {"codes": codes, "classes": classes, "task": task}
    about["groups"] = _check_groups(groups, n)
    if precomputed:
        return _on_matrix(X, symmetrize, conversion, about)
    if conversion is not None:
        raise ValueError(
            "conversion is for a matrix of distances (kernel='precomputed'), but a "
            "kernel on items was given; kernels of a distance have similarity="
        )
    return _on_items(X, as_kernel(kernel, kernel_params), symmetrize, about)


def _targets(X: Any, y: Any, n: int, task: str) -> tuple[np.ndarray, np.ndarray]:
    """Classes and the class of each item; of a regression none, and its numbers."""
    if task == "novelty" and y is None:
        return np.array(["normal", "novel"]), np.zeros(n, dtype=int)
    refuse_mask(y, "y")
    warn_if_reordered(X, y)
    refuse_missing_targets(y)
    labels = column_or_1d(np.asarray(y), warn=False)
    if labels.size != n:
        raise ValueError(f"y has {labels.size} labels for {n} items; they must agree")
    if task != "regression":
        return check_labels(labels)
    numbers = labels.astype(float)
    if not np.isfinite(numbers).all():
        raise ValueError(f"y must hold {n} finite numbers for a regression")
    return np.array([]), numbers


def _check_groups(groups: Any, n: int) -> np.ndarray | None:
    if groups is None:
        return None
    groups = column_or_1d(np.asarray(groups), warn=False)
    if groups.size != n:
        raise ValueError(f"groups has {groups.size} entries for {n} items")
    return groups


def _on_matrix(
    X: Any, symmetrize: bool, conversion: Any, about: dict[str, Any]
) -> Problem:
    if scipy.sparse.issparse(X):
        return Problem(check_sparse_similarity(X, symmetrize=symmetrize), **about)
    K = check_similarity(X, name="X", symmetrize=symmetrize)
    kind = "similarity" if conversion is None else "distance"
    classes = about["codes"] if about["task"] == "classification" else None
    warn_if_distances(K, "X", kind, classes)
    return Problem(K, conversion=conversion, **about)


def _on_items(X: Any, kernel: Any, symmetrize: bool, about: dict[str, Any]) -> Problem:
    if not isinstance(kernel, Kernel):
        K = kernel_matrix(kernel, X)
        K = check_similarity(K, name="kernel(X, X)", symmetrize=symmetrize)
        return Problem(K, items=X, kernel=kernel, **about)
    kernel = kernel.fit(X, only=kernel.facts.once)
    if kernel.facts.input == "vectors":
        X = about["vectors"] = np.asarray(X, dtype=float)
    about |= {"items": X, "kernel": kernel}
    if kernel.facts.distance is not None:
        # One evaluation of the distance serves all training parts.
        D = once(
            lambda: ("distance", id(X), kernel.name, repr(_own(kernel))),
            lambda: _distances(kernel, X),
        )
        D = check_similarity(D, name="distance(X, X)", symmetrize=symmetrize)
        return Problem(D, conversion=_conversion(kernel), **about)
    if kernel.fit(X) != kernel:
        return Problem(None, **about)
    K = kernel_matrix(kernel, X)
    K = check_similarity(K, name="kernel(X, X)", symmetrize=symmetrize)
    return Problem(K, **about)


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


# ------------------------------------------------------------------------------ splits


def outer_splits(
    codes: np.ndarray,
    cv: Any = None,
    groups: np.ndarray | None = None,
    seed: int = 0,
    X: Any = None,
) -> list[Split]:
    """Return (train, test) index pairs, the same for every method.

    Classes of a single item (or group) are trained on in every split and tested in
    none.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each item, or numbers to be predicted.
    cv : None, int, splitter or iterable of pairs
        None: two times five folds, stratified by class; an int: that many, once.
    groups : ndarray of shape (n,), optional
        Items of a group stay on one side.
    seed : int
        Seed of the shuffles.
    X : array-like or sparse array of shape (n, n), optional
        Similarities, for splitters that look at them (`SimilarityGroupSplit`).

    Returns
    -------
    list of pairs of ndarray
    """
    single = _single_items(codes, groups)
    often = np.setdiff1d(np.arange(codes.size), single)
    if cv is None or (isinstance(cv, int | np.integer) and not isinstance(cv, bool)):
        some = None if groups is None else groups[often]
        pairs = _repeated_folds(codes[often], cv, seed, some)
        splits = [(often[train], often[test]) for train, test in pairs]
    elif hasattr(cv, "split") and not isinstance(cv, str):
        pairs = cv.split(np.zeros((codes.size, 1)) if X is None else X, codes, groups)
        splits = check_splits(pairs, codes.size, groups)
    elif isinstance(cv, Iterable) and not isinstance(cv, str):
        splits = check_splits(cv, codes.size, groups)
    else:
        raise TypeError(
            "cv must be None, a number of folds, a scikit-learn splitter or pairs of "
            f"(train, test) indices, got {type(cv).__name__}"
        )
    if single.size:
        splits = [(np.union1d(a, single), np.setdiff1d(b, single)) for a, b in splits]
    _check_parts(splits, codes)
    return splits


def _is_classes(codes: np.ndarray) -> bool:
    return codes.dtype.kind in "iu"


def _single_items(codes: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """Items of classes that cannot be on both sides of a split, with a warning."""
    rare = rare_classes(codes, groups) if _is_classes(codes) else np.zeros(1, bool)
    if not rare.any():
        return np.array([], dtype=int)
    unit = "item" if groups is None else "group"
    warn_user(
        f"compare: {int(rare.sum())} of {rare.size} classes have one {unit}; they are "
        "trained on, but no split tests them"
    )
    return np.flatnonzero(rare[codes])


def _repeated_folds(
    codes: np.ndarray, cv: Any, seed: int, groups: np.ndarray | None
) -> list[Split]:
    if cv is not None and cv < 2:
        raise ValueError(f"cv must be at least 2 folds, got {cv}")
    n_folds, repeats = (_FOLDS, _REPEATS) if cv is None else (int(cv), 1)
    if not _is_classes(codes):
        repeats = repeats if groups is None else 1  # GroupKFold does not shuffle
    elif cv is None:
        n_folds = min(n_folds, _smallest_class(codes, groups))
    return [
        split
        for repeat in range(repeats)
        for split in _folds(codes, n_folds, seed + repeat, groups)
    ]


def _smallest_class(codes: np.ndarray, groups: np.ndarray | None) -> int:
    """Items (or groups) of the rarest class that can be tested."""
    classes = np.unique(codes)
    if classes.size < 2:
        raise ValueError(
            "compare needs two classes of at least two items (or groups) each; join "
            "rare classes"
        )
    unit = np.arange(codes.size) if groups is None else groups
    return min(np.unique(unit[codes == k]).size for k in classes)


def _folds(
    codes: np.ndarray, n_folds: int, seed: int, groups: np.ndarray | None
) -> list[Split]:
    """Shuffled folds; classes are spread over them, groups kept together."""
    if _is_classes(codes):
        return stratified_folds(codes, n_folds, seed, groups)
    if groups is not None:
        n_folds = min(n_folds, np.unique(groups).size)
        return list(GroupKFold(n_folds).split(codes, codes, groups))
    return list(KFold(n_folds, shuffle=True, random_state=seed).split(codes))


def _check_parts(splits: list[Split], codes: np.ndarray) -> None:
    if not splits:
        raise ValueError("cv gives no split")
    classes = np.unique(codes) if _is_classes(codes) else np.array([])
    for i, (train, test) in enumerate(splits):
        if np.intersect1d(train, test).size:
            raise ValueError(f"split {i} of cv has items both to train and to test on")
        if np.setdiff1d(classes, codes[train]).size or test.size == 0:
            raise ValueError(
                f"split {i} of cv has no training items of some class, or no test "
                "items; use stratified splits"
            )
