"""DCSVC(solver="dc-primal"): the squared-hinge SVM on the raw kernel, in the primal.

Xu, Xue, Chen, Wang (2017), equation 5, with weights w, gamma = 1 / C and coefficients
c:

    F(c, b) = gamma/2 c'Kc + 1/2 sum_i w_i max(0, z_i)^2,   z = 1 - y f,  f = K c + b.

In the coordinates ``x = R^-1 c``, R = W^1/2, its gradient is

    dF/dx = R K (gamma c - W y max(0, z)),      dF/db = -sum_i w_i y_i max(0, z_i).

The claim is the length of the gradient; tol is relative to that at the origin. F is not
convex: nothing is said of other points.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg.blas import dnrm2 as norm  # it neither overflows nor underflows

from krein.referee.claims import Evidence, Measured
from krein.referee.digits import EPS, Wide, product, wide
from krein.referee.fitted import Fitted, Row


def judge_dc_primal(fitted: Fitted) -> Iterator[Evidence]:
    """Judge every row."""
    gamma = 1.0 / float(fitted.parameter("C"))
    w = fitted.weight
    for row in fitted.rows():
        outputs = fitted.outputs(fitted.K, row.c)
        f = outputs.f + row.b
        short = (1.0 - row.y * f).positive()
        pull = gamma * row.c - (w * row.y) * short
        found = _length(fitted, pull, w * row.y * short)
        start = _length(fitted, wide(w * row.y), wide(w * row.y))
        value = 0.5 * gamma * (row.c * outputs.f).sum()
        value = value + 0.5 * (w * short * short).sum()
        rounding = outputs.rounding + outputs.unsure
        rounding = rounding + 4 * fitted.spread * (abs(row.b) + 1.0)
        slopes = w * short.high + gamma * np.abs(row.c)
        slack = 2.0 * float(slopes @ rounding) + float(w @ rounding**2)
        objective = Measured(float(value), slack + 64 * EPS * abs(float(value)))
        unsure = norm(np.sqrt(w) * (abs(fitted.K) @ (w * outputs.unsure)))
        measured = Measured(found, unsure + _last_digits(fitted, row), start)
        yield Evidence(objective, "stationarity", measured, [])


def _last_digits(fitted: Fitted, row: Row) -> float:
    """What doubles make of the gradient: the published method claims it as computed."""
    w = fitted.weight
    sizes = abs(fitted.K) @ np.abs(row.c) + abs(row.b) + 1.0
    pull = np.abs(row.c) / float(fitted.parameter("C")) + w * sizes
    along = np.sqrt(w) * (abs(fitted.K) @ pull)
    return 8 * EPS * float(norm(np.append(along, w @ sizes)))


def _length(fitted: Fitted, pull: Wide, losses: Wide) -> float:
    """Length of ``(R K pull, sum losses)``."""
    along = np.sqrt(fitted.weight) * product(fitted.K, pull).high
    return float(norm(np.append(along, float(losses.sum()))))
