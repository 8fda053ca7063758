"""ProxySVC beyond `max_exact`: the gap is that of the whole matrix."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krein import ProxySVC, check_certificate
from tests.machines.test_krylov import SPECTRA
from tests.referee.test_referee import claim


def problem(seed, spectrum, n):
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    K = (Q * SPECTRA[spectrum](rng, n)) @ Q.T
    y = rng.integers(2, size=n)
    y[:2] = [0, 1]
    return 0.5 * (K + K.T), y, rng


def fitted(K, y, rank, weight=None, **params):
    options = {"max_exact": 1, "rank": rank}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tol is not reached by every problem here
        return ProxySVC(solver_options=options, **params).fit(K, y, weight)


@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(SPECTRA)),
    st.integers(4, 80),
    st.integers(1, 80),
    st.floats(-2, 2),
    st.floats(-2, 2),
    st.floats(-100, 100),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_the_referee_finds_no_larger_gap(seed, kind, n, rank, C, rho, scale, weighted):
    """K -> s K with C / s and rho / s^3 is the same problem in other units."""
    K, y, rng = problem(seed, kind, n)
    s = 10.0**scale if -90 < 3 * scale < 90 else 10.0 ** (scale / 4)
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    params = {"C": 10.0**C / s, "rho": 10.0**rho / s**3}
    new_points = ("clip", "raw")[seed % 2]
    model = fitted(K * s, y, min(rank, n - 1), weight, new_points=new_points, **params)
    report = check_certificate(model, K * s, y, weight)
    assert report.holds, report
    assert report.claimed[0] >= report.recomputed[0] * (1 - 1e-9)


@pytest.mark.parametrize("rank", [1, 5, 20])
def test_it_is_the_problem_on_the_whole_matrix(rank):
    K, y, _ = problem(0, "decaying", 60)
    exact = ProxySVC(C=2.0, rho=0.5).fit(K, y)
    model = fitted(K, y, rank, C=2.0, rho=0.5)
    assert model.result_.status == "converged"
    np.testing.assert_allclose(model.alpha_, exact.alpha_, atol=5e-3)
    missed = exact.result_.value - exact.proxy_._problem(0).value_grad(
        model.alpha_[0]
    )[0]  # fmt: skip
    assert -1e-9 <= missed <= model.duality_gap_[0]
    assert model.result_.certificate.relative <= 1e-6


def lies(model):
    gap, objective = model.duality_gap_.copy(), model.objective_.copy()
    yield lambda: claim(model, 0.5 * gap, objective)
    yield lambda: claim(model, gap, objective + 2.0 * gap + 1e-3)
    yield lambda: claim(model, gap, objective - 2.0 * gap - 1e-3)


@pytest.mark.parametrize("lie", range(3))
def test_planted_lies_are_found(lie):
    K, y, _ = problem(1, "any", 40)
    model = fitted(K, y, 4, tol=1e-2)
    assert check_certificate(model, K, y).holds
    list(lies(model))[lie]()
    assert check_certificate(model, K, y).holds is False


@pytest.mark.parametrize("new_points", ["clip", "raw", "project", "luss"])
def test_maps_are_those_of_the_leading_eigenpairs(new_points):
    K, y, _ = problem(2, "any", 30)
    model = fitted(K, y, 6, new_points=new_points, tol=1e-3)
    report = check_certificate(model, K, y)
    assert report.holds, report
    assert "6 leading eigenpairs" in str(report)
    if new_points == "luss":
        model.intercept_ = model.intercept_ + 10.0
    else:
        model.dual_coef_[0, 3] *= 1.01
    assert check_certificate(model, K, y).holds is False


def test_eigenpairs_that_are_none_are_found():
    K, y, rng = problem(5, "any", 30)
    model = fitted(K, y, 6, tol=1e-3)
    U = model.spectrum_.eigenvectors + 1e-4 * rng.standard_normal((30, 6))
    model.spectrum_ = replace(model.spectrum_, eigenvectors=U)
    report = check_certificate(model, K, y)
    assert report.holds is False
    assert "spectrum_ does not hold eigenpairs" in str(report)


def test_published_solvers_are_certified_as_they_are():
    K, y, _ = problem(3, "any", 40)
    options = {"max_exact": 10, "rank": 5}
    model = ProxySVC(solver="smm", solver_options=options, tol=1e-4)
    with pytest.warns(match="truncated to rank 5 .* relative gap is .* Raise rank"):
        model.fit(K, y)
    assert model.result_.status == "max_iter"
    assert check_certificate(model, K, y).holds


def test_interrupted_fits_are_certified_too(monkeypatch):
    def stop(iterate):
        raise KeyboardInterrupt

    monkeypatch.setattr("krein.estimators.proxy.report", stop)
    K, y, _ = problem(4, "any", 40)
    options = {"max_exact": 10, "rank": 5, "on_interrupt": "return"}
    model = ProxySVC(solver_options=options, verbose=1).fit(K, y)
    assert model.result_.status == "interrupted"
    assert model.result_.history.n_rows == 1
    assert check_certificate(model, K, y).holds
