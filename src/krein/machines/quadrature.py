"""The positive part of a diagonal matrix plus a rank-one term, without `eigh`.

For a fixed diagonal D (the eigenvalues of K0) and any vector z this module gives

    V(z) = ||(D + zz')_+||_F^2 - ||D_+||_F^2,     p(z) = (D + zz')_+ z = V'(z) / 4,

the Jacobian of p and the positive part itself, each in O(n) per quadrature node.

Derivation. ``A_+ = (A + |A|) / 2``, ``|A| = (2/pi) int_0^inf A^2 (A^2 + t^2)^-1 dt``.
With t = exp(x) the integrand is analytic in a strip around the real axis, so that the
trapezoidal rule with step h converges like exp(-pi^2 / h), whatever the eigenvalues:
ties, zeros and repeated eigenvalues are harmless. The resolvent of a rank-one update is
explicit (Sherman-Morrison), with the scalar

    F(t) = 1 + z'(D - it)^-1 z,     Im F >= 0,

so that arg F lies in [0, pi) and log-determinants need no choice of a branch. What the
rule misses beyond its last node is smooth in A: the part ``kappa A^2`` is added back.

All numbers are divided by a scale S of the order of max(max|d|, ||z||^2), so that one
set of nodes serves every problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from krein.arrays import Array

# ||z||^2 may leave the scale of the table by this factor before it is rebuilt.
_SLACK = 4.0
# The Jacobian has to give good Newton steps only: every second node is enough, and
# nodes that carry less than a share of the strongest one are left out.
_STRIDE = 2  # nodes
_WEAK = 1e-9  # share of the strongest node, for Newton steps
_NEGLIGIBLE = 1e-17  # the same, where the result has to be exact to rounding
# Eigenvalues up to this many times n eps ||A|| are zero to rounding.
_ROUNDING = 8.0


class Rule(NamedTuple):
    """A trapezoidal rule in log t, in units of the scale S.

    Attributes
    ----------
    step : float
        Spacing of the nodes in log t.
    lowest, highest : float
        Range of t.
    dtype : type
        Precision of the table and of all results.
    """

    step: float
    lowest: float
    highest: float
    dtype: Any = np.float64


# Errors about 1e-14 S, and about 1e-6 S in single precision.
FINE = Rule(0.28, 1e-14, 3e4)
COARSE = Rule(0.56, 1e-7, 2e3, np.float32)
# A sign jumps at zero: nodes far below the smallest eigenvalue that is not rounding.
SIGN = Rule(0.28, 1e-20, 3e4)


class Table:
    """Nodes, weights and resolvents of a diagonal d, in units of `scale`.

    `resolvents` has the real parts ``d / (d^2 + t^2)`` of 1 / (d - it) for all nodes t,
    then the imaginary parts ``t / (d^2 + t^2)``: products with both are one.
    """

    def __init__(self, d: Array, scale: float, rule: Rule) -> None:
        count = int(np.ceil(np.log(rule.highest / rule.lowest) / rule.step)) + 1
        t = rule.lowest * np.exp(rule.step * np.arange(count))
        weights = rule.step * t
        # The integrands are flat below the first node, which stands for all of them.
        weights[0] /= -np.expm1(-rule.step)
        self.kappa = 1.0 - (2.0 / np.pi) * float(np.sum(weights / (t**2 + 1.0)))
        self.scale = scale
        self.d = (d / scale).astype(rule.dtype)
        self.nodes = t.astype(rule.dtype)
        self.weights = weights.astype(rule.dtype)
        self.positive = np.maximum(self.d, 0.0)
        # Weights in the diagonal of the Jacobian, but for F.
        self.bend = self.weights * self.nodes * (1.0 / np.pi)
        both = np.empty((2, count, d.size), rule.dtype)
        np.divide(1.0, np.add.outer(self.nodes**2, self.d**2), out=both[1])
        np.multiply(both[1], self.d, out=both[0])
        both[1] *= self.nodes[:, None]
        self.resolvents = both.reshape(-1, d.size)


@dataclass(frozen=True)
class DiagonalPlusLowRank:
    """The symmetric matrix ``diag(diagonal) + plus'plus - minus'minus``.

    Attributes
    ----------
    diagonal : ndarray of shape (n,)
        Diagonal part.
    plus, minus : ndarray of shape (r, n)
        Rows of the low-rank part.
    """

    diagonal: Array
    plus: Array
    minus: Array

    def __matmul__(self, x: Array) -> Array:
        up = (self.plus @ x) @ self.plus
        down = (self.minus @ x) @ self.minus
        return self.diagonal * x + up - down


class _State:
    """What value, gradient and Jacobian at one z share, in units of the scale."""

    def __init__(self, table: Table, z: Array) -> None:
        z = (z * (1.0 / math.sqrt(table.scale))).astype(table.d.dtype, copy=False)
        z2 = z * z
        m = table.nodes.size
        F = table.resolvents @ z2
        self.table = table
        self.z = z
        # Real and imaginary parts of F - 1 at the nodes.
        self.re = F[:m]
        self.im = F[m:]
        self.q0 = float(z @ z)
        self.q1 = float(table.d @ z2)

    def diagonal(self) -> Array:
        """Diagonal of the Jacobian; times z it is the gradient."""
        table = self.table
        q0 = self.q0
        tail = 0.5 * table.kappa
        diagonal = self.bends(self.re, self.im) @ table.resolvents
        diagonal += table.positive
        diagonal += (tail * q0) * table.d
        diagonal += 0.5 * q0 + tail * (self.q1 + q0 * q0)
        return diagonal

    def bends(self, re: Array, im: Array) -> Array:
        """What the rows of the resolvents are multiplied by in the diagonal."""
        squares = im * im
        F = 1.0 + re
        weight = self.table.bend / (F * F + squares)
        # 1 - Re F / |F|^2 = (Re e + |e|^2) / |F|^2 with e = F - 1 does not cancel.
        return np.concatenate([weight * im, weight * (re * F + squares)])

    def gradient(self) -> Array:
        return self.diagonal() * self.z

    def along(self, s: float) -> float:
        """z'p(sz), of which the resolvents' part is in F: O(1) a node."""
        s2 = s * s
        table = self.table
        q0 = self.q0
        bends = self.bends(s2 * self.re, s2 * self.im)
        bent = float(bends @ np.concatenate([self.re, self.im]))
        tail = 0.5 * table.kappa * s2 * q0 * (2.0 * self.q1 + s2 * q0 * q0)
        flat = float(table.positive @ (self.z * self.z)) + 0.5 * s2 * q0 * q0
        return s * (flat + bent + tail)

    def value(self) -> float:
        """V in units of the scale squared, to full relative precision.

        The terms ``q0 - t arg F`` of the rule fall like 1 / t^2: they are computed as
        ``(q0 - t Im F) + t (Im F - arg F)``, neither of which cancels.
        """
        table = self.table
        q0 = self.q0
        q1 = self.q1
        dz = self.table.d * self.z
        terms = table.resolvents[: table.nodes.size] @ (dz * self.z)
        terms += table.nodes * _imaginary_minus_angle(self.re, self.im)
        tail = table.kappa * (float(dz @ dz) + q0 * q1 + q0**3 / 3.0)
        rule = float(table.weights @ terms)
        return q1 + 0.5 * q0 * q0 + (2.0 / np.pi) * rule + tail


def _imaginary_minus_angle(re: Array, im: Array) -> Array:
    """Return im - arg(1 + re + i im), accurate where both are small."""
    direct = im - np.arctan2(im, 1.0 + re)
    small = (np.abs(re) < 0.5) & (im < 0.1)
    r = re[small]
    x = im[small]
    y = x / (1.0 + r)
    y2 = y * y
    # im - y = im re / (1 + re), and y - arctan(y) by its series.
    series = y2 * (1 / 9 - y2 * (1 / 11 - y2 * (1 / 13 - y2 * (1 / 15 - y2 / 17))))
    direct[small] = y * (r + y2 * (1 / 3 - y2 * (1 / 5 - y2 * (1 / 7 - series))))
    return direct


class RankOnePositivePart:
    """Quantities of ``(D + zz')_+`` for a fixed diagonal D and many vectors z.

    Parameters
    ----------
    d : ndarray of shape (n,)
        Diagonal of D, in any order.
    rule : Rule
        The quadrature: `FINE`, with errors of about 1e-14 times
        ``max(max|d|, ||z||^2)``, or
        `COARSE`, in single precision.

    Examples
    --------
    >>> import numpy as np
    >>> from krein.machines.quadrature import RankOnePositivePart
    >>> part = RankOnePositivePart(np.array([-1.0, 2.0]))
    >>> value, p = part.value_gradient(np.array([2.0, 0.0]))
    >>> print(f"{value:.6f}", p.round(6))
    9.000000 [6. 0.]
    """

    def __init__(self, d: Array, rule: Rule = FINE) -> None:
        self.d = d
        self.rule = rule
        self._largest = float(np.abs(d).max()) if d.size else 0.0
        self._table: Table | None = None

    def _table_for(self, q0: float) -> Table:
        """Table whose scale suits ``||z||^2 = q0``; kept until it does not."""
        wanted = max(self._largest, q0) or 1.0
        table = self._table
        if table is None or not (wanted / _SLACK <= table.scale <= _SLACK * wanted):
            table = self._table = Table(self.d, wanted, self.rule)
        return table

    def _state(self, z: Array, at_least: float = 0.0) -> _State:
        return _State(self._table_for(max(float(z @ z), at_least)), z)

    def along(self, z: Array) -> Callable[[float], float]:
        """Return the function s -> ``z'p(sz)`` on [0, 1], at O(1) a node and number.

        Parameters
        ----------
        z : ndarray of shape (n,)
        """
        state = self._state(z)
        return lambda s: state.along(s) * state.table.scale**2

    def gradient(self, z: Array) -> Array:
        """Return p(z) = ``(D + zz')_+ z``.

        Parameters
        ----------
        z : ndarray of shape (n,)

        Returns
        -------
        ndarray of shape (n,)
        """
        state = self._state(z)
        return state.gradient() * state.table.scale**1.5

    def value_gradient(self, z: Array) -> tuple[float, Array]:
        """Return V(z) = ``||(D + zz')_+||^2 - ||D_+||^2`` and p(z) = V'(z) / 4.

        Parameters
        ----------
        z : ndarray of shape (n,)

        Returns
        -------
        float
            V(z).
        ndarray of shape (n,)
            p(z).
        """
        state = self._state(z)
        scale = state.table.scale
        return state.value() * scale**2, state.gradient() * scale**1.5

    def range_projection(self, z: Array) -> Array:
        """Return the part of z in the positive eigenspace of ``D + zz'``.

        Parameters
        ----------
        z : ndarray of shape (n,)

        Returns
        -------
        ndarray of shape (n,)
            ``(z + sign(A - edge) z) / 2`` with A = D + zz': eigenvalues that are zero
            to rounding are left out, as clipping does. Those of the order of `edge`,
            ``8 n eps`` times a bound on the norm of A, are not determined.
        """
        norm = self._largest + float(z @ z)
        edge = _ROUNDING * self.d.size * float(np.finfo(np.float64).eps) * norm
        state = RankOnePositivePart(self.d - edge, SIGN)._state(z)
        table = state.table
        F = 1.0 + state.re + 1j * state.im
        weight = (2.0 / np.pi) * table.weights / F
        # sign(A) z = (2/pi) int Re (A - it)^-1 z dt, (A - it)^-1 z = (D - it)^-1 z / F.
        sign = np.concatenate([weight.real, -weight.imag]) @ table.resolvents
        sign += table.kappa * (table.d + state.q0)
        return 0.5 * (1.0 + sign) * z

    def bordered_product(self, z: Array, borders: Array, corners: Array) -> Array:
        """Last row of ``[[D + zz', b], [b', k]]_+`` times (z, 0), for many (b, k).

        Parameters
        ----------
        z : ndarray of shape (n,)
        borders : ndarray of shape (m, n)
            One b per row.
        corners : ndarray of shape (m,)
            One k per row.

        Returns
        -------
        ndarray of shape (m,)
        """
        largest = float(np.abs(corners).max(initial=0.0))
        size = float(np.sqrt(np.einsum("ij,ij->i", borders, borders)).max(initial=0.0))
        state = self._state(z, at_least=max(largest, size))
        table = state.table
        z = state.z
        b = borders / table.scale
        k = corners / table.scale
        t = table.nodes
        kappa = table.kappa
        F = 1.0 + state.re + 1j * state.im
        real = table.resolvents[: t.size].T
        imaginary = table.resolvents[t.size :].T
        cross = (b * z) @ real + 1j * ((b * z) @ imaginary)
        square = (b * b) @ real + 1j * ((b * b) @ imaginary)
        schur = k[:, None] - 1j * t - square + cross * cross / F
        # |M| = (2/pi) int 1 - t Im (M - it)^-1 dt, off the diagonal without the 1.
        entry = np.imag(cross / (F * schur))
        bz = b @ z
        absolute = (2.0 / np.pi) * (entry @ (table.weights * t))
        absolute += kappa * (b @ (table.d * z) + (state.q0 + k) * bz)
        return 0.5 * (bz + absolute) * table.scale**1.5

    def jacobian(self, z: Array, *, accurate: bool = False) -> DiagonalPlusLowRank:
        """Jacobian of p at z, to about 1e-7 of its norm, or 1e-13 if `accurate`.

        Parameters
        ----------
        z : ndarray of shape (n,)
        accurate : bool
            Use all nodes of the rule, which doubles the rank.

        Returns
        -------
        DiagonalPlusLowRank
        """
        state = self._state(z)
        table = state.table
        kappa = state.table.kappa
        q0 = state.q0
        stride = 1 if accurate else _STRIDE
        weak = _NEGLIGIBLE if accurate else _WEAK
        rows = np.arange(0, table.nodes.size, stride)
        F = 1.0 + state.re[rows] + 1j * state.im[rows]
        gamma = (-2.0j / np.pi) * stride * table.weights[rows] * table.nodes[rows]
        # Besides the rule: zz' itself and the tail, outer products of z and Dz.
        head = np.array([[1.0 + 2.0 * kappa * q0, kappa], [kappa, 0.0]])
        low_rank = _low_rank(state, rows, gamma / (F * F), head, weak)
        return DiagonalPlusLowRank(table.scale * state.diagonal(), *low_rank)

    def positive_part(self, z: Array) -> DiagonalPlusLowRank:
        """Return ``(D + zz')_+``; its diagonal part is D_+.

        Parameters
        ----------
        z : ndarray of shape (n,)

        Returns
        -------
        DiagonalPlusLowRank
        """
        state = self._state(z)
        table = state.table
        kappa = state.table.kappa
        rows = np.arange(table.nodes.size)
        F = 1.0 + state.re + 1j * state.im
        gamma = (-1.0j / np.pi) * table.weights * table.nodes / F
        head = 0.5 * np.array([[1.0 + kappa * state.q0, kappa], [kappa, 0.0]])
        low_rank = _low_rank(state, rows, gamma, head, _NEGLIGIBLE)
        return DiagonalPlusLowRank(np.maximum(self.d, 0.0), *low_rank)


def _low_rank(
    state: _State, rows: np.ndarray, gamma: np.ndarray, head: Array, weak: float
) -> tuple[Array, Array]:
    """Rows of ``S (sum_k Re(gamma_k c_k c_k') + [z, Dz] head [z, Dz]')``, by sign.

    ``c_k = z / (d - i t_k)``, whose squared norm is Im F / t_k; nodes whose term is
    smaller than `weak` times the largest are left out. ``Re ww' = uu' - vv'`` for a
    vector w = u + iv; `head` has a negative and a positive eigenvalue.
    """
    table = state.table
    z = state.z
    strength = np.abs(gamma) * state.im[rows] / table.nodes[rows]
    used = strength > weak * strength.max()
    rows = rows[used]
    root = np.sqrt(table.scale * gamma[used])[:, None]
    real = table.resolvents[rows] * z
    imaginary = table.resolvents[rows + table.nodes.size] * z
    values, vectors = np.linalg.eigh(table.scale * head)
    ends = (np.sqrt(np.abs(values)) * vectors).T @ np.vstack([z, table.d * z])
    plus = np.vstack([root.real * real - root.imag * imaginary, ends[1:]])
    minus = np.vstack([root.imag * real + root.real * imaginary, ends[:1]])
    return plus, minus
