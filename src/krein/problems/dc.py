"""SVMs with a raw indefinite kernel: a dual with saddle points, a primal without end.

Dual (minimised):  a'Qa/2 - e'a,  Q = YKY,  0 <= a_i <= C w_i,  y'a = 0.
Primal (IKSVM-DC): F(b, b0) = gamma/2 b'Kb + 1/2 sum w_i max(0, 1 - y_i (Kb + b0)_i)^2.

Neither is convex. The dual lives on a compact set, so it has minima and KKT points; the
primal is unbounded below on real data too, which `PrimalDC.recession` detects.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from krein.arrays import Array
from krein.domain import BalancedBox
from krein.result import Certificate

__all__ = ["IndefiniteDual", "PrimalDC"]


@dataclass(frozen=True)
class IndefiniteDual:
    """The SVM dual on a raw kernel.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Raw similarity.
    domain : BalancedBox
        Bounds C w_i and labels.
    """

    K: Array
    domain: BalancedBox

    def gradient(self, a: Array) -> Array:
        """Return e - Qa: of the maximised form, as `BalancedBox` wants it."""
        signed = self.domain.y * a
        support = np.flatnonzero(signed)
        return 1.0 - self.domain.y * (self.K[:, support] @ signed[support])

    def value(self, a: Array, gradient: Array) -> float:
        """Return e'a - a'Qa/2, the maximised form that LIBSVM reports."""
        return 0.5 * float(a.sum() + a @ gradient)

    def certificate(self, a: Array, gradient: Array) -> Certificate:
        """Maximal violating pair (Keerthi et al., 2001): 0 exactly at KKT points."""
        violation = self.domain.violation(a, gradient)
        return Certificate("stationarity", violation, violation)


@dataclass(frozen=True)
class PrimalDC:
    """F in coordinates that make weights act as repetition.

    With b = W^1/2 x, M = W^1/2 K W^1/2 and e = sqrt(w) the objective is
    ``gamma/2 x'Mx + 1/2 sum max(0, e - y (Mx + e b0))^2``. Points are vectors (x, b0).

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Raw similarity.
    y : ndarray of shape (n,)
        Labels -1 and +1.
    gamma : float
        Penalty, 1 / C.
    weight : ndarray of shape (n,), optional
        Sample weights.
    """

    K: Array
    y: Array
    gamma: float
    weight: Array | None = None

    @cached_property
    def root(self) -> Array:
        """e, the square roots of the weights."""
        n = self.y.shape[0]
        return np.ones(n) if self.weight is None else np.sqrt(self.weight)

    @cached_property
    def M(self) -> Array:
        """The weighted kernel."""
        if self.weight is None:
            return self.K
        return self.root[:, None] * self.K * self.root

    def slack(self, point: Array) -> Array:
        """max(0, e - y (Mx + e b0))."""
        outputs = self.M @ point[:-1] + self.root * point[-1]
        return np.maximum(0.0, self.root - self.y * outputs)

    def value(self, point: Array) -> float:
        """F at (x, b0)."""
        x = point[:-1]
        quadratic = float(x @ (self.M @ x))
        return 0.5 * (self.gamma * quadratic + float(np.sum(self.slack(point) ** 2)))

    def gradient(self, point: Array) -> Array:
        """Gradient in (x, b0)."""
        pull = self.y * self.slack(point)
        x = self.M @ (self.gamma * point[:-1] - pull)
        return np.append(x, -float(self.root @ pull))

    def recession(self, point: Array) -> float:
        """Coefficient of t^2 in F(t x, t b0) for large t; negative: F is unbounded.

        It is negative whenever F is: max(0, -y f) <= max(0, e - y f).
        """
        x = point[:-1]
        image = self.M @ x
        against = np.maximum(0.0, -self.y * (image + self.root * point[-1]))
        return 0.5 * (self.gamma * float(x @ image) + float(np.sum(against**2)))

    def certificate(self, point: Array) -> Certificate:
        """Norm of the gradient; relative to that at the origin."""
        norm = float(np.linalg.norm(self.gradient(point)))
        origin = float(np.linalg.norm(self.gradient(np.zeros_like(point))))
        return Certificate("stationarity", norm, norm / max(origin, 1e-300))
