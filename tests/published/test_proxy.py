"""The published solvers of the proxy-kernel SVM: faithful, right where they stop."""

import numpy as np
import pytest

from krein.domain import BalancedBox
from krein.estimators.proxy import SOLVERS
from krein.problems.proxy import ProxySVM
from krein.published.cutting_planes import accpm
from krein.published.gradient_methods import smm, spgm
from krein.published.semi_infinite import restricted_master, siqclp
from krein.solvers.mkl import MKLWeights, kernel_weights, svm_at
from krein.solvers.second_order import second_order
from krein.spectrum import Spectrum

N = 30


@pytest.fixture
def spectrum(rng):
    X = rng.standard_normal((N, 3))
    E = rng.standard_normal((N, N))
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / 4) - 0.1 * (E + E.T)
    return Spectrum.exact(K)


@pytest.fixture
def y(rng):
    y = np.where(rng.random(N) < 0.5, -1.0, 1.0)
    y[:2] = 1.0, -1.0
    return y


def make(spectrum, y, C=1.0, rho=2.0, **options):
    return ProxySVM(spectrum, BalancedBox(np.full(N, C), y), rho, **options)


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_every_solver_reaches_the_same_optimum(name, spectrum, y):
    problem = make(spectrum, y)
    best = second_order(problem, tol=1e-10).value
    result = SOLVERS[name](problem, tol=1e-2)
    assert result.converged
    assert problem.box.contains(result.x)
    rise = best - problem.constant
    assert -1e-9 * rise <= best - result.value <= result.certificate.value
    assert result.certificate.relative <= 1e-2
    history = result.history
    assert np.all(history["bound"] >= best - 1e-9 * rise)
    assert np.all(history["value"] <= best + 1e-9 * rise)


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_keyboard_interrupt_returns_a_feasible_point(name, spectrum, y):
    problem = make(spectrum, y)

    def press(iterate):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SOLVERS[name](problem, callback=press)
    result = SOLVERS[name](problem, callback=press, on_interrupt="return")
    assert result.status == "interrupted"
    assert problem.box.contains(result.x)


def test_spgm_is_table_1(spectrum, y):
    """Three steps by hand, with an eigendecomposition each."""
    problem = make(spectrum, y, C=2.0, rho=0.5, oracle="eigh")
    K = spectrum.matrix()
    L = np.linalg.eigvalsh(K)[-1] + N * 2.0**2 / 0.5
    seen = []
    spgm(problem, tol=1e-12, max_iter=3, callback=lambda i: seen.append(i.x) and None)
    a = np.zeros(N)
    for x in seen:
        np.testing.assert_allclose(x, a, atol=1e-10)
        values, U = np.linalg.eigh(K + np.outer(y * a, y * a) / 2.0)
        gradient = 1 - y * ((U * np.maximum(values, 0)) @ U.T @ (y * a))
        a = problem.box.project(a + gradient / L)
    assert a.sum() > 0


def test_smm_is_table_2(spectrum, y):
    problem = make(spectrum, y, C=2.0, rho=0.5)
    L, box = problem.lipschitz, problem.box
    seen = []
    smm(problem, tol=1e-12, max_iter=4, callback=lambda i: seen.append(i.x) and None)
    a, total = np.zeros(N), np.zeros(N)
    for k, x in enumerate(seen):
        np.testing.assert_allclose(x, a, atol=1e-10)
        gradient = problem.value_grad(a)[1]
        gamma = box.project(a + gradient / L)
        total += (k + 1) * gradient / (2 * L)
        a = 2 / (k + 3) * box.project(total) + (k + 1) / (k + 3) * gamma
    assert len(seen) == 5


def test_spgm_ascends(spectrum, y):
    values = spgm(make(spectrum, y), tol=1e-9, max_iter=100).history["value"]
    assert np.all(np.diff(values) >= 0)


def test_theory_of_spgm_and_smm_holds(spectrum, y):
    """Theorem 3, and the bound of Nesterov's method on the monotone sequence."""
    problem = make(spectrum, y)
    solution = second_order(problem, tol=1e-11)
    size, L = float(solution.x @ solution.x), problem.lipschitz
    for solver, bound in (
        (spgm, lambda k: L * size / (2 * max(k, 1))),
        (lambda *a, **b: smm(*a, monotone=True, **b),
         lambda k: 4 * L * size / ((k + 1) * (k + 2))),
    ):  # fmt: skip
        values = solver(problem, tol=1e-12, max_iter=60).history["value"]
        for k, value in enumerate(values[1:], start=1):
            assert solution.value - value <= bound(k) * (1 + 1e-9)


def test_smm_improvements(spectrum, y):
    problem = make(spectrum, y, C=3.0, rho=1.0)  # where Theorem 2 is loose
    plain = smm(problem, tol=1e-4)
    monotone = smm(problem, tol=1e-4, monotone=True)
    searched = smm(problem, tol=1e-4, line_search=True)
    both = smm(problem, tol=1e-4, line_search=True, monotone=True)
    for result in (plain, monotone, searched, both):
        assert result.converged
    assert np.all(np.diff(monotone.history["value"]) >= 0)
    assert np.all(np.diff(both.history["value"]) >= 0)
    calls = [r.history["evaluations"][-1] for r in (plain, searched)]
    assert calls[1] < 0.8 * calls[0]


def test_the_published_rule_stops_early(spectrum, y):
    problem = make(spectrum, y)
    for solver in (spgm, smm):
        published = solver(problem, stop="change")
        values = published.history["value"]
        assert published.converged
        assert abs(values[-1] - values[-2]) < 1e-6 * abs(values[-2])
        assert published.certificate.relative > 1e-5
    for solver in (spgm, accpm, siqclp):
        with pytest.raises(ValueError, match="stop must be"):
            solver(problem, stop="never")


def test_the_published_rule_for_cutting_planes_and_kernels(spectrum, y):
    """What is watched: the objective at the centres, the value of the master."""
    problem = make(spectrum, y)
    centres = accpm(problem, stop="change", tol=1e-2, max_iter=300)
    values = centres.history["value"]
    assert centres.converged
    assert abs(values[-1] - values[-2]) < 1e-2 * abs(values[-2])
    exact = siqclp(problem, stop="change", tol=1e-5, master="clarabel")
    upper = exact.history["bound"]
    assert exact.converged
    assert abs(upper[-1] - upper[-2]) < 1e-5 * abs(upper[-2])
    assert np.all(np.abs(np.diff(upper[:-1])) >= 1e-5 * np.abs(upper[:-2]))


def test_accpm_cuts_keep_the_solution(spectrum, y):
    problem = make(spectrum, y)
    solution = second_order(problem, tol=1e-11).x
    seen = []
    result = accpm(
        problem, tol=1e-9, max_iter=60, callback=lambda i: seen.append(i.x) and None
    )
    assert np.all(np.diff(result.history["size"]) == 1)
    for a in seen:
        gradient = problem.value_grad(a)[1]
        assert gradient @ (solution - a) >= -1e-9
        assert np.all(a > 0)
    few = accpm(problem, tol=1e-9, max_iter=40, max_cuts=20)
    assert few.history["size"].max() <= 20


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("C", "rho"), [(1.0, 1.0), (10.0, 0.01), (1.0, 100.0)])
def test_accpm_ends_where_double_precision_ends(C, rho, seed):
    """Asked for the impossible, it returns a good point instead of breaking down."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((6, 6))
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    domain = BalancedBox(np.full(6, C), y)
    problem = ProxySVM(Spectrum.exact(A + A.T), domain, rho)
    result = accpm(problem, tol=0.0, max_iter=2000)
    assert result.status in ("max_iter", "converged")
    assert result.n_iter < 2000
    assert result.certificate.relative < 1e-4
    best = second_order(problem, tol=1e-10).value
    assert result.value <= best + 1e-9 * abs(best)
    assert result.value >= best - result.certificate.value - 1e-9 * abs(best)


@pytest.mark.parametrize("prune", [True, False])
def test_siqclp_bounds_are_monotone(prune, spectrum, y):
    result = siqclp(make(spectrum, y), tol=1e-2, prune=prune)
    history = result.history
    assert result.converged
    assert np.all(np.diff(history["bound"]) <= 0)
    assert np.all(np.diff(history["value"]) >= 0)
    if prune:
        assert history["size"].max() < result.n_iter
    else:
        np.testing.assert_array_equal(history["size"], np.arange(result.n_iter + 1))


def test_siqclp_with_a_conic_master(spectrum, y):
    pytest.importorskip("clarabel")
    problem = make(spectrum, y)
    best = second_order(problem, tol=1e-10).value
    result = siqclp(problem, tol=5e-2, master="clarabel")
    assert result.converged
    assert result.value <= best <= result.history["bound"][-1] * (1 + 1e-9)
    with pytest.raises(ValueError, match="master must be"):
        siqclp(problem, master="mosek")


def random_kernels(rng, p):
    factors = rng.standard_normal((p, N, 3))
    return [F @ F.T for F in factors]


def test_kernel_weights_against_the_conic_master(rng, y):
    """Theorem 5.1: the weights' problem and the restricted master have one value."""
    pytest.importorskip("clarabel")
    problem = MKLWeights(
        random_kernels(rng, 4), rng.uniform(0, 2, 4), BalancedBox(np.full(N, 0.7), y)
    )
    result = kernel_weights(problem, tol=1e-7)
    alpha, weights = restricted_master(problem)
    value = problem.cut(alpha).min()
    assert result.converged
    assert result.value == pytest.approx(value, rel=1e-6)
    assert svm_at(problem, weights)[0] == pytest.approx(value, rel=1e-6)
    assert result.info["bound"] <= result.value
    assert np.sum(result.x) == pytest.approx(1.0)
    assert np.all(result.x >= 0)


def test_kernel_weights_on_a_grid(rng, y):
    problem = MKLWeights(
        random_kernels(rng, 2), np.array([0.5, 0.0]), BalancedBox(np.full(N, 0.7), y)
    )
    result = kernel_weights(problem, tol=1e-6)
    grid = [svm_at(problem, np.array([w, 1 - w]))[0] for w in np.linspace(0, 1, 21)]
    assert result.value <= min(grid) + 1e-6
    assert result.history["bound"].max() <= min(grid) + 1e-6
