"""A sparse similarity stands wherever a precomputed one does."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from krein import (
    DCSVC,
    KreinLogisticRegression,
    KreinNystroem,
    KreinRidge,
    KreinSVC,
    SimilarityFeaturesClassifier,
    SimilarityNeighborsClassifier,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
    check_certificate,
    load_model,
    save_model,
    split_kernel,
)
from krein.similarity import sparse as module
from tests.similarity.test_sparse import similarity

N = 160


@pytest.fixture
def data():
    K = similarity(N, link=0.01, shift=2.5)
    rng = np.random.default_rng(0)
    return K, scipy.sparse.csr_array(K), np.arange(N) // 40, rng.uniform(0.5, 2, N)


CLASSIFIERS = [
    SpectrumSVC("clip"),
    SpectrumSVC("flip"),
    SpectrumSVC("square"),
    SpectrumSVC("none"),
    SpectrumSVC("shift"),
    SpectrumSVC("diffusion"),
    SpectrumSVC("clip", probability=True, random_state=0),
    SpectrumSVC("clip", approximation=KreinNystroem(20, random_state=0)),
    KreinSVC(lam_pos=2.0),
    KreinLogisticRegression(alpha=1.0),
    DCSVC(C=0.1),
    SimilarityNeighborsClassifier(),
    SimilarityNeighborsClassifier(5),
    SimilarityFeaturesClassifier(),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: repr(m)[:40])
def test_equals_dense(model, weighted, data):
    K, S, y, weight = data
    weight = weight if weighted else None
    dense = model.fit(K, y, weight).decision_function(K)
    coef, gap = model.dual_coef_, getattr(model, "duality_gap_", None)
    chances = model.predict_proba(K) if hasattr(model, "predict_proba") else None
    model.fit(S, y, weight)
    size = np.abs(coef).max()
    assert_allclose(model.dual_coef_, coef, atol=1e-8 * size)
    assert_allclose(model.decision_function(S), dense, atol=1e-8 * np.abs(dense).max())
    assert_array_equal(model.predict(S), model.predict(K))
    if gap is not None:
        assert_allclose(model.duality_gap_, gap, atol=1e-6)
    if chances is not None:
        assert_allclose(model.predict_proba(S), chances, atol=1e-6)


@pytest.mark.parametrize("model", [KreinRidge(), SpectrumSVR(), SpectrumOneClassSVM()])
def test_other_machines(model, data):
    K, S, y, _ = data
    expected = model.fit(K, y).predict(K)
    assert_allclose(model.fit(S, y).predict(S), expected, atol=1e-8)


@pytest.mark.parametrize("method", ["clip", "flip", "square"])
def test_without_any_dense_matrix(method, data, monkeypatch):
    K, S, y, weight = data
    exact = SpectrumSVC(method).fit(K, y, weight)
    monkeypatch.setattr("krein.spectrum.fixed_kernel.DENSE_ITEMS", 10)
    monkeypatch.setattr(module.SparseSimilarity, "dense", None)
    model = SpectrumSVC(method, tol=1e-10).fit(S, y, weight)
    assert_allclose(model.objective_, exact.objective_, rtol=1e-8)
    assert (model.duality_gap_ <= 1e-6 * model.objective_).all()
    size = np.abs(exact.decision_function(K)).max()
    assert_allclose(
        model.decision_function(S), exact.decision_function(K), atol=1e-4 * size
    )


def test_what_is_left_out_of_the_spectrum_is_in_the_gap(data):
    _, S, y, _ = data
    model = SpectrumSVC("clip").fit(S, y)
    slack = module.SparseSimilarity(S).fixed_kernel("clip").slack
    assert slack > 0
    bound = slack * (model.alpha_**2).sum(axis=1)
    assert (model.duality_gap_ >= bound).all()


def test_the_referee_agrees(data):
    _, S, y, weight = data
    model = SpectrumSVC("clip").fit(S, y, weight)
    assert check_certificate(model, S, y, weight).holds


def test_in_scikit_learn(data):
    K, S, y, _ = data
    model = SpectrumSVC("clip")
    assert_allclose(cross_val_score(model, S, y), cross_val_score(model, K, y))


def test_split(data):
    K, S, y, _ = data
    whole = split_kernel(K, y, random_state=0)
    parts = split_kernel(S, y, random_state=0)
    assert scipy.sparse.issparse(parts[0])
    assert_array_equal(parts[0].toarray(), whole[0])
    assert_array_equal(parts[1].toarray(), whole[1])
    assert parts[0].indices.dtype == np.int32


def test_model_file(data, tmp_path):
    _, S, y, _ = data
    model = SpectrumSVC("clip").fit(S, y)
    save_model(model, tmp_path / "model.krein")
    again = load_model(tmp_path / "model.krein")
    assert_allclose(again.decision_function(S), model.decision_function(S))


def test_bad_input(data):
    K, S, y, _ = data
    with pytest.raises(ValueError, match="Hits have a direction: HitSimilarity makes"):
        SpectrumSVC().fit(scipy.sparse.csr_array(np.triu(K)), y)
    half = SpectrumSVC(symmetrize=True).fit(scipy.sparse.csr_array(np.triu(K)), y)
    assert half.dual_coef_.shape == (4, N)
    bad = S.copy()
    bad.data[3] = np.nan
    with pytest.raises(ValueError, match="X is sparse and holds NaN or infinity"):
        SpectrumSVC().fit(bad, y)
    with pytest.raises(ValueError, match="X must be a square matrix"):
        SpectrumSVC().fit(S[:, :5], y)
    with pytest.raises(ValueError, match=f"X has 5 features, but .* {N} features"):
        SpectrumSVC().fit(S, y).predict(S[:, :5])
    with pytest.raises(TypeError, match="sparse matrix, which only estimators with"):
        SpectrumSVC(kernel="rbf").fit(S, y)


def test_more_than_fits(data, monkeypatch):
    _, S, y, _ = data
    monkeypatch.setenv("KREIN_MEMORY_LIMIT", "100KB")
    with pytest.raises(MemoryError, match="Take the rows as features"):
        SpectrumSVC("diffusion").fit(S, y)


def of_families(n, seed=0):
    """A similarity like that of hits: families, chance hits, few of all pairs."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) * 5 // n
    rows = np.repeat(np.arange(n), 8)
    columns = (rows + rng.integers(-12, 13, rows.size)) % n
    far = rng.random(rows.size) < 0.1
    columns[far] = rng.integers(0, n, int(far.sum()))
    scores = rng.uniform(0.1, 0.6, rows.size)
    K = scipy.sparse.coo_array((scores, (rows, columns)), shape=(n, n)).tocsr()
    K = K.maximum(K.T)
    K.setdiag(1.0)
    return scipy.sparse.csr_array(K), y


SIZES = [60, 500, pytest.param(1990, marks=pytest.mark.slow)]
EXACT = [
    SpectrumSVC("clip"),
    SpectrumSVC("flip", C=10.0),
    SpectrumSVC("square"),
    KreinSVC(lam_neg=3.0),
    KreinRidge(alpha=0.3),
    KreinLogisticRegression(alpha=1.0),
]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("model", EXACT, ids=lambda m: repr(m)[:40])
def test_equals_dense_at_all_sizes(model, n):
    """Coefficients, predictions and certificates to 1e-8."""
    S, y = of_families(n)
    K = S.toarray()
    assert np.linalg.eigvalsh(K)[0] < -0.01
    dense = clone(model).fit(K, y)
    model = clone(model).fit(S, y)
    size = np.abs(dense.dual_coef_).max()
    assert_allclose(model.dual_coef_, dense.dual_coef_, rtol=0, atol=1e-8 * size)
    assert_allclose(model.predict(S), dense.predict(K), atol=1e-8)
    if hasattr(dense, "objective_"):
        unit = np.abs(dense.objective_).max()
        assert_allclose(model.objective_, dense.objective_, rtol=0, atol=1e-8 * unit)
    for name in ("duality_gap_", "residual_"):
        if hasattr(dense, name):
            claimed = getattr(dense, name)
            assert_allclose(getattr(model, name), claimed, rtol=0, atol=1e-8 * unit)
