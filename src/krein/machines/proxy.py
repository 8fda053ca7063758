"""The SVM that learns a positive semidefinite proxy of an indefinite kernel.

Problem (Luss and d'Aspremont, 2007; eq. 1-3 of Ying, Campbell and Girolami, 2009):
maximise over Q = {0 <= a_i <= C_i, y'a = 0} the concave function

    f(a) = min over K >= 0 of  e'a - v'Kv / 2 + rho ||K - K0||_F^2,     v = y * a.

With A = K0 + vv' / (4 rho) the minimiser is K* = A_+ (eq. 4), the gradient
``e - Y A_+ v`` (eq. 6), and in closed form

    f(a) = e'a - rho ||A_+||_F^2 + rho ||K0||_F^2,     f(0) = rho ||(K0)_-||_F^2.

Sums, no means; a in the box, v signed. With sample weights w the Frobenius norm is
weighted too, K0 -> W^1/2 K0 W^1/2 and v -> W^-1/2 v (C_i = C w_i): only then do integer
weights equal repetition.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.machines._loop import Iterate
from krein.machines.box import BalancedBox
from krein.machines.quadrature import DiagonalPlusLowRank, RankOnePositivePart
from krein.machines.svm_dual import SVMDual, SVMPoint, box_gap
from krein.result import Certificate, Result
from krein.spectrum.decomposition import Spectrum, rescale

_EPS = float(np.finfo(np.float64).eps)
# Errors of the quadrature, relative to the norm of A; those of products and of the
# eigendecomposition come on top.
_QUADRATURE = 1.2e-14
_ENOUGH = 1e-6  # relative gap above which a second bound may be looked at
_BY_ROUNDING = 1.01  # times the gap without rounding; what is more counts as rounding
_ROWS = 256  # of a Hessian at once


class ProxySVM:
    """The concave maximisation problem of the proxy-kernel SVM on one spectrum.

    Parameters
    ----------
    spectrum : Spectrum
        Of K0 with the sample weights; may be of low rank.
    box : BalancedBox
        Bounds C_i and labels.
    rho : float
        Price of the distance between proxy and K0.
    oracle : {"quadrature", "eigh"}
        How ``A_+`` is found: in O(n^2) from the spectrum, or by a new
        eigendecomposition per call, as published.

    Attributes
    ----------
    domain : BalancedBox
        `box` cut by the bound on all solutions ``a_i <= u sqrt(w_i)`` (see `radius`);
        it contains every maximiser, so gaps over it are true bounds.
    constant : float
        f(0), the part of the objective that no classifier changes.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import Spectrum
    >>> from krein.machines.box import BalancedBox
    >>> from krein.machines.proxy import ProxySVM
    >>> K = np.array([[1.0, 2.0], [2.0, 1.0]])
    >>> box = BalancedBox(np.ones(2), np.array([1.0, -1.0]))
    >>> problem = ProxySVM(Spectrum.exact(K), box, rho=1.0)
    >>> rise, gradient = problem.rise_grad(np.zeros(2))
    >>> print(f"{problem.constant + rise:.6f}", gradient)
    1.000000 [1. 1.]
    """

    def __init__(
        self,
        spectrum: Spectrum,
        box: BalancedBox,
        rho: float,
        *,
        oracle: Literal["quadrature", "eigh"] = "quadrature",
    ) -> None:
        self.spectrum = spectrum
        self.box = box
        self.rho = float(rho)
        self.spread = 2.0 * np.sqrt(float(rho))
        self.oracle = oracle
        root = spectrum.sqrt_weight
        self.scale = box.y if root is None else box.y / root
        self.full = spectrum.eigenvalues.size == box.n
        negative = np.minimum(spectrum.eigenvalues, 0.0)
        self.constant = self.rho * float(negative @ negative)
        bound = self.radius * (1.0 if root is None else root)
        self.domain = BalancedBox(np.minimum(box.upper, bound), box.y)
        d = spectrum.eigenvalues
        self.part = RankOnePositivePart(d if self.full else np.append(d, 0.0))

    # --------------------------------------------------------------------- constants

    @cached_property
    def radius(self) -> float:
        """Bound on s = ``||W^-1/2 a||`` at every solution a.

        At a solution ``g'a >= 0`` (0 is feasible), so that with h the norm of W^1/2 e
        and -l the smallest eigenvalue
        ``h s >= e'a >= v'A_+ v >= v'A v >= s^4 / (4 rho) - l s^2``; the bound u solves
        ``u^3 / (4 rho) = h + l u``.
        """
        root = self.spectrum.sqrt_weight
        height = np.sqrt(self.box.n) if root is None else np.linalg.norm(root)
        lowest = -float(self.spectrum.eigenvalues.min(initial=0.0))
        # With u = 2 sqrt(rho) t: t^3 = push + lowest t. Newton from above on a convex
        # function: monotone, no safeguard needed.
        push = float(height) / self.spread
        t = max(np.sqrt(2.0 * lowest), (2.0 * push) ** (1 / 3))
        for _ in range(60):
            step = (t**3 - push - lowest * t) / (3.0 * t * t - lowest)
            t -= step
            if step <= 1e-12 * t:
                break
        return self.spread * float(t) * (1 + 1e-9)

    @cached_property
    def norm(self) -> float:
        """Largest magnitude of an eigenvalue of K0."""
        return float(np.abs(self.spectrum.eigenvalues).max(initial=0.0))

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant of the gradient, Theorem 2 of Ying et al.

        ``lambda_max(K0) + n C^2 / rho``; with weights ``(lambda_max +
        sum_i C_i^2 / w_i / rho) / min w``.
        """
        largest = max(0.0, float(self.spectrum.eigenvalues.max(initial=0.0)))
        reach = float(np.sum((self.box.upper * self.scale) ** 2))
        return (largest + reach / self.rho) * float(np.max(self.scale**2))

    # ------------------------------------------------------------------- coordinates

    def coordinates(self, a: Array) -> tuple[Array, Array | None]:
        """Coordinates of v in the eigenvectors, and the direction of the rest.

        ``z = U'W^-1/2 v / sqrt(4 rho)``.

        With r < n eigenpairs the part of v outside their span is one more coordinate,
        of eigenvalue 0; its direction is returned (None when U is complete).
        """
        v = self.scale * a
        z = self.spectrum.eigenvectors.T @ v
        if self.full:
            return z / self.spread, None
        rest = v - self.spectrum.eigenvectors @ z
        size = float(np.linalg.norm(rest))
        direction = rest / size if size > 0.0 else rest
        return np.append(z, size) / self.spread, direction

    def from_coordinates(self, p: Array, direction: Array | None) -> Array:
        """U p, with the last coordinate along `direction`."""
        if direction is None:
            return self.spectrum.eigenvectors @ p
        return self.spectrum.eigenvectors @ p[:-1] + p[-1] * direction

    # -------------------------------------------------------------------- evaluation

    def rise_grad(self, a: Array) -> tuple[float, Array]:
        """f(a) - f(0), free of the cancellation of a large f(0), and the gradient."""
        if self.oracle == "eigh":
            return self._rise_grad_eigh(a)
        z, direction = self.coordinates(a)
        value, p = self.part.value_gradient(z)
        rise = float(a.sum()) - self.rho * value
        outputs = self.from_coordinates(p, direction)
        return rise, 1.0 - self.spread * self.scale * outputs

    @cached_property
    def _weighted(self) -> Array:
        """W^1/2 K0 W^1/2, for the published cost of one `eigh` per step."""
        U, d = self.spectrum.eigenvectors, self.spectrum.eigenvalues
        return (U * d) @ U.T

    def _rise_grad_eigh(self, a: Array) -> tuple[float, Array]:
        v = self.scale * a
        A = self._weighted + np.outer(v, v / (4 * self.rho))
        values, U = scipy.linalg.eigh(A, driver="evd", check_finite=False)
        positive = np.maximum(values, 0.0)
        before = np.maximum(self.spectrum.eigenvalues, 0.0)
        rise = float(a.sum()) - self.rho * float(positive @ positive - before @ before)
        return rise, 1.0 - self.scale * (U @ (positive * (U.T @ v)))

    def certificate(self, a: Array, rise: float, gradient: Array) -> Certificate:
        """Bound on max f - f(a), relative to f(a) - f(0).

        ``max over b in Q of g'(b - a)``, which is the primal-dual gap of the SVM on
        the kernel K*(a). Rounding errors count.
        """
        error, worth = self.rounding(a)
        own = relative_gap(self.domain.gap(a, gradient), rise)
        found = relative_gap(self.domain.gap(a, gradient, error) + worth, rise)
        if found.relative > max(_ENOUGH, _BY_ROUNDING * own.relative):
            # Bounds are large beside the solution: another bound loses less to it.
            outputs = self.box.y * (1.0 - gradient)
            gap = min(found.value, box_gap(self.domain, a, outputs, error) + worth)
            found = relative_gap(gap, rise)
        rounding = max(0.0, found.relative - own.relative)
        return replace(found, rounding=rounding if np.isfinite(rounding) else 0.0)

    def sharpened(self, result: Result, tol: float) -> Result:
        """A result above `tol`, with the gap to other primal points if that is within.

        f is concave, so that every primal point of the SVM on the proxy bounds it.
        """
        found = result.certificate
        if found.relative <= tol or not (self.full and np.isfinite(found.relative)):
            return result
        a = result.x
        rise, gradient = self.rise_grad(a)
        if not rise > 0.0:
            return result
        noise = np.sqrt(self._share * self._norm_at(a)) * np.abs(self.scale)
        K = self.proxy_kernel(a)
        machine = SVMDual.classification(K, self.domain, noise=noise)
        y = self.box.y
        off = np.full(a.size, _EPS)
        point = SVMPoint(a, y * a, y * (1.0 - gradient), off, gradient, rise, found)
        gap = machine.elsewhere(point).value + self.rounding(a)[1]
        if not relative_gap(gap, rise).relative <= tol:  # see `SVMDual.sharpened`
            return result
        own = found.relative - found.rounding
        better = relative_gap(gap, rise)
        better = replace(better, rounding=max(0.0, better.relative - own))
        status = better.status(tol, out_of_steps=result.status == "max_iter")
        return replace(result, certificate=better, status=status)

    def iterate(
        self, a: Array, rise: float, gradient: Array, **facts: float
    ) -> Iterate:
        """Return the iterate at `a`, certified by its own gradient."""
        certificate = self.certificate(a, rise, gradient)
        value = self.constant + rise
        return Iterate(a, value, certificate, value + certificate.value, facts=facts)

    def rounding(self, a: Array) -> tuple[Array, float]:
        """Bounds on the rounding errors of the gradient, and of f itself.

        ``A_+ v`` errs by a small multiple of ||A|| ||v||: by the quadrature, by the
        products with U, and by the eigendecomposition, which is that of a matrix near
        K0.
        """
        v = self.scale * a
        z2 = float(v @ v) / self.spread**2
        norm = self._norm_at(a)
        share = self._share
        error = share * norm * np.sqrt(z2) * self.spread * np.abs(self.scale)
        return error + _EPS, 2.0 * share * self.rho * norm * z2 + _EPS * float(a.sum())

    @property
    def _share(self) -> float:
        return _QUADRATURE + 4.0 * _EPS * float(np.sqrt(self.box.n))

    def _norm_at(self, a: Array) -> float:
        """Bound on the norm of A."""
        v = self.scale * a
        return self.norm + float(v @ v) / self.spread**2

    # ------------------------------------------------------------------ second order

    @cached_property
    def single(self) -> np.ndarray:
        """Eigenvectors in single precision, for steps that need no more."""
        return self.spectrum.eigenvectors.astype(np.float32)

    def hessian_block(
        self, a: Array, rows: np.ndarray, *, accurate: bool = False
    ) -> Array:
        """Block (rows, rows) of the Hessian of -f, to about 1e-7 of its norm.

        With `accurate` to about 1e-13, for curvatures that differ by many orders.
        """
        if self.full:
            jacobian = self.part.jacobian(self.coordinates(a)[0], accurate=accurate)
            # Single precision errs as much as the coarse Jacobian, in half the time.
            U = self.spectrum.eigenvectors if accurate else self.single
            return self._full_block(U, jacobian, rows)
        diagonal, B, signs = self.hessian_factors(a, rows, accurate=accurate)
        H = (B * signs) @ B.T
        H[np.diag_indices_from(H)] += diagonal
        return H

    def hessian_factors(
        self, a: Array, rows: np.ndarray, *, accurate: bool = False
    ) -> tuple[Array, Array, Array]:
        """Block of the Hessian of -f where U is not complete, of a low rank.

        Parameters
        ----------
        a : ndarray of shape (n,)
        rows : ndarray of int of shape (m,)
        accurate : bool
            As in `hessian_block`.

        Returns
        -------
        diagonal : ndarray of shape (m,)
        factors : ndarray of shape (m, r)
        signs : ndarray of shape (r,)
            The block is ``diag(diagonal) + factors diag(signs) factors'``.
        """
        z, direction = self.coordinates(a)
        assert direction is not None  # U is not complete
        jacobian = self.part.jacobian(z, accurate=accurate)
        B = np.column_stack([self.spectrum.eigenvectors[rows], direction[rows]])
        B *= self.scale[rows, None]
        # All directions outside the span share the curvature of eigenvalue 0.
        shared = jacobian.diagonal[-1]
        beyond = jacobian.diagonal - shared
        plus, minus = B @ jacobian.plus.T, B @ jacobian.minus.T
        B *= np.sqrt(np.abs(beyond))
        counts = [plus.shape[1], minus.shape[1]]
        signs = np.concatenate([np.sign(beyond), np.repeat([1.0, -1.0], counts)])
        factors = np.column_stack([B, plus, minus])
        used = signs != 0.0
        return shared * self.scale[rows] ** 2, factors[:, used], signs[used]

    def _full_block(
        self, U: np.ndarray, jacobian: DiagonalPlusLowRank, rows: np.ndarray
    ) -> Array:
        """Block of the Hessian as two symmetric products, of what is added and not."""
        n = self.box.n
        dtype = U.dtype
        # Single precision has no range, and rounding may leave nothing positive.
        size = max(float(jacobian.diagonal.max()), 0.0) or 1.0
        unit = 1.0 / np.sqrt(size)
        B = np.empty((n + jacobian.plus.shape[0], rows.size), dtype)
        U.T.take(rows, axis=1, out=B[:n], mode="clip")
        B[:n] *= self.scale[rows].astype(dtype)
        minus = (unit * jacobian.minus).astype(dtype, copy=False) @ B[:n]
        np.matmul((unit * jacobian.plus).astype(dtype, copy=False), B[:n], out=B[n:])
        root = unit * np.sqrt(np.maximum(jacobian.diagonal, 0.0))
        B[:n] *= root.astype(dtype)[:, None]
        S = B.T @ B
        H = np.empty((rows.size, rows.size))
        for i in range(0, rows.size, _ROWS):  # no third matrix
            some = slice(i, i + _ROWS)
            np.subtract(S[some], minus[:, some].T @ minus, out=H[some])
        H *= size
        return H

    # ------------------------------------------------------------------------- proxy

    def proxy_kernel(self, a: Array) -> Array:
        """K*(a), n x n, PSD and symmetric, without another eigendecomposition."""
        z, direction = self.coordinates(a)
        part = self.part.positive_part(z)
        U = self.spectrum.eigenvectors
        if direction is not None:
            U = np.column_stack([U, direction])
        U = rescale(U, self.spectrum.sqrt_weight, invert=True)
        kept = part.diagonal > 0.0
        B = U[:, kept] * np.sqrt(part.diagonal[kept])
        K = B @ B.T
        del B
        plus, minus = U @ part.plus.T, U @ part.minus.T
        K += plus @ plus.T
        K -= minus @ minus.T
        return K

    def proxy_features(self, a: Array) -> Array:
        """Return F with ``K*(a) = FF'`` where U is not complete: one column more."""
        z, direction = self.coordinates(a)
        assert direction is not None  # U is not complete
        part = self.part.positive_part(z)
        inner = part.plus.T @ part.plus - part.minus.T @ part.minus
        inner[np.diag_indices_from(inner)] += part.diagonal
        values, V = scipy.linalg.eigh(inner, driver="evd", check_finite=False)
        kept = values > 0.0
        U = np.column_stack([self.spectrum.eigenvectors, direction])
        U = rescale(U, self.spectrum.sqrt_weight, invert=True)
        return U @ (V[:, kept] * np.sqrt(values[kept]))

    def outputs(self, a: Array) -> Array:
        """K*(a) v, the values of the decision function on the training points."""
        return self.box.y * (1.0 - self.rise_grad(a)[1])


def relative_gap(gap: float, rise: float) -> Certificate:
    """Certificate of a gap, relative to f(a) - f(0)."""
    if gap == 0.0:
        return Certificate("gap", 0.0, 0.0)
    return Certificate("gap", gap, gap / rise if rise > 0.0 else np.inf)
