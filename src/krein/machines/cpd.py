"""Problems with a c.p.d. kernel, solved by Newton's method on an active set.

In the coordinates of `krein.machines.cpd_space` every variant reads

    minimise over (c, b)   lam c'K c + sum_i w_i loss(y_i, f_i),   f = K c + Q b,

with Q (n x r) a basis of the polynomials (r = 0 when they are left out), ``Q'c = 0``
and K (n x n) positive semidefinite for such c. Sums, not means; lam is the paper's
lambda.

Source: Walder, Chapelle (2007), equation (14) and Algorithm 1, corrected in four
places: equation (17) with P and P' exchanged; a run ends only after an undamped step
(line 32 also stops after a damped one, above the optimum in a few percent of random
problems); polynomials that are dependent on the violators get the step of least norm
(line 17 is singular there); and a smaller problem hands over its point, with lam in
proportion to its size, not only its violators. The line search is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from krein.arrays import Array
from krein.machines._loop import Iterate, run
from krein.machines.cpd_columns import Columns, System
from krein.machines.losses import Loss
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
# Coefficients of a step that leave their domain by this share give no useful bound.
_FAR = 1e-4
# So many steps in a row without gain end a run: rounding allows no more.
_IDLE = 5
# A system may leave this share of `tol` in the objective.
_FINE = 1e-6


@dataclass(frozen=True)
class Point:
    """Coefficients c, b with K c, outputs f and the objective."""

    c: Array
    b: Array
    image: Array
    f: Array
    value: float


@dataclass(frozen=True)
class CPDProblem:
    """One objective: kernel columns, polynomials, loss and regularisation.

    Attributes
    ----------
    K : Columns
        The kernel.
    null : ndarray of shape (n, r)
        Q, what is not regularised.
    loss : Loss
        Holds labels and weights.
    lam : float
        Regularisation; 0 is for `krein.machines.cpd_limit`.
    """

    K: Columns
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
        K = self.K.restrict(rows)
        return CPDProblem(K, self.null[rows], loss, share * self.lam)

    def point(
        self, c: Array, b: Array, image: Array | None = None, f: Array | None = None
    ) -> Point:
        """Return what follows from c and b; `image` is K c where it is known.

        So are outputs f that are known better than by their sum.
        """
        image = self.K @ c if image is None else image
        f = image + self.null @ b if f is None else f
        return Point(c, b, image, f, self.lam * float(c @ image) + self.loss.value(f))

    def along(self, point: Point, step: Point) -> float:
        """Best t in [0, 1] for `point` plus t times `step`."""
        linear = 2 * self.lam * float(step.c @ point.image)
        square = self.lam * max(float(step.c @ step.image), 0.0)
        return self.loss.search(point.f, step.f, linear, square)

    def feasible(self, a: Array) -> Array | None:
        """Dual variables near `a` in the domain of the loss, with ``Q'a = 0``.

        The constraint is repaired by moving each variable in proportion to its room;
        None if one would leave its domain.
        """
        low, high = self.loss.bounds(self.lam)
        a = np.clip(a, low, high)
        Q = self.null
        for slack in (_FEASIBLE, _FEASIBLE, 10 * _FEASIBLE):
            size = float(np.abs(a).sum())
            excess = Q.T @ a
            if np.abs(excess).max(initial=0.0) <= slack * size:
                return a
            room = np.minimum(np.minimum(a - low, high - a), size)
            share = Q @ (np.linalg.pinv((Q.T * room) @ Q, hermitian=True) @ excess)
            if np.abs(share[room > 0.0]).max(initial=0.0) > 1.0:
                return None
            a = a - room * share
        return None

    def dual(self, point: Point, far: float = np.inf) -> float:
        """Lower bound of the optimum from the coefficients of a full step.

        Coefficients that have to be moved by more than the share `far` get the bound
        that holds always: theirs would be poor, and costs a product with K.
        """
        a = self.feasible(point.c)
        if a is None:
            return 0.0  # every loss is non-negative
        image = point.image
        if not np.array_equal(a, point.c):
            if float(np.abs(a - point.c).sum()) > far * float(np.abs(point.c).sum()):
                return 0.0
            image = self.K @ a
        return self.loss.conjugate(a, self.lam) - self.lam * float(a @ image)

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
    start: tuple[Array, ...] | None = None,
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
    start : tuple of ndarray, optional
        A point (c, b) with ``Q'c = 0``, or (c, b, K c): the solution for a larger lam
        is a good one.

    Returns
    -------
    Result
        ``x`` is c followed by b; ``info`` has ``c``, ``b`` and ``image``, K c.
    """
    if problem.loss.all_active:
        problem.K.compute()
    point = problem.point(*(start or _from_sample(problem, max_iter)))
    return run(_steps(problem, point, tol), tol=tol, max_iter=max_iter)


def _from_sample(problem: CPDProblem, max_iter: int) -> tuple[Array, Array]:
    """Solve for two fifths roughly: their violators are mostly those of the whole."""
    n = problem.n
    c = np.zeros(n)
    b = np.zeros(problem.null.shape[1])
    if n <= _SMALL:
        return c, b
    some = np.sort(np.random.default_rng(n).permutation(n)[: 2 * n // 5])
    result = cpd_newton(problem.restrict(some), tol=_ROUGH, max_iter=max_iter)
    c[some] = result.info["c"]
    return c, result.info["b"]


def _steps(problem: CPDProblem, point: Point, tol: float) -> Iterator[Iterate]:
    bound = 0.0  # every loss is non-negative
    settled = False
    idle = 0
    while True:
        model = problem.loss.system(point.f, problem.lam)
        s = model[0]
        yield _iterate(problem, point, bound, s.size)
        if settled:
            return  # nothing better can be had, and the certificate says so
        left = _FINE * tol * problem.unit(point.value)
        new = _full_step(problem, point, model, left)
        bound = max(bound, problem.dual(new, max(_FAR, tol)))
        # A full step that keeps its set is the optimum, to rounding. No other step is:
        # a damped one may keep the set far from it.
        settled = _same_set(problem, new.f, s)
        if not settled:
            new = _damped(problem, point, new, bound)
            # A step without gain may have corrected the set: an outlier that rounding
            # put outside of the margin stops the line search, and is back after it.
            idle = idle + 1 if new.value >= point.value else 0
            settled = idle > 0 and (idle == _IDLE or not _changes(problem, new.f, s))
        if not settled or new.value <= point.value * (1 + _ROUNDING):
            point = new


def _iterate(problem: CPDProblem, point: Point, bound: float, size: int) -> Iterate:
    return Iterate(
        np.concatenate([point.c, point.b]),
        point.value,
        certificate=problem.certificate(point.value, bound),
        bound=bound,
        facts={"size": size},
        info={"c": point.c, "b": point.b, "image": point.image},
    )


def _full_step(
    problem: CPDProblem, point: Point, model: tuple[Array, ...], left: float
) -> Point:
    """Solve ``[diag(shift) + K_ss, Q_s; Q_s', 0] [c_s; b] = [target; 0]`` for c, b.

    With ``R = diag(shift)^-1/2`` and ``c = R u`` the first rows are, projected off RQ,
    those of `krein.machines.cpd_columns`; b is a least-squares fit of what is left,
    with the least change where polynomials coincide on the violators. A residual r of
    the projected system leaves a gap of ``lam |r|^2``, at most `left`.
    """
    (s, shift, target), c = model, np.zeros(problem.n)
    if s.size == 0:
        return problem.point(c, point.b)
    root = 1.0 / np.sqrt(shift)
    Q = problem.null[s]
    W, S, Vt = np.linalg.svd(root[:, None] * Q, full_matrices=False)
    rank = int(np.sum(S > 1e-12 * S.max(initial=0.0)))
    W = W[:, :rank]
    right = root * target
    start = point.c[s] / root
    tol = float(np.sqrt(left / problem.lam))
    system = System(s, root, W, right - W @ (W.T @ right), start, tol)
    c[s] = root * problem.K.solve(system)
    image = problem.K @ c
    rest = root * (target - shift * c[s] - image[s] - Q @ point.b)
    b = point.b + Vt[:rank].T @ ((W.T @ rest) / S[:rank])
    f = _on_their_side(problem, s, target - shift * c[s], image + problem.null @ b, c)
    return problem.point(c, b, image, f)


def _on_their_side(
    problem: CPDProblem, s: np.ndarray, solved: Array, f: Array, c: Array
) -> Array:
    """Outputs f, of active samples s those that the system was `solved` for.

    Only where rounding alone puts a sample on the other side of the margin: outputs of
    an outlier are rounded by more than it violates, its coefficient knows the side.
    """
    meant = f.copy()
    meant[s] = solved
    bend, wanted = problem.loss.slopes(f)[1], problem.loss.slopes(meant)[1]
    crossed = np.flatnonzero((bend > 0.0) != (wanted > 0.0))
    if not crossed.size:
        return f
    error = problem.K.product_and_error(c)[1][crossed]
    near = crossed[np.abs(f - meant)[crossed] <= error]
    f[near] = meant[near]
    return f


def _same_set(problem: CPDProblem, f: Array, s: np.ndarray) -> bool:
    return s.size < problem.n and not _changes(problem, f, s)


def _changes(problem: CPDProblem, f: Array, s: np.ndarray) -> bool:
    """Whether the active samples at outputs f are others than s."""
    return not np.array_equal(s, problem.loss.system(f, problem.lam)[0])


def _damped(problem: CPDProblem, old: Point, new: Point, bound: float) -> Point:
    """Return the best point from old to new where it is clearly better than new."""
    dc = new.c - old.c
    db = new.b - old.b
    dg = new.image - old.image
    step = problem.point(dc, db, dg, new.f - old.f)
    t = problem.along(old, step)
    f = old.f + t * step.f
    best = problem.point(old.c + t * dc, old.b + t * db, old.image + t * dg, f)
    worth = _BETTER * (new.value - bound)
    return best if new.value > min(old.value, best.value + worth) else new
