"""Plain tables with text in them, and sequences of DNA, as newcomers have them."""

import numpy as np
import pytest

from tests.first_hour.conftest import QUICK, write_table


@pytest.fixture
def cars(tmp_path):
    """A table with numbers, text, gaps of two kinds, and labels."""
    rng = np.random.default_rng(4)
    sporty = rng.integers(0, 2, 60)
    rows = []
    for kind in sporty:
        power = round(80 + 90 * kind + 25 * rng.standard_normal())
        fuel = rng.choice(["diesel", "petrol"], p=[0.2, 0.8] if kind else [0.7, 0.3])
        doors = rng.choice(["two", "four"], p=[0.8, 0.2] if kind else [0.2, 0.8])
        row = [power, fuel, doors, "sport" if kind else "family"]
        if rng.random() < 0.2:
            row[rng.integers(3)] = rng.choice(["", "NA"])
        rows.append(row)
    head = ["power", "fuel", "doors", "class"]
    write_table(tmp_path / "new.csv", head[:3], [row[:3] for row in rows[:4]])
    return write_table(tmp_path / "cars.csv", head, rows)


def test_a_table_with_text_is_compared_in_one_line(cars, tmp_path, krein, accuracy):
    assert accuracy(cars, "--kernel", "gower", "--labels", "class") > 0.85
    page = tmp_path / "page.html"
    ended = krein(
        "compare", cars, "--kernel", "gower", "--labels", "class", *QUICK,
        "--html", page, "--model", tmp_path / "m.krein",
    )  # fmt: skip
    assert "1 column of numbers, 2 of categories" in ended.err
    assert "format=&#x27;table&#x27;" in page.read_text()
    labels = krein("predict", tmp_path / "m.krein", tmp_path / "new.csv").out
    assert len(labels.splitlines()) == 5


def test_dna_is_recognised_and_said(tmp_path, krein):
    pytest.importorskip("parasail")
    rng = np.random.default_rng(5)
    parents = ["".join(rng.choice(list("ACGT"), 40)) for _ in range(2)]
    lines, rows = [], []
    for k in range(24):
        letters = np.array(list(parents[k % 2]))
        changed = rng.random(40) < 0.3
        letters[changed] = rng.choice(list("ACGT"), changed.sum())
        lines += [f">gene{k}", "".join(letters).lower()]
        rows.append([f"gene{k}", f"family{k % 2}"])
    genes = tmp_path / "genes.fasta"
    genes.write_text("\n".join(lines))
    labels = write_table(tmp_path / "labels.csv", ["name", "label"], rows)
    ended = krein(
        "compare", genes, "--labels", labels, "--kernel", "smith_waterman", *QUICK
    )
    assert ended.err.count("matrix='dnafull'") == 1
    insisted = krein(
        "compare", genes, "--labels", labels, "--kernel", "smith_waterman", *QUICK,
        "--param", "matrix=blosum62",
    )  # fmt: skip
    assert "dnafull" not in insisted.err


def test_graphs_without_labels_are_told_apart():
    """Their degrees are compared, and ignored attributes are said."""
    networkx = pytest.importorskip("networkx")
    from krein import optimal_assignment_kernel

    star, path = networkx.star_graph(4), networkx.path_graph(5)
    K = optimal_assignment_kernel([star, path], normalize=True)
    assert K[0, 1] < 0.9
    networkx.set_node_attributes(star, "C", "element")
    with pytest.warns(UserWarning, match=r"element, which are ignored.*node_label"):
        optimal_assignment_kernel([star, path])
