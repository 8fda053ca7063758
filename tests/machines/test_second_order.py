"""The second-order method: against a conic solver, and its certificate recomputed."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from krein.machines.box import BalancedBox
from krein.machines.proxy import ProxySVM
from krein.machines.second_order import second_order
from krein.spectrum.decomposition import Spectrum
from tests.machines.test_proxy import naive
from tests.reference.boxes import contains


def random_matrix(rng, kind, n):
    """Symmetric similarity of unit size and the given kind of spectrum."""
    G = rng.standard_normal((n, n))
    symmetric = (G + G.T) / np.sqrt(2 * n)
    return {
        "indefinite": symmetric,
        "psd": G @ G.T / n,
        "low rank psd": G[:, :2] @ G[:, :2].T / 2,
        "negative definite": -G @ G.T / n - 0.1 * np.eye(n),
        "zero": np.zeros((n, n)),
        "repeated": np.eye(n) - 2.0 / n,
        "diagonal": np.diag(np.linspace(-1, 1, n)),
    }[kind]


KINDS = [
    "indefinite",
    "psd",
    "low rank psd",
    "negative definite",
    "zero",
    "repeated",
    "diagonal",
]


def random_labels(rng, n):
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    y[0], y[-1] = 1.0, -1.0
    return y


def recomputed_gap(K, w, box, a, rho):
    """Primal-dual gap of the SVM on the proxy, from a new eigendecomposition."""
    _, gradient, _ = naive(K, w, box.y, a, rho)
    return box.gap(a, gradient)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("C", "rho"), [(1.0, 1.0), (10.0, 0.05), (0.1, 20.0)])
def test_optimum_of_the_semidefinite_program(kind, C, rho, rng):
    pytest.importorskip("cvxpy")
    from tests.reference.proxy_sdp import proxy_svm_optimum

    n = 12
    K, y = random_matrix(rng, kind, n), random_labels(rng, n)
    problem = ProxySVM(Spectrum.exact(K), BalancedBox(np.full(n, C), y), rho)
    result = second_order(problem, tol=1e-9)
    assert result.converged
    best = proxy_svm_optimum(K, y, C, rho)
    assert result.value == pytest.approx(best, rel=2e-5, abs=1e-6)


def test_conflicting_duplicates_and_one_against_many(rng):
    pytest.importorskip("cvxpy")
    from tests.reference.proxy_sdp import proxy_svm_optimum

    base = random_matrix(rng, "indefinite", 8)
    twice = base[np.ix_([0, 0, *range(1, 8)], [0, 0, *range(1, 8)])]
    y = random_labels(rng, 9)
    y[0], y[1] = 1.0, -1.0
    lonely = -np.ones(9)
    lonely[4] = 1.0
    for signs in (y, lonely):
        problem = ProxySVM(
            Spectrum.exact(twice), BalancedBox(np.full(9, 3.0), signs), 0.4
        )
        result = second_order(problem, tol=1e-9)
        assert result.converged
        best = proxy_svm_optimum(twice, signs, 3.0, 0.4)
        assert result.value == pytest.approx(best, rel=2e-6)


def test_weights_against_the_semidefinite_program(rng):
    pytest.importorskip("cvxpy")
    from tests.reference.proxy_sdp import proxy_svm_optimum

    K, y = random_matrix(rng, "indefinite", 10), random_labels(rng, 10)
    weight = rng.integers(1, 4, 10).astype(float)
    box = BalancedBox(2.0 * weight, y)
    result = second_order(ProxySVM(Spectrum.exact(K, weight), box, 0.3), tol=1e-9)
    best = proxy_svm_optimum(K, y, 2.0, 0.3, weight)
    assert result.value == pytest.approx(best, rel=2e-6)


def check_random_problem(seed, n, kind, log_C, log_rho, log_scale, weighted):
    """Feasible, finite, converged, and a certificate that can be recomputed."""
    rng = np.random.default_rng(seed)
    K = random_matrix(rng, kind, n) * 10.0**log_scale
    w = rng.integers(1, 5, n).astype(float) if weighted else np.ones(n)
    box = BalancedBox(10.0**log_C * w, random_labels(rng, n))
    rho = 10.0**log_rho
    spectrum = Spectrum.exact(K, w if weighted else None)
    problem = ProxySVM(spectrum, box, rho)
    result = second_order(problem)
    assert np.isfinite(result.x).all()
    assert np.isfinite(result.value)
    assert contains(box, result.x)
    rise = result.value - problem.constant
    # Where f(0) is a million times the rest, the function is a plane that ends in a
    # wall: the method may end before the tolerance, but must say so.
    if problem.constant < 1e6 * rise:
        assert result.converged, f"{result}, relative {result.certificate.relative}"
    if result.converged:
        assert result.certificate.relative <= 1e-6
    gap = recomputed_gap(K, w, problem.domain, result.x, rho)
    # Rounding of the reference itself: eps times the terms it adds.
    noise = 1e-13 * (rho * np.sum(K * K) + result.x.sum() + abs(rise))
    assert gap <= 1.001 * result.certificate.value + noise * n


ANY_PROBLEM = given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 25),
    kind=st.sampled_from(KINDS),
    log_C=st.floats(-3, 4),
    log_rho=st.floats(-5, 5),
    log_scale=st.floats(-4, 4),
    weighted=st.booleans(),
)


@pytest.mark.slow
@settings(
    max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@ANY_PROBLEM
def test_thousands_of_random_problems(
    seed, n, kind, log_C, log_rho, log_scale, weighted
):
    check_random_problem(seed, n, kind, log_C, log_rho, log_scale, weighted)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@ANY_PROBLEM
def test_random_problems(seed, n, kind, log_C, log_rho, log_scale, weighted):
    check_random_problem(seed, n, kind, log_C, log_rho, log_scale, weighted)


def test_gaps_that_fall_slowly_are_progress():
    """A few per cent in two steps, thirty times."""
    check_random_problem(14, 14, "diagonal", 1.75, 1.75, 2.349609375, True)


def test_large_rho_is_the_svm_on_the_clipped_kernel(rng, with_spectrum):
    n = 40
    K, y = with_spectrum(np.linspace(-1.0, 3.0, n)), random_labels(rng, n)
    spectrum = Spectrum.exact(K)
    problem = ProxySVM(spectrum, BalancedBox(np.full(n, 2.0), y), 1e7)
    result = second_order(problem, tol=1e-8)
    clipped = spectrum.map(lambda d: np.maximum(d, 0)).matrix()
    svc = SVC(C=2.0, kernel="precomputed", tol=1e-10).fit(clipped, y)
    alpha = np.zeros(n)
    alpha[svc.support_] = np.abs(svc.dual_coef_[0])
    v = y * alpha
    expected = alpha.sum() - 0.5 * v @ clipped @ v
    assert result.value - problem.constant == pytest.approx(expected, rel=1e-5)


def noisy_repeated(seed):
    """Gaussian similarities with noise, samples repeated up to three times."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 4))
    noise = 0.05 * rng.standard_normal((60, 60))
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / 4) - noise - noise.T
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(60) > 0, 1.0, -1.0)
    index = np.repeat(np.arange(60), rng.integers(0, 4, 60))
    return K[np.ix_(index, index)], y[index]


@pytest.mark.parametrize(
    ("seed", "n", "kind", "log_C", "log_rho", "log_scale"),
    [
        (4246589982, 23, "negative definite", 3.2447183603, 3.4669483945, 3.3801683845),
        (1531843611, 20, "diagonal", 3.7404487385, 4.6193728176, 3.0555332421),
    ],
)
def test_climbs_along_a_wall(seed, n, kind, log_C, log_rho, log_scale):
    """Large f(0): many small rises with a poor gap come before the last few steps."""
    rng = np.random.default_rng(seed)
    K = 10.0**log_scale * random_matrix(rng, kind, n)
    box = BalancedBox(np.full(n, 10.0**log_C), random_labels(rng, n))
    problem = ProxySVM(Spectrum.exact(K), box, 10.0**log_rho)
    result = second_order(problem)
    rise, gradient = problem.rise_grad(result.x)
    # Rounding errors alone are worth more than tol here, and the certificate says so.
    assert problem.domain.gap(result.x, gradient) <= 1e-6 * rise
    assert result.certificate.relative <= 1e-3
    assert problem.constant > 1e6 * rise


@pytest.mark.parametrize(("C", "rho"), [(1.5, 0.3), (10.0, 0.1), (1.0, 1000.0)])
def test_repeated_samples_reach_rounding(C, rho):
    """Slopes near the optimum are not lost in the multiplier of the equality row."""
    for seed in range(20):
        K, y = noisy_repeated(seed)
        problem = ProxySVM(Spectrum.exact(K), BalancedBox(np.full(y.size, C), y), rho)
        result = second_order(problem, tol=1e-10)
        assert result.converged, f"{result}, relative {result.certificate.relative}"


def test_a_solution_is_a_good_start(rng, with_spectrum):
    K, y = with_spectrum(np.linspace(-1.0, 3.0, 60)), random_labels(rng, 60)
    box = BalancedBox(np.full(60, 2.0), y)
    first = second_order(ProxySVM(Spectrum.exact(K), box, 1.0))
    again = second_order(ProxySVM(Spectrum.exact(K), box, 1.0), first.x)
    assert again.n_iter == 0
    assert again.value == pytest.approx(first.value, rel=1e-12)


def test_callback_stops_with_the_best_point(rng, with_spectrum):
    K, y = with_spectrum(np.linspace(-1.0, 3.0, 60)), random_labels(rng, 60)
    problem = ProxySVM(Spectrum.exact(K), BalancedBox(np.full(60, 2.0), y), 1.0)
    result = second_order(problem, callback=lambda iterate: True)
    assert result.status == "interrupted"
    assert contains(problem.box, result.x)
