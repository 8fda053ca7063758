"""The limit of small lam of a c.p.d. problem: interpolation and hard margin.

    minimise c'K c   subject to   f_i = y_i,  or  y_i f_i >= 1 for the squared hinge,
    f = K c + Q b,  Q'c = 0.

Source: Walder, Chapelle (2007), Lemma 4.3 and equation (20), the system (17) for lam =
0, which is solvable where the kernel is conditionally positive *definite*: for items
that differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.kernels.splines import orthonormal_range
from krein.machines._loop import Iterate, run
from krein.machines.cpd import CPDProblem, cpd_newton
from krein.machines.losses import Squared
from krein.result import Result

_FALL = 1e-2  # of lam from round to round
_LEAST = 1e-10  # value of lam, as a share of the mean diagonal entry of the kernel
_POINTS = 36  # points that are looked at, three in a round
_LOOKED_AT = 100  # samples that tell the size of the kernel
_REFINEMENTS = 3
_EPS = float(np.finfo(float).eps)


def cpd_limit(
    problem: CPDProblem,
    *,
    tol: float = 1e-10,
    max_iter: int = 100,
    start: tuple[Array, ...] | None = None,
) -> Result:
    """Solve for lam = 0, the limit of small lam: least norm among functions of no loss.

    The solution interpolates the labels of its support (all samples, without a hinge),
    which Lemma 4.3 of the paper makes possible. The support is found by the method of
    multipliers (Hestenes, 1969; Powell, 1969): solutions for ``y + lam c``, c the last
    one. Parameters and result are those of `krein.machines.cpd.cpd_newton`; the gap is
    the loss that is left, on the support that of both sides. ``info["norm2"]`` is c'Kc.
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
            f"was found: {_reason(problem)}. Use alpha > 0"
        )
    return result


def _reason(problem: CPDProblem) -> str:
    """Name two equal items of different targets, or what else it may be."""
    y = problem.loss.y
    rows = np.column_stack([problem.K.dense(), problem.null])
    # Equal items have equal rows, and so the same place on any line.
    place = rows @ np.random.default_rng(0).standard_normal(rows.shape[1])
    order = np.argsort(place, kind="stable")
    close = np.diff(place[order]) <= 1e-9 * float(np.ptp(place))
    contradictions = np.flatnonzero(close & (np.diff(y[order]) != 0.0))
    if contradictions.size:
        first = contradictions[0]
        i, j = sorted(order[first : first + 2].tolist())
        return (
            f"the data contradict each other, items {i} and {j} of those with a weight "
            f"are equal to the kernel and have the targets {y[i]:g} and {y[j]:g}"
        )
    return (
        "polynomial='zero' (which 'auto' and 'separable' try) and n_basis leave "
        "functions out, and so do rounding errors for items that nearly coincide"
    )


def _multipliers(
    problem: CPDProblem, max_iter: int, start: tuple[Array, ...] | None
) -> Iterator[Iterate]:
    """Yield the polynomial of each round, its point, the interpolant of its support."""
    n = problem.n
    y = problem.loss.y
    loss = replace(problem.loss, weight=np.ones(n))  # no weight matters without loss
    size = _size(problem)
    c = np.zeros(n)
    lam = size
    support = np.arange(n)
    while True:
        lam = max(_FALL * lam, _LEAST * size)
        moved = replace(loss, y=y + lam * np.clip(c, *loss.bounds(lam)))
        inner = replace(problem, loss=moved, lam=lam)
        info = cpd_newton(inner, max_iter=max_iter, start=start).info
        c = info["c"]
        b = info["b"]
        yield _without_loss(problem, np.zeros(n), b)
        yield _without_loss(problem, c, b)
        s = np.flatnonzero(np.clip(c, *loss.bounds(lam)))
        last = _without_loss(problem, *interpolant(problem, s, b))
        yield last
        if last.certificate.relative <= 1.0 and np.array_equal(s, support):
            return  # what is left is rounding
        start = (c, b, info["image"])
        support = s


def _size(problem: CPDProblem) -> float:
    """Mean diagonal entry of the kernel, projected off the polynomials."""
    some = np.linspace(0, problem.n - 1, min(problem.n, _LOOKED_AT)).astype(int)
    K = problem.K.restrict(some).dense()
    W, _ = orthonormal_range(problem.null[some])
    trace = float(np.trace(K)) - float(np.sum(W * (K @ W)))
    return abs(trace) / some.size or 1.0


def interpolant(problem: CPDProblem, s: np.ndarray, b: Array) -> tuple[Array, Array]:
    """Return c on s, and b nearest to the given one, with f = y on s: equation (20).

    ``[K_ss, W; W', 0] [c; v] = [y; 0]``, W an orthonormal basis of Q_s, Q_s b = W v.
    A ridge at the level of rounding settles samples that coincide; refinements take
    its influence away.
    """
    y = problem.loss.y
    m = s.size
    c = np.zeros(y.size)
    if m == 0:
        return c, b
    Q = problem.null[s]
    W, _ = orthonormal_range(Q)
    K = problem.K.restrict(s).dense()
    system = np.zeros((m + W.shape[1], m + W.shape[1]))
    system[:m, :m] = K
    system[:m, m:] = W
    system[m:, :m] = W.T
    shifted = system.copy()
    shifted[range(m), range(m)] += 4 * _EPS * float(np.linalg.norm(K)) or 1.0
    right = np.append(y[s], np.zeros(W.shape[1]))
    x = np.zeros_like(right)
    with np.errstate(all="ignore"):  # a system without solution leaves float64
        factor = scipy.linalg.lu_factor(shifted, check_finite=False)
        for _ in range(_REFINEMENTS):
            rest = right - system @ x
            x = x + scipy.linalg.lu_solve(factor, rest, check_finite=False)
    if not np.isfinite(x).all():
        return c, b
    c[s] = x[:m]
    step, *_ = np.linalg.lstsq(Q, W @ x[m:] - Q @ b, rcond=1e-12)
    return c, b + step


def _without_loss(problem: CPDProblem, c: Array, b: Array) -> Iterate:
    """Certify by the loss; `tol` also asks for f = y on the support, of right signs."""
    loss = problem.loss
    inside = problem.feasible(c)
    point = problem.point(c if inside is None else inside, b)
    s = np.flatnonzero(point.c)
    left = point.value
    certificate = problem.certificate(left, 0.0)
    both_sides = float(loss.weight[s] @ (loss.y - point.f)[s] ** 2)
    relative = max(left, both_sides) / problem.unit(0.0)
    if inside is None:
        relative = np.inf
    return Iterate(
        np.concatenate([point.c, point.b]),
        left,
        certificate=replace(certificate, relative=relative),
        bound=0.0,
        facts={"size": s.size},
        info={
            "c": point.c,
            "b": point.b,
            "image": point.image,
            "norm2": float(point.c @ point.image),
        },
    )
