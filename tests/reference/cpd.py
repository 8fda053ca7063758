"""The c.p.d. SVM as a plain quadratic programme, solved by Clarabel."""

import clarabel
import numpy as np
import scipy.linalg
import scipy.sparse as sp


def _features(Phi, P, free):
    """``f = linear @ (h, b)`` with the penalty |h|^2, and the number of columns of h.

    a = Z g, Z a basis of the null space of P'; the root of ``A = Z'Phi Z`` as variable,
    g = V D^-1/2 h, makes the quadratic part the identity.
    """
    n, p = P.shape
    Z = scipy.linalg.null_space(P.T) if p else np.eye(n)
    A = Z.T @ Phi @ Z
    values, vectors = np.linalg.eigh(0.5 * (A + A.T))
    keep = values > 1e-13 * max(values.max(), 1e-300)
    F = Phi @ Z @ (vectors[:, keep] / np.sqrt(values[keep]))
    return np.hstack([F, P]) if free else F, F.shape[1]


def _solve(quadratic, rows, bound):
    """Minimum of sum quadratic_i x_i^2 / 2 subject to rows x <= bound, and status."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cones = [clarabel.NonnegativeConeT(len(bound))]
    solution = clarabel.DefaultSolver(
        sp.diags(quadratic).tocsc(),
        np.zeros(len(quadratic)),
        sp.csc_matrix(rows),
        bound,
        cones,
        settings,
    ).solve()
    return solution.obj_val, str(solution.status)


def squared_hinge_optimum(Phi, P, y, lam, *, free, weight=None):
    """Optimum of lam a'Phi a + sum w max(0, 1 - y f)^2 over f = Phi a (+ P b), P'a = 0.

    Variables (h, b, xi).
    """
    n = len(y)
    weight = np.ones(n) if weight is None else weight
    linear, q = _features(Phi, P, free)
    m = linear.shape[1]
    rows = [[-(y[:, None] * linear), -np.eye(n)], [np.zeros((n, m)), -np.eye(n)]]
    return _solve(
        np.concatenate([np.full(q, 2 * lam), np.zeros(m - q), 2 * weight]),
        np.block(rows),
        np.concatenate([-np.ones(n), np.zeros(n)]),
    )
