"""Clip and flip by the eigenpairs of one side: the same map, less memory."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import krein.similarity.one_sided as module
from krein import (
    KreinSVC,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
    check_certificate,
    sigmoid_kernel,
)
from krein.methods import METHODS, weighted_flip
from krein.similarity.matrix import Similarities
from krein.similarity.one_sided import one_sided
from krein.similarity.spectrum import Spectrum
from krein.similarity.treated import by_spectrum

RECORDS = [METHODS["clip"], METHODS["flip"], weighted_flip(2.0, 0.5)]


def similarity(rng, n, zeros=0.0, negative=0.5):
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    d = rng.uniform(0.1, 2.0, n) * np.where(rng.random(n) < negative, -1.0, 1.0)
    d[rng.random(n) < zeros] = 0.0
    K = (Q * d) @ Q.T
    return 0.5 * (K + K.T)


@given(
    st.integers(0, 10**6),
    st.integers(1, 60),
    st.sampled_from([0.0, 0.3, 0.9]),
    st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    st.sampled_from(RECORDS),
    st.booleans(),
    st.sampled_from([1.0, 1e-150, 1e-100, 1e100, 1e150]),
)
@settings(max_examples=120, deadline=None)
def test_kernel_and_map_are_those_of_all_eigenpairs(
    seed, n, zeros, negative, record, weighted, scale
):
    rng = np.random.default_rng(seed)
    K = similarity(rng, n, zeros, negative) * scale
    weight = rng.uniform(0.5, 3.0, n) if weighted else None
    K = np.asfortranarray(K) if seed % 2 else K
    before = K.copy()
    found = one_sided(Similarities(K), record, weight=weight)
    full = by_spectrum(Similarities(K), record, Spectrum.exact(K, weight))
    assert np.array_equal(K, before)
    assert np.array_equal(found.kernel(), found.kernel().T)
    assert found.psd
    np.testing.assert_allclose(found.kernel(), full.kernel(), atol=1e-12 * scale)
    v = rng.standard_normal((n, 2))
    np.testing.assert_allclose(found.to_raw(v), full.to_raw(v), atol=1e-10)
    np.testing.assert_allclose(found.to_raw(v[:, 0]), full.to_raw(v)[:, 0], atol=1e-10)
    lowest = np.linalg.eigvalsh(found.kernel() / scale)[0]
    assert lowest >= -found.slack / scale - 1e-14


@pytest.mark.parametrize(
    ("record", "zeros", "negative", "share"),
    [
        (METHODS["clip"], 0.0, 0.1, 0.2),
        (METHODS["flip"], 0.0, 0.9, 0.2),
        (METHODS["clip"], 0.8, 0.5, 0.25),
        (METHODS["flip"], 0.8, 0.5, 0.35),
    ],
)
def test_as_few_eigenvectors_as_the_method_needs(record, zeros, negative, share):
    K = similarity(np.random.default_rng(0), 200, zeros, negative)
    assert one_sided(Similarities(K), record).vectors.shape[1] <= share * 200


@pytest.fixture
def problem(monkeypatch):
    """More items than are decomposed as a whole."""
    monkeypatch.setattr("krein.similarity.matrix.ONE_SIDED_ABOVE", 1000)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1100, 5))
    return sigmoid_kernel(X, gamma=0.2, coef0=-1.0), np.where(X[:, 0] > 0, 1, 0)


@pytest.mark.parametrize(
    "model",
    [SpectrumSVC("clip"), SpectrumSVC("flip"), KreinSVC(lam_pos=2.0, lam_neg=0.5)],
    ids=["clip", "flip", "krein"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_referee_agrees(problem, model, weighted, monkeypatch):
    K, y = problem
    weight = np.where(np.arange(y.size) % 3, 1.0, 2.0) if weighted else None

    def never(*args, **options):
        pytest.fail("all eigenvectors were computed")

    with monkeypatch.context() as patch:
        patch.setattr("krein.similarity.spectrum.Spectrum._decompose", never)
        model.fit(K, y, weight)
    report = check_certificate(model, K, y, weight)
    assert report.holds, report


@pytest.mark.parametrize("method", ["clip", "flip"])
def test_vectors_are_orthonormal_to_rounding(problem, method):
    """Those of LAPACK are to 1e-11 only where eigenvalues cluster, as they do here."""
    K, _ = problem
    found = one_sided(Similarities(K), METHODS[method])
    N = found.vectors
    assert np.linalg.norm(N.T @ N - np.eye(N.shape[1])) < 2e-13
    norm = np.linalg.norm(K, 2)
    assert found.slack < 10.0 * np.finfo(float).eps * K.shape[0] * norm


@pytest.mark.parametrize("method", ["clip", "flip"])
def test_one_matrix_and_the_vectors_are_alive(problem, method):
    """Beside K: the transformed kernel in the place of its reduction."""
    K, y = problem
    n, columns = y.size, 256 + 128  # of N at a time, and workspace

    def peak(work):
        tracemalloc.start()
        found = work()
        size = tracemalloc.get_traced_memory()[1] / (8 * n)
        tracemalloc.stop()
        return size, found

    size, found = peak(lambda: one_sided(Similarities(K), METHODS[method]))
    kept = found.vectors.shape[1]
    assert size < n + kept + columns
    del found
    assert kept < 0.5 * n
    size, _ = peak(lambda: SpectrumSVC(method).fit(K, y))
    assert size < 2 * n  # all eigenvectors and the kernel would be more than 3


def test_vectors_that_are_not_good_enough_are_not_used(monkeypatch):
    K = similarity(np.random.default_rng(1), 30)
    monkeypatch.setattr("krein.similarity.matrix.ONE_SIDED_ABOVE", 10)
    right = Similarities(K).treated("flip").kernel()
    monkeypatch.setattr(module, "_SOUND", 0.0)
    assert one_sided(Similarities(K), METHODS["flip"]) is None
    np.testing.assert_allclose(
        Similarities(K).treated("flip").kernel(), right, atol=1e-13
    )
    monkeypatch.undo()
    monkeypatch.setattr(module, "_call", lambda *arguments: 1)  # LAPACK says no
    assert one_sided(Similarities(K), METHODS["flip"]) is None


def test_another_signature_of_lapack_is_not_called(rng, monkeypatch):
    """Wider integers would be written beyond what is passed."""
    wide = module._signature("dormtr").replace(b"int *", b"long *")
    monkeypatch.setattr(module, "_signature", lambda name: wide)
    module._as_expected.cache_clear()
    assert one_sided(Similarities(similarity(rng, 8)), METHODS["clip"]) is None
    module._as_expected.cache_clear()


@pytest.mark.parametrize(
    "model",
    [SpectrumSVC("flip"), SpectrumSVR("flip"), SpectrumOneClassSVM("flip", nu=0.3)],
    ids=["classes", "numbers", "one class"],
)
def test_errors_of_the_eigenvectors_are_in_the_gap(model, rng, monkeypatch):
    """And a fit whose gap they lift above the tolerance has not converged."""
    K = similarity(rng, 40)
    y = np.append([0, 1], rng.integers(0, 2, 38))
    monkeypatch.setattr("krein.similarity.matrix.ONE_SIDED_ABOVE", 10)
    before = model.fit(K, y).duality_gap_.max()
    monkeypatch.setattr(module, "_errors", lambda *given: (1e-3, 1e-3))
    monkeypatch.setattr(module, "_SOUND", 1e15)
    with pytest.warns(ConvergenceWarning, match="did not reach tol"):
        model.fit(K, y)
    assert model.duality_gap_.max() > before + 1e-4
