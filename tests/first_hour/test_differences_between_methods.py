"""Which differences between methods are told apart, and in which words."""

import numpy as np
import pytest

from krein.comparison.comparison import Comparison
from krein.comparison.problem import make_problem
from krein.comparison.significance import item_test
from tests.first_hour.folder import NAMES, N, here, points, run, similarity, square  # noqa: F401


def answers(n, only_first, only_second, both):
    """Predictions of two methods on n items of one class out of two."""
    right = np.zeros((2, n), dtype=bool)
    right[0, : only_first + both] = True
    right[1, only_first : only_first + both + only_second] = True
    return right


def test_the_case_of_the_issue_is_told():
    """52 items are right only by one method and 8 only by the other, of 300."""
    first, second = answers(300, 52, 8, 228)
    gain, p = item_test(first * 1.0 - second, test_share=0.25, folds=5)
    assert gain == pytest.approx(44 / 300)
    assert p < 0.001


def test_twenty_points_on_sixty_items_are_told():
    """0.92 against 0.72: a tie if both methods were hardly better than chance."""
    first, second = answers(60, 15, 3, 40)
    difference, how = first * 1.0 - second, {"test_share": 0.25, "folds": 5}
    skill = np.mean([first, second]) * 2 - 1
    assert item_test(difference, **how, skill=skill)[1] < 0.05
    assert item_test(difference, **how)[1] > 0.05


def test_the_test_over_items_decides(rng):
    y = np.tile([0, 1], 150)
    problem = make_problem(np.eye(300), y)
    order = rng.permutation(300)
    folds = [np.sort(order[k::5]) for k in range(5)]
    splits = [(np.setdiff1d(np.arange(300), test), test) for test in folds]
    right = dict(zip(("flip", "svc"), answers(300, 52, 8, 228), strict=True))
    mixed = rng.permutation(300)
    records = [
        {
            "method": method,
            "split": s,
            "params": {},
            "scores": {
                **dict.fromkeys(("balanced_accuracy", "neg_log_loss", "roc_auc"), 0.5),
                "accuracy": float(right[method][mixed][test].mean()),
            },
            "fit_seconds": 0.1,
            "predict_seconds": 0.1,
            "search_seconds": 0.1,
            "converged": True,
            "predicted": np.where(right[method][mixed], y, 1 - y)[test].tolist(),
        }
        for method in right
        for s, (_, test) in enumerate(splits)
    ]
    found = Comparison(tuple(records), tuple(right), "accuracy", problem, tuple(splits))
    assert found.by_items
    assert found.recommendation.clear
    assert "No clear winner" not in str(found)
    row = found.table()[1]
    assert row["p_value"] < 0.001
    assert "p" in {column.title for column in found.columns}


def test_ties_are_seldom_told_apart():
    """Two learners of the same kind on features of the same distribution."""
    rng = np.random.default_rng(1)
    told = 0
    for _ in range(200):
        y = rng.permutation(np.repeat([-1, 1], 40))
        right = np.zeros((2, 80))
        blocks = rng.standard_normal((2, 80, 4)) + 0.5 * y[:, None] * np.eye(4)[0]
        order = rng.permutation(80)
        for k in range(5):
            test, train = order[k::5], np.setdiff1d(order, order[k::5])
            for m, X in enumerate(blocks):
                w = X[train].T @ y[train]
                right[m, test] = np.sign(X[test] @ w) == y[test]
        told += item_test(right[0] - right[1], test_share=0.25, folds=5)[1] <= 0.05
    assert told <= 10


def test_items_of_a_group_are_one_unit(rng):
    difference = rng.choice([-1.0, 0.0, 1.0], 40, p=[0.1, 0.4, 0.5])
    alone = item_test(difference, test_share=0.25, folds=5)[1]
    twice = item_test(np.repeat(difference, 2), test_share=0.25, folds=5)[1]
    groups = np.repeat(np.arange(40), 2)
    grouped = item_test(
        np.repeat(difference, 2), groups=groups, test_share=0.25, folds=5
    )[1]
    assert twice < alone
    assert grouped == pytest.approx(alone)


def test_words_follow_the_p_value():
    from krein.diagnostics.advice import advise
    from krein.diagnostics.facts import NegativePart

    for p, words in ((0.015, "a hint of a relation"), (0.4, "no relation")):
        part = NegativePart("unclear", label_p_value=p)
        line = advise("indefinite", part, None, [])[0]
        assert words in line
