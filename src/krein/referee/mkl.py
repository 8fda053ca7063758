"""MKLSVC: weights of several kernels, learned together with the SVM.

Chen and Ye (2008), equation 27 and Theorem 5.1; without costs Lanckriet et al. (2004):

    minimise over s >= 0, sum s = 1,   phi(s) = SVM(sum_i s_i K_i) + sum_i s_i c_i,
    SVM(K) = max over a in Q of e'a - v'Kv / 2,     c_i = rho |R (K_i - K0) R|_F^2.

The gap of the SVM at s bounds phi(s) from above. Every a in Q bounds the minimum from
below: phi is at least ``e'a - v'K(s)v / 2 + c's``, which is linear in s, so that the
smallest of its values at the corners, ``min_i e'a - v'K_i v / 2 + c_i``, is a bound.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from krein.referee.box import Box, Kernel
from krein.referee.claims import Evidence, Measured, faults_of
from krein.referee.digits import EPS, Array, Wide, product, wide
from krein.referee.fitted import Fitted, Outputs, Row
from krein.referee.kernel import same_faults

_SUM = 1e-9  # of weights, from 1
_SOLVED = 1e-6  # of the objective: the share to which a model has to solve the SVM at s


def judge_mkl(fitted: Fitted) -> Iterator[Evidence]:
    """Judge every row: each has weights of its own."""
    square = np.ix_(fitted.kept, fitted.kept)
    stack = [_fixed(fitted, 0.5 * (K + K.T)[square]) for K in fitted.stack]
    costs = _costs(fitted, stack)
    for k, row in enumerate(fitted.rows()):
        shares = fitted.model.weights_[k]
        box = Box(row.y, wide(np.ones(fitted.n)), fitted.parameter("C") * fitted.weight)
        a = row.y * row.v
        single = [fitted.outputs(K, row.v) for K in stack]
        outputs = _mixture(single, shares)
        fixed = (wide(costs) * shares).sum()
        below = box.value(a, outputs.f) + fixed
        least = _lower_bound(fitted, box, row, stack, costs, k)
        claimed = fitted.results[k].certificate.value
        needed = claimed - float(below - least)
        gap = box.gap(a, outputs.f, outputs.unsure, needed, _kernel(stack, shares))
        above = below + gap.value
        found = max(0.0, float(above - least))
        unit = abs(float(above) - float(costs.min()))
        largest = np.max([each.unsure for each in single], axis=0)
        slack = gap.slack + float(np.abs(a) @ largest) + 64 * EPS * float(costs.max())
        if fitted.parameter("fix") is not None:  # a decomposition in doubles
            norm = max(float(np.abs(K).sum(axis=1).max()) for K in stack)
            slack += fitted.spread * norm * float(np.abs(a).sum()) ** 2
        # The model says an upper bound of phi, by its own gap of the SVM.
        doubles = box.objective(a, outputs).slack + slack
        doubles += min(claimed, _SOLVED * unit)
        objective = Measured(float(above), doubles)
        faults = [
            *same_faults([row]),
            *box.infeasible(a),
            *box.intercept_faults(a, row.b, outputs),
            *_weight_faults(shares),
        ]
        yield Evidence(objective, "gap", Measured(found, slack, unit), faults)


def _costs(fitted: Fitted, stack: list[Array]) -> Array:
    """c_i, 0 without a target."""
    target = fitted.parameter("target")
    if target is None:
        return np.zeros(len(stack))
    target = np.asarray(target, dtype=float)
    if target.ndim:
        target = target[np.ix_(fitted.kept, fitted.kept)]
    else:
        target = stack[int(target)]
    rho = fitted.parameter("rho")
    w = fitted.weight
    distances = [w @ (K - target) ** 2 @ w for K in stack]
    return rho * np.array(distances)


def _mixture(single: list[Outputs], shares: Array) -> Outputs:
    """Outputs of the weighted sum of the kernels."""
    f: Wide = wide(np.zeros(single[0].f.shape))
    unsure = 0.0 * single[0].unsure
    rounding = 0.0 * single[0].rounding
    for outputs, share in zip(single, shares, strict=True):
        f = f + outputs.f * share
        unsure = unsure + abs(share) * outputs.unsure
        rounding = rounding + abs(share) * outputs.rounding
    return Outputs(f, unsure, rounding)


def _kernel(stack: list[Array], shares: Array) -> Kernel:
    """The weighted sum of the kernels."""

    def times(d: Array) -> Wide:
        image = wide(np.zeros(d.size))
        for K, share in zip(stack, shares, strict=True):
            image = image + product(K, d) * share
        return image

    return Kernel(np.tensordot(shares, np.array(stack), 1), times)


def _lower_bound(
    fitted: Fitted, box: Box, row: Row, stack: list[Array], costs: Array, k: int
) -> Wide:
    """Largest bound by the variables of the model, and by those that it kept for it."""
    own = row.y * row.v
    kept = np.asarray(fitted.results[k].info.get("alpha", own))
    best = wide(-np.inf)
    for a in (own, kept):
        if box.infeasible(a):
            continue
        v = row.y * a
        corners = []
        for K, cost in zip(stack, costs, strict=True):
            bend = (v * fitted.outputs(K, v).f).sum()
            corners.append(wide(a).sum() - 0.5 * bend + cost)
        least = min(corners, key=float)
        if float(least) > float(best):
            best = least
    return best


def _weight_faults(shares: Array) -> list[str]:
    simplex = abs(float(shares.sum()) - 1.0) <= _SUM and shares.min() >= 0.0
    return faults_of((simplex, "weights_ are negative, or not of sum 1"))


def _fixed(fitted: Fitted, K: Array) -> Array:
    """K~ = R^-1 V diag(f(l)) V' R^-1 with R K R = V diag(l) V'; K without a fix."""
    fix = fitted.parameter("fix")
    if fix is None:
        return K
    root = np.sqrt(fitted.weight)
    values, V = np.linalg.eigh(root[:, None] * K * root)
    made = {
        "clip": np.maximum(values, 0.0),
        "flip": np.abs(values),
        "square": values**2,
    }[fix]
    fixed = (V * made) @ V.T / root[:, None] / root
    return 0.5 * (fixed + fixed.T)
