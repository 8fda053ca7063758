"""Indefinite logistic regression on signed features: systems of size r, not n.

With K = F diag(s) F' the matrix S = I + L'KL of the Newton step has the inverse
``I - L'F M^-1 F'L`` with ``M = diag(s) + F'LL'F`` (r x r, or rk x rk for k columns),
and S is positive definite exactly when M has as many positive eigenvalues as s has
(times k): the inertia of the bordered matrix counted both ways. A step costs O(n r^2)
and no more than a few columns of n numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.machines.logistic import Curvature, IndefiniteLogistic
from krein.similarity.matrix import FeatureKernel

_ROWS = 8192  # of features at a time, so that no second copy of F is made


def solve_by_features(
    problem: IndefiniteLogistic, curvature: Curvature, defect: Array
) -> tuple[Array, float] | None:
    """Newton step by the r x r system; None if S is not positive definite."""
    kernel: FeatureKernel = problem.K
    k = problem.n_columns
    values, E = scipy.linalg.eigh(_core(kernel, curvature), overwrite_a=True)
    if int(np.sum(values > 0)) != k * int(np.sum(kernel.signature > 0)):
        return None
    # A zero eigenvalue would make S singular; the count excludes it but for rounding.
    inverse = 1.0 / np.where(values == 0.0, np.inf, values)

    def solve(right: Array) -> Array:
        inner = kernel.features.T @ curvature.left(right)
        inner = E @ (inverse * (E.T @ inner.T.ravel()))
        return right - curvature.right(kernel.features @ inner.reshape(k, -1).T)

    right = curvature.right(defect)
    U = solve(-right)
    if problem.fit_intercept:
        U = _balance(U, solve, curvature)
    return -defect - kernel @ curvature.left(U), -float(np.sum(right * U))


def _core(kernel: FeatureKernel, curvature: Curvature) -> Array:
    """M = diag(signature) + F'LL'F, class by class, in blocks of rows."""
    F, P = kernel.features, curvature.P
    k, r = P.shape[1], F.shape[1]
    scale = curvature.scale[:, 0] ** 2
    M = np.zeros((k, r, k, r))
    for first in range(0, F.shape[0], _ROWS):
        rows = slice(first, first + _ROWS)
        block, w = F[rows], scale[rows]
        for c in range(k):
            for d in range(c, k):
                bend = w * P[rows, c] * (float(c == d) - P[rows, d])
                if c == d:
                    scaled = np.sqrt(bend)[:, None] * block
                    M[c, :, c] += scaled.T @ scaled
                else:
                    M[c, :, d] += block.T @ (bend[:, None] * block)
    for c in range(k):
        M[c, np.arange(r), c, np.arange(r)] += kernel.signature
        for d in range(c):
            M[c, :, d] = M[d, :, c].T
    return M.reshape(k * r, k * r)


def _balance(U: Array, solve: Callable[[Array], Array], curvature: Curvature) -> Array:
    """Move U within S^-1 span(L'1) so that it is orthogonal to L'1."""
    n, k = U.shape
    ones = np.ones((n, 1))
    borders = [curvature.right(ones * row) for row in np.eye(k)]
    solved = [solve(border) for border in borders]
    matrix = np.array([[np.sum(b * x) for x in solved] for b in borders])
    excess = np.array([np.sum(b * U) for b in borders])
    amounts = np.linalg.lstsq(matrix, excess, rcond=1e-13)[0]
    for amount, x in zip(amounts, solved, strict=True):
        U = U - amount * x
    return U
