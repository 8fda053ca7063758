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
from typing import Any, Literal

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.similarity.matrix import Matrix
from krein.similarity.tiles import DenseTiles, TiledMatrix
from krein.spectrum.decomposition import Spectrum, rescale
from krein.spectrum.fixed_kernel import DENSE_ITEMS, FixedKernel
from krein.spectrum.fixes import FIXES, Fix, as_fix

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
class LowRank(Matrix):
    """The approximation ``C E diag(l) E' C'`` of a similarity, and its spectrum.

    Its eigenvectors are orthonormal with the weights it was fitted with; `spectrum`
    and `transformed` are those of these weights.

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
        V = space.map
        s = space.singular_values
        if core == "textbook":
            # In the basis, C X C' has the core diag(s) V0' X V0 diag(s), V0 = V s.
            half = V.T * (s * s)[:, None]
            M = half @ scipy.linalg.pinvh(sample.K) @ half.T
        else:
            A = columns.rows(sample.rows) @ V
            M = fitted_core(A, sample, n, root)
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

    def spectrum(
        self, weight: Array | None = None, rank: int | None = None
    ) -> Spectrum:
        """Eigenvalues and eigenvectors (n x r, in memory) of the weighted matrix."""
        vectors = self.columns @ self.basis
        root = None if self.weight is None else np.sqrt(self.weight)
        if root is not None:
            vectors *= root[:, None]
        return Spectrum(self.eigenvalues, vectors, root)

    def fixed_kernel(
        self,
        method: Any,
        t: float = 1.0,
        weight: Array | None = None,
        spectrum: Spectrum | None = None,
    ) -> FixedKernel:
        """Return features of the fixed approximation, refused where it has none.

        Up to some thousand items their kernel is formed too, so that the solution does
        not depend on whether landmarks were used.
        """
        sizes = self.sizes(as_fix(method), t)
        features, projection = self.features(sizes)
        F = features.array
        small = F is not None and self.shape[0] <= DENSE_ITEMS
        return FixedKernel(
            None, psd=True, ready=F @ F.T if F is not None and small else None,
            features=features, projection=projection,
        )  # fmt: skip

    def sizes(self, method: Fix, t: float) -> Array:
        """Transformed eigenvalues, none negative."""
        if not method.has_low_rank_form:
            known = sorted(name for name, m in FIXES.items() if m.has_low_rank_form)
            raise ValueError(
                f"method={method.name!r} has no low-rank form: it moves the "
                "eigenvalues that landmarks leave at zero, or leaves negative ones. "
                f"With approximation= choose one of {', '.join(known)}"
            )
        sizes, _ = method.apply(self.eigenvalues, self.tolerance, t)
        if sizes.min(initial=0.0) < 0.0:
            raise ValueError(
                f"method={method.name!r} gives the negative eigenvalue "
                f"{sizes.min():.3g}, and landmarks need features: leave "
                "approximation=None"
            )
        return sizes

    def features(self, size: Array) -> tuple[TiledMatrix, Array]:
        """Coordinates ``C E diag(size)^1/2`` of all items, and the map ``E size^1/2``.

        With ``size = |l|`` the coordinates F and the signs of l give
        ``F diag(sign l) F' = K^``. Columns of size zero are left out. A linear model
        w on the coordinates has the coefficients ``map @ w`` on the landmarks.
        """
        kept = size > 0
        projection = self.basis[:, kept] * np.sqrt(size[kept])
        return self.columns.mapped(projection), projection

    def subset(self, rows: np.ndarray) -> LowRank:
        """Return the same approximation for some of the items only, in memory.

        Its basis is made orthonormal on these: with ``W^1/2 C_R E = U diag(s) V'`` the
        core is ``diag(s) V' diag(l) V diag(s) = B diag(l') B'`` and the new basis
        ``E V diag(1/s) B``.
        """
        columns = DenseTiles(self.columns.rows(rows))
        weight = None if self.weight is None else self.weight[rows]
        vectors = columns.A @ self.basis
        if weight is not None:
            vectors *= np.sqrt(weight)[:, None]
        _, s, Vt = scipy.linalg.svd(vectors, full_matrices=False, lapack_driver="gesvd")
        kept = s > max(vectors.shape) * _EPS * s.max(initial=0.0)
        half = s[kept, None] * Vt[kept]
        values, B = scipy.linalg.eigh((half * self.eigenvalues) @ half.T)
        nonzero = np.abs(values) > rows.size * _EPS * np.abs(values).max(initial=0.0)
        basis = self.basis @ (Vt[kept].T / s[kept]) @ B[:, nonzero]
        return LowRank(columns, basis, values[nonzero], weight)

    def lowest_eigenvalue(
        self, weight: Array | None = None, atol: float = 0.0
    ) -> float:
        """Smallest eigenvalue with the weights of the fit; 0 if none is negative."""
        return float(self.eigenvalues.min(initial=0.0))

    def diagonal(self) -> Array:
        """Approximate similarities of the items to themselves."""
        tiles = (tile @ self.basis for _, tile in self.columns.tiles())
        return np.concatenate([tile**2 @ self.eigenvalues for tile in tiles])

    def operand(self) -> Factored:
        """Return its eigenvectors in tiles: products are two passes over them."""
        return Factored(self.columns.mapped(self.basis), self.eigenvalues, self.basis)

    def flipped(
        self, weight: Array | None = None, spectrum: Spectrum | None = None
    ) -> tuple[Matrix, None]:
        """Return the approximation with the absolute values of its eigenvalues."""
        return replace(self, eigenvalues=np.abs(self.eigenvalues)), None

    def outputs(self, coef: Array) -> tuple[Array, Array]:
        """Outputs of all items for coefficients on the landmarks, and rounding."""
        _, error = self.columns.errors(np.zeros(self.shape[0]), coef)
        return self.columns @ coef, error

    def block(self, rows: Any, columns: Any) -> Array:
        """Approximate similarities of the items `rows` to the items `columns`."""
        left = self._coordinates(rows)
        right = self._coordinates(columns)
        return (left * self.eigenvalues) @ right.T

    def dense(self) -> Array:
        """Return the n x n approximation."""
        everything = np.arange(self.shape[0])
        return self.block(everything, everything)

    def _coordinates(self, rows: Any) -> Array:
        return self.columns.rows(rows) @ self.basis

    def seen(self, rows: np.ndarray, by: np.ndarray) -> Array:
        """Return the raw similarities to the landmarks, whatever the model was of."""
        return self.columns.rows(rows)

    def to_raw(self, coef: Array) -> Array:
        """Coefficients on the landmarks of the function ``K^(., X) coef``."""
        # Never through E diag(l) E' itself: it is as large as the inverse of C, and
        # rounding in it is not.
        inner = self.basis.T @ self.columns.transpose_dot(coef)
        return self.basis @ rescale(inner, self.eigenvalues)

    def __matmul__(self, v: Array) -> Array:
        """Product of the (unweighted) approximation with a vector or a block."""
        return self.columns @ self.to_raw(v)


@dataclass(frozen=True)
class Factored:
    """The product ``U diag(l) U'``, U in tiles with columns of length one.

    Attributes
    ----------
    vectors : TiledMatrix of shape (n, r)
        U, orthonormal with the weights of the fit.
    values : ndarray of shape (r,)
        l.
    basis : ndarray of shape (m, r)
        What makes U of the similarities to the landmarks.
    """

    vectors: TiledMatrix
    values: Array
    basis: Array

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self.vectors.shape[0], self.vectors.shape[0]

    def __matmul__(self, v: Array) -> Array:
        """Product with a vector or a block of columns."""
        return self.vectors @ self.inner(v)

    def inner(self, v: Array) -> Array:
        """Return ``diag(l) U'v``."""
        return rescale(self.vectors.transpose_dot(v), self.values)

    def to_landmarks(self, v: Array) -> Array:
        """Coefficients on the landmarks of the function with coefficients v on all."""
        return self.basis @ self.inner(v)

    def product_and_error(self, v: Array) -> tuple[Array, Array]:
        """Product with v, and a bound on its rounding errors."""
        w = self.inner(v)
        of_sums, of_products = self.vectors.errors(v, w)
        further = self.vectors.magnitude(rescale(of_sums, np.abs(self.values)))
        return self.vectors @ w, of_products + further


def fitted_core(A: Array, sample: Sample, n: int, root: Array | None) -> Array:
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
