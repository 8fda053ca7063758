"""Duality gaps in 60 digits: what is true of a fitted model, beside what it claims.

Kernels and polynomials are computed here from the items, with their own formulas.
"""

import mpmath as mp
import numpy as np

DIGITS = 60


def matrix(array):
    """An array as a matrix of mpmath numbers, a vector as a column."""
    return mp.matrix(np.asarray(array, dtype=float).tolist())


def treated(K, target):
    """The matrix with eigenvalues ``target(l)``, found in 60 digits."""
    with mp.workdps(DIGITS):
        values, vectors = mp.eigsy(matrix(K))
        return vectors * mp.diag([target(value) for value in values]) * vectors.T


def clipped(K):
    """The clipped kernel in 60 digits."""
    return treated(K, lambda value: max(value, mp.mpf(0)))


def svc_gap(K, y, upper, a):
    """Gap of a classifier with variables a, at the best intercept."""
    with mp.workdps(DIGITS):
        v, y, upper = matrix(y * a), matrix(y), matrix(upper)
        f, n = K * v, len(a)
        best = min(
            sum(upper[i] * max(mp.mpf(0), 1 - y[i] * (f[i] + b)) for i in range(n))
            for b in [y[i] - f[i] for i in range(n)]
        )
        return float(best + (v.T * f)[0] - mp.fsum(matrix(a)))


def svr_gap(K, t, upper, epsilon, v):
    """Gap of a regression with coefficients v, at the best intercept."""
    with mp.workdps(DIGITS):
        v, t, upper, width = matrix(v), matrix(t), matrix(upper), mp.mpf(epsilon)
        f, n = K * v, v.rows
        at = [t[i] - f[i] + side * width for i in range(n) for side in (-1, 1)]
        best = min(
            sum(
                upper[i] * max(mp.mpf(0), abs(t[i] - f[i] - b) - width)
                for i in range(n)
            )
            for b in at
        )
        costs = (t.T * v)[0] - width * sum(abs(x) for x in v)
        return float(best + (v.T * f)[0] - costs)


def one_class_gap(K, upper, nu, a):
    """Gap of a one-class machine, times the number of items, at the best offset."""
    with mp.workdps(DIGITS):
        a, upper = matrix(a), matrix(upper)
        f, n = K * a, a.rows
        best = min(
            sum(upper[i] * max(mp.mpf(0), rho - f[i]) for i in range(n))
            - rho * mp.mpf(nu) * mp.fsum(upper)
            for rho in f
        )
        return float(best + (a.T * f)[0])


def ridge_gap(K, y, alpha, v, b):
    """Gap of a ridge regression by Fenchel and Young; u is v less its mean."""
    with mp.workdps(DIGITS):
        v, y, alpha = matrix(v), matrix(y), mp.mpf(alpha)
        f, n, mean = K * v, v.rows, mp.fsum(v) / v.rows
        ones = mp.ones(n, 1)
        off = [y[i] - f[i] - mp.mpf(b) - alpha * (v[i] - mean) for i in range(n)]
        return float(sum(x * x for x in off) + alpha * mean**2 * (ones.T * K * ones)[0])


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
