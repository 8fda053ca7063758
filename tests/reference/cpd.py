"""The c.p.d. SVM as a plain quadratic programme, solved by Clarabel."""

import clarabel
import numpy as np
import scipy.linalg
import scipy.sparse as sp


def squared_hinge_optimum(Phi, P, y, lam, *, free, weight=None):
    """Optimum of lam a'Phi a + sum w max(0, 1 - y f)^2 over f = Phi a (+ P b), P'a = 0.

    Variables (g, b, xi) with a = Z g, Z a basis of the null space of P'.
    """
    n, p = P.shape
    weight = np.ones(n) if weight is None else weight
    Z = scipy.linalg.null_space(P.T) if p else np.eye(n)
    A = Z.T @ Phi @ Z
    values, vectors = np.linalg.eigh(0.5 * (A + A.T))
    # The root of A as variable: g = V D^-1/2 h makes the quadratic part the identity.
    keep = values > 1e-13 * max(values.max(), 1e-300)
    F = Phi @ Z @ (vectors[:, keep] / np.sqrt(values[keep]))
    q = F.shape[1]
    linear = np.hstack([F, P]) if free else F
    m = linear.shape[1]
    H = sp.diags(np.concatenate([np.full(q, 2 * lam), np.zeros(m - q), 2 * weight]))
    rows = sp.csc_matrix(
        np.block(
            [
                [-(y[:, None] * linear), -np.eye(n)],
                [np.zeros((n, m)), -np.eye(n)],
            ]
        )
    )
    bound = np.concatenate([-np.ones(n), np.zeros(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solution = clarabel.DefaultSolver(
        H.tocsc(),
        np.zeros(m + n),
        rows,
        bound,
        [clarabel.NonnegativeConeT(2 * n)],
        settings,
    ).solve()
    return solution.obj_val, str(solution.status)
