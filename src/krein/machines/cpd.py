"""Problems with a c.p.d. kernel: objective, working systems, dual value.

In the coordinates of `krein.machines.cpd_space` every variant reads

    minimise over (c, b)   lam c'K c + sum_i w_i loss(y_i, f_i),   f = K c + Q b,

with K positive semidefinite (n x n), Q (n x r) a basis of the polynomials (r = 0 when
they are left out) and ``Q'c = 0``. Sums, not means; lam is the paper's lambda.

Source: Walder, Chapelle (2007), equation (14).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import expit, xlogy

from krein.arrays import Array
from krein.machines.cpd_columns import Columns
from krein.result import Certificate

# An optimum below this share of the objective at f = 0 counts as zero.
_ZERO = 1e-8
# Flat samples of the logistic loss get this curvature. Where polynomials separate the
# classes the infimum, zero, is not attained: f grows by one a step until the objective
# counts as zero to a tolerance of 1e-10, and a larger curvature would stop it earlier.
_FLATTEST = 1e-22
# Q'a = 0 to this share of sum |a|, the rounding of a solved system.
_FEASIBLE = 1e-13


@dataclass(frozen=True)
class Loss(ABC):
    """A weighted sum of losses, and what the Newton solver asks of it.

    Attributes
    ----------
    y : ndarray of shape (n,)
        Labels -1 / +1, or targets.
    weight : ndarray of shape (n,)
        Positive sample weights.
    """

    y: Array
    weight: Array

    def restrict(self, rows: np.ndarray) -> Loss:
        """Return the loss of some of the samples."""
        return replace(self, y=self.y[rows], weight=self.weight[rows])

    @abstractmethod
    def value(self, f: Array) -> float:
        """Weighted sum of the loss."""

    @abstractmethod
    def system(self, f: Array, lam: float) -> tuple[np.ndarray, Array, Array]:
        """Active samples s and the model ``(diag(shift) + K_ss) c + Q_s b = target``.

        Minimising the second-order model of the objective at f leads to this system.
        """

    @abstractmethod
    def search(self, f: Array, df: Array, linear: float, square: float) -> float:
        """Step t for ``linear t + square t^2 + value(f + t df)``."""

    @abstractmethod
    def clip(self, a: Array, lam: float) -> Array:
        """Move dual variables into the domain of the conjugate loss."""

    @abstractmethod
    def room(self, a: Array, lam: float) -> Array:
        """How far each dual variable can move and stay inside; infinite if free."""

    @abstractmethod
    def conjugate(self, a: Array, lam: float) -> float:
        """Dual part: ``conjugate - lam a'K a`` bounds the objective if ``Q'a = 0``."""


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """``sum_i w_i max(0, 1 - y_i f_i)^2`` with labels y = -1 / +1, equation (14).

    Dual value: ``2 lam y'a - lam a'K a - lam^2 sum_i a_i^2 / w_i`` for
    ``y_i a_i >= 0``, ``Q'a = 0``; at the optimum a = c and both equal lam y'a.
    """

    def value(self, f: Array) -> float:
        """Weighted sum of the loss."""
        slack = np.maximum(1.0 - self.y * f, 0.0)
        return float(self.weight @ (slack * slack))

    def system(self, f: Array, lam: float) -> tuple[np.ndarray, Array, Array]:
        """Violators, the largest violation first (they leave the set last)."""
        slack = 1.0 - self.y * f
        s = np.flatnonzero(slack > 0.0)
        s = s[np.argsort(-slack[s], kind="stable")]
        return s, lam / self.weight[s], self.y[s]

    def search(self, f: Array, df: Array, linear: float, square: float) -> float:
        """Exact: the derivative is piecewise linear and grows with t."""
        slack, slope = 1.0 - self.y * f, -self.y * df
        active = (slack > 0) | ((slack == 0) & (slope > 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            at = -slack / slope
        bends = np.flatnonzero((at > 0) & np.isfinite(at))
        bends = bends[np.argsort(at[bends])]
        # A sample leaves the sums at its bend if its slack falls, enters if it grows.
        sign = np.where(slope[bends] < 0, -1.0, 1.0) * self.weight[bends]
        w = self.weight[active]
        A = linear / 2 + w @ (slack[active] * slope[active])
        B = square + w @ slope[active] ** 2
        A = np.concatenate([[A], A + np.cumsum(sign * slack[bends] * slope[bends])])
        B = np.concatenate([[B], B + np.cumsum(sign * slope[bends] ** 2)])
        ends = np.append(at[bends], np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            roots = -A / B
        inside = np.flatnonzero(roots <= ends)
        if inside.size == 0:
            return float(ends[-2]) if bends.size else 0.0
        k = inside[0]
        start = at[bends[k - 1]] if k else 0.0
        return float(max(roots[k], start))

    def clip(self, a: Array, lam: float) -> Array:
        """Wrong signs become zero."""
        return np.where(a * self.y > 0, a, 0.0)

    def room(self, a: Array, lam: float) -> Array:
        """Distance to zero."""
        return np.abs(a)

    def conjugate(self, a: Array, lam: float) -> float:
        """Dual part of the loss."""
        u = lam * a
        return float(2 * (self.y @ u) - np.sum(u * u / self.weight))


@dataclass(frozen=True)
class Squared(Loss):
    """``sum_i w_i (y_i - f_i)^2``: the smoothing spline, Wahba (1990)."""

    def value(self, f: Array) -> float:
        """Weighted sum of the loss."""
        residual = self.y - f
        return float(self.weight @ (residual * residual))

    def system(self, f: Array, lam: float) -> tuple[np.ndarray, Array, Array]:
        """All samples; one step is exact."""
        return np.arange(self.y.size), lam / self.weight, self.y

    def search(self, f: Array, df: Array, linear: float, square: float) -> float:
        """Minimiser of a parabola."""
        curvature = square + self.weight @ (df * df)
        slope = linear / 2 - self.weight @ (df * (self.y - f))
        return float(-slope / curvature) if curvature > 0 else 1.0

    def clip(self, a: Array, lam: float) -> Array:
        """No bounds."""
        return a

    def room(self, a: Array, lam: float) -> Array:
        """No bounds."""
        return np.full_like(a, np.inf)

    def conjugate(self, a: Array, lam: float) -> float:
        """Dual part of the loss."""
        u = lam * a
        return float(2 * (self.y @ u) - np.sum(u * u / self.weight))


@dataclass(frozen=True)
class Logistic(Loss):
    """``sum_i w_i log(1 + exp(-y_i f_i))`` with labels y = -1 / +1.

    Stationarity is ``2 lam c_i = w_i y_i sigma(-y_i f_i)``; dual value
    ``-lam a'K a + sum_i w_i H(u_i)``, H the entropy, ``u_i = 2 lam y_i a_i / w_i`` in
    [0, 1].
    """

    def value(self, f: Array) -> float:
        """Weighted sum of the loss."""
        return float(self.weight @ np.logaddexp(0.0, -self.y * f))

    def system(self, f: Array, lam: float) -> tuple[np.ndarray, Array, Array]:
        """Iteratively reweighted least squares."""
        p = expit(-self.y * f)
        curvature = np.maximum(p * (1.0 - p), _FLATTEST)
        target = f + self.y * p / curvature
        return np.arange(self.y.size), 2 * lam / (self.weight * curvature), target

    def search(self, f: Array, df: Array, linear: float, square: float) -> float:
        """Halve until the objective falls enough."""
        slope = linear - self.weight @ (self.y * df * expit(-self.y * f))
        base, t = self.value(f), 1.0
        while t > 1e-10:
            change = linear * t + square * t * t + self.value(f + t * df) - base
            if change <= 1e-4 * t * slope:
                return t
            t *= 0.5
        return t

    def clip(self, a: Array, lam: float) -> Array:
        """Into the box."""
        return self.y * np.clip(self.y * a, 0.0, self.weight / (2 * lam))

    def room(self, a: Array, lam: float) -> Array:
        """Distance to the nearer bound of the box."""
        u = self.y * a
        return np.minimum(u, self.weight / (2 * lam) - u)

    def conjugate(self, a: Array, lam: float) -> float:
        """Dual part of the loss."""
        u = np.clip(2 * lam * self.y * a / self.weight, 0.0, 1.0)
        return float(-self.weight @ (xlogy(u, u) + xlogy(1 - u, 1 - u)))


LOSSES: dict[str, Callable[[Array, Array], Loss]] = {
    "squared_hinge": SquaredHinge,
    "logistic": Logistic,
    "squared": Squared,
}


@dataclass(frozen=True)
class CPDProblem:
    """One objective: kernel columns, polynomials, loss and regularisation.

    Attributes
    ----------
    columns : Columns
        The positive semidefinite kernel K by columns.
    null : ndarray of shape (n, r)
        Q, what is not regularised.
    loss : Loss
        Holds labels and weights.
    lam : float
        Regularisation.
    """

    columns: Columns
    null: Array
    loss: Loss
    lam: float

    def __post_init__(self) -> None:
        least, most = self.loss.weight.min(), self.loss.weight.max()
        with np.errstate(all="ignore"):
            ends = self.lam / most, self.lam / least
        if not np.finfo(float).tiny <= ends[0] <= ends[1] < np.inf:
            raise ValueError(
                f"alpha = {self.lam:.3g} over sample weights from {least:.3g} to "
                f"{most:.3g} leaves the range of floating-point numbers: divide the "
                "weights by their size"
            )

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.null.shape[0]

    def restrict(self, rows: np.ndarray) -> CPDProblem:
        """Return the problem of some of the samples, lam in proportion.

        Its solution then resembles that of the whole.
        """
        loss = self.loss.restrict(rows)
        share = float(loss.weight.sum() / self.loss.weight.sum())
        return CPDProblem(
            self.columns.restrict(rows), self.null[rows], loss, share * self.lam
        )

    def outputs(self, c: Array, b: Array) -> Array:
        """Return f = K c + Q b."""
        s = np.flatnonzero(c)
        return self.columns.product(s, c[s]) + self.null @ b

    def value(self, c: Array, b: Array, f: Array) -> float:
        """Objective at (c, b) with outputs f."""
        return self.lam * float(c @ (f - self.null @ b)) + self.loss.value(f)

    def dual(self, a: Array, s: np.ndarray, energy: Callable[[Array], float]) -> float:
        """Dual value near `a` (on samples s): a lower bound of the optimum.

        Parameters
        ----------
        a : ndarray of shape (len(s),)
            Signed dual variables, zero elsewhere.
        s : ndarray of int
            Their samples.
        energy : callable
            ``energy(a) = a'K_ss a``.
        """
        loss = self.loss.restrict(s)
        inside = self._feasible(loss, a, self.null[s])
        if inside is None:
            return 0.0  # every loss is non-negative
        return loss.conjugate(inside, self.lam) - self.lam * energy(inside)

    def _feasible(self, loss: Loss, a: Array, Q: Array) -> Array | None:
        """Dual variables near `a` in the domain of the loss, with ``Q'a = 0``.

        The constraint is repaired by moving each variable in proportion to its room;
        None if one would leave its domain.
        """
        a = loss.clip(a, self.lam)
        size = float(np.abs(a).sum())
        for _ in range(2):
            excess = Q.T @ a
            if np.abs(excess).max(initial=0.0) <= _FEASIBLE * size:
                return a
            room = np.minimum(loss.room(a, self.lam), size)
            share = Q @ (np.linalg.pinv((Q.T * room) @ Q, hermitian=True) @ excess)
            a = a - room * share
            if np.abs(share).max() > 1.0:
                return None
        return a if np.abs(Q.T @ a).max() <= 10 * _FEASIBLE * size else None

    @cached_property
    def _zero(self) -> float:
        return _ZERO * self.loss.value(np.zeros(self.n))

    def unit(self, value: float) -> float:
        """What a gap is measured by: the objective, unless the optimum is zero."""
        return max(value, self._zero, 1e-300)

    def certificate(self, value: float, bound: float) -> Certificate:
        """Certify by a gap."""
        gap = max(0.0, value - bound)
        return Certificate("gap", gap, gap / self.unit(value))
