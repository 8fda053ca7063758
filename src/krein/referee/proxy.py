"""ProxySVC: the SVM that learns a positive semidefinite proxy of its kernel.

Luss and d'Aspremont (2007), equation 3, in the form of Ying, Campbell and Girolami
(2009), equations 1 to 6: over ``0 <= a_i <= C w_i``, ``y'a = 0`` maximise

    f(a) = min over K >= 0 of  e'a - v'Kv / 2 + rho |R (K - K0) R|_F^2,   v = y a.

With ``u = R^-1 v`` and ``A = R K0 R + uu' / (4 rho)`` the minimiser is ``R K R = A_+``:

    f(a) = e'a - rho (|A_+|_F^2 - |R K0 R|_F^2),      f'(a) = e - y R^-1 A_+ u.

f is concave, so that its gap at a is that of the SVM on the kernel ``R^-1 A_+ R^-1``.

New points get one of four rules. ``clip``: coefficients are mapped to the positive
eigenspace of R K0 R; ``project``: to that of A; ``raw``: not at all; ``luss``: outputs
are those of A_+. The intercept is settled on the outputs that predict.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.linalg.blas import dnrm2 as norm  # it neither overflows nor underflows

from krein.referee.box import Box
from krein.referee.claims import Evidence, Measured, faults_of
from krein.referee.digits import Array, Wide, root, wide
from krein.referee.fitted import Fitted, Outputs, Row
from krein.referee.kernel import Decomposed, map_faults, same_faults, weighted
from krein.spectrum.fixes import as_fix

_SAME_PROXY = 1e-6  # share of its norm that `proxy_kernel` may differ by


def judge_proxy(fitted: Fitted) -> Iterator[Evidence]:
    """Judge every row: each has a proxy of its own."""
    whole = Decomposed(fitted, weighted(fitted), as_fix("clip"))
    largest = _largest_variable(fitted, whole)
    for k, row in enumerate(fitted.rows()):
        yield _judge_row(fitted, whole, largest, row, k)


def _judge_row(
    fitted: Fitted, whole: Decomposed, largest: Array, row: Row, k: int
) -> Evidence:
    """Judge row k; `whole` is R K0 R, and no solution exceeds `largest`."""
    box = Box(row.y, wide(np.ones(fitted.n)), fitted.parameter("C") * fitted.weight)
    a = row.y * row.v
    A = _proxy(fitted, row)
    trained = A.outputs(row.v)
    objective, unit = _objective(fitted, whole, A, row.v, trained)
    # No solution has a larger variable: bounds beyond that cost nothing.
    cut = replace(box, w=np.minimum(box.w, largest))
    claimed = fitted.results[k].certificate.value
    gap = cut.gap(a, trained.f, trained.unsure, claimed, A.primal())
    found = Measured(gap.value, gap.slack, unit)
    rule = fitted.parameter("new_points")
    faults = box.infeasible(a) + _map_faults(rule, whole, A, row)
    predicting = trained
    if rule == "luss":
        faults += _proxy_kernel_faults(fitted, A, k)
    else:
        predicting = fitted.outputs(fitted.K, row.c)
    faults += box.intercept_faults(a, row.b, predicting)
    return Evidence(objective, "gap", found, faults)


def _proxy(fitted: Fitted, row: Row) -> Decomposed:
    """``A = R K0 R + uu' / (4 rho)``, of which the proxy is the positive part."""
    rho = float(fitted.parameter("rho"))
    u = wide(row.v) / root(fitted.weight)
    A = weighted(fitted) + u[:, None] * u[None, :] / (4.0 * rho)
    return Decomposed(fitted, A, as_fix("clip"))


def _largest_variable(fitted: Fitted, whole: Decomposed) -> Array:
    """Bound every variable of every solution.

    0 is feasible, so that at a solution ``f'(a)'a >= 0``. With r the length of u, h
    that of R e, and -l the smallest eigenvalue of R K0 R,

        h r >= e'a >= u'A_+ u >= u'A u >= r^4 / (4 rho) - l r^2,

    whence r^3 <= 4 rho (h + l r), and ``a_i <= r R_i``.
    """
    rho = float(fitted.parameter("rho"))
    lowest = max(0.0, -whole.smallest)
    height = float(np.sqrt(fitted.weight.sum()))
    roots = np.roots([1.0, 0.0, -4.0 * rho * lowest, -4.0 * rho * height])
    radius = float(roots.real.max()) * (1 + 1e-8)
    return radius * whole.root.high


def _objective(
    fitted: Fitted, whole: Decomposed, A: Decomposed, v: Array, trained: Outputs
) -> tuple[Measured, float]:
    """Return f(a), and f(a) - f(0), which a relative gap refers to.

    ``f(0) = rho |(R K0 R)_-|_F^2``.
    """
    rho = float(fitted.parameter("rho"))
    total = wide(np.abs(v)).sum()
    before = whole.pairs.values.positive()
    after = A.pairs.values.positive()
    negative = (-whole.pairs.values).positive()
    rise = total - rho * ((after * after).sum() - (before * before).sum())
    value = rise + rho * (negative * negative).sum()
    # What doubles make of the squares, which cancel.
    sizes = float(np.abs(A.values).max() * np.abs(A.values).sum())
    sizes += float(whole.values @ whole.values)
    slack = 4 * fitted.spread * (rho * sizes + float(total))
    # f is concave: it rises by no more than a times its slope at 0, and by no less
    # than a times its slope at a.
    slope = total - (v * trained.f).sum()
    unit = min(max(float(rise), float(slope)) + slack, float(total))
    return Measured(float(value), slack), unit


def _map_faults(rule: str, whole: Decomposed, A: Decomposed, row: Row) -> list[str]:
    if rule == "clip":
        return map_faults(whole, [row])
    if rule == "project":
        return map_faults(A, [row])
    return same_faults([row])


def _proxy_kernel_faults(fitted: Fitted, A: Decomposed, k: int) -> list[str]:
    """Compare the proxy that the model gives with ``R^-1 A_+ R^-1``, on one vector."""
    R = A.root.high
    x = np.random.default_rng(0).normal(size=fitted.n) * R
    difference: Wide = fitted.model.proxy_kernel(k) @ x - A.outputs(x).f
    same = norm(R * difference.high) <= _SAME_PROXY * A.size * norm(x / R)
    return faults_of((same, "proxy_kernel() is not the proxy at alpha_"))
