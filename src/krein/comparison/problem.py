"""From items or a matrix, and labels, to the data of a comparison and its splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, check_cv
from sklearn.utils.validation import column_or_1d

from krein import validation
from krein.arrays import Array
from krein.estimators import _training as folding
from krein.estimators.distances import DistanceTransformer
from krein.items import take
from krein.kernels.blocks import kernel_matrix
from krein.kernels.registry import Kernel, as_kernel, items_for
from krein.similarity.matrix import Matrix, Similarities
from krein.similarity.sparse import SparseSimilarity, check_sparse_similarity
from krein.sklearn_internals import num_samples
from krein.store.shared_work import once
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
        Class of each item; in a regression the numbers to be predicted.
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
    task : {"classification", "regression"}
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
        return np.asarray(self.kernel.fit(items)(self.items, items), dtype=float)

    def matrix(self) -> Matrix:
        """Similarities of all items."""
        return as_matrix(self.on(self.everything))

    @property
    def everything(self) -> np.ndarray:
        """Positions of all items."""
        return np.arange(self.codes.size)

    @property
    def labels(self) -> np.ndarray:
        """Label, or number, of each item."""
        return self.classes[self.codes] if self.classes.size else self.codes

    def target(self, train: np.ndarray) -> Any:
        """What the machines are to learn on a training part."""
        if self.task == "classification":
            return folding.Classes(self.codes[train], self.classes.size)
        return folding.Values(self.codes[train])

    def inner_folds(self, train: np.ndarray, seed: int = 0) -> list[Split]:
        """Folds inside of a training part."""
        groups = None if self.groups is None else self.groups[train]
        if self.task == "classification":
            return folding.inner_folds(self.codes[train], seed, "compare", groups)
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
    """Check the data and evaluate the kernel, once if its settings allow it."""
    precomputed = isinstance(kernel, str) and kernel == "precomputed"
    X = X if precomputed else items_for(kernel, X)
    if not (precomputed and scipy.sparse.issparse(X)):
        validation.refuse_odd_arrays(X)
    n = num_samples(X)
    classes, codes = _targets(X, y, n, task)
    about: dict[str, Any] = {"codes": codes, "classes": classes, "task": task}
    about["groups"] = groups = None if groups is None else column_or_1d(groups)
    if groups is not None and groups.size != n:
        raise ValueError(f"groups has {groups.size} entries for {n} items")
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
    validation.refuse_mask(y, "y")
    validation.check_order(X, y)
    validation.refuse_missing_targets(y)
    labels = column_or_1d(np.asarray(y), warn=False)
    if labels.size != n:
        raise ValueError(f"y has {labels.size} labels for {n} items; they must agree")
    if task != "regression":
        return validation.check_labels(labels)
    numbers = labels.astype(float)
    if not np.isfinite(numbers).all():
        raise ValueError(f"y must hold {n} finite numbers for a regression")
    return np.array([]), numbers


def _on_matrix(X: Any, symmetrize: bool, conversion: Any, about: dict) -> Problem:
    if scipy.sparse.issparse(X):
        return Problem(check_sparse_similarity(X, symmetrize=symmetrize), **about)
    K = validation.check_similarity(X, name="X", symmetrize=symmetrize)
    kind = "similarity" if conversion is None else "distance"
    classes = about["codes"] if about["task"] == "classification" else None
    validation.warn_if_distances(K, "X", kind, classes)
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
    if cv is None or isinstance(cv, int | np.integer):
        often = np.setdiff1d(np.arange(codes.size), single)
        some = None if groups is None else groups[often]
        pairs = _repeated_folds(codes[often], cv, seed, some)
        pairs = [(often[train], often[test]) for train, test in pairs]
    else:
        seen = np.zeros((codes.size, 1)) if X is None else X
        pairs = check_cv(cv).split(seen, codes, groups)
    return check_splits(pairs, codes, groups, single)


def _is_classes(codes: np.ndarray) -> bool:
    return codes.dtype.kind in "iu"


def _single_items(codes: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """Items of classes that cannot be on both sides of a split, with a warning."""
    if not _is_classes(codes):
        return np.array([], dtype=int)
    rare = folding.rare_classes(codes, groups)
    if rare.any():
        unit = "item" if groups is None else "group"
        warn_user(
            f"compare: {int(rare.sum())} of {rare.size} classes have one {unit}; they "
            "are trained on, but no split tests them"
        )
    return np.flatnonzero(rare[codes])


def _repeated_folds(
    codes: np.ndarray, cv: Any, seed: int, groups: np.ndarray | None
) -> list[Split]:
    n_folds, repeats = (_FOLDS, _REPEATS) if cv is None else (int(cv), 1)
    unit = np.arange(codes.size) if groups is None else groups
    sizes = [np.unique(unit).size]
    if _is_classes(codes):
        sizes = [np.unique(unit[codes == k]).size for k in np.unique(codes)]
        if len(sizes) < 2:
            raise ValueError(
                "compare needs two classes of at least two items (or groups) each; "
                "join rare classes"
            )
    elif groups is not None:
        repeats = 1  # GroupKFold does not shuffle
    n_folds = min(n_folds, *sizes) if cv is None else n_folds
    most = max(sizes) if groups is None else np.unique(unit).size
    if not 2 <= n_folds <= most:
        of = "items of a class" if len(sizes) > 1 else "items"
        of = of if groups is None else "groups"
        raise ValueError(f"cv (--folds) must be from 2 to {most} ({of}), got {n_folds}")
    seeds = range(seed, seed + repeats)
    return [split for s in seeds for split in _folds(codes, n_folds, s, groups)]


def _folds(
    codes: np.ndarray, n_folds: int, seed: int, groups: np.ndarray | None
) -> list[Split]:
    """Shuffled folds; classes are spread over them, groups kept together."""
    if _is_classes(codes):
        return folding.stratified_folds(codes, n_folds, seed, groups)
    if groups is not None:
        n_folds = min(n_folds, np.unique(groups).size)
        return list(GroupKFold(n_folds).split(codes, codes, groups))
    return list(KFold(n_folds, shuffle=True, random_state=seed).split(codes))


def check_splits(
    splits: Any, codes: np.ndarray, groups: Any = None, single: Any = ()
) -> list[Split]:
    """Return pairs of positions, or say what is wrong with them.

    The items `single` are trained on in every split.
    """
    found, items = [], np.arange(codes.size)
    classes = np.unique(codes if _is_classes(codes) else codes[:0])
    unit, what = (items, "") if groups is None else (groups, " of a group")
    for i, pair in enumerate(splits):
        try:
            train, test = (items[np.asarray(part)] for part in pair)
        except (TypeError, ValueError, IndexError) as error:
            raise ValueError(
                f"split {i} of cv is no pair (train, test) of positions (or masks) of "
                f"{codes.size} items: {error}"
            ) from None
        if len(single):
            train, test = np.union1d(train, single), np.setdiff1d(test, single)
        why = ""
        if np.intersect1d(unit[train], unit[test]).size:
            splitter = "sklearn.model_selection.StratifiedGroupKFold"
            why = f"items{what} both to train and to test on; groups need {splitter}"
        elif np.setdiff1d(classes, codes[train]).size or test.size == 0:
            why = "no training items of some class, or no test items; stratify"
        if why:
            raise ValueError(f"split {i} of cv has {why}")
        found.append((train, test))
    if not found:
        raise ValueError("cv gives no split")
    return found


def as_matrix(K: Any) -> Matrix:
    """Return a checked similarity, sparse or not, in the form a fit works on."""
    return SparseSimilarity(K) if scipy.sparse.issparse(K) else Similarities(K)
