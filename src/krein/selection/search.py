"""One search for every ...CV class, for `compare` and for probabilities.

An estimator says ``grid(training, target)``, its candidates as dicts of parameters in
units of the similarity, and ``fit_path(training, target, grid)``, all of them on one
decomposition, as loosely as their order allows. `held_out` cuts a fold (rows and
columns together), fits the path and returns the decision values of the held-out
samples; `search` collects them, fold by fold, and `best_candidates` chooses. Within a
fold work is shared by `shared_work` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from krein.arrays import Array
from krein.selection.folds import Fold
from krein.store.shared_work import shared_work
from krein.threads import in_job, threads_of_job
from krein.training import Classes, Training
from krein.words import warn_user

Candidate = dict[str, Any]

# Decision values (n_test, n_rows) and test positions -> a score, larger is better.
Score = Callable[[Array, np.ndarray], float]

# C of support vector machines on a kernel whose mean diagonal entry is one.
CS = tuple(float(10.0**power) for power in (-1.0, -0.25, 0.5, 1.25, 2.0, 2.75))

RANKED = 1e-4  # gap or residual of candidates that are only put into an order


def in_folds(
    ask: Callable[[np.ndarray, np.ndarray], Any],
    folds: Sequence[Fold],
    *,
    n_jobs: int | None = 1,
    prefer: str | None = None,
) -> Iterator[Any]:
    """Yield ``ask(train, test)`` fold by fold; what is shared goes with its fold."""
    rows = max((train.size for train, _ in folds), default=0)
    limit = threads_of_job(n_jobs, rows)
    yield from Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")(
        delayed(in_job)(limit, _in_fold, ask, *fold) for fold in folds
    )


def _in_fold(ask: Callable[..., Any], train: np.ndarray, test: np.ndarray) -> Any:
    with shared_work():
        return ask(train, test)


@dataclass(frozen=True)
class FoldValues:
    """Decision values of every candidate on the test part of every fold.

    Attributes
    ----------
    folds : sequence of (train, test)
        Positions among the samples.
    values : sequence of sequence of (ndarray of shape (n_test, n_rows) or None)
        Per fold and candidate; None where a candidate diverged.
    """

    folds: Sequence[Fold]
    values: Sequence[Sequence[Array | None]]

    @property
    def tests(self) -> list[np.ndarray]:
        """Test samples of each fold."""
        return [test for _, test in self.folds]

    @property
    def n_candidates(self) -> int:
        """Number of candidates."""
        return len(self.values[0]) if self.values else 0

    def stacked(self) -> list[Array]:
        """Values (n_candidates, n_test, n_rows) of each fold; none may be missing."""
        return [np.stack(path) for path in self.values]  # type: ignore[arg-type]

    def scores(self, score: Score) -> Array:
        """Scores (n_candidates, n_folds); NaN where a candidate diverged.

        Parameters
        ----------
        score : callable
            ``score(values, test)``, larger is better.
        """
        scores = np.full((len(self.values), self.n_candidates), np.nan)
        for f, (test, path) in enumerate(zip(self.tests, self.values, strict=True)):
            for c, values in enumerate(path):
                if values is not None:
                    scores[f, c] = score(values, test)
        return scores.T

    def of(self, candidate: int, size: int, n_rows: int) -> Array:
        """Values (size, n_rows) of one candidate, each by a fit without the sample.

        Samples that no fold tests, and those of a fold that diverged, are NaN.
        """
        values = np.full((size, n_rows), np.nan)
        for test, path in zip(self.tests, self.values, strict=True):
            found = path[candidate]
            values[test] = np.nan if found is None else found
        return values


def search(
    ask: Callable[[np.ndarray, np.ndarray], Sequence[Array | None]],
    folds: Sequence[Fold],
    *,
    n_jobs: int | None = None,
    prefer: str | None = None,
) -> FoldValues:
    """Ask for the values of all candidates, fold by fold.

    This is the one search of the library: of every ...CV class, of `compare`, and of
    probabilities, which search among one candidate.

    Parameters
    ----------
    ask : callable
        ``ask(train, test)`` fits all candidates to the samples `train` and returns
        what each says of the samples `test`, as `held_out` does for a model.
    folds : sequence of (train, test)
        Positions among the samples.
    n_jobs : int, optional
        Folds at a time.
    prefer : {"threads", "processes"}, optional
        As in joblib.
    """
    return FoldValues(folds, list(in_folds(ask, folds, n_jobs=n_jobs, prefer=prefer)))


def held_out(
    model: Any,
    grid: Sequence[Candidate],
    training: Training,
    target: Any,
    train: np.ndarray,
    test: np.ndarray,
) -> list[Array | None]:
    """Decision values of a fold's test samples per candidate; None: it diverged."""
    path = model.fit_path(training.subset(train), target.subset(train), grid)
    values: list[Array | None] = []
    for params, fitted in zip(grid, path, strict=True):
        if fitted.diverged:
            values.append(None)
            continue
        candidate = model.candidate(params)
        values.append(candidate.held_values(fitted, training, test, train))
    return values


def along(
    grid: Sequence[Candidate],
    name: str,
    fit: Callable[[Candidate, list[float]], Sequence[Any]],
) -> list[Any]:
    """Fit all values of a parameter together, for each choice of the others.

    ``fit(others, values)`` gives one model per value; they come in the order of `grid`.
    """
    groups: dict[Any, list[int]] = {}
    for i, candidate in enumerate(grid):
        others = {k: v for k, v in candidate.items() if k != name}
        groups.setdefault(tuple(others.items()), []).append(i)
    found: dict[int, Any] = {}
    for others, places in groups.items():
        models = fit(dict(others), [float(grid[i][name]) for i in places])
        found.update(zip(places, models, strict=True))
    return [found[i] for i in range(len(grid))]


def defined_folds(scores: Array) -> Array:
    """Scores without the folds in which no candidate has one.

    An area under the curve is not defined on a fold whose test part has one class.
    """
    missing = np.isnan(scores).all(axis=0)
    if missing.all():
        raise ValueError(
            "the score is not defined on any fold (or every candidate diverged): "
            "choose another scoring, fewer folds, or a wider grid"
        )
    if missing.any():
        warn_user(
            f"the score is not defined on {int(missing.sum())} of {missing.size} "
            "folds, which were left out"
        )
    return scores[:, ~missing]


def best_candidates(scores: Array, atol: float = 1e-12) -> np.ndarray:
    """Positions of the candidates whose mean score is the best, up to `atol`."""
    scores = defined_folds(scores)
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
    model: Any, training: Training, target: Classes, folds: Sequence[Fold]
) -> Array:
    """Values (n, n_rows) of the model by fits that did not see the sample.

    Samples that no fold tests, and those of a fold that diverged, stay NaN.
    """

    def ask(train: np.ndarray, test: np.ndarray) -> list[Array | None]:
        fitted = model.fit_rows(training.subset(train), target.subset(train))
        if fitted.diverged:
            return [None]
        return [model.held_values(fitted, training, test, train)]

    return search(ask, folds, n_jobs=1).of(0, training.size, target.n_rows)


def check_grid(grid: Any, name: str) -> Array:
    """Positive numbers, ascending."""
    values = np.asarray(grid, dtype=np.float64).ravel()
    if values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(f"{name} must be one or more positive numbers, got {grid!r}")
    return np.sort(values)
