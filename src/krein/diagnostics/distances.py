"""What only distances have: the triangle inequality and forms of similarity."""

from __future__ import annotations

import numpy as np

from krein.arrays import Array
from krein.diagnostics.spectrum_facts import negative_mass
from krein.kernels.distances import median_distance

__all__ = ["similarity_forms", "triangle_violations"]

_MAX_ITEMS = 400  # triples of a random subset beyond that: 64 million checks


def triangle_violations(D: Array, seed: int = 0) -> float:
    """Share of triples with D_ij > D_ik + D_kj, over all or a subset of items."""
    n = D.shape[0]
    if n > _MAX_ITEMS:
        items = np.random.default_rng(seed).choice(n, _MAX_ITEMS, replace=False)
        D = D[np.ix_(items, items)]
        n = _MAX_ITEMS
    if n < 3:
        return 0.0
    slack = 1e-10 * float(D.max())
    count = sum(int(np.sum(D > D[:, [k]] + D[[k], :] + slack)) for k in range(n))
    return count / (n * (n - 1) * (n - 2))


def similarity_forms(D: Array) -> dict[str, float]:
    """Negative mass of the usual similarities made from a distance."""
    s = D / median_distance(D)
    forms = {
        "exp(-d/med)": np.exp(-s),
        "exp(-d^2/2med^2)": np.exp(-0.5 * s**2),
        "1/(1+d/med)": 1.0 / (1.0 + s),
        "-d, centred": centre(-s),
        "-d^2/2, centred": centre(-0.5 * s**2),
    }
    return {name: rounded_mass(S) for name, S in forms.items()}


def rounded_mass(S: Array) -> float:
    """Negative mass with eigenvalues within rounding of zero left out."""
    values = np.linalg.eigvalsh(S)
    tolerance = S.shape[0] * np.finfo(float).eps * float(np.abs(values).max(initial=0))
    return negative_mass(np.where(np.abs(values) <= tolerance, 0.0, values))


def centre(K: Array) -> Array:
    """Double centring J K J, J = I - 11'/n."""
    means = K.mean(axis=0)
    return K - means - means[:, None] + means.mean()
