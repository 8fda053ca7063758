"""How each machine makes its kernel and its coefficients, and what it minimises.

Every judge yields the evidence on one row after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg.blas import dnrm2 as norm  # it neither overflows nor underflows
from scipy.special import logsumexp, softmax

from krein.referee.evidence import EPS, LOSSES, Array, Problem
from krein.referee.fit import Fit
from krein.referee.kernel import Decomposed, map_faults, treat
from krein.referee.report import Evidence, Measured, faults_of
from krein.spectrum.fixes import Fix, as_fix, weighted_flip

# Coefficients of c.p.d. kernels carry the condition of the system they were solved
# from: differences below this share of the loss at f = 0 count as rounding.
_FLOOR = 1e-11
_BALANCED = 1e-7  # P'c = 0 to this share of the size of its terms


def judge_svm(fit: Fit) -> Iterator[Evidence]:
    """SpectrumSVC, KreinSVC, SpectrumSVR, SpectrumOneClassSVM, and DCSVC's dual."""
    model, rows = fit.model, fit.rows()
    method = "none" if hasattr(model, "kkt_gap_") else fit["method"]
    if hasattr(model, "lam_pos"):
        method = weighted_flip(model.lam_pos, model.lam_neg)
    treated = treat(fit, method)
    faults = map_faults(treated, rows)
    for (y, v, c, b), result in zip(rows, fit.results, strict=True):
        claims_gap = result.certificate.kind == "gap"
        problem, options = fit.problem(y), {"convex": treated.convex and claims_gap}
        a = problem.y * np.resize(v, problem.y.size)
        if a.size > v.size:  # regression: one of two variables is zero
            a = np.maximum(a, 0.0)
        f, error = (np.resize(x, a.size) for x in treated.outputs(v, c))
        if problem.total:  # one class: its optimum may be zero
            reach = treated.size * float(np.sum(a / fit.weight))
            options["least"] = 0.5e-6 * problem.total * reach
            options["floor"] = _lowest_intercept(fit, c, problem.total)
        yield problem.evidence(a, b, f, error, faults, **options)


def _lowest_intercept(fit: Fit, c: Array, total: float) -> float:
    """Return the intercept below which more than the share nu would be outside."""
    scores = fit.K @ c
    order = np.argsort(scores, kind="stable")
    over = scores[order][np.cumsum(fit.weight[order]) > total * (1 + 1e-12)]
    return -float(over.min(initial=np.inf))


def judge_proxy(fit: Fit) -> Iterator[Evidence]:
    """ProxySVC (Luss and d'Aspremont, 2007).

    ``f(a) = e'a - rho (|A_+|^2 - |K|^2)`` with ``A = R K R + uu' / (4 rho)``, ``u =
    R^-1 (y * a)``, is concave with gradient ``e - y * R^-1 A_+ u``: its gap is that of
    the SVM on the kernel ``R^-1 A_+ R^-1``.
    """
    rho, raw, clip = float(fit["rho"]), fit.scaled(), as_fix("clip")
    whole, rule = Decomposed(fit, raw, clip), fit["new_points"]
    # Every solution has |u| <= r with r^3 = p r + q: bounds beyond r R are cut.
    p, q = -4 * rho * min(0.0, whole.smallest), 4 * rho * np.sqrt(fit.weight.sum())
    most = float(np.roots([1.0, 0.0, -p, -q]).real.max()) * (1 + 1e-8) * fit.root
    for k, row in enumerate(fit.rows()):
        problem, a, u = fit.problem(row.y), row.y * row.v, row.v / fit.root
        A = Decomposed(fit, raw + np.outer(u, u / (4 * rho)), clip)
        f, error = A.outputs(row.v, row.c)
        objective, unit = _proxy_value(whole, A, row.v, rho)
        cut = replace(problem, w=np.minimum(problem.w, most))
        found = Measured(*cut.best_gap(a, f, error), unit)
        faults = map_faults({"clip": whole, "project": A}.get(rule), [row])
        if rule == "luss":
            x = np.random.default_rng(0).normal(size=fit.n) * fit.root
            off = fit.root * (fit.model.proxy_kernel(k) @ x - A.outputs(x, x)[0])
            same = norm(off) <= 1e-6 * A.size * norm(x / fit.root)
            faults += faults_of((same, "proxy_kernel() is not the proxy at alpha_"))
        else:
            f, error = fit.product(fit.K, row.c)
        faults += problem.faults(a, row.b, f, error)
        yield Evidence(objective, "gap", found, faults)


def _proxy_value(
    whole: Decomposed, A: Decomposed, v: Array, rho: float
) -> tuple[Measured, float]:
    """Return f(a), and f(a) - f(0), what a relative gap refers to."""
    total, lost = float(np.abs(v).sum()), np.minimum(whole.values, 0.0)
    after, before = np.sort(A.target), np.sort(whole.target)
    # Squares by pairs, which cancel less: eigenvalues interlace.
    rise = total - rho * float((after - before) @ (after + before))
    size = float(np.abs(A.values).max() * np.abs(A.values).sum())
    size += float(whole.values @ whole.values)
    slack = whole.fit.spread * (rho * size + total)
    # The rise, which may cancel, lies between two slopes along a, which do not.
    slope = total - float(v @ A.outputs(v, v)[0])
    value = Measured(rho * float(lost @ lost) + rise, slack)
    return value, min(max(rise, slope) + slack, total)


def judge_mkl(fit: Fit) -> Iterator[Evidence]:
    """MKLSVC (Chen and Ye, 2008, eq. 27; Theorem 5.1).

    ``min over shares s of phi(s) = max over Q of e'a - v'K(s)v/2 + costs's``: the gap
    of the SVM on K(s) bounds phi(s) from above, and every a in Q bounds the minimum
    from below by ``min_i e'a - v'K_i v/2 + costs_i``.
    """
    model, w, square = fit.model, fit.weight, np.ix_(fit.kept, fit.kept)
    stack = np.array([0.5 * (K + K.T)[square] for K in fit.stack])
    costs = np.zeros(len(stack))
    if model.target is not None:
        target = np.asarray(model.target, dtype=float)
        target = target[square] if target.ndim else stack[int(model.target)]
        costs = model.rho * np.array([w @ (K - target) ** 2 @ w for K in stack])
    for k, row in enumerate(fit.rows()):
        shares, problem, a = model.weights_[k], fit.problem(row.y), row.y * row.v
        f, error = fit.product(np.tensordot(shares, stack, 1), row.v)
        faults = map_faults(None, [row])
        value, _, gap, faults = problem.evidence(a, row.b, f, error, faults)
        points = [a, np.asarray(fit.results[k].info.get("alpha", a))]
        inside = [row.y * p for p in points if not problem.infeasible(p)]
        below = [np.abs(v).sum() - 0.5 * (stack @ v) @ v + costs for v in inside]
        above = value.value + float(shares @ costs) + gap.value
        unit, size = abs(above - float(costs.min())), abs(above) + float(costs.max())
        slack = value.slack + gap.slack + 64 * EPS * size
        least = max((float(values.min()) for values in below), default=-np.inf)
        objective = Measured(above, slack + min(gap.value, 1e-6 * unit))
        simplex = abs(float(shares.sum()) - 1.0) <= 1e-9 and shares.min() >= 0.0
        faults += faults_of((simplex, "weights_ are negative, or not of sum 1"))
        found = Measured(max(0.0, above - least), 2 * slack, unit)
        yield Evidence(objective, "gap", found, faults)


# ----------------------------------------------------------------------- smooth losses


def judge_ridge(fit: Fit) -> Iterator[Evidence]:
    """KreinRidge: ``(K~ + alpha W^-1) v = y - b``, with ``1'v = 0`` if b is fitted."""
    model, alpha, rows = fit.model, float(fit["alpha"]), fit.rows()
    method = _stabilised(alpha) if model.method == "stabilised" else model.method
    treated, (y, v, c, b) = treat(fit, method), rows[0]
    image, error = treated.outputs(v, c)
    f, size = image + b, np.abs(fit.y) + abs(b)
    error = 4 * error + 8 * fit.spread * (alpha * norm(v / fit.root) / fit.root + size)
    problem = Problem(LOSSES["squared"], y, fit.y, fit.weight, 2 * alpha)
    objective = problem.objective(v, f, error, b)
    if treated.convex and fit.results[0].certificate.kind == "gap":
        gap, slack, _ = problem.gap(v, f, error)
        excess = 2 * alpha * abs(b * float(v.sum())) if model.fit_intercept else 0.0
        unit = max(abs(objective.value), EPS * float(fit.weight @ size**2))
        kind, found = "gap", Measured(gap, slack + excess, unit)
    else:
        unit = 2 * max(float(np.abs(fit.y).max()), 1e-300)
        off = float(np.abs(problem.residual(v, f)).max())
        kind, found = "stationarity", Measured(off / unit, 2 * error.max() / unit)
    yield Evidence(objective, kind, found, map_faults(treated, rows))


def _stabilised(alpha: float) -> Any:
    """Bound the inverse of K + alpha I along each eigenvector by 1 / alpha."""

    def target(d: Array, *_: float) -> Array:
        total = np.where(d == -alpha, 1e-300, d + alpha)
        return np.where(np.abs(total) < alpha, alpha**2 / total - alpha, d)

    return Fix("stabilised", target, new_rows="raw")


def judge_logistic(fit: Fit) -> Iterator[Evidence]:
    """KreinLogisticRegression: ``A = W (T - softmax(K A + b)) / (N alpha)``, 1'A = 0.

    One joint problem, or one per row, where the scores of the other class are 0.
    """
    model, alpha, w = fit.model, fit.model.alpha_used_, fit.weight / fit.weight.sum()
    treated, rows = treat(fit, "flip" if model.flipped_ else "none"), fit.rows()
    joint = model.multi_class == "multinomial" and len(rows) > 1
    faults = map_faults(treated, rows) + _uniqueness_faults(fit, treated, joint)
    for group in [rows] if joint else [[row] for row in rows]:
        y, v, c, b = map(np.array, zip(*group, strict=True))
        image, error = np.swapaxes([*map(treated.outputs, v, c)], 0, 1)
        T, F = y > 0, image + b[:, None]
        if not joint:
            T, F = np.vstack([T, ~T]), np.vstack([F, 0 * F])
        off = alpha * v / w + (softmax(F, axis=0) - T)[: len(group)]
        value = float(w @ (logsumexp(F, axis=0) - (T * F).sum(axis=0)))
        value += 0.5 * alpha * float(np.sum(v * image))
        size, worst = float(np.abs(v).sum()), float(error.max())
        worst += fit.spread * (float(np.abs(F).max()) + 1.0)
        objective = Measured(value, worst * (3 + alpha * size) + 64 * EPS * abs(value))
        sums = v.sum(axis=1) * model.fit_intercept
        residual = max(float(np.abs(off).max()), float(np.abs(sums).max()))
        found = Measured(residual, worst + fit.spread * size)
        yield from [Evidence(objective, "stationarity", found, faults)] * len(group)


def _uniqueness_faults(fit: Fit, treated: Any, joint: bool) -> list[str]:
    """Check alpha_used_, ratio_ and unique_ against the spectrum."""
    model, used, asked = fit.model, float(fit.model.alpha_used_), float(fit["alpha"])
    threshold = (2.0 if joint else 4.0) * float(fit.weight.sum()) * used
    ratio = max(0.0, -treated.smallest) / threshold
    noise = 1e-2 + fit.spread * treated.size / threshold
    same = np.allclose(model.ratio_, ratio, rtol=2e-2, atol=noise)
    unique = ratio < 1.0 + noise or model.flipped_ or not model.unique_
    fair = used == asked or (used > asked and model.indefinite == "raise-alpha")
    text = f"unique_, ratio_ or alpha_used_ are wrong: the ratio is {ratio:.4g}"
    return faults_of((same and unique and fair, text))


def judge_dc_primal(fit: Fit) -> Iterator[Evidence]:
    """DCSVC(solver="dc-primal"), by its gradient.

    Of ``c'Kc / (2 C) + sum w max(0, 1 - y f)^2 / 2`` in the coordinates R^-1 c; tol is
    relative to the gradient at the origin.
    """
    root, s = fit.root, 1 / fit.model.C
    for y, _, c, b in fit.rows():
        problem = Problem(LOSSES["squared_hinge"], y, np.abs(y), fit.weight / 2, s)
        image, error = fit.product(fit.K, c)
        f, error = image + b, error + fit.spread * (abs(b) + 1.0)
        pull = problem.w * problem.residual(c, f)
        gradient = np.append(fit.times(pull / root), float(np.sum(pull - s * c)))
        scale = 4 * s * norm(c / root) + 2 * norm(pull / root)
        slack = (fit.size() + norm(root)) * (fit.spread * scale + norm(root * error))
        start = np.append(fit.times(y * root), float(fit.weight @ y))
        found = Measured(norm(gradient), slack, norm(start))
        yield Evidence(problem.objective(c, f, error, b), "stationarity", found, [])


def judge_cpd(fit: Fit) -> Iterator[Evidence]:
    """CPDSVC and CPDRegressor (Walder and Chapelle, 2007, eq. 14).

    The penalty is |h|^2 with f = H h + P p. For coefficients c of all items with P'c =
    0 the gap is the sum of Fenchel and Young, and half the squared distance of h from
    H'c: with a subset of basis points h is not of this form. With alpha = 0 the loss
    is the gap; that the norm is least is not checked.
    """
    model, P, J, phi = fit.model, fit.polynomials(), np.arange(fit.n), fit.dense()
    if model.n_basis is not None and model.n_basis < fit.n and model.support_.size:
        J = np.flatnonzero(np.isin(fit.kept, model.support_))
    H, back, lowest = _features(phi, P, J)
    kind = getattr(model, "polynomial_", model.polynomial)
    name, target = getattr(model, "loss", "squared"), fit.y
    if hasattr(model, "classes_"):
        target = np.full(fit.n, 0.0 if name == "logistic" else 1.0)
    for (y, _, c, b), p in zip(fit.rows(), model.poly_coef_, strict=True):
        problem = Problem(LOSSES[name], y, target, fit.weight, 2 * float(fit["alpha"]))
        image, error = fit.product(phi, c)
        rest = P[:, : p.size] @ p
        free = bool(np.any(p)) if kind == "mixed" else kind == "free"
        f, error = image + rest, error + fit.spread * np.abs(rest)
        value, slack, _ = problem.objective(c, f, error, rest)
        zero = float(fit.weight @ problem.loss.value(target))
        slack = 2 * slack + fit.spread * value + 2 * _FLOOR * zero
        gap, R = value, P if free else P[:, :0]
        if problem.s:
            gap = min(gap, _cpd_gap(problem, f, R, H, back @ c[J]))
        noise = 16 * fit.spread * (np.abs(target) + np.abs(f)) * fit.weight
        least = 1e-8 * np.abs(c) + noise / max(problem.s, 1e-300)
        faults = faults_of(
            (np.all(np.abs(P.T @ c) <= np.abs(P).T @ least), "P'a = 0 is violated"),
            (free or not np.any(p), "poly_coef_ is not zero with polynomial='zero'"),
            (b == 0.0, "intercept_ is not zero: poly_coef_ has the constant"),
            (not np.any(np.delete(c, J)), "coefficients outside the basis points"),
            (lowest >= 0.0, f"the kernel is not c.p.d. for P: eigenvalue {lowest:.3g}"),
        )
        found = Measured(gap, slack, max(value, 1e-8 * zero))
        yield Evidence(Measured(value, slack), "gap", found, faults)


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
    free = scipy.linalg.null_space((unit[:, None] * P).T)
    system = np.vstack([unit * H.T @ free, free])
    right = np.append(np.sqrt(s) * h, np.sqrt(w / bend) * y * slope)
    c = unit / np.sqrt(s) * (free @ np.linalg.lstsq(system, right, rcond=None)[0])
    for _ in range(10):  # rounding and the ends leave some of P'c to the other items
        c = c - unit * np.linalg.lstsq((unit[:, None] * P).T, P.T @ c, rcond=None)[0]
        q = np.clip(s * y * c / w, low, high)
        c, unit = y * w * q / s, unit * ((q > low) & (q < high))
    if np.any(np.abs(P.T @ c) > _BALANCED * (np.abs(P).T @ np.abs(c)) + 1e-300):
        return np.inf
    excess = abs((f - H @ h) @ c)  # of P'c, times the polynomial
    gap = problem.gap(y * c, f, 0 * f).value + s * excess
    return gap + 0.5 * s * float(np.sum((h - H.T @ c) ** 2))


# ------------------------------------------------------------------------------ repair


def judge_repaired(repaired: Any, K: Any) -> Iterator[tuple[Evidence, Any]]:
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
    value = 0.5 * distance**2
    objective = Measured(value, distance * (2e-9 * distance + 2 * eps * size))
    evidence = Evidence(objective, "gap", Measured(gap, slack, value), faults)
    claim = SimpleNamespace(value=0.5 * repaired.distance**2, status=repaired.status)
    claim.certificate = SimpleNamespace(kind="gap", value=repaired.duality_gap)
    yield evidence, claim
