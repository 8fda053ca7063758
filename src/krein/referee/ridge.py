"""KreinRidge: kernel ridge regression, on a positive or an indefinite kernel.

Saunders, Gammerman, Vovk (1998) on a positive kernel; Oglic and Gaertner (2018),
section 3, on an indefinite one. With weights W the model solves

    (K~ + alpha W^-1) v = y - b,      1'v = 0 if b is fitted,

the stationarity equation of ``sum_i w_i (y_i - f_i - b)^2 + alpha v'K~v``, f = K~ v.

**Where K~ is positive semidefinite** this is a minimum, and for every u with 1'u = 0
(any u without an intercept) it is at most

    gap = sum_i w_i (y_i - f_i - b - alpha u_i / w_i)^2 + alpha (v - u)'K~(v - u)

below the objective, by the sum of Fenchel and Young (`krein.referee.losses`).

**Where it is not** the claim is the largest ``|(K~ + alpha W^-1) v - (y - b)|``,
relative to the largest target.

**The stabilised method** divides by ``l + alpha`` along each eigenvector of R K R if
that is at least alpha in size, and by ``alpha^2 / (l + alpha)`` if it is not: what is
divided is amplified by 1 / alpha at most. Near ``l = -alpha`` that divisor grows beyond
bounds. There the equation ``alpha^2 / (l + alpha) x = t`` is looked at in the form that
it has been solved in, times ``(l + alpha) / alpha``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from krein.referee.claims import Evidence, Measured
from krein.referee.digits import EPS, Array, Wide, wide
from krein.referee.fitted import Fitted, Outputs, Row
from krein.referee.kernel import (
    Decomposed,
    FixedKernel,
    fixed_kernel,
    is_psd,
    map_faults,
    same_faults,
    weighted,
)
from krein.spectrum.fixes import as_fix


def judge_ridge(fitted: Fitted) -> Iterator[Evidence]:
    """Judge the one row of a regression."""
    (row,) = fitted.rows()
    method = fitted.parameter("method")
    claim = fitted.results[0].certificate
    kernel: FixedKernel
    if method != "stabilised":
        kernel = fixed_kernel(fitted, method)
    else:
        kernel = decomposed = Decomposed(fitted, weighted(fitted), as_fix("none"))
        if not is_psd(decomposed.values):
            yield _stabilised(fitted, decomposed, row)
            return
    faults = map_faults(kernel, [row])
    evidences = []
    for outputs in kernel.readings(row.v, row.c):
        if kernel.convex and claim.kind == "gap":
            evidences.append(_optimal(fitted, kernel, row, outputs, faults))
        else:
            evidences.append(_stationary(fitted, kernel, row, outputs, faults))
    yield min(evidences, key=lambda evidence: evidence.found.value)


def _missed(fitted: Fitted, row: Row, outputs: Outputs, u: Wide) -> Wide:
    """Return ``y - f - b - alpha u / w``."""
    return fitted.y - outputs.f - row.b - u * fitted.penalty() / fitted.weight


def _objective(
    fitted: Fitted, kernel: FixedKernel, row: Row, outputs: Outputs
) -> Measured:
    """``sum_i w_i (y_i - f_i - b)^2 + alpha v'f``."""
    alpha = fitted.penalty()
    w = fitted.weight
    off = fitted.y - outputs.f - row.b
    losses = w * off * off
    penalty = alpha * row.v * outputs.f
    value = float(losses.sum() + penalty.sum())
    rounding = _rounding(fitted, kernel, row) + outputs.unsure
    slopes = 2.0 * w * np.abs(off.high) + alpha * np.abs(row.v)
    slack = 2.0 * float(slopes @ rounding) + float(w @ rounding**2)
    sizes = float(losses.sum()) + float(penalty.absolute().sum())
    return Measured(value, slack + 64 * EPS * sizes)


def _optimal(
    fitted: Fitted, kernel: FixedKernel, row: Row, outputs: Outputs, faults: list[str]
) -> Evidence:
    """Judge a minimum by its gap."""
    alpha = fitted.penalty()
    w = fitted.weight
    u = wide(row.v)
    if fitted.parameter("fit_intercept"):
        u = u - w * (u.sum() / float(w.sum()))
    missed = _missed(fitted, row, outputs, u)
    change = (row.v - u).high
    bend = (change * kernel.readings(change, change)[0].f).sum()
    gap = float((w * missed * missed).sum() + alpha * bend)
    unsure = outputs.unsure
    slack = float(w @ (unsure * (2.0 * np.abs(missed.high) + unsure)))
    objective = _objective(fitted, kernel, row, outputs)
    # An objective below the rounding of the targets is zero.
    least = EPS * float(w @ (np.abs(fitted.y) + abs(row.b)) ** 2)
    unit = max(abs(objective.value), least)
    return Evidence(objective, "gap", Measured(gap, slack, unit), faults)


def _stationary(
    fitted: Fitted, kernel: FixedKernel, row: Row, outputs: Outputs, faults: list[str]
) -> Evidence:
    """Judge a stationary point by what is left of the equation."""
    missed = _missed(fitted, row, outputs, wide(row.v))
    largest = max(float(np.abs(fitted.y).max()), 1e-300)
    worst = max(float(np.abs(missed.high).max()), _unbalanced(fitted, row))
    slack = float(outputs.unsure.max()) / largest
    objective = _objective(fitted, kernel, row, outputs)
    found = Measured(worst / largest, slack)
    return Evidence(objective, "stationarity", found, faults)


def _unbalanced(fitted: Fitted, row: Row) -> float:
    """What is left of 1'v = 0, as the change of the equation that it asks for."""
    if not fitted.parameter("fit_intercept"):
        return 0.0
    excess = abs(float(wide(row.v).sum()))
    return fitted.penalty() * excess / float(fitted.weight.sum())


def _stabilised(fitted: Fitted, kernel: Decomposed, row: Row) -> Evidence:
    """Judge the bounded system, along the eigenvectors of R K R."""
    alpha = fitted.penalty()
    R = kernel.root
    U = kernel.pairs.vectors
    total = kernel.pairs.values + alpha
    near = np.abs(total.high) < alpha
    x = U.T @ (wide(row.v) / R)
    t = U.T @ (R * (fitted.y - wide(np.full(fitted.n, row.b))))
    far_off = t - total * x
    near_off = t * total / alpha - alpha * x
    off = near_off.where(near, far_off)
    missed = (U @ off) / R
    largest = max(float(np.abs(fitted.y).max()), 1e-300)
    worst = max(float(np.abs(missed.high).max()), _unbalanced(fitted, row))
    rounding = _rounding(fitted, kernel, row)
    sizes = np.abs(fitted.dense()) @ np.abs(row.v)
    unsure = float(fitted.unsure(sizes, row.v).max())
    found = Measured(worst / largest, unsure / largest)
    objective = _bounded_objective(fitted, kernel, total, x, t, rounding)
    return Evidence(objective, "stationarity", found, same_faults([row]))


def _rounding(fitted: Fitted, kernel: FixedKernel, row: Row) -> Array:
    """What a decomposition with doubles makes of the equation at each item."""
    R = np.sqrt(fitted.weight)
    length = float(np.sqrt(np.sum((row.v / R) ** 2)))
    size = kernel.size + fitted.penalty()
    products = fitted.spread * size * length / R
    return products + fitted.spread * (np.abs(fitted.y) + abs(row.b))


def _bounded_objective(
    fitted: Fitted, kernel: Decomposed, total: Wide, x: Wide, t: Wide, rounding: Array
) -> Measured:
    """The objective on the kernel of eigenvalues divisor - alpha.

    Its outputs along an eigenvector are ``divisor x - alpha x``, where the equation
    holds ``t - alpha x``: where the divisor has no bound, the second form is meant.
    """
    alpha = fitted.penalty()
    near = np.abs(total.high) < alpha
    image = t.where(near, total * x) - alpha * x
    off = t - image
    value = float((off * off).sum() + alpha * (x * image).sum())
    R = kernel.root.high
    sizes = 2.0 * np.abs(off.high).max() + alpha * np.abs(x.high).max()
    slack = 4.0 * sizes * float(np.sum(R * rounding)) + float(
        np.sum((R * rounding) ** 2)
    )
    return Measured(value, slack + 64 * EPS * abs(value))
