"""Split similarities into training and test part: rows and columns, kin together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import column_or_1d

from krein.arrays import compressed_rows
from krein.selection.folds import stratified_folds
from krein.similarity.sparse import check_sparse_rows
from krein.sklearn_internals import num_samples, safe_indexing
from krein.validation import check_order, refuse_missing_targets, refuse_odd_arrays


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
    K : array-like or sparse array of shape (n, n)
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
    n = _square(K)
    n_labels = num_samples(y)
    if n_labels != n:
        raise ValueError(f"y has {n_labels} labels for {n} items; they must agree")
    check_order(K, y)
    refuse_missing_targets(y)
    labels = column_or_1d(y)
    train, test = train_test_split(
        np.arange(n),
        test_size=test_size,
        stratify=labels if stratify else None,
        random_state=random_state,
    )
    if scipy.sparse.issparse(K):
        columns = compressed_rows(K)[:, train]
        parts = [compressed_rows(columns[part]) for part in (train, test)]
    else:
        K = np.asarray(K) if isinstance(K, list | tuple) else K
        columns = safe_indexing(K, train, axis=1)
        parts = [safe_indexing(columns, part) for part in (train, test)]
    return (*parts, safe_indexing(y, train), safe_indexing(y, test))


def _square(K: Any) -> int:
    shape = np.shape(K)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"K must be a square matrix of similarities, got shape {shape}; feature "
            "vectors are split by sklearn.model_selection.train_test_split"
        )
    return shape[0]


def similarity_groups(K: Any, threshold: float) -> np.ndarray:
    """Number the groups of items that a chain of similar pairs connects.

    Parameters
    ----------
    K : array-like or sparse array of shape (n, n)
        Similarities; of the two directions of a pair one is enough.
    threshold : float
        Pairs of at least this similarity belong together; above 0 for sparse arrays,
        where absent pairs are 0.

    Returns
    -------
    ndarray of int of shape (n,)

    Examples
    --------
    >>> from krein import similarity_groups
    >>> similarity_groups([[1, 0.9, 0], [0.9, 1, 0.1], [0, 0.1, 1]], 0.5).tolist()
    [0, 0, 1]
    """
    _square(K)
    if not scipy.sparse.issparse(K):
        refuse_odd_arrays(K, "K")
        K = np.asarray(K)
    elif threshold <= 0:
        raise ValueError(
            f"threshold={threshold!r} must be above 0 for a sparse array: absent pairs "
            "are 0, and all items would belong together"
        )
    else:
        K = check_sparse_rows(K, "K")
    near = scipy.sparse.csr_array(K >= threshold)
    return connected_components(near, directed=False)[1]


class SimilarityGroupSplit:
    """Folds that leave no near relatives on both sides.

    Items that a chain of pairs of at least `threshold` connects stay together; folds
    keep the proportions of the classes as far as groups allow. Without this, an error
    says how well near-duplicates are found again, not how well a new item is
    classified.

    Parameters
    ----------
    threshold : float
        Pairs of at least this similarity stay on one side.
    n_splits : int
        Number of folds.
    random_state : int, RandomState or None
        Seed of the order of groups.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import SimilarityGroupSplit
    >>> K = np.kron(np.eye(4), np.full((2, 2), 0.9))
    >>> y = [0, 0, 1, 1, 0, 0, 1, 1]
    >>> splitter = SimilarityGroupSplit(0.5, n_splits=2, random_state=0)
    >>> [test.tolist() for _, test in splitter.split(K, y)]
    [[2, 3, 4, 5], [0, 1, 6, 7]]
    """

    def __init__(self, threshold, *, n_splits=5, random_state=None):
        self.threshold = threshold
        self.n_splits = n_splits
        self.random_state = random_state

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (train, test) positions.

        Parameters
        ----------
        X : array-like or sparse array of shape (n, n)
            Similarities of all items.
        y : array-like of shape (n,), optional
            Class labels, whose proportions are kept.
        groups : array-like of shape (n,), optional
            Families that are known: items of one family stay together too.

        Yields
        ------
        train, test : ndarray of int
        """
        found = similarity_groups(X, self.threshold)
        if groups is not None:
            found = _joined_groups(found, np.asarray(groups))
        n_groups = int(found.max()) + 1
        if n_groups < self.n_splits:
            raise ValueError(
                f"at threshold={self.threshold!r} there are {n_groups} groups of "
                f"similar items, too few for n_splits={self.n_splits}: the largest has "
                f"{int(np.bincount(found).max())} of {found.size} items. Raise the "
                "threshold, or take fewer folds"
            )
        labels = np.zeros(found.size) if y is None else column_or_1d(y)
        yield from stratified_folds(labels, self.n_splits, self.random_state, found)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds.

        Parameters
        ----------
        X, y, groups : ignored
            For the common interface.

        Returns
        -------
        int
        """
        return self.n_splits


def _joined_groups(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Finest groups that are unions of groups of both kinds."""
    codes = np.unique(second, return_inverse=True)[1] + first.max() + 1
    n = int(codes.max()) + 1
    edges = scipy.sparse.coo_array((np.ones(first.size), (first, codes)), shape=(n, n))
    return np.unique(connected_components(edges)[1][first], return_inverse=True)[1]
