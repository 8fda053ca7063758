"""Kernel logistic regression: stationarity in the Krein space of the kernel.

Solutions of ``A = c W (T - P(KA + 1b'))`` with c = 1 / (N alpha), N = sum w, and
``1'A = 0`` where there is an intercept; unique if ``|mu_min(W^1/2 K W^1/2)|`` is below
4 N alpha (two classes) or 2 N alpha (softmax).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from krein.certificates.data import Data, Given, one_against_rest, read
from krein.certificates.report import EPS, Claim, Evidence, Verdict, judge
from krein.certificates.spectral import Fix, fix_of

Array = np.ndarray

__all__ = ["check_logistic"]


def check_logistic(given: Given, claims: list[Claim]) -> list[Verdict]:
    """KreinLogisticRegression, one joint problem or one per row."""
    model, data = given.model, read(given)
    fix = fix_of(data, "flip" if model.flipped_ else "none")
    K = fix.trained().K
    faults = _uniqueness(model, data, fix)
    results = model.result_ if isinstance(model.result_, list) else [model.result_]
    A = np.column_stack([result.x for result in results])
    b = np.asarray(model.intercept_, dtype=float)
    for row in range(A.shape[1]):
        c = model.dual_coef_[row, data.kept]
        faults += fix.map_fault(c, A[:, row])
    n_classes = len(model.classes_)
    if model.multi_class == "multinomial" and n_classes > 2:
        T = np.eye(n_classes)[data.y]
        problems = [(slice(0, n_classes), T)]
    else:
        signs = one_against_rest(data.y, n_classes)
        problems = [
            (slice(i, i + 1), (s > 0)[:, None].astype(float))
            for i, s in enumerate(signs)
        ]
    verdicts: list[Verdict] = []
    for part, T in problems:
        found = _evidence(model, data, K, A[:, part], b[part], T)
        found.faults += faults
        verdicts += [judge(claims[row], found) for row in range(part.start, part.stop)]
    return verdicts


def _evidence(
    model: Any, data: Data, K: Array, A: Array, b: Array, T: Array
) -> Evidence:
    w = data.weight[:, None]
    total = float(w.sum())
    image = K @ A
    F = image + b
    scores, losses = _scores(F, T), _losses(F, T)
    spread = 8 * (data.n + 8) * EPS
    error = spread * float((np.abs(K) @ np.abs(A)).max()) + spread * float(
        np.abs(F).max() + 1.0
    )
    error += data.asymmetry * float(np.abs(A).sum(axis=0).max())
    scaled = A * (total * model.alpha_used_) / w
    residual = float(np.abs(scaled - scores).max())
    if model.fit_intercept:
        residual = max(residual, float(np.abs(A.sum(axis=0)).max()))
    energy = 0.5 * model.alpha_used_ * float(np.sum(A * image))
    size = 0.5 * model.alpha_used_ * float(np.abs(A).sum())
    return Evidence(
        objective=float(w[:, 0] @ losses) / total + energy,
        objective_slack=(1.0 + size) * error,
        residual=residual,
        residual_slack=error + spread * float(np.abs(A).sum()),
    )


def _scores(F: Array, T: Array) -> Array:
    """T - P(F), without cancellation for two classes."""
    if F.shape[1] > 1:
        e = np.exp(F - F.max(axis=1, keepdims=True))
        return T - e / e.sum(axis=1, keepdims=True)
    sign = 2.0 * T - 1.0
    margin = sign * F
    e = np.exp(-np.abs(margin))
    return sign * np.where(margin > 0, e / (1.0 + e), 1.0 / (1.0 + e))


def _losses(F: Array, T: Array) -> Array:
    if F.shape[1] == 1:
        return np.logaddexp(0.0, (1.0 - 2.0 * T) * F)[:, 0]
    top = F.max(axis=1)
    return top + np.log(np.exp(F - top[:, None]).sum(axis=1)) - np.sum(T * F, axis=1)


def _uniqueness(model: Any, data: Data, fix: Fix) -> list[str]:
    """Check alpha_used_, ratio_ and unique_ against the spectrum."""
    columns = (
        2.0 if model.multi_class == "multinomial" and len(model.classes_) > 2 else 4.0
    )
    smallest = max(0.0, -float(fix.eigenvalues.min(initial=0.0)))
    asked = float(getattr(model, "best_alpha_", getattr(model, "alpha", np.nan)))
    threshold = columns * float(data.weight.sum()) * model.alpha_used_
    ratio = smallest / threshold
    noise = 8 * data.n * EPS * float(np.abs(fix.eigenvalues).max()) / threshold
    faults = []
    if not np.allclose(model.ratio_, ratio, rtol=2e-2, atol=1e-2 + noise):
        faults.append(f"ratio_ says {model.ratio_[0]:.4g}, recomputed {ratio:.4g}")
    if model.unique_ and not model.flipped_ and ratio >= 1.0 + 1e-2 + noise:
        faults.append(f"unique_ is claimed at ratio {ratio:.4g}")
    if model.alpha_used_ < asked * (1 - 1e-12):
        faults.append(f"alpha_used_ {model.alpha_used_:g} is below alpha {asked:g}")
    if model.alpha_used_ > asked * (1 + 1e-12) and model.indefinite != "raise-alpha":
        faults.append(f"alpha was raised with indefinite={model.indefinite!r}")
    return faults
