"""The linear SVM on tall features, n x r with n much larger than r.

On features F, seen only in passes over their rows, it solves

    minimise  |w|^2 / 2 + balance b + sum_i U_i max(0, m_i - y_i (f_i'w + b)),

with dual ``max m'a - |F'Ya|^2 / 2`` over 0 <= a_i <= U_i, y'a = balance: the kernel SVM
on ``F F'``, the intercept not penalised. Margins m are 1 for classification; regression
has two variables for each item and one-class machines m = 0, as in
`krein.machines.svm_dual`. Every step of the interior-point method
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
from typing import NamedTuple

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
_AIM = 1e-6
_ON_BOUNDS = 1e-2
_FREE = 3  # times as many variables as features may be on no bound to be solved for
_MANY = 50_000  # items from which on only those near the margin are variables
_SAMPLE = 8  # one of so many items is in the sample that tells which are near
# Below this relative gap F'Ya is computed anew in each step: its rounding, added up
# over the steps, would be seen.
_EXACT = 1e-6
_ROUGH = 1e-4  # relative gap of the sample's solution
# Rounds: one of so many items is near, and the relative gap aimed at (None: that of a
# solution). The sample does not know well enough which side of the margin the others
# are on; a rough solution for the nearest fifth does, and then fewer are to be decided.
# What these miss the last round has.
_ROUNDS = ((5, 1e-4), (10, None), (5, None))


def linear_svm(
    features: TiledMatrix,
    domain: BalancedBox,
    *,
    margin: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = _MAX_STEPS,
) -> tuple[Result, float]:
    """Solve the linear SVM and certify the answer.

    Parameters
    ----------
    features : TiledMatrix of shape (n, r)
        F.
    domain : BalancedBox
        Bounds U and labels y, of the items or of two variables for each.
    margin : ndarray, optional
        m; 1 by default.
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
    margin = np.ones(domain.n) if margin is None else margin
    fixed = np.zeros(features.shape[1])
    floor = 0.0
    if domain.balance > 0.0:
        # The optimum of a one-class machine is 0 where the origin is inside.
        squares = sum(float(np.sum(tile**2)) for _, tile in features.tiles())
        floor = 0.5e-6 * domain.balance**2 * squares / features.shape[0]
    whole = TallSVM(features, domain, fixed, margin, floor=floor)
    if domain.balance == 0.0 and margin.max() <= 0.0:  # no target leaves the tube
        nothing = _evaluated(whole, np.zeros(domain.n))
        status = nothing.certificate.status(tol, out_of_steps=False)
        info = {"w": nothing.w}
        zero = nothing.a, nothing.value, nothing.certificate
        return Result(*zero, status, 0, info=info), 0.0
    found = _near_the_margin(whole, tol, max_iter)
    return found or _settled(whole, whole.solve(_AIM * tol, max_iter), tol, max_iter)


@dataclass(frozen=True)
class TallSVM:
    """The problem of the module's docstring, or what is left of it.

    With other variables on their bounds it is ``|w|^2 / 2 - fixed'w + balance b +
    sum_i U_i max(0, m_i - y_i (f_i'w + b))``, ``w = F'Ya + fixed``, ``y'a = balance``.

    Attributes
    ----------
    features : TiledMatrix of shape (n, r)
        F.
    domain : BalancedBox
        Bounds, labels and balance.
    fixed : ndarray of shape (r,)
        ``F'Ya`` of the variables on their bounds.
    margin : ndarray
        m.
    value : float
        ``m'a`` of the variables on their bounds.
    floor : float
        Gaps are relative to the value, or to this where it is more.
    """

    features: TiledMatrix
    domain: BalancedBox
    fixed: Array
    margin: Array
    value: float = 0.0
    floor: float = 0.0

    @property
    def n(self) -> int:
        """Number of items."""
        return self.features.shape[0]

    def spread(self, z: Array) -> Array:
        """Repeat values of items for their variables."""
        return z if self.domain.n == self.n else np.tile(z, self.domain.n // self.n)

    def of_items(self, v: Array) -> Array:
        """Sum the variables of each item."""
        return v if v.size == self.n else v.reshape(-1, self.n).sum(axis=0)

    def certificate(self, gap: float, value: float, a: Array) -> Certificate:
        """Return the gap, relative to the dual value."""
        unit = max(abs(value), self.floor, 1e-300)
        if not self.of_items(self.domain.y * a).any():  # the constant is optimal
            reach = float(self.domain.upper @ np.abs(self.margin))
            unit = max(unit, 1e-6 * reach)
        return Certificate("gap", gap, gap / unit)

    def solve(self, tol: float, max_iter: int) -> Result:
        """Run the interior-point method; ``info["state"]`` is its last point."""
        return run(self._steps(), tol=tol, max_iter=min(max_iter, _MAX_STEPS))

    def _steps(self) -> Iterator[Iterate]:
        state: State | None = self._start()
        while state is not None:  # else the system is singular to rounding
            iterate = self._certified(state)
            yield iterate
            if iterate.certificate.relative < _EXACT:
                state = state._replace(v=self._weights(state.a))
            state = self._newton(state)

    def _weights(self, a: Array) -> Array:
        """F'Ya, those on their bounds included."""
        signed = self.of_items(self.domain.y * a)
        return self.features.transpose_dot(signed) + self.fixed

    def _start(self) -> State:
        """Start in the middle of the box, with w = 0, slacks near 1.

        ``w = F'Ya`` does not hold here; starting with it makes w, and with it all
        slacks, as large as the box, and costs twice the steps.
        """
        a = self.domain.middle()
        n, r = self.features.shape
        lowest = float(self.margin.min())
        s = np.full(a.size, 1.0 if lowest >= 0.0 else 1.0 - 2.0 * lowest)
        return State(
            a, s, s + self.margin, np.zeros(r), np.zeros(n), 0.0, self._weights(a)
        )

    def _certified(self, state: State) -> Iterate:
        """Primal value at (w, b), dual value at a: each is honest whatever w is."""
        domain = self.domain
        dual = self.value + float(self.margin @ state.a)
        dual -= 0.5 * float(state.v @ state.v)
        outputs = self.spread(state.z) + state.b
        hinge = np.maximum(0.0, self.margin - domain.y * outputs)
        primal = self.value + float(domain.upper @ hinge) + domain.balance * state.b
        primal += float((0.5 * state.u - self.fixed) @ state.u)
        # The last term is what rounding in y'a can be worth.
        drift = float(domain.y @ state.a) - domain.balance
        gap = max(0.0, primal - dual) + abs(state.b * drift)
        certificate = self.certificate(gap, dual, state.a)
        return Iterate(state.a, dual, certificate, primal, info={"state": state})

    def _newton(self, state: State) -> State | None:
        """One step, in two passes and one with the Gram matrix of the features."""
        features = self.features
        y = self.domain.y
        drift = np.append(state.v - state.u, y @ state.a - self.domain.balance)

        def prepare(theta: Array, rho: Array) -> Solve | None:
            if not np.isfinite(theta).all():
                return None
            total = self.of_items(theta)
            pull = self.of_items(theta * y * rho) / total
            matrix = features.gram(total, pull)  # with the first right-hand side
            known = [matrix[:-1, -1].copy()]
            matrix = matrix[:-1, :-1]
            matrix[np.diag_indices(matrix.shape[0] - 1)] += 1.0
            try:
                factor = scipy.linalg.cho_factor(matrix, check_finite=False)
            except np.linalg.LinAlgError:
                return None

            def solve(pull: Array) -> tuple[Array, Array, float]:
                signed = self.of_items(y * pull)
                right = known.pop() if known else _sums(features, signed)
                x = scipy.linalg.cho_solve(factor, right + drift, check_finite=False)
                return x[:-1], features @ x[:-1], float(x[-1])

            return solve

        return newton_step(state, self.domain, self.margin, self.spread, prepare)


def _sums(features: TiledMatrix, signed: Array) -> Array:
    """``[F 1]'`` times a vector."""
    return np.append(features.transpose_dot(signed), signed.sum())


# ------------------------------------------------------------- items near the margin


def _near_the_margin(
    whole: TallSVM, tol: float, max_iter: int
) -> tuple[Result, float] | None:
    """Solve with variables far from the margin on their bounds; None if that fails."""
    features = whole.features
    domain = whole.domain
    margin = whole.margin
    n = domain.n
    # In a regression most items are near an edge of the tube: a sample does not tell.
    if n < _MANY or n > whole.n:
        return None
    some = np.sort(np.random.default_rng(0).choice(n, n // _SAMPLE, replace=False))
    upper = domain.upper[some] * (n / some.size)
    part = BalancedBox(upper, domain.y[some], domain.balance)
    if not _has_interior(part):
        return None
    sample = TallSVM(features.part(some), part, whole.fixed, margin[some])
    rough = sample.solve(_ROUGH, max_iter)
    state = rough.info["state"]
    steps = rough.n_iter
    z = features @ state.u
    for one_of, aim in _ROUNDS:
        outside = margin - domain.y * (whole.spread(z) + state.b)
        near = np.sort(np.argpartition(np.abs(outside), n // one_of)[: n // one_of])
        a = np.where(outside > 0.0, domain.upper, 0.0)
        a[near] = 0.0
        balance = domain.balance - float(domain.y @ a)
        part = BalancedBox(domain.upper[near], domain.y[near], balance)
        if not _has_interior(part):
            return None
        fixed = features.transpose_dot(whole.of_items(domain.y * a))
        rows = features.part(near)
        value = float(margin @ a)
        rest = TallSVM(rows, part, fixed, margin[near], value, whole.floor)
        result = rest.solve(_AIM * tol if aim is None else aim, max_iter)
        state = result.info["state"]
        steps = steps + result.n_iter
        z = features @ state.u
        if aim is not None:  # it only tells which items are near
            continue
        result = replace(
            result, n_iter=steps, info={"state": _joined(state, a, near, z, whole)}
        )
        found = _settled(whole, result, tol, max_iter)
        # More variables help where some were put on a wrong bound, not against
        # rounding.
        if found[0].converged or found[0].is_solved_to_rounding(tol):
            return found
    return None


def _joined(
    state: State, a: Array, near: np.ndarray, z: Array, whole: TallSVM
) -> State:
    """A point of all variables, from one of those near the margin."""
    outside = whole.margin - whole.domain.y * (whole.spread(z) + state.b)
    s = np.maximum(-outside, 0.0)
    xi = np.maximum(outside, 0.0)
    a[near] = state.a
    s[near] = state.s
    xi[near] = state.xi
    return State(a, s, xi, state.u, z, state.b, state.v)


def _has_interior(domain: BalancedBox) -> bool:
    """Some point strictly inside the box has ``y'a = balance``."""
    low, high = domain.signed_bounds
    return float(low.sum()) < domain.balance < float(high.sum())


# ------------------------------------------------------------------- the last point


class Evaluated(NamedTuple):
    """A point of the box, its weights, value and gap."""

    a: Array
    w: Array
    value: float
    certificate: Certificate
    outputs: Array

    def is_within(self, tol: float) -> bool:
        """Whether the gap is, but for what is counted for rounding."""
        return self.certificate.relative - self.certificate.rounding <= tol


def _settled(
    whole: TallSVM, result: Result, tol: float, max_iter: int
) -> tuple[Result, float]:
    """Put on their bounds the variables that tend there, where the gap allows it."""
    state: State = result.info["state"]
    found = _evaluated(whole, snapped(whole.domain, state))
    if not found.is_within(_AIM * tol):  # decision values err like the root of the gap
        polished = _evaluated(whole, _polished(whole, found))
        found = min(found, polished, key=lambda point: point.certificate.value)
    if found.certificate.relative > _ON_BOUNDS * tol:
        inside = _evaluated(whole, state.a)
        found = min(found, inside, key=lambda point: point.certificate.value)
    # What only rounding keeps above `tol` is not helped by more steps.
    out_of_steps = result.n_iter >= max_iter and not found.is_within(tol)
    status = found.certificate.status(tol, out_of_steps=out_of_steps)
    solved = replace(
        result,
        x=found.a,
        value=found.value,
        certificate=found.certificate,
        status=status,
        info={"w": found.w},
    )
    # As on a kernel; that of the last step is less accurate than a polished point.
    return solved, whole.domain.intercept(found.a, found.outputs, whole.margin)


def _polished(whole: TallSVM, point: Evaluated) -> Array:
    """Solve for the few variables that are on no bound: their margins are 1."""
    features = whole.features
    domain = whole.domain
    free = np.flatnonzero((point.a > 0.0) & (point.a < domain.upper))
    if not 0 < free.size <= _FREE * (features.shape[1] + 1):
        return point.a
    y = domain.y[free]
    F = features.rows(free % whole.n)
    signed = y[:, None] * F
    border = np.append(y, 0.0)
    system = np.vstack([np.column_stack([signed @ signed.T, y]), border])
    missing = domain.balance - float(domain.y @ point.a)
    right = np.append(whole.margin[free] - signed @ point.w, missing)
    step = scipy.linalg.lstsq(system, right, check_finite=False)[0][:-1]
    a = point.a.copy()
    a[free] = np.clip(a[free] + step, 0.0, domain.upper[free])
    return a


def _evaluated(whole: TallSVM, a: Array) -> Evaluated:
    """Evaluate and certify a point of the box.

    The primal value is that at the numbers w, whatever they are: only ``F w`` and the
    hinges are rounded there. With e the error of w = F'Ya the sum of Fenchel and Young
    gains ``|e|^2 / 2``, and the dual value, where w stands for F'Ya, is off by
    ``|w| |e|`` (twice, for weights that `box_gap` stretches).
    """
    features = whole.features
    domain = whole.domain
    if domain.n > whole.n:  # what both variables of an item share costs epsilon
        halves = a.reshape(2, whole.n)
        a = (halves - halves.min(axis=0)).ravel()
    a = domain.rebalance(a)
    signed = whole.of_items(domain.y * a)
    w = features.transpose_dot(signed)
    value = float(whole.margin @ a) - 0.5 * float(w @ w)
    missed, error = features.errors(signed, w)
    off = float(np.linalg.norm(missed))
    outputs = whole.spread(features @ w)
    error = whole.spread(error)
    gap = box_gap(domain, a, outputs, error, whole.margin)
    gap += off * (2.0 * float(np.linalg.norm(w)) + 0.5 * off)
    plain = domain.gap(a, whole.margin - domain.y * outputs)
    certificate = whole.certificate(gap, value, a)
    rounding = certificate.relative - whole.certificate(plain, value, a).relative
    certificate = replace(certificate, rounding=max(0.0, rounding))
    return Evaluated(a, w, value, certificate, outputs)
