"""Convex quadratic models over a box whose matrix is a diagonal and a low rank.

A step of m variables costs m times the rank squared, not m cubed. Where active sets do
not settle, interior points find them, at a cost that does not grow with the bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from krein.arrays import Array
from krein.machines.quadratic_model import ActiveSets

_INTERIOR = 40  # steps
_INTERIOR_GAP = 1e-9  # what they leave of the first gap


class LowRankModel(ActiveSets):
    """A model with ``H = diag(d) + B diag(s) B'``, d positive and s of signs.

    Systems of the free variables F have the size of the rank (Woodbury):
    ``H_FF^-1 = D^-1 - D^-1 B (diag(s) + B'D^-1 B)^-1 B'D^-1``, with the rows F.

    Parameters
    ----------
    diagonal : ndarray of shape (m,)
        d.
    B : ndarray of shape (m, r)
        Factors.
    signs : ndarray of shape (r,)
        s.
    y, upper : ndarray of shape (m,)
        Signs and upper bounds.
    """

    def __init__(
        self, diagonal: Array, B: Array, signs: Array, y: Array, upper: Array
    ) -> None:
        super().__init__(diagonal + B**2 @ signs, y, upper)
        self.diagonal = diagonal
        self.B = B
        self.signs = signs
        # Of the variables prepared: D^-1, D^-1 B and the inverse of the small matrix.
        self._loose: Array = diagonal
        self._scaled: Array = B
        self._inverse: Array = B

    def set_ridge(self, ridge: float) -> None:
        """Replace the number added to the diagonal of H."""
        if ridge != self.ridge:
            self.diagonal = self.diagonal + (ridge - self.ridge)
            self.ridge = ridge
            self._free = None

    def _add_outer(self, plus: Array, minus: Array) -> None:
        self.B = np.column_stack([self.B, plus, minus])
        self.signs = np.append(self.signs, [1.0, -1.0])

    def product(self, h: Array) -> Array:
        """Return H h."""
        return self.diagonal * h + self.B @ (self.signs * (self.B.T @ h))

    def _prepare(self, free: np.ndarray) -> None:
        while not self._invert(np.where(free, 1.0 / self.diagonal, 0.0)):
            self.set_ridge(max(10.0 * self.ridge, 1e-12 * self.mean, 1e-300))

    def _invert(self, loose: Array) -> bool:
        """Prepare solving with 1 / loose as d; tell whether that is definite."""
        self._loose = loose
        self._scaled = self.B * loose[:, None]
        inner = self.B.T @ self._scaled
        inner[np.diag_indices_from(inner)] += self.signs
        values, V = np.linalg.eigh(inner)
        self._inverse = (V / values) @ V.T
        # It is definite where as many are positive as there are of the signs.
        return np.count_nonzero(values > 0.0) == np.count_nonzero(self.signs > 0.0)

    def _solve(self, b: Array) -> Array:
        x: Array = self._loose * b
        x -= self._scaled @ (self._inverse @ (self._scaled.T @ b))
        return x

    def _climb(self, x: Array, g: Array, low: np.ndarray, high: np.ndarray) -> Array:
        """Interior points, which thousands of bounds cost no more steps than few."""
        h, low, high = self._interior(x, g)
        found = self._jump(x, g, low, high)
        return h if found is None else found

    def _interior(self, x: Array, g: Array) -> tuple[Array, np.ndarray, np.ndarray]:
        """Primal-dual interior points (Mehrotra, 1992); the step and its active sets.

        Slacks p and r to both bounds have multipliers u and v:
        ``H h + nu y - u + v = g``, ``y'h = 0``, ``p u = r v = sigma``.
        """
        self._free = None
        inside = np.clip(x, 0.1 * self.upper, 0.9 * self.upper)
        size = float(np.abs(g - self.product(inside - x)).max()) or 1.0
        same = np.full_like(g, size)
        at = _Interior(inside - x, inside, self.upper - inside, same, same, 0.0)
        first = at.gap
        for _ in range(_INTERIOR):
            p, r, u, v = at.p, at.r, at.u, at.v
            if not self._invert(1.0 / (self.diagonal + u / p + v / r)):
                break
            off = g - self.product(at.h) - at.nu * self.y + u - v
            border = self._solve(self.y)
            guess = self._direction(at, off, border, -p * u, -r * v)
            left = at.moved(guess, min(1.0, at.longest(guess))).gap
            centre = (left / at.gap) ** 3 * at.gap / (2 * g.size)
            of_p = centre - p * u - guess.p * guess.u
            of_r = centre - r * v - guess.r * guess.v
            step = self._direction(at, off, border, of_p, of_r)
            at = at.moved(step, min(1.0, 0.995 * at.longest(step)))
            if at.gap <= _INTERIOR_GAP * first:
                break
        h, p, r, u, v, _ = at
        # Strict complementarity: a slack and its multiplier part by orders.
        low, high = p * size < u * self.upper, r * size < v * self.upper
        return h, low, high & ~low

    def _direction(
        self, at: _Interior, off: Array, border: Array, of_p: Array, of_r: Array
    ) -> _Interior:
        """Newton step that changes the products p u and r v by these."""
        h = self._solve(off + of_p / at.p - of_r / at.r)
        nu = float(self.y @ (h + at.h)) / float(self.y @ border)
        h -= nu * border
        u, v = (of_p - at.u * h) / at.p, (of_r + at.v * h) / at.r
        return _Interior(h, h, -h, u, v, nu)


class _Interior(NamedTuple):
    """Point inside of the bounds, or a step: see `LowRankModel._interior`."""

    h: Array
    p: Array
    r: Array
    u: Array
    v: Array
    nu: float

    @property
    def gap(self) -> float:
        """What is left of complementarity."""
        return float(self.p @ self.u + self.r @ self.v)

    def longest(self, step: _Interior) -> float:
        """Length of the longest step that keeps slacks and multipliers positive."""
        pairs = ((self.p, step.p), (self.r, step.r), (self.u, step.u), (self.v, step.v))
        shrinking = max(float(np.max(-move / now)) for now, move in pairs)
        return 1.0 / shrinking if shrinking > 0.0 else np.inf

    def moved(self, step: _Interior, length: float) -> _Interior:
        """Return the point after a part of a step."""
        return _Interior(
            h=self.h + length * step.h,
            p=self.p + length * step.p,
            r=self.r + length * step.r,
            u=self.u + length * step.u,
            v=self.v + length * step.v,
            nu=self.nu + length * step.nu,
        )
