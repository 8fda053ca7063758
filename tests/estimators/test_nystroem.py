"""Landmark features: exact at m = n, honest about their error, on all input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from krein import Kernel, KreinNystroem, sigmoid_kernel, tl1_kernel
from krein.similarity.low_rank import LowRank, Sample
from krein.similarity.tiles import DenseTiles, tree_reduce

RULES = ["random", "leverage", "kmeans"]


def relative_error(nystroem, F, K):
    return np.linalg.norm((F * nystroem.signature_) @ F.T - K) / np.linalg.norm(K)


@pytest.fixture
def items(rng):
    return rng.standard_normal((400, 6))


@parametrize_with_checks(
    [
        KreinNystroem(3),
        KreinNystroem(3, "tl1", landmarks="leverage"),
        KreinNystroem(3, "rbf", landmarks="kmeans"),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("core", ["oversampled", "textbook"])
@pytest.mark.parametrize("rule", RULES)
def test_all_items_as_landmarks_reproduce_the_matrix(items, rule, core):
    K = sigmoid_kernel(items[:150], gamma=1.0)
    nystroem = KreinNystroem(150, landmarks=rule, core=core, random_state=0)
    F = nystroem.fit_transform(K)
    assert (nystroem.signature_ < 0).sum() > 10
    assert relative_error(nystroem, F, K) < 1e-12
    assert nystroem.approximation_error_ < 1e-12


def test_features_are_orthogonal_and_carry_the_spectrum(items):
    nystroem = KreinNystroem(80, "sigmoid", random_state=0)
    F = nystroem.fit_transform(items)
    values = nystroem.eigenvalues_
    assert F.shape == (400, nystroem.signature_.size)
    np.testing.assert_allclose(F.T @ F, np.diag(np.abs(values)), atol=1e-8)
    approximation = (F * nystroem.signature_) @ F.T
    largest = np.linalg.eigvalsh(approximation)
    assert largest[-1] == pytest.approx(values.max(), rel=1e-10)
    assert largest[0] == pytest.approx(values.min(), rel=1e-10)


@pytest.mark.parametrize("rule", RULES)
def test_transform_agrees_with_fit_transform(items, rule):
    nystroem = KreinNystroem(50, "tl1", landmarks=rule, random_state=1)
    F = nystroem.fit_transform(items)
    np.testing.assert_allclose(nystroem.transform(items), F, atol=1e-10)
    assert nystroem.landmarks_.size == 50
    assert len(set(nystroem.landmarks_)) == 50
    np.testing.assert_array_equal(nystroem.landmark_items_, items[nystroem.landmarks_])


@pytest.mark.parametrize("rule", RULES)
def test_error_falls_as_landmarks_grow(items, rule):
    K = tl1_kernel(items, tau=8.0)
    errors = []
    for m in (20, 80, 320):
        nystroem = KreinNystroem(m, landmarks=rule, random_state=0)
        errors.append(relative_error(nystroem, nystroem.fit_transform(K), K))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.15


def test_oversampled_core_beats_the_textbook_core(items):
    K = sigmoid_kernel(items, gamma=1.0)
    best = np.sort(np.abs(np.linalg.eigvalsh(K)))[:-100]
    best = np.linalg.norm(best) / np.linalg.norm(K)
    worst = {}
    for core in ("oversampled", "textbook"):
        fits = [KreinNystroem(100, core=core, random_state=s) for s in range(5)]
        worst[core] = [relative_error(f, f.fit_transform(K), K) for f in fits]
    assert np.max(worst["oversampled"]) < 3 * best
    assert np.median(worst["textbook"]) > 1.0  # worse than the zero matrix


def test_estimated_error_is_near_the_error(items):
    K = sigmoid_kernel(items, gamma=1.0)
    for seed in range(5):
        nystroem = KreinNystroem(60, random_state=seed)
        error = relative_error(nystroem, nystroem.fit_transform(K), K)
        assert nystroem.approximation_error_ == pytest.approx(error, rel=0.25)


def test_item_with_a_direction_of_its_own_is_not_lost(rng):
    """One landmark knows one item as nobody else does; the item's row must survive.

    The range of C then contains the unit vector of that item. The core is
    undetermined there unless the item is among the rows it is fitted on.
    """
    A = rng.standard_normal((600, 5))
    K = A @ A.T
    K[7, 100] = K[100, 7] = K[7, 100] + 1.0
    landmarks = np.arange(90, 110)
    for seed in range(5):
        nystroem = KreinNystroem(landmarks=landmarks, random_state=seed)
        F = nystroem.fit_transform(K)
        misses = ((F * nystroem.signature_) @ F.T - K)[7]
        assert np.median(np.abs(misses)) < 0.1  # without the row: about 1


def test_named_and_precomputed_kernel_agree(items):
    K = tl1_kernel(items)
    named = KreinNystroem(40, Kernel("tl1"), random_state=3).fit(items)
    square = KreinNystroem(40, random_state=3).fit(K)
    np.testing.assert_array_equal(named.landmarks_, square.landmarks_)
    np.testing.assert_allclose(named.transform(items), square.transform(K), atol=1e-10)
    only_landmarks = square.transform(K[:, square.landmarks_])
    np.testing.assert_array_equal(only_landmarks, square.transform(K))


def edit_like(left, right):
    return np.array(
        [[-abs(len(a) - len(b)) + (a[0] == b[0]) for b in right] for a in left]
    )


@pytest.mark.parametrize("rule", RULES)
def test_strings_with_a_callable(rule):
    words = [
        "".join(chr(97 + (i * j) % 26) for j in range(1 + i % 7)) for i in range(60)
    ]
    nystroem = KreinNystroem(20, edit_like, landmarks=rule, random_state=0)
    F = nystroem.fit_transform(words)
    assert F.shape[0] == 60
    assert relative_error(nystroem, F, edit_like(words, words)) < 1e-8
    assert nystroem.landmark_items_ == [words[i] for i in nystroem.landmarks_]


def test_pipeline_learns(items):
    y = (items[:, 0] + items[:, 1] > 0).astype(int)
    model = make_pipeline(
        KreinNystroem(100, "tl1", kernel_params={"tau": 8.0}, random_state=0),
        LogisticRegression(C=10.0),
    )
    assert model.fit(items[:300], y[:300]).score(items[300:], y[300:]) > 0.8
    names = model[0].get_feature_names_out()
    assert names[0] == "kreinnystroem0"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"landmarks": [0, 0, 1]}, "with 2 different entries"),
        ({"landmarks": [0, 30]}, "from 0 to 29"),
        ({"landmarks": [0.5, 1.0]}, "dtype float64"),
        ({"landmarks": "best"}, "landmarks"),
    ],
)
def test_bad_landmarks_are_refused(arguments, message, items):
    with pytest.raises(ValueError, match=message):
        KreinNystroem(kernel="tl1").set_params(**arguments).fit(items[:30])


def test_more_components_than_items_are_all_items_with_a_warning(items):
    K = tl1_kernel(items[:30])
    with pytest.warns(UserWarning, match="n_components=31 is larger .* n_samples=30"):
        model = KreinNystroem(31).fit(K)
    np.testing.assert_array_equal(model.landmarks_, np.arange(30))
    exact = KreinNystroem(30).fit(K)
    np.testing.assert_allclose(model.projection_, exact.projection_)


def test_a_block_is_refused(items):
    with pytest.raises(ValueError, match="must be a square matrix"):
        KreinNystroem(5).fit(tl1_kernel(items[:30])[:, :5])


def test_asymmetric_kernel_is_refused(items):
    def lopsided(X, Y):
        return X @ Y.T + X[:, :1]

    with pytest.raises(ValueError, match="symmetrize=True"):
        KreinNystroem(10, lopsided).fit(items)


def nan_kernel(X, Y):
    return np.full((len(X), len(Y)), np.nan)


def test_nan_from_a_kernel_is_refused(items):
    with pytest.raises(ValueError, match="NaN or infinity"):
        KreinNystroem(10, nan_kernel).fit(items)


@given(st.integers(1, 40))
def test_tree_reduce_keeps_order_and_pairs_neighbours(n):
    def level_by_level(items):
        while len(items) > 1:
            pairs = [items[i : i + 2] for i in range(0, len(items), 2)]
            items = [f"({''.join(p)})" if len(p) == 2 else p[0] for p in pairs]
        return items[0]

    names = [chr(65 + i) for i in range(n)]
    assert tree_reduce(names, lambda a, b: f"({a}{b})") == level_by_level(names)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(12, 40))
def test_low_rank_matrix_is_reproduced_from_few_columns(seed, r, n):
    """K of rank r, indefinite, m >= r landmarks: exact, with weights as well."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, r))
    signs = np.where(np.arange(r) % 2, -1.0, 1.0)
    K = (A * signs) @ A.T
    weight = rng.uniform(0.5, 2.0, n)
    rows = np.arange(n)
    low_rank = LowRank.fit(DenseTiles(K[:, :12]), Sample(rows, K), weight=weight)
    np.testing.assert_allclose(low_rank @ np.eye(n), K, atol=1e-6 * np.abs(K).max())
    exact = np.linalg.eigvalsh(np.sqrt(weight)[:, None] * K * np.sqrt(weight))
    kept = exact[np.abs(exact) > 1e-8 * np.abs(exact).max()]
    np.testing.assert_allclose(low_rank.eigenvalues, kept, rtol=1e-6)
