"""The protocol of what stands where K stands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.matrices.memory import ONE_SIDED_ABOVE
from krein.matrices.one_sided import one_sided
from krein.matrices.tiles import TiledMatrix
from krein.methods import as_method
from krein.spectrum import Spectrum, lowest_eigenvalue
from krein.store.sharing import is_sharing
from krein.transform import Transform

__all__ = ["Matrix", "TrainedKernel"]


@dataclass(frozen=True)
class TrainedKernel:
    """K~, which a machine is trained on, and the way back to the raw kernel.

    Attributes
    ----------
    psd : bool
        No eigenvalue of K~ is negative, so that a gap can be certified.
    to_raw : callable
        Turns coefficients v on K~ into those that prediction uses.
    dense : ndarray of shape (n, n) or None
        K~, where it is small enough to be formed.
    features : TiledMatrix of shape (n, r) or None
        Coordinates whose inner products are K~, where it has few.
    product : Product or None
        K~ as something that is only multiplied, where it is positive semidefinite and
        neither formed nor of few features; `norm` is then at least its largest
        eigenvalue.
    slack : float
        How far below zero an eigenvalue of K~ can be at most; counted into the gap.
    """

    psd: bool
    to_raw: Callable[[Array], Array]
    dense: Array | None = None
    features: TiledMatrix | None = None
    product: Any = None
    norm: float = 0.0
    slack: float = 0.0

    def formed(self) -> Array:
        """Return K~ itself, for machines that need its entries."""
        if self.dense is not None:
            return self.dense
        if self.product is not None:
            return self.product.kernel()
        raise ValueError("a kernel of features is not formed here")


class Matrix(ABC):
    """Raw similarities of n items, seen through few operations.

    A kind of matrix says what it can do better than by its dense form. Positions are
    arrays of integers; nothing that is returned may be changed.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(n, n)."""

    @property
    def n(self) -> int:
        """Number of items."""
        return self.shape[0]

    @property
    def vectors(self) -> Array | None:
        """The items when they are known and rows of numbers, else None."""
        return None

    @abstractmethod
    def __matmul__(self, v: Array) -> Array:
        """Product with a vector or a block of columns."""

    @abstractmethod
    def block(self, rows: Any, columns: Any) -> Array:
        """Similarities of the items `rows` to the items `columns`."""

    @abstractmethod
    def subset(self, rows: np.ndarray) -> Matrix:
        """Return the same kind of matrix for some of the items."""

    @abstractmethod
    def dense(self) -> Array:
        """Return the matrix itself."""

    def spectrum(
        self, weight: Array | None = None, rank: int | None = None
    ) -> Spectrum:
        """Eigenpairs of ``W^1/2 K W^1/2``, the `rank` largest ones if that is given."""
        if rank is None or rank >= self.shape[0]:
            return Spectrum.exact(self.dense(), weight)
        return Spectrum.truncated(self.dense(), rank, weight)

    def lowest_eigenvalue(
        self, weight: Array | None = None, atol: float = 0.0
    ) -> float:
        """Smallest eigenvalue of ``W^1/2 K W^1/2`` to `atol`; 0 if none is negative."""
        return lowest_eigenvalue(self.dense(), weight, atol=atol)

    def operand(self) -> Any:
        """Return what products and factorisations are made of."""
        return self.dense()

    def transformed(
        self, method: Any, t: float = 1.0, weight: Array | None = None
    ) -> TrainedKernel:
        """Return what a spectrum method makes of it.

        Parameters
        ----------
        method : str, Method or callable
            As in `krein.methods.as_method`.
        t : float
            Parameter of the method.
        weight : ndarray of shape (n,), optional
            Sample weights.
        """
        K, record = self.dense(), as_method(method)
        if record.is_one_sided and self.n > ONE_SIDED_ABOVE and not is_sharing():
            part = one_sided(K, record, t=t, weight=weight)
            if part is not None:
                return TrainedKernel(part.psd, part.coef, part.kernel, slack=part.slack)
        transform = Transform.fit(K, record, t=t, weight=weight)
        return TrainedKernel(transform.psd, transform.coef, transform.kernel(K))

    # ------------------------------------------------------------------- prediction

    def seen(self, rows: np.ndarray, by: np.ndarray) -> Array:
        """Similarities of the items `rows` that a model of the items `by` asks for."""
        return self.block(rows, by)

    def to_raw(self, coef: Array) -> Array:
        """Turn coefficients on all items into those that prediction uses."""
        return coef
