"""Labels from fewer similarities are those of `predict`, ties included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from krein import (
    CPDSVC,
    DCSVC,
    Kernel,
    KreinLogisticRegression,
    KreinNystroem,
    KreinSVC,
    ProxySVC,
    SimilarityFeaturesClassifier,
    SimilarityNeighborsClassifier,
    SpectrumSVC,
)
from krein.estimators._early import ByBounds, early_classes
from krein.estimators._training import as_labels, pairs_of, voted_labels

MODELS = [
    SpectrumSVC("clip", C=10.0),
    SpectrumSVC("flip", multi_class="ovo"),
    SpectrumSVC("flip", approximation=KreinNystroem(12, random_state=0)),
    KreinSVC(C=10.0),
    KreinLogisticRegression(alpha=0.1),
    DCSVC(C=0.1),
    ProxySVC(),
    SimilarityFeaturesClassifier(),
]


def series(n, n_classes, seed=0):
    """Sine waves of different speeds, lengths from 20 to 30."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    return [
        np.sin((1 + k) * np.linspace(0, 3, rng.integers(20, 31)))
        + 0.3 * rng.standard_normal()
        for k in y
    ], y


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:40])
def test_labels_of_series(model, n_classes):
    pytest.importorskip("dtaidistance")
    X, y = series(50, n_classes)
    new, _ = series(80, n_classes, seed=1)
    model = clone(model).set_params(kernel="dtw").fit(X, y)
    labels, counts = model.predict_early(new, return_counts=True)
    np.testing.assert_array_equal(labels, model.predict(new))
    np.testing.assert_array_equal(model.predict_early(new), labels)
    assert counts.shape == (80,)
    assert counts.max() <= model.support_.size
    assert counts.sum() < 80 * model.support_.size


def test_what_is_computed_is_what_is_counted(monkeypatch):
    pytest.importorskip("rapidfuzz")
    words = ["anna", "anne", "ann", "bernhard", "bernard", "bernd", "berta", "anton"]
    model = SpectrumSVC(kernel="edit").fit(words, [0, 0, 0, 1, 1, 1, 1, 0])
    computed = []
    evaluate = Kernel.__call__
    monkeypatch.setattr(
        Kernel,
        "__call__",
        lambda self, X, Y=None: (
            computed.append(len(X) * len(Y)) or evaluate(self, X, Y)
        ),
    )
    _, counts = model.predict_early(["hanna", "x", "gerhard"], return_counts=True)
    assert counts.sum() == sum(computed) < 3 * model.support_.size


@pytest.mark.parametrize(
    "model",
    [
        SpectrumSVC(kernel="rbf"),  # no bounds
        SpectrumSVC(kernel=lambda X, Y: np.asarray(X) @ np.asarray(Y).T),
        SimilarityNeighborsClassifier(3, kernel="euclidean_spd"),  # not linear
        ProxySVC(kernel="euclidean_spd", new_points="luss"),
        CPDSVC(kernel="thin_plate"),
        SpectrumSVC(kernel="euclidean_spd", kernel_params={"similarity": "centred"}),
    ],
    ids=["no bounds", "callable", "votes", "luss", "polynomial", "centred"],
)
def test_nothing_is_skipped_where_nothing_is_known(model):
    rng = np.random.default_rng(0)
    if model.kernel == "euclidean_spd":
        A = rng.standard_normal((40, 2, 2))
        X = A @ A.transpose(0, 2, 1) + np.eye(2)
    else:
        X = rng.standard_normal((40, 2))
    y = rng.integers(2, size=40)
    model.fit(X[:30], y[:30])
    labels, counts = model.predict_early(X[30:], return_counts=True)
    np.testing.assert_array_equal(labels, model.predict(X[30:]))
    np.testing.assert_array_equal(counts, model.support_.size)


def test_a_given_matrix_has_nothing_to_skip():
    K = np.array([[1.0, 0.9, -0.8], [0.9, 1.0, -0.7], [-0.8, -0.7, 1.0]])
    model = SpectrumSVC().fit(K, ["a", "a", "b"])
    labels, counts = model.predict_early(K, return_counts=True)
    np.testing.assert_array_equal(labels, ["a", "a", "b"])
    np.testing.assert_array_equal(counts, model.support_.size)


def test_training_items_and_bad_items():
    pytest.importorskip("rapidfuzz")
    words = ["anna", "anne", "ann", "bernhard", "bernard", "bernd"]
    model = SpectrumSVC(kernel="edit")
    with pytest.raises(NotFittedError, match="not fitted"):
        model.predict_early(words)
    model.fit(words, [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(model.predict_early(words), model.predict(words))
    with pytest.raises(ValueError, match=r"X\[1\] is an empty string"):
        model.predict_early(["a", ""])
    with pytest.raises(ValueError, match="at least one"):
        model.predict_early([])


WORD = st.text("ab", min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(WORD, min_size=6, max_size=14),
    st.lists(WORD, min_size=1, max_size=6),
    st.integers(2, 4),
    st.sampled_from([SpectrumSVC("clip"), SpectrumSVC("flip", multi_class="ovo")]),
    st.sampled_from(["exponential", "negative"]),
    st.booleans(),
)
def test_labels_of_words(words, new, n_classes, model, form, fewer):
    """Few letters: many ties, and items that are there twice with other labels."""
    pytest.importorskip("rapidfuzz")
    y = np.arange(len(words)) % n_classes
    model = clone(model).set_params(
        kernel="edit", kernel_params={"similarity": form, "gamma": 0.5}
    )
    model.fit(words, y)
    model = model.sparsify(n_prototypes=4) if fewer else model
    np.testing.assert_array_equal(model.predict_early(new), model.predict(new))


def test_an_exact_tie_falls_as_in_predict():
    pytest.importorskip("rapidfuzz")
    words = ["aab", "abb", "aaab", "abbb", "ba", "ab"]
    model = SpectrumSVC(kernel="edit").fit(words, [0, 1, 0, 1, 0, 1])
    model.support_ = np.arange(4)
    model.dual_coef_ = np.array([[1.0, -1.0, 3.0, -3.0, 0.0, 0.0]])
    model.intercept_ = np.zeros(1)
    new = ["ab", "c", "aabb", "cc", "a"]  # all but the last as far from one as another
    labels, counts = model.predict_early(new, return_counts=True)
    np.testing.assert_array_equal(labels, model.predict(new))
    np.testing.assert_array_equal(counts[:-1], 4)


def finite(scale):
    return st.floats(-scale, scale)


@settings(max_examples=300, deadline=None)
@given(
    st.data(),
    st.integers(1, 9),
    st.sampled_from([("sign", 1), ("rest", 3), ("one", 3), ("one", 6)]),
    st.sampled_from([1.0, 1e-100, 1e100]),
)
def test_no_similarities_inside_the_bounds_change_a_class(data, m, rule, scale):
    kind, n_rows = rule
    coef = scale * data.draw(arrays(float, (n_rows, m), elements=finite(2.0)))
    base = scale * data.draw(arrays(float, (2, n_rows), elements=finite(3.0)))
    ends = data.draw(arrays(float, (2, 2, m), elements=finite(1.0)))
    K = data.draw(arrays(float, (2, m), elements=finite(1.0)))
    low, high = np.minimum(ends.min(axis=0), K), np.maximum(ends.max(axis=0), K)
    seen = np.zeros((2, m), dtype=bool)

    def evaluate(items, columns):
        assert not seen[np.ix_(items, columns)].any()
        seen[np.ix_(items, columns)] = True
        return K[np.ix_(items, columns)]

    bounds = low.copy(), high.copy()
    found = early_classes(ByBounds(coef, base, *bounds, kind == "one"), evaluate)
    np.testing.assert_array_equal(found.counts, seen.sum(axis=1))
    undecided = found.classes < 0
    np.testing.assert_array_equal(found.counts[undecided], m)
    np.testing.assert_array_equal(found.similarities[undecided], K[undecided])
    labels = voted_labels if kind == "one" else as_labels
    n_classes = {1: 2, 3: 3, 6: 4}[n_rows]
    assert kind != "one" or len(pairs_of(n_classes)) == n_rows
    ends = [np.where(row > 0, low, high) for row in (*coef, *-coef)]
    for corner in (low, high, np.where(np.arange(m) % 2, low, high), K, *ends):
        possible = np.where(seen, K, corner)
        classes = labels(possible @ coef.T + base, np.arange(n_classes))
        np.testing.assert_array_equal(found.classes[~undecided], classes[~undecided])
