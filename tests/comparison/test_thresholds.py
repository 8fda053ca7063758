"""Every threshold of judgement, on both of its sides.

What is not here has its test beside what it decides: 1.5 standard errors and uneven
classes in `test_compare`, half a minute and an hour in `test_estimate`, few errors in
`test_intervals`.
"""

import numpy as np
import pytest

from krein.comparison import comparison as comparisons
from krein.comparison import estimate
from krein.comparison.baselines import free_scores
from krein.comparison.columns import COLUMNS
from krein.comparison.contenders import CONTENDERS
from krein.comparison.evaluation import ContenderSearch
from krein.comparison.text_table import shorten
from krein.training import Classes
from krein.verdicts import sentences
from krein.verdicts.reasons import Baseline, Fix, SpectrumFix, Standing, Verdict, Why
from tests.comparison.made_up import OverSplits, made_up

BOTH_SIDES = [(0.05, True), (0.0501, False)]


@pytest.fixture
def tested_at(monkeypatch):
    """Set the p-value of every pair, and of the test against a free answer."""

    def set_to(between=1.0, against_free=0.0):
        monkeypatch.setattr(OverSplits, "p_value", lambda self, a, b: between)
        monkeypatch.setattr(
            OverSplits, "p_value_against_free", lambda self, method: against_free
        )

    return set_to


def fix_of(comparison):
    reasons = comparison.recommendation.reasons
    return next(r.outcome for r in reasons if isinstance(r, SpectrumFix))


# ------------------------------------------------------------------- the level of 0.05


@pytest.mark.parametrize(("p", "apart"), BOTH_SIDES)
def test_two_are_told_apart_up_to_the_level(p, apart, tested_at):
    tested_at(between=p)
    answer = made_up({"clip": np.full(10, 0.9), "krein": np.full(10, 0.8)})
    assert (answer.recommendation.verdict is Verdict.CLEAR) == apart
    assert ("krein" not in answer.recommendation.equals) == apart


@pytest.mark.parametrize(("p", "shown"), BOTH_SIDES)
def test_that_something_was_learnt_is_shown_up_to_the_level(p, shown, tested_at):
    tested_at(against_free=p)
    found = made_up({"clip": np.full(10, 0.9), "krein": np.full(10, 0.8)})
    assert found.recommendation.useful == shown
    assert (found.recommendation.verdict is Verdict.NOT_SHOWN) == (not shown)


@pytest.mark.parametrize(("p", "matters"), BOTH_SIDES)
def test_the_fix_matters_up_to_the_level(p, matters, tested_at):
    tested_at(between=p)
    better = made_up({"svc": np.full(10, 0.8), "clip": np.full(10, 0.9)})
    assert (fix_of(better) is Fix.MATTERS) == matters
    worse = made_up({"svc": np.full(10, 0.9), "clip": np.full(10, 0.8)})
    assert (fix_of(worse) is Fix.RAW_IS_BETTER) == matters


@pytest.mark.parametrize(("p", "taken"), BOTH_SIDES)
def test_what_is_higher_is_taken_up_to_the_level(p, taken, tested_at):
    """Although it is higher by less than 1.5 standard errors."""
    tested_at(between=p)
    rough = 0.85 + 0.3 * np.tile([1.0, -1.0], 5)
    found = made_up({"average": np.full(10, 0.84), "krein": rough})
    assert (found.recommendation.contender == "krein") == taken


@pytest.mark.parametrize(("gain", "learnt"), [(0.0, False), (1e-6, True)])
def test_what_is_not_above_a_free_answer_learnt_nothing(gain, learnt, tested_at):
    tested_at()
    found = made_up({"clip": np.full(10, 0.5 + gain)})
    assert (found.recommendation.verdict is Verdict.NOTHING_LEARNT) == (not learnt)


# ----------------------------------------------------------- splits, items and classes


@pytest.mark.parametrize(("splits", "can"), [(4, False), (5, True)])
def test_five_splits_can_tell_two_apart(splits, can):
    scores = {"clip": np.full(splits, 0.9), "krein": np.full(splits, 0.6)}
    found = made_up(scores)
    assert found.can_differ == can
    assert (found.recommendation.verdict is Verdict.TOO_FEW_SPLITS) == (not can)
    titles = [column.title for column in found.columns]
    assert ("p" in titles) == can


@pytest.mark.parametrize(("spread", "clear"), [(0.0, True), (0.4, False)])
def test_scores_differ_beyond_one_standard_error(spread, clear, tested_at):
    """Equal at the level of the test: a difference is still said if there is one."""
    tested_at(between=1.0)
    rough = 0.85 + spread * np.tile([1.0, -1.0], 5)
    found = made_up({"average": np.full(10, 0.9), "krein": rough})
    assert (found.recommendation.verdict is Verdict.NO_CLEAR_WINNER) == clear
    raw = 0.85 + spread * np.tile([1.0, -1.0], 5)
    fixed = made_up({"svc": raw, "clip": np.full(10, 0.9)})
    assert (fix_of(fixed) is Fix.UNSURE) == clear


@pytest.mark.parametrize(("most", "known"), [(100, True), (99, False)])
def test_of_very_many_items_eigenvalues_are_not_computed(most, known, monkeypatch):
    """The 100 items are positive semidefinite; unknown counts as indefinite."""
    monkeypatch.setattr(comparisons, "_EXACT_UP_TO", most)
    found = made_up({"clip": np.full(10, 0.9)}, smallest=0.0)
    assert found.indefinite == (not known)


@pytest.mark.parametrize(("classes", "tried"), [(2, False), (20, True), (21, False)])
def test_pairs_of_up_to_twenty_classes_are_tried(classes, tried):
    target = Classes(np.arange(3 * classes) % classes, classes)
    search = ContenderSearch(CONTENDERS["clip"], target, [], "accuracy")
    assert search._tries_pairs(np.eye(3)) == tried


@pytest.mark.parametrize(("largest", "drawn"), [(52, 2), (51, 1)])
def test_baselines_two_points_apart_are_two(largest, drawn):
    codes = (np.arange(100) >= largest).astype(int)
    assert len(free_scores("accuracy", codes)) == drawn


@pytest.mark.parametrize(("items", "asked"), [(2000, False), (2001, True)])
def test_of_many_items_an_estimate_comes_first(items, asked, monkeypatch):
    calls = []
    monkeypatch.setattr(estimate, "least_seconds", lambda *a: calls.append(a) or 1.0)
    how = {"n_splits": 10, "n_contenders": 3, "n_jobs": None, "dense": True}
    with estimate.watched(False, n=items, **how):
        pass
    assert bool(calls) == asked


# -------------------------------------------------------------------- words and lengths


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (0.0499, "0.05"),
        (0.05, "0.05"),
        (0.0502, "0.0502"),
        (0.05004, "0.05004"),
        (0.0512, "0.051"),
        (1.0, "1"),
        (0.0023, "0.0023"),
    ],
)
def test_a_p_value_above_the_level_is_not_shown_as_the_level(p, words):
    assert sentences.p_value_in_words(p) == words
    column = next(c for c in COLUMNS if c.key == "p_value")
    assert column.show({"p_value": p}) == words


@pytest.mark.parametrize(("number", "named"), [(3, "a, b and c"), (4, "1 more")])
def test_three_contenders_are_named(number, named):
    assert sentences._listed(list("abcd"[:number])).endswith(named)


@pytest.mark.parametrize(("words", "fits"), [(9, True), (10, False)])
def test_a_headline_has_at_most_fifteen_words(words, fits):
    """Six words are there already: those of the answer and of what stands beside."""
    title = " ".join(["word"] * words)
    standing = Standing("clip", "accuracy", 0.9, 10, 1, Why.HIGHEST)
    baseline = Baseline("largest class", 0.5, 0.01)
    made = (Verdict.CLEAR, (standing, baseline), lambda name: title)
    text = sentences.headline(*made)
    assert text.startswith(f"Use {title}: accuracy 0.900")
    assert ("largest class" in text) == fits
    assert len(text.split()) <= 15


@pytest.mark.parametrize(("most", "whole"), [(11, True), (10, False)])
def test_what_is_too_long_is_cut_between_lines(most, whole):
    lines = ["12345", "67890"]  # eleven characters with the end of the first line
    text = shorten(lines, most)
    assert (text == "12345\n67890") == whole
    assert ("more lines" in text) == (not whole)
