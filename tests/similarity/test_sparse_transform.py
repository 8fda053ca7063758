"""Spectrum methods on a sparse similarity equal those on the dense one."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose

from krein.similarity import sparse as sparse_module
from krein.similarity.matrix import Similarities
from krein.similarity.sparse import SparseSimilarity
from krein.spectrum import nonpositive as module
from krein.spectrum.fixes import FIXES, weighted_flip
from tests.similarity.test_sparse import similarity

SPARSE = [name for name, method in FIXES.items() if method.on_positive]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "method", [*FIXES, weighted_flip(2.0, 0.5)], ids=[*FIXES, "krein"]
)
def test_equals_the_dense_transform(method, weighted, monkeypatch):
    monkeypatch.setattr(module, "_WHOLE", 10)
    K = similarity(120, link=0.01, shift=2.5)
    weight = np.linspace(0.5, 2.0, 120) if weighted else None
    dense = Similarities(K).fixed_kernel(method, weight=weight)
    source = SparseSimilarity(scipy.sparse.csr_array(K))
    found = source.fixed_kernel(method, weight=weight)
    expected = dense.kernel()
    size = np.abs(expected).max()
    assert_allclose(found.kernel(), expected, atol=1e-8 * size)
    V = np.random.default_rng(0).standard_normal((120, 3))
    assert_allclose(found.to_raw(V), dense.to_raw(V), atol=1e-8 * np.abs(V).max())
    assert_allclose(found.to_raw(V[:, 0]), dense.to_raw(V[:, 0]), atol=1e-8)
    assert found.psd == dense.psd


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [*SPARSE, "shift"])
def test_products(name, weighted, monkeypatch):
    monkeypatch.setattr(module, "_WHOLE", 10)
    K = similarity(120, link=0.01, shift=2.5)
    weight = np.linspace(0.5, 2.0, 120) if weighted else None
    source = SparseSimilarity(scipy.sparse.csr_array(K))
    found = source.fixed_kernel(FIXES[name], weight=weight)
    expected = Similarities(K).fixed_kernel(name, weight=weight).kernel()
    V = np.random.default_rng(0).standard_normal((120, 3))
    size = np.abs(expected).sum(axis=1).max()
    assert_allclose(found @ V, expected @ V, atol=1e-8 * size)
    assert_allclose(found @ V[:, 1], expected @ V[:, 1], atol=1e-8 * size)
    dense = Similarities(K).fixed_kernel(name, weight=weight)
    for form in (found, dense):
        assert_allclose(form.diagonal(), np.diagonal(expected), atol=1e-8 * size)
    assert found.norm() >= np.linalg.eigvalsh(expected)[-1]


def test_there_is_something_to_change():
    values = np.linalg.eigvalsh(similarity(120, link=0.01, shift=2.5))
    assert 2 < (values < -1e-8).sum() < 40
    assert set(SPARSE) >= {"clip", "flip", "square", "none"}


@pytest.mark.parametrize("name", SPARSE)
def test_records_tell_the_truth_about_positive_eigenvalues(name):
    values = np.array([1e-3, 0.5, 1.0, 7.0])
    a, b = FIXES[name].on_positive
    target, gain = FIXES[name].apply(values, 1e-12, 1.0)
    assert_allclose(target, a * values + b * values**2)
    if FIXES[name].new_rows == "mapped":
        assert_allclose(gain, a + b * values)


def test_what_is_not_proven_is_said(monkeypatch):
    monkeypatch.setattr(module, "_WHOLE", 10)
    monkeypatch.setattr(module, "_LARGE", 10)
    monkeypatch.setattr(module, "_DENSE", 10)
    K = SparseSimilarity(scipy.sparse.csr_array(similarity(120, link=0.01, shift=2.5)))
    with pytest.warns(UserWarning, match=r"holds with a probability of 1 - 1e-09"):
        trained = K.fixed_kernel("clip")
    assert trained.psd
    assert trained.slack > 0
    assert np.linalg.eigvalsh(trained.kernel())[0] >= -trained.slack
    assert K.fixed_kernel("square").psd


def test_slack_of_weighted_samples():
    """Eigenvalues are left out of W^1/2 K W^1/2: light samples count for more."""
    K = SparseSimilarity(scipy.sparse.csr_array(similarity(60, link=0.05)))
    weight = np.where(np.arange(60) < 5, 1e-6, 1.0)
    part = K.nonpositive_part(weight)
    assert K.fixed_kernel("clip", weight=weight).slack >= 1e6 * part.eps


def test_never_dense_without_a_word(monkeypatch):
    monkeypatch.setattr(sparse_module, "LARGEST_DENSE", 30)
    K = SparseSimilarity(scipy.sparse.csr_array(similarity(40)))
    for use in (K.dense, lambda: K.fixed_kernel("none").kernel(), K.spectrum):
        with pytest.raises(
            ValueError, match="above 30 a sparse similarity is not made"
        ):
            use()
