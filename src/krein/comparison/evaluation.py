"""One split: choose hyperparameters by inner folds, fit, score; work is shared.

On similarities a method is fitted by the pure functions that all of krein uses,
`fit_path` and `fit_rows`: the parts are cut from a matrix that is checked already.
Methods on vectors, and estimators that search by themselves, are fitted as anybody
fits them.
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
from krein.comparison.columns import SCORES
from krein.comparison.methods import METHODS, Method
from krein.comparison.problem import Problem
from krein.comparison.scores import score
from krein.comparison.splits import Split
from krein.estimators._base import KernelModel
from krein.estimators._folds import inner_folds
from krein.estimators._probability import fit_sigmoids, sigmoid_probabilities
from krein.estimators._search import best_candidates, held_out, in_folds
from krein.estimators._training import Classes, Training, as_labels
from krein.estimators.conformal import conformity, thresholds
from krein.progress import say
from krein.result import DivergedError
from krein.similarity.sparse import as_matrix
from krein.store.sharing import alone_clock, shared_work

COVERAGE = 0.9  # of the prediction sets that tell which items to look at
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
    train, test = split
    similarity = problem.on(train)
    target = Classes(problem.codes[train], problem.classes.size)
    groups = None if problem.groups is None else problem.groups[train]
    if scipy.sparse.issparse(similarity):
        similarity = compressed_rows(similarity)
    inputs = {"similarity": similarity[train]}
    new = {"similarity": similarity[test]}
    if problem.vectors is not None:
        inputs["vectors"], new["vectors"] = (problem.vectors[i] for i in (train, test))
    folds = inner_folds(target.codes, 0, "compare", groups)
    with shared_work():
        searched = search(inputs, target, methods, folds, scoring)
        for state in searched:
            needs = state.method.needs
            yield _final_fit(
                state, folds, (inputs[needs], new[needs]), problem.codes[test], target
            )


def fit_method(
    problem: Problem,
    name: str,
    scoring: str = "accuracy",
    seed: int = 0,
    params: dict[str, Any] | None = None,
) -> Any:
    """Fit one method on all data, hyperparameters by cross-validation.

    Parameters
    ----------
    problem : Problem
        The data.
    name : str
        A key of `METHODS`.
    scoring : str
        What chooses the hyperparameters.
    seed : int
        Seed of the folds.
    params : dict, optional
        Hyperparameters; nothing is searched when they are given.

    Returns
    -------
    estimator
        Fitted; on the items where a kernel was given, on the matrix otherwise.
    """
    method = METHODS[name]
    labels = problem.classes[problem.codes]
    if params is None:
        params = _best_params(problem, method, scoring, seed)
    model = method.build(**params)
    if method.searches:
        model.set_params(cv=inner_folds(problem.codes, seed, "compare", problem.groups))
    if method.needs == "vectors":
        return model.fit(problem.vectors, labels)
    if problem.kernel is None:
        if problem.conversion is not None:
            model = make_pipeline(clone(problem.conversion), model)
        return model.fit(problem.K, labels)
    return model.set_params(kernel=problem.kernel).fit(problem.items, labels)


def _best_params(
    problem: Problem, method: Method, scoring: str, seed: int
) -> dict[str, Any]:
    if method.searches:
        return {}
    everything = np.arange(problem.codes.size)
    needs_matrix = method.needs == "similarity"
    inputs = {
        "similarity": problem.on(everything) if needs_matrix else None,
        "vectors": problem.vectors,
    }
    folds = inner_folds(problem.codes, seed, "compare", problem.groups)
    target = Classes(problem.codes, problem.classes.size)
    with shared_work():
        state = search(inputs, target, [method], folds, scoring)[0]
    if state.error:
        raise ValueError(f"{method.title} failed: {state.error}")
    return state.grid[state.best]


@dataclass
class MethodSearch:
    """What the inner folds say about one method."""

    method: Method
    grid: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    scores: list[list[float]] = field(default_factory=list)  # per fold and candidate
    out_of_fold: list[Array] = field(default_factory=list)  # per candidate: (n, n_rows)
    seconds: float = 0.0
    error: str = ""

    @property
    def best(self) -> int:
        """The candidate of the best mean score; the first of equals."""
        if self.method.searches:
            return 0
        scores = np.transpose(self.scores)
        if np.isnan(scores).all(axis=0).all():
            return 0
        return int(best_candidates(scores)[0])

    def ask(self, data: Any, target: Classes, train: Any, test: Any) -> list[Any]:
        """Values of all candidates on a fold; a failure ends the method."""
        if self.error or self.method.searches:
            return []
        say(f"{self.method.title}, inner fold {len(self.scores) + 1}")
        start = alone_clock()
        try:
            if is_by_rows(self.model):
                return held_out(self.model, self.grid, data, target, train, test)
            return [
                _by_fit(self.method.build(**c), data, target, train, test)
                for c in self.grid
            ]
        except _FAILURES as error:
            self.error = f"{type(error).__name__}: {error}"
            return []
        finally:
            self.seconds += alone_clock() - start

    def take(
        self, values: Sequence[Any], target: Classes, test: np.ndarray, by: str
    ) -> None:
        """Score what was said of the test part of a fold, and keep it."""
        if not values:
            return
        codes = target.codes
        self.scores.append(
            [np.nan if v is None else self._score(by, codes[test], v) for v in values]
        )
        if not self.out_of_fold:
            shape = (codes.size, target.n_rows)
            self.out_of_fold = [np.full(shape, np.nan) for _ in values]
        for kept, found in zip(self.out_of_fold, values, strict=True):
            kept[test] = np.nan if found is None else found

    def _score(self, by: str, codes: np.ndarray, values: Array) -> float:
        n_classes = max(2, values.shape[1])
        proba = self.probabilities(values) if by == "neg_log_loss" else values
        return score(by, codes, as_labels(values, np.arange(n_classes)), values, proba)

    @cached_property
    def model(self) -> Any:
        """The estimator before anything is chosen."""
        return self.method.build()

    def probabilities(self, values: Array) -> Array:
        """The model's own probabilities, or a plain sigmoid: it ranks candidates."""
        if isinstance(self.model, KernelModel) and hasattr(self.model, "predict_proba"):
            return self.model._probabilities(values)  # type: ignore[attr-defined]
        return sigmoid_probabilities(values, np.ones(1), np.zeros(1))


def is_by_rows(model: Any) -> bool:
    """Whether a model is fitted by `fit_rows` on similarities that are given."""
    own = getattr(type(model), "fit_rows", KernelModel.fit_rows)
    return own is not KernelModel.fit_rows and model._precomputed


def search(
    inputs: dict[str, Any],
    target: Classes,
    methods: Sequence[Method],
    folds: Sequence[Split],
    scoring: str,
) -> list[MethodSearch]:
    """Score every candidate of every method on the folds.

    The eigendecomposition of a fold is made once, used by all methods and all their
    candidates, and let go before the next fold.
    """
    states = [MethodSearch(method) for method in methods]
    data = dict(inputs)
    if inputs.get("similarity") is not None:
        data["training"] = _training(inputs["similarity"])
    for state in states:
        _set_grid(state, data, target)

    def ask(train: np.ndarray, test: np.ndarray) -> list[list[Any]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # candidates are only ranked
            return [
                state.ask(_seen_by(state, data), target, train, test)
                for state in states
            ]

    for (_, test), found in zip(folds, in_folds(ask, folds), strict=True):
        for state, values in zip(states, found, strict=True):
            state.take(values, target, test, scoring)
    return states


def _set_grid(state: MethodSearch, data: dict[str, Any], target: Classes) -> None:
    method = state.method
    if method.searches:
        return
    model = state.model
    try:
        if method.grid is not None:
            state.grid = method.grid(data[method.needs])
        elif is_by_rows(model):
            state.grid = model.grid(data["training"], target)
        else:
            last = model[-1] if hasattr(model, "steps") else model
            state.grid = last.grid(None, target)
    except _FAILURES as error:
        state.error = f"{type(error).__name__}: {error}"


def _training(K: Any) -> Training:
    return Training(as_matrix(K), None, None, K.shape[0])


def _seen_by(state: MethodSearch, data: dict[str, Any]) -> Any:
    return data["training"] if is_by_rows(state.model) else data[state.method.needs]


def _by_fit(model: Any, X: Any, target: Classes, train: Any, test: Any) -> Array:
    """Decision values of a model that is fitted as anybody fits it."""
    pairwise = getattr(model.__sklearn_tags__().input_tags, "pairwise", False)
    part = X[np.ix_(train, train)] if pairwise else X[train]
    new = X[np.ix_(test, train)] if pairwise else X[test]
    if scipy.sparse.issparse(X):
        part, new = compressed_rows(part), compressed_rows(new)
    model.fit(part, target.codes[train])
    values = np.asarray(model.decision_function(new), dtype=float)
    return values.reshape(len(test), -1)


def _final_fit(
    state: MethodSearch,
    folds: Sequence[Split],
    parts: tuple[Any, Any],
    codes: np.ndarray,
    target: Classes,
) -> dict[str, Any]:
    """Fit the chosen candidate on the training part and score the test part."""
    name = state.method.name
    if state.error:
        return {"method": name, "error": state.error}
    params = state.grid[state.best]
    model = state.method.build(**params)
    if state.method.searches:
        model.set_params(cv=folds)
    try:
        with warnings.catch_warnings(record=True) as caught:
            # Whether the solver reached its tolerance is noted, not shouted.
            warnings.simplefilter("always")
            answer = _answer(model, *parts, target)
    except _FAILURES as error:
        return {"method": name, "error": f"{type(error).__name__}: {error}"}
    slow = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    proba, sets = answer.proba, answer.sets
    if not state.method.searches:
        values = state.out_of_fold[state.best]
        if proba is None:
            sigmoids = fit_sigmoids(values, target.codes, None, target.n)
            proba = sigmoid_probabilities(answer.values, *sigmoids)
            seen = sigmoid_probabilities(values, *sigmoids)
        else:
            seen = state.probabilities(values)
        table = conformity(seen, target.codes)
        sets = proba >= thresholds(table, target.n, COVERAGE)
    assert proba is not None
    return {
        "method": name,
        "params": params,
        "scores": {
            name: score(name, codes, answer.codes, answer.values, proba)
            for name in SCORES
        },
        "fit_seconds": answer.fit_seconds,
        "predict_seconds": answer.predict_seconds,
        "search_seconds": state.seconds,
        "converged": answer.converged and not slow,
        "predicted": [int(code) for code in answer.codes],
        "probability": [
            round(float(proba[i, code]), 4) for i, code in enumerate(answer.codes)
        ],
        "sets": None if sets is None else [np.flatnonzero(s).tolist() for s in sets],
    }


@dataclass(frozen=True)
class Answer:
    """What a model says of the test part, and what that took, reused work included."""

    values: Array
    codes: np.ndarray
    proba: Array | None
    converged: bool
    fit_seconds: float
    predict_seconds: float
    sets: np.ndarray | None = None


def _answer(model: Any, train: Any, test: Any, target: Classes) -> Answer:
    """Fit on the training part and answer for the test part."""
    start = alone_clock()
    converged, sets = True, None
    if is_by_rows(model):
        model._validate_params()
        fitted = model.fit_rows(_training(train), target)
        if fitted.diverged:
            raise DivergedError("the fit diverged")
        converged = all(result.converged for result in fitted.results)
        done = alone_clock()
        rows = model.row_values(fitted.coef, test) + fitted.intercept
        values = model.class_values(rows, target.n)
        codes = as_labels(values, np.arange(target.n))
        end = alone_clock()
        own = hasattr(model, "predict_proba")
        proba = model._probabilities(values) if own else None
    else:
        model.fit(train, target.codes)
        done = alone_clock()
        codes = model.predict(test)
        end = alone_clock()
        values = np.asarray(model.decision_function(test), dtype=float)
        values = values.reshape(codes.size, -1)
        own = hasattr(model, "predict_proba")
        proba = model.predict_proba(test) if own else None
        if hasattr(model, "predict_set"):
            sets = model.predict_set(test, COVERAGE)
    return Answer(values, codes, proba, converged, done - start, end - done, sets)
