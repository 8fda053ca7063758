"""Machines that learn their kernel: the proxy SVM, and weights of several kernels."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from krein.referee.box import Box
from krein.referee.fit import EPS, Array, Fit, norm
from krein.referee.kernel import Decomposed, raw_faults, treat
from krein.referee.report import Evidence

_LANCZOS = 1e-8  # what eigenpairs found by Lanczos' method may be off by


def judge_proxy(fit: Fit) -> list[Evidence]:
    """ProxySVC (Luss and d'Aspremont, 2007).

    ``f(a) = e'a - rho (|A_+|^2 - |K|^2)`` with ``A = R K R + uu' / (4 rho)``, ``u =
    R^-1 (y * a)``, is concave with gradient ``e - y * R^-1 A_+ u``: its gap is that of
    the SVM on the kernel ``R^-1 A_+ R^-1``. Every solution has ``|u| <= r`` with
    ``r^3 / (4 rho) = sqrt(sum w) + |l_min| r``, so that bounds beyond r R are cut.
    """
    model, rho, judged = fit.model, float(fit.model.rho), []
    whole = known = treat(fit, "clip", multiply=False)
    raw = seen = fit.root[:, None] * fit.dense() * fit.root
    notes, faults = list[str](), list[str]()
    if fit.n > (model.solver_options or {}).get("max_exact", 8000):
        known, seen, faults = _known_part(fit, whole, raw)
        notes = ["gaps are those of the whole matrix, maps and f(0) those of the "
                 f"{known.values.size} leading eigenpairs"]  # fmt: skip
    for row, (_, y) in enumerate(fit.signs()):
        a, box = fit.row("alpha_", row), Box(y, model.C * fit.weight, np.ones(fit.n))
        found = _proxy_evidence(box, whole, _with_outer(fit, raw, y * a, rho), a, rho)
        if notes:  # the value claimed is a lower bound, without what is not known
            value, slack = found.objective
            value += rho * (_negative(known) - _negative(whole))
            found.objective = value, slack + fit.results[row].certificate.value
        found.notes += notes
        A = _with_outer(fit, seen, y * a, rho)
        found.faults += faults + _rule_faults(fit, row, box, known, A)
        judged.append(found)
    return judged


def _negative(spectrum: Decomposed) -> float:
    return float(np.sum(np.minimum(spectrum.values, 0.0) ** 2))


def _known_part(
    fit: Fit, whole: Decomposed, raw: Array
) -> tuple[Any, Array, list[str]]:
    """The eigenpairs that the model knows, their matrix, and what is wrong with them.

    Among equal eigenvalues any may be known; that they are eigenpairs is checked, and
    that the coefficients of "clip" lie in their span.
    """
    d, U = fit.model.spectrum_.eigenvalues, fit.model.spectrum_.eigenvectors
    off = norm((raw @ U - U * d).ravel()) / (float(np.abs(whole.values).max()) or 1.0)
    faults, c = [], (fit.model.dual_coef_[:, fit.kept] / fit.root).T
    if max(off, norm((U.T @ U - np.eye(d.size)).ravel())) > _LANCZOS:
        faults.append("spectrum_ does not hold eigenpairs")
    outside = norm((c - U @ (U.T @ c)).ravel())
    if fit.model.new_points == "clip" and outside > _LANCZOS * norm(c.ravel()):
        faults.append("dual_coef_ is not in the span of the eigenpairs known")
    return _positive_part(fit, d, U, whole.edge), (U * d) @ U.T, faults


def _positive_part(fit: Fit, d: Array, U: Array, edge: float) -> Decomposed:
    return Decomposed(fit, d, U, np.maximum(d, 0.0), np.where(d > edge, 1.0, 0.0), edge)


def _with_outer(fit: Fit, raw: Array, v: Array, rho: float) -> Decomposed:
    """A_+ by the spectrum of A."""
    u = v / fit.root
    d, U = np.linalg.eigh(raw + np.outer(u, u / (4 * rho)))
    return _positive_part(fit, d, U, d.size * EPS * float(np.abs(d).max()))


def _proxy_evidence(
    box: Box, whole: Decomposed, A: Decomposed, a: Array, rho: float
) -> Evidence:
    fit, before, v, total = whole.fit, whole.values, box.y * a, float(a.sum())
    after, positive = np.sort(A.target), np.sort(np.maximum(before, 0.0))
    # Squares by pairs, which cancel less: eigenvalues interlace.
    rise = total - rho * float((after - positive) @ (after + positive))
    size = float(np.abs(A.values).max()) * float(np.abs(A.values).sum())
    slack = fit.spread * (rho * size + rho * float(before @ before) + total)
    # f - f(0), which may cancel, lies between two slopes along a, which do not.
    f, error = A.outputs(v, v)
    unit = min(max(rise, total - float(v @ f)) + slack, total)
    p, q = -4 * rho * min(0.0, float(before.min())), 4 * rho * np.sqrt(fit.weight.sum())
    r = np.sqrt(2 * p) + np.cbrt(2 * q)  # of r^3 = p r + q, by Newton from above
    for _ in range(60):
        r -= (r**3 - p * r - q) / (3 * r * r - p)
    upper = np.minimum(box.upper, r * (1 + 1e-8) * fit.root)
    gap = replace(box, upper=upper).gap(a, f, error)
    return Evidence((rho * _negative(whole) + rise, slack), gap, unit=unit)


def _rule_faults(
    fit: Fit, row: int, box: Box, known: Decomposed, A: Decomposed
) -> list[str]:
    """Check that coefficients and intercept follow from alpha by the rule chosen."""
    a, c, rule = fit.row("alpha_", row), fit.row("dual_coef_", row), fit["new_points"]
    maps = {"clip": known.map_faults, "project": A.map_faults}.get(rule, raw_faults)
    f, error = A.outputs(box.y * a, c)
    faults = box.infeasible(a) + maps(c, box.y * a)
    if rule != "luss":
        f, error = fit.K @ c, fit.spread * (abs(fit.K) @ np.abs(c))
    else:
        half = A.vectors / fit.root[:, None]
        off = np.abs(fit.model.proxy_kernel(row) - (half * A.target) @ half.T)
        if np.any(off * fit.root * fit.root[:, None] > 1e-6 * A.size):
            faults.append("proxy_kernel() is not the proxy at alpha_")
    return faults + box.intercept_faults(float(fit.model.intercept_[row]), a, f, error)


def judge_mkl(fit: Fit) -> list[Evidence]:
    """MKLSVC (Chen and Ye, 2008, eq. 27; Theorem 5.1).

    ``min over shares s of phi(s) = max over Q of e'a - v'K(s)v/2 + costs's``: the gap
    of the SVM on K(s) bounds phi(s) from above, and every a in Q bounds the minimum
    from below by ``min_i e'a - v'K_i v/2 + costs_i``.
    """
    model, square, w = fit.model, np.ix_(fit.kept, fit.kept), fit.weight
    stack = [0.5 * (K + K.T)[square] for K in fit.stack()]
    costs, judged = np.zeros(len(stack)), []
    if model.target is not None:
        target = np.asarray(model.target, dtype=float)
        target = target[square] if target.ndim else stack[int(model.target)]
        costs = model.rho * np.array([w @ (K - target) ** 2 @ w for K in stack])
    for row, (_, y) in enumerate(fit.signs()):
        shares, a = model.weights_[row], fit.row("alpha_", row)
        box = Box(y, model.C * w, np.ones(fit.n))
        K = np.tensordot(shares, stack, 1)
        f, error = K @ (y * a), 2 * fit.spread * (np.abs(K) @ np.abs(a)) + 4 * EPS
        found = box.evidence(a, f, error, SimpleNamespace(convex=True))
        points = a, np.asarray(fit.results[row].info.get("alpha", a))
        bounds = [
            min(p.sum() - 0.5 * (y * p) @ part @ (y * p) + cost for part, cost in pairs)
            for p in points
            if not box.infeasible(p) and (pairs := zip(stack, costs, strict=True))
        ]
        _bound_weights(found, shares, costs, max(bounds, default=-np.inf))
        found.faults += raw_faults(fit.row("dual_coef_", row), y * a)
        found.faults += box.intercept_faults(float(model.intercept_[row]), a, f, error)
        judged.append(found)
    return judged


def _bound_weights(found: Evidence, shares: Array, costs: Array, below: float) -> None:
    """Turn the evidence on the machine into one on the weights of the kernels."""
    (value, value_slack), (gap, gap_slack) = found.objective, found.gap or (0.0, 0.0)
    above = value + float(shares @ costs) + gap
    slack = value_slack + gap_slack + 64 * EPS * (abs(above) + float(costs.max()))
    found.unit = abs(above - float(costs.min()))
    found.objective = above, slack + min(gap, 1e-6 * found.unit)
    found.gap, found.residual = (max(0.0, above - below), 2 * slack), None
    if abs(float(shares.sum()) - 1.0) > 1e-9 or shares.min() < 0.0:
        found.faults.append("weights_ are not shares: not positive, or not of sum 1")
