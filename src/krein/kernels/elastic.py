"""Edit distances of series that share one recurrence, many pairs at a time.

``D[i, j] = min(D[i-1, j-1] + match, D[i-1, j] + skip_x, D[i, j-1] + skip_y)`` with
costs that differ between the distances. Cells with the same i + j do not depend on each
other, so NumPy runs over these diagonals, for a batch of pairs at once and only over
the cells inside the window. Samples come first, pairs last, and the second series is
stored backwards: each operation then sees contiguous memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

# Numbers in one operation: enough that the work outweighs the call, few enough that the
# ten arrays in use stay in the cache of one core (measured).
_NUMBERS = 32768
_MOST_PAIRS = 1024

Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Costs:
    """Costs of one distance on a batch.

    Attributes
    ----------
    first_row, first_column : ndarray of shape (length + 1, pairs)
        D[0, :] and D[:, 0].
    diagonal : callable
        ``diagonal(x, y, d)`` returns match, skip_x and skip_y of the cells i + j = d,
        where the slices x and y hold i - 1 rising and, backwards, j - 1 falling. The
        arrays are good until the next call.
    """

    first_row: np.ndarray
    first_column: np.ndarray
    diagonal: Callable[[slice, slice, int], Triple]


def _length(A: np.ndarray, B: np.ndarray | float, out: np.ndarray) -> np.ndarray:
    """Euclidean length of A - B over the channels, the first axis."""
    if A.shape[0] > 1:
        return np.sqrt(np.sum((A - B) ** 2, axis=0), out=out)
    np.subtract(A[0], B if np.isscalar(B) else B[0], out=out)  # type: ignore[index]
    return np.abs(out, out=out)


def _border(steps: np.ndarray) -> np.ndarray:
    """Zero, and the sums of what was skipped so far."""
    return np.concatenate([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])


def _closed_border(shape: tuple[int, ...]) -> np.ndarray:
    """Zero, then infinity: every path begins with a match."""
    border = np.full((shape[1] + 1, shape[2]), np.inf)
    border[0] = 0.0
    return border


def erp_costs(A: np.ndarray, B: np.ndarray, *, g: float) -> Costs:
    """Chen and Ng (2004), definition 4; A, B of shape (channels, length, pairs)."""
    gap_A = _length(A, g, np.empty(A.shape[1:]))
    gap_B = _length(B, g, np.empty(B.shape[1:]))
    B = B[:, ::-1].copy()
    backwards = gap_B[::-1].copy()
    match = np.empty(A.shape[1:])

    def diagonal(x: slice, y: slice, d: int) -> Triple:
        return _length(A[:, x], B[:, y], match[x]), gap_A[x], backwards[y]

    return Costs(_border(gap_B), _border(gap_A), diagonal)


def _steps(A: np.ndarray) -> np.ndarray:
    """Lengths of the steps of a series that begins at zero."""
    before = np.pad(A[:, :-1], ((0, 0), (1, 0), (0, 0)))
    return _length(A, before, np.empty(A.shape[1:]))


def twe_costs(A: np.ndarray, B: np.ndarray, *, nu: float, lmbda: float) -> Costs:
    """Marteau (2009), equation 11, on series padded with a zero in front."""
    if not (nu >= 0 and lmbda >= 0):
        raise ValueError(f"nu and lmbda must not be negative, got {nu!r}, {lmbda!r}")
    skip_A = _steps(A) + nu + lmbda
    skip_B = (_steps(B) + nu + lmbda)[::-1].copy()
    n = A.shape[1]
    m = B.shape[1]
    # 2 nu |i - j|: i - j rises by two along a diagonal, from an even or an odd number.
    apart = np.abs(np.arange(-m - (m % 2), n + 2))[:, None] * (2 * nu)
    stamps = [np.repeat(apart[odd::2], A.shape[2], axis=1) for odd in (0, 1)]
    B = B[:, ::-1].copy()
    match = np.empty(A.shape[1:])
    # |a_i - b_j| of this diagonal and the two before it: a match needs |a_i-1 - b_j-1|.
    lengths = [np.zeros((n + 1, A.shape[2])) for _ in range(3)]

    def diagonal(x: slice, y: slice, d: int) -> Triple:
        here = _length(A[:, x], B[:, y], lengths[d % 3][x.start + 1 : x.stop + 1])
        np.add(here, lengths[(d - 2) % 3][x], out=match[x])
        start = (2 * (x.start + 1) - d + m + m % 2) // 2
        match[x] += stamps[d % 2][start : start + x.stop - x.start]
        return match[x], skip_A[x], skip_B[y]

    return Costs(_closed_border(B.shape), _closed_border(A.shape), diagonal)


def msm_costs(A: np.ndarray, B: np.ndarray, *, c: float) -> Costs:
    """Stefan, Athitsos and Das (2013), Figure 10; one channel.

    C(x, y, z) is c and how far x lies outside the interval of y and z: with u = x - y
    and v = x - z that is |v| cut to the interval of 0 and u.
    """
    if not c >= 0:
        raise ValueError(f"c must not be negative, got {c!r}")
    a = A[0]
    b = B[0, ::-1].copy()
    step_a = np.diff(a, axis=0, prepend=a[:1])
    step_b = np.diff(B[0], axis=0, prepend=B[0, :1])[::-1]
    low_a = np.minimum(step_a, 0.0)
    high_a = np.maximum(step_a, 0.0)
    # b_j - a_i is what is cut for b, the negative of what is cut for a.
    low_b = np.minimum(-step_b, 0.0)
    high_b = np.maximum(-step_b, 0.0)
    difference, skip_x, skip_y = (np.empty(a.shape) for _ in range(3))

    def cut(apart: np.ndarray, low: np.ndarray, high: np.ndarray, out: np.ndarray):
        np.maximum(apart, low, out=out)
        np.minimum(out, high, out=out)
        np.abs(out, out=out)
        out += c
        return out

    def diagonal(x: slice, y: slice, d: int) -> Triple:
        apart = np.subtract(a[x], b[y], out=difference[x])
        to_x = cut(apart, low_a[x], high_a[x], skip_x[x])
        to_y = cut(apart, low_b[y], high_b[y], skip_y[x])
        return np.abs(apart, out=apart), to_x, to_y

    return Costs(_closed_border(B.shape), _closed_border(A.shape), diagonal)


@dataclass(frozen=True)
class Band:
    """How far a path may leave the diagonal: -above <= i - j <= below, by pair."""

    below: np.ndarray
    above: np.ndarray

    def rows(self, d: int, n: int, m: int) -> tuple[int, int]:
        """First and last i >= 1 on diagonal d with j >= 1, for the widest band."""
        below = int(self.below.max())
        above = int(self.above.max())
        first = max(1, d - m, -((above - d) // 2))
        return first, min(n, d - 1, (d + below) // 2)

    def close(self, cells: np.ndarray, d: int, rows: np.ndarray) -> None:
        """Close cells that are in the widest band, but not in that of their pair."""
        if np.ptp(self.below) or np.ptp(self.above):
            apart = (2 * rows - d)[:, None]
            cells[(apart > self.below) | (-apart > self.above)] = np.inf


def _batch_distances(costs: Costs, lengths: np.ndarray, band: Band) -> np.ndarray:
    """D at each pair's own lengths, given as two rows; one diagonal at a time."""
    n = costs.first_column.shape[0] - 1
    m = costs.first_row.shape[0] - 1
    ends = lengths.sum(axis=0)
    found = np.empty(ends.size)
    # D[i, d - i] by i for the diagonals d - 2, d - 1 and d.
    before, previous, current = np.full((3, n + 2, ends.size), np.inf)
    scratch = np.empty(current.shape)
    previous[0] = 0.0
    for d in range(1, int(ends.max()) + 1):
        first, end = band.rows(d, n, m)
        if first <= end:
            cells = current[first : end + 1]
            spare = scratch[first : end + 1]
            x = slice(first - 1, end)
            y = slice(m - d + first, m - d + end + 1)
            match, skip_x, skip_y = costs.diagonal(x, y, d)
            np.add(before[x], match, out=cells)
            np.minimum(cells, np.add(previous[x], skip_x, out=spare), out=cells)
            spare = np.add(previous[first : end + 1], skip_y, out=spare)
            np.minimum(cells, spare, out=cells)
        on_row = first == 1 and d <= m
        on_column = end == d - 1 and d <= n
        current[first - 1] = costs.first_row[d] if on_row else np.inf
        current[end + 1] = costs.first_column[d] if on_column else np.inf
        band.close(current[first - 1 : end + 2], d, np.arange(first - 1, end + 2))
        here = np.flatnonzero(ends == d)
        found[here] = current[lengths[0, here], here]
        before, previous, current = previous, current, before
    return found


def _stack(series: Sequence[np.ndarray]) -> np.ndarray:
    """Series as (channels, longest, pairs); what lies behind an end is not read."""
    longest = max(item.shape[1] for item in series)
    out = np.zeros((series[0].shape[0], longest, len(series)))
    for k, item in enumerate(series):
        out[:, : item.shape[1], k] = item
    return out


def _band(lengths: np.ndarray, cells: np.ndarray | int | None) -> Band:
    """Allowed cells, by pair; without a window all of them, for all pairs alike."""
    n_x, n_y = lengths
    if cells is None:
        everything = np.full(n_x.size, lengths.max())
        return Band(everything, everything)
    beside = np.minimum(cells, lengths.max())
    return Band(beside + np.maximum(0, n_x - n_y), beside + np.maximum(0, n_y - n_x))


def _batches(lengths: np.ndarray, band: Band) -> list[np.ndarray]:
    """Pairs in batches of similar lengths."""
    order = np.lexsort(lengths)
    width = np.minimum(lengths.min(axis=0), (band.below + band.above) // 2 + 1)
    pairs = np.clip(_NUMBERS // int(np.mean(width)), 1, _MOST_PAIRS)
    return np.array_split(order, ceil(order.size / pairs))


def elastic_distances(
    X: Sequence[np.ndarray],
    Y: Sequence[np.ndarray],
    make_costs: Callable[[np.ndarray, np.ndarray], Costs],
    window: Callable[[np.ndarray], np.ndarray | int | None],
) -> np.ndarray:
    """Matrix of distances between series.

    Parameters
    ----------
    X, Y : lists of arrays (n_channels, length)
        Series. Of one list the pairs above the diagonal are evaluated only.
    make_costs : callable
        One of the cost functions of this module with its parameters bound. Those of
        `msm_costs` are for one channel, and added over channels.
    window : callable
        ``window(longest)`` gives the cells beside the diagonal for the length of the
        longer series of each pair, None for all.

    Returns
    -------
    ndarray of shape (len(X), len(Y))
    """
    if X is Y:
        rows, columns = np.triu_indices(len(X), k=1)
    else:
        rows, columns = np.indices((len(X), len(Y))).reshape(2, -1)
    D = np.zeros((len(X), len(Y)))
    if rows.size == 0:
        return D
    all_X = _stack(X)
    all_Y = _stack(Y)
    lengths_X = np.array([item.shape[1] for item in X])
    lengths_Y = np.array([item.shape[1] for item in Y])
    lengths = np.stack([lengths_X[rows], lengths_Y[columns]])
    band = _band(lengths, window(lengths.max(axis=0)))
    by_channel = getattr(make_costs, "func", make_costs) is msm_costs
    for batch in _batches(lengths, band):
        i = rows[batch]
        j = columns[batch]
        own = lengths[:, batch]
        A = np.take(all_X[:, : own[0].max()], i, axis=2)
        B = np.take(all_Y[:, : own[1].max()], j, axis=2)
        allowed = Band(band.below[batch], band.above[batch])
        parts: list[Any] = [...]
        if by_channel:
            parts = [slice(k, k + 1) for k in range(A.shape[0])]
        D[i, j] = sum(
            _batch_distances(make_costs(A[part], B[part]), own, allowed)
            for part in parts
        )
    return D + D.T if X is Y else D
