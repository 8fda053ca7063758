"""Bounds of the time-warping distance that cost one pass over a pair of series.

Every sample of one series is matched to a sample of the other inside the band, and the
two ends to the two ends. So the squared distances of samples to the range of the other
series inside the band, and those of the ends, add up to no more than the squared
distance: Kim, Park, Chu (2001) and Keogh, Ratanamahatana (2005), Proposition 1, in both
directions, for channels that warp together and for lengths that differ. Any path gives
an upper bound: here the diagonal, then the end of the shorter series.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

__all__ = ["warping_bounds"]

Window = Callable[[int, int], int | None]


def warping_bounds(
    X: Sequence[np.ndarray], Y: Sequence[np.ndarray], window: Window
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds of the distances of all pairs.

    Parameters
    ----------
    X, Y : lists of arrays (n_channels, length)
        Series.
    window : callable
        ``window(n_x, n_y)`` gives the cells beside the diagonal, None for all.

    Returns
    -------
    low, high : ndarray of shape (len(X), len(Y))
        With room for the rounding errors of either sum.
    """
    low, high = np.empty((2, len(X), len(Y)))
    lengths = np.array([y.shape[1] for y in Y])
    for n_y in np.unique(lengths):
        where = np.flatnonzero(lengths == n_y)
        block = np.stack([Y[j] for j in where.tolist()])
        envelopes: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for i, x in enumerate(X):
            n_x = x.shape[1]
            cells = window(n_x, int(n_y))
            if n_x not in envelopes:
                envelopes[n_x] = _envelope(block, n_x, cells)
            ends = _squared_ends(x, block)
            below = np.maximum(
                _squared_outside(x, *envelopes[n_x], ends),
                _squared_outside(block, *_envelope(x, int(n_y), cells), ends),
            )
            room = 4.0 * (n_x + n_y + x.shape[0]) * np.finfo(float).eps
            low[i, where] = np.sqrt(below) * (1.0 - room)
            high[i, where] = np.sqrt(_squared_on_a_path(x, block)) * (1.0 + room)
    return low, high


def _envelope(
    series: np.ndarray, n_other: int, cells: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest sample that each sample of another series can be matched to.

    Sample i meets those from i - cells - max(0, n_other - n) to i + cells + max(0, n -
    n_other) of the n in `series`; time is the last axis.
    """
    n = series.shape[-1]
    if cells is None or cells >= max(n, n_other):
        shape = (*series.shape[:-1], n_other)
        return tuple(  # type: ignore[return-value]
            np.broadcast_to(end(axis=-1, keepdims=True), shape)
            for end in (series.min, series.max)
        )
    before, after = cells + max(0, n_other - n), cells + max(0, n - n_other)
    size = before + after + 1
    sides = [(0, 0)] * (series.ndim - 1) + [(before, n_other + after - n)]
    # An output of the filters is that of the window around it.
    inside = slice(size // 2, size // 2 + n_other)
    found = []
    for extremum, beyond in ((minimum_filter1d, np.inf), (maximum_filter1d, -np.inf)):
        padded = np.pad(series, sides, constant_values=beyond)
        found.append(extremum(padded, size, axis=-1)[..., inside])
    return found[0], found[1]


def _squared_ends(x: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances of the first samples, and of the last ones."""
    with np.errstate(over="ignore"):
        return (
            np.sum((x[:, 0] - block[:, :, 0]) ** 2, axis=1),
            np.sum((x[:, -1] - block[:, :, -1]) ** 2, axis=1),
        )


def _squared_outside(
    series: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Sums of squared distances of samples to their ranges; the ends are known."""
    with np.errstate(over="ignore"):
        outside = np.maximum(series - high, low - series)
        squares = np.sum(np.maximum(outside, 0.0) ** 2, axis=1)
    squares[:, 0], squares[:, -1] = ends
    return squares.sum(axis=1)


def _squared_on_a_path(x: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Cost of the diagonal, then of the end of the shorter series."""
    n_x, n_y = x.shape[1], block.shape[2]
    x = np.pad(x, ((0, 0), (0, max(0, n_y - n_x))), mode="edge")
    block = np.pad(block, ((0, 0), (0, 0), (0, max(0, n_x - n_y))), mode="edge")
    with np.errstate(over="ignore"):
        return np.sum((x - block) ** 2, axis=(1, 2))
