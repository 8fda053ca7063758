"""The dual of an SVM by a primal-dual interior-point method, on a dense kernel.

It is for problems that are badly scaled or nearly singular beside the
bounds, where a method that changes two variables at a time needs millions of steps.
With weights w = sum_j u_j phi(x_j), outputs z = Ku and slack variables

    y_i (z_i + b) + xi_i - s_i = m_i,   a_i s_i = mu,   (upper_i - a_i) xi_i = mu,

u = v(a) at the solution (`svm_dual`), a Newton step is one system with ``K +
diag(1 / theta)``: O(n^3 / 3), whatever the bounds are (Fine, Scheinberg, 2001; steps by
Mehrotra, 1992).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from krein.arrays import Array
from krein.machines.box import BalancedBox
from krein.machines.svm_dual import SVMDual

_TO_BOUNDARY = 0.995
_MODERATE = 10.0  # coefficients, in units where kernel and margins are near 1
_PATIENCE = 5  # steps without smaller products a_i s_i
_EPS = float(np.finfo(np.float64).eps)


class State(NamedTuple):
    """Point of the method, or a step of it.

    u are the weights (coefficients, on a dense kernel), z the outputs that they give,
    v the weights that belong to a: u = v at the solution.
    """

    a: Array
    s: Array
    xi: Array
    u: Array
    z: Array
    b: float
    v: Array


# Changes of u, z and b for given changes of the margins, each times theta.
Solve = Callable[[Array], tuple[Array, Array, float]]


# What leaves float64 ends the method: the new point is looked at.
@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def newton_step(
    state: State,
    domain: BalancedBox,
    margin: Array | float,
    spread: Callable[[Array], Array],
    prepare: Callable[[Array, Array], Solve | None],
) -> State | None:
    """One predictor-corrector step; None if the equations cannot be solved.

    ``prepare(theta, rho)`` factors the system, rho being the first change of the
    margins that is asked for; `spread` repeats outputs of items for their variables.
    """
    a = state.a
    s = state.s
    xi = state.xi
    y = domain.y
    room = domain.upper - a
    if not (room.min() > 0.0 and a.min() > 0.0 and s.min() > 0.0 and xi.min() > 0.0):
        return None
    theta = 1.0 / (xi / room + s / a)
    miss = margin - y * (spread(state.z) + state.b) - xi + s

    def direction(r_s: Array, r_xi: Array, solve: Solve, rho: Array) -> State:
        du, dz, db = solve(theta * rho)
        da = theta * (rho - y * (spread(dz) + db))
        ds = (r_s - s * da) / a
        dxi = (r_xi + xi * da) / room
        return State(da, ds, dxi, du, dz, db, du - (state.v - state.u))

    r_s = -a * s
    r_xi = -room * xi
    rho = miss - r_xi / room + r_s / a
    solve = prepare(theta, rho)
    if solve is None:
        return None
    step = direction(r_s, r_xi, solve, rho)
    centre = _centre(state, room, step)
    r_s = r_s + centre - step.a * step.s
    r_xi = r_xi + centre + step.a * step.xi
    step = direction(r_s, r_xi, solve, miss - r_xi / room + r_s / a)
    t = _TO_BOUNDARY * min(_lengths(state, room, step))
    pairs: Any = zip(state, step, strict=True)
    new = State(*(x + t * dx for x, dx in pairs))
    sums = (np.sum(x) for x in (new.a, new.s, new.xi, new.v))
    return new if np.isfinite([*sums, new.b]).all() else None


def _centre(state: State, room: Array, step: State) -> float:
    """Mehrotra's target for the products, from where the predictor would lead."""
    primal, dual = _lengths(state, room, step)
    now = float(state.a @ state.s + room @ state.xi) / (2 * room.size)
    then = float((state.a + dual * step.a) @ (state.s + primal * step.s))
    then += float((room - dual * step.a) @ (state.xi + primal * step.xi))
    return now * (then / (2 * room.size) / now) ** 3


def _lengths(state: State, room: Array, step: State) -> tuple[float, float]:
    """Largest steps of slacks and of a that keep all of them positive, at most 1."""
    primal = min(_longest(state.s, step.s), _longest(state.xi, step.xi))
    dual = min(_longest(state.a, step.a), _longest(room, -step.a))
    return primal, dual


def _longest(x: Array, dx: Array) -> float:
    falling = dx < 0
    return float(np.min(-x[falling] / dx[falling], initial=1.0))


# ------------------------------------------------------------------- a dense kernel


def interior_points(problem: SVMDual) -> Iterator[tuple[Array, Array]]:
    """Yield points of the box, and the same with what tends to a bound put on it.

    The iterator ends when rounding allows no further progress.
    """
    state: State | None = _start(problem)
    least = np.inf
    idle = 0
    while state is not None and idle < _PATIENCE:
        yield state.a, snapped(problem.domain, state)
        state = _newton(problem, state)
        if state is not None:
            room = problem.domain.upper - state.a
            with np.errstate(over="ignore"):
                products = float(state.a @ state.s) + float(room @ state.xi)
            idle = 0 if products < 0.9 * least else idle + 1
            least = min(least, products)


def _start(problem: SVMDual) -> State:
    """Start well inside the box at moderate coefficients, with w = 0, slacks near 1.

    In the middle of a box that is huge beside the solution the first steps would be
    tiny.
    """
    domain = problem.domain
    n = problem.K.shape[0]
    near = np.minimum(domain.upper, _MODERATE)
    one_class = domain.balance > 0.0
    a = (domain if one_class else BalancedBox(near, domain.y)).middle()
    height = max(1.0, float(np.abs(problem.margin).max()))
    s = np.full(a.size, height)
    u, z = np.zeros((2, n))
    return State(a, s, s + problem.margin + height, u, z, 0.0, problem.coef(a))


@np.errstate(over="ignore")  # infinite is larger, too
def snapped(domain: BalancedBox, state: State) -> Array:
    """Put a variable on its bound where that is nearer than its slack is to zero."""
    upper = domain.upper
    room = upper - state.a
    # Products, not quotients: any of the units may be zero to rounding.
    unit_s = float(state.s.max())
    unit_xi = float(state.xi.max())
    largest = float(state.a.max())
    low = state.s * largest > state.a * unit_s
    high = state.xi * min(largest, float(room.max())) > room * unit_xi
    return np.where(low, 0.0, np.where(high, upper, state.a))


def _newton(problem: SVMDual, state: State) -> State | None:
    """One step on a dense kernel."""
    state = state._replace(v=problem.coef(state.a))  # as exact as a is

    def prepare(theta: Array, rho: Array) -> Solve | None:
        inverse = 1.0 / theta.reshape(-1, problem.K.shape[0]).sum(axis=0)
        M = problem.K.copy()
        M[np.diag_indices_from(M)] += inverse
        factor, info = dpotrf(M.T, overwrite_a=1)
        if info != 0 or not np.isfinite(inverse).all():
            return None  # singular to rounding
        border = dpotrs(factor, np.ones(inverse.size))[0]

        def solve(pull: Array) -> tuple[Array, Array, float]:
            q = problem.coef(pull) + state.v - state.u
            solution = dpotrs(factor, inverse * q)[0]
            excess = float(solution.sum() + state.u.sum()) - problem.domain.balance
            db = excess / float(border.sum())
            du = solution - db * border
            return du, problem.K @ du, db

        return solve

    return newton_step(state, problem.domain, problem.margin, problem.spread, prepare)
