"""Whether numbers are classes or values to be predicted, around each threshold."""

import numpy as np
import pytest

from krein import SimilarityRegressor, SpectrumSVC, compare, diagnose
from krein.numbers_or_classes import is_continuous

RNG = np.random.default_rng(0)


def repeated(numbers, times):
    return np.repeat(numbers, times)


AGES = RNG.integers(18, 76, 220)


@pytest.mark.parametrize(
    ("y", "are_values"),
    [
        ([6.5, 7.0, 7.5, 7.0], True),  # pH: numbers with decimals, however few
        ([1.0, 2.0, 1.0, 2.0], False),
        (["6.5", "7.0"], False),  # text
        ([True, False], False),
        ([1.5, np.nan], False),
        (AGES, True),
        (repeated(np.arange(3, 13), 2)[:19], False),  # ten different ones
        (repeated(np.arange(3, 14), 2)[:21], True),  # eleven
        (np.arange(100, 140), False),  # a number for each item
        (3 * np.arange(40), True),
        (repeated(range(40), 10), False),  # codes of classes
        (np.r_[repeated(range(1, 31), 4), [1, 1]], False),  # codes without a gap
        (np.r_[repeated(range(2, 32), 4), [2, 2]], True),  # do not begin at 0 or 1
        (np.r_[repeated(range(0, 60, 2), 4), [0, 0]], True),  # have gaps
        (repeated(range(1000, 1090, 3), 4), False),  # each as often: codes of persons
        (np.r_[repeated(range(2, 32), 5), [2, 2]], False),  # five of each and more
        (np.r_[repeated(range(30), 2), [0, 0]], True),  # two of each, whatever they are
        (np.r_[repeated(range(30), 3), [0, 0]], False),
    ],
)
def test_what_numbers_are(y, are_values):
    assert is_continuous(y) == are_values


def test_one_rule_for_all_who_ask():
    X = RNG.standard_normal((60, 2))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    y = np.round(2 * X[:, 0]) / 2  # a few numbers with decimals
    assert compare(K, y, methods=["ridge"], cv=2).task == "regression"
    keys = [finding.key for finding in diagnose(K, y).findings]
    assert "regression-target" in keys
    with pytest.raises(ValueError, match="continuous"):
        SpectrumSVC().fit(K, y)


@pytest.mark.parametrize("kind", ["similarity", "distance"])
def test_the_line_that_repairs_fits_numbers(kind):
    x = RNG.standard_normal(40)
    D = np.abs(np.subtract.outer(x, x))
    K = D if kind == "distance" else np.exp(-D)
    found = diagnose(K, np.round(x, 1), kind=kind).findings
    (line,) = [f.python for f in found if f.key == "regression-target"]
    scope = {"SimilarityRegressor": SimilarityRegressor, "K": K, "y": np.round(x, 1)}
    assert eval(line, scope).score(K, x) > 0.9


def test_a_task_that_is_told_is_the_task():
    X = RNG.standard_normal((40, 2))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    y = RNG.integers(0, 8, 40)
    keys = [f.key for f in diagnose(K, y, task="classification").findings]
    assert "small-class" in keys
    keys = [f.key for f in diagnose(K, y, task="regression").findings]
    assert "small-class" not in keys
    assert "labels-unrelated" not in keys
    with pytest.raises(ValueError, match="task must be 'classification'"):
        diagnose(K, y, task="ranking")
