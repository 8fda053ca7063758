"""nearest_psd: the nearest positive semidefinite matrix, with settled entries.

With ``G = W^1/2 (K - m I) W^1/2``, X in the same units, m the smallest eigenvalue that
is wanted (Higham, 2002; Qi and Sun, 2006, for the dual):

    minimise |X - G|_F^2 / 2   over X positive semidefinite, settled entries as they
    are.

For a symmetric Y that is zero but for the settled entries, and any positive
semidefinite N, the Lagrangian ``|X - G|^2 / 2 - <Y, X - X_settled> - <N, X>`` is
smallest at ``G + Y + N``, which puts a bound below the optimum. A feasible X is above
it by

    |X - (G + Y + N)|^2 / 2 + <X, N>.

N is the negative part of G + Y, which makes that least.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.linalg.blas import dnrm2 as norm  # it neither overflows nor underflows

from krein.referee.claims import Evidence, Measured, faults_of
from krein.referee.digits import EPS, Array

_EIGENVALUE = 1e-9  # share of the largest by which an eigenvalue may be below m


def judge_repaired(repaired: Any, K: Any) -> Iterator[tuple[Evidence, Any]]:
    """Recompute what a `Repaired` claims."""
    K = np.asarray(K, dtype=float)
    K = 0.5 * (K + K.T)
    X = np.asarray(repaired, dtype=float)
    n = len(K)
    weight = np.ones(n) if repaired.weight is None else repaired.weight
    outer = np.sqrt(np.outer(weight, weight))
    wanted = repaired.min_eigenvalue * np.eye(n)
    G = outer * (K - wanted)
    Z = outer * (X - wanted)
    Y = repaired.multipliers.toarray() / outer
    N = _negative_part(G + Y)
    distance = norm((Z - G).ravel())
    gap = 0.5 * float(np.sum((Z - (G + Y + N)) ** 2)) + float(np.sum(Z * N))
    size = norm(G.ravel()) + norm(Y.ravel()) + norm(Z.ravel())
    rounding = 10.0 * n * EPS * size
    slack = 20.0 * EPS * size * (norm(N.ravel()) + 2 * rounding)
    value = 0.5 * distance**2
    objective = Measured(value, distance * (2e-9 * distance + 2 * rounding))
    found = Measured(gap, slack, value)
    faults = _faults(repaired, K, X, Y)
    claim = SimpleNamespace(
        value=0.5 * repaired.distance**2,
        status=repaired.status,
        certificate=SimpleNamespace(kind="gap", value=repaired.duality_gap),
    )
    yield Evidence(objective, "gap", found, faults), claim


def _negative_part(A: Array) -> Array:
    values, vectors = np.linalg.eigh(A)
    B = vectors * np.sqrt(np.maximum(-values, 0.0))
    return B @ B.T


def _faults(repaired: Any, K: Array, X: Array, Y: Array) -> list[str]:
    """Check that X is feasible, and Y zero where nothing is settled."""
    n = len(K)
    diagonal = np.eye(n, dtype=bool)
    settled = diagonal & (repaired.diagonal != "free")
    if repaired.fixed is not None:
        settled = settled | repaired.fixed
    goal = K
    if repaired.diagonal == "unit":
        goal = np.where(diagonal, 1.0, K)
    kept = np.array_equal(X, X.T) and np.array_equal(X[settled], goal[settled])
    values = np.linalg.eigvalsh(X)
    least = repaired.min_eigenvalue
    rounding = _EIGENVALUE * np.abs(values).max() + 10.0 * n * EPS * np.abs(K).max()
    return faults_of(
        (not np.any(Y[~settled]), "a multiplier stands where no entry is settled"),
        (kept, "the matrix is asymmetric, or a settled entry has another value"),
        (values[0] >= least - rounding,
         f"an eigenvalue is {values[0]:.3g}, not {least:g}"),
    )  # fmt: skip
