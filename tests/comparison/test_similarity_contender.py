"""The similarity model among the contenders: what it is given, and that it is kept."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from krein import (
    DistanceTransformer,
    Kernel,
    SimilarityClassifier,
    SimilarityRegressor,
    compare,
)
from krein.comparison.contenders import CONTENDERS, TASKS
from krein.comparison.recommendation import default_method


@pytest.fixture
def points(rng):
    X = rng.standard_normal((50, 3))
    y = (np.abs(X).sum(axis=1) > 2.2).astype(int)
    return X, y


def halves(n):
    rows = np.arange(n)
    return [(rows[rows % 2 == f], rows[rows % 2 != f]) for f in (0, 1)]


@pytest.mark.parametrize("how", ["kind", "conversion", "kernel"])
def test_it_is_given_distances_where_there_are_any(how, points, rng):
    X, y = points
    D, items, kernel = cdist(X, X), X, "precomputed"
    given = {
        "kind": {"kind": "distance"},
        "conversion": {"conversion": DistanceTransformer("gaussian")},
        "kernel": {},
    }[how]
    data = D
    if how == "kernel":
        items = ["".join(rng.choice(list("ab" if k else "bc"), 6)) for k in y]
        data, kernel = items, "edit"
        D = Kernel("edit").facts.distance(items, items)
    methods = ["similarity", "clip"]
    found = compare(data, y, kernel, methods, cv=halves(50), **given)
    expected = []
    for train, test in halves(50):
        model = SimilarityClassifier(kind="distance", random_state=0)
        model.fit(D[np.ix_(train, train)], y[train])
        expected.append(model.score(D[np.ix_(test, train)], y[test]))
    assert found.scores("similarity").tolist() == pytest.approx(expected)
    best = found.fit_best()
    if found.best == "similarity":
        assert best.predict(data).shape == (50,)


def test_similarities_are_given_as_they_are(points):
    X, y = points
    K = X @ X.T
    found = compare(K, y, methods=["similarity", "svc"], cv=halves(50))
    train, test = halves(50)[0]
    model = SimilarityClassifier(random_state=0).fit(K[np.ix_(train, train)], y[train])
    assert len(model.ranking_) == 1
    score = model.score(K[np.ix_(test, train)], y[test])
    assert found.scores("similarity")[0] == pytest.approx(score)


@pytest.mark.parametrize("settled", ["on all items", "on training items"])
def test_a_kernel_on_items_tells_how_similar_items_are_to_themselves(settled, points):
    """The comparison measures the very model that is fitted at its end."""
    X, y = points
    kernel = Kernel("poly", degree=2, gamma=0.5)
    if settled == "on training items":
        kernel = Kernel("sigmoid", gamma="scale")
    found = compare(X, y, kernel, ["similarity", "svc"], cv=halves(50))
    expected = []
    for train, test in halves(50):
        model = SimilarityClassifier(kernel, random_state=0).fit(X[train], y[train])
        assert len(model.ranking_) == 6
        expected.append(model.score(X[test], y[test]))
    assert found.scores("similarity").tolist() == pytest.approx(expected)


def test_groups_stay_together_inside(points):
    X, y = points
    groups = np.arange(50) // 2
    methods = ["similarity", "neighbors"]
    found = compare(
        cdist(X, X), y, methods=methods, kind="distance", cv=3, groups=groups
    )
    assert not found.failed
    assert "similarity" in found.ranking


def test_it_is_kept_unless_something_beats_it():
    for indefinite in (False, True):
        ran = ["svc", "clip", "average", "similarity"]
        assert default_method(ran, indefinite=indefinite) == "similarity"
        assert default_method(ran[:3], indefinite=indefinite) == "average"


def test_it_chooses_by_itself():
    for task, kind in (
        ("classification", SimilarityClassifier),
        ("regression", SimilarityRegressor),
    ):
        contender = TASKS[task].methods["similarity"]
        assert contender.searches
        assert isinstance(contender.build(), kind)
    assert CONTENDERS["average"].searches
    assert not CONTENDERS["clip"].searches
    assert not TASKS["regression"].methods["mean"].searches
