"""Kernels on time series, by elastic distances.

One convention, whatever does the work. A series is an array (length,) or (n_channels,
length); a set is a list of them, or an array with one more axis in front. A last axis
of length 1, as in tslearn's (n, length, 1), is turned with a warning; NaN behind the
last value of all channels is padding of a shorter series, and is cut off. `window`
counts cells beside the diagonal: 0 allows the diagonal only; a float is a fraction of
the longer series of a pair. Where lengths differ, the band is widened towards the
longer one by the difference: ``-w - max(0, n_x - n_y) <= j - i <= w + max(0, n_y -
n_x)``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from krein.kernels import distances
from krein.kernels.elastic import elastic_distances, erp_costs, msm_costs, twe_costs
from krein.words import import_optional, warn_user

_FACTS: dict[str, Any] = {
    "input": "series",
    "definiteness": "indefinite",
    "parallel": "processes",
    "witness": "all series of length 1 to 3 over {0, 1, 2}; gamma=0.1",
}


def _check_one(item: Any) -> np.ndarray:
    """Return an array (n_channels, length)."""
    expected = "a series of numbers (length,) or (n_channels, length)"
    series = distances.check_numbers(_without_padding(item), expected, (1, 2))
    return np.ascontiguousarray(np.atleast_2d(series))


def _without_padding(item: Any) -> Any:
    """A series with time on its last axis, without NaN behind its end."""
    try:
        values = np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError):
        return item  # the check that follows says what it is
    if values.ndim not in (1, 2):
        return values
    if _is_column(values.shape):
        values = values.T
    gaps = np.isnan(values) if values.ndim == 1 else np.isnan(values).all(axis=0)
    given = np.flatnonzero(~gaps)
    return values[..., : given[-1] + 1] if given.size else values


def _is_column(shape: tuple[int, ...]) -> bool:
    """Whether an item is (length, 1): the layout of other packages."""
    return len(shape) == 2 and shape[1] == 1 and shape[0] > 1


def _check_both(X: Any, Y: Any) -> tuple[list, list]:
    """Both sets of series; a warning where the axes look exchanged."""
    first, second = distances.check_both(X, Y, _check_one, len)
    shape = np.shape(next(iter(X)))
    if _is_column(shape):
        warn_user(
            f"series of shape {shape} are read as {shape[0]} time points of one "
            "channel; a set of series is (n, length) or (n, n_channels, length): pass "
            "X[:, :, 0] or np.swapaxes(X, 1, 2) to say so"
        )
    elif all(len(item) > item.shape[1] for item in first):
        warn_user(
            f"series of shape {shape} have more channels than time points; a set of "
            "series is (n, n_channels, length): if time is the first of these two "
            "axes, pass np.swapaxes(X, 1, 2)"
        )
    return first, second


def _window_cells(window: float | None, longest: Any) -> Any:
    """Cells beside the diagonal for the longer series of pairs; None for no band."""
    if window is None:
        return None
    whole = isinstance(window, int | np.integer)
    most = np.inf if whole else 1.0
    if isinstance(window, bool | str) or not 0 <= window <= most:
        raise ValueError(
            "window must be None, a number of cells (int) or a fraction of the longer "
            f"series (float in [0, 1]; 5 cells are 5, not 5.0), got {window!r}"
        )
    return window if whole else (window * np.asarray(longest)).astype(int)


@distances.distance_kernel("dtw", extra="series", **_FACTS)
def dtw_kernel(X, Y=None, *, window=None):
    """Kernel of dynamic time warping (DTW).

    The distance is the root of the smallest sum of squared differences over warping
    paths (channels warp together). dtaidistance does the work.

    Parameters
    ----------
    X, Y : lists of arrays (length,) or (n_channels, length), or one array
        Series, lengths may differ; Y defaults to X.
    window : int or float, optional
        Sakoe-Chiba band: cells beside the diagonal (int) or a fraction of the longer
        series (float). 0 on series of one length is the Euclidean distance.

    References
    ----------
    Sakoe, Chiba (1978), "Dynamic programming algorithm optimization for spoken word
    recognition", IEEE Transactions on Acoustics 26.

    Examples
    --------
    >>> from krein import dtw_kernel
    >>> dtw_kernel([[0, 0, 1, 2]], [[0, 1, 1, 2], [3, 3]], similarity="negative")
    array([[-0.        , -4.79583152]])
    """
    first, second = _check_both(X, Y)
    lengths = {item.shape[1] for item in (*first, *second)}
    if len(lengths) == 1 or window is None or isinstance(window, int | np.integer):
        return _dtw_block(first, second, _window_cells(window, max(lengths)))

    def one_pair(x: np.ndarray, y: np.ndarray) -> float:
        # A fraction means another band for each pair of lengths.
        cells = _window_cells(window, max(x.shape[1], y.shape[1]))
        return float(_dtw_block([x], [y], cells)[0, 0])

    return distances.each_pair(first, second, one_pair)


def _dtw_block(first: list, second: list, cells: int | None) -> np.ndarray:
    """All pairs by one call of dtaidistance; its window counts the diagonal."""
    one_channel = first[0].shape[0] == 1
    same = first is second
    module = "dtaidistance.dtw" if one_channel else "dtaidistance.dtw_ndim"
    library = import_optional(module, extra="series", needed_for="the dtw kernel")
    series = first if same else [*first, *second]
    items = [x[0] if one_channel else np.ascontiguousarray(x.T) for x in series]
    n = len(first)
    m = len(second)
    window = None if cells is None else int(cells) + 1
    options: dict[str, Any] = {"parallel": False, "compact": True, "window": window}
    if not one_channel:
        options["ndim"] = first[0].shape[0]
    if not same:
        options["block"] = ((0, n), (n, n + m))
        return np.asarray(library.distance_matrix_fast(items, **options)).reshape(n, m)
    D = np.zeros((n, n))
    if n > 1:
        D[np.triu_indices(n, k=1)] = library.distance_matrix_fast(items, **options)
    return D + D.T


def _elastic(X: Any, Y: Any, window: float | None, costs: Any) -> np.ndarray:
    first, second = _check_both(X, Y)
    return elastic_distances(first, second, costs, partial(_window_cells, window))


@distances.distance_kernel("msm", **_FACTS)
def msm_kernel(X, Y=None, *, c=1.0, window=None):
    """Kernel of the move-split-merge metric (MSM).

    Parameters
    ----------
    X, Y : lists of arrays (length,) or (n_channels, length), or one array
        Series, lengths may differ; Y defaults to X. Channels are added.
    c : float
        Cost of a split or a merge.
    window : int or float, optional
        As in `dtw_kernel`.

    References
    ----------
    Stefan, Athitsos, Das (2013), "The move-split-merge metric for time series", TKDE
    25.

    Examples
    --------
    >>> from krein import msm_kernel
    >>> msm_kernel([[1, 2, 3]], [[1, 2, 2, 3], [4, 5, 6]], similarity="negative")
    array([[-1., -8.]])
    """
    return _elastic(X, Y, window, partial(msm_costs, c=c))


@distances.distance_kernel("twe", **_FACTS)
def twe_kernel(X, Y=None, *, nu=0.001, lmbda=1.0, window=None):
    """Kernel of the time warp edit distance (TWE, TWED).

    Parameters
    ----------
    X, Y : lists of arrays (length,) or (n_channels, length), or one array
        Series, lengths may differ; Y defaults to X. Differences of samples are
        Euclidean over channels; time stamps are 1, 2, 3, ...
    nu : float
        Stiffness: cost of a difference of time stamps.
    lmbda : float
        Cost of a deletion.
    window : int or float, optional
        As in `dtw_kernel`.

    References
    ----------
    Marteau (2009), "Time warp edit distance with stiffness adjustment for time series
    matching", TPAMI 31.

    Examples
    --------
    >>> from krein import twe_kernel
    >>> twe_kernel([[1, 2, 3]], [[4, 5, 6]], similarity="negative").round(3)
    array([[-11.004]])
    """
    return _elastic(X, Y, window, partial(twe_costs, nu=nu, lmbda=lmbda))


@distances.distance_kernel("erp", **_FACTS)
def erp_kernel(X, Y=None, *, g=0.0, window=None):
    """Kernel of the edit distance with real penalty (ERP).

    Parameters
    ----------
    X, Y : lists of arrays (length,) or (n_channels, length), or one array
        Series, lengths may differ; Y defaults to X. Differences of samples are
        Euclidean over channels.
    g : float
        A gap costs the distance of the skipped sample to g.
    window : int or float, optional
        As in `dtw_kernel`.

    References
    ----------
    Chen, Ng (2004), "On the marriage of Lp-norms and edit distance", VLDB.

    Examples
    --------
    >>> from krein import erp_kernel
    >>> erp_kernel([[0, 0, 5]], [[5], [4]], similarity="negative") + 0.0
    array([[ 0., -1.]])
    """
    if not (isinstance(g, int | float | np.number) and np.isfinite(g)):
        raise ValueError(f"g must be a finite number, got {g!r}")
    return _elastic(X, Y, window, partial(erp_costs, g=float(g)))
