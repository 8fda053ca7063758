"""A kernel of low rank that is never formed: ``K = F diag(signature) F'``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.matrices.matrix import Matrix
from krein.spectrum import Spectrum

__all__ = ["FeatureKernel"]


@dataclass(frozen=True)
class FeatureKernel(Matrix):
    """Features with signs, standing where a kernel matrix stands.

    Parameters
    ----------
    features : ndarray of shape (n, r)
        F, e.g. of landmarks.
    signature : ndarray of shape (r,)
        +1 or -1 per feature.
    """

    features: Array
    signature: Array

    @classmethod
    def from_spectrum(cls, spectrum: Spectrum) -> FeatureKernel:
        """Features of a (truncated) spectrum: its eigenvectors times sqrt|l|."""
        kept = np.abs(spectrum.eigenvalues) > spectrum.tolerance
        values = spectrum.eigenvalues[kept]
        F = spectrum.eigenvectors[:, kept] * np.sqrt(np.abs(values))
        if spectrum.sqrt_weight is not None:
            F /= spectrum.sqrt_weight[:, None]
        return cls(F, np.sign(values))

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix that is not formed."""
        n = self.features.shape[0]
        return n, n

    def subset(self, rows: np.ndarray) -> FeatureKernel:
        """Return the same features of some of the samples."""
        return FeatureKernel(self.features[rows], self.signature)

    def block(self, rows: Any, columns: Any) -> Array:
        """Similarities of the items `rows` to the items `columns`."""
        return (self.features[rows] * self.signature) @ self.features[columns].T

    def dense(self) -> Array:
        """Return the n x n matrix."""
        return self.block(slice(None), slice(None))

    def spectrum(
        self, weight: Array | None = None, rank: int | None = None
    ) -> Spectrum:
        """Eigenpairs, at most as many as there are features."""
        root = None if weight is None else np.sqrt(weight)
        F = self.features if root is None else self.features * root[:, None]
        return replace(Spectrum.low_rank(F, self.signature), sqrt_weight=root)

    def lowest_eigenvalue(
        self, weight: Array | None = None, atol: float = 0.0
    ) -> float:
        """Smallest eigenvalue from r x r matrices; 0 if none is negative."""
        return self.extreme_eigenvalues(weight)[0]

    def operand(self) -> FeatureKernel:
        """Return itself: products cost O(n r), systems O(r^3)."""
        return self

    def feature_coef(self, A: Array) -> Array:
        """Coefficients V = diag(signature) F'A of the features: KA = FV."""
        V = self.features.T @ A
        return self.signature[:, None] * V if A.ndim == 2 else self.signature * V

    def __matmul__(self, A: Array) -> Array:
        """K A for a vector or a block of columns."""
        return self.features @ self.feature_coef(A)

    def extreme_eigenvalues(self, weight: Array | None = None) -> tuple[float, float]:
        """Smallest and largest eigenvalue of W^1/2 K W^1/2, from r x r matrices."""
        F = self.features
        gram = F.T @ F if weight is None else F.T @ (weight[:, None] * F)
        values, B = scipy.linalg.eigh(gram)
        root = (B * np.sqrt(np.maximum(values, 0.0))) @ B.T
        core = (root * self.signature) @ root
        core_values = scipy.linalg.eigvalsh(0.5 * (core + core.T))
        return min(0.0, float(core_values[0])), max(0.0, float(core_values[-1]))
