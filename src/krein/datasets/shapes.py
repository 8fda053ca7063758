"""Shapes of handwritten digits: an indefinite similarity that needs no file."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import distance_transform_edt
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

__all__ = ["digit_shapes"]

_DESCR = """Similarity exp(-d / 2) of the first 300 handwritten digits of scikit-learn
(UCI Machine Learning Repository, Optical Recognition of Handwritten Digits, CC BY 4.0),
where d is the Hausdorff distance of their ink in pixels: the longest way one has to go
from the ink of one digit to the ink of the other. A metric, whose exponential is
indefinite: 61 of 300 eigenvalues are negative.
"""


def digit_shapes(n: int = 300) -> Bunch:
    """Compute the similarity of the first n digits.

    Parameters
    ----------
    n : int
        Number of digits.

    Returns
    -------
    sklearn.utils.Bunch
        As of `krein.load_dataset`.
    """
    digits = load_digits()
    ink = digits.images[:n] > 6
    way = np.array([distance_transform_edt(~other) for other in ink])
    longest = np.array([way[:, one].max(axis=1) for one in ink])
    return Bunch(
        data=np.exp(-np.maximum(longest, longest.T) / 2),
        target=digits.target[:n],
        kind="similarity",
        groups=None,
        DESCR=_DESCR,
        name="digit_shapes",
    )
