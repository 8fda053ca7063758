"""Edit distances of series that share one recurrence, many pairs at a time.

``D[i, j] = min(D[i-1, j-1] + match, D[i-1, j] + skip_x, D[i, j-1] + skip_y)`` with
costs that differ between the distances. NumPy runs it over a batch of pairs: samples
first, pairs last, so that each operation sees contiguous memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["elastic_distances", "erp_costs", "msm_costs", "twe_costs"]

# Pairs in a batch: enough that the work outweighs the calls (measured).
_BATCH = 1024


@dataclass(frozen=True)
class Costs:
    """Costs of one distance on a batch.

    Attributes
    ----------
    first_row : ndarray of shape (n + 1, pairs)
        D[0, :].
    first_column : callable
        ``first_column(i)`` is D[i, 0] for i = 1, 2, ...
    row : callable
        ``row(i)`` returns match, skip_x, skip_y for i = 1, 2, ..., each of shape
        (n, pairs), or (n, 1) or (1, pairs).
    """

    first_row: np.ndarray
    first_column: Callable[[int], np.ndarray | float]
    row: Callable[[int], tuple[np.ndarray, np.ndarray, np.ndarray]]


def _length(difference: np.ndarray) -> np.ndarray:
    """Euclidean length over the channels, the first axis."""
    if difference.shape[0] == 1:
        return np.abs(difference[0])
    return np.sqrt(np.sum(difference**2, axis=0))


def erp_costs(A: np.ndarray, B: np.ndarray, *, g: float) -> Costs:
    """Chen and Ng (2004), definition 4; A, B of shape (channels, length, pairs)."""
    gap_A, gap_B = _length(A - g), _length(B - g)
    column = np.cumsum(gap_A, axis=0)
    first_row = np.zeros((B.shape[1] + 1, B.shape[2]))
    np.cumsum(gap_B, axis=0, out=first_row[1:])

    def row(i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return _length(A[:, i - 1, None] - B), gap_A[i - 1, None], gap_B

    return Costs(first_row, lambda i: column[i - 1], row)


def _closed_border(B: np.ndarray) -> np.ndarray:
    """D[0, 0] = 0, D[0, j] = infinity: every path begins with a match."""
    first_row = np.full((B.shape[1] + 1, B.shape[2]), np.inf)
    first_row[0] = 0.0
    return first_row


def twe_costs(A: np.ndarray, B: np.ndarray, *, nu: float, lmbda: float) -> Costs:
    """Marteau (2009), equation 11, on series padded with a zero in front."""
    if not (nu >= 0 and lmbda >= 0):
        raise ValueError(f"nu and lmbda must not be negative, got {nu!r}, {lmbda!r}")
    pad = ((0, 0), (1, 0), (0, 0))
    A, B = np.pad(A, pad), np.pad(B, pad)
    skip_A = _length(np.diff(A, axis=1)) + nu + lmbda
    skip_B = _length(np.diff(B, axis=1)) + nu + lmbda
    stamps = np.arange(1, B.shape[1])[:, None]

    def row(i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        before = _length(A[:, i - 1, None] - B[:, :-1])
        match = _length(A[:, i, None] - B[:, 1:]) + before + 2 * nu * np.abs(i - stamps)
        return match, skip_A[i - 1, None], skip_B

    return Costs(_closed_border(B[:, 1:]), lambda i: np.inf, row)


def msm_costs(A: np.ndarray, B: np.ndarray, *, c: float) -> Costs:
    """Stefan, Athitsos and Das (2013), Figure 10; one channel."""
    if not c >= 0:
        raise ValueError(f"c must not be negative, got {c!r}")
    a, b = A[0], B[0]

    def split_or_merge(x: Any, y: Any, z: Any) -> np.ndarray:
        """C(x, y, z): c, and how far x lies outside the interval of y and z."""
        outside = np.maximum(np.minimum(y, z) - x, x - np.maximum(y, z))
        np.maximum(outside, 0.0, out=outside)
        outside += c
        return outside

    def row(i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = a[i - 1]
        skip_x = np.full((1, 1), np.inf)
        if i > 1:
            skip_x = split_or_merge(x, a[i - 2], b)
        skip_y = np.full(b.shape, np.inf)
        skip_y[1:] = split_or_merge(b[1:], x, b[:-1])
        return np.abs(x - b), skip_x, skip_y

    return Costs(_closed_border(B), lambda i: np.inf, row)


def _batch_distances(
    costs: Costs, lengths_x: np.ndarray, lengths_y: np.ndarray, cells: np.ndarray
) -> np.ndarray:
    """Run the recurrence; read D at each pair's own lengths; `cells` -1 is no band."""
    n = costs.first_row.shape[0] - 1
    below = np.where(cells < 0, np.inf, cells + np.maximum(0, lengths_x - lengths_y))
    above = np.where(cells < 0, np.inf, cells + np.maximum(0, lengths_y - lengths_x))
    banded = bool((cells >= 0).any())
    stamps = np.arange(0, n + 1)[:, None]
    previous = costs.first_row
    if banded:
        previous = np.where(stamps > above, np.inf, previous)
    found = np.empty(lengths_x.size)
    for i in range(1, int(lengths_x.max()) + 1):
        match, skip_x, skip_y = costs.row(i)
        current = np.empty_like(previous)
        current[0] = costs.first_column(i)
        np.minimum(previous[:-1] + match, previous[1:] + skip_x, out=current[1:])
        if banded:
            outside = (stamps - i > above) | (i - stamps > below)
            current[outside] = np.inf
            skip_y = np.where(outside[1:], np.inf, skip_y)
        for j in range(1, n + 1):
            np.minimum(current[j], current[j - 1] + skip_y[j - 1], out=current[j])
        ends = np.flatnonzero(lengths_x == i)
        found[ends] = current[lengths_y[ends], ends]
        previous = current
    return found


def _stack(series: Sequence[np.ndarray]) -> np.ndarray:
    """Series as (channels, longest, pairs); what lies behind an end is not read."""
    longest = max(item.shape[1] for item in series)
    out = np.zeros((series[0].shape[0], longest, len(series)))
    for k, item in enumerate(series):
        out[:, : item.shape[1], k] = item
    return out


def elastic_distances(
    X: Sequence[np.ndarray],
    Y: Sequence[np.ndarray],
    make_costs: Callable[[np.ndarray, np.ndarray], Costs],
    window: Callable[[int, int], int | None],
    *,
    symmetric: bool,
) -> np.ndarray:
    """Matrix of distances between series.

    Parameters
    ----------
    X, Y : lists of arrays (n_channels, length)
        Series.
    make_costs : callable
        One of the cost functions of this module with its parameters bound. Those of
        `msm_costs` are for one channel, and added over channels.
    window : callable
        ``window(n_x, n_y)`` gives the cells beside the diagonal, None for all.
    symmetric : bool
        Evaluate pairs above the diagonal only; the diagonal is 0.

    Returns
    -------
    ndarray of shape (len(X), len(Y))
    """
    if symmetric:
        rows, columns = np.triu_indices(len(X), k=1)
    else:
        rows, columns = (index.ravel() for index in np.indices((len(X), len(Y))))
    D = np.zeros((len(X), len(Y)))
    by_channel = getattr(make_costs, "func", make_costs) is msm_costs
    for start in range(0, rows.size, _BATCH):
        i, j = rows[start : start + _BATCH], columns[start : start + _BATCH]
        A, B = _stack([X[k] for k in i]), _stack([Y[k] for k in j])
        lengths_x = np.array([X[k].shape[1] for k in i])
        lengths_y = np.array([Y[k].shape[1] for k in j])
        bands = [window(*pair) for pair in zip(lengths_x, lengths_y, strict=True)]
        cells = np.array([-1 if band is None else band for band in bands])
        parts = [slice(k, k + 1) for k in range(A.shape[0])] if by_channel else [...]
        D[i, j] = sum(
            _batch_distances(make_costs(A[part], B[part]), lengths_x, lengths_y, cells)
            for part in parts
        )
    return D + D.T if symmetric else D
