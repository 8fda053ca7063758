"""A spectrum method fitted on training data: one linear map for all new rows.

Conventions. ``K0`` is the raw training similarity (n x n, symmetric), ``W`` the
diagonal matrix of sample weights (identity when there are none) and
``W^1/2 K0 W^1/2 = V diag(l) V'``. A method with target f and gain g replaces K0 by

    K~ = W^-1/2 V diag(f(l)) V' W^-1/2,   P = W^1/2 V diag(g(l)) V' W^-1/2;

new rows become ``s P``, and coefficients v on K~ become ``P v`` on the raw kernel.
Where f(l) = l g(l), as for clip, flip and square, K~ = K0 P. The weights make a
weighted fit equal to a fit on repeated samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from krein.arrays import Array
from krein.methods import Method, as_method
from krein.spectrum import Spectrum, lowest_eigenvalue, rescale
from krein.store.sharing import once

__all__ = ["Transform"]


@dataclass(frozen=True)
class Transform:
    """A method and the spectrum it was fitted on; use `Transform.fit`.

    ``rows(K_new)`` gives new points their transformed similarities, ``coef(v)`` moves
    coefficients to the raw kernel; both are the same map P. Where new rows stay raw P
    is the identity: the shift is ``eta 1[x is x']``, which no new point has.

    Attributes
    ----------
    method : str
        Name of the method.
    spectrum : Spectrum or None
        None where the map is the identity.
    gain, target : ndarray of shape (r,) or None
        g(l) and f(l) per eigenvalue.
    eta : float
        What is added to the diagonal where there is no spectrum.
    weight : ndarray of shape (n,) or None
        Sample weights.
    psd : bool
        No eigenvalue of the training kernel is negative.
    """

    method: str
    spectrum: Spectrum | None
    gain: Array | None
    eta: float = 0.0
    weight: Array | None = None
    target: Array | None = None
    psd: bool = False

    @classmethod
    def fit(
        cls,
        K: Array | None,
        method: str | Method | Callable[[Array], Array],
        *,
        t: float = 1.0,
        weight: Array | None = None,
        spectrum: Spectrum | None = None,
    ) -> Transform:
        """Fit on the training similarity, or on a spectrum of it that is known."""
        if K is None and spectrum is None:
            raise ValueError("K or its spectrum is needed, got neither")
        record = as_method(method)
        psd = bool(record.psd)
        if record.needs == "nothing":
            return cls(record.name, None, None, weight=weight, psd=psd)
        if record.needs == "smallest":
            if spectrum is None and K is not None:
                eta = -lowest_eigenvalue(K, weight)
            elif spectrum is not None:
                eta = max(0.0, -float(spectrum.eigenvalues[0]))
            return cls(record.name, None, None, eta, weight, psd=psd)
        if spectrum is None and K is not None:
            spectrum = Spectrum.exact(K, weight)
        assert spectrum is not None
        target, gain = record.apply(spectrum.eigenvalues, spectrum.tolerance, t)
        psd = bool(target.min(initial=0.0) >= 0.0)
        return cls(record.name, spectrum, gain, 0.0, weight, target, psd)

    def kernel(self, K: Array) -> Array:
        """Return the transformed training similarity K~ (n x n); K where it is K."""
        if self.spectrum is not None and self.target is not None:
            spectrum, target = self.spectrum, self.target
            mapped = replace(spectrum, eigenvalues=target)
            return once(mapped.key, lambda: spectrum.mapped(target, K))
        if self.eta == 0.0:
            return K
        M = K.copy()
        M[np.diag_indices_from(M)] += (
            self.eta if self.weight is None else self.eta / self.weight
        )
        return M

    def coef(self, v: Array) -> Array:
        """P v: coefficients on the raw kernel, for a vector or a block of columns."""
        if self.spectrum is None or self.gain is None:
            return v
        root = self.spectrum.sqrt_weight
        inner = self.spectrum.eigenvectors.T @ rescale(v, root, invert=True)
        inner = rescale(inner, self.gain)
        return rescale(self.spectrum.eigenvectors @ inner, root)

    def rows(self, K_new: Array) -> Array:
        """Return ``K_new P``: what new rows of raw similarities become."""
        if self.spectrum is None or self.gain is None:
            return K_new
        root = self.spectrum.sqrt_weight
        left = K_new if root is None else K_new * root
        inner = (left @ self.spectrum.eigenvectors) * self.gain
        mapped = inner @ self.spectrum.eigenvectors.T
        return mapped if root is None else mapped / root
