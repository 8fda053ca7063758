"""Lower triangles whose lines grow: with and without names and the diagonal."""

import numpy as np
import pytest

from krein import FormatError, read_matrix

D = np.array(
    [[0, 0.3, 0.4, 0.2], [0.3, 0, 0.5, 0.3], [0.4, 0.5, 0, 0.1], [0.2, 0.3, 0.1, 0]]
)
NAMES = ["p1", "elm", "7", "oak"]


def lines(matrix, names=None, mark=",", diagonal=True):
    rows = []
    for i, row in enumerate(matrix):
        name = [] if names is None else [names[i]]
        rows.append(mark.join([*name, *map(str, row[: i + diagonal])]))
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("mark", [",", ";", "\t", " "])
@pytest.mark.parametrize(
    ("names", "diagonal"),
    [
        (NAMES, True),
        (NAMES, False),
        (["1", "2", "3", "4"], True),
        (["1", "2", "3", "4"], False),
        (None, True),
    ],
)
def test_a_triangle_is_made_square(write, mark, names, diagonal):
    path = write("d.txt", lines(D, names, mark, diagonal))
    read = read_matrix(path, missing="distance")
    np.testing.assert_array_equal(read.data, D)
    assert read.names == names
    assert "read 4 x 4 numbers, the lower triangle" in read.notes[0]
    assert ("nothing on its diagonal: 0" in read.notes[0]) == (not diagonal)


def test_decimal_commas_in_a_triangle(write):
    path = write("d.csv", lines(D, NAMES, ";").replace(".", ","))
    np.testing.assert_array_equal(read_matrix(path).data, D)


def test_similarities_need_their_diagonal(write):
    K = 1.0 - D + np.diag([0.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(read_matrix(write("k.csv", lines(K, NAMES))).data, K)
    path = write("k.csv", lines(K, NAMES, diagonal=False))
    with pytest.raises(FormatError, match=r"without its diagonal.*--kind distance"):
        read_matrix(path)
    for open_question in (lines(K), lines(D[1:, :-1])):
        with pytest.raises(FormatError, match="nothing says whether with its diagonal"):
            read_matrix(write("k.csv", open_question), missing="distance")


@pytest.mark.parametrize(
    "text",
    [
        "0.5\n0.2,0.5\n",  # two lines
        "a,0\nb,1,0\nc,1,2,0\nd,1,2\n",
        "a,0,1\nb,1,0,1\nc,1,2,3,0\n",  # begins with two items
        "1,2\n1,2,3\n1,2,3,5\n",
    ],
)
def test_other_lines_of_different_length_are_refused(write, text):
    with pytest.raises(FormatError, match="fields, the first row has"):
        read_matrix(write("k.csv", text), missing="distance")


def test_new_items_are_no_triangle(write):
    with pytest.raises(FormatError, match="fields, the first row has"):
        read_matrix(write("k.csv", lines(D, NAMES)), mirror=False)


def test_an_odd_field_is_located(write):
    path = write("k.csv", lines(D, NAMES).replace("0.5", "half"))
    with pytest.raises(FormatError, match=r"line 3, column 3: .*got 'half'"):
        read_matrix(path)


def test_distances_that_count_are_not_taken_for_names(write):
    on_a_line = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    read = read_matrix(write("d.txt", lines(on_a_line, mark=" ")), missing="distance")
    np.testing.assert_array_equal(read.data, on_a_line)
    assert read.names is None
