"""SVMs on a raw indefinite kernel: stationary points, nothing stronger.

Dual (tdca): the SVM dual, judged by its maximal violating pair. Primal (dc-primal): the
norm of the gradient of ``g/2 x'Mx + 1/2 sum max(0, e - y (Mx + e b))^2`` with
M = W^1/2 K W^1/2, e = sqrt(w), x = W^-1/2 c and g = 1 / C.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from krein.certificates.data import Data, Given, one_against_rest, read
from krein.certificates.report import EPS, Claim, Evidence, Verdict, judge, norm
from krein.certificates.spectral import fix_of
from krein.certificates.svm import classify, intercept_fault

Array = np.ndarray

__all__ = ["check_dc"]


def check_dc(given: Given, claims: list[Claim]) -> list[Verdict]:
    """DCSVC."""
    model, data = given.model, read(given)
    check = _dual if model.solver == "tdca" else _primal
    rows = one_against_rest(data.y, len(model.classes_))
    verdicts = []
    for row, y in enumerate(rows):
        found = check(model, data, row, y)
        if not np.array_equal(model.kkt_gap_[row], model.residual_[row]):
            found.faults.append("kkt_gap_ and residual_ differ")
        verdicts.append(judge(claims[row], found))
    return verdicts


def _dual(model: Any, data: Data, row: int, y: Array) -> Evidence:
    trained = fix_of(data, "none").trained()
    a = model.alpha_[row, data.kept]
    upper = model.C * data.weight
    found = classify(trained, y, upper, a)
    outputs, error = trained.outputs(y * a)
    if not np.array_equal(model.dual_coef_[row, data.kept], y * a):
        found.faults.append("dual_coef_ is not y * alpha_")
    slack = float(found.residual or 0.0) + float(error.max())
    b = float(model.intercept_[row])
    found.faults += intercept_fault(b, a, y, upper, outputs, slack)
    found.gap = None  # tdca claims a stationary point, whatever the kernel is
    return found


def _primal(model: Any, data: Data, row: int, y: Array) -> Evidence:
    root = np.sqrt(data.weight)
    M = root[:, None] * data.K * root
    x, b = model.dual_coef_[row, data.kept] / root, float(model.intercept_[row])
    image = M @ x
    slack = np.maximum(0.0, root - y * (image + root * b))
    inner = x / model.C - y * slack
    gradient = np.append(M @ inner, -float(root @ (y * slack)))
    start = np.append(M @ (-y * root), -float(root @ (y * root)))
    spread = 8 * (y.size + 8) * EPS
    size = norm(M) + norm(root)
    error = spread * (np.abs(M) @ np.abs(x) + root * abs(b) + root)
    value = 0.5 * (float(x @ image) / model.C + float(slack @ slack))
    scale = norm(x) / model.C + norm(slack)
    gradient_slack = size * (spread * scale + norm(error))
    found = Evidence(
        objective=value,
        objective_slack=float((np.abs(x) / model.C + slack) @ error)
        + spread * abs(value)
        + float(error @ error),
        residual=norm(gradient),
        residual_slack=gradient_slack,
    )
    # tol is compared with the gradient relative to that at the origin.
    found.residual_unit = norm(start)
    return found
