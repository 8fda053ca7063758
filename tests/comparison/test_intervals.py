"""Intervals of scores, and tests of what is no plain mean of hits."""

import json

import matplotlib as mpl
import numpy as np
import pytest
from scipy.stats import binomtest, poisson, ttest_1samp
from scipy.stats import t as student

from krein import compare
from krein.comparison.significance import (
    item_test,
    modified_wilson,
    rate_interval,
    rate_test,
    wilson,
)
from krein.report.data import Case
from krein.report.render import render
from tests.comparison.made_up import of_items

mpl.use("Agg")
ONE_FOLD = {"test_share": 0.25, "folds": 5.0}


@pytest.mark.parametrize(("right", "n"), [(0, 10), (7, 10), (10, 10), (95, 100)])
def test_wilson_against_scipy(right, n):
    expected = binomtest(right, n).proportion_ci(method="wilson")
    assert wilson(right / n, n) == pytest.approx((expected.low, expected.high))


def test_an_interval_over_items_is_wilson_for_fewer_items(rng):
    values = (rng.random(80) < 0.8).astype(float)
    low, high = rate_interval(values, **ONE_FOLD)
    assert (low, high) == pytest.approx(wilson(values.mean(), 80 / (1 + 1.25 / 3)))
    twins = np.repeat(np.arange(40), 2)
    grouped = rate_interval(values, groups=twins, **ONE_FOLD)
    assert grouped == pytest.approx(wilson(values.mean(), 40 / (1 + 1.25 / 3)))


@pytest.mark.parametrize(("errors", "longer"), [(0, False), (1, True), (3, True)])
def test_few_errors_make_an_interval_longer(errors, longer):
    """Brown, Cai and DasGupta: the mean with which so many are seen in 5 %."""
    low, high = modified_wilson(1.0 - errors / 60, 60)
    plain = wilson(1.0 - errors / 60, 60)
    assert low == plain[0]
    assert (high > plain[1]) == longer
    if longer:
        assert poisson.sf(errors - 1, 60 * (1.0 - high)) == pytest.approx(0.05)
    mirrored = modified_wilson(errors / 60, 60)
    assert mirrored == pytest.approx((1.0 - high, 1.0 - low))


@pytest.mark.parametrize(("errors", "longer"), [(3.49, True), (3.51, False)])
def test_more_than_three_errors_are_left_to_wilson(errors, longer):
    high = modified_wilson(1.0 - errors / 20, 20)[1]
    assert (high > wilson(1.0 - errors / 20, 20)[1]) == longer


def test_intervals_are_about_as_wide_as_they_have_to_be():
    """Of one data set after the other: neither nearly all nor too few hold the rate."""
    rng = np.random.default_rng(0)
    for n, rate in ((20, 0.98), (40, 0.7), (200, 0.9)):
        held = []
        for _ in range(400):
            low, high = rate_interval(rng.random(n) < rate, **ONE_FOLD)
            held.append(low <= rate <= high)
        assert 0.93 <= np.mean(held) <= 0.995


def test_classes_count_by_themselves():
    """Six rare items decide how wide the interval of a balanced accuracy is."""
    rare = np.arange(100) < 6
    low, high = rate_interval(np.ones(100), rare.astype(int), **ONE_FOLD)
    assert high == 1.0
    assert low < 0.8
    assert rate_interval(np.ones(100), **ONE_FOLD)[0] > 0.9


def test_where_all_is_right_there_is_a_width():
    comparison = of_items({"svc": np.ones(20), "clip": np.ones(20)})
    (row, _) = comparison.table()
    low, high = row["accuracy_interval"]
    assert high == row["accuracy"] == 1.0
    assert 0.6 < low < 0.9
    assert row["balanced_accuracy_interval"][0] < low + 0.1
    assert row["roc_auc_interval"][1] > row["roc_auc_interval"][0]


def test_a_single_split_has_no_interval(rng):
    X = rng.standard_normal((40, 3))
    fold = [(np.arange(20), np.arange(20, 40))]
    found = compare(X @ X.T, X[:, 0] > 0, methods=["clip", "neighbors"], cv=fold)
    for row in found.table():
        assert row["accuracy_interval"] is None
        assert row["log_loss_interval"] is None
    json.dumps(found.table())
    page = render([Case(found)])
    assert "there are no intervals" in page
    assert "95 % interval" not in page.split("<figure>")[1].split("</figure>")[0]
    assert len(found.plot().get_yticklabels()) == 2
    import matplotlib.pyplot as plt

    plt.close("all")


def test_log_losses_are_compared_item_by_item(rng):
    X = rng.standard_normal((50, 3))
    y = X[:, 0] + 0.5 * rng.standard_normal(50) > 0
    how = {"methods": ["clip", "logistic"], "cv": 5, "scoring": "neg_log_loss"}
    found = compare(X @ X.T, y, **how)
    assert found.by_items
    for method in ("clip", "logistic"):
        items = found.item_scores(method)
        assert items.mean() == pytest.approx(found.mean(method), abs=1e-5)
    assert found.p_value_against_free("clip") < 0.05
    assert found.recommendation.useful


@pytest.mark.parametrize("skill", [-0.5, 0.0, 0.6, 1.0, 1.5])
def test_the_test_over_items_is_a_t_test_with_more_variance(skill, rng):
    """Of overlapping training sets, which decide less where methods are good."""
    difference = rng.standard_normal(30) + 0.4
    mean, p = item_test(difference, **ONE_FOLD, skill=skill)
    inflation = 1.0 + 1.25 * 1.25 * (1.0 - 0.5 * np.clip(skill, 0.0, 1.0))
    statistic = ttest_1samp(difference, 0.0).statistic / np.sqrt(inflation)
    assert mean == pytest.approx(difference.mean())
    assert p == pytest.approx(2.0 * student.sf(abs(statistic), 29))


@pytest.mark.parametrize(("right", "shown"), [(26, False), (36, True)])
def test_more_often_than_by_chance(right, shown):
    """Of 50 items in two equal classes; the variance is that of guessing."""
    values = (np.arange(50) < right).astype(float)
    p = rate_test(values, 0.5, **ONE_FOLD)
    assert (p <= 0.05) == shown
    everything = rate_test(np.ones(50), 0.5, **ONE_FOLD)
    assert 0.0 < everything < 1e-4
    pairs = rate_test(values, 0.5, groups=np.repeat(np.arange(25), 2), **ONE_FOLD)
    assert pairs > p
