"""One split: choose hyperparameters by inner folds, fit, score; work is shared."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from krein.arrays import Array
from krein.comparison.columns import SCORES
from krein.comparison.methods import METHODS, Method
from krein.comparison.scores import score
from krein.comparison.splits import Split, inner_folds
from krein.estimators._probability import fit_sigmoids, sigmoid_probabilities
from krein.items import take
from krein.kernels.registry import Kernel
from krein.store.sharing import SharedWork, shared_work

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
    vectors = problem.vectors
    inputs = {
        "similarity": (similarity[train], similarity[test]),
        "vectors": (None, None) if vectors is None else (vectors[train], vectors[test]),
    }
    codes = problem.codes[train]
    groups = None if problem.groups is None else problem.groups[train]
    searched = search(
        {need: pair[0] for need, pair in inputs.items()},
        codes,
        methods,
        inner_folds(codes, groups),
        scoring,
    )
    with shared_work() as work:
        for method, found in zip(methods, searched, strict=True):
            yield _final_fit(
                method, found, inputs[method.needs], problem.codes, split, work
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
    if method.needs == "vectors":
        return model.fit(problem.vectors, labels)
    if problem.conversion is not None:
        model = make_pipeline(clone(problem.conversion), model)
    if problem.kernel is None:
        return model.fit(problem.K, labels)
    return model.set_params(kernel=problem.kernel).fit(problem.items, labels)


def _best_params(
    problem: Problem, method: Method, scoring: str, seed: int
) -> dict[str, Any]:
    everything = np.arange(problem.codes.size)
    needs_matrix = method.needs == "similarity"
    inputs = {
        "similarity": problem.on(everything) if needs_matrix else None,
        "vectors": problem.vectors,
    }
    folds = inner_folds(problem.codes, problem.groups, seed)
    found = search(inputs, problem.codes, [method], folds, scoring)[0]
    if found.error:
        raise ValueError(f"{method.title} failed: {found.error}")
    return found.grid[found.best]


@dataclass
class Search:
    """What the inner folds say about one method."""

    grid: tuple[dict[str, Any], ...]
    scores: Array  # (n_candidates, n_folds)
    out_of_fold: list[Array | None]  # per candidate: (n, n_rows), NaN where not tested
    seconds: float = 0.0
    error: str = ""

    @property
    def best(self) -> int:
        """The candidate of the best mean score; the first of equals."""
        # Means of equal scores in another order differ by rounding: not a difference.
        return int(np.argmax(np.round(self.scores.mean(axis=1), 12)))


def search(
    inputs: dict[str, Any],
    codes: np.ndarray,
    methods: Sequence[Method],
    folds: Sequence[Split],
    scoring: str,
) -> list[Search]:
    """Score every candidate of every method on the folds.

    The fold is the outer loop: its eigendecomposition is made once, used by all
    methods and all their candidates, and let go before the next fold.
    """
    found = []
    for method in methods:
        grid = method.grid(inputs[method.needs])
        found.append(
            Search(grid, np.zeros((len(grid), len(folds))), [None] * len(grid))
        )
    for f, fold in enumerate(folds):
        cut = {
            "similarity": _cut(inputs["similarity"], fold, pairwise=True),
            "vectors": _cut(inputs["vectors"], fold, pairwise=False),
        }
        with shared_work() as work:
            for method, state in zip(methods, found, strict=True):
                _score_candidates(
                    method, state, f, cut[method.needs], codes, fold, scoring, work
                )
    return found


def _cut(matrix: Any, fold: Split, *, pairwise: bool) -> tuple[Any, Any]:
    if matrix is None:
        return None, None
    train, test = fold
    if pairwise:
        return matrix[np.ix_(train, train)], matrix[np.ix_(test, train)]
    return matrix[train], matrix[test]


def _score_candidates(
    method: Method,
    state: Search,
    f: int,
    cut: tuple[Any, Any],
    codes: np.ndarray,
    fold: Split,
    scoring: str,
    work: SharedWork,
) -> None:
    """Fit the candidates of one method on one fold; a failure ends the method."""
    if state.error:
        return
    train, test = fold
    start, saved = perf_counter(), work.saved
    for c, candidate in enumerate(state.grid):
        try:
            model, _ = _fit(method.build(**candidate), cut[0], codes[train])
            predicted, scores = model.predict(cut[1]), _raw_scores(model, cut[1])
        except _FAILURES as error:
            state.error = f"{type(error).__name__}: {error}"
            return
        proba = _probabilities(model, cut[1], scores)
        state.scores[c, f] = score(scoring, codes[test], predicted, scores, proba)
        if state.out_of_fold[c] is None:
            state.out_of_fold[c] = np.full((codes.size, scores.shape[1]), np.nan)
        state.out_of_fold[c][test] = scores  # type: ignore[index]
    state.seconds += perf_counter() - start + work.saved - saved


def _final_fit(
    method: Method,
    found: Search,
    inputs: tuple[Any, Any],
    codes: np.ndarray,
    split: Split,
    work: SharedWork,
) -> dict[str, Any]:
    """Fit the chosen candidate on the training part and score the test part."""
    if found.error:
        return {"method": method.name, "error": found.error}
    train, test = split
    chosen = found.grid[found.best]
    saved, start = work.saved, perf_counter()
    try:
        model, converged = _fit(method.build(**chosen), inputs[0], codes[train])
        fitted = perf_counter()
        predicted = model.predict(inputs[1])
        done = perf_counter()
        scores = _raw_scores(model, inputs[1])
    except _FAILURES as error:
        return {"method": method.name, "error": f"{type(error).__name__}: {error}"}
    n_classes = np.unique(codes).size
    if _gives_probabilities(model):
        proba = model.predict_proba(inputs[1])
    else:
        proba = _calibrated(found, scores, codes[train], n_classes)
    return {
        "method": method.name,
        "params": chosen,
        "scores": {
            name: score(name, codes[test], predicted, scores, proba) for name in SCORES
        },
        "fit_seconds": fitted - start + work.saved - saved,
        "predict_seconds": done - fitted,
        "search_seconds": found.seconds,
        "converged": converged,
        "predicted": [int(code) for code in predicted],
        "probability": [
            round(float(proba[i, code]), 4) for i, code in enumerate(predicted)
        ],
    }


def _fit(model: Any, X: Any, codes: np.ndarray) -> tuple[Any, bool]:
    """Fit; whether the solver reached its tolerance is noted, not shouted."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, codes)
    slow = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    return model, not slow


def _gives_probabilities(model: Any) -> bool:
    return hasattr(model, "predict_proba")


def _probabilities(model: Any, X: Any, scores: Array) -> Array:
    """Return the model's own probabilities, else a plain sigmoid of its scores.

    Inner folds only rank candidates by these; the test part gets calibrated ones.
    """
    if _gives_probabilities(model):
        return model.predict_proba(X)
    return sigmoid_probabilities(scores, np.ones(1), np.zeros(1))


def _raw_scores(model: Any, X: Any) -> Array:
    """Decision values as (n, n_rows)."""
    values = np.asarray(model.decision_function(X), dtype=float)
    return values[:, None] if values.ndim == 1 else values


def _calibrated(
    found: Search, scores: Array, codes: np.ndarray, n_classes: int
) -> Array:
    out_of_fold = found.out_of_fold[found.best]
    assert out_of_fold is not None
    tested = ~np.isnan(out_of_fold).any(axis=1)
    slope, offset = fit_sigmoids(out_of_fold[tested], codes[tested], None, n_classes)
    return sigmoid_probabilities(scores, slope, offset)
