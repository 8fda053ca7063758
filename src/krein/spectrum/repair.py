"""Repair a matrix that is not positive semidefinite: the nearest one that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from krein.arrays import Array
from krein.spectrum.repair_newton import FEASIBLE, Point, Problem, infeasible, solve
from krein.threads import threads_by_size
from krein.validation import check_similarity, refuse_mask
from krein.words import warn_user

Diagonal = Literal["free", "keep", "unit"]
_POSITIVE = 1e-9  # eigenvalues below min_eigenvalue by this share of X are rounding
_NO_ROOM = "; not converged: free some entries, or lower min_eigenvalue"


@dataclass(frozen=True)
class Repaired:
    """What `nearest_psd` found; ``np.asarray(repaired)`` is the matrix.

    Attributes
    ----------
    matrix : ndarray or frame of shape (n, n)
        The nearest matrix; a frame with the same names if a frame was given.
    distance : float
        Frobenius norm of its difference from K; with weights the weighted norm.
    duality_gap : float
        No feasible matrix has a ``distance^2 / 2`` that is smaller by more than this.
    status : {"converged", "stalled", "max_iter"}
        Whether the gap is within the tolerance; if not, whether no further step was
        possible or all steps were taken.
    n_iter : int
        Number of eigendecompositions.
    multipliers : sparse array of shape (n, n)
        The dual solution, one multiplier per fixed entry: the evidence for the gap.
    diagonal, min_eigenvalue, weight, fixed, tol
        As they were given.
    text : str
        All this in a sentence, also ``str(repaired)``.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import nearest_psd
    >>> print(nearest_psd(np.array([[1.0, 1.2], [1.2, 1.0]]), diagonal="unit"))
    nearest positive semidefinite matrix, diagonal 1: distance 0.283, ...
    """

    matrix: Any
    distance: float
    duality_gap: float
    status: str
    n_iter: int
    multipliers: Any
    diagonal: Diagonal
    min_eigenvalue: float
    weight: Array | None
    fixed: np.ndarray | None
    tol: float

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = np.asarray(self.matrix, dtype=dtype)
        return values.copy() if copy else values

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """What was done, how far it went and how good it is, in a sentence."""
        kept = {"free": "", "keep": ", diagonal kept", "unit": ", diagonal 1"}
        entries = "" if self.fixed is None else f", {self.fixed.sum()} entries fixed"
        return (
            f"nearest positive semidefinite matrix{kept[self.diagonal]}{entries}: "
            f"distance {self.distance:.3g}, optimal to {self.duality_gap:.1e} in "
            f"distance^2 / 2 after {self.n_iter} eigendecompositions"
            + ("" if self.status == "converged" else _NO_ROOM)
        )

    @property
    def relative_gap(self) -> float:
        """The gap over ``distance^2 / 2``; 0 where K needed no repair."""
        return 2.0 * self.duality_gap / self.distance**2 if self.distance else 0.0


@threads_by_size
def nearest_psd(
    K: Any,
    *,
    diagonal: Diagonal = "free",
    min_eigenvalue: float = 0.0,
    weight: Any = None,
    fixed: Any = None,
    tol: float = 1e-8,
) -> Repaired:
    """Nearest positive semidefinite, covariance or correlation matrix.

    Repairs a symmetric matrix that is "not positive definite": noisy or pairwise
    correlations, a covariance with gaps, a quantum kernel with shot noise, a Gram
    matrix of an indefinite kernel (what ``nearPD`` does in R). The matrix nearest in
    the Frobenius norm is found by a semismooth Newton method, mostly with five or six
    eigendecompositions, and comes with a certified gap.

    Parameters
    ----------
    K : array-like or frame of shape (n, n)
        A symmetric matrix.
    diagonal : {"free", "keep", "unit"}
        ``"free"``: the diagonal may change; without `fixed` this is K with its negative
        eigenvalues set to zero. ``"keep"``: the diagonal stays as it is. ``"unit"``: it
        becomes 1 (the nearest correlation matrix).
    min_eigenvalue : float
        Smallest eigenvalue of the result; a small positive number such as 1e-8 lets
        Cholesky factorisations succeed.
    weight : array-like of shape (n,), optional
        How much each item counts: ``||W^1/2 (X - K) W^1/2||`` is minimised.
    fixed : array-like of bool of shape (n, n), optional
        True for entries that keep their value. Not every choice is possible.
    tol : float
        Largest relative gap that counts as converged.

    Returns
    -------
    Repaired
        ``matrix``, ``distance``, ``duality_gap``, ``status``, ``n_iter``, ``text``.

    Raises
    ------
    ValueError
        If K is asymmetric or has missing entries, or if no positive semidefinite matrix
        has the fixed entries.

    Notes
    -----
    For a similarity that a classifier is trained on, this repair is not needed: krein's
    estimators treat the spectrum and map new rows in the same way.

    References
    ----------
    Higham (2002), "Computing the nearest correlation matrix", IMA J. Numer. Anal. 22;
    Qi, Sun (2006), "A quadratically convergent Newton method for computing the nearest
    correlation matrix", SIAM J. Matrix Anal. Appl. 28.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import nearest_psd
    >>> K = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    >>> repaired = nearest_psd(K, diagonal="unit")
    >>> repaired.matrix.round(3)
    array([[ 1. ,  0.5, -0.5],
           [ 0.5,  1. ,  0.5],
           [-0.5,  0.5,  1. ]])
    >>> repaired.relative_gap < 1e-8
    True
    """
    G = check_similarity(K, name="K", symmetrize=None)
    G = 0.5 * (G + G.T)
    n = len(G)
    refuse_mask(weight, "weight")
    refuse_mask(fixed, "fixed")
    w = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    if w.shape != (n,) or not (np.isfinite(w).all() and (w > 0).all()):
        raise ValueError(f"weight must hold {n} positive numbers")
    goal = _goal(G, diagonal, fixed, float(min_eigenvalue))
    # The solver works on numbers near 1.
    scale = float(np.fmax(np.abs(G), np.abs(goal)).max()) or 1.0
    heaviest = float(w.max())
    lift = min_eigenvalue / scale * np.eye(n)
    outer = np.sqrt(np.outer(w / heaviest, w / heaviest))
    problem = Problem.of(outer * (G / scale - lift), outer * (goal / scale - lift))
    point, n_iter, out_of_steps = solve(problem, tol)
    if point.shortfall > FEASIBLE and infeasible(problem, point):
        raise ValueError(_conflict(problem, point, K))
    X = np.where(np.isnan(goal), (point.X / outer + lift) * scale, goal)
    unit = scale * heaviest
    solved = point.solved(tol)
    if fixed is not None:  # which makes X less positive than the point
        lowest = float(np.linalg.eigvalsh(X)[0])
        solved = solved and lowest >= min_eigenvalue - _POSITIVE * np.abs(X).max()
    distance = float(np.sqrt(2.0 * point.value)) * unit
    gap = point.gap * unit**2
    multipliers = problem.adjoint(point.y).multiply(outer * (unit * heaviest))
    if solved:
        status = "converged"
    elif out_of_steps:
        status = "max_iter"
    else:
        status = "stalled"
    repaired = Repaired(
        matrix=_like(K, X),
        distance=distance,
        duality_gap=gap,
        status=status,
        n_iter=n_iter,
        multipliers=multipliers,
        diagonal=diagonal,
        min_eigenvalue=float(min_eigenvalue),
        weight=None if weight is None else w,
        fixed=None if fixed is None else np.asarray(fixed),
        tol=tol,
    )
    if not solved:
        warn_user(f"nearest_psd: {repaired.text}", ConvergenceWarning)
    return repaired


def _goal(G: Array, diagonal: str, fixed: Any, least: float) -> Array:
    """Return the values of the entries that are settled, NaN elsewhere."""
    if diagonal not in ("free", "keep", "unit"):
        raise ValueError(f"diagonal must be 'free', 'keep' or 'unit', got {diagonal!r}")
    if not (np.isfinite(least) and least >= 0.0):
        raise ValueError(f"min_eigenvalue must be 0 or positive, got {least!r}")
    goal = np.full_like(G, np.nan)
    if fixed is not None:
        mask = np.asarray(fixed)
        if mask.dtype != bool or mask.shape != G.shape or (mask != mask.T).any():
            raise ValueError(
                f"fixed must be a symmetric boolean array {G.shape}, such as fixed | "
                f"fixed.T, got {mask.dtype} {mask.shape}"
            )
        goal[mask] = G[mask]
    if diagonal != "free":
        np.fill_diagonal(goal, 1.0 if diagonal == "unit" else G.diagonal())
    low = np.flatnonzero(goal.diagonal() <= least)
    if low.size:
        if diagonal == "free":
            instead = "Do not fix it"
        elif diagonal == "keep" and least < 1.0:
            instead = "Use diagonal='free' or 'unit'"
        else:
            instead = "Use diagonal='free'"
        raise ValueError(
            f"the diagonal entry of item {low[0]} is to be at most min_eigenvalue = "
            f"{least:g}, which leaves only zeros in its row. {instead}, a smaller "
            "min_eigenvalue, or leave the item out"
        )
    return goal


def _like(K: Any, X: Array) -> Any:
    """Put the matrix into a frame if K was one."""
    if not hasattr(K, "columns"):
        return X
    if hasattr(K, "index"):  # pandas
        return type(K)(X, index=K.index, columns=K.columns)
    return type(K)(X, schema=list(K.columns))  # polars


def _conflict(problem: Problem, point: Point, K: Any) -> str:
    """Say that the fixed entries contradict each other, and which pull most."""
    names = list(K.columns) if hasattr(K, "columns") else range(len(problem.G))
    pull = np.abs(point.y) * (problem.rows != problem.columns)
    pairs = []
    for k in np.argsort(-pull)[:3]:
        pairs.append(f"({names[problem.rows[k]]}, {names[problem.columns[k]]})")
    return (
        "no positive semidefinite matrix has these fixed entries (proved by their "
        f"multipliers); free some, first those that pull most: {', '.join(pairs)}"
    )
