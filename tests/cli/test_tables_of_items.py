"""Tables with names, labels and more; files of pandas; predict of the same kind."""

import html
import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def table(tmp_path):
    """A table as a laboratory writes it: names, numbers, a class, a remark."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    frame = pd.DataFrame(X, columns=["ph", "size", "mass"])
    frame.insert(0, "sample no", [f"a{i:02d}" for i in range(40)])
    frame["kind"] = np.where(X[:, 0] > 0, "sour", "sweet")
    frame["remark"] = "as usual"
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


TOLD = ("--id", "sample no", "--drop", "remark", "--kernel", "rbf")


def test_names_and_other_columns_are_told(krein, table):
    _, error = krein("fit", table, "--labels", "kind", "--kernel", "rbf",
                     "-o", table.with_name("m.krein"), code=2)  # fmt: skip
    assert "column 'remark'" in error  # 'sample no' has a different word in each row
    _, error = krein("fit", table, "--labels", "kind", *TOLD, "--method", "svc",
                     "-o", table.with_name("m.krein"))  # fmt: skip
    assert (
        "40 vectors of 3 columns, labels from 'kind', names from 'sample no'" in error
    )


def test_a_model_finds_its_columns_in_a_new_table(krein, table):
    model = table.with_name("m.krein")
    krein("fit", table, "--labels", "kind", *TOLD, "--method", "svc", "-o", model)
    new = pd.read_csv(table).head(5).assign(extra="text")
    new["sample no"] = [f"b{i}" for i in range(5)]
    new[["extra", "size", "ph", "sample no", "mass"]].to_csv(
        table.with_name("new.csv"), index=False
    )
    out, error = krein(
        "predict", model, table.with_name("new.csv"), "--id", "sample no"
    )
    assert [line.split(",")[0] for line in out.split()[1:]] == new["sample no"].tolist()
    assert "columns were taken by their titles; left out: extra" in error


def test_a_repair_repeats_how_the_table_is_read(krein, table):
    out, _ = krein("inspect", table, "--labels", "kind", *TOLD, "--json")
    for finding in json.loads(out)["findings"]:
        assert "--id 'sample no' --drop remark" in finding["command"] or (
            not finding["command"]
        )


def test_a_table_of_pandas_is_compared_as_the_text(krein, table):
    frame = pd.read_csv(table)
    frame.to_parquet(table.with_suffix(".parquet"))
    how = ("--labels", "kind", *TOLD, "--methods", "svc", "--folds", "2", "--json")
    out = [json.loads(krein("compare", path, *how)[0])["table"][0]["accuracy"]
           for path in (table, table.with_suffix(".parquet"))]  # fmt: skip
    assert out[0] == out[1]


@pytest.mark.parametrize("option", ["--id", "--drop", "--numbers"])
def test_columns_of_a_matrix_are_refused(krein, tmp_path, option):
    np.savetxt(tmp_path / "K.csv", np.eye(4), delimiter=",")
    _, error = krein("inspect", tmp_path / "K.csv", option, "x", code=2)
    assert f"{option} is for a table of items, which a kernel compares" in error


@pytest.mark.filterwarnings("always")
def test_a_word_among_numbers_of_a_mixed_table(krein, tmp_path):
    rng = np.random.default_rng(0)
    heights = [f"{height:.2f}" for height in rng.uniform(1.5, 2.0, 30)]
    heights[7] = "tall"
    path = tmp_path / "people.csv"
    rows = [f"p{i},{height},{'ab'[i % 2]}" for i, height in enumerate(heights)]
    path.write_text("\n".join(["name,height,kind", *rows]) + "\n")
    how = ("inspect", path, "--labels", "kind", "--kernel", "gower")
    assert "'tall' in line 9" in krein(*how)[1]
    _, error = krein(*how, "--numbers", "height")
    assert "1 column of numbers, 0 of categories, 1 missing entry" in error
    assert "'tall'" not in error


# ------------------------------------------------------------------ answers and labels


@pytest.fixture
def scored(krein, tmp_path):
    """A model, and a matrix of 30 new and 20 training items with all their labels."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 2))
    y = np.where(X[:, 0] + 0.8 * rng.standard_normal(50) > 0, "p", "q")
    K = pd.DataFrame(np.exp(-3 * np.abs(X[:, None] - X).sum(axis=2)))
    K.index = K.columns = [f"i{i}" for i in range(50)]
    K.iloc[:20, :20].to_csv(tmp_path / "K.csv")
    K.iloc[:, :20].to_csv(tmp_path / "rows.csv")
    pd.Series(y, K.index, name="label").to_csv(tmp_path / "y.csv", index_label="name")
    krein("fit", tmp_path / "K.csv", "--labels", tmp_path / "y.csv", "--method", "svc",
          "--set", "C=1000", "-o", tmp_path / "m.krein")  # fmt: skip
    return tmp_path, y


def test_training_items_are_scored_apart(krein, scored):
    folder, y = scored
    out, error = krein("predict", folder / "m.krein", folder / "rows.csv",
                       "--labels", folder / "y.csv", "--json")  # fmt: skip
    said = json.loads(out)
    right = np.array([row["label"] for row in said["items"]]) == y
    assert said["accuracy"] == pytest.approx(right[20:].mean())
    assert said["training_accuracy"] == pytest.approx(right[:20].mean())
    assert said["training_items"] == [f"i{i}" for i in range(20)]
    assert f"accuracy {right[20:].mean():.3f} on 30 items that are new" in error
    assert "on 20 items of the training data ('i0', 'i1', 'i2', ...)" in error


def test_items_without_a_label_are_left_out_of_both_scores(krein, scored):
    folder, _ = scored
    labels = (folder / "y.csv").read_text().splitlines()
    (folder / "some.csv").write_text("\n".join([labels[0], *labels[11:41]]) + "\n")
    out, _ = krein("predict", folder / "m.krein", folder / "rows.csv", "--json",
                   "--labels", folder / "some.csv", "--skip-unlabelled")  # fmt: skip
    assert json.loads(out)["training_items"] == [f"i{i}" for i in range(10, 20)]


def test_training_items_alone_give_no_score_of_new_ones(krein, scored):
    folder, _ = scored
    out, error = krein("predict", folder / "m.krein", folder / "K.csv",
                       "--labels", folder / "y.csv", "--json")  # fmt: skip
    assert "accuracy" not in json.loads(out)
    assert "no measure of new ones" in error


def test_names_stand_where_they_stood_in_training(krein, table):
    model, new = table.with_name("m.krein"), table.with_name("new.csv")
    for told in (TOLD, TOLD[2:]):  # without --id the first column of words is names
        krein("fit", table, "--labels", "kind", *told, "--method", "svc", "-o", model,
              "--force")  # fmt: skip
        out, error = krein("predict", model, table, "--labels", "kind", "--json")
        assert json.loads(out)["training_items"][:2] == ["a00", "a01"]
        assert "no measure of new ones" in error
        frame = pd.read_csv(table).head(6).assign(note="x")
        frame["sample no"] = [f"b{i}" for i in range(6)]
        frame.to_csv(new, index=False)
        out, error = krein("predict", model, new)
        assert [line.split(",")[0] for line in out.split()[1:]] == [
            f"b{i}" for i in range(6)
        ]
        assert "left out: kind, remark, note" in error


def test_a_model_of_a_table_takes_an_array(krein, table):
    model = table.with_name("m.krein")
    krein("fit", table, "--labels", "kind", *TOLD, "--method", "svc", "-o", model)
    X = pd.read_csv(table)[["ph", "size", "mass"]].to_numpy()
    np.save(table.with_name("X.npy"), X)
    of_array = krein("predict", model, table.with_name("X.npy"), "--json")[0]
    of_table = krein("predict", model, table, "--json")[0]
    labels = [
        [r["label"] for r in json.loads(x)["items"]] for x in (of_array, of_table)
    ]
    assert labels[0] == labels[1]


def test_texts_keep_their_names_too(krein, tmp_path):
    rows = [f"c{k},{'abcd'[: 1 + k % 4]},{'uv'[k % 2]}" for k in range(12)]
    path = tmp_path / "words.csv"
    path.write_text("\n".join(["code no,word,kind", *rows]) + "\n")
    model = tmp_path / "m.krein"
    krein("fit", path, "--items", "word", "--id", "code no", "--labels", "kind",
          "--kernel", "edit", "--method", "clip", "-o", model)  # fmt: skip
    out, error = krein("predict", model, path, "--items", "word", "--labels", "kind")
    assert out.splitlines()[1].startswith("c0,")
    assert "training data ('c0', 'c1', 'c2', ...)" in error


def test_lines_to_copy_read_a_table_as_it_was_read(krein, table):
    page = table.with_name("page.html")
    krein("compare", table, "--labels", "kind", *TOLD, "--methods", "svc", "--folds",
          "3", "--html", page)  # fmt: skip
    shown = html.unescape(page.read_text("utf-8"))
    how = "id_column='sample no', drop=['remark']"
    assert f'read_items("new_items.csv", {how})' in shown


def test_items_without_names_are_known_by_being_equal(krein, table):
    frame = pd.read_csv(table).drop(columns=["sample no", "remark"])
    frame.to_csv(table, index=False)
    model, new = table.with_name("m.krein"), table.with_name("new.csv")
    words = ("--labels", "kind", "--kernel", "rbf", "--method", "svc", "-o", model)
    krein("fit", table, *words)
    frame.loc[30:, "ph"] += 0.01
    frame.to_csv(new, index=False)
    _, error = krein("predict", model, new, "--labels", "kind")
    assert "on 10 items that are new" in error
    assert "on 30 items of the training data ('0', '1', '2', ...)" in error


# --------------------------------------------------------------- what to learn


@pytest.fixture
def ages(tmp_path):
    rng = np.random.default_rng(2)
    ages = rng.integers(18, 76, 220)
    Z = ages[:, None] + rng.standard_normal((220, 2))
    D = np.abs(Z[:, None] - Z).sum(axis=2)
    np.savetxt(tmp_path / "K.csv", np.exp(-D / 20), delimiter=",")
    np.savetxt(tmp_path / "ages.txt", ages, fmt="%d")
    return tmp_path / "K.csv", "--labels", tmp_path / "ages.txt"


def test_ages_are_numbers_and_get_no_advice_about_classes(krein, ages):
    out, error = krein("inspect", *ages)
    assert "taken as numbers to be predicted" in error
    assert "Classes with fewer" not in out
    assert "NOTE: " in out
    out, _ = krein("inspect", *ages, "--task", "regression")
    assert "Classes with fewer" not in out
    assert "taken as numbers" not in out  # nor a repair that repeats the command
    out, _ = krein("inspect", *ages, "--task", "classification")
    assert "Classes with fewer" in out


def test_methods_of_the_other_task_are_named_as_such(krein, ages):
    _, error = krein("compare", *ages, "--methods", "krein", code=2)
    assert "method 'krein' is for a classification (--task classification)" in error
    how = ("--task", "classification", "--methods", "ridge")
    _, error = krein("compare", *ages, *how, code=2)
    assert "method 'ridge' is for a regression (--task regression)" in error
    _, error = krein("compare", *ages, "--methods", "rigde", code=2)
    assert "there is no method 'rigde'; did you mean 'ridge'?" in error


def test_labels_in_the_file_of_the_items_need_no_file_in_a_repair(krein, tmp_path):
    rows = [f"{k},{k + 1},{k * k % 7}:{k / 3:.2f}" for k in range(12)]
    head = ["@problemName x", "@targetlabel true", "@data"]
    (tmp_path / "a.ts").write_text("\n".join([*head, *rows]) + "\n")
    out, _ = krein("inspect", tmp_path / "a.ts", "--kernel", "dtw")
    assert f"repair: krein compare {tmp_path / 'a.ts'} --task regression" in out
