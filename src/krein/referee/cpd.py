"""CPDSVC and CPDRegressor: machines with a conditionally positive definite kernel.

Walder and Chapelle (2007), equation 14, with weights w, a loss l and s = 2 alpha:

    minimise over c, p   s/2 c'Phi c + sum_i w_i l(z_i),   z = m - y f,  f = Phi c + P p

over ``P'c = 0``, and c = 0 but for a subset J of basis points; p = 0 where polynomials
are left out. Phi is positive semidefinite on P'c = 0: with Z a basis of the
coefficients on J that are orthogonal to the polynomials, ``A = Z' Phi_JJ Z`` has no
negative eigenvalue.

**The bound.** Let e be any variables of all items, ``q_i = s y_i e_i / w_i`` where
l*(q) is finite, with P'e = 0 if polynomials are free. The objective at (c, p) is at
most

    gap(e) = sum_i w_i [l(z_i) + l*(q_i) - q_i z_i] + s/2 g'A^-1 g,
    g = Z' (Phi_J e - Phi_JJ c_J)

above the minimum. For the penalty is the squared norm of a function h, every output of
h is an inner product, ``Phi_J Z A^-1/2`` has those of an orthonormal basis, and g is
what the functions that c and e stand for differ by: the sum of Fenchel and Young with
this second term for the penalty (`krein.referee.losses`). On all items with free
polynomials it is ``s/2 (c - e)'Phi(c - e)``, and e = c leaves nothing of it.

Any e gives a bound. Three are tried: the model's own coefficients, the slopes of the
loss, which solve the equation ``e_i = w_i y_i l'(z_i) / s`` of the optimum, and a step
of Newton's method on that equation. What they leave of P'e is put right with 32 digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from krein.referee.claims import Evidence, Measured, faults_of
from krein.referee.digits import EPS, Array, Eigenpairs, Wide, product, wide
from krein.referee.fitted import Fitted, Outputs, Row
from krein.referee.losses import LOSSES, Loss

_BALANCED = 1e-8  # P'c = 0 to this share of the sizes of its terms
_ZERO = 1e-8  # an optimum below this share of the objective at f = 0 counts as zero
_CORRECTIONS = 6  # of P'e
_REFINED = 500  # items; eigenpairs of larger matrices keep 16 digits
_WIDE_ZERO = 1e-25  # share of the sizes of its terms up to which an eigenvalue is zero
_NOISE = 64 * EPS  # relative error of an entry of a kernel of this kind


@dataclass(frozen=True)
class Space:
    """Functions ``Phi_J c_J``, ``P_J'c_J = 0``.

    Attributes
    ----------
    phi : ndarray of shape (n, n)
        The kernel.
    P : ndarray of shape (n, r)
        Polynomials, columns of length 1.
    J : ndarray of int
        The basis points.
    free : bool
        Whether polynomials are added.
    Z : Wide of shape (m, k)
        Orthonormal, ``P_J'Z = 0``.
    pairs : Eigenpairs
        Of A.
    seen : ndarray of bool of shape (k,)
        Which eigenvalues are not zero: coinciding items make A singular.
    lowest : float
        Negative eigenvalue of A that rounding of Phi does not explain, or 0.
    """

    phi: Array
    P: Array
    J: Array
    free: bool
    Z: Wide
    pairs: Eigenpairs
    seen: Array
    lowest: float

    @classmethod
    def of(cls, phi: Array, P: Array, J: Array, free: bool) -> Space:
        """Find the complement of the polynomials, and A."""
        inside = unit_columns(P[J])
        Z = _complement(inside)
        inner = phi[np.ix_(J, J)]
        A = Z.T @ product(inner, Z)
        symmetric = 0.5 * (A + A.T)
        refined = len(symmetric) <= _REFINED
        pairs = Eigenpairs(symmetric, refined)
        directions = np.abs((Z @ pairs.vectors).high)
        noise = np.sum(directions * (np.abs(inner) @ directions), axis=0)
        values = pairs.values.high
        negative = values < -(_NOISE * noise + 1e-10 * np.abs(values).max(initial=0.0))
        lowest = float(values[negative].min(initial=0.0))
        digits = _WIDE_ZERO if refined else values.size * EPS
        seen = values > digits * np.maximum(noise, values.max(initial=0.0))
        return cls(phi, unit_columns(P), J, free, Z, pairs, seen, lowest)

    @property
    def whole(self) -> bool:
        """Whether every item is a basis point, and polynomials are free."""
        return self.free and self.J.size == len(self.phi)

    def distance(self, c: Array, e: Wide) -> float:
        """Squared norm of the difference of the functions of c and e."""
        if self.whole:
            change = c - e
            return float((change * product(self.phi, change)).sum())
        inner = self.phi[np.ix_(self.J, self.J)]
        difference = product(self.phi[self.J], e) - product(inner, wide(c[self.J]))
        g = self.pairs.vectors.T @ (self.Z.T @ difference)
        values = self.pairs.values.high
        return float(np.sum(g.high[self.seen] ** 2 / values[self.seen]))


def unit_columns(P: Array) -> Array:
    """Polynomials in units in which no column is larger than another."""
    lengths = np.sqrt(np.sum(np.square(P / _largest(P)), axis=0))
    return P / _largest(P) / np.where(lengths > 0.0, lengths, 1.0)


def _largest(P: Array) -> Array:
    largest = np.abs(P).max(axis=0, initial=0.0)
    return np.where(largest > 0.0, largest, 1.0)


def _complement(P: Array) -> Wide:
    """Orthonormal basis of what is orthogonal to the columns of P, with 32 digits."""
    rcond = 10 * max(P.shape, default=1) * EPS
    Z = wide(scipy.linalg.null_space(P.T, rcond=rcond))
    inverse = np.linalg.pinv(P.T, rcond=rcond)
    for _ in range(2):
        left = product(P.T, Z).high
        Z = Z - inverse @ left
    return Z


# ----------------------------------------------------------------------------- judging


def judge_cpd(fitted: Fitted) -> Iterator[Evidence]:
    """Judge every row."""
    model = fitted.model
    kind = getattr(model, "polynomial_", None) or fitted.parameter("polynomial")
    phi = fitted.dense()
    polynomials = fitted.polynomials()
    basis = _basis_points(fitted)
    spaces: dict[bool, Space] = {}
    rows = zip(fitted.rows(), model.poly_coef_, fitted.results, strict=True)
    for row, p, result in rows:
        # "mixed": each row says by its polynomials whether it has them.
        free = bool(np.any(p)) if kind == "mixed" else kind == "free"
        if free not in spaces:
            spaces[free] = Space.of(phi, polynomials, basis, free)
        yield _judge_row(fitted, spaces[free], row, p, result.certificate.value)


def _basis_points(fitted: Fitted) -> Array:
    """J: all items, or those that `n_basis` has left."""
    n_basis = fitted.parameter("n_basis")
    support = fitted.model.support_
    if n_basis is None or n_basis >= fitted.n or support.size == 0:
        return np.arange(fitted.n)
    return np.flatnonzero(np.isin(fitted.kept, support))


def _judge_row(
    fitted: Fitted, space: Space, row: Row, p: Array, claimed: float
) -> Evidence:
    """Judge one row with coefficients p of its polynomials."""
    machine = Machine.of(fitted, space, row)
    image = fitted.outputs(space.phi, row.c)
    outputs = _with_polynomials(fitted, image, row, p)
    objective = machine.objective(row.c, image.f, outputs)
    zero = float(fitted.weight @ machine.loss.value(machine.target))
    found = objective._replace(slack=0.0)
    if machine.s > 0.0:
        found = min(found, machine.gap(row.c, outputs, claimed))
    # The square of the rounding of an output costs no more.
    found = found._replace(slack=found.slack + (64 * EPS) ** 2 * zero)
    found = found._replace(unit=max(objective.value, _ZERO * zero, 1e-300))
    faults = _faults(fitted, space, machine, row, p, outputs)
    return Evidence(objective, "gap", found, faults)


def _with_polynomials(fitted: Fitted, image: Outputs, row: Row, p: Array) -> Outputs:
    """Return Phi c + P p; `image` is Phi c."""
    P = fitted.polynomials()[:, : p.size]
    sizes = np.abs(P) @ np.abs(p)
    return Outputs(
        image.f + product(P, p),
        image.unsure + fitted.unsure(sizes, 0.0 * row.c),
        image.rounding + fitted.spread * sizes,
    )


def _faults(
    fitted: Fitted, space: Space, machine: Machine, row: Row, p: Array, outputs: Outputs
) -> list[str]:
    P = fitted.polynomials()
    excess = np.abs(product(P.T, row.c).high)
    noise = fitted.spread * (np.abs(machine.target) + np.abs(outputs.f.high))
    small = _BALANCED * np.abs(row.c)
    if machine.s > 0.0:  # c is what is left of the targets, over 2 alpha
        small += 64 * noise * fitted.weight / machine.s
    return faults_of(
        (np.all(excess <= np.abs(P).T @ small), "P'a = 0 is violated"),
        (space.free or not np.any(p),
         "poly_coef_ is not zero with polynomial='zero'"),
        (row.b == 0.0, "intercept_ is not zero: poly_coef_ has the constant"),
        (not np.any(np.delete(row.c, space.J)), "coefficients stand outside the basis"),
        (space.lowest >= 0.0,
         f"the kernel is not c.p.d. for P: eigenvalue {space.lowest:.3g}"),
    )  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """One row's problem.

    Attributes
    ----------
    space : Space
    loss : Loss
    y, target, w : ndarray of shape (n,)
        Signs, m and weights.
    s : float
        2 alpha.
    """

    space: Space
    loss: Loss
    y: Array
    target: Array
    w: Array
    s: float

    @classmethod
    def of(cls, fitted: Fitted, space: Space, row: Row) -> Machine:
        """Classification: m = 1, or 0 with the logistic loss. Regression: y = 1."""
        target = fitted.y
        name = "squared"
        if hasattr(fitted.model, "classes_"):
            name = fitted.parameter("loss")
            target = np.full(fitted.n, 0.0 if name == "logistic" else 1.0)
        s = 2.0 * fitted.penalty()
        return cls(space, LOSSES[name], row.y, target, fitted.weight, s)

    def short(self, f: Wide) -> Wide:
        """How far outputs fall short: z."""
        return self.target - self.y * f

    def objective(self, c: Array, image: Wide, outputs: Outputs) -> Measured:
        """Penalty and losses; `image` is Phi c."""
        z = self.short(outputs.f).high
        losses = self.w * self.loss.value(z)
        penalty = 0.5 * self.s * c * image
        value = float(penalty.sum()) + float(losses.sum())
        rounding = outputs.rounding + outputs.unsure
        slopes = np.abs(self.loss.slope(z)) + rounding
        slack = float((self.w * slopes + 0.5 * self.s * np.abs(c)) @ rounding)
        sizes = float(losses.sum()) + float(np.abs(penalty.high).sum())
        return Measured(value, 2.0 * slack + 64 * EPS * sizes)

    # ---------------------------------------------------------------------- the bound

    def gap(self, c: Array, outputs: Outputs, claimed: float) -> Measured:
        """Return the smallest bound, or the first that is not above the claim."""
        best = Measured(np.inf, 0.0)
        z = self.short(outputs.f)
        slopes = self.w * self.y * self.loss.slope(z.high) / self.s
        own = [c] if self.space.whole else []
        for candidate in (*own, slopes, self.step(c, outputs.f)):
            e = self.feasible(candidate)
            if e is None:
                continue
            best = min(best, self._gap_at(c, e, z, outputs.unsure))
            if best.value <= claimed:
                break
        return best

    def _gap_at(self, c: Array, e: Wide, z: Wide, unsure: Array) -> Measured:
        q = self.s * self.y * e / self.w
        terms = self.w * self.loss.young(z, q)
        distance = 0.5 * self.s * self.space.distance(c, e)
        slack = 0.0
        if unsure.any():
            above = self.w * self.loss.young(z + unsure, q) - terms
            below = self.w * self.loss.young(z - unsure, q) - terms
            moved = np.maximum(np.abs(above.high), np.abs(below.high))
            slack = 2.0 * float(moved.sum())
        return Measured(max(0.0, float(terms.sum() + distance)), slack)

    def feasible(self, e: Array) -> Wide | None:
        """Variables near e in the domain of l*, with P'e = 0 if polynomials are free.

        Each is moved in proportion to its room; None if one would leave its domain.
        """
        low, high = self._ends()
        inside = wide(np.clip(e, low, high))
        if not self.space.free:
            return inside
        P = self.space.P
        size = float(np.abs(e).sum())
        for _ in range(_CORRECTIONS):
            excess = product(P.T, inside).high
            if np.all(np.abs(excess) <= 1e-28 * size):
                return inside
            room = np.minimum(inside.high - low, high - inside.high)
            room = np.clip(room, 0.0, size)
            root = np.sqrt(room)
            pull, *_ = np.linalg.lstsq((root[:, None] * P).T, excess, rcond=1e-13)
            moved = inside - root * pull
            inside = moved.where(moved.high > low, low).where(moved.high < high, high)
        remaining = np.abs(product(P.T, inside).high)
        return inside if np.all(remaining <= 1e-22 * size) else None

    def _ends(self) -> tuple[Array, Array]:
        """Smallest and largest variables with a finite l*."""
        first, last = self.loss.ends
        with np.errstate(invalid="ignore"):
            one = self.y * first * self.w / self.s
            other = self.y * last * self.w / self.s
        return np.minimum(one, other), np.maximum(one, other)

    def step(self, c: Array, f: Wide) -> Array:
        """Variables after a step of Newton's method on ``s e = w y l'(z)``.

        With D = diag(w l''(z) / s) and h the function of c it is the least-squares
        problem ``min |D^-1/2 e - D^-1/2 w y l' / s|^2 + e'Phi e - 2 h'e`` over P'e = 0,
        in the features ``Phi_J Z V d^-1/2`` of the kernel.
        """
        H, h = self._features(c)
        slope = self.loss.slope(self.short(f).high)
        if self.loss.ends[1] == 1.0:
            bend = slope * np.maximum(1.0 - slope, EPS)
        else:
            bend = 2.0 * (slope != 0.0)
        unit = np.sqrt(self.w * bend / self.s)
        bend = np.maximum(bend, 1e-200)
        constraint = self.space.P if self.space.free else self.space.P[:, :0]
        basis = scipy.linalg.null_space((unit[:, None] * constraint).T)
        system = np.vstack([unit * H.T @ basis, basis])
        right = np.append(np.sqrt(self.s) * h, np.sqrt(self.w / bend) * self.y * slope)
        solution, *_ = np.linalg.lstsq(system, right, rcond=None)
        return unit / np.sqrt(self.s) * (basis @ solution)

    def _features(self, c: Array) -> tuple[Array, Array]:
        """Features of all items, and the coordinates of the function of c in them."""
        space = self.space
        root = np.sqrt(space.pairs.values.high[space.seen])
        basis = (space.Z @ space.pairs.vectors).high[:, space.seen]
        H = space.phi[:, space.J] @ basis / root
        return H, root * (basis.T @ c[space.J])
