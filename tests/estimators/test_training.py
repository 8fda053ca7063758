"""What every fit works on: samples of positive weight, and folds among them."""

import numpy as np

from krein.selection.folds import among_kept
from krein.training import as_labels


def test_folds_are_moved_to_the_samples_that_were_kept():
    folds = [(np.array([0, 1, 2]), np.array([3, 4])), (np.array([4]), np.array([0]))]
    moved = among_kept(folds, np.array([0, 2, 3]), 5)
    assert [[part.tolist() for part in fold] for fold in moved] == [
        [[0, 1], [2]],
        [[], [0]],
    ]


def test_a_decision_of_zero_is_the_first_class():
    classes = np.array(["a", "b"])
    values = np.array([[-1e-300], [0.0], [1e-300]])
    assert as_labels(values, classes).tolist() == ["a", "a", "b"]
    assert as_labels(np.array([[2.0, 2.0, 1.0]]), np.arange(3)).tolist() == [0]
