"""The SVM with a learned proxy kernel (Luss and d'Aspremont, 2007).

``f(a) = e'a - rho (||A_+||^2 - ||K0||^2)`` with ``A = W^1/2 K0 W^1/2 + uu'/(4 rho)``,
``u = W^-1/2 (y * a)``; concave, with gradient ``e - y * W^-1/2 A_+ u``. Every solution
has ``||u|| <= r`` with ``r^3/(4 rho) = sqrt(sum w) + |l_min| r``, so bounds beyond
``r sqrt(w_i)`` can be cut: the gap over what is left is a bound of the whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from krein.certificates.data import Data, Given, one_against_rest, read
from krein.certificates.report import EPS, Claim, Evidence, Verdict, judge, norm
from krein.certificates.spectral import Fix, fix_of
from krein.certificates.svm import feasibility, intercept_fault, linear_maximum

Array = np.ndarray

__all__ = ["check_proxy"]

# What eigenpairs found by Lanczos' method may be off by; no gap depends on them.
LANCZOS = 1e-8


def check_proxy(given: Given, claims: list[Claim]) -> list[Verdict]:
    """ProxySVC."""
    model, data = given.model, read(given)
    whole = fix_of(data, "clip")
    raw = seen = _weighted(whole, data.K)
    clip, unseen = whole, 0.0
    faults: list[str] = []
    notes: list[str] = []
    if _truncated(model, data.n):
        clip, seen, faults = _known(whole, raw, model)
        unseen = _negative(whole.eigenvalues) - _negative(clip.eigenvalues)
        notes = [
            "gaps are those of the whole matrix, maps and f(0) those of the "
            f"{clip.f.size} leading eigenpairs"
        ]
    upper = model.C * data.weight
    verdicts = []
    for row, y in enumerate(one_against_rest(data.y, len(model.classes_))):
        a = model.alpha_[row, data.kept]
        A = _A(raw, whole, y * a, model.rho)
        found = _evidence(whole, A, y, a, upper, float(model.rho))
        if notes:
            found.notes += notes
            found.objective -= model.rho * unseen
            found.objective_slack += claims[row].certificate  # it is a lower bound
            A = _A(seen, whole, y * a, model.rho)
        found.faults += faults + feasibility(a, y, upper)
        found.faults += _coefficients(model, clip, A, row, y, a)
        verdicts.append(judge(claims[row], found))
    return verdicts


def _negative(values: Array) -> float:
    return float(np.sum(np.minimum(values, 0.0) ** 2))


def _weighted(fix: Fix, K: Array) -> Array:
    return fix.root[:, None] * K * fix.root


def _known(whole: Fix, raw: Array, model: Any) -> tuple[Fix, Array, list[str]]:
    """The fix on the eigenpairs that the model knows, their matrix, and what is wrong.

    Among equal eigenvalues any may be known; that they are eigenpairs is checked, and
    that the coefficients of "clip" lie in their span.
    """
    d, U = model.spectrum_.eigenvalues, model.spectrum_.eigenvectors
    size = float(np.abs(whole.eigenvalues).max(initial=0.0))
    off = norm((raw @ U - U * d).ravel()) / (size or 1.0)
    faults = []
    if max(off, norm((U.T @ U - np.eye(d.size)).ravel())) > LANCZOS:
        faults.append("spectrum_ does not hold eigenpairs")
    if model.new_points == "clip":
        c = (model.dual_coef_[:, whole.data.kept] / whole.root).T
        if norm((c - U @ (U.T @ c)).ravel()) > LANCZOS * norm(c.ravel()):
            faults.append("dual_coef_ is not in the span of the eigenpairs known")
    clip = Fix(
        whole.data, d, U, np.maximum(d, 0.0), np.where(d > whole.edge, 1.0, 0.0),
        edge=whole.edge,
    )  # fmt: skip
    return clip, (U * d) @ U.T, faults


def _truncated(model: Any, n: int) -> bool:
    return n > (model.solver_options or {}).get("max_exact", 8000)


def _A(raw: Array, clip: Fix, v: Array, rho: float) -> Fix:
    """Spectrum of A with its projection on the positive part."""
    u = v / clip.root
    d, U = np.linalg.eigh(raw + np.outer(u, u / (4 * rho)))
    edge = d.size * EPS * float(np.abs(d).max(initial=0.0))
    return Fix(
        clip.data, d, U, np.maximum(d, 0.0), np.where(d > edge, 1.0, 0.0), edge=edge
    )


def _evidence(
    clip: Fix, A: Fix, y: Array, a: Array, upper: Array, rho: float
) -> Evidence:
    n, root = a.size, clip.root
    u = y * a / root
    positive, before = A.f, clip.eigenvalues
    size = float(np.abs(A.eigenvalues).max(initial=0.0))
    spread = 8 * (n + 8) * EPS
    rise = float(a.sum()) - rho * _difference(positive, np.maximum(before, 0.0))
    constant = rho * _negative(before)
    outputs = (A.eigenvectors @ (positive * (A.eigenvectors.T @ u))) / root
    g = 1.0 - y * outputs
    error = spread * size * norm(u) / root + 4 * EPS * np.abs(g)
    reach = np.minimum(upper, _radius(clip, rho) * root)
    best, tau = linear_maximum(g, y, reach)
    moved = abs(tau * float(y @ a))
    return Evidence(
        objective=constant + rise,
        objective_slack=spread * (rho * size * float(np.abs(A.eigenvalues).sum())
        + rho * float(before @ before) + float(a.sum())),
        gap=max(0.0, best - float(g @ a)),
        gap_slack=2 * float((reach + a) @ error) + moved,
        unit=rise,
    )  # fmt: skip


def _difference(after: Array, before: Array) -> float:
    """||after||^2 - ||before||^2 by pairs, which cancel less (interlacing)."""
    return float(
        (np.sort(after) - np.sort(before)) @ (np.sort(after) + np.sort(before))
    )


def _radius(clip: Fix, rho: float) -> float:
    """Largest norm of W^-1/2 a at a solution, from above, by bisection."""
    total = float(np.sqrt(clip.data.weight.sum()))
    lowest = max(0.0, -float(clip.eigenvalues.min(initial=0.0)))

    def missing(r: float) -> float:
        return (r * r / (4 * rho) - lowest) * r - total

    high = 1.0
    while missing(high) < 0.0:
        high *= 2.0
    while missing(high / 2.0) > 0.0:
        high /= 2.0
    low = high / 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if missing(middle) < 0.0 else (low, middle)
    return high * (1 + 1e-8)


def _coefficients(
    model: Any, clip: Fix, A: Fix, row: int, y: Array, a: Array
) -> list[str]:
    """Check that the coefficients and the intercept follow from alpha by the rule."""
    data = clip.data
    c = model.dual_coef_[row, data.kept]
    outputs, spread = data.K @ c, 8 * (data.n + 8) * EPS
    error = spread * float((np.abs(data.K) @ np.abs(c)).max())
    if model.new_points == "clip":
        faults = clip.map_fault(c, y * a)
    elif model.new_points == "project":
        faults = A.map_fault(c, y * a)
    else:
        faults = [] if np.array_equal(c, y * a) else ["dual_coef_ is not y * alpha_"]
    if model.new_points == "luss":
        u = A.eigenvectors.T @ (y * a / clip.root)
        outputs = (A.eigenvectors @ (A.f * u)) / clip.root
        size = float(np.abs(A.eigenvalues).max(initial=0.0))
        error = float((spread * size * norm(u) / clip.root).max())
    return faults + _intercept(model, row, data, y, a, outputs, error)


def _intercept(
    model: Any, row: int, data: Data, y: Array, a: Array, outputs: Array, error: float
) -> list[str]:
    """The rule for new points is not the proxy itself: free outputs scatter."""
    upper = model.C * data.weight
    free = (a > 1e-7 * upper) & (a < upper * (1 - 1e-7))
    scatter = np.ptp((y - outputs)[free]) if free.any() else 0.0
    b = float(model.intercept_[row])
    return intercept_fault(b, a, y, upper, outputs, float(scatter) + error)
