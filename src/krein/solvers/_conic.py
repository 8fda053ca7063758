"""The restricted master problem of SIQCLP for an interior-point method (Clarabel)."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from krein.arrays import Array
from krein.optional import import_optional
from krein.problems.mkl import MKLWeights

__all__ = ["restricted_master"]


def restricted_master(problem: MKLWeights) -> tuple[Array, float]:
    """Maximise t over a in Q with ``t <= e'a - a'YK_iYa / 2 + c_i`` for every kernel.

    With K_i = B_i B_i' each constraint is ``||B_i'Ya||^2 <= 2 s_i``, the cone
    ``||(sqrt(2) B_i'Ya, s_i - 1)|| <= s_i + 1`` with s_i = e'a + c_i - t.

    Returns
    -------
    ndarray of shape (n,)
        a.
    float
        t, raised by the solver's tolerance to stay an upper bound.
    """
    clarabel = import_optional(
        "clarabel", extra="conic", needed_for="master='clarabel'"
    )
    domain = problem.domain
    n = domain.n
    ones = np.ones((1, n))
    blocks = [
        np.hstack([domain.y[None], [[0.0]]]),
        np.hstack([-np.eye(n), np.zeros((n, 1))]),
        np.hstack([np.eye(n), np.zeros((n, 1))]),
    ]
    right = [np.zeros(1), np.zeros(n), domain.upper]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
    for K, c in zip(problem.kernels, problem.costs, strict=True):
        values, U = np.linalg.eigh(K)
        kept = values > 1e-12 * max(float(values[-1]), 1e-300)
        B = (U[:, kept] * np.sqrt(2.0 * values[kept])).T * domain.y
        s = np.hstack([ones, [[-1.0]]])
        blocks.append(-np.vstack([s, np.hstack([B, np.zeros((B.shape[0], 1))]), s]))
        right.append(np.concatenate([[c + 1.0], np.zeros(B.shape[0]), [c - 1.0]]))
        cones.append(clarabel.SecondOrderConeT(B.shape[0] + 2))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        scipy.sparse.csc_matrix((n + 1, n + 1)),
        np.append(np.zeros(n), -1.0),
        scipy.sparse.csc_matrix(np.vstack(blocks)),
        np.concatenate(right),
        cones,
        settings,
    ).solve()
    if str(solution.status) not in ("Solved", "AlmostSolved"):
        raise RuntimeError(f"Clarabel ended with status {solution.status}")
    x = np.asarray(solution.x)
    # The dual objective bounds the optimum from above.
    return x[:n], max(-float(solution.obj_val_dual), float(x[n]))
