"""Files as spreadsheets, R, pandas and BLAST write them, through the command line."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.first_hour.conftest import write_table

NAMES = [f"item {i}" for i in range(24)]
LABELS = np.repeat(["rock", "metal"], 12)


@pytest.fixture(scope="module")
def similarity():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((24, 3)) + np.repeat([[1.5], [-1.5]], 12, axis=0)
    return np.tanh(X @ X.T / 2)


def inspected(krein, path, *words):
    ended = krein("inspect", path, *words, "--json")
    return json.loads(ended.out), ended.err


def test_rounding_is_accepted_with_a_note(similarity, tmp_path, krein):
    K = similarity.copy()
    K[3, 5] += 5.6e-7
    np.savez(tmp_path / "K.npz", K=K, y=LABELS)
    ended = krein("fit", "K.npz", "--set", "C=1", "-o", "m.krein", cwd=tmp_path)
    assert "taken for rounding" in ended.err


def test_asymmetry_names_the_option(similarity, tmp_path, krein):
    K = similarity.copy()
    K[3, 5] += 0.1
    np.savez(tmp_path / "K.npz", K=K, y=LABELS)
    fit = ("fit", "K.npz", "--set", "C=1", "-o", "m.krein")
    assert "--symmetrize" in krein(*fit, cwd=tmp_path, code=2).err
    krein(*fit, "--symmetrize", cwd=tmp_path)


def test_missing_numbers(similarity, tmp_path, krein):
    frame = pd.DataFrame(similarity, index=NAMES, columns=NAMES)
    frame.iloc[2, 7] = np.nan
    frame.to_csv(tmp_path / "K.csv")
    assert "across the diagonal" in inspected(krein, tmp_path / "K.csv")[1]
    frame.iloc[7, 2] = np.nan
    frame.to_csv(tmp_path / "K.csv")
    ended = krein("inspect", tmp_path / "K.csv", code=2)
    assert "item 2" in ended.err
    assert "item 7" in ended.err


def test_a_german_spreadsheet(similarity, tmp_path, krein):
    """Semicolons, decimal commas, BOM and CRLF."""
    frame = pd.DataFrame(similarity, index=NAMES, columns=NAMES)
    text = frame.to_csv(sep=";", decimal=",", lineterminator="\r\n")
    (tmp_path / "K.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    found, err = inspected(krein, tmp_path / "K.csv")
    assert found["largest_eigenvalue"] == pytest.approx(
        np.linalg.eigvalsh(similarity)[-1], rel=1e-9
    )
    assert "read 24 x 24 numbers" in err
    assert "';'" in err


def test_sequences_by_content_whatever_the_name(proteins, tmp_path, krein):
    path = tmp_path / "sequences.dat"
    path.write_bytes((proteins / "proteins.fasta").read_bytes())
    ended = krein("inspect", path, code=2)
    assert "smith_waterman" in ended.err  # which kernels take sequences
    pytest.importorskip("rapidfuzz")
    krein("kernel", "lcs", path, "-o", tmp_path / "K.npz")
    assert len(np.load(tmp_path / "K.npz")["names"]) == 42


def test_a_blast_table_by_content(tmp_path, krein):
    rows = [
        [a, b, 100 if a == b else 40 + 10 * (a[0] == b[0])]
        for a in ("a1", "a2", "b1", "b2")
        for b in ("a1", "a2", "b1", "b2")
    ]
    full = [[a, b, 90.0, 50, 1, 0, 1, 50, 1, 50, 1e-9, s] for a, b, s in rows]
    path = write_table(tmp_path / "hits.out", None, full, "\t")
    assert inspected(krein, path)[0]["n"] == 4


def test_labels_in_a_table(similarity, tmp_path, krein):
    pd.DataFrame(similarity, index=NAMES, columns=NAMES).to_csv(tmp_path / "K.csv")
    rng = np.random.default_rng(0)
    order = rng.permutation(24)
    rows = [[NAMES[i], i, LABELS[i]] for i in order]
    write_table(tmp_path / "table.csv", ["name", "weight", "kind"], rows)
    words = ("K.csv", "--labels", "table.csv")
    fit = ("fit", *words, "--set", "C=1", "--method", "flip", "-o", "m.krein")
    ended = krein(*fit, "--label-column", "kind", "--json", cwd=tmp_path)
    found = json.loads(ended.out)
    assert found["classes"] == ["metal", "rock"]
    assert found["training_accuracy"] > 0.9
    wrong = krein(*fit, "--label-column", "weight", "--force", cwd=tmp_path, code=2)
    assert "24 classes for 24 items" in wrong.err
