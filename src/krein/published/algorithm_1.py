"""Algorithm 1 of Walder and Chapelle (2007): the c.p.d. SVM, as printed.

Eq. (14), for f = Phi a + P b with P'a = 0; sums, no means; a signed, on the raw kernel:

    minimise  lam a'Phi a + sum_i w_i max(0, 1 - y_i f_i)^2.

Newton steps on the set s of margin violators, line 17,

    [lam I + Phi_ss, Q_s; Q_s', 0] [a_s; b] = [y_s; 0],     P = QR,

halved until the objective does not rise (lines 22 to 28), until s is that of the step
before (line 32). With ``b_beta`` (section 6.2: beta = 0) steps are those of (18), and a
is in the space of all ``P'a = 0``, all of whose entries may differ from zero.

As printed means: line 32 also ends the run after a halved step, where the point need
not be the optimum; line 17 is singular where Q_s lacks full rank; above 500 samples a
run on the first half hands over its violators only. `krein.CPDSVC` mends all three.
Not as printed: (17) exchanges P and P', line 17 does not; (18) has a minus sign too
many, with which it gives minus the solution; line 33 needs R of full rank, the text
(section 6.1) says the pseudo-inverse; sample weights w are krein's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.linalg

from krein.arrays import Array
from krein.kernels.splines import orthonormal_range
from krein.machines._loop import Iterate
from krein.machines.cpd import CPDProblem
from krein.machines.losses import SquaredHinge
from krein.published.checks import check, matrix_and_labels
from krein.published.proxy_svm import Callback
from krein.published.solver import solver
from krein.published.updated_factor import UpdatedFactor
from krein.result import Certificate, Result
from krein.threads import threads_by_size

_RECURSE = 500  # line 2
_HALVINGS = 60  # line 28 may never hold to rounding


@dataclass(frozen=True)
class CPDMatrices:
    """The problem (14) by its matrices.

    Parameters
    ----------
    Phi : ndarray of shape (n, n)
        Kernel, conditionally positive definite with respect to Q.
    Q : ndarray of shape (n, r)
        Orthonormal columns that span the polynomials.
    y : ndarray of shape (n,)
        Labels -1 and +1.
    lam : float
        Regularisation.
    weight : ndarray of shape (n,)
        Sample weights.
    b_beta : bool
        Leave the polynomials out, section 6.2.
    factor : {"fresh", "updated"}
        Of the matrix of (18): a new one each step, or that of the step before with the
        updates of appendix B.
    """

    Phi: Array
    Q: Array
    y: Array
    lam: float
    weight: Array
    b_beta: bool = False
    factor: Literal["fresh", "updated"] = "fresh"

    def first_half(self) -> CPDMatrices:
        """Return the problem of line 4."""
        h = self.y.size // 2
        parts = {name: getattr(self, name)[:h] for name in ("Q", "y", "weight")}
        return replace(self, Phi=self.Phi[:h, :h], **parts)

    def outputs(self, a: Array, b: Array) -> Array:
        """Return f = Phi a + Q b."""
        return self.Phi @ a + self.Q @ b

    def value(self, a: Array, b: Array) -> float:
        """Objective, line 26."""
        slack = np.maximum(1.0 - self.y * self.outputs(a, b), 0.0)
        return float(self.lam * a @ (self.Phi @ a) + self.weight @ (slack * slack))

    def violators(self, a: Array, b: Array) -> np.ndarray:
        """s, line 25."""
        return np.flatnonzero(self.y * self.outputs(a, b) < 1.0)

    def newton(self, s: np.ndarray) -> tuple[Array, Array]:
        """Return (a, b) that minimise the objective if s are the violators."""
        a = np.zeros(self.y.size)
        r = self.Q.shape[1]
        Qs = self.Q[s]
        if self.b_beta:
            return self._without_polynomials(s), np.zeros(r)
        if s.size < r or (r > 0 and np.linalg.matrix_rank(Qs) < r):
            raise np.linalg.LinAlgError
        shifted = self.Phi[np.ix_(s, s)] + np.diag(self.lam / self.weight[s])
        system = np.block([[shifted, Qs], [Qs.T, np.zeros((r, r))]])
        solution = np.linalg.solve(system, np.append(self.y[s], np.zeros(r)))
        a[s] = solution[: s.size]
        return a, solution[s.size :]

    @cached_property
    def _null(self) -> Array:
        """P_perp of (18): an orthonormal basis of the a with Q'a = 0."""
        full, _ = np.linalg.qr(self.Q, mode="complete")
        return full[:, self.Q.shape[1] :]

    @cached_property
    def _updated(self) -> UpdatedFactor:
        return UpdatedFactor(self.Phi, self.Q, self.lam, self.weight)

    def _without_polynomials(self, s: np.ndarray) -> Array:
        """Right-hand side of (18), without its minus sign."""
        pull = self.Phi[s].T @ (self.weight[s] * self.y[s])
        if self.factor == "updated":
            return self._updated.solve(s, pull)
        rows = self.Phi[s] * np.sqrt(self.weight[s])[:, None]
        H = self._null.T @ (self.lam * self.Phi + rows.T @ rows) @ self._null
        factor = scipy.linalg.cho_factor(H)
        return self._null @ scipy.linalg.cho_solve(factor, self._null.T @ pull)

    @cached_property
    def _energy(self) -> tuple[Array, bool]:
        """Factor of the kernel of the space without polynomials."""
        return scipy.linalg.cho_factor(self._null.T @ self.Phi @ self._null)

    def dual(self, step: Array, f: Array) -> float:
        """Lower bound of the optimum, ``2 lam y'c - lam c'Kc - lam^2 sum c^2 / w``.

        For c with ``y * c >= 0`` and ``Q'c = 0``, K = Phi: the full Newton step where
        its signs are right. Without polynomials K is the kernel of the smaller space
        and c need not be orthogonal to Q: the residuals of the outputs `f` do.
        """
        if self.b_beta:
            slack = np.maximum(1.0 - self.y * f, 0.0)
            c = self.y * self.weight * slack / self.lam
            inner = self._null.T @ (self.Phi @ c)
            try:
                energy = float(inner @ scipy.linalg.cho_solve(self._energy, inner))
            except np.linalg.LinAlgError:  # not definite to rounding: no bound
                return 0.0
        else:
            c = step
            energy = float(step @ (self.Phi @ step))
        if np.any(self.y * c < 0.0):
            return 0.0  # the loss is not negative
        linear = 2.0 * float(self.y @ c) - self.lam * float(c * c @ (1.0 / self.weight))
        return self.lam * (linear - energy)

    def slip(self, a: Array, b: Array) -> float:
        """What ``Q'a = 0`` misses, in the units of the objective."""
        missed = np.abs(self.Q.T @ a)
        return 2.0 * self.lam * float(np.abs(b) @ missed)


def as_printed(
    problem: CPDProblem,
    *,
    tol: float,
    max_iter: int,
    start: Any = None,
    b_beta: bool = False,
) -> Result:
    """Run Algorithm 1 on the problem of an estimator, in place of `cpd_newton`.

    In these coordinates (K positive semidefinite, Q orthonormal) the iterates are those
    on the raw kernel; without polynomials line 17 gives the solution of (18), and with
    `b_beta` all samples are in the first step (line 2). There are no warm starts:
    `start` is not used. Status "converged" also needs the gap `tol`: a run that ended
    by line 32 above it is "stalled".
    """
    if not isinstance(problem.loss, SquaredHinge):
        raise ValueError(
            "solver='published' is for loss='squared_hinge', eq. (14); use "
            "solver='newton' for other losses"
        )
    loss = problem.loss
    K = problem.K.dense()
    matrices = CPDMatrices(K, problem.null, loss.y, problem.lam, loss.weight)
    result = algorithm_1(matrices, max_iter=max_iter, recurse=not b_beta)
    c = result.x
    b = result.info["beta"]
    return replace(
        result.certified(result.certificate, tol),
        x=np.append(c, b),
        info={"c": c, "b": b, "image": K @ c},
    )


Point = tuple[Array, Array]


@solver(tol=0.0, max_iter=200, keep="last")
def algorithm_1(problem: CPDMatrices, *, recurse: bool = True) -> Iterator[Iterate]:
    """Run Algorithm 1 and say how good its last point is.

    Parameters
    ----------
    problem : CPDMatrices
        Kernel, polynomials, labels, regularisation.
    recurse : bool
        Lines 2 to 5: start from the violators of the first half above 500 samples. Not
        with ``b_beta``.

    Returns
    -------
    Result
        ``x`` is a; ``info["beta"]`` is b on Q. Status "converged": line 32 held, which
        does not say that the optimum was reached; the certificate does. Status
        "diverged": line 17 had no inverse; then the best point so far, which is no
        model.
    """
    point = np.zeros(problem.y.size), np.zeros(problem.Q.shape[1])
    value = np.inf
    bound = 0.0
    while True:
        yield _iterate(problem, point, bound)
        first = value == np.inf
        try:
            s = problem.violators(*point)
            if first:
                s = _first_violators(problem, recurse and not problem.b_beta)
            step = problem.newton(s)
        except np.linalg.LinAlgError:
            yield _iterate(problem, point, bound, stop="diverged")
            return
        new = _halved(problem, step, point, value)
        if new is None:
            return
        point = new
        value = problem.value(*new)
        bound = max(bound, problem.dual(step[0], problem.outputs(*point)))
        if np.array_equal(problem.violators(*point), s):
            yield _iterate(problem, point, bound, stop="converged")


def _halved(
    problem: CPDMatrices, step: Point, old: Point, at_old: float
) -> Point | None:
    """Lines 22 to 28; None where no halved step is as good as the old point."""
    for t in range(_HALVINGS):
        share = 0.5**t
        a = share * step[0] + (1.0 - share) * old[0]
        b = share * step[1] + (1.0 - share) * old[1]
        if problem.value(a, b) <= at_old:
            return a, b
    return None


def _first_violators(problem: CPDMatrices, recurse: bool) -> np.ndarray:
    """Lines 2 to 8: all samples, or the violators of the first half."""
    if problem.y.size <= _RECURSE or not recurse:
        return np.arange(problem.y.size)
    half = algorithm_1(problem.first_half())
    if half.status == "diverged":
        raise np.linalg.LinAlgError
    return np.flatnonzero(half.x)


def _iterate(
    problem: CPDMatrices,
    point: Point,
    bound: float,
    stop: Literal["converged", "diverged"] | None = None,
) -> Iterate:
    value = problem.value(*point)
    gap = max(0.0, value - bound) + problem.slip(*point)
    certificate = Certificate("gap", gap, gap / max(value, 1e-300))
    return Iterate(
        point[0], value, certificate, bound, info={"beta": point[1]}, stop=stop
    )


@threads_by_size
def walder_algorithm_1(
    Phi: Any,
    y: Any,
    P: Any = None,
    *,
    lam: float = 1.0,
    b_beta: bool = False,
    factor: Literal["fresh", "updated"] = "fresh",
    max_iter: int = 200,
    callback: Callback | None = None,
) -> Result:
    """Algorithm 1 of Walder and Chapelle (2007), as printed, for the c.p.d. SVM.

    Eq. (14): ``lam a'Phi a + sum_i max(0, 1 - y_i f_i)^2``, f = Phi a + P b, P'a = 0.

    Parameters
    ----------
    Phi : array-like of shape (n, n)
        Kernel, conditionally positive definite with respect to P.
    y : array-like of shape (n,)
        Labels -1 and +1.
    P : array-like of shape (n, r), optional
        Polynomials at the items; constants unless given.
    lam : float
        Regularisation.
    b_beta : bool
        The paper's b_beta, "enforce beta = 0": leave the polynomials out of f (section
        6.2, steps (18)). There is no recursion then (line 2). The paper does so where
        the data are linearly separable; ``krein.CPDSVC(polynomial="separable")`` is
        that rule.
    factor : {"fresh", "updated"}
        With `b_beta`, how the matrix of (18) is factored: anew in each step, or by
        expansions and rank-one updates (appendix B). Iterates are the same but for
        rounding, which is more with updates. In NumPy they do not pay: 1.5 to 2.7 times
        the processor seconds at 300 to 1500 items (``benchmarks/algorithm_1.py``).
    max_iter : int
        Newton steps.
    callback : callable, optional
        As in `spgm`. There is no ``x0`` and no ``tol``: the start is that of lines 2 to
        11, the stop that of line 32.

    Returns
    -------
    Result
        ``x`` is a; ``info["beta"]`` is b. Status "converged" says that line 32 held,
        which also happens above the optimum: `certificate` bounds the distance. Status
        "diverged": the system of line 17 was singular.

    Examples
    --------
    >>> import numpy as np
    >>> import krein
    >>> x = np.array([-2.0, -1.0, -0.3, 0.4, 1.1, 2.3])
    >>> Phi = np.abs(x[:, None] - x) ** 3
    >>> P = np.column_stack([np.ones(6), x])
    >>> result = krein.published.walder_algorithm_1(Phi, [1, -1, 1, 1, -1, 1], P)
    >>> result.status, bool(result.certificate.relative < 1e-9)
    ('converged', True)
    """
    check(lam=lam, b_beta=b_beta, factor=factor)
    check(max_iter=max_iter, callback=callback)
    if factor == "updated" and not b_beta:
        raise ValueError(
            "factor='updated' is for b_beta=True, appendix B updates the factor of "
            "(18); use factor='fresh'"
        )
    Phi, y = matrix_and_labels(Phi, y, "Phi")
    P = _polynomials(P, y.size)
    Q, G = orthonormal_range(P)  # line 33's pseudo-inverse, also where R is singular
    if b_beta and Q.shape[1] == y.size:
        raise ValueError(
            f"b_beta=True leaves only f = 0: the polynomials P take up all dimensions "
            f"of {y.size} items; give fewer polynomials or more items"
        )
    ones = np.ones(y.size)
    problem = CPDMatrices(Phi, Q, y, float(lam), ones, bool(b_beta), factor)

    def on_given(iterate: Iterate) -> Iterate:
        return replace(iterate, info={"beta": G @ iterate.info["beta"]})

    result = algorithm_1(
        problem,
        max_iter=max_iter,
        callback=None if callback is None else lambda one: callback(on_given(one)),
    )
    return replace(result, info={"beta": G @ result.info["beta"]})


def _polynomials(P: Any, n: int) -> Array:
    if P is None:
        return np.ones((n, 1))
    P = np.asarray(P)
    if P.ndim != 2 or P.shape[0] != n:
        raise ValueError(f"P must have shape ({n}, n_polynomials), got {P.shape}")
    if P.dtype.kind not in "biuf":
        raise ValueError(f"P must hold numbers, got {P.dtype}")
    if not np.isfinite(P).all():
        raise ValueError("P must hold finite numbers, got NaN or infinity")
    return P.astype(float)
