"""Fix the spectrum of all items at once, training and new ones: transductive."""

from __future__ import annotations

from typing import Any

import numpy as np

from krein.arrays import Array
from krein.estimators.transformers import SpectrumTransformer


def transductive_kernel(
    K: Any,
    train: Any,
    method: Any = "clip",
    *,
    t: float = 1.0,
    symmetrize: bool = False,
) -> tuple[Array, Array]:
    """Fix the matrix of all items together, then cut it into training and new rows.

    **Transductive**: the new items take part in the eigendecomposition, without their
    labels. They must all be known when the model is trained, and what one of them gets
    depends on the others. An accuracy measured so is not that of a model which meets
    its items later: compare it with mapped rows (`SpectrumSVC`, `SpectrumTransformer`).
    Papers on indefinite kernels rarely say which of the two they measured.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Raw similarities among all items.
    train : array-like
        Indices of the training items, or a mask of length n. All others are new.
    method : str, `krein.methods.Method` or callable
        What becomes of the eigenvalues, as in `SpectrumTransformer`.
    t : float
        Parameter of the method, as in `SpectrumTransformer`.
    symmetrize : bool
        Use (K + K') / 2 instead of refusing an asymmetric matrix.

    Returns
    -------
    K_train : ndarray of shape (n_train, n_train)
        For ``SpectrumSVC("none").fit`` or any estimator of precomputed kernels, in the
        order of `train`.
    K_new : ndarray of shape (n - n_train, n_train)
        Rows of the other items, in their order: for ``predict``, as they are.

    References
    ----------
    Luss, d'Aspremont (2007), NIPS 20: training and new points projected together.
    Chen, Ye (2008), ICML: their Table 1 agrees with it.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import SpectrumSVC, transductive_kernel
    >>> K = np.array([[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]])
    >>> K_train, K_new = transductive_kernel(K, [0, 2], "flip")
    >>> SpectrumSVC("none").fit(K_train, ["a", "b"]).predict(K_new)
    array(['a'], dtype='<U1')
    """
    fixed = SpectrumTransformer(method, t=t, symmetrize=symmetrize).fit_transform(K)
    rows = _training_rows(train, len(fixed))
    new = np.setdiff1d(np.arange(len(fixed)), rows)
    return fixed[np.ix_(rows, rows)], fixed[np.ix_(new, rows)]


def _training_rows(train: Any, n: int) -> np.ndarray:
    """Indices of the training items."""
    given = np.asarray(train)
    if given.dtype == bool and given.shape == (n,):
        given = np.flatnonzero(given)
    whole = given.ndim == 1 and np.issubdtype(given.dtype, np.integer)
    outside = given[(given < -n) | (given >= n)] if whole else given[:0]
    if outside.size:
        raise ValueError(f"train has the index {outside[0]}, but K has {n} items")
    if not whole or not given.size or np.unique(given % n).size < given.size:
        raise ValueError(
            f"train must be a mask of length {n} or distinct indices of at least one "
            f"training item, got an array of shape {given.shape} and dtype "
            f"{given.dtype}"
        )
    return given % n
