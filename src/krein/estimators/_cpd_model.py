"""What the c.p.d. classifier and regressor share: placing, polynomials, space, path."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from krein.arrays import Array, extended_product, product_and_error, rounding_of_sums
from krein.declarations import COEFFICIENTS, RESULTS, Fitted, declares_parameters
from krein.estimators._base import KernelModel
from krein.items import take
from krein.kernels.registry import Kernel, as_kernel
from krein.kernels.splines import monomials
from krein.machines.cpd import CPDProblem, cpd_newton
from krein.machines.cpd_columns import KernelColumns
from krein.machines.cpd_limit import cpd_limit
from krein.machines.cpd_space import (
    Polynomials,
    Space,
    basis_space,
    free_space,
    polynomial_space,
    subspace,
)
from krein.machines.losses import Loss, SquaredHinge
from krein.memory import require_for
from krein.published.algorithm_1 import as_printed
from krein.result import Result
from krein.similarity.matrix import Similarities
from krein.sklearn_internals import num_samples
from krein.training import FittedRows, Row, Training, positive_part
from krein.validation import check_similarity, refuse_mask

_FURTHER = 1e-2  # share of tol that is aimed at where rounding seems to be the limit
_WORK = "a conditionally positive definite fit"


@dataclass(frozen=True)
class PlacedKernel:
    """A kernel on data moved to mean zero and, if asked, to root mean square one.

    Attributes
    ----------
    kernel : Kernel or callable
        The kernel on placed data.
    center : ndarray of shape (n_features,) or None
        None for objects that are not vectors.
    scale : float
        One number for all features: distances keep their ratios.
    degree : int
        Degree of the polynomials.
    """

    kernel: Any
    center: Array | None
    scale: float
    degree: int

    def place(self, X: Any) -> Any:
        """Return the data as the kernel sees them."""
        return X if self.center is None else (X - self.center) / self.scale

    def __call__(self, X: Any, Y: Any) -> Array:
        """Kernel matrix between raw items."""
        return self.kernel(self.place(X), self.place(Y))

    def polynomials(self, X: Any) -> Array:
        """Monomials of the placed items, constant first."""
        if self.center is None:
            return np.ones((num_samples(X), self.degree + 1))
        return monomials(self.place(X), self.degree)


@dataclass(frozen=True, kw_only=True)
class CPDTraining(Training):
    """Training samples with polynomials, seen through blocks of the kernel.

    Attributes
    ----------
    P : ndarray of shape (m, p)
        Polynomials.
    definite : bool
        The kernel is known to be c.p.d.: its factors need not show it.
    """

    K: Similarities
    P: Array
    definite: bool = False

    @property
    def weights(self) -> Array:
        """Weights of the samples, ones when there are none."""
        return np.ones(self.size) if self.weight is None else self.weight

    def dense(self) -> CPDTraining:
        """Compute the kernel matrix once; folds are cut from it."""
        require_for(_WORK, self.size, "Use n_basis.")
        K = np.asarray(self.K.dense(), dtype=float)
        if not isinstance(self.K.kernel, Kernel | None):
            K = check_similarity(K, name="kernel(X, X)")
        return replace(self, K=Similarities(K))

    def subset(self, rows: np.ndarray) -> CPDTraining:
        """Return some of the samples."""
        return replace(super().subset(rows), P=self.P[rows])

    def scores(self, fitted: FittedRows, test: np.ndarray, train: np.ndarray) -> Array:
        """Decision values (n_test, n_rows) by a model of the samples `train`."""
        assert fitted.poly is not None
        return super().scores(fitted, test, train) + self.P[test] @ fitted.poly.T


@declares_parameters
class CPDModel(KernelModel):
    """Kernel, placing, polynomials and function space of a c.p.d. model."""

    _: KW_ONLY
    kernel: Any = "thin_plate"
    exponent: float = 3
    degree: int | None = None
    polynomial: str = "free"
    n_basis: int | None = None
    scale: bool = True
    tol: float = 1e-8
    max_iter: Any = 100

    _fitted_state = Fitted.state(
        *COEFFICIENTS, *RESULTS, Fitted("n_polynomials_", "integer", needed=False)
    )

    def __sklearn_tags__(self):
        """No sparse input: the kernels of these models vanish nowhere."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _kernel_and_degree(self) -> tuple[Any, int]:
        """Return the kernel with its parameters, and the degree of the polynomials."""
        params = dict(self.kernel_params or {})
        if isinstance(self.kernel, str) and self.kernel == "thin_plate":
            params.setdefault("exponent", self.exponent)
        kernel = as_kernel(self.kernel, params)
        order = kernel.order if isinstance(kernel, Kernel) else None
        if order is None:
            order = getattr(self.kernel, "order", 0)
        if self.degree is None:
            return kernel, order - 1
        if self.degree < order - 1:
            raise ValueError(
                f"degree={self.degree} is too small: a kernel that is conditionally "
                f"positive definite of order {order} needs polynomials of degree "
                f"{order - 1} at least. Leave degree=None, or choose a smaller exponent"
            )
        return kernel, self.degree

    def _check_items(self, X: Any, *, reset: bool) -> Any:
        items = super()._check_items(X, reset=reset)
        if reset and num_samples(items) < 2:
            raise ValueError("at least 2 samples are required, got 1 sample")
        return items

    def _prepared(
        self, X: Any, dtype: Any, weight: Array | None, P: Any = None
    ) -> CPDTraining:
        """Return the checked samples of positive weight, with their polynomials."""
        weight, kept = positive_part(weight)
        if self._precomputed:
            K = check_similarity(X, name="X", symmetrize=self.symmetrize, given=dtype)
            return _precomputed_training(K, weight, kept, P)
        if P is not None:
            raise ValueError("P is given with kernel='precomputed' only")
        items = X if kept is None else take(X, kept)
        n = num_samples(items)
        kernel, degree = self._kernel_and_degree()
        if self._takes_vectors(X):
            w = np.ones(n) if weight is None else weight
            center, scale = _placing(items, w, self.scale)
        else:
            center, scale = None, 1.0
            if degree > 0:
                raise ValueError(
                    f"polynomials of degree {degree} need vectors; for other items "
                    "use a kernel of order 0 or 1"
                )
        placed = items if center is None else (items - center) / scale
        if isinstance(kernel, Kernel):
            kernel = kernel.fit(placed)
        placing = PlacedKernel(kernel, center, scale, degree)
        return CPDTraining(
            weight,
            kept,
            num_samples(X),
            K=Similarities(placed, kernel),
            facts={"kernel_": placing, "X_fit_": X},
            P=placing.polynomials(items),
            definite=isinstance(kernel, Kernel)
            and kernel.facts.definiteness in ("pd", "cpd"),
        )

    def _space(self, training: CPDTraining, polynomial: str) -> Space:
        """Build the function space of the samples."""
        Q = Polynomials.fit(training.P, training.weights)
        free = polynomial == "free"
        space = self._function_space(training, Q, free)
        if space.holds_zero_only:
            warnings.warn(
                f"polynomial='zero' leaves only f = 0 on {training.size} samples: they "
                "have as many distinct items as there are monomials. Use more distinct "
                "items, exponent=1 or polynomial='free'",
                stacklevel=2,
            )
        return space

    def _function_space(
        self, training: CPDTraining, Q: Polynomials, free: bool
    ) -> Space:
        if Q.Q.shape[1] == training.size:
            return polynomial_space(Q, free=free)
        if self.n_basis is not None and self.n_basis < training.size:
            rng = check_random_state(self.random_state)
            basis = np.sort(rng.permutation(training.size)[: self.n_basis])
            return basis_space(training.K, Q, basis, free=free)
        require_for(_WORK, training.size, "Use n_basis.")
        if not isinstance(training.K.kernel, Kernel | None):
            training = training.dense()  # columns are not computed alone: asymmetry
        make = free_space if free else subspace
        return make(training.K, Q, definite=training.definite)

    def _add_polynomial(self, values: Array, X: Any, **further: Any) -> Array:
        P = further.get("P")
        if self._precomputed:
            polynomials = _given_polynomials(P, values.shape[0], self.n_polynomials_)
        elif P is not None:
            raise ValueError("P is given with kernel='precomputed' only")
        else:
            placed: Any = self.kernel_
            polynomials = placed.polynomials(self._check_items(X, reset=False))
        if self.poly_coef_.shape[1]:
            values += polynomials @ self.poly_coef_.T
        return values


def cpd_row(space: Space, result: Result) -> Row:
    """One row of the model from a solution in the coordinates of the space."""
    a, p = space.expand(result.info["c"], result.info["b"])
    return Row(a, 0.0, result, poly=p)


def _precomputed_training(
    K: Array, weight: Array | None, kept: np.ndarray | None, P: Any
) -> CPDTraining:
    n = K.shape[0]
    P = _given_polynomials(P, n)
    facts = {"X_fit_": None, "n_polynomials_": P.shape[1]}
    matrix = Similarities(K)
    if kept is not None:
        matrix = matrix.subset(kept)
        P = P[kept]
    return CPDTraining(weight, kept, n, K=matrix, facts=facts, P=P)


def _placing(X: Array, weight: Array, scaled: bool) -> tuple[Array, float]:
    """Weighted mean, and root mean square distance from it (1 if not wanted)."""
    total = weight.sum()
    center = weight @ X / total
    if not scaled:
        return center, 1.0
    square = weight @ ((X - center) ** 2).sum(axis=1) / total
    return center, float(np.sqrt(square)) if square > 0 else 1.0


def _given_polynomials(P: Any, n: int, columns: int | None = None) -> Array:
    """Check the polynomials that come with a precomputed kernel; constants if None."""
    if P is None:
        if columns not in (None, 1):
            raise ValueError(
                f"P is missing: the model was fitted with {columns} polynomial columns"
            )
        return np.ones((n, 1))
    refuse_mask(P, "P")
    P = check_array(P, dtype=np.float64, input_name="P", ensure_min_features=0)
    if P.shape[0] != n or columns not in (None, P.shape[1]):
        wanted = "n_polynomials" if columns is None else columns
        raise ValueError(f"P must have shape ({n}, {wanted}), got {P.shape}")
    return P


def solve_path(
    space: Space,
    loss: Loss,
    alphas: Sequence[float],
    *,
    tol: float,
    max_iter: int,
    training: CPDTraining,
    solver: str = "newton",
    polynomial: str = "free",
    rough: bool = False,
) -> list[Result]:
    """Solve for several values of alpha, the largest first, each from the last one.

    Results come in the order of `alphas`; `rough` ones, which are only ranked, are not
    certified on the raw kernel.
    """
    solve: Callable[..., Result] = cpd_newton
    if solver == "published":
        solve = partial(as_printed, b_beta=polynomial == "zero")
        if 0.0 in alphas:
            raise ValueError("solver='published' needs alpha > 0: use solver='newton'")
    results: dict[int, Result] = {}
    solved: list[tuple[float, _Solution]] = []
    for i in np.argsort(-np.asarray(alphas, dtype=float), kind="stable"):
        problem = CPDProblem(space.K, space.null, loss, float(alphas[i]))
        method = solve if problem.lam else cpd_limit
        start = _ahead(problem, solved)
        result = method(problem, tol=tol, max_iter=max_iter, start=start)
        c, b, image = (result.info[key] for key in ("c", "b", "image"))
        solved = [*solved[-1:], (problem.lam, (c, b, image))]
        if not rough:
            result = _on_raw_kernel(problem, result, space, training, tol)
        results[int(i)] = result
    return [results[i] for i in range(len(results))]


_Solution = tuple[Array, Array, Array]  # c, b and K c


def _ahead(
    problem: CPDProblem, solved: Sequence[tuple[float, _Solution]]
) -> _Solution | None:
    """Where to start, from the solutions for the last one or two values of alpha.

    Outputs move evenly with log(alpha) as long as the coefficients grow like 1 / alpha,
    and hardly move any more where the coefficients do not grow. In between the step
    along the line through two solutions is as long as the growth says, or shorter where
    the objective is lower.
    """
    if not solved:
        return None
    alpha, last = solved[-1]
    before, older = solved[0]
    size = float(np.linalg.norm(last[0]))
    smaller = float(np.linalg.norm(older[0]))
    growth = size / max(smaller, 1e-300)
    if not 0.0 < problem.lam < alpha < before or not 1.0 < growth < np.inf:
        return last
    fell = math.log(before / alpha)
    falls = math.log(alpha / problem.lam)
    share = min(1.0, math.log(growth) / fell * falls / fell)
    steps = [share * (x - y) for x, y in zip(last, older, strict=True)]
    t = problem.along(problem.point(*last), problem.point(*steps))
    c, b, image = (x + t * step for x, step in zip(last, steps, strict=True))
    return c, b, image


@dataclass(frozen=True)
class _RawOutputs:
    """What the coefficients that predict give on the raw kernel.

    They are those of the solution to rounding, which is much where alpha is small
    beside the kernel: the terms of Phi a are larger than their sum.

    Attributes
    ----------
    a, p : ndarray
        Coefficients on the kernel and on the polynomials.
    image : ndarray of shape (n,)
        Phi a.
    f, error : ndarray of shape (n,)
        Outputs, and a bound on their rounding.
    product : callable
        How they were multiplied.
    """

    a: Array
    p: Array
    image: Array
    f: Array
    error: Array
    product: Callable[..., tuple[Array, Array]]

    @classmethod
    def of(
        cls,
        result: Result,
        space: Space,
        training: CPDTraining,
        product: Callable[..., tuple[Array, Array]] = product_and_error,
    ) -> _RawOutputs:
        """Expand a solution."""
        a, p = space.expand(result.info["c"], result.info["b"])
        kept = space.core is None and isinstance(space.K, KernelColumns)
        image, error = product(space.K if kept else training.K, a)
        polynomial, more = product(training.P, p)
        if product is extended_product:  # then what they are summed to counts as well
            sizes = np.abs(image) + np.abs(polynomial)
            error = error + rounding_of_sums(a.size) * sizes
        return cls(a, p, image, image + polynomial, error + more, product)


def _on_raw_kernel(
    problem: CPDProblem, result: Result, space: Space, training: CPDTraining, tol: float
) -> Result:
    """Certify the coefficients that predict, on the raw kernel, rounding counted."""
    raw = _RawOutputs.of(result, space, training)
    counted = _counted(problem, result, raw, space, training, tol)
    for improved in (_as_it_is, _further, _beyond_the_margin):
        if not (problem.lam and counted.is_solved_to_rounding(tol)):
            break
        other = improved(problem, result, raw, tol)
        if other is None:
            continue
        outputs = _RawOutputs.of(other, space, training, extended_product)
        better = _counted(problem, other, outputs, space, training, tol)
        if better.certificate.relative < counted.certificate.relative:
            result = other
            raw = outputs
            counted = better
    return counted


def _as_it_is(
    problem: CPDProblem, result: Result, raw: _RawOutputs, tol: float
) -> Result:
    """Outputs with more digits may be all that is needed."""
    return result


def _further(
    problem: CPDProblem, result: Result, raw: _RawOutputs, tol: float
) -> Result:
    """Take the steps after `tol`: the bound was that of an earlier step, perhaps."""
    info = result.info
    start = info["c"], info["b"], info["image"]
    again = cpd_newton(problem, tol=_FURTHER * tol, start=start)
    return replace(again, status=result.status, n_iter=result.n_iter + again.n_iter)


def _beyond_the_margin(
    problem: CPDProblem, result: Result, raw: _RawOutputs, tol: float
) -> Result | None:
    """Solve with samples that are on the margin to rounding behind it by more.

    Outputs of an outlier may be rounded by more than its loss allows. A margin that is
    larger by that much changes the objective in second order only, and rounding does
    not turn such samples into violators any more. None where there is no such sample.
    """
    loss = problem.loss
    side = np.sign(loss.y)
    near = np.abs(loss.y - raw.f) <= raw.error
    if not (isinstance(loss, SquaredHinge) and near.any()):
        return None
    moved = replace(loss, y=loss.y + np.where(near, 2.0 * side * raw.error, 0.0))
    info = result.info
    start = info["c"], info["b"], info["image"]
    again = cpd_newton(replace(problem, loss=moved), tol=0.0, start=start)
    c, b, image = (again.info[key] for key in ("c", "b", "image"))
    point = problem.point(c, b, image)
    certificate = problem.certificate(point.value, problem.dual(point))
    return replace(
        result, x=again.x, value=point.value, certificate=certificate, info=again.info
    )


def _counted(
    problem: CPDProblem,
    result: Result,
    raw: _RawOutputs,
    space: Space,
    training: CPDTraining,
    tol: float,
) -> Result:
    """Certify raw outputs, with what rounding may add on both sides of the gap."""
    loss = problem.loss
    c = result.info["c"]
    a = raw.a
    p = raw.p
    image = raw.image
    f = raw.f
    error = raw.error
    value = problem.lam * float(a @ image) + loss.value(f)
    slope = np.abs(loss.slopes(f)[0])
    moves = loss.weight * (slope + 0.5 * loss.most_bend(f, error) * error)
    spread = float((problem.lam * np.abs(a) + moves) @ error)
    dual = problem.feasible(c)
    least = 0.0  # every loss is non-negative
    if space.core is None:
        least = _bound_of(problem, result, tol)
        least -= problem.lam * float(np.abs(a) @ error)
    elif dual is not None:
        energy = space.core.energy(training.K, dual, a, image, error, raw.product)
        least = loss.conjugate(dual, problem.lam) - problem.lam * energy
    if space.free is not None:  # P'c = 0 holds to rounding
        excess, off = space.free.excess(c if dual is None else dual)
        least -= 2.0 * problem.lam * float(abs(p @ excess) + np.abs(p) @ off)
    bound = max(least, 0.0) - spread
    counted = result.certified(problem.certificate(value, bound), tol)
    return replace(counted, value=value)


def _bound_of(problem: CPDProblem, result: Result, tol: float) -> float:
    """Lower bound of the optimum, from the solution itself where that is enough.

    Others can follow that one. A better one may be known from a step on the way.
    """
    info = result.info
    point = problem.point(info["c"], info["b"], info["image"])
    own = problem.dual(point)
    if result.value - own <= tol * problem.unit(result.value):
        return own
    return result.value - result.certificate.value
