"""What newcomers tried in the second round, row by row, with files made for it."""

import inspect
import json
import shlex
import subprocess
import sys

import numpy as np
import pytest

import krein
from krein import (
    DistanceTransformer,
    PseudoEuclideanEmbedding,
    SpectrumSVC,
    SpectrumTransformer,
    compare,
)
from krein.cli import main
from krein.comparison.comparison import Comparison
from krein.comparison.problem import make_problem
from krein.comparison.significance import item_test
from tests.first_hour.conftest import write_table

N = 60
NAMES = [f"i{k}" for k in range(N)]


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return rng.standard_normal((N, 3)) + np.repeat([[1.2], [-1.2]], N // 2, axis=0)


@pytest.fixture(scope="module")
def similarity(points):
    return np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / 4)


def square(path, K, rows=NAMES, columns=NAMES):
    body = [[name, *map(repr, row)] for name, row in zip(rows, K.tolist(), strict=True)]
    return write_table(path, ["", *columns], body)


@pytest.fixture
def here(tmp_path, monkeypatch, points, similarity):
    """A folder with a similarity, distances, labels, numbers and new rows."""
    monkeypatch.chdir(tmp_path)
    labels = np.repeat(["a", "b"], N // 2)
    square(tmp_path / "K.csv", similarity)
    square(tmp_path / "D.csv", -np.log(similarity))
    square(tmp_path / "new.csv", similarity[:5], [f"n{k}" for k in range(5)])
    pairs = zip(NAMES, labels, strict=True)
    write_table(tmp_path / "y.csv", ["name", "label"], pairs)
    numbers = np.round(3 * points[:, 0] + 10, 4)
    pairs = zip(NAMES, numbers.tolist(), strict=True)
    write_table(tmp_path / "numbers.csv", ["name", "value"], pairs)
    new = [[f"n{k}", numbers[k]] for k in range(5)]
    write_table(tmp_path / "new_numbers.csv", ["name", "value"], new)
    write_table(tmp_path / "new_y.csv", ["name", "label"], [[n, "a"] for n, _ in new])
    return tmp_path


@pytest.fixture
def run(here, capsys):
    """Run a command in the folder; return what it printed."""

    def call(*words, code=0):
        ended = main([*map(str, words)])
        printed = capsys.readouterr()
        assert ended == code, printed
        return printed

    return call


# ------------------------------------------------------------- 1: the wrong direction


def test_similarities_declared_as_distances_are_refused(run, here):
    words = ("K.csv", "--labels", "y.csv", "--kind", "distance")
    assert "ERROR: These look like similarities" in run("inspect", *words).out
    for command in (("compare", "--model", "m.krein"), ("fit", "-o", "m.krein")):
        assert "looks like similarities" in run(*command, *words, code=2).err
        assert not (here / "m.krein").exists()


@pytest.mark.filterwarnings("default")
def test_an_inverted_similarity_is_refused(run, here, similarity):
    square(here / "upside.csv", 1.0 - similarity + 0.5 * np.eye(N))
    words = ("upside.csv", "--labels", "y.csv")
    assert "ERROR: These look like an inverted" in run("inspect", *words).out
    for command in (("compare",), ("fit", "-o", "m.krein")):
        said = run(*command, *words, code=2).err
        assert "looks like an inverted similarity" in said
        assert "--kind distance" in said
    insisted = run("fit", *words, "--kind", "similarity", "-o", "m.krein")
    assert "inverted" in insisted.err


@pytest.mark.parametrize(
    ("model", "numbers"),
    [
        (DistanceTransformer(), "similarities"),
        (SpectrumTransformer(), "distances"),
        (PseudoEuclideanEmbedding(), "distances"),
        (SpectrumSVC(), "distances"),
    ],
)
def test_python_warns_of_the_wrong_direction(model, numbers, similarity):
    X = similarity if numbers == "similarities" else -np.log(similarity)
    with pytest.warns(UserWarning, match=f"X looks like a matrix of {numbers}"):
        model.fit(X, np.repeat([0, 1], N // 2))


def test_compare_warns_of_the_wrong_direction(similarity):
    y = np.repeat([0, 1], N // 2)
    with pytest.warns(UserWarning, match="matrix of an inverted similarity"):
        compare(1.0 - similarity + 0.5 * np.eye(N), y, methods=["clip"], cv=2)
    with pytest.warns(UserWarning, match="matrix of similarities"):
        compare(similarity, y, methods=["clip"], cv=2, conversion=DistanceTransformer())


def test_similarities_are_not_suspected_for_a_few_large_diagonals(rng):
    """Nine of ten rows must have their largest number on the diagonal."""
    D = np.abs(rng.standard_normal((20, 20)))
    D = D + D.T + 0.1
    np.fill_diagonal(D, 0.05)
    D[np.arange(14), np.arange(14)] = D.max() + 1.0  # 70 % of the rows
    assert "looks-like-similarities" not in {
        f.key for f in krein.diagnose(D, kind="distance").findings
    }
    D[np.arange(19), np.arange(19)] = D.max() + 1.0
    assert krein.diagnose(D, kind="distance").findings[0].key == (
        "looks-like-similarities"
    )


@pytest.mark.filterwarnings("default")
def test_what_learns_nothing_is_said_to(run, here, rng):
    K = np.eye(N) + 0.01 * rng.random((N, N))
    square(here / "noise.csv", 0.5 * (K + K.T))
    pairs = zip(NAMES, rng.permutation(np.repeat(["a", "b"], [40, 20])), strict=True)
    write_table(here / "skewed.csv", ["name", "label"], pairs)
    words = ("noise.csv", "--labels", "skewed.csv", "--methods", "clip", "--folds", "4")
    ended = run("compare", *words, "--model", "m.krein", "--json")
    found = json.loads(ended.out)
    assert not found["useful"]
    assert "Nothing was learnt" in found["recommendation"]
    text = run("compare", *words, "--model", "m.krein", "--force").out
    assert "no better than an answer that costs nothing" in text


# ------------------------------------------------------- 5: rare classes, no labels


def test_rare_classes_are_left_out_of_a_fit(run, here):
    labels = ["a"] * 30 + ["b"] * 28 + ["c"] * 2
    pairs = zip(NAMES, labels, strict=True)
    write_table(here / "y3.csv", ["name", "label"], pairs)
    words = ("K.csv", "--labels", "y3.csv", "--min-members", "5")
    found = json.loads(run("fit", *words, "-o", "m.krein", "--json").out)
    assert found["items"] == 58
    assert found["classes"] == ["a", "b"]
    assert (
        "c"
        not in json.loads(
            run("compare", *words, "--methods", "clip", "--folds", "2", "--json").out
        )["failed"]
    )


@pytest.mark.skipif(
    "skip_unlabelled" not in inspect.signature(krein.read_labels).parameters,
    reason="labels cannot be missing yet",
)
@pytest.mark.parametrize("command", ["inspect", "compare", "fit"])
def test_items_without_a_label_are_left_out_on_request(run, here, command):
    labels = ["a"] * 29 + ["NA"] + ["b"] * 27 + [""] * 2 + ["b"]
    pairs = list(zip(NAMES, labels, strict=True))[:-1]  # the last one is not there
    write_table(here / "gaps.csv", ["name", "label"], pairs)
    more = {
        "compare": ("--methods", "clip", "--folds", "2"), "fit": ("-o", "m.krein"),
    }  # fmt: skip
    words = (command, "K.csv", "--labels", "gaps.csv", *more.get(command, ()))
    assert "--skip-unlabelled" in run(*words, code=2).err
    found = json.loads(run(*words, "--skip-unlabelled", "--json").out)
    assert found.get("items", found.get("n", 56)) == 56


# -------------------------------------------------- 6: a test with more power


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


# ----------------------------------------------- 7: words that follow the number


def test_words_follow_the_p_value():
    from krein.diagnostics.advice import advise
    from krein.diagnostics.facts import NegativePart

    for p, words in ((0.015, "a hint of a relation"), (0.4, "no relation")):
        part = NegativePart("unclear", label_p_value=p)
        line = advise("indefinite", part, None, [])[0]
        assert words in line


# ------------------------------------------------------- 8: the page of several kernels


def test_the_page_of_several_kernels_names_them(run, here, products):
    pytest.importorskip("rapidfuzz")
    run(
        "compare", products / "products.csv", "--items", "name", "--labels", "category",
        "--kernel", "edit,jaro_winkler", "--methods", "clip", "--folds", "2",
        "--html", "page.html",
    )  # fmt: skip
    text = (here / "page.html").read_text("utf-8")
    assert text.index("<h3>Kernels</h3>") < text.index("<h3>Scores</h3>")
    assert text.count("jaro_winkler") >= 3
    headline = text.split("<h1>")[1].split("</h1>")[0]
    assert " with SVM with clip" in headline


# ------------------------------------------ 9: numbers to be predicted


def test_a_continuous_target_is_a_regression(run, here):
    words = ("K.csv", "--labels", "numbers.csv")
    assert "taken as numbers to be predicted" in run("inspect", *words).err
    ended = run(
        "compare", *words, "--folds", "3", "--html", "page.html", "--model", "m.krein",
        "--json",
    )  # fmt: skip
    found = json.loads(ended.out)
    assert found["task"] == "regression"
    assert {"average", "ridge", "kernel_ridge", "neighbors", "mean"} == {
        row["method"] for row in found["table"]
    }
    assert {"r2", "mean_absolute_error"} <= set(found["table"][0])
    assert "Largest errors" in (here / "page.html").read_text("utf-8")
    values = [
        float(line.split(",")[1])
        for line in run("predict", "m.krein", "new.csv").out.splitlines()[1:]
    ]
    assert len(values) == 5
    scored = run(
        "predict", "m.krein", "new.csv", "--labels", "new_numbers.csv", "--json"
    )
    assert json.loads(scored.out)["r2"] > 0.9
    run("fit", *words, "-o", "n.krein")
    assert "SpectrumSVRCV" in run("fit", *words, "-o", "n.krein", "--force").out


def test_python_compares_regressions_too(points, similarity):
    found = compare(similarity, points[:, 0], methods=["ridge", "mean"], cv=3)
    assert found.task == "regression"
    assert found.best == "ridge"
    assert found.fit_best().predict(similarity[:2]).shape == (2,)


def test_the_recipe_of_a_regression_runs(run, here, capsys):
    import html
    import re

    (here / "new_rows.csv").write_text((here / "new.csv").read_text())
    run("compare", "K.csv", "--labels", "numbers.csv", "--folds", "2", "--methods",
        "ridge,mean", "--html", "page.html")  # fmt: skip
    text = (here / "page.html").read_text("utf-8").split("</details>")[0]
    found = re.findall(r"<pre>(.*?)</pre>", text, re.S)
    shell, python = map(html.unescape, found)
    run(*shell.splitlines()[0].split()[1:])
    exec(compile(python, "page", "exec"), {})
    assert capsys.readouterr().out.strip().startswith("[")


# -------------------------------------------------------------------- frictions


def test_fit_is_what_compare_recommends_by_default(run):
    found = json.loads(run("fit", "K.csv", "--labels", "y.csv", "-o", "m.krein",
                           "--json").out)  # fmt: skip
    assert found["method"] == "average"
    assert found["estimator"].startswith("SpectrumSVCCV(")
    assert "array" not in found["estimator"]


def test_help_lists_the_methods(run):
    words = set(run("compare", "--help").out.replace(",", " ").split())
    assert words >= set(krein.list_methods())


def test_repairs_repeat_the_options_that_were_given(run, here, similarity):
    twins = np.vstack([similarity, similarity[:6]])
    twins = np.hstack([twins, twins[:, :6]])
    names = [*NAMES, *(f"t{k}" for k in range(6))]
    square(here / "twins.csv", twins, names, names)
    pairs = zip(names, [*["a"] * 30, *["b"] * 30, *["a"] * 6], strict=True)
    write_table(here / "yt.csv", ["id", "kind"], pairs)
    words = ("twins.csv", "--labels", "yt.csv", "--label-column", "kind")
    (line,) = (
        line for line in run("inspect", *words).out.splitlines() if "twins" in line[:60]
    )
    repaired = line.split("krein ")[1]
    assert "--label-column kind" in repaired
    ended = run(*repaired.split(), "--methods", "clip", "--folds", "3")
    assert "60 groups of equal items" in ended.err
    plain = run("compare", *words, "--methods", "clip", "--folds", "3")
    assert "exact twin" in plain.out


def test_no_name_twice_in_dir():
    krein.compare  # noqa: B018
    assert len(dir(krein)) == len(set(dir(krein)))


def test_a_model_is_scored_on_new_items(run):
    run("fit", "K.csv", "--labels", "y.csv", "--method", "clip", "-o", "m.krein")
    ended = run("predict", "m.krein", "new.csv", "--labels", "new_y.csv", "--json")
    found = json.loads(ended.out)
    right = sum(row["label"] == "a" for row in found["items"])
    assert found["accuracy"] == pytest.approx(right / 5)
    assert f"accuracy {right / 5:.3f} on 5 items" in ended.err


# --------------------------------------------------------------------- hits, safety


@pytest.mark.parametrize("n", [30, N])
def test_one_route_for_hits(run, here, similarity, n):
    """Few items or many pairs: normalised, and new hits are understood."""

    def line(query, target, score):
        return f"{query}\t{target}\t90\t100\t5\t0\t1\t100\t1\t100\t1e-20\t{score:.1f}"

    names = NAMES[: n // 2] + NAMES[N - n // 2 :]
    places = [NAMES.index(name) for name in names]
    K = 200 * similarity[np.ix_(places, places)]
    hits = [
        line(a, b, K[i, j])
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if K[i, j] > 60
    ]
    (here / "hits.m8").write_text("\n".join(hits) + "\n")
    new = [line(f"n{i}", b, K[i, j]) for i in range(3) for j, b in enumerate(names)]
    (here / "new.m8").write_text("\n".join(new) + "\n")
    words = ("hits.m8", "--labels", "y.csv")
    ended = run("compare", *words, "--folds", "3", "--model", "m.krein")
    assert "scores over the roots of self scores" in ended.err
    fitted = run("fit", *words, "-o", "f.krein", "--min-members", "3")
    assert "HitClassifier" in fitted.out
    for model in ("m.krein", "f.krein"):
        lines = run("predict", model, "new.m8").out.splitlines()
        assert [row.split(",")[1] for row in lines[1:]] == ["a"] * 3


def test_no_escape_is_printed(run, here, similarity, capsys):
    evil = "\x1b[31mred"
    pairs = zip(NAMES, np.repeat([evil, "b"], N // 2), strict=True)
    write_table(here / "evil_y.csv", ["name", "label"], pairs)
    for words in (
        ("fit", "K.csv", "--labels", "evil_y.csv", "--method", "clip", "-o", "m.krein"),
        ("inspect", f"{evil}.csv"),
        ("compare", "K.csv", "--labels", evil),
        ("fit", "K.csv", "--method", evil, "-o", "x"),
        (evil,),
    ):
        main([*words])
        printed = capsys.readouterr()
        assert "\x1b" not in printed.out + printed.err
        assert "\\x1b[31mred" in printed.out + printed.err


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_traceback(here, closed):
    for words, code in (("datasets", 0), ("inspect nothing.csv", 2)):
        line = f"exec {shlex.quote(sys.executable)} -m krein {words} {closed}"
        ended = subprocess.run(line, shell=True, capture_output=True, text=True)
        assert ended.returncode == code
        assert "Traceback" not in ended.stderr
