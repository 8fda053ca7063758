"""Smooth losses: ridge, logistic, the DC primal, hits, repairs, c.p.d. kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.linalg
from scipy.special import logsumexp, softmax

from krein.methods import Method
from krein.referee.evidence import EPS, LOSSES, Array, Problem, norm
from krein.referee.fit import Fit, class_numbers
from krein.referee.kernel import map_faults, treat
from krein.referee.report import Claim, Evidence, Measured, faults_of

# Coefficients of c.p.d. kernels carry the condition of the system they were solved
# from: differences below this share of the loss at f = 0 count as rounding.
_FLOOR = 1e-11
_BALANCED = 1e-7  # P'c = 0 to this share of the size of its terms


def judge_ridge(fit: Fit) -> Iterator[Evidence]:
    """KreinRidge: ``(K~ + alpha W^-1) v = y - b``, with ``1'v = 0`` if b is fitted."""
    model, alpha, v = fit.model, float(fit["alpha"]), fit.coefficients()
    y, (_, _, c, b, claims_gap) = fit.y.astype(float), next(fit.rows())
    method = _stabilised(alpha) if model.method == "stabilised" else model.method
    treated = treat(fit, method)
    image, error = treated.outputs(v, c)
    size = alpha * norm(v / fit.root) / fit.root + np.abs(y) + abs(b)
    f, error = image + b, 4 * error + 8 * fit.spread * size
    problem = Problem(LOSSES["squared"], np.ones(fit.n), y, fit.weight, 2 * alpha)
    kind, objective = "stationarity", problem.objective(v, image, f, error)
    unit, off = 2 * max(float(np.abs(y).max()), 1e-300), problem.residual(v, f)
    found = Measured(np.abs(off).max() / unit, 2 * error.max() / unit)
    if treated.convex and claims_gap:
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
    model, N = fit.model, float(fit.weight.sum())
    signs, _, C, b, _ = map(np.array, zip(*fit.rows(), strict=True))
    treated = treat(fit, "flip" if model.flipped_ else "none")
    joint = model.multi_class == "multinomial" and b.size > 1
    A = np.array([*map(fit.coefficients, range(b.size))])
    faults = map_faults(treated, C, A)
    faults += _uniqueness_faults(fit, treated, (2.0 if joint else 4.0) * N)
    images, errors = np.swapaxes([*map(treated.outputs, A, C)], 0, 1)
    error = float(errors.max()) + fit.spread * (float(np.abs(images.T + b).max()) + 1.0)
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
    for y, _, c, b, _ in fit.rows():
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


def judge_rows(model: Any, K: Any, y: Array) -> Iterator[tuple[Evidence, Claim]]:
    """HitClassifier's own linear SVM on rows of length 1, with a squared hinge.

    ``(|w|^2 + b^2) / 2 + C sum l_i^2``; at a = 2 C l the gap is half the squared
    distance of (w, b) from ``sum_i a_i y_i (x_i, 1)``.
    """
    norms = np.sqrt(np.asarray(K.multiply(K).sum(axis=1)).ravel())
    norms[norms == 0.0] = 1.0
    svm, codes = model.estimator_[-1], class_numbers(model.classes_, y)
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


def judge_repaired(repaired: Any, K: Any) -> Iterator[tuple[Evidence, Claim]]:
    """Recompute what a `Repaired` of `krein.nearest_psd` claims.

    With G = W^1/2 (K - m I) W^1/2, X in the same units, a symmetric Y that is zero but
    for the settled entries, and any positive semidefinite N, the Lagrangian of

        minimise ||X - G||^2 / 2,   X positive semidefinite, settled entries as they are

    is smallest at G + Y + N, which puts a bound below the optimum; a feasible X is
    above it by ``||X - (G + Y + N)||^2 / 2 + <X, N>``. N is the negative part of G + Y.
    """
    K, X = np.asarray(K, dtype=float), np.asarray(repaired, dtype=float)
    K, identity, least = 0.5 * (K + K.T), np.eye(len(K)), repaired.min_eigenvalue
    weight = np.ones(len(K)) if repaired.weight is None else repaired.weight
    outer, eps = np.sqrt(np.outer(weight, weight)), 10.0 * len(K) * EPS
    settled = (identity > 0) & (repaired.diagonal != "free")
    settled = settled | (False if repaired.fixed is None else repaired.fixed)
    goal = np.where((identity > 0) & (repaired.diagonal == "unit"), 1.0, K)
    G, Z = outer * (K - least * identity), outer * (X - least * identity)
    Y = repaired.multipliers.toarray() / outer
    w, V = np.linalg.eigh(G + Y)
    B = V * np.sqrt(np.maximum(-w, 0.0))
    N, distance = B @ B.T, norm((Z - G).ravel())
    gap = 0.5 * float(np.sum((Z - (G + Y + N)) ** 2)) + float(np.sum(Z * N))
    size = sum(norm(A.ravel()) for A in (G, Y, Z))
    slack = 20.0 * EPS * size * (norm(N.ravel()) + 2 * eps * size)
    w = np.linalg.eigvalsh(X)
    rounding = 1e-9 * np.abs(w).max() + eps * np.abs(K).max()
    kept = np.array_equal(X, X.T) and np.array_equal(X[settled], goal[settled])
    faults = faults_of(
        (not np.any(Y[~settled]), "a multiplier stands where no entry is settled"),
        (kept, "the matrix is asymmetric, or a settled entry has another value"),
        (w[0] >= least - rounding, f"an eigenvalue is {w[0]:.3g}, not {least:g}"),
    )
    value, told = 0.5 * distance**2, 0.5 * float(repaired.distance) ** 2
    found = Measured(gap, slack, value)
    objective = Measured(value, distance * (2e-9 * distance + 2 * eps * size))
    claim = "gap", float(repaired.duality_gap), told, repaired.status, repaired.tol
    yield Evidence(objective, "gap", found, faults), claim


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
    for (y, _, c, b, _), p in zip(fit.rows(), model.poly_coef_, strict=True):
        problem = Problem(LOSSES[name], y, target, fit.weight, 2 * float(fit["alpha"]))
        evidence = _cpd_evidence(fit, problem, c, p, P, H, back @ c[J])
        evidence.faults += faults_of(
            (b == 0.0, "intercept_ is not zero: poly_coef_ has the constant"),
            (not np.any(np.delete(c, J)), "coefficients outside the basis points"),
            (lowest >= 0.0, f"the kernel is not c.p.d. for P: eigenvalue {lowest:.3g}"),
        )
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
    fit: Fit, problem: Problem, c: Array, p: Array, P: Array, H: Array, h: Array
) -> Evidence:
    model, w, phi = fit.model, fit.weight, fit.dense()
    image, constant = phi @ c, P[:, : p.size] @ p
    error = fit.spread * (np.abs(phi) @ np.abs(c) + np.abs(constant))
    error, f = error + fit.asymmetry * float(np.abs(c).sum()), image + constant
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
    steep = np.maximum(1 - slope, EPS)  # 0 would leave c = 0 where q is 1
    bend = slope * steep if high == 1.0 else 2.0 * (slope != 0.0)
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
