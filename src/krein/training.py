"""What a fit works on, what it is told, and what it gives. All of it plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from krein.arrays import Array
from krein.machines.compact_rows import BoxRows, LandmarkRows
from krein.result import Result
from krein.similarity.matrix import Matrix


@dataclass(frozen=True)
class Training:
    """What a fit works on: samples of positive weight only.

    Attributes
    ----------
    K : Matrix of shape (m, m)
        Raw similarities, or with landmarks their approximation.
    weight : ndarray of shape (m,) or None
        Sample weight times class weight; None when all are 1.
    kept : ndarray of shape (m,) or None
        Positions of the samples in what was passed to fit; None when all were kept.
    n : int
        Number of samples passed to fit.
    landmarks : ndarray or None
        With landmarks: their positions in what was passed to fit. The coefficients of
        a row are then those on the landmarks.
    facts : dict
        Fitted attributes that preparing the samples has settled, e.g. `kernel_`.
    """

    K: Matrix
    weight: Array | None
    kept: np.ndarray | None
    n: int
    landmarks: np.ndarray | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of samples of positive weight."""
        return self.K.shape[0]

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.size if self.weight is None else self.weight.sum())

    def subset(self, rows: np.ndarray) -> Self:
        """Return some of the samples, as if only they had been passed to fit."""
        return replace(
            self,
            K=self.K.subset(rows),
            weight=None if self.weight is None else self.weight[rows],
            kept=None,
            n=rows.size,
            facts={},
        )

    def upper(self, C: float) -> Array:
        """Upper bounds C w_i of the dual variables."""
        return C * (np.ones(self.size) if self.weight is None else self.weight)

    def scores(self, fitted: FittedRows, test: np.ndarray, train: np.ndarray) -> Array:
        """Decision values (n_test, n_rows) by a model of the samples `train`."""
        return self.K.seen(test, train) @ fitted.coef.T + fitted.intercept

    def expand(self, rows: Array | BoxRows) -> Array | BoxRows:
        """Put zeros where samples of zero weight were left out."""
        if self.kept is None:
            return rows
        if isinstance(rows, BoxRows):
            return rows.placed(self.kept, self.n)
        return LandmarkRows(rows, self.kept, self.n).wide()

    def expand_coef(self, rows: Array) -> Array | LandmarkRows:
        """Put zeros where samples have no coefficient."""
        if self.landmarks is not None:
            return LandmarkRows(rows, self.landmarks, self.n)
        if self.kept is not None:
            return LandmarkRows(rows, self.kept, self.n).wide()
        return rows


@dataclass(frozen=True)
class Classes:
    """Class numbers of the samples, and how many classes there are."""

    codes: np.ndarray
    n: int

    @property
    def n_rows(self) -> int:
        """Rows of a one-vs-rest model."""
        return 1 if self.n == 2 else self.n

    @property
    def y(self) -> np.ndarray:
        """Class numbers, under the name that targets of both kinds have."""
        return self.codes

    @property
    def size(self) -> int:
        """Number of samples."""
        return self.codes.size

    def subset(self, rows: np.ndarray) -> Classes:
        """Return the class numbers of some of the samples."""
        return Classes(self.codes[rows], self.n)

    def signs(self) -> Iterator[Array]:
        """Labels -1 / +1: one row for two classes (second positive), else one each."""
        for k in [1] if self.n == 2 else range(self.n):
            yield np.where(self.codes == k, 1.0, -1.0)

    def machines(self, pairs: bool = False) -> Iterator[tuple[Any, Array]]:
        """Samples and labels -1 / +1 of each row: one against the rest, or in pairs."""
        if not pairs or self.n == 2:
            for signs in self.signs():
                yield slice(None), signs
            return
        for first, second in pairs_of(self.n):
            rows = np.flatnonzero((self.codes == first) | (self.codes == second))
            yield rows, np.where(self.codes[rows] == second, 1.0, -1.0)


@dataclass(frozen=True)
class Values:
    """Numbers to be predicted."""

    y: Array

    @property
    def size(self) -> int:
        """Number of samples."""
        return self.y.size

    @property
    def n_rows(self) -> int:
        """Rows of a model."""
        return 1

    def subset(self, rows: np.ndarray) -> Values:
        """Return the numbers of some of the samples."""
        return Values(self.y[rows])


@dataclass(frozen=True)
class Row:
    """One row of a model: coefficients for prediction and how they were found."""

    coef: Array
    intercept: float
    result: Result | None = None
    alpha: Array | BoxRows | None = None
    poly: Array | None = None


@dataclass(frozen=True)
class FittedRows:
    """The rows of a model, and further fitted attributes by name."""

    rows: Sequence[Row]
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def coef(self) -> Array:
        """Coefficients (n_rows, m)."""
        return np.vstack([row.coef for row in self.rows])

    @property
    def intercept(self) -> Array:
        """Intercepts (n_rows,)."""
        return np.array([row.intercept for row in self.rows], dtype=float)

    @property
    def poly(self) -> Array | None:
        """Coefficients of the polynomials (n_rows, p), where there are any."""
        parts = [row.poly for row in self.rows if row.poly is not None]
        return np.vstack(parts) if parts else None

    @property
    def alpha(self) -> Array | BoxRows | None:
        """Variables in the box (n_rows, m), where the problem has them."""
        compact = [row.alpha for row in self.rows if isinstance(row.alpha, BoxRows)]
        if compact:
            return BoxRows.stacked(compact)
        parts = [row.alpha for row in self.rows if isinstance(row.alpha, np.ndarray)]
        return np.vstack(parts) if len(parts) == len(self.rows) else None

    @property
    def results(self) -> list[Result]:
        """Account of each row; empty where there is none."""
        return [row.result for row in self.rows if row.result is not None]

    @property
    def diverged(self) -> bool:
        """A row ended without a model."""
        return any(result.status == "diverged" for result in self.results)


def positive_part(weight: Array | None) -> tuple[Array | None, np.ndarray | None]:
    """Weights and indices of the samples of positive weight; None: all of them."""
    if weight is None or np.all(weight > 0.0):
        return weight, None
    kept = np.flatnonzero(weight > 0.0)
    return weight[kept], kept


def starting_rows(init: Any, training: Training, n_rows: int) -> Sequence[Array | None]:
    """Starting point of each row among the samples kept, from one given for all."""
    if init is None:
        return [None] * n_rows
    init = np.atleast_2d(np.asarray(init, dtype=float))
    if init.shape != (n_rows, training.n):
        raise ValueError(
            f"solver_options['init'] has shape {init.shape}; expected one row of "
            f"{training.n} numbers per row of the model"
        )
    return list(init if training.kept is None else init[:, training.kept])


def ravel_rows(values: Array) -> Array:
    """One column for two classes is returned flat."""
    return values[:, 0] if values.shape[1] == 1 else values


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """Pairs of classes in the order of the rows of a one-vs-one model."""
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def votes_of_pairs(values: Array, n_classes: int) -> Array:
    """Votes (n, n_classes) from the decision values of pairs of classes.

    Among classes with as many votes the sum of the values decides, by less than a vote.
    """
    votes = np.zeros((values.shape[0], n_classes))
    total = np.zeros_like(votes)
    for column, (first, second) in zip(values.T, pairs_of(n_classes), strict=True):
        votes[:, second] += column > 0
        votes[:, first] += column <= 0
        total[:, second] += column
        total[:, first] -= column
    return votes + total / (3.0 * (np.abs(total) + 1.0))


def as_labels(values: Array, classes: np.ndarray) -> np.ndarray:
    """Labels from decision values (n, n_rows)."""
    if values.shape[1] == 1:
        return classes[(values[:, 0] > 0).astype(int)]
    # A sample on the margin of two classes ties to rounding: the first one is taken,
    # however many rows were predicted together.
    slack = 1e-12 * np.abs(values).max(axis=1, keepdims=True)
    near = values >= values.max(axis=1, keepdims=True) - slack
    return classes[np.argmax(near, axis=1)]
