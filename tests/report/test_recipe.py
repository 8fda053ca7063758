"""What the report tells to copy runs as printed, and both ways agree."""

import csv
import html
import re
import shlex

import numpy as np
import pytest

from krein import compare
from krein.cli import main
from krein.report.data import most_chosen, recipe
from tests.first_hour.conftest import distances, products, write_table  # noqa: F401


def blocks(page):
    """The two blocks of "copy this": commands, and Python."""
    text = page.read_text("utf-8").split("Copy this")[1].split("</details>")[0]
    return [html.unescape(b) for b in re.findall(r"<pre>(.*?)</pre>", text, re.S)]


def run_both(folder, page, capsys):
    """Return the labels that the commands and the Python lines print."""
    shell, python = blocks(page)
    for line in shell.splitlines():
        assert main(shlex.split(line)[1:]) == 0, capsys.readouterr().err
    printed = capsys.readouterr().out.splitlines()[-3:]
    by_command = [label for _, label in csv.reader(printed)]
    exec(compile(python, "report", "exec"), {})
    by_python = re.findall(r"'([^']+)'", capsys.readouterr().out)
    assert by_python == by_command
    return by_command


QUICK = ("--methods", "clip,flip", "--folds", "3", "--html", "report.html")


def test_a_matrix_of_similarities(tmp_path, monkeypatch, capsys, rng):
    monkeypatch.chdir(tmp_path)
    X = rng.standard_normal((30, 2)) + np.repeat([[2.0], [-2.0]], 15, axis=0)
    K = np.tanh(X @ X.T)
    names = [f"i{k}" for k in range(30)]
    labels = np.repeat(["yes", "no"], 15)
    rows = [[n, *row] for n, row in zip(names, K.tolist(), strict=True)]
    write_table(tmp_path / "K.csv", ["", *names], rows)
    write_table(tmp_path / "y.csv", ["name", "label"], zip(names, labels, strict=True))
    write_table(tmp_path / "new_rows.csv", ["", *names], [rows[k] for k in (0, 20, 1)])
    assert main(["compare", "K.csv", "--labels", "y.csv", *QUICK]) == 0
    capsys.readouterr()
    assert run_both(tmp_path, tmp_path / "report.html", capsys) == ["yes", "no", "yes"]


@pytest.mark.parametrize(
    ("labels", "option"),
    [
        (["yes"] * 15 + ["no"] * 13 + [""] * 2, ["--skip-unlabelled"]),
        (["yes"] * 15 + ["no"] * 13 + ["rare"] * 2, ["--min-members", "3"]),
    ],
)
def test_items_that_the_command_leaves_out(
    tmp_path, monkeypatch, capsys, rng, labels, option
):
    """Python takes the model of the command, which knows its items."""
    monkeypatch.chdir(tmp_path)
    X = rng.standard_normal((30, 2)) + np.repeat([[2.0], [-2.0]], 15, axis=0)
    names = [f"i{k}" for k in range(30)]
    K = np.tanh(X @ X.T).tolist()
    rows = [[n, *row] for n, row in zip(names, K, strict=True)]
    write_table(tmp_path / "K.csv", ["", *names], rows)
    write_table(tmp_path / "y.csv", ["name", "label"], zip(names, labels, strict=True))
    new = [[f"n{k}", *K[k][:28]] for k in (0, 20, 1)]
    write_table(tmp_path / "new_rows.csv", ["", *names[:28]], new)
    assert main(["compare", "K.csv", "--labels", "y.csv", *option, *QUICK]) == 0
    capsys.readouterr()
    assert run_both(tmp_path, tmp_path / "report.html", capsys) == ["yes", "no", "yes"]


def test_hits(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names, labels = [f"i{k}" for k in range(24)], ["yes"] * 12 + ["no"] * 12

    def lines(queries):
        return "".join(
            f"{name}\t{other}\t{100 if name == other else 40 + (i + j) % 7}\n"
            for name, i in queries
            for j, other in enumerate(names)
            if i // 12 == j // 12
        )

    (tmp_path / "hits.tsv").write_text(lines(zip(names, range(24), strict=True)))
    (tmp_path / "new_rows.tsv").write_text(lines([("a", 0), ("b", 20), ("c", 1)]))
    write_table(tmp_path / "y.csv", ["name", "label"], zip(names, labels, strict=True))
    words = ["hits.tsv", "--labels", "y.csv", "--min-members", "5"]
    assert main(["compare", *words, "--folds", "3", *QUICK[-2:]]) == 0
    capsys.readouterr()
    assert run_both(tmp_path, tmp_path / "report.html", capsys) == ["yes", "no", "yes"]


def test_distances(distances, tmp_path, monkeypatch, capsys):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    for name in ("D.csv", "labels.csv"):
        (tmp_path / name).write_bytes((distances / name).read_bytes())
    lines = (distances / "D.csv").read_text().splitlines()
    (tmp_path / "new_distances.csv").write_text(
        "\n".join(lines[k] for k in (0, 1, 20, 45))
    )
    options = ("--labels", "labels.csv", "--kind", "distance", *QUICK)
    assert main(["compare", "D.csv", *options]) == 0
    capsys.readouterr()
    expected = ["setosa", "virginica", "versicolor"]
    assert run_both(tmp_path, tmp_path / "report.html", capsys) == expected


def test_strings_in_a_table(products, tmp_path, monkeypatch, capsys):  # noqa: F811
    pytest.importorskip("rapidfuzz")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "products.csv").write_bytes((products / "products.csv").read_bytes())
    (tmp_path / "new_items.csv").write_text(
        'sku,name\n1,"screw, wood, 45 mm"\n2,wall paint 12 white\n'
        "3,led lamp E27 7 watt\n"
    )
    options = ("--items", "name", "--labels", "category", "--kernel", "edit")
    options = (*options, "--param", "gamma=median", *QUICK)
    assert main(["compare", "products.csv", *options]) == 0
    capsys.readouterr()
    expected = ["screws", "paint", "lamps"]
    assert run_both(tmp_path, tmp_path / "report.html", capsys) == expected


@pytest.mark.parametrize("method", ["krein", "average", "neighbors"])
def test_vectors_with_labels_in_a_column(method, tmp_path, monkeypatch, capsys, rng):
    """Every kind of hyperparameter can be typed, a dict too."""
    monkeypatch.chdir(tmp_path)
    X = rng.standard_normal((30, 2)) + np.repeat([[2.0], [-2.0]], 15, axis=0)
    rows = [[*x, "up" if i < 15 else "down"] for i, x in enumerate(X.tolist())]
    write_table(tmp_path / "points.csv", ["a", "b", "way"], rows)
    new = [rows[k][:2] for k in (0, 20, 1)]
    write_table(tmp_path / "new_items.csv", ["a", "b"], new)
    options = ("--label-column", "way", "--kernel", "sigmoid", "--methods", method)
    options = (*options, "--folds", "3", "--html", "report.html")
    assert main(["compare", "points.csv", *options]) == 0
    capsys.readouterr()
    assert run_both(tmp_path, tmp_path / "report.html", capsys) == ["up", "down", "up"]


def test_the_settings_are_those_of_most_splits():
    """Not those of the first one."""
    records = [{"params": {"C": C}} for C in (0.1, 1.0, 10.0, 1.0)]

    class Found:
        def of(self, name):
            return records

    assert most_chosen(Found(), "clip") == {"C": 1.0}


@pytest.mark.parametrize("method", ["kernel_ridge", "neighbors", "ridge", "average"])
def test_numbers_without_files(method, rng, capsys):
    """Methods of scikit-learn are imported from where they are."""
    X = rng.standard_normal((40, 3))
    K, y = np.tanh(X @ X.T), 3.0 * X[:, 0]
    python = recipe(compare(K, y, methods=[method], cv=2), None)["python"]
    exec(compile(python, "report", "exec"), {"K": K, "y": y, "K_new": K[:3]})
    assert capsys.readouterr().out.startswith("[")
