"""Order of conditional positive definiteness, tried on polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from krein.arrays import Array
from krein.diagnostics.spectrum_facts import SpectrumFacts

__all__ = ["cpd_order"]


def cpd_order(K: Array, facts: SpectrumFacts, X: Any = None) -> int | None:
    """Smallest order m <= 3 at which K is PSD beside polynomials of degree m - 1.

    Order 1 needs constants only; orders 2 and 3 need coordinates X for the linear and
    the quadratic polynomials.
    """
    if facts.signature[1] == 0:
        return 0
    if not facts.exact:
        return None
    for order, P in enumerate(_polynomials(K.shape[0], X), start=1):
        Q = np.linalg.qr(P)[0]
        KQ = K @ Q
        projected = K - KQ @ Q.T - Q @ (KQ.T - (Q.T @ KQ) @ Q.T)
        values = np.linalg.eigvalsh(0.5 * (projected + projected.T))
        if values[0] >= -K.shape[0] * 1e-15 * float(np.abs(facts.eigenvalues).max()):
            return order
    return None


def _polynomials(n: int, X: Any) -> list[Array]:
    """Columns of degree 0, then up to 1, then up to 2, where X is given."""
    ones = np.ones((n, 1))
    if X is None:
        return [ones]
    X = check_array(X, dtype=np.float64, input_name="X")
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + np.finfo(float).tiny)
    i, j = np.triu_indices(X.shape[1])
    spaces = [ones, np.hstack([ones, X]), np.hstack([ones, X, X[:, i] * X[:, j]])]
    return [P for P in spaces if P.shape[1] < n]
