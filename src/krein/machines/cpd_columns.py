"""The kernel K of a c.p.d. problem: columns computed on demand, or features.

Newton steps ask for products, and for the solution u of

    P (I + R K_ss R) P u = v,    v = P v,

s some samples, R a positive diagonal matrix and P = I - WW' the projection off the
scaled polynomials. On the range of P this is I + P R K_ss R P, positive definite for
every kernel that is conditionally positive definite.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsymm, dsymv, dsyr2k
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from krein.arrays import (
    Array,
    product_and_error,
    rounding_of_sums,
    wide_rounding_of_sums,
)
from krein.similarity.matrix import Similarities

_MANY = 700  # samples, from which on conjugate gradients are tried first
_WORTH = 64  # a factor of m samples takes as long as m / _WORTH of their steps
_COLUMNS = 100  # of the preconditioner
_BLOCK = 32  # columns that stay in the cache until they are summed
_ROWS = 128  # of a triangle that are scaled at once
# Columns are gathered before a product if fewer than one in so many has a coefficient.
_SPARSE = 3
_REFINEMENTS = 2
_EPS = float(np.finfo(float).eps)

NOT_CPD = (
    "the kernel is not conditionally positive definite with respect to these "
    "polynomials: the centred matrix has clearly negative eigenvalues. Check the sign "
    "(-r and r^3, not r and -r^3), raise degree, or use an estimator for indefinite "
    "kernels such as krein.KreinSVC"
)


@dataclass(frozen=True)
class System:
    """What is solved for u: samples s, diagonal of R, W and v, from a start.

    Attributes
    ----------
    s : ndarray of shape (m,)
        Samples.
    root : ndarray of shape (m,)
        Diagonal of R.
    W : ndarray of shape (m, r)
        Orthonormal basis of the scaled polynomials.
    right : ndarray of shape (m,)
        v.
    start : ndarray of shape (m,)
        A guess of u.
    tol : float
        Largest norm of the residual, for methods that do not solve to rounding.
    """

    s: np.ndarray
    root: Array
    W: Array
    right: Array
    start: Array
    tol: float

    def project(self, v: Array) -> Array:
        """P v."""
        return v - self.W @ (self.W.T @ v)


@dataclass(frozen=True)
class Features:
    """``K = F F'`` by its features."""

    F: Array

    def __matmul__(self, c: Array) -> Array:
        """K c."""
        return self.F @ (c @ self.F)

    def product_and_error(self, c: Array) -> tuple[Array, Array]:
        """K c, and a bound on its rounding; see `krein.arrays.product_and_error`."""
        n, m = self.F.shape
        inner = np.abs(c) @ np.abs(self.F)
        share = rounding_of_sums(n) + rounding_of_sums(m)
        return self @ c, share * (np.abs(self.F) @ inner)

    def dense(self) -> Array:
        """Return the matrix."""
        return self.F @ self.F.T

    def restrict(self, rows: np.ndarray) -> Features:
        """The matrix of some of the samples."""
        return Features(self.F[rows])

    def compute(self) -> None:
        """Nothing is left to compute."""

    def solve(self, system: System) -> Array:
        """Return u, by a system of the size of the features (Woodbury)."""
        G = system.project(system.root[:, None] * self.F[system.s])
        factor = _factor(lambda: (np.eye(G.shape[1]) + G.T @ G, 0.0))
        u = np.zeros_like(system.right)
        rest = system.right
        for _ in range(1 + _REFINEMENTS):
            u = u + rest - G @ cho_solve(factor, rest @ G, check_finite=False)
            rest = system.right - u - G @ (u @ G)
        return u


class KernelColumns:
    """Columns of a symmetric matrix, computed when first asked for, and kept.

    Parameters
    ----------
    matrix : Similarities
        The matrix, or items and their kernel.
    definite : bool
        Known to be c.p.d., not only to be found so by a factor.
    """

    def __init__(self, matrix: Similarities, *, definite: bool = False) -> None:
        self.matrix = matrix
        self.definite = definite
        n = matrix.n
        # Columns as rows of panels, in the order in which they were asked for.
        self.panels: list[Array] = []
        self.place = np.full(n, -1)
        self.n_kept = 0
        self.too_steep = np.inf  # conjugate gradients were slow for such a system
        if matrix.kernel is None:
            self._keep(np.arange(n), matrix.dense())

    def _keep(self, columns: np.ndarray, panel: Array) -> None:
        self.panels.append(panel)
        self.place[columns] = self.n_kept + np.arange(columns.size)
        self.n_kept += columns.size

    def _places(self, s: np.ndarray) -> np.ndarray:
        """Where the columns s are kept; compute what is missing."""
        missing = s[self.place[s] < 0]
        if missing.size:
            everything = np.arange(self.place.size)
            self._keep(missing, self.matrix.block(missing, everything))
        return self.place[s]

    def _rows(self, s: np.ndarray) -> Iterator[Array]:
        """Yield the columns s, each as the row of a panel."""
        places = self._places(s)
        ends = np.cumsum([len(panel) for panel in self.panels])
        homes = np.searchsorted(ends, places, side="right")
        for home, place in zip(homes.tolist(), places.tolist(), strict=True):
            yield self.panels[home][place - ends[home]]

    def __matmul__(self, c: Array) -> Array:
        """K c."""
        s = np.flatnonzero(c)
        places = self._places(s)
        full = np.zeros(self.n_kept)
        product = np.zeros(c.size)
        full[places] = c[s]
        end = 0
        for panel in self.panels:
            start, end = end, end + len(panel)
            part = full[start:end]
            some = np.flatnonzero(part)
            if len(panel) > _ROWS and _SPARSE * some.size < len(panel):
                part, panel = part[some], panel[some]
            if some.size:
                product += part @ panel
        return product

    def product_and_error(self, c: Array) -> tuple[Array, Array]:
        """K c, and a bound on its rounding; see `krein.arrays.product_and_error`."""
        if self.matrix.kernel is None:
            return product_and_error(self.matrix, c)
        sizes = np.zeros(c.size)
        n_terms = 0
        for some, rows in self._blocks(c):
            sizes += np.abs(c[some]) @ np.abs(rows, out=rows)
            n_terms += some.size
        return self @ c, rounding_of_sums(n_terms) * sizes

    def extended_product(self, c: Array) -> tuple[Array, Array]:
        """K c of the kept columns; see `krein.arrays.extended_product`."""
        wide = np.longdouble
        outputs = np.zeros(c.size, dtype=wide)
        sizes = np.zeros(c.size)
        n_terms = 0
        for some, rows in self._blocks(c):
            outputs += c[some].astype(wide) @ rows.astype(wide)
            sizes += np.abs(c[some]) @ np.abs(rows, out=rows)
            n_terms += some.size
        image = outputs.astype(np.float64)
        return image, wide_rounding_of_sums(n_terms) * sizes + 0.5 * _EPS * abs(image)

    def _blocks(self, c: Array) -> Iterator[tuple[np.ndarray, Array]]:
        """Yield the columns that c needs, some at a time, in an array to write to."""
        s = np.flatnonzero(c)
        rows = np.empty((_BLOCK, c.size))
        for i in range(0, s.size, _BLOCK):
            some = s[i : i + _BLOCK]
            for row, column in zip(rows, self._rows(some), strict=False):
                row[:] = column
            yield some, rows[: some.size]

    def dense(self) -> Array:
        """Return the matrix."""
        return self.matrix.dense()

    def restrict(self, rows: np.ndarray) -> KernelColumns:
        """The matrix of some of the samples."""
        if self.n_kept < self.place.size:
            part = self.matrix.block(rows, rows)
        else:
            part = np.stack([row.take(rows) for row in self._rows(rows)])
        return KernelColumns(Similarities(part), definite=self.definite)

    def compute(self) -> None:
        """Compute all columns that are missing, at once."""
        self._places(np.arange(self.place.size))

    def _upper(self, s: np.ndarray) -> Array:
        """K_ss in a new array, of which the lower triangle is left zero."""
        block = np.zeros((s.size, s.size))  # what is not written to takes no memory
        for i, row in enumerate(self._rows(s)):
            # Half the time of an open mesh.
            row.take(s[i:], out=block[i, i:], mode="clip")
        return block

    def _is_whole(self, s: np.ndarray) -> bool:
        """Whether K_ss is the only panel, in its order."""
        in_order = s.size == self.place.size and len(self.panels) <= 1
        return in_order and np.array_equal(self._places(s), s)

    def solve(self, system: System) -> Array:
        """Return u, by conjugate gradients or, where they are slow, a factor."""
        s = system.s
        block = None
        steepest = float(system.root.max())
        if self.definite and s.size >= _MANY and steepest < self.too_steep:
            block = self.panels[0] if self._is_whole(s) else self._upper(s)
            J = np.linspace(0, s.size - 1, _COLUMNS).astype(int)
            rows = np.stack([row.take(s) for row in self._rows(s[J])])
            u = _by_gradients(block, J, rows, system)
            if u is not None:
                return system.project(u)
            self.too_steep = steepest
            del block
        return _by_factor(lambda: self._upper(s), system)


Columns = Features | KernelColumns


@np.errstate(all="ignore")  # what leaves float64 does not converge
def _by_gradients(K: Array, J: np.ndarray, rows: Array, system: System) -> Array | None:
    """Conjugate gradients; None where they take more steps than a factor is worth.

    Of K the upper triangle is read. The matrix is the identity plus few large
    eigenvalues where alpha is not small, so that few of its columns J make a
    preconditioner: ``M = I + C A^-1 C'`` with C those of P R K R P, A their rows J and
    ``M^-1 = I - C (A + C'C)^-1 C'`` (Nystroem). `rows` are the rows J of K.
    """
    root = system.root
    W = system.W
    m = system.s.size

    def image(v: Array) -> Array:
        return v + system.project(root * dsymv(1.0, K.T, root * v, lower=1))

    C = rows.T * root[J] - _symmetric_product(K, root[:, None] * W) @ W[J].T
    C = system.project(root[:, None] * C)
    A = C[J] + C.T @ C
    A[np.diag_indices_from(A)] += 8 * J.size * _EPS * np.trace(A)
    try:
        factor = cho_factor(A, lower=True, check_finite=False)
    except LinAlgError:
        return None
    u, missed = cg(
        LinearOperator((m, m), matvec=image, dtype=float),
        system.right,
        x0=system.project(system.start),
        rtol=0.0,
        atol=system.tol,
        maxiter=m // _WORTH,
        M=LinearOperator(
            (m, m),
            matvec=lambda r: r - C @ cho_solve(factor, r @ C, check_finite=False),
            dtype=float,
        ),
    )
    return None if missed else u


def _by_factor(upper: Callable[[], Array], system: System) -> Array:
    factor = _factor(lambda: projected(upper(), system.root, system.W))
    return system.project(cho_solve(factor, system.right, check_finite=False))


def _symmetric_product(K: Array, V: Array) -> Array:
    """K V, of which K the upper triangle is read."""
    if K.shape[0] <= _ROWS or not V.size:
        return (np.triu(K) + np.triu(K, 1).T) @ V
    # K.T is K in the order of BLAS, which would copy K otherwise.
    return dsymm(1.0, K.T, V, lower=1)


def projected(K: Array, root: Array, W: Array) -> tuple[Array, float]:
    """Return I + P R K R P, P = I - WW', in its lower triangle, and the norm of R K R.

    Of K the upper triangle is read, and overwritten.
    """
    size = 0.0
    for i in range(0, root.size, _ROWS):
        rows = K[i : i + _ROWS, i:]
        rows *= root[i : i + _ROWS, None]
        rows *= root[i:]
        square, beyond = rows[:, : len(rows)], rows[:, len(rows) :]
        above = np.triu(square, 1)
        with np.errstate(over="ignore"):  # infinity is a size as well
            parts = square.diagonal(), above, above, beyond, beyond
            size = math.hypot(size, *(float(np.linalg.norm(part)) for part in parts))
    A = K.T
    if W.size:
        V = _symmetric_product(K, W)
        V -= 0.5 * (W @ (W.T @ V))
        A = dsyr2k(-1.0, V, W, beta=1.0, c=A, lower=1, overwrite_c=1)
    A[np.diag_indices_from(A)] += 1.0
    return A, size


def _factor(make: Callable[[], tuple[Array, float]]) -> tuple[Array, bool]:
    """Cholesky factor; rounding gets a ridge and a warning, more than that an error.

    `make` returns a new matrix A, the identity plus a positive semidefinite one, and
    the norm of what A was before a projection. The factor, which takes the place of A,
    can only fail when one of their norms exceeds 1 / eps, or when the kernel is not
    c.p.d.
    """
    A, before = make()
    size = max(float(np.trace(A)), before if before < np.inf else 0.0)
    for ridge in (0.0, 4 * _EPS * size, 1e-10 * size, 1e-7 * size):
        if ridge:
            A, _ = make()
        A[np.diag_indices_from(A)] += ridge
        try:
            factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        if ridge:
            warnings.warn(
                "alpha is below the rounding error of the kernel matrix; a ridge of "
                f"{ridge:.2g} times alpha was added. Choose a larger alpha",
                ConvergenceWarning,
                stacklevel=2,
            )
        return factor
    if size * _EPS > 1.0:
        raise ValueError(
            f"alpha is {size:.2g} times smaller than the kernel, whose rounding errors "
            "then decide; choose a larger alpha, or divide the kernel by its size"
        )
    raise ValueError(NOT_CPD)
