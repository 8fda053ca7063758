"""One eigendecomposition, shared, and the maps on it that make a similarity PSD.

Conventions. ``K0`` is the raw training similarity (n x n, symmetric), ``W`` the
diagonal matrix of sample weights (identity when there are none) and
``W^1/2 K0 W^1/2 = V diag(l) V'``. A transform with gain g replaces K0 by

    K~ = W^-1/2 V diag(l g(l)) V' W^-1/2 = K0 P,   P = W^1/2 V diag(g(l)) V' W^-1/2,

so that new rows become ``s P`` and coefficients v on K~ become ``P v`` on the raw
kernel. The weights make a weighted fit equal to a fit on repeated samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from krein.arrays import Array
from krein.matrices.memory import require_memory
from krein.store.sharing import fingerprint, is_sharing, once

__all__ = ["METHODS", "Spectrum", "Transform", "largest_shift"]

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues and eigenvectors of a (weighted) similarity matrix.

    Attributes
    ----------
    eigenvalues : ndarray of shape (r,)
        Ascending.
    eigenvectors : ndarray of shape (n, r)
        Orthonormal columns; r < n when truncated or of low rank.
    sqrt_weight : ndarray of shape (n,) or None
        Square roots of the sample weights; None means all weights are 1.
    truncation : float
        Bound on the spectral norm of the part left out (0 when exact).

    Examples
    --------
    >>> import numpy as np
    >>> from krein import Spectrum
    >>> spectrum = Spectrum.exact(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> spectrum.signature
    (1, 1, 0)
    >>> spectrum.map(np.abs).matrix().round(12) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """

    eigenvalues: Array
    eigenvectors: Array
    sqrt_weight: Array | None = None
    truncation: float = 0.0

    @classmethod
    def exact(cls, K: Array, weight: Array | None = None) -> Spectrum:
        """All eigenpairs by LAPACK's divide and conquer; K is not changed.

        Computed once per matrix inside of `krein.store.sharing.shared_work`.
        """
        return once(
            lambda: (cls, fingerprint(K), fingerprint(weight)),
            lambda: cls._decompose(K, weight),
        )

    @classmethod
    def _decompose(cls, K: Array, weight: Array | None) -> Spectrum:
        n = K.shape[0]
        require_memory(
            5 * 8 * n * n,
            f"the eigendecomposition of a {n} x {n} matrix",
            "Use landmarks (krein.KreinNystroem) or Spectrum.truncated.",
        )
        scale = safe_scale(K)
        A = K / scale if scale != 1.0 else K.copy()
        root = None if weight is None else np.sqrt(weight)
        if root is not None:
            A *= root
            A *= root[:, None]
        # A.T is A in the order of LAPACK, which would copy A otherwise.
        values, vectors = scipy.linalg.eigh(
            A.T, driver="evd", overwrite_a=True, check_finite=False
        )
        return cls(values * scale, vectors, root)

    @classmethod
    def truncated(
        cls,
        K: Array | scipy.sparse.linalg.LinearOperator,
        rank: int,
        weight: Array | None = None,
        random_state: int = 0,
    ) -> Spectrum:
        """Return the `rank` eigenpairs of largest magnitude, by Lanczos.

        ``truncation`` is the magnitude of the smallest one kept: no eigenvalue left
        out is larger.
        """
        n = K.shape[0]
        if not 1 <= rank < n:
            raise ValueError(f"rank must be between 1 and n - 1 = {n - 1}, got {rank}")
        root = None if weight is None else np.sqrt(weight)

        def product(v: Array) -> Array:
            return K @ v if root is None else root * (K @ (root * v))

        operator = scipy.sparse.linalg.LinearOperator(
            (n, n), matvec=product, dtype=np.float64
        )
        start = np.random.default_rng(random_state).standard_normal(n)
        values, vectors = scipy.sparse.linalg.eigsh(
            operator, rank, which="LM", v0=start
        )
        order = np.argsort(values)
        return cls(values[order], vectors[:, order], root, float(np.abs(values).min()))

    @classmethod
    def low_rank(cls, features: Array, signature: Array) -> Spectrum:
        """Spectrum of ``F diag(signature) F'`` in O(n r^2), e.g. of landmarks."""
        Q, R = np.linalg.qr(features)
        core = (R * signature) @ R.T
        values, B = scipy.linalg.eigh(0.5 * (core + core.T))
        return cls(values, Q @ B)

    @property
    def n(self) -> int:
        """Number of items."""
        return self.eigenvectors.shape[0]

    @property
    def tolerance(self) -> float:
        """Eigenvalues of at most this magnitude are zero to rounding."""
        if self.eigenvalues.size == 0:
            return 0.0
        return self.n * _EPS * float(np.abs(self.eigenvalues).max())

    @cached_property
    def signature(self) -> tuple[int, int, int]:
        """Number of positive, negative and zero eigenvalues."""
        positive = int(np.sum(self.eigenvalues > self.tolerance))
        negative = int(np.sum(self.eigenvalues < -self.tolerance))
        return positive, negative, self.n - positive - negative

    def map(self, f: Callable[[Array], Array]) -> Spectrum:
        """Return the spectrum with eigenvalues ``f(eigenvalues)``."""
        return replace(self, eigenvalues=f(self.eigenvalues))

    def __matmul__(self, v: Array) -> Array:
        """Product of the (unweighted) matrix with a vector or a block of them."""
        scaled = _rescale(v, self.sqrt_weight, invert=True)
        inner = self.eigenvectors.T @ scaled
        inner = _rescale(inner, self.eigenvalues)
        return _rescale(self.eigenvectors @ inner, self.sqrt_weight, invert=True)

    def matrix(self) -> Array:
        """Return the (unweighted) matrix itself, exactly symmetric."""
        return once(
            lambda: (
                fingerprint(self.eigenvectors),
                fingerprint(self.eigenvalues),
                fingerprint(self.sqrt_weight),
            ),
            self._matrix,
        )

    def _matrix(self) -> Array:
        M = _outer(self.eigenvectors, self.eigenvalues)
        if self.sqrt_weight is not None:
            M /= self.sqrt_weight
            M /= self.sqrt_weight[:, None]
        return M


def _rescale(v: Array, factor: Array | None, invert: bool = False) -> Array:
    if factor is None:
        return v
    column = factor if v.ndim == 1 else factor[:, None]
    return v / column if invert else v * column


def _outer(U: Array, d: Array) -> Array:
    """Return U diag(d) U', exactly symmetric, from at most two symmetric products."""
    M = np.zeros((U.shape[0], U.shape[0]))
    for sign in (1.0, -1.0):
        part = sign * d > 0
        if part.any():
            B = U[:, part] * np.sqrt(np.abs(d[part]))
            M += sign * (B @ B.T)
    return M


def safe_scale(K: Array) -> float:
    """Return a power of two near max|K| when squares of K would leave float64."""
    largest = max(float(K.max()), -float(K.min())) if K.size else 0.0
    if largest == 0.0 or 1e-100 < largest < 1e100:
        return 1.0
    return float(2.0 ** np.floor(np.log2(largest)))


# --------------------------------------------------------------------------------------
# Transforms: what the eigenvalues become, and what a new point gets.


def _clip(values: Array, tol: float, t: float) -> Array:
    return (values > tol).astype(float)


def _flip(values: Array, tol: float, t: float) -> Array:
    return np.where(np.abs(values) > tol, np.sign(values), 0.0)


def _square(values: Array, tol: float, t: float) -> Array:
    return values.copy()


def _identity(values: Array, tol: float, t: float) -> Array:
    return np.ones_like(values)


def _diffusion(values: Array, tol: float, t: float) -> Array:
    """(exp(t l / max|l|) - 1) / l, whose limit at 0 is t / max|l|."""
    largest = float(np.abs(values).max())
    if largest == 0.0:
        return np.zeros_like(values)
    s = t / largest
    zero = np.abs(values) <= tol
    return np.where(zero, s, np.expm1(s * values) / np.where(zero, 1.0, values))


def _exponential(values: Array, tol: float, t: float) -> Array:
    """exp(t l) / l; unbounded at 0, so zero eigenvalues are projected out."""
    zero = np.abs(values) <= tol
    with np.errstate(over="ignore"):
        grown = np.exp(t * values)
    if not np.isfinite(grown).all():
        raise ValueError(
            f"method='exponential' with t={t:g} overflows: t times the largest "
            f"eigenvalue is {t * float(values.max()):.3g}; choose a smaller t, or "
            "method='diffusion', which divides t by the largest eigenvalue"
        )
    return np.where(zero, 0.0, grown / np.where(zero, 1.0, values))


METHODS: dict[str, Callable[[Array, float, float], Array]] = {
    "clip": _clip,
    "denoise": _clip,
    "flip": _flip,
    "square": _square,
    "diffusion": _diffusion,
    "exponential": _exponential,
    "shift": _identity,
    "none": _identity,
}


@dataclass(frozen=True)
class Transform:
    """A spectrum fix fitted on training data: one linear map for all new rows.

    Use `Transform.fit`. ``rows(K_new)`` gives new points their transformed
    similarities, ``coef(v)`` moves coefficients to the raw kernel; both are the same
    map P. For ``"shift"`` and ``"none"`` P is the identity: the shift is
    ``eta 1[x is x']``, which no new point has.

    Attributes
    ----------
    method : str
        A key of `METHODS`.
    spectrum : Spectrum or None
        None where the map is the identity.
    gain : ndarray of shape (r,) or None
        g(l) per eigenvalue.
    eta : float
        The shift; 0 for all other methods.
    weight : ndarray of shape (n,) or None
        Sample weights.
    """

    method: str
    spectrum: Spectrum | None
    gain: Array | None
    eta: float = 0.0
    weight: Array | None = None

    @classmethod
    def fit(
        cls,
        K: Array,
        method: str,
        *,
        t: float = 1.0,
        weight: Array | None = None,
        spectrum: Spectrum | None = None,
    ) -> Transform:
        """Fit on the training similarity; an existing spectrum of it is reused."""
        if method == "none":
            return cls(method, None, None, 0.0, weight)
        if method == "shift":
            if spectrum is None:
                eta = largest_shift(K, weight)
            else:
                eta = max(0.0, -float(spectrum.eigenvalues[0]))
            return cls(method, None, None, eta, weight)
        if spectrum is None:
            spectrum = Spectrum.exact(K, weight)
        gain = METHODS[method](spectrum.eigenvalues, spectrum.tolerance, t)
        return cls(method, spectrum, gain, 0.0, weight)

    def kernel(self, K: Array) -> Array:
        """Return the transformed training similarity K~ (n x n, a new array)."""
        if self.spectrum is None or self.gain is None:
            M = K.copy()
            if self.eta > 0.0:
                M[np.diag_indices_from(M)] += (
                    self.eta if self.weight is None else self.eta / self.weight
                )
            return M
        target = self.spectrum.eigenvalues * self.gain
        if self.method == "exponential":
            # The zero eigenvalues carry f(0) = 1 on training points only.
            target[np.abs(self.spectrum.eigenvalues) <= self.spectrum.tolerance] = 1.0
        return replace(self.spectrum, eigenvalues=target).matrix()

    def coef(self, v: Array) -> Array:
        """P v: coefficients on the raw kernel, for a vector or a block of columns."""
        if self.spectrum is None or self.gain is None:
            return v
        root = self.spectrum.sqrt_weight
        inner = self.spectrum.eigenvectors.T @ _rescale(v, root, invert=True)
        inner = _rescale(inner, self.gain)
        return _rescale(self.spectrum.eigenvectors @ inner, root)

    def rows(self, K_new: Array) -> Array:
        """Return ``K_new P``: what new rows of raw similarities become."""
        if self.spectrum is None or self.gain is None:
            return K_new
        root = self.spectrum.sqrt_weight
        left = K_new if root is None else K_new * root
        inner = (left @ self.spectrum.eigenvectors) * self.gain
        mapped = inner @ self.spectrum.eigenvectors.T
        return mapped if root is None else mapped / root


def largest_shift(K: Array, weight: Array | None = None) -> float:
    """Return max(0, -smallest eigenvalue) of the (weighted) matrix."""
    if is_sharing():  # other methods need all eigenvalues anyway
        return max(0.0, -float(Spectrum.exact(K, weight).eigenvalues[0]))
    scale = safe_scale(K)
    A = K / scale
    if weight is not None:
        root = np.sqrt(weight)
        A *= root
        A *= root[:, None]
    smallest = scipy.linalg.eigh(
        A,
        eigvals_only=True,
        subset_by_index=[0, 0],
        overwrite_a=True,
        check_finite=False,
    )
    return max(0.0, -float(smallest[0])) * scale
