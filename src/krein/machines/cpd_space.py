"""Function spaces of a c.p.d. kernel: a kernel K and polynomials Q.

Three spaces, one form ``f = K c + Q b`` with ``Q'c = 0`` and K positive semidefinite
for such c:

- polynomials free (`free_space`): K is Phi itself.
- polynomials zero (`subspace`): functions ``Phi a``, ``P'a = 0``. With Z the
  complement of Q and B, C, A the blocks of Phi in the basis [Q Z],
  ``K = Phi + Q (C A^-1 C' - B) Q'`` and no Q remains.
- a subset of basis points (`basis_space`): ``K = F F'`` with features F.

Each space maps (c, b) back to coefficients on Phi and on the polynomials.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from krein.arrays import Array, product_and_error
from krein.kernels.splines import orthonormal_range
from krein.machines.cpd_columns import NOT_CPD, Columns, Features, KernelColumns
from krein.similarity.matrix import Similarities

_EPS = float(np.finfo(float).eps)
_BLOCK = 1024
_COMPARED = 64  # columns by which equal items are looked for


@dataclass(frozen=True)
class Polynomials:
    """What is not regularised: P at the training items and a basis ``Q = P G``.

    Attributes
    ----------
    P : ndarray of shape (n, p)
        The given polynomials.
    Q : ndarray of shape (n, r)
        Orthonormal basis of their range.
    G : ndarray of shape (p, r)
        ``G b`` are coefficients on P of the polynomial ``Q b``.
    """

    P: Array
    Q: Array
    G: Array

    @classmethod
    def fit(cls, P: Array, weight: Array | None = None) -> Polynomials:
        """Find the basis, rank-revealing."""
        return cls(P, *orthonormal_range(P, weight))

    def excess(self, a: Array) -> tuple[Array, Array]:
        """Return ``P'a`` where 0 is meant, and a bound on its rounding errors."""
        terms = self.P * a[:, None]
        error = 4.0 * _EPS * np.sqrt(np.square(terms).sum(axis=0))
        return np.array([math.fsum(column) for column in terms.T]), error

    def slip(self, a: Array) -> Array:
        """Bound ``|Q'a|``, much of it where columns of P nearly coincide."""
        excess, error = self.excess(a)
        return np.abs(self.G).T @ (np.abs(excess) + error)

    @property
    def zero(self) -> Array:
        """Coefficients of the zero polynomial."""
        return np.zeros(self.P.shape[1])


@dataclass(frozen=True)
class Core:
    """Phi of the basis points where their polynomials vanish: A, positive definite.

    Attributes
    ----------
    basis : ndarray of int
        The points, among the training items.
    polynomials : Polynomials
        At these points.
    factor : ndarray of shape (m, m)
        Of `_definite_factor`.
    exact : bool
        The factor is that of A to rounding: no more was added to make it definite.
    """

    basis: np.ndarray
    polynomials: Polynomials
    factor: Array
    exact: bool = True

    def energy(
        self,
        K: Any,
        c: Array,
        a: Array,
        image: Array,
        error: Array,
        product: Callable[..., tuple[Array, Array]] = product_and_error,
    ) -> float:
        """Bound the energy ``g'A^-1 g``, g = Z'Phi_J'c, of a dual point c from above.

        For every a on J with P_J'a = 0 it is ``2 c'Phi a - a'Phi a + s'A^-1 s``, where
        s = Z'(Phi_J'c - Phi_JJ a) is nearly zero for the a that c stands for. `image`
        is Phi a on all samples, to `error`, and `product` multiplies. What is left of
        P_J'a pulls at the part of the difference that is a polynomial. Infinite where A
        is not known well enough.
        """
        if not self.exact:
            return np.inf
        J = self.basis
        Q = self.polynomials.Q
        if J.size < c.size:
            K = K.block(J, np.arange(c.size))
        back, off = product(K, c)
        s = back - image[J]
        off = off + error[J]
        pull = Q.T @ s
        s -= Q @ pull
        solved = scipy.linalg.cho_solve((self.factor, True), s, check_finite=False)
        # LAPACK's estimate of the norm of A^-1, which is within a factor of three.
        inverse, _ = scipy.linalg.lapack.dpocon(self.factor, 1.0, uplo="L")
        noise = 3.0 * float(off @ off) / max(inverse, np.finfo(float).tiny)
        energy = (2.0 * c - a) @ image + (2.0 * np.abs(c) + np.abs(a)) @ error
        energy += 2.0 * np.abs(pull) @ self.polynomials.slip(a[J])
        return float(energy + 2.0 * (s @ solved)) + 2.0 * noise


@dataclass(frozen=True)
class Space:
    """A space of functions in which the problem is convex.

    Attributes
    ----------
    K : Columns
        The kernel.
    null : ndarray of shape (n, r)
        Q.
    expand : callable
        ``expand(c, b) -> (a, p)``: coefficients (n,) on Phi, with ``P'a = 0``, and on
        the given polynomials.
    core : Core or None
        Where K is made by its inverse, so that coefficients on Phi are not c.
    free : Polynomials or None
        Those of Q, where there are any.
    """

    K: Columns
    null: Array
    expand: Callable[[Array, Array], tuple[Array, Array]]
    core: Core | None = None
    free: Polynomials | None = None

    @property
    def holds_zero_only(self) -> bool:
        """Whether f = 0 is the only function."""
        no_kernel = isinstance(self.K, Features) and self.K.F.shape[1] == 0
        return no_kernel and self.null.shape[1] == 0


def polynomial_space(polynomials: Polynomials, *, free: bool) -> Space:
    """Polynomials without the kernel, for samples on which they reach every function.

    Then ``P'a = 0`` leaves a = 0: free polynomials interpolate with coefficients of
    least norm, and without them f = 0 is all there is.
    """
    n = polynomials.Q.shape[0]

    def expand(c: Array, b: Array) -> tuple[Array, Array]:
        return np.zeros(n), polynomials.G @ b if free else polynomials.zero

    Q = polynomials.Q if free else np.empty((n, 0))
    return Space(Features(np.empty((n, 0))), Q, expand)


def free_space(
    phi: Similarities, polynomials: Polynomials, *, definite: bool = False
) -> Space:
    """Functions ``Phi a + P b`` with ``P'a = 0``, all training points as basis.

    Parameters
    ----------
    phi : Similarities
        The raw c.p.d. kernel.
    polynomials : Polynomials
        At the training items.
    definite : bool
        The kernel is known to be c.p.d. with respect to these polynomials.

    Returns
    -------
    Space
    """
    columns = KernelColumns(phi, definite=definite)

    def expand(c: Array, b: Array) -> tuple[Array, Array]:
        return c, polynomials.G @ b

    return Space(columns, polynomials.Q, expand, free=polynomials)


def _centring(K: Array, Q: Array) -> Array:
    """V with ``(I - QQ')K(I - QQ') = K - V Q' - Q V'``."""
    V = K @ Q
    return V - 0.5 * (Q @ (Q.T @ V))


def _subtract_outer(K: Array, V: Array, Q: Array) -> Array:
    """K - V Q' - Q V', in place by blocks: no second n x n matrix."""
    for i in range(0, K.shape[0], _BLOCK):
        rows = slice(i, i + _BLOCK)
        K[rows] -= V[rows] @ Q.T
        K[rows] -= Q[rows] @ V.T
    return K


def subspace(
    phi: Similarities, polynomials: Polynomials, *, definite: bool = False
) -> Space:
    """Functions ``Phi a`` with ``P'a = 0`` and no polynomial (the paper's beta = 0).

    The whole kernel matrix and one Cholesky factor of its size are needed, for all
    classes and all values of lam. Parameters are those of `free_space`.
    """
    Q = polynomials.Q
    n = Q.shape[0]
    everything = np.arange(n)
    K = phi.block(everything, everything)
    if Q.shape[1] == 0:
        return free_space(Similarities(K), polynomials, definite=definite)
    if _is_polynomial(K, polynomials):
        return polynomial_space(polynomials, free=False)
    image = K @ Q
    B = Q.T @ image
    G = image - Q @ B
    # Z A^-1 Z'G by one Cholesky factor of the size of K; Z is never formed.
    factor, exact = _definite_factor(K, Q)
    M = scipy.linalg.cho_solve((factor, True), G, check_finite=False)
    M -= Q @ (Q.T @ M)
    _share_among_copies(M, K)
    _subtract_outer(K, 0.5 * (Q @ (B - G.T @ M)), Q)

    def expand(c: Array, b: Array) -> tuple[Array, Array]:
        inside = Q.T @ c
        a = c - Q @ inside + M @ inside
        a -= Q @ (Q.T @ a)
        return a, polynomials.zero

    columns = KernelColumns(Similarities(K), definite=definite)
    return Space(
        columns, np.empty((n, 0)), expand, Core(everything, polynomials, factor, exact)
    )


def _perhaps_equal(K: Array) -> list[np.ndarray]:
    """Items in groups: those of one group are equal in some of their entries."""
    n_compared = min(len(K), _COMPARED)
    some = np.linspace(0, len(K) - 1, n_compared).astype(int)
    group = np.unique(K[:, some], axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order])) + 1
    return np.split(order, starts)


def _share_among_copies(M: Array, K: Array) -> None:
    """Give equal items equal rows of M, in place.

    So has the exact solution. In differences of equal items the factor is singular but
    for its ridge, so that rounding makes coefficients of any size there.
    """
    for alike in _perhaps_equal(K):
        while alike.size > 1:
            copies = (K[alike] == K[alike[0]]).all(axis=1)
            M[alike[copies]] = M[alike[copies]].mean(axis=0)
            alike = alike[~copies]


def _is_polynomial(K: Array, polynomials: Polynomials) -> bool:
    """Whether there are no more distinct items than polynomials.

    Then ``(I - QQ')K(I - QQ')`` is zero, however often items are repeated. It is zero
    to rounding beside an outlier as well, where nothing follows: items are compared.
    """
    P = polynomials.P
    Q = polynomials.Q
    centred = _subtract_outer(K.copy(), _centring(K, Q), Q)
    if float(np.abs(centred).max()) > _centring_error(K, Q):
        return False
    first, place = np.unique(P, axis=0, return_index=True, return_inverse=True)[1:]
    if first.size > Q.shape[1]:
        return False
    alike = K[first[place.ravel()]]
    size = float(np.median(np.abs(K)))
    return bool(np.all(np.abs(K - alike) <= 1e-9 * np.abs(alike) + 1e-9 * size))


def _centring_error(K: Array, Q: Array) -> float:
    """Rounding of an entry of ``(I - QQ')K(I - QQ')``."""
    terms = 4.0 * (1.0 + np.sqrt(Q.shape[0]) + Q.shape[1])
    return terms * _EPS * float(np.abs(K).max(initial=0.0))


def _definite_factor(K: Array, Q: Array) -> tuple[Array, bool]:
    """Lower Cholesky factor of ``(I - QQ')K(I - QQ') + tau QQ'``, and if it is exact.

    It is positive definite, with A of `subspace` on the complement of Q. Coinciding
    items make it singular there too; a ridge at the level of rounding settles that
    without moving what the right-hand sides see.
    """
    n = Q.shape[0]
    V = _centring(K, Q)
    rounding = np.sqrt(n) * _centring_error(K, Q)
    trace = float(np.trace(K)) - 2.0 * float(np.sum(V * Q))
    tau = max(trace / n, np.finfo(float).tiny)
    for ridge in sorted((8 * n * _EPS * tau, rounding, 1e-10 * tau, 1e-6 * tau)):
        H = _subtract_outer(K.copy(), V, Q)
        _subtract_outer(H, -0.5 * tau * Q, Q)
        H[np.diag_indices(n)] += ridge
        # H is symmetric: its transpose is the Fortran order that LAPACK works in.
        factor, failed = scipy.linalg.lapack.dpotrf(
            H.T, lower=1, clean=0, overwrite_a=1
        )
        if not failed:
            return factor, ridge <= 1e-10 * tau
    raise ValueError(NOT_CPD)


def basis_space(
    phi: Similarities, polynomials: Polynomials, basis: np.ndarray, *, free: bool
) -> Space:
    """Functions ``Phi[:, J] a`` (+ polynomials if free) with ``P_J'a = 0``.

    Parameters
    ----------
    phi : Similarities
        The raw kernel.
    polynomials : Polynomials
        At the training items.
    basis : ndarray of int
        J, the basis points among the training items.
    free : bool
        Add the polynomials, unregularised.
    """
    n = polynomials.Q.shape[0]
    inside = Polynomials.fit(polynomials.P[basis])
    QJ = inside.Q
    KJ = phi.block(basis, basis)
    if QJ.shape[1] == basis.size or _is_polynomial(KJ, inside):
        raise ValueError(
            f"the polynomials reach every function on the {basis.size} basis points "
            "(equal items count once), so that nothing is left for the kernel: raise "
            "n_basis, or use exponent=1 (polynomials of degree 0) or a smaller degree"
        )
    factor, exact = _definite_factor(KJ, QJ)
    raw = phi.block(np.arange(n), basis)
    raw -= (raw @ QJ) @ QJ.T
    # F = Phi_J Z A^-1/2: the triangular root of the inverse, on the complement.
    F = scipy.linalg.solve_triangular(factor, raw.T, lower=True, check_finite=False).T
    F = np.ascontiguousarray(F)
    Q = polynomials.Q if free else np.empty((n, 0))

    def expand(c: Array, b: Array) -> tuple[Array, Array]:
        inner = scipy.linalg.solve_triangular(
            factor, c @ F, lower=True, trans="T", check_finite=False
        )
        a = np.zeros(n)
        a[basis] = inner - QJ @ (QJ.T @ inner)
        return a, polynomials.G @ b if free else polynomials.zero

    return Space(
        Features(F),
        Q,
        expand,
        Core(basis, inside, factor, exact),
        polynomials if free else None,
    )
