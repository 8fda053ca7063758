"""Ridge regression on an eigendecomposition, refined and certified."""

from __future__ import annotations

import numpy as np

from krein.arrays import Array
from krein.result import Certificate, History, Result, Status
from krein.spectrum import Spectrum

__all__ = ["spectral_ridge"]

_REFINEMENTS = 4


def spectral_ridge(
    spectrum: Spectrum,
    divisors: Array,
    y: Array,
    *,
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
    fit_intercept : bool
        Choose b such that the coefficients sum to zero.
    tol : float
        Largest residual, relative to the largest target, that counts as solved.

    Returns
    -------
    Result
        ``x`` holds v, ``value`` is ``v'(y - b)``, the certificate ``max |Mv - (y - b)|
        / max |y|``.
    float
        b.
    """
    root = spectrum.sqrt_weight
    root = np.ones_like(y) if root is None else root
    V = spectrum.eigenvectors

    def solve(target: Array) -> Array:
        return root * (V @ ((V.T @ (root * target)) / divisors))

    def missed(v: Array, target: Array) -> Array:
        return target - (V @ (divisors * (V.T @ (v / root)))) / root

    border = solve(np.ones_like(y))
    b = _intercept(border, solve(y), root, y) if fit_intercept else 0.0
    v, history = solve(y - b), History()
    best, least = v, np.inf
    size = max(float(np.abs(y).max()), 1e-300)
    for _ in range(_REFINEMENTS):
        error = missed(v, y - b)
        residual = float(np.abs(error).max())
        history.record(residual=residual, relative=residual / size)
        if not residual < least:
            break
        best, least = v, residual
        v = v + solve(error)
    certificate = Certificate("stationarity", least / size, least / size)
    status: Status = "converged" if certificate.relative <= tol else "max_iter"
    value = float(best @ (y - b))
    return Result(best, value, certificate, status, history.n_rows, history), b


def _intercept(border: Array, solved: Array, root: Array, y: Array) -> float:
    """Return the b with 1'v = 0; the weighted mean where that is undetermined."""
    total = float(border.sum())
    if abs(total) <= 1e-12 * float(np.abs(border).sum()):
        return float(np.average(y, weights=root**2))
    return float(solved.sum()) / total
