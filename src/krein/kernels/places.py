"""Kernels on places of the earth."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import haversine_distances
from sklearn.utils.validation import check_array

from krein.kernels.distances import distance_facts, similarity_of
from krein.kernels.items import check_items, same_items
from krein.kernels.registry import register

__all__ = ["haversine_kernel"]

_MEAN_RADIUS_KM = 6371.0088


def _check_places(X: Any, name: str) -> np.ndarray:
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
    return X


def haversine_distance(X: Any, Y: Any = None) -> np.ndarray:
    """Great-circle distance in kilometres on a sphere of the earth's mean radius."""
    same = same_items(X, Y)
    X = np.radians(_check_places(X, "X"))
    Y = X if same else np.radians(_check_places(Y, "Y"))
    return _MEAN_RADIUS_KM * haversine_distances(X, Y)


@register(
    "haversine",
    input="places",
    definiteness="pd",
    reference="Gneiting (2013), Bernoulli 19: exp(-gamma d) on spheres",
    note="similarity='gaussian' is indefinite",
    **distance_facts(haversine_distance),
)
def haversine_kernel(X, Y=None, *, gamma=1.0, similarity="exponential"):
    """Kernel of the great-circle distance in kilometres.

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
    return similarity_of(haversine_distance, X, Y, gamma=gamma, similarity=similarity)
