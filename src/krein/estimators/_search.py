"""One search for every ...CV class, for `compare` and for probabilities.

`in_folds` is the loop over folds, for all of them; within a fold an eigendecomposition
is shared by `shared_work` alone. A candidate of a ...CV class is a `FittedRows`;
``fit_path(training, target)`` gives those of a whole grid, in its order, so that one
may start from another. The search cuts the folds (rows and columns together), fits, and
hands the decision values of held-out samples on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import (
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from krein.arrays import Array
from krein.estimators._training import (
    Classes,
    FittedRows,
    Training,
    Values,
    among_kept,
    as_labels,
    ravel_rows,
)
from krein.notices import warn_user
from krein.store.sharing import shared_work

__all__ = [
    "Held",
    "best_candidates",
    "check_alphas",
    "check_grid",
    "cv_folds",
    "in_folds",
    "inner_folds",
    "out_of_fold",
    "search",
    "stratified_folds",
]

Fold = tuple[np.ndarray, np.ndarray]
FitPath = Callable[[Training, Any], Sequence[FittedRows]]
# Decision values (n_test, n_rows), classes and test positions -> a score.
Score = Callable[[Array, np.ndarray], float]

_INNER = 5


def in_folds(
    ask: Callable[[np.ndarray, np.ndarray], Any],
    folds: Sequence[Fold],
    *,
    n_jobs: int | None = 1,
    prefer: str | None = None,
) -> Iterator[Any]:
    """Yield ``ask(train, test)`` fold by fold; what is shared goes with its fold."""
    return Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")(
        delayed(_in_fold)(ask, *fold) for fold in folds
    )


def _in_fold(ask: Callable[..., Any], train: np.ndarray, test: np.ndarray) -> Any:
    with shared_work():
        return ask(train, test)


def held_out(
    fit_path: FitPath,
    training: Training,
    target: Any,
    train: np.ndarray,
    test: np.ndarray,
) -> list[Array | None]:
    """Decision values of a fold's test samples per candidate; None: it diverged."""
    path = fit_path(training.subset(train), target.subset(train))
    return [
        None if fitted.diverged else training.scores(fitted, test, train)
        for fitted in path
    ]


def search(
    fit_path: FitPath,
    training: Training,
    target: Any,
    folds: Sequence[Fold],
    score: Score,
    *,
    n_jobs: int | None = None,
    prefer: str | None = None,
    told: Callable[[int, Array], None] | None = None,
) -> Array:
    """Scores (n_candidates, n_folds); NaN where a candidate diverged.

    Parameters
    ----------
    fit_path : callable
        ``fit_path(training, target)`` fits all candidates, in order.
    training, target
        All samples.
    folds : sequence of (train, test)
        Positions among the samples.
    score : callable
        ``score(values, test)``, larger is better.
    n_jobs : int, optional
        Folds at a time.
    prefer : {"threads", "processes"}, optional
        As in joblib.
    told : callable, optional
        ``told(fold, scores)`` after each fold.
    """
    ask = partial(held_out, fit_path, training, target)
    values = in_folds(ask, folds, n_jobs=n_jobs, prefer=prefer)
    columns = []
    for k, (fold, path) in enumerate(zip(folds, values, strict=True)):
        columns.append([np.nan if v is None else score(v, fold[1]) for v in path])
        if told is not None:
            told(k, np.array(columns[-1]))
    return np.array(columns).T


def best_candidates(scores: Array, atol: float = 1e-12) -> np.ndarray:
    """Positions of the candidates whose mean score is the best, up to `atol`."""
    failed = np.isnan(scores).any(axis=1)
    if failed.all():
        raise ValueError(
            "every candidate of the search diverged in some fold: widen the grid, or "
            "choose another solver"
        )
    if failed.any():
        warn_user(
            f"{int(failed.sum())} of {failed.size} candidates diverged in some fold "
            "and were left out"
        )
    means = np.where(failed, -np.inf, scores.mean(axis=1))
    return np.flatnonzero(means >= means.max() - atol)


def out_of_fold(
    fit_path: FitPath, training: Training, target: Classes, folds: Sequence[Fold]
) -> list[Array]:
    """Values (n, n_rows) per candidate by models that did not see the sample.

    Samples that no fold tests stay NaN.
    """
    found: list[Array] = []
    paths = in_folds(partial(held_out, fit_path, training, target), folds)
    for (_, test), path in zip(folds, paths, strict=True):
        for i, values in enumerate(path):
            if i == len(found):
                found.append(np.full((training.size, target.n_rows), np.nan))
            if values is not None:
                found[i][test] = values
    return found


def check_alphas(alphas: Any) -> list[float]:
    """Return a list of positive numbers, or raise."""
    values = np.atleast_1d(np.asarray(alphas, dtype=float))
    if values.ndim != 1 or values.size == 0 or not np.all(values > 0):
        raise ValueError(f"alphas must be one or more positive numbers, got {alphas!r}")
    return [float(alpha) for alpha in values]


def check_grid(grid: Any, name: str) -> Array:
    """Positive numbers, ascending."""
    values = np.asarray(grid, dtype=np.float64).ravel()
    if values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(f"{name} must hold positive numbers, got {grid!r}")
    return np.sort(values)


# ----------------------------------------------------------------------------- folds


def inner_folds(
    codes: np.ndarray,
    random_state: Any,
    needed_for: str,
    groups: np.ndarray | None = None,
) -> list[Fold]:
    """Five stratified folds inside a fit, fewer if a class has fewer samples.

    Where groups leave a fold without training samples of some class, it is left out.
    """
    # None means the same folds each time: a fit without a seed is repeatable.
    rng = check_random_state(0 if random_state is None else random_state)
    n_folds = min(_INNER, smallest_class(codes, needed_for, groups))
    folds = stratified_folds(codes, n_folds, rng, groups)
    n_classes = np.unique(codes).size
    complete = [fold for fold in folds if np.unique(codes[fold[0]]).size == n_classes]
    if not complete:
        raise ValueError(
            f"{needed_for}: no inner fold has training items of every class; use fewer "
            "folds outside, smaller groups, or leave out rare classes"
        )
    return complete


def stratified_folds(
    codes: np.ndarray, n_folds: int, random_state: Any, groups: Any = None
) -> list[Fold]:
    """Return shuffled folds with the classes (and whole groups) spread over them."""
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    splitter = kind(n_folds, shuffle=True, random_state=random_state)
    return list(splitter.split(np.zeros((codes.size, 1)), codes, groups))


def smallest_class(codes: np.ndarray, needed_for: str, groups: Any = None) -> int:
    """Items (or groups) of the rarest class, at least two."""
    counts = np.bincount(codes)
    if groups is not None:
        counts = np.array(
            [np.unique(groups[codes == k]).size for k in range(len(counts))]
        )
    smallest = int(counts[counts > 0].min())
    if smallest < 2:
        unit = "sample" if groups is None else "group"
        raise ValueError(
            f"{needed_for} needs at least two {unit}s of every class, got one; leave "
            "rare classes out or join them"
        )
    return smallest


def cv_folds(
    cv: Any, training: Training, target: Classes | Values, groups: Any = None
) -> list[Fold]:
    """Folds among the samples of positive weight.

    A splitter sees only these; splits that were given as positions are of all samples.
    """
    kept = training.kept
    if groups is not None and kept is not None:
        groups = np.asarray(groups)[kept]
    given = cv is not None and not hasattr(cv, "split") and not np.isscalar(cv)
    if not given:
        y = target.codes if isinstance(target, Classes) else target.y
        splitter = check_cv(cv, y, classifier=isinstance(target, Classes))
        return list(splitter.split(y, y, groups))
    folds = [(np.asarray(train), np.asarray(test)) for train, test in cv]
    if not folds or any(train.size == 0 or test.size == 0 for train, test in folds):
        raise ValueError(
            f"cv gives {len(folds)} folds, some without samples; each needs a training "
            "and a test part"
        )
    return folds if kept is None else among_kept(folds, kept, training.n)


# --------------------------------------------------------------------------- scoring


class Held(ClassifierMixin, BaseEstimator):
    """Decision values already computed, in the dress of an estimator for scorers."""

    def __init__(
        self,
        classes_: np.ndarray,
        values: Array,
        proba: Callable[[Array], Array] | None = None,
    ) -> None:
        self.classes_ = classes_
        self.values = values
        self.proba = proba

    def fit(self, X: Any, y: Any) -> Held:
        """Refuse: it holds values only."""
        raise NotImplementedError("holds values only")

    def decision_function(self, X: Any) -> Array:
        """Return the values."""
        return ravel_rows(self.values)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels."""
        return as_labels(self.values, self.classes_)

    @available_if(lambda self: self.proba is not None)
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities."""
        assert self.proba is not None
        return self.proba(self.values)


def scorer(
    scoring: Any,
    classes: np.ndarray,
    target: Classes,
    *,
    weight: Array | None = None,
    proba: Callable[[Array], Array] | None = None,
) -> Score:
    """Return ``score(values, test)`` by a scikit-learn scorer; accuracy when None.

    Parameters
    ----------
    scoring : str, callable or None
        As in `GridSearchCV`.
    classes : ndarray
        Labels.
    target : Classes
        Of all samples.
    weight : ndarray, optional
        Weights of the samples in the score.
    proba : callable, optional
        Turns values into probabilities, where the model has them.
    """
    labels = classes[target.codes]
    if scoring is None:
        # scikit-learn's own checks take longer than a small fit.
        def accuracy(values: Array, test: np.ndarray) -> float:
            hits = as_labels(values, classes) == labels[test]
            return float(
                np.average(hits, weights=None if weight is None else weight[test])
            )

        return accuracy
    judge = check_scoring(Held(classes, np.empty((0, 1)), proba), scoring)

    def score(values: Array, test: np.ndarray) -> float:
        held = Held(classes, values, proba)
        given = {} if weight is None else {"sample_weight": weight[test]}
        return float(judge(held, np.asarray(test)[:, None], labels[test], **given))

    return score
