"""Fewer similarities per prediction: a sparse expansion with a stated error.

Few columns of a kernel are found whose combination stays near given outputs, by
orthogonal matching pursuit for several rows at once (Tropp, Gilbert, Strauss, 2006):
the column that explains most of what is left comes next, and all coefficients are
fitted again by least squares.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from krein.arrays import Array, require_memory


class Sparsifiable:
    """`sparsify`, for every model whose outputs are linear in its similarities."""

    X_fit_: Any
    dual_coef_: Array
    intercept_: Array
    support_: np.ndarray
    dense_coef_: Array
    dense_intercept_: Array
    sparse_error_: float
    labels_changed_: int
    _precomputed: Any
    _approximation: Any
    _similarities: Any
    _add_polynomial: Any
    _labels: Any
    _refuse_diverged: Any

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
        held_out: Any = None,
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
            Largest change of a decision value on the items looked at; as many
            prototypes as this takes. Give it or `n_prototypes`.
        n_prototypes : int, optional
            Number of prototypes; the change is what it is.
        held_out : array-like of shape (n_new, n), or items, optional
            Further items, without labels, on which the decision values are kept.

        Returns
        -------
        estimator
            With fewer items in `support_`; `sparse_error_` is the largest change of a
            decision value on the items looked at, `labels_changed_` (classifiers) how
            many of them have another label, `dense_coef_` and `dense_intercept_` are
            those of the model it came from, to which `result_` belongs.
        """
        self._check_sparsify(tolerance, n_prototypes)
        dense = self._before_sparsify()
        parts = [dense._seen_as_new(X)]
        if held_out is not None:
            parts.append((held_out, dense_array(dense._similarities(held_out))))
        columns = np.vstack([block for _, block in parts])
        found = expanded(
            columns,
            dense.dual_coef_[:, dense.support_],
            dense.intercept_,
            tolerance=tolerance,
            most=n_prototypes,
        )
        sparse = dense._with_expansion(found)
        if hasattr(self, "_labels") and not (
            self._precomputed and hasattr(self, "poly_coef_")
        ):
            changed = [sparse._changed_labels(*part, found) for part in parts]
            sparse.labels_changed_ = sum(changed)
        return sparse

    def _refuse_without_expansion(self, what: str) -> None:
        self._refuse_diverged()
        reason = self._no_expansion()
        if reason is None and self._approximation is not None:
            reason = (
                "with landmarks prediction needs similarities to the landmarks only; "
                "lower n_components of the approximation"
            )
        if reason is not None:
            raise ValueError(f"{type(self).__name__} cannot {what}: {reason}")

    def _check_sparsify(self, tolerance: Any, n_prototypes: Any) -> None:
        self._refuse_without_expansion("be made sparse")
        if (tolerance is None) == (n_prototypes is None):
            raise ValueError(
                "give tolerance= (largest change of a decision value) or "
                "n_prototypes= (number of items to keep), one of them"
            )
        if tolerance is not None and not (
            isinstance(tolerance, Real) and 0 < float(tolerance) < np.inf
        ):
            raise ValueError(f"tolerance must be a positive number, got {tolerance!r}")
        if n_prototypes is not None and not (
            isinstance(n_prototypes, Integral) and int(n_prototypes) >= 1
        ):
            raise ValueError(
                f"n_prototypes must be a positive integer, got {n_prototypes!r}"
            )

    def _no_expansion(self) -> str | None:
        """Say why the outputs are not linear in similarities; None where they are."""
        return None

    def _before_sparsify(self) -> Self:
        """Return a copy with the coefficients of the fit."""
        dense = copy.copy(self)
        if hasattr(self, "dense_coef_"):
            dense.dual_coef_, dense.intercept_ = self.dense_coef_, self.dense_intercept_
            dense.support_ = np.flatnonzero(np.any(self.dense_coef_ != 0.0, axis=0))
        return dense

    def _seen_as_new(self, X: Any) -> tuple[Any, Array]:
        """Training items, and their similarities to the support as if they were new."""
        items = self.X_fit_ if X is None else X
        if items is None:
            raise ValueError(
                "with kernel='precomputed' pass the training similarities first: "
                "sparsify(K, ...)"
            )
        n = self.dual_coef_.shape[1]
        if _num_samples(items) != n:
            raise ValueError(
                f"X has {_num_samples(items)} items, the model was fitted on {n}; "
                "further items are given as held_out"
            )
        return items, as_new_items(
            dense_array(self._similarities(items)), self.support_
        )

    def _with_expansion(self, found: Expansion) -> Self:
        """Return a copy with other coefficients, which remembers its own."""
        sparse = copy.copy(self)
        sparse.dense_coef_, sparse.dense_intercept_ = self.dual_coef_, self.intercept_
        sparse.support_ = self.support_[found.chosen]
        sparse.dual_coef_ = np.zeros_like(self.dual_coef_)
        sparse.dual_coef_[:, sparse.support_] = found.coef
        sparse.intercept_ = found.intercept
        sparse.sparse_error_ = found.error
        return sparse

    def _changed_labels(self, items: Any, columns: Array, found: Expansion) -> int:
        """How many items have another label than in the model before."""
        places = np.flatnonzero(np.any(self.dense_coef_ != 0.0, axis=0))
        before = columns @ self.dense_coef_[:, places].T + self.dense_intercept_
        after = found.values(columns)
        before, after = (self._add_polynomial(v, items) for v in (before, after))
        return int(np.sum(self._labels(before) != self._labels(after)))


def expanded(
    columns: Array,
    coef: Array,
    intercept: Array,
    *,
    tolerance: float | None,
    most: int | None = None,
    weight: Array | None = None,
) -> Expansion:
    """A sparse expansion of known coefficients; they themselves where none is found."""
    count = columns.shape[1] if most is None else min(int(most), columns.shape[1])
    found = None
    if tolerance is not None or count < columns.shape[1]:
        outputs = columns @ coef.T + intercept
        found = sparse_expansion(
            columns,
            outputs,
            tolerance=float(tolerance or 0.0),
            most=count,
            weight=weight,
        )
    if found is None or (tolerance is not None and not found.error <= tolerance):
        return Expansion(np.arange(columns.shape[1]), coef, intercept, 0.0)
    return found


def dense_array(K: Any) -> Array:
    if not scipy.sparse.issparse(K):
        return np.asarray(K, dtype=float)
    require_memory(
        8.0 * K.shape[0] * K.shape[1], "sparsify", "Sparse rows stay as they are."
    )
    return K.toarray()


# A column whose part outside of those chosen is smaller than this adds only rounding.
_DEPENDENT = 1e-10
_COPY = 1e-13  # relative difference of rows that is rounding


@dataclass(frozen=True)
class Expansion:
    """Outputs near ``columns[:, chosen] @ coef.T + intercept``.

    Attributes
    ----------
    chosen : ndarray of int
        The columns, in rising order.
    coef : ndarray of shape (n_rows, n_chosen)
        Their coefficients.
    intercept : ndarray of shape (n_rows,)
        Constants.
    error : float
        Largest distance from the given outputs, for these coefficients.
    """

    chosen: np.ndarray
    coef: Array
    intercept: Array
    error: float

    def values(self, columns: Array) -> Array:
        """Return the outputs for similarities to all items."""
        return columns[:, self.chosen] @ self.coef.T + self.intercept


def as_new_items(columns: Array, rows: np.ndarray) -> Array:
    """Replace the similarity of items to themselves by that to their nearest other.

    A new item has no such entry: coefficients that rely on it would fit the training
    outputs and nothing else. Copies of an item (equal rows) are the item itself, so
    that repeating items is the same as weighing them.

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
    item = _without_copies(columns)
    own = item[:, None] == item[rows]
    nearest = np.max(columns, axis=1, where=~own, initial=-np.inf)
    own &= np.isfinite(nearest)[:, None]  # where there is no other it stays
    return np.where(own, nearest[:, None], columns)


def _without_copies(columns: Array) -> np.ndarray:
    """Number the rows, rows that are equal to rounding alike.

    They have the same product with a random vector, and others do not.
    """
    r = np.random.default_rng(0).standard_normal(columns.shape[1])
    product = columns @ r
    order = np.argsort(product)
    rounding = _COPY * float((np.abs(columns) @ np.abs(r)).max(initial=0.0))
    item = np.empty(order.size, dtype=int)
    item[order] = np.cumsum(np.diff(product[order], prepend=-np.inf) > rounding)
    return item


def sparse_expansion(
    columns: Array,
    outputs: Array,
    *,
    tolerance: float,
    most: int,
    weight: Array | None = None,
) -> Expansion:
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
    weight : ndarray of shape (n_items,), optional
        How often each item counts in the sums of squares.

    Returns
    -------
    Expansion
    """
    unit = max(float(np.abs(columns).max(initial=0.0)), np.finfo(float).tiny)
    height = max(float(np.abs(outputs).max(initial=0.0)), np.finfo(float).tiny)
    A, F = columns / unit, outputs / height
    root = np.ones(A.shape[0]) if weight is None else np.sqrt(weight / weight.max())
    chosen = np.sort(_pursuit(A, F, root[:, None], tolerance / height, most))
    design = root[:, None] * np.column_stack([np.ones(A.shape[0]), A[:, chosen]])
    Q, R = np.linalg.qr(design)
    fitted = scipy.linalg.solve_triangular(R, Q.T @ (root[:, None] * F))
    found = Expansion(
        chosen, fitted[1:].T * (height / unit), fitted[0] * height, error=0.0
    )
    error = np.abs(found.values(columns) - outputs).max(initial=0.0)
    return replace(found, error=float(error))


def _pursuit(
    A: Array, F: Array, root: Array, tolerance: float, most: int
) -> np.ndarray:
    """Columns in the order in which they explain most, rows multiplied by `root`.

    What is left of the outputs is orthogonal to the columns chosen, so that its
    products with the others are those with their parts outside of them: one product
    with the matrix per step, and no copy of it that is projected again and again.
    """
    w = root[:, 0] ** 2
    least = _DEPENDENT * (w @ (A * A))
    A, left = (root * (M - w @ M / w.sum()) for M in (A, F))
    size = np.einsum("ij,ij->j", A, A)
    products = A.T @ left
    basis = np.empty((A.shape[0], min(most, *A.shape)), order="F")
    chosen: list[int] = []
    while len(chosen) < basis.shape[1]:
        if np.abs(left / root).max(initial=0.0) <= tolerance:
            break
        useful = size > least
        useful[chosen] = False
        if not useful.any():
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
        shares, weight = direction @ A, direction @ left
        left -= np.outer(direction, weight)
        products -= np.outer(shares, weight)
        size -= shares**2
        chosen.append(best)
    return np.array(chosen, dtype=int)
