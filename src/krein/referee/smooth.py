"""Machines with a smooth loss: c.p.d. kernels, ridge, logistic, the DC primal, hits.

    minimise  P(a, p) = s/2 a'Ka + sum_i w_i l(y_i, f_i),   f = K a + P p,   P'a = 0

For every c with P'c = 0 and ``u = -s c / w`` Fenchel and Young leave

    P(a, p) - minimum <= s/2 (a - c)'K(a - c) + sum_i w_i [l(f_i) + l*(u_i) - u_i f_i],

where each term is computed without cancellation and is not negative. Stationary points
of an indefinite K have ``s a / w + l'(f) = 0``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp, rel_entr, softmax

from krein.referee.fit import EPS, Array, Fit, is_precomputed, norm, plain
from krein.referee.kernel import treat
from krein.referee.report import Evidence

# Coefficients carry the condition of the system they were solved from: differences
# below this share of the loss at f = 0 count as rounding.
_FLOOR = 1e-11


@dataclass(frozen=True)
class Squared:
    """(y - f)^2; `ends` are those of -y u in the domain of the conjugate."""

    y: Array
    ends = (-np.inf, np.inf)

    def value(self, f: Array) -> Array:
        """Loss of each item."""
        return (self.y - f) ** 2

    def slope(self, f: Array) -> Array:
        """Derivative in f."""
        return -2 * (self.y - f)

    def young(self, f: Array, u: Array) -> Array:
        """l(f) + l*(u) - u f."""
        return (self.y - f + u / 2) ** 2


class SquaredHinge(Squared):
    """max(0, 1 - y f)^2."""

    ends = (0.0, np.inf)

    def value(self, f: Array) -> Array:
        """Loss of each item."""
        return np.maximum(0.0, 1.0 - self.y * f) ** 2

    def slope(self, f: Array) -> Array:
        """Derivative in f."""
        return -2 * self.y * np.maximum(0.0, 1.0 - self.y * f)

    def young(self, f: Array, u: Array) -> Array:
        """l(f) + l*(u) - u f."""
        q, over = -self.y * u / 2, self.y * f - 1.0
        return (np.maximum(-over, 0.0) - q) ** 2 + 2 * q * np.maximum(over, 0.0)


class Logistic(Squared):
    """log(1 + exp(-y f))."""

    ends = (0.0, 1.0)

    def value(self, f: Array) -> Array:
        """Loss of each item."""
        return np.logaddexp(0.0, -self.y * f)

    def slope(self, f: Array) -> Array:
        """Derivative in f."""
        return -self.y * expit(-self.y * f)

    def young(self, f: Array, u: Array) -> Array:
        """l(f) + l*(u) - u f: a relative entropy."""
        q, margin = -self.y * u, self.y * f
        return rel_entr(q, expit(-margin)) + rel_entr(1 - q, expit(margin))


class Softmax(Squared):
    """log sum exp(f) - y'f with rows of indicators y."""

    def value(self, f: Array) -> Array:
        """Loss of each item."""
        return logsumexp(f, axis=1) - (self.y * f).sum(axis=1)

    def slope(self, f: Array) -> Array:
        """Derivative in f."""
        return softmax(f, axis=1) - self.y


_LOSSES = {"squared": Squared, "squared_hinge": SquaredHinge, "logistic": Logistic}


def _evidence(
    w: Array, loss: Squared, s: float, a: Array, images: tuple[Array, Array, Array]
) -> tuple[Evidence, Array]:
    """Objective, and ``s a / w + l'(f)``; images are K a, f and the rounding of f."""
    image, f, error = images
    slope = loss.slope(f)
    value = float(np.sum(w.T @ loss.value(f))) + 0.5 * s * float(np.sum(a * image))
    slack = float(np.sum((w * np.abs(slope) + s * np.abs(a) + w * error) * error))
    return Evidence((value, slack + 64 * EPS * abs(value))), s * a / w + slope


# ------------------------------------------- conditionally positive definite kernels


def judge_cpd(fit: Fit) -> list[Evidence]:
    """CPDSVC and CPDRegressor (Walder and Chapelle, 2007, eq. 14)."""
    model, P, J, notes = fit.model, _polynomials(fit), np.arange(fit.n), []
    if model.n_basis is not None and model.n_basis < fit.n:
        J = np.flatnonzero(np.isin(fit.kept, model.support_))
        notes = [f"basis points: the {J.size} items with a coefficient"]
    H, back, lowest = _half(fit.dense(), P, J)
    loss = _LOSSES[getattr(model, "loss", "squared")]
    rows = fit.signs() if hasattr(model, "classes_") else [(J, fit.y.astype(float))]
    judged = []
    for row, (_, y) in enumerate(rows):
        half = H, back @ fit.row("dual_coef_", row)[J]
        found = _cpd_evidence(fit, row, loss(y), P, half)
        found.notes += notes
        if np.any(np.delete(fit.row("dual_coef_", row), J)):
            found.faults.append("coefficients outside the basis points")
        if lowest < 0.0:
            found.gap, found.residual = None, (np.inf, 0.0)
            text = f"the kernel is not c.p.d. for P: eigenvalue {lowest:.3g}"
            found.faults.append(text)
        judged.append(found)
    return judged


def _cpd_evidence(fit: Fit, row: int, loss: Squared, P: Array, half: Any) -> Evidence:
    model, w, phi, s = fit.model, fit.weight, fit.dense(), 2 * float(fit["alpha"])
    a, p, b = fit.row("dual_coef_", row), model.poly_coef_[row], model.intercept_[row]
    image, constant = phi @ a, P[:, : p.size] @ p
    error = fit.spread * (np.abs(phi) @ np.abs(a) + np.abs(constant))
    error, f = error + fit.asymmetry * float(np.abs(a).sum()), image + constant + b
    found, off = _evidence(w, loss, s, a, (image, f, error))
    value, slack = found.objective
    zero = float(w @ loss.value(np.zeros(fit.n)))
    slack = 2 * slack + fit.spread * value + 2 * _FLOOR * zero
    free = getattr(model, "polynomial_", model.polynomial) == "free"
    border = P if free else P[:, :0]
    slope, size = loss.slope(f), np.abs(loss.slope(f))
    bend = np.maximum(size * (1 - size), 1e-200) if loss.ends[1] == 1.0 else 2.0
    points = a, a - w * off / s, _nearest(w, s, half, slope, bend)
    gaps = [_gap(w, loss, s, f, border, half, c) for c in points]
    found.objective, found.gap = (value, slack), (min(value, *gaps), slack)
    found.unit, excess = max(value, 1e-8 * zero), np.abs(P.T @ a)
    noise = 16 * fit.spread * w * (np.abs(loss.y) + np.abs(f)) / s
    if np.any(excess > np.abs(P).T @ (1e-8 * np.abs(a) + noise)):
        found.faults.append(f"P'a = 0 is violated by {float(excess.max()):.3g}")
    if b != 0.0 or (not free and np.any(p)):
        found.faults.append(
            "intercept_, or what replaces it in poly_coef_, is not zero"
        )
    return found


def _nearest(w: Array, s: float, half: Any, slope: Array, bend: Any) -> Array:
    """Return the c of least gap if the loss were a square of this slope and bend."""
    unit = np.sqrt(2 * w * bend) / s
    system = np.vstack([np.sqrt(s / 2) * half[0].T * unit, np.eye(w.size)])
    right = np.append(np.sqrt(s / 2) * half[1], -np.sqrt(w / (2 * bend)) * slope)
    return unit * np.linalg.lstsq(system, right, rcond=None)[0]


def _polynomials(fit: Fit) -> Array:
    """P on the samples of positive weight."""
    if not is_precomputed(fit.model):
        return np.asarray(fit.model.kernel_.polynomials(plain(fit.X)))[fit.kept]
    P = np.ones((fit.raw.shape[0], 1)) if fit.P is None else np.asarray(fit.P, float)
    if P.shape[1] != fit.model.n_polynomials_:
        expected = f"{fit.model.n_polynomials_} polynomial columns of fit"
        raise ValueError(f"P must have the {expected}, got {P.shape[1]}")
    return P[fit.kept]


def _half(phi: Array, P: Array, J: Array) -> tuple[Array, Array, float]:
    """H with f = H h and penalty |h|^2, the map from a to h, a negative eigenvalue.

    With Z a basis of {a : P_J'a = 0} and ``Z' Phi_JJ Z = V diag(d) V'``: ``H = Phi_J Z
    V d^-1/2`` and ``h = d^1/2 V'Z'a``.
    """
    spread, inner = 8 * (phi.shape[0] + 8) * EPS, phi[np.ix_(J, J)]
    U, s, _ = np.linalg.svd(P[J], full_matrices=True)
    Z = U[:, int(np.sum(s > 10 * max(P[J].shape) * EPS * s.max(initial=0.0))) :]
    A = Z.T @ inner @ Z
    d, V = np.linalg.eigh(0.5 * (A + A.T))
    lowest, largest = float(d.min(initial=0.0)), float(d.max(initial=0.0))
    fine = lowest >= -spread * float(np.abs(inner).sum(axis=0).max()) - 1e-10 * largest
    kept = d > spread * largest
    basis, root = Z @ V[:, kept], np.sqrt(d[kept])
    return phi[:, J] @ basis / root, root[:, None] * basis.T, 0.0 if fine else lowest


def _gap(
    w: Array, loss: Squared, s: float, f: Array, P: Array, half: Any, c: Array
) -> float:
    """The sum of the module's docstring at c moved into the domain; else infinite."""
    low, high = loss.ends
    signs = loss.y if high - low < np.inf or low == 0.0 else np.ones_like(c)
    q = signs * s * c / w  # -u, or -y u
    for _ in range(4):
        q = np.clip(q, low, high)
        signed = w * signs * q
        excess = P.T @ signed
        if np.all(np.abs(excess) <= 1e-12 * (np.abs(P).T @ np.abs(signed)) + 1e-300):
            off = norm(half[1] - half[0].T @ signed / s)
            return float(w @ loss.young(f, -signs * q)) + 0.5 * s * off**2
        room = np.minimum(np.minimum(q - low, high - q), np.abs(q).max())
        system = (P.T * (w * room)) @ P
        q = q - room * signs * (P @ (np.linalg.pinv(system, hermitian=True) @ excess))
    return np.inf


# --------------------------------------------------------------------- the other ones


@np.errstate(over="ignore")  # rounding beyond the largest number is infinite
def judge_ridge(fit: Fit) -> list[Evidence]:
    """KreinRidge: ``(K~ + alpha W^-1) v = y - b``, with ``1'v = 0`` if b is fitted.

    "stabilised" bounds the inverse along each eigenvector by 1 / alpha.
    """
    model, alpha, v = fit.model, float(fit["alpha"]), fit.coefficients()
    stable = model.method == "stabilised"
    treated = treat(fit, "none" if stable else model.method, multiply=False)
    y, b, target = fit.y.astype(float), float(model.intercept_[0]), treated.target
    if stable:
        total = np.where(target == -alpha, 1e-300, target + alpha)
        target = np.where(np.abs(total) < alpha, alpha**2 / total - alpha, target)
    image = treated.vectors @ (target * treated.along(v)) / fit.root
    size = (float(np.abs(target).max()) + alpha) * norm(v / fit.root) / fit.root
    error, unit = 8 * fit.spread * (size + np.abs(y) + abs(b)), float(np.abs(y).max())
    images = image, image + b, error
    found, off = _evidence(fit.weight, Squared(y), 2 * alpha, v, images)
    value, unit = found.objective[0], max(unit, 1e-300)
    found.unit = max(abs(value), EPS * float(fit.weight @ (np.abs(y) + abs(b)) ** 2))
    found.residual = 0.5 * float(np.abs(off).max()) / unit, float(error.max()) / unit
    if treated.convex:
        excess = 2 * alpha * abs(b * float(v.sum())) if model.fit_intercept else 0.0
        slack = float(fit.weight @ ((np.abs(off) + error) * error)) + excess
        found.gap = float(fit.weight @ (0.5 * off) ** 2), slack
    found.faults += treated.map_faults(fit.row("dual_coef_"), v)
    if not model.fit_intercept and b != 0.0:
        found.faults.append("intercept_ is not zero with fit_intercept=False")
    return [found]


def judge_logistic(fit: Fit) -> list[Evidence]:
    """KreinLogisticRegression: ``A = W (T - softmax(K A + b)) / (N alpha)``, 1'A = 0.

    One joint problem, or one per row, where the scores of the other class are 0.
    """
    model, b, N = fit.model, np.asarray(fit.model.intercept_), float(fit.weight.sum())
    treated = treat(fit, "flip" if model.flipped_ else "none", multiply=False)
    A = np.vstack([fit.coefficients(row) for row in range(len(b))]).T
    joint = model.multi_class == "multinomial" and len(model.classes_) > 2
    faults = _uniqueness(fit, treated.values, (2.0 if joint else 4.0) * N)
    for row, v in enumerate(A.T):
        faults += treated.map_faults(fit.row("dual_coef_", row), v)
    if not model.fit_intercept and np.any(b):
        faults.append("intercept_ is not zero with fit_intercept=False")
    images, errors = zip(*(treated.outputs(v, v) for v in A.T), strict=True)
    F = np.column_stack(images) + b
    error = float(np.max(errors)) + fit.spread * (float(np.abs(F).max()) + 1.0)
    w, problems = fit.weight, list[Any](enumerate(Logistic(y) for _, y in fit.signs()))
    if joint:
        w, problems = w[:, None], [(slice(None), Softmax(np.eye(len(b))[fit.y]))]
    judged = []
    for part, loss in problems:
        a, image = A[:, part], np.column_stack(images)[:, part]
        lines = image, F[:, part], np.full_like(image, error)
        found, off = _evidence(w, loss, N * model.alpha_used_, a, lines)
        value, slack = found.objective
        found.objective, found.faults = (value / N, slack / N + error), faults
        sums = np.abs(a.sum(axis=0)).max() if model.fit_intercept else 0.0
        residual = max(float(np.abs(off).max()), float(sums))
        found.residual = residual, error + fit.spread * float(np.abs(a).sum())
        judged += [found] * np.size(b[part])
    return judged


def _uniqueness(fit: Fit, values: Array, factor: float) -> list[str]:
    """Check alpha_used_, ratio_ and unique_ against the spectrum."""
    model, used, asked = fit.model, float(fit.model.alpha_used_), float(fit["alpha"])
    ratio = max(0.0, -float(values.min())) / (factor * used)
    noise = 1e-2 + fit.spread * float(np.abs(values).max()) / (factor * used)
    faults = []
    if not np.allclose(model.ratio_, ratio, rtol=2e-2, atol=noise):
        faults.append(f"ratio_ says {model.ratio_[0]:.4g}, recomputed {ratio:.4g}")
    if model.unique_ and not model.flipped_ and ratio >= 1.0 + noise:
        faults.append(f"unique_ is claimed at ratio {ratio:.4g}")
    raised = used > asked * (1 + 1e-12) and model.indefinite != "raise-alpha"
    if raised or used < asked * (1 - 1e-12):
        faults.append(f"alpha_used_ is {used:g} for alpha={asked:g}")
    return faults


def judge_dc_primal(fit: Fit) -> list[Evidence]:
    """DCSVC(solver="dc-primal"), by its gradient.

    Of ``c'Kc / (2 C) + sum w max(0, 1 - y f)^2 / 2`` in the coordinates R^-1 c; tol is
    relative to the gradient at the origin.
    """
    M, s, judged = fit.root[:, None] * fit.dense() * fit.root, 2 / fit.model.C, []
    for row, (_, y) in enumerate(fit.signs()):
        c, b = fit.row("dual_coef_", row), float(fit.model.intercept_[row])
        image, size = fit.K @ c, norm(M.ravel()) + norm(fit.root)
        error = fit.spread * (abs(fit.K) @ np.abs(c) + abs(b) + 1.0)
        loss = SquaredHinge(y)
        found, off = _evidence(fit.weight, loss, s, c, (image, image + b, error))
        value, slack = found.objective
        found.objective = 0.5 * value, slack
        slope = fit.weight * loss.slope(image + b)
        gradient = np.append(M @ (0.5 * fit.root * off), 0.5 * float(slope.sum()))
        scale = norm(c / fit.root) * s + norm(slope / fit.root)
        slack = size * (fit.spread * scale + norm(fit.root * error))
        found.residual = norm(gradient), slack
        start = np.append(M @ (y * fit.root), float(fit.weight @ y))
        found.residual_unit = norm(start)
        judged.append(found)
    return judged


def judge_rows(model: Any, K: Any, codes: Array) -> list[Evidence]:
    """HitClassifier's own linear SVM on rows of length 1, with a squared hinge.

    ``(|w|^2 + b^2) / 2 + C sum l_i^2``; at a = 2 C l the gap is half the squared
    distance of (w, b) from ``sum_i a_i y_i (x_i, 1)``.
    """
    norms = np.sqrt(np.asarray(K.multiply(K).sum(axis=1)).ravel())
    norms[norms == 0.0] = 1.0
    svm, judged = model.estimator_[-1], []
    for row, (w, b) in enumerate(zip(svm.coef_, svm.intercept_, strict=True)):
        y = np.where(codes == (row if len(model.classes_) > 2 else 1), 1.0, -1.0)
        a = -model.C * SquaredHinge(y).slope((K @ w) / norms + b)
        image = K.T @ (a / norms)
        value = float(w @ w + b * b + a @ a / (2 * model.C)) / 2.0
        gap = 0.5 * (norm(w - image) ** 2 + (b - float(a.sum())) ** 2)
        slack = value + float(np.abs(a).sum() + image @ image)
        slack *= 8.0 * EPS * np.sqrt(y.size)
        judged.append(Evidence((value, slack), (gap, slack), unit=value))
    return judged
