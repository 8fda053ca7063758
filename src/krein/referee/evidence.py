"""The one sum of Fenchel and Young that certifies every machine.

    minimise  s/2 c'Kc + sum_i w_i l(z_i) + s r b,   z = m - y f,   f = K c + P b

over c with P'c = r: signs y, targets m, and a loss l of how far an output falls short.
With the variables a = y c and q = s a / w the terms of

    gap(c, b) = sum_i w_i [l(z_i) + l*(q_i) - q_i z_i]

are never negative, and their sum bounds objective minus minimum where K is positive
semidefinite on P'c = 0. Where K is indefinite it is zero at stationary points alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, rel_entr

from krein.referee.report import Evidence, Measured, faults_of

Array = np.ndarray
EPS = float(np.finfo(float).eps)
_FEASIBLE = 1e-9  # a point counts as feasible if it is to this share of its size
_FREE = 1e-8  # variables this near to a bound, as a share of the largest, are there


def measured(terms: Callable[[Array], Array], f: Array, error: Array) -> Measured:
    """Sum terms of outputs, each as far off as the error of its output can make it."""
    at = terms(f)
    off = np.maximum(np.abs(terms(f + error) - at), np.abs(terms(f - error) - at))
    rounding = 64 * EPS * float(np.abs(at).sum())
    return Measured(float(at.sum()), 2 * float(off.sum()) + rounding)


class Loss(NamedTuple):
    """A loss l(z), its slope, l(z) + l*(q) - q z without cancellation, ends of q."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    young: Callable[[Array, Array], Array]
    ends: tuple[float, float]


def _over(z: Array) -> Array:
    return np.maximum(z, 0.0)


LOSSES = {
    "hinge": Loss(_over, lambda z: 1.0 * (z > 0.0),
                  lambda z, q: (1 - q) * _over(z) + q * _over(-z), (0.0, 1.0)),
    "squared": Loss(lambda z: z**2, lambda z: 2 * z,
                    lambda z, q: (z - q / 2) ** 2, (-np.inf, np.inf)),
    "squared_hinge": Loss(lambda z: _over(z) ** 2, lambda z: 2 * _over(z),
                          lambda z, q: (_over(z) - q / 2) ** 2 + q * _over(-z),
                          (0.0, np.inf)),
    "logistic": Loss(lambda z: np.logaddexp(0.0, z), expit,
                     lambda z, q: rel_entr(q, expit(z)) + rel_entr(1 - q, expit(-z)),
                     (0.0, 1.0)),
}  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """Loss, signs, targets, weights, s and r of the module's docstring.

    With the hinge: classification has m = 1, w = C; one class y = 1, m = 0; regression
    is two hinges per item, of signs +1 and -1, with m = t - eps and m = -t - eps. Items
    that a row does not see have w = 0.
    """

    loss: Loss
    y: Array
    target: Array
    w: Array
    s: float = 1.0
    total: float = 0.0

    def short(self, f: Array) -> Array:
        """How far outputs fall short: z."""
        return self.target - self.y * f

    def residual(self, c: Array, f: Array) -> Array:
        """Return ``s c / w - y l'(z)``, zero at stationary points of a smooth loss."""
        return self.s * c / self.w - self.y * self.loss.slope(self.short(f))

    def objective(self, c: Array, f: Array, error: Array, rest: Any = 0.0) -> Measured:
        """Return what is minimised; f is K c and the rest."""

        def terms(f: Array) -> Array:
            penalty = 0.5 * self.s * c * (f - rest)
            return self.w * self.loss.value(self.short(f)) + penalty

        return measured(terms, f, error)

    def gap(self, a: Array, f: Array, error: Array) -> Measured:
        """Return the sum for the nearest variables in the domain."""
        q = np.clip(self.s * a / np.maximum(self.w, 1e-300), *self.loss.ends)
        return measured(lambda f: self.w * self.loss.young(self.short(f), q), f, error)

    # --------------------------------------------- the hinge: 0 <= a <= w, y'a = total

    def best_gap(self, a: Array, f: Array, error: Array) -> tuple[float, float]:
        """Return the sum at the best b, a quantile, for outputs f without b."""
        kinks = self.y * self.short(f)
        order = np.argsort(kinks, kind="stable")
        share = float(self.w[self.y > 0].sum()) - self.total
        k = int(np.searchsorted(np.cumsum(self.w[order]), share))
        b = float(kinks[order[min(k, order.size - 1)]])
        error = error + 4 * EPS * (np.abs(self.target) + abs(b))
        gap, slack, _ = self.gap(a, f + b, error)
        return gap, slack + abs(b * (float(self.y @ a) - self.total))

    def ends(self, a: Array, f: Array) -> tuple[float, float]:
        """Largest lower and smallest upper end that the variables leave for b."""
        kinks, plus = self.y * self.short(f), self.y > 0
        near = _FREE * np.minimum(self.w, float(np.abs(a).max(initial=0.0)))
        grows, falls = a < self.w - near, a > near
        at_least = kinks[np.where(plus, grows, falls)]
        at_most = kinks[np.where(plus, falls, grows)]
        return float(at_least.max(initial=-np.inf)), float(at_most.min(initial=np.inf))

    def infeasible(self, a: Array) -> list[str]:
        """Say where variables leave 0 <= a <= w, y'a = total."""
        outside, excess = np.maximum(-a, a - self.w), float(self.y @ a) - self.total
        size = max(float(np.abs(a).sum()), abs(self.total))
        fine = np.all(outside <= _FEASIBLE * self.w) and abs(excess) <= _FEASIBLE * size
        text = f"bounds are left by {outside.max():.3g}, y'a is off by {excess:.3g}"
        return faults_of((fine, f"alpha_ is not feasible: {text}"))

    def faults(
        self, a: Array, b: float, f: Array, error: Array, floor: float = -np.inf
    ) -> list[str]:
        """Check the variables, and b by the interval that optimality leaves for it.

        That is above `floor`; where it has one end only, that end is taken.
        """
        lower, upper = self.ends(a, f)
        ends = [end for end in (lower, upper) if np.isfinite(end)]
        size = max(np.abs(f).max(), np.abs(self.target).max(), *np.abs(ends))
        slack = max(0.0, lower - upper) + float(error.max()) + 1e-7 * float(size)
        low = max(min(ends, default=np.nan), floor) - slack
        high = max([*ends, floor]) + slack
        text = f"intercept_ is {b:.9g}, outside [{low:.9g}, {high:.9g}]"
        return self.infeasible(a) + faults_of((low <= b <= high, text))

    def evidence(
        self, a: Array, b: float, f: Array, error: Array, faults: list[str], *,
        convex: bool = True, least: float = 0.0, floor: float = -np.inf,
    ) -> Evidence:  # fmt: skip
        """Judge variables in the box by the outputs f = K c without b, and b.

        A relative gap refers to the value of the dual, or to `least` if that is more.
        """
        faults = faults + self.faults(a, b, f, error, floor)
        value = measured(lambda f: a * (self.target - 0.5 * self.y * f), f, error)
        if not convex:  # a violating pair (Keerthi et al., 2001)
            low, high = self.ends(a, f)
            found = Measured(max(0.0, low - high), 2 * float(error.max()))
            return Evidence(value, "stationarity", found, faults)
        gap, slack = self.best_gap(a, f, error)
        if not a.any():  # the loss stands for the value
            least = max(least, 1e-6 * float(self.w @ np.abs(self.target)))
        found = Measured(gap, slack + value.slack, max(abs(value.value), least))
        return Evidence(value, "gap", found, faults)
