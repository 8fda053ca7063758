"""Gower similarities of mixed tables, Tanimoto similarities of fingerprints."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.model_selection import cross_val_score

from krein import (
    Kernel,
    SpectrumSVC,
    compare,
    gower_kernel,
    kernel_matrix,
    load_model,
    read_items,
    save_model,
    tanimoto_kernel,
)
from krein.cli import main
from krein.kernels.tables import warn_of_identifiers


@pytest.fixture
def patients():
    """A frame with every kind of column, and labels that depend on three of them."""
    rng = np.random.default_rng(3)
    n = 60
    ill = rng.integers(0, 2, n)
    colours = np.array(["red", "blue", "green"])
    frame = pd.DataFrame(
        {
            "age": 30 + 20 * ill + 5 * rng.standard_normal(n),
            "visits": pd.array(rng.integers(0, 9, n), dtype="Int64"),
            "colour": colours[np.where(rng.random(n) < 0.7, ill, 2)],
            "ward": pd.Categorical(rng.integers(1, 4, n)),
            "smokes": rng.random(n) < 0.2 + 0.6 * ill,
        }
    )
    frame.loc[4, "age"] = np.nan
    frame.loc[7, "colour"] = None
    frame.loc[9, "visits"] = pd.NA
    return frame, np.where(ill, "ill", "well")


def plain(frame):
    """The frame without what only pandas has."""
    columns = {
        name: [None if pd.isna(value) else value for value in frame[name]]
        for name in frame
    }
    columns["ward"] = [str(value) for value in columns["ward"]]
    return columns


def test_one_table_in_every_dress_gives_one_matrix(patients):
    frame, _ = patients
    K = gower_kernel(frame)
    np.testing.assert_array_equal(gower_kernel(pl.DataFrame(plain(frame))), K)
    rows = list(zip(*plain(frame).values(), strict=True))
    np.testing.assert_array_equal(gower_kernel(rows), K)
    np.testing.assert_array_equal(gower_kernel(np.array(rows, dtype=object)), K)
    np.testing.assert_array_equal(gower_kernel(frame, frame.copy()), K)
    np.testing.assert_array_equal(np.diagonal(K), 1.0)


def test_gower_by_hand():
    table = pd.DataFrame({"size": [1.0, 2.0, 5.0], "kind": ["a", "a", "b"]})
    expected = [[1, 0.875, 0], [0.875, 1, 0.125], [0, 0.125, 1]]
    np.testing.assert_allclose(gower_kernel(table), expected)
    numbers = np.array([[0.0, 10.0], [4.0, np.nan]])
    np.testing.assert_allclose(gower_kernel(numbers), [[1, 0], [0, 1]])


def test_numbers_of_a_category_are_not_numbers():
    codes = pd.DataFrame({"ward": pd.Categorical([1, 2, 9])})
    np.testing.assert_array_equal(gower_kernel(codes), np.eye(3))
    fitted = Kernel("gower").fit(codes)
    np.testing.assert_array_equal(
        fitted([[1], [9.0], ["2"]], codes), np.eye(3)[[0, 2, 1]]
    )


def test_pairs_without_a_common_column_have_similarity_zero():
    rows = [(1.0, None), (None, "a"), (1.0, "a"), (None, None)]
    K = gower_kernel(rows)
    np.testing.assert_array_equal(
        K, [[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]]
    )


def test_ranges_are_those_of_training_rows(patients):
    frame, _ = patients
    train, new = frame[:40], frame[40:]
    kernel = Kernel("gower").fit(train)
    assert kernel.params["ranges"][2:] == (None, None, None)
    assert kernel.params["ranges"][0] == train["age"].max() - train["age"].min()
    np.testing.assert_array_equal(kernel(train), gower_kernel(train))
    rows = kernel(new, train)
    np.testing.assert_array_equal(rows, kernel(train, new).T)
    np.testing.assert_array_equal(rows[:3], kernel(new[:3], train))
    blocks = kernel_matrix(kernel, frame, memory_limit=8 * 60**2 + 900)
    np.testing.assert_array_equal(blocks, kernel(frame))


def test_numbers_beyond_the_training_range_count_as_far_as_can_be():
    kernel = Kernel("gower").fit([[0.0], [10.0]])
    np.testing.assert_allclose(
        kernel([[25.0], [12.0], [-3.0]], [[0.0], [10.0]]), [[0, 0], [0, 0.8], [0.7, 0]]
    )


def test_two_tables_need_ranges(patients):
    frame, _ = patients
    with pytest.raises(ValueError, match=r"Kernel\(\"gower\"\)\.fit"):
        gower_kernel(frame[:5], frame[5:])
    with pytest.raises(ValueError, match="depends on training data"):
        kernel_matrix("gower", frame)
    words = frame[["colour", "ward"]]
    assert gower_kernel(words[:5], words[5:]).shape == (5, 55)


def test_complete_tables_are_positive_definite_others_not_always():
    rng = np.random.default_rng(0)
    rows = [(float(a), str(b), bool(c)) for a, b, c in rng.integers(0, 4, (40, 3))]
    for ranges in ("observed", (1.0, None, None)):  # also beyond the range
        values = np.linalg.eigvalsh(gower_kernel(rows, ranges=ranges))
        assert values[0] > -1e-12 * values[-1]
    gaps = [("a", "a"), ("a", None), (None, "a"), ("a", "b"), ("b", "a"), (None, "b")]
    values = np.linalg.eigvalsh(gower_kernel(gaps))
    assert values[0] < -0.1 * values[-1]


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        ([], ValueError, "no items"),
        (["abc"], TypeError, "row of a table"),
        ([1.0, 2.0], TypeError, "row of a table"),
        ([(1.0, "a"), (2.0,)], ValueError, "has 1 entries"),
        ([(), ()], ValueError, "has 0 entries"),
        ([(np.inf,)], TypeError, "has inf"),
        ([(np.datetime64("2026-01-01"),)], TypeError, "datetime64"),
    ],
)
def test_what_is_no_table_is_refused(table, error, words):
    with pytest.raises(error, match=words):
        gower_kernel(table)


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ("median", "observed"),
        ((1.0,), "2 entries, one per column"),
        ((-1.0, None), "a number from 0 on"),
        ((1.0, 1.0), "column 1 holds numbers.*'a'"),
    ],
)
def test_bad_ranges_are_refused(ranges, words):
    with pytest.raises(ValueError, match=words):
        gower_kernel([(1.0, "a"), (2.0, "b")], ranges=ranges)


@pytest.mark.parametrize("entry", ["2", "nan", "inf", True])
def test_what_is_no_number_is_refused_in_a_column_of_numbers(entry):
    table = [(1.0, "a"), (3.0, "b")]
    kernel = Kernel("gower").fit(table)
    with pytest.raises(ValueError, match=f"column 0 holds numbers, got {entry!r}"):
        kernel([(entry, "a")], table)


def test_two_columns_may_have_one_title():
    rows = [(1.0, "a"), (3.0, "b"), (2.0, "a")]
    frame = pd.DataFrame(rows, columns=["x", "x"])
    np.testing.assert_array_equal(gower_kernel(frame), gower_kernel(rows))


def test_frames_with_other_columns_are_refused(patients):
    frame, _ = patients
    kernel = Kernel("gower").fit(frame)
    with pytest.raises(ValueError, match="columns"):
        kernel(frame[["age", "smokes"]], frame)
    with pytest.raises(ValueError, match="same order"):
        kernel(frame[frame.columns[::-1]], frame)


@pytest.mark.parametrize("kernel", ["gower", Kernel("gower"), gower_kernel])
def test_estimators_take_frames(patients, tmp_path, kernel):
    frame, y = patients
    model = SpectrumSVC(kernel=kernel).fit(frame[:40], y[:40])
    labels = model.predict(frame[40:])
    assert np.mean(labels == y[40:]) > 0.8
    others = pl.DataFrame(plain(frame))
    assert model.predict(others[40:]).tolist() == labels.tolist()
    again = SpectrumSVC(kernel="gower").fit(others[:40], y[:40])
    np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)
    assert cross_val_score(SpectrumSVC(kernel=kernel), frame, y, cv=3).mean() > 0.8
    if kernel is not gower_kernel:
        save_model(model, tmp_path / "m.krein")
        loaded = load_model(tmp_path / "m.krein")
        assert loaded.predict(frame[40:]).tolist() == labels.tolist()


def test_estimators_know_the_columns_by_name(patients):
    frame, y = patients
    model = SpectrumSVC(kernel="gower").fit(frame, y)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])
    rows = list(zip(*plain(frame).values(), strict=True))
    assert not hasattr(model.fit(rows, y), "feature_names_in_")


def test_a_column_of_identifiers_is_named_in_a_warning(patients, tmp_path):
    frame, y = patients
    frame = frame.assign(code=[f"P{k}" for k in range(len(frame))])
    frame.loc[3, "code"] = None
    with pytest.warns(UserWarning, match="'code' has another text in each of 59 rows"):
        SpectrumSVC(kernel="gower").fit(frame, y)
    frame.to_csv(tmp_path / "table.csv", index=False)
    with pytest.warns(UserWarning, match="column 'code'"):
        read_items(tmp_path / "table.csv", format="table")


@pytest.mark.parametrize(("rows", "warned"), [(9, False), (10, True)])
def test_different_texts_of_a_few_rows_may_be_chance(rows, warned):
    column = [f"P{k}" for k in range(rows)]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn_of_identifiers({"code": column})
    assert bool(found) == warned


def test_compare_takes_a_frame(patients):
    frame, y = patients
    found = compare(frame, y, kernel="gower", methods=["clip"], cv=3)
    assert found.scores("clip").mean() > 0.8


def test_one_line_for_a_table_on_the_command_line(patients, tmp_path, capsys):
    frame, y = patients
    path, new = tmp_path / "table.csv", tmp_path / "new.csv"
    frame.assign(state=y).to_csv(path, index=False)
    frame[:5].to_csv(new, index=False)
    arguments = ["--kernel", "gower", "--labels", "state", "-q"]
    model = str(tmp_path / "m.krein")
    assert main(["compare", str(path), *arguments, "--methods", "clip"]) == 0
    assert "SVM with clip" in capsys.readouterr().out
    assert main(["fit", str(path), *arguments, "-o", model]) == 0
    capsys.readouterr()
    assert main(["predict", model, str(new)]) == 0
    read = capsys.readouterr()
    assert len(read.out.splitlines()) == 6
    assert "3 columns of numbers, 2 of categories" in read.err


# ----------------------------------------------------------------------------- tanimoto


def test_tanimoto_of_sets_is_the_jaccard_index():
    X = np.array([[1, 1, 0, 1], [0, 1, 1, 1], [0, 0, 0, 0]])
    np.testing.assert_allclose(
        tanimoto_kernel(X), [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]
    )


def test_tanimoto_of_counts_uses_inner_products():
    assert tanimoto_kernel([[2, 1]], [[1, 3]])[0, 0] == pytest.approx(5 / (5 + 10 - 5))


@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.coo_array])
def test_sparse_fingerprints_give_the_same_matrix(form):
    X = np.random.default_rng(0).integers(0, 3, (12, 30)) * 1.0
    X[5] = 0
    K = tanimoto_kernel(X)
    np.testing.assert_array_equal(tanimoto_kernel(form(X)), K)
    np.testing.assert_array_equal(tanimoto_kernel(form(X), form(X)), K)
    np.testing.assert_array_equal(tanimoto_kernel(form(X), form(X[:3])), K[:, :3])


def test_tanimoto_is_positive_definite_for_all_real_vectors():
    X = np.random.default_rng(1).standard_normal((50, 4))
    X[3] = 0
    values = np.linalg.eigvalsh(tanimoto_kernel(X))
    assert values[0] > -1e-12 * values[-1]
