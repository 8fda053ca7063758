"""Machines with one row: regression, one class, ridge.

Ridge solves ``(K~ + alpha W^-1) v = y - b`` with ``1'v = 0`` where there is an
intercept; "stabilised" bounds the inverse along each eigenvector by 1 / alpha.
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


def _ridge(model: Any, data: Data, fix: Fix, v: Array) -> Evidence:
    """Residual of the linear system, relative to the largest target."""
    alpha, b, y = float(model.alpha), float(model.intercept_[0]), data.y.astype(float)
    total = fix.f + alpha
    if model.method == "stabilised":
        near = np.abs(total) < alpha
        total = np.where(near, alpha**2 / np.where(total == 0.0, 1e-300, total), total)
    U, root = fix.eigenvectors, fix.root
    image = (U @ (total * (U.T @ (v / root)))) / root
    spread = 64 * (data.n + 8) * EPS
    size = float(np.abs(total).max()) * norm(v / root) / root
    unit = max(float(np.abs(y).max()), 1e-300)
    error = spread * (size + np.abs(y) + abs(b))
    faults = []
    if not model.fit_intercept and b != 0.0:
        faults.append("intercept_ is not zero with fit_intercept=False")
    return Evidence(
        objective=float(v @ (y - b)),
        objective_slack=float(np.abs(v) @ error),
        residual=float(np.abs(image - (y - b)).max()) / unit,
        residual_slack=float(error.max()) / unit,
        faults=faults,
    )
