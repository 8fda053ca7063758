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

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.machines._loop import Iterate, run
from krein.machines._svm_interior import (
    FeaturePoint,
    Solve,
    State,
    corner_near,
    newton_step,
)
from krein.machines.box import BalancedBox
from krein.result import Certificate, Result, Status
from krein.similarity.tiles import TiledMatrix

_MAX_STEPS = 200
_AIM = 1e-2  # one more step or two, and the variables on bounds are told apart
# From this many items on the problem is solved for those near the margin, which a part
# of the items tells; what it misses is near the margin of the second round.
_MANY = 50_000
_SAMPLE, _ROUGH = 8, 1e-4
_NEAR, _ROUNDS = 5, 2


@dataclass(frozen=True)
class _Fixed:
    """What variables that stay on their bounds add: ``F'Ya`` and the sum of a.

    The problem of the others is ``|w|^2 / 2 - weights'w + balance b + sum_i U_i
    max(0, 1 - y_i (f_i'w + b))``, with ``w = F'Ya + weights`` and ``y'a = balance``.
    """

    weights: Array
    value: float = 0.0


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
    max_iter = min(max_iter, _MAX_STEPS)
    found = _near_the_margin(features, domain, tol, max_iter)
    if found is None:
        nothing = _Fixed(np.zeros(features.shape[1]))
        iterates = _steps(features, domain, nothing)
        result = run(iterates, tol=_AIM * tol, max_iter=max_iter)
        found = _snapped(features, domain, result, tol)
    result, w, b = found
    reached = result.certificate.relative <= tol  # rounding may stop it further on
    status: Status = "converged" if reached else "max_iter"
    return replace(result, status=status), w, b


def _near_the_margin(
    features: TiledMatrix, domain: BalancedBox, tol: float, max_iter: int
) -> tuple[Result, Array, float] | None:
    """Solve with variables far from the margin on their bounds; None if that fails."""
    n, r = features.shape
    if n < _MANY:
        return None
    some = np.sort(np.random.default_rng(0).choice(n, n // _SAMPLE, replace=False))
    part = BalancedBox(domain.upper[some] * (n / some.size), domain.y[some])
    if not _has_interior(part):
        return None
    iterates = _steps(features.part(some), part, _Fixed(np.zeros(r)))
    result = run(iterates, tol=_ROUGH, max_iter=max_iter)
    w, b, steps = result.info["state"].u, result.info["state"].b, result.n_iter
    z = features @ w
    for _ in range(_ROUNDS):
        outside = 1.0 - domain.y * (z + b)
        near = np.sort(np.argpartition(np.abs(outside), n // _NEAR)[: n // _NEAR])
        solved = _with_others_fixed(features, domain, outside, near, tol, max_iter)
        if solved is None:
            return None
        result, steps = solved, steps + solved.n_iter
        state: State = result.info["state"]
        found, w, b = _snapped(features, domain, result, tol)
        if found.info["distance"] <= tol * abs(found.value):  # the rest is rounding
            return replace(found, n_iter=steps), w, b
        w, b, z = state.u, state.b, state.z
    return None


def _with_others_fixed(
    features: TiledMatrix,
    domain: BalancedBox,
    outside: Array,
    near: np.ndarray,
    tol: float,
    max_iter: int,
) -> Result | None:
    """Solve for the variables `near`, the others where ``1 - y f`` puts them."""
    a = np.where(outside > 0.0, domain.upper, 0.0)
    a[near] = 0.0
    fixed = _Fixed(features.transpose_dot(domain.y * a), float(a.sum()))
    balance = -float(domain.y @ a)
    part = BalancedBox(domain.upper[near], domain.y[near], balance)
    if not _has_interior(part):
        return None
    iterates = _steps(features.part(near), part, fixed)
    result = run(iterates, tol=_AIM * tol, max_iter=max_iter)
    state: State = result.info["state"]
    z = features @ state.u
    outside = 1.0 - domain.y * (z + state.b)
    a[near] = state.a
    s, xi = np.maximum(-outside, 0.0), np.maximum(outside, 0.0)
    s[near], xi[near] = state.s, state.xi
    whole = State(a, s, xi, state.u, z, state.b, state.v)
    return replace(result, x=a, info={"state": whole})


def _has_interior(domain: BalancedBox) -> bool:
    """Some point strictly inside the box has ``y'a = balance``."""
    most = float(domain.upper[domain.y > 0].sum())
    least = -float(domain.upper[domain.y < 0].sum())
    return least < domain.balance < most


def _steps(
    features: TiledMatrix, domain: BalancedBox, fixed: _Fixed
) -> Iterator[Iterate]:
    state = _start(features, domain, fixed)
    while True:
        yield _certified(state, domain, fixed)
        step = _newton(features, domain, state)
        if step is None:  # the system is singular to rounding: no further progress
            return
        state = step


def _start(features: TiledMatrix, domain: BalancedBox, fixed: _Fixed) -> State:
    """Start in the middle of the box on ``y'a = balance``, with w = 0, slacks near 1.

    ``w = F'Ya`` does not hold here; starting with it makes w, and with it all slacks,
    as large as the box, and costs twice the steps.
    """
    a, (n, r) = domain.middle(), features.shape
    v = features.transpose_dot(domain.y * a) + fixed.weights
    s, u, z = np.ones(n), np.zeros(r), np.zeros(n)
    return State(a, s, s + 1.0, u, z, 0.0, v)


def _certified(state: State, domain: BalancedBox, fixed: _Fixed) -> Iterate:
    """Primal value at (w, b), dual value at a: each is honest whatever w is."""
    dual = fixed.value + float(state.a.sum()) - 0.5 * float(state.v @ state.v)
    hinge = np.maximum(0.0, 1.0 - domain.y * (state.z + state.b))
    primal = fixed.value + float(domain.upper @ hinge) + domain.balance * state.b
    primal += float((0.5 * state.u - fixed.weights) @ state.u)
    # The last term is what rounding in y'a can be worth.
    drift = float(domain.y @ state.a) - domain.balance
    gap = max(0.0, primal - dual) + abs(state.b * drift)
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
    state: State = result.info["state"]
    point = corner_near(features, domain, state.a, state.s, state.xi)
    b = domain.intercept(point.a, point.outputs)
    if point.distance > tol * abs(point.value):
        interior = FeaturePoint.at(features, domain, state.a)
        if interior.gap < point.gap:
            point, b = interior, state.b
    certificate = _gap(point.gap, point.value)
    found = replace(
        result,
        x=point.a,
        value=point.value,
        certificate=certificate,
        info={"distance": point.distance},
    )
    return found, point.w, b


def _newton(features: TiledMatrix, domain: BalancedBox, state: State) -> State | None:
    """One step on features, in two passes and one with their Gram matrix."""
    y = domain.y
    drift = np.append(state.v - state.u, y @ state.a - domain.balance)

    def prepare(theta: Array, rho: Array) -> Solve | None:
        if not np.isfinite(theta).all():
            return None
        matrix = features.gram(theta, y * rho)  # with the first right-hand side
        known, matrix = [matrix[:-1, -1].copy()], matrix[:-1, :-1]
        matrix[np.diag_indices(matrix.shape[0] - 1)] += 1.0
        try:
            factor = scipy.linalg.cho_factor(matrix, check_finite=False)
        except np.linalg.LinAlgError:
            return None

        def solve(pull: Array) -> tuple[Array, Array, float]:
            right = known.pop() if known else _sums(features, y * pull)
            solution = scipy.linalg.cho_solve(factor, right + drift, check_finite=False)
            return solution[:-1], features @ solution[:-1], float(solution[-1])

        return solve

    return newton_step(state, domain, 1.0, lambda z: z, prepare)


def _sums(features: TiledMatrix, signed: Array) -> Array:
    """``[F 1]'`` times a vector."""
    return np.append(features.transpose_dot(signed), signed.sum())
