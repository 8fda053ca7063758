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
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline

from krein.arrays import Array, compressed_rows
from krein.comparison.methods import TASKS, Method
from krein.comparison.problem import Problem, Split
from krein.estimators._base import KernelModel
from krein.estimators._probability import fit_sigmoids, sigmoid_probabilities
from krein.estimators._search import best_candidates, held_out, in_folds
from krein.estimators._training import Classes, Training, as_labels
from krein.estimators.conformal import conformity, thresholds
from krein.items import take
from krein.similarity.sparse import as_matrix
from krein.store.sharing import alone_clock, shared_work
from krein.words import say

# What a method may raise on a split without ending the comparison.
_FAILURES = (ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError)
_COVERAGE = 0.9  # of the prediction sets that tell which items to look at


def evaluate_split(
    problem: Problem, methods: Sequence[Method], split: Split, scoring: str
) -> list[dict[str, Any]]:
    """Return one record of plain values per method for one (train, test) split.

    Hyperparameters come from the inner folds of the training part. The out-of-fold
    scores of the chosen candidate also calibrate the probabilities, so that log-loss
    costs no further fits.
    """
    train, test = problem.learnt_from(split[0]), split[1]
    similarity = problem.on(train)
    if scipy.sparse.issparse(similarity):
        similarity = compressed_rows(similarity)
    inputs, new = {"similarity": similarity[train]}, {"similarity": similarity[test]}
    if isinstance(similarity, np.ndarray):
        inputs["similarity"].flags.writeable = False  # all methods share its parts
    if problem.vectors is not None:
        inputs["vectors"], new["vectors"] = (problem.vectors[i] for i in (train, test))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rare classes the outer splits warned
        folds = problem.inner_folds(train)
    with shared_work():
        states = search(inputs, problem.target(train), methods, folds, scoring)
        return [
            _final_fit(state, folds, inputs, new, problem, test) for state in states
        ]


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
    task, rows = TASKS[problem.task], problem.learnt_from(problem.everything)
    method = task.methods[name]
    folds = problem.inner_folds(rows, seed) if params is None or method.searches else []
    if params is None and not method.searches:
        params = _best_params(problem, method, folds, scoring or task.scorings[0])
    model = method.build(**(params or {}))
    if method.searches:
        model.set_params(**_folds_of_its_own(problem, folds, seed))
    novelty = problem.task == "novelty"
    y = () if novelty else (problem.labels,)
    if method.needs == "vectors":
        return model.fit(problem.vectors, *y)
    if problem.kernel is not None and method.estimator:
        model.set_params(kernel=problem.kernel)
        return model.fit(take(problem.items, rows), *y)
    if problem.kernel is not None:
        return model.fit(problem.on(rows)[rows], *y)
    if problem.conversion is not None:
        model = make_pipeline(clone(problem.conversion), model)
    K: Any = problem.K
    return model.fit(K[np.ix_(rows, rows)] if novelty else K, *y)


def _folds_of_its_own(problem: Problem, folds: Sequence[Split], seed: int = 0) -> dict:
    """Settings of a model that makes the same folds, unless they keep groups together.

    It screens settings before it trains any where it knows that folds are random.
    """
    return {"random_state": seed} if problem.groups is None else {"cv": folds}


def _best_params(
    problem: Problem, method: Method, folds: Sequence[Split], scoring: str
) -> dict[str, Any]:
    rows = problem.learnt_from(problem.everything)
    inputs = {"vectors": problem.vectors, "similarity": None}
    if method.needs == "similarity":
        inputs["similarity"] = problem.on(rows)[rows]
    with shared_work():
        (state,) = search(inputs, problem.target(rows), [method], folds, scoring)
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

    @property
    def y(self) -> np.ndarray:
        """Class numbers, or the numbers to be predicted."""
        return self.target.codes if self.of_classes else self.target.y

    @cached_property
    def by_rows(self) -> bool:
        """Whether its candidates are ranked by `fit_path` on given similarities."""
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

    @contextmanager
    def noting_failure(self) -> Iterator[None]:
        """Let a failure end this method, not the comparison."""
        try:
            yield
        except _FAILURES as error:
            self.error = f"{type(error).__name__}: {error}"

    def set_grid(self, data: dict[str, Any]) -> None:
        """Ask for the candidates."""
        with self.noting_failure():
            last = self.model[-1] if hasattr(self.model, "steps") else self.model
            if self.method.grid is not None:
                self.grid = self.method.grid(data[self.method.needs])
            elif hasattr(last, "grid") and not self.method.searches:
                self.grid = last.grid(data.get("training"), self.target)

    def ask(self, data: dict[str, Any], train: Any, test: Any) -> list[Any]:
        """Values of all candidates on a fold; a failure ends the method."""
        # Values of a single candidate calibrate the probabilities of classes.
        if self.error or self.method.searches or len(self.grid) < 2 - self.of_classes:
            return []
        say(f"{self.method.title}, inner fold {len(self.scores) + 1}")
        start, values = alone_clock(), []
        with self.noting_failure():
            if self.by_rows:
                training, target = data["training"], self.target
                values = held_out(self.model, self.grid, training, target, train, test)
            else:
                X = data[self.method.needs]
                values = [self._by_fit(c, X, train, test) for c in self.grid]
        self.seconds += alone_clock() - start
        return values

    def _by_fit(self, candidate: dict[str, Any], X: Any, train: Any, test: Any) -> Any:
        """Decision values of a model that is fitted as anybody fits it."""
        model = (self.method.rough or self.method.build)(**candidate)
        pairwise = self.method.needs == "similarity"
        part = X[np.ix_(train, train)] if pairwise else X[train]
        new = X[np.ix_(test, train)] if pairwise else X[test]
        if scipy.sparse.issparse(X):
            part, new = compressed_rows(part), compressed_rows(new)
        model.fit(part, self.y[train])
        answer = model.decision_function if self.of_classes else model.predict
        return np.asarray(answer(new), dtype=float).reshape(len(test), -1)

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
        proba, predicted = values, values[:, 0]
        if self.of_classes:
            proba = self.probabilities(values) if by == "neg_log_loss" else values
            predicted = as_labels(values, np.arange(max(2, values.shape[1])))
        return score(by, self.y[test], predicted, values, proba)

    def probabilities(self, values: Array) -> Array:
        """The model's own probabilities, or a plain sigmoid: it ranks candidates."""
        if isinstance(self.model, KernelModel) and hasattr(self.model, "predict_proba"):
            return self.model._probabilities(values)  # type: ignore[attr-defined]
        return sigmoid_probabilities(values, np.ones(1), np.zeros(1))

    def calibrated(self, model: Any, new: Any, values: Array) -> tuple[Any, Any]:
        """Probabilities and prediction sets of new items, by out-of-fold values."""
        own = model.predict_proba(new) if hasattr(model, "predict_proba") else None
        if self.method.searches:
            return own, model.predict_set(new, _COVERAGE)
        kept, (codes, n) = self.out_of_fold[self.best], (self.y, self.target.n)
        if own is None:
            sigmoids = fit_sigmoids(kept, codes, None, n)
            own = sigmoid_probabilities(values, *sigmoids)
            seen = sigmoid_probabilities(kept, *sigmoids)
        else:
            seen = self.probabilities(kept)
        return own, own >= thresholds(conformity(seen, codes), n, _COVERAGE)


def search(
    inputs: dict[str, Any],
    target: Any,
    methods: Sequence[Method],
    folds: Sequence[Split],
    scoring: str,
) -> list[MethodSearch]:
    """Score every candidate of every method on the folds.

    The eigendecomposition of a fold is made once, used by all methods and all their
    candidates, and let go before the next fold. Without folds nothing is chosen.
    """
    states = [MethodSearch(method, target) for method in methods]
    data = dict(inputs)
    K = inputs.get("similarity")
    if K is not None:
        data["training"] = Training(as_matrix(K), None, None, K.shape[0])
    for state in states if folds else []:
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
    inputs: dict[str, Any],
    new: dict[str, Any],
    problem: Problem,
    test: np.ndarray,
) -> dict[str, Any]:
    """Fit the chosen candidate on the training part and score the test part."""
    record: dict[str, Any] = {"method": state.method.name}
    # Whether the solver reached its tolerance is noted, not shouted.
    with state.noting_failure(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if not state.error:
            record["params"] = state.grid[state.best]
            model = state.method.build(**record["params"])
            if state.method.searches:
                model.set_params(**_folds_of_its_own(problem, folds))
            needs = state.method.needs
            record |= _answer(state, model, inputs[needs], new[needs], problem, test)
    if state.error:
        return {"method": state.method.name, "error": state.error}
    slow = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    return record | {"search_seconds": state.seconds, "converged": not slow}


def _answer(
    state: MethodSearch,
    model: Any,
    train: Any,
    new: Any,
    problem: Problem,
    test: np.ndarray,
) -> dict[str, Any]:
    """Fit a model and score what it says of the test part."""
    start = alone_clock()
    model.fit(train, *([] if problem.task == "novelty" else [state.y]))
    fitted = alone_clock()
    predicted = model.predict(new)
    seconds = {"fit_seconds": fitted - start, "predict_seconds": alone_clock() - fitted}
    values, proba = predicted, None
    more: dict[str, Any] = {}
    if problem.task != "regression":
        values = np.asarray(model.decision_function(new), dtype=float)
    if problem.task == "novelty":  # the larger the less normal
        values, predicted = -values, (predicted < 0).astype(int)
    values = values.reshape(test.size, -1)
    if hasattr(model, "class_values"):  # of one machine per pair of classes
        values = model.class_values(values, problem.classes.size)
    if problem.task == "classification":
        proba, sets = state.calibrated(model, new, values)
        sure = proba[np.arange(test.size), predicted]
        more["probability"] = [round(float(p), 4) for p in sure]
        more["sets"] = [np.flatnonzero(s).tolist() for s in sets]
    scores = _scores(problem, problem.codes[test], predicted, values, proba)
    return {**seconds, **more, "scores": scores, "predicted": predicted.tolist()}


def _scores(problem: Problem, y: Array, *said: Any) -> dict[str, float]:
    if problem.task == "novelty" and np.unique(y).size < 2:
        raise ValueError(
            "a test part has no normal or no other items; take fewer folds"
        )
    return {key: score(key, y, *said) for key in TASKS[problem.task].scorings}


# scikit-learn's functions give the same scores (tested), but on the small test parts of
# inner folds their checks of the input take several times as long as fitting an SVM.


def score(name: str, y: Array, predicted: Array, values: Array, proba: Any) -> float:
    """Return a score by its name; larger is better.

    Parameters
    ----------
    name : str
        `scoring` of a column.
    y, predicted : ndarray of shape (n,)
        True and predicted classes, or numbers.
    values : ndarray of shape (n, n_rows)
        Decision values, one row per class against the rest.
    proba : ndarray of shape (n, n_classes)
        Probabilities; only asked for by the log-loss.
    """
    if name == "accuracy":
        return float(np.mean(y == predicted))
    if name == "balanced_accuracy":
        return float(np.mean([np.mean(predicted[y == k] == k) for k in np.unique(y)]))
    if name == "neg_log_loss":
        eps = np.finfo(float).eps
        chosen = proba[np.arange(y.size), y]
        return float(np.mean(np.log(np.clip(chosen, eps, 1 - eps))))
    if name == "roc_auc":
        return _area(y, values)
    if name == "neg_mean_absolute_error":
        return -float(np.abs(y - predicted).mean())
    return float(r2_score(y, predicted))


def _area(codes: np.ndarray, values: Array) -> float:
    """Area under the curve; for several classes the mean of one against the rest."""
    classes = [1] if values.shape[1] == 1 else range(values.shape[1])
    ranks = rankdata(values, axis=0)
    areas = []
    for row, k in enumerate(classes):
        positive = codes == k
        p, q = int(positive.sum()), int((~positive).sum())
        if p and q:
            above = float(ranks[positive, row].sum())
            areas.append((above - p * (p + 1) / 2) / (p * q))
    return float(np.mean(areas)) if areas else float("nan")
