"""Files as people have them, and krein as they call it."""

import csv
import json

import numpy as np
import pytest

from tests.cli.terminal import pipe

LETTERS = np.array(list("ACDEFGHIKLMNPQRSTVWY"))
QUICK = ("--methods", "svc,clip,flip,neighbors", "--folds", "5")


def write_table(path, head, rows, separator=","):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator)
        if head:
            writer.writerow(head)
        writer.writerows(rows)
    return path


def mutated(rng, parent, share):
    letters = np.array(list(parent))
    changed = rng.random(letters.size) < share
    letters[changed] = rng.choice(LETTERS, changed.sum())
    return "".join(letters)


@pytest.fixture(scope="session")
def proteins(tmp_path_factory):
    """Three families of sequences, and a label table in another order."""
    folder = tmp_path_factory.mktemp("proteins")
    rng = np.random.default_rng(0)
    parents = ["".join(rng.choice(LETTERS, 60)) for _ in range(3)]
    families = np.repeat(["kinase", "globin", "lectin"], 14)
    names = [f"P{i:03d}" for i in range(42)]
    sequences = [
        mutated(rng, parents[k], rng.uniform(0.3, 0.8)) for k in np.repeat(range(3), 14)
    ]
    fasta = "".join(f">{n}\n{s}\n" for n, s in zip(names, sequences, strict=True))
    (folder / "proteins.fasta").write_text(fasta)
    order = rng.permutation(42)
    rows = [[names[i], families[i]] for i in order]
    write_table(folder / "table.tsv", ["id", "family"], rows, "\t")
    write_table(folder / "labels.csv", ["name", "label"], rows)
    return folder


@pytest.fixture(scope="session")
def products(tmp_path_factory):
    """Product names in a data frame, commas inside quotes."""
    folder = tmp_path_factory.mktemp("products")
    rng = np.random.default_rng(1)
    words = {
        "screws": "screw, wood, {} mm",
        "paint": "wall paint {} white",
        "lamps": "led lamp E27 {} watt",
    }
    rows = [
        [f"{k}{i}", words[k].format(rng.integers(10, 99)), k, rng.integers(1, 90)]
        for i in range(16)
        for k in words
    ]
    write_table(folder / "products.csv", ["sku", "name", "category", "price"], rows)
    return folder


@pytest.fixture(scope="session")
def distances(tmp_path_factory):
    """Distances with names as R writes them, and labels."""
    folder = tmp_path_factory.mktemp("distances")
    rng = np.random.default_rng(2)
    X = rng.standard_normal((48, 2)) + np.repeat([[0, 0], [3, 0], [0, 3]], 16, axis=0)
    D = np.abs(X[:, None] - X[None]).max(axis=2)
    names = [f"s{i}" for i in range(48)]
    rows = [[n, *map(repr, d)] for n, d in zip(names, D.tolist(), strict=True)]
    write_table(folder / "D.csv", ["", *names], rows)
    labels = np.repeat(["setosa", "virginica", "versicolor"], 16)
    pairs = list(zip(names, labels, strict=True))
    write_table(folder / "labels.csv", ["name", "label"], pairs)
    new = X[[0, 20, 40]] + 0.01
    rows = np.abs(new[:, None] - X[None]).max(axis=2)
    write_table(
        folder / "new.csv",
        ["", *names[::-1]],  # in another order
        [[f"n{i}", *map(repr, row[::-1].tolist())] for i, row in enumerate(rows)],
    )
    return folder


@pytest.fixture
def krein():
    """Run a command in a folder; return what it printed."""

    def run(*words, cwd=None, code=0):
        ended = pipe(*words, cwd=cwd)
        assert ended.code == code, (words, ended.out, ended.err)
        return ended

    return run


@pytest.fixture
def accuracy(krein):
    """Mean accuracy of one method in a comparison."""

    def run(*words, cwd=None, method="flip"):
        ended = krein("compare", *words, *QUICK, "--json", cwd=cwd)
        (row,) = (r for r in json.loads(ended.out)["table"] if r["method"] == method)
        return row["accuracy"]

    return run
