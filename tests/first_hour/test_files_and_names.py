"""Files as people have them: what is recognised is said, what is not is refused."""

import numpy as np
import pytest

from tests.first_hour.conftest import QUICK, write_table


@pytest.fixture(scope="module")
def similar(tmp_path_factory):
    """Similarities with names, labels in a table, in another order."""
    folder = tmp_path_factory.mktemp("similar")
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 3)) + np.repeat([[1.0], [-1.0]], 20, axis=0)
    K = np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(axis=-1))
    names = [f"n{i}" for i in range(40)]
    labels = np.repeat(["a", "b"], 20)
    rows = [[names[i], i % 3, labels[i]] for i in rng.permutation(40)]
    write_table(folder / "labels.tsv", ["id", "site", "family"], rows, "\t")

    def save(name, matrix, separator=","):
        rows = [
            [n, *map(repr, row)] for n, row in zip(names, matrix.tolist(), strict=True)
        ]
        if separator == ";":
            rows = [[cell.replace(".", ",") for cell in row] for row in rows]
        return write_table(folder / name, ["", *names], rows, separator)

    save("K.csv", K, ";")
    upper = np.triu(np.ones_like(K), 1)
    save("rounded.csv", K * (1 + 5.6e-7 * upper))
    save("asymmetric.csv", K * (1 + 1e-2 * upper))
    K[0, 5] = np.nan
    save("mirror.csv", K)
    K[5, 0] = np.nan
    save("missing.csv", K)
    lines = [f"{name}:{label}" for name, label in zip(names, labels, strict=True)]
    (folder / "colons.txt").write_text("\n".join(lines) + "\n")
    return folder


LABELS = ("--labels", "labels.tsv", "--label-column", "family")
NO_LABELS = ("--labels", "nosuch.csv")


def test_what_was_recognised_is_said(similar, krein):
    said = krein("compare", "K.csv", *LABELS, *QUICK, cwd=similar).err
    assert (
        "note: read 40 x 40 numbers, names from first row and column, separator ';', "
        "decimal commas\n"
    ) in said
    assert (
        "note: read 40 labels of 2 classes from column 'family', matched by name\n"
    ) in said
    assert krein("inspect", "K.csv", "--quiet", cwd=similar).err == ""


def test_asymmetry_of_rounding_is_said_and_more_refused(similar, krein):
    ended = krein("compare", "rounded.csv", *LABELS, *QUICK, cwd=similar)
    assert "of the largest entry: taken for rounding" in ended.err
    ended = krein("compare", "asymmetric.csv", *LABELS, cwd=similar, code=2)
    assert "--symmetrize" in ended.err
    krein("compare", "asymmetric.csv", *LABELS, *QUICK, "--symmetrize", cwd=similar)


def test_missing_values_are_filled_or_named(similar, krein):
    ended = krein("inspect", "mirror.csv", cwd=similar)
    assert "note: 1 missing entry taken from across the diagonal" in ended.err
    ended = krein("inspect", "missing.csv", cwd=similar, code=2)
    assert "2 entries are missing, the first in row 1 ('n0') and column 6 ('n5')" in (
        ended.err
    )


def test_a_class_per_item_suspects_the_separator(similar, krein):
    words = ("compare", "K.csv", "--labels", "colons.txt")
    ended = krein(*words, cwd=similar, code=2)
    assert "40 classes for 40 items, one each: 'n0:a'" in ended.err
    assert "--separator" in ended.err


def test_inspect_of_sequences_names_the_kernels(proteins, krein):
    ended = krein("inspect", "proteins.fasta", cwd=proteins, code=2)
    assert "strings (fasta), not similarities" in ended.err
    assert "smith_waterman" in ended.err


def test_blanks_in_names_beside_tabs(similar, tmp_path, krein):
    rows = (similar / "rounded.csv").read_text().replace(",", "\t")
    path = tmp_path / "K.txt"
    path.write_text(rows.replace("n", "item "))
    said = krein("inspect", path).err
    assert (
        "read 40 x 40 numbers, names from first row and column, separator tab" in said
    )


def test_a_separator_is_for_the_files_that_have_it(similar, tmp_path, krein):
    """The repair that is advised works, though the matrix has another separator."""
    lines = (similar / "labels.tsv").read_text().splitlines()
    rows = [line.split("\t")[::2] for line in lines]
    path = tmp_path / "labels.txt"
    path.write_text("\n".join("|".join(row) for row in rows))
    words = ("compare", "K.csv", "--labels", path, *QUICK)
    assert "--separator" in krein(*words, cwd=similar, code=2).err
    ended = krein(*words, "--separator", "|", cwd=similar)
    assert "40 labels of 2 classes" in ended.err
    assert "matched by name" in ended.err


def test_filled_entries_are_an_alert(similar, krein):
    shown = krein("inspect", "mirror.csv", cwd=similar).out
    assert shown.startswith("WARNING: 1 missing entry taken from across the diagonal.")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("inspect", "products.csv"), "--kernel edit --items COLUMN"),
        (("inspect", "products.csv"), "--kernel rbf for its numbers"),
        (("inspect", "products.csv", "--kernel", "edit"), "one of sku, name, category"),
        (
            ("compare", "products.csv", "--items", "names", "--kernel", "edit"),
            "did you mean 'name'?",
        ),
        (
            (*"inspect products.csv --items name --kernel edit".split(), *NO_LABELS),
            "nosuch.csv is not a file",
        ),
        (
            ("inspect", "products.csv", "--items", "name", "--kernel", "dtw"),
            "has text, but kernel 'dtw' compares series",
        ),
    ],
)
def test_a_table_of_text_says_how_to_go_on(words, said, products, krein):
    ended = krein(*words, cwd=products, code=2)
    assert said in ended.err
    assert len(ended.err.splitlines()) <= 2


def test_items_without_names_are_called_by_their_text(products, tmp_path, krein):
    pytest.importorskip("rapidfuzz")
    table = ("--items", "name", "--labels", "category", "--kernel", "edit")
    model, page = tmp_path / "m.krein", tmp_path / "page.html"
    words = ("--methods", "neighbors", "--folds", "3", "--html", page, "--model", model)
    krein("compare", "products.csv", *table, *words, cwd=products)
    assert "wall paint" in page.read_text("utf-8")
    (tmp_path / "new.csv").write_text('name,x\n"screw, wood, 45 mm",1\n')
    words = (
        "predict",
        model,
        tmp_path / "new.csv",
        "--items",
        "name",
        "--nearest",
        "1",
    )
    row = krein(*words).out.splitlines()[1]
    assert row.startswith('"screw, wood, 45 mm",screws,"screw, wood, ')
