"""Comparisons of other tasks: numbers to be predicted (regression), and novelty.

The methods are few and each is fitted as anybody fits it: settings by folds inside of
the training part, then one fit. Novelty is learnt from the items of one class, the
normal ones, and judged by how far the others stand from it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import mean_absolute_error, r2_score, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import krein
from krein.arrays import Array
from krein.comparison.columns import NOVELTY, REGRESSION, Column
from krein.comparison.comparison import Comparison
from krein.comparison.problem import Problem, make_problem
from krein.comparison.splits import Split, outer_splits
from krein.comparison.yardsticks import most_similar

_FAILURES = (ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError)
_ALPHAS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)


class MeanOfNearest(RegressorMixin, BaseEstimator):
    """Mean target of the most similar training items, or their mean similarity.

    Parameters
    ----------
    n_neighbors : int
        How many are asked.
    """

    def __init__(self, n_neighbors=5):
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: Any = None) -> MeanOfNearest:
        """Keep the targets."""
        self.y_ = None if y is None else np.asarray(y, dtype=float)
        return self

    def predict(self, X: Any) -> Array:
        """Mean target of the nearest; without targets, minus 1 for novel items."""
        near = most_similar(X, min(self.n_neighbors, X.shape[1]))
        if self.y_ is not None:
            return self.y_[near].mean(axis=1)
        return np.ones(X.shape[0])

    def decision_function(self, X: Any) -> Array:
        """Mean similarity to the nearest items."""
        near = most_similar(X, min(self.n_neighbors, X.shape[1]))
        return np.take_along_axis(np.asarray(X), near, axis=1).mean(axis=1)


@dataclass(frozen=True)
class Task:
    """One way to learn, as a comparison runs it; see `Method` for the attributes."""

    name: str
    title: str
    about: str
    simplicity: int
    make: Callable[..., Any]
    grid: Callable[[Array], tuple[dict[str, Any], ...]] = lambda K: ({},)
    estimator: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    needs: str = "similarity"

    def build(self, **chosen: Any) -> Any:
        """Return the unfitted estimator."""
        make = getattr(krein, self.estimator) if self.estimator else self.make
        return make(**self.params, **chosen)


def _alphas(K: Array) -> tuple[dict[str, Any], ...]:
    scale = float(np.abs(np.diagonal(K)).mean()) or float(np.abs(K).mean()) or 1.0
    return tuple({"alpha": a * scale} for a in _ALPHAS)


REGRESSORS = {
    task.name: task
    for task in (
        Task("mean", "Mean", "The mean of the training items.", 0, DummyRegressor),
        Task(
            "neighbors",
            "k nearest neighbours",
            "The mean of the most similar training items.",
            1,
            MeanOfNearest,
            lambda K: tuple(
                {"n_neighbors": k} for k in (1, 3, 5, 9, 15) if k <= len(K)
            ),
        ),
        Task(
            "kernel_ridge",
            "KernelRidge on raw matrix",
            "scikit-learn's KernelRidge on the similarity as it is.",
            1,
            lambda **chosen: TransformedTargetRegressor(
                KernelRidge(kernel="precomputed", **chosen),
                transformer=StandardScaler(),  # it has no intercept of its own
            ),
            _alphas,
        ),
        Task(
            "ridge",
            "KreinRidge",
            "Ridge regression that keeps the negative part.",
            2,
            RegressorMixin,
            _alphas,
            "KreinRidge",
        ),
        Task(
            "average",
            "SpectrumSVRCV (average)",
            "Many treatments of the spectrum and many C; the near-best are averaged.",
            2,
            RegressorMixin,
            estimator="SpectrumSVRCV",
        ),
    )
}


def _one_class(name: str) -> Task:
    return Task(
        name,
        f"One-class SVM with {name}",
        "The region where most normal items lie.",
        1,
        BaseEstimator,
        estimator="SpectrumOneClassSVM",
        params={"method": name, "nu": 0.1},
    )


DETECTORS = {
    "neighbors": Task(
        "neighbors",
        "Nearest normal items",
        "Mean similarity to the five most similar normal items.",
        1,
        MeanOfNearest,
    ),
    **{name: _one_class(name) for name in ("clip", "flip")},
}


@dataclass(frozen=True)
class RegressionComparison(Comparison):
    """A `Comparison` of methods that predict numbers; `codes` holds the numbers."""

    registry: ClassVar[dict[str, Any]] = REGRESSORS
    all_columns: ClassVar[tuple[Column, ...]] = REGRESSION
    task: ClassVar[str] = "regression"

    def confusion(self, method: str) -> np.ndarray:
        """There are no classes to confuse."""
        return np.zeros((0, 0), dtype=int)

    def said(self, record: dict[str, Any]) -> list[str]:
        """Numbers that were predicted, with three digits."""
        return [f"{value:.3g}" for value in record["predicted"]]

    def _weights(self) -> Array:
        return np.ones(self.problem.codes.size)

    def _items_right(self, method: str) -> Array | None:
        """Minus the error of each item, squared where R^2 decides."""
        y = self.problem.codes
        value, tests = np.zeros(y.size), np.zeros(y.size)
        for record in self.of(method):
            test = self.splits[record["split"]][1]
            error = np.abs(y[test] - np.asarray(record["predicted"]))
            value[test] -= error**2 if self.scoring == "r2" else error
            tests[test] += 1
        with np.errstate(invalid="ignore"):
            return value / tests

    def fit_best(self, method: str | None = None) -> Any:
        """Fit the recommended method (or the one named) on all data."""
        name = method or self.recommendation.method
        return fit_task(self.problem, self.task, name, self.scoring)


class NoveltyComparison(Comparison):
    """A `Comparison` of methods that tell novel items from normal ones (class 0)."""

    registry: ClassVar[dict[str, Any]] = DETECTORS
    all_columns: ClassVar[tuple[Column, ...]] = NOVELTY
    task: ClassVar[str] = "novelty"

    def fit_best(self, method: str | None = None) -> Any:
        """Fit the recommended method on the normal items."""
        name = method or self.recommendation.method
        return fit_task(self.problem, self.task, name, self.scoring)


def task_problem(X: Any, y: Any, task: str, **how: Any) -> Problem:
    """Check the data of a task; `how` are the further arguments of `make_problem`.

    For a regression `codes` are the numbers; for novelty y is the label of the normal
    items beside others, 0 and 1 in `codes`, or None where all items are normal.
    """
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if task == "novelty" and y is not None:
        return make_problem(X, y, **how)
    made = make_problem(X, np.arange(n) % 2, **how)  # its labels are not used
    if y is None:
        zeros = np.zeros(n, dtype=int)
        return replace(made, codes=zeros, classes=np.array(["normal", "novel"]))
    numbers = np.asarray(y, dtype=float)
    if numbers.shape != (n,) or not np.isfinite(numbers).all():
        raise ValueError(f"y must hold {n} finite numbers for a regression")
    return replace(made, codes=numbers, classes=np.array([]))


def compare_task(
    problem: Problem,
    task: str,
    methods: Any = None,
    *,
    cv: Any = None,
    scoring: str | None = None,
    progress: Callable[[int, int, str], None] | None = None,
    random_state: int = 0,
) -> Comparison:
    """Compare methods of a task on the same splits; arguments as in `compare`."""
    kind: Any = RegressionComparison if task == "regression" else NoveltyComparison
    known = kind.registry
    names = list(known) if methods is None else list(methods)
    for name in names:
        if name not in known:
            raise ValueError(
                f"methods of {task} must be among {', '.join(known)}, got {name!r}"
            )
    scorings = [c.scoring for c in kind.all_columns if c.scoring]
    decides = scoring if scoring in scorings else scorings[0]
    assert decides is not None
    splits = _splits(problem, task, cv, random_state)
    chosen = [known[name] for name in names]
    records: list[dict[str, Any]] = []
    for s, split in enumerate(splits):
        for record in _one_split(problem, task, split, chosen, decides):
            records.append({**record, "split": s})
            if progress is not None:
                progress(len(records), len(splits) * len(names), record["method"])
    return kind(
        tuple(records), tuple(names), decides, problem, tuple(splits), random_state
    )


def _splits(problem: Problem, task: str, cv: Any, seed: int) -> list[Split]:
    """Two times five folds by default; of numbers not stratified."""
    if task == "novelty" or not (cv is None or isinstance(cv, int)):
        return outer_splits(problem.codes, cv, problem.groups, seed)
    y = problem.codes
    if problem.groups is not None:
        return list(GroupKFold(cv or 5).split(y[:, None], y, problem.groups))
    return [
        split
        for repeat in range(2 if cv is None else 1)
        for split in KFold(cv or 5, shuffle=True, random_state=seed + repeat).split(y)
    ]


def _one_split(
    problem: Problem, task: str, split: Split, methods: list[Task], scoring: str
) -> Iterator[dict[str, Any]]:
    train, test = split
    y = problem.codes
    learn = train[y[train] == 0] if task == "novelty" else train
    K = np.asarray(problem.on(learn))
    for method in methods:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                target = y[learn], y[test]
                yield _record(method, task, K[learn], K[test], target, scoring)
        except _FAILURES as error:
            yield {"method": method.name, "error": f"{type(error).__name__}: {error}"}


def _record(
    method: Task, task: str, K: Array, new: Array, y: tuple[Array, Array], scoring: str
) -> dict[str, Any]:
    start = time.perf_counter()
    chosen = _best(method, K, y[0], scoring) if task == "regression" else {}
    searched = time.perf_counter()
    model = method.build(**chosen)
    model.fit(K, *([] if task == "novelty" else [y[0]]))
    fitted = time.perf_counter()
    if task == "novelty":
        values = np.asarray(model.decision_function(new), dtype=float)
        scores = {"roc_auc": _area(y[1], values)}
        predicted: list[Any] = [int(code) for code in model.predict(new) < 0]
    else:
        values = np.asarray(model.predict(new), dtype=float)
        scores = _scores(y[1], values)
        predicted = values.tolist()
    return {
        "method": method.name,
        "params": chosen,
        "scores": scores,
        "fit_seconds": fitted - searched,
        "predict_seconds": time.perf_counter() - fitted,
        "search_seconds": searched - start,
        "converged": True,
        "predicted": predicted,
    }


def _scores(y: Array, values: Array) -> dict[str, float]:
    return {
        "r2": float(r2_score(y, values)),
        "neg_mean_absolute_error": -float(mean_absolute_error(y, values)),
    }


def _area(codes: Array, values: Array) -> float:
    if np.unique(codes).size < 2:
        raise ValueError(
            "a test part has no normal or no other items; take fewer folds"
        )
    return float(roc_auc_score(codes == 0, values))


def _best(method: Task, K: Array, y: Array, scoring: str) -> dict[str, Any]:
    """The candidate of the best mean score over five folds."""
    grid = method.grid(K)
    if len(grid) == 1:
        return grid[0]
    folds = list(KFold(min(5, len(y)), shuffle=True, random_state=0).split(y))
    means = []
    for candidate in grid:
        found = []
        for train, test in folds:
            model = method.build(**candidate).fit(K[np.ix_(train, train)], y[train])
            found.append(_scores(y[test], model.predict(K[np.ix_(test, train)])))
        means.append(np.mean([scores[scoring] for scores in found]))
    return grid[int(np.argmax(means))]


def fit_task(
    problem: Problem,
    task: str,
    name: str,
    scoring: str = "r2",
    params: dict[str, Any] | None = None,
) -> Any:
    """Fit one method of a task on all data, settings by folds unless given."""
    method = (REGRESSORS if task == "regression" else DETECTORS)[name]
    everything = np.arange(problem.codes.size)
    if task == "novelty":
        everything = everything[problem.codes == 0]
    if params is None:
        K = np.asarray(problem.on(everything))[everything]
        y = problem.codes[everything]
        params = _best(method, K, y, scoring) if task == "regression" else {}
    model = method.build(**params)
    target = [] if task == "novelty" else [problem.codes]
    if problem.kernel is not None and method.estimator:
        items = [problem.items[i] for i in everything]
        given = np.asarray(items) if problem.vectors is not None else items
        return model.set_params(kernel=problem.kernel).fit(given, *target)
    D = problem.K
    if task == "novelty" and D is not None:
        D = D[np.ix_(everything, everything)]
    if problem.conversion is not None and problem.kernel is None:
        model = make_pipeline(clone(problem.conversion), model)
    return model.fit(problem.on(everything) if D is None else D, *target)
