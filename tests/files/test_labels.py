"""Labels are what the file says, and belong to the items it names."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krein import FormatError, read_labels
from krein.files.cells import as_labels


@pytest.mark.parametrize(
    "labels",
    [
        ["007", "7"],
        ["1_0", "10"],
        ["9007199254740993", "9007199254740992"],
        ["12345678901234567890", "12345678901234567891", "-9223372036854775808"],
        ["1.0", "1"],
        ["+1", "1"],
        ["-0", "0"],
        ["1e3", "1000"],
        ["٣", "3"],
        ["inf", "-inf"],
        ["1e999999999", "1"],
    ],
)
def test_no_labels_are_merged(write, labels):
    read = read_labels(write("l.csv", "\n".join(labels) + "\n"))
    assert len(np.unique(read.data)) == len(labels)
    assert [str(label) for label in read.data] == labels


@given(st.lists(st.from_regex(r"\A[+-]?[0-9]{0,4}([._][0-9])?(e[0-3])?\Z"), min_size=1))
def test_labels_stay_different(labels):
    labels = [label for label in labels if label] or ["x"]
    read = as_labels(labels)
    assert len(set(read.tolist())) == len(set(labels))
    if read.dtype.kind == "i":
        assert all(
            float(label) == number for label, number in zip(labels, read, strict=True)
        )


def test_plain_numbers_are_integers(write):
    for text, expected in {
        "1\n-2\n0\n": [1, -2, 0],
        "+1\n-1\n": [1, -1],
        "1.0\n2.0\n": [1, 2],
        "1.0000000e+00\n2.0000000e+00\n": [1, 2],  # UCR archive
        "9007199254740993\n1\n": [9007199254740993, 1],
    }.items():
        read = read_labels(write("l.csv", text))
        assert read.data.dtype == np.int64
        assert read.data.tolist() == expected
    assert read_labels(write("l.csv", "1.5\n2\n")).data.tolist() == ["1.5", "2"]


def test_a_first_label_is_no_header_where_the_items_are_counted(write):
    for word in ("y", "target", "class"):
        path = write("l.csv", f"{word}\nother\nother\n")
        assert read_labels(path, n_items=3).data.tolist() == [word, "other", "other"]
        header = read_labels(path, n_items=2)
        assert header.data.tolist() == ["other", "other"]
        assert f"line 1 is a header: '{word}'" in header.notes[0]
        assert f"line 1 is a header: '{word}'" in read_labels(path).notes[0]
    again = read_labels(write("l.csv", "y\nn\ny\n"))  # it comes again: a label
    assert again.data.tolist() == ["y", "n", "y"]
    any_title = write("l.csv", "wine type\n1\n2\n")
    assert read_labels(any_title, n_items=2).data.tolist() == [1, 2]
    assert read_labels(any_title).data.tolist() == [1, 2]
    with pytest.raises(FormatError, match="has 3 labels for 5 items"):
        read_labels(write("l.csv", "a\nb\na\n"), n_items=5)


def test_labels_find_their_items_by_name(write):
    names = ["ann", "bob", "carl"]
    for text in [
        "bob,2\ncarl,3\nann,1\n",
        "protein,family\nbob,2\ncarl,3\nann,1\n",
        "bob;2\ncarl;3\nann;1\n",
        "bob\t2\r\ncarl\t3\r\nann\t1\r\n",
        "bob 2\ncarl 3\nann 1\n",
        "bob,2\ncarl,3\nann,1\nzoe,9\n",
        "\ufeffname,label\nbob,2\n\ncarl,3\nann,1\n",
    ]:
        read = read_labels(write("l.txt", text), names=names)
        assert read.data.tolist() == [1, 2, 3]
        assert read.names == names
        assert "matched by name" in read.notes[0]
    assert (
        "left out: 1 of other items"
        in read_labels(
            write("l.txt", "bob,2\ncarl,3\nann,1\nzoe,9\n"), names=names
        ).notes[0]
    )
    with pytest.raises(FormatError, match=r"no label for 'carl' \(1 of 3 items\)"):
        read_labels(write("l.csv", "bob,2\nann,1\n"), names=names)


def test_names_without_names_are_an_error(write):
    path = write("l.tsv", "P2\tkinase\nP1\tother\n")
    with pytest.raises(FormatError, match=r"have names \('P2', ...\).*--ignore-names"):
        read_labels(path, n_items=2)
    told = read_labels(path, n_items=2, ignore_names=True)
    assert told.data.tolist() == ["kinase", "other"]
    assert "their names ignored" in told.notes[0]
    same = read_labels(path, names=["P1", "P2"], ignore_names=True)
    assert same.data.tolist() == ["kinase", "other"]
    # An index of pandas counts the items and names none.
    counted = write("l.csv", ",label\n0,x\n1,y\n")
    assert read_labels(counted, n_items=2).data.tolist() == ["x", "y"]
    order = read_labels(write("l.csv", "x\ny\n"), names=["a", "b"])
    assert "without names: in the order of the items" in order.notes[0]


def test_a_column_of_a_table(write):
    table = 'id;length;family\nP1;12;a\nP2;13;\'b\nP3;9;"c;d"\n'
    path = write("t.csv", table)
    read = read_labels(path, names=["P3", "P1", "P2"], column="family")
    assert read.data.tolist() == ["c;d", "a", "'b"]
    assert "from column 'family', matched by name" in read.notes[0]
    assert read_labels(path, column="family").names == ["P1", "P2", "P3"]
    with pytest.raises(FormatError, match=r"3 columns \(id, length, family\).*column="):
        read_labels(path)
    with pytest.raises(FormatError, match="'fam' is not there; the titles are 'id'"):
        read_labels(path, column="fam")
    with pytest.raises(FormatError, match="line 3, column 2: the label is missing"):
        read_labels(write("t.csv", "id,family\na,x\nb,\n"), column="family")


def test_labels_of_a_numpy_file(tmp_path):
    np.save(tmp_path / "y.npy", [1, 0, 1])
    assert read_labels(tmp_path / "y.npy", n_items=3).data.tolist() == [1, 0, 1]
    np.save(tmp_path / "y.npy", np.eye(2))
    with pytest.raises(FormatError, match=r"expected labels, got shape \(2, 2\)"):
        read_labels(tmp_path / "y.npy")
    np.save(tmp_path / "y.npy", np.array([b"a", b"b"]))
    with pytest.raises(FormatError, match=r"expected labels, got .* of \|S1"):
        read_labels(tmp_path / "y.npy")


@pytest.mark.parametrize(
    "labels", [[1.5, 2.0], [True, False], ["1", "2"], ["y", "1", "2"], [" a", "'=x"]]
)
def test_labels_of_a_numpy_file_keep_their_type(tmp_path, labels):
    labels = np.array(labels)
    np.save(tmp_path / "y.npy", labels)
    read = read_labels(tmp_path / "y.npy").data
    assert read.dtype == labels.dtype
    assert read.tolist() == labels.tolist()


def test_a_label_too_many_is_no_header(tmp_path, write):
    np.save(tmp_path / "y.npy", ["a", "b", "a", "c"])
    for path in (tmp_path / "y.npy", write("y.txt", "a\nb\na\nc\n")):
        with pytest.raises(FormatError, match="has 4 labels for 3 items"):
            read_labels(path, n_items=3)
    assert read_labels(write("y.txt", "kind\nb\na\nc\n"), n_items=3).data.size == 3


def test_blanks_inside_labels(write):
    cities = read_labels(write("l.txt", "New York\nLos Angeles\nNew York\n"))
    assert cities.data.tolist() == ["New York", "Los Angeles", "New York"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "".join(f"{20 + 3 * i}\n" for i in range(12)),
            "12 labels, 12 different numbers",
        ),
        ("1.5\n2.5\n1.5\n", "3 labels, 2 different numbers"),
        ("1\n2\n1\n", "3 labels of 2 classes"),
        ("".join(f"x{i}\n" for i in range(12)), "12 labels of 12 classes"),
    ],
)
def test_numbers_are_not_counted_as_classes(write, text, said):
    assert said in read_labels(write("l.txt", text)).notes[0]
