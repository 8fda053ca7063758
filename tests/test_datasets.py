"""Data by name: bundled, scikit-learn's, files of a folder, OpenML."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import krein
from krein.files.data_sets import kind_of, read_csv, source_of

KINDS = {"vectors", "similarity", "dissimilarity", "strings", "series", "graphs", "spd"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Point KREIN_DATA at an empty folder."""
    monkeypatch.setenv("KREIN_DATA", str(tmp_path))
    return tmp_path


def test_sonar_is_the_published_set():
    sonar = krein.load_dataset("sonar")
    assert sonar.kind == "vectors"
    assert sonar.groups is None
    assert sonar.data.shape == (208, 60)
    assert dict(zip(*np.unique(sonar.target, return_counts=True), strict=True)) == {
        "M": 111,
        "R": 97,
    }
    assert 0.0 <= sonar.data.min() < sonar.data.max() <= 1.0
    np.testing.assert_array_equal(sonar.data[0, :3], [0.02, 0.0371, 0.0428])
    assert "CC BY 4.0" in sonar.DESCR


def test_sonar_equals_the_file_of_the_folder(shared_data):
    arrays = shared_data("sonar")
    bundled = krein.load_dataset("sonar")
    np.testing.assert_array_equal(bundled.data, arrays["X"])
    np.testing.assert_array_equal(bundled.target, arrays["y"])


def test_digit_shapes_are_those_of_get_started():
    shapes = krein.load_dataset("digit_shapes")
    assert (shapes.kind, kind_of("digit_shapes")) == ("similarity", "similarity")
    assert krein.diagnose(shapes.data).signature == (236, 61, 3)
    from scipy.spatial.distance import directed_hausdorff
    from sklearn.datasets import load_digits

    first, second = (np.argwhere(load_digits().images[i] > 6) for i in (3, 8))
    ways = directed_hausdorff(first, second)[0], directed_hausdorff(second, first)[0]
    assert shapes.data[3, 8] == pytest.approx(np.exp(-max(ways) / 2))


def test_digit_strokes_by_a_double_loop():
    strokes = krein.load_dataset("digit_strokes")
    assert (strokes.kind, strokes.data.shape) == ("similarity", (180, 180))
    assert set(strokes.target) == {3, 5, 8}
    assert krein.diagnose(strokes.data).signature == (157, 23, 0)
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = digits.images[np.isin(digits.target, (3, 5, 8))][180:] / 16

    def way(a, b):
        around = np.pad(b, 1)
        return sum(
            np.min((around[i : i + 3, j : j + 3] - a[i, j]) ** 2)
            for i in range(8)
            for j in range(8)
        )

    d = np.sqrt((way(images[4], images[9]) + way(images[9], images[4])) / 2)
    assert strokes.data[4, 9] == pytest.approx(np.exp(-d))


def test_promoters_are_the_published_set():
    promoters = krein.load_dataset("promoters")
    assert promoters.kind == "strings"
    assert len(promoters.data) == 106
    assert {len(sequence) for sequence in promoters.data} == {57}
    assert set("".join(promoters.data)) == set("acgt")
    assert sorted(promoters.target) == ["+"] * 53 + ["-"] * 53


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_scikit_learn_sets(name):
    loaded = krein.load_dataset(name)
    assert loaded.kind == "vectors"
    assert loaded.data.shape[0] == loaded.target.size
    assert loaded.groups is None
    assert source_of(name) == "scikit-learn"


def test_the_list_without_a_folder(folder):
    assert krein.list_datasets() == [
        "breast_cancer",
        "digit_shapes",
        "digit_strokes",
        "digits",
        "iris",
        "promoters",
        "sonar",
        "wine",
    ]


def test_own_file_with_groups_and_test_part(folder, rng):
    X = rng.standard_normal((6, 6))
    np.savez(
        folder / "sim_own.npz",
        X=X,
        y=[0, 0, 1, 1, 0, 1],
        groups=[1, 1, 2, 2, 3, 3],
        is_test=[False] * 4 + [True] * 2,
    )
    own = krein.load_dataset("sim_own")
    assert own.kind == "similarity"
    np.testing.assert_array_equal(own.data, X)
    np.testing.assert_array_equal(own.groups, [1, 1, 2, 2, 3, 3])
    np.testing.assert_array_equal(own.is_test, [False] * 4 + [True] * 2)
    assert "sim_own" in krein.list_datasets()
    assert "sim_own" in own.DESCR


def test_graphs_are_cut_into_triples(folder):
    np.savez(
        folder / "graph_two.npz",
        y=[1, -1],
        graph_of_node=[0, 0, 0, 1, 1],
        node_label=[7, 8, 9, 5, 6],
        edges=[[0, 2], [2, 0], [3, 4], [4, 3]],
    )
    first, second = krein.load_dataset("graph_two").data
    np.testing.assert_array_equal(first.labels, [7, 8, 9])
    np.testing.assert_array_equal(first.edges, [[0, 2]])
    nodes, edges, labels = second
    np.testing.assert_array_equal(nodes, [0, 1])
    np.testing.assert_array_equal(edges, [[0, 1]])
    np.testing.assert_array_equal(labels, [5, 6])


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"not a zip", "cannot be read"), (None, "lacks the array 'y'")],
)
def test_damaged_files_are_named(folder, content, message):
    path = folder / "bad.npz"
    if content is None:
        np.savez(path, X=np.eye(2))
    else:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        krein.load_dataset("bad")


def test_pickles_are_refused(folder):
    np.savez(folder / "evil.npz", X=np.array([{}], dtype=object), y=[0])
    with pytest.raises(ValueError, match="Python objects"):
        krein.load_dataset("evil")


def test_unknown_names_get_a_suggestion(folder):
    with pytest.raises(ValueError, match=r"'sonarr'.*did you mean 'sonar'"):
        krein.load_dataset("sonarr")
    with pytest.raises(ValueError, match="KREIN_DATA"):
        krein.load_dataset("../secret")
    with pytest.raises(TypeError, match="name must be a string, got int"):
        krein.load_dataset(3)


NAMED_KINDS = {
    "sim_protein": ("similarity", 213, None),
    "dis_catcortex": ("dissimilarity", 65, None),
    "dis_mirna": ("dissimilarity", 200, 100),
    "graph_mutag": ("graphs", 188, None),
    "parkinsons": ("vectors", 195, 32),
    "spd_eeg_alcoholism": ("spd", 99, 20),
    "spd_emg_gestures": ("spd", 1200, 120),
    "ts_gunpoint": ("series", 200, None),
}


@pytest.mark.parametrize("name", NAMED_KINDS)
def test_sets_of_the_folder(name, shared_data):
    shared_data(name)  # skips where the folder is not
    kind, items, groups = NAMED_KINDS[name]
    loaded = krein.load_dataset(name)
    assert loaded.kind == kind
    assert len(loaded.data) == loaded.target.size == items
    if groups is None:
        assert loaded.groups is None
    else:
        assert len(np.unique(loaded.groups)) == groups
        assert loaded.groups.size == items


def test_every_set_of_the_folder_loads():
    if not Path(os.environ.get("KREIN_DATA", "/nowhere")).is_dir():
        pytest.skip("KREIN_DATA is not set: the benchmark data are not here")
    for name in krein.list_datasets():
        loaded = krein.load_dataset(name)
        assert loaded.kind in KINDS
        assert loaded.kind == kind_of(name)
        assert len(loaded.data) == loaded.target.size > 0
        assert loaded.DESCR


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(-2, 2), st.text("acgt,\"' ", min_size=1, max_size=8)),
        min_size=1,
        max_size=8,
    )
)
def test_any_string_set_survives_the_csv_reader(rows, tmp_path_factory):
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["y", "sequence"])
    writer.writerows(rows)
    path = tmp_path_factory.mktemp("csv") / "str_any.csv.gz"
    path.write_bytes(gzip.compress(text.getvalue().encode()))
    loaded = read_csv(path, "str_any")
    assert loaded.data == [sequence for _, sequence in rows]
    assert loaded.target.tolist() == [label for label, _ in rows]


def test_labels_of_a_file_are_not_merged_and_its_size_is_checked(tmp_path, monkeypatch):
    path = tmp_path / "str_any.csv.gz"
    path.write_bytes(gzip.compress(b"y,sequence\n007,a\n7,b\n1_0,c\n10,d\n"))
    assert read_csv(path, "str_any").target.tolist() == ["007", "7", "1_0", "10"]
    path.write_bytes(gzip.compress(b"y,sequence\n" + b"0,a\n" * 1_000_000))
    monkeypatch.setenv("KREIN_MEMORY_LIMIT", "10MB")
    with pytest.raises(MemoryError, match="does not fit into the memory"):
        read_csv(path, "str_any")
