"""The feasible set of every SVM dual here: a box with one equality row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from krein.result import Array

__all__ = ["BalancedBox"]


@dataclass(frozen=True)
class BalancedBox:
    """The set Q = {a : 0 <= a_i <= upper_i, sum_i y_i a_i = balance}.

    Parameters
    ----------
    upper : ndarray of shape (n,)
        Upper bounds C_i > 0 (C times the sample weight).
    y : ndarray of shape (n,)
        Labels -1 and +1, both present.
    balance: float
        Right-hand side of the equality: 0 for a whole problem, something else for a
        block of it. The certificates (`gap`, `intercept`) are those of a whole one.
    """

    upper: Array
    y: Array
    balance: float = 0.0

    def __post_init__(self) -> None:
        if self.upper.shape != self.y.shape:
            raise ValueError(
                f"upper has shape {self.upper.shape}, y has shape {self.y.shape}; "
                "they must agree"
            )

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.y.shape[0]

    def project(self, a: Array) -> Array:
        """Nearest point of Q in the Euclidean norm, exactly, in O(n log n).

        The projection is ``clip(a - tau y, 0, upper)``; the balance
        ``y' clip(a - tau y, 0, upper)`` is piecewise linear and falls in tau, so its
        root lies between two neighbouring break points found by sorting. What
        rounding leaves of ``y'a`` when `a` is huge is then put on the free variables.
        """
        signed = self.y * a
        # Variable i moves, as tau grows, between the break points where it meets
        # its bounds: y_i a_i (value 0 for y=+1) and y_i a_i - y_i upper_i.
        other = signed - self.y * self.upper
        first, last = np.minimum(signed, other), np.maximum(signed, other)
        points = np.concatenate([first, last])
        order = np.argsort(points, kind="stable")
        slope_change = np.concatenate([-np.ones(self.n), np.ones(self.n)])[order]
        slopes = np.cumsum(slope_change)[:-1]
        points = points[order]
        # Balance left of all break points: y=+1 at the upper bound, y=-1 at 0.
        start = float(self.upper[self.y > 0].sum()) - self.balance
        balance = start + np.concatenate([[0.0], np.cumsum(slopes * np.diff(points))])
        k = int(np.searchsorted(-balance, 0.0))
        if k == 0:
            tau = points[0]
        elif k >= points.size:
            tau = points[-1]
        elif slopes[k - 1] == 0.0:
            tau = points[k]
        else:
            tau = points[k - 1] - balance[k - 1] / slopes[k - 1]
        return self.rebalance(np.clip(a - tau * self.y, 0.0, self.upper))

    def rebalance(self, a: Array) -> Array:
        """Remove the rounding error of ``y'a`` on the variables with most room."""
        for _ in range(3):
            excess = float(self.y @ a) - self.balance
            if abs(excess) <= 1e-15 * float(a.sum()) + 1e-300:
                break
            down = (self.y > 0) == (excess > 0)  # lowering these lowers |excess|
            room = np.where(down, a, self.upper - a)
            room[(a <= 0) | (a >= self.upper)] = 0.0
            total = float(room.sum())
            if total <= 0.0:
                room = np.where(down, a, self.upper - a)
                total = float(room.sum())
            if total <= 0.0:
                break
            step = min(1.0, abs(excess) / total) * room
            a = np.clip(np.where(down, a - step, a + step), 0.0, self.upper)
        return a

    def maximise(self, gradient: Array) -> tuple[Array, float]:
        """Return the vertex b of Q that maximises ``gradient'b``, and the multiplier.

        With the multiplier tau, ``max_b gradient'b = sum_i upper_i max(0, g_i - tau
        y_i)``; tau is the y_i g_i (ascending) at which the cumulative bound reaches
        the total bound of the positive class.
        """
        signed = self.y * gradient
        order = np.argsort(signed, kind="stable")
        reached = np.cumsum(self.upper[order])
        target = float(self.upper[self.y > 0].sum()) - self.balance
        k = int(np.searchsorted(reached, target * (1 - 1e-15)))
        k = min(k, self.n - 1)
        tau = float(signed[order[k]])
        b = np.where(gradient > tau * self.y, self.upper, 0.0)
        pivot = order[k]
        b[pivot] = 0.0
        missing = self.balance - float(self.y @ b)
        b[pivot] = np.clip(self.y[pivot] * missing, 0.0, self.upper[pivot])
        return self.rebalance(b), tau

    def gap(self, a: Array, gradient: Array) -> float:
        """Return ``max over b in Q of gradient'(b - a)``, a bound for concave f.

        For a concave f with this gradient at `a`, f* - f(a) is at most this number;
        for an SVM it is the primal-dual gap at the best intercept.
        """
        _, tau = self.maximise(gradient)
        reduced = gradient - tau * self.y
        best = float(self.upper @ np.maximum(reduced, 0.0))
        # y'a = 0, so gradient'a = reduced'a; the latter cancels less.
        return max(0.0, best - float(reduced @ a))

    def violation(self, a: Array, gradient: Array) -> float:
        """Maximal violating pair of the KKT conditions (Keerthi et al., 2001).

        ``max_{I_up} y_i g_i - min_{I_low} y_i g_i`` for maximisation; not positive
        exactly at a KKT point, also when the problem is not concave.
        """
        slack = 1e-12 * self.upper
        can_grow, can_fall = a < self.upper - slack, a > slack
        positive = self.y > 0
        up = np.where(positive, can_grow, can_fall)
        low = np.where(positive, can_fall, can_grow)
        signed = self.y * gradient
        if not up.any() or not low.any():
            return 0.0
        return max(0.0, float(signed[up].max() - signed[low].min()))

    def intercept(self, a: Array, outputs: Array) -> float:
        """Intercept b for decision values ``outputs + b``.

        Mean over free variables (0 < a_i < upper_i) of y_i - outputs_i; without free
        ones the mid-point of the interval the KKT conditions leave.
        """
        slack = 1e-8 * self.upper
        free = (a > slack) & (a < self.upper - slack)
        residual = self.y - outputs
        if free.any():
            return float(residual[free].mean())
        at_zero = a <= slack
        positive = self.y > 0
        # y_i (f_i + b) >= 1 at 0 and <= 1 at the bound.
        below = residual[at_zero == positive]
        above = residual[at_zero != positive]
        lower = float(below.max()) if below.size else float(above.min())
        upper = float(above.min()) if above.size else lower
        return 0.5 * (lower + upper)

    def contains(self, a: Array, tol: float = 1e-10) -> bool:
        """True if `a` is feasible to the relative tolerance."""
        scale = float(self.upper.max())
        inside = bool(
            np.all(a >= -tol * scale) and np.all(a <= self.upper + tol * scale)
        )
        excess = abs(float(self.y @ a) - self.balance)
        return inside and excess <= tol * max(float(a.sum()), scale)
