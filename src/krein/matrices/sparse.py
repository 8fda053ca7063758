"""A sparse similarity: most pairs are absent, and stay so.

A spectrum method that makes ``f(l) = a l + b l^2`` of every positive eigenvalue, as
clip, flip, square and none do, leaves it sparse but for the negative eigenpairs: with
the conventions of `krein.transform`,

    K~ = a K0 + b K0 W K0 + W^-1/2 N diag(f(l) - a l - b l^2) N' W^-1/2,
    P  = a I + b W K0 + W^1/2 N diag(g(l) - a - b l) N' W^-1/2,

with N and l the negative eigenpairs only. Nothing dense is formed but on request, and
then only where it fits into memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from krein.arrays import Array, compressed_rows
from krein.matrices.matrix import Matrix, TrainedKernel
from krein.matrices.memory import require_memory
from krein.matrices.negative_part import NegativePart, negative_part
from krein.matrices.similarities import Similarities
from krein.methods import Method, as_method
from krein.notices import warn_user
from krein.spectrum import rescale
from krein.store.fingerprint import fingerprint
from krein.store.sharing import once

__all__ = ["LARGEST_DENSE", "SparseSimilarity", "SparseTransform", "as_matrix"]

_ROWS = 512
# Up to this many items the kernel is formed and solved to rounding, so that results do
# not depend on whether the similarity was given as a sparse array.
_DENSE_ITEMS = 2000
LARGEST_DENSE = 10_000  # items; more are never made dense


@dataclass(frozen=True)
class SparseSimilarity(Matrix):
    """A sparse symmetric matrix standing where a similarity matrix stands.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        Symmetric; absent entries are 0.
    """

    matrix: Any

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self.matrix.shape

    def __matmul__(self, v: Array) -> Array:
        """K v for a vector or a block of columns."""
        return self.matrix @ v

    def block(self, rows: Any, columns: Any) -> Array:
        """Similarities of the items `rows` to the items `columns`, dense."""
        return self.matrix[rows][:, columns].toarray()

    def seen(self, rows: np.ndarray, by: np.ndarray) -> Any:
        """Similarities of the items `rows` to the items `by`, sparse."""
        return self.matrix[rows][:, by]

    def subset(self, rows: np.ndarray) -> SparseSimilarity:
        """Return the similarities of the items at `rows`."""
        return SparseSimilarity(compressed_rows(self.matrix[rows][:, rows]))

    def dense(self, why: str = "a dense copy of a sparse similarity") -> Array:
        """Return the dense matrix, refused before it is made if it is too large."""
        instead = (
            "Take the rows as features (HitClassifier), landmarks "
            "(approximation=KreinNystroem(...)) or fewer items."
        )
        if self.n > LARGEST_DENSE:
            raise ValueError(
                f"{why} of {self.n} items: above {LARGEST_DENSE} a sparse similarity "
                f"is not made dense. {instead} Or pass K.toarray(), if it fits"
            )
        require_memory(2 * 8 * self.n**2, f"{why} of {self.n} items", instead)
        return self.matrix.toarray()

    def negative_part(self, weight: Array | None = None) -> NegativePart:
        """Negative eigenpairs of W^1/2 K W^1/2."""
        if weight is None:
            return once(
                lambda: ("negative part", fingerprint(self.matrix)),
                lambda: negative_part(self.matrix),
            )
        root = scipy.sparse.diags_array(np.sqrt(weight))
        return negative_part(root @ self.matrix @ root)

    def lowest_eigenvalue(
        self, weight: Array | None = None, atol: float = 0.0
    ) -> float:
        """Smallest eigenvalue of ``W^1/2 K W^1/2``; 0 if none is negative."""
        return float(self.negative_part(weight).eigenvalues.min(initial=0.0))

    def transformed(
        self, method: Any, t: float = 1.0, weight: Array | None = None
    ) -> TrainedKernel:
        """Return what a spectrum method makes of it; see `Matrix.transformed`."""
        record = as_method(method)
        if record.on_positive is None and record.needs == "spectrum":
            return super().transformed(record, t, weight)
        found = SparseTransform.fit(self, record, t=t, weight=weight)
        if self.n <= _DENSE_ITEMS or not found.psd:
            K = found.kernel()
            return TrainedKernel(found.psd, found.coef, K, slack=found.slack)
        return TrainedKernel(
            True, found.coef, product=found, norm=found.norm(), slack=found.slack
        )


def _known_part(K: SparseSimilarity, weight: Array | None) -> NegativePart:
    """Return the negative part; what is not proven is said."""
    part = K.negative_part(weight)
    if not part.proven:
        warn_user(
            f"no factorisation proves the negative part of {K.n} items: that it has no "
            f"eigenvalue below {-part.eps:.2g} but the {part.eigenvalues.size} found "
            f"holds with a probability of 1 - {part.chance:g}, and so do the gaps"
        )
    return part


def as_matrix(K: Any) -> Matrix:
    """Return a checked similarity, sparse or not, in the form a fit works on."""
    return SparseSimilarity(K) if scipy.sparse.issparse(K) else Similarities(K)


@dataclass(frozen=True)
class SparseTransform:
    """A method fitted on a sparse similarity; the same map for training and new rows.

    Attributes
    ----------
    source : SparseSimilarity
        K0.
    slopes : pair of float
        a and b.
    part : NegativePart or None
        Negative eigenpairs; None where the method does not need them.
    target, gain : ndarray of shape (r,)
        What is added to the kernel, and to the map, along each of them.
    eta : float
        What is added to the diagonal.
    weight : ndarray of shape (n,) or None
        Sample weights.
    psd : bool
        No eigenvalue of the training kernel is below -slack.
    slack : float
        How far below zero an eigenvalue of the training kernel can be.
    """

    source: SparseSimilarity
    slopes: tuple[float, float]
    part: NegativePart | None
    target: Array
    gain: Array
    eta: float = 0.0
    weight: Array | None = None
    psd: bool = False
    slack: float = 0.0

    @classmethod
    def fit(
        cls, K: SparseSimilarity, record: Method, *, t: float, weight: Array | None
    ) -> SparseTransform:
        """Fit a method that has a sparse form."""
        a, b = record.on_positive or (1.0, 0.0)
        none = np.empty(0)
        if record.needs == "smallest":
            part = _known_part(K, weight)
            eta = part.eps - float(part.eigenvalues.min(initial=0.0))
            return cls(K, (a, b), None, none, none, eta, weight, True)
        trial = np.array([-2.0, -1.0])
        target, gain = record.apply(trial, 0.0, t)
        if np.array_equal(target, a * trial + b * trial**2):
            psd = bool(record.psd)
            return cls(K, (a, b), None, none, none, weight=weight, psd=psd)
        part = _known_part(K, weight)
        values = part.eigenvalues
        target, gain = record.apply(values, part.eps, t)
        least = 1.0 if weight is None else float(weight.min())
        return cls(
            K, (a, b), part,
            target - a * values - b * values**2,
            gain - a - b * values,
            weight=weight,
            psd=bool(target.min(initial=0.0) >= 0.0),
            slack=a * part.eps / least,
        )  # fmt: skip

    def __matmul__(self, v: Array) -> Array:
        """K~ v for a vector or a block of columns."""
        a, b = self.slopes
        raw = self.source @ v
        out = a * raw
        if b:
            out += b * (self.source @ rescale(raw, self.weight))
        if self.eta:
            out += self.eta * rescale(v, self.weight, invert=True)
        return out + self._along(v, self.target, invert=True)

    def coef(self, v: Array) -> Array:
        """P v: coefficients on the raw kernel, for a vector or a block of columns."""
        a, b = self.slopes
        out = a * v
        if b:
            out = out + b * rescale(self.source @ v, self.weight)
        return out + self._along(v, self.gain, invert=False)

    def norm(self) -> float:
        """Largest eigenvalue of K~ and a tenth more: Lanczos' is from below."""
        n = self.source.n
        operator = scipy.sparse.linalg.LinearOperator(
            (n, n), matvec=lambda v: self @ np.ravel(v), dtype=np.float64
        )
        start = np.random.default_rng(0).standard_normal(n)
        values = scipy.sparse.linalg.eigsh(
            operator, 1, which="LA", v0=start, tol=1e-2, return_eigenvectors=False
        )
        return 1.1 * float(values[0])

    def _along(self, v: Array, factor: Array, *, invert: bool) -> Array:
        """W^(-1/2 or 1/2) N diag(factor) N' W^-1/2 v."""
        if self.part is None or not factor.size:
            return np.zeros_like(v)
        root = None if self.weight is None else np.sqrt(self.weight)
        N = self.part.basis
        inner = rescale(N.T @ rescale(v, root, invert=True), factor)
        return rescale(N @ inner, root, invert=invert)

    def kernel(self) -> Array:
        """Return the transformed training similarity, dense, if it fits into memory."""
        a, b = self.slopes
        dense = self.source.dense("a kernel machine on a sparse similarity")
        if a != 1.0:
            dense *= a
        if b:
            K = self.source.matrix
            half = K if self.weight is None else K * self.weight
            dense += b * (half @ K).toarray()
        if self.eta:
            dense[np.diag_indices_from(dense)] += (
                self.eta if self.weight is None else self.eta / self.weight
            )
        if self.part is not None and self.target.size:
            self._add_pairs(dense, self.part.eigenvectors)
        return dense

    def _add_pairs(self, dense: Array, N: Any) -> None:
        """Add the negative eigenpairs, some rows at a time: no second n x n array."""
        rows = np.flatnonzero(np.diff(N.indptr))
        U = N[rows].toarray()
        if self.weight is not None:
            U /= np.sqrt(self.weight[rows])[:, None]
        for sign in (1.0, -1.0):
            side = sign * self.target > 0
            B = U[:, side] * np.sqrt(np.abs(self.target[side]))
            for i in range(0, rows.size, _ROWS):
                some = slice(i, i + _ROWS)
                dense[np.ix_(rows[some], rows)] += sign * (B[some] @ B.T)
