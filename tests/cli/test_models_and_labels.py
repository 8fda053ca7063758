"""Models of every method on items and matrices; labels, folds and scores that fit."""

import csv
import html
import json
import shlex

import numpy as np
import pytest

from krein import sigmoid_kernel, write_matrix

NAMES = [f"s{i}" for i in range(30)]
WORDS = [f"{'kernel' if i % 2 else 'colonel'}{'s' * (i % 3)}{i}" for i in range(24)]


def write_rows(path, *rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Similarities, words, new rows; labels that are classes, numbers or missing."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((30, 3))
    kinds = np.where(X[:, 0] > 0, "a", "b")
    write_matrix("K.csv", sigmoid_kernel(X), names=NAMES)
    new = ["new0", "new1", "new2"]
    write_matrix("new.csv", sigmoid_kernel(X[:3], X), names=new, columns=NAMES)
    labels = tmp_path / "y.csv"
    write_rows(labels, ["name", "label"], *zip(NAMES, kinds, strict=True))
    numbers = [f"{x:.3f}" for x in X[:, 0]]
    write_rows(tmp_path / "x.csv", ["name", "x"], *zip(NAMES, numbers, strict=True))
    write_rows(
        tmp_path / "new_y.csv", ["name", "label"], *zip(new, kinds, strict=False)
    )
    write_rows(tmp_path / "some_y.csv", ["name", "label"], ["new1", kinds[1]])
    rows = [[w, "kc"[i % 2], f"{i * 0.37:.2f}"] for i, w in enumerate(WORDS)]
    write_rows(tmp_path / "words.csv", ["word", "kind", "price"], *rows)
    return tmp_path


OF_WORDS = ("words.csv", "--items", "word", "--kernel", "edit")


@pytest.mark.filterwarnings("default:the model takes rows")
@pytest.mark.parametrize(
    ("method", "labels"),
    [
        ("neighbors", "price"),
        ("kernel_ridge", "price"),
        ("mean", "price"),
        ("profiles", "kind"),
    ],
)
def test_a_method_without_a_kernel_is_fitted_on_rows_of_the_kernel(
    folder, krein, method, labels
):
    how = ("--labels", labels, "--method", method, "-o", "m.krein")
    fitted = krein("fit", *OF_WORDS, *how)
    assert "rows of krein kernel NAME NEW --against TRAINING" in fitted.err
    krein("kernel", "edit", "words.csv", "--items", "word", "-o", "rows.csv")
    shown = krein("predict", "m.krein", "rows.csv", "--nearest", 1).out
    assert "0 (" in shown.splitlines()[1]  # an item is its own neighbour


@pytest.mark.filterwarnings("default:the model takes rows")
def test_a_report_recommends_rows_of_length_one_on_items(folder, krein):
    chosen = ("--methods", "profiles", "--folds", 2, "--html", "page.html")
    krein("compare", *OF_WORDS, "--labels", "kind", *chosen, "--model", "m.krein")
    assert "HitClassifier" in (folder / "m.krein").read_bytes().decode("latin-1")
    assert (folder / "page.html").exists()


@pytest.mark.parametrize("method", ["neighbors", "kernel_ridge", "mean"])
def test_nearest_items_of_models_of_scikit_learn(folder, krein, method):
    krein("fit", "K.csv", "--labels", "x.csv", "--method", method, "-o", "m.krein")
    shown = krein("predict", "m.krein", "new.csv", "--nearest", 1, "--json").out
    nearest = [row["nearest"].split()[0] for row in json.loads(shown)["items"]]
    similar = np.genfromtxt("new.csv", delimiter=",")[1:, 1:]
    assert nearest == [NAMES[k] for k in similar.argmax(axis=1)]


def test_no_training_item_is_near_twice(folder, krein):
    krein("fit", "K.csv", "--labels", "y.csv", "--set", "C=1", "-o", "m.krein")
    shown = krein("predict", "m.krein", "new.csv", "--nearest", 99, "--json").out
    near = json.loads(shown)["items"][0]["nearest"].split("; ")
    assert sorted(item.split()[0] for item in near) == sorted(NAMES)


def test_answers_are_scored_where_there_are_labels(folder, krein):
    krein("fit", "K.csv", "--labels", "y.csv", "--set", "C=1", "-o", "m.krein")
    model = ("predict", "m.krein", "new.csv", "--json")
    assert "--skip-unlabelled" in krein(*model, "--labels", "some_y.csv", code=2).err
    ended = krein(*model, "--labels", "some_y.csv", "--skip-unlabelled")
    assert len(json.loads(ended.out)["items"]) == 3
    assert "on 1 items" in ended.err
    assert "add --labels FILE" in krein(*model, "--label-column", "label", code=2).err


def test_classes_do_not_score_numbers(folder, krein):
    krein("fit", "K.csv", "--labels", "x.csv", "--method", "ridge", "-o", "m.krein")
    ended = krein("predict", "m.krein", "new.csv", "--labels", "new_y.csv", code=2)
    assert "the model predicts numbers" in ended.err


def test_no_folds_are_made_where_nothing_is_chosen(folder, krein):
    """A class of one item is no reason to warn of folds."""
    rows = [[name, "z" if i == 0 else "ab"[i % 2]] for i, name in enumerate(NAMES)]
    write_rows(folder / "single.csv", ["name", "label"], *rows)
    how = ("--labels", "single.csv", "--set", "C=1", "-o", "m.krein")
    assert "warning" not in krein("fit", "K.csv", *how).err


@pytest.mark.parametrize(
    ("labels", "scoring", "known"),
    [("x.csv", "accuracy", "r2"), ("y.csv", "r2", "accuracy")],
)
def test_a_score_of_another_task_is_refused(folder, krein, labels, scoring, known):
    ended = krein("compare", "K.csv", "--labels", labels, "--scoring", scoring, code=2)
    assert f"scoring must be one of {known}" in ended.err


@pytest.mark.parametrize("folds", [1, 400])
def test_folds_that_cannot_be_are_named_as_typed(folder, krein, folds):
    ended = krein("compare", "K.csv", "--labels", "y.csv", "--folds", folds, code=2)
    assert "(--folds) must be from 2 to " in ended.err
    assert f"got {folds}" in ended.err


@pytest.mark.filterwarnings("default:compare")
def test_one_group_is_too_few(folder, krein):
    how = ("--split-by-similarity", -1, "--folds", 2)
    ended = krein("compare", "K.csv", "--labels", "y.csv", *how, code=2)
    assert "at least two items (or groups)" in ended.err


def test_the_recommendation_has_the_names_that_options_take(folder, krein):
    chosen = ("--methods", "svc,clip", "--folds", 3)
    shown = krein("compare", "K.csv", "--labels", "y.csv", *chosen).out
    assert "svc (SVM on raw matrix)" in shown
    assert "clip (SVM with clip)" in shown


def test_the_repair_of_ignored_names_looks_at_them(folder, krein):
    how = ("--labels", "y.csv", "--ignore-names")
    (line,) = [
        line
        for line in krein("inspect", "K.csv", *how).out.splitlines()
        if line.startswith("    repair: ")
    ]
    assert line == "    repair: krein inspect K.csv --labels y.csv"


def test_an_asymmetric_file_is_named(folder, krein):
    write_matrix("odd.csv", np.arange(9.0).reshape(3, 3) + 9 * np.eye(3))
    write_rows(folder / "three.csv", ["a"], ["a"], ["b"])
    ended = krein("compare", "odd.csv", "--labels", "three.csv", code=2)
    assert "odd.csv is not symmetric" in ended.err


def test_the_lines_of_a_report_run_for_a_method_of_scikit_learn(folder, krein):
    chosen = ("--methods", "kernel_ridge", "--folds", 2, "--html", "page.html")
    krein("compare", "K.csv", "--labels", "x.csv", *chosen)
    page = html.unescape((folder / "page.html").read_text())
    fit, predict = page.partition("<pre>")[2].partition("</pre>")[0].splitlines()
    (folder / "new.csv").rename(folder / "new_rows.csv")
    krein(*shlex.split(fit)[1:])
    assert "new0," in krein(*shlex.split(predict)[1:]).out
