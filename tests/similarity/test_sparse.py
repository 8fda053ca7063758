"""The negative part of a sparse similarity, against LAPACK on the dense one."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from krein.similarity.sparse import SparseSimilarity
from krein.spectrum import nonpositive as module
from krein.spectrum.nonpositive import nonpositive_part


def similarity(n, seed=0, link=0.02, shift=1.0):
    """Families with a few links between them; shift is the diagonal."""
    rng = np.random.default_rng(seed)
    family = np.sort(rng.integers(0, max(1, n // 8), n))
    inside = (family[:, None] == family) & (rng.random((n, n)) < 0.7)
    linked = rng.random((n, n)) < link
    K = np.where(inside | linked, rng.random((n, n)), 0.0)
    K = np.maximum(K, K.T)
    np.fill_diagonal(K, shift)
    return K


def check(K, part):
    values, vectors = np.linalg.eigh(K)
    bad = values < -part.eps
    assert part.proven
    assert part.eps <= 1e-5 * np.abs(values).max()
    found = part.eigenvalues[part.eigenvalues < -part.eps]
    np.testing.assert_allclose(found, values[bad], atol=1e-10 * values[-1])
    V = part.eigenvectors.toarray()
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-10)
    mine = (V * part.eigenvalues) @ V.T
    exact = (vectors[:, bad] * values[bad]) @ vectors[:, bad].T
    np.testing.assert_allclose(mine, exact, atol=1e-9 * values[-1])
    return int(bad.sum())


@pytest.mark.parametrize("link", [0.0, 0.001, 0.05])
def test_small_components_are_exact(link):
    K = similarity(200, link=link)
    assert check(K, nonpositive_part(scipy.sparse.csr_array(K))) > 10


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), shift=st.sampled_from([0.0, 1.0, 3.0, 6.0]))
def test_large_components_are_proven(seed, shift):
    K = similarity(80, seed, link=0.05, shift=shift)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_WHOLE", 2)
        check(K, nonpositive_part(scipy.sparse.csr_array(K)))


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e100])
def test_scale_does_not_matter(scale, monkeypatch):
    monkeypatch.setattr(module, "_WHOLE", 2)
    K = similarity(300, link=0.05, shift=3.0)
    one = nonpositive_part(scipy.sparse.csr_array(K))
    other = nonpositive_part(scipy.sparse.csr_array(K * scale))
    assert other.proven
    assert one.eigenvalues.size > 3
    np.testing.assert_allclose(other.eigenvalues, scale * one.eigenvalues, rtol=1e-9)


def test_larger_components_are_not_proven(monkeypatch):
    monkeypatch.setattr(module, "_WHOLE", 2)
    monkeypatch.setattr(module, "_LARGE", 10)
    monkeypatch.setattr(module, "_DENSE", 10)
    K = similarity(300, link=0.005, shift=3.0)
    part = nonpositive_part(scipy.sparse.csr_array(K))
    assert (part.proven, part.chance) == (False, 1e-9)
    values = np.linalg.eigvalsh(K)
    bad = values[values < -1e-9]
    np.testing.assert_allclose(part.eigenvalues, bad, atol=1e-9)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), forgotten=st.integers(0, 3))
def test_the_probable_bound_holds(seed, forgotten):
    """Also where eigenvalues were missed, which it then tells."""
    K = similarity(250, seed, link=0.01, shift=2.5)
    values, vectors = np.linalg.eigh(K)
    bad = np.flatnonzero(values < 0)[forgotten:]
    norm = np.abs(K).sum(axis=0).max()
    bound = module._probable_bound(K, values[bad], vectors[:, bad], norm)
    lowest = np.linalg.eigvalsh(K - (vectors[:, bad] * values[bad]) @ vectors[:, bad].T)
    assert -lowest[0] <= bound + 1e-12
    assert bound <= max(0.0, -lowest[0]) + 0.02 * norm


def test_a_missed_eigenvalue_is_not_proven(monkeypatch):
    """The proof does not believe the iteration: here it returns a wrong pair."""
    monkeypatch.setattr(module, "_WHOLE", 2)
    K = scipy.sparse.csr_array(similarity(100, link=0.05, shift=3.0))
    found = module._smallest

    def forgetful(A, count, factorise):
        values, vectors, residual = found(A, count + 1, factorise)
        return values[1:], vectors[:, 1:], residual[1:]

    monkeypatch.setattr(module, "_smallest", forgetful)
    monkeypatch.setattr(module, "_DENSE", 10)
    assert not nonpositive_part(K).proven


def test_many_negative_eigenvalues_are_said_before_the_work(monkeypatch):
    monkeypatch.setattr(module, "_WHOLE", 2)
    K = scipy.sparse.csr_array(similarity(200, link=0.05, shift=1.0))
    monkeypatch.setattr(module, "_DENSE", 10)
    with pytest.raises(ValueError, match="the negative part is not of low rank"):
        nonpositive_part(K, max_rank=5)
    # The same without a factorisation: by an estimate, before any eigenpair.
    monkeypatch.setattr(module, "_LARGE", 10)
    monkeypatch.setattr(module, "_smallest", None)
    with pytest.raises(ValueError, match="the negative part is not of low rank"):
        nonpositive_part(K, max_rank=5)


def test_nothing_negative():
    part = nonpositive_part(scipy.sparse.eye_array(5, format="csr"))
    assert part.eigenvalues.size == 0
    assert part.eigenvectors.shape == (5, 0)
    part = nonpositive_part(scipy.sparse.csr_array((4, 4)))
    assert (part.eigenvalues.tolist(), part.eps, part.proven) == ([0.0] * 4, 0.0, True)
    part = nonpositive_part(scipy.sparse.diags_array([-2.0, 1.0, -3.0]))
    assert part.eigenvalues.tolist() == [-3.0, -2.0]


def test_protocol():
    K = similarity(40)
    source = SparseSimilarity(scipy.sparse.csr_array(K))
    rows, columns = np.array([3, 1, 30]), np.array([0, 5])
    assert source.shape == (40, 40)
    np.testing.assert_array_equal(source.block(rows, columns), K[np.ix_(rows, columns)])
    np.testing.assert_allclose(source @ K[0], K @ K[0])
    subset = source.subset(rows)
    np.testing.assert_array_equal(subset.dense(), K[np.ix_(rows, rows)])
    assert subset.matrix.indices.dtype == np.int32
    weight = np.linspace(0.5, 2.0, 40)
    root = np.sqrt(weight)
    weighted = root[:, None] * K * root
    check(weighted, source.nonpositive_part(weight))
    np.testing.assert_allclose(
        source.spectrum(weight).eigenvalues, np.linalg.eigvalsh(weighted)
    )


def test_no_dense_copy_beyond_the_memory(monkeypatch):
    monkeypatch.setenv("KREIN_MEMORY_LIMIT", "1MB")
    source = SparseSimilarity(scipy.sparse.eye_array(1000, format="csr"))
    with pytest.raises(MemoryError, match="Take the rows as features"):
        source.dense()
    assert source.nonpositive_part().eigenvalues.size == 0


def test_random_hits_of_medium_size_are_refused_at_once(rng, monkeypatch):
    """Half of the eigenvalues are negative: their factors took minutes to find out."""
    n, hits = 5000, 40_000
    rows, columns = rng.integers(0, n, (2, hits))
    upper = scipy.sparse.coo_array((rng.random(hits), (rows, columns)), shape=(n, n))
    K = upper + upper.T + scipy.sparse.eye_array(n)
    monkeypatch.setattr(module, "_factor", None)  # not even tried
    with pytest.raises(ValueError, match=r"about \d+ eigenvalues of \d+ connected"):
        nonpositive_part(K)
