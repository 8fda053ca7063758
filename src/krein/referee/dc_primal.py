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
from krein.referee.fitted import Fitted, Outputs, Row


def judge_dc_primal(fitted: Fitted) -> Iterator[Evidence]:
    """Judge every row."""
    for row in fitted.rows():
        outputs = fitted.outputs(fitted.K, row.c)
        short = (1.0 - row.y * (outputs.f + row.b)).positive()
        objective = _objective(fitted, row, outputs, short)
        gradient = _gradient(fitted, row, outputs, short)
        yield Evidence(objective, "stationarity", gradient, [])


def _objective(fitted: Fitted, row: Row, outputs: Outputs, short: Wide) -> Measured:
    """Return F(c, b); `short` is max(0, z)."""
    w = fitted.weight
    gamma = 1.0 / float(fitted.parameter("C"))
    penalty = 0.5 * gamma * (row.c * outputs.f).sum()
    losses = 0.5 * (w * short * short).sum()
    value = float(penalty + losses)
    rounding = outputs.rounding + outputs.unsure
    rounding = rounding + 4 * fitted.spread * (abs(row.b) + 1.0)
    # How much an output changes F: its slope, and the curvature of the loss.
    slopes = w * short.high + gamma * np.abs(row.c)
    slack = 2.0 * float(slopes @ rounding) + float(w @ rounding**2)
    return Measured(value, slack + 64 * EPS * abs(value))


def _gradient(fitted: Fitted, row: Row, outputs: Outputs, short: Wide) -> Measured:
    """Length of the gradient, in units of that at the origin."""
    w = fitted.weight
    gamma = 1.0 / float(fitted.parameter("C"))
    forces = w * row.y * short
    length = _length(fitted, gamma * row.c - forces, forces)
    at_origin = wide(w * row.y)
    unit = _length(fitted, at_origin, at_origin)
    unsure = norm(np.sqrt(w) * (abs(fitted.K) @ (w * outputs.unsure)))
    return Measured(length, unsure + _last_digits(fitted, row), unit)


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
