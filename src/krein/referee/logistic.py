"""KreinLogisticRegression: kernel logistic regression on an indefinite kernel.

Liu, Huang, Peng, Yang, Suykens, equation 5, with weights w of sum N and an intercept:

    (1/N) sum_i w_i log(1 + exp(-y_i f_i)) + alpha/2 a'Ka,     f = K a + b,

has no minimum where K has a negative eigenvalue. Its stationary points in the Krein
space of K are the solutions of

    alpha N a_i / w_i = t_i - p_i,      sum_i a_i = 0 with an intercept,

with labels t of 0 and 1 and p = 1 / (1 + exp(-f)); with several classes jointly p is
the softmax of the rows. `residual_` claims the largest violation of both.

There is exactly one solution if ``|l_min(R K R)| < 4 N alpha`` (2 N alpha for the
softmax): the Hessian of ``sum_i w_i h(p_i) + a'Ka / 2`` in p, which h bounds from below
by 4 (2 for the softmax), is then definite. `ratio_` is the quotient of both sides.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp

from krein.referee.claims import Evidence, Measured, faults_of
from krein.referee.digits import EPS, Wide, exponential, wide
from krein.referee.fitted import Fitted, Outputs, Row
from krein.referee.kernel import FixedKernel, fixed_kernel, map_faults
from krein.referee.losses import sigmoid

_LANCZOS = 1e-2  # the smallest eigenvalue is known to the model to this share


def judge_logistic(fitted: Fitted) -> Iterator[Evidence]:
    """Judge all rows: one joint problem, or one per row."""
    model = fitted.model
    rows = fitted.rows()
    kernel = fixed_kernel(fitted, "flip" if model.flipped_ else "none")
    joint = fitted.parameter("multi_class") == "multinomial" and len(rows) > 1
    faults = [*map_faults(kernel, rows), *_uniqueness_faults(fitted, kernel, joint)]
    groups = [rows] if joint else [[row] for row in rows]
    for group in groups:
        readings = [kernel.readings(row.v, row.c) for row in group]
        evidences = []
        for outputs in zip(*readings, strict=True):
            evidences.append(_judge_group(fitted, group, list(outputs), faults))
        best = min(evidences, key=lambda evidence: evidence.found.value)
        for _ in group:
            yield best


def _judge_group(
    fitted: Fitted, rows: list[Row], outputs: list[Outputs], faults: list[str]
) -> Evidence:
    """Judge the rows of one problem by their largest violation."""
    scores = [
        each.f + wide(np.full(fitted.n, row.b))
        for each, row in zip(outputs, rows, strict=True)
    ]
    residual = _residual(fitted, rows, scores)
    # A probability moves by less than its output, and has last digits.
    slack = 2.0 * max(float(each.unsure.max()) for each in outputs)
    found = Measured(residual, slack + 4 * EPS)
    objective = _objective(fitted, rows, outputs, scores)
    return Evidence(objective, "stationarity", found, faults)


def _residual(fitted: Fitted, rows: list[Row], scores: list[Wide]) -> float:
    """Largest violation of ``alpha N a_i / w_i = t_i - p_i`` and of ``sum a = 0``."""
    alpha = fitted.model.alpha_used_
    N = fitted.weight.sum()
    p = _softmax(scores) if len(rows) > 1 else [sigmoid(scores[0])]
    violations = []
    for k, row in enumerate(rows):
        a = wide(row.v)
        t = 1.0 * (row.y > 0)
        left = a * alpha * N / fitted.weight
        right = t - p[k]
        violations.append(float(np.abs((left - right).high).max()))
        if fitted.parameter("fit_intercept"):
            violations.append(abs(float(a.sum())))
    return float(np.max(violations))


def _softmax(scores: list[Wide]) -> list[Wide]:
    """Return ``exp(F_k) / sum_j exp(F_j)`` for each row k."""
    largest = scores[0]
    for row in scores[1:]:
        largest = row.where((row - largest).high > 0.0, largest)
    # What is positive still is rounding of scores beyond all digits.
    powers = [exponential(-(largest - row).positive()) for row in scores]
    total = powers[0]
    for power in powers[1:]:
        total = total + power
    return [power / total for power in powers]


def _objective(
    fitted: Fitted, rows: list[Row], outputs: list[Outputs], scores: list[Wide]
) -> Measured:
    """Mean loss and penalty; a second class that has no row has scores of 0."""
    w = fitted.weight / fitted.weight.sum()
    alpha = float(fitted.model.alpha_used_)
    F = np.array([row.high for row in scores])
    T = np.array([row.y > 0 for row in rows])
    if len(rows) == 1:
        F = np.vstack([F, 0.0 * F])
        T = np.vstack([T, ~T])
    losses = w * (logsumexp(F, axis=0) - (T * F).sum(axis=0))
    value = float(losses.sum())
    size = 0.0
    rounding = 4 * fitted.spread * (float(np.abs(F).max()) + 1.0)
    for row, each in zip(rows, outputs, strict=True):
        value += 0.5 * alpha * float((row.v * each.f).sum())
        size += float(np.abs(row.v).sum())
        rounding += float((each.rounding + each.unsure).max())
    return Measured(value, rounding * (3.0 + alpha * size) + 64 * EPS * abs(value))


def _uniqueness_faults(fitted: Fitted, kernel: FixedKernel, joint: bool) -> list[str]:
    """Check alpha_used_, ratio_ and unique_ against the spectrum."""
    model = fitted.model
    used = float(model.alpha_used_)
    asked = float(fitted.parameter("alpha"))
    curvature = 2.0 if joint else 4.0
    threshold = curvature * float(fitted.weight.sum()) * used
    ratio = max(0.0, -kernel.smallest) / threshold
    noise = _LANCZOS + fitted.spread * kernel.size / threshold
    ratio_holds = np.allclose(model.ratio_, ratio, rtol=2 * _LANCZOS, atol=noise)
    claims_too_much = model.unique_ and not model.flipped_ and ratio >= 1.0 + noise
    may_raise = fitted.parameter("indefinite") == "raise-alpha"
    alpha_holds = used == asked or (may_raise and used > asked)
    return faults_of(
        (ratio_holds and not claims_too_much and alpha_holds,
         f"unique_, ratio_ or alpha_used_ are wrong: the ratio is {ratio:.4g}"),
    )  # fmt: skip
