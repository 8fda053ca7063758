"""Kernels on places, on distributions, and on items with a distance of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance
from sklearn.metrics.pairwise import haversine_distances

from krein.kernels import distances

_MEAN_RADIUS_KM = 6371.0088


def _check_place(item: Any) -> np.ndarray:
    """Return latitude and longitude in radians."""
    place = distances.check_numbers(item, "latitude and longitude", (1,))
    if place.size != 2 or (np.abs(place) > (90, 360)).any():
        raise ValueError(
            f"is {place.tolist()}; expected degrees of latitude and longitude"
        )
    return np.radians(place)


@distances.distance_kernel(
    "haversine",
    input="places",
    definiteness="pd",
    note="similarity='gaussian' is indefinite",
)
def haversine_kernel(X, Y=None):
    """Kernel of the great-circle (haversine) distance in kilometres.

    The sphere has the earth's mean radius; gamma is in 1 / km.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, 2), (n_Y, 2)
        Latitude and longitude in degrees; Y defaults to X.

    References
    ----------
    Gneiting (2013), "Strictly and non-strictly positive definite functions on
    spheres", Bernoulli 19, Table 1.

    Examples
    --------
    >>> from krein import haversine_kernel
    >>> paris, berlin = [48.8566, 2.3522], [52.52, 13.405]
    >>> haversine_kernel([paris], [berlin], similarity="negative").round()
    array([[-877.]])
    """
    first, second = distances.check_both(X, Y, _check_place)
    return _MEAN_RADIUS_KM * haversine_distances(first, second)


def _sorted_sample(item: Any) -> np.ndarray:
    return np.sort(distances.check_numbers(item, "a sample of numbers (size,)", (1,)))


@distances.distance_kernel(
    "wasserstein_1d",
    input="distributions",
    definiteness="pd",
    parallel="processes",
    note="similarity='gaussian' is indefinite in general",
)
def wasserstein_1d_kernel(X, Y=None):
    """Kernel of the Wasserstein (earth mover's) distance of samples of one variable.

    It is the area between the distribution functions, for samples of one size the mean
    difference of sorted values; other pairs go to scipy.

    Parameters
    ----------
    X, Y : lists of arrays (size,), or arrays (n, size)
        Samples, sizes may differ; Y defaults to X.

    References
    ----------
    Vallender (1974), "Calculation of the Wasserstein distance between probability
    distributions on the line": it is the L1 distance of distribution functions.

    Examples
    --------
    >>> from krein import wasserstein_1d_kernel
    >>> wasserstein_1d_kernel([[0, 1, 3]], [[5, 6, 8], [2]], similarity="negative")
    array([[-5.        , -1.33333333]])
    """
    first, second = distances.check_both(X, Y, _sorted_sample)
    if len({sample.size for sample in (*first, *second)}) == 1:
        return cdist(np.stack(first), np.stack(second), "cityblock") / first[0].size
    return distances.each_pair(first, second, wasserstein_distance)


@distances.distance_kernel(
    "geodesic_rbf",
    form="gaussian",
    input="any",
    definiteness="depends",
    parallel="processes",
    note="positive definite for every gamma only if the metric space is flat",
)
def geodesic_rbf_kernel(X, Y=None, *, distance=None):
    """Gaussian of any distance given as a function: ``exp(-gamma d(x, y)^2)``.

    Parameters
    ----------
    X, Y : sequences of items
        Whatever `distance` takes; Y defaults to X.
    distance : callable
        ``distance(x, y) -> float``, symmetric.

    References
    ----------
    Feragen, Lauze, Hauberg (2015), "Geodesic exponential kernels: when curvature and
    linearity conflict", CVPR.

    Examples
    --------
    >>> from krein import geodesic_rbf_kernel
    >>> geodesic_rbf_kernel([0.0, 1.0], distance=lambda x, y: abs(x - y)).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """
    if not callable(distance):
        raise TypeError(f"distance must be a callable d(x, y), got {distance!r}")
    D = distances.each_pair(*distances.check_both(X, Y, lambda x: x), distance)
    for i, j in np.argwhere(~np.isfinite(D) | (D < 0)):
        raise ValueError(f"distance returned {D[i, j]!r} for the items {i} and {j}")
    return D
