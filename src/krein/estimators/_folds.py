"""One rule of folds: stratified, shuffled with the seed, rare classes never tested."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import check_random_state

from krein.estimators._training import Classes, Training, Values, among_kept
from krein.words import warn_user

Fold = tuple[np.ndarray, np.ndarray]

_FOLDS = 5


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
        raise ValueError(
            f"{needed_for} needs two classes with at least two samples (or groups) "
            "each to make folds; join rare classes"
        )
    if rare.any():
        warn_user(
            f"{needed_for}: {int(rare.sum())} of {rare.size} classes have one "
            f"{'sample' if groups is None else 'group'}; they are trained on, but no "
            "fold tests them"
        )
    part = codes[often]
    some = None if groups is None else np.asarray(groups)[often]
    n_folds = min(_FOLDS, int(_members(part, some)[np.unique(part)].min()))
    folds = stratified_folds(part, n_folds, rng, some)
    single = np.flatnonzero(rare[codes])
    folds = [(np.sort(np.append(often[a], single)), often[b]) for a, b in folds]
    n_classes = np.unique(codes).size
    complete = [fold for fold in folds if np.unique(codes[fold[0]]).size == n_classes]
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


def smallest_class(codes: np.ndarray, needed_for: str, groups: Any = None) -> int:
    """Items (or groups) of the rarest class, at least two."""
    counts = _members(codes, groups)
    smallest = int(counts[counts > 0].min())
    if smallest < 2:
        unit = "sample" if groups is None else "group"
        raise ValueError(
            f"{needed_for} needs at least two {unit}s of every class, got one; leave "
            "rare classes out or join them"
        )
    return smallest


def cv_folds(
    model: Any, training: Training, target: Classes | Values, groups: Any = None
) -> list[Fold]:
    """Folds of a model's `cv` among the samples of positive weight.

    None and a number of folds are stratified and shuffled with the seed of the model;
    a splitter sees only the samples of positive weight; splits that were given as
    positions are of all samples.
    """
    cv, kept = model.cv, training.kept
    if groups is not None:
        groups = np.asarray(groups)
        groups = groups if kept is None else groups[kept]
    y = target.codes if isinstance(target, Classes) else target.y
    if cv is None or isinstance(cv, int | np.integer):
        return _own_folds(cv, y, model, groups)
    if hasattr(cv, "split"):
        return list(cv.split(y, y, groups))
    folds = [(np.asarray(train), np.asarray(test)) for train, test in cv]
    if not folds or any(train.size == 0 or test.size == 0 for train, test in folds):
        raise ValueError(
            f"cv gives {len(folds)} folds, some without samples; each needs a training "
            "and a test part"
        )
    return folds if kept is None else among_kept(folds, kept, training.n)


def _own_folds(cv: Any, y: np.ndarray, model: Any, groups: Any) -> list[Fold]:
    seed = 0 if model.random_state is None else model.random_state
    classes = y.dtype.kind in "iu"
    if cv is None and classes:
        return inner_folds(y, seed, type(model).__name__, groups)
    count = min(_FOLDS if cv is None else int(cv), y.size)
    if count < 2:
        raise ValueError(f"cv={cv} gives fewer than two folds of {y.size} samples")
    if classes:
        return stratified_folds(y, count, check_random_state(seed), groups)
    splitter = KFold(count, shuffle=True, random_state=check_random_state(seed))
    return list(splitter.split(y))
