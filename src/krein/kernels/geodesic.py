"""The Gaussian of any distance that is given as a function."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from krein.kernels.distances import median_distance, similarity_of, some_items
from krein.kernels.items import check_items, fill_pairs, same_items
from krein.kernels.registry import register

__all__ = ["geodesic_rbf_kernel"]


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


@register(
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
    pairwise = partial(_pointwise_distances, distance=distance)
    return similarity_of(pairwise, X, Y, gamma=gamma, similarity="gaussian")
