"""PHYLIP and MATLAB files that krein writes come back as they were."""

import numpy as np
import pytest
import scipy.io

from krein import FormatError, read_matrix, write_matrix

NAMES = ["ann", "b_2", "a_name_beyond_ten_letters"]


@pytest.fixture
def K(rng):
    return rng.standard_normal((3, 3)) * 10.0 ** rng.integers(-300, 300, (3, 3))


@pytest.mark.parametrize("suffix", ["phy", "dist", "phylip", "mat"])
def test_numbers_and_names_come_back(K, suffix, tmp_path):
    path = tmp_path / f"K.{suffix}"
    write_matrix(path, K, names=NAMES)
    read = read_matrix(path)
    np.testing.assert_array_equal(read.data, K)
    assert read.names == NAMES


def test_phylip_numbers_items_without_names(K, tmp_path):
    write_matrix(tmp_path / "K.phy", K)
    read = read_matrix(tmp_path / "K.phy")
    assert read.names == ["item1", "item2", "item3"]
    np.testing.assert_array_equal(read.data, K)


def test_matlab_has_names_of_rows_and_columns(K, tmp_path):
    path = tmp_path / "K.mat"
    write_matrix(path, K[:2], names=NAMES[:2], columns=["x", "y", "z"])
    content = scipy.io.loadmat(path, simplify_cells=True)
    np.testing.assert_array_equal(content["K"], K[:2])
    assert content["names"].tolist() == NAMES[:2]
    assert content["columns"].tolist() == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("rows", "names", "words"),
    [
        (2, None, r"square matrix and one list of names, got shape \(2, 3\)"),
        (3, ["a", "b c", "d"], "must not hold blanks, got 'b c'"),
    ],
)
def test_what_phylip_cannot_hold_is_refused_and_nothing_written(
    K, rows, names, words, tmp_path
):
    path = tmp_path / "K.phy"
    with pytest.raises(FormatError, match=words):
        write_matrix(path, K[:rows], names=names)
    assert not path.exists()
