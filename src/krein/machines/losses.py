"""Losses of the problems with a c.p.d. kernel: one class each.

    minimise over (c, b)   lam c'K c + sum_i w_i loss(y_i, f_i),   f = K c + Q b

A loss says its value, its conjugate (with the domain of the dual variables) and the
second-order model that a Newton step solves. The certificate needs no more: with
``Q'a = 0`` and a in the domain, ``conjugate(a) - lam a'K a`` bounds the objective from
below (Fenchel and Young, term by term). `LOSSES` is what `CPDSVC(loss=...)` offers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, xlogy

from krein.arrays import Array

# Flat samples of the logistic loss get this curvature. Where polynomials separate the
# classes the infimum, zero, is not attained: f grows by one a step until the objective
# counts as zero to a tolerance of 1e-10, and a larger curvature would stop it earlier.
_FLATTEST = 1e-22


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
class SquaredHinge(Squared):
    """``sum_i w_i max(0, 1 - y_i f_i)^2`` with labels y = -1 / +1, equation (14).

    Labels of another size stand for another margin: ``max(0, |y_i| - sign(y_i) f_i)``.
    Dual value: ``2 lam y'a - lam a'K a - lam^2 sum_i a_i^2 / w_i`` for
    ``y_i a_i >= 0``, ``Q'a = 0``; at the optimum a = c and both equal lam y'a.
    """

    def _slack(self, f: Array) -> Array:
        return np.sign(self.y) * (self.y - f)

    def value(self, f: Array) -> float:
        """Weighted sum of the loss."""
        slack = np.maximum(self._slack(f), 0.0)
        return float(self.weight @ (slack * slack))

    def system(self, f: Array, lam: float) -> tuple[np.ndarray, Array, Array]:
        """Violators, the largest violation first (they leave the set last)."""
        slack = self._slack(f)
        s = np.flatnonzero(slack > 0.0)
        s = s[np.argsort(-slack[s], kind="stable")]
        return s, lam / self.weight[s], self.y[s]

    def search(self, f: Array, df: Array, linear: float, square: float) -> float:
        """Exact: the derivative is piecewise linear and grows with t."""
        slack, slope = self._slack(f), -np.sign(self.y) * df
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
