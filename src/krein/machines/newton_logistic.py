"""Newton's method for indefinite kernel logistic regression, in output space.

The unknown is H = KA (n x k); the equation is R(H) = H - K A(H) = 0 with A(H) =
c W (T - P(H + b)) and the intercept b eliminated (`krein.machines.logistic`). With LL'
the Hessian of the loss times c, the step is

    S U = -L'R,   S = I + L'KL,   dH = -R - K L U,

S is positive definite below the uniqueness threshold; above it the curvature is damped
until S is. Where there is an intercept, U is kept orthogonal to L'1. dH descends on
the dual of the problem, which decides about the length of the step. For a sigmoid S is
the matrix of the Laplace approximation of Gaussian processes (Rasmussen and Williams
2006, Algorithms 3.1 and 3.3), here with an indefinite K.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.machines._loop import Iterate, run
from krein.machines.cpd_columns import projected
from krein.machines.logistic import Curvature, IndefiniteLogistic, Point
from krein.result import Result

_DAMPING = (1.0, 0.5, 0.2, 0.05, 0.01, 0.001, 0.0)
_ARMIJO = 1e-4
# Dense systems are factored where conjugate gradients take many steps: on badly scaled
# kernels they take one per sample.
_FACTORED = 1000  # samples, up to which a system is factored
_FEW = 6  # it is where a sixth as many steps as samples are not enough
_HALF = 0.5  # of the least residual: a step that closes less is no clear progress
_SINGULAR = 1e8  # a step so much longer than the defect is no step


def newton_logistic(
    problem: IndefiniteLogistic,
    start: Array | None = None,
    *,
    tol: float = 1e-9,
    max_iter: int = 100,
) -> Result:
    """Solve the stationarity equation to the tolerance.

    Systems are solved by conjugate gradients, as far as a step is worth it, or by
    Cholesky's factors where these take many steps.

    Parameters
    ----------
    problem : IndefiniteLogistic
        The problem.
    start : ndarray of shape (n, k), optional
        Coefficients to start from, zeros by default.
    tol : float
        On the stationarity residual.
    max_iter : int
        Newton steps.

    Returns
    -------
    Result
        ``x`` of shape (n, k) on the raw kernel, ``info["intercept"]``.

    References
    ----------
    Liu et al., "Indefinite kernel logistic regression with concave-inexact-convex
    procedure", eq. (5), for the model; the algorithm is krein's.
    """
    A = np.zeros(problem.targets.shape) if start is None else start
    iterates = _newton(problem, problem.point(problem.K @ A))
    return run(iterates, tol=tol, max_iter=max_iter)


def _newton(problem: IndefiniteLogistic, point: Point) -> Iterator[Iterate]:
    facts: dict[str, float] = {}
    least = np.inf
    while True:
        iterate = _iterate(problem, point, facts)
        yield iterate
        residual = iterate.certificate.relative
        if residual > _HALF * least and residual <= problem.rounding(point.coef):
            return  # it is its own rounding: more steps move it about
        least = min(least, residual)
        curvature = problem.curvature(point.outputs + point.intercept)
        for factor in _DAMPING:
            direction, slope = _direction(problem, point, curvature, factor)
            if direction is None:
                continue
            new, length = _line_search(problem, point, direction, slope)
            if new is not None:
                break
        else:
            return
        point = new
        facts = {"step": length, "damping": factor}


def _direction(
    problem: IndefiniteLogistic, point: Point, curvature: Curvature, factor: float
) -> tuple[Array | None, float]:
    """Direction of descent on the dual with damped curvature, and its slope.

    None where the damped matrix is not definite, or so near to singular that the step
    is nothing but its rounding errors: at |mu_min| a multiple of what is allowed, a
    factor of the damping can hit the singular matrix exactly.
    """
    if factor == 0.0:  # the fixed-point step, a descent direction always
        slope = float(np.sum(curvature.right(point.defect) ** 2))
        return -point.defect, slope
    most = _SINGULAR * float(np.abs(point.defect).max())
    step = _step(problem, curvature.damped(factor), point.defect)
    if step is None or np.abs(step[0]).max() > most:
        return None, 0.0
    return step[0], step[1] / factor


def _iterate(
    problem: IndefiniteLogistic, point: Point, facts: dict[str, float]
) -> Iterate:
    """Certify the coefficients of a point on the outputs they really give."""
    b = problem.intercept(point.image, point.intercept)
    certificate = problem.certificate(point.coef, b, point.image)
    return Iterate(
        x=point.coef,
        value=problem.value(point.coef, point.image, b),
        certificate=certificate,
        facts={"dual": point.dual, **facts},
        info={"intercept": b},
    )


def _line_search(
    problem: IndefiniteLogistic, point: Point, direction: Array, slope: float
) -> tuple[Point | None, float]:
    """Halve until the dual falls enough; near the solution let the defect decide.

    There the fall is less than the rounding of the dual. That is looked at once the
    full step did not fall: its bound costs a product.
    """
    length = 1.0
    rounding = 1e-13 * (1.0 + abs(point.dual))
    defect = float(np.abs(point.defect).max())
    for trial in range(40):
        new = problem.point(point.outputs + length * direction, point.intercept)
        fall = point.dual - new.dual
        if fall >= _ARMIJO * length * slope + rounding:
            return new, length
        if trial == 0:
            rounding = max(rounding, problem.dual_rounding(point))
        lost = slope * length <= 1e3 * rounding or abs(fall) <= rounding
        if lost and float(np.abs(new.defect).max()) < 0.9 * defect:
            return new, length
        length *= 0.5
    return None, 0.0


def _step(
    problem: IndefiniteLogistic, curvature: Curvature, defect: Array
) -> tuple[Array, float] | None:
    """Newton's step and its slope on the dual; None if S is not positive definite."""
    n, k = defect.shape
    dense = k == 1 and n <= _FACTORED and isinstance(problem.K, np.ndarray)
    most = 10 + n // _FEW if dense else defect.size + 50
    try:
        step = _by_gradients(problem, curvature, defect, most)
        if step is None and dense:
            step = _by_factor(problem, curvature, defect)
    except (np.linalg.LinAlgError, ValueError):  # not definite, or beyond float64
        return None
    return step


def _by_factor(
    problem: IndefiniteLogistic, curvature: Curvature, defect: Array
) -> tuple[Array, float]:
    """Factor S, projected: one column."""
    basis = _constants(problem, curvature)
    S, _ = projected(problem.K.copy(), curvature.diagonal, basis)
    factor = scipy.linalg.cho_factor(S, lower=True, overwrite_a=True)
    right = curvature.right(defect)
    U = scipy.linalg.cho_solve(factor, basis @ (basis.T @ right) - right)
    U -= basis @ (basis.T @ U)
    return -defect - problem.K @ curvature.left(U), -float(np.sum(right * U))


@np.errstate(over="ignore", invalid="ignore")  # the sum of products is looked at
def _by_gradients(
    problem: IndefiniteLogistic, curvature: Curvature, defect: Array, most: int
) -> tuple[Array, float] | None:
    """Conjugate gradients on S, stopped by the error of dH; None after `most` steps.

    With the residual r of S U = -L'R the step dH misses its equation by K L r. The
    recursion is arranged around the product K L r (that with the search direction
    follows from it), so that the error is known at one product a step.
    """
    basis = _constants(problem, curvature)

    def project(V: Array) -> Array:
        flat = V.ravel()
        return (flat - basis @ (basis.T @ flat)).reshape(V.shape)

    right = curvature.right(defect)
    residual = project(-right)
    size = float(np.abs(defect).max())
    goal = min(0.1, size) * size
    U = np.zeros_like(residual)
    KLU = np.zeros_like(residual)
    P, SP, KLP = U, U, U
    energy = float(np.sum(residual**2))
    beta = 0.0
    for _ in range(most):
        KLr = problem.K @ curvature.left(residual)
        if energy == 0.0 or float(np.abs(KLr).max()) <= max(goal, 1e-15):
            break
        Sr = residual + project(curvature.right(KLr))
        P, SP, KLP = residual + beta * P, Sr + beta * SP, KLr + beta * KLP
        bend = float(np.sum(P * SP))
        if not 0.0 < bend < np.inf:
            raise np.linalg.LinAlgError("S is not positive definite")
        length = energy / bend
        U = U + length * P
        KLU = KLU + length * KLP
        residual = residual - length * SP
        new = float(np.sum(residual**2))
        energy, beta = new, new / energy
    else:
        if most < residual.size:
            return None
    return -defect - KLU, -float(np.sum(right * U))


def _constants(problem: IndefiniteLogistic, curvature: Curvature) -> Array:
    """Orthonormal basis of L'(1 x I_k): steps off it keep 1'A = 0."""
    n, k = problem.targets.shape
    if not problem.fit_intercept:
        return np.empty((n * k, 0))
    ones = np.ones((n, 1))
    columns = [curvature.right(ones * row).ravel() for row in np.eye(k)]
    left, values, _ = np.linalg.svd(np.column_stack(columns), full_matrices=False)
    return left[:, values > 1e-12 * max(float(values[0]), 1e-300)]


# --------------------------------------------------------------------------------------


def krein_gd(
    problem: IndefiniteLogistic,
    start: Array | None = None,
    *,
    largest: float,
    tol: float = 1e-9,
    max_iter: int = 100_000,
    callback: Callable[[Iterate], bool | None] | None = None,
) -> Result:
    """Descend along the gradient without its leading K: one product a step.

    ``A <- A - eta (alpha A - (1/N) W (T - P(KA + b)))`` with ``eta = 1 / (alpha +
    mu_max / (4N))``. The gradient of the objective (5) of Liu et al. is K times this
    direction; without K it is that of the Krein space, whose zeros are the
    stationary points whatever the signs of the eigenvalues.

    Parameters
    ----------
    problem : IndefiniteLogistic
        The problem; K needs only products.
    start : ndarray of shape (n, k), optional
        Coefficients to start from, zeros by default.
    largest : float
        Largest eigenvalue of W^1/2 K W^1/2, or a bound on it.
    tol, max_iter, callback
        See `krein.machines._loop.run`.

    Returns
    -------
    Result
        As `newton_logistic`.
    """
    A = np.zeros(problem.targets.shape) if start is None else start
    bend = (0.25 if problem.n_columns == 1 else 0.5) * max(largest, 0.0)
    eta = 1.0 / (problem.alpha + bend / problem.total)
    iterates = _krein_gd(problem, A, eta * problem.alpha)
    return run(iterates, tol=tol, max_iter=max_iter, callback=callback)


def _krein_gd(problem: IndefiniteLogistic, A: Array, share: float) -> Iterator[Iterate]:
    """Move the coefficients by `share` of the way to c W (T - P)."""
    b = None
    while True:
        H = problem.K @ A
        b = problem.intercept(H, b)
        yield Iterate(
            x=A,
            value=problem.value(A, H, b),
            certificate=problem.certificate(A, b, H),
            info={"intercept": b},
        )
        A = A + share * (problem.bound * problem.scores(H + b) - A)
