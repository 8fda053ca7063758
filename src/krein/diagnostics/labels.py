"""Whether similarities and labels have to do with each other at all."""

from __future__ import annotations

import numpy as np

from krein.arrays import Array

__all__ = ["centred_indicators", "label_p_value"]

_ITEMS = 1000  # a random subset beyond that: a relation shows in fewer
_PERMUTATIONS = 99


def centred_indicators(y: np.ndarray) -> Array:
    """Class indicators (n, n_classes) with column means taken out."""
    codes = np.unique(y, return_inverse=True)[1]
    Z = np.eye(codes.max() + 1)[codes]
    return Z - Z.mean(axis=0)


def label_p_value(K: Array, y: np.ndarray, seed: int = 0) -> float:
    """Smaller of two permutation p-values of a relation between K and y.

    One statistic is the energy ``|J K J Z|^2`` of the centred class indicators Z, to
    which positive and negative eigenvalues contribute alike; the other the share of
    items whose most similar other item has the same label.
    """
    rng = np.random.default_rng(seed)
    if K.shape[0] > _ITEMS:
        items = rng.choice(K.shape[0], _ITEMS, replace=False)
        K, y = K[np.ix_(items, items)], y[items]
    codes = np.unique(y, return_inverse=True)[1]
    Z = centred_indicators(codes)
    means = K.mean(axis=0)
    scale = float(np.abs(K).max()) or 1.0
    centred = (K - means - means[:, None] + means.mean()) / scale
    others = np.where(np.eye(K.shape[0], dtype=bool), -np.inf, K)
    nearest = np.argmax(others, axis=1)

    def statistics(order: np.ndarray) -> tuple[float, float]:
        energy = float(np.sum((centred @ Z[order]) ** 2))
        return energy, float(np.mean(codes[order] == codes[order][nearest]))

    observed = np.array(statistics(np.arange(codes.size)))
    permuted = [statistics(rng.permutation(codes.size)) for _ in range(_PERMUTATIONS)]
    at_least = np.sum(np.array(permuted) >= observed * (1 - 1e-12), axis=0)
    return float((1 + at_least.min()) / (1 + _PERMUTATIONS))
