"""A similarity known through its columns at m landmarks: K is about C X C'.

Conventions. ``C = K(., S)`` (n x m) holds the raw similarities to the landmarks S,
``W`` the sample weights (identity when there are none). The columns of ``W^1/2 C V``
are an orthonormal basis of the range of ``W^1/2 C``; in that basis the core M
(r x r, symmetric) is what a rule makes of few further similarities, and
``M = B diag(l) B'`` gives the true spectrum of the approximation,

    K^ = C E diag(l) E' C',   E = V B,   (W^1/2 C E)' (W^1/2 C E) = I,

so that clip and flip of l mean clip and flip of K^. Clipping the m x m similarities of
the landmarks would not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.matrices.tiles import DenseTiles, TiledMatrix
from krein.spectrum import Spectrum, rescale

__all__ = ["Core", "LowRank", "Range", "Sample"]

_EPS = float(np.finfo(np.float64).eps)
# A direction of C that the sampled rows see this much less than the average row does
# is not fitted: its part of the core would be noise, amplified by the inverse square.
_UNSEEN = 0.1

Core = Literal["oversampled", "textbook"]


@dataclass(frozen=True)
class Sample:
    """Rows whose similarities to each other are known.

    Attributes
    ----------
    rows : ndarray of shape (q,)
        Positions among the n items.
    K : ndarray of shape (q, q)
        Their raw similarities.
    """

    rows: np.ndarray
    K: Array


@dataclass(frozen=True)
class Range:
    """Orthonormal basis ``W^1/2 C map`` of the range of ``W^1/2 C``.

    Attributes
    ----------
    map : ndarray of shape (m, r)
        V.
    singular_values : ndarray of shape (r,)
        Of ``W^1/2 C``, those that are not zero to rounding.
    """

    map: Array
    singular_values: Array

    @classmethod
    def fit(cls, columns: TiledMatrix, weight: Array | None = None) -> Range:
        """Find the range from the triangular factor of the columns, in one pass."""
        root = None if weight is None else np.sqrt(weight)
        return cls.of_triangle(columns.triangle(root), columns.shape[0])

    @classmethod
    def of_triangle(cls, triangle: Array, n: int) -> Range:
        """Find the range from the triangular factor of n rows."""
        # Not gesdd: it fails to converge on some matrices of nearly equal values.
        _, s, Vt = scipy.linalg.svd(triangle, lapack_driver="gesvd")
        kept = s > max(n, s.size) * _EPS * s[0]
        return cls(Vt[kept].T / s[kept], s[kept])

    def leverage(self, columns: TiledMatrix) -> Array:
        """Squared lengths of the rows of ``C map``, one pass."""
        scores = np.empty(columns.shape[0])
        for rows, tile in columns.tiles():
            scores[rows] = np.square(tile @ self.map).sum(axis=1)
        return scores


@dataclass(frozen=True)
class LowRank:
    """The approximation ``C E diag(l) E' C'`` of a similarity, and its spectrum.

    It stands where a matrix K stands: it has a shape and multiplies vectors.

    Attributes
    ----------
    columns : TiledMatrix of shape (n, m)
        C, the raw similarities to the landmarks.
    basis : ndarray of shape (m, r)
        E.
    eigenvalues : ndarray of shape (r,)
        Ascending; none is zero to rounding.
    weight : ndarray of shape (n,) or None
        Sample weights.
    """

    columns: TiledMatrix
    basis: Array
    eigenvalues: Array
    weight: Array | None = None

    @classmethod
    def fit(
        cls,
        columns: TiledMatrix,
        sample: Sample,
        *,
        core: Core = "oversampled",
        weight: Array | None = None,
        space: Range | None = None,
    ) -> LowRank:
        """Fit the core on a sample of rows.

        Parameters
        ----------
        columns : TiledMatrix of shape (n, m)
            Raw similarities to the landmarks.
        sample : Sample
            For ``core="oversampled"`` more rows than landmarks, the landmarks among
            them; for ``core="textbook"`` exactly the landmarks in order of columns.
        core : {"oversampled", "textbook"}
            ``oversampled``: M minimises the error on the sample, ``||A M A' -
            K_RR||`` with A the rows R of the basis (Wang, Luo, Zhang, 2016, the
            "fast" core). ``textbook``: the pseudo-inverse of the landmarks'
            similarities, as for positive kernels.
        weight : ndarray of shape (n,), optional
            Sample weights.
        space : Range, optional
            The range of the columns, when it is known already.

        Returns
        -------
        LowRank
        """
        n = columns.shape[0]
        root = None if weight is None else np.sqrt(weight)
        space = Range.fit(columns, weight) if space is None else space
        V, s = space.map, space.singular_values
        if core == "textbook":
            # In the basis, C X C' has the core diag(s) V0' X V0 diag(s), V0 = V s.
            half = V.T * (s * s)[:, None]
            M = half @ scipy.linalg.pinvh(sample.K) @ half.T
        else:
            A = columns.rows(sample.rows) @ V
            M = _fitted_core(A, sample, n, root)
        values, B = scipy.linalg.eigh(0.5 * (M + M.T))
        kept = np.abs(values) > n * _EPS * np.abs(values).max(initial=0.0)
        return cls(columns, V @ B[:, kept], values[kept], weight)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n), as of the matrix it stands for."""
        return self.columns.shape[0], self.columns.shape[0]

    @property
    def tolerance(self) -> float:
        """Eigenvalues of at most this magnitude are zero to rounding."""
        return self.shape[0] * _EPS * float(np.abs(self.eigenvalues).max(initial=0.0))

    def spectrum(self) -> Spectrum:
        """Eigenvalues and eigenvectors (n x r, in memory) of the weighted matrix."""
        vectors = self.columns @ self.basis
        root = None if self.weight is None else np.sqrt(self.weight)
        if root is not None:
            vectors *= root[:, None]
        return Spectrum(self.eigenvalues, vectors, root)

    def features(self, size: Array) -> tuple[TiledMatrix, Array]:
        """Coordinates ``C E diag(size)^1/2`` of all items, and the map ``E size^1/2``.

        With ``size = |l|`` the coordinates F and the signs of l give
        ``F diag(sign l) F' = K^``. Columns of size zero are left out. A linear model
        w on the coordinates has the coefficients ``map @ w`` on the landmarks.
        """
        kept = size > 0
        projection = self.basis[:, kept] * np.sqrt(size[kept])
        return self.columns.mapped(projection), projection

    def restricted(self, rows: np.ndarray) -> LowRank:
        """Return the same approximation for some of the items only, in memory.

        Its basis is that of all items, so it is not orthonormal on these.
        """
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, columns=DenseTiles(self.columns.rows(rows)), weight=weight)

    def landmark_coef(self, coef: Array) -> Array:
        """Coefficients on the landmarks of the function ``K^(., X) coef``."""
        # Never through E diag(l) E' itself: it is as large as the inverse of C, and
        # rounding in it is not.
        inner = self.basis.T @ self.columns.transpose_dot(coef)
        return self.basis @ rescale(inner, self.eigenvalues)

    def __matmul__(self, v: Array) -> Array:
        """Product of the (unweighted) approximation with a vector or a block."""
        return self.columns @ self.landmark_coef(v)


def _fitted_core(A: Array, sample: Sample, n: int, root: Array | None) -> Array:
    """Least-squares M in ``A M A' = K_RR``, rows weighted like the fit."""
    K = sample.K
    if root is not None:
        scale = root[sample.rows]
        A = A * scale[:, None]
        K = K * scale * scale[:, None]
    # A has orthonormal columns when all rows are sampled; q of n rows see a direction
    # with the squared length q / n on average. The directions kept are far from
    # singular, so A'A loses nothing.
    squares, V = scipy.linalg.eigh(A.T @ A)
    seen = squares > _UNSEEN**2 * sample.rows.size / n
    inverse = (V[:, seen] / squares[seen]) @ (V[:, seen].T @ A.T)
    return inverse @ K @ inverse.T
