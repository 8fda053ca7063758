"""A dense, a sparse and a landmark form of one matrix are one model."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from krein import KreinNystroem, KreinSVC, SpectrumSVC, SpectrumSVR, check_certificate
from krein.similarity.low_rank import Sample, fitted_core
from krein.similarity.sparse import as_matrix
from krein.spectrum import nonpositive

MODELS = [
    SpectrumSVC("clip", C=10.0),
    SpectrumSVC("flip", C=10.0),
    SpectrumSVC("square"),
    KreinSVC(C=3.0, lam_neg=2.0),
]


def similarity(rank, n=40, seed=0):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, rank))
    K = (F * np.where(np.arange(rank) % 3 == 0, -1.0, 1.0)) @ F.T
    if rank >= n:
        K = K / n
    y = np.where(F[:, 1] + 0.3 * rng.standard_normal(n) > 0, "a", "b")
    return 0.5 * (K + K.T), y, rng.standard_normal((200, n))


@pytest.mark.parametrize("rank", [6, 40])
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "factorised"])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_sparse_is_dense(model, rank, whole, monkeypatch):
    """Random new rows leave the span of a singular similarity: one rule for them."""
    if not whole:
        monkeypatch.setattr(nonpositive, "_WHOLE", 2)
        monkeypatch.setattr(nonpositive, "_DENSE", 20 if rank == 40 else 4000)
    K, y, new = similarity(rank)
    dense = clone(model).fit(K, y)
    sparse = clone(model).fit(scipy.sparse.csr_array(K), y)
    expected = dense.decision_function(new)
    size = np.abs(expected).max()
    np.testing.assert_allclose(
        sparse.decision_function(new), expected, atol=1e-8 * size
    )
    np.testing.assert_allclose(
        sparse.dual_coef_, dense.dual_coef_, atol=1e-8 * np.abs(dense.dual_coef_).max()
    )


@pytest.mark.parametrize("rank", [6, 40])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_landmarks_of_full_rank_are_dense(model, rank):
    K, y, new = similarity(rank)
    dense = clone(model).fit(K, y)
    nystroem = KreinNystroem(40, random_state=0)
    landmarks = clone(model).set_params(approximation=nystroem).fit(K, y)
    expected = dense.decision_function(new)
    np.testing.assert_allclose(
        landmarks.decision_function(new), expected, atol=1e-8 * np.abs(expected).max()
    )


def test_items_without_similarities_have_no_part():
    """A row of zeros is a direction of eigenvalue zero, whatever its form."""
    K, y, _ = similarity(40)
    K[:, :3] = K[:3] = 0.0
    for given in (K, scipy.sparse.csr_array(K)):
        model = SpectrumSVC("clip").fit(given, y)
        np.testing.assert_allclose(model.dual_coef_[:, :3], 0.0, atol=1e-12)
        assert np.abs(model.dual_coef_).max() > 1e-3
    assert check_certificate(model, scipy.sparse.csr_array(K), y).holds


def test_regression_too():
    K, _, new = similarity(6)
    y = K[:, 0] + np.arange(40.0) / 40
    dense, sparse = (
        SpectrumSVR("flip").fit(form, y) for form in (K, scipy.sparse.csr_array(K))
    )
    expected = dense.predict(new)
    np.testing.assert_allclose(
        sparse.predict(new), expected, atol=1e-8 * np.abs(expected).max()
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", ["clip", "flip", "square", "shift", "diffusion"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_diagonal_is_that_of_the_kernel(method, weighted, sparse):
    K, _, _ = similarity(40)
    weight = np.linspace(0.5, 3.0, len(K)) if weighted else None
    fixed_kernel = as_matrix(scipy.sparse.csr_array(K) if sparse else K).fixed_kernel(
        method, weight=weight
    )
    expected = np.diagonal(fixed_kernel.kernel())
    np.testing.assert_allclose(
        fixed_kernel.diagonal(), expected, rtol=1e-10, atol=1e-12
    )


def test_rounding_of_a_shift_is_that_of_the_weighted_matrix(rng):
    K = rng.standard_normal((20, 20))
    K = K + K.T
    weight = rng.uniform(0.1, 5.0, 20)
    root = np.sqrt(weight)
    weighted = as_matrix(K).fixed_kernel("shift", weight=weight)
    formed = as_matrix(root[:, None] * K * root).fixed_kernel("shift")
    assert weighted.spread > 0.0
    assert weighted.spread == pytest.approx(formed.spread, rel=1e-12)


@pytest.mark.parametrize(("length", "fitted"), [(0.095, 0.0), (0.105, 1.0)])
def test_a_direction_that_the_sample_hardly_sees_is_not_fitted(length, fitted):
    """A tenth of what the average row sees of it."""
    A = np.diag([1.0, length])
    sample = Sample(np.arange(2), A @ A.T)
    core = fitted_core(A, sample, 2, None)
    np.testing.assert_allclose(core, np.diag([1.0, fitted]), atol=1e-12)
