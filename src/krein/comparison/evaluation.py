"""One split: choose hyperparameters by inner folds, fit, score; work is shared.

On similarities a classifier is fitted by the pure functions that all of krein uses,
`fit_path` and `fit_rows`: the parts are cut from a matrix that is checked already.
All other methods (on vectors, of other tasks, estimators that search by themselves)
are fitted as anybody fits them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from krein.arrays import Array, compressed_rows
from krein.comparison.methods import TASKS, Method
from krein.comparison.problem import Problem, Split
from krein.comparison.scores import ANSWERS, Answer, score, training_of
from krein.estimators._base import KernelModel
from krein.estimators._probability import sigmoid_probabilities
from krein.estimators._search import best_candidates, held_out, in_folds
from krein.estimators._training import Classes, as_labels
from krein.items import take
from krein.progress import say
from krein.store.sharing import alone_clock, shared_work

# What a method may raise on a split without ending the comparison.
_FAILURES = (ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError)


def evaluate_split(
    problem: Problem, methods: Sequence[Method], split: Split, scoring: str
) -> Iterator[dict[str, Any]]:
    """Yield one record per method for one (train, test) split.

    Hyperparameters come from the inner folds of the training part. The out-of-fold
    scores of the chosen candidate also calibrate the probabilities, so that log-loss
    costs no further fits. Records are made of plain values.
    """
    train, test = problem.learnt_from(split[0]), split[1]
    similarity = problem.on(train)
    if scipy.sparse.issparse(similarity):
        similarity = compressed_rows(similarity)
    inputs = {"similarity": similarity[train]}
    if isinstance(similarity, np.ndarray):
        inputs["similarity"].flags.writeable = False  # all methods share its parts
    new = {"similarity": similarity[test]}
    if problem.vectors is not None:
        inputs["vectors"], new["vectors"] = (problem.vectors[i] for i in (train, test))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rare classes the outer splits warned
        folds = problem.inner_folds(train)
    target = problem.target(train)
    with shared_work():
        for state in search(inputs, target, methods, folds, scoring):
            needs = state.method.needs
            parts = inputs[needs], new[needs]
            yield _final_fit(state, folds, parts, problem, test)


def fit_method(
    problem: Problem,
    name: str,
    scoring: str | None = None,
    seed: int = 0,
    params: dict[str, Any] | None = None,
) -> Any:
    """Fit one method on all data, on the items where a kernel was given.

    Hyperparameters are those of `params`; without them they are chosen by `scoring` on
    inner folds of this seed.
    """
    task = TASKS[problem.task]
    method, rows = task.methods[name], problem.learnt_from(problem.everything)
    folds = problem.inner_folds(rows, seed) if params is None or method.searches else []
    if params is None:
        scoring = scoring or task.scorings[0]
        params = _best_params(problem, method, rows, folds, scoring)
    model = method.build(**params)
    if method.searches:
        model.set_params(**_folds_of_its_own(problem, folds, seed))
    y = () if problem.task == "novelty" else (problem.labels,)
    if method.needs == "vectors":
        return model.fit(problem.vectors, *y)
    if problem.kernel is not None and method.estimator:
        return model.set_params(kernel=problem.kernel).fit(
            take(problem.items, rows), *y
        )
    if problem.kernel is not None:
        return model.fit(problem.on(rows)[rows], *y)
    K: Any = problem.K
    if rows.size < problem.codes.size:
        K = K[np.ix_(rows, rows)]
    if problem.conversion is not None:
        model = make_pipeline(clone(problem.conversion), model)
    return model.fit(K, *y)


def _folds_of_its_own(
    problem: Problem, folds: Sequence[Split], seed: int = 0
) -> dict[str, Any]:
    """Parameters of a model that searches by itself: it makes the same random folds.

    Told that they are random, it screens settings before it trains any. Folds that keep
    groups together are given.
    """
    return {"random_state": seed} if problem.groups is None else {"cv": folds}


def _best_params(
    problem: Problem,
    method: Method,
    rows: np.ndarray,
    folds: Sequence[Split],
    scoring: str,
) -> dict[str, Any]:
    if method.searches:
        return {}
    inputs = {"vectors": problem.vectors, "similarity": None}
    if method.needs == "similarity":
        inputs["similarity"] = problem.on(rows)[rows]
    with shared_work():
        state = search(inputs, problem.target(rows), [method], folds, scoring)[0]
    if state.error:
        raise ValueError(f"{method.title} failed: {state.error}")
    return state.grid[state.best]


@dataclass
class MethodSearch:
    """What the inner folds say about one method."""

    method: Method
    target: Any  # Classes, or Values
    grid: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    scores: list[list[float]] = field(default_factory=list)  # per fold and candidate
    out_of_fold: list[Array] = field(default_factory=list)  # per candidate: (n, n_rows)
    seconds: float = 0.0
    error: str = ""

    @cached_property
    def model(self) -> Any:
        """The estimator before anything is chosen."""
        return self.method.build()

    @property
    def of_classes(self) -> bool:
        """Whether classes are learnt, by decision values."""
        return isinstance(self.target, Classes)

    @cached_property
    def by_rows(self) -> bool:
        """Whether it is fitted by `fit_rows` on similarities that are given."""
        own = getattr(type(self.model), "fit_rows", KernelModel.fit_rows)
        by_rows = own is not KernelModel.fit_rows and self.model._precomputed
        return by_rows and self.of_classes

    @property
    def best(self) -> int:
        """The candidate of the best mean score; the first of equals."""
        scores = np.transpose(self.scores)
        if not scores.size or np.isnan(scores).all(axis=0).all():
            return 0
        return int(best_candidates(scores)[0])

    def set_grid(self, data: dict[str, Any]) -> None:
        """Ask for the candidates."""
        method = self.method
        if method.searches:
            return
        try:
            if method.grid is not None:
                self.grid = method.grid(data[method.needs])
            elif self.by_rows:
                self.grid = self.model.grid(data["training"], self.target)
            else:
                last = self.model[-1] if hasattr(self.model, "steps") else self.model
                self.grid = last.grid(None, self.target)
        except _FAILURES as error:
            self.error = _said(error)

    def ask(self, data: dict[str, Any], train: Any, test: Any) -> list[Any]:
        """Values of all candidates on a fold; a failure ends the method."""
        # Values of a single candidate calibrate the probabilities of classes.
        if self.error or self.method.searches or len(self.grid) < 2 - self.of_classes:
            return []
        say(f"{self.method.title}, inner fold {len(self.scores) + 1}")
        start = alone_clock()
        try:
            if self.by_rows:
                training, target = data["training"], self.target
                return held_out(self.model, self.grid, training, target, train, test)
            X = data[self.method.needs]
            return [self._by_fit(candidate, X, train, test) for candidate in self.grid]
        except _FAILURES as error:
            self.error = _said(error)
            return []
        finally:
            self.seconds += alone_clock() - start

    def _by_fit(self, candidate: dict[str, Any], X: Any, train: Any, test: Any) -> Any:
        """Decision values of a model that is fitted as anybody fits it."""
        model = (self.method.rough or self.method.build)(**candidate)
        pairwise = self.method.needs == "similarity"
        part = X[np.ix_(train, train)] if pairwise else X[train]
        new = X[np.ix_(test, train)] if pairwise else X[test]
        if scipy.sparse.issparse(X):
            part, new = compressed_rows(part), compressed_rows(new)
        if not self.of_classes:
            return model.fit(part, self.target.y[train]).predict(new)[:, None]
        model.fit(part, self.target.codes[train])
        values = np.asarray(model.decision_function(new), dtype=float)
        return values.reshape(len(test), -1)

    def take(self, values: Sequence[Any], test: np.ndarray, by: str) -> None:
        """Score what was said of the test part of a fold, and keep it."""
        if not values:
            return
        self.scores.append(
            [np.nan if v is None else self._score(by, test, v) for v in values]
        )
        if not self.of_classes:
            return
        if not self.out_of_fold:
            shape = (self.target.codes.size, self.target.n_rows)
            self.out_of_fold = [np.full(shape, np.nan) for _ in values]
        for kept, found in zip(self.out_of_fold, values, strict=True):
            kept[test] = np.nan if found is None else found

    def _score(self, by: str, test: np.ndarray, values: Array) -> float:
        if not self.of_classes:
            return score(by, self.target.y[test], values[:, 0], values, values)
        proba = self.probabilities(values) if by == "neg_log_loss" else values
        predicted = as_labels(values, np.arange(max(2, values.shape[1])))
        return score(by, self.target.codes[test], predicted, values, proba)

    def probabilities(self, values: Array) -> Array:
        """The model's own probabilities, or a plain sigmoid: it ranks candidates."""
        if isinstance(self.model, KernelModel) and hasattr(self.model, "predict_proba"):
            return self.model._probabilities(values)  # type: ignore[attr-defined]
        return sigmoid_probabilities(values, np.ones(1), np.zeros(1))


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def search(
    inputs: dict[str, Any],
    target: Any,
    methods: Sequence[Method],
    folds: Sequence[Split],
    scoring: str,
) -> list[MethodSearch]:
    """Score every candidate of every method on the folds.

    The eigendecomposition of a fold is made once, used by all methods and all their
    candidates, and let go before the next fold.
    """
    states = [MethodSearch(method, target) for method in methods]
    data = dict(inputs)
    if inputs.get("similarity") is not None:
        data["training"] = training_of(inputs["similarity"])
    for state in states:
        state.set_grid(data)

    def ask(train: np.ndarray, test: np.ndarray) -> list[list[Any]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # candidates are only ranked
            return [state.ask(data, train, test) for state in states]

    for (_, test), found in zip(folds, in_folds(ask, folds), strict=True):
        for state, values in zip(states, found, strict=True):
            state.take(values, test, scoring)
    return states


def _final_fit(
    state: MethodSearch,
    folds: Sequence[Split],
    parts: tuple[Any, Any],
    problem: Problem,
    test: np.ndarray,
) -> dict[str, Any]:
    """Fit the chosen candidate on the training part and score the test part."""
    name = state.method.name
    if state.error:
        return {"method": name, "error": state.error}
    params = state.grid[state.best]
    model = state.method.build(**params)
    if state.method.searches:
        model.set_params(**_folds_of_its_own(problem, folds))
    try:
        with warnings.catch_warnings(record=True) as caught:
            # Whether the solver reached its tolerance is noted, not shouted.
            warnings.simplefilter("always")
            answer = ANSWERS[problem.task](state, model, *parts)
        scores = _scores(problem, test, answer)
    except _FAILURES as error:
        return {"method": name, "error": _said(error)}
    slow = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    record = {
        "method": name,
        "params": params,
        "scores": scores,
        "fit_seconds": answer.fit_seconds,
        "predict_seconds": answer.predict_seconds,
        "search_seconds": state.seconds,
        "converged": answer.converged and not slow,
        "predicted": answer.predicted.tolist(),
    }
    if answer.proba is not None:
        sure = answer.proba[np.arange(test.size), answer.predicted]
        record["probability"] = [round(float(p), 4) for p in sure]
    if answer.sets is not None:
        record["sets"] = [np.flatnonzero(s).tolist() for s in answer.sets]
    return record


def _scores(problem: Problem, test: np.ndarray, answer: Answer) -> dict[str, float]:
    y = problem.codes[test]
    if problem.task == "novelty" and np.unique(y).size < 2:
        raise ValueError(
            "a test part has no normal or no other items; take fewer folds"
        )
    return {
        key: score(key, y, answer.predicted, answer.values, answer.proba)
        for key in TASKS[problem.task].scorings
    }
