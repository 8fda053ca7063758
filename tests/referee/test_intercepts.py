"""Every intercept is recomputed: from free variables, or the interval for it."""

import warnings

import numpy as np
import pytest

from krein import (
    DCSVC,
    MKLSVC,
    KreinRidge,
    KreinSVC,
    ProxySVC,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
    check_certificate,
    sigmoid_kernel,
)

SHIFTS = [1.5, -1e-3, 1e-5, -1e6]


@pytest.fixture
def vectors(rng):
    X = rng.standard_normal((30, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(30) > 0, "b", "a")


def notices(model, *data):
    """Whether the referee accepts the intercept, and no other one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*data)
    report = check_certificate(model, *data)
    assert report.holds, report
    true = model.intercept_
    size = float(np.abs(true).max()) or 1.0
    for shift in SHIFTS:
        model.intercept_ = true + shift * size
        if hasattr(model, "offset_"):
            model.offset_ = -float(model.intercept_[0])
        report = check_certificate(model, *data)
        assert report.holds is False, f"{model}, {shift}"
    return True


@pytest.mark.parametrize("rule", ["clip", "raw", "project", "luss"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_proxies(rule, C, vectors):
    """Their rules for new points leave free variables off the margin."""
    X, y = vectors
    assert notices(ProxySVC(C=C, new_points=rule), sigmoid_kernel(X), y)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3])
def test_machines(C, vectors):
    X, y = vectors
    K = sigmoid_kernel(X)
    for method in ("clip", "flip", "shift", "square", "diffusion", "none"):
        assert notices(SpectrumSVC(method, C=C), K, y)
        assert notices(SpectrumSVR(method, C=C), K, X[:, 0])
    assert notices(KreinSVC(C=C, lam_neg=2.0), K, y)
    assert notices(DCSVC(C=C), K, y)
    assert notices(MKLSVC(C=C), [X @ X.T, np.eye(30)], y)


@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
def test_one_class(nu, vectors):
    K = 2.0 + sigmoid_kernel(vectors[0])  # the origin is outside
    for method in ("clip", "flip", "shift", "diffusion"):
        assert notices(SpectrumOneClassSVM(method, nu=nu), K)


def test_no_free_variable(rng):
    """The middle of the interval, and its end where it has one only."""
    K, y = np.eye(8), np.repeat([0, 1], 4)
    assert notices(SpectrumSVC("clip", C=1e-3), K, y)
    weight = np.repeat([1.0, 2.0], 4)
    assert notices(SpectrumSVC("clip", C=1e-3), K, y, weight)
    assert notices(SpectrumSVR(C=1e-3), K, np.repeat([-1e3, 1e3], 4))


def nearest_neighbours(rng, n=20):
    x = rng.standard_normal((n, 2))
    D = np.sum((x[:, None] - x) ** 2, axis=2)
    near = np.argsort(D, axis=1)[:, 1:4]
    A = np.zeros((n, n))
    A[np.arange(n)[:, None], near] = 1.0
    return np.maximum(A, A.T)


@pytest.mark.parametrize("alpha", [0.3, 1.1, 5.0])
def test_ridge_on_a_graph(alpha):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        K = nearest_neighbours(rng)
        y = rng.standard_normal(20)
        assert notices(KreinRidge(alpha), K, y)
