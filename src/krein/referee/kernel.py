"""The kernel that a spectrum method trains on, and its map to the raw kernel.

With ``R = W^1/2`` and ``R K R = U diag(l) U'`` a method trains on ``K~ = R^-1 U
diag(f(l)) U' R^-1`` and predicts with ``c = R U diag(g(l)) U' R^-1 v``, g = f / l, and
0 where l is zero to rounding: K c equals K~ v on the training items. f and g are those
of the method's record; whether K~ is positive semidefinite is seen from f(l).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from krein.methods import METHODS, SPAN, as_method
from krein.referee.evidence import EPS, Array, faults_of, norm
from krein.referee.fit import Fit

_DECOMPOSED = 2000  # items; larger matrices are multiplied where the method allows it
_MULTIPLIED = ("none", "shift", "square", "clip", "flip", "krein")
_STEPS, _WRONG_SIDE = 80, 1e-7  # of Lanczos' method; share of a vector on a wrong side


def treat(fit: Fit, method: Any) -> Any:
    """Apply a method: by eigenpairs, or by products if there are many items.

    Products serve methods that multiply all positive eigenvalues by one number and all
    negative ones by another, and those that need no eigenpairs.
    """
    record = as_method(method)
    own = METHODS.get(record.name, record) != record  # the user's, by a known name
    if fit.n > _DECOMPOSED and record.name in _MULTIPLIED and not own:
        return Multiplied(fit, record)
    d, U = np.linalg.eigh(fit.root[:, None] * fit.dense() * fit.root)
    edge = d.size * EPS * float(np.abs(d).max())
    target, gain = record.apply(d, edge, fit["t"])
    edge = SPAN * float(np.abs(d).max()) if record.name == "diffusion" else edge
    mapped = record.new_rows == "mapped"
    return Decomposed(fit, (d, U), target, gain if mapped else None, edge)


def raw_faults(c: Array, v: Array) -> list[str]:
    """Check coefficients that are those of the raw kernel."""
    return faults_of((np.array_equal(c, v), "dual_coef_ is not y * alpha_"))


class _Treated:
    """What both forms share: a check of the maps of all rows."""

    fit: Fit
    raw: bool
    mixes = False  # check one mixture of all rows, not each row
    off_map: Callable[[Array, Array], tuple[float, bool]]

    def map_faults(self, C: Array, V: Array) -> list[str]:
        """Check that the rows of C are the maps of the rows of V."""
        C, V = np.atleast_2d(C), np.atleast_2d(V)
        if self.raw:
            return raw_faults(C, V)
        if self.mixes:
            shares = np.random.default_rng(0).uniform(1.0, 2.0, len(V))
            shares /= np.maximum([norm(v / self.fit.root) for v in V], 1e-300)
            C, V = shares[None] @ C, shares[None] @ V
        found = [*map(self.off_map, C / self.fit.root, V / self.fit.root)]
        off = max(share for share, _ in found)
        text = f"dual_coef_ is not the map of alpha_: off by {off:.3g} of its size"
        return faults_of((all(fine for _, fine in found), text))


class Decomposed(_Treated):
    """A kernel known by all eigenpairs of R K R.

    Parameters
    ----------
    fit : Fit
        Raw kernel and weights.
    eigenpairs : pair of ndarray
        Of R K R.
    target : ndarray of shape (n,)
        f(l).
    gain : ndarray of shape (n,) or None
        g(l); None: new rows stay raw.
    edge : float
        Eigenvalue at which the map jumps.
    """

    def __init__(
        self, fit: Fit, eigenpairs: Any, target: Array, gain: Any, edge: float
    ):
        self.fit, self.target, self.edge, self.raw = fit, target, edge, gain is None
        self.values, self.vectors = eigenpairs
        self.gain = np.ones_like(target) if gain is None else gain
        # Largest factor of the map; 1 where it leaves nothing.
        self.steepest = float(np.abs(self.gain).max()) or 1.0
        height, moved = np.abs(target).max(), self.steepest * np.abs(self.values).max()
        self.size = float(max(height, moved))  # what rounding of R K~ R refers to
        self.smallest = float(self.values.min())
        self.convex = float(target.min()) >= -fit.spread * float(height)

    def outputs(self, v: Array, c: Array) -> tuple[Array, Array]:
        """K~ v, and what rounding can make of each entry."""
        root, u = self.fit.root, v / self.fit.root
        f = self.vectors @ (self.target * (self.vectors.T @ u)) / root
        error = 2 * self.fit.spread * self.size * norm(u) / root
        return f, error + self.fit.asymmetry * float(np.abs(v).sum())

    def off_map(self, x: Array, u: Array) -> tuple[float, bool]:
        """Compare x with the map of u, direction by direction, rounding counted.

        Rounding turns an eigenvector by its share of the distance to those that are
        mapped otherwise, which lie beyond the edge.
        """
        d, U = np.abs(self.values), self.vectors
        off, reach = np.abs(U.T @ x - self.gain * (U.T @ u)), self.steepest * norm(u)
        null, distance = d < 1e-3 * d.size * EPS * d.max(), np.abs(d - self.edge)
        distance[null] = d[~null].min(initial=d.max())
        allowed = 8 * self.fit.spread * d.max() * reach + 1e-300
        return off.max() / max(reach, 1e-300), bool(np.all(off * distance <= allowed))


class Multiplied(_Treated):
    """A kernel that is only multiplied: K~ v is K c, provided that c is the map of v.

    Where positive eigenvalues are multiplied by one number and negative ones by
    another, c and v determine the parts of v on either side of the spectrum, and
    Lanczos' method shows whether these are what they have to be.
    """

    mixes = True  # a run of Lanczos' method for each row would take long

    def __init__(self, fit: Fit, record: Any):
        self.fit, self.method, self.raw = fit, record.name, record.new_rows == "raw"
        self.below, self.above = record.apply(np.array([-1.0, 1.0]), 0.0, 1.0)[1]
        self.size = fit.size()
        self.convex = self.method != "none" or self.smallest >= -1e-9 * self.size

    @cached_property
    def smallest(self) -> float:
        """Smallest eigenvalue of R K R."""
        start = np.random.default_rng(0).normal(size=self.fit.n)
        A = LinearOperator(self.fit.K.shape, self.fit.times, dtype=float)
        return float(eigsh(A, 1, which="SA", v0=start, tol=1e-10)[0][0])

    def outputs(self, v: Array, c: Array) -> tuple[Array, Array]:
        """K~ v, which is K c where there is a map, and its rounding."""
        fit, height = self.fit, self.size * max(abs(self.above), abs(self.below))
        height *= self.size if self.method == "square" else 1.0
        shift = -min(0.0, self.smallest) if self.method == "shift" else 0.0
        error = 8 * EPS * (8 + np.sqrt(fit.n)) * (abs(fit.K) @ np.abs(c))
        error += 1e-11 * height * norm(v / fit.root) / fit.root
        error += fit.asymmetry * float(np.abs(c).sum())
        return fit.K @ c + shift * v / fit.weight, error

    def off_map(self, x: Array, u: Array) -> tuple[float, bool]:
        """Look for parts of u on the wrong side of the spectrum."""
        if self.method == "square":
            wrong = norm(x - self.fit.times(u))
        else:
            positive = (x - self.below * u) / (self.above - self.below)
            wrong = max(self._beyond(positive, 1.0), self._beyond(u - positive, -1.0))
        share = wrong / max(self.size * norm(u), 1e-300)
        return share, share <= _WRONG_SIDE

    def _beyond(self, x: Array, sign: float) -> float:
        """Norm of R K R x within the eigenvectors of eigenvalues of the other sign.

        By the quadrature of Lanczos' method, with full orthogonalisation. Rounding that
        it amplifies may show after one number of steps, not after two.
        """
        length = norm(x)
        basis, diagonal, beside = np.zeros((_STEPS, x.size)), [], []
        y = x / (length or 1.0)
        for k in range(min(_STEPS, x.size)):
            basis[k], y = y, self.fit.times(y)
            diagonal.append(float(y @ basis[k]))
            for _ in range(2):
                y = y - basis[: k + 1].T @ (basis[: k + 1] @ y)
            beside.append(float(np.linalg.norm(y)))
            if beside[-1] <= 1e-13 * self.size:
                break
            y = y / beside[-1]
        shares = []
        for k in {max(1, len(diagonal) // 2), len(diagonal)}:
            nodes, U = scipy.linalg.eigh_tridiagonal(diagonal[:k], beside[: k - 1])
            shares.append(float(U[0] ** 2 @ np.maximum(-sign * nodes, 0.0) ** 2))
        return length * min(shares) ** 0.5
