"""A training and a test part as a method needs them, and what a model says of it.

On similarities a method is fitted by the pure function that all of krein uses,
`fit_rows`: the parts were cut from a matrix that is checked already, and no candidate
checks or fingerprints it again. Methods on vectors, and estimators that search by
themselves, are fitted as anybody fits them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning

from krein.arrays import Array, compressed_rows
from krein.estimators._base import KernelModel
from krein.estimators._probability import sigmoid_probabilities
from krein.estimators._training import Classes, Training, as_labels
from krein.matrices.sparse import as_matrix
from krein.result import DivergedError
from krein.store.sharing import alone_clock

__all__ = ["Answer", "Part", "answer", "family_answers"]


@dataclass(frozen=True)
class Part:
    """Training and test part of one split.

    Attributes
    ----------
    train, test : ndarray
        Similarities among training items and of test items to them, or vectors.
    target : Classes
        Of the training items.
    pairwise : bool
        Whether these are similarities.
    """

    train: Array
    test: Array
    target: Classes
    pairwise: bool

    @classmethod
    def cut(
        cls, matrix: Array, target: Classes, train: Any, test: Any, *, pairwise: bool
    ) -> Part:
        """Cut a part from all similarities (rows and columns) or all vectors."""
        if not pairwise:
            return cls(matrix[train], matrix[test], target.subset(train), False)
        rows, columns = np.ix_(train, train), np.ix_(test, train)
        if scipy.sparse.issparse(matrix):
            pair = compressed_rows(matrix[rows]), compressed_rows(matrix[columns])
            return cls(*pair, target.subset(train), True)
        return cls(matrix[rows], matrix[columns], target.subset(train), True)


@dataclass(frozen=True)
class Answer:
    """What a model says of the test part.

    Attributes
    ----------
    values : ndarray of shape (n_test, n_rows)
        Decision values.
    codes : ndarray of shape (n_test,)
        Predicted classes.
    proba : ndarray of shape (n_test, n_classes) or None
        The model's own probabilities, where it has them.
    converged : bool
        The solver reached its tolerance.
    fit_seconds, predict_seconds : float
        What it took, reused work included.
    """

    values: Array
    codes: np.ndarray
    proba: Array | None
    converged: bool
    fit_seconds: float
    predict_seconds: float

    @property
    def some_proba(self) -> Array:
        """Probabilities, or where there are none a plain sigmoid of the values.

        Inner folds only rank candidates by these; test parts get calibrated ones.
        """
        if self.proba is not None:
            return self.proba
        return sigmoid_probabilities(self.values, np.ones(1), np.zeros(1))


def answer(model: Any, part: Part) -> Answer:
    """Fit on the training part and answer for the test part."""
    with warnings.catch_warnings(record=True) as caught:
        # Whether the solver reached its tolerance is noted, not shouted.
        warnings.simplefilter("always")
        pure = part.pairwise and _fits_rows(model)
        said = _by_rows(model, part) if pure else _by_fit(model, part)
    slow = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    return said if not slow else Answer(**{**vars(said), "converged": False})


def family_answers(family: Any, grid: Any, part: Part) -> list[Answer]:
    """Answers of all candidates of a method that is faster fitted as a whole."""
    start = alone_clock()
    classes = np.arange(part.target.n)
    found = family(grid, part.train, part.target, part.test)
    each = (alone_clock() - start) / len(found)
    return [
        Answer(values, as_labels(values, classes), None, True, each, 0.0)
        for values in found
    ]


def _fits_rows(model: Any) -> bool:
    return getattr(type(model), "fit_rows", None) not in (None, KernelModel.fit_rows)


def _by_rows(model: Any, part: Part) -> Answer:
    start = alone_clock()
    model._validate_params()
    n = part.train.shape[0]
    training = Training(as_matrix(part.train), None, None, n)
    fitted = model.fit_rows(training, part.target)
    if fitted.diverged:
        raise DivergedError("the fit diverged")
    done = alone_clock()
    values = model.row_values(fitted.coef, part.test) + fitted.intercept
    codes = as_labels(values, np.arange(part.target.n))
    end = alone_clock()
    own = hasattr(model, "predict_proba")
    return Answer(
        values,
        codes,
        model._probabilities(values) if own else None,
        all(result.converged for result in fitted.results),
        done - start,
        end - done,
    )


def _by_fit(model: Any, part: Part) -> Answer:
    start = alone_clock()
    model.fit(part.train, part.target.codes)
    done = alone_clock()
    codes = model.predict(part.test)
    end = alone_clock()
    values = np.asarray(model.decision_function(part.test), dtype=float)
    proba = model.predict_proba(part.test) if hasattr(model, "predict_proba") else None
    return Answer(
        values.reshape(codes.size, -1), codes, proba, True, done - start, end - done
    )
