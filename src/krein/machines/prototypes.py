"""Few columns of a kernel whose combination stays near given outputs.

Orthogonal matching pursuit for several rows at once (Tropp, Gilbert, Strauss, 2006):
the column that explains most of what is left comes next, and all coefficients are
fitted again by least squares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from krein.arrays import Array

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
