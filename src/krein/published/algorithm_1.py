"""Algorithm 1 of Walder and Chapelle (2007): the c.p.d. SVM, as printed.

Eq. (14), for f = Phi a + P b with P'a = 0; sums, no means; a signed, on the raw kernel:

    minimise  lam a'Phi a + sum_i w_i max(0, 1 - y_i f_i)^2.

Newton steps on the set s of margin violators, line 17,

    [lam I + Phi_ss, Q_s; Q_s', 0] [a_s; b] = [y_s; 0],     P = QR,

halved until the objective does not rise (lines 22 to 28), until s is that of the step
before (line 32).

As printed means: line 32 also ends the run after a halved step, where the point need
not be the optimum; line 17 is singular where Q_s lacks full rank; above 500 samples a
run on the first half hands over its violators only. `krein.CPDSVC` mends all three.
Not as printed: (17) exchanges P and P', line 17 does not; line 33 needs R of full rank,
the text (section 6.1) says the pseudo-inverse; sample weights w are krein's. The
variant without polynomials (section 6.2), whose (18) has a minus sign too many, is
``CPDSVC(polynomial="zero", solver="published")``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from krein.arrays import Array
from krein.machines._loop import Iterate
from krein.machines.cpd import CPDProblem
from krein.machines.losses import SquaredHinge
from krein.published.solver import check_positive, matrix_and_labels, solver
from krein.result import Certificate, Result

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
    """

    Phi: Array
    Q: Array
    y: Array
    lam: float
    weight: Array

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
        a, r, Qs = np.zeros(self.y.size), self.Q.shape[1], self.Q[s]
        if s.size < r or (r > 0 and np.linalg.matrix_rank(Qs) < r):
            raise np.linalg.LinAlgError
        shifted = self.Phi[np.ix_(s, s)] + np.diag(self.lam / self.weight[s])
        system = np.block([[shifted, Qs], [Qs.T, np.zeros((r, r))]])
        solution = np.linalg.solve(system, np.append(self.y[s], np.zeros(r)))
        a[s] = solution[: s.size]
        return a, solution[s.size :]

    def dual(self, c: Array) -> float:
        """Lower bound of the optimum, ``2 lam y'c - lam c'Phi c - lam^2 sum c^2 / w``.

        For c with ``y * c >= 0`` and ``Q'c = 0``: the full Newton step where its signs
        are right.
        """
        if np.any(self.y * c < 0.0):
            return 0.0  # the loss is not negative
        linear = 2.0 * float(self.y @ c) - self.lam * float(c * c @ (1.0 / self.weight))
        return self.lam * (linear - float(c @ (self.Phi @ c)))


def as_printed(
    problem: CPDProblem, *, tol: float, max_iter: int, start: Any = None
) -> Result:
    """Run Algorithm 1 on the problem of an estimator, in place of `cpd_newton`.

    In these coordinates (K positive semidefinite, Q orthonormal) the iterates are those
    on the raw kernel; without polynomials line 17 gives the solution of (18). There are
    no warm starts: `start` is not used. Status "converged" also needs the gap `tol`: a
    run that ended by line 32 above it is "stalled".
    """
    if not isinstance(problem.loss, SquaredHinge):
        raise ValueError(
            "solver='published' is for loss='squared_hinge', eq. (14); use "
            "solver='newton' for other losses"
        )
    loss, K = problem.loss, problem.K.dense()
    matrices = CPDMatrices(K, problem.null, loss.y, problem.lam, loss.weight)
    result = algorithm_1(matrices, max_iter=max_iter)
    c, b = result.x, result.info["beta"]
    info = {"c": c, "b": b, "image": K @ c}
    return result.certified(result.certificate, tol, x=np.append(c, b), info=info)


Point = tuple[Array, Array]


@solver(tol=0.0, max_iter=200, keep="last")
def algorithm_1(problem: CPDMatrices) -> Iterator[Iterate]:
    """Run Algorithm 1 and say how good its last point is.

    Parameters
    ----------
    problem : CPDMatrices
        Kernel, polynomials, labels, regularisation.

    Returns
    -------
    Result
        ``x`` is a; ``info["beta"]`` is b on Q. Status "converged": line 32 held, which
        does not say that the optimum was reached; the certificate does. Status
        "diverged": line 17 had no inverse; then the best point so far, which is no
        model.
    """
    point = np.zeros(problem.y.size), np.zeros(problem.Q.shape[1])
    value, bound = np.inf, 0.0
    while True:
        yield _iterate(problem, point, bound)
        first = value == np.inf
        try:
            s = _first_violators(problem) if first else problem.violators(*point)
            step = problem.newton(s)
        except np.linalg.LinAlgError:
            yield _iterate(problem, point, bound, stop="diverged")
            return
        new = _halved(problem, step, point, value)
        if new is None:
            return
        point, value = new, problem.value(*new)
        bound = max(bound, problem.dual(step[0]))
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


def _first_violators(problem: CPDMatrices) -> np.ndarray:
    """Lines 2 to 8: all samples, or the violators of the first half."""
    if problem.y.size <= _RECURSE:
        return np.arange(problem.y.size)
    half = algorithm_1(problem.first_half())
    if half.status == "diverged":
        raise np.linalg.LinAlgError
    return np.flatnonzero(half.x)


def _iterate(problem: CPDMatrices, point: Point, bound: float, **how: Any) -> Iterate:
    value = problem.value(*point)
    gap = max(0.0, value - bound)
    certificate = Certificate("gap", gap, gap / max(value, 1e-300))
    return Iterate(point[0], value, certificate, bound, info={"beta": point[1]}, **how)


def walder_algorithm_1(
    Phi: Any, y: Any, P: Any = None, *, lam: float = 1.0, max_iter: int = 200
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
    max_iter : int
        Newton steps.

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
    Phi, y = matrix_and_labels(Phi, y, "Phi")
    lam = check_positive("lam", lam)
    n = y.size
    P = np.ones((n, 1)) if P is None else np.asarray(P, dtype=float)
    if P.ndim != 2 or P.shape[0] != n:
        raise ValueError(f"P must have shape ({n}, n_polynomials), got {P.shape}")
    Q, R = np.linalg.qr(P)
    problem = CPDMatrices(Phi, Q, y, lam, np.ones(n))
    result = algorithm_1(problem, max_iter=max_iter)
    return replace(result, info={"beta": np.linalg.pinv(R) @ result.info["beta"]})
