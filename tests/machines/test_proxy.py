"""The proxy-kernel SVM as a problem: value, gradient, Hessian, bound, proxy."""

import mpmath as mp
import numpy as np
import pytest

from krein.machines.box import BalancedBox
from krein.machines.proxy import ProxySVM
from krein.machines.second_order import second_order
from krein.spectrum.decomposition import Spectrum

N = 30


def labels(rng, n=N):
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    y[0], y[1] = 1.0, -1.0
    return y


@pytest.fixture(params=["plain", "weighted", "low rank", "weighted low rank"])
def case(request, rng, with_spectrum):
    """A problem, its (possibly truncated) K0, and a feasible point."""
    values = np.linspace(-2.0, 5.0, N)
    if "low rank" in request.param:
        values[np.abs(values) < 1.0] = 0.0
    K = with_spectrum(values)
    weight = rng.uniform(0.5, 3.0, N) if "weighted" in request.param else None
    if weight is not None:
        # Keep the rank of the weighted matrix.
        K = K / np.sqrt(np.outer(weight, weight))
    spectrum = Spectrum.exact(K, weight)
    if "low rank" in request.param:
        kept = np.abs(spectrum.eigenvalues) > 1e-9
        spectrum = Spectrum(
            spectrum.eigenvalues[kept],
            spectrum.eigenvectors[:, kept],
            spectrum.sqrt_weight,
        )
    w = np.ones(N) if weight is None else weight
    box = BalancedBox(2.0 * w, labels(rng))
    a = box.project(rng.uniform(0, 2, N) * w)
    return K, w, box, spectrum, a


def naive(K, w, y, a, rho):
    """Objective, gradient and proxy by a full eigendecomposition, from the papers."""
    root = np.sqrt(w)
    K0 = K * np.outer(root, root)
    v = y * a / root
    values, U = np.linalg.eigh(K0 + np.outer(v, v) / (4 * rho))
    proxy = (U * np.maximum(values, 0)) @ U.T
    value = a.sum() - 0.5 * v @ proxy @ v + rho * np.sum((proxy - K0) ** 2)
    gradient = 1.0 - y / root * (proxy @ v)
    return value, gradient, proxy / np.outer(root, root)


@pytest.mark.parametrize("rho", [1e-2, 1.0, 1e2])
def test_value_gradient_and_proxy(case, rho):
    K, w, box, spectrum, a = case
    problem = ProxySVM(spectrum, box, rho)
    rise, gradient = problem.rise_grad(a)
    value = problem.constant + rise
    expected, slope, proxy = naive(K, w, box.y, a, rho)
    assert value == pytest.approx(expected, rel=1e-10)
    scale = np.abs(slope).max()
    np.testing.assert_allclose(gradient, slope, rtol=0, atol=1e-11 * scale)
    found = problem.proxy_kernel(a)
    np.testing.assert_allclose(found, proxy, rtol=0, atol=1e-11 * np.abs(proxy).max())
    assert np.array_equal(found, found.T)
    np.testing.assert_allclose(
        problem.outputs(a), proxy @ (box.y * a), rtol=0, atol=1e-10 * scale
    )


@pytest.mark.parametrize("rho", [1e-2, 1.0, 1e2])
def test_eigh_oracle_is_the_same_function(case, rho):
    _, _, box, spectrum, a = case
    problem = ProxySVM(spectrum, box, rho)
    rise, gradient = problem.rise_grad(a)
    by_eigh = ProxySVM(spectrum, box, rho, oracle="eigh").rise_grad(a)
    unit = abs(problem.constant + rise)
    assert by_eigh[0] == pytest.approx(rise, abs=1e-10 * unit)
    np.testing.assert_allclose(by_eigh[1], gradient, rtol=0, atol=1e-10 * unit)


@pytest.mark.parametrize("rho", [1e-2, 1.0, 1e2])
def test_hessian_block_by_central_differences(case, rho, rng):
    _, _, box, spectrum, a = case
    problem = ProxySVM(spectrum, box, rho)
    h, step = rng.standard_normal(N), 1e-5
    ahead = problem.rise_grad(a + step * h)[1]
    behind = problem.rise_grad(a - step * h)[1]
    expected = -(ahead - behind) / (2 * step)
    H = problem.hessian_block(a, np.arange(N))
    scale = np.abs(expected).max()
    np.testing.assert_allclose(H @ h, expected, rtol=0, atol=1e-5 * scale)
    rows = np.array([3, 4, 11, 20])
    block = problem.hessian_block(a, rows)
    np.testing.assert_allclose(block, H[np.ix_(rows, rows)], atol=1e-8 * scale)


def test_constant_is_the_value_at_zero(case):
    _, _, box, spectrum, _ = case
    problem = ProxySVM(spectrum, box, 0.7)
    unit = problem.constant
    assert problem.rise_grad(np.zeros(N))[0] == pytest.approx(0.0, abs=1e-12 * unit)
    assert unit > 0.0


def test_published_lipschitz_constant_bounds_the_hessian(case):
    _, _, box, spectrum, a = case
    for rho in (1e-2, 1.0, 1e2):
        problem = ProxySVM(spectrum, box, rho)
        H = problem.hessian_block(a, np.arange(N))
        assert np.linalg.eigvalsh(H)[-1] <= problem.lipschitz


# ----------------------------------------------------------------------------- rounding


def in_sixty_digits(K, domain, a, rho):
    """Value, and gap over the domain, of a point given in double precision."""
    with mp.workdps(60):
        n, y = domain.n, [mp.mpf(float(s)) for s in domain.y]
        upper, a = ([mp.mpf(float(x)) for x in part] for part in (domain.upper, a))
        v = mp.matrix([s * x for s, x in zip(y, a, strict=True)])
        values, Q = mp.eigsy(mp.matrix(K.tolist()) + v * v.T / (4 * mp.mpf(rho)))
        positive = [max(x, mp.mpf(0)) for x in values]
        squares = sum(mp.mpf(x) ** 2 for x in K.ravel().tolist())
        value = sum(a) + mp.mpf(rho) * (squares - sum(x * x for x in positive))
        outputs = Q * mp.diag(positive) * (Q.T * v)
        g = [1 - y[i] * outputs[i] for i in range(n)]

        def highest(tau):
            return sum(upper[i] * max(mp.mpf(0), g[i] - tau * y[i]) for i in range(n))

        best = min(highest(y[i] * g[i]) for i in range(n))
        return value, best - sum(g[i] * a[i] for i in range(n))


@pytest.mark.parametrize("seed", range(25))
def test_the_claimed_gap_holds_in_sixty_digits(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    F = rng.standard_normal((n, n))
    K = 10.0 ** rng.uniform(-2, 2) * (F + F.T)
    C, rho = 10.0 ** rng.uniform(-1, 2.5), 10.0 ** rng.uniform(-4, 3)
    box = BalancedBox(np.full(n, C), np.where(np.arange(n) % 2, 1.0, -1.0))
    problem = ProxySVM(Spectrum.exact(K), box, rho)
    result = second_order(problem)
    _, gap = in_sixty_digits(K, problem.domain, result.x, rho)
    assert gap <= result.certificate.value
    assert result.certificate.relative <= 1e-6
    # The error of the gradient is bounded, and not by much more than it is.
    error, _ = problem.rounding(result.x)
    assert 0.0 < error.max() <= 1e-10 * (1.0 + C * np.abs(K).sum() + C**3 * n**2 / rho)


@pytest.mark.parametrize("exponent", [-100, -29, 29, 60, 100])
def test_units_of_the_problem(exponent, rng):
    """K0 s, C / s, rho / s^3: the same problem; nothing overflows on the way."""
    F = rng.standard_normal((12, 12))
    K, y = F + F.T, np.where(np.arange(12) % 2, 1.0, -1.0)
    s = 2.0 ** round(exponent / np.log10(2.0))
    plain = second_order(ProxySVM(Spectrum.exact(K), BalancedBox(np.ones(12), y), 1.0))
    box = BalancedBox(np.full(12, 1.0 / s), y)
    rho = 1.0 / s / s / s
    scaled = second_order(ProxySVM(Spectrum.exact(K * s), box, rho))
    assert scaled.status == plain.status == "converged"
    np.testing.assert_allclose(scaled.x * s, plain.x, atol=1e-3)
    assert scaled.value * s == pytest.approx(plain.value, rel=1e-6)
    assert scaled.history["value"][-1] == scaled.value
