"""Machines with a hinge: variables in a box, the best intercept, the interval for it.

    primal   minimise over v, b   v'Kv / 2 + sum_i w_i max(0, z_i) + total b
    dual     maximise over a      m'a - v'Kv / 2,   0 <= a_i <= w_i,  y'a = total

with z = m - y (f + b), f = Kv and the coefficients v = sum of y a. Sources: Cortes and
Vapnik (1995) for classification, m = 1 and w = C; Smola and Schoelkopf (2004), equation
10, for regression, which is two hinges per item, of signs +1 and -1, with m = t -
epsilon and m = -t - epsilon; Schoelkopf et al. (2001), equation 3.9 times the number of
items, for one class, y = 1 and m = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from krein.referee.claims import Evidence, Measured, faults_of
from krein.referee.digits import EPS, WIDE_EPS, Array, Wide, stacked, wide
from krein.referee.fitted import Outputs

_FEASIBLE = 1e-9  # a point counts as feasible if it is to this share of its size
_AT_BOUND = 1e-8  # variables this near to a bound, as a share of the largest, are there
# Free variables are further from their bounds than this; the second if there are none.
_FREE = (1e-6, 1e-8)
_INTERCEPT = 1e-8  # share of an intercept up to which another one is the same
_STRETCHES = 10.0 ** np.arange(-16, -4, 0.25)  # multiples of v that are tried


@dataclass(frozen=True)
class Kernel:
    """A kernel to find other primal points with.

    Attributes
    ----------
    matrix : ndarray of shape (n, n)
        Rounded to doubles.
    times : callable
        Its product with a vector, with 32 digits.
    """

    matrix: Array
    times: Callable[[Array], Wide]


@dataclass(frozen=True)
class Box:
    """A problem of the module's docstring, but for its kernel.

    Attributes
    ----------
    y : ndarray of shape (m,)
        Signs of the variables.
    target : Wide of shape (m,)
        m.
    w : ndarray of shape (m,)
        Upper bounds; 0 for items that a row does not see.
    total : float
        What ``y'a`` has to be.
    """

    y: Array
    target: Wide
    w: Array
    total: float = 0.0

    # ------------------------------------------------------------------- feasibility

    def infeasible(self, a: Array) -> list[str]:
        """Say where variables leave ``0 <= a <= w``, ``y'a = total``."""
        outside = np.maximum(-a, a - self.w)
        excess = float(self._excess(wide(a)))
        size = max(float(np.abs(a).sum()), abs(self.total))
        inside = np.all(outside <= _FEASIBLE * self.w)
        balanced = abs(excess) <= _FEASIBLE * size
        return faults_of(
            (inside and balanced,
             f"alpha_ is not feasible: bounds are left by {outside.max():.3g}, "
             f"y'a is off by {excess:.3g}"),
        )  # fmt: skip

    def _excess(self, a: Wide) -> Wide:
        return (self.y * a).sum() - self.total

    # --------------------------------------------------------------------------- gap

    def gap(
        self, a: Array, f: Wide, unsure: Array, claimed: float, kernel: Kernel | None
    ) -> Measured:
        """Duality gap of feasible variables: the least bound, or one within the claim.

        Any weights v + d are a primal point, whose objective is

            gap(d) = sum_i [(w_i - a_i) max(0, z_i) + a_i max(0, -z_i)] + d'Kd / 2,
            z = m - y (K(v + d) + b)

        above the dual at a; the sum has the terms of Fenchel and Young. d = 0 is tried
        first. Where w is large beside a, what is missing to the margin is dear: if a
        smaller bound is claimed, so are d that put the free variables on the margin,
        and small multiples of v.
        """
        inside = self._balanced(np.clip(a, 0.0, self.w))
        best = self._gap_at(inside, f, unsure, 0.0)
        for outputs, penalty in self._primal_points(inside, f, kernel):
            if best.value <= claimed:
                break
            best = min(best, self._gap_at(inside, outputs, unsure, penalty))
        return best

    def _primal_points(
        self, a: Wide, f: Wide, kernel: Kernel | None
    ) -> Iterator[tuple[Wide, Wide]]:
        """Yield outputs K(v + d) and penalties d'Kd / 2."""
        if kernel is not None:
            free = np.flatnonzero((a.high > 0.0) & (a.high < self.w))
            z = (self.target - self.y * (f + self.best_intercept(f))).high[free]
            largest = float(np.abs(z).max(initial=0.0))
            for wanted in (z, np.full(z.size, largest), z + largest):
                yield self._lifted(free, wanted, f, kernel)
        bend = (self.y * a * f).sum()
        for stretch in _STRETCHES:
            yield f + f * stretch, bend * (0.5 * stretch**2)

    def _lifted(
        self, free: Array, wanted: Array, f: Wide, kernel: Kernel
    ) -> tuple[Wide, Wide]:
        """Weights d on the free items, ``K_FF d = y wanted``: outputs and penalty."""
        n = len(kernel.matrix)
        items = free % n  # regression has two variables per item
        d = np.zeros(n)
        block = kernel.matrix[np.ix_(items, items)]
        change, *_ = np.linalg.lstsq(block, self.y[free] * wanted, rcond=1e-13)
        d[items] = change
        image = kernel.times(d)
        penalty = 0.5 * (d * image).sum()
        if f.size > n:
            image = stacked([image, image])
        return f + image, penalty

    def _balanced(self, a: Array) -> Wide:
        """Variables beside the given ones, in the box, ``y'a = total`` to 32 digits.

        Doubles leave a rest of about their last digit, which b would multiply. It is
        taken from all variables in proportion to their room. (The change of v, squared,
        belongs to the gap as well: it has no digit in common with the rest.)
        """
        excess = self._excess(wide(a))
        falling = (self.y > 0) == (excess.high > 0)
        between = np.minimum(a, self.w - a)
        one_way = np.where(falling, a, self.w - a)
        for room in (between, one_way):
            total = float(room.sum())
            if abs(float(excess)) <= total:
                return a - (self.y * room) * (excess / (total or 1.0))
        return wide(a)

    def _gap_at(self, a: Wide, f: Wide, unsure: Array, penalty: Any) -> Measured:
        b = self.best_intercept(f)
        terms = self._terms(a, f + b)
        unbalanced = (b * self._excess(a)).absolute()
        value = float(terms.sum() + penalty + unbalanced)
        return Measured(value, self._slack(a, f + b, terms, unsure))

    def _terms(self, a: Wide, f: Wide) -> Wide:
        """(w - a) max(0, z) + a max(0, -z), none of which is negative."""
        z = self.target - self.y * f
        return (self.w - a) * z.positive() + a * (-z).positive()

    def _slack(self, a: Wide, f: Wide, terms: Wide, unsure: Array) -> float:
        """What the terms can be off, if each output is by as much as it is unsure."""
        last_digits = float(np.sum(self.w * np.abs(f.high + 1.0))) * WIDE_EPS
        if not unsure.any():
            return last_digits
        above = np.abs((self._terms(a, f + unsure) - terms).high)
        below = np.abs((self._terms(a, f - unsure) - terms).high)
        return last_digits + 2.0 * float(np.maximum(above, below).sum())

    def best_intercept(self, f: Wide) -> Wide:
        """Return the b of the smallest primal value for outputs f.

        The objective is piecewise linear in b with a kink at ``y_i m_i - f_i``. Left of
        all of them it falls by the bounds of the positive signs, less the total; every
        kink that is passed takes its bound off: b is a weighted quantile of the kinks.
        """
        kinks = self.y * self.target - f
        order = np.lexsort((kinks.low, kinks.high))
        share = float(self.w[self.y > 0].sum()) - self.total
        place = int(np.searchsorted(np.cumsum(self.w[order]), share))
        return kinks[order[min(place, order.size - 1)]]

    # --------------------------------------------------------------------- intercept

    def intercept(self, a: Array, f: Wide) -> tuple[float, Array]:
        """Return the b that belongs to variables, and shares of the items in it.

        Free variables, ``0 < a_i < w_i``, have ``y_i (f_i + b) = m_i``: b is their mean
        ``y_i m_i - f_i``, weighted by the bounds, which are C times the weights.
        Without free ones ``y_i (f_i + b) >= m_i`` at 0 and ``<= m_i`` at the bound
        leave an interval (Keerthi et al., 2001, equations 4 and 5): b is its middle, or
        its end where it has one only.
        """
        wanted = (self.y * self.target - f).high
        largest = float(a.max(initial=0.0))
        most = np.minimum(self.w, largest)  # a bound may be huge beside all variables
        room = np.minimum(a, self.w - a)
        for least in _FREE:
            free = room > least * most
            if free.any():
                shares = free * (self.w / float(self.w[free].max()))
                shares = shares / float(shares.sum())
                return float(shares[free] @ wanted[free]), shares
        at_zero = a <= _AT_BOUND * most
        rising = at_zero == (self.y > 0)
        seen = self.w > 0.0
        at_least = np.where(rising & seen, wanted, -np.inf)
        at_most = np.where(~rising & seen, wanted, np.inf)
        first = int(np.argmax(at_least))
        last = int(np.argmin(at_most))
        shares = np.zeros(a.size)
        if np.isinf(at_least[first]):
            first = last
        if np.isinf(at_most[last]):
            last = first
        shares[first] += 0.5
        shares[last] += 0.5
        return float(0.5 * wanted[first] + 0.5 * wanted[last]), shares

    def intercept_faults(
        self, a: Array, b: float, outputs: Outputs, least: float = -np.inf
    ) -> list[str]:
        """Check b against the rule for it, up to what doubles make of the outputs.

        `least` is a bound that the intercept has for another reason.
        """
        own, allowed = self.settled_intercept(a, outputs, least)
        fine = abs(b - own) <= allowed
        return faults_of((fine, f"intercept_ is {b:.9g}, not {own:.9g}"))

    def settled_intercept(
        self, a: Array, outputs: Outputs, least: float = -np.inf
    ) -> tuple[float, float]:
        """Return the intercept by the rule for it, and how far doubles may be off."""
        own, shares = self.intercept(a, outputs.f)
        own = max(own, least)
        size = max(
            float(np.abs(outputs.f.high).max()),
            float(np.abs(self.target.high).max()),
            abs(own),
        )
        rounding = float(shares @ (outputs.rounding + outputs.unsure))
        if least > -np.inf or not np.any(self.w - a):
            rounding = float(np.max(outputs.rounding + outputs.unsure))
        return own, rounding + 64 * EPS * size + _INTERCEPT * abs(own)

    # --------------------------------------------------------------------- stationary

    def violation(self, a: Array, f: Wide) -> float:
        """How far the ends that variables leave for the intercept are apart.

        The maximal violating pair of Keerthi et al. (2001): 0 at a KKT point, whether
        the problem is convex or not.
        """
        kinks = self.y * self.target - f
        near = _AT_BOUND * np.minimum(self.w, float(a.max(initial=0.0)))
        grows = a < self.w - near
        falls = a > near
        positive = self.y > 0
        at_least = np.flatnonzero(np.where(positive, grows, falls))
        at_most = np.flatnonzero(np.where(positive, falls, grows))
        if at_least.size == 0 or at_most.size == 0:
            return 0.0
        lower = kinks[at_least[_last(kinks[at_least])]]
        upper = kinks[at_most[_first(kinks[at_most])]]
        return max(0.0, float(lower - upper))

    # ----------------------------------------------------------------------- evidence

    def value(self, a: Array, f: Wide) -> Wide:
        """Value of the dual, ``a'(m - y f / 2)``."""
        return (a * (self.target - 0.5 * self.y * f)).sum()

    def objective(self, a: Array, outputs: Outputs) -> Measured:
        """Value of the dual, and what doubles make of it."""
        f = outputs.f
        value = float(self.value(a, f))
        sizes = np.abs(a) * (np.abs(self.target.high) + np.abs(f.high))
        digits = float(np.abs(a) @ outputs.unsure) + 64 * EPS * float(sizes.sum())
        doubles = float(np.abs(a) @ outputs.rounding)
        return Measured(value, doubles + digits, digits=digits)

    def unit(self, a: Array, value: float, least: float = 0.0) -> float:
        """What a relative gap refers to: the value of the dual, or `least`.

        Where all variables are 0 it is a share of the losses.
        """
        if not a.any():
            least = max(least, 1e-6 * float(self.w @ np.abs(self.target.high)))
        return max(abs(value), least)

    def stationarity(self, a: Array, outputs: Outputs, faults: list[str]) -> Evidence:
        """Judge a point of a problem that may not be convex.

        The claim is a difference of numbers like m and f, which have last digits.
        """
        sizes = np.abs(self.target.high) + np.abs(outputs.f.high)
        slack = 2.0 * float((outputs.unsure + 2.0 * EPS * sizes).max())
        found = Measured(self.violation(a, outputs.f), slack)
        return Evidence(self.objective(a, outputs), "stationarity", found, faults)


def _first(x: Wide) -> int:
    return int(np.lexsort((x.low, x.high))[0])


def _last(x: Wide) -> int:
    return int(np.lexsort((x.low, x.high))[-1])


def doubled(outputs: Outputs) -> Outputs:
    """Outputs of items for the two variables that each has in regression."""
    return Outputs(
        stacked([outputs.f, outputs.f]),
        np.tile(outputs.unsure, 2),
        np.tile(outputs.rounding, 2),
    )
