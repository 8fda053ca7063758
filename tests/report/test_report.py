"""The data of the report, and the page as text."""

import html
import re
import zlib
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krein import PseudoEuclideanEmbedding, compare
from krein.comparison.baselines import free_scores as levels
from krein.estimators._pool_candidates import OF_DISTANCES
from krein.report.charts import (
    embedding,
    interval_chart,
    scatter_chart,
    spectrum_chart,
    ticks,
)
from krein.report.data import Case, headline, mistakes
from krein.report.heat_map import heat_chart, heat_map, heat_png
from krein.report.page import words
from krein.report.render import render
from krein.report.section import classes_in_words, score_table
from krein.spectrum.decomposition import Spectrum
from krein.spectrum.fixes import power
from krein.words import seconds_in_words
from tests.report.conftest import HOSTILE


@pytest.fixture(scope="module")
def found(comparison):
    return Case(comparison, title="made up")


def test_scores_and_confusion_agree(comparison):
    for row in comparison.table():
        assert row["accuracy"] == comparison.scores(row["method"]).mean()
        counts = comparison.confusion(row["method"])
        assert counts.sum() == 60
        assert np.trace(counts) / 60 == pytest.approx(row["accuracy"], abs=0.01)
        for key in (column.key for column in comparison.score_columns.values()):
            low, high = row[f"{key}_interval"]
            assert low <= row[key] <= high


def test_the_page_says_what_the_recommended_model_was_fed(comparison, tmp_path):
    """Conversions and fixes are those of the models, counted over the splits."""
    K = comparison.problem.K
    y = comparison.problem.codes
    several = compare(K, y, methods=["similarity", "svc"], cv=2)
    record, other = several.of("similarity")
    assert len(record["fed"]) == len(other["fed"]) == 1  # its diagonal is not constant
    assert record["fed"][0][0] == "as given"
    fixes = {record["fed"][0][1], other["fed"][0][1]}
    page = several.to_html(tmp_path / "page.html").read_text("utf-8")
    (said,) = set(re.findall(r"<p>(In 2 splits Similarity model[^<]*)</p>", page))
    assert "was fed the similarity as given (2); the best fix" in said
    assert all(f"{fix} (" in said for fix in fixes)
    own = np.diagonal(K)
    D = np.sqrt(np.maximum(own[:, None] + own - 2 * K, 0.0))
    of_distances = compare(D, y, methods=["similarity"], kind="distance", cv=2)
    assert all(len(record["fed"]) == 3 for record in of_distances.records)


def test_a_page_without_such_a_model_says_nothing_of_it(page):
    assert "was fed" not in page.read_text("utf-8")


def test_heat_map_keeps_block_means(rng):
    K = rng.standard_normal((300, 300))
    K = K + K.T
    codes = np.repeat([0, 1, 2], 100)
    cells, _, boundaries = heat_map(K, codes)
    assert cells.shape == (160, 160)
    assert boundaries == pytest.approx([1 / 3, 2 / 3])
    cells, _, _ = heat_map(np.diag([1.0, -1.0, 1.0]), np.array([0, 0, 1]))
    assert sorted(np.diag(cells).tolist()) == [-100, 100, 100]


def test_embedding_agrees_with_the_transformer(with_spectrum):
    K = with_spectrum([5.0, 3.0, 1.0, 0.0, -2.0, -0.1])
    eigenvalues, points = embedding(Spectrum.exact(K))
    assert eigenvalues == pytest.approx([5.0, -2.0])
    transformer = PseudoEuclideanEmbedding().fit(K)
    expected = transformer.transform(K)
    column = int(np.argmin(transformer.eigenvalues_))
    for i, j in ((0, 0), (1, column)):
        ours = points[:, i]
        assert abs(ours @ expected[:, j]) == pytest.approx(ours @ ours, abs=1e-4)


def test_large_embeddings_are_thinned(rng):
    codes, names = np.zeros(2000, dtype=int), list(map(str, range(2000)))
    values, points = np.array([2.0, -1.0]), rng.standard_normal((2000, 2))
    chart = scatter_chart(values, points, codes, names, ["all"])
    assert chart.count("<use") == 1500
    assert "1500 items" in chart


def test_png_holds_the_cells():
    cells = np.array([[-100, 0], [50, 100]])
    kind, _, content = heat_png(cells).partition(",")
    assert kind == "data:image/png;base64"
    raw = b64decode(content)
    start = raw.index(b"IDAT")
    length = int.from_bytes(raw[start - 4 : start])
    pixels = zlib.decompress(raw[start + 4 : start + 4 + length])
    assert list(pixels) == [0, 0, 100, 0, 150, 200]


@settings(max_examples=60, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_few_and_inside(low, span):
    found = ticks(low, low + span)
    assert 0 <= len(found) <= 7
    assert all(low - 1e-6 * span <= tick <= low + span * (1 + 1e-6) for tick in found)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30))
def test_spectrum_chart_stays_inside_its_box(values):
    chart = spectrum_chart(values, 0.5)
    assert chart.count("eigenvalue ") == len(values)
    assert "nan" not in chart


class Tags(HTMLParser):
    """Collects tags and ids, and checks that they nest."""

    VOID = {"meta", "link", "img", "br", "input"}

    def __init__(self):
        super().__init__()
        self.stack, self.tags, self.images = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "img":
            self.images.append(dict(attributes))
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag


def test_the_page_is_whole_and_names_are_text(page):
    text = page.read_text("utf-8")
    tags = Tags()
    tags.feed(text)
    assert tags.stack == []
    assert tags.tags.count("script") == 1
    assert HOSTILE not in text
    assert len(tags.images) == 1
    assert tags.images[0]["alt"]
    assert tags.images[0]["src"].startswith("data:image/png")


def test_the_page_has_everything(page, found):
    text = page.read_text("utf-8")
    assert page.stat().st_size < 3_000_000
    assert "http:" not in text
    assert "https:" not in text
    for word in words()["glossary"]:
        assert f"<dt>{word}</dt>" in text
    for method in found.comparison.methods:
        assert found.comparison.title(method) in text
    assert f"{found.codes.size} items; classes" in text
    assert "4 random splits, 45 items\nto train and 15 to test on" in text
    assert text.count('role="img"') == 3
    assert "Signature (" in text


def test_a_report_is_not_overwritten(page, comparison):
    before = page.read_bytes()
    with pytest.raises(FileExistsError, match="exists"):
        comparison.to_html(page)
    assert page.read_bytes() == before


def test_alerts_come_before_the_verdict_and_the_pictures(comparison):
    alert = {"severity": "error", "key": "x", "text": "<b>look</b>", "command": "krein"}
    page = render([Case(comparison, findings=[alert])])
    order = [
        page.index(mark) for mark in ("&lt;b&gt;look", 'class="answer ', "<svg role")
    ]
    assert order == sorted(order)
    assert "<code>krein</code>" in page


def test_mistakes_are_named_with_their_neighbours(comparison, found):
    K, labels = comparison.problem.K, comparison.problem.labels
    rows = mistakes(comparison, K, found.names)
    wrong = 60 - np.trace(comparison.confusion(comparison.recommendation.method))
    assert len(rows) == min(wrong, 20)
    for name, label, predicted, sure, counted, near in rows:
        i = int(name)
        assert label == labels[i] != predicted
        assert 30 < int(sure.removesuffix("%")) <= 100
        assert counted == "1 of 1"
        nearest = [int(j) for j in re.findall(r"(\d+) \(", near)]
        assert near.startswith(f"{nearest[0]} ({labels[nearest[0]]})")
        others = np.delete(K[i], [i, *nearest])
        assert min(K[i, nearest]) >= others.max()


def test_levels_that_cost_nothing():
    codes = np.repeat([0, 1, 2], [6, 3, 1])
    assert levels("accuracy", codes) == [("chance", 1 / 3), ("largest class", 0.6)]
    assert levels("roc_auc", codes) == [("chance", 0.5)]
    ((_, loss),) = levels("neg_log_loss", codes)
    assert loss == pytest.approx(
        -(0.6 * np.log(0.6) + 0.3 * np.log(0.3) + 0.1 * np.log(0.1))
    )


def test_only_the_deciding_column_is_bold(comparison):
    table = score_table(comparison)
    assert table.count("deciding") == len(comparison.table())
    assert '<th scope="col" class="number">p</th>' in table


def test_p_values_are_left_out_where_they_cannot_be_small(comparison):
    few = replace(comparison, scoring="roc_auc")
    assert "p-values are left out" in few.about_p
    table = score_table(few)
    assert '<th scope="col" class="number">p</th>' not in table


def test_heat_map_uses_all_its_colours(rng):
    K = 0.9 + 0.1 * rng.random((40, 40))
    cells, _, _ = heat_map(K + K.T, np.repeat([0, 1], 20))
    assert cells.min() == 0
    assert cells.max() == 100
    signed, _, _ = heat_map(rng.standard_normal((40, 40)), np.zeros(40, int))
    assert signed.min() == -100
    assert signed.max() == 100


def test_what_a_model_may_be_fed_is_in_the_glossary():
    glossary = words()["glossary"]
    assert all(form.split()[-1] in glossary["Conversion"] for form in OF_DISTANCES)
    assert power(0.3, 1.5).name.partition("(")[0] in " ".join(glossary)


def test_every_word_of_the_facts_is_in_the_glossary():
    known = " ".join(words()["glossary"]).lower()
    for term in (
        "halves agree", "label alignment", "negative mass", "signature", "chance",
        "largest class", "log-loss", "auc", "holm", "confidence", "noise band", "clip",
        "nearly diagonal", "triangle inequality", "conditionally",
    ):  # fmt: skip
        assert term in known


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0001, "< 1 ms"),
        (0.0421, "42 ms"),
        (3.24, "3.2 s"),
        (59.7, "1 min 0 s"),
        (125, "2 min 5 s"),
        (4230, "1 h 10 min"),
    ],
)
def test_seconds_as_people_write_them(seconds, words):
    assert seconds_in_words(seconds) == words


def test_many_classes_are_counted_not_listed():
    labels, counts = [f"c{i}" for i in range(20)], list(range(3, 23))
    assert classes_in_words(labels, counts) == "20 classes of 3 to 22 items"
    assert classes_in_words(labels[:2], counts[:2]) == "classes c0: 3, c1: 4"
    assert classes_in_words(labels[:12], counts[:12]).startswith("classes c0: 3, c1: 4")
    assert classes_in_words(labels[:13], counts[:13]).startswith("13 classes of 3 to")


def test_the_headline_is_short(found, comparison):
    assert found.headline.startswith("Use ")
    balanced = replace(comparison, scoring="balanced_accuracy")
    texts = [found.headline, headline(comparison, "jaro_winkler")]
    texts += [headline(balanced, ""), headline(balanced, "Kernel(a, b=1)")]
    assert max(len(text.split()) for text in texts) <= 15


def test_the_page_says_nothing_twice(found, comparison):
    """What the headline says is left out of the text below it."""
    text = comparison.recommendation.text
    assert text.startswith(("Use ", "No clear winner"))
    page = render([found]).split('class="answer')[1]
    said = html.unescape(page.split("<p>")[1].split("</p>")[0])
    assert text.endswith(said)
    assert not said.startswith("Use ") or ", which" in said or "clearly" in said


def test_a_score_outside_the_axis_is_a_mark(comparison):
    """The axis is for the methods: it is not stretched to the largest class."""
    rows = comparison.table()
    low = min(row["accuracy_interval"][0] for row in rows)
    column = comparison.deciding
    chart = interval_chart(rows, column, "clip", [("chance", low / 2)])
    assert 'class="edge"' in chart
    assert 'class="level"' not in chart
    inside = interval_chart(rows, column, "clip", [("x", low)])
    assert 'class="level"' in inside
    assert ">accuracy</text>" in chart  # the title of the axis


def test_the_spectrum_has_ranks(found):
    chart = spectrum_chart(found.diagnosis.eigenvalues.tolist(), None)
    assert ">rank</text>" in chart
    assert ">1</text>" in chart


def test_class_names_stand_at_the_heat_map(found):
    text = heat_chart(found.K, found.codes, found.labels)
    assert text.count('class="row"') == text.count('class="col"') == 2


def test_ten_classes_have_ten_colours():
    from importlib import resources

    style = (resources.files("krein.report") / "style.css").read_text("utf-8")
    for part in style.split("@media")[:2]:
        colours = [part.split(f"--c{k}: ")[1][:7] for k in range(10)]
        assert len(set(colours)) == 10
