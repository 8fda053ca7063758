"""From hits to a similarity and a classifier."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from krein import HitClassifier, HitSimilarity, Named, SpectrumSVC, check_certificate


def random_hits(n, seed=0, density=0.2):
    rng = np.random.default_rng(seed)
    hits = np.where(rng.random((n, n)) < density, rng.uniform(20, 80, (n, n)), 0.0)
    np.fill_diagonal(hits, rng.uniform(100, 400, n))
    return hits


@pytest.mark.parametrize("rule", ["max", "mean", "min"])
def test_against_dense(rule):
    hits = random_hits(12)
    found = HitSimilarity(rule).fit_transform(scipy.sparse.csr_array(hits))
    join = {"max": np.maximum, "min": np.minimum, "mean": lambda a, b: (a + b) / 2}
    both = join[rule](hits, hits.T)
    root = np.sqrt(np.diagonal(hits))
    assert_allclose(found.toarray(), both / np.outer(root, root))
    assert_allclose(found.diagonal(), 1.0)
    assert found.indices.dtype == np.int32


@pytest.mark.parametrize("rule", ["max", "mean", "min"])
def test_new_items_are_treated_as_training_items(rule):
    hits = random_hits(12)
    whole = HitSimilarity(rule).fit_transform(scipy.sparse.csr_array(hits)).toarray()
    train, new = np.arange(8), np.arange(8, 12)
    similarity = HitSimilarity(rule).fit(hits[np.ix_(train, train)])
    found = similarity.transform(
        scipy.sparse.csr_array(hits[np.ix_(new, train)]),
        back=hits[np.ix_(train, new)],
        self_scores=np.diagonal(hits)[new],
    )
    assert_allclose(found.toarray(), whole[np.ix_(new, train)])


def test_missing_self_scores():
    hits = random_hits(9)
    hits[2, 2] = hits[5, 5] = 0.0
    hits[5, 1] = 1000.0
    similarity = HitSimilarity().fit(hits)
    known = np.delete(np.diagonal(hits), [2, 5])
    assert similarity.n_imputed_ == 2
    assert similarity.self_scores_[2] == np.median(known)
    assert similarity.self_scores_[5] == 1000.0
    row = hits[[2]]
    assert_allclose(
        similarity.transform(row).toarray(),
        row / np.sqrt(np.median(known) * similarity.self_scores_),
    )
    with pytest.raises(ValueError, match="no item has a hit of itself"):
        HitSimilarity().fit(np.array([[0.0, 1.0], [1.0, 0.0]]))
    raw = HitSimilarity(normalize=False).fit_transform([[0.0, 1.0], [2.0, 0.0]])
    assert raw.toarray().tolist() == [[0.0, 2.0], [2.0, 0.0]]


def test_columns_in_another_order():
    hits = random_hits(5)
    names = list("abcde")
    similarity = HitSimilarity().fit(Named(scipy.sparse.csr_array(hits), names))
    new = scipy.sparse.csr_array(random_hits(5, seed=1)[:2])
    order = [3, 1, 0, 4, 2]
    moved = Named(new[:, order], ["x", "y"], [names[k] for k in order])
    assert_allclose(
        similarity.transform(moved).toarray(), similarity.transform(new).toarray()
    )
    with pytest.raises(ValueError, match=r"no column for the training item 'e' \(1 "):
        similarity.transform(Named(new[:, :4], ["x", "y"], names[:4]))
    with pytest.raises(ValueError, match=r"X has 4 features, but .* 5 features"):
        similarity.transform(new[:, :4])
    with pytest.raises(ValueError, match="new items go to transform"):
        HitSimilarity().fit(new)
    with pytest.raises(ValueError, match=r"back must have the shape \(5, 2\)"):
        similarity.transform(new, back=new)


def test_no_hit_at_all():
    hits = random_hits(30, density=0.4)
    y = np.repeat(["a", "b"], [20, 10])
    model = HitClassifier(LogisticRegression(C=100.0), no_hit_label="none")
    model.fit(hits, y)
    new = hits[:4].copy()
    new[1] = 0.0
    assert_array_equal(model.has_hits(new), [True, False, True, True])
    labels = model.predict(new)
    assert labels[1] == "none"
    assert "none" not in labels[[0, 2, 3]]
    assert_allclose(model.predict_proba(new)[1], [2 / 3, 1 / 3])
    open_minded = clone(model).set_params(no_hit_label=None).fit(hits, y)
    assert set(open_minded.predict(new)) <= {"a", "b"}
    with pytest.raises(ValueError, match="no_hit_label='a' must be of the type"):
        clone(model).set_params(no_hit_label="a").fit(hits, y)


def test_any_classifier_on_rows():
    hits = random_hits(30, density=0.4)
    y = np.arange(30) % 2
    model = HitClassifier(LinearSVC()).fit(hits, y)
    K = HitSimilarity().fit_transform(hits)
    direct = LinearSVC().fit(K, y)
    assert_allclose(
        model.decision_function(hits),
        direct.decision_function(model.similarity_.transform(hits)),
    )
    assert not hasattr(model, "predict_proba")


def test_the_default_claims_nothing_that_can_be_checked():
    hits, y = random_hits(60, density=0.1), np.arange(60) % 3
    report = check_certificate(HitClassifier(C=3.0).fit(hits, y), hits, y)
    assert report.holds is None
    assert "LinearSVC" in report.text


def test_the_referee_judges_the_estimator_inside():
    hits = random_hits(40, density=0.2)
    y = np.arange(40) % 3
    model = HitClassifier(SpectrumSVC("clip")).fit(hits, y)
    report = check_certificate(model, hits, y)
    assert report.holds
    assert report.claimed.tolist() == model.estimator_.duality_gap_.tolist()


def test_new_items_of_a_table_with_training_items_in_it():
    hits = random_hits(12, density=0.5)
    names = [f"p{i}" for i in range(12)]
    train, new, other = np.arange(6), np.arange(6, 10), [10, 11]
    whole = Named(scipy.sparse.csr_array(hits), names)
    part = Named(scipy.sparse.csr_array(hits[np.ix_(train, train)]), names[:6])
    model = HitClassifier().fit(part, [0, 0, 1, 1, 1, 0])
    parts = model.similarity_.new_items(whole)
    assert parts["X"].names == names[6:]
    expected = HitSimilarity().fit_transform(whole).toarray()[6:, :6]
    assert_allclose(model.similarity_.transform(**parts).toarray(), expected)
    # In another order, without some training items, and without the others.
    order = [9, 3, 7, 0, 8, 6, 1]
    some = Named(
        scipy.sparse.csr_array(hits[np.ix_(order, order)]), [names[k] for k in order]
    )
    parts = model.similarity_.new_items(some)
    assert parts["X"].names == ["p9", "p7", "p8", "p6"]
    listed = model.similarity_.new_items(some, ["x", "p8"])
    assert model.has_hits(**listed).tolist() == [False, True]
    assert_allclose(
        model.similarity_.transform(**listed).toarray()[1],
        model.similarity_.transform(**parts).toarray()[2],
    )
    seen = np.zeros((4, 6))
    seen[:, [0, 1, 3]] = expected[np.ix_([3, 1, 2, 0], [0, 1, 3])]
    assert_allclose(model.similarity_.transform(**parts).toarray(), seen)
    again = model.similarity_.new_items(part)
    assert again["X"].names == names[:6]
    assert_array_equal(model.predict(**again), model.predict(hits[:6, :6]))
    assert len(other) + new.size == 6
    with pytest.raises(ValueError, match="the training items have no names"):
        HitSimilarity().fit(hits).new_items(whole)
