"""Few columns of a kernel whose combination stays near given outputs.

Orthogonal matching pursuit for several rows at once (Tropp, Gilbert, Strauss, 2006):
the column that explains most of what is left comes next, and all coefficients are
fitted again by least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from krein.arrays import Array

__all__ = ["Expansion", "as_new_items", "sparse_expansion"]

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
    unit = max(float(np.abs(columns).max(initial=0.0)), np.finfo(float).tiny)
    height = max(float(np.abs(outputs).max(initial=0.0)), np.finfo(float).tiny)
    A, F = columns / unit, outputs / height
    chosen = np.sort(_pursuit(A, F, tolerance / height, most))
    design = np.column_stack([np.ones(A.shape[0]), A[:, chosen]])
    found = np.asarray(np.linalg.lstsq(design, F, rcond=None)[0], dtype=np.float64)
    coef, intercept = found[1:].T * (height / unit), found[0] * height
    error = np.abs(columns[:, chosen] @ coef.T + intercept - outputs)
    return Expansion(chosen, coef, intercept, float(error.max(initial=0.0)))


def _pursuit(A: Array, F: Array, tolerance: float, most: int) -> np.ndarray:
    """Columns in the order in which they explain most."""
    rest = A - A.mean(axis=0)
    left = F - F.mean(axis=0)
    least = _DEPENDENT * np.einsum("ij,ij->j", A, A)
    chosen: list[int] = []
    while len(chosen) < most and np.abs(left).max(initial=0.0) > tolerance:
        size = np.einsum("ij,ij->j", rest, rest)
        useful = size > least
        useful[chosen] = False
        if not useful.any():
            break
        explained = np.sum((rest.T @ left) ** 2, axis=1)
        gain = np.where(useful, explained / np.where(useful, size, 1.0), -1.0)
        best = int(np.argmax(gain))
        direction = rest[:, best] / np.sqrt(size[best])
        left -= np.outer(direction, direction @ left)
        rest -= np.outer(direction, direction @ rest)
        chosen.append(best)
    return np.array(chosen, dtype=int)
