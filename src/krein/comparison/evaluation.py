"""One split: choose hyperparameters by inner folds, fit, score; work is shared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from krein.arrays import Array, compressed_rows
from krein.comparison.columns import SCORES
from krein.comparison.methods import METHODS, Method
from krein.comparison.parts import Answer, Part, answer, family_answers
from krein.comparison.scores import score
from krein.comparison.splits import Split
from krein.estimators._probability import fit_sigmoids, sigmoid_probabilities
from krein.estimators._search import best_candidates, in_folds, inner_folds
from krein.estimators._training import Classes
from krein.items import take
from krein.kernels.registry import Kernel
from krein.progress import say
from krein.store.sharing import alone_clock, shared_work

__all__ = ["Problem", "evaluate_split", "fit_method", "search"]

# What a method may raise on a split without ending the comparison.
_FAILURES = (ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError)


@dataclass(frozen=True)
class Problem:
    """The data of a comparison.

    Attributes
    ----------
    K : ndarray of shape (n, n) or None
        Similarities of all items; None when the kernel has settings that depend on
        the training part, and must be evaluated per split.
    codes : ndarray of shape (n,)
        Class of each item.
    classes : ndarray
        Labels of the classes.
    items : Any
        The items themselves, None for a precomputed matrix.
    kernel : Kernel, callable or None
        The kernel on the items.
    vectors : ndarray of shape (n, p) or None
        The items, if they are rows of numbers.
    groups : ndarray of shape (n,) or None
        Items of a group are never split.
    conversion : DistanceTransformer or None
        K holds distances, which this turns into similarities, settled on each
        training part.
    """

    K: Array | None
    codes: np.ndarray
    classes: np.ndarray
    items: Any = None
    kernel: Any = None
    vectors: Array | None = None
    groups: np.ndarray | None = None
    conversion: Any = None

    def on(self, train: np.ndarray) -> Array:
        """Similarities of all items (rows) to the training items (columns)."""
        if self.conversion is not None:
            D = self.K[:, train]  # type: ignore[index]
            return clone(self.conversion).fit(D[train]).transform(D)
        if self.K is not None:
            return self.K[:, train]
        items = take(self.items, train)
        kernel = self.kernel.fit(items) if isinstance(self.kernel, Kernel) else None
        return np.asarray((kernel or self.kernel)(self.items, items), dtype=float)


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
    held = {"similarity": Part(similarity[train], similarity[test], target, True)}
    if problem.vectors is not None:
        X = problem.vectors
        held["vectors"] = Part(X[train], X[test], target, False)
    inputs = {need: part.train for need, part in held.items()}
    folds = inner_folds(target.codes, 0, "compare", groups)
    searched = search(inputs, target, methods, folds, scoring)
    with shared_work():
        for found in searched:
            part = held[found.method.needs]
            yield _final_fit(found, _chosen(found, folds), part, problem.codes[test])


def _chosen(found: Search, folds: Sequence[Split]) -> Any:
    """Return the unfitted estimator of the best candidate."""
    if found.error:
        return None
    model = found.method.build(**found.grid[found.best])
    return model.set_params(cv=folds) if found.method.searches else model


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
    found = search(inputs, target, [method], folds, scoring)[0]
    if found.error:
        raise ValueError(f"{method.title} failed: {found.error}")
    return found.grid[found.best]


@dataclass
class Search:
    """What the inner folds say about one method."""

    method: Method
    grid: tuple[dict[str, Any], ...]
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
        # An area under the curve is not defined on folds of one class.
        told = scores[:, ~np.isnan(scores).any(axis=0)]
        return int(best_candidates(told)[0]) if told.size else 0

    def answers(self, part: Part) -> list[Answer]:
        """Fit all candidates on a fold; a failure ends the method."""
        if self.error or self.method.searches:
            return []
        say(f"{self.method.title}, inner fold {len(self.scores) + 1}")
        start, family = alone_clock(), self.method.family
        try:
            if family is not None:
                return family_answers(family, self.grid, part)
            return [answer(self.method.build(**c), part) for c in self.grid]
        except _FAILURES as error:
            self.error = f"{type(error).__name__}: {error}"
            return []
        finally:
            self.seconds += alone_clock() - start

    def take(
        self, answers: Sequence[Answer], codes: np.ndarray, test: np.ndarray, by: str
    ) -> None:
        """Score what was said of the test part of a fold, and keep it."""
        if not answers:
            return
        self.scores.append(
            [score(by, codes[test], a.codes, a.values, a.some_proba) for a in answers]
        )
        if not self.out_of_fold:
            shape = (codes.size, answers[0].values.shape[1])
            self.out_of_fold = [np.full(shape, np.nan) for _ in answers]
        for kept, said in zip(self.out_of_fold, answers, strict=True):
            kept[test] = said.values


def search(
    inputs: dict[str, Any],
    target: Classes,
    methods: Sequence[Method],
    folds: Sequence[Split],
    scoring: str,
) -> list[Search]:
    """Score every candidate of every method on the folds.

    The eigendecomposition of a fold is made once, used by all methods and all their
    candidates, and let go before the next fold.
    """
    found = [Search(method, method.grid(inputs[method.needs])) for method in methods]
    needed = {method.needs for method in methods}

    def ask(train: np.ndarray, test: np.ndarray) -> list[list[Answer]]:
        parts = {
            need: Part.cut(
                inputs[need], target, train, test, pairwise=need == "similarity"
            )
            for need in needed
        }
        return [state.answers(parts[state.method.needs]) for state in found]

    for (_, test), told in zip(folds, in_folds(ask, folds), strict=True):
        for state, answers in zip(found, told, strict=True):
            state.take(answers, target.codes, test, scoring)
    return found


def _final_fit(
    found: Search, model: Any, part: Part, codes: np.ndarray
) -> dict[str, Any]:
    """Fit the chosen candidate on the training part and score the test part."""
    name = found.method.name
    if found.error:
        return {"method": name, "error": found.error}
    try:
        said = answer(model, part)
    except _FAILURES as error:
        return {"method": name, "error": f"{type(error).__name__}: {error}"}
    proba = said.proba
    if proba is None:
        proba = _calibrated(found, said.values, part.target)
    return {
        "method": name,
        "params": found.grid[found.best],
        "scores": {
            name: score(name, codes, said.codes, said.values, proba) for name in SCORES
        },
        "fit_seconds": said.fit_seconds,
        "predict_seconds": said.predict_seconds,
        "search_seconds": found.seconds,
        "converged": said.converged,
        "predicted": [int(code) for code in said.codes],
        "probability": [
            round(float(proba[i, code]), 4) for i, code in enumerate(said.codes)
        ],
    }


def _calibrated(found: Search, values: Array, target: Classes) -> Array:
    out_of_fold = found.out_of_fold[found.best]
    tested = ~np.isnan(out_of_fold).any(axis=1)
    codes = target.codes[tested]
    slope, offset = fit_sigmoids(out_of_fold[tested], codes, None, target.n)
    return sigmoid_probabilities(values, slope, offset)
