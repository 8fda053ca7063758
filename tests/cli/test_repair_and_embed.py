"""``krein repair`` and ``krein embed``: files, the page, new items, errors."""

import csv
import json
import re

import numpy as np
import pytest

from krein import PCoA, read_matrix, write_matrix
from krein.cli import main

NAMES = [f"item {i}" for i in range(12)]


@pytest.fixture
def krein(capsys):
    def run(*words, code=0):
        assert main([str(word) for word in words]) == code
        captured = capsys.readouterr()
        return captured.out if code == 0 else captured.err

    return run


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3))
    D = np.abs(X[:, None] - X[None]).sum(axis=2) ** 1.5
    E = np.triu(0.3 * rng.standard_normal((12, 12)), 1)
    C = np.corrcoef(X) + E + E.T
    np.fill_diagonal(C, 1.0)
    C = 0.5 * (C + C.T)
    write_matrix(tmp_path / "D.csv", D, names=NAMES)
    write_matrix(tmp_path / "C.csv", C, names=NAMES)
    new = ["new <b>0</b>", "new 1"]
    write_matrix(tmp_path / "new.csv", D[:2, ::-1], names=new, columns=NAMES[::-1])
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        rows = [[name, "a & b" if i < 6 else "c"] for i, name in enumerate(NAMES)]
        csv.writer(file).writerows([["name", "label"], *rows])
    return tmp_path


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


# ------------------------------------------------------------------------------- repair


def test_repair(krein, files):
    out = files / "out.csv"
    said = json.loads(
        krein("repair", files / "C.csv", "--diagonal", "unit", "-o", out, "--json")
    )
    read = read_matrix(out)
    assert read.names == NAMES
    np.testing.assert_array_equal(read.data.diagonal(), 1.0)
    assert said["smallest_eigenvalue_before"] < -0.01
    assert np.linalg.eigvalsh(read.data)[0] > -1e-12
    given = read_matrix(files / "C.csv").data
    np.testing.assert_allclose(said["distance"], np.linalg.norm(read.data - given))
    assert said["status"] == "converged"


def test_repair_for_people(krein, files):
    words = ("repair", files / "C.csv", "-o", files / "out.npz")
    assert "smallest eigenvalue" in krein(*words)
    assert "--force" in krein(*words, code=2)
    assert "smallest eigenvalue" in krein(
        *words, "--force", "--diagonal", "keep", "--min-eigenvalue", "0.01"
    )
    assert np.linalg.eigvalsh(read_matrix(files / "out.npz").data)[0] > 0.0099


@pytest.mark.filterwarnings("always")  # of the empty half, which is mirrored
def test_repair_of_an_asymmetric_matrix(krein, files):
    K = read_matrix(files / "C.csv").data
    write_matrix(files / "A.csv", np.triu(K), names=NAMES)
    words = ("repair", files / "A.csv", "-o", files / "out.csv")
    assert "--symmetrize" in krein(*words, code=2)
    assert not (files / "out.csv").exists()
    krein(*words, "--symmetrize")


# -------------------------------------------------------------------------------- embed


def test_embed(krein, files):
    out, page = files / "coordinates.csv", files / "map.html"
    words = ("embed", files / "D.csv", "--kind", "distance", "-o", out, "--html", page)
    said = json.loads(
        krein(*words, "--labels", files / "labels.csv", "--components", 3, "--json")
    )
    rows = table(out)
    assert [row["item"] for row in rows] == NAMES
    assert rows[0]["label"] == "a & b"
    found = [[float(row[f"axis{k}"]) for k in (1, 2, 3)] for row in rows]
    D = read_matrix(files / "D.csv").data
    np.testing.assert_allclose(found, PCoA(3).fit_transform(D), atol=1e-12)
    assert 0.0 < said["stress"] < 0.5
    assert said["negative_mass"] > 0.0
    html = page.read_text()
    assert html.count("data-tip=") >= 24
    assert "item 11: c" in html
    assert "a &amp; b" in html
    assert "http" not in re.sub(r"http-equiv|xmlns=\S+", "", html)


def test_new_items_are_placed_by_predict(krein, files):
    model = files / "map.krein"
    krein("embed", files / "D.csv", "--kind", "distance", "-o", files / "c.csv",
          "--correction", "lingoes", "--model", model)  # fmt: skip
    out = files / "new_places.csv"
    krein("predict", model, files / "new.csv", "-o", out)
    old, new = table(files / "c.csv"), table(out)
    assert [row["item"] for row in new] == ["new <b>0</b>", "new 1"]
    for i in range(2):
        np.testing.assert_allclose(
            [float(new[i][a]) for a in ("axis1", "axis2")],
            [float(old[i][a]) for a in ("axis1", "axis2")],
            atol=1e-8,
        )
    assert "similarity" in krein(
        "predict", model, files / "new.csv", "--kind", "similarity", code=2
    )
    assert "--proba" in krein("predict", model, files / "new.csv", "--proba", code=2)


def test_similarities_are_embedded_too(krein, files):
    out, page = files / "c.csv", files / "map.html"
    model = files / "m.krein"
    words = ("embed", files / "C.csv", "-o", out, "--html", page, "--model", model)
    assert "negative mass" in krein(*words)
    assert page.read_text().count("eigenvalue ") >= 12  # the whole spectrum
    write_matrix(
        files / "rows.csv", read_matrix(files / "C.csv").data[:3],
        names=["x", "y", "z"], columns=NAMES,
    )  # fmt: skip
    placed = krein("predict", model, files / "rows.csv").splitlines()
    assert placed[0] == "item,axis1,axis2"
    assert float(placed[1].split(",")[1]) == pytest.approx(
        float(table(out)[0]["axis1"])
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("D.csv",), "--kind distance"),
        (("C.csv", "--correction", "lingoes"), "--correction is for --kind distance"),
        (("C.csv", "--kind", "distance"), "looks like similarities|negative"),
        (("D.csv", "--kind", "distance", "--components", "0"), "n_components"),
    ],
)
def test_bad_input(krein, files, words, message):
    words = (files / words[0], *words[1:])
    error = krein("embed", *words, "-o", files / "c.csv", code=2)
    assert re.search(message, error)
    assert not (files / "c.csv").exists()


def test_one_component_has_a_map(krein, files):
    page = files / "map.html"
    krein("embed", files / "D.csv", "--kind", "distance", "--components", 1,
          "-o", files / "c.csv", "--html", page)  # fmt: skip
    assert "axis 2: 0.0%" in page.read_text()
