"""Which items train and which are tested: the same for every method, seeds fixed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from krein.estimators._folds import smallest_class, stratified_folds
from krein.splitting import check_splits

__all__ = ["Split", "outer_splits"]

Split = tuple[np.ndarray, np.ndarray]
_FOLDS = 5
_REPEATS = 2


def outer_splits(
    codes: np.ndarray,
    cv: Any = None,
    groups: np.ndarray | None = None,
    seed: int = 0,
    X: Any = None,
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
    X : array-like or sparse array of shape (n, n), optional
        Similarities, for splitters that look at them (`SimilarityGroupSplit`).

    Returns
    -------
    list of pairs of ndarray
    """
    if cv is None:
        folds = min(_FOLDS, smallest_class(codes, "compare", groups))
        splits = [
            split
            for repeat in range(_REPEATS)
            for split in stratified_folds(codes, folds, seed + repeat, groups)
        ]
    elif isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if cv < 2:
            raise ValueError(f"cv must be at least 2 folds, got {cv}")
        splits = stratified_folds(codes, int(cv), seed, groups)
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
    _check_classes(splits, codes)
    return splits


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
