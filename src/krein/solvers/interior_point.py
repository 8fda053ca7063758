"""The linear SVM on tall features by a primal-dual interior-point method.

Problem, on features F (n x r, seen only in passes over its rows):

    minimise  |w|^2 / 2 + sum_i U_i max(0, 1 - y_i (f_i'w + b)),

with dual ``max e'a - |F'Ya|^2 / 2`` over 0 <= a_i <= U_i, y'a = 0. It is the kernel
SVM on ``F F'``, the intercept not penalised. Slack variables give

    y_i (f_i'w + b) + xi_i - s_i = 1,   a_i s_i = mu,   (U_i - a_i) xi_i = mu,

and every Newton step is one weighted Gram matrix ``[F 1]' diag(theta) [F 1]`` and a
system of r + 1 equations: O(n r^2), whatever U is (Fine, Scheinberg, 2001; Ferris,
Munson, 2002; steps by Mehrotra, 1992). ``w = F'Ya`` and ``y'a = 0`` hold at the start
and, being linear, ever after; so the difference of primal and dual value is a gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.domain import BalancedBox
from krein.matrices.tiles import TiledMatrix
from krein.result import Certificate, Result, Status
from krein.solvers._active_set import QuadraticModel
from krein.solvers._loop import Iterate, run

__all__ = ["linear_svm"]

_MAX_STEPS = 200
_TO_BOUNDARY = 0.995
_AIM = 1e-2  # one more step or two, and the variables on bounds are told apart
_ROUNDS, _REFINEMENTS = 6, 3  # of the solution for the free variables


@dataclass
class _State:
    """Point of the method, with the products ``z = F w`` and ``v = F'Ya``."""

    a: Array
    s: Array
    xi: Array
    w: Array
    b: float
    z: Array
    v: Array


def linear_svm(
    features: TiledMatrix,
    domain: BalancedBox,
    *,
    tol: float = 1e-6,
    max_iter: int = _MAX_STEPS,
) -> tuple[Result, Array, float]:
    """Solve the linear SVM and certify the answer.

    Parameters
    ----------
    features : TiledMatrix of shape (n, r)
        F.
    domain : BalancedBox
        Bounds U and labels y.
    tol : float
        Tolerance on the gap, relative to the dual value.
    max_iter : int
        Largest number of Newton steps.

    Returns
    -------
    Result
        ``x`` holds a in the box.
    ndarray of shape (r,)
        w.
    float
        b.
    """
    iterates = _steps(features, domain)
    result = run(iterates, tol=_AIM * tol, max_iter=min(max_iter, _MAX_STEPS))
    result, w, b = _snapped(features, domain, result, tol)
    reached = result.certificate.relative <= tol  # rounding may stop it further on
    status: Status = "converged" if reached else "max_iter"
    return replace(result, status=status), w, b


def _steps(features: TiledMatrix, domain: BalancedBox) -> Iterator[Iterate]:
    state = _start(features, domain)
    while True:
        yield _certified(state, domain)
        step = _newton(features, domain, state)
        if step is None:  # the system is singular to rounding: no further progress
            return
        state = step


def _start(features: TiledMatrix, domain: BalancedBox) -> _State:
    """Start in the middle of the box on ``y'a = 0``, with w = 0 and slacks near 1.

    ``w = F'Ya`` does not hold here; starting with it makes w, and with it all slacks,
    as large as the box, and costs twice the steps.
    """
    positive = domain.y > 0
    totals = np.array([domain.upper[~positive].sum(), domain.upper[positive].sum()])
    share = 0.5 * totals.min() / totals
    a = domain.upper * np.where(positive, share[1], share[0])
    n, r = features.shape
    v = features.transpose_dot(domain.y * a)
    return _State(a, np.ones(n), np.full(n, 2.0), np.zeros(r), 0.0, np.zeros(n), v)


def _certified(state: _State, domain: BalancedBox) -> Iterate:
    """Primal value at (w, b), dual value at a: each is honest whatever w is."""
    dual = float(state.a.sum()) - 0.5 * float(state.v @ state.v)
    hinge = np.maximum(0.0, 1.0 - domain.y * (state.z + state.b))
    primal = 0.5 * float(state.w @ state.w) + float(domain.upper @ hinge)
    # The last term is what rounding in y'a = 0 can be worth.
    gap = max(0.0, primal - dual) + abs(state.b * float(domain.y @ state.a))
    return Iterate(
        x=state.a,
        value=dual,
        certificate=_gap(gap, dual),
        bound=primal,
        info={"state": state},
    )


def _gap(gap: float, value: float) -> Certificate:
    return Certificate("gap", gap, gap / max(abs(value), 1e-300))


def _snapped(
    features: TiledMatrix, domain: BalancedBox, result: Result, tol: float
) -> tuple[Result, Array, float]:
    """Put on their bounds the variables that tend there, and solve for the others.

    An interior point has no zeros and, where no variable is free, an arbitrary
    intercept; after snapping, both follow the rules that other SVM solvers have. It is
    taken if the gap is no larger than before, or small enough.
    """
    state: _State = result.info["state"]
    state.v = features.transpose_dot(domain.y * state.a)  # without piled-up rounding
    interior = _certified(state, domain)
    corner = _corner(features, domain, state)
    gap, value = corner.gap, corner.value
    if gap <= max(interior.certificate.value, tol * abs(value)):
        b = domain.intercept(corner.a, corner.outputs)
        found = replace(
            result, x=corner.a, value=value, certificate=_gap(gap, value), info={}
        )
        return found, corner.w, b
    found = replace(
        result, value=interior.value, certificate=interior.certificate, info={}
    )
    return found, state.w, state.b


@dataclass(frozen=True)
class _Corner:
    """A point of the box with its weights, outputs, value and gap."""

    a: Array
    w: Array
    outputs: Array
    value: float
    gap: float

    @classmethod
    def at(cls, features: TiledMatrix, domain: BalancedBox, a: Array) -> _Corner:
        a = domain.rebalance(a)
        w = features.transpose_dot(domain.y * a)
        outputs = features @ w
        value = float(a.sum()) - 0.5 * float(w @ w)
        return cls(a, w, outputs, value, domain.gap(a, 1.0 - domain.y * outputs))


def _corner(features: TiledMatrix, domain: BalancedBox, state: _State) -> _Corner:
    """Solve exactly for the variables that may be free, the others on their bounds.

    At the solution about as many variables are free as there are features. Which they
    are, the interior point tells but for a few: twice as many as that are solved for
    by active sets; a variable that turns out to be on the wrong bound joins them.
    """
    upper = domain.upper
    least = 1e-30 * upper  # rounding may have put a variable on its bound
    to_zero = state.s * upper / np.maximum(state.a, least)
    to_upper = state.xi * upper / np.maximum(upper - state.a, least)
    size = min(domain.n, 2 * (features.shape[1] + 1))
    loose = np.argpartition(np.maximum(to_zero, to_upper), size - 1)[:size]
    a = np.where(to_zero > to_upper, 0.0, upper)
    a[loose] = state.a[loose]
    best: _Corner | None = None
    for _ in range(_ROUNDS):
        found = _Corner.at(features, domain, _solved(features, domain, a, loose))
        if best is not None and found.gap >= 0.5 * best.gap:
            break
        a, best = found.a, found
        wrong = _wrong_side(domain, found)
        if wrong.size == 0 or wrong.size > size:
            break
        free = np.flatnonzero((a > 0.0) & (a < upper))
        loose = np.union1d(free, wrong) if free.size <= size else wrong
    assert best is not None
    return best


def _wrong_side(domain: BalancedBox, point: _Corner) -> np.ndarray:
    """Variables on a bound that would leave it."""
    gradient = 1.0 - domain.y * point.outputs
    tau = domain.intercept(point.a, point.outputs)
    reduced = gradient - tau * domain.y
    slack = 1e-12 * (1.0 + np.abs(point.outputs).max())
    grows = (point.a <= 0.0) & (reduced > slack)
    falls = (point.a >= domain.upper) & (reduced < -slack)
    return np.flatnonzero(grows | falls)


def _solved(
    features: TiledMatrix, domain: BalancedBox, a: Array, loose: np.ndarray
) -> Array:
    """Best values of the variables `loose`, with all others as they are."""
    y, upper = domain.y[loose], domain.upper[loose]
    fixed = domain.y * a
    fixed[loose] = 0.0
    part = BalancedBox(upper, y, -float(fixed.sum()))
    x = part.project(a[loose])
    F = y[:, None] * features.rows(loose)
    constant = F @ features.transpose_dot(fixed)
    model = QuadraticModel(F @ F.T, y, upper)
    for _ in range(_REFINEMENTS):  # the ridge of the model leaves a little
        gradient = 1.0 - constant - F @ (F.T @ x)
        _, tau = part.maximise(gradient)
        x = np.clip(x + model.maximise(x, gradient - tau * y), 0.0, upper)
    a = a.copy()
    a[loose] = x
    return a


def _newton(features: TiledMatrix, domain: BalancedBox, state: _State) -> _State | None:
    """One predictor-corrector step; None if the equations cannot be solved."""
    y, room = domain.y, domain.upper - state.a
    if not (room.min() > 0.0 and state.a.min() > 0.0):
        return None
    theta = 1.0 / (state.xi / room + state.s / state.a)
    if not np.isfinite(theta).all():
        return None
    miss = 1.0 - y * (state.z + state.b) - state.xi + state.s
    drift = np.append(state.v - state.w, y @ state.a)

    def target(r_s: Array, r_xi: Array) -> Array:
        return miss - r_xi / room + r_s / state.a

    def direction(rho: Array, r_s: Array, r_xi: Array, right: Array) -> tuple[Any, ...]:
        solution = scipy.linalg.cho_solve(factor, right + drift, check_finite=False)
        dw, db = solution[:-1], float(solution[-1])
        dz = features @ dw
        da = theta * (rho - y * (dz + db))
        ds = (r_s - state.s * da) / state.a
        dxi = (r_xi + state.xi * da) / room
        return da, ds, dxi, dw, db, dz

    r_s, r_xi = -state.a * state.s, -room * state.xi
    rho = target(r_s, r_xi)
    matrix = features.gram(theta, y * rho)
    right = matrix[:-1, -1].copy()
    matrix = matrix[:-1, :-1]
    matrix[np.diag_indices(matrix.shape[0] - 1)] += 1.0
    try:
        factor = scipy.linalg.cho_factor(matrix, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    da, ds, dxi, *_ = direction(rho, r_s, r_xi, right)
    centre = _centre(domain, state, da, ds, dxi)
    r_s, r_xi = r_s + centre - da * ds, r_xi + centre + da * dxi
    rho = target(r_s, r_xi)
    weighted = theta * rho * y
    right = np.append(features.transpose_dot(weighted), weighted.sum())
    da, ds, dxi, dw, db, dz = direction(rho, r_s, r_xi, right)
    t = _TO_BOUNDARY * min(_lengths(state, room, da, ds, dxi))
    return _State(
        a=state.a + t * da,
        s=state.s + t * ds,
        xi=state.xi + t * dxi,
        w=state.w + t * dw,
        b=state.b + t * db,
        z=state.z + t * dz,
        # F'Y da = dw - (v - w) by the equations just solved: no further pass.
        v=state.v + t * (dw - (state.v - state.w)),
    )


def _centre(
    domain: BalancedBox, state: _State, da: Array, ds: Array, dxi: Array
) -> float:
    """Mehrotra's target for the products, from where the predictor would lead."""
    upper = domain.upper

    def mean(a: Array, s: Array, xi: Array) -> float:
        return float(a @ s + (upper - a) @ xi) / (2 * a.size)

    primal, dual = _lengths(state, upper - state.a, da, ds, dxi)
    now = mean(state.a, state.s, state.xi)
    then = mean(state.a + dual * da, state.s + primal * ds, state.xi + primal * dxi)
    return now * (then / now) ** 3


def _lengths(
    state: _State, room: Array, da: Array, ds: Array, dxi: Array
) -> tuple[float, float]:
    """Largest steps of slacks and of a that keep all of them positive, at most 1."""
    primal = min(_longest(state.s, ds), _longest(state.xi, dxi))
    dual = min(_longest(state.a, da), _longest(room, -da))
    return primal, dual


def _longest(x: Array, dx: Array) -> float:
    falling = dx < 0
    if not falling.any():
        return 1.0
    return min(1.0, float((-x[falling] / dx[falling]).min()))
