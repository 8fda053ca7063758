"""Every fold of the library: inside a fit, inside a comparison, and its outer splits.

One rule: stratified, shuffled with the seed, groups kept together, classes of a single
item (or group) trained on in every fold and tested in none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils import check_random_state

from krein.training import Classes, Training, Values
from krein.words import warn_user

Fold = tuple[np.ndarray, np.ndarray]

FOLDS = 5
REPEATS = 2  # of the outer folds of a comparison

# ----------------------------------------------------------------------- inside a fit


def among_kept(folds: Iterable[Any], kept: np.ndarray, n: int) -> list[Any]:
    """Folds of n samples, in positions among those that were kept.

    Parameters
    ----------
    folds : iterable of (train, test)
        Index arrays into all samples.
    kept : ndarray of int
        The samples of positive weight.
    n : int
        Number of all samples.

    Returns
    -------
    list of (train, test)
    """
    place = np.full(n, -1)
    place[kept] = np.arange(kept.size)
    moved = [(place[train], place[test]) for train, test in folds]
    return [(train[train >= 0], test[test >= 0]) for train, test in moved]


def inner_folds(
    codes: np.ndarray,
    random_state: Any,
    needed_for: str,
    groups: np.ndarray | None = None,
) -> list[Fold]:
    """Five stratified folds inside a fit, fewer if a class has fewer samples.

    Classes with one sample (or group) are trained on in every fold and tested in none.
    Where groups leave a fold without training samples of some class, it is left out.
    """
    # None means the same folds each time: a fit without a seed is repeatable.
    rng = check_random_state(0 if random_state is None else random_state)
    rare = rare_classes(codes, groups)
    often = np.flatnonzero(~rare[codes])
    if np.unique(codes[often]).size < 2:
        unit = "samples" if groups is None else "groups"
        count = codes.size if groups is None else np.unique(groups).size
        raise ValueError(
            f"{needed_for} needs two classes with at least two {unit} each to make "
            f"folds, and has {count} {unit} to train on; join rare classes"
            + ("" if groups is None else ", or use four or more groups")
        )
    if rare.any():
        warn_user(
            f"{needed_for}: {int(rare.sum())} of {rare.size} classes have one "
            f"{'sample' if groups is None else 'group'}; they are trained on, but no "
            "fold tests them"
        )
    part = codes[often]
    some = None if groups is None else np.asarray(groups)[often]
    n_folds = min(FOLDS, int(_members(part, some)[np.unique(part)].min()))
    folds = stratified_folds(part, n_folds, rng, some)
    single = np.flatnonzero(rare[codes])
    n_classes = np.unique(codes).size
    complete = []
    for some_train, some_test in folds:
        train = np.sort(np.append(often[some_train], single))
        if np.unique(codes[train]).size == n_classes:
            complete.append((train, often[some_test]))
    if not complete:
        raise ValueError(
            f"{needed_for}: no inner fold has training items of every class; use fewer "
            "folds outside, smaller groups, or leave out rare classes"
        )
    return complete


def rare_classes(codes: np.ndarray, groups: Any = None) -> np.ndarray:
    """Whether each class has a single sample, or group of samples."""
    return _members(codes, groups) == 1


def _members(codes: np.ndarray, groups: Any = None) -> np.ndarray:
    """Samples, or groups, of each class."""
    counts = np.bincount(codes)
    if groups is None:
        return counts
    groups = np.asarray(groups)
    return np.array([np.unique(groups[codes == k]).size for k in range(counts.size)])


def stratified_folds(
    codes: np.ndarray, n_folds: int, random_state: Any, groups: Any = None
) -> list[Fold]:
    """Return shuffled folds with the classes (and whole groups) spread over them."""
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    splitter = kind(n_folds, shuffle=True, random_state=random_state)
    return list(splitter.split(np.zeros((codes.size, 1)), codes, groups))


def cv_folds(
    model: Any, training: Training, target: Classes | Values, groups: Any = None
) -> list[Fold]:
    """Folds of a model's `cv` among the samples of positive weight.

    None and a number of folds are stratified and shuffled with the seed of the model;
    a splitter sees only the samples of positive weight; splits that were given as
    positions are of all samples.
    """
    cv = model.cv
    kept = training.kept
    if groups is not None:
        groups = np.asarray(groups)
        groups = groups if kept is None else groups[kept]
    y = target.y
    if cv is None or isinstance(cv, int | np.integer):
        return _own_folds(cv, target, model, groups)
    if hasattr(cv, "split"):
        return list(cv.split(y, y, groups))
    folds = [(np.asarray(train), np.asarray(test)) for train, test in cv]
    if not folds or any(train.size == 0 or test.size == 0 for train, test in folds):
        raise ValueError(
            f"cv gives {len(folds)} folds, some without samples; each needs a training "
            "and a test part"
        )
    return folds if kept is None else among_kept(folds, kept, training.n)


def _own_folds(
    cv: Any, target: Classes | Values, model: Any, groups: Any
) -> list[Fold]:
    seed = 0 if model.random_state is None else model.random_state
    classes = isinstance(target, Classes)
    y = target.y
    if cv is None and classes:
        return inner_folds(y, seed, type(model).__name__, groups)
    count = min(FOLDS if cv is None else int(cv), y.size)
    if count < 2:
        raise ValueError(f"cv={cv} gives fewer than two folds of {y.size} samples")
    if classes:
        return stratified_folds(y, count, check_random_state(seed), groups)
    splitter = KFold(count, shuffle=True, random_state=check_random_state(seed))
    return list(splitter.split(y))


# ----------------------------------------------------------- around a comparison


def outer_splits(
    target: Classes | Values,
    cv: Any = None,
    groups: np.ndarray | None = None,
    seed: int = 0,
    X: Any = None,
) -> list[Fold]:
    """Return (train, test) index pairs, the same for every method.

    Classes of a single item (or group) are trained on in every split and tested in
    none.

    Parameters
    ----------
    target : Classes or Values
        What is to be learnt of all items.
    cv : None, int, splitter or iterable of pairs
        None: two times five folds, stratified by class; an int: that many, once.
    groups : ndarray of shape (n,), optional
        Items of a group stay on one side.
    seed : int
        Seed of the shuffles.
    X : array-like or sparse array of shape (n, n), optional
        Similarities, for splitters that look at them (`SimilarityGroupFold`).

    Returns
    -------
    list of pairs of ndarray
    """
    single = _single_items(target, groups)
    if cv is None or isinstance(cv, int | np.integer):
        often = np.setdiff1d(np.arange(target.size), single)
        some = None if groups is None else groups[often]
        pairs = _repeated_folds(target.subset(often), cv, seed, some)
        pairs = [(often[train], often[test]) for train, test in pairs]
    else:
        seen = np.zeros((target.size, 1)) if X is None else X
        pairs = check_cv(cv).split(seen, target.y, groups)
    return check_splits(pairs, target, groups, single)


def _single_items(target: Classes | Values, groups: np.ndarray | None) -> np.ndarray:
    """Items of classes that cannot be on both sides of a split, with a warning."""
    if isinstance(target, Values):
        return np.array([], dtype=int)
    codes = target.codes
    rare = rare_classes(codes, groups)
    if rare.any():
        unit = "item" if groups is None else "group"
        warn_user(
            f"compare: {int(rare.sum())} of {rare.size} classes have one {unit}; they "
            "are trained on, but no split tests them"
        )
    return np.flatnonzero(rare[codes])


def _repeated_folds(
    target: Classes | Values, cv: Any, seed: int, groups: np.ndarray | None
) -> list[Fold]:
    n_folds, repeats = (FOLDS, REPEATS) if cv is None else (int(cv), 1)
    unit = np.arange(target.size) if groups is None else groups
    sizes = [np.unique(unit).size]
    if isinstance(target, Classes):
        codes = target.codes
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
        if groups is not None:
            what = "groups"
        elif len(sizes) > 1:
            what = "items of a class"
        else:
            what = "items"
        raise ValueError(
            f"cv (--folds) must be from 2 to {most} ({what}), got {n_folds}"
        )
    splits: list[Fold] = []
    for repeat in range(repeats):
        splits += shuffled_folds(target, n_folds, seed + repeat, groups)
    return splits


def shuffled_folds(
    target: Classes | Values, n_folds: int, seed: int, groups: np.ndarray | None
) -> list[Fold]:
    """Folds over which classes are spread, groups kept together."""
    y = target.y
    if isinstance(target, Classes):
        return stratified_folds(y, n_folds, seed, groups)
    if groups is not None:
        n_folds = min(n_folds, np.unique(groups).size)
        return list(GroupKFold(n_folds).split(y, y, groups))
    return list(KFold(n_folds, shuffle=True, random_state=seed).split(y))


def check_splits(
    splits: Any, target: Classes | Values, groups: Any = None, single: Any = ()
) -> list[Fold]:
    """Return pairs of positions, or say what is wrong with them.

    The items `single` are trained on in every split.
    """
    found = []
    items = np.arange(target.size)
    codes = target.y
    classes = np.unique(codes if isinstance(target, Classes) else codes[:0])
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
            train = np.union1d(train, single)
            test = np.setdiff1d(test, single)
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
