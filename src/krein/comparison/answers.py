"""What a fitted model says of the test part of a split, by task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.estimators._probability import fit_sigmoids, sigmoid_probabilities
from krein.estimators._training import Classes, Training, as_labels
from krein.estimators.conformal import conformity, thresholds
from krein.result import DivergedError
from krein.similarity.sparse import as_matrix
from krein.store.sharing import alone_clock

COVERAGE = 0.9  # of the prediction sets that tell which items to look at


def training_of(K: Any) -> Training:
    """Return a similarity that is checked already as `fit_rows` takes it."""
    return Training(as_matrix(K), None, None, K.shape[0])


@dataclass(frozen=True)
class Answer:
    """What a model says of the test part, and what that took, reused work included."""

    predicted: np.ndarray
    values: Array
    fit_seconds: float
    predict_seconds: float
    proba: Array | None = None
    sets: np.ndarray | None = None
    converged: bool = True


def _number(state: Any, model: Any, train: Any, test: Any) -> Answer:
    """Fit a regression and predict."""
    start = alone_clock()
    model.fit(train, state.target.y)
    fitted = alone_clock()
    values = np.asarray(model.predict(test), dtype=float)
    return Answer(values, values, fitted - start, alone_clock() - fitted)


def _novel(state: Any, model: Any, train: Any, test: Any) -> Answer:
    """Learn what is normal; values are the larger the less an item is."""
    start = alone_clock()
    model.fit(train)
    fitted = alone_clock()
    values = -np.asarray(model.decision_function(test), dtype=float)
    predicted = (model.predict(test) < 0).astype(int)
    seconds = alone_clock() - fitted
    return Answer(predicted, values[:, None], fitted - start, seconds)


def _class(state: Any, model: Any, train: Any, test: Any) -> Answer:
    """Fit a classifier; probabilities and sets by the out-of-fold values if need be."""
    target = state.target
    answer = (_by_rows if state.by_rows else _as_anybody)(model, train, test, target)
    if state.method.searches:
        return answer
    values, proba = state.out_of_fold[state.best], answer.proba
    if proba is None:
        sigmoids = fit_sigmoids(values, target.codes, None, target.n)
        proba = sigmoid_probabilities(answer.values, *sigmoids)
        seen = sigmoid_probabilities(values, *sigmoids)
    else:
        seen = state.probabilities(values)
    sets = proba >= thresholds(conformity(seen, target.codes), target.n, COVERAGE)
    return replace(answer, proba=proba, sets=sets)


def _by_rows(model: Any, train: Any, test: Any, target: Classes) -> Answer:
    start = alone_clock()
    model._validate_params()
    fitted = model.fit_rows(training_of(train), target)
    if fitted.diverged:
        raise DivergedError("the fit diverged")
    done = alone_clock()
    rows = model.row_values(fitted.coef, test) + fitted.intercept
    values = model.class_values(rows, target.n)
    predicted = as_labels(values, np.arange(target.n))
    seconds = done - start, alone_clock() - done
    own = hasattr(model, "predict_proba")
    proba = model._probabilities(values) if own else None
    converged = all(result.converged for result in fitted.results)
    return Answer(predicted, values, *seconds, proba, converged=converged)


def _as_anybody(model: Any, train: Any, test: Any, target: Classes) -> Answer:
    start = alone_clock()
    model.fit(train, target.codes)
    done = alone_clock()
    predicted = model.predict(test)
    seconds = done - start, alone_clock() - done
    values = np.asarray(model.decision_function(test), dtype=float)
    proba = model.predict_proba(test) if hasattr(model, "predict_proba") else None
    makes_sets = hasattr(model, "predict_set")
    sets = model.predict_set(test, COVERAGE) if makes_sets else None
    return Answer(predicted, values.reshape(len(predicted), -1), *seconds, proba, sets)


ANSWERS = {"classification": _class, "regression": _number, "novelty": _novel}
