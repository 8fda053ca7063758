"""Stationary points of an SVM on an indefinite kernel by active sets that only rise.

LIBSVM changes two variables at a time, which takes millions of steps where curvatures
of both signs differ by many orders. Here all free variables move at once, along the
Newton direction of ``|H|`` (eigenvalues by their sizes), to the best point on the way
or the first bound. Where the free ones are at rest the bound variable that gains most
is released. No step falls, so that no set comes back: the end is a point that satisfies
the KKT conditions, which is all that is claimed without a definite kernel.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.machines.svm_dual import SVMDual, SVMPoint

_EPS = float(np.finfo(np.float64).eps)
_WORK = 4e9  # cubes of the number of free variables: some seconds
_STEPS = 3000
_IDLE = 10  # steps in a row without a gain: rounding allows no more
_CHECK = 20  # steps between two looks at what they are worth


@np.errstate(all="ignore")  # a direction beyond the largest number is not taken
def ascended(problem: SVMDual, start: SVMPoint, tol: float) -> SVMPoint:
    """The best point by certificate on the way up from `start`.

    Ends at `tol`, when all variables are at rest, or after some seconds.
    """
    point = best = start
    domain = problem.domain
    free = (point.a > 0.0) & (point.a < domain.upper)
    work = 0.0
    idle = 0
    for k in range(_STEPS):
        work += float(np.count_nonzero(free)) ** 3
        if work > _WORK or idle >= _IDLE:
            break
        new = _along_the_free(problem, point, free)
        if new is None:
            at_rest = problem.at(domain.rebalance(point.a))
            if at_rest.certificate.value < best.certificate.value:
                best = at_rest
            if best.certificate.relative <= tol or not _release(problem, point, free):
                return best
            continue
        idle = 0 if new.value > point.value else idle + 1
        point = new
        if k % _CHECK == 0 and point.certificate.value < best.certificate.value:
            best = problem.at(domain.rebalance(point.a))
    return best


def _noise(problem: SVMDual, point: SVMPoint) -> Array:
    """Slopes up to these are rounding."""
    return 2.0 * (problem.spread(point.error) + _EPS * np.abs(problem.margin))


def _along_the_free(
    problem: SVMDual, point: SVMPoint, free: np.ndarray
) -> SVMPoint | None:
    """Step of the free variables, of which those that reach a bound stay there.

    None where they are at rest.
    """
    F = np.flatnonzero(free)
    if F.size < 2:
        return None
    y, upper = problem.domain.y[F], problem.domain.upper[F]
    slope = point.gradient[F] - y * float(y @ point.gradient[F]) / F.size
    if np.all(np.abs(slope) <= _noise(problem, point)[F]):
        return None
    items = F % problem.K.shape[0]
    H = y[:, None] * problem.K[np.ix_(items, items)] * y
    h = _newton(H, y, slope)
    if not np.isfinite(h).all():
        return None
    gain = float(slope @ h)
    x = point.a[F]
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(h < 0.0, -x / h, np.where(h > 0.0, (upper - x) / h, np.inf))
    most = float(room.min())
    bend = float(h @ (H @ h))
    length = min(most, gain / bend) if bend > 0.0 else most
    if not (gain > 0.0 and np.isfinite(length)):
        return None
    a = point.a.copy()
    a[F] = np.clip(x + length * h, 0.0, upper)
    if length == most:
        there = F[room <= most * (1.0 + 1e-12)]
        low = h[room <= most * (1.0 + 1e-12)] < 0.0
        a[there] = np.where(low, 0.0, problem.domain.upper[there])
        free[there] = False
    return problem.at(a)


def _newton(H: Array, y: Array, slope: Array) -> Array:
    """``|H|^-1 slope`` on the plane ``y'h = 0``."""
    Hy = H @ y / y.size
    centred = H - np.outer(Hy, y) - np.outer(y, Hy - y * float(y @ Hy) / y.size)
    values, V = scipy.linalg.eigh(centred, driver="evd", check_finite=False)
    sizes = np.abs(values)
    least = y.size * _EPS * float(sizes.max(initial=0.0))
    h = V @ ((V.T @ slope) / np.maximum(sizes, max(least, 1e-300)))
    return h - y * float(y @ h) / y.size


def _release(problem: SVMDual, point: SVMPoint, free: np.ndarray) -> bool:
    """Free the variable at a bound that gains most; two where none is free."""
    y, upper = problem.domain.y, problem.domain.upper
    up, down = point.a < upper, point.a > 0.0
    signed = y * point.gradient
    rises = np.where(np.where(y > 0, up, down), signed, -np.inf)
    falls = np.where(np.where(y > 0, down, up), signed, np.inf)
    noise = _noise(problem, point)
    if free.any():
        tau = float(signed[free].mean())
        wanting = np.maximum(rises - tau, tau - falls)
        wanting[free] = -np.inf
        i = int(np.argmax(wanting))
        if not wanting[i] > noise[i]:
            return False
        free[i] = True
        return True
    i, j = int(np.argmax(rises)), int(np.argmin(falls))
    if not rises[i] - falls[j] > noise[i] + noise[j]:
        return False
    free[[i, j]] = True
    return True
