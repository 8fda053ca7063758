"""A sparse similarity: most pairs are absent, and stay so.

A fix that makes ``f(l) = a l + b l^2`` of every positive eigenvalue, as
clip, flip, square and none do, leaves it sparse but for the eigenpairs that are not
positive: `krein.spectrum.fixed_kernel` with base a, bend b and these eigenpairs.
Nothing dense is formed but on request, and then only where it fits into memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from krein.arrays import Array, compressed_rows
from krein.memory import require_memory
from krein.similarity.matrix import Matrix, Similarities
from krein.spectrum.decomposition import Spectrum
from krein.spectrum.fixed_kernel import FixedKernel
from krein.spectrum.fixes import as_fix
from krein.spectrum.nonpositive import NonPositivePart, nonpositive_part
from krein.store.fingerprint import fingerprint
from krein.store.shared_work import once
from krein.validation import ROUNDING, check_size, check_square
from krein.words import warn_user

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
    is_sparse = True

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

    def diagonal(self) -> Array:
        """Similarities of the items to themselves."""
        return self.matrix.diagonal()

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

    def nonpositive_part(self, weight: Array | None = None) -> NonPositivePart:
        """Eigenpairs of ``W^1/2 K W^1/2`` that are not positive."""
        if weight is None:
            return once(
                lambda: ("nonpositive part", fingerprint(self.matrix)),
                lambda: nonpositive_part(self.matrix),
            )
        root = scipy.sparse.diags_array(np.sqrt(weight))
        return nonpositive_part(root @ self.matrix @ root)

    def lowest_eigenvalue(
        self, weight: Array | None = None, atol: float = 0.0
    ) -> float:
        """Smallest eigenvalue of ``W^1/2 K W^1/2``; 0 if none is negative."""
        return float(self.nonpositive_part(weight).eigenvalues.min(initial=0.0))

    def fixed_kernel(
        self,
        method: Any,
        t: float = 1.0,
        weight: Array | None = None,
        spectrum: Spectrum | None = None,
    ) -> FixedKernel:
        """Return what a fix makes of it; see `Matrix.fixed_kernel`."""
        record = as_fix(method)
        if spectrum is not None or record.needs == "nothing":
            return super().fixed_kernel(record, t, weight, spectrum)
        if record.on_positive is None and record.needs == "spectrum":
            return super().fixed_kernel(record, t, weight)
        if record.needs == "smallest":
            part = self._known_part(weight)
            shift = part.eps - float(part.eigenvalues.min(initial=0.0))
            return FixedKernel(self, shift=shift, weight=weight, psd=True)
        a, b = record.on_positive or (1.0, 0.0)
        trial = np.array([-2.0, -1.0, 0.0])
        target, gain = record.apply(trial, 0.0, t)
        if np.array_equal(target, a * trial + b * trial**2) and a == 0.0:
            return FixedKernel(self, a, b, keep=a, weight=weight, psd=bool(record.psd))
        part = self._known_part(weight)
        values = part.eigenvalues
        target, gain = record.apply(values, part.eps, t)
        least = 1.0 if weight is None else float(weight.min())
        return FixedKernel(
            self, a, b, keep=a, vectors=part.basis,
            added=target - a * values - b * values**2,
            gain=gain - a - b * values,
            weight=weight,
            psd=bool(target.min(initial=0.0) >= 0.0),
            slack=a * part.eps / least,
        )  # fmt: skip

    def _known_part(self, weight: Array | None) -> NonPositivePart:
        """Return the eigenpairs that are not positive; what is not proven is said."""
        part = self.nonpositive_part(weight)
        if not part.proven:
            warn_user(
                f"no factorisation proves the negative part of {self.n} items: that it "
                f"has no eigenvalue below {-part.eps:.2g} but the "
                f"{part.eigenvalues.size} found holds with a probability of "
                f"1 - {part.chance:g}, and so do the gaps"
            )
        return part


def check_sparse_rows(X: Any, name: str = "X") -> scipy.sparse.csr_array:
    """Return compressed rows of finite numbers; the input is not changed."""
    if X.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {X.dtype}; expected real numbers")
    rows = compressed_rows(X)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    if not np.isfinite(rows.data).all():
        raise ValueError(f"{name} is sparse and holds NaN or infinity")
    return rows


def check_sparse_similarity(
    X: Any, *, name: str = "X", symmetrize: bool = False
) -> scipy.sparse.csr_array:
    """Return a square, finite, symmetric sparse matrix; the input is not changed."""
    K = check_sparse_rows(X, name)
    check_square(K, name)
    largest = float(abs(K).max()) if K.nnz else 0.0
    check_size(largest, name)
    if symmetrize:
        return compressed_rows(0.5 * (K + K.T))
    worst = float(abs(K - K.T).max()) if K.nnz else 0.0
    if worst > ROUNDING * largest:
        raise ValueError(
            f"{name} is not symmetric: the two directions of a pair differ by up to "
            f"{worst:.3g}, with entries up to {largest:.3g}. Hits have a direction: "
            "HitSimilarity makes a symmetric similarity of them; symmetrize=True takes "
            "the mean of both, an absent one counted as 0"
        )
    return K if worst == 0.0 else compressed_rows(0.5 * (K + K.T))


def as_matrix(K: Any) -> Matrix:
    """Return a checked similarity, sparse or not, in the form a fit works on."""
    if isinstance(K, Matrix):
        return K
    return SparseSimilarity(K) if scipy.sparse.issparse(K) else Similarities(K)
