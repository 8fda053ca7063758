"""Machines in a box: one problem for classification, regression and one class.

    maximise  m'a - v'Kv / 2,   0 <= a <= u,  y'a = total,   v = y * a

Classification has m = 1, one class y = 1 and m = 0. Regression has two variables per
item, of signs +1 and -1, with m = t - eps and m = -t - eps; v is their difference. With
f = K v + b and the loss u_i max(0, m_i - y_i f_i), Fenchel and Young give

    gap = sum_i (u_i - a_i) max(0, m_i - y_i f_i) + a_i max(0, y_i f_i - m_i),

which bounds maximum minus value where K is positive semidefinite, for every b; the best
b is a weighted quantile. Where K is indefinite the maximal violating pair is measured
(Keerthi et al., 2001): by how much the optimality conditions fail to leave an interval
for b.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from krein.referee.fit import EPS, Array, Fit, norm
from krein.referee.kernel import Multiplied, treat
from krein.referee.report import Evidence

_FEASIBLE = 1e-9  # a point counts as feasible if it is to this share of its size


@dataclass(frozen=True)
class Box:
    """Signs, bounds, margins and the value of y'a."""

    y: Array
    upper: Array
    margin: Array
    total: float = 0.0

    def gap(self, a: Array, f: Array, error: Array) -> tuple[float, float]:
        """The sum of the module's docstring at the best b, and its rounding."""
        signed = self.y * self.margin - f
        order = np.argsort(signed, kind="stable")
        target = float(self.upper[self.y > 0].sum()) - self.total
        k = int(np.searchsorted(np.cumsum(self.upper[order]), target))
        b = float(signed[order[min(k, order.size - 1)]])
        short, a = self.margin - self.y * (f + b), np.clip(a, 0.0, self.upper)
        gap = (self.upper - a) @ np.maximum(short, 0.0) + a @ np.maximum(-short, 0.0)
        error = error + 4 * EPS * (np.abs(self.margin) + abs(b))
        unbalanced = abs(b * (float(self.y @ a) - self.total))
        return float(gap), 2 * float((self.upper + a) @ error) + unbalanced

    def ends(self, a: Array, f: Array, near: Array) -> tuple[float, float]:
        """Largest lower and smallest upper end that the variables leave for b."""
        signed, plus = self.y * self.margin - f, self.y > 0
        grows, falls = a < self.upper - near, a > near
        at_least = signed[np.where(plus, grows, falls)]
        at_most = signed[np.where(plus, falls, grows)]
        return float(at_least.max(initial=-np.inf)), float(at_most.min(initial=np.inf))

    def violation(self, a: Array, f: Array) -> float:
        """Maximal violating pair."""
        low, high = self.ends(a, f, 1e-9 * self.upper)
        return max(0.0, low - high)

    def intercepts(self, a: Array, f: Array, error: Array) -> tuple[float, float]:
        """Interval for b; where it has one end only, that end is taken."""
        near = 1e-7 * np.minimum(self.upper, float(np.abs(a).max(initial=0.0)))
        ends = [end for end in self.ends(a, f, near) if np.isfinite(end)]
        size = max(np.abs(f).max(), np.abs(self.margin).max(), *np.abs(ends))
        slack = self.violation(a, f) + float(error.max()) + 1e-7 * float(size)
        return min(ends, default=np.nan) - slack, max(ends, default=np.nan) + slack

    def infeasible(self, a: Array) -> list[str]:
        """Say where a point leaves 0 <= a <= upper, y'a = total."""
        faults, total = [], self.total
        outside = float(np.max(np.maximum(-a, a - self.upper) / self.upper))
        if not outside <= _FEASIBLE:
            faults.append(f"alpha_ leaves its bounds by {outside:.3g} of the bound")
        excess = abs(float(self.y @ a) - total)
        if not excess <= _FEASIBLE * max(float(np.abs(a).sum()), abs(total)):
            faults.append(f"alpha_ is not feasible: |y'a - {total:g}| = {excess:.3g}")
        return faults

    def intercept_faults(self, b: float, a: Array, f: Array, error: Array) -> list[str]:
        """Check b against the interval that the optimality conditions leave for it."""
        low, high = self.intercepts(a, f, error)
        text = f"intercept_ is {b:.9g}, outside [{low:.9g}, {high:.9g}]"
        return [] if low <= b <= high else [text]

    def evidence(self, a: Array, f: Array, error: Array, treated: Any) -> Evidence:
        """Judge a point by the outputs f = K~ v."""
        value = float(self.margin @ a) - 0.5 * float((self.y * a) @ f)
        slack = float(np.abs(a) @ error)
        slack += 8 * (a.size + 8) * EPS * float(np.abs(self.margin) @ np.abs(a))
        gap, gap_slack = self.gap(a, f, error)
        residual = self.violation(a, f), 2 * float(error.max())
        certified = (gap, gap_slack + slack) if treated.convex else None
        found = Evidence((value, slack), certified, residual, abs(value))
        found.faults += self.infeasible(a)
        if not treated.convex:
            found.notes.append(
                "the kernel trained on is indefinite (smallest eigenvalue "
                f"{treated.lowest:.3g}): other stationary points may be better"
            )
        return found


def _problems(fit: Fit) -> Iterator[tuple[Array, Box, Array]]:
    """Items, box and variables of each row."""
    if hasattr(fit.model, "classes_"):
        for row, (items, y) in enumerate(fit.signs()):
            upper, a = fit["C"] * fit.weight[items], fit.row("alpha_", row)[items]
            yield items, Box(y, upper, np.ones(y.size)), a
        return
    items, v = np.arange(fit.n), fit.coefficients()
    if hasattr(fit.model, "nu"):
        total = float(fit["nu"]) * float(fit.weight.sum())
        yield items, Box(np.ones(fit.n), fit.weight, np.zeros(fit.n), total), v
        return
    t, upper = fit.y.astype(float), np.tile(fit["C"] * fit.weight, 2)
    signs, margin = np.repeat([1.0, -1.0], fit.n), np.append(t, -t) - fit["epsilon"]
    yield items, Box(signs, upper, margin), np.maximum(signs * np.tile(v, 2), 0.0)


def judge_svm(fit: Fit) -> list[Evidence]:
    """SpectrumSVC, KreinSVC, SpectrumSVR, SpectrumOneClassSVM, and DCSVC's dual."""
    model, rows = fit.model, list(_problems(fit))
    treated, V, judged = _treated(fit), np.zeros((len(rows), fit.n)), []
    for v, (items, box, a) in zip(V, rows, strict=True):
        v[items] = (box.y * a).reshape(-1, items.size).sum(axis=0)
    faults = _map_faults(treated, model.dual_coef_[:, fit.kept], V)
    for row, (items, box, a) in enumerate(rows):
        f, error = treated.outputs(V[row], fit.row("dual_coef_", row))
        f, error = (np.tile(part[items], a.size // items.size) for part in (f, error))
        found = box.evidence(a, f, error, treated)
        found.faults += faults[row]
        if np.count_nonzero(getattr(model, "alpha_", [a])[row]) > np.count_nonzero(a):
            found.faults.append("alpha_ is not 0 on items that the row does not see")
        if hasattr(model, "nu"):
            largest = treated.size * float(np.sum(a / fit.weight))
            found.unit = max(found.unit, 0.5e-6 * box.total * largest)
            found.faults += _offset_faults(fit, box, a, f, error)
        else:
            b, loss = float(model.intercept_[row]), box.upper @ np.abs(box.margin)
            found.faults += box.intercept_faults(b, a, f, error)
            found.unit += 0.0 if a.any() else 1e-6 * float(loss)
        judged.append(found)
    return judged


def _treated(fit: Fit) -> Any:
    """Return the kernel that the machine was trained on."""
    if hasattr(fit.model, "lam_pos"):
        return treat(fit, "flip", (fit.model.lam_pos, fit.model.lam_neg))
    return treat(fit, "none" if hasattr(fit.model, "kkt_gap_") else fit["method"])


def _map_faults(treated: Any, C: Array, V: Array) -> list[list[str]]:
    """Check the maps of all rows; kernels that are multiplied only, all at once."""
    if not isinstance(treated, Multiplied) or treated.method in ("none", "shift"):
        return [treated.map_faults(c, v) for c, v in zip(C, V, strict=True)]
    sizes = np.maximum([norm(v) for v in V], 1e-300)
    mixture = np.random.default_rng(0).standard_normal(len(C)) / sizes
    return [treated.map_faults(mixture @ C, mixture @ V)] * len(C)


def _offset_faults(fit: Fit, box: Box, v: Array, f: Array, error: Array) -> list[str]:
    """Check the offset of one class: that of the optimum, or lower to respect nu."""
    c, offset = fit.row("dual_coef_"), float(fit.model.offset_)
    scores = fit.K @ c
    order = np.argsort(scores, kind="stable")
    over = scores[order][np.cumsum(fit.weight[order]) > box.total * (1 + 1e-12)]
    most = float(over.min(initial=np.inf))
    low, high = (min(-end, most) for end in box.intercepts(v, f, error)[::-1])
    slack = fit.spread * float((abs(fit.K) @ np.abs(c)).max()) + 1e-8 * abs(low)
    faults = []
    if not low - slack <= offset <= high + slack:
        faults.append(f"offset_ is {offset:.9g}, outside [{low:.9g}, {high:.9g}]")
    if not np.isclose(fit.model.intercept_[0], -offset, rtol=1e-12, atol=0.0):
        faults.append("intercept_ is not -offset_")
    return faults
