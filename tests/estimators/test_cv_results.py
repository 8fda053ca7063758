"""Every ...CV class reports a search in the words of GridSearchCV."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from krein import (
    CPDSVCCV,
    KreinLogisticRegressionCV,
    ProxySVCCV,
    SpectrumSVC,
    SpectrumSVCCV,
    SpectrumSVRCV,
    compare,
)
from krein.selection.folds import cv_folds, inner_folds, rare_classes
from krein.selection.scores import cv_results
from krein.similarity.matrix import Similarities
from krein.training import Classes, Training, votes_of_pairs

SEARCHES = [
    SpectrumSVCCV([0.1, 1.0, 10.0], fixes=["clip", "flip"]),
    SpectrumSVCCV([0.1, 1.0, 10.0], fixes=["clip", "flip"], combine="best"),
    SpectrumSVRCV([0.1, 1.0, 10.0], fixes=["clip", "flip"]),
    ProxySVCCV([1.0, 10.0], rhos=[1.0, 100.0]),
    KreinLogisticRegressionCV([0.1, 1.0]),
    CPDSVCCV([0.1, 1.0], kernel="precomputed"),
]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    K = np.exp(-0.2 * np.sum((X[:, None] - X) ** 2, axis=2))
    return K, (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("model", SEARCHES, ids=lambda m: type(m).__name__)
def test_the_words_are_those_of_grid_search(model, data):
    K, y = data
    model.set_params(cv=3).fit(K, y)
    theirs = GridSearchCV(SpectrumSVC(), {"C": [1.0]}, cv=3).fit(K, y)
    wanted = {name for name in theirs.cv_results_ if "test_score" in name}
    assert wanted | {"params"} <= set(model.cv_results_)
    table = model.cv_results_
    scores = np.array([table[f"split{f}_test_score"] for f in range(3)])
    np.testing.assert_allclose(table["mean_test_score"], scores.mean(axis=0))
    np.testing.assert_allclose(table["std_test_score"], scores.std(axis=0))
    assert table["rank_test_score"][model.best_index_] == 1
    assert model.best_score_ == table["mean_test_score"][model.best_index_]
    for name, value in table["params"][0].items():
        assert table[f"param_{name}"][0] == value
    assert set(table["params"][0]) <= set(model.best_params_)


@pytest.mark.parametrize(
    ("model", "name", "expected"),
    [
        (ProxySVCCV([1.0], rhos=[2.0], cv=2), "C_", 1.0),
        (ProxySVCCV([1.0], rhos=[2.0], cv=2), "rho_", 2.0),
        (KreinLogisticRegressionCV([0.5], cv=2), "best_alpha_", 0.5),
        (CPDSVCCV([0.5], kernel="precomputed", cv=2), "best_alpha_", 0.5),
    ],
)
def test_older_names_still_answer(model, name, expected, data):
    assert not hasattr(model, name)
    model.fit(*data)
    with pytest.warns(FutureWarning, match=rf"{name} is deprecated; use best_params_"):
        assert getattr(model, name) == expected
    with pytest.warns(FutureWarning, match="scores_ is deprecated"):
        assert model.scores_.shape[-1] == 2


def test_rare_classes_are_trained_on_and_not_tested():
    codes = np.array([0] * 6 + [1] * 5 + [2])
    with pytest.warns(UserWarning, match="1 of 3 classes have one sample"):
        folds = inner_folds(codes, 0, "a search")
    assert len(folds) == 5
    assert all(11 in train and 11 not in test for train, test in folds)
    tested = np.sort(np.concatenate([test for _, test in folds]))
    np.testing.assert_array_equal(tested, np.arange(11))
    np.testing.assert_array_equal(rare_classes(codes), [False, False, True])


def test_a_class_of_one_sample_does_not_end_a_search(data):
    K, y = data
    y = y.copy()
    y[0] = 7
    for model in (SpectrumSVCCV([1.0], fixes=["clip"]), SpectrumSVC(probability=True)):
        with pytest.warns(UserWarning, match="have one sample"):
            model.fit(K, y)
        assert 7 in model.classes_
        assert np.isfinite(model.predict_proba(K)).all()


def test_one_rule_of_folds(data):
    """Stratified and shuffled by the seed, whoever asks."""
    K, y = data
    training, target = Training(Similarities(K), None, None, 40), Classes(y, 2)
    model = SpectrumSVCCV(cv=4, random_state=3)
    expected = StratifiedKFold(4, shuffle=True, random_state=3).split(K, y)
    for found, wanted in zip(cv_folds(model, training, target), expected, strict=True):
        for ours, theirs in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "model",
    [
        SpectrumSVCCV([1.0, 10.0], fixes=["clip"], scoring="roc_auc"),
        ProxySVCCV([1.0, 10.0], rhos=[1.0], scoring="roc_auc"),
        KreinLogisticRegressionCV([0.1, 1.0], scoring="roc_auc"),
    ],
    ids=lambda m: type(m).__name__,
)
def test_scores_that_are_not_defined_in_a_fold(model, data):
    K, y = data
    order = np.argsort(y, kind="stable")
    one_class, rest = order[:8], order[8:]
    mixed = [(np.delete(order, np.arange(i, 40, 4)), order[i::4]) for i in range(2)]
    undefined = (rest, one_class)  # one class in the test part
    with pytest.warns(UserWarning, match="not defined on 1 of 3 folds"):
        model.set_params(cv=[*mixed, undefined]).fit(K, y)
    assert np.isfinite(model.best_score_)
    with pytest.raises(ValueError, match="the score is not defined on any fold"):
        model.set_params(cv=[undefined]).fit(K, y)


def test_the_search_of_compare_is_that_of_the_class(data):
    """The same candidates, in units of the fixed kernel."""
    K, y = data
    found = compare(K, y, methods=["flip"], cv=[(np.arange(30), np.arange(30, 40))])
    part = K[:30, :30]
    training, target = Training(Similarities(part), None, None, 30), Classes(y[:30], 2)
    grid = SpectrumSVC("flip").grid(training, target)
    assert found.records[0]["params"] in grid
    scaled = Training(Similarities(8.0 * part), None, None, 30)
    for one, other in zip(grid, SpectrumSVC("flip").grid(scaled, target), strict=True):
        assert one["C"] == pytest.approx(8.0 * other["C"])


def test_votes_of_pairs_break_ties_by_the_sum_of_values():
    # Three classes, each with one vote: pairs (0, 1), (0, 2), (1, 2).
    values = np.array([[1.0, -1.0, 0.5], [1.0, -1.0, 2.0], [0.1, -3.0, 0.2]])
    votes = votes_of_pairs(values, 3)
    np.testing.assert_array_equal(np.round(votes), 1.0)
    np.testing.assert_array_equal(votes.argmax(axis=1), [1, 2, 0])
    clear = votes_of_pairs(np.array([[9.0, 9.0, -0.1]]), 3)
    assert clear.argmax() == 1


@pytest.mark.parametrize("unit", [1e-14, 1.0, 1e14])
def test_ranks_do_not_depend_on_the_unit_of_the_scores(unit):
    grid = [{"C": C} for C in (1.0, 2.0, 3.0, 4.0)]
    scores = unit * np.array([[-2.0], [-1.0], [-1.0 - 1e-14], [np.nan]])
    assert cv_results(grid, scores)["rank_test_score"].tolist() == [3, 1, 1, 4]
