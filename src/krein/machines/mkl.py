"""Weights of several kernels, learned together with the SVM, by cutting planes.

Problem (eq. 27 of Chen and Ye, 2008, the regularised form of Lanckriet et al., 2004):

    min over w >= 0, sum w = 1, of  phi(w) = SVM(sum_i w_i K_i) + sum_i w_i c_i,
    SVM(K) = max over Q of e'a - a'YKYa / 2,     c_i = rho ||K_i - K0||_F^2.

(25) and (27) as printed lack w >= 0, which Theorem 5.1 needs. phi is convex, and a
maximum of linear functions: every a in Q gives the cut
``phi(w) >= e'a + sum_i w_i (c_i - a'YK_iYa / 2)``. By Theorem 5.1 there, the dual is
the restricted master problem ``max t, t <= e'a - a'YK_iYa / 2 + c_i``. LIBSVM finds the
cuts; a small linear program over them gives the next weights and the lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.optimize

from krein.arrays import Array, product_and_error
from krein.machines._loop import Iterate, run
from krein.machines.box import BalancedBox
from krein.machines.libsvm import solve_dual
from krein.machines.svm_dual import SVMDual
from krein.result import Certificate, Result
from krein.spectrum.decomposition import Spectrum

_SVM_TOL = 1e-8
_NOT_PSD = 1e-8  # negative eigenvalue of a kernel, relative to its largest one
_STEEP = 1e-6  # a cut so much steeper than the flattest ends where that one begins
_FLAT = 1e-9  # of its values: a cut that is flatter counts as flat
_PATIENCE = 40  # cuts without a smaller gap: rounding allows no more


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
    >>> from krein.machines.box import BalancedBox
    >>> from krein.machines.mkl import MKLWeights
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

    def floor(self, alpha: Array) -> float:
        """Least value of `cut`, less what rounding can have added: a lower bound."""
        v = self.domain.y * alpha
        size = np.abs(alpha)
        products = [product_and_error(K, v) for K in self.kernels]
        bends = np.array([v @ Kv + size @ error for Kv, error in products])
        values = alpha.sum() - 0.5 * bends + self.costs
        spread = np.finfo(float).eps * np.sqrt(alpha.size) * float(size.sum())
        return float(np.min(values)) - spread


def check_psd(K: Array, name: str) -> None:
    """Raise if a kernel is clearly not positive semidefinite."""
    values = Spectrum.exact(K).eigenvalues
    if values[0] < -_NOT_PSD * max(float(values[-1]), 1e-300):
        raise ValueError(
            f"{name} is not positive semidefinite: its smallest eigenvalue is "
            f"{values[0]:.3g}, its largest {values[-1]:.3g}. Clip or flip it first "
            "(fix='clip' of MKLSVC, krein.SpectrumTransformer), or use krein.ProxySVC"
        )


def kernel_weights(
    problem: MKLWeights,
    x0: Array | None = None,
    *,
    tol: float = 1e-6,
    max_iter: int = 500,
    cuts: Sequence[Array] = (),
    scale: float | None = None,
    callback: Callable[[Iterate], bool | None] | None = None,
) -> Result:
    """Minimise phi over the simplex, with both bounds at every step.

    Kelley's cutting planes: the LP over the cuts found so far gives the next weights
    and a lower bound, LIBSVM at these weights a new cut and an upper bound. The convex
    combination of the cuts' alphas that the LP's multipliers give is a solution of the
    dual, the restricted master problem of Chen and Ye.

    Parameters
    ----------
    problem : MKLWeights
        Kernels, costs and domain.
    x0 : ndarray of shape (n_kernels,), optional
        First weights, on the simplex; equal unless given.
    tol : float
        Gap between the bounds to reach, relative to `scale`.
    max_iter : int
        Largest number of cuts.
    cuts : sequence of ndarray of shape (n,)
        Points of Q whose cuts are known to matter, such as those of a problem with
        other kernels.
    scale : float, optional
        Unit of the relative gap: |phi - min c| unless given.
    callback : callable, optional
        See `krein.machines._loop.run`.

    Returns
    -------
    Result
        ``x`` holds the weights; ``value`` is phi, an upper bound. ``info``: ``alpha``
        (solution of the dual), ``bound`` (its value, the lower bound) and ``cuts``
        (points of Q with a positive multiplier).
    """
    iterates = _iterates(problem, x0, list(cuts), scale)
    return run(iterates, tol=tol, max_iter=max_iter, callback=callback)


def _iterates(
    problem: MKLWeights, x0: Array | None, points: list[Array], scale: float | None
) -> Iterator[Iterate]:
    p = len(problem.kernels)
    weights = np.full(p, 1.0 / p) if x0 is None else x0
    table = [problem.cut(alpha) for alpha in points]
    best = np.inf
    best_weights = weights
    above = 0.0
    least = np.inf
    idle = 0
    while idle < _PATIENCE:
        value, alpha, rounding = svm_at(problem, weights)
        if value < best:
            best = value
            best_weights = weights
            above = rounding
        points.append(alpha)
        table.append(problem.cut(alpha))
        weights, shares = _solve_lp(np.array(table))
        mean = shares @ np.array(points)
        # By concavity the mixture does at least as well as the LP says.
        bound = problem.floor(mean)
        unit = abs(best - float(problem.costs.min())) if scale is None else scale
        gap = max(0.0, best - bound)
        idle = 0 if gap < least else idle + 1
        least = min(least, gap)
        unit = max(unit, 1e-300)
        below = max(0.0, float(np.min(problem.cut(mean))) - bound)
        counted = min(gap, above + below) / unit
        certificate = Certificate("gap", gap, gap / unit, counted)
        used = [point for point, share in zip(points, shares, strict=True) if share > 0]
        info = {"alpha": mean, "bound": bound, "cuts": used}
        yield Iterate(best_weights, best, certificate, bound, info=info)


def svm_at(problem: MKLWeights, weights: Array) -> tuple[float, Array, float]:
    """phi(w), an upper bound within the SVM's own gap, and the alpha it is from.

    Last comes what is counted for rounding in this bound.
    """
    machine = SVMDual.classification(problem.combined(weights), problem.domain)
    result, _ = solve_dual(machine, tol=_SVM_TOL)
    # An alpha short of the optimum by its gap would give too low a bound.
    certificate = result.certificate
    upper = result.value + certificate.value
    share = certificate.rounding / certificate.relative if certificate.relative else 0.0
    rounding = min(share, 1.0) * certificate.value if np.isfinite(share) else 0.0
    return upper + float(weights @ problem.costs), result.x, rounding


def _solve_lp(table: Array) -> tuple[Array, Array]:
    """Weights w that minimise ``max_j (table w)_j`` on the simplex, and multipliers."""
    m, p = table.shape
    # Numbers near 1, row by row: the LP's own tolerances are absolute, and the first
    # cuts may be steeper by ten orders than those that the solution lies on.
    rows = table - float(table.max(axis=0).min())
    size = np.abs(rows).max(axis=1)
    unit = max(float(size.min()), _FLAT * float(np.abs(table).min()), 1e-300)
    size = np.maximum(size, unit)
    height = np.where(unit > _STEEP * size, unit / size, 0.0)
    A = np.column_stack([rows / size[:, None], -height])
    solution = scipy.optimize.linprog(
        np.append(np.zeros(p), 1.0),
        A_ub=A,
        b_ub=np.zeros(m),
        A_eq=np.append(np.ones(p), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0.0, None)] * p + [(None, None)],
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
        },
    )
    if solution.x is None:  # numbers of very different size: the best single kernel
        weights = np.eye(p)[np.argmin(table.max(axis=0))]
        shares = np.zeros(m)
    else:
        weights = np.maximum(solution.x[:p], 0.0)
        shares = np.maximum(-solution.ineqlin.marginals, 0.0) / size
    if not shares.any():  # one cut lies above all others
        shares = (table @ weights == (table @ weights).max()).astype(float)
    return weights / weights.sum(), shares / shares.sum()
