"""Ridge regression on an eigendecomposition, refined and certified.

Primal and dual for a positive semidefinite kernel K and sample weights W; f = Kv:

    P(v, b) = sum_i w_i (y_i - f_i - b)^2 + alpha v'Kv,
    D(u)    = alpha (2 u'y - u'(K + alpha W^-1) u),   1'u = 0 with an intercept.

Fenchel's inequality for every pair (v, b), u leaves terms that are not negative:

    P(v, b) - D(u) = sum_i w_i (y_i - f_i - b - alpha u_i / w_i)^2
                     + alpha (v - u)'K(v - u).

On an indefinite kernel the claim is the residual of the linear system. Where an
eigenvalue is near -alpha the system may be bounded: with x and t the coordinates of
W^-1/2 v and W^1/2 (y - b) along an eigenvector of eigenvalue l, and d = l + alpha,

    d x = t     where |d| >= alpha,
    alpha x = (d / alpha) t     elsewhere: x is at most t / alpha, and 0 where d is 0.

The second line is ``(alpha^2 / d) x = t`` times d / alpha, which d = 0 leaves finite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from krein.arrays import Array
from krein.result import Certificate, History, Result
from krein.spectrum.decomposition import Spectrum
from krein.spectrum.fixed_kernel import rounding_of_eigenvalues

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
    bounded: bool = False,
    spread: float = 0.0,
    precise: Callable[[Array], tuple[Array, Array]] | None = None,
) -> tuple[Result, float]:
    """Solve ``M v = y - b`` for ``M = W^-1/2 V diag(divisors) V' W^-1/2``.

    Parameters
    ----------
    spectrum : Spectrum
        Eigenvectors V and weights W.
    divisors : ndarray of shape (n,)
        Eigenvalues of the system.
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
    bounded : bool
        Divide by ``alpha^2 / divisors`` where the divisors are smaller than alpha; if
        not, none of them may be zero.
    spread : float
        `krein.spectrum.fixed_kernel.FixedKernel.spread` of the kernel.
    precise : callable, optional
        ``precise(v) -> (K v, error)`` with more digits than the eigenvectors give: for
        problems without bounded directions whose certificate is above `tol`.

    Returns
    -------
    Result
        ``x`` holds v, ``value`` is P(v, b). The certificate is the gap, relative to P,
        where the problem is convex. Elsewhere it is the larger of ``max |Mv - (y - b)|
        / max |y|``, in the form of the module's docstring, and of what v sums to;
        rounding errors count in both.
    float
        b.
    """
    root = spectrum.sqrt_weight
    root = np.ones_like(y) if root is None else root
    near = np.abs(divisors) < alpha if bounded else np.zeros(divisors.size, dtype=bool)
    system = _System(spectrum.eigenvectors, divisors, root, alpha, near, spread)
    b = 0.0
    if fit_intercept:
        b = _intercept(system.solve(np.ones_like(y)), system.solve(y), root, y)
    v = system.solve(y - b)
    history = History()
    best = v
    missed = y - b
    least = np.inf
    size = max(float(np.abs(y).max()), 1e-300)
    for _ in range(_REFINEMENTS):
        error = system.missed(v, y - b)
        residual = float(np.abs(error).max())
        history.record(residual=residual, relative=residual / size)
        if not residual < least:
            break
        best = v
        missed = error
        least = residual
        v = v + system.correction(error)
    value = system.objective(best, missed, y - b)
    if convex:
        targets = np.abs(y) + abs(b)
        certificate = system.gap(best, missed, targets, balanced=fit_intercept)
    else:
        found = system.residual(best, missed, y - b, balanced=fit_intercept)
        own = found[0] / size
        counted = sum(found) / size
        certificate = Certificate("stationarity", counted, counted, counted - own)
    if precise is not None and not near.any() and certificate.relative > tol:
        finer = _Precise(system, precise, y, fit_intercept, convex).refined(best, b)
        if finer.certificate.relative < certificate.relative:
            best = finer.v
            b = finer.b
            value = finer.value
            certificate = finer.certificate
    status = certificate.status(tol, out_of_steps=False)  # the solution is direct
    return Result(best, value, certificate, status, history.n_rows, history), b


@dataclass(frozen=True)
class _System:
    """The matrix M, by its eigenvectors, eigenvalues and the roots of the weights.

    `near` are the eigenvectors along which it is bounded.
    """

    V: Array
    divisors: Array
    root: Array
    alpha: float
    near: np.ndarray
    spread: float = 0.0

    @cached_property
    def _factors(self) -> tuple[Array, Array]:
        """Factors of x and of t in the two lines of the module's docstring."""
        left = np.where(self.near, self.alpha, self.divisors)
        return left, np.where(self.near, self.divisors / self.alpha, 1.0)

    def _along(self, values: Array) -> Array:
        return self.V.T @ values

    def solve(self, target: Array) -> Array:
        left, right = self._factors
        return self.root * (self.V @ (right * self._along(self.root * target) / left))

    def missed(self, v: Array, target: Array) -> Array:
        """What is left of the equations at v, at each item."""
        left, right = self._factors
        rest = right * self._along(self.root * target) - left * self._along(
            v / self.root
        )
        return (self.V @ rest) / self.root

    def correction(self, missed: Array) -> Array:
        """Change of v that removes what was missed."""
        left, _ = self._factors
        return self.root * (self.V @ (self._along(self.root * missed) / left))

    def objective(self, v: Array, missed: Array, target: Array) -> float:
        """P(v, b) for ``target = y - b``.

        At a solution y - f - b is alpha v / w, and f is M v less that.
        """
        left, _ = self._factors
        x = self._along(v / self.root)
        t = self._along(self.root * target)
        image = np.where(self.near, t, left * x) - self.alpha * x
        rest = self.alpha * v / self.root + self.root * missed
        return float(rest @ rest) + self.alpha * float(image @ x)

    @np.errstate(all="ignore")
    def _noise(self, v: Array, targets: Array) -> Array:
        """Rounding errors of the equations at each item, times the roots."""
        left, _ = self._factors
        length = float(np.linalg.norm(v / self.root))
        products = rounding_of_eigenvalues(float(np.abs(left).max()), v.size)
        return (products + self.spread) * length + 8.0 * _EPS * self.root * targets

    def residual(
        self, v: Array, missed: Array, target: Array, *, balanced: bool
    ) -> tuple[float, float]:
        """Largest error of the equations, and what rounding may add to it.

        That v does not sum to zero is one of them: as the change of v that it asks for.
        """
        t = self._along(self.root * target)[self.near]
        noise = self._noise(v, np.abs(target))
        noise += self.spread * float(np.linalg.norm(t)) / self.alpha
        worst = float(np.abs(missed).max())
        counted = float((noise / self.root).max())
        if balanced:
            share = self.alpha / float(self.root @ self.root)
            worst = max(worst, share * abs(float(v.sum())))
            counted = max(counted, share * _EPS * float(np.abs(v).sum()))
        return worst, counted

    @np.errstate(all="ignore")  # a bound beyond the largest number is infinite
    def gap(
        self, v: Array, missed: Array, targets: Array, *, balanced: bool
    ) -> Certificate:
        """P(v, b) - D(u) from above, rounding counted; u is v, less what it sums to."""
        root = self.root
        total = float(self.root @ self.root)
        largest = float(np.abs(self.divisors).max())
        alpha = self.alpha
        excess = abs(float(v.sum())) if balanced else 0.0
        own = root * np.abs(missed) + alpha * excess / total * root
        excess += _EPS * float(np.abs(v).sum()) if balanced else 0.0
        off = root * np.abs(missed) + alpha * excess / total * root
        off += self._noise(v, targets)
        value = self.objective(v, missed, targets)
        noise = _EPS * (8.0 + 4.0 * np.sqrt(v.size))
        gap = float(off @ off) + alpha * largest * excess**2 / total
        gap += noise * abs(value)
        # An objective below the rounding of the targets is zero.
        unit = max(abs(value), _EPS * float(np.sum((root * targets) ** 2)))
        rounding = max(0.0, gap - float(own @ own)) / unit if gap > 0.0 else 0.0
        return Certificate("gap", gap, gap / unit if gap > 0.0 else 0.0, rounding)


@dataclass(frozen=True)
class _Solution:
    v: Array
    b: float
    value: float
    certificate: Certificate


@dataclass(frozen=True)
class _Precise:
    """The problem with products of more digits: iterative refinement.

    The eigenvectors then are those of a kernel that is near enough to correct by.
    """

    system: _System
    product: Callable[[Array], tuple[Array, Array]]
    y: Array
    fit_intercept: bool
    convex: bool

    def refined(self, v: Array, b: float) -> _Solution:
        """The best of some corrections of v and b."""
        border = self.system.solve(np.ones_like(v))
        best, missed = self._at(v, b)
        for _ in range(_REFINEMENTS):
            change = self.system.correction(missed)
            shift = 0.0
            if self.fit_intercept and border.any():
                shift = float(v.sum() + change.sum()) / float(border.sum())
            v = v + change - shift * border
            b += shift
            found, missed = self._at(v, b)
            if not found.certificate.value < best.certificate.value:
                break
            best = found
        return best

    @np.errstate(all="ignore")  # a bound beyond the largest number is infinite
    def _at(self, v: Array, b: float) -> tuple[_Solution, Array]:
        """A point with its gap, as in `_System.gap`, and what it misses."""
        system = self.system
        root = system.root
        alpha = system.alpha
        outputs, error = self.product(v)
        pull = alpha * v / root**2
        missed = self.y - b - outputs - pull
        sizes = np.abs(self.y) + abs(b) + np.abs(outputs) + np.abs(pull)
        noise = root * (error + 4.0 * _EPS * sizes)
        total = float(root @ root)
        excess = abs(float(v.sum())) if self.fit_intercept else 0.0
        last = _EPS * float(np.abs(v).sum()) if self.fit_intercept else 0.0
        rest = root * (pull + missed)
        value = float(rest @ rest) + alpha * float(outputs @ v)
        if not self.convex:
            size = max(float(np.abs(self.y).max()), 1e-300)
            worst = max(float(np.abs(missed).max()), alpha / total * excess) / size
            counted = max(float((noise / root).max()), alpha / total * last) / size
            both = worst + counted
            found = Certificate("stationarity", both, both, counted)
            return _Solution(v, b, value, found), missed
        own = root * np.abs(missed) + alpha * excess / total * root
        excess += last
        off = root * np.abs(missed) + alpha * excess / total * root + noise
        largest = float(np.abs(system.divisors).max())
        gap = float(off @ off) + alpha * largest * excess**2 / total
        # The objective itself is a rounded number.
        gap += 2.0 * float(np.abs(rest) @ noise) + float(noise @ noise)
        gap += alpha * float(np.abs(v) @ (error + _EPS * v.size * np.abs(outputs)))
        gap += _EPS * v.size * float(rest @ rest)
        unit = max(abs(value), _EPS * float(np.sum((root * self.y) ** 2)))
        rounding = max(0.0, gap - float(own @ own)) / unit
        certificate = Certificate("gap", gap, gap / unit, rounding)
        return _Solution(v, b, value, certificate), missed


def _intercept(border: Array, solved: Array, root: Array, y: Array) -> float:
    """Return the b with 1'v = 0; the weighted mean where that is undetermined."""
    total = float(border.sum())
    if abs(total) <= 1e-12 * float(np.abs(border).sum()):
        return float(np.average(y, weights=root**2))
    return float(solved.sum()) / total
