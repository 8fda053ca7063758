"""The dual of support vector machines: classification, regression, one class.

One form for all three, over the variables a of a box with one equality row:

    maximise  D(a) = m'a - v'Kv / 2,   0 <= a_i <= upper_i,  y'a = balance,

v the signed coefficients on K. Classification: v = y * a, m = 1. Regression (Smola and
Schoelkopf, 2004, eq. 10): two variables per item, v = a - a*, m = +-t - epsilon. One
class (Schoelkopf et al., 2001, eq. 3.9, times the number of items): y = 1, m = 0, the
balance nu times the sum of the bounds.

With f = Kv the primal value at theta times the weights of the dual point is at most

    D(a) + max over b in Q of g'(b - a) + (theta - 1)^2 v'f / 2,   g = m - theta y f,

for every theta > 0: on a positive semidefinite K a bound on D* - D(a). theta = 1 is the
duality gap as one knows it; a little more pays where the bounds are large beside the
solution, because then rounding errors of f on the margin cost upper_i each.

`svm_path` trains on one kernel for many C, loosely: LIBSVM alone, without the polish
and the certificate of `krein.machines.libsvm`. A search needs an order, no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from krein.arrays import Array, extended_product, power_of_two, product_and_error
from krein.machines.box import BalancedBox
from krein.result import Certificate
from krein.sklearn_internals import libsvm

_EPS = float(np.finfo(np.float64).eps)
# A one-class machine whose optimum is 0 (the origin is inside) has no objective to be
# relative to: this share of what v'Kv can be at most then is the unit.
_FLOOR = 1e-6
# The referee looks for stretches up to this one.
_MOST_STRETCHED = 1.0 + 1e-5
_STRETCHES = 10.0 ** np.arange(-14.0, -4.0)  # shares of the weights that are added


@dataclass(frozen=True)
class SVMPoint:
    """A feasible point and what follows from it.

    Attributes
    ----------
    a : ndarray of shape (m,)
        Variables in the box.
    v : ndarray of shape (n,)
        Coefficients on K.
    outputs, error : ndarray of shape (n,)
        K v and a bound on its rounding errors.
    gradient : ndarray of shape (m,)
        Of D.
    value : float
        D(a).
    certificate : Certificate
        Gap, or maximal violating pair.
    """

    a: Array
    v: Array
    outputs: Array
    error: Array
    gradient: Array
    value: float
    certificate: Certificate


@dataclass(frozen=True)
class SVMDual:
    """The problem of the module's docstring; use one of the three constructors.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel the machine is trained on.
    domain : BalancedBox
        Bounds and signs of the n (classification, one class) or 2 n variables.
    margin : ndarray
        m.
    psd : bool
        False when K may be indefinite: no gap is claimed then.
    offset : float
        Belongs to the intercept: regression works on targets less their mid-range.
    noise : ndarray of shape (n,) or None
        s, where K itself is rounded: K v may be off by ``s_i |s * v|`` at item i. It
        is counted in the certificate of a solution (`certified`), not on the way.
    precise : callable or None
        ``precise(v) -> (K v, error)`` with more digits than those of K, where there is
        a way; it takes longer.
    is_precise : bool
        Points are evaluated by `precise`, so that no noise is left.
    divided : float
        Power of two by which `K` is divided already; the problem is that of the kernel
        before. Only `unit` may be called where it is not 1.
    """

    K: Array
    domain: BalancedBox
    margin: Array
    psd: bool = True
    offset: float = 0.0
    noise: Array | None = None
    precise: Callable[[Array], tuple[Array, Array]] | None = None
    is_precise: bool = False
    divided: float = 1.0

    @classmethod
    def classification(
        cls,
        K: Array,
        domain: BalancedBox,
        *,
        psd: bool = True,
        noise: Array | None = None,
    ) -> SVMDual:
        """Support vector classification with labels ``domain.y``."""
        return cls(K, domain, np.ones(domain.n), psd, noise=noise)

    @classmethod
    def regression(
        cls,
        K: Array,
        y: Array,
        upper: Array,
        *,
        epsilon: float,
        psd: bool = True,
        noise: Array | None = None,
    ) -> SVMDual:
        """Epsilon-insensitive regression on the targets y."""
        low = float(y.min())
        middle = low + 0.5 * (float(y.max()) - low)
        t = y - middle
        signs = np.repeat([1.0, -1.0], t.size)
        domain = BalancedBox(np.concatenate([upper, upper]), signs)
        margin = np.concatenate([t, -t]) - epsilon
        return cls(K, domain, margin, psd, middle, noise)

    @classmethod
    def one_class(
        cls,
        K: Array,
        upper: Array,
        *,
        nu: float,
        psd: bool = True,
        noise: Array | None = None,
    ) -> SVMDual:
        """One-class machine: coefficients sum to nu times the sum of their bounds."""
        n = upper.size
        domain = BalancedBox(upper, np.ones(n), nu * float(upper.sum()))
        return cls(K, domain, np.zeros(n), psd, noise=noise)

    # ------------------------------------------------------------------- scale

    def unit(self) -> tuple[SVMDual, float, float]:
        """Return the problem in units where K and the margins are near 1.

        All factors are powers of two, so that nothing is rounded.

        Returns
        -------
        SVMDual
            The same problem with coefficients ``v / size`` and outputs ``f / height``.
        float
            size.
        float
            height.
        """
        domain = self.domain
        width = width_of(self._largest() * self.divided)
        if self.margin.any():
            height = power_of_two(float(np.abs(self.margin).max()))
            size = height / width
        else:
            # The balance, which is the sum of the coefficients, is about the number of
            # items that have one, and 1 at least.
            largest = float(domain.upper.max())
            size = power_of_two(min(largest, domain.balance))
            height = size * width
        upper = domain.upper / size
        if domain.balance > 0.0:  # no coefficient exceeds the sum
            upper = np.minimum(upper, domain.balance / size)
        box = BalancedBox(upper, domain.y, domain.balance / size)
        more = width / self.divided
        K = self.K if more == 1.0 else self.K / more
        margin = self.margin / height
        unit = replace(self, K=K, domain=box, margin=margin, offset=0.0, divided=1.0)
        if self.noise is not None:
            unit = replace(unit, noise=self.noise / np.sqrt(width))
        if self.precise is not None:
            unit = replace(unit, precise=partial(_in_units, self.precise, width))
        return unit, size, height

    def precisely(self) -> SVMDual | None:
        """Return the problem with `precise` products; None where there are none."""
        if self.precise is None or not self.psd:
            return None
        return replace(self, noise=None, is_precise=True)

    def _product(self, v: Array) -> tuple[Array, Array]:
        if self.is_precise and self.precise is not None:
            return self.precise(v)
        return product_and_error(self.K, v)

    def _largest(self) -> float:
        """Largest |K|, on the diagonal of a positive semidefinite matrix."""
        if self.psd:
            return float(np.abs(np.diagonal(self.K)).max(initial=0.0))
        return max(float(self.K.max()), -float(self.K.min())) if self.K.size else 0.0

    # ------------------------------------------------------------------ points

    def coef(self, a: Array) -> Array:
        """Return v, the signed coefficients on K."""
        return (self.domain.y * a).reshape(-1, self.K.shape[0]).sum(axis=0)

    def variables(self, v: Array) -> Array:
        """Return the point of the box with coefficients v; inverse of `coef`."""
        if self.domain.n == v.size:
            return np.clip(self.domain.y * v, 0.0, self.domain.upper)
        both = np.concatenate([np.maximum(v, 0.0), np.maximum(-v, 0.0)])
        return np.minimum(both, self.domain.upper)

    def spread(self, f: Array) -> Array:
        """Repeat values of items for their variables."""
        return f if self.domain.n == f.size else np.tile(f, self.domain.n // f.size)

    def at(self, a: Array) -> SVMPoint:
        """Evaluate and certify a point of the box.

        What both variables of an item have in common is removed: it costs epsilon.
        """
        v = self.coef(a)
        a = a if self.domain.n == v.size else self.variables(v)
        # Bounds may lie beyond the root of the largest number: a point whose value
        # is none is worth nothing.
        with np.errstate(over="ignore", invalid="ignore"):
            outputs, error = self._product(v)
            gradient = self.margin - self.domain.y * self.spread(outputs)
            value = float(self.margin @ a) - 0.5 * float(v @ outputs)
            point = SVMPoint(a, v, outputs, error, gradient, value, _NOTHING)
            if self.psd:
                certificate = self._gap(point, error)
            else:
                worst = self.domain.violation(a, gradient) + 2.0 * float(error.max())
                certificate = Certificate("stationarity", worst, worst)
        if not (np.isfinite(value) and np.isfinite(certificate.value)):
            certificate = Certificate(certificate.kind, np.inf, np.inf)
        return replace(point, certificate=certificate)

    @np.errstate(all="ignore")  # a bound beyond the largest number is infinite
    def certified(self, point: SVMPoint) -> Certificate:
        """Certificate of a solution: with the noise of K, and its share of rounding."""
        found = point.certificate
        if not np.isfinite(found.relative):
            return found
        if not self.psd:
            return replace(found, rounding=2.0 * float(point.error.max()))
        if self.noise is not None:
            found = self._gap(point, point.error + self._noise_of(point.v))
            if not np.isfinite(found.value):
                return Certificate("gap", np.inf, np.inf)
        own = self._relative(point, self.domain.gap(point.a, point.gradient))
        return replace(found, rounding=max(0.0, found.relative - own))

    def intercept(self, point: SVMPoint) -> float:
        """Return b of the decision values ``f + b``."""
        outputs = self.spread(point.outputs)
        return self.domain.intercept(point.a, outputs, self.margin) + self.offset

    # ------------------------------------------------------------ certificates

    @np.errstate(all="ignore")
    def sharpened(self, point: SVMPoint, tol: float = 0.0) -> Certificate:
        """As `certified`, for points above `tol`: outputs in extended precision.

        And at other weights, if these are above `tol` still.
        """
        found = self.certified(point)
        if not (self.psd and np.isfinite(found.relative)):
            return found
        own = found.relative - found.rounding
        if not self.is_precise:
            outputs, error = extended_product(self.K, point.v)
            gradient = self.margin - self.domain.y * self.spread(outputs)
            point = replace(point, outputs=outputs, error=error, gradient=gradient)
            gap = self._gap(point, error + self._noise_of(point.v))
            if gap.value < found.value:
                found = replace(gap, rounding=max(0.0, gap.relative - own))
        if found.relative <= tol:
            return found
        gap = self.elsewhere(point)
        # Who checks the claim looks for such points as well, but may miss the best:
        # what is no solution either way claims what its own weights show.
        if not gap.relative <= tol:
            return found
        return replace(gap, rounding=max(0.0, gap.relative - own))

    @np.errstate(all="ignore")
    def elsewhere(self, point: SVMPoint) -> Certificate:
        """Gap between a point of the dual and the best of some other primal points.

        Any weights v + d are one, whose objective is at most the terms of Fenchel and
        Young with outputs K(v + d), and ``d'Kd / 2``, above D(a). What is missing to
        the margin costs a whole bound an item: free variables are lifted over it by
        their errors, or all weights stretched.
        """
        domain = self.domain
        size = domain.y * point.a @ self.spread(point.outputs)
        own = self.spread(point.error + self._noise_of(point.v))
        least = np.inf
        for d, image, off in self._lifts(point, own):
            moved = self.spread(point.outputs + image)
            error = self.spread(point.error + off + self._noise_of(point.v + d))
            penalty = 0.5 * float(d @ image) + float(np.abs(d) @ off)
            penalty += 0.5 * self._noise_norm(d) ** 2
            least = min(least, self._primal_above(point, moved, error) + penalty)
        outputs = self.spread(point.outputs)
        for stretch in _STRETCHES:
            moved = outputs + stretch * outputs
            error = own + stretch * own + _EPS * np.abs(outputs)
            penalty = 0.5 * stretch**2 * float(size + np.sum(point.a * own))
            least = min(least, self._primal_above(point, moved, error) + penalty)
        # The objective itself is a rounded number. Twice, because a check may find
        # points that are somewhat worse.
        least += float(np.sum(point.a * (own + _EPS * np.abs(self.margin))))
        return Certificate("gap", 2.0 * least, self._relative(point, 2.0 * least))

    def _primal_above(self, point: SVMPoint, outputs: Array, error: Array) -> float:
        gradient = self.margin - self.domain.y * outputs
        total = error + _EPS * (np.abs(self.margin) + np.abs(outputs))
        return self.domain.gap(point.a, gradient, total)

    def _lifts(
        self, point: SVMPoint, error: Array
    ) -> Iterator[tuple[Array, Array, Array]]:
        """Yield weights d on free items, K d and a bound on its rounding.

        ``K_FF d`` is what is missing there, or the most that is, or both, and a room
        for errors.
        """
        a, n = point.a, self.K.shape[0]
        free = np.flatnonzero((a > 0.0) & (a < self.domain.upper))
        if not free.size:
            return
        reduced = (
            point.gradient - self.domain.multiplier(point.gradient) * self.domain.y
        )
        missing = reduced[free]
        most = float(np.abs(missing).max())
        room = 4.0 * float((error + _EPS * np.abs(self.margin))[free].max())
        items = free % n  # regression has two variables per item
        wanted = np.stack([missing + room, np.full(free.size, most + room)])
        targets = self.domain.y[free] * np.vstack([wanted, missing + most + room])
        block = self.K[np.ix_(items, items)]
        # By a pivoted QR factorisation: less than an eigendecomposition.
        solved = scipy.linalg.lstsq(
            block, targets.T, cond=1e-13, lapack_driver="gelsy", check_finite=False
        )[0]
        for change in solved.T:
            d = np.zeros(n)
            d[items] = change
            product = self._product if self.is_precise else self._extended
            yield d, *product(d)

    def _extended(self, v: Array) -> tuple[Array, Array]:
        return extended_product(self.K, v)

    def _noise_norm(self, v: Array) -> float:
        return 0.0 if self.noise is None else float(np.linalg.norm(self.noise * v))

    def _noise_of(self, v: Array) -> Array:
        if self.noise is None:
            return np.zeros_like(v)
        return self._noise_norm(v) * self.noise

    def _gap(self, point: SVMPoint, error: Array) -> Certificate:
        spread = self.spread(point.outputs), self.spread(error)
        gap = box_gap(self.domain, point.a, *spread, self.margin)
        return Certificate("gap", gap, self._relative(point, gap))

    def _relative(self, point: SVMPoint, gap: float) -> float:
        unit = abs(point.value)
        if not self.margin.any():
            diagonal = np.maximum(np.diagonal(self.K), 0.0)
            # Of a kernel that is zero to rounding that is the unit.
            if self.noise is not None and np.all(diagonal <= np.square(self.noise)):
                diagonal = np.square(self.noise) / _EPS
            largest = 0.5 * self.domain.balance * float(point.v @ diagonal)
            unit = max(unit, _FLOOR * largest)
        elif not point.v.any():  # the constant is optimal, or nothing was done
            unit = max(unit, 1e-6 * float(self.domain.upper @ np.abs(self.margin)))
        if gap == 0.0:
            return 0.0
        return gap / unit if unit > 0.0 else np.inf


def width_of(largest: float) -> float:
    """Power of two that a kernel is divided by; 1 where its entries are near 1."""
    width = power_of_two(float(largest))
    return 1.0 if 0.25 <= width <= 16.0 else width


def _in_units(
    precise: Callable[[Array], tuple[Array, Array]], width: float, v: Array
) -> tuple[Array, Array]:
    outputs, error = precise(v)
    return outputs / width, error / width


def box_gap(
    domain: BalancedBox,
    a: Array,
    outputs: Array,
    error: Array | float,
    margin: Array | float = 1.0,
) -> float:
    """Duality gap of a machine in a box, rounding counted: for every form of K.

    The sum of Fenchel and Young, ``sum_i u_i [l(f_i) + l*(-v_i / u_i)] + v'f`` with
    f = Kv + b, at the best intercept b, term by term without cancellation.

    Parameters
    ----------
    domain : BalancedBox
        Bounds u and signs y of the variables.
    a : ndarray of shape (m,)
        A feasible point; v = y * a.
    outputs, error : ndarray of shape (m,)
        Kv at each variable, and a bound on its rounding errors.
    margin : ndarray of shape (m,) or float
        m of the module's docstring.
    """
    total = error + _EPS * np.abs(margin)
    gap = domain.gap(a, margin - domain.y * outputs, total)
    bend = float((domain.y * a) @ outputs)
    theta = 1.0 + 4.0 * float(np.max(total))
    if bend > 0.0 and theta < _MOST_STRETCHED:
        stretched = domain.gap(a, margin - theta * domain.y * outputs, theta * total)
        gap = min(gap, stretched + 0.5 * (theta - 1.0) ** 2 * bend)
    # The objective itself is a rounded number.
    return gap + float(np.sum(a * total))


_NOTHING = Certificate("stationarity", np.inf, np.inf)


_CACHE_MB = 200


def run_libsvm(
    K: Array, target: Array, *, svm_type: int, **options: Any
) -> tuple[Array, float, int]:
    """Signed coefficients on K and intercept by LIBSVM, and how many steps it took.

    Through SVC().fit the checks of a kernel that is checked take longer than this.
    """
    libsvm.set_verbosity_wrap(0)
    support, _, _, coef, b, *_, steps = libsvm.fit(
        np.ascontiguousarray(K), np.ascontiguousarray(target), kernel="precomputed",
        svm_type=svm_type, **options,
    )  # fmt: skip
    # The first class is the smaller label, whose coefficients are positive.
    sign = -1.0 if svm_type == 0 else 1.0
    v = np.zeros(target.size)
    v[support] = sign * coef[0]
    return v, sign * float(b[0]), int(np.max(steps))


def svm_path(
    K: Array,
    target: Array,
    Cs: Array,
    weight: Array | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int | None = None,
    epsilon: float | None = None,
) -> tuple[Array, Array]:
    """Solve the SVM dual for ascending C.

    Once no variable is on its bound C w_i the solution is that of every larger C.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel with entries of order one.
    target : ndarray of shape (n,)
        Labels -1 and +1; for regression numbers of order one.
    Cs : ndarray of shape (n_C,)
        Ascending.
    weight : ndarray of shape (n,), optional
        Sample weights.
    tol : float
        LIBSVM's tolerance.
    max_iter : int, optional
        Steps of LIBSVM at most: what takes more is a C far beyond the useful ones.
    epsilon : float, optional
        Half the width of the tube: regression.

    Returns
    -------
    coef : ndarray of shape (n_C, n)
        Signed coefficients on K.
    intercept : ndarray of shape (n_C,)
    """
    n = target.size
    w = np.ones(n) if weight is None else weight
    coef = np.zeros((len(Cs), n))
    intercept = np.zeros(len(Cs))
    if np.all(target == target[0]):  # a fold without items of a class
        return coef, np.full(len(Cs), float(target[0]))
    kind = {"svm_type": 0} if epsilon is None else {"svm_type": 3, "epsilon": epsilon}
    most = max_iter or max(10_000, 100 * n)
    for c, C in enumerate(Cs):
        coef[c], intercept[c], _ = run_libsvm(
            K, target, C=float(C), tol=tol, sample_weight=w, cache_size=_CACHE_MB,
            max_iter=most, **kind,
        )  # fmt: skip
        if np.all(np.abs(coef[c]) < C * w * (1.0 - 1e-9)):
            coef[c:], intercept[c:] = coef[c], intercept[c]
            break
    return coef, intercept
