"""What landmarks make of a similarity, and how far it is from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from krein.arrays import Array
from krein.similarity.low_rank import LowRank
from krein.similarity.matrix import Matrix
from krein.similarity.memory import require_memory
from krein.similarity.tiles import DenseTiles

_ERROR_ROWS = 256


@dataclass(frozen=True)
class Approximation:
    """What landmarks make of a similarity.

    Attributes
    ----------
    landmarks : ndarray of shape (m,)
        Sorted positions of the landmarks.
    low_rank : LowRank
        The approximation.
    error : float
        Estimated relative error in the Frobenius norm.
    """

    landmarks: np.ndarray
    low_rank: LowRank
    error: float


def dense_columns(source: Matrix, landmarks: np.ndarray) -> DenseTiles:
    """Similarities of all items to the landmarks, in memory."""
    n, m = source.n, landmarks.size
    require_memory(
        3 * 8 * n * m,
        f"a block of similarities of {n} items to {m} landmarks",
        "Use fewer landmarks, or krein.scale.fit, which keeps the block on disk.",
    )
    return DenseTiles(source.block(slice(0, n), landmarks))


def estimated_error(
    source: Matrix, low_rank: LowRank, rng: np.random.RandomState
) -> float:
    """Relative Frobenius error, estimated on the similarities of random items.

    A q x q block holds diagonal entries more often than the whole matrix does; both
    sums of squares are therefore scaled apart: n / q for the diagonal and
    n (n - 1) / (q (q - 1)) for the rest.
    """
    n = source.n
    q = min(n, _ERROR_ROWS)
    chosen = np.sort(rng.choice(n, size=q, replace=False))
    K = source.block(chosen, chosen)
    U = low_rank.columns.rows(chosen) @ low_rank.basis
    misses = K - (U * low_rank.eigenvalues) @ U.T
    off = n * (n - 1) / (q * (q - 1)) if q > 1 else 0.0

    def energy(A: Array) -> float:
        on_diagonal = float(np.square(np.diagonal(A)).sum())
        return n / q * on_diagonal + off * (float(np.square(A).sum()) - on_diagonal)

    total = energy(K)
    return float(np.sqrt(energy(misses) / total)) if total > 0 else 0.0
