"""Fit and predict beyond memory, with the estimators that one knows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _num_samples, check_is_fitted

from krein.arrays import Array
from krein.estimators._training import as_labels, ravel_rows
from krein.items import take
from krein.matrices.matrix import evaluate
from krein.matrices.memory import parse_bytes, require_memory
from krein.matrices.tiles import row_slices
from krein.scale.client import as_client, map_in_order
from krein.scale.cluster import cluster_columns
from krein.scale.stream import stored_columns
from krein.store.lock import locked

__all__ = ["decision_function", "fit", "predict"]

_PREDICT_ROWS = 8192


def fit(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    store: str | os.PathLike[str],
    sample_weight: Any = None,
    memory: str | int = "1GB",
    client: Any = None,
) -> Any:
    """Fit an estimator with ``approximation=KreinNystroem(...)``, block on disk.

    The similarities to the landmarks are computed in tiles that stay in `store`;
    training passes over them. A run that was interrupted, however, is taken up where
    it stopped by the same call. The result equals ``estimator.fit(X, y)``.

    Parameters
    ----------
    estimator : estimator with a parameter ``approximation``
        E.g. ``SpectrumSVC(kernel="tl1", approximation=KreinNystroem(500,
        random_state=0))``; `random_state` must be an int, so that a second run chooses
        the same landmarks. It is not changed.
    X : array-like or list of objects
        Training items (a memory map of numbers will do).
    y : array-like of shape (n,)
        Class labels.
    store : path-like
        Working folder, new or of an earlier run on the same items, landmarks and
        kernel; it belongs to one run at a time. With a cluster all workers must see
        it. Its size is 16 n m bytes.
    sample_weight : array-like of shape (n,), optional
        As in the estimator's `fit`.
    memory : str or int
        What training may use beside X, e.g. ``"2GB"`` or bytes; sets the tile size.
    client : dask.distributed.Client or "local", optional
        Compute on its workers; ``"local"`` starts one for the time of the call.

    Returns
    -------
    fitted clone of `estimator`

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from krein import KreinNystroem, SpectrumSVC
    >>> from krein.scale import fit, predict
    >>> X = np.random.default_rng(0).random((3000, 4))
    >>> y = X[:, 0] > X[:, 1]
    >>> nystroem = KreinNystroem(50, random_state=0)
    >>> model = SpectrumSVC("flip", kernel="tl1", approximation=nystroem)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = fit(model, X, y, store=folder + "/tiles")
    >>> bool(np.mean(predict(model, X) == y) > 0.95)
    True
    """
    model = clone(estimator)
    _check_estimator(model)
    budget = parse_bytes(memory) if isinstance(memory, str) else int(memory)
    require_memory(budget, f"memory={memory!r}", "Pass a smaller memory=.")
    with locked(store), ExitStack() as stack:
        if client is None:
            columns_of = stored_columns(store, budget)
        else:
            running = stack.enter_context(as_client(client))
            columns_of = cluster_columns(store, budget, running)
        return _fitted(model, columns_of, X, y, sample_weight)


def _fitted(model: Any, columns_of: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    model._validate_params()
    return model._fit(X, y, sample_weight, columns_of)


def _check_estimator(model: Any) -> None:
    approximation = getattr(model, "approximation", None)
    if approximation is None:
        raise ValueError(
            f"estimator={model!r} has no approximation: fit at scale needs "
            "approximation=KreinNystroem(n_components=..., random_state=0)"
        )
    if not isinstance(approximation.random_state, int | np.integer):
        raise ValueError(
            "approximation has random_state="
            f"{approximation.random_state!r}: fit at scale needs an int, so that an "
            "interrupted run finds its landmarks again"
        )
    if getattr(model, "probability", False):
        raise ValueError(
            "probability=True needs fits on parts of the data in memory: calibrate "
            "scores of krein.scale.decision_function on held-out items instead"
        )


# ----------------------------------------------------------------------------- predict


@dataclass(frozen=True)
class _Scorer:
    """The part of a model that scores need: landmarks, coefficients, intercepts."""

    kernel: Any
    landmarks: Any
    coef: Array
    intercept: Array

    def __call__(self, items: Any) -> Array:
        K = (
            items
            if self.kernel is None
            else evaluate(self.kernel, items, self.landmarks)
        )
        return K @ self.coef + self.intercept


def decision_function(model: Any, X: Any, *, client: Any = None) -> Array:
    """Scores of many items, part by part, on workers when there is a client.

    Parameters
    ----------
    model : fitted estimator with landmarks
        From `krein.scale.fit` or its own `fit`.
    X : array-like or list of objects
        Items; for ``kernel="precomputed"`` rows of similarities.
    client : dask.distributed.Client or "local", optional
        Compute on its workers.

    Returns
    -------
    ndarray of shape (n_new,) for two classes, (n_new, n_classes) otherwise
    """
    check_is_fitted(model, "dual_coef_")
    slices = row_slices(_num_samples(X), _PREDICT_ROWS)
    if client is None:
        parts = [model._decision_rows(take(X, rows)) for rows in slices]
    else:
        scorer = _scorer(model)
        arguments: Iterator[tuple[Any, ...]] = (
            (scorer, _part(model, take(X, rows))) for rows in slices
        )
        with as_client(client) as running:
            parts = list(map_in_order(running, _score, arguments))
    values = np.concatenate(parts)
    return ravel_rows(values)


def predict(model: Any, X: Any, *, client: Any = None) -> np.ndarray:
    """Class labels of many items, part by part.

    Parameters
    ----------
    model, X, client
        As in `decision_function`.

    Returns
    -------
    ndarray of shape (n_new,)
    """
    values = decision_function(model, X, client=client)
    return as_labels(values.reshape(len(values), -1), model.classes_)


def _score(scorer: _Scorer, items: Any) -> Array:
    return scorer(items)


def _part(model: Any, items: Any) -> Any:
    """Checked items, or the columns of the landmarks."""
    if model._precomputed:
        return model._similarities(items)
    return model._check_items(items, reset=False)


def _scorer(model: Any) -> _Scorer:
    coef = np.ascontiguousarray(model.dual_coef_[:, model.support_].T)
    if model._precomputed:
        return _Scorer(None, None, coef, model.intercept_)
    landmarks = model.X_fit_
    if model.support_.size < _num_samples(landmarks):
        landmarks = take(landmarks, model.support_)
    return _Scorer(model.kernel_, landmarks, coef, model.intercept_)
