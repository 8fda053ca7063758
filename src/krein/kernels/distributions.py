"""Kernels on distributions of one variable, given by samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance

from krein.kernels.distances import distance_facts, similarity_of
from krein.kernels.items import check_items, fill_pairs, same_items
from krein.kernels.registry import register

__all__ = ["wasserstein_1d_kernel"]


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
    same = same_items(X, Y)
    first = _check_samples(X, "X")
    second = first if same else _check_samples(Y, "Y")
    if len({sample.size for sample in (*first, *second)}) == 1:
        return cdist(np.stack(first), np.stack(second), "cityblock") / first[0].size

    def row(i: int, start: int) -> list[float]:
        return [_one_distance(first[i], y) for y in second[start:]]

    return fill_pairs(len(first), len(second), row, symmetric=same)


def _one_distance(x: np.ndarray, y: np.ndarray) -> float:
    if x.size == y.size:
        return float(np.abs(x - y).mean())
    return float(wasserstein_distance(x, y))


@register(
    "wasserstein_1d",
    input="distributions",
    definiteness="pd",
    parallel="processes",
    reference="Vallender (1974): the L1 distance of distribution functions",
    note="similarity='gaussian' is indefinite in general",
    **distance_facts(wasserstein_1d_distance),
)
def wasserstein_1d_kernel(X, Y=None, *, gamma=1.0, similarity="exponential"):
    """Kernel of the Wasserstein distance of order 1 between samples of one variable.

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
    return similarity_of(
        wasserstein_1d_distance, X, Y, gamma=gamma, similarity=similarity
    )
