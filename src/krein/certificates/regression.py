"""Machines with one row: regression, one class, ridge.

Ridge solves ``(K~ + alpha W^-1) v = y - b`` with ``1'v = 0`` where there is an
intercept; "stabilised" bounds the inverse along each eigenvector by 1 / alpha. It
minimises ``sum w (y - f - b)^2 + alpha v'K~v`` where K~ is positive semidefinite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from krein.certificates.data import Data, Given, read
from krein.certificates.report import EPS, Claim, Evidence, Verdict, judge, norm
from krein.certificates.spectral import Fix, fix_of
from krein.certificates.svm import one_class, regress

Array = np.ndarray

__all__ = ["check_one_class", "check_ridge", "check_svr"]


def check_svr(given: Given, claims: list[Claim]) -> list[Verdict]:
    """SpectrumSVR."""
    model, data = given.model, read(given)
    fix = fix_of(data, model.method, model.t)
    v = np.asarray(model.result_.x, dtype=float)
    y = data.y.astype(float)
    found = regress(fix.trained(), y, model.C * data.weight, v, float(model.epsilon))
    found.faults += _coefficients(model, fix, v)
    rest = y - fix.trained().K @ v - float(model.intercept_[0])
    unit = 1e-3 * max(float(np.abs(y).max()), float(np.abs(rest).max()))
    if not found.residual or found.residual < unit:
        found.faults += _tube_fault(
            rest, v, model.C * data.weight, float(model.epsilon), unit
        )
    return [judge(claims[0], found)]


def _tube_fault(
    rest: Array, v: Array, upper: Array, epsilon: float, unit: float
) -> list[str]:
    """Check that the intercept puts free coefficients on the edge of the tube."""
    near = 1e-7 * upper
    free = (np.abs(v) > near) & (np.abs(v) < upper - near)
    off = np.abs(np.sign(v) * rest - epsilon)[free]
    if off.max(initial=0.0) <= unit:
        return []
    return [f"intercept_ leaves free coefficients {off.max():.3g} off the tube"]


def check_one_class(given: Given, claims: list[Claim]) -> list[Verdict]:
    """SpectrumOneClassSVM."""
    model, data = given.model, read(given)
    fix = fix_of(data, model.method, model.t)
    v = np.asarray(model.result_.x, dtype=float)
    found = one_class(fix.trained(), data.weight, v, float(model.nu))
    found.faults += _coefficients(model, fix, v)
    if not np.isclose(model.intercept_[0], -model.offset_, rtol=1e-12, atol=0.0):
        found.faults.append("intercept_ is not -offset_")
    scores = data.K @ model.dual_coef_[0, data.kept]
    outside = float(data.weight[scores < model.offset_].sum() / data.weight.sum())
    if outside > model.nu * (1 + 1e-9):
        found.faults.append(f"{outside:.3g} of the items are outside, nu={model.nu:g}")
    return [judge(claims[0], found)]


def _coefficients(model: Any, fix: Fix, v: Array) -> list[str]:
    if v.shape != fix.data.kept.shape:
        return [f"result_.x has shape {v.shape} for {fix.data.n} samples"]
    return fix.map_fault(model.dual_coef_[0, fix.data.kept], v)


def check_ridge(given: Given, claims: list[Claim]) -> list[Verdict]:
    """KreinRidge."""
    model, data = given.model, read(given)
    method = "none" if model.method == "stabilised" else model.method
    fix = fix_of(data, method, model.t)
    v = np.asarray(model.result_.x, dtype=float)
    found = _ridge(model, data, fix, v)
    found.faults += _coefficients(model, fix, v)
    return [judge(claims[0], found)]


@np.errstate(over="ignore")  # rounding beyond the largest number is infinite
def _ridge(model: Any, data: Data, fix: Fix, v: Array) -> Evidence:
    """Objective, gap between it and the dual, residual relative to the targets."""
    alpha, b, y = _penalty(model), float(model.intercept_[0]), data.y.astype(float)
    f = fix.f
    if model.method == "stabilised":
        total = np.where(f == -alpha, 1e-300, f + alpha)
        f = np.where(np.abs(total) < alpha, alpha**2 / total - alpha, f)
    U, root = fix.eigenvectors, fix.root
    along = U.T @ (v / root)
    rest = y - b - (U @ (f * along)) / root
    missed = rest - alpha * v / data.weight
    size = (float(np.abs(f).max()) + alpha) * norm(v / root) / root
    error = 64 * (data.n + 8) * EPS * (size + np.abs(y) + abs(b))
    value = float(data.weight @ rest**2) + alpha * float(f @ along**2)
    unit = max(float(np.abs(y).max()), 1e-300)
    faults = []
    if not model.fit_intercept and b != 0.0:
        faults.append("intercept_ is not zero with fit_intercept=False")
    gap, slack = _ridge_gap(model, data, fix, v, missed, error)
    return Evidence(
        objective=value,
        objective_slack=float(data.weight @ (2 * np.abs(rest) * error + error**2))
        + alpha * float(np.abs(v) @ error),
        gap=gap,
        gap_slack=slack,
        residual=float(np.abs(missed).max()) / unit,
        residual_slack=float(error.max()) / unit,
        unit=max(abs(value), EPS * float(data.weight @ (np.abs(y) + abs(b)) ** 2)),
        faults=faults,
    )


def _ridge_gap(
    model: Any, data: Data, fix: Fix, v: Array, missed: Array, error: Array
) -> tuple[float | None, float]:
    """``P(v, b) - D(u)`` as a sum of squares (Fenchel), u = v made to sum to 0."""
    trained = fix.trained()
    if not trained.convex:
        return None, 0.0
    alpha, w = _penalty(model), data.weight
    excess = float(v.sum()) / float(w.sum()) if model.fit_intercept else 0.0
    off = np.abs(missed + alpha * excess)
    bend = alpha * excess**2 * abs(float(w @ trained.K @ w))
    return float(w @ off**2) + bend, float(w @ (2 * off * error + error**2))


def _penalty(model: Any) -> float:
    """The penalty as given; one that the model chose is judged at what it chose."""
    return float(model.alpha_used_ if model.alpha == "auto" else model.alpha)
