"""SVM problems by LIBSVM, through scikit-learn, polished and certified.

The problem (`krein.machines.svm_dual`) is put into units where kernel and margins are
near 1. LIBSVM, run loosely, finds which variables are free; active sets on these give
the solution to rounding, so that results depend neither on the order of the samples
nor on LIBSVM's tolerance (with many rows up to `tol` only, see `_is_enough`). Where
LIBSVM does not get near (bounds that are large beside the kernel), a dense
interior-point method does. The best point by certificate is returned, and converged is
what its certificate says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.machines.indefinite_ascent import ascended
from krein.machines.interior_point import interior_points
from krein.machines.quadratic_model import KernelModel, QuadraticModel
from krein.machines.svm_dual import SVMDual, SVMPoint, run_libsvm
from krein.machines.tall_svm import linear_svm
from krein.result import Certificate, History, Result
from krein.similarity.tiles import DenseTiles

_CACHE_MB = 250  # all rows of 8000 items
_STAGES = (1e-3, 1e-6, 1e-9)  # tolerances, in units of the margins
_TIGHTEST = 1e-7  # LIBSVM keeps kernels in single precision
_MORE_STEPS = 10  # for one, times those of the first row
_LEAST_STEPS = 10_000  # of LIBSVM, before another method is tried; n^2 if that is more
_ROUNDS = 30  # of the polish
_REFINEMENTS = 5  # of a solution that the ridge changed a little
_NEAR = 2e-3  # of the margin: what loose steps may have put on a wrong bound
_AIM = 1e-2  # share of tol at which an interior point is put on its bounds
_TO_ROUNDING = 1e-9  # tolerances up to this one are met to rounding
_COPIED = 1000  # items; of a larger kernel at most a quarter is copied for the polish
_SQUARED = 1e150  # bounds whose squares are numbers
_RANK = 1e-13  # eigenvalues below this share of the largest are rounding
_RIDGE = 1e-10  # of the mean curvature: a clipped kernel is singular


def refuse_options(given: dict[str, Any] | None) -> None:
    """Refuse `solver_options` of an estimator whose solver has none."""
    for name in given or {}:
        raise ValueError(f"solver_options has {name!r}, but this solver has no options")


# --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loosely:
    """How LIBSVM is run on a positive semidefinite kernel, before the polish.

    Attributes
    ----------
    tol : float
        Its tolerance, in units of the margins.
    steps : int
        Largest number of steps.
    """

    tol: float
    steps: int


def loosely_after(
    first: Result, upper: Array, tol: float, n_rows: int
) -> Loosely | None:
    """How LIBSVM is run for further rows on a kernel, as the first one shows.

    Where a polish costs the factor of many free variables, which differ from row to
    row, a tighter run that reaches `tol` by itself is faster: the gap falls with
    LIBSVM's tolerance, for two to three times the steps. None where the polish is
    cheap, where the first run was enough, or where none would be.
    """
    gap = float(first.history["relative"][0])
    free = int(np.sum((first.x > 0.0) & (first.x < upper)))
    if gap <= tol or tol <= _TO_ROUNDING or _is_cheap(n_rows, free, upper.size):
        return None
    tighter = 0.5 * _STAGES[0] * tol / gap
    if tighter < _TIGHTEST:
        return None
    return Loosely(tighter, _MORE_STEPS * first.n_iter + _LEAST_STEPS)


def solve_dual(
    problem: SVMDual,
    *,
    tol: float = 1e-6,
    max_iter: int = 1_000_000,
    start: Array | None = None,
    n_rows: int = 1,
    loosely: Loosely | None = None,
) -> tuple[Result, float]:
    """Points from better and better methods, until one is at rest to rounding.

    Parameters
    ----------
    problem : SVMDual
        Classification, regression or one class.
    tol : float
        Largest relative gap; for an indefinite K the largest violation of the KKT
        conditions, in units of the decision function.
    max_iter : int
        Largest number of LIBSVM's iterations and of those that follow.
    start : ndarray of shape (n,), optional
        ``x`` of a machine with smaller bounds. Where it is the solution still, as it
        is when no variable was on its bound, it is certified and returned; otherwise
        it is not used.
    n_rows : int
        Machines that are solved on this kernel.
    loosely : Loosely, optional
        How LIBSVM is run first, from `loosely_after` where rows were solved before.

    Returns
    -------
    Result
        ``x`` holds the variables, or the coefficients of a regression.
    float
        The intercept.
    """
    unit, size, height = problem.unit()
    best: SVMPoint | None = None
    rows: list[dict[str, float]] = []
    n_iter = 0
    given = None if start is None else _within(unit, start / size)
    # A gap is relative; a residual is in the units of the problem, as `tol` is.
    goal = tol if problem.psd else tol / height
    enough_for = partial(_is_enough, goal, n_rows)
    if loosely is None:
        loosely = Loosely(_STAGES[0], max(_LEAST_STEPS, problem.K.shape[0] ** 2))
    attempts = _attempts(unit, goal, max_iter, given, enough_for, loosely)
    for point, at_rest, spent in attempts:
        n_iter = max(spent, 1)  # a start that is the solution was looked at
        certificate = point.certificate
        value = point.value * size * height
        rows.append({"value": value, "relative": certificate.relative})
        enough = at_rest and certificate.relative <= goal
        if best is None or enough or certificate.value < best.certificate.value:
            best = point
        if at_rest:
            break
    assert best is not None
    if problem.psd and n_iter < max_iter and not _is_solved(unit, best, goal):
        best = _on_features(unit, best, goal)
    limits = tol, max_iter
    return _result(problem, unit, best, (size, height), limits, n_iter, History(rows))


def _within(unit: SVMDual, x: Array) -> Array:
    """Variables of a result's ``x``."""
    if unit.domain.n == x.size:
        return np.minimum(x, unit.domain.upper)
    return unit.variables(x)


def _attempts(
    unit: SVMDual,
    tol: float,
    max_iter: int,
    start: Array | None,
    is_enough: Callable[[SVMPoint, int], bool],
    loosely: Loosely,
) -> Iterator[tuple[SVMPoint, bool, int]]:
    """Yield points, whether active sets found nothing to change, and steps so far."""
    if start is not None:
        point = unit.at(unit.domain.rebalance(start))
        if not _restless(unit, point)[0].any() or is_enough(point, unit.domain.n):
            yield point, True, 0
            return
    if unit.domain.balance >= float(unit.domain.upper.sum()):  # one point is feasible
        yield unit.at(unit.domain.upper), True, 0
        return
    is_near = False
    spent = 0
    least = loosely.steps
    for stage in (loosely.tol,) if unit.psd else _STAGES:
        a, steps = _loosely(unit, stage, min(max_iter - spent, least))
        spent += steps
        point = unit.at(unit.domain.project(a))
        yield point, False, spent
        point, at_rest = _settle(unit, point, max_iter - spent, is_enough)
        yield point, at_rest, spent
        if not unit.psd:
            near = _stationary(unit, point)
            yield near, False, spent
            is_near |= min(p.certificate.relative for p in (point, near)) <= tol
        least = 20 * steps + _LEAST_STEPS
        if spent >= max_iter:
            break
    # After many steps of LIBSVM, not after the few that somebody allows.
    if max_iter > _LEAST_STEPS and not (unit.psd or is_near):
        yield ascended(unit, point, tol), False, spent
    if spent >= max_iter:
        return
    corner = None
    for a, corner in interior_points(unit) if unit.psd else ():
        point = unit.at(unit.domain.rebalance(a))
        yield point, False, spent
        if point.certificate.relative <= _AIM * tol:
            point = unit.at(unit.domain.project(corner))
            yield *_settle(unit, point, max_iter - spent, is_enough), spent
        spent += 1
        if spent >= max_iter:
            return
    if corner is not None:
        point = unit.at(unit.domain.project(corner))
        yield *_settle(unit, point, max_iter - spent, is_enough), spent


def _result(
    problem: SVMDual,
    unit: SVMDual,
    point: SVMPoint,
    scales: tuple[float, float],
    limits: tuple[float, int],
    n_iter: int,
    history: History,
) -> tuple[Result, float]:
    """Bring a point back to the units of the problem."""
    size, height = scales
    certificate = unit.certified(point)
    if problem.psd and certificate.relative > limits[0]:
        unit, point = _precisely(unit, point, limits[0])
        certificate = unit.sharpened(point, limits[0])
    worth = size * height if certificate.kind == "gap" else height
    value = certificate.value * worth
    gap = certificate.kind == "gap"
    if gap:
        certificate = replace(certificate, value=value)
    else:
        rounding = certificate.rounding * height
        certificate = Certificate(certificate.kind, value, value, rounding)
    tol, max_iter = limits
    status = certificate.status(tol, out_of_steps=n_iter >= max_iter)
    # Powers of two: what is on its bound stays there.
    a = np.minimum(point.a * size, problem.domain.upper)
    value = point.value * size * height
    x = a if problem.domain.n == problem.K.shape[0] else problem.coef(a)
    b = unit.intercept(point) * height + problem.offset
    return Result(x, value, certificate, status, n_iter, history), b


def _precisely(unit: SVMDual, point: SVMPoint, tol: float) -> tuple[SVMDual, SVMPoint]:
    """Go on with products of more digits, where rounding of K is all that is left.

    K then is an approximation of the kernel that the free variables are moved by, as
    in iterative refinement.
    """
    exact = unit.precisely()
    if exact is None:
        return unit, point
    best, _ = _settle(
        exact,
        exact.at(point.a),
        _ROUNDS,
        lambda new, loose: new.certificate.relative <= tol,
    )
    return exact, best


def _is_solved(unit: SVMDual, point: SVMPoint, tol: float) -> bool:
    """Whether all that may keep a point above `tol` is rounding."""
    found = unit.certified(point)
    return not np.isfinite(found.relative) or found.relative - found.rounding <= tol


@np.errstate(all="ignore")
def _on_features(unit: SVMDual, best: SVMPoint, tol: float) -> SVMPoint:
    """The better of `best` and the machine on the eigenvectors of a low rank.

    Bounds that are large beside a kernel of low rank make the systems of n variables
    singular; those of its features are not.
    """
    if not float(unit.domain.upper.sum()) < _SQUARED:
        return best
    values, V = scipy.linalg.eigh(unit.K, driver="evd", check_finite=False)
    kept = values > _RANK * float(values[-1])
    if 2 * np.count_nonzero(kept) > values.size or not kept.any():
        return best
    features = DenseTiles(V[:, kept] * np.sqrt(values[kept]))
    found, _ = linear_svm(features, unit.domain, margin=unit.margin, tol=tol)
    exact = unit.precisely() or unit
    points = [exact.at(best.a), exact.at(unit.domain.project(found.x))]
    points.append(_settle(exact, points[-1], _ROUNDS, partial(_is_enough, tol, 1))[0])
    return unit.at(min(points, key=lambda point: point.certificate.value).a)


def _loosely(unit: SVMDual, tol: float, limit: int) -> tuple[Array, int]:
    """LIBSVM's point, and how many steps it took."""
    n = unit.K.shape[0]
    upper = unit.domain.upper[:n]
    largest = float(upper.max())
    y = unit.domain.y[:n]
    weight = upper / largest
    given: dict[str, Any] = {"svm_type": 0, "C": largest}
    if unit.domain.n > n:
        y = 0.5 * (unit.margin[:n] - unit.margin[n:])
        given.update(svm_type=3, epsilon=max(0.0, float(y[0] - unit.margin[0])))
    elif not unit.margin.any():
        # LIBSVM fills the first variables up to the balance: it must not run past the
        # last one when rounding errors leave a rest.
        share = unit.domain.balance / float(upper.sum())
        weight = upper
        given = {"svm_type": 2, "nu": min(share, 1.0 - 1e-9)}
    v, _, steps = run_libsvm(
        unit.K, y, tol=tol, max_iter=limit, sample_weight=weight,
        cache_size=_CACHE_MB, **given,
    )  # fmt: skip
    # LIBSVM multiplies C by the weights again: bounds are met to rounding only.
    v = np.where(np.abs(v) >= upper * (1.0 - 1e-12), np.sign(v) * upper, v)
    return unit.domain.rebalance(unit.variables(v)), steps


# --------------------------------------------------------------------------------------
# The polish


def _is_enough(tol: float, n_rows: int, point: SVMPoint, loose: int) -> bool:
    """Whether a point within `tol` is left as it is, not solved to rounding.

    Solving to rounding makes results independent of the order of the samples. It is
    done where `tol` asks for it, and where it is cheap.
    """
    if tol <= _TO_ROUNDING or point.certificate.relative > tol:
        return False
    return not _is_cheap(n_rows, loose, point.v.size)


def _is_cheap(n_rows: int, loose: int, n: int) -> bool:
    """Whether all rows are solved to rounding in milliseconds, or in a small part.

    That is a tenth of an eigendecomposition, about 9 n^3 operations.
    """
    return n_rows * loose**3 <= max(0.1 * n**3, 1e7)


def _settle(
    problem: SVMDual,
    point: SVMPoint,
    rounds: int,
    is_enough: Callable[[SVMPoint, int], bool],
) -> tuple[SVMPoint, bool]:
    """Move the free variables, and those on the wrong bound, until all are at rest."""
    domain = problem.domain
    upper = problem.domain.upper
    best = point
    for _ in range(min(rounds, _ROUNDS)):
        wants, near = _restless(problem, point)
        if not wants.any():
            return point, True
        free = (point.a > 0.0) & (point.a < upper)
        loose = np.flatnonzero(wants | near | free)
        if is_enough(point, loose.size):
            return point, True
        new = problem.at(domain.rebalance(_maximised(problem, point, loose)))
        better = new.certificate.value < best.certificate.value
        best = new if better else best
        if not better and new.value <= point.value:
            break
        point = new
    return best, False


def _stationary(problem: SVMDual, point: SVMPoint) -> SVMPoint:
    """Solve the optimality conditions of the free variables, of whatever curvature.

    On an indefinite kernel rounded maxima of a damped model come near them only, as
    far as bounds are large. Steps end at the first bound; the best point is returned.
    """
    upper = problem.domain.upper
    best = point
    for _ in range(_ROUNDS):
        free = np.flatnonzero((point.a > 0.0) & (point.a < upper))
        if free.size == 0:
            break
        items = free % problem.K.shape[0]
        y = problem.domain.y[free]
        bordered = np.zeros((free.size + 1, free.size + 1))
        bordered[:-1, :-1] = y[:, None] * problem.K[np.ix_(items, items)] * y
        bordered[:-1, -1] = bordered[-1, :-1] = y
        right = np.append(point.gradient[free], 0.0)
        h = np.linalg.lstsq(bordered, right, rcond=1e-14)[0][:-1]
        x = point.a[free]
        most = upper[free]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(h < 0.0, -x / h, np.where(h > 0.0, (most - x) / h, np.inf))
        length = min(1.0, float(room.min()))
        a = point.a.copy()
        a[free] = np.clip(x + length * h, 0.0, most)
        first = free[room <= length * (1.0 + 1e-12)]
        a[first] = np.where(a[first] > 0.5 * upper[first], upper[first], 0.0)
        point = problem.at(problem.domain.rebalance(a))
        if point.certificate.value < best.certificate.value:
            best = point
        elif length == 1.0:
            break
    return best


def _restless(problem: SVMDual, point: SVMPoint) -> tuple[np.ndarray, np.ndarray]:
    """Which variables can be moved for a gain beyond rounding, and which nearly can."""
    domain = problem.domain
    tau = problem.intercept(point) - problem.offset
    reduced = point.gradient - tau * domain.y
    noise = 1e-15 * (np.abs(problem.margin) + abs(tau))
    noise += problem.spread(point.error)
    low, high = point.a <= 0.0, point.a >= domain.upper
    wants = np.where(low, reduced > noise, np.abs(reduced) > noise)
    return np.where(high, reduced < -noise, wants), np.abs(reduced) < _NEAR


def _model(
    problem: SVMDual, loose: np.ndarray, y: Array, upper: Array
) -> QuadraticModel | KernelModel:
    """Model of the variables `loose`, without a copy of nearly all of a large K."""
    n = problem.K.shape[0]
    items = loose % n
    if n > _COPIED and 2 * loose.size > n:
        return KernelModel(problem.K, items, y, upper)
    H = problem.K.take(items, axis=0).take(items, axis=1)  # np.ix_ takes twice as long
    H *= y
    H *= y[:, None]
    return QuadraticModel(H, y, upper)


def _maximised(problem: SVMDual, point: SVMPoint, loose: np.ndarray) -> Array:
    """Best values of the variables `loose`, with all others as they are."""
    part, x = problem.domain.some(point.a, loose)
    y = part.y
    upper = part.upper
    model = _model(problem, loose, y, upper)
    slope = point.gradient[loose] + model.product(point.a[loose])
    model.set_ridge(_RIDGE * model.mean)
    for _ in range(_REFINEMENTS):  # the ridge leaves a little
        gradient = slope - model.product(x) + model.ridge * x
        h = model.maximise(x, gradient - part.multiplier(gradient) * y)
        x = np.clip(x + h, 0.0, upper)
        if np.abs(h).max() <= 1e-15 * np.abs(x).max():
            break
    a = point.a.copy()
    a[loose] = x
    return a
