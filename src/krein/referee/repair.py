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

from krein.referee.problem import EPS, Evidence, faults_of
from krein.referee.report import CertificateReport, report_on


def check_repaired(K: Any, repaired: Any) -> CertificateReport:
    """Recompute what a `Repaired` claims: feasibility, distance and gap."""
    K, X = np.asarray(K, dtype=float), np.asarray(repaired, dtype=float)
    K, n, least = 0.5 * (K + K.T), K.shape[0], repaired.min_eigenvalue
    root = np.ones(n) if repaired.weight is None else np.sqrt(repaired.weight)
    outer, identity = np.outer(root, root), np.eye(n)
    settled = np.zeros(K.shape, bool) if repaired.fixed is None else repaired.fixed
    settled = settled | (identity > 0) & (repaired.diagonal != "free")
    goal = np.where((identity > 0) & (repaired.diagonal == "unit"), 1.0, K)
    G, Z = outer * (K - least * identity), outer * (X - least * identity)
    Y = repaired.multipliers.toarray() / outer
    value = 0.5 * float(np.sum((Z - G) ** 2))
    w, V = np.linalg.eigh(G + Y)
    B = V * np.sqrt(np.maximum(-w, 0.0))
    N = B @ B.T
    gap = 0.5 * float(np.sum((Z - (G + Y + N)) ** 2)) + float(np.sum(Z * N))
    size = float(np.linalg.norm(G) + np.linalg.norm(Y) + np.linalg.norm(Z))
    slack = 20.0 * EPS * size * (float(np.linalg.norm(N)) + 20.0 * n * EPS * size)
    w, rounding = np.linalg.eigvalsh(X), 10.0 * n * EPS * float(np.abs(K).max())
    semidefinite = w[0] >= least - 1e-9 * np.abs(w).max() - rounding
    distance, claimed = float(np.sqrt(2.0 * value)), repaired.distance
    near = abs(claimed - distance) <= 1e-9 * distance + 10.0 * n * EPS * size
    kept = np.array_equal(X, X.T) and np.array_equal(X[settled], goal[settled])
    faults = faults_of(
        (not np.any(Y[~settled]), "a multiplier stands where no entry is settled"),
        (kept, "the matrix is asymmetric, or a settled entry has another value"),
        (semidefinite, f"the smallest eigenvalue is {w[0]:.3g}, not {least:g}"),
        (near, f"distance {claimed:.9g}, recomputed {distance:.9g}"),
    )
    evidence = Evidence((value, 0.0), (gap, slack), unit=value, faults=faults)
    gap, status = float(repaired.duality_gap), repaired.status
    claim = "gap", gap, value, status, repaired.tol
    return report_on("Repaired", [evidence], [claim], [])
