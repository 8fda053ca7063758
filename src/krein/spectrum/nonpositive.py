"""The eigenpairs of a sparse symmetric matrix that are not positive, with a proof.

Clip and flip change a similarity only along the eigenvectors of its negative
eigenvalues, and leave those of eigenvalue zero out of the map of new rows. Where these
are few, the changed similarity is the sparse one plus a few eigenpairs: nothing dense
is needed to know it. What has to be shown is that no negative eigenvalue was missed.
Small connected components are decomposed whole. For a large one

    A + eps I = L D L' + E

is factorised without pivoting. By Sylvester's law of inertia and Weyl's inequality, A
has at most as many eigenvalues below -(eps + ||E||) as D has negative entries. When
that many were found below it, none is missing. ||E|| is bounded by the rounding of the
factorisation (Higham, 2002, Accuracy and Stability of Numerical Algorithms, theorem
9.3) plus the computed difference between U and D L'.

Where the factors would be too large, Lanczos' method finds the negative eigenpairs, and
runs once more on what is left, B = c I - (A - V L V') >= 0, from a random vector. After
k steps it has found at least (1 - e) of the largest eigenvalue of B, but with a
probability of at most 1.648 sqrt(n) exp(-(2k - 1) sqrt(e)) (Kuczynski, Wozniakowski,
1992, SIAM J. Matrix Anal. Appl. 13). That bounds what was missed, except with a
probability that is stated; rounding is not part of the statement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from scipy.sparse.csgraph import connected_components

from krein.arrays import Array, compressed_rows
from krein.memory import require_memory

_WHOLE = 400  # components of at most this size are decomposed whole
_LARGE = 10_000  # components up to this size are factorised
_DENSE = 4000  # components up to this size are decomposed whole if need be
_BATCH = 4_000_000  # entries of small components that are decomposed in one go
# Of Lanczos' method, where factors are large:
_CHANCE = 1e-9  # probability that a bound does not hold
_STEPS = 1000  # at most
_PROBES = 5  # random vectors
_NODES = 60  # of a quadrature
_ESTIMATED = 1.2  # an estimated number may be so much more than a counted one
_SHIFTS = (1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
_UNIT = float(np.finfo(np.float64).eps) / 2


@dataclass(frozen=True)
class NonPositivePart:
    """Eigenpairs that are not positive, and what is known of those left out.

    Attributes
    ----------
    eigenvalues : ndarray of shape (r,)
        Ascending, none positive; what is zero to rounding is 0.
    eigenvectors : csr_array of shape (n, r)
        Orthonormal columns; each is zero outside of a connected component.
    eps : float
        No eigenvalue below -eps is left out.
    chance : float
        Probability, over the random start of an iteration, that this is not so; 0 where
        it is proven.
    """

    eigenvalues: Array
    eigenvectors: Any
    eps: float
    chance: float = 0.0

    @property
    def proven(self) -> bool:
        """Whether eps is a bound for sure."""
        return self.chance == 0.0

    @cached_property
    def basis(self) -> Any:
        """The eigenvectors for products: as an array where few entries are zero."""
        n, r = self.eigenvectors.shape
        full = self.eigenvectors.nnz > 0.25 * n * r
        return self.eigenvectors.toarray() if full else self.eigenvectors


def nonpositive_part(A: Any, *, max_rank: int = 1000) -> NonPositivePart:
    """Find all eigenpairs of a sparse symmetric matrix that are not positive.

    Parameters
    ----------
    A : sparse array of shape (n, n)
        Symmetric.
    max_rank : int
        Largest number of such eigenvalues in a component that is too large to be
        decomposed whole; beyond it a ValueError says so before the long work.

    Returns
    -------
    NonPositivePart
    """
    A = scipy.sparse.csr_array(A)
    largest = float(abs(A).max()) if A.nnz else 0.0
    scale = 2.0 ** np.floor(np.log2(largest)) if largest > 0.0 else 1.0
    A = compressed_rows(A / scale)
    norm = float(abs(A).sum(axis=0).max()) if A.nnz else 0.0  # at least the 2-norm
    zero = A.shape[0] * 2 * _UNIT * norm
    count, member = connected_components(A, directed=False)
    order = np.argsort(member, kind="stable")
    sizes = np.bincount(member, minlength=count)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    found: list[_Pairs] = []
    small = np.flatnonzero(sizes <= _WHOLE)
    for size in np.unique(sizes[small]):
        chosen = starts[small[sizes[small] == size]]
        for part in np.array_split(chosen, 1 + chosen.size * size**2 // _BATCH):
            found.append(_whole(A, order[part[:, None] + np.arange(size)], zero))
    for component in np.flatnonzero(sizes > _WHOLE):
        items = order[starts[component] : starts[component + 1]]
        part = compressed_rows(A[items][:, items])
        found.append(_large(part, items, norm, zero, max_rank))
    return _assembled(found, A.shape[0], float(scale))


@dataclass(frozen=True)
class _Pairs:
    """Eigenpairs of some components: entries of vector k stand at `items[k]`."""

    values: Array  # (r,)
    vectors: Array  # (r, size)
    items: np.ndarray  # (r, size)
    eps: float
    chance: float = 0.0


def _assembled(found: list[_Pairs], n: int, scale: float) -> NonPositivePart:
    values = np.concatenate([pairs.values for pairs in found])
    columns = np.repeat(
        np.arange(values.size),
        np.concatenate([np.full(p.values.size, p.items.shape[1]) for p in found]),
    )
    rows = np.concatenate([pairs.items.ravel() for pairs in found])
    entries = np.concatenate([pairs.vectors.ravel() for pairs in found])
    order = np.argsort(values, kind="stable")
    vectors = scipy.sparse.coo_array(
        (entries, (rows, columns)), shape=(n, values.size)
    ).tocsc()[:, order]
    eps = max(pairs.eps for pairs in found) * scale
    chance = sum(pairs.chance for pairs in found)
    return NonPositivePart(values[order] * scale, compressed_rows(vectors), eps, chance)


def _whole(A: Any, items: np.ndarray, zero: float) -> _Pairs:
    """Return the eigenpairs of components of one size, the rows of `items`."""
    count, size = items.shape
    flat = items.ravel()
    inside = A[flat][:, flat].tocoo()
    blocks = np.zeros((count, size, size))
    blocks[inside.row // size, inside.row % size, inside.col % size] = inside.data
    values, vectors = np.linalg.eigh(blocks)
    block, k = np.nonzero(values <= zero)
    chosen = _rounded(values[block, k], zero)
    return _Pairs(chosen, vectors[block, :, k], items[block], zero)


def _rounded(values: Array, zero: float) -> Array:
    """Eigenvalues with 0 for those that are zero to rounding."""
    return np.where(values < -zero, values, 0.0)


def _large(
    A: Any, items: np.ndarray, norm: float, zero: float, max_rank: int
) -> _Pairs:
    """Return the eigenpairs of one large component, with a proof where there can be."""
    n = A.shape[0]
    if n > _DENSE:  # the factors of what is refused may be nearly full
        most = round(_ESTIMATED * max_rank)
        _refuse_many(_about_so_many(A, norm), n, most, "about ")
    for relative in _SHIFTS if n <= _LARGE else ():
        shift = max(relative * norm, zero)
        below = _inertia(A, shift)
        above = _inertia(A, -shift)
        if below is None or above is None or max(below[1], above[1]) > shift:
            continue
        negative, error = below
        count, _ = above
        if count > n // 5 and n <= _DENSE:
            break
        _refuse_many(count, n, max_rank)
        values, vectors, residual = _smallest(A, count, factorise=True)
        surely = values[:negative] + residual[:negative] < -(shift + error)
        if surely.all():
            return _chosen(values, vectors, items, zero, shift + error)
    if n > _DENSE:
        return _unproven(A, items, norm, zero, max_rank)
    require_memory(4 * 8 * n**2, f"{n} connected items", "Use landmarks.")
    whole = _whole(A, np.arange(n)[None, :], zero)
    return replace(whole, items=_repeated(items, whole.values.size))


def _chosen(
    values: Array, vectors: Array, items: np.ndarray, zero: float, eps: float
) -> _Pairs:
    """Those of the smallest eigenpairs that are not positive."""
    kept = values <= zero
    values = _rounded(values[kept], zero)
    return _Pairs(values, vectors[:, kept].T, _repeated(items, values.size), eps)


def _refuse_many(count: int, n: int, max_rank: int, about: str = "") -> None:
    if count > max_rank:
        raise ValueError(
            f"{about}{count} eigenvalues of {n} connected items are not positive: the "
            "negative part is not of low rank, and clip or flip would be dense. Take "
            "the rows as features (HitClassifier, or method='square'), or "
            "landmarks (approximation=KreinNystroem(...))"
        )


def _repeated(items: np.ndarray, count: int) -> np.ndarray:
    return np.broadcast_to(items, (count, items.size))


def _factor(A: Any, shift: float) -> Any:
    """L U of A + shift I without pivoting, or None where a pivot is zero."""
    shifted = scipy.sparse.csc_array(A + shift * scipy.sparse.eye_array(A.shape[0]))
    try:
        factor = scipy.sparse.linalg.splu(
            shifted,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # exactly singular
        return None
    return factor if np.array_equal(factor.perm_r, factor.perm_c) else None


def _inertia(A: Any, shift: float) -> tuple[int, float] | None:
    """Number of negative entries of D, and a bound on the norm of E."""
    factor = _factor(A, shift)
    if factor is None:
        return None
    L = factor.L
    U = factor.U
    D = U.diagonal()
    if not (np.isfinite(D).all() and D.all()):
        return None
    size_L = abs(L)
    size_U = abs(U)
    longest = int(np.bincount(L.indices, minlength=L.shape[0]).max())
    ones = np.ones(A.shape[0])
    rounding = longest * _UNIT / (1 - longest * _UNIT)
    difference = abs(U - scipy.sparse.diags_array(D) @ L.T)
    # ||M||_1 of a matrix without negative entries is the largest entry of 1'M.
    backward = rounding * float((size_U.T @ (size_L.T @ ones)).max())
    uneven = float((difference.T @ (size_L.T @ ones)).max())
    return int(np.sum(D < 0)), 2.0 * (backward + uneven)


def _smallest(A: Any, count: int, factorise: bool) -> tuple[Array, Array, Array]:
    """The `count` smallest eigenpairs, with the norms of their residuals."""
    n = A.shape[0]
    if count == 0:
        return np.empty(0), np.empty((n, 0)), np.empty(0)
    start = np.random.default_rng(0).standard_normal(n)
    options: dict[str, Any] = {"k": count, "v0": start}
    lowest = scipy.sparse.linalg.eigsh(
        A, 1, which="SA", v0=start, tol=1e-2, return_eigenvectors=False
    )[0]
    sigma = min(1.2 * lowest, -1e-8)
    factor = _factor(A, -sigma) if factorise else None
    if factor is None:
        values, vectors = scipy.sparse.linalg.eigsh(A, which="SA", **options)
    else:
        inverse = scipy.sparse.linalg.LinearOperator(
            (n, n), matvec=factor.solve, dtype=np.float64
        )
        values, vectors = scipy.sparse.linalg.eigsh(
            A, sigma=sigma, OPinv=inverse, **options
        )
    order = np.argsort(values)
    values = values[order]
    vectors = vectors[:, order]
    residual = np.linalg.norm(A @ vectors - vectors * values, axis=0)
    return values, vectors, residual


def _unproven(
    A: Any, items: np.ndarray, norm: float, zero: float, max_rank: int
) -> _Pairs:
    """Ask for more and more of the smallest eigenpairs until one is positive."""
    n = A.shape[0]
    count = 8
    while True:
        values, vectors, residual = _smallest(A, min(count, n - 1), factorise=False)
        if values[-1] - residual[-1] > zero or count >= n - 1:
            break
        _refuse_many(count, n, max_rank)
        count *= 2
    eps = max(float(residual.max()), _SHIFTS[0] * norm)
    found = _chosen(values, vectors, items, zero, eps)
    eps = max(eps, _probable_bound(A, found.values, found.vectors.T, norm))
    return replace(found, eps=eps, chance=_CHANCE)


def _probable_bound(A: Any, values: Array, vectors: Array, norm: float) -> float:
    """How far below zero A - V diag(values) V' can be, but for a chance of _CHANCE."""
    n = A.shape[0]

    def rest(v: Array) -> Array:
        return norm * v - A @ v + vectors @ (values * (vectors.T @ v))

    start = np.random.default_rng(1).standard_normal(n)
    diagonal, beside = _lanczos(rest, start, min(_STEPS, n))
    largest = scipy.linalg.eigh_tridiagonal(
        diagonal, beside, eigvals_only=True, select="i",
        select_range=(diagonal.size - 1,) * 2,
    )[0]  # fmt: skip
    root = np.log(1.648 * np.sqrt(n) / _CHANCE) / (2 * diagonal.size - 1)
    share = min(0.5, root**2)
    return max(0.0, float(largest) / (1.0 - share) - norm)


def _about_so_many(A: Any, norm: float) -> int:
    """Number of eigenvalues that are clearly negative, by stochastic quadrature."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (A.shape[0], _PROBES))
    nodes, weights = quadrature(lambda v: A @ v, signs)
    return int(weights[nodes < -1e-3 * norm].sum())


def quadrature(product: Any, starts: Array) -> tuple[Array, Array]:
    """Nodes and weights that stand for a spectrum; random signs start from all of it.

    Ubaru, Chen, Saad (2017), SIAM J. Matrix Anal. Appl. 38: with random sign vectors
    z, the mean of |z|^2 e1' f(T) e1 over their Lanczos matrices T estimates tr f(A).
    """
    n, probes = starts.shape
    nodes = []
    weights = []
    for start in starts.T:
        matrix = _lanczos(product, start, min(_NODES, n))
        theta, vectors = scipy.linalg.eigh_tridiagonal(*matrix)
        nodes.append(theta)
        weights.append(vectors[0] ** 2 * (start @ start) / probes)
    return np.concatenate(nodes), np.concatenate(weights)


def _lanczos(product: Any, start: Array, steps: int) -> tuple[Array, Array]:
    """Diagonal of Lanczos' matrix of a start, and what stands beside it."""
    v = start / np.linalg.norm(start)
    before = np.zeros_like(start)
    diagonal = []
    beside = [0.0]
    for _ in range(steps):
        w = product(v) - beside[-1] * before
        diagonal.append(float(w @ v))
        w -= diagonal[-1] * v
        beside.append(float(np.linalg.norm(w)))
        if beside[-1] <= 1e-13 * abs(diagonal[0]):
            break
        v, before = w / beside[-1], v
    return np.array(diagonal), np.array(beside[1 : len(diagonal)])
