"""The referee of `krein.nearest_psd`, from the definitions.

With G = W^1/2 (K - m I) W^1/2, X in the same units, a symmetric Y that is zero but for
the settled entries, and any positive semidefinite N, the Lagrangian of

    minimise ||X - G||^2 / 2,   X positive semidefinite, settled entries as they must be

is smallest at G + Y + N, which puts a bound below the optimum; a feasible X is above it
by ``||X - (G + Y + N)||^2 / 2 + <X, N>``. N is the negative part of G + Y here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from krein.referee.fit import EPS
from krein.referee.report import CertificateReport, Evidence, claim_of, judge, summarise


def repaired_certificate(K: Any, repaired: Any) -> CertificateReport:
    """Recompute what a `Repaired` claims: feasibility, distance and gap."""
    K, X = np.asarray(K, dtype=float), np.asarray(repaired, dtype=float)
    K = 0.5 * (K + K.T)
    n, least = K.shape[0], repaired.min_eigenvalue
    root = np.ones(n) if repaired.weight is None else np.sqrt(repaired.weight)
    outer = np.outer(root, root)
    settled, goal = _settled(K, repaired)
    G = outer * (K - least * np.eye(n))
    Y = repaired.multipliers.toarray() / outer
    faults: list[str] = []
    if np.any(Y[~settled]):
        faults.append("a multiplier stands where no entry is settled")
    if not np.array_equal(X, X.T) or np.any(X[settled] != goal[settled]):
        faults.append("the matrix is asymmetric, or a settled entry has another value")
    w, rounding = np.linalg.eigvalsh(X), 10.0 * n * EPS * float(np.abs(K).max())
    if w[0] < least - 1e-9 * np.abs(w).max() - rounding:
        faults.append(f"the smallest eigenvalue is {w[0]:.3g}, not {least:g}")
    value = 0.5 * float(np.sum((outer * (X - K)) ** 2))
    w, V = np.linalg.eigh(G + Y)
    B = V * np.sqrt(np.maximum(-w, 0.0))
    N, Z = B @ B.T, outer * (X - least * np.eye(n))
    gap = 0.5 * float(np.sum((Z - (G + Y + N)) ** 2)) + float(np.sum(Z * N))
    size = float(np.linalg.norm(G) + np.linalg.norm(Y) + np.linalg.norm(Z))
    slack = 20.0 * EPS * size * (float(np.linalg.norm(N)) + 20.0 * n * EPS * size)
    known = float(np.sqrt(2.0 * value))
    if abs(repaired.distance - known) > 1e-9 * known + 10.0 * n * EPS * size:
        faults.append(f"distance {repaired.distance:.9g}, recomputed {known:.9g}")
    found = Evidence((value, 0.0), (gap, slack), unit=value, faults=faults)
    result = claim_of(float(repaired.duality_gap), value, repaired.status)
    return summarise("Repaired", [judge(found, result, repaired.tol)])


def _settled(K: np.ndarray, repaired: Any) -> tuple[np.ndarray, np.ndarray]:
    """Which entries are settled, and a matrix that has their values there."""
    settled, goal = np.zeros(K.shape, dtype=bool), K.copy()
    if repaired.fixed is not None:
        settled |= repaired.fixed
    if repaired.diagonal != "free":
        np.fill_diagonal(settled, True)
    if repaired.diagonal == "unit":
        np.fill_diagonal(goal, 1.0)
    return settled, goal
