"""The feasible set of every SVM dual here: a box with one equality row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from krein.arrays import Array

_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class BalancedBox:
    """The set Q = {a : 0 <= a_i <= upper_i, sum_i y_i a_i = balance}.

    Parameters
    ----------
    upper : ndarray of shape (n,)
        Upper bounds C_i > 0 (C times the sample weight).
    y : ndarray of shape (n,)
        Labels -1 and +1, both present.
    balance : float
        Right-hand side of the equality: 0 for a whole problem, something else for a
        block of it. The certificates (`gap`, `intercept`) are those of a whole one.
    """

    upper: Array
    y: Array
    balance: float = 0.0

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.y.shape[0]

    def project(self, a: Array) -> Array:
        """Nearest point of Q in the Euclidean norm, exactly, in O(n log n).

        The projection is ``clip(a - tau y, 0, upper)`` with the root tau of
        ``y' clip(a - tau y, 0, upper)``, which is piecewise linear and falls in tau.
        Newton's method on it ends after a few O(n) steps as a rule, and exactly; if
        not, the root is found by sorting the break points. What rounding leaves of
        ``y'a`` when `a` is huge is then put on the free variables.
        """
        signed = self.y * a
        low, high = self.signed_bounds
        tau = self.shift(signed)
        signed -= tau
        if abs(tau) > float(high.max()):
            # tau is rounded like the input; its last digits are found from the
            # differences, which are exact for all variables between their bounds.
            signed -= self.shift(signed)
        return self.rebalance(self.y * np.minimum(np.maximum(signed, low), high))

    @cached_property
    def signed_bounds(self) -> tuple[Array, Array]:
        """Bounds of y * a."""
        signed = self.y * self.upper
        return np.minimum(signed, 0.0), np.maximum(signed, 0.0)

    def shift(self, signed: Array, near: float = 0.0) -> float:
        """Return the tau of `project` for ``signed = y * a``, searched from `near`."""
        low, high = self.signed_bounds
        tau = self._newton_root(signed, low, high, near)
        return self._sorted_root(signed, low, high) if tau is None else tau

    def shift_by_one_step(self, signed: Array, near: float) -> float:
        """Return the tau of `project` after one step of Newton's method from `near`.

        The balance is missed by what the step moves on or off its bounds, which is
        nothing where a solution is near.
        """
        low, high = self.signed_bounds
        wanted = signed - near
        moved = np.minimum(np.maximum(wanted, low), high)
        free = np.count_nonzero(moved == wanted)
        if free == 0:
            return self.shift(signed, near)
        return near + (float(np.add.reduce(moved)) - self.balance) / free

    def _newton_root(
        self, signed: Array, low: Array, high: Array, tau: float
    ) -> float | None:
        """Root by Newton's method; None if it is not at rest after a few steps."""
        for _ in range(12):
            wanted = signed - tau
            moved = np.minimum(np.maximum(wanted, low), high)
            free = np.count_nonzero(moved == wanted)
            excess = float(np.add.reduce(moved)) - self.balance
            # Rounding of the sum, and of tau on every free variable.
            if abs(excess) <= 1e-15 * (float(self.y @ moved) + free * abs(tau)):
                return tau
            if free == 0:
                return None
            tau += excess / free
        return None

    def _sorted_root(self, signed: Array, low: Array, high: Array) -> float:
        """Root by bisection over the sorted break points, then on one linear piece.

        The balance is summed anew at every point tried: running sums of differences
        would lose it when the input is huge.
        """

        def balance(tau: float) -> float:
            moved = np.minimum(np.maximum(signed - tau, low), high)
            return float(moved.sum()) - self.balance

        points = np.sort(np.concatenate([signed - high, signed - low]))
        left, right = 0, points.size - 1
        while right - left > 1:
            middle = (left + right) // 2
            if balance(points[middle]) > 0.0:
                left = middle
            else:
                right = middle
        start, end = float(points[left]), float(points[right])
        at_start, at_end = balance(start), balance(end)
        if at_start <= 0.0:
            return start
        if at_end >= 0.0:
            return end
        return start + (end - start) * at_start / (at_start - at_end)

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

    def multiplier(self, gradient: Array) -> float:
        """Return the multiplier tau of the equality row where gradient'b is largest.

        ``max over b in Q of gradient'b = sum_i upper_i max(0, g_i - tau y_i)``; tau is
        the y_i g_i (ascending) at which the cumulative bound reaches the total bound
        of the positive class.
        """
        signed = self.y * gradient
        target = self._target
        if self._equal is not None:
            return float(np.partition(signed, self._equal)[self._equal])
        order = np.argsort(signed)
        k = np.cumsum(self.upper[order]).searchsorted(target)
        return float(signed[order[min(int(k), self.n - 1)]])

    @cached_property
    def _target(self) -> float:
        total = float(self.upper[self.y > 0].sum())
        return (total - self.balance) * (1 - 1e-15)

    @cached_property
    def _equal(self) -> int | None:
        """Place of the multiplier where bounds are equal: that of every gradient."""
        if self.upper.min() < self.upper.max():
            return None
        reached = np.cumsum(self.upper)
        return min(int(reached.searchsorted(self._target)), reached.size - 1)

    def some(self, a: Array, loose: np.ndarray) -> tuple[BalancedBox, Array]:
        """Return the box of some variables, the others as in a, and the point there."""
        rest = self.y * a
        rest[loose] = 0.0
        balance = self.balance - float(rest.sum())
        part = BalancedBox(self.upper[loose], self.y[loose], balance)
        return part, part.project(a[loose])

    def middle(self) -> Array:
        """Return a point well inside: each class in proportion to its bounds."""
        positive = self.y > 0
        most = float(self.upper[positive].sum())
        least = float(self.upper[~positive].sum())
        half = 0.5 * (max(0.0, self.balance) + min(most, least + self.balance))
        shares = half / max(most, _TINY), (half - self.balance) / max(least, _TINY)
        return self.upper * np.where(positive, *shares)

    def gap(self, a: Array, gradient: Array, error: Array | float = 0.0) -> float:
        """Return ``max over b in Q of gradient'(b - a)``, a bound for concave f.

        For a concave f with this gradient at `a`, f* - f(a) is at most this number;
        for an SVM it is the primal-dual gap at the best intercept. It is summed from
        terms that are not negative, so that nothing cancels. With `error`, a bound on
        the rounding errors of the gradient, it is a bound for every gradient that near.

        Every tau gives a bound. With errors that of the largest gradient is tried as
        well: where bounds are large beside the solution, tau is one of an interval, and
        an error at its end would cost a whole bound.
        """
        gap = self._gap_at(self.multiplier(gradient), a, gradient, error)
        if np.any(error):
            tau = self.multiplier(gradient + error)
            gap = min(gap, self._gap_at(tau, a, gradient, error))
        return gap

    def _gap_at(
        self, tau: float, a: Array, gradient: Array, error: Array | float
    ) -> float:
        reduced = gradient - tau * self.y
        grows = np.maximum(reduced + error, 0.0)
        falls = np.maximum(error - reduced, 0.0)
        with np.errstate(over="ignore"):  # infinity is a bound as well
            best = float((self.upper - a) @ grows) + float(a @ falls)
        return best + abs(tau * (float(self.y @ a) - self.balance))

    def violation(self, a: Array, gradient: Array) -> float:
        """Maximal violating pair of the KKT conditions (Keerthi et al., 2001).

        ``max_{I_up} y_i g_i - min_{I_low} y_i g_i`` for maximisation; not positive
        exactly at a KKT point, also when the problem is not concave.
        """
        slack = 1e-12 * np.minimum(self.upper, float(a.max()))
        can_grow, can_fall = a < self.upper - slack, a > slack
        positive = self.y > 0
        up = np.where(positive, can_grow, can_fall)
        low = np.where(positive, can_fall, can_grow)
        signed = self.y * gradient
        if not up.any() or not low.any():
            return 0.0
        return max(0.0, float(signed[up].max() - signed[low].min()))

    def intercept(self, a: Array, outputs: Array, margin: Array | float = 1.0) -> float:
        """Intercept b for decision values ``outputs + b``; one rule for all machines.

        Free variables (0 < a_i < upper_i) have ``y_i (outputs_i + b) = margin_i``: b is
        their mean, weighted by the bounds, which are C times the sample weights.
        Without free ones it is the mid-point of the interval the KKT conditions leave,
        or its end where it has one only. Both are the same for repeated samples.
        """
        # A bound may be huge beside all variables.
        unit = np.minimum(self.upper, float(a.max()))
        room = np.minimum(a, self.upper - a)
        residual = self.y * margin - outputs
        # Barely free variables weigh nothing in a gap, so that their outputs may be
        # anything: they count only where no others do.
        for least in (1e-6, 1e-8):
            free = room > least * unit
            if free.any():
                share = self.upper[free] / float(self.upper[free].max())
                return float(np.average(residual[free], weights=share))
        at_zero = a <= 1e-8 * unit
        positive = self.y > 0
        # y_i (f_i + b) >= margin_i at 0 and <= margin_i at the bound.
        below = residual[at_zero == positive]
        above = residual[at_zero != positive]
        lower = float(below.max()) if below.size else float(above.min())
        upper = float(above.min()) if above.size else lower
        return lower + 0.5 * (upper - lower)
