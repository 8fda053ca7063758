"""Series in .ts files: targets of regressions, comments, time stamps."""

import numpy as np
import pytest

from krein import FormatError, read_items

HEAD = "% made by hand\n@problemName x\n@timeStamps {}\n@{} {}\n@data\n"


def test_targets_and_comments(write):
    text = HEAD.format("false", "targetlabel", "true")
    read = read_items(write("a.ts", text + "% a remark\n1,2,3:0.5\n2,3,4:1.5\n"))
    assert read.data.tolist() == [[1, 2, 3], [2, 3, 4]]
    assert read.target.astype(float).tolist() == [0.5, 1.5]


@pytest.mark.parametrize(
    "times", [("0", "1", "10"), ("2020-01-01 10:00:00", "2020-01-01 11:00:00", "2021")]
)
def test_values_stand_in_the_order_of_their_times(write, times):
    text = HEAD.format("true", "classLabel", "true a b")
    a, b, c = times
    rows = [
        f"({c},3),({a},1),({b},2):({a},4),({b},5),({c},6):a",
        f"({a},7),({b},8):({b},1),({a},0):b",
    ]
    read = read_items(write("a.ts", text + "\n".join(rows) + "\n"))
    np.testing.assert_array_equal(read.data[0], [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(read.data[1], [[7, 8], [0, 1]])
    assert list(read.target) == ["a", "b"]


@pytest.mark.parametrize("row", ["1,2,3", "(0,1),2", "(0,1", "(0,x)"])
def test_what_is_no_pair_is_named(write, row):
    text = HEAD.format("true", "classLabel", "false")
    with pytest.raises(FormatError, match=r"line 6.*(pairs \(time,value\)|number)"):
        read_items(write("a.ts", text + row + "\n"))


def test_padding_is_cut_and_gaps_are_named(write):
    text = HEAD.format("false", "classLabel", "true a b")
    read = read_items(write("a.ts", text + "1,2,NaN,NaN:a\n1,2,4:b\n"))
    assert [row.tolist() for row in read.data] == [[1, 2], [1, 2, 4]]
    for gap in ("1,?,3", "1,NaN,3", "1,2,?"):
        with pytest.raises(FormatError, match=r"line 6.*a value of the series"):
            read_items(write("b.ts", text + f"{gap}:a\n1,2,3:b\n"))
