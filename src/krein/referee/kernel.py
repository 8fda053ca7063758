"""The kernel that a spectrum method trains on, and its map to the raw kernel.

With ``R = W^1/2`` and ``R K R = U diag(l) U'`` a method trains on ``K~ = R^-1 U
diag(f(l)) U' R^-1`` and predicts with ``c = R U diag(g(l)) U' R^-1 v``, g = f / l, and
0 where l is zero to rounding: K c equals K~ v on the training items. f and g are those
of the method's record; whether K~ is positive semidefinite is seen from f(l).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.linalg.blas import dnrm2 as norm  # it neither overflows nor underflows
from scipy.sparse.linalg import LinearOperator, eigsh

from krein.referee.evidence import EPS, Array
from krein.referee.fit import Fit, Row
from krein.referee.report import faults_of
from krein.spectrum.fixes import FIXES, SPAN, Fix, as_fix

_DECOMPOSED = 2000  # items; larger matrices are multiplied where the method allows it
_MULTIPLIED = ("none", "shift", "square", "clip", "flip", "krein")
_STEPS, _WRONG_SIDE = 80, 1e-7  # of Lanczos' method; share of a vector on a wrong side


def treat(fit: Fit, method: Any) -> Any:
    """Apply a method: by eigenpairs, or by products if there are many items.

    Products serve methods that multiply all positive eigenvalues by one number and all
    negative ones by another, and those that need no eigenpairs.
    """
    record = as_fix(method)
    own = FIXES.get(record.name, record) != record  # the user's, by a known name
    if fit.n > _DECOMPOSED and record.name in _MULTIPLIED and not own:
        return Multiplied(fit, record)
    return Decomposed(fit, fit.scaled(), record)


def map_faults(treated: Any, rows: list[Row]) -> list[str]:
    """Check that the coefficients c of all rows are the maps of v.

    Without a kernel that maps, they have to be equal.
    """
    V, C = np.array([row.v for row in rows]), np.array([row.c for row in rows])
    if treated is None or treated.raw:
        return faults_of((np.array_equal(C, V), "dual_coef_ is not y * alpha_"))
    root = treated.fit.root
    sizes = root * np.maximum([[norm(v / root)] for v in V], 1e-300)
    off, fine = treated.off_map(C / sizes, V / sizes)
    text = f"dual_coef_ is not the map of alpha_: off by {off:.3g} of its size"
    return faults_of((fine, text))


class Decomposed:
    """What a method makes of all eigenpairs of A, which is R K R.

    Attributes
    ----------
    values, vectors : ndarray
        The eigenpairs.
    target, gain : ndarray of shape (n,)
        f(l) and g(l).
    raw : bool
        New rows stay as they are.
    size : float
        What rounding of R K~ R refers to.
    smallest : float
        Eigenvalue of A.
    convex : bool
        No target is negative.
    """

    def __init__(self, fit: Fit, A: Array, record: Fix):
        self.fit, self.raw = fit, record.new_rows == "raw"
        self.values, self.vectors = d, _ = np.linalg.eigh(A)
        largest = float(np.abs(d).max())
        self.edge = d.size * EPS * largest  # where the map jumps
        self.target, self.gain = record.apply(d, self.edge, fit["t"])
        if record.name == "diffusion":
            self.edge = SPAN * largest
        # Largest factor of the map; 1 where it leaves nothing.
        self.steepest = float(np.abs(self.gain).max()) or 1.0
        height = float(np.abs(self.target).max())
        self.size, self.smallest = max(height, self.steepest * largest), float(d.min())
        self.convex = float(self.target.min()) >= -fit.spread * height

    def outputs(self, v: Array, c: Array) -> tuple[Array, Array]:
        """K~ v, and what rounding can make of each entry."""
        root, u = self.fit.root, v / self.fit.root
        f = self.vectors @ (self.target * (self.vectors.T @ u)) / root
        error = 2 * self.fit.spread * self.size * norm(u) / root
        return f, error + self.fit.asymmetry * float(np.abs(v).sum())

    def off_map(self, X: Array, V: Array) -> tuple[float, bool]:
        """Compare X with the map of rows V of length 1, rounding counted.

        Rounding turns an eigenvector by its share of the distance to those that are
        mapped otherwise, which lie beyond the edge.
        """
        d, U = np.abs(self.values), self.vectors
        off = np.abs(X @ U - self.gain * (V @ U))
        null, distance = d < 1e-3 * d.size * EPS * d.max(), np.abs(d - self.edge)
        distance[null] = d[~null].min(initial=d.max())
        allowed = 8 * self.fit.spread * d.max() * self.steepest + 1e-300
        return off.max() / self.steepest, bool(np.all(off * distance <= allowed))


class Multiplied:
    """A kernel that is only multiplied: K~ v is K c, provided that c is the map of v.

    Where positive eigenvalues are multiplied by one number and negative ones by
    another, c and v determine the parts of v on either side of the spectrum, and
    Lanczos' method shows whether these are what they have to be.
    """

    def __init__(self, fit: Fit, record: Fix):
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
        f, error = fit.product(fit.K, c)
        error += 1e-11 * height * norm(v / fit.root) / fit.root
        return f + shift * v / fit.weight, error

    def off_map(self, X: Array, V: Array) -> tuple[float, bool]:
        """Look for parts on the wrong side of the spectrum, in a mixture of rows."""
        mixture = np.random.default_rng(0).uniform(1.0, 2.0, len(V))
        x, u = mixture @ X, mixture @ V
        if self.method == "square":
            wrong = norm(x - self.fit.times(u))
        else:
            positive = (x - self.below * u) / (self.above - self.below)
            wrong = max(self._beyond(positive, 1.0), self._beyond(u - positive, -1.0))
        share = wrong / max(self.size * norm(u), 1e-300)
        return share, share <= _WRONG_SIDE

    def _beyond(self, x: Array, sign: float) -> float:
        """Norm of R K R x within the eigenvectors of eigenvalues of the other sign.

        By the quadrature of Lanczos' method, to which lost orthogonality does no harm.
        Rounding that it amplifies may show after one number of steps, not after two.
        """
        y, before, diagonal, beside = x / (norm(x) or 1.0), 0 * x, [], [0.0]
        for _ in range(_STEPS):
            new = self.fit.times(y) - beside[-1] * before
            diagonal.append(float(y @ new))
            new -= diagonal[-1] * y
            beside.append(norm(new))
            before, y = y, new / (beside[-1] or 1.0)
        shares = []
        for k in (_STEPS // 2, _STEPS):
            nodes, U = eigh_tridiagonal(diagonal[:k], beside[1:k])
            shares.append(float(U[0] ** 2 @ np.maximum(-sign * nodes, 0.0) ** 2))
        return norm(x) * min(shares) ** 0.5
