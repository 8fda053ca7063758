"""Problems with a c.p.d. kernel, solved by Newton's method on an active set.

In the coordinates of `krein.machines.cpd_space` every variant reads

    minimise over (c, b)   lam c'K c + sum_i w_i loss(y_i, f_i),   f = K c + Q b,

with K positive semidefinite (n x n), Q (n x r) a basis of the polynomials (r = 0 when
they are left out) and ``Q'c = 0``. Sums, not means; lam is the paper's lambda.

Source: Walder, Chapelle (2007), equation (14) and Algorithm 1, corrected in four
places: equation (17) with P and P' exchanged; a run ends only after an undamped step
(line 32 also stops after a damped one, above the optimum in a few percent of random
problems); polynomials that are dependent on the violators get the step of least norm
(line 17 is singular there); and a smaller problem hands over its point, with lam in
proportion to its size, not only its violators. The line search is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from krein.arrays import Array
from krein.machines._cpd_systems import Factor, Gradients, Point, System, interpolant
from krein.machines._loop import Iterate, run
from krein.machines.cpd_columns import Columns
from krein.machines.losses import Loss, Squared
from krein.result import Certificate, Result

# An optimum below this share of the objective at f = 0 counts as zero.
_ZERO = 1e-8
# Q'a = 0 to this share of sum |a|, the rounding of a solved system.
_FEASIBLE = 1e-13
# Below this size the first step takes all samples; above, a sample of two fifths of
# the size says where to start.
_SMALL = 600
_ROUGH = 1e-2
# A damped step is taken where it closes this share of the gap of the full one.
_BETTER = 0.1
_ROUNDING = 1e-9
_REFINEMENTS = 2
_FARTHEST = 10.0  # longest step along a path, in units of the last one
# Conjugate gradients leave this share of the gap, or of `tol` where it is small.
_COARSE, _NEAR, _FINE = 1e-6, 1e-5, 1e-6
# To the limit of small lam: its fall from round to round and its least value, as a
# share of the mean diagonal entry of K, and points that are looked at.
_FALL, _LEAST, _POINTS = 1e-2, 1e-10, 36


@dataclass(frozen=True)
class CPDProblem:
    """One objective: kernel columns, polynomials, loss and regularisation.

    Attributes
    ----------
    columns : Columns
        The positive semidefinite kernel K by columns.
    null : ndarray of shape (n, r)
        Q, what is not regularised.
    loss : Loss
        Holds labels and weights.
    lam : float
        Regularisation; 0 is for `cpd_limit`.
    """

    columns: Columns
    null: Array
    loss: Loss
    lam: float

    def __post_init__(self) -> None:
        least, most = self.loss.weight.min(), self.loss.weight.max()
        with np.errstate(all="ignore"):
            ends = self.lam / most, self.lam / least
        if self.lam and not np.finfo(float).tiny <= ends[0] <= ends[1] < np.inf:
            raise ValueError(
                f"alpha = {self.lam:.3g} over sample weights from {least:.3g} to "
                f"{most:.3g} leaves the range of floating-point numbers: divide the "
                "weights by their size"
            )

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.null.shape[0]

    def restrict(self, rows: np.ndarray) -> CPDProblem:
        """Return the problem of some of the samples, lam in proportion.

        Its solution then resembles that of the whole.
        """
        loss = self.loss.restrict(rows)
        share = float(loss.weight.sum() / self.loss.weight.sum())
        return CPDProblem(
            self.columns.restrict(rows), self.null[rows], loss, share * self.lam
        )

    def outputs(self, c: Array, b: Array) -> Array:
        """Return f = K c + Q b."""
        s = np.flatnonzero(c)
        return self.columns.product(s, c[s]) + self.null @ b

    def value(self, c: Array, b: Array, f: Array) -> float:
        """Objective at (c, b) with outputs f."""
        return self.lam * float(c @ (f - self.null @ b)) + self.loss.value(f)

    def _feasible(self, loss: Loss, a: Array, Q: Array) -> Array | None:
        """Dual variables near `a` in the domain of the loss, with ``Q'a = 0``.

        The constraint is repaired by moving each variable in proportion to its room;
        None if one would leave its domain.
        """
        low, high = loss.bounds(self.lam)
        a = np.clip(a, low, high)
        size = float(np.abs(a).sum())
        for _ in range(2):
            excess = Q.T @ a
            if np.abs(excess).max(initial=0.0) <= _FEASIBLE * size:
                return a
            room = np.minimum(np.minimum(a - low, high - a), size)
            share = Q @ (np.linalg.pinv((Q.T * room) @ Q, hermitian=True) @ excess)
            a = a - room * share
            if np.abs(share).max() > 1.0:
                return None
        return a if np.abs(Q.T @ a).max() <= 10 * _FEASIBLE * size else None

    @cached_property
    def _zero(self) -> float:
        return _ZERO * self.loss.value(np.zeros(self.n))

    def unit(self, value: float) -> float:
        """What a gap is measured by: the objective, unless the optimum is zero."""
        return max(value, self._zero, 1e-300)

    def certificate(self, value: float, bound: float) -> Certificate:
        """Certify by a gap."""
        gap = max(0.0, value - bound)
        return Certificate("gap", gap, gap / self.unit(value))


def cpd_newton(
    problem: CPDProblem,
    *,
    tol: float = 1e-10,
    max_iter: int = 100,
    start: Sequence[tuple[Array, ...]] = (),
) -> Result:
    """Minimise the objective of a `CPDProblem`.

    Parameters
    ----------
    problem : CPDProblem
        Kernel columns, polynomials, loss, lam.
    tol : float
        Relative certified gap. The method ends at the exact active set, so that a small
        `tol` costs at most one or two more steps.
    max_iter : int
        Newton steps.
    start : sequence of tuple of ndarray
        Points (c, b) with ``Q'c = 0``, or (c, b, f) where the outputs are known: the
        run starts from the last one or, if it is better, from the best point of the
        line through the last two. Solutions for larger values of lam are good ones.

    Returns
    -------
    Result
        ``x`` is c followed by b; ``info`` has ``c``, ``b`` and the outputs ``f``.
    """
    point = _point(problem, *(start[-1] if start else _from_sample(problem, max_iter)))
    if len(start) > 1:
        before = _point(problem, *start[-2])
        length = _search(problem, before, point, _FARTHEST)
        ahead = _blend(problem, before, point, length)
        point = ahead if ahead.value < point.value else point
    return run(_steps(problem, point, tol), tol=tol, max_iter=max_iter)


def _from_sample(problem: CPDProblem, max_iter: int) -> tuple[Array, Array]:
    """Solve for two fifths roughly: their violators are mostly those of the whole."""
    n = problem.n
    c, b = np.zeros(n), np.zeros(problem.null.shape[1])
    if n <= _SMALL:
        return c, b
    some = np.sort(np.random.default_rng(n).permutation(n)[: 2 * n // 5])
    result = cpd_newton(problem.restrict(some), tol=_ROUGH, max_iter=max_iter)
    c[some] = result.info["c"]
    return c, result.info["b"]


def _point(problem: CPDProblem, c: Array, b: Array, f: Array | None = None) -> Point:
    f = problem.outputs(c, b) if f is None else f
    return Point(c, b, f, problem.value(c, b, f))


def _steps(problem: CPDProblem, point: Point, tol: float) -> Iterator[Iterate]:
    factor = Factor(problem.columns)
    gradients = Gradients(problem.columns, problem.null, problem.lam)
    bound = 0.0  # every loss is non-negative
    settled, exact, stuck = False, True, False
    while True:
        system = System(*problem.loss.system(point.f, problem.lam))
        now = _iterate(problem, point, bound, system.s.size)
        # A rough step that would end the run, or is no use, is made sharp first.
        sharp = not exact and (now.certificate.relative <= tol or stuck)
        if not sharp:
            yield now
        if settled:
            return  # nothing better can be had, and the certificate says so
        fine = _FINE * tol * problem.unit(point.value)
        last = sharp or now.certificate.relative < _NEAR
        rough = fine if last else max(fine, _COARSE * now.certificate.value)
        c, b, exact = gradients.step(system, point, rough, fine) or (
            *_full_step(problem, factor, point.b, system),
            True,
        )
        new = _point(problem, c, b)
        bound = max(bound, _dual(problem, new, system.s))
        # A full step that keeps its set is the optimum, to rounding. No other step is:
        # a damped one may keep the set far from it.
        settled = exact and _same_set(problem, new.f, system.s)
        if not settled:
            new = _damped(problem, point, new, bound)
            stuck = new.value >= point.value
            settled = exact and stuck  # rounding: no step improves
        if settled and new.value > point.value * (1 + _ROUNDING):
            continue
        point = new


def _iterate(problem: CPDProblem, point: Point, bound: float, size: int) -> Iterate:
    return Iterate(
        np.concatenate([point.c, point.b]),
        point.value,
        certificate=problem.certificate(point.value, bound),
        bound=bound,
        facts={"size": size},
        info={"c": point.c, "b": point.b, "f": point.f},
    )


def _damped(problem: CPDProblem, old: Point, new: Point, bound: float) -> Point:
    """Return the best point from old to new where it is clearly better than new."""
    best = _blend(problem, old, new, _search(problem, old, new, 1.0))
    worth = _BETTER * (new.value - bound)
    return best if new.value > min(old.value, best.value + worth) else new


def _dual(problem: CPDProblem, point: Point, s: np.ndarray) -> float:
    """Lower bound of the optimum from the coefficients of a full step on s."""
    loss, c = problem.loss.restrict(s), point.c[s]
    a = problem._feasible(loss, c, problem.null[s])
    if a is None:
        return 0.0  # every loss is non-negative
    if np.array_equal(a, c):
        energy = float(point.c @ (point.f - problem.null @ point.b))
    else:
        energy = float(a @ problem.columns.within(s, a))
    return loss.conjugate(a, problem.lam) - problem.lam * energy


def _same_set(problem: CPDProblem, f: Array, s: np.ndarray) -> bool:
    again = problem.loss.system(f, problem.lam)[0]
    return s.size < problem.n and np.array_equal(np.sort(s), np.sort(again))


def _search(problem: CPDProblem, old: Point, new: Point, farthest: float) -> float:
    """Step length along old -> new, where f is affine."""
    g_old, g_new = old.f - problem.null @ old.b, new.f - problem.null @ new.b
    dc, dg = new.c - old.c, g_new - g_old
    linear = 2 * problem.lam * float(dc @ g_old)
    square = problem.lam * max(float(dc @ dg), 0.0)
    return problem.loss.search(old.f, new.f - old.f, linear, square, farthest)


def _blend(problem: CPDProblem, old: Point, new: Point, t: float) -> Point:
    c = old.c + t * (new.c - old.c)
    b = old.b + t * (new.b - old.b)
    f = old.f + t * (new.f - old.f)
    return Point(c, b, f, problem.value(c, b, f))


def _full_step(
    problem: CPDProblem, factor: Factor, b: Array, system: System
) -> tuple[Array, Array]:
    """Solve ``[diag(shift) + K_ss, Q_s; Q_s', 0] [c_s; b] = [target; 0]`` for c, b."""
    c = np.zeros(problem.n)
    if system.s.size == 0:
        return c, b
    root = np.zeros(problem.n)
    root[system.s] = 1.0 / np.sqrt(system.shift)
    wanted = np.zeros(problem.n)
    wanted[system.s] = system.target
    order = factor.update(system.s, root)
    scale = root[order]
    Q = problem.null[order]
    right = scale[:, None] * np.column_stack([Q, wanted[order]])
    U = factor.solve(right)
    UQ, u = U[:, :-1], U[:, -1]
    if Q.shape[1] == 0:
        c[order] = scale * factor.solve_transposed(u)
        return c, b
    # Least norm of the change, where polynomials coincide on the violators.
    inverse = np.linalg.pinv(UQ, rcond=1e-12)
    b = b + inverse @ (u - UQ @ b)
    c[order] = scale * factor.solve_transposed(u - UQ @ b)
    for _ in range(_REFINEMENTS):  # weights of many sizes leave some of Q'c
        step = inverse @ (inverse.T @ (Q.T @ c[order]))
        b = b + step
        c[order] -= scale * factor.solve_transposed(UQ @ step)
    return c, b


def cpd_limit(
    problem: CPDProblem,
    *,
    tol: float = 1e-10,
    max_iter: int = 100,
    start: Sequence[tuple[Array, ...]] = (),
) -> Result:
    """Solve for lam = 0, the limit of small lam: least norm among functions of no loss.

        minimise c'K c   subject to   f_i = y_i,  or  y_i f_i >= 1 for the hinge.

    The solution interpolates the labels of its support (all samples, without a hinge),
    which Lemma 4.3 of the paper makes possible. The support is found by the method of
    multipliers (Hestenes, 1969; Powell, 1969): solutions for ``y + lam c``, c the last
    one. Parameters and result are those of `cpd_newton`; the gap is the loss left.
    """
    if not isinstance(problem.loss, Squared):
        raise ValueError(
            "alpha=0 is for loss='squared_hinge' and loss='squared': this loss has no "
            "minimum where a function separates the classes. Use alpha > 0"
        )
    result = run(_multipliers(problem, max_iter, start), tol=tol, max_iter=_POINTS)
    if not result.certificate.relative <= 1.0:
        raise ValueError(
            "alpha=0 asks for a function without loss on the training items, and none "
            "was found: equal items may have different targets, polynomial='zero' "
            "(which 'auto' tries) and n_basis leave functions out, and so do rounding "
            "errors for items that nearly coincide. Use alpha > 0"
        )
    return result


def _multipliers(
    problem: CPDProblem, max_iter: int, start: Sequence[tuple[Array, ...]]
) -> Iterator[Iterate]:
    """Yield the polynomial of each round, its point, the interpolant of its support."""
    n, y = problem.n, problem.loss.y
    loss = replace(problem.loss, weight=np.ones(n))  # no weight matters without loss
    some = np.linspace(0, n - 1, min(n, 100)).astype(int)
    size = abs(np.trace(problem.columns.block(some, some))) / some.size or 1.0
    c, lam, support = np.zeros(n), size, np.arange(n)
    while True:
        lam = max(_FALL * lam, _LEAST * size)
        moved = replace(loss, y=y + lam * loss.clip(c, lam))
        inner = replace(problem, loss=moved, lam=lam)
        info = cpd_newton(inner, max_iter=max_iter, start=start).info
        c, b = info["c"], info["b"]
        yield _without_loss(problem, np.zeros(n), b)
        yield _without_loss(problem, c, b)
        s = np.flatnonzero(loss.clip(c, lam))
        exact = interpolant(problem.columns, problem.null, y, s, b)
        yield (last := _without_loss(problem, *exact))
        if last.certificate.relative <= 1.0 and np.array_equal(s, support):
            return  # what is left is rounding
        start, support = [(c, b, info["f"])], s


def _without_loss(problem: CPDProblem, c: Array, b: Array) -> Iterate:
    """Certify by the loss; `tol` also asks for f = y on the support, of right signs."""
    loss, inside = problem.loss, problem._feasible(problem.loss, c, problem.null)
    point = _point(problem, c if inside is None else inside, b)
    s = np.flatnonzero(point.c)
    off = max(point.value, float(loss.weight[s] @ (loss.y - point.f)[s] ** 2))
    relative = np.inf if inside is None else off / max(problem._zero, 1e-300)
    now = _iterate(problem, point, 0.0, s.size)
    return replace(now, certificate=replace(now.certificate, relative=relative))
