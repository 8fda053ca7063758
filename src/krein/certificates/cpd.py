"""Conditionally positive definite kernels (Walder and Chapelle, 2007, eq. 14).

``min lam a'Phi a + L(f)``, ``f = Phi a + P b``, ``P'a = 0``, b absent when polynomials
are left out, a zero outside the basis points J. With Z a basis of {a : P_J'a = 0},
``A = Z'Phi_JJ Z`` (positive semidefinite) and ``F = Phi_J Z`` the dual value

    D(u) = -L*(u) - (F'u)'A^+(F'u) / (4 lam),     P'u = 0 where b is free,

is a lower bound for every u. Candidates: the slope of the loss at f, and -2 lam a;
where the model claims more, the referee ascends on D by Newton steps of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from krein.certificates.data import Data, Given, items, one_against_rest, read
from krein.certificates.report import EPS, Claim, Evidence, Verdict, judge

Array = np.ndarray

__all__ = ["check_cpd"]

# Coefficients carry the condition of the system they were solved from: differences
# below this share of the loss at f = 0 count as rounding.
_FLOOR = 1e-11


@dataclass(frozen=True)
class _Space:
    """The functions among which the model is the best: J, Z'Phi_JJ Z, P."""

    phi: Array
    P: Array
    J: Array
    Z: Array
    free: bool

    @property
    def spread(self) -> float:
        return 8 * (self.phi.shape[0] + 8) * EPS

    def convex(self) -> tuple[bool, float]:
        """Tell if the kernel is c.p.d. on the basis points, and how far it is not."""
        A = self.Z.T @ self.phi[np.ix_(self.J, self.J)] @ self.Z
        d = np.linalg.eigvalsh(0.5 * (A + A.T))
        size = float(np.abs(self.phi[np.ix_(self.J, self.J)]).sum(axis=0).max())
        lowest = float(d.min(initial=0.0))
        return lowest >= -self.spread * size - 1e-10 * float(d.max(initial=0.0)), lowest

    @cached_property
    def gram(self) -> Array:
        """F A^+ F'; Phi itself where all samples are basis points and P'u = 0."""
        if self.free and self.J.size == self.phi.shape[0]:
            return self.phi
        A = self.Z.T @ self.phi[np.ix_(self.J, self.J)] @ self.Z
        d, U = np.linalg.eigh(0.5 * (A + A.T))
        kept = d > self.spread * d.max(initial=0.0)
        half = self.phi[:, self.J] @ (self.Z @ U[:, kept]) / np.sqrt(d[kept])
        return half @ half.T


def check_cpd(given: Given, claims: list[Claim]) -> list[Verdict]:
    """CPDSVC and CPDRegressor."""
    model, data = given.model, read(given)
    space, notes = _space(model, data, _polynomials(given)[data.kept])
    convex, lowest = space.convex()
    if hasattr(model, "classes_"):
        targets = list(one_against_rest(data.y, len(model.classes_)))
        loss = model.loss
    else:
        targets, loss = [data.y.astype(float)], "squared"
    verdicts = []
    for row, y in enumerate(targets):
        found = _evidence(model, data, space, row, y, loss, claims[row])
        found.notes += notes
        if not convex:
            found.gap = None
            found.faults.append(
                "the kernel is not c.p.d. for these polynomials: eigenvalue "
                f"{lowest:.3g}"
            )
        verdicts.append(judge(claims[row], found))
    return verdicts


def _polynomials(given: Given) -> Array:
    model = given.model
    if not isinstance(model.kernel, str) or model.kernel != "precomputed":
        return np.asarray(model.kernel_.polynomials(items(given.X)), dtype=float)
    if given.P is not None:
        return np.asarray(given.P, dtype=float)
    if model.n_polynomials_ != 1:
        raise ValueError(
            f"P is missing: the model has {model.n_polynomials_} polynomial columns"
        )
    return np.ones((model.dual_coef_.shape[1], 1))


def _space(model: Any, data: Data, P: Array) -> tuple[_Space, list[str]]:
    J, notes = np.arange(data.n), []
    if model.n_basis is not None and model.n_basis < data.n:
        J = np.flatnonzero(np.isin(data.kept, model.support_))
        notes.append(f"basis points: the {J.size} items with a coefficient")
    free = getattr(model, "polynomial_", model.polynomial) == "free"
    U, s, _ = np.linalg.svd(P[J], full_matrices=True)
    rank = int(np.sum(s > 10 * max(P[J].shape) * EPS * s.max(initial=0.0)))
    return _Space(data.K, P, J, U[:, rank:], free), notes


def _evidence(
    model: Any,
    data: Data,
    space: _Space,
    row: int,
    y: Array,
    loss: str,
    claim: Claim,
) -> Evidence:
    a = model.dual_coef_[row, data.kept]
    p = model.poly_coef_[row]
    lam, w = float(model.alpha), data.weight
    image = space.phi @ a
    polynomial = space.P @ p if p.size else np.zeros_like(image)
    f = image + polynomial
    error = space.spread * (np.abs(space.phi) @ np.abs(a) + np.abs(space.P) @ np.abs(p))
    error += data.asymmetry * float(np.abs(a).sum())
    energy = float(a @ image)
    value, slope = _loss(loss, y, w, f)
    zero, _ = _loss(loss, y, w, np.zeros_like(f))
    value += lam * energy
    bound, bound_slack = _bound(space, loss, y, w, lam, [slope, -2 * lam * a])
    if value - bound > claim.certificate:
        solve = _least_squares if loss == "squared" else _ascend
        better = solve(space, loss, y, w, lam, slope)
        again = _bound(space, loss, y, w, lam, [better])
        bound, bound_slack = max((bound, bound_slack), again)
    slack = (lam * np.abs(a) + np.abs(slope)) @ error + space.spread * abs(value)
    return Evidence(
        objective=value,
        objective_slack=2 * float(slack) + _FLOOR * zero,
        gap=max(0.0, value - bound),
        gap_slack=float(slack) + bound_slack + _FLOOR * zero,
        unit=max(value, 1e-8 * zero),
        faults=_faults(space, a, p, w * (np.abs(y) + np.abs(f)) / lam),
    )


def _faults(space: _Space, a: Array, p: Array, reach: Array) -> list[str]:
    """Check the constraints; `reach` bounds what a coefficient can be."""
    faults = []
    excess = np.abs(space.P.T @ a)
    allowed = np.abs(space.P).T @ (1e-8 * np.abs(a) + 8 * space.spread * reach)
    if np.any(excess > allowed):
        faults.append(f"P'a = 0 is violated by {float(excess.max()):.3g}")
    outside = np.ones(a.size, dtype=bool)
    outside[space.J] = False
    if np.any(a[outside]):
        faults.append("coefficients outside the basis points")
    if not space.free and np.any(p):
        faults.append("poly_coef_ is not zero, but polynomials are left out")
    return faults


def _loss(loss: str, y: Array, w: Array, f: Array) -> tuple[float, Array]:
    """Weighted loss and its slope in f."""
    if loss == "squared":
        return float(w @ (y - f) ** 2), -2 * w * (y - f)
    if loss == "squared_hinge":
        short = np.maximum(0.0, 1.0 - y * f)
        return float(w @ short**2), -2 * w * y * short
    e = np.exp(-np.abs(f))
    away = np.where(y * f > 0, e / (1 + e), 1 / (1 + e))
    return float(w @ np.logaddexp(0.0, -y * f)), -w * y * away


def _bound(
    space: _Space, loss: str, y: Array, w: Array, lam: float, candidates: list[Array]
) -> tuple[float, float]:
    """Return the best lower bound of the candidates, never below 0, and its slack."""
    best, best_slack = 0.0, 0.0
    for candidate in candidates:
        u = _feasible(space, loss, y, w, candidate)
        if u is None:
            continue
        gain, cost = _conjugate(loss, y, w, u)
        cost += float(u @ (space.gram @ u)) / (4 * lam)
        # Along the ray t u the bound is t gain - t^2 cost, but for the logistic loss.
        t = gain / (2 * cost) if loss != "logistic" and gain > 0 and cost > 0 else 1.0
        value = t * gain - t * t * cost
        size = t * t * float(np.abs(u) @ (np.abs(space.phi) @ np.abs(u))) / (4 * lam)
        if value > best:
            best, best_slack = value, space.spread * (size + abs(t * gain))
    return best, best_slack


def _conjugate(loss: str, y: Array, w: Array, u: Array) -> tuple[float, float]:
    """Split -L*(u) in a part linear in u and minus the rest."""
    if loss == "squared":
        return -float(u @ y), float(np.sum(u * u / w)) / 4
    s = np.maximum(-y * u, 0.0)
    if loss == "squared_hinge":
        return float(s.sum()), float(np.sum(s * s / w)) / 4
    q = np.minimum(s / w, 1.0)
    terms = [
        np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0)), 0.0) for x in (q, 1 - q)
    ]
    return -float(w @ (terms[0] + terms[1])), 0.0


def _feasible(space: _Space, loss: str, y: Array, w: Array, u: Array) -> Array | None:
    """Move u into the domain of L* with P'u = 0; None if that fails."""
    for _ in range(4):
        room = _room(loss, y, w, u)
        if room is not None:
            u = np.where(
                room > 0,
                u,
                -y * np.clip(-y * u, 0.0, w if loss == "logistic" else np.inf),
            )
        if not space.free:
            return u
        excess = space.P.T @ u
        if np.all(np.abs(excess) <= 1e-12 * (np.abs(space.P).T @ np.abs(u)) + 1e-300):
            return u
        move = w if room is None else np.maximum(room, 0.0)
        system = (space.P.T * move) @ space.P
        u = u - move * (space.P @ (np.linalg.pinv(system, hermitian=True) @ excess))
    return None


def _room(loss: str, y: Array, w: Array, u: Array) -> Array | None:
    """Distance to the nearest bound, negative outside; None where there is none."""
    if loss == "squared":
        return None
    s = -y * u
    return s if loss == "squared_hinge" else np.minimum(s, w - s)


def _least_squares(
    space: _Space, loss: str, y: Array, w: Array, lam: float, u: Array
) -> Array:
    """The maximum of D for the squared loss: (1 / w + gram / lam) u + P m = -2 y."""
    root = np.sqrt(w)
    border = root[:, None] * space.P if space.free else np.empty((y.size, 0))
    system = np.zeros((y.size + border.shape[1],) * 2)
    system[: y.size, : y.size] = root[:, None] * space.gram * root / lam
    system[: y.size, : y.size] += np.eye(y.size)
    system[: y.size, y.size :], system[y.size :, : y.size] = border, border.T
    right = np.append(-2 * root * y, np.zeros(border.shape[1]))
    return root * np.linalg.lstsq(system, right, rcond=None)[0][: y.size]


def _ascend(
    space: _Space, loss: str, y: Array, w: Array, lam: float, u: Array
) -> Array:
    """Newton steps on D in s = -y u >= 0, each as far as the bounds allow.

    Whatever comes out is a candidate like any other: its bound is computed apart.
    """
    Q = y[:, None] * space.gram * y / (2 * lam)
    border = y[:, None] * space.P if space.free else np.empty((y.size, 0))
    hinge = loss == "squared_hinge"
    top = np.full(y.size, np.inf) if hinge else w
    s = -y * u if hinge else np.clip(-y * u, 1e-9 * w, (1 - 1e-9) * w)
    free = s > 0
    for _ in range(50):
        slope = 1 - s / (2 * w) if hinge else np.log((w - s) / s)
        bend = 1 / (2 * w) if hinge else w / (s * (w - s))
        gradient = slope - Q @ s
        m, r = int(free.sum()), border.shape[1]
        system = np.zeros((m + r, m + r))
        # In units of the bends, which may differ by 20 orders.
        unit = 1 / np.sqrt(bend[free])
        system[:m, :m] = unit[:, None] * Q[np.ix_(free, free)] * unit + np.eye(m)
        system[:m, m:] = unit[:, None] * border[free]
        system[m:, :m] = system[:m, m:].T
        right = np.append(unit * gradient[free], -border.T @ s)
        solution, *_ = np.linalg.lstsq(system, right, rcond=None)
        step = np.zeros(y.size)
        step[free] = unit * solution[:m]
        with np.errstate(divide="ignore", invalid="ignore"):
            limits = np.where(step < 0, -s / step, (top - s) / step)
        limit = float(np.min(limits[step != 0], initial=np.inf))
        t = min(1.0, limit if hinge else 0.99 * limit)
        s = np.maximum(s + t * step, 0.0)
        if hinge:
            s[limits <= t] = 0.0
        else:  # inside, whatever is rounded
            s = np.clip(s, 1e-200 * w, (1 - EPS) * w)
        # Variables at zero come in where the slope past the multipliers is positive.
        free = s > 0
        free |= slope - Q @ s - border @ solution[m:] > 1e-12 if t == 1.0 else free
        if t == 1.0 and np.abs(step).max() <= 1e-14 * max(
            float(np.abs(s).max()), 1e-300
        ):
            break
    return -y * s
