"""Frames, hits and groups that are wrong without looking so, in Python."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from krein import (
    SpectrumSVC,
    SpectrumSVCCV,
    compare,
    diagnose,
    smith_waterman_kernel,
    split_kernel,
)


@pytest.fixture
def frame(rng):
    X = rng.standard_normal((40, 3))
    names = [f"s{i}" for i in range(40)]
    labels = pd.Series(np.where(X[:, 0] > 0, "a", "b"), names)
    return pd.DataFrame(np.tanh(X @ X.T), names, names), labels


@pytest.mark.parametrize(
    "call",
    [
        lambda K, y: SpectrumSVC(symmetrize=True).fit(K, y),
        lambda K, y: compare(K, y, methods=["clip"], cv=2),
        lambda K, y: diagnose(K, y),
        lambda K, y: split_kernel(K, y),
    ],
)
def test_rows_and_columns_in_another_order_are_refused(frame, call):
    """symmetrize=True would average similarities of different items."""
    K, y = frame
    with pytest.raises(ValueError, match=r"pass X\.loc\[X\.columns\]"):
        call(K.iloc[::-1], y.iloc[::-1])


def test_split_kernel_warns_of_labels_in_another_order(frame):
    K, y = frame
    with pytest.warns(UserWarning, match=r"pass y\.loc\[X\.index\]"):
        split_kernel(K, y.iloc[::-1])


def test_a_negative_score_keeps_its_sign_in_words(frame, rng):
    K, _ = frame
    target = rng.standard_normal(40)
    found = compare(K.to_numpy(), target, methods=["average", "neighbors"], cv=3)
    mean = found.mean(found.recommendation.method)
    assert mean < 0.0
    assert f"has a mean R² of {mean:.3f} over" in found.recommendation.text


def test_frames_of_the_same_names_need_no_question_about_the_order(frame, rng):
    K, _ = frame
    values = pd.Series(rng.standard_normal(40), index=K.index)
    for y, asked in ((values, False), (values.to_numpy(), True)):
        found = compare(K, y, methods=["average"], cv=3)
        assert ("Are the labels in the order" in found.recommendation.text) == asked


def test_where_nothing_is_learnt_nothing_is_recommended(frame, rng):
    K, _ = frame
    found = compare(K.to_numpy(), rng.standard_normal(40), methods=["average"], cv=3)
    assert "Nothing was learnt" in found.recommendation.text
    assert "Use " not in found.recommendation.text


def test_plain_svm_on_a_table_of_hits(frame):
    K, y = frame
    hits = scipy.sparse.csr_array(np.where(np.abs(K) > 0.5, np.abs(K), 0.0))
    found = compare(hits, y.to_numpy(), methods=["svc", "clip"], cv=3)
    assert found.recommendation.text


def test_too_few_groups_are_counted(frame):
    K, y = frame
    with pytest.raises(ValueError, match=r"has 1 groups .* four or more groups"):
        SpectrumSVCCV().fit(K.to_numpy(), y, groups=np.zeros(40))


def test_one_class_is_named_as_it_is_written(frame):
    K, _ = frame
    with pytest.raises(ValueError, match=r"class: 'gut'; .*SpectrumOneClassSVM"):
        SpectrumSVC().fit(K.to_numpy(), ["gut"] * 40)


def test_no_repair_that_leaves_fewer_than_two_classes(frame):
    K, _ = frame
    few = K.to_numpy()[:6, :6]
    (found,) = (f for f in diagnose(few, list("aaabbb")).findings if "class" in f.key)
    assert found.key == "small-class"
    assert found.command == found.python == ""


@pytest.mark.parametrize("odd", ["MKVLA*", "MK-LA"])
def test_letters_that_are_no_residues_are_refused_with_the_remedy(odd):
    pytest.importorskip("parasail")
    with pytest.raises(ValueError, match="Leave out gaps and stops"):
        smith_waterman_kernel([odd, "MKVIA"])
