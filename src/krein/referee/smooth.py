"""Machines with a smooth loss: ridge, logistic, the DC primal, hits, c.p.d. kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.linalg
from scipy.special import logsumexp, softmax

from krein.methods import Method
from krein.referee.evidence import EPS, LOSSES, Array, Problem, norm
from krein.referee.fit import Fit
from krein.referee.kernel import map_faults, treat
from krein.referee.report import Claim, Evidence, Measured, faults_of

# Coefficients of c.p.d. kernels carry the condition of the system they were solved
# from: differences below this share of the loss at f = 0 count as rounding.
_FLOOR = 1e-11
_BALANCED = 1e-7  # P'c = 0 to this share of the size of its terms


def judge_ridge(fit: Fit) -> Iterator[Evidence]:
    """KreinRidge: ``(K~ + alpha W^-1) v = y - b``, with ``1'v = 0`` if b is fitted."""
    model, alpha, v = fit.model, float(fit["alpha"]), fit.coefficients()
    y, b, c = fit.y.astype(float), float(model.intercept_[0]), fit.row("dual_coef_")
    method = _stabilised(alpha) if model.method == "stabilised" else model.method
    treated = treat(fit, method)
    image, error = treated.outputs(v, c)
    size = alpha * norm(v / fit.root) / fit.root + np.abs(y) + abs(b)
    f, error = image + b, 4 * error + 8 * fit.spread * size
    problem = Problem(LOSSES["squared"], np.ones(fit.n), y, fit.weight, 2 * alpha)
    kind, objective = "stationarity", problem.objective(v, image, f, error)
    unit, off = 2 * max(float(np.abs(y).max()), 1e-300), problem.residual(v, f)
    found = Measured(np.abs(off).max() / unit, 2 * error.max() / unit)
    if treated.convex and fit.claims_gap():
        gap, slack = problem.gap(v, f, error)
        excess = 2 * alpha * abs(b * float(v.sum())) if model.fit_intercept else 0.0
        floor = EPS * float(fit.weight @ (np.abs(y) + abs(b)) ** 2)
        unit = max(abs(objective.value), floor)
        kind, found = "gap", Measured(gap, slack + excess, unit)
    yield Evidence(objective, kind, found, map_faults(treated, c, v))


def _stabilised(alpha: float) -> Any:
    """Bound the inverse of K + alpha I along each eigenvector by 1 / alpha."""

    def target(d: Array, *_: float) -> Array:
        total = np.where(d == -alpha, 1e-300, d + alpha)
        return np.where(np.abs(total) < alpha, alpha**2 / total - alpha, d)

    return Method("stabilised", target, new_rows="raw")


def judge_logistic(fit: Fit) -> Iterator[Evidence]:
    """KreinLogisticRegression: ``A = W (T - softmax(K A + b)) / (N alpha)``, 1'A = 0.

    One joint problem, or one per row, where the scores of the other class are 0.
    """
    model, b, N = fit.model, np.asarray(fit.model.intercept_), float(fit.weight.sum())
    treated = treat(fit, "flip" if model.flipped_ else "none")
    joint = model.multi_class == "multinomial" and b.size > 1
    A, C = np.array([*map(fit.coefficients, range(b.size))]), fit.row("dual_coef_", ...)
    faults = map_faults(treated, C, A)
    faults += _uniqueness_faults(fit, treated, (2.0 if joint else 4.0) * N)
    images, errors = np.swapaxes([*map(treated.outputs, A, C)], 0, 1)
    error = float(errors.max()) + fit.spread * (float(np.abs(images.T + b).max()) + 1.0)
    signs = np.array([*fit.signs()])
    for rows in [np.arange(b.size)] if joint else np.arange(b.size)[:, None]:
        a, image, w = A[rows].T, images[rows].T, fit.weight[:, None] / N
        T, F = signs[rows].T > 0, image + b[rows]
        if not joint:
            T, F = np.hstack([T, ~T]), np.hstack([F, 0 * F])
        off = model.alpha_used_ * a / w + (softmax(F, axis=1) - T)[:, : rows.size]
        loss = float(w[:, 0] @ (logsumexp(F, axis=1) - (T * F).sum(axis=1)))
        value = loss + 0.5 * model.alpha_used_ * float(np.sum(a * image))
        size = float(np.abs(a).sum())
        slack = error * (3 + model.alpha_used_ * size) + 64 * EPS * abs(value)
        sums = np.abs(a.sum(axis=0)).max() if model.fit_intercept else 0.0
        residual = max(float(np.abs(off).max()), float(sums))
        found = Measured(residual, error + fit.spread * size)
        evidence = Evidence(Measured(value, slack), "stationarity", found, faults)
        yield from [evidence] * rows.size


def _uniqueness_faults(fit: Fit, treated: Any, factor: float) -> list[str]:
    """Check alpha_used_, ratio_ and unique_ against the spectrum."""
    model, used, asked = fit.model, float(fit.model.alpha_used_), float(fit["alpha"])
    ratio = max(0.0, -treated.smallest) / (factor * used)
    noise = 1e-2 + fit.spread * treated.size / (factor * used)
    same = np.allclose(model.ratio_, ratio, rtol=2e-2, atol=noise)
    unique = ratio < 1.0 + noise or model.flipped_ or not model.unique_
    most = np.inf if model.indefinite == "raise-alpha" else asked * (1 + 1e-12)
    fair = asked * (1 - 1e-12) <= used <= most
    return faults_of(
        (same, f"ratio_ says {model.ratio_[0]:.4g}, recomputed {ratio:.4g}"),
        (unique, f"unique_ is claimed at ratio {ratio:.4g}"),
        (fair, f"alpha_used_ is {used:g} for alpha={asked:g}"),
    )


def judge_dc_primal(fit: Fit) -> Iterator[Evidence]:
    """DCSVC(solver="dc-primal"), by its gradient.

    Of ``c'Kc / (2 C) + sum w max(0, 1 - y f)^2 / 2`` in the coordinates R^-1 c; tol is
    relative to the gradient at the origin.
    """
    root, s, ones = fit.root, 1 / fit.model.C, np.ones(fit.n)
    size = fit.size() + norm(root)
    for row, y in enumerate(fit.signs()):
        c, b = fit.row("dual_coef_", row), float(fit.model.intercept_[row])
        problem = Problem(LOSSES["squared_hinge"], y, ones, fit.weight / 2, s)
        image = fit.K @ c
        error = fit.spread * (abs(fit.K) @ np.abs(c) + abs(b) + 1.0)
        pull = problem.w * problem.residual(c, image + b)
        gradient = np.append(fit.times(pull / root), float(np.sum(pull - s * c)))
        scale = 4 * s * norm(c / root) + 2 * norm(pull / root)
        slack = size * (fit.spread * scale + norm(root * error))
        start = np.append(fit.times(y * root), float(fit.weight @ y))
        objective = problem.objective(c, image, image + b, error)
        found = Measured(norm(gradient), slack, norm(start))
        yield Evidence(objective, "stationarity", found)


def judge_rows(model: Any, K: Any, codes: Array) -> Iterator[tuple[Evidence, Claim]]:
    """HitClassifier's own linear SVM on rows of length 1, with a squared hinge.

    ``(|w|^2 + b^2) / 2 + C sum l_i^2``; at a = 2 C l the gap is half the squared
    distance of (w, b) from ``sum_i a_i y_i (x_i, 1)``.
    """
    norms = np.sqrt(np.asarray(K.multiply(K).sum(axis=1)).ravel())
    norms[norms == 0.0] = 1.0
    svm = model.estimator_[-1]
    for row, (w, b) in enumerate(zip(svm.coef_, svm.intercept_, strict=True)):
        y = np.where(codes == (row if len(model.classes_) > 2 else 1), 1.0, -1.0)
        short = np.maximum(1.0 - y * ((K @ w) / norms + b), 0.0)
        c = 2 * model.C * y * short
        image = K.T @ (c / norms)
        value = 0.5 * float(w @ w + b * b) + model.C * float(short @ short)
        gap = 0.5 * (norm(w - image) ** 2 + (b - float(c.sum())) ** 2)
        size = value + float(np.abs(c).sum() + image @ image)
        slack = 8.0 * EPS * np.sqrt(y.size) * size
        claim = "gap", model.duality_gap_[row], model.objective_[row], "stopped", 0.0
        found = Measured(gap, slack, value)
        yield Evidence(Measured(value, slack), "gap", found), claim


# ------------------------------------------- conditionally positive definite kernels


def judge_cpd(fit: Fit) -> Iterator[Evidence]:
    """CPDSVC and CPDRegressor (Walder and Chapelle, 2007, eq. 14).

    The penalty is |h|^2 with f = H h + P p. For coefficients c of all items with P'c =
    0 the gap is the sum of Fenchel and Young, and half the squared distance of h from
    H'c: with a subset of basis points h is not of this form. With alpha = 0 the loss
    is the gap, and the norm is least if c'(y - f) = 0 and y c >= 0 for the hinge.
    """
    model, P, J = fit.model, fit.polynomials(), np.arange(fit.n)
    if model.n_basis is not None and model.n_basis < fit.n and model.support_.size:
        J = np.flatnonzero(np.isin(fit.kept, model.support_))
    H, back, lowest = _features(fit.dense(), P, J)
    name, target = getattr(model, "loss", "squared"), fit.y.astype(float)
    if hasattr(model, "classes_"):
        target = np.full(fit.n, 0.0 if name == "logistic" else 1.0)
    if name not in LOSSES:
        known = ", ".join(LOSSES)
        raise TypeError(f"check_certificate knows the losses {known}, got {name!r}")
    for row, y in enumerate(fit.signs()):
        problem = Problem(LOSSES[name], y, target, fit.weight, 2 * float(fit["alpha"]))
        c = fit.row("dual_coef_", row)
        evidence = _cpd_evidence(fit, row, problem, P, H, back @ c[J])
        evidence.faults += faults_of(
            (not np.any(np.delete(c, J)), "coefficients outside the basis points"),
            (lowest >= 0.0, f"the kernel is not c.p.d. for P: eigenvalue {lowest:.3g}"),
        )
        if lowest < 0.0:
            evidence.kind, evidence.found = "stationarity", Measured(np.inf, 0.0)
        yield evidence


def _features(phi: Array, P: Array, J: Array) -> tuple[Array, Array, float]:
    """H, the map from coefficients of the items J to h, a negative eigenvalue.

    With Z a basis of {a : P_J'a = 0} and ``Z' Phi_JJ Z = V diag(d) V'``: ``H = Phi_J Z
    V d^-1/2`` and ``h = d^1/2 V'Z'a``.
    """
    spread, inner = 8 * (phi.shape[0] + 8) * EPS, phi[np.ix_(J, J)]
    Z = scipy.linalg.null_space(P[J].T, rcond=10 * max(P[J].shape) * EPS)
    d, V = np.linalg.eigh(Z.T @ inner @ Z)
    lowest, largest = float(d.min(initial=0.0)), float(d.max(initial=0.0))
    fine = lowest >= -spread * float(np.abs(inner).sum(axis=0).max()) - 1e-10 * largest
    kept = d > spread * largest
    basis, root = Z @ V[:, kept], np.sqrt(d[kept])
    return phi[:, J] @ basis / root, root[:, None] * basis.T, 0.0 if fine else lowest


def _cpd_evidence(
    fit: Fit, row: int, problem: Problem, P: Array, H: Array, h: Array
) -> Evidence:
    model, w, phi = fit.model, fit.weight, fit.dense()
    c, p, b = fit.row("dual_coef_", row), model.poly_coef_[row], model.intercept_[row]
    image, constant = phi @ c, P[:, : p.size] @ p
    error = fit.spread * (np.abs(phi) @ np.abs(c) + np.abs(constant))
    error, f = error + fit.asymmetry * float(np.abs(c).sum()), image + constant + b
    value, slack, _ = problem.objective(c, image, f, error)
    zero = float(w @ problem.loss.value(problem.target))
    slack = 2 * slack + fit.spread * value + 2 * _FLOOR * zero
    free = getattr(model, "polynomial_", model.polynomial) == "free"
    whole = free and (model.n_basis or fit.n) >= fit.n  # then c are multipliers
    gap, unit, least = value, problem.s / w, True
    if problem.s:
        gap = min(gap, _cpd_gap(problem, f, P if free else P[:, :0], H, h))
    else:
        unit = np.full_like(w, np.abs(phi).mean() or 1.0)
        least = not whole or _least_norm(problem, f, c)
    noise = 16 * fit.spread * (np.abs(problem.target) + np.abs(f)) / unit
    excess = np.abs(P.T @ c) - np.abs(P).T @ (1e-8 * np.abs(c) + noise)
    found = Measured(gap, slack, max(value, 1e-8 * zero))
    faults = faults_of(
        (np.all(excess <= 0.0), "P'a = 0 is violated"),
        (least, "alpha=0, but the norm of f is not the least"),
        (b == 0.0, "intercept_ is not zero: poly_coef_ has the constant"),
        (free or not np.any(p), "poly_coef_ is not zero with polynomial='zero'"),
    )
    unsaid = "alpha=0: the loss is checked, not that the norm is least"
    notes = [] if whole or problem.s else [unsaid]
    return Evidence(Measured(value, slack), "gap", found, faults, notes)


def _least_norm(problem: Problem, f: Array, c: Array) -> bool:
    """Tell whether c are multipliers of the constraints of no loss, for alpha = 0."""
    a, z = problem.y * c, np.abs(problem.short(f))
    signs = np.all(a >= problem.loss.ends[0])
    return bool(signs and np.abs(a) @ z <= 1e-3 * (np.abs(a) @ np.abs(problem.target)))


def _cpd_gap(problem: Problem, f: Array, P: Array, H: Array, h: Array) -> float:
    """The gap at a dual point with P'c = 0, by a step of Newton's method from f.

    Slopes of the loss are not feasible, and coefficients of a subset of the items, or
    of an ill-conditioned system, are not the best. c = 0 where the loss is flat.
    """
    y, w, s, (low, high) = problem.y, problem.w, problem.s, problem.loss.ends
    slope = problem.loss.slope(problem.short(f))
    bend = slope * (1 - slope) if high == 1.0 else 2.0 * (slope != 0.0)
    unit, bend = np.sqrt(w * bend / s), np.maximum(bend, 1e-200)
    free = scipy.linalg.null_space((unit[:, None] * P).T) if P.size else np.eye(w.size)
    system = np.vstack([unit * H.T @ free, free])
    right = np.append(np.sqrt(s) * h, np.sqrt(w / bend) * y * slope)
    c = unit / np.sqrt(s) * (free @ np.linalg.lstsq(system, right, rcond=None)[0])
    c = y * w * np.clip(s * y * c / w, low, high) / s
    if np.any(np.abs(P.T @ c) > _BALANCED * (np.abs(P).T @ np.abs(c)) + 1e-300):
        return np.inf
    excess = abs((f - H @ h) @ c)  # of P'c, times the polynomial
    gap = problem.gap(y * c, f, 0 * f)[0] + s * excess
    return gap + 0.5 * s * norm(h - H.T @ c) ** 2
