"""Round an interior-point solution to an active set and solve for free variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from krein.arrays import Array
from krein.machines._active_set import QuadraticModel
from krein.machines.box import BalancedBox
from krein.machines.svm_dual import box_gap
from krein.similarity.tiles import TiledMatrix

_EPS = float(np.finfo(np.float64).eps)
_ROUNDS, _REFINEMENTS = 6, 3  # of the solution for the free variables


@dataclass(frozen=True)
class FeaturePoint:
    """A point of the box with its weights, outputs, value and gap, rounding counted."""

    a: Array
    w: Array
    outputs: Array
    value: float
    gap: float

    @classmethod
    def at(cls, features: TiledMatrix, domain: BalancedBox, a: Array) -> FeaturePoint:
        a = domain.rebalance(a)
        w = features.transpose_dot(domain.y * a)
        outputs = features @ w
        value = float(a.sum()) - 0.5 * float(w @ w)
        # Both products are sums: rounded like their magnitudes (Higham, Mary, 2019).
        spread = _EPS * (4.0 + np.sqrt(features.shape).sum())
        error = spread * features.magnitude(a)
        return cls(a, w, outputs, value, box_gap(domain, a, outputs, error))


def corner_near(
    features: TiledMatrix, domain: BalancedBox, a: Array, s: Array, xi: Array
) -> FeaturePoint:
    """Solve exactly for the variables that may be free, the others on their bounds.

    At the solution about as many variables are free as there are features. Which they
    are, an interior point a with slacks s and xi tells but for a few: twice as many as
    that are solved for by active sets; a variable that turns out to be on the wrong
    bound joins them.
    """
    upper = domain.upper
    least = 1e-30 * upper  # rounding may have put a variable on its bound
    to_zero = s * upper / np.maximum(a, least)
    to_upper = xi * upper / np.maximum(upper - a, least)
    size = min(domain.n, 2 * (features.shape[1] + 1))
    loose = np.argpartition(np.maximum(to_zero, to_upper), size - 1)[:size]
    loosened = a[loose]
    a = np.where(to_zero > to_upper, 0.0, upper)
    a[loose] = loosened
    best: FeaturePoint | None = None
    for _ in range(_ROUNDS):
        found = FeaturePoint.at(features, domain, _solved(features, domain, a, loose))
        if best is not None and found.gap >= 0.5 * best.gap:
            break
        a, best = found.a, found
        wrong = _wrong_side(domain, found)
        if wrong.size == 0 or wrong.size > size:
            break
        free = np.flatnonzero((a > 0.0) & (a < upper))
        loose = np.union1d(free, wrong) if free.size <= size else wrong
    assert best is not None
    return best


def _wrong_side(domain: BalancedBox, point: FeaturePoint) -> np.ndarray:
    """Variables on a bound that would leave it."""
    gradient = 1.0 - domain.y * point.outputs
    tau = domain.intercept(point.a, point.outputs)
    reduced = gradient - tau * domain.y
    slack = 1e-12 * (1.0 + np.abs(point.outputs).max())
    grows = (point.a <= 0.0) & (reduced > slack)
    falls = (point.a >= domain.upper) & (reduced < -slack)
    return np.flatnonzero(grows | falls)


def _solved(
    features: TiledMatrix, domain: BalancedBox, a: Array, loose: np.ndarray
) -> Array:
    """Best values of the variables `loose`, with all others as they are."""
    y, upper = domain.y[loose], domain.upper[loose]
    fixed = domain.y * a
    fixed[loose] = 0.0
    part = BalancedBox(upper, y, -float(fixed.sum()))
    x = part.project(a[loose])
    F = y[:, None] * features.rows(loose)
    constant = F @ features.transpose_dot(fixed)
    model = QuadraticModel(F @ F.T, y, upper)
    for _ in range(_REFINEMENTS):  # the ridge of the model leaves a little
        gradient = 1.0 - constant - F @ (F.T @ x)
        _, tau = part.maximise(gradient)
        x = np.clip(x + model.maximise(x, gradient - tau * y), 0.0, upper)
    a = a.copy()
    a[loose] = x
    return a
