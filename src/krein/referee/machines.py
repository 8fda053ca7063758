"""How each machine makes its kernel and its coefficients, and what it claims of them.

Every judge yields the evidence on one row after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg
from scipy.special import logsumexp, softmax

from krein.methods import Method, weighted_flip
from krein.referee.fit import Fit
from krein.referee.kernel import Decomposed, raw_faults, treat
from krein.referee.problem import (
    EPS,
    HINGE,
    LOSSES,
    Array,
    Evidence,
    Problem,
    faults_of,
    norm,
)

_LANCZOS = 1e-8  # what eigenpairs evidence by Lanczos' method may be off by
# Coefficients of c.p.d. kernels carry the condition of the system they were solved
# from: differences below this share of the loss at f = 0 count as rounding.
_FLOOR = 1e-11

# ---------------------------------------------------------------------------- the hinge


def judge_svm(fit: Fit) -> Iterator[Evidence]:
    """SpectrumSVC, KreinSVC, SpectrumSVR, SpectrumOneClassSVM, and DCSVC's dual."""
    model, stationary = fit.model, hasattr(fit.model, "kkt_gap_")
    method = "none" if stationary else fit["method"]
    if hasattr(model, "lam_pos"):
        method = weighted_flip(model.lam_pos, model.lam_neg)
    treated, rows, C = treat(fit, method), [*_boxes(fit)], fit.rows("dual_coef_")
    V = np.array([(p.y * a).reshape(-1, fit.n).sum(axis=0) for p, a in rows])
    faults = treated.map_faults(C, V)
    for row, (problem, a) in enumerate(rows):
        f, error = (np.resize(x, a.size) for x in treated.outputs(V[row], C[row]))
        evidence = problem.dual_evidence(a, f, error, treated.convex)
        evidence.gap = None if stationary else evidence.gap
        evidence.faults += [] if row else faults
        floor = -np.inf
        if problem.total:  # one class: its optimum may be zero
            reach = treated.size * float(np.sum(a / fit.weight))
            evidence.unit = max(evidence.unit, 0.5e-6 * problem.total * reach)
            floor = _lowest_intercept(fit, C[row], problem.total)
        b = float(model.intercept_[row])
        evidence.faults += problem.intercept_faults(b, a, f, error, floor)
        yield evidence


def _boxes(fit: Fit) -> Iterator[tuple[Problem, Array]]:
    """Problem and variables of each row."""
    ones, model = np.ones(fit.n), fit.model
    if hasattr(model, "classes_"):
        for row, y in enumerate(fit.signs()):
            w = fit["C"] * fit.weight * np.abs(y)
            yield Problem(HINGE, y, ones, w), fit.row("alpha_", row)
    elif hasattr(model, "nu"):
        total = float(model.nu) * float(fit.weight.sum())
        problem = Problem(HINGE, ones, 0 * ones, fit.weight, total=total)
        yield problem, fit.coefficients()
    else:
        y, w = np.repeat([1.0, -1.0], fit.n), np.tile(fit["C"] * fit.weight, 2)
        target = y * np.tile(fit.y.astype(float), 2) - fit["epsilon"]
        v = np.tile(fit.coefficients(), 2)
        yield Problem(HINGE, y, target, w), np.maximum(y * v, 0.0)


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
    the SVM on the kernel ``R^-1 A_+ R^-1``. A model of a large matrix knows its leading
    eigenpairs only: gaps are those of the whole matrix, its map and f(0) are not.
    """
    model, rho = fit.model, float(fit.model.rho)
    raw = seen = fit.root[:, None] * fit.dense() * fit.root
    whole = known = _positive_part(fit, np.linalg.eigh(raw))
    truncated = fit.n > (model.solver_options or {}).get("max_exact", 8000)
    if truncated:
        d, U = model.spectrum_.eigenvalues, model.spectrum_.eigenvectors
        seen, known = (U * d) @ U.T, _positive_part(fit, (d, U), whole.edge)
    for row, y in enumerate(fit.signs()):
        a = fit.row("alpha_", row)
        problem = Problem(HINGE, y, np.ones(fit.n), model.C * fit.weight)
        outer = np.outer(y * a / fit.root, y * a / fit.root / (4 * rho))
        A = _positive_part(fit, np.linalg.eigh(raw + outer))
        evidence = _proxy_evidence(problem, whole, A, a, rho)
        if truncated:  # the value claimed is a lower bound, without what is not known
            value, slack = evidence.objective
            value += rho * (_negative(known) - _negative(whole))
            evidence.objective = value, slack + fit.results[row].certificate.value
            evidence.faults += _eigenpair_faults(fit, raw, d, U)
            evidence.notes.append(f"its map is that of the {d.size} leading eigenpairs")
            A = _positive_part(fit, np.linalg.eigh(seen + outer))
        evidence.faults += _rule_faults(fit, row, problem, known, A)
        yield evidence


def _positive_part(fit: Fit, eigenpairs: Any, edge: float = 0.0) -> Decomposed:
    d = eigenpairs[0]
    edge = edge or d.size * EPS * float(np.abs(d).max())
    return Decomposed(fit, eigenpairs, np.maximum(d, 0.0), 1.0 * (d > edge), edge)


def _negative(spectrum: Decomposed) -> float:
    return float(np.sum(np.minimum(spectrum.values, 0.0) ** 2))


def _eigenpair_faults(fit: Fit, raw: Array, d: Array, U: Array) -> list[str]:
    """Check that eigenpairs are some, and that "clip" does not leave their span.

    Among equal eigenvalues any may be known.
    """
    off = norm((raw @ U - U * d).ravel()) / (float(np.abs(d).max()) or 1.0)
    off = max(off, norm((U.T @ U - np.eye(d.size)).ravel()))
    c = (fit.rows("dual_coef_") / fit.root).T
    inside = norm((c - U @ (U.T @ c)).ravel()) <= _LANCZOS * norm(c.ravel())
    return faults_of(
        (off <= _LANCZOS, "spectrum_ does not hold eigenpairs"),
        (inside or fit.model.new_points != "clip", "dual_coef_ leaves their span"),
    )


def _proxy_evidence(
    problem: Problem, whole: Decomposed, A: Decomposed, a: Array, rho: float
) -> Evidence:
    fit, v, total = whole.fit, problem.y * a, float(a.sum())
    after, before = np.sort(A.target), np.sort(whole.target)
    # Squares by pairs, which cancel less: eigenvalues interlace.
    rise = total - rho * float((after - before) @ (after + before))
    size = float(np.abs(A.values).max() * np.abs(A.values).sum())
    slack = fit.spread * (rho * (size + float(whole.values @ whole.values)) + total)
    # f - f(0), which may cancel, lies between two slopes along a, which do not.
    f, error = A.outputs(v, v)
    unit = min(max(rise, total - float(v @ f)) + slack, total)
    # Every solution has |u| <= r with r^3 = p r + q: bounds beyond r R are cut.
    p, q = -4 * rho * min(0.0, whole.smallest), 4 * rho * np.sqrt(fit.weight.sum())
    r = np.sqrt(2 * p) + np.cbrt(2 * q)  # by Newton from above
    for _ in range(60):
        r -= (r**3 - p * r - q) / (3 * r * r - p)
    cut = replace(problem, w=np.minimum(problem.w, r * (1 + 1e-8) * fit.root))
    objective = rho * _negative(whole) + rise, slack
    return Evidence(objective, cut.best_gap(a, f, error), unit=unit)


def _rule_faults(
    fit: Fit, row: int, problem: Problem, known: Decomposed, A: Decomposed
) -> list[str]:
    """Check that coefficients and intercept follow from alpha by the rule chosen."""
    a, c, rule = fit.row("alpha_", row), fit.row("dual_coef_", row), fit["new_points"]
    maps = {"clip": known.map_faults, "project": A.map_faults}.get(rule, raw_faults)
    faults, b = maps(c, problem.y * a), float(fit.model.intercept_[row])
    f, error = fit.K @ c, fit.spread * (abs(fit.K) @ np.abs(c))
    if rule == "luss":
        f, error = A.outputs(problem.y * a, c)
        half = A.vectors / fit.root[:, None]
        off = np.abs(fit.model.proxy_kernel(row) - (half * A.target) @ half.T)
        same = np.all(off * fit.root * fit.root[:, None] <= 1e-6 * A.size)
        faults += faults_of((same, "proxy_kernel() is not the proxy at alpha_"))
    return faults + problem.infeasible(a) + problem.intercept_faults(b, a, f, error)


def judge_mkl(fit: Fit) -> Iterator[Evidence]:
    """MKLSVC (Chen and Ye, 2008, eq. 27; Theorem 5.1).

    ``min over shares s of phi(s) = max over Q of e'a - v'K(s)v/2 + costs's``: the gap
    of the SVM on K(s) bounds phi(s) from above, and every a in Q bounds the minimum
    from below by ``min_i e'a - v'K_i v/2 + costs_i``.
    """
    model, square, w = fit.model, np.ix_(fit.kept, fit.kept), fit.weight
    stack = np.array([0.5 * (K + K.T)[square] for K in fit.stack()])
    costs = np.zeros(len(stack))
    if model.target is not None:
        target = np.asarray(model.target, dtype=float)
        target = target[square] if target.ndim else stack[int(model.target)]
        costs = model.rho * np.array([w @ (K - target) ** 2 @ w for K in stack])
    for row, y in enumerate(fit.signs()):
        shares, a = model.weights_[row], fit.row("alpha_", row)
        K, v = np.tensordot(shares, stack, 1), y * a
        problem = Problem(HINGE, y, np.ones(fit.n), model.C * w)
        f, error = K @ v, 2 * fit.spread * (np.abs(K) @ np.abs(v))
        evidence = problem.dual_evidence(a, f, error, convex=True)
        points = [a, np.asarray(fit.results[row].info.get("alpha", a))]
        below = [
            float(np.min(p.sum() - 0.5 * (stack @ (y * p)) @ (y * p) + costs))
            for p in points
            if not problem.infeasible(p)
        ]
        (value, value_slack), (gap, gap_slack) = evidence.objective, evidence.gap
        above = value + float(shares @ costs) + gap
        slack = value_slack + gap_slack + 64 * EPS * (abs(above) + float(costs.max()))
        unit = evidence.unit = abs(above - float(costs.min()))
        evidence.objective = above, slack + min(gap, 1e-6 * unit)
        bound = max(0.0, above - max(below, default=-np.inf))
        evidence.gap, evidence.residual = (bound, 2 * slack), None
        simplex = abs(float(shares.sum()) - 1.0) <= 1e-9 and shares.min() >= 0.0
        evidence.faults += faults_of(
            (simplex, "weights_ are negative, or not of sum 1")
        )
        evidence.faults += raw_faults(fit.row("dual_coef_", row), v)
        b = float(model.intercept_[row])
        evidence.faults += problem.intercept_faults(b, a, f, error)
        yield evidence


# ------------------------------------------------------------------------ smooth losses


@np.errstate(over="ignore")  # rounding beyond the largest number is infinite
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
    evidence = Evidence(problem.objective(v, image, f, error))
    floor = EPS * float(fit.weight @ (np.abs(y) + abs(b)) ** 2)
    evidence.unit = max(abs(evidence.objective[0]), floor)
    unit, off = 2 * max(float(np.abs(y).max()), 1e-300), problem.residual(v, f)
    evidence.residual = float(np.abs(off).max()) / unit, 2 * float(error.max()) / unit
    if treated.convex:
        gap, slack = problem.gap(v, f, error)
        excess = 2 * alpha * abs(b * float(v.sum())) if model.fit_intercept else 0.0
        evidence.gap = gap, slack + excess
    evidence.faults += treated.map_faults(c, v) + _constant_faults(fit)
    yield evidence


def _stabilised(alpha: float) -> Any:
    """Bound the inverse of K + alpha I along each eigenvector by 1 / alpha."""

    def target(d: Array, *_: float) -> Array:
        total = np.where(d == -alpha, 1e-300, d + alpha)
        return np.where(np.abs(total) < alpha, alpha**2 / total - alpha, d)

    return Method("stabilised", target, new_rows="raw")


def _constant_faults(fit: Fit) -> list[str]:
    fine = fit.model.fit_intercept or not np.any(fit.model.intercept_)
    return faults_of((fine, "intercept_ is not zero with fit_intercept=False"))


def judge_logistic(fit: Fit) -> Iterator[Evidence]:
    """KreinLogisticRegression: ``A = W (T - softmax(K A + b)) / (N alpha)``, 1'A = 0.

    One joint problem, or one per row, where the scores of the other class are 0.
    """
    model, b, N = fit.model, np.asarray(fit.model.intercept_), float(fit.weight.sum())
    treated = treat(fit, "flip" if model.flipped_ else "none")
    joint = model.multi_class == "multinomial" and b.size > 1
    A, C = np.array([*map(fit.coefficients, range(b.size))]), fit.rows("dual_coef_")
    faults = treated.map_faults(C, A) + _constant_faults(fit)
    faults += _uniqueness_faults(fit, treated, (2.0 if joint else 4.0) * N)
    images, errors = np.swapaxes([*map(treated.outputs, A, C)], 0, 1)
    error = float(errors.max())
    error += fit.spread * (float(np.abs(images.T + b).max()) + 1.0)
    for rows in [np.arange(b.size)] if joint else np.arange(b.size)[:, None]:
        a, image, w = A[rows].T, images[rows].T, fit.weight[:, None] / N
        T, F = np.array([*fit.signs()])[rows].T > 0, image + b[rows]
        if not joint:
            T, F = np.hstack([T, ~T]), np.hstack([F, 0 * F])
        off = model.alpha_used_ * a / w + (softmax(F, axis=1) - T)[:, : rows.size]
        loss = float(w[:, 0] @ (logsumexp(F, axis=1) - (T * F).sum(axis=1)))
        value = loss + 0.5 * model.alpha_used_ * float(np.sum(a * image))
        slack = error * (3 + model.alpha_used_ * float(np.abs(a).sum()))
        sums = np.abs(a.sum(axis=0)).max() if model.fit_intercept else 0.0
        residual = max(float(np.abs(off).max()), float(sums))
        evidence = Evidence((value, slack + 64 * EPS * abs(value)), faults=faults)
        evidence.residual = residual, error + fit.spread * float(np.abs(a).sum())
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


def judge_dc(fit: Fit) -> Iterator[Evidence]:
    """DCSVC: a stationary point of the dual, or of the primal by its gradient.

    Of ``c'Kc / (2 C) + sum w max(0, 1 - y f)^2 / 2`` in the coordinates R^-1 c; tol is
    relative to the gradient at the origin.
    """
    if fit.model.solver == "tdca":
        yield from judge_svm(fit)
        return
    root, s, ones = fit.root, 1 / fit.model.C, np.ones(fit.n)
    size = float((root * (abs(fit.K) @ root)).max()) + norm(root)
    for row, y in enumerate(fit.signs()):
        c, b = fit.row("dual_coef_", row), float(fit.model.intercept_[row])
        problem = Problem(LOSSES["squared_hinge"], y, ones, fit.weight / 2, s)
        image = fit.K @ c
        error = fit.spread * (abs(fit.K) @ np.abs(c) + abs(b) + 1.0)
        evidence = Evidence(problem.objective(c, image, image + b, error))
        pull = problem.w * problem.residual(c, image + b)
        gradient = np.append(fit.times(pull / root), float(np.sum(pull - s * c)))
        scale = 4 * s * norm(c / root) + 2 * norm(pull / root)
        slack = size * (fit.spread * scale + norm(root * error))
        evidence.residual = norm(gradient), slack
        start = np.append(fit.times(y * root), float(fit.weight @ y))
        evidence.residual_unit = norm(start)
        yield evidence


def judge_rows(model: Any, K: Any, codes: Array) -> Iterator[Evidence]:
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
        yield Evidence((value, slack), (gap, slack), unit=value)


# ------------------------------------------- conditionally positive definite kernels


def judge_cpd(fit: Fit) -> Iterator[Evidence]:
    """CPDSVC and CPDRegressor (Walder and Chapelle, 2007, eq. 14).

    The penalty is |h|^2 with f = H h + P p. For coefficients c of all items with P'c =
    0 the gap is the sum of Fenchel and Young, and half the squared distance of h from
    H'c: with a subset of basis points h is not of this form.
    """
    model, P, J = fit.model, fit.polynomials(), np.arange(fit.n)
    if model.n_basis is not None and model.n_basis < fit.n:
        J = np.flatnonzero(np.isin(fit.kept, model.support_))
    H, back, lowest = _features(fit.dense(), P, J)
    name, target = getattr(model, "loss", "squared"), fit.y.astype(float)
    if hasattr(model, "classes_"):
        target = np.full(fit.n, 0.0 if name == "logistic" else 1.0)
    for row, y in enumerate(fit.signs()):
        problem = Problem(LOSSES[name], y, target, fit.weight, 2 * float(fit["alpha"]))
        c = fit.row("dual_coef_", row)
        evidence = _cpd_evidence(fit, row, problem, P, (H, back @ c[J]))
        evidence.faults += faults_of(
            (not np.any(np.delete(c, J)), "coefficients outside the basis points"),
            (lowest >= 0.0, f"the kernel is not c.p.d. for P: eigenvalue {lowest:.3g}"),
        )
        if lowest < 0.0:
            evidence.gap, evidence.residual = None, (np.inf, 0.0)
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
    fit: Fit, row: int, problem: Problem, P: Array, features: tuple[Array, Array]
) -> Evidence:
    model, w, phi = fit.model, fit.weight, fit.dense()
    c, p, b = fit.row("dual_coef_", row), model.poly_coef_[row], model.intercept_[row]
    image, constant = phi @ c, P[:, : p.size] @ p
    error = fit.spread * (np.abs(phi) @ np.abs(c) + np.abs(constant))
    error, f = error + fit.asymmetry * float(np.abs(c).sum()), image + constant + b
    value, slack = problem.objective(c, image, f, error)
    zero = float(w @ problem.loss.value(problem.target))
    slack = 2 * slack + fit.spread * value + 2 * _FLOOR * zero
    free = getattr(model, "polynomial_", model.polynomial) == "free"
    gap = min(value, _cpd_gap(problem, f, P if free else P[:, :0], *features))
    noise = 16 * fit.spread * w * (np.abs(problem.target) + np.abs(f)) / problem.s
    excess = np.abs(P.T @ c) - np.abs(P).T @ (1e-8 * np.abs(c) + noise)
    evidence = Evidence((value, slack), (gap, slack), unit=max(value, 1e-8 * zero))
    evidence.faults += faults_of(
        (np.all(excess <= 0.0), "P'a = 0 is violated"),
        (b == 0.0, "intercept_ is not zero: poly_coef_ has the constant"),
        (free or not np.any(p), "poly_coef_ is not zero with polynomial='zero'"),
    )
    return evidence


def _cpd_gap(problem: Problem, f: Array, P: Array, H: Array, h: Array) -> float:
    """The gap at the best c if the loss were a parabola, moved to where P'c = 0."""
    (low, high), y, w, s = problem.loss.ends, problem.y, problem.w, problem.s
    slope = problem.loss.slope(problem.short(f))
    bend = np.maximum(slope * (1 - slope), 1e-200) if high == 1.0 else 2.0
    unit, half = np.sqrt(2 * w * bend) / s, np.sqrt(s / 2)
    system = np.vstack([half * H.T * unit, np.eye(w.size)])
    right = np.append(half * h, np.sqrt(w / (2 * bend)) * y * slope)
    q = y * s / w * unit * np.linalg.lstsq(system, right, rcond=None)[0]
    for _ in range(4):
        q = np.clip(q, low, high)
        c = y * w * q / s
        excess = P.T @ c
        if np.all(np.abs(excess) <= 1e-12 * (np.abs(P).T @ np.abs(c)) + 1e-300):
            return problem.gap(y * c, f, 0 * f)[0] + 0.5 * s * norm(h - H.T @ c) ** 2
        room = np.minimum(np.minimum(q - low, high - q), np.abs(q).max())
        inverse = np.linalg.pinv((P.T * (w * room)) @ P, hermitian=True)
        q = q - room * y * (P @ (inverse @ (s * excess)))
    return np.inf


Judge = Callable[[Fit], Iterator[Evidence]]
# By name, not by class: the referee shares no code with what it judges.
JUDGES: dict[str, Judge] = {
    "CPDRegressor": judge_cpd, "CPDSVC": judge_cpd, "DCSVC": judge_dc,
    "KreinLogisticRegression": judge_logistic, "KreinRidge": judge_ridge,
    "KreinSVC": judge_svm, "MKLSVC": judge_mkl, "ProxySVC": judge_proxy,
    "SpectrumOneClassSVM": judge_svm, "SpectrumSVC": judge_svm,
    "SpectrumSVCCV": judge_svm, "SpectrumSVR": judge_svm, "SpectrumSVRCV": judge_svm,
}  # fmt: skip
