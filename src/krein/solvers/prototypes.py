"""Few columns of a kernel whose combination stays near given outputs.

Orthogonal matching pursuit for several rows at once (Tropp, Gilbert, Strauss, 2006):
the column that explains most of what is left comes next, and all coefficients are
fitted again by least squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from krein.arrays import Array

__all__ = ["Expansion", "as_new_items", "nested_expansions", "sparse_expansion"]

# A column whose part outside of those chosen is smaller than this adds only rounding.
_DEPENDENT = 1e-10


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
    outputs and nothing else.

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
    changed = columns.copy()
    if rows.size > 1:
        own = np.arange(rows.size)
        changed[rows, own] = -np.inf
        changed[rows, own] = changed[rows].max(axis=1)
    return changed


def sparse_expansion(
    columns: Array, outputs: Array, *, tolerance: float, most: int
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

    Returns
    -------
    Expansion
    """
    return nested_expansions(columns, outputs, [most], tolerance=tolerance)[0]


def nested_expansions(
    columns: Array, outputs: Array, sizes: Sequence[int], *, tolerance: float = 0.0
) -> list[Expansion]:
    """Expansions on the first columns of one pursuit, each fitted by least squares.

    Parameters
    ----------
    columns, outputs, tolerance
        As in `sparse_expansion`.
    sizes : sequence of int
        Numbers of columns; fewer where others would add only rounding.

    Returns
    -------
    list of Expansion
    """
    unit = max(float(np.abs(columns).max(initial=0.0)), np.finfo(float).tiny)
    height = max(float(np.abs(outputs).max(initial=0.0)), np.finfo(float).tiny)
    A, F = columns / unit, outputs / height
    order = _pursuit(A, F, tolerance / height, max(sizes))
    Q, R = np.linalg.qr(np.column_stack([np.ones(A.shape[0]), A[:, order]]))
    target = Q.T @ F
    found = []
    for size in sizes:
        first = order[:size]
        k = first.size + 1
        fitted = scipy.linalg.solve_triangular(R[:k, :k], target[:k])
        rising = np.argsort(first)
        coef, intercept = fitted[1 + rising].T * (height / unit), fitted[0] * height
        some = Expansion(first[rising], coef, intercept, 0.0)
        error = np.abs(some.values(columns) - outputs).max(initial=0.0)
        found.append(replace(some, error=float(error)))
    return found


def _pursuit(A: Array, F: Array, tolerance: float, most: int) -> np.ndarray:
    """Columns in the order in which they explain most.

    What is left of the outputs is orthogonal to the columns chosen, so that its
    products with the others are those with their parts outside of them: one product
    with the matrix per step, and no copy of it that is projected again and again.
    """
    least = _DEPENDENT * np.einsum("ij,ij->j", A, A)
    A, left = A - A.mean(axis=0), F - F.mean(axis=0)
    size = np.einsum("ij,ij->j", A, A)
    products = A.T @ left
    basis = np.empty((A.shape[0], min(most, *A.shape)), order="F")
    chosen: list[int] = []
    while len(chosen) < basis.shape[1] and np.abs(left).max(initial=0.0) > tolerance:
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
