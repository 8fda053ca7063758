"""The worked examples of the command-line page run as printed, and give the answers."""

import csv
import html
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from krein.cli import main
from tests.first_hour.conftest import LETTERS, mutated, write_table

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "command_line.md"


def commands(heading):
    """Commands of the sh blocks under a heading; a backslash continues a line."""
    section = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.M)
    (text,) = (part for part in section if part.startswith(heading))
    return [
        line
        for block in re.findall(r"^```sh\n(.*?)^```", text, flags=re.M | re.S)
        for line in block.replace("\\\n", " ").splitlines()
    ]


@pytest.fixture
def play(capsys, monkeypatch, tmp_path):
    """Type the commands of a section in a folder; return what each printed."""

    def run(heading):
        monkeypatch.chdir(tmp_path)
        shown = []
        for line in commands(heading):
            code = main(shlex.split(line)[1:])
            captured = capsys.readouterr()
            assert code == 0, (line, captured.err)
            shown.append(captured.out)
        return shown

    return run


def labels(text):
    return [row["label"] for row in csv.DictReader(text.splitlines())]


def write_fasta(path, names, sequences):
    pairs = zip(names, sequences, strict=True)
    path.write_text("".join(f">{n}\n{s}\n" for n, s in pairs))


def test_sequences(play, tmp_path):
    pytest.importorskip("parasail")
    rng = np.random.default_rng(0)
    parents = {k: "".join(rng.choice(LETTERS, 50)) for k in ("globin", "kinase")}
    families = np.repeat(list(parents), 12)
    names = [f"P{i}" for i in range(24)]
    write_fasta(
        tmp_path / "proteins.fasta",
        names,
        [mutated(rng, parents[k], 0.5) for k in families],
    )
    order = rng.permutation(24)
    rows = [[names[i], 2020, families[i]] for i in order]
    write_table(tmp_path / "table.tsv", ["id", "year", "family"], rows, "\t")
    new = [mutated(rng, parents[k], 0.3) for k in ("kinase", "globin", "kinase")]
    write_fasta(tmp_path / "new.fasta", ["a", "b", "c"], new)
    shown = play("Sequences")
    expected = ["kinase", "globin", "kinase"]
    assert labels(shown[3]) == expected  # from the sequences
    assert labels(shown[-1]) == expected  # through the matrix
    near = next(csv.DictReader(shown[3].splitlines()))["nearest"]
    assert near.count("(kinase)") == 3
    assert "report.html" in shown[1]


def test_strings_in_a_table(play, tmp_path, products):
    pytest.importorskip("rapidfuzz")
    (tmp_path / "products.csv").write_bytes((products / "products.csv").read_bytes())
    (tmp_path / "new_products.csv").write_text(
        'name,sku\n"screw, wood, 45 mm",1\nwall paint 12 white,2\n'
    )
    play("Strings in a table")
    with (tmp_path / "predicted.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == ["screws", "paint"]
    sums = [sum(float(v) for k, v in row.items() if k[:2] == "p(") for row in rows]
    assert sums == pytest.approx([1, 1], abs=1e-3)
    assert float(rows[0]["p(screws)"]) > 0.5
    page = html.unescape((tmp_path / "report.html").read_text("utf-8"))
    assert "krein fit products.csv --items name --labels category" in page


def test_a_matrix_from_r(play, tmp_path, distances):
    for name, given in (
        ("distances.csv", "D.csv"),
        ("labels.csv", "labels.csv"),
        ("new_distances.csv", "new.csv"),
    ):
        (tmp_path / name).write_bytes((distances / given).read_bytes())
    shown = play("A matrix from R")
    assert labels(shown[2]) == ["setosa", "virginica", "versicolor"]
    assert "ERROR" not in shown[0]


def test_series(play, tmp_path):
    pytest.importorskip("dtaidistance")
    rng = np.random.default_rng(3)
    time = np.linspace(0, 6, 40)
    rows = [
        [k, *np.sin((1 + k) * time + rng.uniform(0, 1)) + 0.1 * rng.standard_normal(40)]
        for k in np.tile([0, 1], 15)
    ]
    write_table(tmp_path / "series.tsv", None, rows, "\t")
    shown = play("Time series")
    assert "--param window=VALUE" in shown[0]
    best = [line.split("\t") for line in shown[2].splitlines() if "\t" in line][1]
    assert float(best[1]) > 0.9
