"""Ridge regression on an eigendecomposition, refined and certified.

Primal and dual for a positive semidefinite kernel K and sample weights W; f = Kv:

    P(v, b) = sum_i w_i (y_i - f_i - b)^2 + alpha v'Kv,
    D(u)    = alpha (2 u'y - u'(K + alpha W^-1) u),   1'u = 0 with an intercept.

Fenchel's inequality for every pair (v, b), u leaves terms that are not negative:

    P(v, b) - D(u) = sum_i w_i (y_i - f_i - b - alpha u_i / w_i)^2
                     + alpha (v - u)'K(v - u).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from krein.arrays import Array
from krein.result import Certificate, History, Result
from krein.spectrum.decomposition import Spectrum

_EPS = float(np.finfo(np.float64).eps)
_REFINEMENTS = 4


def spectral_ridge(
    spectrum: Spectrum,
    divisors: Array,
    y: Array,
    *,
    alpha: float,
    convex: bool,
    fit_intercept: bool = True,
    tol: float = 1e-6,
) -> tuple[Result, float]:
    """Solve ``M v = y - b`` for ``M = W^-1/2 V diag(divisors) V' W^-1/2``.

    Parameters
    ----------
    spectrum : Spectrum
        Eigenvectors V and weights W.
    divisors : ndarray of shape (n,)
        Eigenvalues of the system, none of them zero.
    y : ndarray of shape (n,)
        Targets.
    alpha : float
        Penalty.
    convex : bool
        The kernel, of eigenvalues ``divisors - alpha``, is positive semidefinite.
    fit_intercept : bool
        Choose b such that the coefficients sum to zero.
    tol : float
        Largest relative certificate that counts as solved.

    Returns
    -------
    Result
        ``x`` holds v, ``value`` is P(v, b). The certificate is the gap, relative to P,
        where the problem is convex, else ``max |Mv - (y - b)| / max |y|``.
    float
        b.
    """
    root = spectrum.sqrt_weight
    root = np.ones_like(y) if root is None else root
    system = _System(spectrum.eigenvectors, divisors, root)
    border = system.solve(np.ones_like(y))
    b = _intercept(border, system.solve(y), root, y) if fit_intercept else 0.0
    v, history = system.solve(y - b), History()
    best, missed, least = v, y - b, np.inf
    size = max(float(np.abs(y).max()), 1e-300)
    for _ in range(_REFINEMENTS):
        error = y - b - system.times(v)
        residual = float(np.abs(error).max())
        history.record(residual=residual, relative=residual / size)
        if not residual < least:
            break
        best, missed, least = v, error, residual
        v = v + system.solve(error)
    value = system.objective(best, missed, alpha)
    certificate = Certificate("stationarity", least / size, least / size)
    if convex:
        targets = np.abs(y) + abs(b)
        certificate = system.gap(best, missed, alpha, targets, balanced=fit_intercept)
    status = certificate.status(tol, out_of_steps=False)  # the solution is direct
    return Result(best, value, certificate, status, history.n_rows, history), b


@dataclass(frozen=True)
class _System:
    """The matrix M, by its eigenvectors, eigenvalues and the roots of the weights."""

    V: Array
    divisors: Array
    root: Array

    def solve(self, target: Array) -> Array:
        return self.root * (
            self.V @ ((self.V.T @ (self.root * target)) / self.divisors)
        )

    def times(self, v: Array) -> Array:
        return (self.V @ (self.divisors * (self.V.T @ (v / self.root)))) / self.root

    def objective(self, v: Array, missed: Array, alpha: float) -> float:
        """P(v, b) at ``missed = y - b - Mv``; y - f - b is alpha v / w + missed."""
        rest = alpha * v / self.root + self.root * missed
        bend = (self.V.T @ (v / self.root)) ** 2
        return float(rest @ rest) + alpha * float((self.divisors - alpha) @ bend)

    @np.errstate(over="ignore")  # a bound beyond the largest number is infinite
    def gap(
        self, v: Array, missed: Array, alpha: float, targets: Array, *, balanced: bool
    ) -> Certificate:
        """P(v, b) - D(u) from above, rounding counted; u is v, less what it sums to."""
        root, total = self.root, float(self.root @ self.root)
        largest = float(np.abs(self.divisors).max())
        noise = _EPS * (8.0 + 4.0 * np.sqrt(v.size))
        error = noise * (largest * float(np.linalg.norm(v / root)) + root * targets)
        excess = (
            abs(float(v.sum())) + _EPS * float(np.abs(v).sum()) if balanced else 0.0
        )
        off = root * np.abs(missed) + error + alpha * excess / total * root
        value = self.objective(v, missed, alpha)
        gap = (
            float(off @ off) + alpha * largest * excess**2 / total + noise * abs(value)
        )
        # An objective below the rounding of the targets is zero.
        unit = max(abs(value), _EPS * float(np.sum((root * targets) ** 2)))
        return Certificate("gap", gap, gap / unit if gap > 0.0 else 0.0)


def _intercept(border: Array, solved: Array, root: Array, y: Array) -> float:
    """Return the b with 1'v = 0; the weighted mean where that is undetermined."""
    total = float(border.sum())
    if abs(total) <= 1e-12 * float(np.abs(border).sum()):
        return float(np.average(y, weights=root**2))
    return float(solved.sum()) / total
