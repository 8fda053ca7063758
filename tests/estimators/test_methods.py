"""A fix is one record; what the certificate claims follows from its eigenvalues."""

import numpy as np
import pytest

from krein import (
    KreinRidge,
    ModelFileError,
    SpectrumSVC,
    SpectrumTransformer,
    check_certificate,
    load_model,
    save_model,
)
from krein.spectrum.fixes import FIXES, Fix


def problem(seed, n=30):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    return A + A.T, np.where(rng.random(n) < 0.5, 1, -1)


def trained_on(K, method):
    values, U = np.linalg.eigh(K)
    target, _ = FIXES[method].apply(values, 1e-12, 1.0)
    return (U * target) @ U.T


@pytest.mark.parametrize("method", FIXES)
@pytest.mark.parametrize("seed", range(8))
def test_no_feasible_point_beats_a_certified_optimum(method, seed):
    K, y = problem(seed)
    C = 10.0 / np.linalg.eigvalsh(trained_on(K, method))[-1]
    model = SpectrumSVC(method, C=C).fit(K, y)
    kind = model.result_.certificate.kind
    smallest = np.linalg.eigvalsh(trained_on(K, method))[0]
    assert kind == ("gap" if smallest >= -1e-10 else "stationarity")
    if kind == "stationarity":
        return
    Q = y[:, None] * trained_on(K, method) * y
    rng = np.random.default_rng(seed)
    for _ in range(20):
        a = feasible(rng, y, C)
        assert a.sum() - 0.5 * a @ Q @ a <= (
            model.objective_[0] + model.duality_gap_[0] + 1e-9
        )


def feasible(rng, y, C):
    """A vertex-like point of the box with y'a = 0: as many of each class at C."""
    k = rng.integers(1, min((y > 0).sum(), (y < 0).sum()) + 1)
    a = np.zeros(y.size)
    for sign in (1, -1):
        a[rng.permutation(np.flatnonzero(y == sign))[:k]] = C
    return a


def test_the_diffusion_of_three_items_is_certified_truly():
    """(C, C, 0) has the value 8270 on expm1 of this matrix, which is not concave."""
    K = np.array([[-6.0, -4, 2], [-4, -6, -2], [2, -2, 0]])
    model = SpectrumSVC("diffusion", C=202.48, t=3).fit(K, [0, 1, 0])
    y, C = np.array([-1, 1, -1]), 202.48
    values, U = np.linalg.eigh(K)
    kernel = (U * np.exp(3 * values / np.abs(values).max())) @ U.T
    Q = y[:, None] * kernel * y
    for a in ([C, C, 0], [0, C, C], [C / 2, C, C / 2]):
        value = np.sum(a) - 0.5 * np.array(a) @ Q @ a
        assert value <= model.objective_[0] + model.duality_gap_[0]


def _record(function):
    return Fix("own", lambda values, tol, t: function(values))


def test_a_record_is_certified_by_what_it_gives():
    K, y = problem(1)
    good = SpectrumSVC(_record(np.abs), C=0.1).fit(K, y)
    flip = SpectrumSVC("flip", C=0.1).fit(K, y)
    np.testing.assert_allclose(good.dual_coef_, flip.dual_coef_, atol=1e-9)
    assert good.result_.certificate.kind == "gap"
    bad = SpectrumSVC(_record(np.tanh), C=0.1).fit(K, y)
    assert bad.result_.certificate.kind == "stationarity"
    assert hasattr(bad, "residual_")
    assert not hasattr(bad, "duality_gap_")


def test_a_record_serves_every_spectral_estimator(rng):
    K, _ = problem(2)
    halved = Fix("halved", lambda values, tol, t: np.abs(values) / 2, psd=True)
    transformed = SpectrumTransformer(halved).fit_transform(K)
    np.testing.assert_allclose(transformed, trained_on(K, "flip") / 2, atol=1e-9)
    t = rng.standard_normal(30)
    ours = KreinRidge(1.0, method=halved).fit(K, t).predict(K)
    flip = KreinRidge(2.0, method="flip").fit(K, t).predict(K)
    np.testing.assert_allclose(ours, flip, atol=1e-8)


def half_of_flip(values):
    return np.abs(values) / 2.0


def test_a_function_of_the_eigenvalues_is_a_method(tmp_path):
    """Its certificate is the record's: a gap where no eigenvalue is negative."""
    K, y = problem(3)
    ours = SpectrumSVC(half_of_flip, C=0.2).fit(K, y)
    flip = SpectrumSVC("flip", C=0.1).fit(K, y)
    np.testing.assert_allclose(
        ours.decision_function(K), flip.decision_function(K), atol=1e-8
    )
    assert ours.result_.certificate.kind == "gap"
    assert check_certificate(ours, K, y).holds
    path = save_model(ours, tmp_path / "m.krein")
    with pytest.raises(ModelFileError, match="half_of_flip; import it and pass it"):
        load_model(path)
    again = load_model(path, kernel=half_of_flip)
    np.testing.assert_array_equal(again.predict(K), ours.predict(K))
    signed = SpectrumSVC(np.tanh, C=0.1).fit(K, y)
    assert signed.result_.certificate.kind == "stationarity"
