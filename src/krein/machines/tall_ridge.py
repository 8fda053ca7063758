"""Ridge regression on a similarity known by landmarks, certified.

With U = C E (n x r, in tiles, ``U'WU = I``) the approximation is ``U diag(l) U'`` and
the kernel trained on ``K = U diag(t) U'``. The function ``f = U (t * x)`` has the value

    P(x, b) = sum_i w_i (y_i - f_i - b)^2 + alpha sum_j t_j x_j^2,

and with z = U'Wy, u = U'W1 and d = t + alpha its stationary point is x = (z - b u) / d;
bounded as in `krein.machines.ridge` where ``|d| < alpha``. All of it takes passes over
the tiles. The dual of `krein.machines.ridge` at ``v_i = w_i (y_i - f_i - b) / alpha``,
less what v sums to, is below P by

    alpha sum_j t_j (x_j - (U'v)_j)^2

and by rounding: a gap where no t is negative. Elsewhere the claim is how far the
equations are from being solved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from krein.arrays import Array
from krein.result import Certificate, History, Result
from krein.similarity.tiles import TiledMatrix

_EPS = float(np.finfo(np.float64).eps)
_REFINEMENTS = 4


@dataclass(frozen=True)
class TallRidge:
    """The problem of the module's docstring.

    Attributes
    ----------
    vectors : TiledMatrix of shape (n, r)
        U.
    sizes : ndarray of shape (r,)
        t.
    y : ndarray of shape (n,)
        Targets.
    weight : ndarray of shape (n,)
        Sample weights.
    alpha : float
        Penalty.
    targets, ones : ndarray of shape (r,)
        z and u.
    bounded : bool
        Divide by ``alpha^2 / d`` where ``|d| < alpha``.
    """

    vectors: TiledMatrix
    sizes: Array
    y: Array
    weight: Array
    alpha: float
    targets: Array
    ones: Array
    bounded: bool = False

    def solve(self, *, fit_intercept: bool, tol: float) -> tuple[Result, float]:
        """Solve the system; ``x`` of the result are the coordinates of f."""
        b = self._intercept() if fit_intercept else 0.0
        x = self._factors[1] * (self.targets - b * self.ones)
        history = History()
        best = self._evaluated(x, b, balanced=fit_intercept)
        for _ in range(_REFINEMENTS):
            history.record(value=best.value, relative=best.certificate.relative)
            x = best.x + self._correction(best, b)
            new = self._evaluated(x, b, balanced=fit_intercept)
            if not new.certificate.relative < 0.5 * best.certificate.relative:
                break
            best = new
        # The solution is direct.
        status = best.certificate.status(tol, out_of_steps=False)
        steps = history.n_rows
        return Result(best.x, best.value, best.certificate, status, steps, history), b

    @property
    def _factors(self) -> tuple[Array, Array]:
        """Factors (left, solve): ``x = solve * target``, and a miss is in left * x."""
        d = self.sizes + self.alpha
        near = (np.abs(d) < self.alpha) & self.bounded
        left = np.where(near, self.alpha, d)
        return left, np.where(near, d / self.alpha**2, 1.0 / np.where(near, 1.0, d))

    def _intercept(self) -> float:
        """Return the b with which v sums to zero."""
        _, solve = self._factors
        z = self.targets
        u = self.ones
        w = self.weight
        outside = float(w @ self.y) - float(u @ z), float(w.sum()) - float(u @ u)
        above = outside[0] / self.alpha + float(u @ (solve * z))
        below = outside[1] / self.alpha + float(u @ (solve * u))
        if abs(below) <= 1e-12 * float(w.sum()) / self.alpha:
            return float(np.average(self.y, weights=w))
        return above / below

    def _correction(self, point: Evaluated, b: float) -> Array:
        """Change of x that the equations ask for, along each column of U."""
        left, _ = self._factors
        return self.alpha * (point.along - point.x) / left

    def _evaluated(self, x: Array, b: float, *, balanced: bool) -> Evaluated:
        """Certify coordinates, in three passes."""
        left, _ = self._factors
        rest = self.y - b
        near = left != self.sizes + self.alpha
        # What v is the rest of: f, but in bounded directions what solves the system.
        bounded = self.targets - b * self.ones - self.alpha * x
        part = np.where(near, bounded, self.sizes * x)
        explained = self.vectors @ part
        v = self.weight * (rest - explained) / self.alpha
        along = self.vectors.transpose_dot(v)
        of_sums, of_products = self.vectors.errors(v, part)
        rounding = of_products + 2.0 * _EPS * (np.abs(self.y) + abs(b))
        excess = float(v.sum()) if balanced else 0.0
        counted = abs(excess) + (_EPS * float(np.abs(v).sum()) if balanced else 0.0)
        missed = rest - explained
        value = float(self.weight @ missed**2) + self.alpha * float(part @ x)
        total = float(self.weight.sum())
        if self.sizes.min(initial=0.0) >= 0.0 and not near.any():
            off = np.abs(x - along + self.ones * excess / total) + of_sums
            gap = self.alpha * float(self.sizes @ off**2)
            gap += float(self.weight @ (rounding + self.alpha * counted / total) ** 2)
            gap += 8.0 * _EPS * abs(value)
            size = float(self.weight @ self.y**2)
            unit = max(abs(value), _EPS * size)
            certificate = Certificate("gap", gap, gap / unit if gap > 0.0 else 0.0)
        else:
            off = self.vectors.magnitude(left * (np.abs(along - x) + of_sums))
            worst = max(float((off + rounding).max()), self.alpha * counted / total)
            worst /= max(float(np.abs(self.y).max()), 1e-300)
            certificate = Certificate("stationarity", worst, worst)
        return Evaluated(x, along, value, certificate)


@dataclass(frozen=True)
class Evaluated:
    """Coordinates x of a function, those of its dual variables, value, certificate."""

    x: Array
    along: Array
    value: float
    certificate: Certificate
