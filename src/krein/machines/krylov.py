"""The positive part of a large matrix on one vector, with a proven error.

K0 is seen through products only, and some of its eigenpairs (U, L) are known. For a
vector z this module finds, by Lanczos' method,

    p(z) = A_+ z,     V(z) = ||A_+||_F^2 - ||(K0)_+||_F^2,     A = K0 + zz',

and bounds on their errors. No bound on the eigenvalues that are not known is needed.

Derivation. Let R = K0 U - U L. The matrix K' with K'U = U L that agrees with K0 across
the rest is nearer than ``sqrt(2) ||R||_F`` to K0, and A -> A_+, a projection on a
convex cone, moves no more than A does. For K' the m Lanczos vectors Q from the part of
z outside of U make W = [U, Q] with ``A'W = W M + b q e_m'``. In ``2 A_+ = A + |A|`` and
``|A| z = (2/pi) int z - t Im (A - it)^-1 z dt`` the resolvent on W leaves a residual of
length ``|y(t)|``, y(t) being b times the last entry of its coordinates, and
``||(A - it)^-1|| <= 1 / t``: p errs by at most ``(1/pi) int |y(t)| dt``. With the Ritz
values h_j of Q, the off-diagonals b_j, and F of `krein.machines.quadrature`,

    |y(t)| = |y_0(t)| / |F(t)|,     |y_0(t)| = |z_Q| b_1 ... b_m / prod_j |h_j - it|,

where |y_0| falls in t, and |F| changes by at most the factor by which t does, since the
eigenvalues of M and of M - zz' interlace: a sum over cells of a grid in log t is a
bound of the integral, not an estimate. The scalar z'(K' - it)^-1 z errs by
``|y_0|^2 / t`` only (Galerkin), so that V errs by at most ``2 int |y_0|^2 / |F| dt``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.machines.quadrature import RankOnePositivePart

_EPS = float(np.finfo(np.float64).eps)
# The grid of the bound in log t, from and to these multiples of the norm of A.
_STEP, _LOWEST, _HIGHEST = 0.1, 1e-13, 1e3
# An off-diagonal of this many eps sqrt(n) ||A|| is rounding; together with the rounding
# of products, quadrature and orthogonality it counts as a change of A by `_ROUNDING`.
_NOTHING, _ROUNDING = 8.0, 32.0


@dataclass(frozen=True)
class PositivePart:
    """What A_+ makes of z, and how far it can be from the truth.

    Attributes
    ----------
    value : float
        V(z).
    vector : ndarray of shape (n,)
        p(z).
    value_error : float
        Bound on the error of `value`.
    vector_error : float
        Bound on the Euclidean norm of the error of `vector`.
    """

    value: float
    vector: Array
    value_error: float
    vector_error: float


class Lanczos:
    """Lanczos' method for ``K0 + zz'`` from z, beside known eigenpairs of K0.

    Parameters
    ----------
    product : callable
        v -> K0 v.
    eigenvalues, eigenvectors : ndarray of shape (r,), (n, r)
        The known eigenpairs; r may be 0.
    residual : float
        At least ``||K0 U - U L||_F``.
    z : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from krein.machines.krylov import Lanczos
    >>> K = np.diag([-1.0, 2.0, 0.5])
    >>> known = np.array([2.0]), np.eye(3)[:, [1]]
    >>> found = Lanczos(K.__matmul__, *known, 0.0, np.array([2.0, 0.0, 0.0]))
    >>> found.extend(1)
    >>> found.positive_part().vector.round(6) + 0.0
    array([6., 0., 0.])
    """

    def __init__(
        self,
        product: Callable[[Array], Array],
        eigenvalues: Array,
        eigenvectors: Array,
        residual: float,
        z: Array,
    ) -> None:
        self.product = product
        self.known, self.U = eigenvalues, eigenvectors
        self.residual = residual
        self.z = z
        self.inside = eigenvectors.T @ z
        self.vectors = np.empty((z.size, 0))
        rest = self._outside(z - eigenvectors @ self.inside, self.vectors)
        self.start = float(np.linalg.norm(rest))
        self.diagonal: list[float] = []
        self.beside = [self.start]
        self._next = rest

    def _outside(self, w: Array, Q: Array) -> Array:
        """Take what lies along U and Q out of w, once more for what rounding left."""
        w = w - Q @ (Q.T @ w)
        return w - self.U @ (self.U.T @ w)

    @property
    def steps(self) -> int:
        """Number of Lanczos vectors."""
        return len(self.diagonal)

    @property
    def exhausted(self) -> bool:
        """Nothing but rounding is left to start the next step from."""
        largest = max(map(abs, [*self.diagonal, *self.beside[1:]]), default=0.0)
        unit = largest if self.steps else float(np.linalg.norm(self.z))
        room = self.z.size - self.known.size - self.steps
        return (
            room <= 0
            or self.beside[-1] <= _NOTHING * _EPS * np.sqrt(self.z.size) * unit
        )

    def extend(self, steps: int) -> None:
        """Take so many steps more, all vectors orthogonal to all; fewer if exhausted.

        Parameters
        ----------
        steps : int
        """
        m = self.steps
        Q = np.empty((self.z.size, m + steps), order="F")
        Q[:, :m] = self.vectors
        while m < Q.shape[1] and not self.exhausted:
            q = Q[:, m] = self._next / self.beside[-1]
            w = self._outside(self.product(q), Q[:, :0])
            self.diagonal.append(float(q @ w))
            m += 1
            for _ in range(2):
                w = self._outside(w, Q[:, :m])
            self.beside.append(float(np.linalg.norm(w)))
            self._next = w
        self.vectors = Q[:, :m]

    def positive_part(self) -> PositivePart:
        """Return p(z) and V(z) on the space reached so far, with their errors."""
        size = float(np.linalg.norm(self.z))
        if size == 0.0:
            return PositivePart(0.0, np.zeros_like(self.z), 0.0, 0.0)
        r = self.known.size
        ritz, S = self._ritz()
        d = np.append(self.known, ritz)
        z = np.append(self.inside, self.start * S[:1].ravel())
        value, p = RankOnePositivePart(d).value_gradient(z)
        vector = self.U @ p[:r] + self.vectors @ (S @ p[r:])
        norm = float(np.abs(d).max(initial=0.0)) + size * size
        moved = np.sqrt(2.0) * self.residual
        moved += _ROUNDING * _EPS * norm * np.sqrt(self.z.size * (d.size + 1))
        of_value, of_vector = 2.0 * moved * size * size, moved * size
        if not self.exhausted:
            bound = _Bound(ritz, np.array(self.beside), d, z, norm)
            of_value += bound.of_value()
            of_vector += bound.of_vector()
        return PositivePart(value, vector, of_value, of_vector)

    def _ritz(self) -> tuple[Array, Array]:
        if not self.diagonal:
            return np.empty(0), np.empty((0, 0))
        return scipy.linalg.eigh_tridiagonal(self.diagonal, self.beside[1:-1])


@dataclass(frozen=True)
class _Bound:
    """The integrals of the derivation, from above.

    `beside` holds |z_Q| and b_1 ... b_m, `d` and `z` the eigenvalues of M - zz' and the
    coordinates of z, `norm` a bound on the norm of A.
    """

    ritz: Array
    beside: Array
    d: Array
    z: Array
    norm: float

    @property
    def nodes(self) -> Array:
        count = int(np.ceil(np.log(_HIGHEST / _LOWEST) / _STEP)) + 1
        return self.norm * _LOWEST * np.exp(_STEP * np.arange(count))

    @cached_property
    def log_product(self) -> float:
        """Logarithm of |z_Q| b_1 ... b_m."""
        return float(np.log(np.maximum(self.beside, 1e-300)).sum())

    @cached_property
    def first(self) -> Array:
        """|y_0| at the nodes; eigenvalues may be nearer to 0 by rounding."""
        near = np.abs(self.ritz) - self.d.size * _EPS * self.norm
        square = np.maximum(near, 0.0) ** 2
        logs = 0.5 * np.log(np.add.outer(self.nodes**2, square)).sum(axis=1)
        return np.exp(np.minimum(self.log_product - logs, 600.0))

    @cached_property
    def factor(self) -> Array:
        """|F| in the cells from below, next to 0 where it drowns in rounding."""
        t = self.nodes
        inverse = 1.0 / np.subtract.outer(-1j * t, -self.d)
        F = 1.0 + inverse @ (self.z * self.z)
        rounding = self.d.size * _EPS * (1.0 + np.abs(inverse) @ (self.z * self.z))
        return np.maximum(np.abs(F) - rounding, 1e-300) * np.exp(-_STEP)

    @property
    def cells(self) -> Array:
        """Lengths of the cells that begin at the nodes."""
        return self.nodes * np.expm1(_STEP)

    def _beyond(self, power: int) -> float:
        """The integral of |y_0|^power / |F| beyond the last node, where |F| > 1/2."""
        m, last = self.ritz.size, float(self.nodes[-1] * np.exp(_STEP))
        if m * power < 2:
            return np.inf
        log = power * (self.log_product - m * np.log(last)) + np.log(last)
        return 2.0 * float(np.exp(min(log, 600.0))) / (m * power - 1)

    def of_vector(self) -> float:
        size = float(np.linalg.norm(self.z))
        with np.errstate(over="ignore"):
            y = np.minimum(self.first / self.factor, 2.0 * size)
        below = 2.0 * size * float(self.nodes[0])
        return (float(y @ self.cells) + below + self._beyond(1)) / np.pi

    def of_value(self) -> float:
        t = self.nodes
        with np.errstate(over="ignore"):
            y = np.minimum(self.first**2 / self.factor, t * np.exp(_STEP))
        return 2.0 * (float(y @ self.cells) + float(t[0]) ** 2 + self._beyond(2))
