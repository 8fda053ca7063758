"""Machines with a hinge: how each makes its kernel and its coefficients.

Every judge yields the evidence on one row after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from krein.methods import as_method, weighted_flip
from krein.referee.evidence import EPS, HINGE, Array, Problem
from krein.referee.fit import Fit, Row
from krein.referee.kernel import Decomposed, map_faults, treat
from krein.referee.report import Evidence, Measured, faults_of


def judge_svm(fit: Fit) -> Iterator[Evidence]:
    """SpectrumSVC, KreinSVC, SpectrumSVR, SpectrumOneClassSVM, and DCSVC's dual."""
    model, rows = fit.model, [*fit.rows()]
    method = "none" if hasattr(model, "kkt_gap_") else fit["method"]
    if hasattr(model, "lam_pos"):
        method = weighted_flip(model.lam_pos, model.lam_neg)
    treated, boxes = treat(fit, method), [_box(fit, row) for row in rows]
    V = np.array([(p.y * a).reshape(-1, fit.n).sum(axis=0) for p, a in boxes])
    faults = map_faults(treated, np.array([row.c for row in rows]), V)
    for row, v, (problem, a) in zip(rows, V, boxes, strict=True):
        f, error = (np.resize(x, a.size) for x in treated.outputs(v, row.c))
        options = {"convex": treated.convex and row.claims_gap}
        if problem.total:  # one class: its optimum may be zero
            reach = treated.size * float(np.sum(a / fit.weight))
            options["least"] = 0.5e-6 * problem.total * reach
            options["floor"] = _lowest_intercept(fit, row.c, problem.total)
        evidence = problem.dual_evidence(a, row.b, f, error, **options)
        evidence.faults, faults = evidence.faults + faults, []
        yield evidence


def _box(fit: Fit, row: Row) -> tuple[Problem, Array]:
    """Problem and variables of a row."""
    ones, model, v = np.ones(fit.n), fit.model, fit.coefficients()
    if hasattr(model, "classes_"):
        return fit.hinge(row.y), row.a
    if hasattr(model, "nu"):
        total = float(model.nu) * float(fit.weight.sum())
        return Problem(HINGE, ones, 0 * ones, fit.weight, total=total), v
    y, w = np.repeat([1.0, -1.0], fit.n), np.tile(fit["C"] * fit.weight, 2)
    target = y * np.tile(fit.y.astype(float), 2) - fit["epsilon"]
    return Problem(HINGE, y, target, w), np.maximum(y * np.tile(v, 2), 0.0)


def _lowest_intercept(fit: Fit, c: Array, total: float) -> float:
    """Return the intercept below which more than the share nu would be outside."""
    scores = fit.K @ c
    order = np.argsort(scores, kind="stable")
    over = scores[order][np.cumsum(fit.weight[order]) > total * (1 + 1e-12)]
    return -float(over.min(initial=np.inf))


def judge_proxy(fit: Fit) -> Iterator[Evidence]:
    """ProxySVC (Luss and d'Aspremont, 2007).

    ``f(a) = e'a - rho (|A_+|^2 - |K|^2)`` with ``A = R K R + uu' / (4 rho)``, ``u =
    R^-1 (y * a)``, is concave with gradient ``e - y * R^-1 A_+ u``: its gap is that of
    the SVM on the kernel ``R^-1 A_+ R^-1``.
    """
    rho, raw, clip = float(fit.model.rho), fit.scaled(), as_method("clip")
    whole = Decomposed(fit, raw, clip)
    for k, row in enumerate(fit.rows()):
        problem, u = fit.hinge(row.y), row.y * row.a / fit.root
        A = Decomposed(fit, raw + np.outer(u, u / (4 * rho)), clip)
        evidence = _proxy_evidence(problem, whole, A, row.a, rho)
        evidence.faults += _rule_faults(problem, whole, A, row)
        if fit["new_points"] == "luss":
            half = A.vectors / fit.root[:, None]
            off = np.abs(fit.model.proxy_kernel(k) - (half * A.target) @ half.T)
            same = np.all(off * fit.root * fit.root[:, None] <= 1e-6 * A.size)
            text = "proxy_kernel() is not the proxy at alpha_"
            evidence.faults += faults_of((same, text))
        yield evidence


def _proxy_evidence(
    problem: Problem, whole: Decomposed, A: Decomposed, a: Array, rho: float
) -> Evidence:
    fit, v, total = whole.fit, problem.y * a, float(a.sum())
    after, before = np.sort(A.target), np.sort(whole.target)
    # Squares by pairs, which cancel less: eigenvalues interlace.
    rise = total - rho * float((after - before) @ (after + before))
    size = float(np.abs(A.values).max() * np.abs(A.values).sum())
    slack = fit.spread * (rho * (size + float(whole.values @ whole.values)) + total)
    # f - f(0), which may cancel, lies between two slopes along a, which do not.
    f, error = A.outputs(v, v)
    unit = min(max(rise, total - float(v @ f)) + slack, total)
    # Every solution has |u| <= r with r^3 = p r + q: bounds beyond r R are cut.
    p, q = -4 * rho * min(0.0, whole.smallest), 4 * rho * np.sqrt(fit.weight.sum())
    r = float(np.roots([1.0, 0.0, -p, -q]).real.max())
    cut = replace(problem, w=np.minimum(problem.w, r * (1 + 1e-8) * fit.root))
    negative = np.minimum(whole.values, 0.0)
    objective = Measured(rho * float(negative @ negative) + rise, slack)
    return Evidence(objective, "gap", Measured(*cut.best_gap(a, f, error), unit))


def _rule_faults(
    problem: Problem, known: Decomposed, A: Decomposed, row: Row
) -> list[str]:
    """Check that coefficients and intercept follow from alpha by the rule chosen."""
    fit, a, c, v = known.fit, row.a, row.c, row.y * row.a
    rule = fit["new_points"]
    faults = map_faults({"clip": known, "project": A}.get(rule), c, v)
    f, error = fit.K @ c, fit.spread * (abs(fit.K) @ np.abs(c))
    f, error = A.outputs(v, c) if rule == "luss" else (f, error)
    return faults + problem.infeasible(a) + problem.intercept_faults(row.b, a, f, error)


def judge_mkl(fit: Fit) -> Iterator[Evidence]:
    """MKLSVC (Chen and Ye, 2008, eq. 27; Theorem 5.1).

    ``min over shares s of phi(s) = max over Q of e'a - v'K(s)v/2 + costs's``: the gap
    of the SVM on K(s) bounds phi(s) from above, and every a in Q bounds the minimum
    from below by ``min_i e'a - v'K_i v/2 + costs_i``.
    """
    model, square = fit.model, np.ix_(fit.kept, fit.kept)
    stack = np.array([0.5 * (K + K.T)[square] for K in fit.stack])
    costs = np.zeros(len(stack))
    if model.target is not None:
        target = np.asarray(model.target, dtype=float)
        target = target[square] if target.ndim else stack[int(model.target)]
        w = fit.weight
        costs = model.rho * np.array([w @ (K - target) ** 2 @ w for K in stack])
    for k, (y, a, c, b, _) in enumerate(fit.rows()):
        shares, v, problem = model.weights_[k], y * a, fit.hinge(y)
        K = np.tensordot(shares, stack, 1)
        f, error = K @ v, 2 * fit.spread * (np.abs(K) @ np.abs(v))
        evidence = problem.dual_evidence(a, b, f, error)
        points = [a, np.asarray(fit.results[k].info.get("alpha", a))]
        inside = [p for p in points if not problem.infeasible(p)]
        below = [p.sum() - 0.5 * (stack @ (y * p)) @ (y * p) + costs for p in inside]
        least = max((float(np.min(values)) for values in below), default=-np.inf)
        _bound_weights(evidence, shares, costs, least)
        evidence.faults += map_faults(None, c, v)
        yield evidence


def _bound_weights(e: Evidence, shares: Array, costs: Array, below: float) -> None:
    """Turn the evidence on the machine into one on the weights of the kernels."""
    gap = e.found
    above = e.objective.value + float(shares @ costs) + gap.value
    unit, size = abs(above - float(costs.min())), abs(above) + float(costs.max())
    slack = e.objective.slack + gap.slack + 64 * EPS * size
    e.objective = Measured(above, slack + min(gap.value, 1e-6 * unit))
    e.found = Measured(max(0.0, above - below), 2 * slack, unit)
    simplex = abs(float(shares.sum()) - 1.0) <= 1e-9 and shares.min() >= 0.0
    e.faults += faults_of((simplex, "weights_ are negative, or not of sum 1"))
