"""Groups of items, tables of new items, and plain errors, by the command line."""

import json

import numpy as np
import pytest

from krein import CPDSVC, save_model
from krein.cli import main
from tests.first_hour.conftest import write_table

N = 40
NAMES = [f"s{k}" for k in range(N)]
CLASSES = np.repeat(["sick", "well"], N // 2)
QUICK = ("--methods", "clip", "--folds", "2")


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return rng.standard_normal((N, 3)) + np.repeat([[1.2], [-1.2]], N // 2, axis=0)


def square(path, K, rows=NAMES, columns=NAMES):
    body = [[name, *map(repr, row)] for name, row in zip(rows, K.tolist(), strict=True)]
    return write_table(path, ["", *columns], body)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys, points):
    """Run a command in a folder with a similarity, distances, labels and new rows."""
    monkeypatch.chdir(tmp_path)
    D = np.abs(points[:, None] - points).sum(axis=2)
    K = np.exp(-D / np.median(D)) - 0.2
    square(tmp_path / "K.csv", K)
    square(tmp_path / "D.csv", D)
    new = [f"n{k}" for k in range(5)]
    clear = np.argsort(-points.sum(axis=1))[:5]  # no doubt that these are sick
    square(tmp_path / "new.csv", K[clear], new)
    write_table(tmp_path / "y.csv", ["name", "label"], zip(NAMES, CLASSES, strict=True))
    write_table(tmp_path / "new_y.csv", ["name", "label"], [[n, "sick"] for n in new])

    def call(*words, code=0):
        ended = main([*map(str, words)])
        printed = capsys.readouterr()
        assert ended == code, printed
        return printed

    return call


def qiime_metadata(path):
    """Metadata of QIIME 2: types in the second line, four samples of each subject."""
    types = ["#q2:types", "categorical", "numeric", "categorical"]
    rows = [
        [name, CLASSES[k], 20 + k % 7, f"sub{k // 4}"] for k, name in enumerate(NAMES)
    ]
    head = ["sample-id", "body-site", "age", "subject"]
    return write_table(path, head, [types, *rows], "\t")


# ------------------------------------------------------------------ one name a method


def test_tables_call_methods_as_options_do(run):
    words = ("compare", "K.csv", "--labels", "y.csv", "--folds", "2", "--methods")
    shown = run(*words, "svc,clip,neighbors").out.splitlines()
    names = [line.split("\t")[0] for line in shown if line.count("\t") > 3][1:]
    assert sorted(names) == ["clip", "neighbors", "svc"]
    run(*words, ",".join(names))


def test_repairs_of_a_comparison_repeat_its_options(run, tmp_path):
    rows = zip(NAMES, [*["a"] * 20, *["b"] * 16, *["c"] * 4], strict=True)
    write_table(tmp_path / "y3.csv", ["name", "label"], rows)
    shown = run("compare", "K.csv", "--labels", "y3.csv", "--seed", "3", *QUICK).out
    (repair,) = (line for line in shown.splitlines() if "--min-members" in line)
    assert "--methods clip --folds 2 --seed 3" in repair
    words = repair.split("repair: krein ")[1].split()
    assert "c (4)" not in run(*words).out
    inspected = run("inspect", "K.csv", "--labels", "y3.csv").out
    assert "krein compare K.csv --labels y3.csv --min-members 5\n" in inspected


# ------------------------------------------------------------------------------ groups


def test_twins_that_are_kept_together_are_no_warning(run, tmp_path, points):
    twice = np.vstack([points, points[:6]])
    names = [*NAMES, *(f"t{k}" for k in range(6))]
    K = np.exp(-np.abs(twice[:, None] - twice).sum(axis=2) / 4)
    square(tmp_path / "twins.csv", K, names, names)
    labels = [*CLASSES, *CLASSES[:6]]
    write_table(tmp_path / "yt.csv", ["id", "kind"], zip(names, labels, strict=True))
    words = ("compare", "twins.csv", "--labels", "yt.csv", *QUICK)
    assert "WARNING: 12 items have an exact twin" in run(*words).out
    together = run(*words, "--groups", "twins")
    assert "40 groups of equal items" in together.err
    assert "twin" not in together.out


@pytest.mark.parametrize("kind", ["similarity", "distance"])
def test_relatives_of_any_matrix_stay_together(run, kind):
    """The option was ignored silently, but for tables of hits."""
    file = {"similarity": "K.csv", "distance": "D.csv"}[kind]
    words = ("compare", file, "--kind", kind, "--labels", "y.csv", *QUICK)
    threshold = {"similarity": "0.6", "distance": "0.8"}[kind]
    said = run(*words, "--split-by-similarity", threshold).err
    assert f"groups of relatives at similarity {threshold}" in said


def test_groups_may_be_a_column_of_the_label_table(run, tmp_path):
    qiime_metadata(tmp_path / "meta.tsv")
    words = ("compare", "D.csv", "--kind", "distance", "--labels", "meta.tsv")
    words = (*words, "--label-column", "body-site", "--methods", "clip", "--groups")
    run(*words, "subject", "--folds", "3")
    assert "from 2 to 10 (groups), got 11" in run(
        *words, "subject", "--folds", "11", code=2
    ).err  # fmt: skip
    assert "did you mean 'subject'" in run(*words, "subjekt", code=2).err


def test_groups_of_sequences_may_stand_in_the_label_table(run, tmp_path):
    pytest.importorskip("rapidfuzz")
    rng = np.random.default_rng(1)
    genes = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(12)]
    lines = [f">s{k}\n{gene}\n" for k, gene in enumerate(genes)]
    (tmp_path / "genes.fasta").write_text("".join(lines))
    rows = [[f"s{k}", "ab"[k % 2], k // 3] for k in range(12)]
    write_table(tmp_path / "table.tsv", ["id", "family", "site"], rows, "\t")
    words = ("compare", "genes.fasta", "--kernel", "edit", "--labels", "table.tsv")
    words = (*words, "--label-column", "family", "--groups", "site")
    said = run(*words, "--methods", "clip", "--folds", "5", code=2).err
    assert "from 2 to 4 (groups), got 5" in said


def test_groups_fit_the_items_that_have_labels(run, tmp_path):
    labels = ["NA" if k in (3, 30) else c for k, c in enumerate(CLASSES)]
    rows = zip(np.arange(N) % 9, np.arange(N) // 4, labels, strict=True)
    write_table(tmp_path / "mixed.csv", ["size", "site", "label"], rows)
    words = ("compare", "mixed.csv", "--kernel", "gower", "--labels", "label", *QUICK)
    ended = run(*words, "--groups", "site", "--skip-unlabelled")
    assert "2 of 40 items without a label left out" in ended.err


# ------------------------------------------------------------------ tables of new items


@pytest.fixture
def table(tmp_path, points):
    """A mixed table with labels."""
    kinds = np.where(points[:, 1] > 0, "red", "blue")
    rows = zip(points[:, 0].round(3), kinds, CLASSES, strict=True)
    return write_table(tmp_path / "mixed.csv", ["size", "colour", "label"], rows)


def test_a_table_with_labels_is_scored_and_predicted(run, table):
    fit = ("fit", table, "--kernel", "gower", "--labels", "label", "--method", "clip")
    run(*fit, "-o", "m.krein")
    scored = run("predict", "m.krein", table, "--labels", "label", "--json")
    assert json.loads(scored.out)["training_accuracy"] > 0.8  # they are those of fit
    by_titles = run("predict", "m.krein", table)
    assert "by their titles; left out: label" in by_titles.err
    named = run("predict", "m.krein", table, "--label-column", "label").out
    assert by_titles.out == named
    assert len(named.splitlines()) == N + 1


def test_vectors_with_labels_are_scored_and_predicted(run, tmp_path, points):
    rows = [[*map(repr, p), c] for p, c in zip(points.tolist(), CLASSES, strict=True)]
    file = write_table(tmp_path / "X.csv", ["a", "b", "c", "species"], rows)
    fit = ("fit", file, "--kernel", "tl1", "--labels", "species", "--method", "clip")
    run(*fit, "-o", "m.krein")
    scored = run("predict", "m.krein", file, "--label-column", "species", "--json")
    assert json.loads(scored.out)["training_accuracy"] > 0.8  # they are those of fit
    by_titles = run("predict", "m.krein", file)
    assert "by their titles; left out: species" in by_titles.err
    assert len(by_titles.out.splitlines()) == N + 1


def test_nearest_items_of_a_spline_are_near(run, tmp_path, points):
    np.save(tmp_path / "X.npy", points)
    save_model(CPDSVC().fit(points, CLASSES), "m.krein")
    lines = run("predict", "m.krein", "X.npy", "--nearest", "1").out.splitlines()[1:]
    nearest = [line.split(",")[2].split()[0] for line in lines]
    assert nearest == [str(k) for k in range(N)]  # each is nearest to itself


# -------------------------------------------------------------------------------- score


@pytest.fixture
def model(run):
    run("fit", "K.csv", "--labels", "y.csv", "--method", "clip", "-o", "m.krein")
    return "m.krein"


def test_a_map_has_no_probabilities(run):
    words = ("embed", "D.csv", "--kind", "distance", "-o", "c.csv")
    run(*words, "--model", "map.krein")
    predict = ("predict", "map.krein", "new.csv", "--proba")
    assert "PCoA, for which there is no --proba" in run(*predict, code=2).err


# ------------------------------------------------------------------------- plain errors


def test_numbers_have_no_probabilities(run, tmp_path, points):
    numbers = (3 * points[:, 0]).round(4)
    rows = zip(NAMES, numbers.tolist(), strict=True)
    write_table(tmp_path / "numbers.csv", ["name", "value"], rows)
    run("fit", "K.csv", "--labels", "numbers.csv", "-o", "m.krein")
    said = run("predict", "m.krein", "new.csv", "--proba", code=2).err
    assert "Regressor, for which there is no --proba" in said
    assert "krein fit --proba" not in said


@pytest.mark.parametrize("command", ["inspect", "compare", "embed"])
def test_negative_distances_are_refused_in_words_of_the_options(run, command):
    more = {"compare": ("--labels", "y.csv"), "embed": ("-o", "c.csv")}
    words = (command, "K.csv", "--kind", "distance", *more.get(command, ()))
    said = run(*words, code=2).err
    assert "K.csv has negative numbers" in said
    assert "Leave out --kind distance" in said


@pytest.mark.parametrize("command", ["inspect", "compare"])
def test_a_table_that_is_no_matrix_needs_a_kernel(run, tmp_path, command):
    """A file of the UCR archive: a label and a series in each line."""
    rows = [
        [1 + k % 2, *np.sin(np.arange(12) * (1 + k % 2)).round(4)] for k in range(8)
    ]
    write_table(tmp_path / "Toy_TRAIN.tsv", None, rows, "\t")
    said = run(command, "Toy_TRAIN.tsv", code=2).err
    assert "has 8 rows and 13 columns; expected a square matrix" in said
    assert "--kernel NAME" in said


def test_kernel_refuses_items_of_the_wrong_kind(run, tmp_path, points):
    (tmp_path / "genes.fasta").write_text(">a\nACGT\n>b\nACGA\n")
    said = run("kernel", "rbf", "genes.fasta", "-o", "K.npz", code=2).err
    assert "genes.fasta has text, but kernel 'rbf' compares vectors" in said
    np.save(tmp_path / "X.npy", points)
    said = run("kernel", "edit", "X.npy", "-o", "K.npz", code=2).err
    assert "kernel 'edit' compares strings" in said


def test_small_words(run):
    said = run("predict", "nothing.krein", "new.csv", code=2).err
    assert said.startswith("krein predict: error: nothing.krein is not a file")
    words = ("K.csv", "--labels", "y.csv", "--kernel", "rbf,tl1", "-o", "m.krein")
    assert "only krein compare takes" in run("fit", *words, code=2).err
