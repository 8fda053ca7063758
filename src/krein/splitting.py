"""Split a similarity matrix into training and test part: rows and columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, column_or_1d

__all__ = ["split_kernel"]


def split_kernel(
    K: Any,
    y: Any,
    *,
    test_size: float | int = 0.25,
    stratify: bool = True,
    random_state: Any = None,
) -> tuple[Any, Any, Any, Any]:
    """Split a square similarity and its labels into training and test parts.

    Training rows keep the training columns; test rows keep the *training* columns,
    because a new item is known by its similarities to the training items.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Similarities; pandas and polars frames stay frames and keep their names.
    y : array-like of shape (n,)
        Labels.
    test_size : float or int
        Share or number of test items.
    stratify : bool
        Keep the class proportions in both parts.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    K_train : shape (n_train, n_train)
    K_test : shape (n_test, n_train)
    y_train, y_test : labels

    Examples
    --------
    >>> import numpy as np
    >>> from krein import split_kernel
    >>> K, y = np.eye(8), np.repeat(["a", "b"], 4)
    >>> K_train, K_test, y_train, y_test = split_kernel(K, y, random_state=0)
    >>> K_train.shape, K_test.shape
    ((6, 6), (2, 6))
    """
    shape = np.shape(K)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"K must be a square matrix of similarities, got shape {shape}; for "
            "feature vectors use sklearn.model_selection.train_test_split"
        )
    if _num_samples(y) != shape[0]:
        raise ValueError(
            f"y has {_num_samples(y)} labels for {shape[0]} items; they must agree"
        )
    labels = column_or_1d(y)
    train, test = train_test_split(
        np.arange(shape[0]),
        test_size=test_size,
        stratify=labels if stratify else None,
        random_state=random_state,
    )
    K = np.asarray(K) if isinstance(K, list | tuple) else K
    columns = _safe_indexing(K, train, axis=1)
    return (
        _safe_indexing(columns, train),
        _safe_indexing(columns, test),
        _safe_indexing(y, train),
        _safe_indexing(y, test),
    )
