"""Losses of the problems with a c.p.d. kernel: one class each.

    minimise over (c, b)   lam c'K c + sum_i w_i loss(y_i, f_i),   f = K c + Q b

A loss says its value, its slopes, its conjugate and the domain of that. Newton steps,
line searches and the certificate need no more: with ``Q'a = 0`` and a in the domain,
``conjugate(a) - lam a'K a`` bounds the objective from below (Fenchel and Young, term by
term). `LOSSES` is what `CPDSVC(loss=...)` offers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, xlog1py, xlogy

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
    all_active: ClassVar[bool] = False  # whatever the outputs, no sample is flat

    def restrict(self, rows: np.ndarray) -> Loss:
        """Return the loss of some of the samples."""
        return replace(self, y=self.y[rows], weight=self.weight[rows])

    @abstractmethod
    def value(self, f: Array) -> float:
        """Weighted sum of the loss."""

    @abstractmethod
    def slopes(self, f: Array) -> tuple[Array, Array]:
        """First and second derivative of each sample's loss, without its weight."""

    @abstractmethod
    def most_bend(self, f: Array, error: Array) -> Array:
        """Bound each second derivative within `error` of f."""

    @abstractmethod
    def bounds(self, lam: float) -> tuple[Array, Array]:
        """Least and largest dual variables, the domain of the conjugate."""

    @abstractmethod
    def conjugate(self, a: Array, lam: float) -> float:
        """Dual part: ``conjugate - lam a'K a`` bounds the objective if ``Q'a = 0``."""

    def system(self, f: Array, lam: float) -> tuple[np.ndarray, Array, Array]:
        """Active samples s and the model ``(diag(shift) + K_ss) c + Q_s b = target``.

        Minimising the second-order model of the objective at f leads to this system.
        """
        slope, bend = self.slopes(f)
        s = np.flatnonzero(bend > 0.0)
        return s, 2 * lam / (self.weight * bend)[s], f[s] - slope[s] / bend[s]

    def search(self, f: Array, df: Array, linear: float, square: float) -> float:
        """Best t in [0, 1] for ``linear t + square t^2 + value(f + t df)``."""

        def rises(t: float) -> float:
            inner = self.weight @ (df * self.slopes(f + t * df)[0])
            return float(linear + 2 * square * t + inner)

        # Where the objective is flat to rounding the best length is any.
        if not rises(1.0) > 0.0:
            return 1.0
        return 0.0 if rises(0.0) >= 0.0 else brentq(rises, 0.0, 1.0)


@dataclass(frozen=True)
class Squared(Loss):
    """``sum_i w_i (y_i - f_i)^2``: the smoothing spline, Wahba (1990)."""

    all_active: ClassVar[bool] = True

    def value(self, f: Array) -> float:
        """Weighted sum of the loss."""
        residual = self.y - f
        return float(self.weight @ (residual * residual))

    def slopes(self, f: Array) -> tuple[Array, Array]:
        """Derivatives of a parabola: one step is exact."""
        return 2.0 * (f - self.y), np.full_like(f, 2.0)

    def most_bend(self, f: Array, error: Array) -> Array:
        """Two, everywhere."""
        return np.full_like(f, 2.0)

    def bounds(self, lam: float) -> tuple[Array, Array]:
        """No bounds."""
        return np.full_like(self.y, -np.inf), np.full_like(self.y, np.inf)

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

    all_active: ClassVar[bool] = False

    def value(self, f: Array) -> float:
        """Weighted sum of the loss."""
        slack = np.maximum(np.sign(self.y) * (self.y - f), 0.0)
        return float(self.weight @ (slack * slack))

    def slopes(self, f: Array) -> tuple[Array, Array]:
        """Those of the squared loss for violators."""
        violated = np.sign(self.y) * (self.y - f) > 0.0
        bend = np.where(violated, 2.0, 0.0)
        return bend * (f - self.y), bend

    def most_bend(self, f: Array, error: Array) -> Array:
        """Two for those that may be violators."""
        return self.slopes(f - np.sign(self.y) * error)[1]

    def bounds(self, lam: float) -> tuple[Array, Array]:
        """The sign of the label."""
        edge = np.where(self.y > 0, np.inf, -np.inf)
        return np.minimum(edge, 0.0), np.maximum(edge, 0.0)


@dataclass(frozen=True)
class Logistic(Loss):
    """``sum_i w_i log(1 + exp(-y_i f_i))`` with labels y = -1 / +1.

    Stationarity is ``2 lam c_i = w_i y_i sigma(-y_i f_i)``; dual value
    ``-lam a'K a + sum_i w_i H(u_i)``, H the entropy, ``u_i = 2 lam y_i a_i / w_i`` in
    [0, 1].
    """

    all_active: ClassVar[bool] = True

    def value(self, f: Array) -> float:
        """Weighted sum of the loss."""
        return float(self.weight @ np.logaddexp(0.0, -self.y * f))

    def slopes(self, f: Array) -> tuple[Array, Array]:
        """Iteratively reweighted least squares."""
        p = expit(-self.y * f)
        return -self.y * p, np.maximum(p * (1.0 - p), _FLATTEST)

    def most_bend(self, f: Array, error: Array) -> Array:
        """That of the least sure output."""
        least = np.maximum(np.abs(f) - error, 0.0)
        return self.slopes(least)[1]

    def bounds(self, lam: float) -> tuple[Array, Array]:
        """Between zero and the largest slope."""
        edge = self.y * self.weight / (2 * lam)
        return np.minimum(edge, 0.0), np.maximum(edge, 0.0)

    def conjugate(self, a: Array, lam: float) -> float:
        """Dual part of the loss."""
        u = np.clip(2 * lam * self.y * a / self.weight, 0.0, 1.0)
        # log(1 - u) would lose all digits of a small u.
        return float(-self.weight @ (xlogy(u, u) + xlog1py(1 - u, -u)))


LOSSES: dict[str, Callable[[Array, Array], Loss]] = {
    "squared_hinge": SquaredHinge,
    "logistic": Logistic,
    "squared": Squared,
}
