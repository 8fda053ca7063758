"""The proxy-kernel SVM on a matrix of which only the leading eigenpairs are known.

With ``K = K*(a) = A_+`` the primal-dual gap at a point a is that of the SVM on the
kernel A_+, ``max over b in Q of g'(b - a)``, ``g = e - Y A_+ v``. To certify a point
of the whole problem one vector is needed, A_+ v, to a known error, and no eigenvalue
beyond those known. `krein.machines.krylov` finds it by products with K0.

A point comes from a model: all directions without a known eigenvector share the
eigenvalue eps / 2, where eps is the largest magnitude left out, and a linear term makes
the gradient of the model at the last point the true one. Its solution is measured on
the whole matrix, and the difference of both gradients there is the next linear term:
the error shrinks each time by about ``(eps / 2) / (eps / 2 + curvature)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.machines.box import BalancedBox
from krein.machines.krylov import Lanczos, PositivePart
from krein.machines.proxy import ProxySVM, solution_radius
from krein.machines.second_order import second_order
from krein.result import Certificate, History, Result, Status
from krein.similarity.spectrum import Spectrum, rescale

_EPS = float(np.finfo(np.float64).eps)
_CHUNK, _MOST = 20, 400  # Lanczos steps between two looks at the error, and in all
_BLUR = 0.1  # share of the gap that the error of A_+ v may have
_ROWS = 512


@dataclass(frozen=True)
class Measured:
    """A point of the whole problem: what is known of it.

    Attributes
    ----------
    rise : float
        f(a) - f(0) from below.
    gradient : ndarray of shape (n,)
        Of f.
    certificate : Certificate
        Bound on max f - f(0) - rise.
    blur : float
        What the errors of gradient and rise have added to it.
    products : int
        Products with K0 that it took.
    """

    rise: float
    gradient: Array
    certificate: Certificate
    blur: float
    products: int


class TruncatedProxySVM:
    """The maximisation problem of `ProxySVM` on a K0 that is too large to decompose.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric; without the sample weights.
    spectrum : Spectrum
        The leading eigenpairs of the weighted K.
    box : BalancedBox
        Bounds C_i and labels.
    rho : float
        Price of the distance between proxy and K0.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import Spectrum
    >>> from krein.machines.box import BalancedBox
    >>> from krein.machines.truncated import TruncatedProxySVM
    >>> K = np.diag([3.0, -2.0, 1.0])
    >>> box = BalancedBox(np.ones(3), np.array([1.0, -1.0, 1.0]))
    >>> problem = TruncatedProxySVM(K, Spectrum.truncated(K, 1), box, rho=1.0)
    >>> found = problem.measure(np.array([0.5, 0.5, 0.0]))
    >>> bool(found.certificate.value >= 0.0)
    True
    """

    def __init__(
        self, K: Any, spectrum: Spectrum, box: BalancedBox, rho: float
    ) -> None:
        self.K, self.spectrum = K, spectrum
        self.box, self.rho = box, float(rho)

    def product(self, v: Array) -> Array:
        """Return ``W^1/2 K W^1/2 v``, for a vector or a block of columns."""
        root = self.spectrum.sqrt_weight
        return rescale(self.K @ rescale(v, root), root)

    @cached_property
    def residual(self) -> float:
        """``||K0 U - U L||_F``: how far the known eigenpairs are from being exact."""
        U = self.spectrum.eigenvectors
        return float(np.linalg.norm(self.product(U) - U * self.spectrum.eigenvalues))

    @cached_property
    def radius(self) -> float:
        """Bound on ``||W^-1/2 a||`` at a solution; no eigenvalue is below -||K0||_F."""
        root = self.spectrum.sqrt_weight
        weight = np.ones(self.box.n) if root is None else root * root
        squares = 0.0
        for i in range(0, self.box.n, _ROWS):
            some = slice(i, i + _ROWS)
            squares += float(weight[some] @ (np.square(self.K[some]) @ weight))
        height = float(np.sqrt(weight.sum()))
        return solution_radius(height, float(np.sqrt(squares)), self.rho)

    @cached_property
    def domain(self) -> BalancedBox:
        """`box`, cut by the bound on all solutions."""
        root = self.spectrum.sqrt_weight
        bound = self.radius * (1.0 if root is None else root)
        return BalancedBox(np.minimum(self.box.upper, bound), self.box.y)

    def model(self, linear: Array | float = 1.0) -> ProxySVM:
        """Return the problem with one eigenvalue for all directions not known."""
        tail = 0.5 * self.spectrum.truncation
        return ProxySVM(self.spectrum, self.box, self.rho, tail=tail, linear=linear)

    def measure(self, a: Array, *, tol: float = 0.0) -> Measured:
        """Certify a point, with as many products as its gap is worth.

        Parameters
        ----------
        a : ndarray of shape (n,)
            A point of the domain.
        tol : float
            Relative gap that is enough.

        Returns
        -------
        Measured
        """
        unit, size = self.model().unit()
        lanczos = Lanczos(
            _times(self.product, size),
            unit.spectrum.eigenvalues,
            unit.spectrum.eigenvectors,
            self.residual * size,
            unit.scale * (a / size) / unit.spread,
        )
        while True:
            lanczos.extend(_CHUNK)
            part = lanczos.positive_part()
            found = self._measured(unit, size, a, part, lanczos.steps)
            gap = found.certificate
            if lanczos.exhausted or lanczos.steps >= _MOST or gap.relative <= tol:
                return found
            if found.blur <= _BLUR * gap.value:
                return found

    def certified(self, result: Result, tol: float) -> Result:
        """Return the result of a solver with the certificate of the whole problem."""
        a = self.domain.project(result.x)
        gap = self.measure(a, tol=tol).certificate
        met = result.status != "converged" or gap.relative <= tol
        status: Status = result.status if met else "max_iter"
        return replace(result, x=a, certificate=gap, status=status)

    def _measured(
        self, unit: ProxySVM, size: float, a: Array, part: PositivePart, products: int
    ) -> Measured:
        """Put the certificate together, in the units of the whole problem."""
        domain, gain = self.domain, float(a.sum())
        gradient = 1.0 - unit.spread * unit.scale * part.vector
        reach = float(np.linalg.norm(unit.scale * np.maximum(a, domain.upper - a)))
        blur = unit.spread * part.vector_error * reach
        blur += 2.0 * (size * unit.rho * part.value_error + 4.0 * _EPS * gain)
        gap = domain.gap(a, gradient, 4.0 * _EPS * (1.0 + np.abs(gradient))) + blur
        rise = gain - size * unit.rho * (part.value + part.value_error)
        rise -= 4.0 * _EPS * gain
        relative = gap / rise if rise > 0.0 else np.inf
        certificate = Certificate("gap", gap, 0.0 if gap == 0.0 else relative)
        return Measured(rise, gradient, certificate, blur, products)


def _times(
    product: Callable[[Array], Array], factor: float
) -> Callable[[Array], Array]:
    return product if factor == 1.0 else lambda v: factor * product(v)


# ------------------------------------------------------------------------------------

_FIRST = 1e-3  # relative gap to which the first model is solved
_SHARE = 0.1  # of the last gap, to which the next one is
_LEAST = 0.9  # a round that leaves more than this share of the best gap is idle
_CLEAR = 0.7  # share of the gap that is uncertainty of the gradient, at most
_PATIENCE = 3  # idle rounds before the method gives up
_ROUNDS = 30


def corrected(
    problem: TruncatedProxySVM,
    x0: Array | None = None,
    *,
    tol: float = 1e-6,
    **options: Any,
) -> Result:
    """Maximise f to a relative gap that is certified on the whole matrix.

    Parameters
    ----------
    problem : TruncatedProxySVM
        The problem.
    x0 : ndarray of shape (n,), optional
        Start.
    tol : float
        Certified gap over f - f(0) to be reached.
    **options
        Passed to `second_order`, which solves the models.

    Returns
    -------
    Result
        ``history`` has one row per round, with ``products``, the number of products
        with K0. ``value`` is a lower bound of f, with f(0) of the eigenpairs known.
    """
    model, a, goal = problem.model(), x0, max(_FIRST, 0.1 * tol)
    history, begun, steps, idle = History(), perf_counter(), 0, 0
    best: Result | None = None
    for _ in range(_ROUNDS):
        found = second_order(model, a, tol=goal, **options)
        a = problem.domain.project(found.x)
        measured = problem.measure(a, tol=tol)
        steps += found.n_iter
        constant = model.constant
        history.record(**_facts(measured, constant), seconds=perf_counter() - begun)
        value, gap = constant + measured.rise, measured.certificate
        before = np.inf if best is None else best.certificate.value
        if best is None or gap.value < before:
            best = replace(found, x=a, value=value, certificate=gap)
        idle = 0 if gap.value < _LEAST * before else idle + 1
        if gap.relative <= tol or idle == _PATIENCE or found.status == "interrupted":
            break
        if measured.blur > _CLEAR * gap.value:  # a better point would not be seen
            break
        goal = max(_SHARE * min(gap.relative, _FIRST / _SHARE), 0.1 * tol)
        _, gradient = problem.model().rise_grad(a)
        model = problem.model(1.0 + measured.gradient - gradient)
    assert best is not None
    reached = best.certificate.relative <= tol
    status: Status = "converged" if reached else "max_iter"
    if found.status == "interrupted":
        status = found.status
    return replace(best, status=status, n_iter=steps, history=history)


def _facts(measured: Measured, constant: float) -> dict[str, float]:
    value, gap = constant + measured.rise, measured.certificate
    return {
        "value": value,
        "bound": value + gap.value,
        "gap": gap.value,
        "relative": gap.relative,
        "products": measured.products,
    }


def on_whole(K: Any, solve: Callable[..., Result]) -> Callable[..., Result]:
    """Return a solver for `ProxySVM` on a truncated spectrum, certified on all of K.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        What the spectrum is of.
    solve : callable
        `second_order` is corrected for what the spectrum leaves out; what another
        solver finds on the truncated problem is certified as it is.
    """

    def solved(problem: ProxySVM, x0: Any, *, tol: float, **options: Any) -> Result:
        whole = TruncatedProxySVM(K, problem.spectrum, problem.box, problem.rho)
        if solve is second_order:
            return corrected(whole, x0, tol=tol, **options)
        return whole.certified(solve(problem, x0, tol=tol, **options), tol)

    return solved
