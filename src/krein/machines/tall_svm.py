"""The linear SVM on tall features, n x r with n much larger than r.

On features F, seen only in passes over their rows, it solves

    minimise  |w|^2 / 2 + sum_i U_i max(0, 1 - y_i (f_i'w + b)),

with dual ``max e'a - |F'Ya|^2 / 2`` over 0 <= a_i <= U_i, y'a = 0: the kernel SVM on
``F F'``, the intercept not penalised. Every step of the interior-point method
(`krein.machines.interior_point`) is one weighted Gram matrix ``[F 1]' diag(theta)
[F 1]`` and a system of r + 1 equations: O(n r^2) (Ferris, Munson, 2002). ``w = F'Ya``
and ``y'a = 0`` hold once a full step was made, so that the difference of primal and
dual value is a gap.

Of many items only those near the margin are variables: a sample tells which, and the
others stay on the bound that their side of the margin says. The certificate counts all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.machines._loop import Iterate, run
from krein.machines.box import BalancedBox
from krein.machines.interior_point import Solve, State, newton_step, snapped
from krein.machines.svm_dual import box_gap
from krein.result import Certificate, Result
from krein.similarity.tiles import TiledMatrix

_MAX_STEPS = 200
# Shares of the tolerance that are aimed at, inside and on the bounds: the last steps
# cost little, and decision values err like the root of the gap at worst.
_AIM, _ON_BOUNDS = 1e-6, 1e-2
_EPS = float(np.finfo(np.float64).eps)
# From this many items on those near the margin are solved for, told by one of so many.
_MANY, _SAMPLE, _ROUGH = 50_000, 8, 1e-4
_NEAR, _ROUNDS = 5, 2  # one of so many items is near; what a round misses the next has


def linear_svm(
    features: TiledMatrix,
    domain: BalancedBox,
    *,
    tol: float = 1e-6,
    max_iter: int = _MAX_STEPS,
) -> tuple[Result, float]:
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
        ``x`` holds a in the box, ``info["w"]`` the weights.
    float
        b.
    """
    whole = TallSVM(features, domain, np.zeros(features.shape[1]))
    max_iter = min(max_iter, _MAX_STEPS)
    found = _near_the_margin(whole, tol, max_iter)
    return found or _settled(whole, whole.solve(_AIM * tol, max_iter), tol)


@dataclass(frozen=True)
class TallSVM:
    """The problem of the module's docstring, or what is left of it.

    With other variables on their bounds it is ``|w|^2 / 2 - fixed'w + balance b +
    sum_i U_i max(0, 1 - y_i (f_i'w + b))``, ``w = F'Ya + fixed`` and ``y'a = balance``.

    Attributes
    ----------
    features : TiledMatrix of shape (n, r)
        F.
    domain : BalancedBox
        Bounds, labels and balance.
    fixed : ndarray of shape (r,)
        ``F'Ya`` of the variables on their bounds.
    value : float
        Their sum.
    """

    features: TiledMatrix
    domain: BalancedBox
    fixed: Array
    value: float = 0.0

    def solve(self, tol: float, max_iter: int) -> Result:
        """Run the interior-point method; ``info["state"]`` is its last point."""
        return run(self._steps(), tol=tol, max_iter=max_iter)

    def _steps(self) -> Iterator[Iterate]:
        state: State | None = self._start()
        while state is not None:  # else the system is singular to rounding
            yield self._certified(state)
            state = self._newton(state)

    def _start(self) -> State:
        """Start in the middle of the box, with w = 0, slacks near 1.

        ``w = F'Ya`` does not hold here; starting with it makes w, and with it all
        slacks, as large as the box, and costs twice the steps.
        """
        a, (n, r) = self.domain.middle(), self.features.shape
        v = self.features.transpose_dot(self.domain.y * a) + self.fixed
        s, u, z = np.ones(n), np.zeros(r), np.zeros(n)
        return State(a, s, s + 1.0, u, z, 0.0, v)

    def _certified(self, state: State) -> Iterate:
        """Primal value at (w, b), dual value at a: each is honest whatever w is."""
        domain = self.domain
        dual = self.value + float(state.a.sum()) - 0.5 * float(state.v @ state.v)
        hinge = np.maximum(0.0, 1.0 - domain.y * (state.z + state.b))
        primal = self.value + float(domain.upper @ hinge) + domain.balance * state.b
        primal += float((0.5 * state.u - self.fixed) @ state.u)
        # The last term is what rounding in y'a can be worth.
        drift = float(domain.y @ state.a) - domain.balance
        gap = max(0.0, primal - dual) + abs(state.b * drift)
        return Iterate(state.a, dual, _gap(gap, dual), primal, info={"state": state})

    def _newton(self, state: State) -> State | None:
        """One step, in two passes and one with the Gram matrix of the features."""
        features, y = self.features, self.domain.y
        drift = np.append(state.v - state.u, y @ state.a - self.domain.balance)

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
                x = scipy.linalg.cho_solve(factor, right + drift, check_finite=False)
                return x[:-1], features @ x[:-1], float(x[-1])

            return solve

        return newton_step(state, self.domain, 1.0, lambda z: z, prepare)


def _sums(features: TiledMatrix, signed: Array) -> Array:
    """``[F 1]'`` times a vector."""
    return np.append(features.transpose_dot(signed), signed.sum())


def _gap(gap: float, value: float) -> Certificate:
    return Certificate("gap", gap, gap / max(abs(value), 1e-300))


# ------------------------------------------------------------- items near the margin


def _near_the_margin(
    whole: TallSVM, tol: float, max_iter: int
) -> tuple[Result, float] | None:
    """Solve with variables far from the margin on their bounds; None if that fails."""
    features, domain = whole.features, whole.domain
    n = domain.n
    if n < _MANY:
        return None
    some = np.sort(np.random.default_rng(0).choice(n, n // _SAMPLE, replace=False))
    part = BalancedBox(domain.upper[some] * (n / some.size), domain.y[some])
    if not _has_interior(part):
        return None
    rough = TallSVM(features.part(some), part, whole.fixed).solve(_ROUGH, max_iter)
    state, steps = rough.info["state"], rough.n_iter
    z = features @ state.u
    for _ in range(_ROUNDS):
        outside = 1.0 - domain.y * (z + state.b)
        near = np.sort(np.argpartition(np.abs(outside), n // _NEAR)[: n // _NEAR])
        a = np.where(outside > 0.0, domain.upper, 0.0)
        a[near] = 0.0
        part = BalancedBox(domain.upper[near], domain.y[near], -float(domain.y @ a))
        if not _has_interior(part):
            return None
        fixed = features.transpose_dot(domain.y * a)
        rest = TallSVM(features.part(near), part, fixed, float(a.sum()))
        result = rest.solve(_AIM * tol, max_iter)
        state, steps = result.info["state"], steps + result.n_iter
        z = features @ state.u
        result = replace(
            result, n_iter=steps, info={"state": _joined(state, a, near, z, domain)}
        )
        found = _settled(whole, result, tol)
        if found[0].converged:
            return found
    return None


def _joined(
    state: State, a: Array, near: np.ndarray, z: Array, domain: BalancedBox
) -> State:
    """A point of all variables, from one of those near the margin."""
    outside = 1.0 - domain.y * (z + state.b)
    s, xi = np.maximum(-outside, 0.0), np.maximum(outside, 0.0)
    a[near], s[near], xi[near] = state.a, state.s, state.xi
    return State(a, s, xi, state.u, z, state.b, state.v)


def _has_interior(domain: BalancedBox) -> bool:
    """Some point strictly inside the box has ``y'a = balance``."""
    low, high = domain.signed_bounds
    return float(low.sum()) < domain.balance < float(high.sum())


# ------------------------------------------------------------------- the last point


def _settled(whole: TallSVM, result: Result, tol: float) -> tuple[Result, float]:
    """Put on their bounds the variables that tend there, where the gap allows it."""
    state: State = result.info["state"]
    found = _evaluated(whole, snapped(whole.domain, state))
    if found[-1].relative > _ON_BOUNDS * tol:
        inside = _evaluated(whole, state.a)
        found = min(found, inside, key=lambda point: point[-1].value)
    a, w, value, certificate = found
    # Rounding may stop it further on.
    status = certificate.status(tol, out_of_steps=result.status == "max_iter")
    solved = replace(
        result, x=a, value=value, certificate=certificate, status=status, info={"w": w}
    )
    return solved, state.b


def _evaluated(whole: TallSVM, a: Array) -> tuple[Array, Array, float, Certificate]:
    """A point of the box, its weights, value and gap, rounding counted."""
    features, a = whole.features, whole.domain.rebalance(a)
    w = features.transpose_dot(whole.domain.y * a)
    value = float(a.sum()) - 0.5 * float(w @ w)
    # Both products are sums: rounded like their magnitudes (Higham, Mary, 2019).
    spread = _EPS * (4.0 + np.sqrt(features.shape).sum())
    gap = box_gap(whole.domain, a, features @ w, spread * features.magnitude(a))
    return a, w, value, _gap(gap, value)
