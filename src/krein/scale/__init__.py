"""Beyond memory: landmark blocks on disk; on dask.distributed.

Here are the functions to call: `fit` and the predictions. `tiles` computes and keeps
the block of similarities, `client` hands out work. Files and locks belong to
`krein.store`.
"""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from operator import call
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from krein.arrays import Array
from krein.items import LazyRows, take
from krein.memory import LANDMARK_MODELS, parse_bytes, require_memory
from krein.scale.client import (
    as_client,
    computed_by,
    explained_loss,
    map_in_order,
    require_workers,
)
from krein.scale.tiles import stored_columns
from krein.similarity.landmarks import blocks_made_by
from krein.similarity.tiles import row_slices
from krein.sklearn_internals import num_samples
from krein.store.files import locked
from krein.threads import in_job

__all__ = ["decision_function", "fit", "predict", "predict_proba"]

_PREDICT_ROWS = 8192


def fit(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    store: str | os.PathLike[str] | None = None,
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
        the same landmarks. It is fitted in place.
    X : array-like, list of objects, dask array or dask frame
        Training items (a memory map of numbers will do). The blocks of a dask
        collection stay on the workers.
    y : array-like of shape (n,), optional
        Class labels or numbers; not for `SpectrumOneClassSVM`.
    store : path-like, optional
        Working folder, new or of an earlier run on the same items, landmarks and
        kernel; it belongs to one run at a time. With a cluster all workers must see
        it. Its size is at least 8 n m bytes and at most 17.6 n m, less what fits into
        `memory`. By default a temporary folder, removed at the end: an interrupted run
        starts anew then.
    sample_weight : array-like of shape (n,), optional
        As in the estimator's `fit`.
    memory : str or int
        What training may use beside X, e.g. ``"2GB"``, ``"2GiB"`` or bytes; sets the
        tile size and how much need not be read from disk again.
    client : dask.distributed.Client or "local", optional
        Compute on its workers; ``"local"`` starts one for the time of the call. By
        default the current client, if there is one.

    Returns
    -------
    `estimator`, fitted

    Examples
    --------
    >>> import numpy as np
    >>> from krein import KreinNystroem, SpectrumSVC
    >>> from krein.scale import fit, predict
    >>> X = np.random.default_rng(0).random((3000, 4))
    >>> y = X[:, 0] > X[:, 1]
    >>> nystroem = KreinNystroem(50, random_state=0)
    >>> model = SpectrumSVC("flip", kernel="tl1", approximation=nystroem)
    >>> bool(np.mean(predict(fit(model, X, y), X) == y) > 0.95)
    True
    """
    _check_estimator(estimator, X, sample_weight)
    budget = parse_bytes(memory) if isinstance(memory, str) else int(memory)
    require_memory(budget, f"memory={memory!r}", "Pass a smaller memory=.")
    stays = "Without store= nothing was kept; pass a folder, and run it again"
    if store is not None:
        stays = (
            f"Complete tiles stay in {store}: start workers, run the same call again"
        )
    with ExitStack() as stack:
        running = stack.enter_context(as_client(client))
        require_workers(running)
        stack.enter_context(explained_loss(running, stays))
        key = ""
        if store is None:
            store = stack.enter_context(tempfile.TemporaryDirectory())
            key = "one run"
        stack.enter_context(locked(store))
        y = _in_memory(y)
        sample_weight = _in_memory(sample_weight)
        n_rows = _rows_of_model(estimator, y)
        columns = stored_columns(store, budget, running, key, n_rows)
        stack.enter_context(blocks_made_by(columns))
        items = LazyRows(X, computed_by(running)) if _is_lazy(X) else X
        estimator.fit(items, y, sample_weight)
    if _is_lazy(X) and hasattr(X, "columns"):
        estimator.feature_names_in_ = np.asarray(X.columns, dtype=object)
    return estimator


def _is_lazy(X: Any) -> bool:
    return hasattr(X, "__dask_graph__")


def _rows_of_model(model: Any, y: Any) -> int:
    """One row for two classes or for numbers, else one for each class."""
    if not is_classifier(model):
        return 1
    n_classes = len(set(np.asarray(y).ravel().tolist()))
    return 1 if n_classes <= 2 else n_classes


def _in_memory(y: Any) -> Any:
    return y.compute() if _is_lazy(y) else y


def _check_estimator(model: Any, X: Any, sample_weight: Any) -> None:
    if not hasattr(model, "approximation"):
        raise ValueError(
            f"{type(model).__name__} takes no landmarks, which fit at scale needs; "
            f"{LANDMARK_MODELS} do, with approximation=KreinNystroem(n_components=..., "
            "random_state=0)"
        )
    approximation = model.approximation
    if approximation is None:
        raise ValueError(
            f"estimator={model!r} has no approximation; pass "
            "approximation=KreinNystroem(n_components=..., random_state=0)"
        )
    if not isinstance(approximation.random_state, int | np.integer):
        raise ValueError(
            f"approximation has random_state={approximation.random_state!r}: fit at "
            "scale needs an int, to find its landmarks again"
        )
    if getattr(model, "probability", False):
        raise ValueError(
            "probability=True needs fits on parts of the data in memory: calibrate "
            "scores of krein.scale.decision_function on held-out items instead"
        )
    if _is_lazy(X) and model.kernel == "precomputed":
        raise ValueError(
            "a dask matrix of similarities cannot be checked for symmetry on the "
            "workers: pass the items as X and a kernel, or X.compute()"
        )
    if _is_lazy(X) and sample_weight is not None and not np.all(sample_weight):
        raise ValueError("sample_weight has zeros: leave these rows out of X")


# ----------------------------------------------------------------------------- predict


def decision_function(model: Any, X: Any, *, client: Any = None) -> Any:
    """Scores of many items, part by part, on workers when there is a client.

    Parameters
    ----------
    model : fitted estimator
        From `krein.scale.fit` or its own `fit`.
    X : array-like, list of objects, dask array or dask frame
        Items; for ``kernel="precomputed"`` rows of similarities.
    client : dask.distributed.Client or "local", optional
        Compute on its workers; by default on those of the current client, if any.

    Returns
    -------
    array of shape (n_new,) for two classes, (n_new, n_classes) otherwise
        A dask array, not computed yet, where X is a dask collection.
    """
    return _answers("decision_function", model, X, client)


def predict(model: Any, X: Any, *, client: Any = None) -> Any:
    """Class labels (or values) of many items, part by part.

    Parameters
    ----------
    model, X, client
        As in `decision_function`.

    Returns
    -------
    array of shape (n_new,)
    """
    return _answers("predict", model, X, client)


def predict_proba(model: Any, X: Any, *, client: Any = None) -> Any:
    """Class probabilities of many items, part by part.

    Parameters
    ----------
    model, X, client
        As in `decision_function`; the model has ``probability=True``.

    Returns
    -------
    array of shape (n_new, n_classes)
    """
    return _answers("predict_proba", model, X, client)


def _answers(method: str, model: Any, X: Any, client: Any) -> Any:
    check_is_fitted(model)
    if _is_lazy(X):
        return _lazy_answers(method, model, X)
    slices = row_slices(num_samples(X), _PREDICT_ROWS) or [slice(0, 0)]
    names = (f"rows {rows.start} to {rows.stop - 1}" for rows in slices)
    blocks = (take(X, rows) for rows in slices)
    parts = zip(names, blocks, strict=True)
    again = "Nothing was changed; run the same call again"
    with as_client(client) as running, explained_loss(running, again):
        sent = model if running is None else _small(model)
        answer = getattr(sent, method)
        answers = list(map_in_order(running, call, answer, parts))
    return np.concatenate(answers)


def _lazy_answers(method: str, model: Any, X: Any) -> Any:
    """Answers as a dask array with the parts of X."""
    import dask

    small = _small(model)
    nameless = copy.copy(small)
    vars(nameless).pop("feature_names_in_", None)
    precomputed = model.kernel == "precomputed"
    first = np.zeros((1, model.n_features_in_)) if precomputed else small.X_fit_[:1]
    example = getattr(nameless, method)(first)[:0]
    answer = dask.delayed(getattr(small, method))
    if hasattr(X, "map_partitions"):
        return X.map_partitions(_answer_part, answer=answer, meta=example)
    flat = example.ndim == 1
    chunks = X.chunks[:1] if flat else (X.chunks[0], example.shape[1:])
    options = {"chunks": chunks, "drop_axis": [1] if flat else [], "meta": example}
    return X.rechunk({1: -1}).map_blocks(_answer_part, answer=answer, **options)


def _answer_part(items: Any, answer: Callable[[Any], Array]) -> Array:
    return in_job(1, answer, items)


def _small(model: Any) -> Any:
    """A copy for workers, without what is as long as the training set."""
    small = copy.copy(model)
    if model.kernel != "precomputed" and hasattr(model, "support_"):
        small.X_fit_ = model._support_items()
        small.dual_coef_ = model._support_coef
        small.support_ = np.arange(model.support_.size)
        vars(small).pop("_alpha", None)
    return small
