"""One split: choose hyperparameters by inner folds, fit, score; work is shared.

On similarities the candidates of a classifier are ranked by the pure functions that all
of krein uses, `fit_path` and `held_values`: the parts are cut from a matrix that is
checked already. Everything else is fitted as anybody fits it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from krein.arrays import Array, compressed_rows
from krein.comparison.contender import Contender
from krein.comparison.contenders import TASKS
from krein.comparison.problem import Problem
from krein.estimators._base import KernelModel
from krein.selection.calibration import fit_sigmoids, sigmoid_probabilities
from krein.selection.folds import Fold
from krein.selection.scores import log_losses, score
from krein.selection.search import FoldValues, best_candidates, held_out, in_folds
from krein.similarity.sparse import as_matrix
from krein.store.shared_work import alone_clock, shared_work
from krein.training import Classes, Training, Values, as_labels
from krein.words import say

_MOST_IN_PAIRS = 20  # classes: of more there are too many pairs
# What a method may raise on a split without ending the comparison.
_FAILURES = (ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError)


def evaluate_split(
    problem: Problem, methods: Sequence[Contender], split: Fold, scoring: str
) -> list[dict[str, Any]]:
    """Return one record of plain values per method for one (train, test) split.

    Hyperparameters come from the inner folds of the training part. The out-of-fold
    scores of the chosen candidate also calibrate the probabilities, so that log-loss
    costs no further fits.
    """
    train, test = split
    similarity = problem.on(train)
    if scipy.sparse.issparse(similarity):
        similarity = compressed_rows(similarity)
    K = similarity[train]
    new = similarity[test]
    if isinstance(K, np.ndarray):
        K.flags.writeable = False  # all methods share its parts
    with warnings.catch_warnings(action="ignore"):  # the outer splits warned
        folds = problem.inner_folds(train)
    with shared_work(folds=True):
        states = search_contenders(
            K, problem.target.subset(train), methods, folds, scoring
        )
        return [_final_fit(state, K, new, problem, split) for state in states]


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
    y = problem.labels
    rows = problem.everything
    method = task.methods[name]
    folds: Sequence[Fold] = []
    if params is None or method.searches:
        folds = problem.inner_folds(rows, seed)
    if params is None and not method.searches:
        params = _best_params(problem, method, folds, scoring or task.scorings[0])
    model = method.build(params)
    if method.searches:
        model.set_params(**_folds_of_its_own(problem, folds, seed))
    if problem.kernel is not None and "kernel" in model.get_params():
        model.set_params(kernel=problem.kernel)
        return method.fit(model, problem.items, y, problem.target)
    if problem.kernel is not None:
        return method.fit(model, problem.on(rows), y, problem.target)
    if problem.conversion is not None and method.takes_distances:
        model.set_params(kind="distance")
    elif problem.conversion is not None:
        model = make_pipeline(clone(problem.conversion), model)
    return method.fit(model, problem.K, y, problem.target)


def _folds_of_its_own(problem: Problem, folds: Sequence[Fold], seed: int = 0) -> dict:
    """Settings of a model that makes the same folds, unless they keep groups together.

    It screens settings before it trains any where it knows that folds are random.
    """
    return {"random_state": seed} if problem.groups is None else {"cv": folds}


def _best_params(
    problem: Problem, method: Contender, folds: Sequence[Fold], scoring: str
) -> dict[str, Any]:
    rows = problem.everything
    with shared_work():
        K = problem.on(rows)
        target = problem.target
        (state,) = search_contenders(K, target, [method], folds, scoring)
    if state.error:
        raise ValueError(f"{method.title} failed: {state.error}")
    return state.grid[state.best]


@dataclass
class ContenderSearch:
    """What the inner folds say about one method."""

    method: Contender
    target: Classes | Values
    folds: Sequence[Fold]
    scoring: str
    grid: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    # Per fold and candidate; None: it diverged.
    values: list[list[Array | None]] = field(default_factory=list)
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

    @property
    def y(self) -> np.ndarray:
        """Class numbers, or the numbers to be predicted."""
        return self.target.y

    @cached_property
    def by_rows(self) -> bool:
        """Whether its candidates are ranked by `fit_path` on given similarities."""
        if getattr(self.model, "approximation", None) is not None:
            return False
        return getattr(self.model, "fits_rows", False) and self.of_classes

    @property
    def found(self) -> FoldValues:
        """The values, with the folds on which they were asked for."""
        return FoldValues(self.folds[: len(self.values)], self.values)

    @cached_property
    def best(self) -> int:
        """The candidate of the best mean score; the first of equals."""
        scores = self.found.scores(lambda values, test: self._score(test, values))
        if np.isnan(scores).all():
            return 0
        return int(best_candidates(scores)[0])

    @contextmanager
    def noting_failure(self) -> Iterator[None]:
        """Let a failure end this method, not the comparison."""
        try:
            yield
        except _FAILURES as error:
            self.error = f"{type(error).__name__}: {error}"

    def set_grid(self, K: Any, training: Training) -> None:
        """Ask for the candidates."""
        with self.noting_failure():
            if self.method.grid is not None:
                self.grid = self.method.grid(K)
            elif hasattr(self.model, "grid") and not self.method.searches:
                part = training
                target = self.target
                some = self.method.sampled(target)
                if some is not None:
                    part = training.subset(some)
                    target = target.subset(some)
                self.grid = self.model.grid(part, target)
            if self._tries_pairs(K):
                one_against_rest = [{**c, "multi_class": "ovr"} for c in self.grid]
                in_pairs = [{**c, "multi_class": "ovo"} for c in self.grid]
                self.grid = one_against_rest + in_pairs

    def _tries_pairs(self, K: Any) -> bool:
        """Whether machines for pairs of classes are candidates too.

        They have no probabilities, and their kernels are formed.
        """
        if not self.method.pairs or not isinstance(self.target, Classes):
            return False
        if scipy.sparse.issparse(K) or self.scoring == "neg_log_loss":
            return False
        return 2 < self.target.n <= _MOST_IN_PAIRS

    def ask(
        self, K: Any, training: Training, train: np.ndarray, test: np.ndarray
    ) -> list[Array | None]:
        """Values of all candidates on a fold; a failure ends the method."""
        if self.error or self.method.searches or not self.grid:
            return []
        # A single candidate is not ranked; of classes it calibrates probabilities.
        if len(self.grid) == 1 and not self.of_classes:
            return []
        say(f"{self.method.title}, inner fold {len(self.values) + 1}")
        start = alone_clock()
        values = []
        some = self.method.sampled(self.target.subset(train))
        if some is not None:
            train = train[some]
        with self.noting_failure():
            if self.by_rows:
                target = self.target
                values = held_out(self.model, self.grid, training, target, train, test)
            else:
                values = [self._by_fit(c, K, train, test) for c in self.grid]
        self.seconds += alone_clock() - start
        return values

    def _by_fit(
        self, candidate: dict[str, Any], K: Any, train: np.ndarray, test: np.ndarray
    ) -> Array:
        """Decision values of a model that is fitted as anybody fits it."""
        if self.method.rough is None:
            model = self.method.build(candidate)
        else:
            model = self.method.rough(**candidate)
        part = K[np.ix_(train, train)]
        new = K[np.ix_(test, train)]
        if scipy.sparse.issparse(K):
            part = compressed_rows(part)
            new = compressed_rows(new)
        model.fit(part, self.y[train])
        answer = model.decision_function if self.of_classes else model.predict
        return np.asarray(answer(new), dtype=float).reshape(len(test), -1)

    def _score(self, test: np.ndarray, values: Array) -> float:
        proba = values
        predicted = values[:, 0]
        if self.of_classes:
            predicted = as_labels(values, np.arange(max(2, values.shape[1])))
        if self.scoring == "neg_log_loss":
            proba = self._probabilities(values)
        return score(self.scoring, self.y[test], predicted, values, proba)

    def _probabilities(self, values: Array) -> Array:
        """The model's own probabilities, or a plain sigmoid: it ranks candidates."""
        if isinstance(self.model, KernelModel) and hasattr(self.model, "predict_proba"):
            return self.model._probabilities(values)  # type: ignore[attr-defined]
        return sigmoid_probabilities(values, np.ones(1), np.zeros(1))

    def calibrated(self, model: Any, new: Any, values: Array) -> Array:
        """Probabilities of new items, the model's own or by out-of-fold values."""
        if hasattr(model, "predict_proba"):
            return model.predict_proba(new)
        assert isinstance(self.target, Classes)
        kept = self.found.of(self.best, self.y.size, self.target.n_rows)
        sigmoids = fit_sigmoids(kept, self.y, None, self.target.n)
        return sigmoid_probabilities(values, *sigmoids)


def search_contenders(
    K: Any,
    target: Classes | Values,
    methods: Sequence[Contender],
    folds: Sequence[Fold],
    scoring: str,
) -> list[ContenderSearch]:
    """Score every candidate of every method on the folds.

    The eigendecomposition of a fold is made once, used by all methods and all their
    candidates, and let go before the next fold.
    """
    states = [ContenderSearch(method, target, folds, scoring) for method in methods]
    training = Training(as_matrix(K), None, None, K.shape[0])
    for state in states:
        state.set_grid(K, training)

    def ask(train: np.ndarray, test: np.ndarray) -> list[list[Any]]:
        with warnings.catch_warnings(action="ignore"):  # candidates are only ranked
            return [state.ask(K, training, train, test) for state in states]

    for found in in_folds(ask, folds):
        for state, values in zip(states, found, strict=True):
            state.values += [values] if values else []
    return states


def _final_fit(
    state: ContenderSearch, K: Any, new: Any, problem: Problem, split: Fold
) -> dict[str, Any]:
    """Fit the chosen candidate on the training part and score the test part."""
    test = split[1]
    record: dict[str, Any] = {"method": state.method.name}
    # Whether the solver reached its tolerance is noted, not shouted.
    with state.noting_failure(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if not state.error:
            record["params"] = state.grid[state.best]
            model = state.method.build(record["params"])
            if state.method.searches:
                model.set_params(**_folds_of_its_own(problem, state.folds))
            if state.method.takes_distances:
                K, new = _richest_form(problem, model, K, new, split)
            record |= _answer(state, model, K, new, problem.codes[test])
    if state.error:
        return {"method": state.method.name, "error": state.error}
    slow = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    return record | {"search_seconds": state.seconds, "converged": not slow}


def _richest_form(
    problem: Problem, model: Any, K: Any, new: Any, split: Fold
) -> tuple[Any, Any]:
    """Prepare a model that takes distances; return what it is given, and new items.

    Distances where the data are distances; where a kernel on items was given, a kernel
    that knows the similarity of every item to itself; similarities otherwise.
    """
    train, test = split
    D = problem.distances(train)
    if D is not None:
        model.set_params(kind="distance")
        return D[train], D[test]
    kernel = problem.known_items(train)
    if kernel is not None:
        model.set_params(kernel=kernel)
        return train[:, None], test[:, None]
    return K, new


def _what_it_was_fed(model: Any) -> dict[str, Any]:
    """Conversion and best fix of each similarity that a pool averages."""
    if not hasattr(model, "ranking_"):
        return {}
    best: dict[tuple[str, str], str] = {}
    for one in model.members_:  # the best of each first
        best.setdefault((one["kernel"], one["conversion"]), one["fix"])
    return {"fed": [[conversion, fix] for (_, conversion), fix in best.items()]}


def _answer(
    state: ContenderSearch, model: Any, K: Any, new: Any, y: Array
) -> dict[str, Any]:
    """Fit a model and score what it says of the test part, whose truth is y."""
    start = alone_clock()
    state.method.fit(model, K, state.y, state.target)
    fitted = alone_clock()
    predicted = model.predict(new)
    seconds = {"fit_seconds": fitted - start, "predict_seconds": alone_clock() - fitted}
    record = {**seconds, "predicted": predicted.tolist(), **_what_it_was_fed(model)}
    values = proba = predicted
    if isinstance(state.target, Classes):
        values = np.asarray(model.decision_function(new), float).reshape(y.size, -1)
        if hasattr(model, "class_values"):  # of one machine per pair of classes
            values = model.class_values(values, state.target.n)
        proba = state.calibrated(model, new, values)
        sure = proba[np.arange(y.size), predicted]
        record["probability"] = [round(float(p), 4) for p in sure]
        record["loss"] = log_losses(y, proba).round(6).tolist()
    known = TASKS["classification" if state.of_classes else "regression"].scorings
    said = predicted, values, proba
    return record | {"scores": {key: score(key, y, *said) for key in known}}
