"""Thresholds of judgement of the command line and of tables of hits, on both sides."""

import types
import warnings

import numpy as np
import pytest
import scipy.sparse

from krein import read_hits
from krein.cli import Options, parse
from krein.cli.console import Inputs
from krein.cli.learning import leave_out_rare, read_problem
from krein.cli.predict import _compare_ranges
from krein.files.hit_columns import FallingScoreError


def hits_with_self_scores(path, falling, rising):
    """Items whose hits score 10, and whose hits with themselves 1 or 20."""
    own = [1] * falling + [20] * rising
    rows = [f"i{k}\ti{k}\t{score}" for k, score in enumerate(own)]
    rows += [f"i{k}\ti{(k + 1) % len(own)}\t10" for k in range(len(own))]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize(
    ("falling", "rising", "refused"),
    [(9, 2, True), (8, 2, False), (2, 0, True), (5, 1, True), (4, 1, False)],
)
def test_scores_fall_if_most_items_are_least_like_themselves(
    tmp_path, falling, rising, refused
):
    path = hits_with_self_scores(tmp_path / "hits.m8", falling, rising)
    if refused:
        with pytest.raises(FallingScoreError, match="less of it with themselves"):
            read_hits(path)
    else:
        assert read_hits(path).data.shape == (falling + rising,) * 2


def test_one_item_does_not_show_which_way_a_column_goes(tmp_path):
    path = tmp_path / "hits.m8"
    path.write_text("a\ta\t1\na\tb\t10\nb\tc\t10\n")
    assert read_hits(path).data.nnz == 3


def hits_of_classes(sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    n = labels.size
    return Inputs(scipy.sparse.eye_array(n, format="csr"), target=labels)


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ((11, 10, 5, 5, 5, 5), 21),  # 51 % are in classes of ten: these are enough
        ((10, 10, 5, 5, 5, 5), 40),  # exactly half are: classes of five stay too
        ((10, 10, 5, 5, 5, 4), 20),
        ((11, 9, 9, 9), 38),
    ],
)
def test_small_classes_of_hits_are_left_out_if_most_items_stay(sizes, kept):
    args = Options(command="compare", quiet=True)
    assert len(leave_out_rare(hits_of_classes(sizes), args)) == kept


@pytest.mark.parametrize(
    ("lowest", "highest", "warned"),
    [(0.0, 2.9, 0), (0.0, 3.1, 1), (-0.9, 2.0, 0), (-1.1, 2.0, 1)],
)
def test_numbers_far_from_those_of_training_are_doubted(lowest, highest, warned):
    model = types.SimpleNamespace(item_range_=np.array([0.0, 2.0]))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        _compare_ranges(np.array([[lowest, highest]]), model)
    assert len(seen) == warned


@pytest.mark.parametrize(("items", "refused"), [(3, False), (4, True)])
def test_one_class_per_item_is_no_column_of_labels(tmp_path, items, refused):
    """Three items may be three classes; of four that is a name or a separator."""
    matrix = tmp_path / "K.csv"
    labels = tmp_path / "labels.csv"
    np.savetxt(matrix, np.eye(items) + 0.1, delimiter=",")
    labels.write_text("".join(f"class {k}\n" for k in range(items)))
    typed = ["compare", str(matrix), "--labels", str(labels), "--quiet"]
    if refused:
        with pytest.raises(ValueError, match=f"has {items} classes for {items} items"):
            read_problem(parse(typed))
    else:
        assert len(read_problem(parse(typed))) == items
