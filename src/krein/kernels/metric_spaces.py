"""Kernels on places, on distributions, and on items with a distance of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance
from sklearn.metrics.pairwise import haversine_distances
from sklearn.utils.validation import check_array

from krein.kernels.distances import (
    check_both,
    check_items,
    distance_facts,
    fill_pairs,
    median_distance,
    same_items,
    similarity_of,
    some_items,
)
from krein.kernels.registry import register_kernel

_MEAN_RADIUS_KM = 6371.0088


def _check_places(X: Any, name: str) -> np.ndarray:
    """Return latitudes and longitudes in radians, or name the place at fault."""
    check_items(X, name)
    X = check_array(X, dtype=np.float64, input_name=name)
    if X.shape[1] != 2:
        raise ValueError(
            f"{name} must have two columns, latitude and longitude in degrees, got "
            f"{X.shape[1]}"
        )
    for column, word, limit in ((0, "latitude", 90), (1, "longitude", 360)):
        bad = np.abs(X[:, column]) > limit
        if bad.any():
            first = int(np.argmax(bad))
            raise ValueError(
                f"{name}[{first}] has {word} {X[first, column]:g}; expected degrees, "
                f"latitude first, at most {limit}"
            )
    return np.radians(X)


def haversine_distance(X: Any, Y: Any = None) -> np.ndarray:
    """Great-circle distance in kilometres on a sphere of the earth's mean radius."""
    first, second, _ = check_both(X, Y, _check_places)
    return _MEAN_RADIUS_KM * haversine_distances(first, second)


@register_kernel(
    "haversine",
    input="places",
    definiteness="pd",
    reference="Gneiting (2013), Bernoulli 19: exp(-gamma d) on spheres",
    note="similarity='gaussian' is indefinite",
    **distance_facts(haversine_distance),
)
def haversine_kernel(X, Y=None, *, gamma=1.0, similarity="exponential"):
    """Kernel of the great-circle (haversine) distance in kilometres.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, 2), (n_Y, 2)
        Latitude and longitude in degrees; Y defaults to X.
    gamma : float or "median"
        Factor of the distance, in 1 / km; the word is settled by `Kernel.fit`.
    similarity : str
        ``"exponential"`` exp(-gamma d), ``"gaussian"`` exp(-gamma d^2),
        ``"inverse"`` 1 / (1 + gamma d), ``"negative"`` -gamma d; by `Kernel.fit` also
        ``"max"`` and ``"centred"``.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Gneiting (2013), "Strictly and non-strictly positive definite functions on
    spheres", Table 1.

    Examples
    --------
    >>> from krein import haversine_kernel
    >>> paris, berlin = [48.8566, 2.3522], [52.52, 13.405]
    >>> haversine_kernel([paris], [berlin], similarity="negative").round()
    array([[-877.]])
    """
    return similarity_of(haversine_distance, X, Y, gamma, similarity)


def _check_samples(X: Any, name: str) -> list[np.ndarray]:
    """Return sorted samples, or name the one at fault."""
    check_items(X, name)
    samples = []
    for i, item in enumerate(X):
        values = np.asarray(item, dtype=np.float64)
        if values.ndim != 1 or values.size == 0:
            raise ValueError(
                f"{name}[{i}] has shape {values.shape}; expected a sample (size,) with "
                "at least one value"
            )
        if not np.isfinite(values).all():
            raise ValueError(f"{name}[{i}] contains NaN or infinity")
        samples.append(np.sort(values))
    return samples


def wasserstein_1d_distance(X: Any, Y: Any = None) -> np.ndarray:
    """Area between the distribution functions of two samples.

    For samples of one size it is the mean difference of sorted values; other pairs
    go to scipy.
    """
    first, second, same = check_both(X, Y, _check_samples)
    if len({sample.size for sample in (*first, *second)}) == 1:
        return cdist(np.stack(first), np.stack(second), "cityblock") / first[0].size

    def row(i: int, start: int) -> list[float]:
        return [_one_distance(first[i], y) for y in second[start:]]

    return fill_pairs(len(first), len(second), row, symmetric=same)


def _one_distance(x: np.ndarray, y: np.ndarray) -> float:
    if x.size == y.size:
        return float(np.abs(x - y).mean())
    return float(wasserstein_distance(x, y))


@register_kernel(
    "wasserstein_1d",
    input="distributions",
    definiteness="pd",
    parallel="processes",
    reference="Vallender (1974): the L1 distance of distribution functions",
    note="similarity='gaussian' is indefinite in general",
    **distance_facts(wasserstein_1d_distance),
)
def wasserstein_1d_kernel(X, Y=None, *, gamma=1.0, similarity="exponential"):
    """Kernel of the Wasserstein (earth mover's) distance of samples of one variable.

    Parameters
    ----------
    X, Y : lists of arrays (size,), or arrays (n, size)
        Samples, sizes may differ; Y defaults to X.
    gamma : float or "median"
        Factor of the distance; the word is settled by `Kernel.fit`.
    similarity : str
        ``"exponential"`` exp(-gamma d), ``"gaussian"`` exp(-gamma d^2),
        ``"inverse"`` 1 / (1 + gamma d), ``"negative"`` -gamma d; by `Kernel.fit` also
        ``"max"`` and ``"centred"``.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Vallender (1974), "Calculation of the Wasserstein distance between probability
    distributions on the line".

    Examples
    --------
    >>> from krein import wasserstein_1d_kernel
    >>> wasserstein_1d_kernel([[0, 1, 3]], [[5, 6, 8], [2]], similarity="negative")
    array([[-5.        , -1.33333333]])
    """
    return similarity_of(wasserstein_1d_distance, X, Y, gamma, similarity)


def _pointwise_distances(X: Any, Y: Any = None, *, distance: Any) -> np.ndarray:
    """Matrix of a callable distance, one pair at a time."""
    if not callable(distance):
        raise TypeError(
            "distance must be a callable d(x, y) -> float, got "
            f"{type(distance).__name__}"
        )
    same = same_items(X, Y)
    Y = X if same else Y

    def row(i: int, start: int) -> list[float]:
        return [distance(X[i], Y[j]) for j in range(start, check_items(Y))]

    D = fill_pairs(check_items(X), check_items(Y), row, symmetric=same)
    if not np.isfinite(D).all() or D.min() < 0:
        i, j = np.argwhere(~np.isfinite(D) | (D < 0))[0]
        raise ValueError(f"distance returned {D[i, j]!r} for the items {i} and {j}")
    return D


def _geodesic_median(X: Any, params: Mapping[str, Any]) -> float:
    distances = _pointwise_distances(some_items(X), distance=params.get("distance"))
    return 0.5 / median_distance(distances) ** 2


@register_kernel(
    "geodesic_rbf",
    input="any",
    definiteness="depends",
    parallel="processes",
    resolve={"gamma": {"median": _geodesic_median}},
    by_name={"gamma": "median"},
    note="positive definite for every gamma only if the metric space is flat",
    reference="Feragen, Lauze, Hauberg (2015), CVPR",
)
def geodesic_rbf_kernel(X, Y=None, *, distance=None, gamma=1.0):
    """Gaussian of any distance given as a function: ``exp(-gamma d(x, y)^2)``.

    Parameters
    ----------
    X, Y : sequences of items
        Whatever `distance` takes; Y defaults to X.
    distance : callable
        ``distance(x, y) -> float``, symmetric.
    gamma : float or "median"
        Positive factor of the squared distance; the word is settled by `Kernel.fit`.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Feragen, Lauze, Hauberg (2015), "Geodesic exponential kernels: when curvature and
    linearity conflict".

    Examples
    --------
    >>> from krein import geodesic_rbf_kernel
    >>> geodesic_rbf_kernel([0.0, 1.0], distance=lambda x, y: abs(x - y)).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """
    return similarity_of(
        _pointwise_distances, X, Y, gamma, "gaussian", distance=distance
    )
