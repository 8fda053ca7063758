"""Which items train and which are tested: the same for every method, seeds fixed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

__all__ = ["Split", "inner_folds", "outer_splits"]

Split = tuple[np.ndarray, np.ndarray]
_FOLDS = 5
_REPEATS = 2


def outer_splits(
    codes: np.ndarray, cv: Any = None, groups: np.ndarray | None = None, seed: int = 0
) -> list[Split]:
    """Return (train, test) index pairs.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each item.
    cv : None, int, splitter or iterable of pairs
        None: two times five stratified folds; an int: that many folds, once.
    groups : ndarray of shape (n,), optional
        Items of a group stay on one side.
    seed : int
        Seed of the shuffles.

    Returns
    -------
    list of pairs of ndarray
    """
    if cv is None:
        folds = _fewer_folds(_FOLDS, codes, groups)
        splits = [
            split
            for repeat in range(_REPEATS)
            for split in _folds(codes, groups, folds, seed + repeat)
        ]
    elif isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if cv < 2:
            raise ValueError(f"cv must be at least 2 folds, got {cv}")
        splits = _folds(codes, groups, int(cv), seed)
    elif hasattr(cv, "split") and not isinstance(cv, str):
        splits = list(cv.split(np.zeros((codes.size, 1)), codes, groups))
    elif isinstance(cv, Iterable) and not isinstance(cv, str):
        splits = [(np.asarray(train), np.asarray(test)) for train, test in cv]
    else:
        raise TypeError(
            "cv must be None, a number of folds, a scikit-learn splitter or pairs of "
            f"(train, test) indices, got {type(cv).__name__}"
        )
    _check_classes(splits, codes)
    return splits


def inner_folds(
    codes: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> list[Split]:
    """Return the folds of one training set that choose its hyperparameters."""
    folds = _fewer_folds(_FOLDS, codes, groups)
    splits = _folds(codes, groups, folds, seed)
    classes = np.unique(codes).size
    complete = [s for s in splits if np.unique(codes[s[0]]).size == classes]
    if not complete:
        raise ValueError(
            "no inner fold has training items of every class; use fewer outer folds, "
            "larger groups apart, or leave out rare classes"
        )
    return complete


def _folds(
    codes: np.ndarray, groups: np.ndarray | None, n_folds: int, seed: int
) -> list[Split]:
    if groups is None:
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    else:
        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros((codes.size, 1)), codes, groups))


def _fewer_folds(n_folds: int, codes: np.ndarray, groups: np.ndarray | None) -> int:
    """No more folds than the rarest class has items (or groups)."""
    counts = np.bincount(codes)
    if groups is not None:
        counts = np.array(
            [np.unique(groups[codes == k]).size for k in range(len(counts))]
        )
    smallest = int(counts[counts > 0].min())
    if smallest < 2:
        unit = "item" if groups is None else "group"
        raise ValueError(
            f"a class has a single {unit} to train and test on; every class needs at "
            f"least two {unit}s. Leave rare classes out or join them"
        )
    return min(n_folds, smallest)


def _check_classes(splits: list[Split], codes: np.ndarray) -> None:
    if not splits:
        raise ValueError("cv gives no split")
    classes = np.unique(codes)
    for i, (train, test) in enumerate(splits):
        if np.intersect1d(train, test).size:
            raise ValueError(f"split {i} of cv has items both to train and to test on")
        if np.unique(codes[train]).size < classes.size or test.size == 0:
            raise ValueError(
                f"split {i} of cv has no training items of some class, or no test "
                "items; use stratified splits"
            )
