"""Verdicts are records; every sentence about them comes from one module."""

import html
import json
from dataclasses import replace

import numpy as np
import pytest

from krein import compare, sigmoid_kernel, write_matrix
from krein.cli import main
from krein.comparison.kernel_comparison import KernelComparison
from krein.report.data import Case, headline
from krein.report.render import render
from krein.verdicts import sentences
from krein.verdicts.reasons import Baseline, Fix, Higher, SpectrumFix, Verdict
from tests.comparison.made_up import made_up, of_items

N = 200


@pytest.fixture
def reworded(monkeypatch):
    """Every sentence in other words: its key, and what it is filled with."""
    plain = dict(sentences.SENTENCES)
    marked = {key: f"<<{key}>> {text.upper()}" for key, text in plain.items()}
    lower = {key: _with_lower_fields(text) for key, text in marked.items()}
    monkeypatch.setattr(sentences, "SENTENCES", lower)
    return plain


def _with_lower_fields(text):
    parts = text.split("{")
    fields = [part.split("}", 1) for part in parts[1:]]
    return parts[0] + "".join(f"{{{name.lower()}}}{rest}" for name, rest in fields)


def hits(share, shift=0):
    """The same share of right answers in both classes."""
    places = (np.arange(N) // 2 + shift) % (N // 2)
    return places < share * N // 2


def noisy(mean, spread=0.05):
    return mean + spread * np.tile([1.0, -1.0], 5)


EVEN = np.full(10, 0.9)
FEW = {"average": np.array([0.8, 0.9, 0.7]), "flip": np.array([0.9, 0.8, 0.9])}
OVER_SPLITS = {
    "unsure fix": {"svc": noisy(0.75, 0.3), "flip": np.full(10, 0.95)},
    "few": FEW,
    "beats the default": {
        "average": noisy(0.8, 0.001),
        "svc": noisy(0.84, 0.002),
        "features": noisy(0.85, 0.3),
    },
    "simplest": {"krein": noisy(0.9), "neighbors": noisy(0.899, 0.06)},
    "default unsure": {"average": noisy(0.85, 0.15), "flip": np.full(10, 0.95)},
    "best unsure": {"average": np.full(10, 0.95), "flip": noisy(0.85, 0.15)},
}
OVER_ITEMS = {
    "clear": {"svc": hits(0.5), "clip": hits(0.9)},
    "raw": {"svc": hits(0.9), "clip": hits(0.5), "flip": hits(0.5)},
    "equal": {"svc": hits(0.8), "clip": hits(0.8), "flip": hits(0.3)},
    "all equal": {"average": hits(0.8), "clip": hits(0.8), "svc": hits(0.8)},
    "higher": {"average": hits(0.8), "flip": hits(0.82), "svc": hits(0.3)},
    "many higher": {
        "average": hits(0.8),
        "flip": hits(0.82),
        "square": hits(0.81),
        "krein": hits(0.81),
        "proxy": hits(0.8),
        "svc": hits(0.2),
    },
    "not shown": {"clip": hits(0.53)},
    "nothing": {"clip": hits(0.45)},
}
CASES = [*OVER_SPLITS, *OVER_ITEMS, "definite", "one", "one split", "nothing, matched"]


def comparison_of(case):
    """One of the comparisons that need every sentence."""
    if case == "definite":
        return made_up({"svc": EVEN, "clip": EVEN}, smallest=0.0)
    if case == "one":
        return made_up({"clip": EVEN}, failed=["flip"])
    if case == "nothing, matched":
        found = of_items(OVER_ITEMS["nothing"])
        return replace(found, problem=replace(found.problem, labels_matched=True))
    if case == "one split":
        found = made_up(FEW)
        first = [record for record in found.records if record["split"] == 0]
        return replace(found, records=tuple(first), splits=found.splits[:1])
    if case in OVER_SPLITS:
        return made_up(OVER_SPLITS[case])
    return of_items(OVER_ITEMS[case])


def all_words(comparison):
    """What str(), the headline and the notes say."""
    notes = f"{comparison.about_p} {comparison.about_intervals} {comparison.about_best}"
    return f"{comparison} {headline(comparison, '')} {notes}"


def test_every_sentence_is_used_and_says_what_it_is_told_to(reworded):
    found = {case: comparison_of(case) for case in CASES}
    text = " ".join(map(all_words, found.values()))
    for kernels in (("clear", "raw"), ("clear", "nothing")):
        several = KernelComparison({kernel: found[kernel] for kernel in kernels})
        text += f"{several} {headline(found['clear'], 'edit')} {several.about_p}"
    used = {key for key in reworded if f"<<{key}>>" in text}
    of_commands = {
        "left out",
        "nothing completed",
        "saved, nothing learnt",
        "saved, not shown",
    }
    of_the_demo = {"demo, fix", "demo, nothing to fix"}
    of_the_page = {"fed"}
    assert set(reworded) - used == of_commands | of_the_demo | of_the_page


@pytest.mark.parametrize("case", ["equal", "higher", "few", "one", "nothing"])
def test_the_page_says_what_str_says(case, reworded):
    comparison = comparison_of(case)
    page = html.unescape(render([Case(comparison)]))
    text = comparison.recommendation.in_words(below_headline=True)
    assert text in page
    said = headline(comparison, "")
    assert said in page
    assert "<<" in said
    if comparison.failed:
        assert "<<left out>> FLIP" not in page
        assert "<<left out>> flip" in page


def test_terminal_json_and_page_follow(reworded, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((40, 3))
    names = [f"i{k}" for k in range(40)]
    write_matrix("K.csv", sigmoid_kernel(X), names=names)
    rows = [
        f"{name},{'ab'[int(x > 0)]}" for name, x in zip(names, X[:, 0], strict=True)
    ]
    (tmp_path / "y.csv").write_text("\n".join(["name,kind", *rows]))
    words = "compare K.csv --labels y.csv --methods average,svc,clip --folds 5 --quiet"
    assert main([*words.split(), "--html", "page.html", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(words.split()) == 0
    shown = capsys.readouterr().out
    page = html.unescape((tmp_path / "page.html").read_text("utf-8"))
    mark = f"<<{found['verdict']}>>"
    for text in (found["recommendation"], shown, page):
        assert mark in text or "<<headline>>" in text
    assert found["recommendation"] in shown
    assert "average (Average of spectrum SVMs)" in shown
    assert found["about_p"].startswith("<<p, items>>")
    assert found["about_p"] in page


# ------------------------------------------------------------------------- the records


def reason(comparison, kind):
    kinds = comparison.recommendation.reasons
    return next((r for r in kinds if isinstance(r, kind)), None)


@pytest.mark.parametrize(
    ("case", "verdict"),
    [
        ("clear", Verdict.CLEAR),
        ("equal", Verdict.NOT_TOLD_APART),
        ("unsure fix", Verdict.NO_CLEAR_WINNER),
        ("few", Verdict.TOO_FEW_SPLITS),
        ("one", Verdict.ONLY_ONE),
        ("not shown", Verdict.NOT_SHOWN),
        ("nothing", Verdict.NOTHING_LEARNT),
    ],
)
def test_verdicts(case, verdict):
    answer = comparison_of(case).recommendation
    assert answer.verdict is verdict
    assert answer.useful == (verdict not in (Verdict.NOT_SHOWN, Verdict.NOTHING_LEARNT))
    assert json.loads(json.dumps(answer.to_dict()))["verdict"] == str(verdict)


def test_the_numbers_of_a_sentence_are_those_of_the_table():
    comparison = comparison_of("many higher")
    rows = {row["method"]: row for row in comparison.table()}
    higher = reason(comparison, Higher)
    assert higher.contender == "flip"
    assert higher.number == 3
    assert higher.p_value == rows["flip"]["p_value"]
    assert higher.mean == rows["flip"]["accuracy"]
    assert rows["average"]["p_value"] == 1.0
    assert f"p = {higher.p_value:.2g})" in comparison.recommendation.text


def test_raw_against_a_fix_has_one_p_value():
    """That of the table, where the fixed matrix is recommended."""
    comparison = comparison_of("clear")
    fix = reason(comparison, SpectrumFix)
    assert (fix.outcome, fix.fixed) == (Fix.MATTERS, "clip")
    rows = {row["method"]: row for row in comparison.table()}
    assert fix.p_value == rows["svc"]["p_value"]


def test_the_fix_is_judged_by_clip_and_flip_only():
    """The average is higher than all three, which are equal: the fix does nothing."""
    same = {method: hits(0.7) for method in ("svc", "clip", "flip")}
    comparison = of_items({"average": hits(0.95), **same})
    assert comparison.recommendation.clear
    assert reason(comparison, SpectrumFix).outcome is Fix.NO_DIFFERENCE
    del same["clip"], same["flip"]
    without = of_items({"average": hits(0.95), **same})
    assert reason(without, SpectrumFix) is None


def test_what_a_test_tells_from_the_default_is_recommended():
    """Although it is not higher by 1.5 standard errors over splits."""
    right = {"average": hits(0.7), "flip": hits(0.9)}
    assert of_items(right).recommendation.contender == "flip"


def test_sentences_about_one_split_and_about_the_best():
    """The same method is not named twice, and one split is no plural."""
    best = comparison_of("best unsure").recommendation.text
    assert best.endswith("cannot tell it from any other method. Use it.")
    other = comparison_of("default unsure").recommendation.text
    assert "cannot tell Average of spectrum SVMs from any other method. Use" in other
    one = comparison_of("one split").recommendation.text
    assert one.startswith("Nothing can be tested on one split: ")


@pytest.mark.parametrize(
    ("scoring", "does"),
    [
        ("accuracy", "always naming the largest class has 0.500"),
        ("neg_log_loss", "naming the shares of the classes has 0.693"),
        ("roc_auc", "guessing has 0.500"),
    ],
)
def test_an_answer_that_costs_nothing_is_described(scoring, does, rng):
    X = rng.standard_normal((40, 3))
    how = {"methods": ["clip"], "cv": 5, "scoring": scoring}
    found = compare(X @ X.T, np.arange(40) % 2, **how)
    assert not found.recommendation.useful
    assert does in found.recommendation.text


def test_a_lower_loss_is_not_called_higher(rng):
    """Words that fit scores and losses alike."""
    plain = " ".join(map(str, sentences.SENTENCES.values()))
    assert "higher" not in plain
    assert "highest" not in plain


def test_what_is_corrected_is_not_better_than_the_best(rng):
    """R^2 of all items is not the mean over splits, which is what is shown."""
    X = rng.standard_normal((60, 2))
    y = X[:, 0] + 0.5 * rng.standard_normal(60)
    found = compare(X @ X.T, y, methods=["mean", "kernel_ridge", "neighbors"], cv=6)
    corrected = found.corrected_best()
    assert found.mean(found.best) - 0.05 < corrected <= found.mean(found.best)


def test_the_best_of_several_kernels_was_chosen_among_all(rng):
    """Many kernels that are equally poor: the best of all flatters most."""
    y = np.arange(40) % 2
    kernels = [np.tanh(X @ X.T) for X in rng.standard_normal((8, 40, 3))]
    found = [
        compare(K, y, methods=["clip", "neighbors"], cv=5, random_state=0)
        for K in kernels
    ]
    several = KernelComparison({f"k{i}": one for i, one in enumerate(found)})
    best = max(found, key=lambda one: one.mean(one.best))
    assert f"The best of 16 scores, {best.shown(best.best)}," in several.about_best
    others = [one for one in found if one is not best]
    assert best.corrected_best(others) < best.corrected_best() < best.mean(best.best)
    assert "that of the same kernel" in several.about_p
    alone = KernelComparison({"k": best})
    assert (alone.about_p, alone.about_best) == (best.about_p, best.about_best)


def test_a_kernel_is_clear_if_its_method_is(rng):
    clear, nothing = comparison_of("clear"), comparison_of("nothing")
    several = KernelComparison({"a": clear, "b": nothing}).recommendation
    assert (several.verdict, several.equal_kernels) == (Verdict.CLEAR, ("a",))
    equal = comparison_of("equal")
    several = KernelComparison({"a": equal, "b": nothing}).recommendation
    assert several.equal_kernels == ("a",)
    assert several.verdict is Verdict.NOT_TOLD_APART


def test_regressions_have_one_baseline(rng):
    X = rng.standard_normal((60, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(60)
    comparison = compare(X @ X.T, y, methods=["mean", "kernel_ridge"], cv=4)
    baseline = reason(comparison, Baseline)
    assert baseline.mean == pytest.approx(comparison.mean("mean"))
    assert comparison.levels == [("always the mean", baseline.mean)]
    assert baseline.p_value < 0.05
    assert comparison.p_value_against_free("mean") > 0.4


def test_equals_of_several_kernels_are_contenders():
    clear, equal = comparison_of("clear"), comparison_of("equal")
    several = KernelComparison({"edit": clear, "lcs": equal})
    answer = several.recommendation
    assert answer.kernel == "edit"
    assert set(answer.equals) <= set(clear.methods)
    assert set(answer.equal_kernels) <= {"edit", "lcs"}
    assert answer.equal_kernels[0] == "edit"
    assert answer.contender == "clip"


# ------------------------------------------------------------------------ repr, options


def test_repr_is_the_table_in_2500_characters():
    comparison = comparison_of("clear")
    assert repr(comparison) == str(comparison).split("\n\n")[0]
    reasons = {f"flip{k}": np.full(10, 0.5) for k in range(150)}
    failing = made_up({"clip": np.full(10, 0.9)}, failed=reasons)
    assert len(repr(failing)) <= 2500
    assert "more lines" in repr(failing)
    assert repr(replace(comparison, records=(), methods=())) == "No method was run."
    broken = [{"method": "clip", "split": 0, "error": "no"}]
    assert (
        repr(replace(comparison, records=broken, methods=("clip",)))
        == "clip failed: no"
    )
    several = KernelComparison({f"kernel number {k}": comparison for k in range(60)})
    assert len(repr(several)) <= 2500
    assert repr(several).startswith("kernel")


def test_distances_are_converted_as_by_the_transformer(rng):
    from krein import DistanceTransformer

    X = rng.standard_normal((40, 2))
    D = np.abs(X[:, None] - X).sum(axis=2)
    how = {"methods": ["clip"], "cv": 3}
    short = compare(D, X[:, 0] > 0, kind="distance", **how)
    long = compare(D, X[:, 0] > 0, conversion=DistanceTransformer(), **how)
    np.testing.assert_array_equal(short.scores("clip"), long.scores("clip"))
    negative = DistanceTransformer(similarity="negative")
    both = compare(D, X[:, 0] > 0, kind="distance", conversion=negative, **how)
    assert both.problem.conversion is negative


def test_bad_kinds(rng):
    X = rng.standard_normal((20, 2))
    y = X[:, 0] > 0
    with pytest.raises(ValueError, match="must be 'similarity' or 'distance', got 'd'"):
        compare(X @ X.T, y, kind="d")
    with pytest.raises(ValueError, match="leave kind out"):
        compare(X, y, "rbf", kind="distance")


# --------------------------------------------------------------- one kind of machine


def test_raw_and_fixed_matrices_have_the_same_kind_of_machine(rng):
    """Four classes, next to nothing negative: the fix makes no difference."""
    y = np.arange(100) % 4
    X = 0.9 * rng.standard_normal((100, 3)) + np.eye(4)[y][:, :3]
    E = rng.standard_normal((100, 100))
    K = X @ X.T + 1e-9 * (E + E.T)
    comparison = compare(K, y, methods=["svc", "clip", "flip"], cv=5)
    assert comparison.indefinite
    chosen = [
        [record["params"]["multi_class"] for record in comparison.of(method)]
        for method in ("svc", "clip", "flip")
    ]
    assert chosen[0] == chosen[1] == chosen[2]
    means = [comparison.mean(method) for method in ("svc", "clip", "flip")]
    assert np.ptp(means) < 0.011
    assert reason(comparison, SpectrumFix).outcome is Fix.NO_DIFFERENCE


def test_kinds_of_machines_are_candidates_of_several_classes_only(rng):
    X = rng.standard_normal((60, 3))
    two = compare(X @ X.T, X[:, 0] > 0, methods=["svc", "clip"], cv=3)
    assert all("multi_class" not in record["params"] for record in two.records)
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    losses = compare(X @ X.T, three, methods=["clip"], cv=3, scoring="neg_log_loss")
    assert all("multi_class" not in record["params"] for record in losses.records)
    both = compare(X @ X.T, three, methods=["clip"], cv=3)
    assert {record["params"]["multi_class"] for record in both.records} <= {
        "ovr",
        "ovo",
    }
    assert both.fit_best().multi_class in ("ovr", "ovo")


@pytest.mark.parametrize("case", ["clear", "nothing", "higher"])
def test_what_the_headline_does_not_say_stays(case):
    answer = comparison_of(case).recommendation
    assert answer.in_words(below_headline=True) == answer.text


def test_what_the_headline_says_is_left_out_below_it():
    right = {"clip": hits(0.8), "flip": hits(0.79), "svc": hits(0.3)}
    answer = of_items(right).recommendation
    below = answer.in_words(below_headline=True)
    assert below.startswith("SVM with flip cannot be told apart")
    assert answer.text.startswith("Use SVM with clip: ")
    assert answer.text.endswith(below)
