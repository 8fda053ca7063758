"""The kernel that a spectrum method trains on, and its map to the raw kernel.

With ``R = W^1/2`` and ``R K R = U diag(l) U'`` a method trains on ``K~ = R^-1 U
diag(f(l)) U' R^-1`` and predicts with ``c = R U diag(g(l)) U' R^-1 v``, g = 0 where l
is zero to rounding, so that K c equals K~ v on the training items. Small matrices are
decomposed. Large ones are only multiplied: K~ v is K c, provided that c is the map
of v. Clip, flip and the Krein SVM multiply all positive eigenvalues by one number and
all negative ones by another, so that c and v determine the parts of v on either side
of the spectrum, and Lanczos' method shows whether these are what they have to be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from krein.referee.fit import EPS, Array, Fit, norm

_DECOMPOSED = 2000  # items; larger matrices are multiplied where the method allows it
_SPAN = 1e-2  # diffusion has no map where |l| is at most this share of the largest
_STEPS, _WRONG_SIDE = 80, 1e-7  # of Lanczos' method; share of a vector on a wrong side
_POWER = re.compile(r"power\(w=([0-9.e+-]+), p=([0-9.e+-]+)\)")


@dataclass(frozen=True)
class Decomposed:
    """A kernel known by all eigenpairs.

    Attributes
    ----------
    fit : Fit
        Raw kernel and weights.
    values, vectors : ndarray
        Eigenpairs of R K R.
    target : ndarray of shape (n,)
        f(l).
    gain : ndarray of shape (n,) or None
        g(l); None: new rows stay raw.
    edge : float
        Eigenvalue at which the map jumps.
    """

    fit: Fit
    values: Array
    vectors: Array
    target: Array
    gain: Array | None
    edge: float

    @property
    def size(self) -> float:
        """Norm of R K~ R, or what rounding of R K R makes of it if that is more."""
        moved = self.steepest * np.abs(self.values).max()
        return float(max(np.abs(self.target).max(), moved))

    @property
    def steepest(self) -> float:
        """Largest factor of the map; 1 where it leaves nothing or everything."""
        return 1.0 if self.gain is None else float(np.abs(self.gain).max()) or 1.0

    @property
    def lowest(self) -> float:
        """Smallest eigenvalue trained on."""
        return float(self.target.min())

    @property
    def convex(self) -> bool:
        """Positive semidefinite to rounding."""
        return self.lowest >= -self.fit.spread * float(np.abs(self.target).max())

    def along(self, v: Array) -> Array:
        """Coordinates of R^-1 v."""
        return self.vectors.T @ (v / self.fit.root)

    def outputs(self, v: Array, c: Array) -> tuple[Array, Array]:
        """K~ v, and what rounding can make of each entry."""
        f = self.vectors @ (self.target * self.along(v)) / self.fit.root
        error = (
            2 * self.fit.spread * self.size * norm(v / self.fit.root) / self.fit.root
        )
        return f, error + 4 * EPS + self.fit.asymmetry * float(np.abs(v).sum())

    def map_faults(self, c: Array, v: Array) -> list[str]:
        """Compare c with the map of v, direction by direction, rounding counted.

        Rounding turns an eigenvector by its share of the distance to those that are
        mapped otherwise, which lie beyond the edge.
        """
        if self.gain is None:
            return raw_faults(c, v)
        d, off = np.abs(self.values), np.abs(self.along(c) - self.gain * self.along(v))
        reach = self.steepest * norm(v / self.fit.root)
        null, distance = d < 1e-3 * d.size * EPS * d.max(), np.abs(d - self.edge)
        distance[null] = d[~null].min(initial=d.max())
        allowed = 8 * self.fit.spread * d.max() * reach + 1e-300
        return _off_map(
            off.max() / max(reach, 1e-300), np.all(off * distance <= allowed)
        )


def raw_faults(c: Array, v: Array) -> list[str]:
    """Check coefficients that are those of the raw kernel."""
    return [] if np.array_equal(c, v) else ["dual_coef_ is not y * alpha_"]


def _off_map(share: float, fine: Any) -> list[str]:
    text = f"dual_coef_ is not the map of alpha_: off by {share:.3g} of its size"
    return [] if fine else [text]


@dataclass(frozen=True)
class Multiplied:
    """A kernel that is only multiplied.

    Attributes
    ----------
    fit : Fit
        Raw kernel and weights.
    method : str
        "none", "shift", "square", or "sides": positive eigenvalues are multiplied by
        `above`, negative ones by `below`.
    above, below : float
        These factors.
    """

    fit: Fit
    method: str
    above: float = 1.0
    below: float = 1.0

    def _product(self, x: Array) -> Array:
        return self.fit.root * (self.fit.K @ (self.fit.root * np.ravel(x)))

    def _extreme(self, which: str, tol: float) -> float:
        A = scipy.sparse.linalg.LinearOperator(
            self.fit.K.shape, self._product, dtype=float
        )
        start = np.random.default_rng(0).standard_normal(self.fit.n)
        options = {"v0": start, "tol": tol, "return_eigenvectors": False}
        return float(scipy.sparse.linalg.eigsh(A, 1, which=which, **options)[0])

    @cached_property
    def size(self) -> float:
        """Norm of R K R, roughly."""
        return abs(self._extreme("LM", 1e-2))

    @cached_property
    def lowest(self) -> float:
        """Smallest eigenvalue trained on; of the raw kernel for "shift"."""
        raw = self.method in ("none", "shift")
        return min(0.0, self._extreme("SA", 1e-10)) if raw else 0.0

    @property
    def convex(self) -> bool:
        """Positive semidefinite by definition, or to rounding."""
        return self.method != "none" or self.lowest >= -1e-9 * self.size

    def outputs(self, v: Array, c: Array) -> tuple[Array, Array]:
        """K~ v, which is K c where there is a map, and its rounding."""
        fit, height = self.fit, self.size * max(abs(self.above), abs(self.below))
        height *= self.size if self.method == "square" else 1.0
        f = fit.K @ c
        if self.method == "shift":
            f -= self.lowest * v / fit.weight
        error = 8 * EPS * (8 + np.sqrt(fit.n)) * (abs(fit.K) @ np.abs(c))
        error += 1e-11 * height * norm(v / fit.root) / fit.root
        return f, error + fit.asymmetry * float(np.abs(c).sum())

    def map_faults(self, c: Array, v: Array) -> list[str]:
        """Look for parts of v on the wrong side of the spectrum."""
        if self.method in ("none", "shift"):
            return raw_faults(c, v)
        x, u = c / self.fit.root, v / self.fit.root
        if self.method == "square":
            wrong = norm(x - self._product(u))
        else:
            positive = (x - self.below * u) / (self.above - self.below)
            wrong = max(self._beyond(positive, 1.0), self._beyond(u - positive, -1.0))
        share = wrong / max(self.size * norm(u), 1e-300)
        return _off_map(share, share <= _WRONG_SIDE)

    def _beyond(self, x: Array, sign: float) -> float:
        """Norm of R K R x within the eigenvectors of eigenvalues of the other sign.

        By the quadrature of Lanczos' method, with full orthogonalisation. Rounding that
        it amplifies may show after one number of steps, not after two.
        """
        length = norm(x)
        basis, diagonal, beside = np.zeros((_STEPS, x.size)), [], []
        y = x / (length or 1.0)
        for k in range(min(_STEPS, x.size)):
            basis[k], y = y, self._product(y)
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


def treat(
    fit: Fit, method: Any, penalties: Any = (1.0, 1.0), *, multiply: bool = True
) -> Any:
    """Apply a method given by name, or the user's own record or function.

    `penalties` are those of the Krein SVM, which divide a flipped spectrum.
    """
    factors = {"clip": (1.0, 0.0), "flip": (1 / penalties[0], -1 / penalties[1])}
    if multiply and fit.n > _DECOMPOSED and isinstance(method, str):
        if method in ("none", "shift", "square"):
            return Multiplied(fit, method)
        if method in factors:
            return Multiplied(fit, "sides", *factors[method])
    d, U = np.linalg.eigh(fit.root[:, None] * fit.dense() * fit.root)
    t, largest = fit["t"], float(np.abs(d).max())
    edge = d.size * EPS * largest
    raw, powers = Decomposed(fit, d, U, d, None, edge), _POWER.fullmatch(str(method))
    if not isinstance(method, str):
        return _by_record(raw, method, t)
    if method in ("none", "shift"):
        return replace(raw, target=d - min(0.0, d.min()) * (method == "shift"))
    if method == "square":
        return replace(raw, target=d * d, gain=d)
    if method == "exponential":
        return _mapped(raw, np.exp(t * d))
    if method == "diffusion":
        raw = replace(raw, edge=_SPAN * largest)
        return _mapped(raw, np.exp(t * d / (largest or 1.0)))
    below, exponent = map(float, powers.groups()) if powers else (method == "flip", 1.0)
    size = np.where(np.abs(d) > edge, np.abs(d), 0.0) ** exponent
    return _mapped(raw, size * np.where(d > 0, 1 / penalties[0], below / penalties[1]))


def _by_record(raw: Decomposed, method: Any, t: float) -> Decomposed:
    """Read a record or a function; what it does is the user's word, not krein's."""
    if not hasattr(method, "target"):
        return _mapped(raw, np.asarray(method(raw.values), dtype=float))
    target = np.asarray(method.target(raw.values, raw.edge, t), dtype=float)
    if method.gain is not None:
        gain = np.asarray(method.gain(raw.values, raw.edge, t), dtype=float)
        return replace(raw, target=target, gain=gain)
    raw = replace(raw, target=target)
    return raw if method.new_rows == "raw" else _mapped(raw, target)


def _mapped(raw: Decomposed, target: Array) -> Decomposed:
    """Divide by the eigenvalues where they are beyond the edge."""
    kept = np.abs(raw.values) > raw.edge
    gain = np.where(kept, target / np.where(kept, raw.values, 1.0), 0.0)
    return replace(raw, target=target, gain=gain)
