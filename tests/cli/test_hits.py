"""Tables of hits on the command line, and in compare."""

import json
from argparse import Namespace

import numpy as np
import pytest
import scipy.sparse

from krein import (
    FormatError,
    HitSimilarity,
    Named,
    SpectrumSVC,
    compare,
    diagnose,
    read_hits,
    write_hits,
)
from krein.cli import main
from krein.cli.console import Inputs, read_if_hits
from krein.cli.learning import leave_out_rare
from krein.report.data import nearest

SIZES = (60, 60, 60, 60, 3)


@pytest.fixture
def table(tmp_path):
    """Families with hits inside and a few outside; one of them is small."""
    rng = np.random.default_rng(0)
    family = np.repeat(np.arange(len(SIZES)), SIZES)
    n = family.size
    lines = [f"p{i}\tp{i}\t{rng.integers(150, 300)}" for i in range(n)]
    for i in range(n):
        same = rng.choice(np.flatnonzero(family == family[i]), 3)
        lines += [f"p{i}\tp{j}\t{rng.integers(50, 120)}" for j in same if j != i]
        lines.append(f"p{i}\tp{(i * 7 + 1) % n}\t{rng.integers(20, 40)}")
    path, labels = tmp_path / "hits.m8", tmp_path / "labels.tsv"
    path.write_text("\n".join(lines) + "\n")
    rows = [f"p{i}\tx\tf{family[i]}" for i in range(n)]
    labels.write_text("\n".join(["name\tfold\tfamily", *rows]) + "\n")
    return path, labels


def test_one_command(table, tmp_path, capsys):
    path, labels = table
    page = tmp_path / "report.html"
    words = ["compare", path, "--labels", labels, "--label-column", "family"]
    words += ["--folds", "2", "--methods", "neighbors,profiles", "--html", page]
    assert main([str(word) for word in [*words, "--json"]]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert {row["method"] for row in found["table"]} == {"neighbors", "profiles"}
    assert all(row["accuracy"] > 0.5 for row in found["table"])
    assert "left out: 3 items of 1 class with fewer than 10 members" in shown.err
    assert page.stat().st_size > 10_000
    assert not any("Nearly diagonal" in str(f) for f in found["findings"])


def test_absent_items_are_not_near():
    K = np.eye(6)
    K[0, 3] = K[3, 0] = 0.4
    assert nearest(K[0], 0) == [3]
    assert nearest(K[1], 1) == []
    assert len(nearest(K[1] - 0.1, 1)) == 3


def test_relatives_stay_together(table, capsys):
    path, labels = table
    words = ["compare", path, "--labels", labels, "--label-column", "family"]
    words += ["--folds", "2", "--methods", "neighbors", "--split-by-similarity", "0.6"]
    assert main([str(word) for word in words]) == 0
    assert "groups of relatives at similarity 0.6" in capsys.readouterr().err


def test_inspect(table, capsys):
    path, _ = table
    assert main(["inspect", str(path)]) == 0
    shown = capsys.readouterr()
    assert "0 of them missing" in shown.err
    assert "243 items" in shown.out or "243" in shown.out


def new_table(path, family):
    """Hits of five new items on their family, back from it, and on each other."""
    rng = np.random.default_rng(1)
    lines = [f"new{k}\tnew{k}\t{150 + k}" for k in range(4)]
    lines += [f"new{k}\tp{60 * k + j}\t{90 + j}" for k in range(4) for j in (3, 5, 8)]
    lines += [f"p{60 * k + 9}\tnew{k}\t{rng.integers(60, 90)}" for k in range(4)]
    lines += ["new4\tp242\t80", "new0\tstranger\t50"]  # of a class left out
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("method", ["clip", "profiles", "neighbors"])
def test_from_hits_to_labels_of_new_items(method, table, tmp_path, capsys):
    path, labels = table
    model = tmp_path / "model.krein"
    words = ["fit", path, "--labels", labels, "--label-column", "family"]
    words += ["--method", method, "-o", model]
    words += ["--set", "n_neighbors=1" if method == "neighbors" else "C=1"]
    assert main([str(word) for word in words]) == 0
    new = new_table(tmp_path / "new.m8", labels)
    heads = "".join(f">new{k} of some kind\nACDE\n" for k in range(6))
    (tmp_path / "new.fasta").write_text(heads)
    capsys.readouterr()
    words = ["predict", model, new, "--names", tmp_path / "new.fasta", "--json"]
    words += ["--nearest", "2"]
    assert main([str(word) for word in words]) == 0
    shown = capsys.readouterr()
    found = {row["item"]: row for row in json.loads(shown.out)["items"]}
    assert [found[f"new{k}"]["label"] for k in range(4)] == ["f0", "f1", "f2", "f3"]
    # The only hit of one is on an item that was left out; one is in no line.
    assert found["new4"]["label"] == found["new5"]["label"] == "no hit"
    assert found["new1"]["nearest"].count("(f1)") == 2
    assert found["new4"]["nearest"] == ""
    assert "2 of 6 items have no hit among the 240 training items" in shown.err
    assert main([str(word) for word in ["predict", model, new]]) == 0
    shown = capsys.readouterr()
    assert "1 of 5 items have no hit" in shown.err
    assert "stranger" not in shown.out


def test_predictions_are_those_of_the_whole_table(table, tmp_path, capsys):
    """New x training hits are treated by the object that treated training hits."""
    path, labels = table
    lines = path.read_text().splitlines()
    new = {f"p{i}" for i in range(0, 240, 10)}
    names = [line.split("\t")[:2] for line in lines]
    inside = [x for x, pair in zip(lines, names, strict=True) if not new & {*pair}]
    (tmp_path / "train.m8").write_text("\n".join(inside) + "\n")
    words = ["fit", tmp_path / "train.m8", "--labels", labels, "--label-column"]
    words += ["family", "--method", "flip", "--set", "C=1", "-o", tmp_path / "m.krein"]
    assert main([str(word) for word in words]) == 0
    capsys.readouterr()
    words = ["predict", tmp_path / "m.krein", path, "--scores", "--json"]
    assert main([str(word) for word in words]) == 0
    found = json.loads(capsys.readouterr().out)["items"]
    assert {row["item"] for row in found} >= new
    hits = read_hits(path)
    K = HitSimilarity().fit_transform(hits)
    train = [k for k, n in enumerate(hits.names) if n not in new and int(n[1:]) < 240]
    kin = np.array([f"f{int(hits.names[k][1:]) // 60}" for k in train])
    model = SpectrumSVC("flip", C=1.0).fit(K[train][:, train], kin)
    for row in found:
        k = hits.names.index(row["item"])
        scores = model.decision_function(K[[k]][:, train])[0]
        if row["item"] in new:
            assert row["label"] == model.classes_[np.argmax(scores)]
            assert row["score(f2)"] == float(f"{scores[2]:.4g}")


def test_more_items_than_a_dense_matrix_is_made_of(table, capsys, monkeypatch):
    path, labels = table
    monkeypatch.setattr("krein.similarity.sparse.LARGEST_DENSE", 150)
    monkeypatch.setattr("krein.cli.console.ITEMS_DIAGNOSED", 100)
    words = ["compare", path, "--labels", labels, "--label-column", "family"]
    words += ["--folds", "2", "--methods", "profiles,clip"]
    assert main([str(word) for word in [*words, "--html", "x.html"]]) == 2
    assert "240 items are too many for one; leave out --html" in capsys.readouterr().err
    monkeypatch.setattr("krein.spectrum.fixed_kernel.DENSE_ITEMS", 50)
    assert main([str(word) for word in words]) == 0
    shown = capsys.readouterr()
    assert "the diagnosis is about 100 items, taken at random" in shown.err
    assert "failed" not in shown.out
    assert main(["inspect", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 100


def test_what_is_no_table_of_hits_is_left_to_others(tmp_path):
    path = tmp_path / "K.csv"
    path.write_text("1,0.5\n0.5,1\n")
    assert read_if_hits(str(path), None) is None
    assert read_if_hits("-", None) is None
    small = tmp_path / "small.m8"
    small.write_text("a\ta\t1\na\tb\t1\n")
    assert read_if_hits(str(small), None) is None


def test_titled_tables_and_sparse_arrays(table, tmp_path, capsys):
    """What write_hits and scipy.sparse.save_npz write."""
    path, _ = table
    hits = read_hits(path)
    expected = read_if_hits(str(path), None).data
    for name in ("hits.tsv", "hits.csv", "hits.npz"):
        write_hits(tmp_path / name, hits)
        found = read_if_hits(str(tmp_path / name), None)
        order = [found.names.index(name) for name in hits.names]
        assert (found.data[order][:, order] != expected).nnz == 0
        assert main(["inspect", str(tmp_path / name), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["n"] == 243
    assert read_if_hits(str(tmp_path / "hits.tsv"), "csv") is None
    write_hits(tmp_path / "small.tsv", Named(hits.data[:9, :9], hits.names[:9]))
    assert read_if_hits(str(tmp_path / "small.tsv"), None).data.shape[0] <= 9
    new = Named(hits.data[:5], hits.names[:5], hits.names)
    write_hits(tmp_path / "new.npz", new)
    assert main(["inspect", str(tmp_path / "new.npz")]) == 2
    assert "hits of training items among themselves" in capsys.readouterr().err
    np.savez(tmp_path / "K.npz", K=np.eye(3))
    assert read_if_hits(str(tmp_path / "K.npz"), None) is None


def test_too_few_large_classes(table):
    path, _ = table
    read = read_if_hits(str(path), None)
    y = np.repeat(np.arange(len(SIZES)), SIZES)
    inputs = Inputs(read.data, read.names, target=y)
    with pytest.raises(ValueError, match="Choose a smaller --min-members"):
        leave_out_rare(inputs, Namespace(min_members=61))
    assert leave_out_rare(inputs, Namespace(min_members=2)) is inputs


@pytest.mark.parametrize("score", [95, 5])
def test_near_duplicates_are_said(tmp_path, capsys, score):
    lines = [f"p{i}\tp{i}\t100" for i in range(40)]
    lines += [f"p{2 * i}\tp{2 * i + 1}\t{score}" for i in range(20)]
    (tmp_path / "hits.m8").write_text("\n".join(lines) + "\n")
    labels = [f"p{i}\t{'ab'[i % 4 < 2]}" for i in range(40)]
    (tmp_path / "y.tsv").write_text("\n".join(labels) + "\n")
    words = ["compare", tmp_path / "hits.m8", "--labels", tmp_path / "y.tsv"]
    assert main([*map(str, words), "--methods", "neighbors", "--folds", "2"]) == 0
    said = "100% of the items have a near-duplicate" in capsys.readouterr().out
    assert said is (score == 95)


def test_compare_on_a_sparse_similarity_equals_the_dense_one():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 20)
    K = np.where(rng.random((60, 60)) < 0.1, rng.random((60, 60)), 0.0)
    K = np.maximum(K, K.T) * np.where(y[:, None] == y, 1.0, 0.3)
    np.fill_diagonal(K, 1.0)
    # With three classes the machines of a dense matrix are also tried in pairs.
    y = np.where(y == 2, 1, y)
    names = ["clip", "flip", "square", "neighbors", "profiles"]
    sparse = compare(scipy.sparse.csr_array(K), y, methods=names, cv=2)
    dense = compare(K, y, methods=names, cv=2)
    assert not sparse.failed
    for a, b in zip(sparse.records, dense.records, strict=True):
        assert a["predicted"] == b["predicted"]
    found = diagnose(scipy.sparse.csr_array(K), y)
    assert found.signature == diagnose(K, y).signature


def test_damaged_hits_are_refused_by_line(tmp_path, capsys):
    path = tmp_path / "hits.m8"
    path.write_text("a\tb\t1\na\tb\n")
    assert read_if_hits(str(path), None) is None
    assert main(["inspect", str(path)]) == 2
    assert "line 2" in capsys.readouterr().err
    assert issubclass(FormatError, ValueError)
