"""One search for every ...CV class, for `compare` and for probabilities.

An estimator says ``grid(training, target)``, its candidates as dicts of parameters in
units of the similarity, and ``fit_path(training, target, grid)``, all of them on one
decomposition, as loosely as their order allows. `held_out` cuts a fold (rows and
columns together), fits the path and returns the decision values of the held-out
samples; `search` scores them. Within a fold work is shared by `shared_work` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed

from krein.arrays import Array
from krein.declarations import Fitted, State, declares_parameters
from krein.estimators._landscape import Score, scorer
from krein.estimators._training import Classes, Fold, Training, cv_folds
from krein.store.shared_work import shared_work
from krein.threads import in_job, threads_of_job
from krein.words import warn_user

Candidate = dict[str, Any]

# C of support vector machines on a kernel whose mean diagonal entry is one.
CS = tuple(float(c) for c in 10.0 ** np.array([-1.0, -0.25, 0.5, 1.25, 2.0, 2.75]))

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
    return [
        None
        if fitted.diverged
        else model.candidate(c).held_values(fitted, training, test, train)
        for c, fitted in zip(grid, path, strict=True)
    ]


def search(
    model: Any,
    grid: Sequence[Candidate],
    training: Training,
    target: Any,
    folds: Sequence[Fold],
    score: Score,
    *,
    n_jobs: int | None = None,
    prefer: str | None = None,
) -> Array:
    """Scores (n_candidates, n_folds); NaN where a candidate diverged.

    Parameters
    ----------
    model : KernelModel
        Its `fit_path` fits all candidates.
    grid : sequence of dict
        The candidates.
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
    """
    ask = partial(held_out, model, grid, training, target)
    values = in_folds(ask, folds, n_jobs=n_jobs, prefer=prefer)
    return np.array(
        [
            [np.nan if v is None else score(v, test) for v in path]
            for (_, test), path in zip(folds, values, strict=True)
        ]
    ).T


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

    def ask(train: np.ndarray, test: np.ndarray) -> Array | float:
        fitted = model.fit_rows(training.subset(train), target.subset(train))
        if fitted.diverged:
            return np.nan
        return model.held_values(fitted, training, test, train)

    values = np.full((training.size, target.n_rows), np.nan)
    for (_, test), found in zip(folds, in_folds(ask, folds), strict=True):
        values[test] = found
    return values


def check_grid(grid: Any, name: str) -> Array:
    """Positive numbers, ascending."""
    values = np.asarray(grid, dtype=np.float64).ravel()
    if values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(f"{name} must be one or more positive numbers, got {grid!r}")
    return np.sort(values)


# --------------------------------------------------------------------------- results


def store_results(model: Any, table: dict[str, Any], best: int) -> None:
    """Set the fitted attributes that every search has."""
    model.best_params_ = dict(table["params"][best])
    model.best_index_ = best
    model.best_score_ = float(table["mean_test_score"][best])
    model.cv_results_ = table


def cv_results(grid: Sequence[Candidate], scores: Array) -> dict[str, Any]:
    """The table of a search, in the form of `GridSearchCV`."""
    mean = np.array([_mean(row) for row in scores])
    filled = np.where(np.isnan(mean), -np.inf, mean)
    scale = float(np.abs(mean[np.isfinite(mean)]).max(initial=0.0)) or 1.0
    rounded = np.round(filled / scale, 12)
    columns = {
        f"param_{name}": np.array([candidate.get(name) for candidate in grid])
        for name in (grid[0] if grid else {})
    }
    return {
        "params": [dict(candidate) for candidate in grid],
        **columns,
        **{f"split{f}_test_score": scores[:, f] for f in range(scores.shape[1])},
        "mean_test_score": mean,
        "std_test_score": np.array([np.std(row) for row in scores]),
        "rank_test_score": 1 + np.array([int(np.sum(rounded > m)) for m in rounded]),
    }


def _mean(scores: Array) -> float:
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if known.size else float("nan")


SEARCHED = Fitted.state(
    Fitted("best_params_", "table"),
    Fitted("best_score_", "number", needed=False),
    Fitted("best_index_", "integer", needed=False),
    Fitted("cv_results_", "table"),
)


def deprecated(name: str, instead: str, read: Callable[[Any], Any]) -> property:
    """Make an attribute of krein 0.2 a property that says what to use now."""

    def get(self: Any) -> Any:
        if not hasattr(self, "best_params_"):
            raise AttributeError(f"{type(self).__name__} is not fitted: no {name}")
        warn_user(f"{name} is deprecated; use {instead}", FutureWarning)
        return read(self)

    return property(get)


def split_scores(model: Any) -> Array:
    """Scores (n_candidates, n_folds) from the table of a search."""
    table = model.cv_results_
    folds = sum(name.endswith("_test_score") and "split" in name for name in table)
    return np.column_stack([table[f"split{f}_test_score"] for f in range(folds)])


@declares_parameters
class Searched:
    """A mixin of classifiers that search the parameters of another one."""

    _: KW_ONLY
    cv: Any = None
    scoring: Any = None
    n_jobs: int | None = None

    _fitted_state: ClassVar[State] = SEARCHED
    _model: ClassVar[type]  # whose parameters are searched
    _searched: ClassVar[dict[str, str]]  # own parameter -> that of the model
    _descending: ClassVar[bool] = False  # order of the values that are tried

    def _choose(
        self,
        training: Training,
        target: Classes,
        groups: Any,
        *,
        first: Callable[[Candidate], Any] | None = None,
        rtol: float = 0.0,
        prefer: str | None = None,
    ) -> Any:
        """Return the best candidate, unfitted, and keep the scores of all.

        Of candidates with the same mean score (up to `rtol`) the one that `first` puts
        first is taken.
        """
        own: Any = self
        params = own.get_params(deep=False)
        known = self._model().get_params(deep=False)
        model = self._model(**{k: v for k, v in params.items() if k in known})
        grid = self._candidates(model.grid(training, target))
        scores = search(
            model, grid, training, target, cv_folds(own, training, target, groups),
            self._score(target, training.weight), n_jobs=self.n_jobs, prefer=prefer,
        )  # fmt: skip
        height = float(np.nanmax(np.abs(scores), initial=0.0))
        best = best_candidates(scores, 1e-12 + rtol * height)
        chosen = best[0] if first is None else min(best, key=lambda i: first(grid[i]))
        store_results(own, cv_results(grid, scores), int(chosen))
        return model.candidate(grid[chosen])

    def _candidates(self, grid: list[Candidate]) -> list[Candidate]:
        """Return the grid with the values that were given in place of its own."""
        values = {name: list(dict.fromkeys(c[name] for c in grid)) for name in grid[0]}
        for plural, name in self._searched.items():
            given, own = getattr(self, plural), values.pop(name)
            ascending = own if given is None else check_grid(given, plural)
            values[name] = sorted(map(float, ascending), reverse=self._descending)
        return [
            dict(zip(values, one, strict=True)) for one in product(*values.values())
        ]

    def _score(self, target: Classes, weight: Array | None) -> Score:
        classes = self.classes_  # type: ignore[attr-defined]
        return scorer(self.scoring, classes, target, weight=weight)

    scores_ = deprecated("scores_", "cv_results_", split_scores)
