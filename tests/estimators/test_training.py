"""What every fit works on: samples of positive weight, and folds among them."""

import numpy as np

from krein.estimators._training import among_kept


def test_folds_are_moved_to_the_samples_that_were_kept():
    folds = [(np.array([0, 1, 2]), np.array([3, 4])), (np.array([4]), np.array([0]))]
    moved = among_kept(folds, np.array([0, 2, 3]), 5)
    assert [[part.tolist() for part in fold] for fold in moved] == [
        [[0, 1], [2]],
        [[], [0]],
    ]
