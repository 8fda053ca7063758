"""Fewer similarities per prediction: a sparse expansion with a stated error.

Few columns of a kernel are found whose combination stays near given outputs, by
orthogonal matching pursuit for several rows at once (Tropp, Gilbert, Strauss, 2006):
the column that explains most of what is left comes next, and all coefficients are
fitted again by least squares.
"""

from __future__ import annotations

import copy
from numbers import Integral, Real
from typing import Any, Protocol, Self, cast

import numpy as np
import scipy.linalg
import scipy.sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from krein.arrays import Array
from krein.memory import require_memory
from krein.sklearn_internals import num_samples

# A column whose part outside of those chosen is smaller than this adds only rounding.
_DEPENDENT = 1e-10
_COPY = 1e-13  # relative difference of rows that is rounding
_TINY = float(np.finfo(float).tiny)


class _LinearModel(Protocol):
    """What the mixin uses of the kernel model that it is part of."""

    @property
    def _approximation(self) -> Any: ...
    def _no_expansion(self) -> str | None: ...
    def _refuse_diverged(self) -> None: ...


class Sparsifiable:
    """`sparsify`, for every model whose outputs are linear in its similarities."""

    def _is_fitted(self) -> bool:
        # scikit-learn takes any unfitted estimator with a `sparsify` for a linear one.
        check_is_fitted(self, "dual_coef_")  # an AttributeError, too
        return True

    @available_if(_is_fitted)
    def sparsify(
        self,
        X: Any = None,
        *,
        tolerance: float | None = None,
        n_prototypes: int | None = None,
    ) -> Self:
        """Return a copy of the model that needs similarities to few items only.

        Prototypes are chosen among the training items one by one, each as the one
        that explains most of what is left of the decision values, and coefficients
        and intercepts are fitted again. Training items count as if they were new:
        their similarity to themselves is replaced by that to their nearest other
        item.

        Parameters
        ----------
        X : array-like of shape (n, n), or items, optional
            What the model was fitted on. Needed with ``kernel="precomputed"``; other
            models keep their items.
        tolerance : float, optional
            Largest change of a decision value on the training items; as many
            prototypes as this takes. Give it or `n_prototypes`.
        n_prototypes : int, optional
            Number of prototypes; the change is what it is.

        Returns
        -------
        estimator
            With fewer items in `support_`; `sparse_error_` is the largest change of a
            decision value on the training items, `dense_coef_` and `dense_intercept_`
            are those of the model it came from, to which `result_` belongs.
        """
        self._check_linear()
        _check_goal(tolerance, n_prototypes)
        sparse: Any = copy.copy(self)
        if not hasattr(self, "dense_coef_"):  # else it starts from the fit again
            sparse.dense_coef_ = sparse.dual_coef_
            sparse.dense_intercept_ = sparse.intercept_
        sparse.support_ = np.flatnonzero(np.any(sparse.dense_coef_ != 0.0, axis=0))
        columns = as_new_items(_training_columns(sparse, X), sparse.support_)
        coef = sparse.dense_coef_[:, sparse.support_]
        b = sparse.dense_intercept_
        sparse.dual_coef_ = sparse.dense_coef_
        sparse.intercept_ = b
        sparse.sparse_error_ = 0.0
        most = columns.shape[1] if n_prototypes is None else int(n_prototypes)
        if tolerance is None and most >= columns.shape[1]:
            return sparse
        outputs = columns @ coef.T + b
        chosen, coef, b = sparse_expansion(columns, outputs, tolerance or 0.0, most)
        error = np.abs(columns[:, chosen] @ coef.T + b - outputs).max(initial=0.0)
        if tolerance is not None and not error <= tolerance:
            return sparse
        sparse.support_ = sparse.support_[chosen]
        sparse.dual_coef_ = np.zeros_like(sparse.dense_coef_)
        sparse.dual_coef_[:, sparse.support_] = coef
        sparse.intercept_ = b
        sparse.sparse_error_ = float(error)
        return sparse

    def _check_linear(self) -> None:
        model = cast(_LinearModel, self)
        model._refuse_diverged()
        reason = model._no_expansion()
        if reason is None and model._approximation is not None:
            reason = (
                "with landmarks prediction needs similarities to the landmarks only; "
                "lower n_components of the approximation"
            )
        if reason is not None:
            raise ValueError(f"{type(self).__name__} cannot be made sparse: {reason}")

    def _no_expansion(self) -> str | None:
        """Say why the outputs are not linear in similarities; None where they are."""
        return None


def _check_goal(tolerance: Any, n_prototypes: Any) -> None:
    """One of the two is given, and a positive number (an integer)."""
    goal, kind = (tolerance, Real) if n_prototypes is None else (n_prototypes, Integral)
    both = tolerance is not None and n_prototypes is not None
    if both or not (isinstance(goal, kind) and 0 < float(goal) < np.inf):
        raise ValueError(
            "give tolerance= (largest change of a decision value, a positive number) "
            "or n_prototypes= (number of items to keep, a positive integer), one of "
            f"them; got tolerance={tolerance!r}, n_prototypes={n_prototypes!r}"
        )


def _training_columns(model: Any, X: Any) -> Array:
    """Similarities of the training items to those with a coefficient."""
    items = model.X_fit_ if X is None else X
    if items is None:
        raise ValueError(
            "with kernel='precomputed' pass the training similarities first: "
            "sparsify(K, ...)"
        )
    n = model.dense_coef_.shape[1]
    if num_samples(items) != n:
        raise ValueError(
            f"X has {num_samples(items)} items, the model was fitted on {n}"
        )
    K = model._similarities(items)
    if not scipy.sparse.issparse(K):
        return np.asarray(K, dtype=float)
    size = 8.0 * K.shape[0] * K.shape[1]
    require_memory(size, "sparsify", "Sparse rows stay as they are.")
    return K.toarray()


def as_new_items(columns: Array, rows: np.ndarray) -> Array:
    """Replace the similarity of items to themselves by that to their nearest other.

    A new item has no such entry: coefficients that rely on it would fit the training
    outputs and nothing else. Copies of an item (equal rows, which have the same
    product with a random vector) are the item itself.

    Parameters
    ----------
    columns : ndarray of shape (n_items, n_columns)
        Similarities of items to some of them.
    rows : ndarray of shape (n_columns,)
        Which row is the item of a column.

    Returns
    -------
    ndarray of shape (n_items, n_columns)
        A copy.
    """
    item = _number_of_each_item(columns)
    own = item[:, None] == item[rows]
    nearest = np.max(columns, axis=1, where=~own, initial=-np.inf)
    own &= np.isfinite(nearest)[:, None]  # where there is no other it stays
    return np.where(own, nearest[:, None], columns)


def _number_of_each_item(columns: Array) -> np.ndarray:
    """Numbers of items, the same for copies: rows with the same random product."""
    r = np.random.default_rng(0).standard_normal(columns.shape[1])
    product = columns @ r
    sizes = np.abs(columns) @ np.abs(r)
    rounding = _COPY * float(sizes.max(initial=0.0))
    order = np.argsort(product)
    is_new = np.diff(product[order], prepend=-np.inf) > rounding
    number = np.empty(order.size, dtype=int)
    number[order] = np.cumsum(is_new)
    return number


def sparse_expansion(
    columns: Array, outputs: Array, tolerance: float, most: int
) -> tuple[np.ndarray, Array, Array]:
    """Choose columns until the outputs are met to `tolerance`, or `most` are chosen.

    Parameters
    ----------
    columns : ndarray of shape (n_items, n_columns)
        Similarities.
    outputs : ndarray of shape (n_items, n_rows)
        What is to be met, constants included.
    tolerance : float
        Largest distance allowed; 0: use `most` columns.
    most : int
        Largest number of columns.

    Returns
    -------
    tuple
        The columns in rising order, their coefficients (n_rows, n_chosen), and
        constants (n_rows,).
    """
    unit = max(float(np.abs(columns).max(initial=0.0)), _TINY)
    height = max(float(np.abs(outputs).max(initial=0.0)), _TINY)
    A = columns / unit
    F = outputs / height
    chosen = np.sort(_pursuit(A, F, tolerance / height, most))
    Q, R = np.linalg.qr(np.column_stack([np.ones(A.shape[0]), A[:, chosen]]))
    fitted = scipy.linalg.solve_triangular(R, Q.T @ F)
    return chosen, fitted[1:].T * (height / unit), fitted[0] * height


def _pursuit(A: Array, F: Array, tolerance: float, most: int) -> np.ndarray:
    """Columns in the order in which they explain most.

    What is left of the outputs is orthogonal to the columns chosen, so that its
    products with the others are those with their parts outside of them: one product
    with the matrix per step, and no copy of it that is projected again and again.
    """
    least = _DEPENDENT * np.einsum("ij,ij->j", A, A)
    A, left = (M - M.mean(axis=0) for M in (A, F))
    size = np.einsum("ij,ij->j", A, A)
    products = A.T @ left
    basis = np.empty((A.shape[0], min(most, *A.shape)), order="F")
    chosen: list[int] = []
    while len(chosen) < basis.shape[1]:
        useful = size > least
        useful[chosen] = False
        if np.abs(left).max(initial=0.0) <= tolerance or not useful.any():
            break
        explained = np.sum(products**2, axis=1)
        gain = np.where(useful, explained / np.where(useful, size, 1.0), -1.0)
        best = int(np.argmax(gain))
        before = basis[:, : len(chosen)]
        direction = A[:, best]
        for _ in range(2):  # once more, for what rounding has left
            direction = direction - before @ (before.T @ direction)
        direction /= np.linalg.norm(direction)
        basis[:, len(chosen)] = direction
        shares = direction @ A
        weight = direction @ left
        left -= np.outer(direction, weight)
        products -= np.outer(shares, weight)
        size -= shares**2
        chosen.append(best)
    return np.array(chosen, dtype=int)
