"""Folds without relatives on both sides."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from krein import SimilarityGroupSplit, similarity_groups
from krein.diagnostics.twins import near_duplicate_groups, of_several
from krein.selection.folds import check_splits
from krein.training import Values


def families(n_families=10, size=4, seed=0):
    rng = np.random.default_rng(seed)
    family = rng.permutation(np.repeat(np.arange(n_families), size))
    K = np.where(family[:, None] == family, 0.7, 0.0)
    K[np.arange(family.size), np.arange(family.size)] = 1.0
    return K, family


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_no_similar_pair_on_both_sides(form):
    K, family = families()
    y = family % 2
    splitter = SimilarityGroupSplit(0.5, random_state=0)
    tested = []
    for train, test in splitter.split(form(K), y):
        assert K[np.ix_(test, train)].max() < 0.5
        assert set(y[train]) == {0, 1}
        tested.extend(test)
    assert sorted(tested) == list(range(y.size))
    assert splitter.get_n_splits() == 5


def test_one_direction_is_enough_to_be_kin():
    K = np.eye(3)
    K[0, 1] = 0.6
    assert similarity_groups(K, 0.5).tolist() == [0, 0, 1]
    assert similarity_groups(scipy.sparse.csr_array(K), 0.5).tolist() == [0, 0, 1]


@given(st.integers(0, 1000), st.floats(0.05, 0.95))
def test_groups_are_the_finest(seed, threshold):
    rng = np.random.default_rng(seed)
    n = 12
    K = np.where(rng.random((n, n)) < 0.1, rng.random((n, n)), 0.0)
    reach = np.linalg.matrix_power(
        ((K >= threshold) | (K.T >= threshold) | np.eye(n, dtype=bool)).astype(int), n
    )
    groups = similarity_groups(scipy.sparse.csr_array(K), threshold)
    np.testing.assert_array_equal(groups[:, None] == groups, reach > 0)


def test_given_families_stay_together_too():
    K, _ = families(8, 2)
    given_groups = np.arange(16) // 4
    for train, test in SimilarityGroupSplit(0.5, n_splits=2).split(
        K, groups=given_groups
    ):
        assert not set(given_groups[train]) & set(given_groups[test])
        assert K[np.ix_(test, train)].max() < 0.5


def test_in_scikit_learn():
    K, family = families()
    splitter = SimilarityGroupSplit(0.5, n_splits=3, random_state=0)
    scores = cross_val_score(SVC(kernel="precomputed"), K, family % 2, cv=splitter)
    assert scores.shape == (3,)


def test_bad_input():
    with pytest.raises(ValueError, match="there are 1 groups of similar items"):
        list(SimilarityGroupSplit(0.5).split(np.ones((6, 6))))
    with pytest.raises(ValueError, match="must be above 0 for a sparse array"):
        similarity_groups(scipy.sparse.eye_array(3), 0.0)
    with pytest.raises(ValueError, match=r"square matrix of similarities, got shape"):
        similarity_groups(np.ones((3, 2)), 0.5)


def test_repeated_entries_are_summed():
    """Twice 0.3 is a pair of similarity 0.6: relatives stay on one side."""
    row, col = [0, 1, 2, 0, 0, 1, 1], [0, 1, 2, 1, 1, 0, 0]
    data = [1.0, 1.0, 1.0, 0.3, 0.3, 0.3, 0.3]
    K = scipy.sparse.coo_array((data, (row, col)), shape=(3, 3))
    assert similarity_groups(K, 0.5).tolist() == [0, 0, 1]


@pytest.mark.parametrize("as_sparse", [False, True])
def test_missing_similarities_are_refused(as_sparse):
    K = np.eye(4)
    K[0, 1] = K[1, 0] = np.nan
    K = scipy.sparse.csr_array(K) if as_sparse else K
    with pytest.raises(ValueError, match="NaN"):
        list(SimilarityGroupSplit(0.5, n_splits=2).split(K))


def test_near_duplicates_are_counted_on_positive_pairs_only():
    """Opposites are no duplicates, whatever the size of the number."""
    K = np.array([[1.0, -0.95, 0.0], [-0.95, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert of_several(near_duplicate_groups(K)) == ()
    assert of_several(near_duplicate_groups(np.abs(K))) == ((0, 1),)
    assert of_several(near_duplicate_groups(np.where(K < 0, 0.85, K))) == ()


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ((np.ones(6, dtype=bool), [0, 1]), "both to train and to test"),
        (([0, 1, 2, 3], [4, 6]), "index 6 is out of bounds"),
        (([0, 1, 2, 3], ["4", "5"]), "no pair .* of positions"),
        (([0, 1],), "no pair"),
        (([0, 1, 3, 4], [2, 5]), "items of a group both to train and to test"),
    ],
)
def test_splits_that_cannot_be(pair, words):
    groups = np.array([0, 0, 2, 2, 4, 5])
    with pytest.raises(ValueError, match=words):
        check_splits([pair], Values(np.zeros(6)), groups)


def test_masks_are_positions_too():
    mask = np.array([True, True, False, False])
    ((train, test),) = check_splits([(mask, ~mask)], Values(np.zeros(4)))
    assert (train.tolist(), test.tolist()) == ([0, 1], [2, 3])
