"""Signed features: the same point as the dense matrix, at any number of classes."""

import numpy as np
import pytest

from krein.machines.logistic import IndefiniteLogistic
from krein.machines.newton_logistic import newton_logistic
from krein.similarity.matrix import FeatureKernel
from krein.similarity.spectrum import Spectrum


def make(seed, n=90, r=12, k=2):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, r))
    signature = np.where(np.arange(r) < r // 3, -1.0, 1.0)
    codes = np.r_[np.arange(k), rng.integers(0, k, n - k)]
    return F, signature, codes, rng.uniform(0.3, 2.0, n)


def low_rank(F, signature, codes, alpha, weight=None, fit_intercept=True, **options):
    targets = np.eye(codes.max() + 1)[codes]
    targets = targets[:, 1:] if codes.max() == 1 else targets
    kernel = FeatureKernel(F, signature)
    problem = IndefiniteLogistic(kernel, targets, alpha, weight, fit_intercept)
    return newton_logistic(problem, **options)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_agrees_with_the_dense_solution(k, fit_intercept, weighted):
    F, signature, codes, weight = make(0, k=k)
    weight = weight if weighted else None
    K = (F * signature) @ F.T
    alpha = 1.2 * abs(np.linalg.eigvalsh(K)[0]) / (2 * 90)
    low = low_rank(F, signature, codes, alpha, weight, fit_intercept, tol=1e-12)
    targets = np.eye(k)[codes][:, (1 if k == 2 else 0) :]
    problem = IndefiniteLogistic(0.5 * (K + K.T), targets, alpha, weight, fit_intercept)
    dense = newton_logistic(problem, tol=1e-12)
    assert low.status == dense.status == "converged"
    np.testing.assert_allclose(low.x, dense.x, atol=1e-10 * np.abs(dense.x).max())
    np.testing.assert_allclose(
        FeatureKernel(F, signature) @ low.x, problem.K @ dense.x, atol=1e-8
    )
    assert low.certificate.value <= 1e-12


def test_above_the_threshold_the_inertia_is_noticed_and_a_point_found():
    F, signature, codes, _ = make(1)
    K = (F * signature) @ F.T
    alpha = abs(np.linalg.eigvalsh(K)[0]) / (4 * 90 * 6.0)
    result = low_rank(F, signature, codes, alpha, tol=1e-10, max_iter=300)
    assert result.certificate.value <= 1e-10
    assert np.any(result.history["damping"][1:] < 1.0)


def test_more_rows_than_a_block_are_all_counted(monkeypatch):
    F, signature, codes, weight = make(2, k=3)
    whole = low_rank(F, signature, codes, 0.5, weight)
    monkeypatch.setattr("krein.machines.logistic._ROWS", 7)
    parts = low_rank(F, signature, codes, 0.5, weight)
    np.testing.assert_allclose(parts.x, whole.x, atol=1e-10)


def test_extreme_eigenvalues_are_those_of_the_weighted_matrix():
    F, signature, _, weight = make(3)
    root = np.sqrt(weight)
    values = np.linalg.eigvalsh((root[:, None] * F * signature) @ (F.T * root))
    found = FeatureKernel(F, signature).extreme_eigenvalues(weight)
    assert found == pytest.approx((values[0], values[-1]), rel=1e-10)
    assert values[0] < -1


def test_a_spectrum_gives_its_features():
    F, signature, _, weight = make(4)
    K = (F * signature) @ F.T
    K = 0.5 * (K + K.T)
    kernel = FeatureKernel.from_spectrum(Spectrum.exact(K, weight))
    v = np.random.default_rng(0).standard_normal(90)
    np.testing.assert_allclose(kernel @ v, K @ v, atol=1e-8)
    assert sorted(kernel.signature) == sorted(signature)
