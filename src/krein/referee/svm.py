"""Support vector machines on one kernel: the problems of `krein.referee.box`.

SpectrumSVC, SpectrumSVR, SpectrumOneClassSVM
    on K~ of `krein.referee.kernel`, by the method that was asked for.
KreinSVC (Loosli, Canu, Ong, 2016; Oglic and Gaertner, 2019)
    on ``U diag(|l| / lam_sign) U'``.
DCSVC, the dual (Akoa, 2008)
    on the raw kernel.

Checks, one after the other: the coefficients that predict are the map of the variables;
the variables are feasible; the intercept is the one that belongs to them; the claimed
gap is not below the gap of Fenchel and Young, if K~ is positive semidefinite, and the
claimed residual not below the maximal violating pair, if it is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from krein.referee.box import Box, doubled
from krein.referee.claims import Evidence, Measured
from krein.referee.digits import Array, wide
from krein.referee.fitted import Fitted, Outputs, Row
from krein.referee.kernel import FixedKernel, fixed_kernel, map_faults
from krein.spectrum.fixes import weighted_flip

# A one-class machine whose optimum is 0 (the origin is inside) has no objective that a
# gap could be relative to: this share of what v'Kv can be at most is the unit then.
_ORIGIN = 0.5e-6


def judge_svm(fitted: Fitted) -> Iterator[Evidence]:
    """Judge every row of a machine on one kernel."""
    rows = fitted.rows()
    kernel = fixed_kernel(fitted, _method(fitted))
    faults = map_faults(kernel, rows)
    for row, result in zip(rows, fitted.results, strict=True):
        readings = kernel.readings(row.v, row.c)
        best = judge_row(fitted, kernel, row, readings, result.certificate)
        box, a, outputs = problem_of(fitted, row, readings[0])
        least = _least_intercept(fitted, row) if box.total else -np.inf
        intercept = box.intercept_faults(a, row.b, outputs, least)
        yield best._replace(faults=[*faults, *best.faults, *intercept])


def judge_row(
    fitted: Fitted, kernel: FixedKernel, row: Row, readings: list[Outputs], claim: Any
) -> Evidence:
    """Judge the variables of a row by the certificate that is claimed for them."""
    evidences = []
    for outputs in readings:
        if kernel.convex and claim.kind == "gap":
            evidence = _optimal(fitted, kernel, row, outputs, claim.value)
        else:
            box, a, outputs = problem_of(fitted, row, outputs)
            evidence = box.stationarity(a, outputs, box.infeasible(a))
        evidences.append(evidence)
    # A claim holds if it does for one way to read which eigenvalues are zero.
    return min(evidences, key=lambda evidence: evidence.found.value)


def _method(fitted: Fitted) -> Any:
    if hasattr(fitted.model, "kkt_gap_"):
        return "none"
    if hasattr(fitted.model, "lam_pos"):
        positive = fitted.parameter("lam_pos")
        negative = fitted.parameter("lam_neg")
        return weighted_flip(positive, negative)
    return fitted.parameter("method")


def problem_of(
    fitted: Fitted, row: Row, outputs: Outputs
) -> tuple[Box, Array, Outputs]:
    """Return the problem of a row, its variables, and the outputs of each variable."""
    model = fitted.model
    if hasattr(model, "nu"):
        return _one_class(fitted, row, outputs)
    upper = fitted.parameter("C") * fitted.weight
    if hasattr(model, "classes_"):
        box = Box(row.y, wide(np.ones(fitted.n)), upper * np.abs(row.y))
        return box, row.y * row.v, outputs
    return _regression(fitted, row, upper, outputs)


def _one_class(
    fitted: Fitted, row: Row, outputs: Outputs
) -> tuple[Box, Array, Outputs]:
    """``0 <= v_i <= w_i``, ``sum v = nu sum w``: no variable exceeds that sum."""
    total = float(fitted.parameter("nu")) * float(fitted.weight.sum())
    upper = np.minimum(fitted.weight, total)
    box = Box(row.y, wide(np.zeros(fitted.n)), upper, total)
    return box, row.v, outputs


def _least_intercept(fitted: Fitted, row: Row) -> float:
    """Intercept below which items of more than the share nu would be outside.

    The optimality conditions promise that on K~ (Schoelkopf et al., 2001, proposition
    3). On the scores that predict the model sees to it.
    """
    scores = fitted.outputs(fitted.K, row.c)
    order = np.argsort(scores.f.high, kind="stable")
    reached = np.cumsum(fitted.weight[order])
    allowed = float(fitted.parameter("nu")) * float(fitted.weight.sum())
    over = order[reached > allowed * (1 + 1e-12)]
    if over.size == 0:
        return -np.inf
    return -float(scores.f.high[over[0]])


def _regression(
    fitted: Fitted, row: Row, upper: Array, outputs: Outputs
) -> tuple[Box, Array, Outputs]:
    """Two variables per item, ``v = a - a*``, of which one is zero."""
    epsilon = fitted.parameter("epsilon")
    signs = np.repeat([1.0, -1.0], fitted.n)
    target = wide(np.concatenate([fitted.y, -fitted.y])) - epsilon
    box = Box(signs, target, np.tile(upper, 2))
    a = np.concatenate([np.maximum(row.v, 0.0), np.maximum(-row.v, 0.0)])
    return box, a, doubled(outputs)


def _optimal(
    fitted: Fitted, kernel: FixedKernel, row: Row, outputs: Outputs, claimed: float
) -> Evidence:
    """Judge a point of a convex problem by its duality gap."""
    box, a, outputs = problem_of(fitted, row, outputs)
    objective = box.objective(a, outputs)
    gap = box.gap(a, outputs.f, outputs.unsure, claimed, kernel.primal())
    least = 0.0
    if box.total:
        reach = kernel.size * float(np.sum(a / fitted.weight))
        least = _ORIGIN * box.total * reach
    unit = box.unit(a, objective.value, least)
    found = Measured(gap.value, gap.slack, unit)
    return Evidence(objective, "gap", found, box.infeasible(a))
