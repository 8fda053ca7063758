"""The fixed kernel: what a fix makes of a similarity, in every form.

Conventions. ``K`` is the raw training similarity (n x n, symmetric), ``W`` the diagonal
matrix of sample weights (the identity when there are none), ``R = W^1/2`` and
``R K R = V diag(l) V'``. A method with target f and gain g trains on

    K~ = R^-1 V diag(f(l)) V' R^-1,     P = R V diag(g(l)) V' R^-1;

new rows s become ``s P``, and coefficients v on K~ become ``P v`` on the raw kernel.
Where f(l) = l g(l), as for clip, flip and square, K~ = K P. The weights make a weighted
fit equal to a fit on repeated samples. Most methods change few directions, so that with
U the eigenvectors of those

    K~ = base K + bend K W K + shift W^-1 + R^-1 U diag(added) U' R^-1,
    P  = keep I + bend W K + R U diag(gain) U' R^-1.

A dense, a sparse and a tiled similarity differ in how U is found and how K multiplies,
nowhere else. Directions whose eigenvalue is zero to rounding have no part in P, in
every form (docs/decisions/0002): new rows that leave the span of the training rows
are projected onto it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from krein.arrays import Array, extended_square
from krein.spectrum.decomposition import (
    Spectrum,
    add_outer,
    most_common_factor,
    rescale,
)
from krein.spectrum.fixes import Fix
from krein.store.fingerprint import fingerprint
from krein.store.shared_work import digest, is_sharing, once

_EPS = float(np.finfo(np.float64).eps)
# Eigenpairs are those of a matrix that far away, in units of eps max|l|: at most 11 was
# seen in 40 digits, products with the eigenvectors included.
_BACKWARD = 16.0
# Up to this many items a kernel is formed and solved to rounding, so that results do
# not depend on whether the similarity was given as a sparse array or by landmarks.
DENSE_ITEMS = 2000


class Features(Protocol):
    """Coordinates of items, kept in tiles of rows; `similarity.tiles` has them."""

    def transpose_dot(self, v: Array) -> Array:
        """Return ``Phi' v``."""

    def tiles(self) -> Iterator[tuple[Any, Array]]:
        """Yield the rows of each tile and their coordinates."""


def _nothing() -> Array:
    return np.empty(0)


@dataclass(frozen=True)
class FixedKernel:
    """K~, which a machine is trained on, and the map P back to the raw kernel.

    Attributes
    ----------
    source : Matrix or None
        K; None where the eigenvectors are all that is needed (a stored map).
    base, bend, shift, keep : float
        Factors of the module's docstring.
    vectors : ndarray or sparse array of shape (n, r), or None
        U.
    added, gain : ndarray of shape (r,)
        What is added to the kernel, and to the map, along each column of U.
    weight : ndarray of shape (n,) or None
        Sample weights.
    psd : bool
        No eigenvalue of K~ is below -slack, so that a gap can be certified.
    slack : float
        How far below zero an eigenvalue of K~ can be at most; counted into the gap.
    spread : float
        How far K~ may be from that of exact arithmetic, since eigenvalues are known to
        eps max|l| only: a bound on the entries of ``R (K~ - exact) R u`` for |u| = 1.
    ready : ndarray of shape (n, n) or None
        K~, where it was formed on the way.
    features : Features of shape (n, r) or None
        Coordinates whose inner products are K~, where landmarks gave it.
    is_square : bool
        K~ is K W K of a dense K.
    projection : ndarray of shape (m, r) or None
        With features: makes coefficients on the landmarks of those on the features.
    """

    source: Any  # a Matrix, which this module need not know
    base: float = 1.0
    bend: float = 0.0
    shift: float = 0.0
    keep: float = 1.0
    vectors: Any = None
    added: Array = field(default_factory=_nothing)
    gain: Array = field(default_factory=_nothing)
    weight: Array | None = None
    psd: bool = False
    slack: float = 0.0
    spread: float = 0.0
    ready: Array | None = None
    features: Features | None = None
    projection: Array | None = None
    is_square: bool = False

    @property
    def _root(self) -> Array | None:
        return None if self.weight is None else np.sqrt(self.weight)

    # ----------------------------------------------------------------------- the map

    def to_raw(self, v: Array) -> Array:
        """P v: coefficients on the raw kernel, for a vector or a block of columns."""
        if self.features is not None and self.projection is not None:
            return self.projection @ self.features.transpose_dot(v)
        out = self.keep * v
        if self.bend:
            out += self.bend * rescale(self._similarity @ v, self.weight)
        if self.gain.size:
            out += rescale(self._along(v, self.gain), self._root)
        return out

    def rows(self, K_new: Array) -> Array:
        """Return ``K_new P``: what new rows of raw similarities become."""
        out = self.keep * K_new
        if self.bend:
            out += self.bend * (rescale(K_new.T, self.weight).T @ self._similarity)
        if self.gain.size:
            left = rescale(K_new.T, self._root)
            inner = rescale(self.vectors.T @ left, self.gain)
            out += rescale(self.vectors @ inner, self._root, invert=True).T
        return out

    # -------------------------------------------------------------------- the kernel

    @property
    def _similarity(self) -> Any:
        if self.source is None:
            raise ValueError("this map was stored without its similarity")
        return self.source

    def __matmul__(self, v: Array) -> Array:
        """K~ v for a vector or a block of columns."""
        out = self._similarity @ v if self.base or self.bend else np.zeros_like(v)
        if self.bend:
            bent = self._similarity @ rescale(out, self.weight)
            bent *= self.bend
            out = bent if self.base == 0.0 else self.base * out + bent
        elif self.base not in (0.0, 1.0):
            out *= self.base
        if self.shift:
            out += self.shift * rescale(v, self.weight, invert=True)
        if self.added.size:
            out += rescale(self._along(v, self.added), self._root, invert=True)
        return out

    def _along(self, v: Array, factor: Array) -> Array:
        """U diag(factor) U' R^-1 v."""
        inner = self.vectors.T @ rescale(v, self._root, invert=True)
        return self.vectors @ rescale(inner, factor)

    def kernel(self) -> Array:
        """Return K~, formed where it is not K itself; not to be changed."""
        if self.ready is not None:
            return self.ready
        if self.features is not None:
            raise ValueError("a kernel of many landmark features is not formed")
        if self.vectors is None or scipy.sparse.issparse(self.vectors):
            return self._formed()
        return once(
            lambda: (
                "fixed_kernel",
                digest(self._similarity.dense()),
                fingerprint(self.base, self.shift, self.added, self.weight),
            ),
            self._formed,
        )

    @property
    def is_own(self) -> bool:
        """Whether `kernel` forms K~ anew, for its caller alone, who may change it."""
        formed = self.ready is None and self.features is None
        return formed and not (self._is_plain or is_sharing())

    @property
    def _is_plain(self) -> bool:
        return self.base == 1.0 and not (self.bend or self.shift or self.added.size)

    def _formed(self) -> Array:
        n = self._similarity.n
        if self._is_plain:
            return self._similarity.dense()
        if self.base:
            M = np.multiply(self._similarity.dense(), self.base, order="C")
        else:
            M = np.zeros((n, n))
        if self.bend:
            K = self._similarity.matrix
            half = K if self.weight is None else K * self.weight
            M += self.bend * (half @ K).toarray()
        if self.shift:
            M[np.diag_indices_from(M)] += (
                self.shift if self.weight is None else self.shift / self.weight
            )
        if self.added.size:
            sparse = scipy.sparse.issparse(self.vectors)
            U = self.vectors.toarray() if sparse else self.vectors
            add_outer(M, U, self.added, self._root)
        return M

    def is_only_multiplied(self, stored: float = 0.0) -> bool:
        """Whether it is too large to be formed, or stores few of its entries."""
        if self.source is None or not self.source.is_sparse or not self.psd:
            return False
        n = self.source.n
        return n > DENSE_ITEMS or self.source.matrix.nnz < stored * n**2

    def diagonal(self) -> Array:
        """Diagonal of K~, without forming it."""
        if self.ready is not None:
            return np.diagonal(self.ready)
        if self.features is not None:
            squares = [np.square(tile).sum(axis=1) for _, tile in self.features.tiles()]
            return np.concatenate(squares)
        out = self.base * self._similarity.diagonal()
        if self.bend:
            K = self._similarity.matrix
            weight = np.ones(K.shape[0]) if self.weight is None else self.weight
            out += self.bend * (K.multiply(K) @ weight)
        if self.shift:
            out += self.shift if self.weight is None else self.shift / self.weight
        if self.added.size:
            U = self.vectors
            if scipy.sparse.issparse(U):
                along = U.multiply(U) @ self.added
            else:  # without a copy of U
                along = np.einsum("ij,ij,j->i", U, U, self.added)
            out += rescale(along, self.weight, invert=True)
        return out

    def noise(self) -> Array | None:
        """s, for which ``K~ v`` may be off by ``s_i |s * v|``; None where it is exact.

        It is `spread`, in the form that `krein.machines.svm_dual` asks for.
        """
        if self.spread == 0.0:
            return None
        n = self._similarity.n
        root = np.ones(n) if self._root is None else self._root
        return np.sqrt(self.spread) / root

    def precise(self) -> Callable[[Array], tuple[Array, Array]] | None:
        """K~ v, and a bound on its rounding, from more digits than K~ is formed with.

        None where K is not all that is needed: eigenpairs are known to rounding only.
        """
        if not self.is_square:
            return None
        return partial(extended_square, self._similarity.dense(), self.weight)

    def norm(self) -> float:
        """Largest eigenvalue of K~ and a tenth more: Lanczos' is from below."""
        n = self._similarity.n
        operator = scipy.sparse.linalg.LinearOperator(
            (n, n), matvec=lambda v: self @ np.ravel(v), dtype=np.float64
        )
        start = np.random.default_rng(0).standard_normal(n)
        values = scipy.sparse.linalg.eigsh(
            operator, 1, which="LA", v0=start, tol=1e-2, return_eigenvectors=False
        )
        return 1.1 * float(values[0])

    def stored(self) -> FixedKernel:
        """Return the map alone, as a fitted transformer keeps it."""
        return replace(self, source=None, ready=None, added=_nothing())


def unit_of(trained: FixedKernel, weight: Array | None = None) -> float:
    """Mean |k~(x, x)|: C in units of one over it does not depend on the scale of K."""
    return float(np.average(np.abs(trained.diagonal()), weights=weight)) or 1.0


def by_spectrum(
    source: Any, record: Fix, spectrum: Spectrum, t: float = 1.0
) -> FixedKernel:
    """Treat a similarity whose spectrum is known.

    Parameters
    ----------
    source : Matrix or None
        K; None where only the map is asked for.
    record : Fix
        What becomes of the eigenvalues.
    spectrum : Spectrum
        Of ``R K R``; its weights are those of the fixed kernel.
    t : float
        Parameter of the method.
    """
    root = spectrum.sqrt_weight
    weight = None if root is None else root * root
    values = spectrum.eigenvalues
    target, gain = record.apply(values, spectrum.tolerance, t)
    if record.new_rows == "raw" and record.needs != "spectrum":
        shift = 0.0
        norm = 0.0
        if record.needs == "smallest" and values[0] < 0.0:
            shift = -float(values[0])
            norm = float(np.abs(values).max())
        return FixedKernel(
            source,
            shift=shift,
            weight=weight,
            psd=bool(record.psd),
            spread=rounding_of_eigenvalues(norm, spectrum.n),
        )
    base, added = _most_of_it(spectrum, target)
    psd = bool(target.min(initial=0.0) >= 0.0)
    keep = 1.0 if record.new_rows == "raw" else 0.0
    return FixedKernel(
        source,
        base,
        keep=keep,
        vectors=spectrum.eigenvectors,
        added=added,
        gain=gain - keep,
        weight=weight,
        psd=psd,
        spread=rounding_of_targets(record, spectrum, added, t, base),
        is_square=_is_square(source, record, spectrum),
    )


def _is_square(source: Any, record: Fix, spectrum: Spectrum) -> bool:
    """Whether a fix of a dense similarity squares every eigenvalue, and maps by l."""
    if source is None or source.is_sparse or spectrum.eigenvalues.size < spectrum.n:
        return False
    target, gain = record.apply(np.array([-2.0, 0.0, 3.0]), 0.0, 1.0)
    wanted = [4.0, 0.0, 9.0], [-2.0, 0.0, 3.0]
    return np.array_equal([target, gain], wanted)


def rounding_of_eigenvalues(norm: float, n: int) -> float:
    """Error of an entry of a matrix put together from rounded eigenpairs, times u.

    LAPACK's are those of a matrix that is off by a few eps times the largest
    eigenvalue (`norm`), in every direction alike: |u| = 1 has n entries.
    """
    return _BACKWARD * _EPS * norm / float(np.sqrt(max(n, 1)))


@np.errstate(all="ignore")  # what leaves the range of float64 is not counted
def rounding_of_targets(
    record: Fix, spectrum: Spectrum, added: Array, t: float, base: float = 0.0
) -> float:
    """As `rounding_of_eigenvalues`, of a kernel that is ``base K`` and what was added.

    Exact arithmetic would not take an eigenvalue for zero.
    """
    values = spectrum.eigenvalues
    step = _BACKWARD * _EPS * float(np.abs(values).max(initial=0.0))
    off = 0.0
    for moved in (values - step, values, values + step):
        exact = record.target(moved, 0.0, t) - base * moved
        off = max(off, float(np.abs(exact - added).max(initial=0.0)))
    if not np.isfinite(off):
        return 0.0
    return off / float(np.sqrt(max(spectrum.n, 1)))


def _most_of_it(spectrum: Spectrum, target: Array) -> tuple[float, Array]:
    """The multiple of K that holds most targets exactly, and what is left to add.

    With weights a kernel is formed from all eigenvectors: their errors are larger in
    the units of K, which would not share them with the map of the coefficients.
    """
    values = spectrum.eigenvalues
    base, added = most_common_factor(values, target)
    # Errors are those of the largest eigenvalue: it must not be one that goes.
    norm = float(np.abs(values).max(initial=0.0))
    largest = float(np.abs(target).max(initial=0.0))
    fits = abs(base) * norm <= 1.01 * largest
    whole = values.size == spectrum.n and spectrum.sqrt_weight is None
    if fits and whole and base:
        return base, added
    return 0.0, target
