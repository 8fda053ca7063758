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
from typing import NamedTuple

import numpy as np
from scipy.special import expit, rel_entr

from krein.referee.report import Evidence, Measured, faults_of

Array = np.ndarray
EPS = float(np.finfo(float).eps)
_FEASIBLE = 1e-9  # a point counts as feasible if it is to this share of its size


def norm(v: Array) -> float:
    """Euclidean norm that neither overflows nor underflows."""
    largest = float(np.abs(v).max(initial=0.0))
    return largest * float(np.linalg.norm(v / largest)) if largest > 0.0 else 0.0


class Loss(NamedTuple):
    """A loss l(z), its slope, l(z) + l*(q) - q z without cancellation, ends of q."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    young: Callable[[Array, Array], Array]
    ends: tuple[float, float]


def _over(z: Array) -> Array:
    return np.maximum(z, 0.0)


HINGE = Loss(_over, lambda z: 1.0 * (z > 0.0),
             lambda z, q: (1 - q) * _over(z) + q * _over(-z), (0.0, 1.0))  # fmt: skip
LOSSES = {
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

    def objective(self, c: Array, image: Array, f: Array, error: Array) -> Measured:
        """Return what is minimised, and its rounding; `image` is K c."""
        z = self.short(f)
        value = float(self.w @ self.loss.value(z)) + 0.5 * self.s * float(c @ image)
        slopes = self.w * (np.abs(self.loss.slope(z)) + error) + self.s * np.abs(c)
        return Measured(value, float(slopes @ error) + 64 * EPS * abs(value))

    def gap(self, a: Array, f: Array, error: Array) -> tuple[float, float]:
        """Return the sum for the nearest variables in the domain, and its rounding."""
        z, w = self.short(f), np.maximum(self.w, 1e-300)
        q = np.clip(self.s * a / w, *self.loss.ends)
        slopes = [np.abs(self.loss.slope(z + e) - q) for e in (error, -error)]
        slack = 2 * float(self.w @ (np.maximum(*slopes) * error))
        return float(self.w @ self.loss.young(z, q)), slack

    # --------------------------------------------- the hinge: 0 <= a <= w, y'a = total

    def best_gap(self, a: Array, f: Array, error: Array) -> tuple[float, float]:
        """Return the sum at the best b, a quantile, for outputs f without b."""
        kinks = self.y * self.short(f)
        order = np.argsort(kinks, kind="stable")
        share = float(self.w[self.y > 0].sum()) - self.total
        k = int(np.searchsorted(np.cumsum(self.w[order]), share))
        b = float(kinks[order[min(k, order.size - 1)]])
        error = error + 4 * EPS * (np.abs(self.target) + abs(b))
        gap, slack = self.gap(a, f + b, error)
        return gap, slack + abs(b * (float(self.y @ a) - self.total))

    def _ends(self, a: Array, f: Array, near: Array) -> tuple[float, float]:
        """Largest lower and smallest upper end that the variables leave for b."""
        kinks, plus = self.y * self.short(f), self.y > 0
        grows, falls = a < self.w - near, a > near
        at_least = kinks[np.where(plus, grows, falls)]
        at_most = kinks[np.where(plus, falls, grows)]
        return float(at_least.max(initial=-np.inf)), float(at_most.min(initial=np.inf))

    def violation(self, a: Array, f: Array) -> float:
        """Maximal violating pair (Keerthi et al., 2001)."""
        low, high = self._ends(a, f, 1e-9 * self.w)
        return max(0.0, low - high)

    def intercept_faults(
        self, b: float, a: Array, f: Array, error: Array, floor: float = -np.inf
    ) -> list[str]:
        """Check b against the interval that optimality leaves for it, above `floor`.

        Where the interval has one end only, that end is taken.
        """
        near = 1e-7 * np.minimum(self.w, float(np.abs(a).max(initial=0.0)))
        ends = [end for end in self._ends(a, f, near) if np.isfinite(end)]
        size = max(np.abs(f).max(), np.abs(self.target).max(), *np.abs(ends))
        slack = self.violation(a, f) + float(error.max()) + 1e-7 * float(size)
        low = max(min(ends, default=np.nan), floor) - slack
        high = max([*ends, floor]) + slack
        text = f"intercept_ is {b:.9g}, outside [{low:.9g}, {high:.9g}]"
        return faults_of((low <= b <= high, text))

    def infeasible(self, a: Array) -> list[str]:
        """Say where variables leave 0 <= a <= w, y'a = total."""
        outside, total = np.maximum(-a, a - self.w), self.total
        excess = abs(float(self.y @ a) - total)
        balanced = excess <= _FEASIBLE * max(float(np.abs(a).sum()), abs(total))
        return faults_of(
            (np.all(outside <= _FEASIBLE * self.w),
             f"alpha_ leaves its bounds by up to {outside.max():.3g}"),
            (balanced, f"alpha_ is not feasible: |y'a - {total:g}| = {excess:.3g}"),
        )  # fmt: skip

    def dual_evidence(
        self, a: Array, b: float, f: Array, error: Array, *, convex: bool = True,
        least: float = 0.0, floor: float = -np.inf,
    ) -> Evidence:  # fmt: skip
        """Judge variables in the box by the outputs f = K c without b, and b.

        A relative gap refers to the value of the dual, or to `least` if that is more.
        """
        value = float(self.target @ a) - 0.5 * float((self.y * a) @ f)
        slack = float(np.abs(a) @ error)
        slack += 8 * (a.size + 8) * EPS * float(np.abs(self.target) @ np.abs(a))
        kind, found = "stationarity", Measured(self.violation(a, f), 2 * error.max())
        if convex:
            gap, rounding = self.best_gap(a, f, error)
            if not a.any():  # the loss stands for the value
                least = max(least, 1e-6 * float(self.w @ np.abs(self.target)))
            unit = max(abs(value), least)
            kind, found = "gap", Measured(gap, rounding + slack, unit)
        faults = self.infeasible(a) + self.intercept_faults(b, a, f, error, floor)
        return Evidence(Measured(value, slack), kind, found, faults)
