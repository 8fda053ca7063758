# ruff: noqa: F811  (fixtures of another module)
"""Labels, numbers, hits and new items of files: what is learnt and what is said."""

import inspect
import json

import numpy as np
import pytest

import krein
from krein import compare
from tests.first_hour.conftest import write_table
from tests.first_hour.folder import NAMES, N, here, points, run, similarity, square  # noqa: F401


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
    assert "The labels were matched by name" in found["recommendation"]
    assert "in the order of the items" not in found["recommendation"]
    text = run("compare", *words, "--model", "m.krein", "--force").out
    assert "no better than an answer that costs nothing" in text


@pytest.mark.filterwarnings("default")
def test_the_order_of_labels_is_asked_for_where_nothing_shows_it(run, here, rng):
    K = np.eye(N) + 0.01 * rng.random((N, N))
    square(here / "noise.csv", 0.5 * (K + K.T))
    labels = rng.permutation(np.repeat(["a", "b"], [40, 20]))
    (here / "lines.txt").write_text("\n".join(labels))
    words = ("noise.csv", "--labels", "lines.txt", "--methods", "clip", "--folds", "4")
    found = json.loads(run("compare", *words, "--json").out)
    assert "Are the labels in the order of the items" in found["recommendation"]


def test_items_of_findings_go_to_a_file(run, here, similarity):
    """Twins by name, for whoever has to look at them."""
    K = similarity.copy()
    K[5] = K[2]
    K[:, 5] = K[:, 2]
    K[5, 5] = K[2, 5] = K[5, 2] = K[2, 2]
    square(here / "twins.csv", K)
    shown = run("inspect", "twins.csv", "--labels", "y.csv", "--items-out", "items.csv")
    assert "items: i2, i5" in shown.out
    rows = (here / "items.csv").read_text().splitlines()
    assert rows == ["finding,group,item", "duplicates,1,i2", "duplicates,1,i5"]
    again = run("inspect", "K.csv", "--items-out", "items.csv", code=2)
    assert "exists" in again.err


@pytest.mark.filterwarnings("default")
def test_labels_matched_by_name_are_not_to_be_matched_again(run, here, rng):
    labels = rng.permutation(np.repeat(["a", "b"], N // 2))
    write_table(here / "any.csv", ["name", "label"], zip(NAMES, labels, strict=True))
    (here / "any.txt").write_text("\n".join(labels))
    for file, asked in (("any.csv", False), ("any.txt", True)):
        shown = run("inspect", "K.csv", "--labels", file).out
        assert "No relation between similarities and labels" in shown
        assert ("read_labels" in shown) == asked


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


def test_a_continuous_target_is_a_regression(run, here):
    words = ("K.csv", "--labels", "numbers.csv")
    assert "taken as numbers to be predicted" in run("inspect", *words).err
    ended = run(
        "compare", *words, "--folds", "3", "--html", "page.html", "--model", "m.krein",
        "--json",
    )  # fmt: skip
    found = json.loads(ended.out)
    assert found["task"] == "regression"
    assert {"average", "similarity", "ridge", "kernel_ridge", "neighbors", "mean"} == {
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
    assert "SimilarityRegressor" in run("fit", *words, "-o", "n.krein", "--force").out


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


def test_fit_is_what_compare_recommends_by_default(run):
    found = json.loads(run("fit", "K.csv", "--labels", "y.csv", "-o", "m.krein",
                           "--json").out)  # fmt: skip
    assert found["method"] == "similarity"
    assert found["estimator"].startswith("SimilarityClassifier(")
    assert "array" not in found["estimator"]


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


def test_a_model_is_scored_on_new_items(run):
    run("fit", "K.csv", "--labels", "y.csv", "--method", "clip", "-o", "m.krein")
    ended = run("predict", "m.krein", "new.csv", "--labels", "new_y.csv", "--json")
    found = json.loads(ended.out)
    right = sum(row["label"] == "a" for row in found["items"])
    assert found["accuracy"] == pytest.approx(right / 5)
    assert f"accuracy {right / 5:.3f} on 5 items" in ended.err


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
