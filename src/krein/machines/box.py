"""The feasible set of every SVM dual here: a box with one equality row.

And a convex quadratic model over it, maximised by active sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dger
from scipy.linalg.lapack import dpotrf, dpotrs

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
        signed, target = self.y * gradient, self._target
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


_JUMPS = 12  # rounds in which all wrong variables change sides at once
_CLIMBS = 100  # rounds in which one more blocks the way
_ROWS = 256  # of H that are copied at once
_FEW = 1 / 16  # share of a factor's variables that may change before there is another


class QuadraticModel:
    """Maximise ``g'h - h'Hh / 2`` over 0 <= x + h <= upper, y'h = 0.

    H is owned and changed. It is positive semidefinite up to rounding; a ridge makes it
    definite. The last factor is kept: with an unchanged set a step costs O(m^2), and a
    set that differs by few variables a border of their number.
    """

    def __init__(self, H: Array, y: Array, upper: Array) -> None:
        self.H = np.ascontiguousarray(H)  # BLAS updates it in place
        self.y, self.upper = y, upper
        size = np.abs(np.diagonal(H)) if H.diagonal().any() else np.abs(H)
        self.mean = float(size.mean()) if y.size else 0.0
        self.ridge = 0.0
        self._free: np.ndarray | None = None
        self._border: Array = y
        self._index: np.ndarray | None = None  # of what `_factor` is of
        self._factor: Array = H[:0, :0]
        self._change: _Change | None = None
        self._memory = np.empty(H.size)

    def set_ridge(self, ridge: float) -> None:
        """Replace the number added to the diagonal of H."""
        if ridge != self.ridge:
            self.H[np.diag_indices_from(self.H)] += ridge - self.ridge
            self.ridge = ridge
            self._free = self._index = None

    def update(self, h: Array, change: Array) -> None:
        """Make H satisfy ``H h = change`` (BFGS), change = minus the gradient's.

        The curvature is then right along the step just taken, so that it need not be
        computed anew for the next one.
        """
        Hh = self.H @ h
        inner, bend = float(h @ Hh), float(h @ change)
        if inner <= 0.0 or bend <= 1e-3 * inner:
            return
        # H.T is H in the order of BLAS: updated in place.
        dger(1.0 / bend, change, change, a=self.H.T, overwrite_a=1)
        dger(-1.0 / inner, Hh, Hh, a=self.H.T, overwrite_a=1)
        self._free = self._index = None

    def maximise(self, x: Array, g: Array) -> Array:
        """Step h that maximises the model from x, or at least improves it.

        The gradient g of the objective at x is less the multiplier of the equality row
        times y: the first active set is read off its signs. The primal-dual method of
        Hintermueller, Ito and Kunisch (2002) changes all sets at once and ends after a
        few of them as a rule. Where it does not (curvatures that differ by many
        orders), a feasible active-set method climbs one bound at a time.
        """
        slack = 1e-9 * np.minimum(self.upper, float(x.max(initial=0.0)))
        low = (x <= slack) & (g <= 0.0)
        high = (x >= self.upper - slack) & (g >= 0.0)
        h = self._jump(x, g, low, high)
        return self._climb(x, g, low, high) if h is None else h

    def _jump(
        self, x: Array, g: Array, low: np.ndarray, high: np.ndarray
    ) -> Array | None:
        """Primal-dual active sets; None if they do not settle."""
        h = np.zeros_like(x)
        for _ in range(_JUMPS):
            free = ~(low | high)
            h[low], h[high] = -x[low], self.upper[high] - x[high]
            if not free.any():
                return None
            h, residual = self._solve_free(h, g, free)
            new_low = np.where(free, x + h < 0.0, low & (residual <= 0.0))
            new_high = np.where(free, x + h > self.upper, high & (residual >= 0.0))
            if np.array_equal(new_low, low) and np.array_equal(new_high, high):
                return h
            low, high = new_low, new_high
        return None

    def _climb(self, x: Array, g: Array, low: np.ndarray, high: np.ndarray) -> Array:
        """Feasible active sets: the model rises with every set, the box is kept."""
        h = np.zeros_like(x)
        low, high = low.copy(), high.copy()
        for _ in range(_CLIMBS):
            free = ~(low | high)
            if not free.any():
                break
            goal, residual = self._solve_free(h, g, free)
            p = goal - h
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(p < 0.0, -(x + h) / p, (self.upper - x - h) / p)
            room[(p == 0.0) | ~free] = np.inf
            first = float(room.min())
            if first < 1.0:
                h = h + max(first, 0.0) * p
                stop = room <= first * (1.0 + 1e-12)
                low |= stop & (p < 0.0)
                high |= stop & (p > 0.0)
                continue
            h = goal
            wrong = (low & (residual > 0.0)) | (high & (residual < 0.0))
            if not wrong.any():
                break
            low &= ~wrong
            high &= ~wrong
        return h

    def _solve_free(self, h: Array, g: Array, free: np.ndarray) -> tuple[Array, Array]:
        """Best step on the free variables with the others as in h; reduced gradient.

        ``H_FF h_F + mu y_F = (g - H h_fixed)_F`` and ``y'h = 0``, by bordering.
        """
        y = self.y
        new = np.where(free, 0.0, h)
        slope = g - self.H @ new if new.any() else g
        if self._free is None or not np.array_equal(free, self._free):
            self._change = self._changed(free)
            if self._change is None:
                self._factorize(free)
            self._free = free
            self._border = self._solve(y)
        solution = self._solve(slope)
        excess = float(y @ solution) + float(y @ new)
        along = float(y @ self._border)
        mu = excess / along if along > 0.0 else 0.0
        new += solution - mu * self._border
        return new, g - self.H @ new - mu * y

    def _solve(self, b: Array) -> Array:
        """Solve with H on the free variables; zero for the others."""
        assert self._index is not None
        x = np.zeros_like(b)
        part: Array = dpotrs(self._factor, b[self._index], lower=1)[0]
        if self._change is not None:
            part -= self._change.solve(part, b, x)
        x[self._index] = part
        if self._change is not None:
            x[self._change.gone] = 0.0
        return x

    def _changed(self, free: np.ndarray) -> _Change | None:
        """Border of the factor for another set; None where a new factor is better."""
        if self._index is None:
            return None
        was = np.zeros_like(free)
        was[self._index] = True
        gone, added = np.flatnonzero(was & ~free), np.flatnonzero(free & ~was)
        if gone.size + added.size > _FEW * self._index.size:
            return None
        columns = np.zeros((self._index.size, added.size + gone.size))
        columns[:, : added.size] = self.H[np.ix_(self._index, added)]
        places = np.searchsorted(self._index, gone)
        columns[places, added.size + np.arange(gone.size)] = 1.0
        solved = dpotrs(self._factor, columns, lower=1)[0]
        inner = -(columns.T @ solved)
        inner[: added.size, : added.size] += self.H[np.ix_(added, added)]
        # Definite on the variables that came, as H is, and negative on the others.
        signs = np.linalg.eigvalsh(inner) > 0.0
        if np.count_nonzero(signs) != added.size:
            return None
        return _Change(gone, added, columns, solved, inner)

    def _factorize(self, free: np.ndarray) -> None:
        index = np.flatnonzero(free)
        k = index.size
        part = self._memory[: k * k].reshape(k, k)  # fresh pages cost as much as a copy
        while True:
            for i in range(0, k, _ROWS):
                rows = self.H[index[i : i + _ROWS]]
                rows.take(index, axis=1, out=part[i : i + _ROWS], mode="clip")
            factor, info = dpotrf(part.T, lower=1, clean=0, overwrite_a=1)
            if info == 0:
                break
            self.set_ridge(max(10.0 * self.ridge, 1e-12 * self.mean, 1e-300))
        self._index, self._factor = index, factor


class _Change(NamedTuple):
    """Border of a factor of ``H_11``, for variables that are gone from it or new.

    Attributes
    ----------
    gone, added : ndarray of int
        Positions in the model.
    columns : ndarray of shape (m, k)
        W: the columns of H at those that are new, and those of the identity at those
        that are gone, whose multipliers keep them at zero.
    solved : ndarray of shape (m, k)
        ``H_11^-1 W``.
    inner : ndarray of shape (k, k)
        The Schur complement.
    """

    gone: np.ndarray
    added: np.ndarray
    columns: Array
    solved: Array
    inner: Array

    def solve(self, part: Array, b: Array, x: Array) -> Array:
        """Put the new variables into x; return what they take off the others."""
        right = -(self.columns.T @ part)
        right[: self.added.size] += b[self.added]
        found = np.linalg.solve(self.inner, right)
        x[self.added] = found[: self.added.size]
        return self.solved @ found
