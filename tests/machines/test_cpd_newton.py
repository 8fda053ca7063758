"""The active-set Newton method against Clarabel and against itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krein.kernels.splines import monomials, thin_plate_kernel, thin_plate_order
from krein.machines.cpd import CPDProblem, cpd_newton
from krein.machines.cpd_space import Polynomials, free_space, subspace
from krein.machines.losses import LOSSES, SquaredHinge
from krein.similarity.matrix import Similarities
from tests.reference.cpd import squared_hinge_optimum


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
    space = (free_space if free else subspace)(Similarities(Phi), Polynomials.fit(P))
    weight = rng.integers(1, 4, n).astype(float)
    for lam in _LAMBDAS:
        problem = CPDProblem(space.K, space.null, SquaredHinge(y, weight), lam)
        result = cpd_newton(problem, tol=1e-9)
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


def _random_problem(seed, loss, lam=None):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 40)), int(rng.integers(1, 4))
    exponent = int(rng.integers(1, 4))
    X = rng.standard_normal((n, d)).round(1)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    Phi = thin_plate_kernel(X, exponent=exponent)
    polynomials = Polynomials.fit(monomials(X, thin_plate_order(exponent) - 1))
    space = free_space(Similarities(Phi), polynomials)
    weight = rng.uniform(0.1, 3, n)
    lam = 10.0 ** rng.uniform(-3, 2) if lam is None else lam
    return CPDProblem(space.K, space.null, LOSSES[loss](y, weight), lam)


@pytest.mark.parametrize("loss", sorted(LOSSES))
@given(seed=st.integers(0, 100_000))
@settings(max_examples=40, deadline=None)
def test_no_direction_descends_from_the_solution(loss, seed):
    """Directional differences at the solution, and the gap, on random problems."""
    problem = _random_problem(seed, loss)
    result = cpd_newton(problem)
    assert result.status == "converged"
    assert result.certificate.relative <= 1e-6
    c, b = result.info["c"], result.info["b"]
    rng = np.random.default_rng(seed)
    Q = problem.null
    scale = max(np.abs(c).max(), 1e-3)
    for _ in range(3):
        dc = rng.standard_normal(problem.n)
        dc -= Q @ (Q.T @ dc)
        db = rng.standard_normal(b.size)
        for t in (1e-3 * scale, -1e-3 * scale):
            value = problem.point(c + t * dc, b + t * db).value
            assert value >= result.value - 1e-7 * max(result.value, 1e-3)


@pytest.mark.parametrize("seed", [23, 628, 726, 2285])
def test_logistic_loss_on_data_that_polynomials_separate(seed):
    """The infimum is zero and not attained; the run still ends, and certifies it."""
    problem = _random_problem(seed, "logistic")
    result = cpd_newton(problem)
    assert result.status == "converged"
    assert result.n_iter < 60
    assert result.value < 1e-15 * problem.loss.value(np.zeros(problem.n))


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_objective_falls_and_bound_stays_below(loss):
    for seed in range(20):
        history = cpd_newton(_random_problem(seed, loss)).history
        assert np.all(np.diff(history["value"]) <= 1e-9 * history["value"][0])
        assert history["bound"].max() <= history["value"].min() * (1 + 1e-9) + 1e-9


@given(seed=st.integers(0, 100_000))
@settings(max_examples=60, deadline=None)
def test_line_search_is_exact(seed):
    """No step on a fine grid is better than the one found."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    loss = SquaredHinge(y, rng.uniform(0.1, 2, n))
    f, df = rng.standard_normal(n), rng.standard_normal(n)
    square = rng.uniform(0, 2)
    # A direction of descent, as Newton's is.
    slope = -2 * loss.weight @ (np.maximum(1 - y * f, 0) * y * df)
    linear = -abs(slope) - rng.uniform(0, 2) - slope
    t = loss.search(f, df, linear, square)

    def value(s):
        return linear * s + square * s * s + loss.value(f + s * df)

    grid = np.linspace(0, 1, 500)
    assert t > 0
    assert value(t) <= min(value(s) for s in grid) + 1e-9 * (1 + abs(value(t)))


def test_warm_start_reaches_the_same_point():
    problem = _random_problem(7, "squared_hinge", lam=0.1)
    cold = cpd_newton(problem)
    harder = _random_problem(7, "squared_hinge", lam=1.0)
    start = cpd_newton(harder).info
    warm = cpd_newton(problem, start=(start["c"], start["b"]))
    assert warm.value == pytest.approx(cold.value, rel=1e-10)
    np.testing.assert_allclose(warm.x, cold.x, atol=1e-7)


def test_half_size_starts_do_not_change_the_optimum(rng):
    """Above 600 samples the run starts from a half; the optimum is that from zero."""
    n = 900
    X = rng.standard_normal((n, 2))
    y = np.where(X[:, 0] ** 2 + rng.standard_normal(n) > 1, 1.0, -1.0)
    Phi = thin_plate_kernel(X)
    space = free_space(Similarities(Phi), Polynomials.fit(monomials(X, 1)))
    loss = SquaredHinge(y, np.ones(n))
    problem = CPDProblem(space.K, space.null, loss, 0.5)
    zero = np.zeros(n), np.zeros(space.null.shape[1])
    halves, cold = cpd_newton(problem), cpd_newton(problem, start=zero)
    assert halves.value == pytest.approx(cold.value, rel=1e-11)
    np.testing.assert_allclose(halves.x, cold.x, atol=1e-8)


def test_few_steps_are_an_honest_status():
    problems = [_random_problem(seed, "squared_hinge") for seed in range(20)]
    longest = max(problems, key=lambda problem: cpd_newton(problem).n_iter)
    result = cpd_newton(longest, max_iter=1)
    assert result.status == "max_iter"
    assert result.certificate.relative > 1e-10


def test_iterates_are_not_reused_after_damped_steps():
    """A run that ends has taken its last step undamped: the gap is at rounding."""
    for seed in range(300):
        result = cpd_newton(_random_problem(seed, "squared_hinge"), tol=1e-14)
        assert result.certificate.relative < 1e-9, seed


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_rounding_of_outputs_moves_a_loss_by_no_more_than_counted(name, rng):
    """Also across the margin: an output just behind it may be in front of it."""
    y = np.where(rng.random(200) < 0.5, -1.0, 1.0)
    f = np.where(rng.random(200) < 0.5, y, rng.standard_normal(200))
    f += y * rng.choice([0.0, 1e-9, -1e-9], 200)
    for size in (1e-6, 1e-2, 1.0, 30.0):
        error = size * rng.random(200)
        for i in range(200):
            one = LOSSES[name](y[i : i + 1], np.ones(1))
            at, off = f[i : i + 1], error[i : i + 1]
            counted = np.abs(one.slopes(at)[0]) * off
            counted = counted + 0.5 * one.most_bend(at, off) * off**2
            for moved in (at - off, at + off, at - 0.5 * off):
                rise = abs(one.value(moved) - one.value(at))
                assert rise <= counted * (1.0 + 1e-9) + 1e-15 * (1.0 + one.value(moved))
