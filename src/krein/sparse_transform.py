"""A spectrum method on a sparse similarity: sparse plus a few eigenpairs.

With the conventions of `krein.transform`: where a method makes ``f(l) = a l + b l^2``
of every positive eigenvalue, as clip, flip, square and none do,

    K~ = a K0 + b K0 W K0 + W^-1/2 N diag(f(l) - a l - b l^2) N' W^-1/2,
    P  = a I + b W K0 + W^1/2 N diag(g(l) - a - b l) N' W^-1/2,

with N and l the negative eigenpairs only. Nothing dense is formed but by `kernel`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.matrices.sparse import NegativePart, SparseSimilarity
from krein.methods import Method, as_method
from krein.spectrum import rescale
from krein.transform import Transform

__all__ = ["SparseTransform", "fit_transform"]

_ROWS = 512


def fit_transform(
    K: Array | SparseSimilarity,
    method: str | Method | Callable[[Array], Array],
    *,
    t: float = 1.0,
    weight: Array | None = None,
) -> Transform | SparseTransform:
    """Fit a method on a similarity, sparse or not; a dense form only where it fits."""
    if not isinstance(K, SparseSimilarity):
        return Transform.fit(K, method, t=t, weight=weight)
    record = as_method(method)
    if record.on_positive is None and record.needs == "spectrum":
        dense = K.toarray(f"method {record.name!r} needs all eigenvalues")
        return Transform.fit(dense, record, t=t, weight=weight)
    return SparseTransform.fit(K, record, t=t, weight=weight)


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
            part = K.negative_part(weight)
            eta = part.eps - float(part.eigenvalues.min(initial=0.0))
            return cls(K, (a, b), None, none, none, eta, weight, bool(part.proven))
        trial = np.array([-2.0, -1.0])
        target, gain = record.apply(trial, 0.0, t)
        if np.array_equal(target, a * trial + b * trial**2):
            psd = bool(record.psd)
            return cls(K, (a, b), None, none, none, weight=weight, psd=psd)
        part = K.negative_part(weight)
        values = part.eigenvalues
        target, gain = record.apply(values, part.eps, t)
        return cls(
            K, (a, b), part,
            target - a * values - b * values**2,
            gain - a - b * values,
            weight=weight,
            psd=part.proven and bool(target.min(initial=0.0) >= 0.0),
            slack=a * part.eps,
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

    def _along(self, v: Array, factor: Array, *, invert: bool) -> Array:
        """W^(-1/2 or 1/2) N diag(factor) N' W^-1/2 v."""
        if self.part is None or not factor.size:
            return np.zeros_like(v)
        root = None if self.weight is None else np.sqrt(self.weight)
        N = self.part.eigenvectors
        inner = rescale(N.T @ rescale(v, root, invert=True), factor)
        return rescale(N @ inner, root, invert=invert)

    def kernel(self, K: SparseSimilarity | None = None) -> Array:
        """Return the transformed training similarity, dense, if it fits into memory."""
        a, b = self.slopes
        dense = self.source.toarray("a kernel machine on a sparse similarity")
        if a != 1.0:
            dense *= a
        if b:
            half = self.source.weighted_rows(self.weight)
            dense += b * (self.source.matrix @ half).toarray()
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
