"""Duality gaps in 60 digits: what is true of a fitted model, beside what it claims.

Kernels and polynomials are computed here from the items, with their own formulas.
"""

import mpmath as mp
import numpy as np

DIGITS = 60


def matrix(array):
    """An array as a matrix of mpmath numbers, a vector as a column."""
    return mp.matrix(np.asarray(array, dtype=float).tolist())


def cpd_gap(model, X, y):
    """Gap of a CPDSVC with free polynomials and an odd exponent, over its objective.

    The dual point is that of the coefficients, moved to ``P'a = 0`` exactly.
    """
    with mp.workdps(DIGITS):
        placed = matrix(model.kernel_.place(np.asarray(X, dtype=float)))
        n, d = placed.rows, placed.cols
        sign = (-1) ** mp.ceil(mp.mpf(model.exponent) / 2)

        def phi(i, j):
            square = sum((placed[i, k] - placed[j, k]) ** 2 for k in range(d))
            return sign * mp.sqrt(square) ** int(model.exponent)

        Phi = mp.matrix(n, n)
        for i in range(n):
            for j in range(i):
                Phi[i, j] = Phi[j, i] = phi(i, j)
        P = matrix(model.kernel_.polynomials(np.asarray(X, dtype=float)))
        a, p = matrix(model.dual_coef_[0]), matrix(model.poly_coef_[0])
        signs = matrix(np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0))
        lam = mp.mpf(float(model.alpha))
        s = [i for i in range(n) if a[i] * signs[i] > 0]
        rows = mp.matrix([[P[i, k] for k in range(P.cols)] for i in s])
        excess = rows.T * mp.matrix([a[i] for i in s])
        share = rows * mp.lu_solve(rows.T * rows, excess)
        dual = mp.matrix(n, 1)
        for i, change in zip(s, share, strict=True):
            dual[i] = a[i] - change
        assert all(dual[i] * signs[i] >= 0 for i in range(n))
        f = Phi * a + P * p
        slack = [max(mp.mpf(0), 1 - signs[i] * f[i]) for i in range(n)]
        value = lam * (a.T * Phi * a)[0] + sum(x * x for x in slack)
        bound = 2 * lam * (signs.T * dual)[0] - lam * (dual.T * Phi * dual)[0]
        bound -= lam**2 * sum(x * x for x in dual)
        return float((value - bound) / value)
