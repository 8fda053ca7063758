"""The master problem of SIQCLP by a general conic solver, as the papers solved it.

They used Mosek; Clarabel stands for it. krein's own interior-point method
(``master="exact"``) is about a hundred times faster and more accurate, so this one is
for comparing times only.
"""

from __future__ import annotations

import time

import clarabel
import numpy as np
import scipy.sparse

from krein.arrays import Array
from krein.machines.mkl import MKLWeights
from krein.published.semi_infinite import Master

__all__ = ["OutOfTimeError", "conic_master", "conic_master_for"]

_TOL = 1e-10


class OutOfTimeError(Exception):
    """A run was cut short after so many `steps`."""

    def __init__(self, steps: int) -> None:
        super().__init__(f"cut short after {steps} steps")
        self.steps = steps


def conic_master_for(seconds: float) -> Master:
    """`conic_master` that raises `OutOfTimeError` so many processor seconds from now.

    It looks at the clock before every step, so that a run takes longer by a part of
    one step.
    """
    end, steps = time.process_time() + seconds, 0

    def master(problem: MKLWeights) -> tuple[Array, Array]:
        nonlocal steps
        if time.process_time() > end:
            raise OutOfTimeError(steps)
        steps += 1
        return conic_master(problem)

    return master


def conic_master(problem: MKLWeights) -> tuple[Array, Array]:
    """Maximise t over a in Q1 with ``t <= e'a - a'YK_iYa / 2 + c_i``, by Clarabel.

    With K_i = B_i B_i' each constraint is ``||B_i'Ya||^2 <= 2 s_i``, the cone
    ``||(sqrt(2) B_i'Ya, s_i - 1)|| <= s_i + 1`` with s_i = e'a + c_i - t.

    Parameters
    ----------
    problem : MKLWeights
        Kernels K_i, costs c_i and the set Q1.

    Returns
    -------
    alpha : ndarray of shape (n,)
        a.
    weights : ndarray of shape (n_kernels,)
        Multipliers of the constraints, on the simplex.
        Where the interior-point method did not reach its tolerance, both are what it
        had: any point and any weights give valid bounds.
    """
    domain, n = problem.domain, problem.domain.n
    no_t = np.zeros((n, 1))
    blocks = [
        np.append(domain.y, 0.0)[None],
        np.hstack([-np.eye(n), no_t]),
        np.hstack([np.eye(n), no_t]),
    ]
    right = [np.zeros(1), np.zeros(n), domain.upper]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
    for K, c in zip(problem.kernels, problem.costs, strict=True):
        block = _cone(K, domain.y)
        blocks.append(block)
        right.append(np.concatenate([[c + 1.0], np.zeros(len(block) - 2), [c - 1.0]]))
        cones.append(clarabel.SecondOrderConeT(len(block)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TOL
    solution = clarabel.DefaultSolver(
        scipy.sparse.csc_matrix((n + 1, n + 1)),
        np.append(np.zeros(n), -1.0),
        scipy.sparse.csc_matrix(np.vstack(blocks)),
        np.concatenate(right),
        cones,
        settings,
    ).solve()
    x, z = np.nan_to_num(solution.x), np.nan_to_num(solution.z)
    first = np.cumsum([2 * n + 1, *(len(block) for block in blocks[3:])])
    weights = np.maximum(z[first[:-1]] + z[first[1:] - 1], 1e-300)
    return x[:n], weights / weights.sum()


def _cone(K: Array, y: Array) -> Array:
    """Rows of one kernel's cone in the variables (a, t)."""
    values, U = np.linalg.eigh(K)
    kept = values > 1e-12 * max(float(values[-1]), 1e-300)
    B = (U[:, kept] * np.sqrt(2.0 * values[kept])).T * y
    s = np.append(np.ones(y.size), -1.0)[None]
    return -np.vstack([s, np.hstack([B, np.zeros((B.shape[0], 1))]), s])
