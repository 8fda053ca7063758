"""Estimators reach the published algorithms by name, with their options."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from krein import CPDSVC, ProxySVC, check_certificate, published
from tests.published.test_algorithm_1 import thin_plate


@pytest.fixture
def K(rng):
    X, E = rng.standard_normal((20, 2)), rng.standard_normal((20, 20))
    return np.exp(-np.sum((X[:, None] - X) ** 2, axis=2)) + 0.1 * (E + E.T)


@pytest.fixture
def y():
    return np.where(np.arange(20) % 3, 1.0, -1.0)


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        ("spgm", {"line_search": True}),
        ("smm", {"monotone": True}),
        ("accpm", {"domain": "paper"}),
        ("siqclp", {"domain": "paper"}),
    ],
)
def test_proxy_svc_and_the_plain_function_agree(solver, options, K, y):
    model = ProxySVC(C=2.0, solver=solver, tol=1e-3, solver_options=options).fit(K, y)
    if solver in ("accpm", "siqclp"):
        options = {"domain": "cut", **options}
    call = getattr(published, solver)
    result = call(K, y, C=2.0, tol=1e-3, max_iter=10_000, **options)
    np.testing.assert_allclose(model.alpha_[0], result.x, atol=1e-9)
    assert model.objective_[0] == pytest.approx(result.value)
    if solver != "siqclp":  # gaps of the point itself
        assert check_certificate(model, K, y).holds
    with pytest.raises(
        ValueError, match=r"solver_options has 'gama'.* it knows: .*stop"
    ):
        ProxySVC(solver=solver, solver_options={"gama": 1.0}).fit(K, y)


def test_cpd_svc_as_published():
    Phi, P, y = thin_plate(1)
    params = {"alpha": 0.1, "kernel": "precomputed"}
    model = CPDSVC(solver="published", **params).fit(Phi, y, P=P)
    result = published.walder_algorithm_1(Phi, y, P, lam=0.1)
    size = np.abs(result.x).max()
    np.testing.assert_allclose(model.dual_coef_[0], result.x, atol=1e-6 * size)
    for polynomial in ("free", "zero"):
        params["polynomial"] = polynomial
        model = CPDSVC(solver="published", **params).fit(Phi, y, P=P)
        best = CPDSVC(**params).fit(Phi, y, P=P)
        assert model.objective_[0] == pytest.approx(best.objective_[0], rel=1e-8)
        assert model.result_.status == "converged"
    with pytest.raises(ValueError, match="solver='published' is for"):
        CPDSVC(solver="published", loss="logistic", **params).fit(Phi, y, P=P)


def test_cpd_svc_as_published_says_when_it_missed_the_optimum():
    for seed in range(60):
        Phi, P, y = thin_plate(seed, n=12, d=1)
        result = published.walder_algorithm_1(Phi, y, P, lam=1e-3)
        if result.status == "converged" and result.certificate.relative > 1e-2:
            break
    model = CPDSVC(alpha=1e-3, kernel="precomputed", solver="published")
    with pytest.warns(ConvergenceWarning, match="Use solver='newton'"):
        model.fit(Phi, y, P=P)
    best = CPDSVC(alpha=1e-3, kernel="precomputed").fit(Phi, y, P=P)
    assert model.result_.status == "stalled"
    assert model.objective_[0] > best.objective_[0]
    assert model.objective_[0] - model.duality_gap_[0] <= best.objective_[0] * (
        1 + 1e-9
    )
