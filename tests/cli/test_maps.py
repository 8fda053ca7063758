"""``krein embed`` of similarities, items and triangles; outputs all or none."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform

from krein import PCoA, read_matrix

NAMES = [f"s{i}" for i in range(25)]


@pytest.fixture
def data(tmp_path):
    X = np.random.default_rng(0).random((25, 4))
    D = squareform(pdist(X))
    frames = {"D": D, "K": np.exp(-D) + 5, "L": np.tril(D), "U": np.triu(D)}
    for name, matrix in frames.items():
        pd.DataFrame(matrix, NAMES, NAMES).to_csv(tmp_path / f"{name}.csv")
    counts = pd.DataFrame((9 * X).round(), NAMES, list("abcd")).rename_axis("sample")
    counts.to_csv(tmp_path / "counts.csv")
    return tmp_path


def test_a_map_of_similarities_does_not_show_what_all_have_in_common(krein, data):
    out, page = data / "out.csv", data / "map.html"
    said = json.loads(krein("embed", data / "K.csv", "-o", out, "--html", page,
                            "--components", 3, "--json")[0])  # fmt: skip
    K = read_matrix(data / "K.csv").data
    J = np.eye(25) - 1 / 25
    values = np.abs(np.linalg.eigvalsh(J @ K @ J))
    shares = np.sort(values)[::-1] / values.sum()
    np.testing.assert_allclose(said["proportion_explained"], shares[:3])
    assert f"shows {shares[:2].sum():.0%} of" in said["text"]
    assert f"the 3 axes together {shares[:3].sum():.0%}" in said["text"]
    places = pd.read_csv(out, index_col=0)
    np.testing.assert_allclose(places.mean(), 0.0, atol=1e-12)
    assert "Stress" not in page.read_text()
    assert "around their mean" in page.read_text()


def test_a_map_of_distances_tells_its_stress(krein, data):
    page = data / "map.html"
    krein("embed", data / "D.csv", "--kind", "distance", "-o", data / "c.csv",
          "--html", page)  # fmt: skip
    assert "Stress: how far" in page.read_text()


def test_items_are_placed_by_the_distances_of_a_kernel(krein, data):
    out = data / "out.csv"
    _, error = krein("embed", data / "counts.csv", "--id", "sample", "--kernel",
                     "braycurtis", "-o", out)  # fmt: skip
    assert "the distances of braycurtis are placed" in error
    counts = pd.read_csv(data / "counts.csv", index_col=0)
    expected = PCoA(2).fit_transform(squareform(pdist(counts, "braycurtis")))
    np.testing.assert_allclose(pd.read_csv(out, index_col=0), expected, atol=1e-12)
    krein("embed", data / "counts.csv", "--kernel", "polynomial", "--id", "sample",
          "-o", out, "--force")  # fmt: skip
    how = ("--kernel", "rbf", "-o", data / "x.csv", "--model", data / "m.krein")
    _, error = krein("embed", data / "counts.csv", "--id", "sample", *how, code=2)
    assert "krein kernel rbf" in error
    assert not (data / "x.csv").exists()


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("half", ["L", "U"])
def test_a_triangle_beside_zeros_is_mirrored(krein, data, half):
    how = ("--kind", "distance", "-o", data / "out.csv")
    _, error = krein("embed", data / f"{half}.csv", *how, code=2)
    assert "half is zero" in error
    _, error = krein("embed", data / f"{half}.csv", *how, "--symmetrize")
    assert f"the {'upper' if half == 'L' else 'lower'} half of" in error
    krein("embed", data / "D.csv", "--kind", "distance", "-o", data / "whole.csv")
    assert (data / "whole.csv").read_text() == (data / "out.csv").read_text()


@pytest.mark.parametrize("name", ["d.npy", "d.txt"])
def test_condensed_distances_of_pdist_are_read(krein, data, name):
    D = read_matrix(data / "D.csv").data
    save = np.save if name == "d.npy" else np.savetxt
    save(data / name, squareform(D, checks=False))
    _, error = krein("embed", data / name, "--kind", "distance", "-o", data / "o.csv")
    assert "300 distances in one list: condensed ones of 25 items" in error
    places = pd.read_csv(data / "o.csv", index_col=0)
    np.testing.assert_allclose(pdist(places), pdist(PCoA(2).fit_transform(D)))


def test_results_go_to_standard_output(krein, data):
    out, error = krein("repair", data / "K.csv", "-o", "-")
    assert out.startswith(",s0,s1")
    assert len(out.splitlines()) == 26
    assert "krein repair: note:" in error
    out, error = krein("embed", data / "K.csv", "-o", "-")
    assert out.splitlines()[0] == "item,axis1,axis2"
    assert "The map shows" in error
    for command in ("repair", "embed"):
        _, error = krein(command, data / "K.csv", "-o", "-", "--json", code=2)
        assert "both write to standard output" in error


# ------------------------------------------------------------- all outputs or none


def fails(*args, **kwargs):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("place", ["embed.render_map", "saving.krein.save_model",
                                   "console.write_rows"])  # fmt: skip
def test_a_full_disk_leaves_no_part_of_a_map(krein, data, monkeypatch, place):
    before = sorted(data.iterdir())
    monkeypatch.setattr(f"krein.cli.{place}", fails)
    outputs = ("-o", data / "o.csv", "--html", data / "o.html", "--model", data / "m")
    _, error = krein("embed", data / "D.csv", "--kind", "distance", *outputs, code=1)
    assert "No space left on device" in error
    assert sorted(data.iterdir()) == before


def test_a_full_disk_leaves_no_part_of_a_comparison(krein, data, monkeypatch):
    labels = "".join(f"{name},{'ab'[i % 2]}\n" for i, name in enumerate(NAMES))
    (data / "y.csv").write_text("name,label\n" + labels)
    before = sorted(data.iterdir())
    monkeypatch.setattr("krein.cli.compare.write_report", fails)
    _, error = krein("compare", data / "K.csv", "--labels", data / "y.csv", "--model",
                     data / "m.krein", "--html", data / "r.html", "--methods", "svc",
                     "--folds", "2", code=1)  # fmt: skip
    assert "No space left on device" in error
    assert sorted(data.iterdir()) == before


def test_one_name_for_two_outputs_is_refused(krein, data):
    _, error = krein("embed", data / "K.csv", "-o", data / "o.csv", "--html",
                     data / "o.csv", code=2)  # fmt: skip
    assert "named twice" in error
    assert not (data / "o.csv").exists()
