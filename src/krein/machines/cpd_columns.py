"""The kernel K of a c.p.d. problem: columns computed on demand, or features.

Newton steps ask for products, and for the solution u of

    P (I + R K_ss R) P u = v,    v = P v,

s some samples, R a positive diagonal matrix and P = I - WW' the projection off the
scaled polynomials. On the range of P this is I + P R K_ss R P, positive definite for
every kernel that is conditionally positive definite.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsymv, dsyr2k
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from krein.arrays import Array, product_and_error, rounding_of_sums
from krein.similarity.matrix import Similarities

# From this many samples on conjugate gradients are tried first. A factor of m samples
# takes as long as m / _WORTH of their steps.
_MANY, _WORTH = 700, 64
_COLUMNS = 100  # of the preconditioner
_BLOCK = 32  # columns that stay in the cache until they are summed
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

    def dense(self) -> Array:
        """Return the matrix."""
        return self.F @ self.F.T

    def restrict(self, rows: np.ndarray) -> Features:
        """The matrix of some of the samples."""
        return Features(self.F[rows])

    def solve(self, system: System) -> Array:
        """Return u, by a system of the size of the features (Woodbury)."""
        G = system.project(system.root[:, None] * self.F[system.s])
        factor = _factor(np.eye(G.shape[1]) + G.T @ G)
        u, rest = np.zeros_like(system.right), system.right
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
        self.matrix, self.definite, n = matrix, definite, matrix.n
        whole = matrix.kernel is None
        self.kept = matrix.dense() if whole else np.empty((n, n))  # columns as rows
        self.place = np.arange(n) if whole else np.full(n, -1)
        self.n_kept = n if whole else 0
        self.too_steep = np.inf  # conjugate gradients were slow for such a system

    def _places(self, s: np.ndarray) -> np.ndarray:
        """Where the columns s are kept; compute what is missing."""
        missing = s[self.place[s] < 0]
        if missing.size:
            end = self.n_kept + missing.size
            everything = np.arange(self.place.size)
            self.kept[self.n_kept : end] = self.matrix.block(missing, everything)
            self.place[missing] = np.arange(self.n_kept, end)
            self.n_kept = end
        return self.place[s]

    def __matmul__(self, c: Array) -> Array:
        """K c."""
        s = np.flatnonzero(c)
        places = self._places(s)
        full = np.zeros(self.n_kept)
        full[places] = c[s]
        return full @ self.kept[: self.n_kept]

    def product_and_error(self, c: Array) -> tuple[Array, Array]:
        """K c, and a bound on its rounding; see `krein.arrays.product_and_error`."""
        if self.matrix.kernel is None:
            return product_and_error(self.matrix, c)
        s = np.flatnonzero(c)
        places, sizes = self._places(s), np.zeros(c.size)
        for i in range(0, s.size, _BLOCK):
            rows = np.abs(self.kept[places[i : i + _BLOCK]])
            sizes += np.abs(c[s[i : i + _BLOCK]]) @ rows
        return self @ c, rounding_of_sums(s.size) * sizes

    def dense(self) -> Array:
        """Return the matrix."""
        return self.matrix.dense()

    def restrict(self, rows: np.ndarray) -> KernelColumns:
        """The matrix of some of the samples."""
        part = Similarities(self.matrix.block(rows, rows))
        return KernelColumns(part, definite=self.definite)

    def solve(self, system: System) -> Array:
        """Return u, by conjugate gradients or, where they are slow, a factor."""
        m = system.s.size
        block = np.empty((m, m))
        for place, row in zip(self._places(system.s), block, strict=True):
            # Half the time of an open mesh.
            self.kept[place].take(system.s, out=row, mode="clip")
        steepest = float(system.root.max())
        if self.definite and m >= _MANY and steepest < self.too_steep:
            u = _by_gradients(block, system)
            if u is not None:
                return system.project(u)
            self.too_steep = steepest
        return _by_factor(block, system)


Columns = Features | KernelColumns


@np.errstate(all="ignore")  # what leaves float64 does not converge
def _by_gradients(K: Array, system: System) -> Array | None:
    """Conjugate gradients; None where they take more steps than a factor is worth.

    The matrix is the identity plus few large eigenvalues where alpha is not small, so
    that few of its columns J make a preconditioner: ``M = I + C A^-1 C'`` with C those
    of P R K R P, A their rows J and ``M^-1 = I - C (A + C'C)^-1 C'`` (Nystroem).
    """
    root, W, m = system.root, system.W, system.s.size

    def image(v: Array) -> Array:
        return v + system.project(root * dsymv(1.0, K.T, root * v, lower=1))

    J = np.linspace(0, m - 1, _COLUMNS).astype(int)
    C = K[J].T * root[J] - (K @ (root[:, None] * W)) @ W[J].T
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


def _by_factor(K: Array, system: System) -> Array:
    A, size = projected(K, system.root, system.W)
    factor = _factor(A, size)
    return system.project(cho_solve(factor, system.right, check_finite=False))


def projected(K: Array, root: Array, W: Array) -> tuple[Array, float]:
    """Return I + P R K R P, P = I - WW', in its lower triangle, and the norm of R K R.

    K is overwritten.
    """
    K *= root[:, None]
    K *= root
    with np.errstate(over="ignore"):  # squares may leave float64
        size = float(np.linalg.norm(K))
    A = K.T
    if W.size:
        V = K @ W
        V -= 0.5 * (W @ (W.T @ V))
        A = dsyr2k(-1.0, V, W, beta=1.0, c=A, lower=1, overwrite_c=1)
    A[np.diag_indices_from(A)] += 1.0
    return A, size


def _factor(A: Array, before: float = 0.0) -> tuple[Array, bool]:
    """Cholesky factor; rounding gets a ridge and a warning, more than that an error.

    A is the identity plus a positive semidefinite matrix: it can only fail when its
    norm, or that of the matrix `before` the projection, exceeds 1 / eps, or when the
    kernel is not c.p.d.
    """
    size, added = max(float(np.trace(A)), before if before < np.inf else 0.0), 0.0
    for ridge in (0.0, 4 * _EPS * size, 1e-10 * size, 1e-7 * size):
        A[np.diag_indices_from(A)] += ridge - added
        added = ridge
        try:
            factor = cho_factor(A, lower=True, check_finite=False)
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
