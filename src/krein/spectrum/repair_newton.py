"""A matrix near another one, positive semidefinite, with settled entries.

With A the settled entries of a matrix, A* its adjoint and b the values they must have
(off-diagonal pairs scaled by sqrt 2, so that A A* = I):

    primal   minimise ||X - G||^2 / 2,   X positive semidefinite,   A X = b
    dual     maximise ||G||^2 / 2 - ||(G + A* y)_+||^2 / 2 + b'y

With ``G + A* y = Z - N`` split into its positive and negative part, every feasible X
has ``primal(X) - dual(y) = ||X - Z||^2 / 2 + <X, N>``: both terms are non-negative,
nothing cancels, and it bounds the optimum for every positive semidefinite N, so that
errors of the eigenvectors do no harm. `min_eigenvalue` m and weights W enter by
G = W^1/2 (K - m I) W^1/2. Newton's method on the dual is that of Qi and Sun (2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, cg

from krein.arrays import Array
from krein.spectrum.decomposition import Spectrum

_EPS = float(np.finfo(np.float64).eps)
_MAX_ITER = 50  # Newton steps; 5 are usual
_MAX_CG = 200
_ARMIJO = 1e-4
FEASIBLE = 1e-11  # distance to feasibility, relative, that is rounding


@dataclass(frozen=True)
class Problem:
    """Find Z near G, positive semidefinite, with ``A Z = b``."""

    G: Array
    rows: np.ndarray
    columns: np.ndarray
    values: Array  # of the entries, not scaled by sqrt 2
    factor: Array  # their scale, for A A* = I
    diagonal_only: bool  # the whole diagonal is settled, and nothing else

    @classmethod
    def of(cls, G: Array, goal: Array) -> Problem:
        """Settle the entries of `goal` that are not NaN."""
        rows, columns = np.nonzero(np.triu(~np.isnan(goal)))
        factor = np.where(rows == columns, 1.0, np.sqrt(2.0))
        whole = rows.size == len(G) and bool(np.all(rows == columns))
        return cls(G, rows, columns, goal[rows, columns], factor, whole)

    def adjoint(self, y: Array) -> Any:
        """A* y, sparse."""
        half = 0.5 * self.factor * y, (self.rows, self.columns)
        upper = scipy.sparse.csr_array(half, shape=self.G.shape)
        return scipy.sparse.csr_array(upper + upper.T)

    def of_product(self, L: Array, R: Array) -> Array:
        """A (L R' + R L')."""
        T = L @ R.T
        return self.factor * (T[self.rows, self.columns] + T[self.columns, self.rows])

    def feasible(self, Z: Array) -> Array:
        """Return a matrix near Z with the entries; scaled where that is enough."""
        X = Z.copy()
        if self.diagonal_only:
            factor = np.sqrt(self.values / np.maximum(Z.diagonal(), 1e-300))
            X *= np.outer(factor, factor)
        X[self.rows, self.columns] = self.values
        X[self.columns, self.rows] = self.values
        return X


@dataclass(frozen=True)
class Point:
    """What one eigendecomposition of ``G + A* y`` tells."""

    y: Array
    theta: float
    gradient: Array
    spectrum: Spectrum
    X: Array
    value: float
    gap: float
    rounding: float
    shortfall: float

    @classmethod
    def at(cls, problem: Problem, y: Array) -> Point:
        """Decompose ``G + A* y``."""
        M = problem.G + problem.adjoint(y).toarray()
        spectrum = Spectrum.exact(M)
        # What is negative by rounding stays: a matrix that needs no repair is kept.
        positive = spectrum.eigenvalues >= -spectrum.tolerance
        N = spectrum.map(lambda w: np.where(positive, 0.0, -w)).formed()
        Z = M + N
        if -spectrum.eigenvalues[0] > spectrum.eigenvalues[-1]:  # M is mostly what goes
            Z = spectrum.map(lambda w: np.where(positive, w, 0.0)).formed()
        X = problem.feasible(Z)
        size = float(np.linalg.norm(M))
        large = float(np.linalg.norm(X))
        rounding = _EPS * (8.0 * large * float(np.linalg.norm(N)) + _EPS * size**2)
        gap = 0.5 * float(np.sum((X - (M + N)) ** 2)) + rounding
        gap += max(float(np.sum(X * N)), 0.0)
        b = problem.factor * problem.values
        gradient = problem.factor * Z[problem.rows, problem.columns] - b
        above = spectrum.eigenvalues[positive]
        theta = 0.5 * float(above @ above) - float(b @ y)
        # Scaling keeps X positive semidefinite; setting entries need not.
        shortfall = float(np.linalg.norm(X - Z)) / (size or 1.0)
        shortfall = 0.0 if problem.diagonal_only else shortfall
        value = 0.5 * float(np.sum((X - problem.G) ** 2))
        return cls(y, theta, gradient, spectrum, X, value, gap, rounding, shortfall)

    def solved(self, tol: float) -> bool:
        """Whether the gap is within `tol`, and X feasible to rounding."""
        close = self.gap <= tol * self.value + 2.0 * self.rounding
        return close and self.shortfall <= FEASIBLE


# ------------------------------------------------------------------------------ solver


def solve(problem: Problem, tol: float) -> tuple[Point, int, bool]:
    """Newton steps on the dual.

    Returns the best point, the number of `eigh`, and whether all steps were taken.
    """
    start = problem.values - problem.G[problem.rows, problem.columns]
    point = Point.at(problem, problem.factor * start)
    evaluations = 1
    for _ in range(_MAX_ITER):
        if point.solved(tol) or problem.rows.size == 0 or infeasible(problem, point):
            break
        step = _newton_step(problem, point)
        slope = float(point.gradient @ step)
        noise = 4.0 * _EPS * abs(point.theta)
        for length in 0.5 ** np.arange(20):
            trial = Point.at(problem, point.y + length * step)
            evaluations += 1
            if trial.theta <= point.theta + _ARMIJO * length * slope + noise:
                break
        stalled = np.linalg.norm(trial.gradient) >= np.linalg.norm(point.gradient)
        rising = trial.theta > point.theta + noise  # no step was short enough
        if rising or (stalled and trial.theta >= point.theta - noise):
            break
        point = trial
    else:
        return point, evaluations, True
    return point, evaluations, False


def _newton_step(problem: Problem, point: Point) -> Array:
    """Preconditioned conjugate gradients on the generalised Hessian."""
    product, inverse = _hessian(problem, point)
    norm = float(np.linalg.norm(point.gradient))
    ridge = min(1e-6, 1e-2 * norm)
    accuracy = norm * min(1e-2, max(norm, 1e-8))
    shape = (point.y.size, point.y.size)
    H = LinearOperator(shape, lambda p: product(p) + ridge * p, dtype=np.float64)
    M = LinearOperator(shape, lambda r: r * inverse, dtype=np.float64)
    return cg(H, -point.gradient, rtol=0.0, atol=accuracy, maxiter=_MAX_CG, M=M)[0]


def _hessian(problem: Problem, point: Point) -> tuple[Any, Array]:
    """Return the product with the Hessian, and the inverse of about its diagonal.

    The derivative of the positive part of ``G + A* y`` in direction H is
    ``P (P'HP) P' + P (O * P'HQ) Q' + its transpose``, with the eigenvectors P and Q of
    positive and other eigenvalues and O = a / (a + b); of the smaller side, here.
    """
    w = point.spectrum.eigenvalues
    V = point.spectrum.eigenvectors
    positive = w > 0.0
    P = V[:, positive]
    Q = V[:, ~positive]
    O = w[positive][:, None] / (w[positive][:, None] - w[~positive])  # noqa: E741
    complement = P.shape[1] > Q.shape[1]
    if complement:
        P, Q, O = Q, P, 1.0 - O.T  # noqa: E741

    def product(h: Array) -> Array:
        H = problem.adjoint(h)
        B = H @ P
        R = P @ (0.5 * (P.T @ B)) + Q @ ((B.T @ Q) * O).T
        change = problem.of_product(P, R)
        return h - change if complement else change

    P2 = P**2
    Q2 = Q**2
    share = P2.sum(axis=1)
    about = problem.of_product(P2 @ O, Q2) / problem.factor
    about += share[problem.rows] * share[problem.columns]
    about = 1.0 - about if complement else about
    return product, 1.0 / np.maximum(about, 1e-6)


def infeasible(problem: Problem, point: Point) -> bool:
    """Whether the multipliers prove that no matrix has these entries.

    Of the items with a settled diagonal the trace T is known; any feasible X has
    ``b'h = <X, A*h> <= T max(lambda_max(A*h), 0)``.
    """
    on_diagonal = problem.rows == problem.columns
    known = problem.rows[on_diagonal]
    trace = float(problem.values[on_diagonal].sum())
    inside = np.isin(problem.rows, known) & np.isin(problem.columns, known)
    h = np.where(inside, point.y, 0.0)
    gain = float((problem.factor * problem.values) @ h)
    size = float(np.linalg.norm(h))
    # Cheap first: the dual must have grown far beyond what the trace allows.
    if problem.diagonal_only or gain <= 0.0 or size < 10.0 * trace:
        return False
    H = problem.adjoint(h).toarray()[np.ix_(known, known)]
    return gain > trace * max(float(np.linalg.eigvalsh(H)[-1]), 0.0) + 1e-9 * size
