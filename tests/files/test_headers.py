"""A first row of numbers below a title: a header or an item?"""

import numpy as np
import pandas as pd
import pytest

from krein import read_items, read_matrix
from krein.files.tables import is_even

SQUARE = "{}\n{},1,.5,.2\n{},.5,1,.3\n{},.2,.3,1\n"


@pytest.mark.parametrize("corner", ["sample", "id", "anything"])
def test_a_named_index_of_numbers_names_a_square_matrix(tmp_path, corner):
    names = [101, 102, 103]
    frame = pd.DataFrame(np.eye(3), index=names, columns=names)
    frame.rename_axis(corner).to_csv(tmp_path / "K.csv")
    read = read_matrix(tmp_path / "K.csv")
    assert read.names == ["101", "102", "103"]
    assert read.columns is None
    np.testing.assert_array_equal(read.data, np.eye(3))
    assert f"line 1 ('{corner}', '101'" in read.notes[1]


def test_a_numbering_above_names_of_a_square_matrix_is_left_out(write):
    path = write("K.csv", SQUARE.format("bird,1,2,3", "wren", "robin", "owl"))
    read = read_matrix(path)
    assert (read.names, read.columns) == (["wren", "robin", "owl"], None)
    assert read.data.shape == (3, 3)
    # New items against others are no square matrix with a header.
    assert read_matrix(path, mirror=False).data.shape == (4, 3)


def test_a_text_in_the_corner_of_numbers_is_still_a_mistake(write):
    with pytest.raises(ValueError, match="expected a number, got 'x'"):
        read_matrix(write("K.csv", "x,0.5,0.2\n0.5,1,0.3\n0.2,0.3,1\n"))


HEADERS = {
    "sample,400,405,410,415": ["s1,.1,.2,.3,.1", "s2,.3,.1,.5,.2"],
    "bird,400,405,410,415": ["wren,.1,.2,.3,.1", "owl,.3,.1,.5,.2"],
    "compound,0,1,2,3": ["c1,1,0,0,1", "c2,0,0,1,0"],
    "scan,100,103,109,117": ["s1,.1,.2,.3,.1", "s2,.3,.1,.5,.2"],
    "x,1.1,1.5,2,3.1,4.7,4.9,6.01,7": ["a,1,2,1,2,1,2,1,2", "b,1,1,3,2,5,2,1,2"],
}
ITEMS = {
    "control,.4,.45,.51,.615": ["s1,.1,.2,.3,.1", "s2,.3,.1,.5,.2"],
    "control,1,2,5,9": ["s1,5,6,7,1", "s2,1,6,2,1"],
    "alice,.1,.2,.3,.4": ["bob,.1,.2,.3,.8", "carl,.3,.1,.5,.2"],
    "x,1.1,1.5,2,3.1,4.7,4.9,6.01": ["a,1,2,1,2,1,2,1", "b,1,1,3,2,5,2,1"],
    "alice,.1,.2,.3": ["bob,.3,.2,.8", "carl,.3,.1,.5"],
}


@pytest.mark.parametrize("first", HEADERS)
def test_a_header_of_numbers_is_no_item(write, first):
    read = read_items(write("spectra.csv", "\n".join([first, *HEADERS[first]])))
    names = [row.split(",")[0] for row in HEADERS[first]]
    assert (read.names, read.columns) == (names, first.split(",")[1:])
    assert "is taken for a header, not for an item" in read.notes[1]


@pytest.mark.parametrize("first", ITEMS)
def test_an_item_is_no_header(write, first):
    rows = [first, *ITEMS[first]]
    read = read_items(write("items.csv", "\n".join(rows)))
    assert read.names == [row.split(",")[0] for row in rows]


def test_numbers_below_the_title_of_names_are_names(write):
    spectra = read_items(write("a.csv", "sample,400,405\n7,.1,.2\n8,.3,.1\n"))
    assert (spectra.names, spectra.columns) == (["7", "8"], ["400", "405"])
    table = read_items(write("b.csv", "id,size,age\n7,.1,2\n8,.3,1\n"))
    assert (table.names, table.columns) == (["7", "8"], ["size", "age"])
    twice = read_items(write("c.csv", "id,size,age\n7,.1,2\n7,.3,1\n"))
    assert (twice.names, twice.columns) == (None, ["id", "size", "age"])


def spectra(first, rows=3):
    """Rows of ups and downs below a first row of positions, without any title."""
    width = len(first.split(","))
    below = [[f".{(k * (r + 2)) % 7 + 1}" for k in range(width)] for r in range(rows)]
    return first + "\n" + "\n".join(map(",".join, below)) + "\n"


POSITIONS = {
    "400,405,410,415,420,425,430,435": True,
    "700,690,680,670,660,650,640,630": True,
    "100.5,101.2,140,144.9,150,171,180,190.25": True,  # beyond all numbers below
    "0,1,2,3,4,5,6,7": True,
    "400,405,410,415,420,425,430": False,  # too few to be sure
    ".1,.2,.31,.4,.45,.5,.6,.7": False,  # neither even nor beyond
    "400,405,410,415,420,425,430,430": False,
}


@pytest.mark.parametrize("first", POSITIONS)
def test_a_bare_row_of_positions_is_a_header(write, first):
    read = read_items(write("spectra.csv", spectra(first)))
    titles = first.split(",")
    assert read.columns == (titles if POSITIONS[first] else None)
    assert len(read.data) == 3 + (not POSITIONS[first])
    assert ("is taken for a header" in " ".join(read.notes)) == POSITIONS[first]


@pytest.mark.parametrize(("off", "even"), [(0.8e-9, True), (1.3e-9, False)])
def test_steps_are_even_to_rounding(off, even):
    """The steps are 1, and one of them 1 and a little."""
    assert is_even(["1", "2", "3", repr(4.0 + off)]) == even


def test_where_other_rows_rise_too_the_first_is_an_item(write):
    grown = spectra("1,2,3,4,5,6,7,8") + "2,3,4,5,6,7,8,10\n"
    assert len(read_items(write("grown.csv", grown)).data) == 5
    lonely = "1,2,3,4,5,6,7,8\n8,2,3,4,5,6,7,8\n"
    assert len(read_items(write("two.csv", lonely)).data) == 2
    new = read_matrix(write("new.csv", spectra("1,2,3,4,5,6,7,8")), mirror=False)
    assert new.data.shape == (4, 8)  # new items against training items
