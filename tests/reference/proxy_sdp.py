"""The proxy-kernel SVM as a semidefinite program, for a conic solver (n <= 25)."""

import warnings

import cvxpy as cp
import numpy as np


def proxy_svm_optimum(K0, y, C, rho, weight=None):
    """Optimal value of min over K >= 0 of SVM(K) + rho ||K - K0||^2, by Clarabel.

    SVM(K) by its own dual, as a Schur complement: ``SVM(K) = min t / 2 + C'd`` with
    ``[[YKY, u], [u', t]] >= 0``, ``u = e + s - d + b y``, ``s, d >= 0``.
    """
    n = len(y)
    weight = np.ones(n) if weight is None else weight
    root = np.sqrt(np.outer(weight, weight))
    M = cp.Variable((n + 1, n + 1), PSD=True)
    s, d, b = cp.Variable(n), cp.Variable(n), cp.Variable()
    K = cp.multiply(np.outer(y, y), M[:n, :n])
    distance = cp.sum_squares(cp.multiply(root, K - K0))
    cost = 0.5 * M[n, n] + (C * weight) @ d + rho * distance
    constraints = [s >= 0, d >= 0, M[:n, n] == 1 + s - d + b * y]
    problem = cp.Problem(cp.Minimize(cost), constraints)
    with warnings.catch_warnings():
        # Degenerate problems (K0 = 0) end as "almost solved", at 1e-5.
        warnings.simplefilter("ignore", UserWarning)
        problem.solve(solver=cp.CLARABEL)
    return float(problem.value)
