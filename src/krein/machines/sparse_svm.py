"""Many SVM duals on one kernel that is only multiplied, one per class.

For each column y of labels -1 and +1, maximise ``y'v - v'Kv/2`` over the signed
coefficients v = y a with ``0 <= a_i <= upper_i, sum v = 0``: the dual of the SVM with
an intercept. Two kinds of step alternate, for all columns at once, since they share the
products with K:

- accelerated projected gradient steps of length 1 / ||K||, the momentum of a column
  dropped where it points uphill (Beck, Teboulle, 2009, SIAM J. Imaging Sci. 2;
  O'Donoghue, Candes, 2015, Found. Comput. Math. 15): they find which variables lie on
  their bounds;
- conjugate gradients on the free variables of a column, within the vectors of sum
  zero, taken where the objective grows (Dostal, 2009, Optimal Quadratic Programming
  Algorithms): they give the digits.

Nothing is factorised or formed: memory is that of a few blocks of vectors. A column is
done when its certified relative gap is at most `tol`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.machines.box import BalancedBox
from krein.machines.svm_dual import box_gap
from krein.result import Certificate, History, Result

_EPS = float(np.finfo(np.float64).eps)
_COLUMNS = 64  # that go together
_STEPS = 15  # of the gradient method, before free variables are solved for
_LOOK = 5  # gradient steps between two looks at the gap
_INNER = 60  # conjugate gradients at most
_PRODUCTS = 1000  # at most for one C of a search
_PATIENCE = 20  # rounds in which no objective grows by more than rounding


def sparse_svm_dual(
    K: Any,
    norm: float,
    upper: Array,
    Y: Array,
    *,
    tol: float,
    max_iter: int,
    start: Array | None = None,
) -> list[tuple[Result, float]]:
    """Solve one dual per column of Y.

    Parameters
    ----------
    K : matrix of shape (n, n), or anything with ``K @ V``
        Positive semidefinite.
    norm : float
        At least its largest eigenvalue.
    upper : ndarray of shape (n,)
        Upper bounds of the variables.
    Y : ndarray of shape (n, k)
        Labels -1 and +1.
    tol : float
        Largest relative gap.
    max_iter : int
        Largest number of products with a block of columns.
    start : ndarray of shape (n, k), optional
        Signed coefficients within the bounds, each column of sum zero.

    Returns
    -------
    list of (Result, float)
        ``x`` holds the variables in the box; the number is the intercept.
    """
    blocks = _solved(K, norm, upper, Y, start, tol, max_iter)
    return [found for block in blocks for found in block.results(tol, max_iter)]


def sparse_svm_path(
    K: Any, norm: float, uppers: Sequence[Array], Y: Array, *, tol: float = 1e-2
) -> tuple[list[Array], list[Array]]:
    """Solve all columns for ascending bounds, loosely, as `svm_path` does.

    Each starts from the one before. Once no variable is on its bound the solution is
    that of all larger bounds.

    Returns
    -------
    coef : list of ndarray of shape (n, k)
        Signed coefficients on K, one array for each of `uppers`.
    intercept : list of ndarray of shape (k,)
    """
    coef: list[Array] = []
    intercept: list[Array] = []
    bound = True
    for upper in uppers:
        if bound:
            start = coef[-1] if coef else None
            blocks = list(_solved(K, norm, upper, Y, start, tol, _PRODUCTS))
            V = np.hstack([block.whole.V for block in blocks])
            b = np.concatenate([block.intercepts(block.whole) for block in blocks])
            bound = bool(np.any(np.abs(V).max(axis=1) >= upper * (1.0 - 1e-9)))
        coef.append(V)
        intercept.append(b)
    return coef, intercept


def _solved(
    K: Any,
    norm: float,
    upper: Array,
    Y: Array,
    start: Array | None,
    tol: float,
    max_iter: int,
) -> Iterator[_Block]:
    """Yield blocks of columns, solved."""
    for first in range(0, Y.shape[1], _COLUMNS):
        some = slice(first, first + _COLUMNS)
        given = None if start is None else start[:, some]
        block = _Block(K, norm, np.ascontiguousarray(Y[:, some]), upper, given)
        block.solve(tol, max_iter)
        yield block


@dataclass
class _Columns:
    """Points of the columns that are not done, K times them, and their bounds."""

    place: np.ndarray
    Y: Array
    low: Array
    high: Array
    V: Array
    F: Array

    def values(self) -> Array:
        """Objective of each column."""
        return _inner(self.V, self.Y - 0.5 * self.F)

    def keep(self, kept: np.ndarray) -> _Columns:
        """Return some of the columns."""
        parts = (self.Y, self.low, self.high, self.V, self.F)
        some = (np.take(part, kept, axis=1) for part in parts)  # in the order of C
        return _Columns(self.place[kept], *some)

    def free(self) -> Array:
        """1 where a variable is between its bounds, else 0."""
        return ((self.V > self.low) & (self.V < self.high)).astype(float)


class _Block:
    """Columns that are solved together."""

    def __init__(
        self, K: Any, norm: float, Y: Array, upper: Array, start: Array | None
    ) -> None:
        self.K = K
        self.norm = norm
        self.upper = upper
        self.boxes = [BalancedBox(upper, y) for y in Y.T]
        self.history = [History() for _ in self.boxes]
        self.products = 0
        self.idle = 0
        self.highest = np.zeros(Y.shape[1])
        bound = upper[:, None]
        if start is None:
            start = bound * (Y - upper @ Y / upper.sum())
        low = np.minimum(Y, 0.0) * bound
        high = np.maximum(Y, 0.0) * bound
        V, F = _best_of_ray(start, self.multiply(start), Y, bound)
        self.whole = _Columns(np.arange(Y.shape[1]), Y, low, high, V, F)
        self.columns = self.whole  # that are not done

    def multiply(self, V: Array) -> Array:
        """K V, counted."""
        self.products += 1
        return self.K @ V

    def solve(self, tol: float, max_iter: int) -> None:
        """Alternate the two kinds of step until all columns are done."""
        while self.columns.place.size:
            self._gradient_steps(tol)
            self._look(tol, False)
            self._free_variables()
            self._look(tol, self.products >= max_iter or self.idle > _PATIENCE)

    # -------------------------------------------------------------------- two steps

    def _gradient_steps(self, tol: float) -> None:
        c = self.columns
        Z = c.V
        KZ = c.F
        t = np.ones(c.V.shape[1])
        tau = np.zeros(c.V.shape[1])
        for step in range(_STEPS):
            if step % _LOOK == 0 and (self.gaps() <= tol).all():
                return
            wanted = np.subtract(c.Y, KZ)
            wanted /= self.norm
            wanted += Z
            V, tau = _projected(wanted, c.low, c.high, tau)
            F = self.multiply(V)
            moved = V - c.V
            uphill = _inner(np.subtract(Z, V, out=wanted), moved) > 0.0
            t = np.where(uphill, 1.0, t)
            longer = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            momentum = np.where(uphill, 0.0, (t - 1.0) / longer)
            Z = _further(V, moved, momentum)
            KZ = _further(F, F - c.F, momentum)
            c.V = V
            c.F = F
            t = longer

    def _free_variables(self) -> None:
        """Conjugate gradients on the free variables, taken where they are better."""
        c = self.columns
        free = c.free()
        count = np.maximum(_sums(free), 1.0)
        V = c.V.copy()
        R = _centred(c.Y - c.F, free, count)
        P = R.copy()
        size = _inner(R, R)
        goal = 1e-6 * size + _EPS**2 * c.V.shape[0]
        for _ in range(_INNER):
            running = size > goal
            if not running.any():
                break
            KP = self.multiply(P)
            bend = _inner(P, KP)
            running &= bend > _EPS * self.norm * _inner(P, P)
            step = np.where(running, size / np.where(running, bend, 1.0), 0.0)
            V += step * P
            KP = _centred(KP, free, count)
            KP *= step
            R -= KP
            new = np.where(running, _inner(R, R), 0.0)
            P *= np.where(running, new / np.where(running, size, 1.0), 0.0)
            P += R
            size = new
        V, _ = _projected(V, c.low, c.high, np.zeros(V.shape[1]))
        F = self.multiply(V)
        better = _inner(V, c.Y - 0.5 * F) > c.values()
        c.V = np.where(better, V, c.V)
        c.F = np.where(better, F, c.F)

    # ------------------------------------------------------------------ certificate

    def _errors(self, c: _Columns) -> Array:
        """Rounding errors of F: entries are sums of products, rounded like those."""
        return _EPS * np.sqrt(c.V.shape[0]) * self.norm * np.abs(c.V).max(axis=0)

    def intercepts(self, c: _Columns) -> Array:
        """Mean residual of the free variables; without them what the gap asks for."""
        R = c.Y - c.F
        weight = c.free() * self.upper[:, None]
        total = _sums(weight)
        b = _inner(R, weight) / np.where(total > 0.0, total, 1.0)
        for k in np.flatnonzero(total == 0.0):
            b[k] = self.boxes[c.place[k]].multiplier(c.Y[:, k] * R[:, k])
        return b

    def gaps(self) -> Array:
        """Relative gaps, rounding counted, at these intercepts: not the least ones."""
        c = self.columns
        error = self._errors(c)
        b = self.intercepts(c)
        R = c.Y - c.F
        R -= b
        grows = np.maximum(R + error, 0.0)
        grows *= c.high - c.V
        falls = np.maximum(np.subtract(error, R, out=R), 0.0, out=R)
        falls *= c.V - c.low
        grows += falls
        lost = np.abs(b * _sums(c.V)) + error * _sums(np.abs(c.V))
        return (_sums(grows) + lost) / np.maximum(np.abs(c.values()), 1e-300)

    def _look(self, tol: float, last: bool) -> None:
        """Put columns aside whose gap is small enough."""
        c = self.columns
        values = c.values()
        relative = self.gaps()
        for j, value, gap in zip(c.place, values, relative, strict=True):
            self.history[j].record(value=float(value), relative=float(gap))
        done = np.full(relative.size, True) if last else relative <= tol
        place = c.place[done]
        self.whole.V[:, place] = c.V[:, done]
        self.whole.F[:, place] = c.F[:, done]
        best = self.highest[c.place]
        grows = bool((values > best * (1.0 + 1e-13)).any())
        self.idle = 0 if grows else self.idle + 1
        self.highest[c.place] = np.maximum(best, values)
        self.columns = c.keep(np.flatnonzero(~done))

    def results(self, tol: float, max_iter: int) -> Iterator[tuple[Result, float]]:
        """Certify every column, at the intercept where its gap is least."""
        c = self.whole
        values = c.values()
        errors = self._errors(c)
        for j, box in enumerate(self.boxes):
            a = box.y * c.V[:, j]
            outputs = c.F[:, j].copy()
            gap = box_gap(box, a, outputs, float(errors[j]))
            relative = gap / max(abs(float(values[j])), 1e-300)
            certificate = Certificate("gap", gap, relative)
            status = certificate.status(tol, out_of_steps=self.products >= max_iter)
            history = self.history[j]
            value = float(values[j])
            result = Result(a, value, certificate, status, self.products, history)
            yield result, box.intercept(a, outputs)


# Blocks of columns are large: a new one costs as much as several passes through it.


def _best_of_ray(V: Array, F: Array, Y: Array, bound: Array) -> tuple[Array, Array]:
    """Lengthen or shorten columns to their best; solutions grow with their bounds."""
    bend = _inner(V, F)
    slope = _inner(V, Y)
    most = 1.0 / np.maximum((np.abs(V) / bound).max(axis=0), 1e-300)
    beyond = slope >= most * bend
    length = np.where(beyond, most, slope / np.where(beyond, 1.0, bend))
    return np.clip(length * V, -bound, bound), length * F


def _sums(A: Array) -> Array:
    """Sums of columns."""
    return np.ones(A.shape[0]) @ A


def _inner(A: Array, B: Array) -> Array:
    """Inner products of columns."""
    return np.einsum("ij,ij->j", A, B)


def _further(V: Array, moved: Array, momentum: Array) -> Array:
    """Return ``V + momentum * moved``, in the place of `moved`."""
    moved *= momentum
    moved += V
    return moved


def _centred(R: Array, free: Array, count: Array) -> Array:
    """Free part of each column, less its mean, in the place of R."""
    R *= free
    R -= free * (_sums(R) / count)
    return R


def _projected(V: Array, low: Array, high: Array, tau: Array) -> tuple[Array, Array]:
    """Nearest columns within their bounds and of sum zero, ``clip(V - tau)``, and tau.

    The sum falls in tau and is piecewise linear: Newton's method within brackets from
    the tau given, on the columns that are not done.
    """
    clipped = _clip(V - tau, low, high)
    tau = tau.copy()
    enough = _EPS * (4.0 + np.sqrt(V.shape[0])) * (_sums(np.abs(V)) + 1e-300)
    least, most = np.full((2, tau.size), np.nan)
    for _ in range(100):
        excess = _sums(clipped)
        left = np.abs(excess) > enough
        if not left.any():
            break
        least = np.where(excess > 0, tau, least)
        most = np.where(excess < 0, tau, most)
        slope = _sums(((clipped > low) & (clipped < high)).astype(float))
        new = tau + excess / np.maximum(slope, 1.0)
        unusable = left & ((slope == 0.0) | (new <= least) | (new >= most))
        if unusable.any():
            least = np.where(np.isnan(least), V.min() - high.max(), least)
            most = np.where(np.isnan(most), V.max() - low.min(), most)
            new = np.where(unusable, 0.5 * (least + most), new)
        tau = np.where(left, new, tau)  # bisection would move what is done
        _clip(np.subtract(V, tau, out=clipped), low, high)
    return clipped, tau


def _clip(V: Array, low: Array, high: Array) -> Array:
    """Move V between its bounds, in place."""
    np.maximum(V, low, out=V)
    return np.minimum(V, high, out=V)
