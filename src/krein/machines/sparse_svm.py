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

from dataclasses import dataclass
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.machines.box import BalancedBox
from krein.machines.svm_dual import box_gap
from krein.result import Certificate, History, Result, Status

_EPS = float(np.finfo(np.float64).eps)
_COLUMNS = 64  # that go together
_STEPS = 15  # of the gradient method, before free variables are solved for
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
    found = []
    for first in range(0, Y.shape[1], _COLUMNS):
        columns = slice(first, first + _COLUMNS)
        some = Y[:, columns]
        block = _Block(K, norm, np.minimum(some, 0), np.maximum(some, 0), upper)
        if start is not None:
            block.columns.V = start[:, columns]
            block.columns.F = block.multiply(block.columns.V)
        found += block.solve(tol, max_iter)
    return found


def sparse_svm_path(
    K: Any, norm: float, Cs: Array, Y: Array, *, tol: float = 1e-2
) -> tuple[list[Array], list[Array]]:
    """Solve all columns for ascending C, loosely: for searches, as `svm_path` does.

    Each C starts from the one before. Once no variable is on its bound C the solution
    is that of every larger C.

    Returns
    -------
    coef : list of ndarray of shape (n, k)
        Signed coefficients on K, one array per C.
    intercept : list of ndarray of shape (k,)
    """
    coef: list[Array] = []
    intercept: list[Array] = []
    for C in Cs:
        if not coef or np.abs(coef[-1]).max() >= Cs[len(coef) - 1] * (1.0 - 1e-9):
            upper = np.full(Y.shape[0], float(C))
            solved = sparse_svm_dual(
                K, norm, upper, Y, tol=tol, max_iter=_PRODUCTS,
                start=coef[-1] if coef else None,
            )  # fmt: skip
            V = np.column_stack([result.x for result, _ in solved]) * Y
            b = np.array([b for _, b in solved])
        coef.append(V)
        intercept.append(b)
    return coef, intercept


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
        return (self.V * (self.Y - 0.5 * self.F)).sum(axis=0)

    def keep(self, kept: np.ndarray) -> _Columns:
        """Return some of the columns."""
        parts = (self.Y, self.low, self.high, self.V, self.F)
        return _Columns(self.place[kept], *(part[:, kept] for part in parts))


class _Block:
    """Columns that are solved together."""

    def __init__(
        self, K: Any, norm: float, low: Array, high: Array, upper: Array
    ) -> None:
        self.K, self.norm, self.upper = K, norm, upper
        Y = low + high
        self.columns = _Columns(
            np.arange(Y.shape[1]), Y, low * upper[:, None], high * upper[:, None],
            np.zeros_like(Y), np.zeros_like(Y),
        )  # fmt: skip
        self.boxes = [BalancedBox(upper, y) for y in Y.T]
        self.done: dict[int, tuple[Result, float]] = {}
        self.history = [History() for _ in self.boxes]
        self.products, self.idle = 0, 0
        self.highest = np.zeros(Y.shape[1])

    def multiply(self, V: Array) -> Array:
        """K V, counted."""
        self.products += 1
        return self.K @ V

    def solve(self, tol: float, max_iter: int) -> list[tuple[Result, float]]:
        """Alternate the two kinds of step until all columns are done."""
        while self.columns.place.size:
            last = self.products >= max_iter or self.idle > _PATIENCE
            self._certify(tol, last)
            if last or not self.columns.place.size:
                break
            self._gradient_steps()
            self._certify(tol, False)
            self._free_variables()
        return [self.done[j] for j in range(len(self.boxes))]

    # -------------------------------------------------------------------- two steps

    def _gradient_steps(self) -> None:
        c = self.columns
        Z, KZ, t, tau = c.V, c.F, np.ones(c.V.shape[1]), np.zeros(c.V.shape[1])
        for _ in range(_STEPS):
            V, tau = _projected(Z + (c.Y - KZ) / self.norm, c.low, c.high, tau)
            F = self.multiply(V)
            uphill = ((Z - V) * (V - c.V)).sum(axis=0) > 0.0
            t = np.where(uphill, 1.0, t)
            longer = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            momentum = np.where(uphill, 0.0, (t - 1.0) / longer)
            Z, KZ = V + momentum * (V - c.V), F + momentum * (F - c.F)
            c.V, c.F, t = V, F, longer

    def _free_variables(self) -> None:
        """Conjugate gradients on the free variables, taken where they are better."""
        c = self.columns
        free = (c.V > c.low) & (c.V < c.high)
        count = np.maximum(free.sum(axis=0), 1)
        V, F = c.V.copy(), c.F.copy()
        R = _centred(c.Y - F, free, count)
        P, size = R.copy(), (R * R).sum(axis=0)
        goal = 1e-6 * size + _EPS**2 * c.V.shape[0]
        for _ in range(_INNER):
            running = size > goal
            if not running.any():
                break
            KP = self.multiply(P)
            bend = (P * KP).sum(axis=0)
            running &= bend > _EPS * self.norm * (P * P).sum(axis=0)
            step = np.where(running, size / np.where(running, bend, 1.0), 0.0)
            V += step * P
            F += step * KP
            R -= step * _centred(KP, free, count)
            new = np.where(running, (R * R).sum(axis=0), 0.0)
            P = R + np.where(running, new / np.where(running, size, 1.0), 0.0) * P
            size = new
        V, _ = _projected(V, c.low, c.high, np.zeros(V.shape[1]))
        F = self.multiply(V)
        better = (V * (c.Y - 0.5 * F)).sum(axis=0) > c.values()
        c.V, c.F = np.where(better, V, c.V), np.where(better, F, c.F)

    # ------------------------------------------------------------------ certificate

    def _certify(self, tol: float, last: bool) -> None:
        """Certify all columns; those whose gap is small enough are done."""
        c = self.columns
        values = c.values()
        # Entries of products are sums of products: rounded like their magnitudes.
        error = _EPS * np.sqrt(c.V.shape[0]) * (np.abs(c.V) * self.norm).max(axis=0)
        open_ = []
        for column, j in enumerate(c.place):
            box, value = self.boxes[j], float(values[column])
            a = box.y * c.V[:, column]
            gap = box_gap(box, a, c.F[:, column], float(error[column]))
            relative = gap / max(abs(value), 1e-300)
            self.history[j].record(value=value, relative=relative)
            if relative > tol and not last:
                open_.append(column)
                continue
            status: Status = "converged" if relative <= tol else "max_iter"
            certificate = Certificate("gap", gap, relative)
            result = Result(
                a, value, certificate, status, self.products, self.history[j]
            )
            self.done[int(j)] = result, box.intercept(a, c.F[:, column])
        best = self.highest[c.place]
        grows = bool((values > best * (1.0 + 1e-13)).any())
        self.idle = 0 if grows else self.idle + 1
        self.highest[c.place] = np.maximum(best, values)
        self.columns = c.keep(np.array(open_, dtype=int))


def _centred(R: Array, free: np.ndarray, count: np.ndarray) -> Array:
    """Free part of each column, less its mean."""
    inside = np.where(free, R, 0.0)
    return np.where(free, inside - inside.sum(axis=0) / count, 0.0)


def _projected(V: Array, low: Array, high: Array, tau: Array) -> tuple[Array, Array]:
    """Nearest columns within their bounds and of sum zero, ``clip(V - tau)``, and tau.

    The sum falls in tau and is piecewise linear: Newton's method within brackets from
    the tau given, on the columns that are not done.
    """
    clipped, tau = _clip(V - tau, low, high), tau.copy()
    excess = clipped.sum(axis=0)
    enough = _EPS * (4.0 + np.sqrt(V.shape[0])) * (np.abs(V).sum(axis=0) + 1e-300)
    least, most = V.min(axis=0) - high.max(axis=0), V.max(axis=0) - low.min(axis=0)
    inside, k = clipped, np.arange(tau.size)  # the columns looked at
    for _ in range(100):
        left = np.abs(excess) > enough[k]
        if not left.any():
            break
        if 2 * np.count_nonzero(left) <= k.size:
            k, excess, inside = k[left], excess[left], inside[:, left]
            V, low, high = V[:, left], low[:, left], high[:, left]
            least, most, left = least[left], most[left], left[left]
        least = np.where(excess > 0, tau[k], least)
        most = np.where(excess < 0, tau[k], most)
        slope = ((inside > low) & (inside < high)).sum(axis=0)
        newton = tau[k] + excess / np.maximum(slope, 1)
        usable = (slope > 0) & (newton > least) & (newton < most)
        new = np.where(usable, newton, 0.5 * (least + most))
        tau[k] = np.where(left, new, tau[k])  # bisection would move what is done
        clipped[:, k] = inside = _clip(V - tau[k], low, high)
        excess = inside.sum(axis=0)
    return clipped, tau


def _clip(V: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(V, low), high)
