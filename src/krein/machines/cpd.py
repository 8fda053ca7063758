"""Problems with a c.p.d. kernel: objective, working systems, dual value.

In the coordinates of `krein.machines.cpd_space` every variant reads

    minimise over (c, b)   lam c'K c + sum_i w_i loss(y_i, f_i),   f = K c + Q b,

with K positive semidefinite (n x n), Q (n x r) a basis of the polynomials (r = 0 when
they are left out) and ``Q'c = 0``. Sums, not means; lam is the paper's lambda.

Source: Walder, Chapelle (2007), equation (14).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from krein.arrays import Array
from krein.machines.cpd_columns import Columns
from krein.machines.losses import Loss
from krein.result import Certificate

# An optimum below this share of the objective at f = 0 counts as zero.
_ZERO = 1e-8
# Q'a = 0 to this share of sum |a|, the rounding of a solved system.
_FEASIBLE = 1e-13


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
        Regularisation.
    """

    columns: Columns
    null: Array
    loss: Loss
    lam: float

    def __post_init__(self) -> None:
        least, most = self.loss.weight.min(), self.loss.weight.max()
        with np.errstate(all="ignore"):
            ends = self.lam / most, self.lam / least
        if not np.finfo(float).tiny <= ends[0] <= ends[1] < np.inf:
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

    def dual(self, a: Array, s: np.ndarray, energy: Callable[[Array], float]) -> float:
        """Dual value near `a` (on samples s): a lower bound of the optimum.

        Parameters
        ----------
        a : ndarray of shape (len(s),)
            Signed dual variables, zero elsewhere.
        s : ndarray of int
            Their samples.
        energy : callable
            ``energy(a) = a'K_ss a``.
        """
        loss = self.loss.restrict(s)
        inside = self._feasible(loss, a, self.null[s])
        if inside is None:
            return 0.0  # every loss is non-negative
        return loss.conjugate(inside, self.lam) - self.lam * energy(inside)

    def _feasible(self, loss: Loss, a: Array, Q: Array) -> Array | None:
        """Dual variables near `a` in the domain of the loss, with ``Q'a = 0``.

        The constraint is repaired by moving each variable in proportion to its room;
        None if one would leave its domain.
        """
        a = loss.clip(a, self.lam)
        size = float(np.abs(a).sum())
        for _ in range(2):
            excess = Q.T @ a
            if np.abs(excess).max(initial=0.0) <= _FEASIBLE * size:
                return a
            room = np.minimum(loss.room(a, self.lam), size)
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
