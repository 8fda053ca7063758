"""Weights of several kernels, learned together with the SVM.

Problem (eq. 27 of Chen and Ye, 2008, the regularised form of Lanckriet et al., 2004):

    min over w >= 0, sum w = 1, of  phi(w) = SVM(sum_i w_i K_i) + sum_i w_i c_i,
    SVM(K) = max over Q of e'a - a'YKYa / 2,     c_i = rho ||K_i - K0||_F^2.

phi is convex, and a maximum of linear functions: every a in Q gives the cut
``phi(w) >= e'a + sum_i w_i (c_i - a'YK_iYa / 2)``. By Theorem 5.1 there, the dual is
the restricted master problem ``max t, t <= e'a - a'YK_iYa / 2 + c_i``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from krein.arrays import Array
from krein.domain import BalancedBox

__all__ = ["MKLWeights"]


@dataclass
class MKLWeights:
    """The convex minimisation over kernel weights.

    Parameters
    ----------
    kernels : sequence of ndarray of shape (n, n)
        Positive semidefinite.
    costs : ndarray of shape (n_kernels,)
        c_i.
    domain : BalancedBox
        Q: bounds and labels.

    Examples
    --------
    >>> import numpy as np
    >>> from krein.domain import BalancedBox
    >>> from krein.problems.mkl import MKLWeights
    >>> box = BalancedBox(np.ones(2), np.array([1.0, -1.0]))
    >>> problem = MKLWeights([np.eye(2), 4 * np.eye(2)], np.zeros(2), box)
    >>> problem.cut(np.array([0.25, 0.25]))
    array([0.4375, 0.25  ])
    """

    kernels: Sequence[Array]
    costs: Array
    domain: BalancedBox

    def combined(self, weights: Array) -> Array:
        """Return the kernel ``sum_i w_i K_i``."""
        used = np.flatnonzero(weights)
        K = weights[used[0]] * self.kernels[used[0]]
        for i in used[1:]:
            K += weights[i] * self.kernels[i]
        return K

    def cut(self, alpha: Array) -> Array:
        """Values ``e'a - a'YK_iYa / 2 + c_i`` at the corners of the simplex."""
        v = self.domain.y * alpha
        bends = np.array([float(v @ (K @ v)) for K in self.kernels])
        return float(alpha.sum()) - 0.5 * bends + self.costs
