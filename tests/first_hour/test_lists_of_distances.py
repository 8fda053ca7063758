# ruff: noqa: F811  (fixtures of another module)
"""Lists of distances in long form, and tables of new items by their titles."""

import numpy as np
import pytest

from tests.first_hour.conftest import write_table
from tests.first_hour.folder import NAMES, N, here, points, run, similarity, square  # noqa: F401

QUICK = ("--methods", "clip", "--folds", "3")


def long_form(path, D, title="distance", first=NAMES, keep=lambda i, j: i < j):
    rows = [
        [a, b, repr(float(D[i, j]))]
        for i, a in enumerate(first)
        for j, b in enumerate(NAMES)
        if keep(i, j)
    ]
    return write_table(path, ["item1", "item2", title], rows)


def test_absent_pairs_of_a_distance_list_are_not_at_distance_0(run, here, similarity):
    """Whatever the column of numbers is called."""
    D = -np.log(similarity)
    long_form(here / "some.csv", D, "value", keep=lambda i, j: i < j and (i + j) % 3)
    for command in (["inspect"], ["embed", "-o", "out.csv"]):
        ended = run(*command, "some.csv", "--kind", "distance", code=2)
        assert "pairs are missing" in ended.err
    long_form(here / "all.csv", D, "value")
    run("compare", "all.csv", "--kind", "distance", "--labels", "y.csv", *QUICK)


def test_two_directions_of_a_distance_are_both_kept(run, here, similarity, rng):
    D = -np.log(similarity)
    D = D * rng.uniform(1.0, 2.0, D.shape)
    long_form(here / "both.csv", D, keep=lambda i, j: i != j)
    assert "not symmetric" in run("inspect", "both.csv", "--kind", "distance").out


def test_new_items_in_long_form(run, here, similarity):
    D = -np.log(similarity)
    words = ("--kind", "distance", "--labels", "y.csv", "--method", "flip")
    long_form(here / "train.csv", D)
    run("fit", "train.csv", *words, "-o", "m.krein")
    new = [f"n{k}" for k in range(5)]
    long_form(here / "new_long.csv", D, first=new, keep=lambda i, j: i < 5)
    square(here / "new_square.csv", D[:5], new)
    by_pairs = run("predict", "m.krein", "new_long.csv").out
    assert by_pairs == run("predict", "m.krein", "new_square.csv").out
    assert len(by_pairs.splitlines()) == 6


@pytest.mark.parametrize("method", ["neighbors", "kernel_ridge", "mean"])
def test_yardsticks_of_regression_can_be_saved(run, here, method):
    words = ("K.csv", "--labels", "numbers.csv", "--method", method)
    run("fit", *words, "-o", "m.krein")
    assert len(run("predict", "m.krein", "new.csv").out.splitlines()) == 6


def test_profiles_of_a_matrix_predict_from_a_matrix(run, here, similarity):
    words = ("--labels", "y.csv", "--method", "profiles", "-o", "m.krein")
    run("fit", "K.csv", *words)
    lines = run("predict", "m.krein", "new.csv").out.splitlines()
    assert [line.split(",")[1] for line in lines[1:5]] == ["a"] * 4
    run("fit", "D.csv", "--kind", "distance", *words, "--force")
    square(here / "far.csv", -np.log(similarity[:5]), [f"n{k}" for k in range(5)])
    assert len(run("predict", "m.krein", "far.csv").out.splitlines()) == 6


def test_a_table_is_taken_by_its_titles(run, here, points):
    titles = ["first", "second", "third", "label"]
    rows = [
        [*np.round(point, 3), "a" if k < N // 2 else "b"]
        for k, point in enumerate(points)
    ]
    write_table(here / "table.csv", titles, rows)
    write_table(here / "turned.csv", titles[::-1], [row[::-1] for row in rows])
    write_table(here / "other.csv", ["x", *titles[1:]], rows)
    labels = ("--labels", "label")
    words = ("--kernel", "gower", "--method", "flip", *labels)
    run("fit", "table.csv", *words, "-o", "m.krein")
    answers = [
        run("predict", "m.krein", file, *labels).out
        for file in ("table.csv", "turned.csv")
    ]
    assert answers[0] == answers[1]
    ended = run("predict", "m.krein", "other.csv", *labels, code=2)
    assert "has no column 'first'; the model was fitted on first, second" in ended.err


@pytest.mark.parametrize(
    ("extra", "said"),
    [(5, "first, second, third, m0, m1, m2, m3, m4\n"), (6, "m2, m3, m4 and 1 more\n")],
)
def test_another_table_is_told_by_its_titles(run, here, points, extra, said):
    """Text in it is no reason to speak of text where its numbers are others."""
    titles = ["first", "second", "third", *(f"m{k}" for k in range(extra)), "label"]
    rows = [
        [
            *np.round(np.r_[point, np.arange(extra) / (k + 1)], 3),
            "a" if k < N // 2 else "b",
        ]
        for k, point in enumerate(points)
    ]
    write_table(here / "table.csv", titles, rows)
    write_table(here / "other.csv", ["x", "y", "kind"], [[1, 2, "a"], [3, 4, "b"]])
    fitted = ("--kernel", "rbf", "--method", "flip", "--labels", "label")
    run("fit", "table.csv", *fitted, "-o", "m.krein")
    ended = run("predict", "m.krein", "other.csv", code=2)
    words = "other.csv: has no column 'first'; the model was fitted on "
    assert words in ended.err
    assert ended.err.endswith(said)


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_table_of_new_items_is_said_to_be_empty(run, here, text):
    write_table(
        here / "t.csv", ["a", "b", "kind"], [[k % 7, 2, "uv"[k % 2]] for k in range(20)]
    )
    fitted = ("--kernel", "rbf", "--method", "flip", "--labels", "kind", "--drop", "b")
    run("fit", "t.csv", *fitted, "--param", "gamma=1", "-o", "m.krein")
    (here / "new.csv").write_text(text)
    ended = run("predict", "m.krein", "new.csv", code=2)
    assert "new.csv: the file is empty" in ended.err


def test_distances_are_not_repaired(run, here):
    ended = run("repair", "D.csv", "-o", "R.csv", code=2)
    assert "holds distances, which are not repaired" in ended.err
    assert not (here / "R.csv").exists()


def test_a_condensed_list_in_an_archive_of_arrays(run, here, similarity):
    D = -np.log(similarity)
    listed = D[np.triu_indices(N, 1)]
    np.savez(here / "D.npz", D=listed, y=np.arange(N) % 2)
    ended = run("inspect", "D.npz", "--kind", "distance")
    assert f"condensed ones of {N} items" in ended.err
    assert "--kind distance" in run("inspect", "D.npz", code=2).err
    np.savez(here / "short.npz", D=listed[:-1])
    assert "expected one matrix, found D" in run("inspect", "short.npz", code=2).err


def test_one_of_several_arrays_is_named_by_an_option(run, here, similarity):
    np.savez(here / "two.npz", first=similarity, second=np.eye(N) + 0.5)
    assert "--key NAME" in run("inspect", "two.npz", code=2).err
    assert "array 'first'" in run("inspect", "two.npz", "--key", "first").err


def test_a_dense_list_of_edges_is_no_matrix_of_distances(run, here, similarity):
    """Without self scores its diagonal is empty."""
    long_form(here / "edges.csv", similarity, "score", keep=lambda i, j: i < j < i + 30)
    ended = run("inspect", "edges.csv")
    assert "hits of" in ended.err
    assert "look like distances" not in ended.out


@pytest.mark.filterwarnings("always:each series begins")
def test_a_class_before_each_series_is_asked_about(run, here, rng):
    values = np.column_stack([np.arange(20) % 2 + 1, rng.standard_normal((20, 9))])
    np.savetxt(here / "series.csv", values, delimiter=",", fmt="%.5f")
    np.savetxt(here / "series.txt", values, fmt="%.5e")
    ended = run("inspect", "series.csv", "--kernel", "dtw")
    assert "one of 2 whole numbers" in ended.err
    assert "--format ucr" in ended.err
    for name in ("series.csv", "series.txt"):
        ended = run("inspect", name, "--kernel", "dtw", "--format", "ucr", "--json")
        assert "whole numbers" not in ended.err
    assert "--format csv" in run("inspect", "series.txt", "--kernel", "dtw", code=2).err
    np.savetxt(here / "plain.csv", values[:, 1:], delimiter=",")
    assert "whole numbers" not in run("inspect", "plain.csv", "--kernel", "dtw").err
