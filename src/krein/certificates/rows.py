"""Linear SVM on rows of length 1: both objectives from their definitions.

Primal ``(|w|^2 + b^2) / 2 + C sum l_i^2`` with ``l_i = max(0, 1 - y_i (w'x_i + b))``;
dual ``sum a_i - (|sum a_i y_i x_i|^2 + (sum a_i y_i)^2) / 2 - sum a_i^2 / (4 C)`` over
``a >= 0``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from krein.certificates.data import Given, labels_of, one_against_rest
from krein.certificates.report import EPS, Claim, Evidence, Verdict, judge

__all__ = ["check_rows", "claims_of_rows"]


def claims_of_rows(model: Any) -> list[Claim]:
    """Claims of a `HitClassifier` with its own linear SVM, whose tol is LIBLINEAR's."""
    pairs = zip(model.duality_gap_, model.objective_, strict=True)
    return [Claim("gap", float(g), float(v), "stopped", 0.0) for g, v in pairs]


def check_rows(given: Given, claims: list[Claim]) -> list[Verdict]:
    """Judge every row; `given.X` is the sparse similarity of the training items."""
    model, K = given.model, given.X
    norms = np.sqrt(np.asarray(K.multiply(K).sum(axis=1)).ravel())
    norms[norms == 0.0] = 1.0
    svm = model.estimator_[-1]
    codes = labels_of(model, np.asarray(given.y))
    signs = one_against_rest(codes, len(model.classes_))
    rows = zip(claims, signs, svm.coef_, svm.intercept_, strict=True)
    return [judge(claim, _found(K, norms, y, w, b, svm.C)) for claim, y, w, b in rows]


def _found(
    K: Any, norms: np.ndarray, y: np.ndarray, w: np.ndarray, b: float, C: float
) -> Evidence:
    loss = np.clip(1.0 - y * ((K @ w) / norms + b), 0.0, None)
    a = 2.0 * C * loss
    v = K.T @ (a * y / norms)
    primal = (w @ w + b * b) / 2.0 + C * np.sum(loss**2)
    dual = a.sum() - (v @ v + np.sum(a * y) ** 2) / 2.0 - np.sum(a**2) / (4.0 * C)
    slack = 8.0 * EPS * np.sqrt(y.size) * float(primal + a.sum() + v @ v)
    return Evidence(float(primal), slack, float(primal - dual), slack, unit=primal)
