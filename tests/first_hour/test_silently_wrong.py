"""Answers that were wrong with exit code 0: names, parameters, distances."""

import json

import numpy as np
import pytest

from tests.first_hour.conftest import QUICK

needs_alignment = pytest.mark.usefixtures("alignment")


@pytest.fixture
def alignment():
    pytest.importorskip("parasail")


@needs_alignment
def test_names_travel_with_the_matrix(proteins, tmp_path, krein, accuracy):
    """Labels in another order find their items through .npz and .npy."""
    direct = accuracy(
        "proteins.fasta", "--labels", "labels.csv", "--kernel", "smith_waterman",
        cwd=proteins,
    )  # fmt: skip
    assert direct > 0.8
    for ending in ("npz", "npy"):
        K = tmp_path / f"K.{ending}"
        krein("kernel", "smith_waterman", proteins / "proteins.fasta", "-o", K)
        assert accuracy(K, "--labels", proteins / "labels.csv") > 0.8


def test_named_labels_for_unnamed_items_are_an_error(proteins, tmp_path, krein):
    K = tmp_path / "K.npy"
    np.save(K, np.eye(42) + 0.5)
    labels = ("--labels", proteins / "labels.csv")
    ended = krein("compare", K, *labels, code=2)
    assert ended.out == ""
    assert "--ignore-names" in ended.err
    insisted = krein("compare", K, *labels, *QUICK, "--ignore-names", "--json")
    assert json.loads(insisted.out)["table"]


def test_false_is_false(products, tmp_path, krein):
    """`normalize=false` is not the string that counts as true."""
    pytest.importorskip("rapidfuzz")
    names = tmp_path / "names.txt"
    names.write_text("abcd\nabce\nxyzxyz\n")
    values = {}
    for word in ("false", "true"):
        K = tmp_path / f"{word}.npz"
        options = ("--param", f"normalize={word}", "--param", "gamma=0.1")
        krein("kernel", "edit", names, "-o", K, *options)
        values[word] = np.load(K)["K"][0, 1]
    assert values["false"] == pytest.approx(np.exp(-0.1))
    assert values["true"] == pytest.approx(np.exp(-0.1 / 4))


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ("normalize=perhaps", "normalize must be true or false, got 'perhaps'"),
        ("gamma=medain", "gamma must be a positive number, got 'medain'"),
        ("similarity=gauss", "one of exponential, gaussian"),
        ("gama=1", "has no parameter 'gama'; it has normalize, gamma, similarity"),
    ],
)
def test_a_wrong_parameter_names_the_choices(pair, words, tmp_path, krein):
    names = tmp_path / "names.txt"
    names.write_text("abcd\nabce\n")
    out = tmp_path / "K.npz"
    ended = krein("kernel", "edit", names, "-o", out, "--param", pair, code=2)
    assert words in ended.err
    assert not out.exists()


def test_nearly_diagonal_is_said(tmp_path, krein):
    K = np.eye(30) + 1e-4
    np.savez(tmp_path / "K.npz", K=K, y=np.arange(30) % 2)
    inspected = krein("inspect", "K.npz", cwd=tmp_path)
    assert inspected.out.startswith("WARNING: Nearly diagonal")
    repair = "repair: krein compare distances.csv --kind distance --labels labels.csv\n"
    assert (
        repair in inspected.out
    )  # a matrix has no kernel whose gamma could be another
    fitted = krein(
        "fit", "K.npz", "--set", "C=1", "--method", "clip", "-o", "m.krein",
        cwd=tmp_path,
    )  # fmt: skip
    assert "Nearly diagonal" in fitted.err


def test_indefiniteness_is_not_blamed_on_a_psd_matrix(tmp_path, krein):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    K = X @ X.T
    np.savez(tmp_path / "K.npz", K=K, y=y)
    ended = krein(
        "compare", "K.npz", "--methods", "svc,square,neighbors", "--folds", "5",
        cwd=tmp_path,
    )  # fmt: skip
    assert "the spectrum fix matters" not in ended.out
    assert "positive semidefinite: there is nothing to fix" in ended.out


def test_distances_must_be_named(distances, krein):
    labels = ("--labels", "labels.csv")
    for command in (("compare",), ("fit", "-o", "never.krein")):
        ended = krein(*command, "D.csv", *labels, cwd=distances, code=2)
        assert "looks like distances" in ended.err
        assert "--kind distance" in ended.err
    inspected = krein("inspect", "D.csv", *labels, cwd=distances)
    assert inspected.out.startswith("ERROR: These look like distances")
    assert "krein inspect D.csv --kind distance" in inspected.out


@pytest.mark.parametrize("transform", ["exponential", "gaussian", "centred"])
def test_distances_from_inspect_to_predict(transform, distances, tmp_path, krein):
    """The conversion is stored in the model; columns are found by name."""
    kind = ("--kind", "distance", "--transform", transform)
    words = ("D.csv", "--labels", "labels.csv", *kind)
    found = json.loads(krein("inspect", *words, "--json", cwd=distances).out)
    assert not [f for f in found["findings"] if f["severity"] == "error"]
    model = tmp_path / "m.krein"
    krein("fit", *words, "--method", "flip", "-o", model, cwd=distances)
    predicted = krein("predict", model, "new.csv", "--nearest", "1", cwd=distances)
    rows = [line.split(",") for line in predicted.out.splitlines()[1:]]
    assert [row[1] for row in rows] == ["setosa", "virginica", "versicolor"]
    assert [row[2].split()[0] for row in rows] == ["s0", "s20", "s40"]


def test_distances_are_compared(distances, accuracy):
    words = ("D.csv", "--labels", "labels.csv", "--kind", "distance")
    assert accuracy(*words, cwd=distances) > 0.85


def test_ignored_names_are_an_alert(distances, tmp_path, krein):
    """What `--ignore-names` gives up is the first thing that is said."""
    kind = ("--kind", "distance", "--ignore-names", "--labels", "labels.csv")
    shown = krein("inspect", "D.csv", *kind, "--json", cwd=distances).out
    (finding,) = (f for f in json.loads(shown)["findings"] if "names" in f["key"])
    assert "in the same order" in finding["text"]
    rows = (distances / "labels.csv").read_text().splitlines()
    wrong = tmp_path / "labels.csv"
    wrong.write_text("\n".join([rows[0], *rows[:0:-1]]) + "\n")
    kind = (*kind[:-1], wrong)
    shown = krein("inspect", "D.csv", *kind, cwd=distances).out
    assert shown.startswith("WARNING: The names beside the labels were ignored; 48 of")
    assert f"repair: krein inspect D.csv --labels {wrong}" in shown
    page = tmp_path / "page.html"
    krein("compare", "D.csv", *kind, *QUICK, "--html", page, cwd=distances)
    assert "The names beside the labels were ignored" in page.read_text("utf-8")
    K = tmp_path / "K.npy"
    np.save(K, np.eye(48) + 0.5)
    shown = krein("inspect", K, "--labels", wrong, "--ignore-names").out
    assert "nothing shows that the order is the same" in shown


def test_distances_for_a_model_of_similarities(distances, tmp_path, krein):
    """Rows to be predicted have no diagonal to be recognised by."""
    D = np.genfromtxt(distances / "D.csv", delimiter=",", skip_header=1)[:, 1:]
    np.savez(tmp_path / "K.npz", K=np.exp(-D), y=np.repeat(["a", "b", "c"], 16))
    np.save(tmp_path / "rows.npy", D[:3])
    words = ("K.npz", "--method", "flip", "--set", "C=1", "-o", "m.krein")
    krein("fit", *words, cwd=tmp_path)
    predict = ("predict", "m.krein", "rows.npy", "--ignore-names")
    ended = krein(*predict, cwd=tmp_path)
    assert "warning: numbers from 0 to" in ended.err
    assert "but in training from" in ended.err
    np.save(tmp_path / "rows.npy", np.exp(-D[:3]))
    ended = krein(*predict, cwd=tmp_path)
    assert "warning" not in ended.err


def test_a_missing_label_is_no_class(products, tmp_path, krein):
    text = (products / "products.csv").read_text()
    path = tmp_path / "products.csv"
    path.write_text(text.replace(",paint,", ",,", 1))
    words = ("--items", "name", "--labels", "category", "--kernel", "edit")
    ended = krein("compare", path, *words, code=2)
    assert "products.csv, line 3, column 3: the label is missing" in ended.err
