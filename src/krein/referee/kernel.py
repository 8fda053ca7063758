"""The kernel that a fix of the spectrum trains on, and its map to the raw kernel.

With ``R = W^1/2``, W the weights, and ``R K R = U diag(l) U'`` a fix with target f and
gain g trains on

    K~ = R^-1 U diag(f(l)) U' R^-1

and predicts with ``c = R U diag(g(l)) U' R^-1 v``, where g = f / l, and 0 where l is
zero: then K c equals K~ v on the training items. Clip and flip: Chen, Garcia, Gupta,
Rahimi, Cazzanti (2009), section 4; flip and its map are the Krein SVM of Loosli, Canu,
Ong (2016), equation 22. f and g are those of the fix's record (`krein.spectrum.fixes`),
which is its definition; whether K~ is positive semidefinite is seen from f(l).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.linalg.blas import dnrm2 as norm  # it neither overflows nor underflows
from scipy.sparse.linalg import LinearOperator, eigsh

from krein.referee.box import Kernel
from krein.referee.claims import faults_of
from krein.referee.digits import EPS, Array, Eigenpairs, Wide, root, wide
from krein.referee.fitted import Fitted, Outputs, Row
from krein.spectrum.fixes import FIXES, Fix, as_fix

_REFINED = 500  # items; eigenpairs of larger matrices keep 16 digits
_DECOMPOSED = 2000  # items; larger matrices are multiplied where the fix allows it
_MAP = 4  # times the rounding of a decomposition
_MULTIPLIED = ("none", "shift", "square", "clip", "flip", "krein")


def is_psd(eigenvalues: Array) -> bool:
    """Whether no eigenvalue is negative beyond rounding, which is n eps max|l|.

    A symmetric matrix whose entries are off in their last digit has eigenvalues that
    are off by up to that (Weyl's inequality, with ``|E| <= n max|E_ij|``).
    """
    return float(eigenvalues.min(initial=0.0)) >= -zero(eigenvalues)


def zero(eigenvalues: Array) -> float:
    """Size up to which an eigenvalue counts as zero: n eps max|l|."""
    return eigenvalues.size * EPS * float(np.abs(eigenvalues).max(initial=0.0))


class FixedKernel(Protocol):
    """K~ and its map, found by eigenpairs or by products alone.

    Attributes
    ----------
    raw : bool
        Coefficients are not mapped: c = v.
    convex : bool
        K~ is positive semidefinite to rounding.
    size : float
        What rounding of R K~ R in doubles refers to.
    smallest : float
        Smallest eigenvalue of R K R.
    """

    raw: bool
    convex: bool
    size: float

    @property
    def smallest(self) -> float:
        """Smallest eigenvalue of R K R."""

    def readings(self, v: Array, c: Array) -> list[Outputs]:
        """K~ v, for each way to read which eigenvalues are zero."""

    def primal(self) -> Kernel | None:
        """K~ as a matrix, where other primal points can be found with it."""

    def map_error(self, c: Array, v: Array) -> tuple[float, bool]:
        """How far c is from the map of v, and whether rounding explains that."""


def fixed_kernel(fitted: Fitted, method: Any) -> FixedKernel:
    """Apply a fix: by eigenpairs, or by products if there are many items.

    Products serve fixes that multiply all positive eigenvalues by one number and all
    negative ones by another, and those that need no eigenpairs.
    """
    record = as_fix(method)
    redefined = FIXES.get(record.name, record) != record  # the user's, by a known name
    if fitted.n > _DECOMPOSED and record.name in _MULTIPLIED and not redefined:
        return Multiplied(fitted, record)
    return Decomposed(fitted, weighted(fitted), record)


def weighted(fitted: Fitted) -> Wide:
    """Return R K R."""
    R = root(fitted.weight)
    return fitted.dense() * (R[:, None] * R[None, :])


def map_faults(kernel: FixedKernel, rows: list[Row]) -> list[str]:
    """Check that the coefficients c of all rows are the maps of v."""
    if kernel.raw:
        return same_faults(rows)
    faults = []
    for row in rows:
        error, fine = kernel.map_error(row.c, row.v)
        text = f"dual_coef_ is not the map of alpha_: off by {error:.3g} of its size"
        faults += faults_of((fine, text))
    return faults


def same_faults(rows: list[Row]) -> list[str]:
    """Check that the coefficients of all rows are equal on both kernels."""
    same = all(np.array_equal(row.c, row.v) for row in rows)
    return faults_of((same, "dual_coef_ is not y * alpha_"))


# ----------------------------------------------------------------------- by eigenpairs


def eigenpairs(A: Wide) -> Eigenpairs:
    """Eigenpairs with 32 digits, or with 16 where there are many items."""
    return Eigenpairs(A, len(A) <= _REFINED)


class Image(NamedTuple):
    """What a map makes of a vector, and how far doubles may be below and above."""

    coordinates: Wide
    low: Array
    high: Array


class Decomposed:
    """What a fix makes of all eigenpairs of a matrix A, which is R K R.

    Attributes
    ----------
    pairs : Eigenpairs
        Of A.
    values : ndarray of shape (n,)
        Eigenvalues as doubles.
    target, gain : ndarray of shape (n,)
        f(l) and g(l).
    """

    def __init__(
        self, fitted: Fitted, A: Wide, record: Fix, pairs: Eigenpairs | None = None
    ):
        self.fitted = fitted
        self.record = record
        self.root = root(fitted.weight)
        self.raw = record.new_rows == "raw"
        self.refined = len(A) <= _REFINED
        self.pairs = eigenpairs(A) if pairs is None else pairs
        self.values = self.pairs.values.high
        self.target, self.gain = self._applied(zero(self.values))
        largest = float(np.abs(self.values).max())
        # Largest factor of the map; 1 where it leaves nothing.
        self.steepest = float(np.abs(self.gain).max()) or 1.0
        height = float(np.abs(self.target).max())
        self.size = max(height, self.steepest * largest)
        self.smallest = float(self.values.min())
        self.convex = is_psd(self.target)

    def _applied(
        self, tolerance: float, values: Array | None = None
    ) -> tuple[Array, Array]:
        """Targets and gains of the eigenvalues, or of others near them."""
        parameter = 1.0
        if self.record.name == "diffusion" or hasattr(self.fitted.model, "t"):
            parameter = float(self.fitted.parameter("t"))
        values = self.values if values is None else values
        return self.record.apply(values, tolerance, parameter)

    def readings(self, v: Array, c: Array) -> list[Outputs]:
        """K~ v, where eigenvalues within rounding of zero are zero, or what they are.

        Rounding of the decomposition that the model was trained on may have put an
        eigenvalue near the tolerance on either side of it.
        """
        return [self._outputs(v, *either) for either in self._readings()]

    def _readings(self) -> list[tuple[Array, Array]]:
        """Targets and gains for each way to read which eigenvalues are zero."""
        edge = zero(self.values)
        found = {}
        for tolerance in (edge, 0.0, 0.5 * edge, 2.0 * edge):
            target, gain = self._applied(tolerance)
            found[target.tobytes()] = target, gain
        return list(found.values())

    def primal(self) -> Kernel | None:
        """Return K~ for other primal points; none where it is too large."""
        if not self.refined:
            return None
        R = self.root.high
        U = self.pairs.vectors.high / R[:, None]
        return Kernel((U * self.target) @ U.T, lambda d: self.outputs(d).f)

    def outputs(self, v: Array) -> Outputs:
        """K~ v."""
        return self._outputs(v, self.target, self.gain)

    def _outputs(self, v: Array, target: Array, gain: Array) -> Outputs:
        if self.record.needs == "nothing":  # K~ is K
            return self.fitted.outputs(self.fitted.K, v)
        U = self.pairs.vectors
        u = wide(v) / self.root
        along = U.T @ u
        exact, digits = self._targets(target, gain)
        f = (U @ (exact * along)) / self.root
        lost = np.abs(U.high) @ (digits * np.abs(along.high)) / self.root.high
        rounding = self.fitted.spread * self.size * norm(u.high) / self.root.high
        rounding = rounding + lost
        if not self.refined:
            lost = lost + rounding
        K = abs(self.fitted.dense())
        unsure = lost + self.fitted.unsure(K @ np.abs(v), v)
        return Outputs(f, unsure, rounding)

    def _targets(self, target: Array, gain: Array) -> tuple[Wide, Array]:
        """f(l) with 32 digits where f multiplies or shifts l, and what is lost if not.

        A record computes with doubles, and a function with a steep place, such as a
        root at 0, makes much of the rounding of l, which is n eps max|l|.
        """
        values = self.pairs.values
        if np.array_equal(target, gain * self.values) and np.all(gain == gain.round()):
            return values * gain, 0.0 * target
        if self.record.needs == "smallest":
            lowest = values[int(np.argmin(self.values))]
            if float(lowest) < 0.0:
                return values - lowest, 0.0 * target
        lost = 4 * EPS * np.abs(target)
        edge = zero(self.values)
        for moved in (self.values - edge, self.values + edge):
            other, _ = self._applied(edge, moved)
            lost = np.maximum(lost, np.abs(other - target))
        return wide(target), lost

    def map_error(self, c: Array, v: Array) -> tuple[float, bool]:
        """Compare c with the map of v along the eigenvectors, rounding counted.

        A model maps by eigenvectors of A + E, E being rounding. To first order that
        changes the map, in the eigenvectors of A, by ``E_ij (g_i - g_j) / (l_i - l_j)``
        (Daleckii and Krein, 1965).
        """
        R = self.root.high
        U = self.pairs.vectors
        length = max(norm(v / R), 1e-300)
        mapped = U.T @ (wide(c) / R / length)
        given = U.T @ (wide(v) / R / length)
        off = np.full(self.values.size, np.inf)
        for _, gain in self._readings():
            off = np.minimum(off, np.abs((mapped - gain * given).high))
        error = float(off.max()) / self.steepest
        return error, bool(np.all(off <= self._map_rounding() + 1e-300))

    def _map_rounding(self) -> Array:
        """What rounding makes of each coordinate of the map of a vector of length 1."""
        rounding = _MAP * self.fitted.spread
        largest = float(np.abs(self.values).max())
        return rounding * (largest * self._slopes() + self.steepest)

    def coordinates(self, v: Array) -> Wide:
        """R^-1 v along the eigenvectors."""
        return self.pairs.vectors.T @ (wide(v) / self.root.high)

    def image(self, v: Array) -> Image:
        """Coordinates of the map of v."""
        given = self.coordinates(v)
        length = norm(v / self.root.high)
        if self.raw:
            off = np.full(v.size, _MAP * self.fitted.spread * length)
            return Image(given, -off, off)
        others = [(gain - self.gain) * given.high for _, gain in self._readings()]
        off = self._map_rounding() * length
        low = np.min(others, axis=0) - off
        return Image(self.gain * given, low, np.max(others, axis=0) + off)

    def _slopes(self) -> Array:
        """Largest difference quotient of the gain, between each eigenvalue and others.

        Rounding may also put an eigenvalue on another side of a jump.
        """
        steps = np.abs(self.values[:, None] - self.values[None, :])
        rises = np.abs(self.gain[:, None] - self.gain[None, :])
        quotients = np.where(rises > 0.0, rises / np.maximum(steps, 1e-300), 0.0)
        slopes = quotients.max(axis=1, initial=0.0)
        edge = zero(self.values)
        for moved in (self.values - edge, self.values + edge):
            _, gain = self._applied(edge, moved)
            slopes = np.maximum(slopes, np.abs(gain - self.gain) / max(edge, 1e-300))
        return slopes


# ------------------------------------------------------------------ by products alone

_STEPS = 80  # of Lanczos' method
_WRONG_SIDE = 1e-7  # share of a vector on the wrong side of the spectrum


class Multiplied:
    """A kernel that is only multiplied: K~ v is K c, provided that c is the map of v.

    Where positive eigenvalues are multiplied by one number and negative ones by
    another, c and v determine the parts of v on either side of the spectrum, and
    Lanczos' method shows whether these are what they have to be.
    """

    def __init__(self, fitted: Fitted, record: Fix):
        self.fitted = fitted
        self.root = np.sqrt(fitted.weight)
        self.method = record.name
        self.raw = record.new_rows == "raw"
        _, gains = record.apply(np.array([-1.0, 1.0]), 0.0, 1.0)
        self.below = float(gains[0])
        self.above = float(gains[1])
        # Largest sum of magnitudes in a row of R K R, which bounds its norm.
        self.size = float((self.root * (abs(fitted.K) @ self.root)).max())
        self.convex = self.method != "none" or self.smallest >= -1e-9 * self.size

    @cached_property
    def smallest(self) -> float:
        """Smallest eigenvalue of R K R."""
        start = np.random.default_rng(0).normal(size=self.fitted.n)
        A = LinearOperator(self.fitted.K.shape, self._times, dtype=float)
        values, _ = eigsh(A, 1, which="SA", v0=start, tol=1e-10)
        return float(values[0])

    def _times(self, x: Array) -> Array:
        """R K R x."""
        return self.root * (self.fitted.K @ (self.root * np.ravel(x)))

    def readings(self, v: Array, c: Array) -> list[Outputs]:
        """K~ v, which is K c where there is a map, to the rounding of that."""
        outputs = self.fitted.outputs(self.fitted.K, c)
        f = outputs.f
        if self.method == "shift":
            f = f + (-min(0.0, self.smallest) * v) / self.fitted.weight
        height = self.size * max(abs(self.above), abs(self.below))
        if self.method == "square":
            height *= self.size
        # Of the smallest eigenvalue, and of the parts that the solver split off.
        split = 1e-11 * height * norm(v / self.root) / self.root
        rounding = outputs.rounding + split
        return [Outputs(f, outputs.unsure + rounding, rounding)]

    def primal(self) -> Kernel | None:
        """Nothing: products alone do not solve for other weights."""
        return None

    def map_error(self, c: Array, v: Array) -> tuple[float, bool]:
        """Look for parts on the wrong side of the spectrum."""
        x = c / self.root
        u = v / self.root
        if self.method == "square":
            wrong = norm(x - self._times(u))
        else:
            positive = (x - self.below * u) / (self.above - self.below)
            on_positive = self._beyond(positive, 1.0)
            on_negative = self._beyond(u - positive, -1.0)
            wrong = max(on_positive, on_negative)
        share = wrong / max(self.size * norm(u), 1e-300)
        return share, share <= _WRONG_SIDE

    def _beyond(self, x: Array, sign: float) -> float:
        """Norm of R K R x within the eigenvectors of eigenvalues of the other sign.

        By the quadrature of Lanczos' method (Golub and Welsch, 1969), to which lost
        orthogonality does no harm. Rounding that it amplifies may show after one number
        of steps, not after two.
        """
        diagonal, beside = self._lanczos(x)
        shares = []
        for steps in (_STEPS // 2, _STEPS):
            nodes, U = eigh_tridiagonal(diagonal[:steps], beside[: steps - 1])
            share = U[0] ** 2 @ np.maximum(-sign * nodes, 0.0) ** 2
            shares.append(float(share))
        return norm(x) * min(shares) ** 0.5

    def _lanczos(self, x: Array) -> tuple[list[float], list[float]]:
        """Diagonal and subdiagonal of R K R in the basis that Lanczos makes from x."""
        diagonal = []
        beside = []
        before = 0 * x
        link = 0.0
        y = x / (norm(x) or 1.0)
        for _ in range(_STEPS):
            new = self._times(y) - link * before
            diagonal.append(float(y @ new))
            new = new - diagonal[-1] * y
            link = norm(new)
            beside.append(link)
            before = y
            y = new / (link or 1.0)
        return diagonal, beside
