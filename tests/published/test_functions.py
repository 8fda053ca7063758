"""krein.published: algorithms called on a matrix, against independent code."""

import importlib
import inspect
import re

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

import krein
from krein import published

N = 12
CALLS = {
    "spgm": {},
    "smm": {},
    "accpm": {},
    "siqclp": {},
    "ccicp_gd": {},
    "ccicp_sgd": {},
    "cccp_gd": {},
    "krein_gd": {},
    "tdca": {},
    "dc_primal": {},
    "walder_algorithm_1": {},
}


@pytest.fixture
def K(rng):
    X = rng.standard_normal((N, 2))
    E = rng.standard_normal((N, N))
    return np.exp(-np.sum((X[:, None] - X) ** 2, axis=2)) + 0.15 * (E + E.T)


@pytest.fixture
def y():
    return np.where(np.arange(N) % 3, 1.0, -1.0)


def saddle_value(K, a, y, C, rho):
    """f(a) by an eigendecomposition, eq. (3) with the minimiser (4)."""
    values, U = np.linalg.eigh(K + np.outer(y * a, y * a) / (4 * rho))
    proxy = (U * np.maximum(values, 0)) @ U.T
    v = y * a
    return a.sum() - v @ proxy @ v / 2 + rho * np.sum((proxy - K) ** 2)


def test_the_room_is_reached_from_krein_and_lists_its_functions():
    assert krein.published is importlib.import_module("krein.published")
    assert set(CALLS) | {"mkl", "convergence_condition"} == set(published.__all__)
    assert set(published.__all__) <= set(dir(published))
    with pytest.raises(AttributeError, match="no attribute 'spgn'"):
        published.spgn  # noqa: B018


@pytest.mark.parametrize("name", published.__all__)
def test_every_function_is_documented(name):
    """Source, parameters, result and an example."""
    call = getattr(published, name)
    text = inspect.getdoc(call)
    for heading in ("Parameters", "Returns", "Examples"):
        assert f"\n{heading}\n---" in text
    explained = text.split("Parameters\n")[1].split("Returns\n")[0]
    for parameter in inspect.signature(call).parameters:
        assert re.search(rf"^(.*, )?(\*\*)?{parameter}\b", explained, re.MULTILINE)
    assert re.search(r"\((19|20)\d\d\)|et\s+al\.", text)
    assert f"krein.published.{name}(" in text


def test_an_option_that_does_not_exist_is_named():
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_cut'"):
        published.accpm([[1.0, 0.0], [0.0, 1.0]], [1, -1], max_cut=3)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_every_function_takes_lists_and_refuses_what_it_cannot_use(name, K, y):
    call = getattr(published, name)
    result = call(K.tolist(), y.astype(int).tolist())
    assert isinstance(result, krein.Result)
    assert result.x.shape[0] in (N, N + 1)
    assert np.isfinite(result.x).all()
    for labels in (y[:-1], np.ones(N), y + 1):
        with pytest.raises(ValueError, match="y must hold -1 and \\+1"):
            call(K, labels)
    with pytest.raises(ValueError, match="symmetr"):
        call(np.triu(K), y)


@pytest.mark.parametrize("name", ["spgm", "smm", "accpm", "siqclp"])
@pytest.mark.parametrize(("C", "rho"), [(1.0, 1.0), (5.0, 0.1)])
def test_the_proxy_svm_against_a_general_solver(name, C, rho, K, y):
    """The optimum of f by SLSQP on its definition."""
    start = np.where(y > 0, np.sum(y < 0), np.sum(y > 0)) * 0.1 * C / N
    by_scipy = minimize(
        lambda a: -saddle_value(K, a, y, C, rho),
        start,
        method="SLSQP",
        bounds=[(0, C)] * N,
        constraints={"type": "eq", "fun": lambda a: a @ y},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    result = getattr(published, name)(K, y, C=C, rho=rho, tol=1e-4, max_iter=20_000)
    rise = -by_scipy.fun - rho * np.sum(np.minimum(np.linalg.eigvalsh(K), 0) ** 2)
    assert result.converged
    assert saddle_value(K, result.x, y, C, rho) == pytest.approx(result.value, rel=1e-9)
    assert abs(-by_scipy.fun - result.value) <= 1.5e-4 * rise
    assert result.x.min() >= 0
    assert result.x.max() <= C
    assert abs(result.x @ y) < 1e-9


def test_krein_gd_solves_the_stationarity_equation(K, y):
    alpha = 1.1 * abs(np.linalg.eigvalsh(K)[0]) / (4 * N)  # one solution
    a = published.krein_gd(K, y, alpha=alpha, tol=1e-11).x
    np.testing.assert_allclose(
        a, y / (1 + np.exp(y * (K @ a))) / (N * alpha), atol=1e-9
    )


def test_ccicp_gd_is_its_transcription(K, y):
    """Algorithm 1 with (9), (10) corrected and (11), in plain NumPy."""
    alpha, eta0 = 0.05, 0.02
    values, V = np.linalg.eigh(K)
    tau = 1.1 * -values[0]
    plus = (V * (np.maximum(values, 0) + tau)) @ V.T
    minus = (V * (np.maximum(-values, 0) + tau)) @ V.T

    def F(a, before):
        loss = np.mean(np.log1p(np.exp(-y * (K @ a))))
        return loss + alpha / 2 * a @ plus @ a - alpha * before @ minus @ a

    a = np.zeros(N)
    for _ in range(20):
        before, eta = a, eta0
        while True:
            beta = 1 / (1 + np.exp(y * (K @ a)))
            gradient = alpha * plus @ a - K @ (y * beta) / N - alpha * minus @ before
            new = a - eta * gradient
            eta *= 0.8
            change = abs(F(new, before) - F(a, before))
            a = new
            if not change > 1.0:
                break
    result = published.ccicp_gd(K, y, alpha=alpha)
    np.testing.assert_allclose(result.x, a, atol=1e-12)
    assert np.abs(a).max() > 1e-3


def test_stochastic_steps_depend_on_the_seed(K, y):
    one, same, other = (
        published.ccicp_sgd(K, y, random_state=seed).x for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 1e-6


def test_tdca_and_dc_primal_on_a_positive_kernel(K, y):
    """There the problems are convex, and a general solver finds the same."""
    values, V = np.linalg.eigh(K)
    P = (V * (np.abs(values) + 0.1)) @ V.T
    P = (P + P.T) / 2
    Q = y[:, None] * P * y
    by_scipy = minimize(
        lambda a: a @ Q @ a / 2 - a.sum(),
        np.zeros(N),
        jac=lambda a: Q @ a - 1,
        method="trust-constr",
        bounds=[(0, 2)] * N,
        constraints=LinearConstraint(y[None], 0, 0),
        options={"gtol": 1e-10, "xtol": 1e-12, "maxiter": 3000},
    )
    dual = published.tdca(P, y, C=2.0, tol=1e-8)
    assert dual.value == pytest.approx(-by_scipy.fun, rel=1e-5)

    def F(point):
        b, b0 = point[:-1], point[-1]
        slack = np.maximum(0, 1 - y * (P @ b + b0))
        return b @ P @ b / (2 * 3.0) + slack @ slack / 2

    primal = published.dc_primal(P, y, C=3.0, tol=1e-7, max_iter=20_000)
    reference = minimize(F, np.zeros(N + 1), method="BFGS", options={"gtol": 1e-9})
    assert primal.converged
    assert F(primal.x) == pytest.approx(reference.fun, rel=1e-6)


# ------------------------------------------------------------------------------- MKL


def kernels(rng, p=3):
    factors = rng.standard_normal((p, N, 3)) * np.array([1.0, 3.0, 0.3])[:, None, None]
    return [F @ F.T for F in factors]


@pytest.mark.parametrize("normalize", [None, "trace"])
@pytest.mark.parametrize("with_target", [True, False])
def test_mkl_against_a_conic_program(with_target, normalize, rng, K, y):
    """Eqs. (27) and (25): max t with t <= S(a, K_i), or ``t tr K_i`` for traces."""
    cp = pytest.importorskip("cvxpy")
    parts, rho = kernels(rng), 0.01
    costs = [rho * np.sum((M - K) ** 2) if with_target else 0.0 for M in parts]
    traces = [np.trace(M) if normalize else 1.0 for M in parts]
    a, t = cp.Variable(N), cp.Variable()
    limits = [a >= 0, a <= 1, a @ y == 0]
    # With sum theta_i tr K_i = 1, e'a stands outside of the sum over kernels.
    for M, c, trace in zip(parts, costs, traces, strict=True):
        Q = cp.psd_wrap(np.outer(y, y) * M)
        limits.append(t <= cp.sum(a) + (c - cp.quad_form(a, Q) / 2) / trace)
    problem = cp.Problem(cp.Maximize(t), limits)
    problem.solve(solver=cp.CLARABEL)
    target = K if with_target else None
    options = {"rho": rho, "target": target, "normalize": normalize}
    result = published.mkl(parts, y, tol=1e-7, **options)
    assert result.converged
    assert result.value == pytest.approx(problem.value, rel=1e-6)
    assert result.x @ traces == pytest.approx(1.0)
    # The value is that of theta, by a quadratic program.
    kernel = sum(w * M for w, M in zip(result.x, parts, strict=True))
    inner = cp.sum(a) - cp.quad_form(a, cp.psd_wrap(np.outer(y, y) * kernel)) / 2
    svm = cp.Problem(cp.Maximize(inner), limits[:3])
    svm.solve(solver=cp.CLARABEL)
    assert result.value == pytest.approx(svm.value + result.x @ costs, rel=1e-6)
    # Another start leads to the same weights.
    again = published.mkl(parts, y, tol=1e-7, x0=[0.0, 1.0, 3.0], **options)
    assert again.value == pytest.approx(result.value, rel=1e-6)
    assert result.x.min() >= 0


def test_mkl_input(y):
    with pytest.raises(ValueError, match="kernels is empty"):
        published.mkl([], y)


# ------------------------------------------------------- mini-batches, conditions


@pytest.mark.parametrize("equations", ["corrected", "printed"])
def test_mini_batches_are_a_literal_loop(equations, K, y):
    """Algorithm 1 with the mean of three samples in (12), in plain NumPy."""
    alpha, eta0, seed = 0.05, 0.02, 7
    values, V = np.linalg.eigh(K)
    tau = 1.1 * -values[0]
    plus = (V * (np.maximum(values, 0) + tau)) @ V.T
    minus = (V * (np.maximum(-values, 0) + tau)) @ V.T

    def F(a, before):
        loss = np.mean(np.log1p(np.exp(-y * (K @ a))))
        return loss + alpha / 2 * a @ plus @ a - alpha * before @ minus @ a

    random, a = np.random.RandomState(seed), np.zeros(N)
    for _ in range(20):
        before, eta = a, eta0
        for _ in range(1000):
            j = random.choice(N, size=3)
            beta = 1 / (1 + np.exp(y[j] * (K[j] @ a)))
            gradient = alpha * plus @ a - K[:, j] @ (y[j] * beta) / 3
            if equations == "corrected":
                gradient -= alpha * minus @ before
            new = a - eta * gradient
            eta *= 0.8
            change = abs(F(new, before) - F(a, before))
            a = new
            if not change > 1e-4:
                break
    result = published.ccicp_sgd(
        K, y, alpha=alpha, batch=3, random_state=seed, equations=equations
    )
    np.testing.assert_allclose(result.x, a, atol=1e-12)
    other = published.ccicp_sgd(K, y, alpha=alpha, random_state=seed)
    assert np.abs(other.x - a).max() > 1e-6


def test_a_tolerance_ends_the_outer_steps(rng, y):
    F = rng.standard_normal((N, 4))
    K = F @ F.T + np.eye(N)  # there the procedure converges
    result = published.cccp_gd(
        K, y, alpha=0.5, tol=1e-3, max_iter=1000, step="lipschitz", epsilon=1e-10
    )
    assert result.converged
    assert result.certificate.value <= 1e-3
    assert result.n_iter < 1000


def test_the_conditions_by_their_formulas(K):
    values = np.linalg.eigvalsh(K)
    alpha, tau = 0.3, 0.9
    found = published.convergence_condition(K, alpha=alpha, tau=tau)
    plus, minus = values[-1] + tau, -values[0] + tau
    bound = alpha * (plus - minus) - np.abs(values).max() ** 2 / (4 * N)
    assert found.bound == pytest.approx(bound)
    assert found.theorem_1 == (bound > 0)
    assert found.ratio == pytest.approx(-values[0] / (4 * N * alpha))
    assert found.least_alpha == pytest.approx(-values[0] / (4 * N))
    assert str(found) == found.text
    for share, unique in ((0.99, False), (1.01, True)):
        near = published.convergence_condition(K, alpha=share * found.least_alpha)
        assert near.unique == unique
        assert ("exactly one" in near.text) == unique
    model = krein.KreinLogisticRegression(alpha=alpha).fit(K, np.arange(N) % 2)
    again = published.convergence_condition(K, alpha=model.alpha_used_)
    assert again.unique == model.unique_
    assert again.ratio == pytest.approx(float(np.max(model.ratio_)), rel=1e-6)
    assert not published.convergence_condition(np.eye(3), alpha=0.01).theorem_1
    assert published.convergence_condition(np.eye(3), alpha=9.0).theorem_1
