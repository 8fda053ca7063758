"""The smoothed objective of Luss and d'Aspremont, and gamma of Table 1."""

import numpy as np
import pytest

from krein import ProxySVC, published
from krein.machines.box import BalancedBox
from krein.machines.proxy import ProxySVM
from krein.machines.second_order import second_order
from krein.published.smoothing import SmoothedProxySVM
from krein.spectrum.decomposition import Spectrum
from tests.published.test_checks import projected

N = 20
RHO = 0.7


@pytest.fixture
def K(rng):
    X, E = rng.standard_normal((N, 3)), rng.standard_normal((N, N))
    return np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / 4) - 0.1 * (E + E.T)


@pytest.fixture
def y():
    return np.where(np.arange(N) % 3, 1.0, -1.0)


@pytest.fixture
def problem(K, y):
    return ProxySVM(Spectrum.exact(K), BalancedBox(np.ones(N), y), RHO)


def smoothed_by_hand(K, y, a, eps):
    """f_eps from its definition: K_eps = h(A) put into the saddle function."""
    v = y * a
    values, U = np.linalg.eigh(K + np.outer(v, v) / (4 * RHO))
    h = np.where(
        values <= 0, 0, np.where(values <= eps, values**2 / (2 * eps), values - eps / 2)
    )
    proxy = (U * h) @ U.T
    return a.sum() - v @ proxy @ v / 2 + RHO * np.sum((proxy - K) ** 2)


def slope_by_hand(K, y, a, eps):
    """Its gradient, by central differences."""
    steps = 1e-6 * np.eye(N)
    up = [smoothed_by_hand(K, y, a + d, eps) for d in steps]
    down = [smoothed_by_hand(K, y, a - d, eps) for d in steps]
    return (np.array(up) - np.array(down)) / 2e-6


@pytest.mark.parametrize("share", [1e-3, 0.1, 0.5])
def test_the_smoothed_objective_and_its_gradient(share, problem, K, y, rng):
    smooth = SmoothedProxySVM(problem, share)
    eps = share * np.abs(np.linalg.eigvalsh(K)).max()
    assert smooth.eps == pytest.approx(eps)
    for _ in range(5):
        a = problem.box.project(rng.uniform(-1, 3, N))
        rise, gradient = smooth.rise_grad(a)
        value = smoothed_by_hand(K, y, a, eps)
        assert smooth.constant + rise == pytest.approx(value, rel=1e-11)
        above = rise - problem.rise_grad(a)[0]
        assert -1e-10 * abs(value) <= above <= RHO * N * eps**2 / 4
        np.testing.assert_allclose(
            gradient, slope_by_hand(K, y, a, eps), rtol=1e-4, atol=1e-5
        )
        b = problem.box.project(rng.uniform(-1, 3, N))  # concave, and as smooth as f
        other, g = smooth.rise_grad(b)
        assert other <= rise + gradient @ (b - a) + 1e-9
        assert np.linalg.norm(g - gradient) <= problem.lipschitz * np.linalg.norm(b - a)


@pytest.mark.parametrize("name", ["spgm", "accpm"])
@pytest.mark.parametrize("share", [0.05, 0.4])
def test_the_maximiser_is_that_of_a_literal_loop(name, share, K, y):
    """Projected gradient steps on f_eps with differences for its gradient."""
    eps = share * np.abs(np.linalg.eigvalsh(K)).max()
    L = np.linalg.eigvalsh(K)[-1] + N / RHO
    a = before = projected(np.full(N, 0.3), y)
    for k in range(1, 200):
        ahead = a + (k - 1) / (k + 2) * (a - before)
        before, a = a, projected(ahead + slope_by_hand(K, y, ahead, eps) / L, y)
    best = smoothed_by_hand(K, y, a, eps)
    tol = 1e-7 if name == "spgm" else 1e-4
    result = getattr(published, name)(K, y, rho=RHO, smoothing=share, tol=tol)
    found = smoothed_by_hand(K, y, result.x, eps)
    rise = best - RHO * np.sum(np.minimum(np.linalg.eigvalsh(K), 0) ** 2)
    assert abs(found - best) <= 10 * tol * rise
    assert result.info["smoothed_value"] == pytest.approx(found, rel=1e-10)
    assert result.info["smoothed_gap"] <= tol * rise * 1.01
    assert best - found <= result.info["smoothed_gap"] + 1e-7 * rise


@pytest.mark.parametrize("name", ["spgm", "accpm"])
def test_value_and_certificate_are_those_of_the_objective_itself(name, problem, K, y):
    best = second_order(problem, tol=1e-10).value
    call = getattr(published, name)
    little = call(K, y, rho=RHO, tol=1e-2, smoothing=1e-3)
    assert little.converged
    much = call(K, y, rho=RHO, tol=1e-2, smoothing=0.4)
    assert much.status == "stalled"  # the smoothed problem is solved, f is not
    assert not much.is_solved_to_rounding(1e-2)
    assert much.certificate.rounding < 1e-9
    for result in (little, much):
        rise = problem.rise_grad(result.x)[0]
        value = problem.constant + rise
        assert result.value == pytest.approx(value, rel=1e-12)
        assert -1e-9 <= best - value <= result.certificate.value
        assert result.info["smoothed_value"] >= value - 1e-12


def test_an_estimator_reports_the_objective_itself(K, y):
    options = {"smoothing": 1e-3}
    model = ProxySVC(solver="spgm", rho=RHO, tol=1e-2, solver_options=options).fit(K, y)
    plain = published.spgm(K, y, rho=RHO, tol=1e-2, smoothing=1e-3)
    assert model.objective_[0] == pytest.approx(plain.value, rel=1e-9)


def test_the_published_rule_with_smoothing(K, y):
    result = published.spgm(K, y, rho=RHO, smoothing=0.4, stop="change", tol=1e-4)
    assert result.converged


@pytest.mark.parametrize("factor", [1.0, 2.0, 7.5])
def test_gamma_is_the_step_of_table_1(factor, K, y):
    """Steps by hand, with an eigendecomposition each."""
    gamma = factor * (np.linalg.eigvalsh(K)[-1] + N * 2.0**2 / RHO) * (1 + 1e-12)
    seen = []
    published.spgm(
        *(K, y),
        C=2.0,
        rho=RHO,
        gamma=gamma,
        max_iter=5,
        callback=lambda one: seen.append(one.x) and None,
    )
    a = np.zeros(N)
    for x in seen:
        np.testing.assert_allclose(x, a, atol=1e-9)
        values, U = np.linalg.eigh(K + np.outer(y * a, y * a) / (4 * RHO))
        gradient = 1 - y * ((U * np.maximum(values, 0)) @ U.T @ (y * a))
        a = 2.0 * projected((a + gradient / gamma) / 2.0, y)
    assert a.sum() > 0


def test_a_line_search_finds_a_smaller_gamma(K, y):
    """It takes fewer steps, and f rises as in (12)."""
    plain = published.spgm(K, y, C=3.0, rho=RHO, tol=1e-4)
    searched = published.spgm(K, y, C=3.0, rho=RHO, tol=1e-4, line_search=True)
    assert plain.converged
    assert searched.converged
    assert searched.n_iter < plain.n_iter
    assert np.all(np.diff(searched.history["value"]) >= -1e-12)


@pytest.mark.parametrize("name", ["spgm", "smm"])
@pytest.mark.parametrize("rho", [0.5, 100.0])
def test_a_line_search_ends_where_rounding_hides_what_a_step_gains(name, rho, K, y):
    """At such a tol the objective changes by less than its own rounding."""
    call = getattr(published, name)
    plain = call(K, y, C=3.0, rho=rho, tol=1e-9, max_iter=20_000)
    searched = call(K, y, C=3.0, rho=rho, tol=1e-9, max_iter=500, line_search=True)
    assert plain.converged
    assert searched.converged
    assert searched.n_iter < plain.n_iter
    assert searched.value == pytest.approx(plain.value, rel=1e-9)
