"""The published solvers of the proxy-kernel SVM: faithful, right where they stop."""

import numpy as np
import pytest

from krein import published
from krein.estimators._proxy_options import SOLVERS
from krein.machines.box import BalancedBox
from krein.machines.mkl import MKLWeights, kernel_weights, svm_at
from krein.machines.proxy import ProxySVM
from krein.machines.second_order import second_order
from krein.published import semi_infinite
from krein.published.cutting_planes import accpm
from krein.published.gradient_methods import smm, spgm
from krein.published.semi_infinite import restricted_master, siqclp
from krein.spectrum.decomposition import Spectrum
from tests.reference.boxes import contains

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
    assert contains(problem.box, result.x)
    rise = best - problem.constant
    assert -1e-9 * rise <= best - result.value <= result.certificate.value
    assert result.certificate.relative <= 1e-2
    history = result.history
    assert np.all(history["bound"] >= best - 1e-9 * rise)
    assert np.all(history["value"] <= best + 1e-9 * rise)


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
        gradient = problem.rise_grad(a)[1]
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


@pytest.mark.parametrize("name", ["accpm", "siqclp"])
def test_a_domain_that_overflows_is_refused(name, spectrum, y):
    K, call = 1e-100 * spectrum.matrix(), getattr(published, name)
    with pytest.raises(ValueError, match=r"C is too large for domain='paper'.*'cut'"):
        call(K, y, C=1e100)
    assert call(K, y, C=1e100, domain="cut", tol=0.1).converged
    assert call(K, y, C=1e73, max_iter=3).status == "max_iter"  # the largest allowed


def test_the_published_rule_for_cutting_planes_and_kernels(spectrum, y):
    """What is watched: the objective at the centres, the value of the master."""
    problem = make(spectrum, y)
    centres = accpm(problem, stop="change", tol=1e-2, max_iter=300)
    values = centres.history["value"]
    assert centres.converged
    assert abs(values[-1] - values[-2]) < 1e-2 * abs(values[-2])
    exact = siqclp(problem, stop="change", tol=1e-5, master="exact")
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
        gradient = problem.rise_grad(a)[1]
        assert gradient @ (solution - a) >= -1e-9
        assert np.all(a > 0)
    long = accpm(problem, tol=0.0, max_iter=100)
    assert long.history["size"].max() <= 3 * N


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
    assert result.status in ("stalled", "converged")
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


def test_siqclp_with_an_exact_master(spectrum, y):
    problem = make(spectrum, y)
    best = second_order(problem, tol=1e-10).value
    result = siqclp(problem, tol=5e-2, master="exact")
    assert result.converged
    assert result.value <= best <= result.history["bound"][-1] * (1 + 1e-9)
    with pytest.raises(ValueError, match="master must be"):
        siqclp(problem, master="mosek")


def random_kernels(rng, p):
    factors = rng.standard_normal((p, N, 3))
    return [F @ F.T for F in factors]


def test_kernel_weights_against_the_master_problem(rng, y):
    """Theorem 5.1: the weights' problem and the restricted master have one value."""
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


# ---------------------------------------------------------- domains, bounds, pruning


def instance(seed, n=30):
    """Problems of very different C and rho."""
    rng = np.random.default_rng(seed)
    X, E = rng.standard_normal((n, 3)), rng.standard_normal((n, n))
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / 4) - 0.1 * (E + E.T)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    y[:2] = 1.0, -1.0
    C, rho = [0.5, 1.0, 5.0, 10.0][seed % 4], [0.1, 1.0, 10.0, 0.01, 100.0][seed % 5]
    return ProxySVM(Spectrum.exact(K), BalancedBox(np.full(n, C), y), rho)


def svm_gap(problem, a, C):
    """Primal-dual gap of the SVM on K*(a) over 0 <= b <= C, at the best intercept."""
    y = problem.box.y
    outputs = problem.proxy_kernel(a) @ (y * a)
    hinge = [
        C * np.maximum(0, 1 - y * (outputs + b)).sum() for b in y - outputs
    ]  # the optimum lies at a bend
    return min(hinge) + (y * a) @ outputs - a.sum()


@pytest.mark.parametrize("solver", [accpm, siqclp])
def test_the_domain_of_the_papers_is_not_cut(solver):
    """C = 5, rho = 0.1: the first upper bound is that of the SVM over the whole box."""
    problem = instance(10)
    assert (problem.box.upper[0], problem.rho) == (5.0, 0.1)
    first = {d: solver(problem, max_iter=0, domain=d) for d in ("paper", "cut")}
    bound = {name: result.history["bound"][0] for name, result in first.items()}
    a = first["paper"].x
    expected = problem.constant + problem.rise_grad(a)[0] + svm_gap(problem, a, 5.0)
    assert bound["paper"] == pytest.approx(expected, rel=1e-6)
    assert bound["cut"] < 0.1 * bound["paper"]
    with pytest.raises(ValueError, match="domain must be one of"):
        solver(problem, domain="whole")


def test_accpm_claims_what_its_point_shows():
    problem = instance(2)
    result = accpm(problem, tol=1e-3, max_iter=1000)
    rise, gradient = problem.rise_grad(result.x)
    own = problem.certificate(result.x, rise, gradient)
    assert result.certificate.value == pytest.approx(own.value)


@pytest.mark.parametrize("master", ["mkl", "exact"])
def test_pruning_keeps_few_kernels_until_the_end(master):
    """Section 4.2: a small constant number, also at small gaps."""
    problem = instance(0, n=20)
    result = siqclp(problem, tol=3e-6, max_iter=600, master=master)
    sizes = result.history["size"]
    assert result.converged
    assert result.n_iter > 100
    assert sizes.max() <= 20
    assert sizes[-1] <= 12
    assert np.all(np.diff(result.history["bound"]) <= 0)
    best = second_order(problem, tol=1e-10).value
    assert result.value <= best <= result.history["bound"][-1] * (1 + 1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_exact_master_at_its_limit_returns_bounds(seed):
    """Asked for more than interior points can give, it ends; the bounds hold."""
    problem = instance(seed, n=12)
    best = second_order(problem, tol=1e-12).value
    result = siqclp(problem, tol=1e-12, max_iter=400, master="exact", domain="paper")
    rise = best - problem.constant
    assert result.status == "stalled"
    assert result.n_iter < 400
    assert result.certificate.relative < 1e-6
    assert result.value <= best + 1e-11 * rise
    assert result.history["bound"][-1] >= best - 1e-11 * rise


@pytest.mark.parametrize("seed", range(12))
def test_exact_master_against_a_conic_solver(seed):
    """The conic solver gets near our optimum, and never above it."""
    from papers.conic_master import conic_master

    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(4, 25)), int(rng.integers(1, 8))
    scale = 10.0 ** rng.uniform(-3, 3)
    factors = rng.standard_normal((p, n, int(rng.integers(1, n + 1))))
    box = BalancedBox(
        10.0 ** rng.uniform(-2, 2) / scale * rng.uniform(0.1, 2.0, n),
        np.where(np.arange(n) % 3, 1.0, -1.0),
    )
    kernels = [scale * F @ F.T for F in factors]
    problem = MKLWeights(kernels, rng.uniform(0, 2, p) * box.upper.sum(), box)
    alpha, weights = restricted_master(problem)
    alpha = box.project(alpha)
    value = problem.cut(alpha).min()
    rise = value - problem.costs.min()
    assert semi_infinite._upper(problem, alpha, weights) - value <= 1e-8 * abs(rise)
    theirs = problem.cut(box.project(conic_master(problem)[0])).min()
    assert theirs == pytest.approx(value, abs=1e-3 * abs(rise))
    assert theirs <= value + 1e-8 * abs(rise)


def test_siqclp_with_a_master_of_ones_own(spectrum, y):
    problem = make(spectrum, y)
    sizes = []

    def master(restricted):
        sizes.append(len(restricted.kernels))
        return restricted_master(restricted)

    own = siqclp(problem, tol=5e-2, master=master)
    exact = siqclp(problem, tol=5e-2, master="exact")
    assert len(sizes) == own.n_iter
    assert own.value == exact.value


def test_any_point_and_weights_bound_the_master_problem(y, rng):
    box = BalancedBox(np.ones(N), y)
    problem = MKLWeights(random_kernels(rng, 3), np.zeros(3), box)
    alpha, weights = restricted_master(problem)
    value = problem.cut(alpha).min()
    assert semi_infinite._upper(problem, alpha, weights) == pytest.approx(value, 1e-6)
    for point in (np.zeros(N), 0.5 * alpha):
        for other in (np.full(3, 1 / 3), np.array([1.0, 0.0, 0.0])):
            assert semi_infinite._upper(problem, point, other) >= value * (1 - 1e-9)


def test_spgm_with_searched_steps(spectrum, y):
    problem = make(spectrum, y, C=3.0, rho=1.0)
    plain = spgm(problem, tol=1e-3)
    searched = spgm(problem, tol=1e-3, line_search=True)
    for result in (plain, searched):
        assert result.converged
        assert np.all(np.diff(result.history["value"]) >= 0)
    evaluations = searched.history["evaluations"]
    assert evaluations[-1] < 0.5 * plain.history["evaluations"][-1]


def test_the_proof_of_theorem_2_shows_a_smaller_constant(spectrum, y):
    """L = lambda_max + 3 n C^2 / (4 rho) is a Lipschitz constant, too."""
    problem = make(spectrum, y, C=3.0, rho=0.5)
    sharp = spectrum.eigenvalues.max() + 0.75 * N * 9.0 / 0.5
    assert sharp < problem.lipschitz
    rng = np.random.default_rng(0)
    for _ in range(50):
        b, c = (problem.box.project(rng.uniform(-2, 6, N)) for _ in range(2))
        change = problem.rise_grad(b)[1] - problem.rise_grad(c)[1]
        assert np.linalg.norm(change) <= sharp * np.linalg.norm(b - c)


def test_extreme_units_change_nothing(spectrum, y):
    """K, C, rho scaled by 1e9: the same relative point for every option."""
    problem = make(spectrum, y)
    s = 2.0**30
    scaled = ProxySVM(
        Spectrum.exact(spectrum.matrix() * s),
        BalancedBox(np.full(N, 1.0 / s), y),
        2.0 / s**3,
    )
    for solver, options in (
        (spgm, {"line_search": True}),
        (smm, {"monotone": True}),
        (second_order, {}),
        (accpm, {"domain": "paper"}),
    ):
        one = solver(problem, tol=0.0, max_iter=5, **options)
        other = solver(scaled, tol=0.0, max_iter=5, **options)
        np.testing.assert_allclose(other.x * s, one.x, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("domain", ["paper", "cut"])
def test_pruning_does_not_go_round_in_circles(domain):
    """An inexact master far from the solution must not drop what it needs again."""
    problem = instance(6, n=16)
    result = siqclp(problem, tol=1e-2, max_iter=300, domain=domain)
    assert result.converged
    assert np.all(np.diff(result.history["bound"]) <= 0)
