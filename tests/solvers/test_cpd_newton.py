"""The active-set Newton method against Clarabel and against itself."""

import numpy as np
import pytest

from krein.kernels.splines import monomials, thin_plate_kernel, thin_plate_order
from krein.problems.cpd import CPDProblem, SquaredHinge
from krein.problems.cpd_space import (
    Polynomials,
    centred_space,
    subspace,
)
from krein.solvers.cpd_newton import cpd_newton
from tests.reference.cpd import squared_hinge_optimum


def _blocks(Phi):
    return lambda rows, columns: Phi[np.ix_(rows, columns)]


def _make(kind, n, d, rng):
    """Data of a given kind, with labels -1 / +1."""
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
    if kind == "separable":
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
        X[:, 0] += y
    elif kind == "duplicates":
        X[n // 2 :] = X[: n - n // 2]
    elif kind == "constant":
        X[:, 0] = 3.0
    elif kind == "collinear":
        X[:, -1] = 2 * X[:, 0] - 1
    elif kind == "low-rank":
        X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, d))
    elif kind == "one-against-many":
        y = -np.ones(n)
        y[0] = 1.0
    if np.unique(y).size < 2:
        y[0] = -y[0]
    return X, y


_CONFIGURATIONS = [
    ("noisy", 40, 1, 1),
    ("noisy", 40, 1, 2),
    ("noisy", 40, 1, 3),
    ("noisy", 60, 2, 1),
    ("noisy", 60, 2, 2),
    ("noisy", 60, 2, 3),
    ("noisy", 60, 2, 5),
    ("noisy", 60, 5, 1),
    ("noisy", 60, 5, 3),
    ("noisy", 80, 10, 2),
    ("noisy", 80, 40, 1),
    ("noisy", 80, 40, 2),
    ("noisy", 80, 40, 3),
    ("separable", 50, 2, 1),
    ("separable", 50, 2, 3),
    ("separable", 60, 10, 2),
    ("duplicates", 40, 1, 3),
    ("duplicates", 60, 3, 1),
    ("duplicates", 60, 3, 2),
    ("constant", 50, 3, 2),
    ("constant", 50, 3, 3),
    ("collinear", 50, 3, 3),
    ("collinear", 50, 6, 1),
    ("low-rank", 30, 40, 1),
    ("low-rank", 30, 40, 3),
    ("one-against-many", 50, 2, 1),
    ("one-against-many", 50, 2, 2),
    ("one-against-many", 50, 6, 3),
]
_LAMBDAS = [1e-3, 1.0]


@pytest.mark.parametrize("polynomial", ["free", "zero"])
@pytest.mark.parametrize(("kind", "n", "d", "exponent"), _CONFIGURATIONS)
def test_optimum_is_that_of_clarabel(kind, n, d, exponent, polynomial):
    rng = np.random.default_rng([n, d, exponent])
    X, y = _make(kind, n, d, rng)
    Phi = thin_plate_kernel(X, exponent=exponent)
    P = monomials(X, thin_plate_order(exponent) - 1)
    free = polynomial == "free"
    space = (centred_space if free else subspace)(_blocks(Phi), Polynomials.fit(P))
    weight = rng.integers(1, 4, n).astype(float)
    for lam in _LAMBDAS:
        problem = CPDProblem(space.columns, space.null, SquaredHinge(y, weight), lam)
        result = cpd_newton(problem)
        wanted, status = squared_hinge_optimum(Phi, P, y, lam, free=free, weight=weight)
        assert status in ("Solved", "AlmostSolved")
        assert result.status == "converged"
        # Clarabel leaves about 1e-9 where the optimum is zero.
        scale = max(wanted, 1e-3 * weight.sum())
        assert result.value == pytest.approx(wanted, abs=1e-6 * scale)
        # The point on the raw kernel has that objective too, and is admissible.
        a, p = space.expand(result.info["c"], result.info["b"])
        f = Phi @ a + P @ p
        raw = lam * a @ Phi @ a + weight @ np.maximum(1 - y * f, 0) ** 2
        assert raw == pytest.approx(wanted, abs=1e-6 * scale)
        assert np.abs(P.T @ a).max() <= 1e-9 * np.abs(a).sum() + 1e-10
        # A gap that bounds the distance from the true optimum.
        assert result.certificate.value >= -1e-12
        assert result.value - wanted <= result.certificate.value + 1e-7 * scale
