"""What a fit works on, what it gives per row, and labels from decision values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.matrices.low_rank import LowRank
from krein.result import Result
from krein.spectrum import Spectrum

__all__ = [
    "Row",
    "Training",
    "among_kept",
    "as_labels",
    "keep_positive",
    "one_vs_rest",
    "positive_part",
    "ravel_rows",
]


@dataclass(frozen=True)
class Training:
    """What a fit works on: samples of positive weight only.

    Attributes
    ----------
    K : ndarray of shape (m, m) or LowRank
        Raw similarities, never to be changed; with landmarks their approximation.
    weight : ndarray of shape (m,) or None
        Sample weight times class weight; None when all are 1.
    kept : ndarray of shape (m,) or None
        Indices of the samples in what was passed to fit; None when all were kept.
    n : int
        Number of samples passed to fit.
    landmarks : ndarray or None
        With landmarks: their indices in what was passed to fit. The coefficients of
        a row are then those on the landmarks.
    """

    K: Any
    weight: Array | None
    kept: np.ndarray | None
    n: int
    landmarks: np.ndarray | None = None

    def spectrum(self) -> Spectrum:
        """Return the eigendecomposition of the (weighted) K: exact, or of low rank."""
        if isinstance(self.K, LowRank):
            return self.K.spectrum()
        return Spectrum.exact(self.K, self.weight)

    def upper(self, C: float) -> Array:
        """Upper bounds C w_i of the dual variables."""
        if self.weight is None:
            return np.full(self.K.shape[0], float(C))
        return C * self.weight

    def expand(self, rows: Array) -> Array:
        """Put zeros where samples of zero weight were left out."""
        return rows if self.kept is None else self._placed(rows, self.kept)

    def expand_coef(self, rows: Array) -> Array:
        """Put zeros where samples have no coefficient."""
        if self.landmarks is not None:
            return self._placed(rows, self.landmarks)
        return self.expand(rows)

    def _placed(self, rows: Array, positions: np.ndarray) -> Array:
        full = np.zeros((rows.shape[0], self.n))
        full[:, positions] = rows
        return full


@dataclass(frozen=True)
class Row:
    """One row of a model: coefficients on the raw kernel and how they were found."""

    coef: Array
    intercept: float
    result: Result | None = None
    alpha: Array | None = None
    poly: Array | None = None


def positive_part(
    weight: Array | None,
) -> tuple[Array | None, np.ndarray | None]:
    """Weights and indices of the samples of positive weight; None: all of them."""
    if weight is None or np.all(weight > 0.0):
        return weight, None
    kept = np.flatnonzero(weight > 0.0)
    return weight[kept], kept


def keep_positive(K: Array, weight: Array | None) -> Training:
    """Leave out samples of zero weight."""
    weight, kept = positive_part(weight)
    if kept is None:
        return Training(K, weight, None, K.shape[0])
    # Features that stand for a matrix know how to leave samples out.
    part = K.restrict(kept) if hasattr(K, "restrict") else K[np.ix_(kept, kept)]
    return Training(part, weight, kept, K.shape[0])


def ravel_rows(values: Array) -> Array:
    """One column for two classes is returned flat."""
    return values[:, 0] if values.shape[1] == 1 else values


def as_labels(values: Array, classes: np.ndarray) -> np.ndarray:
    """Labels from decision values (n, n_rows)."""
    if values.shape[1] == 1:
        return classes[(values[:, 0] > 0).astype(int)]
    # A sample on the margin of two classes ties to rounding: the first one is taken,
    # however many rows were predicted together.
    slack = 1e-12 * np.abs(values).max(axis=1, keepdims=True)
    near = values >= values.max(axis=1, keepdims=True) - slack
    return classes[np.argmax(near, axis=1)]


def one_vs_rest(codes: np.ndarray, n_classes: int) -> Iterator[Array]:
    """Labels -1 / +1: one row for two classes (second positive), else one each."""
    for k in [1] if n_classes == 2 else range(n_classes):
        yield np.where(codes == k, 1.0, -1.0)


def among_kept(folds: Iterable[Any], kept: np.ndarray, n: int) -> list[Any]:
    """Folds of n samples, in positions among those that were kept.

    Parameters
    ----------
    folds : iterable of (train, test)
        Index arrays into all samples.
    kept : ndarray of int
        The samples of positive weight.
    n : int
        Number of all samples.

    Returns
    -------
    list of (train, test)
    """
    place = np.full(n, -1)
    place[kept] = np.arange(kept.size)
    moved = [(place[train], place[test]) for train, test in folds]
    return [(train[train >= 0], test[test >= 0]) for train, test in moved]
