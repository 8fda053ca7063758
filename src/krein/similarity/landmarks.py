"""Which m of n items serve as landmarks, and how far what they make of K is from K.

Every rule returns sorted positions. The rules that look at similarities look at those
of a random pool of items only, so that their cost does not grow with n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.metrics import pairwise_distances_argmin

from krein.arrays import Array
from krein.memory import require_memory
from krein.similarity.low_rank import LowRank
from krein.similarity.matrix import Matrix
from krein.similarity.tiles import DenseTiles, TiledMatrix

_POOL = 5  # pool items per landmark
_BATCH = 4096
_ERROR_ROWS = 256


def choose_landmarks(
    rule: Any, source: Matrix, m: int, rng: np.random.RandomState
) -> np.ndarray:
    """Sorted positions of the landmarks.

    Parameters
    ----------
    rule : str or array-like of int
        A key of `LANDMARKS`, or the positions themselves.
    source : Matrix
        The items.
    m : int
        Number of landmarks; not used when `rule` holds positions.
    rng : RandomState
        Source of chance.

    Returns
    -------
    ndarray of int of shape (m,)
    """
    if not isinstance(rule, str):
        return _given(rule, source.n)
    if m == source.n:
        return np.arange(m)
    return np.sort(LANDMARKS[rule](source, m, rng))


def _given(indices: Any, n: int) -> np.ndarray:
    chosen = np.asarray(indices)
    unique = np.unique(chosen)
    whole = chosen.dtype.kind in "iu" and chosen.shape == unique.shape
    if not whole or not unique.size or unique[0] < 0 or unique[-1] >= n:
        raise ValueError(
            f"landmarks must be one of {', '.join(map(repr, LANDMARKS))} or different "
            f"row numbers from 0 to {n - 1}, got an array of shape {chosen.shape} and "
            f"dtype {chosen.dtype} with {unique.size} different entries"
        )
    return unique


def _random(source: Matrix, m: int, rng: np.random.RandomState) -> np.ndarray:
    return rng.choice(source.n, size=m, replace=False)


def _pool(
    source: Matrix, m: int, rng: np.random.RandomState
) -> tuple[np.ndarray, Array]:
    size = min(source.n, _POOL * m)
    pool = np.sort(rng.choice(source.n, size=size, replace=False))
    K = source.block(pool, pool)
    return pool, 0.5 * (K + K.T)


def _leverage(source: Matrix, m: int, rng: np.random.RandomState) -> np.ndarray:
    """Sample by ridge leverage scores of the pool.

    score_i = sum_j u_ij^2 l_j^2 / (l_j^2 + ridge), with the ridge of Cohen, Musco and
    Musco (2017): the energy beyond rank k = m / 2, divided by k. The scores see |l|, as
    Oglic and Gaertner (2019) do for Krein spaces.
    """
    pool, K = _pool(source, m, rng)
    values, U = scipy.linalg.eigh(K)
    energy = np.sort(values**2)[::-1]
    k = max(1, m // 2)
    ridge = max(float(energy[k:].sum()) / k, np.finfo(float).tiny)
    scores = (U**2) @ (values**2 / (values**2 + ridge))
    scores += 1e-12 * scores.max() + np.finfo(float).tiny
    return rng.choice(pool, size=m, replace=False, p=scores / scores.sum())


def _kmeans(source: Matrix, m: int, rng: np.random.RandomState) -> np.ndarray:
    """Items nearest to the centres of k-means; objects: k-means++ seeds of the pool."""
    X = source.vectors
    if X is None:
        return _seeds(source, m, rng)
    from sklearn.cluster import MiniBatchKMeans  # on use: it takes 80 ms

    means = MiniBatchKMeans(m, random_state=rng, n_init=1, batch_size=_BATCH)
    centres = means.fit(X).cluster_centers_
    chosen = np.unique(pairwise_distances_argmin(centres, X))
    if chosen.size < m:  # equal items: fill up at random
        rest = np.setdiff1d(np.arange(source.n), chosen)
        more = rng.choice(rest, size=m - chosen.size, replace=False)
        chosen = np.concatenate([chosen, more])
    return chosen


def _seeds(source: Matrix, m: int, rng: np.random.RandomState) -> np.ndarray:
    """Kernel k-means++ (Oglic, Gaertner, 2019): sample by squared distance.

    The squared distance k(x, x) + k(s, s) - 2 k(x, s) can be negative when k is
    indefinite; its magnitude is used.
    """
    pool, K = _pool(source, m, rng)
    diagonal = np.diagonal(K)
    chosen = [int(rng.randint(pool.size))]
    nearest = np.full(pool.size, np.inf)
    for _ in range(m - 1):
        last = chosen[-1]
        distance = np.abs(diagonal + diagonal[last] - 2.0 * K[:, last])
        nearest = np.minimum(nearest, distance)
        nearest[chosen] = 0.0
        total = float(nearest.sum())
        if total > 0.0:
            chosen.append(int(rng.choice(pool.size, p=nearest / total)))
        else:
            left = np.setdiff1d(np.arange(pool.size), chosen)
            chosen.append(int(rng.choice(left)))
    return pool[chosen]


LANDMARKS: dict[str, Callable[..., np.ndarray]] = {
    "random": _random,
    "leverage": _leverage,
    "kmeans": _kmeans,
}


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
    n = source.n
    m = landmarks.size
    require_memory(
        3 * 8 * n * m,
        f"a block of similarities of {n} items to {m} landmarks",
        "Use fewer landmarks, or krein.scale.fit, which keeps the block on disk.",
    )
    return DenseTiles(source.block(slice(0, n), landmarks))


Columns = Callable[[Any, np.ndarray], TiledMatrix]
_COLUMNS: ContextVar[Columns] = ContextVar("columns", default=dense_columns)


def landmark_block(source: Matrix, landmarks: np.ndarray) -> TiledMatrix:
    """Similarities of all items to the landmarks, made as `blocks_made_by` says."""
    return _COLUMNS.get()(source, landmarks)


@contextmanager
def blocks_made_by(columns: Columns) -> Iterator[None]:
    """Make blocks of landmarks by a function of one's own: on disk, on workers."""
    token = _COLUMNS.set(columns)
    try:
        yield
    finally:
        _COLUMNS.reset(token)


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
