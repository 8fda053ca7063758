"""SimilarityClassifier and SimilarityRegressor: what is chosen, averaged and kept."""

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneOut,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline

import krein.scale
from krein import (
    DistanceTransformer,
    Kernel,
    SimilarityClassifier,
    SimilarityRegressor,
    SpectrumSVC,
    SpectrumSVCCV,
    load_model,
    save_model,
    tl1_kernel,
)
from krein.similarity.conversions import Conversion

FEW = {"Cs": [1.0, 30.0], "fixes": ["clip", "flip"]}
KNOWN, NEW = slice(0, 60), slice(60, 90)


@pytest.fixture
def points(rng):
    X = rng.standard_normal((90, 3))
    y = np.array(["in", "out"])[(np.abs(X[:, :2]).sum(axis=1) > 1.6).astype(int)]
    return X, y


@pytest.fixture
def distances(points):
    X, y = points
    return cdist(X, X, "cityblock"), y


@pytest.fixture
def words(rng):
    letters = np.array([list("aab"), list("bbc"), list("cca")])
    y = np.arange(45) % 3
    return ["".join(rng.choice(letters[k], 7)) for k in y], y


def test_a_member_is_the_search_on_its_own_similarity(distances):
    D, y = distances
    model = SimilarityClassifier(kind="distance", **FEW).fit(D[KNOWN, KNOWN], y[KNOWN])
    for place, member in enumerate(model.models_):
        K = model.converted(D[KNOWN, KNOWN], place)
        alone = SpectrumSVCCV(FEW["Cs"], fixes=FEW["fixes"]).fit(K, y[KNOWN])
        assert_allclose(member.dual_coef_, alone.dual_coef_, atol=1e-9)
        assert member.temperature_ == pytest.approx(alone.temperature_)
    new = D[NEW, KNOWN]
    expected = [
        m.predict_proba(model.converted(new, i)) for i, m in enumerate(model.models_)
    ]
    assert len(expected) == 3
    assert_allclose(model.predict_proba(new), np.mean(expected, axis=0))
    assert model.score(new, y[NEW]) > 0.8


def test_what_was_chosen_is_said(distances):
    D, y = distances
    model = SimilarityClassifier(kind="distance", top=2).fit(D, y)
    assert [one["chosen"] for one in model.ranking_] == [
        True,
        True,
        False,
        False,
        False,
    ]
    scores = [one["screen_score"] for one in model.ranking_]
    assert scores == sorted(scores, reverse=True)
    assert model.weights_.sum() == pytest.approx(1.0)
    assert len(model.weights_) == len(model.members_)
    best = model.best_params_
    assert set(best) == {"kernel", "conversion", "fix", "C"}
    assert best["conversion"] in {one["conversion"] for one in model.members_}
    table = model.cv_results_
    assert table["params"][model.best_index_] == best
    assert table["mean_test_score"].max() == model.best_score_
    assert table["weight"].sum() == pytest.approx(1.0)
    assert model.text_ in repr(model)
    assert eval(repr(model)).get_params() == model.get_params()
    one = model.members_[0]
    place = int(np.argmax([m is model.models_[0] for m in model.models_]))
    single = SpectrumSVC(one["fix"], C=one["C"]).fit(model.converted(D, place), y)
    assert single.objective_ == pytest.approx(
        [r.value for r in one["results"]], rel=1e-4
    )


def test_verbose_says_what_was_chosen(distances, capsys):
    D, y = distances
    model = SimilarityClassifier(kind="distance", verbose=1, **FEW).fit(D, y)
    assert f"SimilarityClassifier: {model.text_}\n" in capsys.readouterr().err


def test_the_width_is_chosen(rng):
    """Concentrated distances: exp(-d / median) says little, the width is found."""
    X = rng.standard_normal((120, 40))
    y = (X[:, 0] > 0).astype(int)
    D = cdist(X, X) ** 0.2
    model = SimilarityClassifier(kind="distance").fit(D[:80, :80], y[:80])
    assert (
        model.ranking_[0]["screen_score"] >= model.ranking_[-1]["screen_score"] + 1e-3
    )
    assert model.score(D[80:, :80], y[80:]) > 0.6


def test_items_and_their_distances_are_one_problem(words):
    items, y = words
    kernel = Kernel("edit")
    D = kernel.facts.distance(items, items)
    by_name = SimilarityClassifier("edit", **FEW).fit(items[:30], y[:30])
    by_matrix = SimilarityClassifier(kind="distance", **FEW).fit(D[:30, :30], y[:30])
    by_function = SimilarityClassifier(
        kernel.facts.distance, kind="distance", **FEW
    ).fit(items[:30], y[:30])
    expected = by_matrix.predict_proba(D[30:, :30])
    assert_allclose(by_name.predict_proba(items[30:]), expected)
    assert_allclose(by_function.predict_proba(items[30:]), expected)


def test_a_kernel_of_distances_as_it_was_given_is_a_candidate(words):
    items, y = words
    kernel = Kernel("edit", gamma=0.3, similarity="inverse")
    model = SimilarityClassifier(kernel, conversions=["as given"], **FEW)
    model.fit(items[:30], y[:30])
    assert_allclose(model.converted(items[30:]), kernel(items[30:], items[:30]))
    assert len(SimilarityClassifier(kernel, **FEW).fit(items, y).ranking_) == 6
    assert len(SimilarityClassifier("edit", **FEW).fit(items, y).ranking_) == 5


def test_kernels_are_pooled(points):
    X, y = points
    model = SimilarityClassifier(["rbf", Kernel("tl1", tau=2.0)], **FEW)
    model.fit(X[KNOWN], y[KNOWN])
    assert len(model.ranking_) == 12
    assert {one["kernel"] for one in model.ranking_} == {
        "rbf",
        "Kernel('tl1', tau=2.0)",
    }
    assert model.score(X[NEW], y[NEW]) > 0.8
    one = model.predict_proba(X[NEW][:1])
    assert_allclose(one, model.predict_proba(X[NEW])[:1])


def test_a_kernel_with_self_similarities_that_differ(points):
    """They are computed for new items: of a matrix they would not be known."""
    X, y = points
    linear = lambda A, B: A @ B.T  # noqa: E731
    model = SimilarityClassifier(linear, conversions=["gaussian", "local"], **FEW)
    model.fit(X[KNOWN], y[KNOWN])
    euclidean = SimilarityClassifier(
        kind="distance", conversions=["gaussian", "local"], **FEW
    ).fit(cdist(X[KNOWN], X[KNOWN]), y[KNOWN])
    assert_allclose(
        model.predict_proba(X[NEW]),
        euclidean.predict_proba(cdist(X[NEW], X[KNOWN])),
        atol=0.01,  # the machines of the folds are loose
    )


def test_a_matrix_with_self_similarities_that_differ_is_taken_as_given(points):
    X, y = points
    K = X @ X.T
    model = SimilarityClassifier(**FEW).fit(K, y)
    assert [one["conversion"] for one in model.ranking_] == ["as given"]
    with pytest.raises(ValueError, match="its diagonal is not constant"):
        SimilarityClassifier(conversions=["local"], **FEW).fit(K, y)


@pytest.mark.parametrize(("wobble", "count"), [(1e-12, 6), (1e-6, 1)])
def test_the_diagonal_is_constant_to_rounding(wobble, count, distances):
    D, y = distances
    K = np.exp(-D)
    K[0, 0] += wobble
    assert len(SimilarityClassifier(**FEW).fit(K, y).ranking_) == count


def test_a_sparse_table_is_taken_as_given(distances):
    D, y = distances
    K = np.where(D < 2.0, np.exp(-D), 0.0)
    sparse = scipy.sparse.csr_array(K)
    model = SimilarityClassifier(**FEW).fit(sparse[KNOWN][:, KNOWN], y[KNOWN])
    dense = SpectrumSVCCV(FEW["Cs"], fixes=FEW["fixes"]).fit(K[KNOWN, KNOWN], y[KNOWN])
    assert len(model.ranking_) == 1
    assert_allclose(
        model.predict_proba(sparse[NEW][:, KNOWN]),
        dense.predict_proba(K[NEW, KNOWN]),
        atol=1e-3,
    )
    with pytest.raises((TypeError, ValueError), match="sparse table"):
        SimilarityClassifier(kind="distance").fit(sparse, y)


def test_a_stack_of_matrices(points):
    X, y = points
    stack = np.stack([tl1_kernel(X), np.exp(-cdist(X, X))], axis=2)
    model = SimilarityClassifier(**FEW).fit(stack[KNOWN, KNOWN], y[KNOWN])
    assert {one["kernel"] for one in model.ranking_} == {"matrix 0", "matrix 1"}
    new = stack[NEW, KNOWN]
    as_list = [new[:, :, 0], new[:, :, 1]]
    assert_array_equal(model.predict(new), model.predict(as_list))
    assert cross_val_score(SimilarityClassifier(**FEW), stack, y, cv=3).mean() > 0.8
    with pytest.raises(ValueError, match="X must have shape"):
        model.predict(new[:, :, :1])
    with pytest.raises(ValueError, match="X must be a stack of shape"):
        model.predict(new[:, :, 0])


def test_indefinite_matrices_are_fused(rng):
    """Each of two indefinite matrices knows half of what decides."""
    left, right = rng.standard_normal((2, 90, 2))
    y = (left[:, 0] + right[:, 0] > 0).astype(int)
    parts = [np.tanh(2.0 * X @ X.T - 1.0) for X in (left, right)]
    assert all(np.linalg.eigvalsh(K).min() < -1.0 for K in parts)
    stack = np.stack(parts, axis=2)
    known, new = stack[KNOWN, KNOWN], stack[NEW, KNOWN]
    model = SimilarityClassifier(**FEW).fit(known, y[KNOWN])
    assert {one["kernel"] for one in model.members_} == {"matrix 0", "matrix 1"}
    both = model.score(new, y[NEW])
    for place in (0, 1):
        alone = SimilarityClassifier(**FEW).fit(known[:, :, place], y[KNOWN])
        assert both > alone.score(new[:, :, place], y[NEW])


@pytest.mark.parametrize("kind", ["similarity", "distance"])
def test_it_takes_little_more_memory_than_one_search(kind, rng):
    """At most two matrices more than a search on the similarity of a member."""
    n = 240
    X = rng.standard_normal((n, 4))
    y = (np.abs(X).sum(axis=1) > 3.1).astype(int)
    D = cdist(X, X, "cityblock")
    K = np.exp(-D / np.median(D))

    def peak(model, matrix):
        tracemalloc.start()
        try:
            model.fit(matrix, y)
            return tracemalloc.get_traced_memory()[1] / (8 * n * n)
        finally:
            tracemalloc.stop()

    given = D if kind == "distance" else K
    model = SimilarityClassifier(kind=kind)
    pool = peak(model, given)
    members = [model.converted(given, place) for place in range(len(model.models_))]
    assert pool < max(peak(SpectrumSVCCV(), member) for member in members) + 2.0


def test_weights_of_zero_are_removal(distances):
    D, y = distances
    weight = np.ones(60)
    weight[[3, 17, 41]] = 0.0
    left = np.flatnonzero(weight)
    model = SimilarityClassifier(kind="distance", **FEW)
    with_zeros = clone(model).fit(D[KNOWN, KNOWN], y[KNOWN], weight)
    without = clone(model).fit(D[np.ix_(left, left)], y[left])
    assert_allclose(
        with_zeros.predict_proba(D[NEW, KNOWN]),
        without.predict_proba(D[NEW][:, left]),
        rtol=1e-6,
    )


def test_integer_weights_are_repetition_on_the_same_folds(distances):
    D, y = distances
    often = np.repeat(np.arange(60), 1 + np.arange(60) % 2)
    weight = np.bincount(often).astype(float)
    folds = [(np.arange(60) % 3 != f, np.arange(60) % 3 == f) for f in range(3)]
    once = [(np.flatnonzero(a), np.flatnonzero(b)) for a, b in folds]
    copies = [(np.flatnonzero(a[often]), np.flatnonzero(b[often])) for a, b in folds]
    setting = {"kind": "distance", "Cs": [1.0], "fixes": ["clip"], "tol": 1e-9}
    one = SimilarityClassifier(cv=once, **setting).fit(
        D[KNOWN, KNOWN], y[KNOWN], weight
    )
    two = SimilarityClassifier(cv=copies, **setting).fit(
        D[np.ix_(often, often)], y[often]
    )
    assert {m["conversion"] for m in one.members_} == {
        m["conversion"] for m in two.members_
    }
    assert_allclose(
        one.predict_proba(D[NEW, KNOWN]),
        two.predict_proba(D[NEW][:, often]),
        atol=0.02,  # machines of the folds are loose, and settle the temperature
    )


def test_groups_search_every_pair_on_the_folds(distances):
    D, y = distances
    groups = np.arange(90) // 3
    model = SimilarityClassifier(kind="distance", top=2, cv=GroupKFold(3), **FEW)
    model.fit(D, y, groups=groups)
    assert {one["screen_score"] for one in model.ranking_} == {None}
    assert sum(one["chosen"] for one in model.ranking_) == 2
    assert len(model.models_) == 2
    scores = [m.best_score_ for m in model.models_]
    assert scores == sorted(scores, reverse=True)


def test_labels_without_meaning_are_not_learnt(rng):
    X = rng.standard_normal((80, 5))
    y = rng.permutation(np.arange(80) % 2)
    model = SimilarityClassifier(["rbf", "tl1"]).fit(X, y)
    assert model.best_score_ < -np.log(2) + 0.05


def test_many_classes_and_few_items(rng):
    centres = 4 * rng.standard_normal((8, 3))
    y = np.repeat(np.arange(8), 3)
    X = centres[y] + 0.3 * rng.standard_normal((24, 3))
    D = cdist(X, X)
    model = SimilarityClassifier(kind="distance", **FEW).fit(D, y)
    assert model.predict_proba(D).shape == (24, 8)
    assert model.score(D, y) > 0.9
    assert model.predict_set(D, coverage=0.5).shape == (24, 8)
    few = SimilarityClassifier(kind="distance").fit(D[:6, :6], y[:6])  # three of each
    assert_array_equal(few.predict(D[:6, :6]), y[:6])
    pair = [0, 1, 3, 4]
    two = SimilarityClassifier(kind="distance").fit(D[np.ix_(pair, pair)], y[pair])
    assert_array_equal(two.predict(D[np.ix_(pair, pair)]), y[pair])


def test_decision_values_and_probabilities_agree(words):
    items, y = words
    model = SimilarityClassifier("edit", **FEW).fit(items, y)
    proba = model.predict_proba(items)
    assert_allclose(np.exp(model.decision_function(items)), proba)
    assert_array_equal(model.predict(items), proba.argmax(axis=1))
    two = SimilarityClassifier("edit", **FEW).fit(items[:30], np.arange(30) % 2)
    proba = two.predict_proba(items)
    assert_allclose(two.decision_function(items), np.log(proba[:, 1] / proba[:, 0]))


@pytest.mark.parametrize("kernel", ["edit", ["edit", "lcs"]])
def test_saved_models_say_the_same(kernel, words, tmp_path):
    items, y = words
    model = SimilarityClassifier(
        kernel, conversions=["local", Conversion("gaussian", "2 median")], **FEW
    ).fit(items[:30], y[:30])
    save_model(model, tmp_path / "model.krein")
    loaded = load_model(tmp_path / "model.krein")
    expected = model.predict_proba(items[30:])
    assert_array_equal(loaded.predict_proba(items[30:]), expected)
    assert_array_equal(loaded.predict_set(items[30:]), model.predict_set(items[30:]))
    assert repr(loaded) == repr(model)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(items[30:]), expected)
    assert clone(loaded).fit(items[:30], y[:30]).ranking_ == model.ranking_


def test_search_pipeline_and_parts(distances):
    D, y = distances
    grid = {"top": [1, 2], "conversions": [None, ["local"]]}
    search = GridSearchCV(SimilarityClassifier(kind="distance", **FEW), grid, cv=2)
    assert search.fit(D, y).best_score_ > 0.8
    K = DistanceTransformer().fit_transform(D)
    model = make_pipeline(DistanceTransformer(), SimilarityClassifier(**FEW))
    assert model.fit(D, y).score(D, y) > 0.8
    direct = SimilarityClassifier(**FEW).fit(K, y)
    assert_array_equal(krein.scale.predict(direct, K), direct.predict(K))
    assert_array_equal(krein.scale.predict_proba(direct, K), direct.predict_proba(K))


@pytest.mark.parametrize("gamma", [0.5, 40.0])
@pytest.mark.parametrize("kind", [SpectrumSVCCV, SimilarityClassifier])
def test_a_nearly_diagonal_similarity_is_warned_of(gamma, kind, rng, recwarn):
    X = rng.standard_normal((40, 6))
    y = (np.arange(40) % 3 == 0).astype(int)
    K = np.exp(-gamma * cdist(X, X))
    kind(**FEW).fit(K, y)
    said = [str(w.message) for w in recwarn if "nearly diagonal" in str(w.message)]
    assert bool(said) == (gamma == 40.0)


@pytest.mark.parametrize(("cv", "period"), [(5, 2), (5, 4), (LeaveOneOut(), 4)])
@pytest.mark.parametrize("kind", [SpectrumSVCCV, SimilarityClassifier])
def test_the_class_of_a_fold_may_differ_from_the_next(cv, period, kind):
    """Of two classes of one size, the larger in a training part is chance."""
    y = (np.arange(20) % period == 0).astype(int)
    with pytest.warns(UserWarning, match="nearly diagonal"):
        kind(cv=cv, **FEW).fit(np.eye(20), y)


def test_regression(points):
    X, _ = points
    t = np.abs(X[:, 0]) + X[:, 1]
    D = cdist(X, X)
    model = SimilarityRegressor(kind="distance").fit(D[KNOWN, KNOWN], t[KNOWN])
    new = D[NEW, KNOWN]
    expected = [m.predict(model.converted(new, i)) for i, m in enumerate(model.models_)]
    assert_allclose(model.predict(new), np.mean(expected, axis=0))
    assert model.score(new, t[NEW]) > 0.8
    items = SimilarityRegressor(["rbf", "tl1"]).fit(X[KNOWN], t[KNOWN])
    assert items.score(X[NEW], t[NEW]) > 0.8
    assert items.best_score_ < 0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": []}, "kernel is an empty list"),
        ({"kernel": ["precomputed", "rbf"]}, "stands alone"),
        ({"kernel": ["rbf", "tl1"], "kernel_params": {"gamma": 1.0}}, "kernel_params"),
        ({"kind": "distance", "conversions": []}, "conversions is empty"),
        ({"kind": "distance", "conversions": ["gausian"]}, "conversions must be"),
        ({"kind": "distance", "conversions": ["as given"]}, "holds distances"),
        ({"top": 0}, "top"),
        ({"kind": "dissimilarity"}, "kind"),
    ],
)
def test_bad_parameters_are_named(params, message, distances):
    D, y = distances
    with pytest.raises((ValueError, TypeError), match=message):
        SimilarityClassifier(**params).fit(D, y)


def test_negative_distances_are_refused(distances):
    D, y = distances
    with pytest.raises(ValueError, match="no distance is negative"):
        SimilarityClassifier(kind="distance").fit(-D, y)
