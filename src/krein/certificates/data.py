"""The training problem as the referee sees it: kernel, targets, weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray

__all__ = [
    "Data",
    "Given",
    "dense",
    "items",
    "labels_of",
    "one_against_rest",
    "raw_kernel",
    "read",
    "rows_of",
    "weights_of",
]


@dataclass(frozen=True)
class Given:
    """A fitted model and what it was fitted on."""

    model: Any
    X: Any
    y: Any
    sample_weight: Any
    P: Any = None


@dataclass(frozen=True)
class Data:
    """Samples of positive weight.

    Attributes
    ----------
    K : ndarray of shape (n, n)
        Raw kernel, made exactly symmetric.
    asymmetry : float
        Largest |K_ij - K_ji| / 2 before that; 0 if the model was asked to symmetrise.
    y : ndarray of shape (n,)
        Class numbers, or targets.
    weight : ndarray of shape (n,)
        Sample weight times class weight.
    kept : ndarray of int
        Their places among all samples.
    """

    K: Array
    asymmetry: float
    y: Array
    weight: Array
    kept: Array

    @property
    def n(self) -> int:
        """Number of samples of positive weight."""
        return self.kept.size


def dense(X: Any) -> Array:
    """Numbers from an array, a frame or a sparse matrix."""
    X = X.toarray() if hasattr(X, "toarray") else X
    return np.asarray(X, dtype=float)


def read(given: Given) -> Data:
    """Return the training problem of a model with one raw kernel."""
    model = given.model
    K = raw_kernel(model, given.X)
    n = K.shape[0]
    targets = np.zeros(n) if given.y is None else np.asarray(given.y)
    if hasattr(model, "classes_"):
        targets = labels_of(model, targets)
    weight = weights_of(model, targets, given.sample_weight, n)
    kept = np.flatnonzero(weight > 0)
    K = K[np.ix_(kept, kept)]
    uneven = 0.0 if model.symmetrize else np.abs(K - K.T).max(initial=0.0)
    K = 0.5 * K + 0.5 * K.T
    return Data(K, 0.5 * float(uneven), targets[kept], weight[kept], kept)


def raw_kernel(model: Any, X: Any) -> Array:
    """Return the kernel of all samples, as it was given or is computed."""
    if isinstance(model.kernel, str) and model.kernel == "features":
        F = dense(X)
        return (F * (1.0 if model.signature is None else model.signature)) @ F.T
    if isinstance(model.kernel, str) and model.kernel == "precomputed":
        K = dense(X)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(
                f"X must be the square matrix the model was fitted on, got {K.shape}"
            )
        return K
    return np.asarray(model.kernel_(items(X), items(X)), dtype=float)


def items(X: Any) -> Any:
    """Rows of a frame, or the items as they are."""
    return X.to_numpy() if hasattr(X, "to_numpy") else X


def labels_of(model: Any, y: Array) -> Array:
    """Class numbers; every label must be one of the model's."""
    codes = np.searchsorted(model.classes_, y)
    codes = np.minimum(codes, len(model.classes_) - 1)
    if codes.shape != y.shape or not np.array_equal(model.classes_[codes], y):
        raise ValueError("y holds labels that the model was not fitted on")
    return codes


def weights_of(model: Any, codes: Array, sample_weight: Any, n: int) -> Array:
    """Sample weight times class weight."""
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
    given = getattr(model, "class_weight", None)
    if given is None:
        return weight
    if isinstance(given, str):  # balanced
        counts = np.bincount(codes, minlength=len(model.classes_))
        return weight * (n / (len(model.classes_) * counts))[codes]
    per_class = np.array([given.get(label, 1.0) for label in model.classes_.tolist()])
    return weight * per_class[codes]


def rows_of(model: Any, codes: Array) -> Iterator[tuple[Array, Array]]:
    """Items and labels -1 / +1 of each row: against the rest, or pair by pair."""
    n = len(model.classes_)
    if getattr(model, "multi_class", "ovr") != "ovo" or n == 2:
        for y in one_against_rest(codes, n):
            yield np.arange(codes.size), y
        return
    for first in range(n):
        for second in range(first + 1, n):
            items = np.flatnonzero((codes == first) | (codes == second))
            yield items, np.where(codes[items] == second, 1.0, -1.0)


def one_against_rest(codes: Array, n_classes: int) -> Iterator[Array]:
    """Labels -1 / +1: one row for two classes (second positive), else one each."""
    for k in [1] if n_classes == 2 else range(n_classes):
        yield np.where(codes == k, 1.0, -1.0)
