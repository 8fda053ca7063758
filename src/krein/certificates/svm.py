"""Machines in a box: feasibility, objective, primal-dual gap, KKT violation.

Classification  max  e'a - v'Kv/2,              0 <= a <= u,  y'a = 0,   v = y * a
Regression      max  y'v - eps |v|_1 - v'Kv/2,  |v| <= u,     1'v = 0
One class       max  -v'Kv/2,                   0 <= v <= u,  1'v = nu sum w

For concave f and its gradient g at a, ``max f - f(a) <= max over b of g'(b - a)``; the
maximum of a linear function over a box with one equality row is ``min over tau of
sum_i u_i max(0, g_i - tau y_i)``, and every tau gives a valid bound. The minimum over
tau (the intercept) is a weighted quantile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from krein.certificates.report import EPS, Evidence, norm

Array = np.ndarray

__all__ = [
    "Trained",
    "classify",
    "intercept_fault",
    "linear_maximum",
    "one_class",
    "regress",
]

# A point counts as feasible if it is to this share of its size.
FEASIBLE = 1e-9


@dataclass(frozen=True)
class Trained:
    """A kernel that an SVM was trained on, and how exactly it is known.

    Attributes
    ----------
    K : ndarray of shape (n, n)
        The kernel.
    convex : bool
        Positive semidefinite by construction or to rounding.
    size : float
        Norm of W^1/2 K W^1/2: its entries are known to `size` times rounding, divided
        by the roots of the weights.
    root : ndarray of shape (n,)
        Square roots of the sample weights.
    asymmetry : float
        Of the raw kernel.
    """

    K: Array
    convex: bool
    size: float
    root: Array
    asymmetry: float

    def part(self, items: Array) -> Trained:
        """Return the kernel of some of the items."""
        K = self.K[np.ix_(items, items)]
        return replace(self, K=K, root=self.root[items])

    def outputs(self, v: Array) -> tuple[Array, Array]:
        """K v, and what rounding can make of each entry."""
        n = v.size
        spread = 8 * (n + 8) * EPS
        error = spread * self.size * norm(v / self.root) / self.root
        error = error + spread * (np.abs(self.K) @ np.abs(v)) + 4 * EPS
        return self.K @ v, error + self.asymmetry * float(np.abs(v).sum())


def quantile(points: Array, mass: Array, target: float) -> float:
    """Return the point (ascending) at which the cumulative mass reaches `target`."""
    order = np.argsort(points, kind="stable")
    reached = np.cumsum(mass[order])
    k = min(int(np.searchsorted(reached, target)), points.size - 1)
    return float(points[order[k]])


def linear_maximum(g: Array, y: Array, upper: Array) -> tuple[float, float]:
    """``max g'b`` over 0 <= b <= upper, y'b = 0, from above; and the multiplier."""
    tau = quantile(y * g, upper, float(upper[y > 0].sum()))
    return float(upper @ np.maximum(g - tau * y, 0.0)), tau


def feasibility(a: Array, y: Array, upper: Array, total: float = 0.0) -> list[str]:
    """Say where a point leaves 0 <= a <= upper, y'a = total."""
    if not np.isfinite(a).all():
        return ["alpha_ is not finite"]
    faults = []
    unit = np.where(upper > 0.0, upper, upper.max())  # 0: items of other classes
    outside = float(np.max(np.maximum(-a, a - upper) / unit))
    if outside > FEASIBLE:
        faults.append(f"alpha_ leaves its bounds by {outside:.3g} of the bound")
    excess = abs(float(y @ a) - total)
    if excess > FEASIBLE * max(float(np.abs(a).sum()), abs(total)):
        faults.append(f"alpha_ is not feasible: |y'alpha - {total:g}| = {excess:.3g}")
    return faults


def classify(trained: Trained, y: Array, upper: Array, a: Array) -> Evidence:
    """Check a classifier's alpha on the kernel it was trained on."""
    outputs, error = trained.outputs(y * a)
    g = 1.0 - y * outputs
    value = float(a.sum() - 0.5 * (y * a) @ outputs)
    slack = float(np.abs(a) @ error) + 8 * (a.size + 8) * EPS * float(np.abs(a).sum())
    best, tau = linear_maximum(g, y, upper)
    gap = max(0.0, best - float(g @ a))
    residual, residual_slack = violation(a, y, upper, g, error)
    return Evidence(
        objective=value,
        objective_slack=slack,
        gap=gap if trained.convex else None,
        gap_slack=2 * float((upper + np.abs(a)) @ error)
        + slack
        + abs(tau * float(y @ a)),
        residual=residual,
        residual_slack=residual_slack,
        unit=value,
        faults=feasibility(a, y, upper),
    )


def violation(
    a: Array, y: Array, upper: Array, g: Array, error: Array
) -> tuple[float, float]:
    """Maximal violating pair (Keerthi et al., 2001), and its rounding."""
    near = 1e-9 * upper
    grows, falls = a < upper - near, a > near
    up = np.where(y > 0, grows, falls)
    low = np.where(y > 0, falls, grows)
    if not up.any() or not low.any():
        return 0.0, 0.0
    worst = float((y * g)[up].max() - (y * g)[low].min())
    return max(0.0, worst), 2 * float(error.max())


def intercept_fault(
    b: float, a: Array, y: Array, upper: Array, outputs: Array, slack: float
) -> list[str]:
    """Check b against the interval that the optimality conditions leave for it.

    ``y_i (f_i + b)`` is at least 1 at 0, at most 1 at the bound, both if free; where
    these contradict each other by a little, the interval is between them.
    """
    near = 1e-7 * np.minimum(upper, float(np.abs(a).max(initial=0.0)))
    wanted = y - outputs
    at_least = np.where(y > 0, a < upper - near, a > near)
    at_most = np.where(y > 0, a > near, a < upper - near)
    low = float(wanted[at_least].max()) if at_least.any() else -np.inf
    high = float(wanted[at_most].min()) if at_most.any() else np.inf
    low, high = min(low, high), max(low, high)
    slack = slack + 1e-7 * max(1.0, float(np.abs(outputs).max(initial=0.0)))
    if low - slack <= b <= high + slack:
        return []
    return [f"intercept_ is {b:.9g}, outside [{low:.9g}, {high:.9g}]"]


def regress(
    trained: Trained, y: Array, upper: Array, v: Array, epsilon: float
) -> Evidence:
    """Check a regression machine: the gap is primal minus dual at the best intercept.

    Primal: ``v'Kv/2 + sum_i u_i max(0, |y_i - f_i - b| - eps)``, in b piecewise linear
    with bends at ``y_i - f_i -+ eps``.
    """
    outputs, error = trained.outputs(v)
    bend = float(v @ outputs)
    rest = y - outputs
    both = np.concatenate([upper, upper])
    b = quantile(np.append(rest - epsilon, rest + epsilon), both, float(upper.sum()))
    loss = float(upper @ np.maximum(np.abs(rest - b) - epsilon, 0.0))
    dual = float(y @ v) - epsilon * float(np.abs(v).sum()) - 0.5 * bend
    reach = float(np.abs(y).max() + epsilon) * float(np.abs(v).sum())
    slack = float(np.abs(v) @ error) + 8 * (v.size + 8) * EPS * reach
    error = error + 4 * EPS * (np.abs(y) + abs(b) + epsilon)
    unit = abs(dual) if v.any() else float(1e-6 * upper @ (np.abs(y) + epsilon))
    return Evidence(
        objective=dual,
        objective_slack=slack,
        gap=max(0.0, 0.5 * bend + loss - dual) if trained.convex else None,
        gap_slack=2 * float(upper @ error) + slack + abs(b * float(v.sum())),
        residual=_tube(v, rest - b, upper, epsilon),
        residual_slack=2 * float(error.max()),
        unit=max(abs(dual), unit),
        faults=_signed_feasibility(v, upper),
    )


def _tube(v: Array, rest: Array, upper: Array, epsilon: float) -> float:
    """Violation of the optimality conditions of regression at one intercept."""
    near = 1e-9 * upper
    over = np.where(np.abs(v) <= near, np.abs(rest), np.sign(v) * rest) - epsilon
    grows = np.where(np.abs(v) < upper - near, over, 0.0)
    falls = np.where(np.abs(v) > near, -over, 0.0)
    return max(0.0, float(grows.max()), float(falls.max()))


def _signed_feasibility(v: Array, upper: Array) -> list[str]:
    return feasibility(np.abs(v), np.sign(v), upper)


def one_class(trained: Trained, upper: Array, v: Array, nu: float) -> Evidence:
    """Check a one-class machine: ``g'v - min over b of g'b`` with g = Kv."""
    outputs, error = trained.outputs(v)
    total = nu * float(upper.sum())
    order = np.argsort(outputs, kind="stable")
    filled = np.minimum(np.cumsum(upper[order]), total)
    least = float(np.diff(filled, prepend=0.0) @ outputs[order])
    bend = float(v @ outputs)
    slack = float(np.abs(v) @ error)
    diagonal = np.maximum(np.diagonal(trained.K), 0.0)
    ones = np.ones_like(v)
    residual, residual_slack = violation(v, ones, upper, -outputs, error)
    return Evidence(
        objective=-0.5 * bend,
        objective_slack=slack,
        gap=max(0.0, bend - least) if trained.convex else None,
        gap_slack=2 * float(np.minimum(upper, total) @ error) + 2 * slack,
        residual=residual,
        residual_slack=residual_slack,
        unit=max(0.5 * abs(bend), 0.5e-6 * total * float(v @ diagonal)),
        faults=feasibility(v, ones, upper, total),
    )
