"""Weights of several kernels (Chen and Ye, 2008, eq. 27; Theorem 5.1).

``min over w in the simplex of phi(w) = max over Q of e'a - v'K(w)v/2 + c'w``: the SVM's
own primal-dual gap bounds phi(w) from above, and every a in Q bounds the minimum from
below by ``min_i e'a - v'K_i v/2 + c_i``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from krein.certificates.data import (
    Given,
    dense,
    labels_of,
    one_against_rest,
    weights_of,
)
from krein.certificates.report import EPS, Claim, Evidence, Verdict, judge
from krein.certificates.svm import Trained, classify, intercept_fault

Array = np.ndarray

__all__ = ["check_mkl"]


def check_mkl(given: Given, claims: list[Claim]) -> list[Verdict]:
    """MKLSVC."""
    model = given.model
    stack = _stack(model, given.X)
    codes = labels_of(model, np.asarray(given.y))
    weight = weights_of(model, codes, given.sample_weight, codes.size)
    kept = np.flatnonzero(weight > 0)
    costs = _costs(model, stack, weight)
    stack = [K[np.ix_(kept, kept)] for K in stack]
    weight = weight[kept]
    results = model.result_ if isinstance(model.result_, list) else [model.result_]
    verdicts = []
    rows = one_against_rest(codes[kept], len(model.classes_))
    for row, signs in enumerate(rows):
        shares = model.weights_[row]
        a = model.alpha_[row, kept]
        # Model files do not keep the mixture of cuts; its last point may do.
        mixture = np.asarray(results[row].info.get("alpha", a), dtype=float)
        found = _evidence(stack, costs, model.C * weight, signs, shares, a, mixture)
        c = model.dual_coef_[row, kept]
        if not np.array_equal(c, signs * a):
            found.faults.append("dual_coef_ is not y * alpha_")
        K = np.tensordot(shares, stack, 1)
        found.faults += intercept_fault(
            float(model.intercept_[row]), a, signs, model.C * weight, K @ c,
            float(found.residual or 0.0),
        )  # fmt: skip
        found.residual = None
        verdicts.append(judge(claims[row], found))
    return verdicts


def _stack(model: Any, X: Any) -> list[Array]:
    if model.kernels is not None:
        items = dense(X)
        return [np.asarray(kernel(items, items)) for kernel in model.kernels_]
    if isinstance(X, list | tuple):
        return [dense(K) for K in X]
    return list(np.moveaxis(np.asarray(X, dtype=float), 2, 0))


def _costs(model: Any, stack: list[Array], weight: Array) -> Array:
    if model.target is None:
        return np.zeros(len(stack))
    target = model.target
    K0 = dense(target) if np.ndim(target) else stack[int(target)]
    return model.rho * np.array([weight @ (K - K0) ** 2 @ weight for K in stack])


def _evidence(
    stack: list[Array],
    costs: Array,
    upper: Array,
    y: Array,
    shares: Array,
    a: Array,
    mixture: Array,
) -> Evidence:
    """Bound phi(shares) from above by alpha, its minimum from below by the mixture."""
    kernels = [_as_trained(K) for K in stack]
    machine = classify(_as_trained(np.tensordot(shares, stack, 1)), y, upper, a)
    reached = machine.objective + float(shares @ costs)
    above = reached + float(machine.gap or 0.0)
    below = -np.inf
    for point in (mixture, a):
        rows = [classify(kernel, y, upper, point) for kernel in kernels]
        if not rows[0].faults:
            below = max(
                below, min(r.objective + c for r, c in zip(rows, costs, strict=True))
            )
    faults = list(machine.faults)
    if abs(float(shares.sum()) - 1.0) > 1e-9 or shares.min() < 0.0:
        faults.append("weights_ are not shares: they must be positive and sum to 1")
    slack = machine.objective_slack + machine.gap_slack
    slack += 64 * EPS * (abs(reached) + float(np.abs(costs).max(initial=0.0)))
    unit = abs(above - float(costs.min()))
    return Evidence(
        objective=above,
        objective_slack=slack + min(float(machine.gap or 0.0), 1e-6 * unit),
        gap=max(0.0, above - below),
        gap_slack=2 * slack,
        residual=machine.residual,
        unit=unit,
        faults=faults,
    )


def _as_trained(K: Array) -> Trained:
    K = 0.5 * K + 0.5 * K.T
    size = float(np.abs(np.linalg.eigvalsh(K)).max(initial=0.0))
    lowest = float(np.linalg.eigvalsh(K).min(initial=0.0))
    return Trained(K, lowest >= -1e-8 * size, size, np.ones(K.shape[0]), 0.0)
